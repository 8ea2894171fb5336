"""A contextual bandit in plain NumPy, formula by formula, for contexts of numbers and actions that are names.

z = ((x - mean) / deviation, 1);  P0 = diag(1/d, ..., 1/d, 1);  f: the expected reward less the first one
u = sqrt(s^2 z'P z) / 2;  p = P(N(f, u^2) is the largest), by 101 points;  p <- (1 - e) p + e/K,  e = (1 + n)^(-2/3)
On a reward: P -= k k' / (1 + z'k), k = P z.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import unitless as ul

_below = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)))


def best_probabilities(f: np.ndarray, u: np.ndarray) -> np.ndarray:
    """P(action a is the best), for independent normal rewards."""
    v = np.linspace(np.max(f - 4 * u), np.max(f + 4 * u), 101)[:, None]
    cdf = _below((v - f) / u)
    p = np.zeros(len(f))
    for a in range(len(f)):
        others = np.prod(np.delete(cdf, a, axis=1), axis=1)
        p[a] = np.sum(np.diff(cdf[:, a]) * (others[1:] + others[:-1]) / 2)
    return p / p.sum()


class PlainBandit:
    """The recipe for a fixed number of features, with one `Learner` for each action."""

    def __init__(self, features: int, actions: int) -> None:
        self.learners = [
            ul.Learner(
                learning_rate="auto",
                target="auto",
                center=True,
                falling_scales=True,
                ensemble=True,
                model_type="linear",
            )
            for _ in range(actions)
        ]
        self.P = [np.diag([*([1 / features] * features), 1.0]) for _ in range(actions)]
        self.rows: list[np.ndarray] = []
        self.rewards: list[float] = []
        self.errors: list[float] = []
        self.learned = [0] * actions

    def decide(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the probability and the expected reward (less the first one) of each action, and z."""
        self.rows.append(x)
        rows = np.array(self.rows)
        deviation = rows.std(axis=0)
        z = np.append(np.where(deviation > 0, (x - rows.mean(axis=0)) / np.where(deviation > 0, deviation, 1), 0), 1.0)
        pooled = np.mean(np.array(self.rewards) - self.rewards[0]) if self.rewards else 0.0
        f = np.array([m.predict(x[None])[0] if n else pooled for m, n in zip(self.learners, self.learned, strict=True)])
        count, s2 = len(f), float(np.mean(self.errors)) if self.errors else 0.0
        if not s2 > 0:
            return np.full(count, 1 / count), f, z
        p = best_probabilities(f, 0.5 * np.sqrt(s2 * np.array([z @ P @ z for P in self.P])))
        share = (1 + len(self.rewards)) ** (-2 / 3)
        return (1 - share) * p + share / count, f, z

    def learn(self, action: int, x: np.ndarray, z: np.ndarray, expected: float, reward: float) -> None:
        """Learn the reward of an action that was decided with this z and this expected reward."""
        if self.rewards:
            self.errors.append((reward - self.rewards[0] - expected) ** 2)
        self.rewards.append(reward)
        self.learners[action].learn(x[None], np.array([reward - self.rewards[0]]))
        self.learned[action] += 1
        k = self.P[action] @ z
        self.P[action] = self.P[action] - np.outer(k, k) / (1 + z @ k)


def play(contexts: Any, rewards: Any, chosen: list[int], delay: int = 0) -> list[np.ndarray]:
    """Return the probabilities of each round, if these actions are chosen and rewards come late."""
    bandit, found, waiting = PlainBandit(contexts.shape[1], rewards.shape[1]), [], []
    for at, x in enumerate(contexts):
        p, f, z = bandit.decide(x)
        found.append(p)
        waiting.append((chosen[at], x, z, float(f[chosen[at]]), float(rewards[at, chosen[at]])))
        if at >= delay:
            bandit.learn(*waiting[at - delay])
    return found
