"""Direct calls of the compiled core: it checks its arguments, and concurrent changes by Python code do no harm."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import unitless as ul
from unitless import _core

ROWS = 6
VALUES, INDICES, STARTS = np.ones(ROWS), np.zeros(ROWS, np.int32), np.arange(ROWS + 1, dtype=np.int32)
NAMED = [{"a": 1.0}] * ROWS


def linear(**options: Any) -> Any:
    return ul.Learner(model_type="linear", ensemble=False, **options)


def text_rows() -> _core.TextRows:
    return _core.VwReader().read(np.frombuffer(b"1 | a:1\n" * ROWS, np.uint8), True)


LEARNING: dict[str, Callable[..., Any]] = {
    "dense": lambda model, *given: model._learn_dense(np.ones((ROWS, 1)), *given),
    "compressed": lambda model, *given: model._learn_compressed(VALUES, INDICES, STARTS, 1, *given),
    "named": lambda model, *given: model._learn_named(NAMED, *given),
    "rows": lambda model, *given: model._learn_rows(text_rows(), *given),
    "table": lambda model, *given: model._learn_table(["a"], [np.ones(ROWS)], False, False, False, *given),
}
PREDICTING: dict[str, Callable[..., Any]] = {
    "dense": lambda model, offset: model._predict_dense(np.ones((ROWS, 1)), False, offset),
    "compressed": lambda model, offset: model._predict_compressed(VALUES, INDICES, STARTS, 1, False, offset),
    "rows": lambda model, offset: model._predict_rows(text_rows(), False, offset),
    "table": lambda model, offset: model._predict_table(["a"], [np.ones(ROWS)], False, False, ROWS, False, offset),
}
WRONG = [0, 1, ROWS - 1, ROWS + 1]


@pytest.mark.parametrize("length", WRONG)
@pytest.mark.parametrize("what", ["y", "weight", "offset"])
@pytest.mark.parametrize("kind", LEARNING)
def test_what_is_given_with_rows_to_learn_is_as_long_as_they_are(kind: str, what: str, length: int) -> None:
    given = {"y": np.ones(ROWS), "weight": np.ones(ROWS), "offset": np.ones(ROWS)}
    given[what] = np.ones(length)
    model = linear()
    with pytest.raises(ul.InputError, match=rf"{length} (values|rows).*{ROWS}|{ROWS} rows.*{length}"):
        LEARNING[kind](model, given["y"], given["weight"], 0, given["offset"])
    assert model.examples == 0


@pytest.mark.parametrize("length", WRONG)
@pytest.mark.parametrize("kind", PREDICTING)
def test_offsets_are_as_many_as_rows_to_predict(kind: str, length: int) -> None:
    model = linear()
    LEARNING[kind](model, np.ones(ROWS), None)
    with pytest.raises(ul.InputError, match=f"offset has {length} values, but there are {ROWS} rows"):
        PREDICTING[kind](model, np.ones(length))


@pytest.mark.parametrize("length", WRONG)
def test_losses_are_of_as_many_labels_as_predictions(length: int) -> None:
    model = linear()
    for which in (0, 1, 2):
        assert len(model._loss(which, np.ones(ROWS), np.ones(ROWS), np.ones(ROWS))) == ROWS
        with pytest.raises(ul.InputError, match=f"y has {length} values"):
            model._loss(which, np.ones(ROWS), np.ones(length), np.ones(ROWS))
    with pytest.raises(ul.InputError, match=f"tau has {length} values"):
        model._loss(2, np.ones(ROWS), np.ones(ROWS), np.ones(length))
    with pytest.raises(ul.InputError, match=r"a value .* slope .* change"):
        model._loss(3, np.ones(ROWS), np.ones(ROWS), np.ones(ROWS))


def test_weights_to_judge_by_are_as_many_as_labels() -> None:
    model = linear()
    for weight, offset in ((np.ones(3), None), (None, np.ones(3))):
        with pytest.raises(ul.InputError, match=f"has 3 values, but there are {ROWS} rows"):
            model._begin_judging(np.ones(ROWS), weight, offset)


def strange(numbers: Any) -> Iterator[Any]:
    """Convert the numbers to arrays of other types and layouts."""
    numbers = np.asarray(numbers, float)
    yield numbers[::-1].copy()[::-1]
    yield np.repeat(numbers, 3)[::3]
    yield numbers.astype(np.float32)
    yield numbers.astype(np.int16)
    yield np.column_stack([numbers, numbers])[:, 1]
    unaligned = np.zeros(len(numbers) * 8 + 1, np.uint8)[1:].view(float)
    unaligned[:] = numbers
    yield unaligned


def test_arrays_of_any_layout_are_read_as_their_numbers() -> None:
    y = np.arange(ROWS) % 3.0
    plain = linear()
    expected = plain._learn_dense(np.ones((ROWS, 1)), y, y + 1, 0, y)
    for given in strange(y):
        assert np.array_equal(linear()._learn_dense(np.ones((ROWS, 1)), given, given + 1, 0, given), expected)
    x = np.arange(2.0 * ROWS).reshape(ROWS, 2)
    expected = linear()._learn_dense(x, y, None)
    for other in (
        x[::-1].copy()[::-1],
        np.asfortranarray(x),
        np.repeat(x, 2, axis=1)[:, ::2],
        x[:, ::-1].copy()[:, ::-1],
    ):
        assert np.array_equal(linear()._learn_dense(other, y, None), expected)
    for wrong in (np.ones(ROWS), np.ones((ROWS, 1, 1)), np.array([["a"]] * ROWS), None, np.ones((ROWS, 1), object)):
        with pytest.raises(TypeError):
            linear()._learn_dense(wrong, y, None)
    for wrong in (np.ones((ROWS, 1), complex), np.ones((ROWS, 1), np.float16)):
        with pytest.raises(ul.InputError, match="booleans, integers, float32 or float64"):
            linear()._learn_dense(wrong, y, None)
    for wrong in (np.ones((ROWS, 1)), np.array(["a"] * ROWS), None, 1.0):
        with pytest.raises(TypeError):
            linear()._learn_dense(x, wrong, None)


def test_no_rows_and_no_columns_are_learned_as_nothing() -> None:
    model = linear()
    assert len(model._learn_dense(np.ones((0, 3)), np.zeros(0), np.zeros(0), 0, np.zeros(0))) == 0
    assert (
        len(model._learn_compressed(np.zeros(0), np.zeros(0, np.int32), np.zeros(1, np.int32), 3, np.zeros(0), None))
        == 0
    )
    assert len(model._predict_dense(np.ones((0, 3)), False, np.zeros(0))) == 0
    assert model.examples == 0
    assert len(model._learn_dense(np.ones((2, 0)), np.ones(2), None)) == 2


def wrong_matrices() -> dict[str, tuple[Any, ...]]:
    return {
        "indices of one byte": (VALUES, INDICES.astype(np.uint8), STARTS),
        "indices that are numbers": (VALUES, INDICES.astype(np.float32), STARTS),
        "indices without a sign": (VALUES, INDICES.astype(np.uint32), STARTS),
        "starts of another type": (VALUES, INDICES, STARTS.astype(np.int64)),
        "fewer indices": (VALUES, INDICES[:-1], STARTS),
        "fewer values": (VALUES[:-1], INDICES, STARTS),
        "no starts": (VALUES, INDICES, STARTS[:0]),
        "starts beyond the end": (VALUES, INDICES, STARTS + np.int32(1)),
        "starts below zero": (VALUES, INDICES, STARTS - np.int32(1)),
        "starts that fall": (VALUES, INDICES, STARTS[::-1].copy()),
        "columns outside": (VALUES, INDICES + np.int32(1), STARTS),
        "columns below zero": (VALUES, INDICES - np.int32(1), STARTS),
    }


@pytest.mark.parametrize("options", [{"learning_rate": 0.5}, {"learning_rate": "auto"}, {"bits": 10}, {"center": True}])
@pytest.mark.parametrize("name", wrong_matrices())
def test_a_matrix_whose_parts_do_not_fit_together_is_refused(name: str, options: Any) -> None:
    matrix = wrong_matrices()[name]
    model = linear(**options)
    with pytest.raises(ul.InputError, match="the sparse matrix is malformed"):
        model._learn_compressed(*matrix, 1, np.ones(max(0, len(matrix[2]) - 1)), None)
    assert model.examples == 0
    LEARNING["compressed"](model, np.ones(ROWS), None)
    with pytest.raises(ul.InputError, match="the sparse matrix is malformed"):
        model._predict_compressed(*matrix, 1, False)


def test_classes_join_only_models_that_are_open() -> None:
    for model in (linear(), ul.OneVsAll(classes=["a", "b"])):
        for kind in ("dense", "compressed", "named", "rows", "table"):
            with pytest.raises(ul.InputError, match="no class can be added"):
                LEARNING[kind](model, np.zeros(ROWS), None, 2)
    with pytest.raises(ul.InputError, match="too many new classes"):
        LEARNING["dense"](ul.OneVsAll(), np.zeros(ROWS), None, 2**40)


def test_slots_to_read_and_to_merge_are_checked() -> None:
    model = linear(learning_rate=0.5)
    LEARNING["dense"](model, np.ones(ROWS), None)
    scale, _, _ = model._read_slots(np.array([0, 1, 2**32 - 1], np.uint32), np.zeros(1, np.uint32))
    assert list(scale) == [1.0, 1.0, 0.0]
    with pytest.raises(ul.InputError, match="at least one lane"):
        model._read_slots(np.zeros(1, np.uint32), np.zeros(0, np.uint32))


def test_a_list_of_rows_that_changes_while_it_is_read() -> None:
    rows: list[Any] = []

    class Mapping:
        def items(self) -> list[tuple[str, float]]:
            rows.clear()
            return [("a", 1.0)]

    rows += [Mapping() for _ in range(1000)]
    model = linear()
    model._learn_named(rows, np.ones(1000), None)
    assert model.examples == 1000


def test_a_list_of_columns_that_changes_while_it_is_read() -> None:
    columns: list[Any] = []

    class Array:
        def __init__(self) -> None:
            self.numbers = np.ones(ROWS)

        def __dlpack__(self, **_: Any) -> Any:
            columns.clear()
            return self.numbers.__dlpack__()

        def __dlpack_device__(self) -> Any:
            return self.numbers.__dlpack_device__()

    columns += [Array() for _ in range(100)]
    model = linear()
    names = [f"c{i}" for i in range(100)]
    model._learn_table(names, columns, False, False, False, np.ones(ROWS), None)
    assert model.examples == ROWS


MODELS: dict[str, Callable[[], Any]] = {
    "learner": lambda: linear(learning_rate=0.5),
    "average": lambda: linear(learning_rate=0.5, average=True),
    "automatic rate": lambda: linear(learning_rate="auto"),
    "hashed": lambda: linear(bits=8),
    "interactions": lambda: linear(interactions=2),
    "one-vs-all": ul.OneVsAll,
    "softmax": ul.Softmax,
    "sweep": lambda: ul.Sweep([0.1, 0.5]),
}


def stream(model: Any, names: str, seed: int) -> list[Any]:
    """Learn rows one at a time and return the predictions."""
    rng = np.random.default_rng(seed)
    many = isinstance(model, ul.OneVsAll)
    said = []
    for _ in range(40):
        x = {name: float(value) for name, value in zip(names, rng.normal(size=len(names)), strict=True)}
        y = ("no", "yes")[sum(x.values()) > 0] if many else sum(x.values())
        model.learn_one(x, y)
        said.append(model.predict_one(x))
    return said


@pytest.mark.parametrize("kind", MODELS)
def test_loading_into_a_used_model_replaces_its_whole_state(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Any] = []
    load_merged = _core.Learner._load_merged

    def taking(self: Any, *given: Any) -> bool:
        taken.append((self, given))
        return load_merged(self, *given)

    parts = [MODELS[kind](), MODELS[kind]()]
    for seed, part in enumerate(parts):
        stream(part, "abc", seed)
    monkeypatch.setattr(type(parts[0]), "_load_merged", taking)
    ul.merge(parts)
    fresh, given = taken[0]
    used = MODELS[kind]()
    stream(used, "cdba", 5)  # other names, in another order
    used._hold_scales(True)
    used._begin_judging(np.zeros(1), None)
    assert load_merged(used, *given)
    assert used._snapshot().keys() == fresh._snapshot().keys()
    for name in "abcd":
        assert np.array_equal(used._predict_one_wide({name: 2.0}, False), fresh._predict_one_wide({name: 2.0}, False))
    for y in (0.0, 1.0):
        row = {"d": 1.0, "c": 2.0, "a": -1.0}
        assert np.array_equal(used._learn_one_wide(row, y, 1.0), fresh._learn_one_wide(row, y, 1.0))
    for (key, one), other in zip(used._snapshot().items(), fresh._snapshot().values(), strict=True):
        if key != "form":
            assert np.array_equal(one, other), key


def test_labels_to_judge_by_may_be_forgotten() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 3)), rng.normal(size=400)
    scores = []
    for keep in (True, False):
        model = linear()
        model._learn_dense(x, y, None)
        weight, offset = np.full(400, 1.5), np.full(400, 0.25)
        model._begin_judging(y.copy(), weight, offset)
        if not keep:
            weight[:], offset[:] = 1e9, 1e9
            del weight, offset
        model._predict_dense(x, False, np.full(400, 0.25))
        model._end_judging()
        scores.append(model._snapshot()["scores"])
    assert np.array_equal(*scores)


CHANGING = """
import sys, threading, time
import numpy as np
import unitless as ul
from unitless import _core

def beside(change, work):
    '''Work for a while, as another thread changes what it works on; refusals are fine.'''
    stop = threading.Event()
    def keep_changing():
        while not stop.is_set():
            change()
    thread = threading.Thread(target=keep_changing)
    thread.start()
    done = refused = 0
    until = time.monotonic() + 1.5
    try:
        while time.monotonic() < until:
            try:
                work()
                done += 1
            except ul.InputError:
                refused += 1
    finally:
        stop.set()
        thread.join()
    print(done, refused)

rows, each, columns = 20000, 8, 1000
rng = np.random.default_rng(0)
"""

MATRIX = """
values = rng.normal(size=rows * each)
indices = np.sort(rng.integers(0, columns // each, (rows, each)) + np.arange(each) * (columns // each), axis=1)
indices = indices.astype(np.{index}).ravel()
starts = np.arange(0, rows * each + 1, each, dtype=np.{index})
right_indices, right_starts = indices.copy(), starts.copy()
far = np.iinfo(np.{index}).max // 2
turn = 0
def change():
    global turn
    indices[:] = right_indices
    starts[:] = right_starts
    time.sleep(0.0005)
    turn += 1
    (indices, starts, starts[1::2])[turn % 3][:] = far
    time.sleep(0.0002)
model = ul.Learner(model_type="linear", ensemble=False, **{options})
def work():
    model._learn_compressed(values, indices, starts, columns, np.ones(rows), None)
    model._predict_compressed(values, indices, starts, columns, False)
beside(change, work)
"""

LABELS = """
x, y = rng.normal(size=(rows, 4)), np.zeros(rows)
def change():
    y[:] = 0
    time.sleep(0.0005)
    y[:] = 1e15
model = {model}
def work():
    model._learn_dense(x, y, None, 0)
model._learn_dense(x, np.arange(rows) % 2, None, {new})
beside(change, work)
"""

TABLE = """
codes, ends, text = np.zeros(rows, np.int32), np.array([0, 1, 2]), np.frombuffer(b"ab", np.uint8).copy()
def change():
    codes[:], ends[:] = 0, [0, 1, 2]
    time.sleep(0.0005)
    codes[:], ends[:] = 2**30, [2**40, 2**50, 2**60]
    time.sleep(0.0002)
model = ul.Learner(model_type="linear", ensemble=False)
def work():
    table = (["c"], [(codes, ends, text)], False, False)
    model._learn_table(*table, False, np.ones(rows), None)
    model._predict_table(*table, rows, False)
beside(change, work)
"""

GATHER = """
pieces, piece, row, out = [np.ones((rows, 4))], np.zeros(rows, np.int64), np.arange(rows), np.ones((rows, 4))
entries, starts, to = [np.ones(4 * rows)], [np.arange(0, 4 * rows + 1, 4)], np.ones(4 * rows)
right_starts = starts[0].copy()
def change():
    piece[:], row[:], starts[0][:] = 0, np.arange(rows), right_starts
    time.sleep(0.0005)
    piece[:], row[:], starts[0][:] = 2**40, 2**40, 2**40
    time.sleep(0.0002)
def work():
    _core.gather_rows(pieces, piece, row, out)
    _core.gather_entries(starts, entries, np.zeros(rows, np.int64), np.arange(rows), to)
beside(change, work)
"""

SPARSE_OPTIONS = [{"learning_rate": 0.5}, {"learning_rate": 0.5, "center": True}, {"learning_rate": "auto", "bits": 20}]
CLASSES = {
    "ul.OneVsAll()": 2,
    "ul.Softmax()": 2,
    "ul.Softmax(rule='newton')": 2,
}


def survives(code: str) -> None:
    command = [sys.executable, "-c", CHANGING + code]
    environment = {**os.environ, "UNITLESS_THREADS": "2"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert sum(map(int, done.stdout.split())) > 0


@pytest.mark.parametrize("options", SPARSE_OPTIONS)
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_a_concurrently_changed_sparse_matrix_is_read_within_bounds(index: str, options: Any) -> None:
    survives(MATRIX.format(index=index, options=options))


@pytest.mark.parametrize(("model", "new"), CLASSES.items())
def test_labels_that_another_thread_changes_are_those_that_were_checked(model: str, new: int) -> None:
    survives(LABELS.format(model=model, new=new))


@pytest.mark.parametrize("code", [TABLE, GATHER], ids=["table", "gather"])
def test_concurrently_changed_arrays_are_read_within_bounds(code: str) -> None:
    survives(code)
