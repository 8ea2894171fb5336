"""Prodigy: Adam that estimates the distance to the best weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs import Float64
from . import losses
from .gradient_learner import GradientLearner, ratio
from .lanes import hyperparameter

BETA1, BETA2, EPSILON, FIRST = 0.9, 0.999, 1e-8, 1e-6
BETA3 = float(np.sqrt(BETA2))


class Prodigy(GradientLearner):
    """Prodigy with Adam's steps, "Prodigy: an expeditiously adaptive parameter-free learner" (Mishchenko, Defazio 2023,
    Algorithm 4), with the constants of the authors' program.

        r ← β₃ r + d²/d_0 · g·(w_0 − w),   s ← β₃ s + d²/d_0 · g
        m ← β₁ m + (1 − β₁) d g,   v ← β₂ v + (1 − β₂) d² g²
        d ← max(d, c r/‖s‖₁),   w ← w − d_old m/(√v + d ε)

    where:
        d estimates the distance to the best weights; it is d_0 = 10⁻⁶ at first, and c = 1 is the parameter to tune.
        r and s are a gain and a sum of gradients. Both are over d_0, as in the program, which avoids small numbers.
        β₁ = 0.9, β₂ = 0.999, β₃ = √β₂, ε = 10⁻⁸, and w_0 = 0. d_old is the d before the maximum.

    **Unit-free?** No: g·w and ‖s‖₁ add features, d is one number for all weights, and ε has a unit.

    Args:
        loss: "squared" or "logistic".
        coefficient: c.
        limits: see `GradientLearner`.
        classes: see `Baseline`.

    Example:
        >>> import numpy as np
        >>> from unitless.paper.baselines import Prodigy
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 3))
        >>> y = X @ [1.0, -2.0, 0.5] > 0
        >>> p = Prodigy("logistic").run(X, y)
        >>> bool(np.mean((p > 0) != y) < 0.1)
        True
    """

    unit_free = False

    def __init__(
        self,
        loss: losses.LossName = "logistic",
        coefficient: Any = 1.0,
        *,
        limits: tuple[float, float] | None = None,
        classes: int | None = None,
    ) -> None:
        super().__init__(loss, limits, classes, coefficient=hyperparameter(coefficient, "coefficient"))

    def _begin(self, columns: int) -> None:
        shape = (self._lanes, columns)
        self._w, self._m, self._v, self._s = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._d, self._r = np.full((self._lanes, 1), FIRST), np.zeros((self._lanes, 1))

    def _update(self, x: Float64, slope: Float64, w: Float64) -> None:
        g, d = slope * x, self._d
        self._r = BETA3 * self._r - d / FIRST * d * np.sum(g * w, axis=1, keepdims=True)
        self._s = BETA3 * self._s + d / FIRST * d * g
        self._m = BETA1 * self._m + (1 - BETA1) * d * g
        self._v = BETA2 * self._v + (1 - BETA2) * d**2 * g**2
        size = np.sum(np.abs(self._s), axis=1, keepdims=True)
        self._d = np.maximum(d, self._lane("coefficient") * ratio(self._r, size))
        step = d * ratio(self._m, np.sqrt(self._v) + self._d * EPSILON)
        self._w = np.where(size > 0, w - step, w)
