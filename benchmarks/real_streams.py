"""Real streams in their own order: each row is predicted, then learned, by learners with their defaults.

    UNITLESS_DATA=FOLDER python benchmarks/real_streams.py RESULTS.json [--only LEARNER ...] [--picture PNG]

Results are added to RESULTS.json one by one, so that an interrupted run continues where it was. FOLDER has
covertype.parquet (UCI Covertype in the order of its file, the column `label` first), and elec.csv and weather.csv,
which are in the source package scikit-multiflow 0.4.1, under src/skmultiflow/data/datasets. The other streams come with
River's package.

River's ensembles take milliseconds per row, so every learner is compared on the first 20,000 rows of a stream; those
that are fast also learn the whole stream. Times are CPU time of one thread. As River's documentation recommends, ALMA
and River's learners of numbers have a scaler in front of them.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

os.environ["UNITLESS_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

FIRST = 20_000  # rows on which all learners are compared


class Stream(NamedTuple):
    """Rows in their order. Labels are numbers, or the numbers of classes."""

    name: str
    X: np.ndarray
    y: np.ndarray
    classes: int  # 0: labels are numbers

    def first(self, rows: int) -> Stream:
        return self._replace(X=self.X[:rows], y=self.y[:rows])


# ------------------------------------------------------------------------------------------------------------- streams


def _folder() -> pathlib.Path:
    return pathlib.Path(os.environ["UNITLESS_DATA"])


def _table(name: str) -> Stream:
    numbers = np.loadtxt(_folder() / f"{name}.csv", delimiter=",", skiprows=1)
    return Stream(name, numbers[:, :-1].copy(), numbers[:, -1].astype(np.int64), 2)


def _covertype() -> Stream:
    import pyarrow.parquet as pq

    table = pq.read_table(_folder() / "covertype.parquet")
    X = np.column_stack([table[name].to_numpy().astype(np.float64) for name in table.column_names if name != "label"])
    return Stream("Covertype", X, table["label"].to_numpy().astype(np.int64) - 1, 7)


def _numbers(row: dict[str, Any]) -> list[float]:
    """A row of River; a time becomes the day, the month and the hour."""
    values: list[float] = []
    for value in row.values():
        if hasattr(value, "toordinal"):
            values += [value.toordinal() + value.hour / 24, value.month, value.hour]
        else:
            values.append(float(value))
    return values


def _of_river(name: str, classes: int) -> Stream:
    from river import datasets

    rows, labels = zip(*getattr(datasets, name)(), strict=True)
    y = np.unique(labels, return_inverse=True)[1] if classes else np.array(labels, np.float64)
    return Stream(name, np.array([_numbers(row) for row in rows]), y, classes)


STREAMS: dict[str, Callable[[], Stream]] = {
    "Electricity": lambda: _table("elec")._replace(name="Electricity"),
    "Covertype": _covertype,
    "Weather": lambda: _table("weather")._replace(name="Weather"),
    "Bananas": lambda: _of_river("Bananas", 2),
    "Phishing": lambda: _of_river("Phishing", 2),
    "ImageSegments": lambda: _of_river("ImageSegments", 7),
    "Shuttle": lambda: _of_river("Shuttle", 2),
    "TrumpApproval": lambda: _of_river("TrumpApproval", 0),
    "WaterFlow": lambda: _of_river("WaterFlow", 0),
    "ChickWeights": lambda: _of_river("ChickWeights", 0),
    "AirlinePassengers": lambda: _of_river("AirlinePassengers", 0),
    "SP500Stocks": lambda: _of_river("SP500Stocks", 0),
}

# ------------------------------------------------------------------------------------------------------------ learners


def _ours(stream: Stream) -> np.ndarray:
    """The core is asked for batches; each row's prediction is made before the row is learned."""
    from unitless.training.defaults import DataFacts, new_model, resolve

    task = "classes" if stream.classes > 2 else "binary" if stream.classes else "regression"
    labels = stream.y if stream.classes > 2 else stream.y.astype(np.float64)
    model = new_model(resolve(task, DataFacts(), {}), task, range(stream.classes) if stream.classes else None)
    batches = range(0, len(labels), 500)
    scores = np.concatenate([model.learn(stream.X[i : i + 500], labels[i : i + 500]) for i in batches])
    if not stream.classes:
        return scores
    return scores.argmax(axis=1) if stream.classes > 2 else (scores > 0).astype(np.int64)


def _river(make: Callable[[Stream], Any]) -> Callable[[Stream], np.ndarray]:
    def run(stream: Stream) -> np.ndarray:
        model = make(stream)

        def predictions() -> Iterator[float]:
            for values, label in zip(stream.X.tolist(), stream.y.tolist(), strict=True):
                row = dict(enumerate(values))
                yield model.predict_one(row) or 0
                model.learn_one(row, label)

        return np.fromiter(predictions(), np.float64, len(stream.y))

    return run


def _scaled(model: Any) -> Any:
    from river import preprocessing

    return preprocessing.StandardScaler() | model


def _forest(stream: Stream) -> Any:
    from river import forest

    return forest.ARFClassifier(seed=1) if stream.classes else _scaled(forest.ARFRegressor(seed=1))


def _patches(stream: Stream) -> Any:
    from river import ensemble

    return ensemble.SRPClassifier(seed=1) if stream.classes else _scaled(ensemble.SRPRegressor(seed=1))


def _adaptive_tree(stream: Stream) -> Any:
    from river import tree

    if stream.classes:
        return tree.HoeffdingAdaptiveTreeClassifier(seed=1)
    return _scaled(tree.HoeffdingAdaptiveTreeRegressor(seed=1))


def _leveraging(stream: Stream) -> Any:
    from river import ensemble, tree

    return ensemble.LeveragingBaggingClassifier(tree.HoeffdingTreeClassifier(), seed=1)


def _alma(stream: Stream) -> Any:
    from river import linear_model, multiclass

    alma = linear_model.ALMAClassifier()
    return _scaled(alma if stream.classes == 2 else multiclass.OneVsRestClassifier(alma))


def _vowpal_wabbit(stream: Stream) -> np.ndarray:
    import vowpalwabbit

    several = stream.classes > 2
    options = f"--oaa {stream.classes}" if several else "--loss_function logistic" if stream.classes else ""
    model = vowpalwabbit.Workspace(f"--quiet {options}")
    found = np.empty(len(stream.y))
    for r, (values, label) in enumerate(zip(stream.X.tolist(), stream.y.tolist(), strict=True)):
        text = label + 1 if several else 2 * label - 1 if stream.classes else label
        line = f"{text} | " + " ".join(f"{k}:{value}" for k, value in enumerate(values) if value)
        example = model.example(line)
        model.learn(example)  # the prediction was made before the update
        found[r] = example.get_simplelabel_prediction() if not several else example.get_multiclass_prediction()
        model.finish_example(example)
    model.finish()
    return found - 1 if several else (found > 0).astype(np.float64) if stream.classes else found


class Peer(NamedTuple):
    """A learner: its function, whether it learns numbers, and whether it also learns long streams whole."""

    run: Callable[[Stream], np.ndarray]
    numbers: bool = True
    whole: bool = False


LEARNERS = {
    "unitless": Peer(_ours, whole=True),
    "Vowpal Wabbit": Peer(_vowpal_wabbit, whole=True),
    "Hoeffding adaptive tree": Peer(_river(_adaptive_tree)),
    "ALMA": Peer(_river(_alma), numbers=False),
    "adaptive random forest": Peer(_river(_forest)),
    "leveraging bagging": Peer(_river(_leveraging), numbers=False),
    "streaming random patches": Peer(_river(_patches)),
}

# ------------------------------------------------------------------------------------------------------------- results


def measured(stream: Stream, learner: Peer) -> dict[str, float]:
    """Progressive metrics and CPU time per row."""
    began = time.process_time()
    predictions = learner.run(stream)
    took = time.process_time() - began
    y = stream.y
    result = {"rows": len(y), "us": 1e6 * took / len(y)}
    if not stream.classes:  # the first label cannot be known
        return result | {"mae": float(np.abs(predictions - y)[1:].mean()), "last": float(np.abs(np.diff(y)).mean())}
    accuracy, last = float((predictions == y).mean()), float((y[1:] == y[:-1]).mean())
    return result | {"accuracy": accuracy, "last": last, "kappa_temporal": (accuracy - last) / (1 - last)}


def picture(results: dict[str, dict[str, float]], path: pathlib.Path) -> None:
    """Error against time per row, on the first rows of two streams."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.style.use("unitless.plot.style")
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4))
    for axis, stream in zip(axes, ("Electricity", "Covertype"), strict=True):
        for learner in LEARNERS:
            found = results.get(f"{learner}|{stream}|first")
            if found is None:
                continue
            color = "C0" if learner == "unitless" else "C4"
            weight = "bold" if learner == "unitless" else "normal"
            at = found["us"], 100 * (1 - found["accuracy"])
            axis.plot(*at, "o", color=color, markersize=9 if learner == "unitless" else 6)
            up = {"leveraging bagging": -12, "Hoeffding adaptive tree": 8, "streaming random patches": 2}.get(
                learner, 0
            )
            place = {"xytext": (9, up), "va": "center"}
            axis.annotate(learner, at, textcoords="offset points", color=color, weight=weight, fontsize=9, **place)
        last = 100 * (1 - results[f"unitless|{stream}|first"]["last"])
        axis.axhline(last, color="C5", linewidth=1, linestyle=":")
        axis.annotate(
            "the last label",
            (1.0, last),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            color="C5",
            fontsize=9,
        )
        axis.set(
            title=stream,
            xscale="log",
            xlim=(2, 200_000),
            xlabel="time per row in µs",
            ylabel="rows predicted wrongly in %",
        )
        axis.set_ylim(bottom=0)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    figure.savefig(path)
    plt.close(figure)


def table(results: dict[str, dict[str, float]], part: str) -> Iterator[str]:
    """The lines of a table in Markdown; part: "first" or "whole"."""
    yield "| stream | rows | the last label | " + " | ".join(LEARNERS) + " |"
    yield "|---|" + "---:|" * (2 + len(LEARNERS))
    for stream in STREAMS:
        found = {learner: results.get(f"{learner}|{stream}|{part}") for learner in LEARNERS}
        ours = found["unitless"]
        if ours is None:
            continue
        numbers = "mae" in ours
        values = [ours["last"], *(one and one["mae" if numbers else "accuracy"] for one in found.values())]
        best = (min if numbers else max)(value for value in values if value is not None)
        cells = [stream, f"{ours['rows']:,}"]
        for value in values:
            text = "" if value is None else f"{value:.3g}" if numbers else f"{100 * value:.1f}"
            cells.append(f"**{text}**" if value == best else text)
        yield "| " + " | ".join(cells) + " |"


def times(results: dict[str, dict[str, float]]) -> Iterator[str]:
    """The range of times per row of each learner, and of kappa-temporal."""
    for learner in LEARNERS:
        own = [one for key, one in results.items() if key.startswith(f"{learner}|")]
        if own:
            us = [one["us"] for one in own]
            yield f"{learner}: {min(us):,.0f} to {max(us):,.0f} µs"
    for key, one in results.items():
        if "kappa_temporal" in one:
            yield f"kappa-temporal {key}: {one['kappa_temporal']:.2f}, {one['us']:,.0f} µs"


def main() -> None:
    """Measure what is not in the results yet, and print all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--only", nargs="*", default=list(LEARNERS))
    parser.add_argument("--streams", nargs="*", default=list(STREAMS))
    parser.add_argument("--picture", type=pathlib.Path)
    given = parser.parse_args()
    for learner in given.only:
        for name in given.streams:
            peer = LEARNERS[learner]
            results = json.loads(given.results.read_text()) if given.results.exists() else {}
            keys = [f"{learner}|{name}|first"] + ([f"{learner}|{name}|whole"] if peer.whole else [])
            if all(key in results for key in keys):
                continue
            stream = STREAMS[name]()
            if not (stream.classes or peer.numbers):
                continue
            for key in keys:
                if key in results:
                    continue
                rows = stream.first(FIRST) if key.endswith("first") else stream
                if key.endswith("whole") and len(stream.y) <= FIRST:
                    continue
                found = measured(rows, peer)
                results = json.loads(given.results.read_text()) if given.results.exists() else {}
                given.results.write_text(json.dumps(results | {key: found}, indent=1))
                print(key, found, flush=True)
    results = json.loads(given.results.read_text())
    for part in ("first", "whole"):
        print(*table(results, part), "", sep="\n")
    print(*times(results), sep="\n")
    if given.picture:
        picture(results, given.picture)


if __name__ == "__main__":
    main()
