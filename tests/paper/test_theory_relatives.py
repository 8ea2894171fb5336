"""The regret of the relatives stays below the bounds that their papers state, for every comparator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from unitless.paper import theory
from unitless.paper.baselines import KT, FreeGrad, GradientLearner, ScInOL1, ScInOL2
from unitless.paper.theory.sequences import KINDS, sequence

SEQUENCES = [range(250), pytest.param(range(250, 1000), marks=pytest.mark.long)]
Bound = Callable[[theory.Game, np.ndarray, float], np.ndarray]
Make = Callable[[np.ndarray, str, float], GradientLearner]

RELATIVES: dict[str, tuple[Make, Bound]] = {
    "scinol1": (lambda X, loss, epsilon: ScInOL1(loss, epsilon), theory.scinol1_bound),  # type: ignore[arg-type]
    "scinol2": (lambda X, loss, epsilon: ScInOL2(loss, epsilon), theory.scinol2_bound),  # type: ignore[arg-type]
    "coin betting": (
        lambda X, loss, epsilon: KT(loss, epsilon, ranges=np.maximum(np.abs(X).max(axis=0), 1e-300)),  # type: ignore[arg-type]
        theory.coin_betting_bound,
    ),
    "freegrad": (lambda X, loss, epsilon: FreeGrad(loss, epsilon, scaled=True), theory.freegrad_bound),  # type: ignore[arg-type]
}

SIZES = np.concatenate([[0.0], 10.0 ** np.linspace(-4, 6, 21)])
"""Comparators, in the unit of each feature: what they contribute to a prediction."""


def rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A sequence of the paper's eight kinds, every third one repeated to be longer, with slopes of at most 1."""
    X, y = sequence(seed)
    if seed % 3 == 0:
        X, y = np.tile(X, (8, 1)), np.tile(y, 8)
    return X, y / max(np.abs(y).max(), 1e-300)


def against(learner: GradientLearner, X: np.ndarray) -> theory.Game:
    """An adversary who chooses each slope: it lets the prediction lose, and begins with one direction."""
    weights, gradients = np.zeros(X.shape), np.zeros(X.shape)
    for t, x in enumerate(X):
        weights[t] = learner.weights(x)[0]
        slope = 1.0 if weights[t] @ x >= 0 else -1.0
        learner.learn(x, slope)
        gradients[t] = slope * x
    return theory.Game(X, gradients, weights)


def largest_excess(game: theory.Game, bound: Bound, epsilon: float) -> float:
    """The largest regret less the bound, over comparators; each coordinate of the sum is maximized alone."""
    unit = np.where(game.largest > 0, game.largest, 1.0)
    excess = [
        game.regret(sign * size / unit) - bound(game, sign * size / unit, epsilon) for size in SIZES for sign in (-1, 1)
    ]
    return float(np.max(excess, axis=0).sum())


@pytest.mark.parametrize("seeds", SEQUENCES)
@pytest.mark.parametrize("name", RELATIVES)
def test_regret_stays_below_the_stated_bound(name: str, seeds: range) -> None:
    make, bound = RELATIVES[name]
    tightest = -np.inf
    for seed in seeds:
        X, y = rows(seed)
        epsilon = (1.0, 0.01, 10.0)[seed % 7 % 3]
        learner = make(X, "linear", epsilon)
        # A fifth of the sequences has an adversary that answers the learner.
        game = against(learner, X) if seed % 5 == 4 else theory.play(learner, X, y)
        excess = largest_excess(game, bound, epsilon)
        assert excess <= 1e-9 * (1 + abs(excess)), (KINDS[seed % len(KINDS)], seed, excess)
        tightest = max(tightest, excess / epsilon / X.shape[1])
    assert tightest > -1.01, "the bound is never near: the regret was not measured"


@pytest.mark.parametrize("name", RELATIVES)
def test_a_tenth_of_the_bound_is_exceeded(name: str) -> None:
    """The test above can fail."""
    make, bound = RELATIVES[name]
    excesses = []
    for seed in range(4, 200, 5):
        X, _ = rows(seed)
        game = against(make(X, "linear", 1.0), X)
        excesses.append(largest_excess(game, lambda game, u, epsilon: bound(game, u, epsilon) / 10, 1.0))
    assert max(excesses) > 0


@pytest.mark.parametrize("name", RELATIVES)
def test_the_regret_of_logistic_loss_stays_below_the_sum(name: str) -> None:
    make, bound = RELATIVES[name]
    for seed in range(100):
        X, y = sequence(seed, "classes")
        game = theory.play(make(X, "logistic", 1.0), X, y)
        losses = np.logaddexp(0, -y * (game.weights * X).sum(axis=1)).sum()
        unit = np.where(game.largest > 0, game.largest, 1.0)
        direction = np.sign(y @ X) / unit
        for size in SIZES[::5]:
            u = size * direction
            regret = losses - np.logaddexp(0, -y * (X @ u)).sum()
            assert regret <= game.regret(u).sum() + 1e-9
            assert regret <= bound(game, u, 1.0).sum() + 1e-9
