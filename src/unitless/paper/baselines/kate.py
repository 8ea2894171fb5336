"""KATE: adaptive gradient without the square root."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs import Float64
from . import losses
from .gradient_learner import GradientLearner, ratio
from .lanes import hyperparameter


class KATE(GradientLearner):
    """KATE, "Remove that square root: a new efficient scale-invariant version of AdaGrad" (Choudhury, Tupitsa, Loizou,
    Horváth, Takáč, Gorbunov 2024, Algorithm 1).

        b_i² ← b_i² + g_i²,   m_i² ← m_i² + η_i g_i² + g_i²/b_i²,   w_i ← w_i − β m_i g_i/b_i²

    where:
        β is the learning rate.
        η_i is 1/g_i² of the first row whose g_i is not zero.

    Departures: for generalized linear models the paper takes η_i = 1/(∇_i f(w_0))², where f is the mean loss of all
    rows. An online learner has not seen all rows, so the first row stands for them. The authors' optimizer has one η
    for all features and adds 10⁻⁸ to b_i², which has a unit; here nothing is added. A feature whose gradients were all
    zero is not changed.

    **Unit-free?** Yes: m_i has no unit, b_i² that of g_i². β has the unit of the predictions, so the unit of the labels
    matters.

    Args:
        loss: "squared" or "logistic".
        rate: β.
        limits: see `GradientLearner`.
        classes: see `Baseline`.

    Example:
        >>> from unitless.paper.baselines import KATE
        >>> m = KATE("logistic", 0.5)
        >>> m.learn([2.0], 1)
        0.0
        >>> round(m.predict([2.0]), 4)  # g = −1, b = 1, m² = 2: w = 0.5 √2
        1.4142
    """

    unit_free = True

    def __init__(
        self,
        loss: losses.LossName = "logistic",
        rate: Any = 0.01,
        *,
        limits: tuple[float, float] | None = None,
        classes: int | None = None,
    ) -> None:
        super().__init__(loss, limits, classes, rate=hyperparameter(rate, "rate"))

    def _begin(self, columns: int) -> None:
        shape = (self._lanes, columns)
        self._w, self._b2, self._m2, self._eta = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)

    def _update(self, x: Float64, slope: Float64, w: Float64) -> None:
        g = slope * x
        self._eta = np.where(self._b2 == 0, ratio(1.0, g**2), self._eta)
        self._b2 = self._b2 + g**2
        self._m2 = self._m2 + self._eta * g**2 + ratio(g**2, self._b2)
        self._w = w - self._lane("rate") * ratio(np.sqrt(self._m2) * g, self._b2)
