"""Schedule-free AdamW."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs import Float64
from . import losses
from .gradient_learner import GradientLearner
from .lanes import hyperparameter

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class ScheduleFree(GradientLearner):
    """Schedule-free AdamW, "The road less scheduled" (Defazio, Yang, Mehta, Mishchenko, Khaled, Cutkosky 2024,
    Algorithm 1), without weight decay and warm-up.

        y = (1 − β₁) z + β₁ w,   g at y,   v ← β₂ v + (1 − β₂) g²
        z ← z − γ g/(√(v/(1 − β₂ᵗ)) + ε),   w ← (1 − 1/t) w + z/t

    where:
        w is the average that predicts, z the fast weights, and y the point where gradients are taken.
        γ is the learning rate, β₁ = 0.9, β₂ = 0.999, ε = 10⁻⁸.

    **Unit-free?** No: a step changes each weight by about γ, whatever its unit, and ε has the unit of g.

    Args:
        loss: "squared" or "logistic".
        rate: γ.
        limits: see `GradientLearner`.
        classes: see `Baseline`.

    Example:
        >>> import numpy as np
        >>> from unitless.paper.baselines import ScheduleFree
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 3))
        >>> y = X @ [1.0, -2.0, 0.5] > 0
        >>> p = ScheduleFree("logistic").run(X, y)
        >>> bool(np.mean((p > 0) != y) < 0.1)
        True
    """

    unit_free = False

    def __init__(
        self,
        loss: losses.LossName = "logistic",
        rate: Any = 0.0025,
        *,
        limits: tuple[float, float] | None = None,
        classes: int | None = None,
    ) -> None:
        super().__init__(loss, limits, classes, rate=hyperparameter(rate, "rate"))

    def _begin(self, columns: int) -> None:
        shape = (self._lanes, columns)
        self._t, self._w, self._z, self._v = 0, np.zeros(shape), np.zeros(shape), np.zeros(shape)

    def _learn(self, x: Float64, y: Float64) -> Float64:
        p = self._limited(self._w @ x)
        ahead = (1 - BETA1) * self._z + BETA1 * self._w
        self._update(x, self._loss.slope(self._limited(ahead @ x), y)[:, None], ahead)
        return p

    def _update(self, x: Float64, slope: Float64, w: Float64) -> None:
        g = slope * x
        self._t += 1
        self._v = BETA2 * self._v + (1 - BETA2) * g**2
        size = np.sqrt(self._v / (1 - BETA2**self._t)) + EPSILON
        self._z = self._z - self._lane("rate") * g / size
        self._w = self._w + (self._z - self._w) / self._t
