"""Centering: the learner equals one that receives x minus its running mean."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from oracles import published
from streams import RULES, UNIT_FREE, labels, same_bits

import unitless as ul
from unitless.paper import algorithms as reference

NAMES = ["a", "b", "c", "d", "e"]
MODELS: dict[str, Callable[..., Any]] = {
    "learner": lambda **options: ul.Learner(center=True, **options),
    "auto": lambda **options: ul.Learner(learning_rate="auto", center=True, **options),
    "one-vs-all": lambda **options: ul.OneVsAll(classes=[0, 1, 2], learning_rate=0.5, center=True, **options),
    "sweep": lambda **options: ul.Sweep([0.05, 0.5, 5.0], center=True, **options),
}


def problem(kind: str = "learner", rows: int = 200, loss: str = "squared") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(rows, 5))
    y = labels(loss, plain @ [1.0, -0.5, 0.3, 0.0, 0.8], rng)
    return plain * [1, 3, 0.1, 1, 2] + [10, -2, 0.5, 0, 7], np.digitize(y, [-1, 1]) if kind == "one-vs-all" else y


def centered(X: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """x minus the mean so far, in which the current row counts once; the stored mean counts it by its weight."""
    result = np.zeros_like(X)
    mean, mass = np.zeros(X.shape[1]), 0.0
    for r, x in enumerate(X):
        h = 1.0 if weight is None else float(weight[r])
        result[r] = x - (mean + (x - mean) / (mass + 1.0))
        if h:
            mass += h
            mean = mean + (x - mean) * (h / mass)
    return result


def frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES)


def close(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.sqrt(np.mean(np.square(b))))


# ------------------------------------------------------------------------------------------------- oracle


@pytest.mark.parametrize("weights", ["none", "zeros", "fractions"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("rule", RULES)
def test_core_equals_oracle(rule: str, loss: str, weights: str) -> None:
    X, y = problem(loss=loss)
    rng = np.random.default_rng(7)
    weight = {
        "none": None,
        "zeros": np.where(rng.random(len(y)) < 0.3, 0.0, 1.0),
        "fractions": 10.0 ** rng.uniform(-2, 1, size=len(y)),
    }[weights]
    its_loss = reference.Squared() if loss == "squared" else reference.Logistic()
    expected = reference.run(published.RULES[rule](0.1, its_loss), centered(X, weight), y, weight)
    close(ul.Learner(rule, loss, 0.1, center=True).learn(X, y, weight), expected)


@pytest.mark.parametrize("kind", ["one-vs-all", "sweep"])
def test_other_models_equal_themselves_on_centered_columns(kind: str) -> None:
    X, y = problem(kind)
    plain = ul.OneVsAll([0, 1, 2], learning_rate=0.5) if kind == "one-vs-all" else ul.Sweep([0.05, 0.5, 5.0])
    close(MODELS[kind]().learn(X, y), plain.learn(centered(X), y))


@pytest.mark.parametrize("rule", ["nag", "snag"])
def test_scales_are_those_of_the_distances_from_the_mean(rule: str) -> None:
    X, y = problem()
    m = ul.Learner(rule, center=True)
    m.learn(X, y)
    distances = centered(X)
    expected = np.abs(distances).max(axis=0) if rule == "nag" else np.sqrt(np.mean(distances**2, axis=0))
    np.testing.assert_allclose([m.scales[j] for j in range(5)], expected, rtol=1e-12)


def test_with_interactions_products_are_of_centered_values() -> None:
    X, y = problem()
    Z = centered(X)
    pairs = list(itertools.combinations_with_replacement(range(5), 2))
    products = np.column_stack([Z[:, i] * Z[:, j] for i, j in pairs])
    expected = ul.Learner().learn(np.hstack([Z, products]), y)
    for interactions, form in ((2, X), ([("*", "*")], frame(X))):
        close(ul.Learner(center=True, interactions=interactions).learn(form, y), expected)


# ------------------------------------------------------------------------------------------------- offsets and units


@pytest.mark.parametrize("rule", UNIT_FREE)
def test_an_offset_of_a_million_spreads_still_learns(rule: str) -> None:
    X, y = problem(rows=2000)
    spread = X.std(axis=0)
    near = np.mean((ul.Learner(rule, center=True).learn(X, y) - y) ** 2)
    far = np.mean((ul.Learner(rule, center=True).learn(X + 1e6 * spread, y) - y) ** 2)
    assert far == pytest.approx(near, rel=0.01)
    assert far < 0.6 * np.var(y)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("rule", UNIT_FREE)
def test_adding_a_constant_changes_predictions_by_rounding_only(rule: str, kind: str) -> None:
    X, y = problem(kind)
    moved = X + np.array([3, -50, 1, 20, 0.1])
    close(MODELS[kind](rule=rule).learn(moved, y), MODELS[kind](rule=rule).learn(X, y), 1e-8)


@given(
    rule=st.sampled_from(UNIT_FREE),
    column=st.integers(0, 4),
    exponent=st.floats(-6, 6),
    offset=st.floats(-1000, 1000),
    flip=st.booleans(),
)
def test_another_unit_and_offset_give_the_same_predictions(
    rule: str, column: int, exponent: float, offset: float, flip: bool
) -> None:
    X, y = problem()
    other = X.copy()
    factor = 10.0**exponent * (-1 if flip else 1)
    other[:, column] = factor * (X[:, column] + offset)
    close(ul.Learner(rule, center=True).learn(other, y), ul.Learner(rule, center=True).learn(X, y), 1e-4)


def test_a_constant_column_has_no_effect_whatever_its_value() -> None:
    X, y = problem()
    expected = ul.Learner(center=True).learn(X, y)
    for value in (0.0, 1.0, 0.1, -1e9):
        wider = np.hstack([X, np.full((len(X), 1), value)])
        assert same_bits(expected, ul.Learner(center=True).learn(wider, y))


# ------------------------------------------------------------------------------------------------- ways of feeding


def test_long_calls_cross_batches_unnoticed() -> None:
    X, y = problem(rows=1500)
    whole, parts = (ul.Learner(center=True) for _ in range(2))
    expected = whole.learn(X, y)
    assert same_bits(expected, np.concatenate([parts.learn(X[a : a + 77], y[a : a + 77]) for a in range(0, 1500, 77)]))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("rule", UNIT_FREE)
def test_frames_give_the_same_bits_as_arrays_whatever_the_order_of_columns(rule: str, kind: str, kernel: str) -> None:
    X, y = problem(kind, 60)
    a, b = (MODELS[kind](rule=rule) for _ in range(2))
    expected = a.learn(X, y)
    first, rest = b.learn(frame(X[:20]), y[:20]), b.learn(frame(X[20:])[NAMES[::-1]], y[20:])
    assert same_bits(expected, np.concatenate([first, rest]))
    assert same_bits(a.predict(X), b.predict(frame(X)[NAMES[::-1]]))
    assert same_bits(a.predict(X, extrapolate=True), b.predict(frame(X), extrapolate=True))


def test_number_types_of_columns_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 100, size=(80, 5)), rng.normal(size=80)
    expected = ul.Learner(center=True).learn(X.astype(float), y)
    for dtype in ("float32", "int8", "uint16", "int64"):
        assert same_bits(expected, ul.Learner(center=True).learn(X.astype(dtype), y))
        assert same_bits(expected, ul.Learner(center=True).learn(frame(X).astype(dtype), y))
        assert same_bits(expected, ul.Learner(center=True).learn(np.asfortranarray(X.astype(dtype)), y))


def test_a_fresh_model_is_not_changed_by_a_weight_of_zero() -> None:
    X, y = problem()
    m, fresh = (ul.Learner(center=True) for _ in range(2))
    assert not m.learn(X, y, np.zeros(len(y))).any()
    assert same_bits(m.learn(X, y), fresh.learn(X, y))
    assert pickle.dumps(m) == pickle.dumps(fresh)


def test_whole_weights_move_the_mean_like_repeated_rows() -> None:
    X, y = problem()
    weighted, repeated = (ul.Learner("gd", learning_rate=1e-9, center=True) for _ in range(2))
    times = np.random.default_rng(0).integers(1, 4, len(y))
    weighted.learn(X, y, times)
    repeated.learn(np.repeat(X, times, axis=0), np.repeat(y, times))
    a, b = (m._snapshot()["center_means"] for m in (weighted, repeated))
    np.testing.assert_allclose(a, b, rtol=1e-12)


# ------------------------------------------------------------------------------------------------- what is not centered


@pytest.mark.parametrize("rule", UNIT_FREE)
def test_booleans_are_never_centered(rule: str) -> None:
    rng = np.random.default_rng(0)
    flags, y = rng.random((100, 5)) < 0.3, rng.normal(size=100)
    expected = ul.Learner(rule).learn(flags, y)
    assert same_bits(expected, ul.Learner(rule, center=True).learn(flags, y))
    assert same_bits(expected, ul.Learner(rule, center=True).learn(frame(flags), y))
    assert not same_bits(expected, ul.Learner(rule, center=True).learn(flags.astype(float), y))


@pytest.mark.parametrize("rule", UNIT_FREE)
def test_sparse_matrices_and_mappings_are_never_centered(rule: str) -> None:
    X, y = problem()
    expected = ul.Learner(rule).learn(X, y)
    assert same_bits(expected, ul.Learner(rule, center=True).learn(sp.csr_matrix(X), y))
    rows = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
    assert same_bits(expected, ul.Learner(rule, center=True).learn(rows, y))
    one_by_one = ul.Learner(rule, center=True)
    assert same_bits(expected, [one_by_one.learn_one(row, label) for row, label in zip(rows, y, strict=True)])


def test_the_first_row_settles_what_kind_a_column_is() -> None:
    X, y = problem()
    plain, sparse_first = ul.Learner(), ul.Learner(center=True)
    assert same_bits(plain.learn(X[:50], y[:50]), sparse_first.learn(sp.csr_matrix(X[:50]), y[:50]))
    assert same_bits(plain.learn(X[50:], y[50:]), sparse_first.learn(X[50:], y[50:]))


@pytest.mark.parametrize("form", ["csr", "booleans", "mappings"])
@pytest.mark.parametrize("rows", [0, 50])
def test_rows_without_weight_settle_nothing(rows: int, form: str) -> None:
    X, y = problem()
    unseen = {
        "csr": lambda: sp.csr_matrix(X[:rows]),
        "booleans": lambda: X[:rows] > 1,
        "mappings": lambda: [dict(zip(NAMES, row, strict=True)) for row in X[:rows].tolist()],
    }[form]()
    m, fresh = (ul.Learner(center=True) for _ in range(2))
    m.learn(unseen, y[:rows], np.zeros(rows))
    seen = frame(X) if form == "mappings" else X
    assert same_bits(m.learn(seen, y), fresh.learn(seen, y))
    assert pickle.dumps(m) == pickle.dumps(fresh)


def test_frames_of_numbers_and_booleans_center_the_numbers_only() -> None:
    X, y = problem()
    flags = np.random.default_rng(0).random(len(y)) < 0.3
    table = pd.DataFrame({"x": X[:, 0], "flag": flags})
    expected = ul.Learner().learn(np.c_[centered(X[:, :1]), flags], y)
    close(ul.Learner(center=True).learn(table, y), expected)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("interactions", [None, 2])
def test_sparse_matrices_for_a_centered_model_equal_dense(interactions: object, kind: str) -> None:
    X, y = problem(kind)
    X = X * (np.random.default_rng(1).random(X.shape) < 0.7)
    a, b = (MODELS[kind](interactions=interactions) for _ in range(2))
    for m in (a, b):
        m.learn(X[:50], y[:50])
    assert same_bits(a.predict(X), b.predict(sp.csr_matrix(X)))
    assert same_bits(a.predict(X, extrapolate=True), b.predict(sp.csr_matrix(X), extrapolate=True))
    assert same_bits(a.learn(X[50:], y[50:]), b.learn(sp.csr_matrix(X[50:]), y[50:]))
    assert pickle.dumps(a) == pickle.dumps(b)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("interactions", [None, 2])
def test_mappings_for_a_centered_model_equal_frames(interactions: object, kind: str) -> None:
    X, y = problem(kind)
    a, b = (MODELS[kind](interactions=interactions) for _ in range(2))
    for m in (a, b):
        m.learn(frame(X[:50]), y[:50])
    rows = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
    assert same_bits(a.predict(frame(X)), b.predict(rows))
    assert same_bits(a.learn(frame(X[50:]), y[50:]), b.learn(rows[50:], y[50:]))
    assert pickle.dumps(a) == pickle.dumps(b)


@pytest.mark.parametrize("interactions", [None, 2])
def test_a_feature_that_is_left_out_counts_as_its_mean(interactions: object) -> None:
    X, y = problem()
    m = ul.Learner(center=True, interactions=interactions)
    m.learn(frame(X), y)
    means = np.array(X.mean(axis=0))
    row = dict(zip(NAMES, X[3].tolist(), strict=True))
    for extrapolate in (False, True):
        without = m.predict_one({name: row[name] for name in "acde"}, extrapolate=extrapolate)
        assert without == pytest.approx(m.predict_one(row | {"b": means[1]}, extrapolate=extrapolate), rel=1e-9)
        assert without == m.predict(frame(X[3:4])[list("acde")], extrapolate=extrapolate)[0]
    before = m._snapshot()["center_means"].reshape(-1, 2)[1]
    m.learn_one({name: row[name] for name in "acde"}, 1.0)
    assert same_bits(before, m._snapshot()["center_means"].reshape(-1, 2)[1])


# ------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("interactions", [None, 2, "ordered"])
@pytest.mark.parametrize("rule", RULES)
def test_extrapolated_prediction_is_linear_in_the_weights(rule: str, interactions: object, bias: bool) -> None:
    X, y = problem()
    m = ul.Learner(rule, learning_rate=0.01, center=True, interactions=interactions, bias=bias)
    m.learn(frame(X), y)
    values = {"(bias)": np.ones(len(X))} | dict(zip(NAMES, X.T, strict=True))
    total = np.zeros(len(X))
    for name, weight in m.weights.items():
        left, _, right = str(name).partition("*")
        total += weight * values[left] * (values[right] if right else 1.0)
    close(m.predict(frame(X), extrapolate=True), total, 1e-8)


def test_weights_of_classes_are_in_the_datas_units_too() -> None:
    X, y = problem("one-vs-all")
    m = MODELS["one-vs-all"]()
    m.learn(X, y)
    w = np.array([[m.weights[c][name] for name in ("(bias)", *range(5))] for c in m.classes])
    close(m.predict(X, extrapolate=True), w[:, 0] + X @ w[:, 1:].T)


# ------------------------------------------------------------------------------------------------- merging


@pytest.mark.parametrize("interactions", [None, 2])
@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("rule", UNIT_FREE)
def test_merging_with_a_fresh_model_changes_no_prediction(
    rule: str, kind: str, framed: bool, interactions: object
) -> None:
    X, y = problem(kind)
    form = frame if framed else np.asarray
    m = MODELS[kind](rule=rule, interactions=interactions)
    m.learn(form(X), y)
    for order in ([m, MODELS[kind](rule=rule, interactions=interactions)],) * 2:
        merged = ul.merge(order)
        close(merged.predict(form(X)), m.predict(form(X)))
        close(merged.predict(form(X), extrapolate=True), m.predict(form(X), extrapolate=True))
        order.reverse()


@pytest.mark.parametrize("interactions", [None, 2])
@pytest.mark.parametrize("rule", UNIT_FREE)
def test_merging_partitions_with_different_means_predicts_sensibly(rule: str, interactions: object) -> None:
    X, y = problem(rows=4000)
    X[2000:] += [1.0, 3.0, 0.1, -1.0, 2.0]
    y[2000:] += 0.9 + 0.3  # approximately the prediction of the same function at these values
    a, b = (ul.Learner(rule, center=True, interactions=interactions) for _ in range(2))
    a.learn(X[:2000], y[:2000])
    b.learn(X[2000:], y[2000:])
    merged = ul.merge([a, b])
    parts = [np.mean((m.predict(X, extrapolate=True) - y) ** 2) for m in (a, b)]
    assert np.mean((merged.predict(X, extrapolate=True) - y) ** 2) < 1.1 * max(parts) < 0.5 * np.var(y)
    means = merged._snapshot()["center_means"].reshape(-1, 2)
    np.testing.assert_allclose(means[:, 0], X.mean(axis=0), rtol=1e-9)
    np.testing.assert_array_equal(means[:, 1], 4000)


def test_merging_a_model_with_itself_changes_no_prediction() -> None:
    X, y = problem()
    m = ul.Learner(center=True)
    m.learn(X, y)
    merged = ul.merge([m, m.copy()])
    close(merged.predict(X, extrapolate=True), m.predict(X, extrapolate=True))


# ------------------------------------------------------------------------------------------------- bad input


def test_bad_input_changes_nothing() -> None:
    X, y = problem()
    bad = X.copy()
    bad[-1, 2] = np.nan
    fresh, m = ul.Learner(center=True), ul.Learner(center=True)
    m.learn(X, y)
    for model in (fresh, m):
        before = pickle.dumps(model)
        for form in (bad, sp.csr_matrix(bad)):
            with pytest.raises(ul.InputError, match="value is nan at row 199, column 2"):
                model.learn(form, y)
        with pytest.raises(ul.InputError, match="label is nan"):
            model.learn(X, np.full(len(y), np.nan))
        assert pickle.dumps(model) == before


@pytest.mark.parametrize("rule", UNIT_FREE)
def test_distances_beyond_all_numbers_do_no_harm(rule: str) -> None:
    m = ul.Learner(rule, center=True)
    m.learn([[1.0], [2.0]], [1.0, 2.0])
    before = pickle.dumps(m)
    with pytest.raises(ul.Error):
        m.learn([[1.7e308], [-1.7e308], [-1.7e308], [1.0]], [1.0, 2.0, 1.0, 1.0])
    if pickle.dumps(m) != before:
        assert np.isfinite([*m.scales.values(), *m.weights.values()]).all()


def test_after_divergence_exactly_the_rows_before_are_learned() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * 100
    y = X @ [1, 2, 3]
    options = {"rule": "gd", "learning_rate": 1.0, "importance_aware": False, "schedule": "constant"}
    for form in (np.asarray, lambda X: pd.DataFrame(X, columns=list("abc"))):
        m, expected = (ul.Learner(center=True, **options) for _ in range(2))  # type: ignore[arg-type]
        with pytest.raises(ul.DivergedError):
            m.learn(form(X), y)
        expected.learn(form(X[: m.examples]), y[: m.examples])
        assert pickle.dumps(m) == pickle.dumps(expected)


def test_centering_does_not_go_together_with_vowpal_wabbits_order() -> None:
    with pytest.raises(ul.OptionError, match="order='vw' is Vowpal Wabbit's learner"):
        ul.Learner(center=True, order="vw")
    with pytest.raises(ul.OptionError, match="center is 1; it must be one of True, False"):
        ul.Learner(center=1)  # type: ignore[arg-type]


def test_divergence_in_the_first_rows_of_a_table_that_is_not_whole() -> None:
    options = {"rule": "gd", "learning_rate": 1.0, "importance_aware": False, "schedule": "constant"}
    X = np.random.default_rng(0).normal(size=(300, 40)) * 100
    y = X @ np.arange(40.0)
    X[-1, 3] = np.nan
    names = [f"c{j}" for j in range(40)]
    m, expected = (ul.Learner(center=True, **options) for _ in range(2))  # type: ignore[arg-type]
    with pytest.raises(ul.DivergedError):
        m._learn_table(names, [np.ascontiguousarray(x) for x in X.T], True, False, False, y, None)
    learned = m.examples
    assert 0 < learned < 299
    expected._learn_table(
        names, [np.ascontiguousarray(x) for x in X[:learned].T], True, False, False, y[:learned], None
    )
    assert pickle.dumps(m) == pickle.dumps(expected)
