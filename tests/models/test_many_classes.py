"""Curves and trees of many classes: what must not change a single bit, what they gain, and their memory.

More than 20 classes share their learning rates, and a row is learned by the classes that it can change noticeably.
"""

from __future__ import annotations

import hashlib
import itertools
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from instruction_sets import digests_by_kernel, digests_by_threads
from streams import same_bits

import unitless as ul

NAMES = list("abcdefgh")
SPLITS = (0, 1, 2, 40, 41, 300, 900, 1023, 1024, 1025, 1400)  # rates are chosen after 1,024 rows


@cache
def letters(rows: int = 1400, count: int = 26, noise: float = 0.42) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers from 0 to 15 in eight columns; each class is spread around three points."""
    rng = np.random.default_rng(0)
    centers = rng.normal(0, 1, size=(count, 1, 6)) + rng.normal(0, 0.95, size=(count, 3, 6))
    y, k = rng.integers(0, count, rows), rng.integers(0, 3, rows)
    z = centers[y, k] + noise * rng.normal(size=(rows, 6))
    f = z @ rng.normal(size=(6, 8)) + np.abs(z @ rng.normal(size=(6, 8)))
    return np.clip(np.rint(7.5 + 2.6 * (f - f.mean(0)) / f.std(0)), 0, 15), y


def model(classes: Any = 26, model_type: str = "trees", rate: Any = "auto", **options: Any) -> ul.OneVsAll:
    listed = range(classes) if isinstance(classes, int) else classes
    return ul.OneVsAll(listed, model_type=model_type, learning_rate=rate, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("model_type", ["curves", "trees", "curves only"])
@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_one_call_is_many_calls_with_saving_between_them(model_type: str, rate: Any, tmp_path: Path) -> None:
    X, y = letters()
    whole, parts = model(26, model_type, rate), model(26, model_type, rate)
    expected, pieces = whole.learn(X, y), []
    for a, b in itertools.pairwise(SPLITS):
        assert same_bits(parts.predict(X[a : a + 1])[0], expected[a])
        pieces.append(parts.learn(X[a:b], y[a:b]))
        parts.save(tmp_path / "m.unitless")
        parts = ul.load(tmp_path / "m.unitless")
    assert same_bits(expected, np.concatenate(pieces))
    assert pickle.dumps(whole) == pickle.dumps(parts)


@pytest.mark.parametrize("ensemble", [False, True])
def test_classes_that_join_can_be_fed_in_any_way(ensemble: bool) -> None:
    X, y = letters()
    y = np.sort(y[:700]).tolist() + y[700:].tolist()  # at first they come one after another
    whole, parts = model(None, ensemble=ensemble), model(None, ensemble=ensemble)
    whole.learn(X, y)
    for a, b in itertools.pairwise(SPLITS):
        parts.learn(X[a:b], y[a:b])
        parts = pickle.loads(pickle.dumps(parts))
    assert len(whole.classes) == 26
    assert same_bits(whole.predict(X), parts.predict(X))
    assert pickle.dumps(whole) == pickle.dumps(parts)


def test_every_way_of_feeding_gives_the_same_bits() -> None:
    X, y = letters(400)
    rows = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
    dense = model()
    expected = dense.learn(X, y)
    for form in (pd.DataFrame(X, columns=NAMES), np.asfortranarray(X), rows):
        m = model()
        assert same_bits(expected, m.learn(form, y))
        assert same_bits(dense.predict(X), m.predict(form))
    single = model()
    assert same_bits(expected, [single.learn_one(row, label) for row, label in zip(rows, y, strict=True)])
    with pytest.raises(ul.Error, match="sparse"):
        model().learn(scipy.sparse.csr_matrix(X), y)


def test_powers_of_two_change_no_bit() -> None:
    X, y = letters()
    units = 2.0 ** np.array([0, 3, -40, 100, 1, -1, 7, -200])
    a, b = model(), model()
    assert same_bits(a.learn(X, y), b.learn(X * units, y))
    assert same_bits(a.predict(X), b.predict(X * units))


def everything() -> str:
    X, y = letters()
    result = hashlib.sha256()
    for model_type, classes in (("curves", 26), ("trees", 26), ("trees", None)):
        m = model(classes, model_type, ensemble=classes is None)
        result.update(m.learn(X, y).tobytes() + m.predict(X).tobytes() + pickle.dumps(m))
    return result.hexdigest()


def test_every_instruction_set_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(digests_by_kernel(everything, monkeypatch)) == 1


def test_any_number_of_threads_gives_the_same_bits() -> None:
    assert len(digests_by_threads(everything)) == 1


def test_rows_without_weight_change_nothing() -> None:
    X, y = letters(300)
    weight = np.arange(300) % 3 > 0
    a, b = model(), model()
    with_them = a.learn(X, y, weight.astype(float))
    assert same_bits(with_them[weight], b.learn(X[weight], y[weight]))
    assert same_bits(a.predict(X), b.predict(X))


def test_all_classes_have_the_same_rate() -> None:
    X, y = letters()
    m = model()
    m.learn(X, y)
    form = m._snapshot()["form"]
    rates = form["trees.lane_rates"].reshape(26, -1)
    assert (rates == rates[0]).all()


def test_models_of_many_classes_can_be_merged() -> None:
    X, y = letters(1200)
    parts = [model(), model()]
    for part, rows in zip(parts, (slice(0, 600), slice(600, 1200)), strict=True):
        part.learn(X[rows], y[rows])
    merged = ul.merge(parts)
    assert np.isfinite(merged.learn(X[:50], y[:50])).all()
    assert same_bits(pickle.loads(pickle.dumps(merged)).predict(X), merged.predict(X))


def wrong(m: ul.OneVsAll, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(np.array(m.classes)[m.predict(X).argmax(axis=1)] != y))


def test_trees_find_what_a_linear_model_cannot() -> None:
    X, y = letters(9000, noise=0.3)
    linear, trees = (model(26, of, ensemble=True, center=True) for of in ("linear", "trees"))
    for m in (linear, trees):
        m.learn(X[:7500], y[:7500])
    assert wrong(trees, X[7500:], y[7500:]) < 0.6 * wrong(linear, X[7500:], y[7500:])


def test_memory_is_bounded() -> None:
    X, y = letters(1400, 60)
    m = model(60)
    m.learn(X, y)
    assert m.nbytes < 80e6  # with rates chosen by each class it was twice as much


RESIDENT = """
import sys
import numpy as np, unitless as ul
def resident(kind):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(kind))
rng = np.random.default_rng(0)
y = rng.integers(100, size=3000)
X = rng.normal(size=(100, 16))[y] + rng.normal(size=(3000, 16))
before = resident("VmRSS")
model = ul.OneVsAll(model_type="trees", learning_rate="auto", ensemble=True)
model.learn(X, y)
print(resident("VmHWM") - before, resident("VmRSS") - before, model.nbytes)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the memory of the process from /proc")
def test_rates_that_are_dropped_leave_no_memory_behind() -> None:
    """Memory of weights that are never accessed stays with the system, and what is freed returns to it."""
    run = subprocess.run([sys.executable, "-c", RESIDENT], capture_output=True, text=True, timeout=120, check=True)
    most, now, nbytes = map(int, run.stdout.split())
    assert now < 3 * nbytes
    assert most < 4 * nbytes


def test_fewer_and_smaller_trees_take_less_memory() -> None:
    X, y = letters(600)
    whole, small = model(), model(n_trees=16, max_leaves=64)
    for m in (whole, small):
        m.learn(X, y)
    assert small.nbytes < 0.3 * whole.nbytes
    assert np.isfinite(small.predict(X)).all()


@pytest.mark.parametrize(("name", "value"), [("n_trees", 0), ("n_trees", 2.5), ("n_trees", True), ("max_leaves", 1)])
def test_sizes_of_trees_are_checked(name: str, value: Any) -> None:
    with pytest.raises(ul.OptionError, match=f"{name} is {value!r}; it must be a whole number"):
        ul.Learner(**{name: value})


def test_the_sizes_of_trees_are_saved(tmp_path: Path) -> None:
    X, y = letters(300)
    m = model(n_trees=5, max_leaves=7)
    m.learn(X, y)
    m.save(tmp_path / "m.unitless")
    again = ul.load(tmp_path / "m.unitless")
    assert (again.options.n_trees, again.options.max_leaves) == (5, 7)
    assert pickle.dumps(again) == pickle.dumps(m)


def test_models_of_other_sizes_can_be_merged_and_explained() -> None:
    X, y = letters(1200)
    y = (y > 12).astype(float)
    parts = [ul.Learner(loss="logistic", model_type="trees", n_trees=7, max_leaves=9) for _ in range(2)]
    for part, rows in zip(parts, (slice(0, 600), slice(600, 1200)), strict=True):
        part.learn(X[rows], y[rows])
    merged = ul.merge(parts)
    why = ul.explain(merged, X[0])
    assert abs(why.base_value + sum(one.contribution for one in why.contributions) - merged.predict(X[:1])[0]) < 1e-9
