"""Automatic target: changing the label to a·y + b changes predictions in the same way."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from oracles import published
from streams import RULES, same_bits, stream

import unitless as ul
from unitless.paper import algorithms as reference

ADAPTIVE = ("ag", "nag", "snag")
LOSSES = ("squared", "quantile")
MODELS: dict[str, Callable[..., Any]] = {
    "learner": lambda **options: ul.Learner(target="auto", **options),
    "auto": lambda **options: ul.Learner(learning_rate="auto", target="auto", **options),
    "sweep": lambda **options: ul.Sweep([0.05, 0.5, 5.0], target="auto", **options),
}


def problem(rule: str = "nag", rows: int = 150, offset: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    baseline = rule in ("gd", "ag")
    X, y = stream(rows=rows, features=5, spread=0.3 if baseline else 6, growth=not baseline)
    return X, y + offset


def some_weights(rows: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    return np.where(np.arange(rows) < 3, 0.0, rng.integers(0, 4, rows) / 2)


def close(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.sqrt(np.mean(np.square(b))))


# ------------------------------------------------------------------------------------------------- oracle


class Limited(reference.Loss):
    """A loss with predictions limited to a range."""

    def __init__(self, loss: reference.Loss) -> None:
        self.loss, self.low, self.high = loss, np.inf, -np.inf

    def limit(self, p: float) -> float:
        return min(max(p, self.low), self.high) if self.low <= self.high else p

    def value(self, p: float, y: float) -> float:
        return self.loss.value(self.limit(p), y)

    def slope(self, p: float, y: float) -> float:
        return self.loss.slope(self.limit(p), y)

    def step(self, p: float, y: float, e: float, P: float) -> float:
        return self.loss.step(self.limit(p), y, e, P)


def oracle(
    rule: str, loss: str, X: np.ndarray, y: np.ndarray, weight: np.ndarray, rate: float = 0.3, aware: bool = True
) -> np.ndarray:
    limited = Limited(reference.Squared() if loss == "squared" else reference.Quantile(0.3))
    algorithm = published.RULES[rule](rate, limited, aware)
    has_unit = loss == "squared" and rule in ("gd", "ng")  # the gradient's, which is the label's
    first, mass, square, predictions = None, 0.0, 0.0, []
    for x, label, h in zip(np.c_[np.ones(len(X)), X], y, weight, strict=True):
        known = first is not None
        if h > 0 and not known:
            first = label
        u = label - (first if first is not None else 0.0)
        mass, square = mass + h, square + h * u * u
        R = np.sqrt(square / mass) if mass else 0.0
        algorithm.eta = rate if has_unit else rate * R
        p = limited.limit(algorithm.learn_one(x, u, h))
        predictions.append(first + p if known else 0.0)
        if h > 0:
            limited.low, limited.high = min(limited.low, u), max(limited.high, u)
    return np.array(predictions)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("aware", [True, False], ids=["aware", "plain"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rule", RULES)
def test_core_equals_oracle(rule: str, loss: str, aware: bool, weighted: bool) -> None:
    X, y = problem(rule)
    weight = some_weights(len(y)) if weighted else np.ones(len(y))
    rate = 0.3 if aware else 0.03
    m = ul.Learner(rule, loss, rate, target="auto", quantile=0.3, importance_aware=aware)
    close(m.learn(X, y, weight), oracle(rule, loss, X, y, weight, rate, aware))


def test_predictions_stay_within_the_labels_seen_before() -> None:
    X, y = problem()
    m = ul.Learner(target="auto", learning_rate=5.0)
    p = m.learn(X, y)
    assert p[0] == 0.0
    assert p[1] == y[0]
    lowest, highest = np.minimum.accumulate(y)[:-1], np.maximum.accumulate(y)[:-1]
    slack = 1e-12 * np.abs(y).max()
    assert ((p[1:] >= lowest - slack) & (p[1:] <= highest + slack)).all()
    assert m.predict(1e6 * X).max() <= y.max() + slack
    assert m.predict(1e6 * X, extrapolate=True).max() > 1000 * y.max()


# ------------------------------------------------------------------------------------------------- unit and offset


@given(
    rule=st.sampled_from(RULES),
    loss=st.sampled_from(LOSSES),
    kind=st.sampled_from(sorted(MODELS)),
    power=st.integers(-100, 100),
    aware=st.booleans(),
)
def test_powers_of_two_map_predictions_exactly(rule: str, loss: str, kind: str, power: int, aware: bool) -> None:
    X, y = problem(rule, 60)
    factor = float(np.ldexp(1.0, power))
    options = {"rule": rule, "loss": loss, "importance_aware": aware}
    a, b = (MODELS[kind](**options) for _ in range(2))
    assert same_bits(factor * a.learn(X, y), b.learn(X, factor * y))
    assert same_bits(factor * a.predict(2 * X), b.predict(2 * X))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rule", RULES)
def test_powers_of_two_map_predictions_exactly_for_every_rule(rule: str, loss: str) -> None:
    X, y = problem(rule)
    a, b = (ul.Learner(rule, loss, target="auto") for _ in range(2))
    assert same_bits(1024 * a.learn(X, y), b.learn(X, 1024 * y))
    assert same_bits(1024 * a.predict(X), b.predict(X))


@given(
    rule=st.sampled_from(RULES),
    loss=st.sampled_from(LOSSES),
    exponent=st.floats(-6, 6),
    offset=st.floats(-100, 100),
    flip=st.booleans(),
)
def test_another_unit_and_offset_map_predictions_to_rounding(
    rule: str, loss: str, exponent: float, offset: float, flip: bool
) -> None:
    X, y = problem(rule, 60)
    a = 10.0**exponent * (-1 if flip else 1)
    b = a * offset
    plain = ul.Learner(rule, loss, target="auto", quantile=0.3)
    moved = ul.Learner(rule, loss, target="auto", quantile=0.7 if flip else 0.3)
    expected, mapped = plain.learn(X, y), moved.learn(X, a * y + b)
    np.testing.assert_allclose((mapped[1:] - b) / a, expected[1:], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose((moved.predict(X) - b) / a, plain.predict(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_with_automatic_rates_the_unit_does_not_matter_either(loss: str) -> None:
    X, y = problem(rows=3000)
    a, b = (ul.Learner("nag", loss, "auto", target="auto") for _ in range(2))
    assert same_bits(a.learn(X, y) / 64, b.learn(X, y / 64))
    assert a.learning_rate == b.learning_rate
    assert list(a.rates) == list(b.rates)


@pytest.mark.parametrize("rule", ADAPTIVE)
def test_it_learns_whatever_the_labels_unit_and_offset(rule: str) -> None:
    X, y = stream(rows=2000, features=5, spread=0.3, growth=False)
    p = ul.Learner(rule, target="auto").learn(X, 1e9 + 1e-3 * y)
    assert np.mean((p[1000:] - (1e9 + 1e-3 * y[1000:])) ** 2) < 0.25e-6 * np.var(y)


def test_powers_of_two_of_features_change_no_bit() -> None:
    X, y = problem()
    for rule in ("ng", "nag", "snag"):
        a, b = (ul.Learner(rule, target="auto") for _ in range(2))
        assert same_bits(a.learn(X, y), b.learn(X * [0.25, 2, 1, 2**40, 2**-90], y))


# ------------------------------------------------------------------------------------------------- ways of feeding


@pytest.mark.parametrize("rule", RULES)
def test_a_sweep_is_its_learners(rule: str) -> None:
    X, y = problem(rule)
    sweep = ul.Sweep([0.05, 0.5], rule, target="auto")
    p = sweep.learn(X, y)
    for j, rate in enumerate((0.05, 0.5)):
        alone = ul.Learner(rule, learning_rate=rate, target="auto")
        close(p[:, j], alone.learn(X, y))
        close(sweep.model(j).predict(X), alone.predict(X))


# ------------------------------------------------------------------------------------------------- beginnings


@pytest.mark.parametrize("kind", MODELS)
def test_a_fresh_model_predicts_zero(kind: str) -> None:
    X, y = problem()
    m = MODELS[kind]()
    assert not m.predict(X).any()
    assert m.predict_one({"a": 1.0}) == 0
    assert not m.learn(X, y, np.zeros(len(y))).any()
    assert not m.predict(X).any()


@pytest.mark.parametrize("kind", MODELS)
def test_labels_without_weight_do_not_become_the_offset(kind: str) -> None:
    X, y = problem()
    y[:5] = 1e9
    weight = np.where(np.arange(len(y)) < 5, 0.0, 1.0)
    a, b = MODELS[kind](), MODELS[kind]()
    p = a.learn(X, y, weight)
    assert not p[:6].any()
    assert same_bits(p[5:], b.learn(X[5:], y[5:]))
    assert pickle.dumps(a) == pickle.dumps(b)


@pytest.mark.parametrize("label", [0.0, 5.5, -1e60, 1e-300])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rule", RULES)
def test_constant_labels_are_predicted_exactly(rule: str, loss: str, label: float) -> None:
    X, _ = problem(rule, 30)
    m = ul.Learner(rule, loss, target="auto")
    np.testing.assert_array_equal(m.learn(X, np.full(30, label)), [0.0] + [label] * 29)
    np.testing.assert_array_equal(m.predict(2 * X, extrapolate=True), label)
    assert m.weights["(bias)"] == label


# ------------------------------------------------------------------------------------------------- reading, merging


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rule", RULES)
def test_extrapolated_prediction_is_linear_in_the_weights(rule: str, bias: bool) -> None:
    X, y = problem(rule)
    m = ul.Learner(rule, target="auto", learning_rate=0.05, bias=bias)
    m.learn(X, y)
    linear = m.weights["(bias)"] + X @ [m.weights[j] for j in range(5)]
    inside = (linear > y.min()) & (linear < y.max())
    assert inside.sum() > 50
    close(m.predict(X, extrapolate=True)[inside], linear[inside])


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("interactions", [None, 2])
def test_it_goes_together_with_centering_and_interactions(interactions: object, center: bool) -> None:
    X, y = stream(rows=120, features=5, spread=1, growth=False)
    options: dict[str, Any] = {"center": center, "interactions": interactions, "target": "auto"}
    a, b = ul.Learner(**options), ul.Learner(**options)
    p = a.learn(X, y)
    assert same_bits(32 * p, b.learn(X, 32 * y))
    twin = pickle.loads(pickle.dumps(a))
    assert same_bits(twin.learn(X, y), a.learn(X, y))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("rule", RULES)
def test_merging_with_a_fresh_model_changes_no_prediction(rule: str, kind: str) -> None:
    X, y = problem(rule)
    m = MODELS[kind](rule=rule)
    m.learn(X, y)
    for order in ([m, MODELS[kind](rule=rule)], [MODELS[kind](rule=rule), m]):
        close(ul.merge(order).predict(X), m.predict(X))
        close(ul.merge(order).learn(X, y), m.copy().learn(X, y))


@pytest.mark.parametrize("rule", ADAPTIVE)
def test_a_merged_model_predicts_sensibly_though_the_first_labels_differ(rule: str) -> None:
    X, y = stream(rows=2000, features=5, spread=0.3, growth=False)
    y = 1000 + y
    a, b = (ul.Learner(rule, target="auto") for _ in range(2))
    a.learn(X[:1000], y[:1000])
    b.learn(X[1000:], y[1000:])
    assert np.mean((ul.merge([a, b]).predict(X) - y) ** 2) < 0.3 * np.var(y)


# ------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "logistic"}, "target='auto' is for squared and quantile loss; logistic loss predicts a score"),
        ({"loss": "hinge"}, "target='auto' is for squared and quantile loss"),
        ({"loss": "poisson"}, "target='auto' is for squared and quantile loss"),
        ({"clip": "labels"}, "target='auto' limits predictions by itself; leave out clip"),
        ({"clip": "vw"}, "target='auto' limits predictions by itself"),
        ({"order": "vw"}, "order='vw' is Vowpal Wabbit's learner; it has neither target='auto'"),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [ul.Learner, ul.Sweep])
def test_options_that_do_not_fit_are_refused(make: Any, options: dict[str, str], message: str) -> None:
    with pytest.raises(ul.OptionError, match=message):
        make(target="auto", **options)


@pytest.mark.parametrize("target", [True, "yes", 1, 0.5], ids=str)
def test_a_target_that_does_not_exist_is_refused(target: Any) -> None:
    with pytest.raises(ul.OptionError, match=r"target is .*; it must be one of None, 'auto'"):
        ul.Learner(target=target)


def test_classes_have_no_target() -> None:
    for loss in LOSSES:
        with pytest.raises(ul.OptionError, match="target='auto' is for numbers; one-vs-all predicts classes"):
            ul.OneVsAll(loss=loss, target="auto")
        with pytest.raises(ul.OptionError, match="target='auto' is for numbers; one-vs-all predicts classes"):
            ul.Sweep(classes=[0, 1], loss=loss, target="auto")


@pytest.mark.parametrize("learned", [False, True], ids=["fresh", "learned"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", MODELS)
def test_labels_that_are_no_numbers_are_refused_and_change_nothing(kind: str, bad: float, learned: bool) -> None:
    X, y = problem()
    m = MODELS[kind]()
    if learned:
        m.learn(X, y)
    before = pickle.dumps(m)
    y[-1] = bad
    for form in (X, sp.csr_matrix(X)):
        with pytest.raises(ul.InputError, match=r"label is -?(nan|inf) at row 149; labels must be finite"):
            m.learn(form, y)
    assert pickle.dumps(m) == before


@pytest.mark.parametrize("kind", MODELS)
def test_values_that_are_no_numbers_do_not_move_the_target(kind: str) -> None:
    X, y = problem()
    m = MODELS[kind]()
    bad = X.copy()
    bad[-1, 0] = np.nan
    before = pickle.dumps(m)
    with pytest.raises(ul.InputError, match="value is nan at row 149, column 0"):
        m.learn(bad, y)
    assert pickle.dumps(m) == before
    assert same_bits(m.learn(X, y), MODELS[kind]().learn(X, y))


@pytest.mark.parametrize("wild", [[1.7e308, -1.7e308, 1.0], [1.0, 1e200, -1e200]], ids=str)
@pytest.mark.parametrize("kind", MODELS)
def test_labels_beyond_reason_leave_a_model_of_finite_numbers(kind: str, wild: list[float]) -> None:
    X, _ = problem()
    m = MODELS[kind]()
    try:
        m.learn(X[:3], wild)
    except ul.Error:
        m.predict(X)
    assert np.isfinite(m.predict(X)).all()
    state = m._snapshot()
    assert np.isfinite(np.concatenate([state["v"], state["H"], state["target"]])).all()


def test_after_divergence_the_target_has_seen_only_the_rows_before() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X @ [1, 2, 3]
    X[40] = 1e200
    for form in (np.asarray, sp.csr_matrix):
        m, expected = (ul.Learner("gd", target="auto", importance_aware=False) for _ in range(2))
        with pytest.raises(ul.DivergedError, match="diverged at row 40"):
            m.learn(form(X), y)
        expected.learn(form(X[:40]), y[:40])
        assert pickle.dumps(m) == pickle.dumps(expected)
