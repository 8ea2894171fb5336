"""The compiled bandit agrees with the plain one of tests/oracles."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.bandit import best_probabilities, play

import unitless as ul
from unitless import _core


@pytest.mark.parametrize("delay", [0, 7])
def test_propensities_are_those_of_the_plain_bandit(delay: int) -> None:
    rng = np.random.default_rng(delay)
    contexts = rng.normal(size=(250, 4)) * [1, 100, 1e-3, 1] + [0, 1000, 0, 5]
    z = (contexts - [0, 1000, 0, 5]) / [1, 100, 1e-3, 1]
    rewards = z @ rng.normal(size=(4, 3)) + 0.3 * rng.normal(size=(250, 3)) + 50
    bandit, made = ul.Bandit(model_type="linear"), []
    for at, x in enumerate(contexts.tolist()):
        made.append(bandit.decide(at, dict(zip("abcd", x, strict=True)), [0, 1, 2]))
        if at >= delay:
            bandit.learn(at - delay, rewards[at - delay, int(made[at - delay].action)])
    expected = play(contexts, rewards, [int(one.action) for one in made], delay)
    for at, (one, plain) in enumerate(zip(made, expected, strict=True)):
        assert np.allclose(list(one.propensities.values()), plain, rtol=0, atol=1e-6), at


def test_probabilities_of_the_best_are_those_of_the_plain_formula() -> None:
    rng = np.random.default_rng(0)
    for count in (1, 2, 3, 10, 40):
        f, u = rng.normal(size=count), np.exp(rng.normal(size=count))
        assert np.allclose(_core.best_probabilities(f.tolist(), u.tolist()), best_probabilities(f, u), atol=1e-12)
