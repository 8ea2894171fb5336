"""The regret bounds that the relatives of the paper's learners state, and the record of a game to compare them with.

Each bound is for one coordinate and a comparator u_i, so that the bound of a learner is their sum: with linear losses
and |L'| ≤ 1,

    Σ_t g_ti (w_ti − u_i) ≤ bound_i(u_i),   and for convex losses the regret is at most the sum over i.

| learner | bound |
|---|---|
| `ScInOL1` | `scinol1_bound` |
| `ScInOL2` | `scinol2_bound` |
| `KT` with known ranges | `coin_betting_bound` |
| `FreeGrad` with scaled=True | `freegrad_bound` |

The versions of GD, AG and NAG that the paper analyzes have `zinkevich`, `adaptive_gradient_bound` and `theorem_2`. For
NG, sNAG, vSGD and KATE no regret bound is stated; the theorems of DoG, Prodigy and schedule-free are about averages of
weights. The constants of MetaGrad's theorem for coordinates could not be settled from the sources at hand.

    >>> import numpy as np
    >>> from unitless.paper.baselines import ScInOL2
    >>> from unitless.paper.theory import play, scinol2_bound
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.uniform(-1, 1, size=(200, 2)) * [1, 1e6], rng.choice([-1.0, 1.0], size=200)
    >>> game = play(ScInOL2("linear"), X, y)
    >>> u = np.array([0.5, -2e-6])
    >>> bool((game.regret(u) <= scinol2_bound(game, u)).all())
    True
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...inputs import Float64
from ..baselines import GradientLearner


@dataclass(frozen=True)
class Game:
    """The record of a game of T rounds over d features.

    Attributes:
        x: the inputs, (T, d).
        gradients: g_t = L'(p_t) x_t, (T, d).
        weights: the weights that predicted each row, (T, d).
    """

    x: Float64
    gradients: Float64
    weights: Float64

    def regret(self, u: Float64) -> Float64:
        """Σ_t g_ti (w_ti − u_i) for each coordinate: the regret for linear losses, and no less for convex ones."""
        return np.asarray((self.gradients * (self.weights - u)).sum(axis=0))

    @property
    def largest(self) -> Float64:
        """M_i, the largest |x_ti|."""
        return np.asarray(np.abs(self.x).max(axis=0))

    @property
    def first(self) -> Float64:
        """The first non-zero |x_ti|, and 0 for a feature that is always zero."""
        return np.asarray(np.abs(self.x)[(self.x != 0).argmax(axis=0), np.arange(self.x.shape[1])])

    @property
    def squares(self) -> Float64:
        """S_i² = Σ_t g_ti²."""
        return np.asarray((self.gradients**2).sum(axis=0))


def play(learner: GradientLearner, X: Float64, y: Float64) -> Game:
    """Let a new learner with one lane learn rows, and record its weights and gradients."""
    weights, gradients = np.zeros(X.shape), np.zeros(X.shape)
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        weights[t] = learner.weights(x)[0]
        p = np.array([learner.learn(x, label)])
        gradients[t] = learner._loss.slope(p, np.array([label]))[0] * x
    return Game(X, gradients, weights)


def scinol1_bound(game: Game, u: Float64, epsilon: float = 1.0) -> Float64:
    """Kempka, Kotłowski, Warmuth (2019), Theorem 3.1: 2|u|Ŝ ln(1 + 2|u|Ŝ T/ε) + ε(1 + ln T), Ŝ² = S² + M²."""
    T = len(game.x)
    size = 2 * np.abs(u) * np.sqrt(game.squares + game.largest**2)
    return np.asarray(size * np.log1p(size * T / epsilon) + epsilon * (1 + math.log(T)))


def scinol2_bound(game: Game, u: Float64, epsilon: float = 1.0) -> Float64:
    """Kempka, Kotłowski, Warmuth (2019), Theorem 3.2: 2|u|Ŝ (ln(3|u|Ŝ³/(ε x²)) − 1) + ε, x the first value."""
    reach = np.sqrt(game.squares + game.largest**2)
    size = np.abs(u) * reach
    seen = size > 0
    ratio = (reach[seen] / game.first[seen]) ** 2
    found = np.full(len(size), float(epsilon))
    found[seen] += 2 * size[seen] * (np.log(3 * size[seen] * ratio / epsilon) - 1)
    return found


def coin_betting_bound(game: Game, u: Float64, epsilon: float = 1.0) -> Float64:
    """Orabona, Pál (2016), Corollary 5 for each coordinate, whose coins are g/M in the n rows that have the feature:
    |u|M √(n ln(1 + 24n²u²M²/ε²)) + ε(1 − 1/(e√(πn))).
    """
    n = np.maximum((game.x != 0).sum(axis=0), 1)
    size = np.abs(u) * game.largest
    return np.asarray(
        size * np.sqrt(n * np.log1p(24 * (n * size / epsilon) ** 2))
        + epsilon * (1 - 1 / (math.e * np.sqrt(math.pi * n)))
    )


def freegrad_bound(game: Game, u: Float64, epsilon: float = 1.0) -> Float64:
    """Mhammedi, Koolen (2020), Theorem 5 for each coordinate, with the hints h = max|x| and ε/h_1 for ε:
    max(2|u| √(V ln₊(2|u|V/(ε h_1))), 4h|u| ln(4h|u|√V/(ε h_1))) + ε, V = h_1² + S².
    """
    found = np.full(len(u), float(epsilon))
    seen = (np.abs(u) > 0) & (game.first > 0)
    size, h = np.abs(u[seen]), game.largest[seen]
    V = game.first[seen] ** 2 + game.squares[seen]
    least = epsilon * game.first[seen]
    slow = 2 * size * np.sqrt(V * np.maximum(np.log(2 * size * V / least), 0))
    fast = 4 * h * size * np.log(4 * h * size * np.sqrt(V) / least)
    found[seen] += np.maximum(slow, fast)
    return found
