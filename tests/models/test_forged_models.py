"""Forged model files are refused with a message or work like any other file, but never end in a traceback.

Values of the header and arrays are replaced by hostile ones, with a digest that fits. A file that loads is then used in
every way. Only errors of the package may be raised, soon, and without much memory.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import pathlib
import random
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import unitless as ul
from unitless.cli import inspect as cli_inspect
from unitless.cli import main
from unitless.models import file as model_file

# Overflow while a prediction is computed does not count as a traceback.
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")

HOSTILE: list[Any] = [
    None,
    True,
    0,
    -1,
    16,
    1.5,
    2**31,
    2**63,
    10**400,
    5e-324,
    1e308,
    float("inf"),
    float("-inf"),
    float("nan"),
    "",
    "x",
    "inf",
    "nan",
    "0x1p+1000",
    "-0x1p+0",
    "\ud800",
    "\x1b[2J\n",
    "[bold]",
    [],
    [None],
    ["a", "a"],
    [[["x"]]],
    {},
    {"x": 1},
    {"task": "binary"},
]
DEEP = json.loads("[" * 400 + "]" * 400)


class Trained:
    """A model whose training was interrupted, its training data, and its file."""

    def __init__(self, folder: pathlib.Path, name: str, text: str, **options: Any) -> None:
        self.data, self.model = str(folder / name), str(folder / f"{name}.model")
        self.forged, self.out = str(folder / f"{name}.forged"), str(folder / f"{name}.out")
        pathlib.Path(self.data).write_text(text)

        def watch(run: Any) -> None:
            if run.progress.rows == 40:
                run.save()
                raise KeyboardInterrupt

        with contextlib.suppress(KeyboardInterrupt):
            ul.train(self.data, output=self.model, checkpoint=20, progress=watch, **options)
        self.plan = {key: options[key] for key in ("passes", "holdout") if key in options}
        data = model_file.to_bytes(ul.load(self.model))  # not compressed
        length = struct.unpack("<Q", data[:8])[0]
        self.header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["unitless"])
        self.header.pop("digest")
        self.arrays = safetensors.numpy.load(data)

    def forge(self, header: Any, arrays: Any) -> None:
        """Write a file whose digest fits."""
        header = {**header, "digest": model_file._digest(header, arrays)}
        pathlib.Path(self.forged).write_bytes(safetensors.numpy.save(arrays, {"unitless": json.dumps(header)}))

    def uses(self) -> Iterator[Callable[[], object]]:
        """Everything that can be done with a model file."""
        yield lambda: list(ul.Predictor(ul.load(self.forged)).batches(self.data))
        yield lambda: ul.train(self.data, resume=self.forged, output=self.out, **self.plan).asdict()
        yield lambda: ul.to_json(ul.load(self.forged))
        yield lambda: ul.to_sklearn(ul.load(self.forged))
        yield lambda: ul.explain(ul.load(self.forged), {"a": 1.0, "b": 2.0, "c": "u"})
        yield lambda: ul.merge([ul.load(self.forged), ul.load(self.model)])
        yield lambda: ul.load(self.forged).save(self.out)
        yield lambda: cli_inspect.described(ul.load(self.forged), self.forged)
        yield lambda: cli_inspect.ranked(ul.load(self.forged), None, None)

    def commands(self) -> Iterator[Callable[[], object]]:
        """Everything that the command line can do with a model file; this takes longer."""
        for command in (["inspect", "FORGED", "--all"], ["inspect", "FORGED", "--json"], ["predict", "FORGED", "DATA"]):
            words = [self.forged if word == "FORGED" else self.data if word == "DATA" else word for word in command]
            yield lambda words=words: self.run(words)  # type: ignore[misc]
        yield lambda: self.run(["merge", self.forged, self.model, "--output", self.out])
        yield lambda: self.run(["convert", self.forged, f"{self.out}.json"])

    def run(self, words: list[str]) -> None:
        """Run a command with bounded output."""
        raw = io.BytesIO()
        out = io.TextIOWrapper(raw, "utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            assert main(words) in (0, 1, 2)
        out.flush()
        assert len(raw.getvalue()) < 500_000, words


def csv(rows: int, label: Callable[[int], object]) -> str:
    lines = (f"{k % 7},{(k % 5) / 4},{'uvw'[k % 3]},{label(k)}\n" for k in range(rows))
    return "a,b,c,y\n" + "".join(lines)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trained]:
    folder = tmp_path_factory.mktemp("forged")
    vw = "".join(f"{k % 3 - 1} | a:{k % 7} b:{k % 5}\n" for k in range(60))
    return {
        "binary": Trained(
            folder,
            "binary.csv",
            csv(60, lambda k: int(k % 7 > 3)),
            target="y",
            passes=2,
            holdout=0.2,
            model_type="linear",
        ),
        "classes": Trained(
            folder, "classes.csv", csv(60, lambda k: "pqr"[k % 7 % 3]), target="y", passes=2, model_type="linear"
        ),
        "softmax": Trained(
            folder,
            "softmax.csv",
            csv(60, lambda k: "pqr"[k % 7 % 3]),
            target="y",
            passes=2,
            loss="softmax",
            model_type="linear",
        ),
        "numbers": Trained(
            folder,
            "numbers.csv",
            csv(60, lambda k: k % 7 * 1.5),
            target="y",
            passes=2,
            interactions=2,
            model_type="linear",
        ),
        "plain": Trained(folder, "plain.vw", vw, task="regression", learning_rate=0.5, rule="snag"),
        "shaped": Trained(
            folder, "shaped.csv", csv(60, lambda k: k % 7 * 1.5), target="y", passes=2, model_type="trees"
        ),
        "averaged": Trained(
            folder,
            "averaged.csv",
            csv(60, lambda k: k % 7 * 1.5),
            target="y",
            passes=2,
            average=True,
            model_type="linear",
        ),
    }


def paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in nested lists and mappings; of a long list only the first and the last value."""
    yield before
    inside: list[Any] = list(value.items()) if isinstance(value, dict) else []
    if isinstance(value, list):
        inside = list(enumerate(value))
        inside = [*inside[:2], *inside[2:][-1:]]
    for key, one in inside:
        yield from paths(one, (*before, key))


def replaced(header: Any, path: tuple[Any, ...], value: Any) -> Any:
    header = copy.deepcopy(header)
    at = header
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return header


def survive(one: Trained, what: object, thorough: bool = False) -> bool:
    """Use the forged file in every way; return whether it was accepted."""
    start = time.process_time()
    try:
        ul.load(one.forged)
    except ul.Error:
        accepted = False
    else:
        accepted = True
        for use in [*one.uses(), *(one.commands() if thorough else ())]:
            with contextlib.suppress(ul.Error):
                use()
    assert time.process_time() - start < 20, what
    return accepted


@pytest.mark.parametrize("name", ["binary", "classes", "softmax", "numbers", "plain", "shaped"])
def test_no_value_of_the_header_makes_a_traceback(trained: dict[str, Trained], name: str) -> None:
    one = trained[name]
    every = [(path, value) for path in paths(one.header) if path for value in [*HOSTILE, DEEP]]
    chosen = random.Random(name).sample(every, 60)  # all of them take minutes
    accepted = 0
    for k, (path, value) in enumerate(chosen):
        one.forge(replaced(one.header, path, value), one.arrays)
        accepted += survive(one, (path, value), thorough=k % 20 == 0)
    assert 0 < accepted < len(chosen)  # training validates the stored evaluation when it resumes


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 10**400, 2**63, -1, 1.5, "1", None, [], DEEP], ids=str)
@pytest.mark.parametrize("key", ["rows", "learned", "within", "consumed", "passes", "position", "missing"])
def test_no_progress_is_resumed_that_cannot_have_been_made(trained: dict[str, Trained], key: str, value: Any) -> None:
    one = trained["binary"]
    if key == "missing" and value == {}:
        return
    one.forge(replaced(one.header, ("training", "progress", key), value), one.arrays)
    with pytest.raises(ul.ModelFileError):
        ul.train(one.data, resume=one.forged, **one.plan)


@pytest.mark.parametrize("name", ["binary", "classes", "softmax", "numbers", "plain", "shaped"])
def test_no_missing_key_makes_a_traceback(trained: dict[str, Trained], name: str) -> None:
    one = trained[name]
    for path in random.Random(name).sample(list(paths(one.header)), 20):
        if path and isinstance(path[-1], str):
            header = copy.deepcopy(one.header)
            at = header
            for key in path[:-1]:
                at = at[key]
            del at[path[-1]]
            one.forge(header, one.arrays)
            survive(one, path)


@pytest.mark.parametrize("name", ["binary", "classes", "softmax", "numbers", "plain", "shaped"])
def test_no_array_makes_a_traceback(trained: dict[str, Trained], name: str) -> None:
    one = trained[name]
    for key, array in one.arrays.items():
        floats = array.dtype.kind == "f"
        values = [0.0, -1.0, 5e-324, 1e308, np.inf, np.nan] if floats else [0, 1, 16, 2**32 - 1]
        changed = [np.full_like(array, value) for value in values]
        for value in values if len(array) else []:
            for place in (0, -1):
                changed.append(array.copy())
                changed[-1][place] = value
        changed += [array[:-1], array[::-1].copy(), np.concatenate([array, array]), np.zeros(0, array.dtype)]
        changed += [array.astype(np.float32), array.reshape(-1, 1), np.ones(3, array.dtype)]
        for other in random.Random(name + key).sample(changed, 1):
            one.forge(one.header, {**one.arrays, key: np.ascontiguousarray(other)})
            survive(one, (key, other))


def test_genuine_files_are_accepted_and_continue(trained: dict[str, Trained]) -> None:
    for one in trained.values():
        one.forge(one.header, one.arrays)
        assert survive(one, "nothing", thorough=True)
        for use in one.uses():
            with contextlib.suppress(ul.MergeError, ul.OptionError):
                use()


GREEDY = """
import resource, sys, time
import unitless as ul
resource.setrlimit(resource.RLIMIT_AS, (64 << 30, 64 << 30))
ul.Learner().learn([[1.0]], [1.0])
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
for use in (ul.load, lambda path: ul.to_json(ul.load(path))):
    try:
        use(sys.argv[1])
    except ul.Error as error:
        print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, time.process_time() - start)
"""


def many(columns: int, **options: Any) -> bytes:
    """A small file with a learner of very many columns."""
    m = ul.Learner(interactions=2, **options)
    m.learn([[1.0, 2.0]], [1.0])
    data = model_file.to_bytes(m)
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["unitless"])
    header.pop("digest")
    arrays = safetensors.numpy.load(data)
    arrays["products"][2::3] += np.uint32(columns - 2)
    arrays["slots"][3:] += np.uint32(columns - 2)
    header["columns"] = columns
    header["digest"] = model_file._digest(header, arrays)
    return safetensors.numpy.save(arrays, {"unitless": json.dumps(header)})


@pytest.mark.parametrize("columns", [4_294_967_000, 1_000_000_000, 50_000_000])
@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_a_small_file_with_billions_of_columns_is_handled_cheaply(
    tmp_path: pathlib.Path, columns: int, rate: Any
) -> None:
    path = tmp_path / "m.unitless"
    path.write_bytes(many(columns, learning_rate=rate))
    assert path.stat().st_size < 8_000
    run = subprocess.run([sys.executable, "-c", GREEDY, str(path)], capture_output=True, timeout=120, check=True)
    kilobytes, seconds = map(float, run.stdout.split()[-2:])
    assert kilobytes < 100_000, run.stdout
    assert seconds < 5, run.stdout
