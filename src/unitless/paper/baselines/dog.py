"""DoG: gradient descent whose step is the distance from the start over the gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs import Float64
from . import losses
from .gradient_learner import GradientLearner
from .lanes import hyperparameter


class DoG(GradientLearner):
    """Distance over Gradients, "DoG is SGD's best friend" (Ivgi, Hinder, Carmon 2023, equation DoG).

        r ← max(r, ‖w − w_0‖₂),   Q ← Q + ‖g‖₂²,   w ← w − r/√Q · g

    where:
        r is r_ε at first, and w_0 = 0.

    Departures: the authors' program adds 10⁻⁸ to Q; here nothing is added, and rows without a gradient change nothing.
    The last weights predict, not their average, as for all learners here.

    **Unit-free?** No: ‖w‖ and ‖g‖ add numbers of different units.

    Args:
        loss: "squared" or "logistic".
        r_epsilon: r_ε, the length of the first step.
        limits: see `GradientLearner`.
        classes: see `Baseline`.

    Example:
        >>> from unitless.paper.baselines import DoG
        >>> m = DoG("logistic", 0.25)
        >>> m.learn([3.0], 1)
        0.0
        >>> m.predict([3.0])  # the first step has the length r_ε
        0.75
    """

    unit_free = False

    def __init__(
        self,
        loss: losses.LossName = "logistic",
        r_epsilon: Any = 1e-6,
        *,
        limits: tuple[float, float] | None = None,
        classes: int | None = None,
    ) -> None:
        super().__init__(loss, limits, classes, r_epsilon=hyperparameter(r_epsilon, "r_epsilon"))

    def _begin(self, columns: int) -> None:
        self._w = np.zeros((self._lanes, columns))
        self._r, self._Q = self._lane("r_epsilon").copy(), np.zeros((self._lanes, 1))

    def _update(self, x: Float64, slope: Float64, w: Float64) -> None:
        g = slope * x
        self._r = np.maximum(self._r, np.linalg.norm(w, axis=1, keepdims=True))
        self._Q = self._Q + np.sum(g**2, axis=1, keepdims=True)
        self._w = w - np.where(self._Q > 0, self._r / np.sqrt(np.where(self._Q > 0, self._Q, 1.0)), 0.0) * g
