"""The exact properties for every kind of model: lanes, classes, automatic rates, sparse and second-order models.

`test_any_options.py` has the same properties for all options together, with few rows.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from instruction_sets import KERNELS
from streams import stream

import unitless as ul

CLASSES = ("a", "b", "c")
RATES = (0.01, 0.1, 1.0, 10.0)
NAMES = [f"f{j:02d}" for j in range(7)]
Make = Callable[[], Any]

MODELS: dict[str, tuple[str, Make]] = {
    "auto": ("logistic", lambda: ul.Learner(loss="logistic", learning_rate="auto")),
    "auto snag": ("squared", lambda: ul.Learner("snag", learning_rate="auto")),
    "auto target": ("squared", lambda: ul.Learner(learning_rate="auto", target="auto")),
    "auto pairs": ("logistic", lambda: ul.Learner(loss="logistic", learning_rate="auto", interactions=2)),
    "one vs all": ("classes", lambda: ul.OneVsAll(CLASSES, learning_rate=0.5)),
    "one vs all, hinge": ("classes", lambda: ul.OneVsAll(CLASSES, "ng", "hinge", 0.5)),
    "one vs all, open": ("classes", lambda: ul.OneVsAll(learning_rate=0.5)),
    "one vs all, auto": ("classes", lambda: ul.OneVsAll(CLASSES)),
    "one vs all, auto, open, pairs": ("classes", lambda: ul.OneVsAll(rule="snag", interactions=2)),
    "sweep": ("squared", lambda: ul.Sweep(RATES)),
    "sweep, classes": ("classes", lambda: ul.Sweep(RATES, classes=CLASSES)),
    "sweep, target": ("squared", lambda: ul.Sweep(RATES, "snag", "quantile", target="auto")),
    "softmax": ("classes", lambda: ul.Softmax(CLASSES, learning_rate=0.5)),
    "softmax, open": ("classes", ul.Softmax),
    "sparse": ("logistic", lambda: ul.Learner(loss="logistic", sparsity=0.3)),
    "sparse auto": ("squared", lambda: ul.Learner(learning_rate="auto", sparsity="auto", target="auto")),
    "one vs all, sparse": ("classes", lambda: ul.OneVsAll(CLASSES, sparsity=0.5, l2=0.1)),
    "second order": ("squared", lambda: ul.Learner("newton", target="auto", average=True)),
    "second order, logistic": ("logistic", lambda: ul.Learner("newton", "logistic")),
    "second order, classes": ("classes", lambda: ul.Softmax(CLASSES, "newton")),
}


def data(task: str, rows: int = 150, spread: float = 6) -> tuple[np.ndarray, np.ndarray]:
    X, y = stream("squared" if task == "classes" else task, rows=rows, features=7, spread=spread)
    if task == "classes":
        return X, np.array(CLASSES)[np.digitize(y, np.quantile(y, [0.3, 0.7]))]
    return X, y


def bits(result: Any) -> bytes:
    array = np.asarray(result)
    return array.tobytes() if array.dtype.kind == "f" else str(array.tolist()).encode()


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> tuple[str, Make]:
    return MODELS[request.param]


def test_power_of_two_scaling_changes_no_bit(model: tuple[str, Make]) -> None:
    task, make = model
    X, y = data(task, rows=2500)
    units = np.ldexp(1.0, np.random.default_rng(1).integers(-200, 200, X.shape[1]))
    a, b = make(), make()
    assert bits(a.learn(X, y)) == bits(b.learn(X * units, y))
    assert bits(a.predict(3 * X[:50])) == bits(b.predict(3 * X[:50] * units))


@given(name=st.sampled_from(list(MODELS)), cuts=st.lists(st.integers(0, 150), max_size=5))
def test_one_call_is_many_calls(name: str, cuts: list[int]) -> None:
    task, make = MODELS[name]
    X, y = data(task)
    weight = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    whole, parts = make(), make()
    if "open" in name:  # so that the columns are the same in every call
        for m in (whole, parts):
            m.learn(X[:20], y[:20])
    expected = whole.learn(X, y, weight)
    edges = [0, *sorted(cuts), len(y)]
    pieces = [parts.learn(X[a:b], y[a:b], weight[a:b]) for a, b in itertools.pairwise(edges)]
    assert bits(expected) == bits(np.concatenate(pieces))
    assert pickle.dumps(whole) == pickle.dumps(parts)


def test_long_streams_can_be_cut_anywhere(model: tuple[str, Make]) -> None:
    task, make = model
    X, y = data(task, rows=5000)
    whole, parts = make(), make()
    expected = whole.learn(X, y)
    assert bits(expected) == bits(
        np.concatenate([parts.learn(X[i : i + 333], y[i : i + 333]) for i in range(0, 5000, 333)])
    )
    assert pickle.dumps(whole) == pickle.dumps(parts)


def test_dense_sparse_frames_and_names_give_the_same_bits(model: tuple[str, Make], kernel: str) -> None:
    task, make = model
    X, y = data(task)
    dense, sparse, frame, rows, one = (make() for _ in range(5))
    expected = bits(dense.learn(X, y))
    mappings = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
    assert bits(sparse.learn(sp.csr_matrix(X), y)) == expected
    assert bits(frame.learn(pd.DataFrame(X, columns=NAMES), y)) == expected
    assert bits(rows.learn(mappings, y)) == expected
    for row, label in zip(mappings, y, strict=True):
        one.learn_one(row, label)
    assert pickle.dumps(one) == pickle.dumps(rows)
    assert bits(dense.predict(2 * X)) == bits(sparse.predict(sp.csr_matrix(2 * X)))
    assert bits(rows.predict(mappings)) == bits(dense.predict(X)) == bits(frame.predict(pd.DataFrame(X, columns=NAMES)))


def test_predict_changes_nothing(model: tuple[str, Make]) -> None:
    task, make = model
    X, y = data(task)
    m = make()
    m.learn(X[:100], y[:100])
    before = pickle.dumps(m)
    m.predict(X)
    m.predict(5 * X, extrapolate=True)
    m.learn(X, y, np.zeros(len(y)))
    assert pickle.dumps(m) == before


@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("sweep")])
def test_predict_is_what_learn_would_have_predicted(name: str) -> None:
    task, make = MODELS[name]
    X, y = data(task)
    m = make()
    m.learn(X[:30], y[:30])
    for r in range(30, 100):
        assert bits(m.predict(X[r : r + 1])) == bits(m.learn(X[r : r + 1], y[r : r + 1]))


@pytest.mark.parametrize("cut", [0, 1, 75, 1024, 1500])
def test_saving_and_loading_in_mid_stream_is_invisible(model: tuple[str, Make], cut: int, tmp_path: Any) -> None:
    task, make = model
    X, y = data(task, rows=2300)
    whole, m = make(), make()
    whole.learn(X[:20], y[:20])
    m.learn(X[:20], y[:20])
    expected = whole.learn(X, y)
    first = m.learn(X[:cut], y[:cut])
    m.save(tmp_path / "m.unitless")
    loaded = ul.load(tmp_path / "m.unitless")
    assert type(loaded) is type(m)
    assert loaded.options == m.options
    rest = loaded.learn(X[cut:], y[cut:])
    assert bits(expected) == bits(np.concatenate([first, rest]))
    assert pickle.dumps(whole) == pickle.dumps(loaded)


def test_every_instruction_set_gives_the_same_bits(model: tuple[str, Make], monkeypatch: pytest.MonkeyPatch) -> None:
    task, make = model
    X, y = data(task, rows=1300)
    results = set()
    for kernel in KERNELS:
        monkeypatch.setenv("UNITLESS_KERNEL", kernel)
        m = make()
        results.add((bits(m.learn(X, y)), pickle.dumps(m)))
    assert len(results) == 1


PROGRAM = """
import hashlib, pickle, sys
sys.path[:0] = {folders!r}
from test_models import MODELS, data
digest = hashlib.sha256()
for task, make in MODELS.values():
    X, y = data(task, rows=1500)
    m = make()
    m.learn(X, y)
    digest.update(pickle.dumps(m))
print(digest.hexdigest())
"""


def test_any_number_of_threads_gives_the_same_bits() -> None:
    here = os.path.dirname(__file__)
    program = PROGRAM.format(folders=[here, os.path.dirname(here)])
    results = set()
    for threads in ("1", "2", "5"):
        environment = {**os.environ, "UNITLESS_THREADS": threads}
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
        )
        results.add(run.stdout)
    assert len(results) == 1


def test_models_learn_side_by_side_in_threads() -> None:
    X, y = data("classes", rows=3000)

    def run(_: int) -> bytes:
        m = ul.OneVsAll(CLASSES)
        m.learn(X, y)
        return pickle.dumps(m)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(run, range(8)))) == 1


def _in_child(_: int) -> bytes:
    X, y = data("classes", rows=1500)
    m = ul.OneVsAll(CLASSES)
    m.learn(X, y)
    return pickle.dumps(m)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_learns_too() -> None:
    expected = _in_child(0)  # the threads are running now
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(_in_child, range(3)).get(timeout=60) == [expected] * 3
        pool.close()  # children that end by themselves need no signal, which libraries may handle in their own way
        pool.join()


def test_copies_go_on_alike_and_apart(model: tuple[str, Make]) -> None:
    task, make = model
    X, y = data(task)
    m = make()
    m.learn(X[:100], y[:100])
    before = pickle.dumps(m)
    twin = m.copy()
    assert repr(twin) == repr(m)
    twin.learn(X[100:], y[100:])
    assert pickle.dumps(m) == before
    m.learn(X[100:], y[100:])
    assert pickle.dumps(m) == pickle.dumps(twin)


def test_bad_rows_leave_the_model_as_it_was(model: tuple[str, Make]) -> None:
    task, make = model
    X, y = data(task)
    m = make()
    m.learn(X[:100], y[:100])
    before = pickle.dumps(m)
    worse = X.copy()
    worse[149, 3] = np.nan
    labels = y.copy()
    if task == "classes":
        labels = labels.astype(object)
        labels[10] = "new"  # although the rows are invalid
    with pytest.raises(ul.InputError, match=r"nan at row 149, column 3|which is not one of"):
        m.learn(worse, labels)
    with pytest.raises(ul.InputError):
        m.learn(X[:, :5], y)
    with pytest.raises(ul.InputError):
        m.learn(X, y[:-1])
    with pytest.raises(ul.InputError):
        m.learn_one({"f00": 1.0}, y[0])
    assert pickle.dumps(m) == before


def test_predict_is_what_learn_would_have_predicted_for_new_features_too() -> None:
    X, y = data("logistic", rows=300)
    X = X * np.tri(300, 7, -20)  # a new column begins after another
    for options in ({"rule": "ng"}, {"rule": "nag", "interactions": 2}, {"rule": "snag", "interactions": "ordered"}):
        m = ul.Learner(loss="logistic", learning_rate="auto", **options)  # type: ignore[arg-type]
        n = ul.Learner(loss="logistic", learning_rate="auto", **options)  # type: ignore[arg-type]
        for r in range(len(y)):
            assert bits(m.predict(X[r : r + 1])) == bits(m.learn(X[r : r + 1], y[r : r + 1]))
            row = {name: x for name, x in zip(NAMES, X[r].tolist(), strict=True) if x != 0}
            assert n.predict_one(row) == n.learn_one(row, y[r])


@pytest.mark.parametrize("name", ["auto snag", "auto target", "sweep"])
def test_a_label_beyond_reason_is_refused_and_nothing_is_learned(name: str) -> None:
    task, make = MODELS[name]
    X, y = data(task)
    m, twin = make(), make()
    for model in (m, twin):
        model.learn(X[:50], y[:50])
    wild = y[50:].copy()
    wild[20] = 1e200
    with pytest.raises(ul.InputError, match=r"label is 1e.200 at row 20"):
        m.learn(X[50:], wild)
    assert pickle.dumps(m) == pickle.dumps(twin)
    assert bits(m.learn(X[50:], y[50:])) == bits(twin.learn(X[50:], y[50:]))


def test_enormous_weights_leave_numbers() -> None:
    X, y = stream("squared", rows=600, features=5, spread=0)
    m = ul.Learner("gd", learning_rate="auto", importance_aware=False)
    for weight in (1.0, 1e15):
        with contextlib.suppress(ul.DivergedError):
            m.learn(X * 10, y, np.full(len(y), weight))
    assert not np.isnan(m._snapshot()["scores"]).any()
    m.copy()


def test_a_reserved_name_in_a_list_of_mappings_changes_nothing() -> None:
    learner, classes = ul.Learner(), ul.OneVsAll()
    rows = [{"a": 1.0}, {"(bias)": 1.0}]
    for m, labels in ((learner, [1.0, 2.0]), (classes, ["x", "y"])):
        before = pickle.dumps(m)
        with pytest.raises(ul.InputError, match="rename it"):
            m.learn(rows, labels)
        assert pickle.dumps(m) == before
    assert classes.learn([{"a": 1.0}], ["x"]).shape == (1, 1)


def test_threads_share_a_model_whose_classes_join() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    m = ul.OneVsAll(learning_rate=0.5)

    def run(k: int) -> None:
        for i in range(8):
            scores = m.learn(X, [f"{k % 2}.{i}"] * 200)
            assert scores.shape[0] == 200
            m.predict(X)
            m.copy()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    assert sorted(m.classes) == sorted(f"{k}.{i}" for k in range(2) for i in range(8))
    assert m.predict(X).shape == (200, 16)


def test_after_divergence_a_mappings_names_are_forgotten() -> None:
    m = ul.Learner("gd", learning_rate=0.1, importance_aware=False)
    m.learn_one({"a": 1.0}, 1.0)
    before = pickle.dumps(m)
    with pytest.raises(ul.DivergedError):
        m.learn_one({"new": 1e300}, 1e20)
    assert pickle.dumps(m) == before


def test_a_bad_mapping_in_a_list_is_named_by_its_row() -> None:
    rows = [{"a": 1.0}] * 5 + [{"a": float("nan")}]
    m = ul.Learner()
    m.learn(rows[:5], np.zeros(5))
    for action in (lambda: m.learn(rows, np.zeros(6)), lambda: m.predict(rows)):
        with pytest.raises(ul.InputError, match="the value of feature 'a' is nan at row 5"):
            action()


def test_a_frame_of_unknown_columns_is_refused() -> None:
    m = ul.Learner()
    m.learn(pd.DataFrame({"a": [1.0], "b": [2.0]}), [1.0])
    assert m.predict(pd.DataFrame({"a": [1.0], "other": [2.0]})).shape == (1,)
    with pytest.raises(ul.InputError, match="knows none of the columns"):
        m.predict(pd.DataFrame({"A": [1.0], "B": [2.0]}))


def test_misspelt_options_get_a_hint() -> None:
    with pytest.raises(ul.OptionError, match="there is no option 'shape'; did you mean 'model_type'"):
        ul.Learner(shape="trees")
    with pytest.raises(ul.OptionError, match=r"there is no option 'seed'$"):
        ul.Learner(seed=1)
    with pytest.raises(ul.OptionError, match="there is no option 'centre'; did you mean 'center'"):
        ul.OneVsAll(centre=True)
    with pytest.raises(ul.OptionError, match="did you mean 'interactions'"):
        ul.Sweep([1.0], interaction=2)


def test_products_that_would_share_a_name_stay_distinct() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 4)), columns=["a", "b*c", "a*b", "c"])
    m = ul.Learner(interactions=[("a", "b*c"), ("a*b", "c")])
    m.learn(frame, frame["a"])
    assert {"(a)*(b*c)", "(a*b)*(c)"} <= set(m.weights)
    assert len(m.weights) == 7


def test_a_sweep_of_classes_classifies() -> None:
    X, y = data("classes")
    sweep = ul.Sweep(RATES, classes=CLASSES)
    sweep.learn(X, y)
    assert sweep.predict_label(X).tolist() == [CLASSES[i] for i in sweep.predict(X).argmax(axis=1)]
    with pytest.raises(ul.InputError, match="no rate number 9"):
        sweep.model(9)
