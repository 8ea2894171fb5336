"""The scaling adversary: it keeps to its constraint, hurts adaptive gradient, and cannot hurt NAG."""

from __future__ import annotations

import numpy as np
import pytest

import unitless as ul
from unitless.paper import theory

SCALE = np.array([1e-4, 1.0, 1e5])


@pytest.mark.parametrize("p", [1, 2, np.inf])
def test_bounded_inputs_are_within_the_ball_and_reach_its_edge(p: float) -> None:
    adversary = theory.BoundedInputs(SCALE, p)
    X = adversary.choose(np.random.default_rng(0).standard_cauchy(size=(200, 3)))
    assert adversary.allows(X)
    assert np.linalg.norm(X / SCALE, p, axis=1).max() == pytest.approx(1.0)
    assert not adversary.allows(X * 1.01)


def test_second_moments_are_one_but_single_inputs_may_be_large() -> None:
    adversary = theory.UnitSecondMoment(SCALE)
    X = adversary.choose(np.random.default_rng(0).standard_cauchy(size=(200, 3)))
    assert adversary.allows(X)
    assert not adversary.allows(X * [1.0, 1.01, 1.0])
    assert np.abs(X / SCALE).max() > 5


def test_what_no_adversary_can_commit_to_is_refused() -> None:
    with pytest.raises(ul.InputError):
        theory.BoundedInputs(np.array([1.0, 0.0]))
    with pytest.raises(ul.InputError):
        theory.UnitSecondMoment(np.array([1.0, np.inf]))
    with pytest.raises(ul.InputError):
        theory.UnitSecondMoment(np.ones(2)).choose(np.array([[1.0, 0.0]]))


def two_features(T: int = 500) -> tuple[np.ndarray, np.ndarray]:
    X = theory.BoundedInputs(np.ones(2)).choose(np.random.default_rng(0).uniform(-1, 1, size=(T, 2)))
    return X, X @ [0.5, 0.5]


def test_the_unit_of_one_feature_defeats_adaptive_gradient_but_not_nag() -> None:
    X, y = two_features()
    units = np.stack([2.0 ** np.arange(-20, 21, 4), np.ones(11)], axis=1)
    found = theory.regrets(X, y, units, C=1.0)
    middle = 5
    assert (found.normalized == found.normalized[middle]).all()  # bit by bit
    assert found.adaptive[middle] == pytest.approx(found.normalized[middle], rel=0.1)
    assert (found.adaptive[[0, -1]] > 25 * found.adaptive[middle]).all()
    assert (np.diff(found.adaptive[: middle + 1]) <= 0).all()  # it falls towards the middle, and rises from there
    assert (np.diff(found.adaptive[middle:]) >= 0).all()
    assert (found.normalized_rates == found.normalized_rates[0]).all()
    assert found.adaptive_rates.max() > 1e5 * found.adaptive_rates.min()


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_a_search_finds_units_that_ruin_adaptive_gradient(loss: str) -> None:
    rng = np.random.default_rng(1)
    X = theory.BoundedInputs(np.ones(3)).choose(rng.uniform(-1, 1, size=(300, 3)))
    y = X @ [0.3, -0.4, 0.3] if loss == "squared" else np.where(X @ [1.0, -1.0, 1.0] > 0, 1.0, -1.0)
    found = theory.attack(X, y, C=20.0 if loss != "squared" else 1.0, rng=rng, trials=60, loss=loss)
    assert found.adaptive[0] > 0
    assert (np.diff(found.adaptive) > 0).all()
    assert found.adaptive[-1] > 4 * found.adaptive[0]
    assert (found.normalized == found.normalized[0]).all()
