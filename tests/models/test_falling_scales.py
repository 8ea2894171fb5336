"""Falling scales: the model adapts to a column whose values become far smaller for good, and nothing else changes."""

from __future__ import annotations

import hashlib
import itertools
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from instruction_sets import KERNELS, digests_by_threads
from oracles import falling
from oracles.averaging import Average
from oracles.curves_and_trees import Shaped
from streams import UNIT_FREE, same_bits

import unitless as ul
from unitless.paper import algorithms as reference

ALGORITHMS = {"ng": reference.NG, "nag": reference.NAG, "snag": reference.SNAG}
NAMES = ["a", "b", "c"]
CHANGE, FALL, ROWS = 4200, 12_000, 12_500  # the change of the unit, the fall of the scale, and the end
MODELS: dict[str, Callable[..., Any]] = {
    "learner": lambda **options: ul.Learner(center=True, falling_scales=True, **options),
    "auto": lambda **options: ul.Learner(learning_rate="auto", center=True, falling_scales=True, **options),
    "one-vs-all": lambda **options: ul.OneVsAll(
        [0, 1, 2], learning_rate=0.5, center=True, falling_scales=True, **options
    ),
    "open": lambda **options: ul.OneVsAll(center=True, falling_scales=True, **options),
    "sweep": lambda **options: ul.Sweep([0.05, 0.5], center=True, falling_scales=True, **options),
    "averaged": lambda **options: ul.Learner(center=True, falling_scales=True, average=True, **options),
    "averaged auto": lambda **options: ul.Learner(
        learning_rate="auto", target="auto", center=True, falling_scales=True, average=True, **options
    ),
    "curves": lambda **options: ul.Learner(
        learning_rate="auto", center=True, falling_scales=True, model_type="curves", **options
    ),
    "interactions": lambda **options: ul.Learner(center=True, falling_scales=True, interactions=2, **options),
}


def problem(
    kind: str = "learner", rows: int = ROWS, change: int = CHANGE, factor: float = 1000
) -> tuple[np.ndarray, np.ndarray]:
    """The first column is in small units before the change, in large ones after it."""
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(rows, 3)) + np.array([5, 0, 1])
    y = plain @ [1.0, -0.5, 2.0] + 0.5 * rng.normal(size=rows)
    X = plain * [1, 3, 0.1]
    X[:change, 0] *= factor
    return X, np.digitize(y, [6, 8]) if kind in ("one-vs-all", "open") else y


def frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES)


def named(X: np.ndarray) -> Iterator[dict[str, float]]:
    """Rows by name. A NaN value is left out."""
    for row in X.tolist():
        yield {name: x for name, x in zip(NAMES, row, strict=True) if not np.isnan(x)}


def close(p: object, expected: np.ndarray, tolerance: float = 1e-9) -> None:
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(
        np.ravel(p), np.ravel(expected), rtol=tolerance, atol=tolerance * np.sqrt(np.mean(expected**2))
    )


# ------------------------------------------------------------------------------------------------- the story


def error(falling_scales: bool, change: int, factor: float, rule: str = "nag") -> tuple[float, float]:
    """The mean squared error before the change, and 8,000 rows after it."""
    X, y = problem(rows=40_000, change=change, factor=factor)
    model = ul.Learner(rule, learning_rate="auto", target="auto", center=True, falling_scales=falling_scales)
    squares = (model.learn(X, y) - y) ** 2
    return float(squares[change - 5000 : change].mean()), float(squares[change + 8000 :].mean())


@pytest.mark.parametrize("rule", UNIT_FREE)
def test_millimeters_become_meters(rule: str) -> None:
    before, after = error(False, 15_000, 1000, rule)
    assert before < 0.29
    assert after > 1.2
    before, after = error(True, 15_000, 1000, rule)
    assert before < 0.29
    assert after < 0.29


def test_meters_become_millimeters_as_before() -> None:
    assert error(True, 15_000, 0.001) == error(False, 15_000, 0.001)
    assert error(True, 15_000, 0.001)[1] < 0.29


def test_with_an_offset_that_changes_too() -> None:
    X, y = problem(rows=30_000, change=10_000)
    X[:, 0] += np.where(np.arange(len(X)) < 10_000, -2e6, 300)
    model = ul.Learner(learning_rate="auto", target="auto", center=True, falling_scales=True)
    assert np.mean((model.learn(X, y) - y)[20_000:] ** 2) < 0.29


def test_nothing_changes_where_no_scale_falls() -> None:
    X, y = problem(rows=13_000, change=0)
    for rule, rate in itertools.product(UNIT_FREE, (0.5, "auto")):
        a, b = (ul.Learner(rule, learning_rate=rate, center=True, falling_scales=on) for on in (False, True))
        assert same_bits(a.learn(X, y), b.learn(X, y))


def fallen(X: np.ndarray, **options: Any) -> bool:
    """Whether the scale of the first column, which began at about 3,000, has fallen."""
    model = ul.Learner(center=True, falling_scales=True, **options)
    model.learn(X, np.zeros(len(X)))
    scale = model.scales[0]
    assert scale > 100 or scale < 10
    return scale < 10


@pytest.mark.parametrize("rule", UNIT_FREE)
def test_a_scale_falls_to_what_the_window_has_shown(rule: str) -> None:
    X, y = problem()
    model = ul.Learner(rule, center=True, falling_scales=True)
    model.learn(X[:FALL], y[:FALL])
    window = X[FALL - 4000 : FALL, 0] - X[FALL - 4000 : FALL, 0].mean()
    expected = np.sqrt(np.mean(window**2)) if rule == "snag" else np.abs(window).max()
    assert model.scales[0] == pytest.approx(expected, rel=1e-12)
    assert model.scales[1] > 1


def test_a_window_in_which_the_unit_changes_is_not_one_of_the_new_unit() -> None:
    X, _ = problem(change=4200)
    assert not fallen(X[: FALL - 1])
    assert fallen(X[:FALL])
    X, _ = problem(change=8001)
    assert not fallen(X[:FALL])


def test_a_constant_column_keeps_its_scale() -> None:
    X, _ = problem()
    X[8000:, 0] = 5
    assert not fallen(X)


def test_rare_values_do_not_lower_a_scale() -> None:
    X, y = problem()
    for present, expected in ((990, False), (1010, True)):
        model = ul.Learner(center=True, falling_scales=True)
        model.learn(frame(X[:8000]), y[:8000])
        some = X[8000:].copy()
        some[present:, 0] = np.nan
        for row, label in zip(named(some), y[8000:], strict=True):
            model.learn_one(row, float(label))
        assert (model.scales["a"] < 10) == expected


@pytest.mark.parametrize(("factor", "expected"), [(10, False), (200, True)])
def test_only_far_smaller_values_lower_a_scale(factor: float, expected: bool) -> None:
    X, y = problem(factor=factor)
    model = ul.Learner(center=True, falling_scales=True)
    model.learn(X, y)
    assert (model.scales[0] < 10) == expected


def test_one_large_value_in_a_window_keeps_the_scale() -> None:
    X, _ = problem()
    X[10_000, 0] = 4000
    assert not fallen(X)


@pytest.mark.parametrize("rule", UNIT_FREE)
def test_an_outlier_is_not_another_unit(rule: str) -> None:
    X, y = problem(rows=20_000, change=0)
    X[[6000, 9001], 0] = 5000, 3000
    X[:, 1] = np.sort(X[:, 1])  # so that the values of each window are near each other
    a, b = (ul.Learner(rule, center=True, falling_scales=on) for on in (False, True))
    assert same_bits(a.learn(X, y), b.learn(X, y))


def test_a_slow_drift_is_not_another_unit() -> None:
    X, y = problem(rows=40_000, change=0)
    X[:, 0] = np.sin(np.arange(len(X)) / 60_000) + 1e-4 * X[:, 0]
    a, b = (ul.Learner(center=True, falling_scales=on) for on in (False, True))
    assert same_bits(a.learn(X, y), b.learn(X, y))


# ------------------------------------------------------------------------------------------------- oracle


@pytest.mark.parametrize("weights", ["none", "some", "missing values"])
@pytest.mark.parametrize("rule", UNIT_FREE)
def test_core_equals_oracle(rule: str, weights: str) -> None:
    X, y = problem(rows=14_000)
    rng = np.random.default_rng(1)
    weight = rng.choice([0.5, 1.0, 1.0, 3.25], len(y)) if weights == "some" else np.ones(len(y))
    weight[5:900:7] = 0
    if weights == "missing values":
        X[1:][rng.random((len(X) - 1, 3)) < 0.4] = np.nan
    oracle = falling.Centered(ALGORITHMS[rule](0.5))
    expected = np.array([oracle.learn_one(*row) for row in zip(X, y, weight, strict=True)])
    model = ul.Learner(rule, center=True, falling_scales=True)
    p = [model.learn(frame(X[:1]), y[:1], weight[:1])]
    if weights == "missing values":
        rows = zip(named(X[1:]), y[1:].tolist(), weight[1:].tolist(), strict=True)
        p += [[model.learn_one(row, label, h)] for row, label, h in rows]
    else:
        p.append(model.learn(frame(X[1:]), y[1:], weight[1:]))
    close(np.concatenate(p), expected)
    assert model.scales["a"] < 10


@pytest.mark.parametrize("rule", UNIT_FREE)
def test_the_average_equals_the_oracles(rule: str) -> None:
    X, y = problem()
    algorithm = ALGORITHMS[rule](0.5)
    oracle = falling.Centered(algorithm, Average(algorithm))
    model = ul.Learner(rule, center=True, falling_scales=True, average=True)
    done = 0
    for end in (FALL - 1, FALL, FALL + 1, ROWS):  # just before and after the scale falls, and between two looks
        for x, label in zip(X[done:end], y[done:end], strict=True):
            oracle.learn_one(x, float(label))
        model.learn(X[done:end], y[done:end])
        model.keep("averaged")
        assert oracle.average is not None
        close(list(model.weights.values())[1:], oracle.average.w[1:], 1e-8)
        model.keep("last")
        done = end


def test_the_average_does_not_move_when_the_scale_falls() -> None:
    X, y = problem()
    for kind in ("averaged", "averaged auto"):
        model = MODELS[kind]()
        model.learn(X[: FALL - 1], y[: FALL - 1])
        model.keep("averaged")
        before = model.importance[0]
        model.learn(X[FALL - 1 : FALL], y[FALL - 1 : FALL])
        assert model.scales[0] < 10
        assert model.importance[0] == pytest.approx(before, rel=1e-2)
        assert model.predict(X[FALL:]).std() > 0.1


@pytest.mark.parametrize(
    ("model_type", "rate", "classes"), [("linear", "auto", 0), ("linear", 0.5, 3), ("curves", 0.5, 0)]
)
def test_lanes_and_shapes_equal_the_oracle(model_type: Any, rate: Any, classes: int) -> None:
    X, y = problem("one-vs-all" if classes else "learner", FALL + 200)
    loss = reference.Logistic() if classes else reference.Squared()
    oracle = Shaped(model_type, "nag", loss, rate, classes=classes, center=True, falling_scales=True)
    options: dict[str, Any] = {"learning_rate": rate, "center": True, "falling_scales": True, "model_type": model_type}
    model = ul.OneVsAll(list(range(classes)), **options) if classes else ul.Learner(**options)
    close(model.learn(X, y), oracle.run(X, y), 1e-7)
    assert oracle.means[0] < 10


# ------------------------------------------------------------------------------------------------- the same bits


@pytest.mark.parametrize("kind", MODELS)
def test_one_call_is_many_calls(kind: str) -> None:
    X, y = problem(kind)
    weight = np.random.default_rng(2).choice([0.0, 1.0, 2.5], len(y), p=[0.01, 0.5, 0.49])
    for form, cuts in (
        (frame, [3990, 4040, 4100, 4300, 8070, 8100, 12_110, 12_130]),
        (np.asarray, list(range(77, ROWS, 77))),
    ):
        whole, parts = (MODELS[kind]() for _ in range(2))
        expected = whole.learn(form(X), y, weight)
        edges = [0, *cuts, len(y)]
        pieces = [parts.learn(form(X[a:b]), y[a:b], weight[a:b]) for a, b in itertools.pairwise(edges)]
        if kind == "open":  # classes join during the stream
            pieces = [np.pad(piece, ((0, 0), (0, 3 - piece.shape[1]))) for piece in pieces]
            expected = np.where(np.concatenate(pieces) == 0, 0, expected)
        assert same_bits(expected, np.concatenate(pieces))
        assert pickle.dumps(whole) == pickle.dumps(parts)
        assert whole._snapshot()["scale"][1] < 10


@pytest.mark.parametrize("rule", UNIT_FREE)
@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_row_by_row_by_name_and_as_a_sparse_matrix(rule: str, rate: Any) -> None:
    X, y = problem()
    X[5000:5010, 1] = 0
    models = [ul.Learner(rule, learning_rate=rate, center=True, falling_scales=True) for _ in range(5)]
    expected = models[0].learn(X, y)
    assert same_bits(expected, models[1].learn(frame(X), y))
    first, rest = models[2].learn(frame(X[:10])[NAMES], y[:10]), models[2].learn(frame(X[10:])[NAMES[::-1]], y[10:])
    assert same_bits(expected, np.concatenate([first, rest]))
    models[3].learn(frame(X[:10]), y[:10])
    rows = [models[3].learn_one(row, float(label)) for row, label in zip(named(X[10:]), y[10:], strict=True)]
    assert same_bits(expected[10:], rows)
    models[4].learn(X[:10], y[:10])
    assert same_bits(expected[10:], models[4].learn(sp.csr_matrix(X[10:]), y[10:]))
    assert models[0].scales[0] < 10


@settings(max_examples=10)
@given(
    rule=st.sampled_from(UNIT_FREE),
    rate=st.sampled_from([0.5, "auto"]),
    powers=st.lists(st.integers(-900, 900), min_size=3, max_size=3),
)
def test_power_of_two_scaling_changes_no_bit(rule: str, rate: Any, powers: list[int]) -> None:
    X, y = problem()
    scaled = X * np.ldexp(1.0, powers)
    a, b = (ul.Learner(rule, learning_rate=rate, center=True, falling_scales=True, average=True) for _ in range(2))
    assert same_bits(a.learn(X, y), b.learn(scaled, y))
    assert a.scales[0] < 10
    for kept in ("last", "averaged"):
        a.keep(kept)  # type: ignore[arg-type]
        b.keep(kept)  # type: ignore[arg-type]
        assert same_bits(a.predict(3 * X), b.predict(3 * scaled))


@pytest.mark.parametrize("kind", MODELS)
def test_saving_and_loading_is_invisible(kind: str, tmp_path: Path) -> None:
    X, y = problem(kind)
    whole = MODELS[kind]()
    whole.learn(X, y)
    m = MODELS[kind]()
    done = 0
    for end in (2000, 4000, 4001, 4100, 6000, 9500, FALL - 1, FALL, FALL + 1):
        m.learn(X[done:end], y[done:end])
        m.save(tmp_path / "m.unitless")
        m = ul.load(tmp_path / "m.unitless")
        done = end
    m.learn(X[done:], y[done:])
    assert pickle.dumps(whole) == pickle.dumps(m)


def test_predict_is_what_learn_would_have_predicted() -> None:
    X, y = problem()
    for kind in ("learner", "auto", "curves"):
        m = MODELS[kind]()
        m.learn(X[: FALL - 2], y[: FALL - 2])
        for r in range(FALL - 2, FALL + 3):
            before = pickle.dumps(m)
            predicted = m.predict(X[r : r + 1])
            assert pickle.dumps(m) == before
            assert same_bits(predicted, m.learn(X[r : r + 1], y[r : r + 1]))


def test_every_instruction_set_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("learner", "auto", "curves"):
        X, y = problem(kind)
        results = set()
        for name in KERNELS:
            monkeypatch.setenv("UNITLESS_KERNEL", name)
            results.add(MODELS[kind]().learn(X, y).tobytes())
        assert len(results) == 1


def of_classes() -> str:
    X, y = problem("one-vs-all")
    return hashlib.sha256(MODELS["open"]().learn(X, y).tobytes()).hexdigest()


def test_any_number_of_threads_gives_the_same_bits() -> None:
    assert len(digests_by_threads(of_classes, ("1", "2", "3"))) == 1


def test_rows_of_no_weight_and_bad_rows_count_for_nothing() -> None:
    X, y = problem()
    for kind in ("learner", "auto"):
        a, b = (MODELS[kind]() for _ in range(2))
        a.learn(X, y)
        b.learn(X[:4050], y[:4050])  # while scales are being proven
        bad = X[4050:4150].copy()
        bad[50, 1] = np.nan
        with pytest.raises(ul.Error):
            b.learn(bad, y[4050:4150])
        b.learn(X[4050:6000], y[4050:6000])
        b.learn(X[:5000], y[:5000], np.zeros(5000))
        with pytest.raises(ul.Error):
            b.learn(bad, y[6000:6100])
        with pytest.raises(ul.Error):
            b.learn_one({"x": 1.0}, 1.0)
        b.learn(X[6000:FALL], y[6000:FALL])
        b.learn(X[:10], y[:10], np.zeros(10))
        b.learn(X[FALL:], y[FALL:])
        assert pickle.dumps(a) == pickle.dumps(b)


def learn_all(model: Any, X: np.ndarray, y: np.ndarray, offset: np.ndarray, calls: list[tuple[int, int]]) -> None:
    for a, b in calls:
        model.learn(X[a:b], y[a:b], offset=offset[a:b])


@pytest.mark.parametrize("at", [4050, 10_000, FALL])
def test_a_row_that_diverges_leaves_the_rows_before_it(at: int) -> None:
    X, y = problem()
    offset = np.where(np.arange(ROWS) == at, 1000.0, 0.0)  # exp(1000) is beyond all numbers
    options: dict[str, Any] = {"loss": "poisson", "learning_rate": 0.5, "center": True, "falling_scales": True}
    y = np.abs(y)
    whole, parts = (ul.Learner(**options) for _ in range(2))
    for model, calls in ((whole, [(0, ROWS)]), (parts, [(a, a + 100) for a in range(0, ROWS, 100)])):
        with pytest.raises(ul.DivergedError):
            learn_all(model, X, y, offset, calls)
    assert whole.examples == parts.examples == at
    assert pickle.dumps(whole) == pickle.dumps(parts)


# ------------------------------------------------------------------------------------------------- around it


def test_it_is_for_centered_columns_and_rules_with_scales() -> None:
    with pytest.raises(ul.OptionError, match=r"falling_scales=True is for columns that are centered: use center=True"):
        ul.Learner(falling_scales=True)
    with pytest.raises(ul.OptionError, match="is for rules with scales; rule 'ag' has none"):
        ul.Learner("ag", center=True, falling_scales=True)


def test_merged_models_begin_a_new_window() -> None:
    X, y = problem()
    a, b = MODELS["learner"](), MODELS["learner"]()
    a.learn(X[:3000], y[:3000])
    b.learn(X[1000:4000], y[1000:4000])
    merged = ul.merge([a, b])  # of 6,000 examples: a window begins at 8,000
    assert merged.options.falling_scales
    merged.learn(X[:4100], y[:4100])
    merged.learn(X[5000:10_899], y[5000:10_899])
    assert merged.examples == 15_999
    assert merged.scales[0] > 100
    merged.learn(X[:1] / 1000, y[:1])
    assert merged.scales[0] < 10


def test_models_whose_scales_do_not_fall_have_no_windows(tmp_path: Path) -> None:
    X, y = problem()
    m = ul.Learner(center=True)
    m.learn(X, y)
    m.save(tmp_path / "m.unitless")
    state = ul.load(tmp_path / "m.unitless")._snapshot()
    assert len(state["window_features"]) == len(state["windows"]) == 0
    assert state["proven_scales"].tolist() == [0.0] * X.shape[1]


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("window_features", 0, 0),
        ("window_features", 1, 1),
        ("window_features", 2, 9),
        ("proven_scales", 0, np.nan),
        ("proven_scales", 0, -1.0),
        ("windows", 0, 0.0),  # the scale
        ("windows", 1, 1e300),  # the limit, beyond it
        ("windows", 2, 1e9),  # the lowest value, above the highest
        ("windows", 3, np.inf),
        ("windows", 4, np.nan),  # the first value
        ("windows", 6, -1.0),  # the squares
        ("windows", 7, -1.0),  # the weight
        ("windows", 8, 0.5),  # the count
    ],
)
def test_states_that_learning_cannot_give_are_refused(name: str, at: int, value: float) -> None:
    X, y = problem()
    model = MODELS["learner"]()
    model.learn(X[:4050], y[:4050])  # while scales are being proven
    before, forged = pickle.dumps(model), model._snapshot()
    assert len(forged["windows"]) == 27
    forged[name][at] = value
    with pytest.raises(ul.InputError):
        model._restore(forged)
    assert pickle.dumps(model) == before
    with pytest.raises(ul.InputError, match="windows"):
        ul.Learner(center=True)._restore(model._snapshot())


def test_high_level_learners_follow_units(tmp_path: Path) -> None:
    X, y = problem(rows=300)
    table = frame(X).assign(y=y)
    assert ul.train(table, "y", model_type="linear").model.options.falling_scales
    assert not ul.train(table, "y", model_type="linear", center=False).model.options.falling_scales
    assert not ul.train(table, "y", model_type="linear", rule="ag").model.options.falling_scales
    assert not ul.train(table, "y", model_type="linear", falling_scales=False).model.options.falling_scales
