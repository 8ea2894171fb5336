"""The baselines compute what their papers say, and their units matter exactly where their docstrings say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streams import signs, stream

import unitless as ul
from unitless.paper import algorithms as reference
from unitless.paper.baselines import (
    AROW,
    VSGD,
    Baseline,
    DiagonalAROW,
    DiagonalSecondOrderPerceptron,
    OnlineNewtonStep,
    SecondOrderPerceptron,
    arow,
    online_newton_step,
    second_order_perceptron,
)
from unitless.paper.baselines import losses as baseline_losses
from unitless.paper.baselines.inverse_factor import LargeInverseFactor

Make = Callable[..., Baseline]

SECOND_ORDER: dict[str, Make] = {
    "ons": lambda **options: OnlineNewtonStep("logistic", limit=4.0, **options),
    "ons squared": lambda **options: OnlineNewtonStep("squared", rate=0.3, limit=4.0, **options),
    "sop": SecondOrderPerceptron,
    "diagonal sop": DiagonalSecondOrderPerceptron,
    "arow": AROW,
    "diagonal arow": DiagonalAROW,
}
FULL = ("ons", "ons squared", "sop", "arow")
VARIANCE: dict[str, Make] = {
    "vsgd": lambda **options: VSGD("logistic", **options),
    "vsgd squared": lambda **options: VSGD("squared", **options),
}
ALL = {**SECOND_ORDER, **VARIANCE}


# ------------------------------------------------------------------------- each against the letter of its paper


def first_values(X: np.ndarray) -> np.ndarray:
    """Each column's first non-zero value."""
    return X[(X != 0).argmax(axis=0), np.arange(X.shape[1])]


def start(X: np.ndarray, amount: float, scaled: bool) -> np.ndarray:
    return amount * (np.diag(first_values(X) ** 2) if scaled else np.eye(X.shape[1]))


def literal_ons(
    X: np.ndarray, y: np.ndarray, loss: reference.Loss, rate: float, limit: float, A: np.ndarray
) -> np.ndarray:
    w, predictions = np.zeros(X.shape[1]), []
    for x, label in zip(X, y, strict=True):
        p = float(np.clip(w @ x, -limit, limit))
        if w @ x != p:  # the nearest w in the norm of A that predicts p
            Ax = np.linalg.solve(A, x)
            w = w - Ax * (w @ x - p) / (x @ Ax)
        g = loss.slope(p, label) * x
        A = A + np.outer(g, g)
        w = w - rate * np.linalg.solve(A, g)
        predictions.append(p)
    return np.array(predictions)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(("name", "loss"), [("squared", reference.Squared()), ("logistic", reference.Logistic())])
def test_ons_solves_with_the_whole_matrix(name: Any, loss: reference.Loss, scaled: bool) -> None:
    X, y = signs()
    for limit in (2.0, 1e9):
        expected = literal_ons(X, y, loss, 0.3, limit, start(X, 0.7, scaled))
        p = OnlineNewtonStep(name, 0.3, 0.7, limit=limit, scaled=scaled).run(X, y)
        np.testing.assert_allclose(p, expected, rtol=1e-9, atol=1e-9)
        assert (np.abs(expected) == limit).any() == (limit == 2.0)
    np.testing.assert_array_equal(OnlineNewtonStep(name, 0.3, 0.7, scaled=scaled).run(X, y), p)


def test_ons_first_step_by_hand() -> None:
    m = OnlineNewtonStep("squared", rate=0.5, epsilon=3.0)
    assert m.learn([2.0], 1.0) == 0.0
    # g = 2(0 − 1)·2 = −4, A = 3 + 16, w = 0.5·4/19
    assert m.predict([2.0]) == pytest.approx(2 * 0.5 * 4 / 19, rel=1e-14)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("diagonal", [False, True])
def test_second_order_perceptron_solves_with_its_matrix(diagonal: bool, scaled: bool) -> None:
    X, y = signs()
    A, v, expected = start(X, 0.7, scaled), np.zeros(X.shape[1]), []
    for x, label in zip(X, y, strict=True):
        with_row = A + np.outer(x, x)
        p = v @ np.linalg.solve(np.diag(np.diag(with_row)) if diagonal else with_row, x)
        if label * p <= 0:
            A, v = with_row, v + label * x
        expected.append(p)
    m = (DiagonalSecondOrderPerceptron if diagonal else SecondOrderPerceptron)(0.7, scaled=scaled)
    np.testing.assert_allclose(m.run(X, y), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scaled", [False, True])
def test_arow_keeps_the_covariance_of_its_paper(scaled: bool) -> None:
    X, y = signs()
    covariance, w, expected, r = np.linalg.inv(start(X, 1.0, scaled)), np.zeros(X.shape[1]), [], 0.7
    for x, label in zip(X, y, strict=True):
        p, q = w @ x, x @ covariance @ x
        if label * p < 1:
            beta = 1 / (q + r)
            w = w + max(0.0, 1 - label * p) * beta * label * covariance @ x
            covariance = covariance - beta * np.outer(covariance @ x, x @ covariance)
        expected.append(p)
    np.testing.assert_allclose(AROW(r, scaled=scaled).run(X, y), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scaled", [False, True])
def test_diagonal_arow_keeps_the_diagonal_of_the_precision(scaled: bool) -> None:
    X, y = signs()
    precision, w, expected, r = np.diag(start(X, 1.0, scaled)), np.zeros(X.shape[1]), [], 0.7
    for x, label in zip(X, y, strict=True):
        p, q = w @ x, np.sum(x**2 / precision)
        if label * p < 1:
            w = w + (1 - label * p) / (q + r) * label * x / precision
            precision = precision + x**2 / r
        expected.append(p)
    np.testing.assert_allclose(DiagonalAROW(r, scaled=scaled).run(X, y), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_vsgd_averages_weight_by_weight(name: Any) -> None:
    X, y = signs()
    C, n0, loss = 2.5, 7, {"squared": reference.Squared(), "logistic": reference.Logistic()}[name]
    w, expected = [0.0] * 5, []
    g, v, h, tau = [0.0] * 5, [0.0] * 5, [0.0] * 5, [float(n0)] * 5
    for t, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True), start=1):
        p = sum(a * b for a, b in zip(w, x, strict=True))
        expected.append(p)
        slope = loss.slope(p, label)
        curvature = 2.0 if name == "squared" else abs(slope) * (1 - abs(slope))
        for i, value in enumerate(x):
            gradient, bend = slope * value, curvature * value**2
            if t <= n0:
                g[i], v[i], h[i] = g[i] + gradient / n0, v[i] + gradient**2 / n0, h[i] + bend / n0
                if t == n0:
                    v[i], h[i] = C * v[i], C * h[i]
                continue
            first = v[i] == 0 and gradient != 0
            g[i] = (1 - 1 / tau[i]) * g[i] + gradient / tau[i]
            v[i] = ((1 - 1 / tau[i]) * v[i] + gradient**2 / tau[i]) * (C if first else 1)
            h[i] = ((1 - 1 / tau[i]) * h[i] + bend / tau[i]) * (C if first else 1)
            if v[i] == 0:
                tau[i] += 1
                continue
            w[i] -= g[i] ** 2 / (h[i] * v[i]) * gradient
            tau[i] = (1 - g[i] ** 2 / v[i]) * tau[i] + 1
    np.testing.assert_allclose(VSGD(name, C, slow_start=n0).run(X, y), expected, rtol=1e-8, atol=1e-10)


def test_vsgd_overestimates_by_a_tenth_of_the_features() -> None:
    X, y = signs(features=30)
    np.testing.assert_array_equal(VSGD("logistic").run(X, y), VSGD("logistic", 3.0).run(X, y))
    np.testing.assert_array_equal(VSGD("logistic").run(X[:, :5], y), VSGD("logistic", 1.0).run(X[:, :5], y))


@pytest.mark.parametrize(
    ("name", "oracle"),
    [("squared", reference.Squared()), ("logistic", reference.Logistic())],
    ids=["squared", "logistic"],
)
def test_losses_are_those_of_the_reference(name: Any, oracle: reference.Loss) -> None:
    loss = baseline_losses.by_name(name)
    p = np.linspace(-30, 30, 121)
    for label in (-1.0, 1.0):
        y = np.full_like(p, label)
        np.testing.assert_allclose(loss.slope(p, y), [oracle.slope(float(at), label) for at in p], rtol=1e-13)
        near, step = p[np.abs(p) < 5], 1e-4
        sides = [loss.slope(near + side, np.full_like(near, label)) for side in (step, -step)]
        np.testing.assert_allclose(loss.curvature(p, y)[np.abs(p) < 5], (sides[0] - sides[1]) / (2 * step), rtol=1e-6)


# ------------------------------------------------------------------------------------------------------------ units

POWERS_OF_TWO = np.ldexp(1.0, [-40, 0, 13, -7, 25])
FACTORS = np.array([3.7e-5, 11.0, 1e6, 0.3, 7e-3])


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_second_order_baselines_notice_units(name: str) -> None:
    X, y = signs()
    learner = SECOND_ORDER[name]
    assert not learner().unit_free
    difference = learner().run(X * FACTORS, y) - learner().run(X, y)
    assert np.sqrt(np.mean(difference**2)) > 0.1


@pytest.mark.parametrize("name", ALL)
def test_baselines_marked_unit_free_are_unit_free(name: str) -> None:
    X, y = signs()
    options = {"scaled": True} if name in SECOND_ORDER else {}
    learner = ALL[name]
    assert learner(**options).unit_free
    p = learner(**options).run(X, y)
    np.testing.assert_array_equal(learner(**options).run(X * POWERS_OF_TWO, y), p)
    np.testing.assert_allclose(learner(**options).run(X * FACTORS, y), p, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("learner", "unit"),
    [
        (lambda amount: OnlineNewtonStep("logistic", 1.0, amount, limit=4.0), 0.3),
        (SecondOrderPerceptron, 0.3),
        (DiagonalSecondOrderPerceptron, 0.3),
        (AROW, 0.3),
        (DiagonalAROW, 0.3),
    ],
    ids=["epsilon", "a", "diagonal a", "r", "diagonal r"],
)
def test_the_hyperparameter_carries_the_square_of_the_unit(learner: Any, unit: float) -> None:
    """If all features change by one factor, its square on the hyperparameter undoes it."""
    X, y = signs()
    np.testing.assert_allclose(learner(unit * 37.0**2).run(X * 37.0, y), learner(unit).run(X, y), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_rotations_change_nothing_for_the_whole_matrix_from_the_identity(name: str) -> None:
    """The identity is the same in every rotated system; a start in each feature's own unit and a diagonal are not."""
    X, y = signs()
    rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(5, 5)))[0]
    for scaled in (False, True):
        learner = SECOND_ORDER[name]
        difference = learner(scaled=scaled).run(X @ rotation, y) - learner(scaled=scaled).run(X, y)
        if name in FULL and not scaled:
            assert np.abs(difference).max() < 1e-8
        else:
            assert np.sqrt(np.mean(difference**2)) > 0.02


def test_the_published_bound_of_ons_depends_on_units() -> None:
    """GD, the product of the largest gradient and weight, changes with units; the largest |g·w| does not."""
    X, y = signs()
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    g, w_rescaled = -y[:, None] * X, w / FACTORS
    lengths = np.linalg.norm(g, axis=1).max() * np.linalg.norm(w)
    lengths_rescaled = np.linalg.norm(g * FACTORS, axis=1).max() * np.linalg.norm(w_rescaled)
    assert lengths_rescaled > 1e6 * lengths
    assert np.abs((g * FACTORS) @ w_rescaled).max() == pytest.approx(np.abs(g @ w).max(), rel=1e-12)


@pytest.mark.parametrize("name", FULL)
def test_the_factor_stands_values_that_the_inverse_would_not(name: str) -> None:
    """Values 10⁸ beside a start of 1: the plain inverse would lose all digits."""
    X, y = signs()
    X = X * [1e8, 1.0, 1e8, 1.0, 1e4]
    learner = SECOND_ORDER[name]
    p = learner().run(X, y)
    assert np.isfinite(p).all()
    assert np.mean(np.where(p[200:] > 0, 1, -1) != y[200:]) < 0.25


# --------------------------------------------------------------------------------------------------------- learning


@pytest.mark.parametrize("name", ALL)
def test_they_learn(name: str) -> None:
    X, y = stream("logistic", rows=3000, features=6, spread=0.0, growth=False)
    p = ALL[name]().run(X, y)
    assert np.mean((p[1500:] > 0) != (y[1500:] > 0)) < 0.15


@pytest.mark.parametrize("name", ["ons squared", "vsgd squared"])
def test_they_learn_numbers(name: str) -> None:
    X, y = stream("squared", rows=3000, features=4, spread=0.0, growth=False)
    p = ALL[name]().run(X, y)
    assert np.mean((p[1500:] - y[1500:]) ** 2) < 0.095  # of which noise is 0.09


@pytest.mark.parametrize("name", ALL)
def test_a_lane_is_a_learner_alone(name: str) -> None:
    """Lists of hyperparameters and classes make lanes; each is what it would be by itself."""
    X, _ = signs(features=3)
    y = np.random.default_rng(1).integers(3, size=len(X))
    knob = {"ons": "epsilon", "ons squared": "epsilon", "arow": "r", "diagonal arow": "r"}.get(name, "a")
    knob = "overestimate" if name in VARIANCE else knob
    m = ALL[name](classes=3, **{knob: [0.5, 2.0]})
    p = m.run(X, y)
    assert p.shape == (len(X), 2, 3)
    for place, value in enumerate((0.5, 2.0)):
        for label in range(3):
            alone = ALL[name](**{knob: value}).run(X, np.where(y == label, 1, -1))
            np.testing.assert_allclose(p[:, place, label], alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", FULL)
@pytest.mark.parametrize("scaled", [False, True])
def test_large_matrices_are_no_different(name: str, scaled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The factor for many features defers its changes; it must not show, also where lanes learn at different rows."""
    X, _ = signs(rows=400, features=12)
    y = np.random.default_rng(1).integers(3, size=len(X))
    expected = SECOND_ORDER[name](scaled=scaled, classes=3).run(X, y)
    for home in (arow, online_newton_step, second_order_perceptron):
        monkeypatch.setattr(home, "inverse_factor", LargeInverseFactor)
    m = SECOND_ORDER[name](scaled=scaled, classes=3)
    np.testing.assert_allclose(m.run(X, y), expected, rtol=1e-8, atol=1e-8)
    assert isinstance(m._inverse, LargeInverseFactor)  # type: ignore[attr-defined]


def test_many_features_take_the_factor_for_large_matrices() -> None:
    X, y = signs(rows=150, features=120)
    expected = literal_ons(X, y, reference.Logistic(), 0.3, 4.0, start(X, 0.7, False))
    m = OnlineNewtonStep("logistic", 0.3, [0.7, 0.1], limit=4.0)
    np.testing.assert_allclose(m.run(X, y)[:, 0], expected, rtol=1e-8, atol=1e-8)
    assert isinstance(m._inverse, LargeInverseFactor)


@pytest.mark.parametrize("name", ALL)
def test_predict_equals_learn_and_changes_nothing(name: str) -> None:
    X, y = signs()
    for options in ({}, {"scaled": True} if name in SECOND_ORDER else {"slow_start": 3}):
        m = ALL[name](**options)
        whole = ALL[name](**options).run(X, y)
        assert m.predict(X[0]) == 0.0
        for x, label, expected in zip(X, y, whole, strict=True):
            assert m.predict(x) == pytest.approx(expected, rel=1e-12, abs=1e-15)
            assert m.learn(x, label) == expected


def test_a_lane_that_runs_away_leaves_the_others_alone() -> None:
    X, y = stream("squared", rows=300, features=4, spread=0.0, growth=False)
    p = OnlineNewtonStep("squared", rate=[1e300, 0.1]).run(X, y)
    assert not np.isfinite(p[-1, 0])
    np.testing.assert_allclose(p[:, 1], OnlineNewtonStep("squared", rate=0.1).run(X, y), rtol=1e-12, atol=1e-14)


def test_labels_may_be_written_in_three_ways() -> None:
    X, y = signs()
    p = AROW().run(X, y)
    np.testing.assert_array_equal(AROW().run(X, y > 0), p)
    np.testing.assert_array_equal(AROW().run(X, (y > 0).astype(int)), p)


# ------------------------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OnlineNewtonStep("hinge"), "'squared', 'logistic' or 'linear'"),  # type: ignore[arg-type]
        (lambda: OnlineNewtonStep(epsilon=0.0), "epsilon is 0.0; it must be above 0"),
        (lambda: OnlineNewtonStep(rate=[1.0, 2.0], epsilon=[1.0, 2.0, 3.0]), "2 of rate, 3 of epsilon"),
        (lambda: SecondOrderPerceptron(a=-1.0), "a is -1.0"),
        (lambda: AROW(r=[]), "r has the shape"),
        (lambda: AROW(r=float("nan")), "r is nan"),
        (lambda: AROW(r="big"), "must be a number or a list of numbers"),
        (lambda: AROW(classes=1), "at least 2"),
        (lambda: VSGD(slow_start=0), "slow_start is 0"),
    ],
)
def test_wrong_options_are_named(make: Callable[[], Baseline], message: str) -> None:
    with pytest.raises(ul.OptionError, match=message):
        make()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0, np.nan, 2.0, 3.0, 4.0]], [1], "nan at row 0, column 1"),
        ([[1.0, 2.0]], [1], "2 columns, but the rows before had 5"),
        (np.ones((2, 5)), [1, 2], "y has 2 at row 1"),
        (np.ones((2, 5)), [1], "y has 1 values, but X has 2 rows"),
        (np.ones(5), [1], "must have 2"),
        ([{"a": 1.0}], [1], "dense"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(X: Any, y: Any, message: str) -> None:
    rows, labels = signs()
    m = AROW()
    m.run(rows[:50], labels[:50])
    with pytest.raises(ul.InputError, match=message):
        m.run(X, y)
    n = AROW()
    n.run(rows[:50], labels[:50])
    np.testing.assert_array_equal(m.run(rows[50:], labels[50:]), n.run(rows[50:], labels[50:]))


def test_one_row_is_one_row() -> None:
    with pytest.raises(ul.InputError, match="x has 2 dimensions"):
        AROW().learn(np.ones((2, 2)), 1)
    with pytest.raises(ul.InputError, match="a class is 0 to 2"):
        AROW(classes=3).learn([1.0], 3)
    with pytest.raises(ul.InputError, match="y is not finite at row 0"):
        OnlineNewtonStep("squared").learn([1.0], np.inf)
