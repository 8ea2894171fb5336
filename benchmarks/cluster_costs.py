"""The costs of the parts of a training on many machines, measured on one machine with little data.

`python benchmarks/internet_scale.py --measure` measures anew and keeps the result in cluster_costs.json.
"""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

KEPT = pathlib.Path(__file__).with_name("cluster_costs.json")
FAN_IN = 8  # models that are merged at once


@dataclass(frozen=True)
class Workload:
    """Rows that are learned in one way: the cost and size of a row."""

    name: str
    seconds: float  # to learn a row that was read, with all learning rates, on one thread
    row_bytes: float  # of a row in a text file
    bent: bool  # with curves or trees


@dataclass(frozen=True)
class Costs:
    """Seconds of one worker, unless a comment gives another unit."""

    workloads: dict[str, Workload]
    add: float  # per MB of a model: from its state, what it has added to the model that it continued from
    fold: float  # per MB of the models: the sum of what eight of them have added
    settle: float  # per MB of a model: from such a sum to the merged model
    trees: float  # of the driver, per MB of a partition's state: its curves and trees
    sums: float  # MB of what a model has added, per MB of the model
    join: float  # of the driver, per partition: the evaluation of its predictions
    give: float  # per MB of a model: its state as bytes
    take: float  # per MB of a model: from bytes to a model that can learn
    save: float  # per MB of a model
    start: float  # of a task, from its submission to its result, if it does nothing
    submit: float  # of the driver, per task
    survey: float  # per GB of text: the positions of its rows
    parse: float  # per GB of text: its rows as numbers
    machine: str

    def row(self, workload: Workload) -> float:
        """The seconds to read and learn a row."""
        return workload.seconds + workload.row_bytes * 1e-9 * self.parse

    def write(self, path: pathlib.Path = KEPT) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: pathlib.Path = KEPT) -> Costs:
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        kept["workloads"] = {name: Workload(**one) for name, one in kept["workloads"].items()}
        return cls(**kept)


def measure(path: pathlib.Path = KEPT, quick: bool = False) -> None:
    """Measure in a process whose models learn on one thread, as in workers, and keep the result."""
    command = [sys.executable, __file__, str(path), *(["quick"] if quick else [])]
    subprocess.run(command, env={**os.environ, "UNITLESS_THREADS": "1"}, check=True)


def measured(quick: bool) -> Costs:
    """Measure all costs, each as the best of three tries; `quick` only tests that the measurement works."""
    import machine

    rows = 500 if quick else 20_000
    workloads = [*_dense(rows), _sparse(rows)]
    with tempfile.TemporaryDirectory() as folder:
        models = _models(8 if quick else 15)
        size = len(pickle.dumps(models[0]._state_and_labels(), 5)) / 1e6
        give, take = _handing_over(models[0])
        found = {
            **_merging(models, size),
            "trees": _trees(rows),
            "give": give / size,
            "take": take / size,
            "save": _passing(lambda: models[0].save(pathlib.Path(folder) / "model.unitless")) / size,
            **_files(pathlib.Path(folder) / "rows.csv", 1 if quick else 100),
        }
    found["join"] = _joining(rows)
    start, submit = _tasks(20 if quick else 1000)
    about = machine.sentence(machine.describe())
    return Costs({one.name: one for one in workloads}, **found, start=start, submit=submit, machine=about)


def _best(action: Callable[[], Any], tries: int = 3, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of processor time of this process: on a shared machine they vary less than elapsed seconds."""
    times = []
    for _ in range(tries):
        begun = clock()
        action()
        times.append(clock() - begun)
    return min(times)


def _passing(action: Callable[[], Any], tries: int = 3) -> float:
    """Elapsed seconds, for work that waits for a disk or another process."""
    return _best(action, tries, time.perf_counter)


def _learning(model: Any, X: Any, y: Any) -> float:
    """Seconds per row of a model that has begun to learn, with constant rates, as within a round."""
    tenth = len(y) // 10
    model.learn(X[:tenth], y[:tenth])
    model._choose_rates(False)
    return _best(lambda: model.learn(X[tenth:], y[tenth:])) / (len(y) - tenth)


def _dense(rows: int) -> list[Workload]:
    import unitless as ul

    rng = np.random.default_rng(0)
    found = []
    for columns in (10, 54):
        X = rng.normal(size=(rows, columns)).astype(np.float32)
        y = X @ rng.normal(size=columns) + rng.normal(size=rows) > 0
        for model_type in ("linear", "curves", "trees"):
            model = ul.Learner(loss="logistic", learning_rate="auto", center=True, model_type=model_type)
            seconds, bent = _learning(model, X, y), model_type != "linear"
            found.append(Workload(f"{model_type}, {columns} columns", seconds, 8.0 * columns, bent))
    return found


def _sparse(rows: int, features: int = 30, bits: int = 18) -> Workload:
    import scipy.sparse

    import unitless as ul

    rng = np.random.default_rng(0)
    columns = rng.integers(0, 2**bits, size=rows * features)
    ends = np.arange(0, len(columns) + 1, features)
    X = scipy.sparse.csr_matrix((np.ones(len(columns)), columns, ends), shape=(rows, 2**bits))
    model = ul.Learner(loss="logistic", learning_rate="auto", bits=bits)
    seconds = _learning(model, X, rng.random(rows) < 0.5)
    return Workload(f"sparse, {features} features", seconds, 8.0 * features, bent=False)


def _models(bits: int) -> list[Any]:
    """A hashed model in which every slot is used, and eight models that continued from it."""
    import unitless as ul

    base = ul.Learner(loss="logistic", learning_rate="auto", bits=bits)
    models = [base]
    for seed in range(FAN_IN + 1):
        X = np.random.default_rng(seed).normal(size=(20, 2**bits))
        model = base if seed == 0 else base.copy()
        model.learn(X, X[:, 0] > 0)
        models += [model] if seed else []
    return models


def _merging(models: list[Any], size: float) -> dict[str, float]:
    """The parts of merging a round, per MB of a model; the first model is the one that the others continued from."""
    from unitless.merging.gathered import Gathered
    from unitless.merging.rounds import Partitions

    base, *states = (model._state_and_labels() for model in models)
    partitions = Partitions(models[0].options, models[0]._open_to_classes())
    parts = [Gathered.of(state) for state in states]
    folded = partitions.folded(parts)
    return {
        "add": _best(lambda: Gathered.of(states[0])) / size,
        "fold": _best(lambda: partitions.folded(parts)) / (FAN_IN * size),
        "settle": _best(lambda: partitions.merged(base, folded)) / size,
        "sums": len(pickle.dumps(folded, 5)) / 1e6 / size,
    }


def _trees(rows: int, columns: int = 54) -> float:
    """Seconds per MB to merge trees with which eight partitions have continued."""
    import unitless as ul
    from unitless.merging.gathered import Gathered
    from unitless.merging.rounds import Partitions

    rng = np.random.default_rng(0)
    base = ul.Learner(loss="logistic", learning_rate="auto", center=True, model_type="trees")
    models = [base, *(base.copy() for _ in range(FAN_IN))]
    for number, model in enumerate(models):
        if number:
            model._go_back(base._state_and_labels())
        X = rng.normal(size=(max(1000, rows // 4), columns))
        model.learn(X, np.abs(X[:, 0]) + X[:, 1] * X[:, 2] > 0.8)
    start, *states = (model._state_and_labels() for model in models)
    partitions = Partitions(base.options, base._open_to_classes())
    folded = partitions.folded([Gathered.of(state) for state in states])
    size = sum(len(pickle.dumps(state, 5)) for state in states) / 1e6
    return _best(lambda: partitions.merged(start, folded)) / size


def _joining(rows: int) -> float:
    """Seconds to join the evaluations of two classes, which are the largest."""
    import unitless as ul

    model, rng, states = ul.Learner(loss="logistic"), np.random.default_rng(0), []
    for _ in range(FAN_IN):
        evaluation = ul.metrics.Evaluation(model)
        scores = rng.normal(size=rows) * 3
        evaluation.add(scores, scores + rng.normal(size=rows) > 0)
        states.append(evaluation.state())
    return _best(lambda: ul.metrics.Evaluation.join(model, states)) / FAN_IN


def _handing_over(model: Any) -> tuple[float, float]:
    """Seconds to convert a model's state to bytes, and bytes to a model."""
    sent = pickle.dumps(model._state_and_labels(), 5)
    other = model.copy()
    give = _best(lambda: pickle.dumps(model._state_and_labels(), 5))
    return give, _best(lambda: other._go_back(pickle.loads(sent)))


def _files(path: pathlib.Path, megabytes: int) -> dict[str, float]:
    """Seconds per GB to survey a file in the system's cache, and to read its numbers."""
    from unitless.cluster.blocks import DataSpec, survey
    from unitless.data.read_options import ReadOptions

    names = b",".join(b"c%d" % number for number in range(54)) + b"\n"
    line = b",".join(b"%d.12345" % (number % 10) for number in range(54)) + b"\n"
    path.write_bytes(names + line * (megabytes * 10**6 // len(line)))
    spec = DataSpec.of(path, ReadOptions(target="c0"))
    size = path.stat().st_size / 1e9
    return {
        "survey": _best(lambda: survey(spec, 0)) / size,
        "parse": _best(lambda: sum(batch.rows for batch in spec.reader().batches())) / size,
    }


def _nothing(item: int) -> int:
    return item


def _tasks(count: int) -> tuple[float, float]:
    """Seconds of a task that does nothing, and seconds of the driver for its submission, in Python processes."""
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(_nothing, 0).result()
        start = _passing(lambda: [pool.submit(_nothing, k).result() for k in range(count // 10)]) / (count // 10)
        waiting: list[Any] = []
        submit = _passing(lambda: waiting.extend(pool.submit(_nothing, k) for k in range(count)), 1) / count
        concurrent.futures.wait(waiting)
    return start, submit


if __name__ == "__main__":
    measured("quick" in sys.argv[2:]).write(pathlib.Path(sys.argv[1]))
