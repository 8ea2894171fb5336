"""The best predictor in hindsight: its certificate holds, and the gap is small."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import unitless as ul
from unitless.paper import theory
from unitless.paper.algorithms import Hinge, Logistic, Loss, Poisson, Quantile, Squared
from unitless.paper.theory import Ball, Linear
from unitless.paper.theory.losses import values
from unitless.paper.theory.sequences import sequence

LOSSES: list[Loss] = [Linear(), Squared(), Logistic(), Hinge(), Quantile(0.3)]
by_name = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def problem(seed: int, loss: Loss, q: int) -> tuple[np.ndarray, np.ndarray, Ball]:
    X, y = sequence(seed, "classes" if isinstance(loss, Logistic | Hinge) else "slopes")
    return X, y, Ball(theory.largest(X) if q == 1 else theory.ellipsoid(X).scale, (0.1, 1.0, 10.0)[seed % 3], q)


@by_name
@pytest.mark.parametrize("q", [1, 2])
def test_nothing_in_the_ball_is_better_than_proven(loss: Loss, q: int) -> None:
    rng = np.random.default_rng(0)
    for seed in range(16):
        X, y, ball = problem(seed, loss, q)
        best = theory.best_predictor(X, y, loss, ball)
        assert ball.norm(best.w) <= ball.C * (1 + 1e-9)
        assert best.loss == pytest.approx(values(loss, X @ best.w, y).sum(), rel=1e-9)
        assert -1e-11 * (1 + abs(best.loss)) <= best.gap <= 1e-8 * (1 + abs(best.loss))
        used = ball.scale > 0
        for reach in (1.0, 0.1, 1e-3):  # anywhere in the ball, and near the answer
            for _ in range(10):
                w = (1 - reach) * best.w
                direction = rng.normal(size=used.sum())
                w[used] += reach * ball.C * rng.random() * direction / np.linalg.norm(direction, q) / ball.scale[used]
                assert values(loss, X @ w, y).sum() >= best.lower_bound - 1e-12 * (1 + abs(best.loss))


@by_name
@pytest.mark.parametrize("q", [1, 2])
def test_in_one_dimension_it_is_the_minimum_of_a_function(loss: Loss, q: int) -> None:
    for seed in range(9):
        X, y, _ = problem(seed, loss, q)
        X = X[:, :1]
        if not X.any():
            continue
        ball = Ball(theory.largest(X), (0.1, 1.0, 10.0)[seed % 3], q)
        best = theory.best_predictor(X, y, loss, ball)
        z = X[:, 0] / ball.scale
        v = minimize_scalar(
            lambda v, z=z, y=y: values(loss, z * v, y).sum(),
            bounds=(-ball.C, ball.C),
            method="bounded",
            options={"xatol": 1e-12},
        )
        assert best.lower_bound <= v.fun + 1e-12 * (1 + abs(v.fun))
        assert best.loss <= v.fun + 1e-8 * (1 + abs(v.fun))


def test_the_best_of_linear_losses_is_the_closed_form() -> None:
    X, y = np.array([[1.0, -4.0], [2.0, 4.0]]), np.array([1.0, 1.0])  # Σ g = (3, 0), scales (2, 4)
    best = theory.best_predictor(X, y, Linear(), Ball(theory.largest(X), 5.0))
    np.testing.assert_array_equal(best.w, [-2.5, 0.0])
    assert best.loss == best.lower_bound == -7.5


def test_regret_is_at_least_the_true_one() -> None:
    X, y, ball = problem(2, Hinge(), 1)
    run = theory.transductive(X, y, Hinge(), ball)
    best = theory.best_predictor(X, y, Hinge(), ball)
    assert theory.regret(run, best) >= run.losses.sum() - best.loss
    assert theory.regret(run, best) <= run.losses.sum() - best.loss + best.gap * (1 + 1e-9) + 1e-15


def test_a_loss_without_a_solver_is_refused() -> None:
    with pytest.raises(ul.OptionError):
        theory.best_predictor(np.ones((2, 1)), np.ones(2), Poisson(), Ball(np.ones(1), 1.0))


def test_balls_without_a_meaning_are_refused() -> None:
    with pytest.raises(ul.OptionError):
        Ball(np.ones(1), 1.0, 3)
    with pytest.raises(ul.OptionError):
        Ball(np.ones(1), 0.0)
