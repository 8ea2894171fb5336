"""vSGD-l: gradient descent with learning rates from the gradients' mean and variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import OptionError
from ...inputs import Float64
from . import losses
from .lanes import Baseline, hyperparameter


class VSGD(Baseline):
    """vSGD-l, "No more pesky learning rates" (Schaul, Zhang, LeCun 2012, Algorithm 1, with one rate per weight).

        ḡ_i ← (1 − 1/τ_i) ḡ_i + g_i/τ_i,   v̄_i ← (1 − 1/τ_i) v̄_i + g_i²/τ_i,   h̄_i ← (1 − 1/τ_i) h̄_i + h_i/τ_i
        η_i = ḡ_i²/(h̄_i v̄_i),   τ_i ← (1 − ḡ_i²/v̄_i) τ_i + 1,   w_i ← w_i − η_i g_i

    where:
        g_i = L'(p) x_i is the gradient and h_i = L''(p) x_i² the curvature, exact for a linear model.
            τ_i is the memory, in rows: long where the gradients are noise, short where they agree.

    Slow start: the first n_0 rows are only averaged into ḡ, v̄ and h̄, without a step; τ_i begins as n_0. Then v̄ and
    h̄ are multiplied by the factor C, by default d/10 and at least 1, which makes the first steps small.

    Where the paper is silent: the authors' programs add an epsilon, which would have a unit. Here nothing is added: a
    weight whose gradients were all 0 has h̄ v̄ = 0 and is not changed. For a feature whose first gradient comes after
    the slow start, the factor C is applied then.

    **Unit-free?** Yes, under every change of units: ḡ² has the unit of x², h̄ v̄ that of x⁴, and η that of 1/x², as a
    gradient step needs; n_0, C and τ have no unit. No under rotations, because each weight has its own rate. That is
    also its weakness: each rate is right if only its weight changes, and together the steps overshoot where features
    are correlated.

    Args:
        loss: "squared" or "logistic".
        overestimate: C, or None for max(1, d/10).
        slow_start: n_0, the rows before the first step.
        classes: see `Baseline`.

    Example:
        >>> import numpy as np
        >>> from unitless.paper.baselines import VSGD
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 3)) * [1, 1e6, 1e-6]
        >>> y = X @ [1.0, -2e-6, 0.5e6] > 0
        >>> p = VSGD("logistic").run(X, y)
        >>> bool(np.mean((p > 0) != y) < 0.1)
        True
    """

    unit_free = True

    def __init__(
        self,
        loss: losses.LossName = "squared",
        overestimate: Any = None,
        *,
        slow_start: int = 20,
        classes: int | None = None,
    ) -> None:
        if not isinstance(slow_start, int) or slow_start < 1:
            raise OptionError(f"slow_start is {slow_start!r}; it must be a number of rows, at least 1")
        self._loss = losses.by_name(loss)
        self.binary = self._loss.binary
        self._slow_start = slow_start
        self._by_dimension = overestimate is None
        super().__init__(
            classes, overestimate=hyperparameter(1.0 if overestimate is None else overestimate, "overestimate")
        )

    def _begin(self, columns: int) -> None:
        shape = (self._lanes, columns)
        self._t = 0
        self._w, self._g, self._v, self._h = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._tau = np.full(shape, float(self._slow_start))
        self._C = self._lane_values["overestimate"][:, None]
        if self._by_dimension:
            self._C = np.full_like(self._C, max(1.0, columns / 10))

    def _predict(self, x: Float64) -> Float64:
        return np.asarray(self._w @ x)

    def _learn(self, x: Float64, y: Float64) -> Float64:
        p = self._predict(x)
        self._t += 1
        g = self._loss.slope(p, y)[:, None] * x
        h = self._loss.curvature(p, y)[:, None] * x**2
        if self._t <= self._slow_start:
            self._average(g, h, 1 / self._t)
            if self._t == self._slow_start:
                self._overestimate(self._C)
            return p
        first = (self._v == 0) & (g != 0)
        self._average(g, h, 1 / self._tau)
        if first.any():
            self._overestimate(np.where(first, self._C, 1.0))
        known = (self._v > 0) & (self._h > 0)
        agreement = np.divide(self._g**2, self._v, out=np.zeros_like(g), where=known)
        rate = np.divide(agreement, self._h, out=np.zeros_like(g), where=known)
        self._tau += 1 - agreement * self._tau
        self._w -= rate * g
        return p

    def _average(self, g: Float64, h: Float64, share: Any) -> None:
        self._g += share * (g - self._g)
        self._v += share * (g**2 - self._v)
        self._h += share * (h - self._h)

    def _overestimate(self, factor: Float64) -> None:
        self._v *= factor
        self._h *= factor
