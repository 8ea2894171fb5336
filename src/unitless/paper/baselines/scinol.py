"""ScInOL: scale-invariant online learners, which have no learning rate."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs import Float64
from . import losses
from .gradient_learner import GradientLearner, ratio
from .lanes import hyperparameter


class _ScInOL(GradientLearner):
    """What both have in common: no unit, and ε."""

    unit_free = True

    def __init__(
        self,
        loss: losses.LossName = "logistic",
        epsilon: Any = 1.0,
        *,
        limits: tuple[float, float] | None = None,
        classes: int | None = None,
    ) -> None:
        super().__init__(loss, limits, classes, epsilon=hyperparameter(epsilon, "epsilon"))


class ScInOL1(_ScInOL):
    """ScInOL₁, "Adaptive scale-invariant online algorithms for learning linear models" (Kempka, Kotłowski, Warmuth
    2019, Algorithm 1).

        M_i ← max(M_i, |x_i|),   β_i ← min(β_i, ε (S_i² + M_i²)/(x_i² t)),   θ_i = −Σ g_i/√(S_i² + M_i²)
        w_i = β_i sgn(θ_i) (exp(|θ_i|/2) − 1)/(2 √(S_i² + M_i²));   then S_i² ← S_i² + g_i²

    where:
        M_i is the largest |x_i| and S_i² the sum of squared gradients.
        t is the number of the row, β_i is ε at first.

    Where the paper is silent: a feature that was always zero has no weight, and one that is zero in a row does not
    change in it. The authors' programs begin M_i with 10⁻⁵, which has a unit; here it begins with 0.

    **Unit-free?** Yes. Offsets and the unit of the labels change it: |L'| ≤ 1 is assumed, and ε is compared with the
    weights times the features.

    Args:
        loss: "squared" or "logistic".
        epsilon: ε, about the size of the first predictions.
        limits: see `GradientLearner`.
        classes: see `Baseline`.

    Example:
        >>> import numpy as np
        >>> from unitless.paper.baselines import ScInOL1
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 3)) * [1, 1e6, 1e-6]
        >>> y = X @ [1.0, -2e-6, 0.5e6] > 0
        >>> p = ScInOL1("logistic").run(X, y)
        >>> bool(np.mean((p[1000:] > 0) != y[1000:]) < 0.15)
        True
    """

    def _begin(self, columns: int) -> None:
        shape = (self._lanes, columns)
        self._t = 0
        self._M, self._S2, self._G = np.zeros(columns), np.zeros(shape), np.zeros(shape)
        self._beta = np.repeat(self._lane("epsilon"), columns, axis=1)

    def _weights(self, x: Float64) -> Float64:
        scale = np.sqrt(self._S2 + np.maximum(self._M, np.abs(x)) ** 2)
        theta = ratio(-self._G, scale)
        return ratio(self._betas(x) * np.sign(theta) * np.expm1(np.abs(theta) / 2), 2 * scale)

    def _betas(self, x: Float64) -> Float64:
        largest = np.maximum(self._M, np.abs(x))
        allowed = self._lane("epsilon") * (self._S2 + largest**2) / (x**2 * (self._t + 1))
        return np.where(x != 0, np.minimum(self._beta, allowed), self._beta)

    def _update(self, x: Float64, slope: Float64, w: Float64) -> None:
        self._beta = self._betas(x)
        self._t += 1
        self._M = np.maximum(self._M, np.abs(x))
        g = slope * x
        self._G += g
        self._S2 += g**2


class ScInOL2(_ScInOL):
    """ScInOL₂ (Kempka, Kotłowski, Warmuth 2019, Algorithm 2).

        M_i ← max(M_i, |x_i|),   θ_i = −Σ g_i/√(S_i² + M_i²)
        w_i = η_i sgn(θ_i) min(|θ_i|, 1)/(2 √(S_i² + M_i²));   then S_i² ← S_i² + g_i²,   η_i ← η_i − g_i w_i

    where:
        M_i is the largest |x_i| and S_i² the sum of squared gradients.
        η_i is the wealth of a gambler who bets on the sign of the next gradient; ε at first, and always positive
            because |g_i w_i| ≤ η_i/2.

    Where the paper is silent: a feature that was always zero has no weight. The authors' programs begin M_i with 10⁻⁵,
    which has a unit; here it begins with 0.

    **Unit-free?** Yes, as `ScInOL1`.

    Args:
        loss: "squared" or "logistic".
        epsilon: ε, the wealth of each feature at first.
        limits: see `GradientLearner`.
        classes: see `Baseline`.

    Example:
        >>> from unitless.paper.baselines import ScInOL2
        >>> m = ScInOL2("logistic")
        >>> m.learn([2.0], 1)
        0.0
        >>> round(m.predict([2.0]), 9)  # g = −1: θ = 1/√5, w = θ/(2√5) = 0.1
        0.2
    """

    def _begin(self, columns: int) -> None:
        shape = (self._lanes, columns)
        self._M, self._S2, self._G = np.zeros(columns), np.zeros(shape), np.zeros(shape)
        self._wealth = np.repeat(self._lane("epsilon"), columns, axis=1)

    def _weights(self, x: Float64) -> Float64:
        scale = np.sqrt(self._S2 + np.maximum(self._M, np.abs(x)) ** 2)
        return ratio(np.clip(ratio(-self._G, scale), -1, 1) * self._wealth, 2 * scale)

    def _update(self, x: Float64, slope: Float64, w: Float64) -> None:
        self._M = np.maximum(self._M, np.abs(x))
        g = slope * x
        self._wealth -= g * w
        self._G += g
        self._S2 += g**2
