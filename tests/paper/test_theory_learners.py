"""The learners of the analysis: what they promise, and that units do not matter to them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from unitless.paper import theory
from unitless.paper.algorithms import Hinge, Logistic, Loss, Quantile, Squared
from unitless.paper.theory import Ball, Linear, Run
from unitless.paper.theory.sequences import sequence

UNITS = np.array([1e-5, 3.0, 7e4, 1e-2])


def ball_around(X: np.ndarray, C: float, q: int = 1) -> Ball:
    return Ball(theory.largest(X) if q == 1 else theory.ellipsoid(X).scale, C, q)


def hard_sequence(seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 4)) * np.linspace(0.1, 3, 40)[:, None]
    X[rng.random(X.shape) < 0.2] = 0.0
    return X, rng.normal(size=40)


LEARNERS: dict[str, Callable[[np.ndarray, np.ndarray, Ball], Run]] = {
    "lemma 2": lambda X, y, b: theory.worst_case_hindsight(
        X, y, Squared(), b, theory.transductive(X, y, Squared(), b).squares
    ),
    "lemma 2, projected, truncated": lambda X, y, b: theory.worst_case_hindsight(
        X, y, Squared(), b, theory.transductive(X, y, Squared(), b).squares, project=True, truncate=True
    ),
    "sharper hindsight": lambda X, y, b: theory.sharper_hindsight(
        X, y, Squared(), b, theory.transductive(X, y, Squared(), b).squares
    ),
    "equation 1": lambda X, y, b: theory.online(X, y, Squared(), b.C, b.q),
    "equation 2": lambda X, y, b: theory.transductive(X, y, Squared(), b),
    "equation 3": lambda X, y, b: theory.streaming(X, y, Squared(), b.C),
    "sharper": lambda X, y, b: theory.sharper_transductive(X, y, Squared(), b),
}


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("name", LEARNERS)
def test_units_change_neither_predictions_nor_regret_nor_bounds(name: str, q: int) -> None:
    X, y = hard_sequence()
    runs = []
    for units in (np.ones(4), UNITS):
        ball = ball_around(X * units, 1.5, q)
        run = LEARNERS[name](X * units, y, ball)
        best = theory.best_predictor(X * units, y, Squared(), ball)
        scale_free = [
            theory.regret(run, best),
            theory.lemma_1(run, best.w),
            theory.hindsight_bound(run, best.w),
            theory.lemma_2(run, ball),
            theory.p2_bound(run, ball),
            theory.sharper_lemma_2(run, ball),
            theory.theorem_1(run, ball),
            theory.sharper_theorem_1(run, ball),
            theory.theorem_2(run, 1.5),
            theory.corollary_1(run, 1.5, 0.5, 0.2),
        ]
        with_units = [
            theory.zinkevich(run, best.w),
            theory.adaptive_gradient_bound(run, best.w),
            theory.adaptive_gradient_bound(run, best.w, full=True),
        ]
        runs.append((run.predictions, scale_free, with_units))
    np.testing.assert_allclose(runs[1][0], runs[0][0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(runs[1][1], runs[0][1], rtol=1e-6)
    assert (np.array(runs[1][2]) > 1000 * np.array(runs[0][2])).all()


def test_units_that_are_powers_of_two_change_no_bit() -> None:
    X, y = hard_sequence()
    units = 2.0 ** np.array([-60, 31, 7, 55])
    plain, rescaled = (theory.streaming(inputs, y, Squared(), 1.5) for inputs in (X, X * units))
    np.testing.assert_array_equal(plain.predictions, rescaled.predictions)
    assert theory.theorem_2(plain, 1.5) == theory.theorem_2(rescaled, 1.5)


def streaming_as_printed(X: np.ndarray, y: np.ndarray, C: float) -> Run:
    """Equation 3 as typeset, with the maximum under the root."""
    scales = theory.running_largest(X)
    balls = [Ball(scale, C) for scale in scales]
    return theory.descend(X, y, Squared(), lambda t, G: np.sqrt(G * scales[t]) / (C * math.sqrt(2)), balls)


def test_equation_3_as_printed_depends_on_units() -> None:
    X, y = hard_sequence()
    printed, rescaled = (streaming_as_printed(inputs, y, 1.5).predictions for inputs in (X, 100 * X))
    assert np.abs(printed - rescaled).max() > 0.5
    corrected, rescaled = (theory.streaming(inputs, y, Squared(), 1.5).predictions for inputs in (X, 100 * X))
    assert np.abs(corrected - rescaled).max() < 1e-10


def test_equation_3_is_equation_2_when_the_scales_are_known_from_the_start() -> None:
    X, y = hard_sequence()
    X[0] = theory.largest(X)
    one_pass, two_pass = theory.streaming(X, y, Squared(), 2.0), theory.transductive(X, y, Squared(), ball_around(X, 2))
    np.testing.assert_array_equal(one_pass.predictions, two_pass.predictions)


@pytest.mark.parametrize("q", [1, 2])
def test_projected_weights_and_predictions_stay_bounded(q: int) -> None:
    for seed in range(100):
        X, y = sequence(seed)
        ball = ball_around(X, 0.7, q)
        run = theory.transductive(X, y, Squared(), ball)
        assert max(ball.norm(w) for w in run.weights) <= 0.7 * (1 + 1e-12)
        assert np.abs(run.predictions).max() <= 0.7 * (1 + 1e-9)


def test_only_truncation_bounds_a_streaming_prediction_at_a_new_maximum() -> None:
    X, y = np.array([[1.0], [10.0]]), np.array([3.0, 3.0])
    assert theory.streaming(X, y, Squared(), 1.0).predictions[1] == pytest.approx(10.0)
    assert theory.streaming(X, y, Squared(), 1.0, truncate=True).predictions[1] == 1.0


def test_features_without_values_or_gradients_are_left_alone() -> None:
    X, y = hard_sequence()
    empty = np.insert(X, 2, 0.0, axis=1)
    for q in (1, 2):
        full = theory.transductive(X, y, Hinge(), ball_around(X, 1.0, q))
        padded = theory.transductive(empty, y, Hinge(), ball_around(empty, 1.0, q))
        np.testing.assert_allclose(padded.predictions, full.predictions, rtol=1e-12, atol=1e-14)
        assert (padded.weights[:, 2] == 0).all()
        assert theory.theorem_1(padded, ball_around(empty, 1.0, q)) == pytest.approx(
            theory.theorem_1(full, ball_around(X, 1.0, q)), rel=1e-12
        )


def test_a_weight_that_is_zero_in_hindsight_stays_zero() -> None:
    X, y = hard_sequence()
    w_star = np.array([1.0, 0.0, -2.0, 0.0])
    run = theory.hindsight(X, y, Squared(), w_star, np.ones(4))
    assert (run.weights[:, w_star == 0] == 0).all()
    assert (run.weights[-1, w_star != 0] != 0).all()
    assert math.isfinite(theory.lemma_1(run, w_star))


# ---------------------------------------------------------------------------------------------------- truncation

LOSSES: list[tuple[Loss, tuple[float, ...]]] = [
    (Squared(), (-3.0, 0.2, 5.0)),
    (Logistic(), (-1.0, 1.0)),
    (Hinge(), (-1.0, 1.0)),
    (Quantile(0.3), (-3.0, 0.2, 5.0)),
    (Linear(), (-2.0, 1.0)),
]


def excess(slope: float, loss: Loss, p: float, label: float, C: float) -> float:
    """By how much the truncated loss's regret exceeds g′·(p − c) for the worst comparator's prediction c.

    All that Lemma 1 needs is that it never does.
    """
    truncated = loss.value(min(max(p, -C), C), label)
    return max(truncated - loss.value(c, label) - slope * (p - c) for c in np.linspace(-C, C, 41))


@pytest.mark.parametrize("C", [0.5, 1.0, 4.0])
@pytest.mark.parametrize(("loss", "labels"), LOSSES, ids=lambda given: type(given).__name__)
def test_the_slope_of_truncated_predictions_bounds_their_regret(
    loss: Loss, labels: tuple[float, ...], C: float
) -> None:
    for p in np.linspace(-10, 10, 81):
        for label in labels:
            assert excess(theory.truncated_slope(loss, p, label, C), loss, p, label, C) <= 1e-12


def test_simpler_slopes_do_not_bound_the_regret_of_truncation() -> None:
    p, label, C = 3.0, 1.0, 1.0
    at_the_raw, at_the_truncated = Logistic().slope(p, label), Logistic().slope(C, label)
    assert excess(at_the_raw, Logistic(), p, label, C) > 0.05
    assert excess(at_the_truncated, Logistic(), p, label, C) > 0.5
    assert theory.truncated_slope(Logistic(), p, label, C) == 0.0
