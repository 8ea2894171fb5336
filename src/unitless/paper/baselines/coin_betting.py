"""Coin betting: learners without a learning rate, each feature a gambler."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs import Float64
from . import losses
from .gradient_learner import GradientLearner, ratio
from .lanes import hyperparameter


class CoinBetting(GradientLearner):
    """Coin betting per feature with unknown ranges, as Vowpal Wabbit has it (`--coin`): the bets of "Training deep
    networks without learning rates through coin betting" (Orabona, Tommasi 2017, Algorithm 1, COCOB) without its
    sigmoid, on "Coin betting and parameter-free online learning" (Orabona, Pál 2016).

        M_i ← max(M_i, |x_i|),   p = (t/N) Σ_i w_i x_i   with   w_i = (α + W_i) θ_i/(L_i M_i (L_i M_i + A_i))
        N ← N + Σ_i x_i²/M_i²;   then L_i ← max(L_i, |L'|, β), and with w_i computed again
        θ_i ← θ_i − g_i,   A_i ← A_i + |g_i|,   W_i ← W_i − g_i w_i

    where:
        M_i is the largest |x_i| and L_i the largest slope |L'| of rows that have the feature.
        θ_i, A_i and W_i are the sum of negative gradients, of their absolute values, and what was won.
        α + W_i is the gambler's wealth; N/t the mean squared length of the normalized rows, as in NAG.

    Departures: Vowpal Wabbit stores the weights w_i that it computed before θ_i changed, so the prediction that it
    reports for a row does not yet know the row before; here it does. Vowpal Wabbit computes in float32, and limits
    predictions to the range of labels so far. It adds 10⁻⁶ to N, as this does: N has no unit.

    **Unit-free?** Yes; M_i divides x_i wherever x_i stands. Not published with a bound: that is for known ranges, see
    `unitless.paper.theory.coin_betting_bound`.

    Args:
        loss: "squared" or "logistic".
        wealth: α, the wealth of each feature at first.
        least_slope: β, the smallest L_i of features that have been seen.
        limits: see `GradientLearner`.
        classes: see `Baseline`.

    Example:
        >>> import numpy as np
        >>> from unitless.paper.baselines import CoinBetting
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 3)) * [1, 1e6, 1e-6]
        >>> y = X @ [1.0, -2e-6, 0.5e6] > 0
        >>> p = CoinBetting("logistic").run(X, y)
        >>> bool(np.mean((p > 0) != y) < 0.1)
        True
    """

    unit_free = True

    def __init__(
        self,
        loss: losses.LossName = "logistic",
        wealth: Any = 4.0,
        *,
        least_slope: float = 1.0,
        limits: tuple[float, float] | None = None,
        classes: int | None = None,
    ) -> None:
        self._least_slope = float(hyperparameter(least_slope, "least_slope"))
        super().__init__(loss, limits, classes, wealth=hyperparameter(wealth, "wealth"))

    def _begin(self, columns: int) -> None:
        shape = (self._lanes, columns)
        self._t, self._N, self._M = 0, 0.0, np.zeros(columns)
        self._L, self._theta, self._A, self._won = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)

    def _bets(self, largest: Float64) -> Float64:
        range_ = self._L * largest
        return ratio((self._lane("wealth") + self._won) * self._theta, range_ * (range_ + self._A))

    def _normalizer(self, x: Float64, largest: Float64) -> float:
        """N/t with this row."""
        return float((self._N + np.sum(ratio(x, largest) ** 2) + 1e-6) / (self._t + 1))

    def _weights(self, x: Float64) -> Float64:
        largest = np.maximum(self._M, np.abs(x))
        return self._bets(largest) / self._normalizer(x, largest)

    def _update(self, x: Float64, slope: Float64, w: Float64) -> None:
        self._t += 1
        self._M = np.maximum(self._M, np.abs(x))
        self._N += float(np.sum(ratio(x, self._M) ** 2))
        steeper = (np.abs(slope) > self._L) & (x != 0)
        self._L = np.where(steeper, np.maximum(np.abs(slope), self._least_slope), self._L)
        g = slope * x
        self._won -= g * self._bets(self._M)
        self._theta -= g
        self._A += np.abs(g)


class KT(GradientLearner):
    """Per-feature betting with the Krichevsky-Trofimov estimator, "Coin betting and parameter-free online learning"
    (Orabona, Pál 2016, Algorithm 1, for each coordinate).

        w_i = θ_i/M_i · (ε − Σ g_i w_i)/(n_i + 1) / M_i   where   θ_i = −Σ g_i

    where:
        M_i is the range of x_i, n_i the number of gradients so far, and ε − Σ g_i w_i the wealth.

    The analysis takes |L'| ≤ 1 and known M_i. Where they are not given, M_i is the largest |x_i| so far: then the range
    of earlier bets was another, and the bound does not apply.

    **Unit-free?** Yes, with ranges in the units of the features.

    Args:
        loss: "squared" or "logistic".
        wealth: ε, the wealth of each feature at first.
        ranges: M_i, or None.
        limits: see `GradientLearner`.
        classes: see `Baseline`.

    Example:
        >>> from unitless.paper.baselines import KT
        >>> m = KT("logistic", ranges=[2.0])
        >>> m.learn([2.0], 1)
        0.0
        >>> m.predict([2.0])  # g = −1: w = ½·1·½/2
        0.25
    """

    unit_free = True

    def __init__(
        self,
        loss: losses.LossName = "logistic",
        wealth: Any = 1.0,
        *,
        ranges: Any = None,
        limits: tuple[float, float] | None = None,
        classes: int | None = None,
    ) -> None:
        self._ranges = None if ranges is None else hyperparameter(ranges, "ranges")
        super().__init__(loss, limits, classes, wealth=hyperparameter(wealth, "wealth"))

    def _begin(self, columns: int) -> None:
        shape = (self._lanes, columns)
        self._M = np.zeros(columns) if self._ranges is None else np.broadcast_to(self._ranges, columns)
        self._n, self._theta, self._won = np.zeros(columns), np.zeros(shape), np.zeros(shape)

    def _weights(self, x: Float64) -> Float64:
        largest = np.maximum(self._M, np.abs(x))
        return ratio((self._lane("wealth") + self._won) * ratio(self._theta, largest), (self._n + 1) * largest)

    def _update(self, x: Float64, slope: Float64, w: Float64) -> None:
        self._M = np.maximum(self._M, np.abs(x))
        g = slope * x
        self._n += x != 0
        self._won -= g * w
        self._theta -= g
