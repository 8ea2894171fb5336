"""FreeGrad: a learner without a learning rate, adaptive to the size of gradients and of the best weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs import Float64
from . import losses
from .gradient_learner import GradientLearner, ratio
from .lanes import hyperparameter


class FreeGrad(GradientLearner):
    """FreeGrad for each feature, "Lipschitz and comparator-norm adaptivity in online learning" (Mhammedi, Koolen 2020,
    equation 9 and Algorithm 2), as Vowpal Wabbit has it (`--freegrad`).

        w_i = −ε G_i (2V_i + h_i|G_i|) h_1i²/(2 (V_i + h_i|G_i|)² √V_i) · exp(G_i²/(2V_i + 2h_i|G_i|))
        G_i ← G_i + ḡ_i,   V_i ← V_i + ḡ_i²,   h_i ← max(h_i, |g_i|)

    where:
        h_i is the largest |g_i| before the row, h_1i the first, and ḡ_i is g_i limited to ±h_i.
        V_i is h_1i² at first.

    Restarts, which the worst case needs when gradients grow by more than the number of rows, are left out, as in Vowpal
    Wabbit without `--restart`.

    **Unit-free?** No: w_i does not depend on the unit of x_i, so p does. With `scaled=True`, which is the paper's
    protocol with hints, h_i is the largest |x_i| up to the row itself (enough if |L'| ≤ 1, and then nothing is limited)
    and ε becomes ε/h_1i: then predictions are the same in all units.

    Args:
        loss: "squared" or "logistic".
        epsilon: ε, in the unit of the weights; with `scaled=True` of the predictions.
        scaled: take hints from the features, and ε in their units. Default: False.
        limits: see `GradientLearner`.
        classes: see `Baseline`.

    Example:
        >>> import numpy as np
        >>> from unitless.paper.baselines import FreeGrad
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 3)) * [1, 1e6, 1e-6]
        >>> y = X @ [1.0, -2e-6, 0.5e6] > 0
        >>> [bool(np.mean((FreeGrad("logistic", scaled=scaled).run(X, y) > 0) != y) < 0.12) for scaled in (False, True)]
        [False, True]
    """

    def __init__(
        self,
        loss: losses.LossName = "logistic",
        epsilon: Any = 1.0,
        *,
        scaled: bool = False,
        limits: tuple[float, float] | None = None,
        classes: int | None = None,
    ) -> None:
        self.unit_free = scaled
        super().__init__(loss, limits, classes, epsilon=hyperparameter(epsilon, "epsilon"))

    def _begin(self, columns: int) -> None:
        shape = (self._lanes, columns)
        self._G, self._V, self._h, self._first = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)

    def _hints(self, x: Float64) -> tuple[Float64, Float64, Float64]:
        """h, h_1 and V for this row, which with `scaled` gives the hints itself."""
        if not self.unit_free:
            return self._h, self._first, self._V
        new = (self._first == 0) & (x != 0)
        first = np.where(new, np.abs(x), self._first)
        return np.maximum(self._h, np.abs(x)), first, np.where(new, first**2, self._V)

    def _weights(self, x: Float64) -> Float64:
        h, first, V = self._hints(x)
        pull = h * np.abs(self._G)
        growth = np.exp(ratio(self._G**2, 2 * (V + pull)))
        size = ratio(self._lane("epsilon"), first) if self.unit_free else self._lane("epsilon")
        # Quotients of numbers of the same unit, so that no square of a square overflows.
        share = ratio(2 * V + pull, V + pull) * ratio(first**2, V + pull) * ratio(self._G, np.sqrt(V))
        return -size * share * growth / 2

    def _update(self, x: Float64, slope: Float64, w: Float64) -> None:
        g = slope * x
        if self.unit_free:
            self._h, self._first, self._V = self._hints(x)
        else:
            new = (self._first == 0) & (g != 0)
            self._first = np.where(new, np.abs(g), self._first)
            self._V = np.where(new, g**2, self._V)
            limit = np.where(new, np.abs(g), self._h)
            self._h = np.maximum(limit, np.abs(g))
            g = np.clip(g, -limit, limit)
        self._G += g
        self._V += g**2
