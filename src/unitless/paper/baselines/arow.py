"""AROW, with the whole covariance and with its diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs import Float64
from .inverse_factor import inverse_factor
from .lanes import Baseline, hyperparameter
from .precisions import Precisions


class AROW(Baseline):
    """Adaptive Regularization of Weights (Crammer, Kulesza, Dredze 2009, Figure 1).

        p = w·x,   q = xᵀΣx,   β = 1/(q + r);   where y·p < 1:
            w ← w + β (1 − y·p) y Σx,   Σ ← Σ − β Σx xᵀΣ,   Σ = I first

    where:
        w and Σ are the mean and covariance of a belief about the weights.
        r limits the effect of a row. Multiplying r and the first Σ by the same number changes nothing, so r has the
        unit of x², because the first Σ is 1 without a unit.

    The implementation updates Σ⁻¹ ← Σ⁻¹ + x xᵀ/r, by the factor of Σ (see `inverse_factor`).

    A row costs d² operations and the state d² numbers per lane.

    **Unit-free?** No: q = xᵀΣx begins as ‖x‖², in the features' units, and r is compared with it. Without the I in
    Σ⁻¹ = I + Σ x xᵀ/r it would depend on no unit and no rotation. With `scaled=True` Σ_ii begins as 1/x_i², x_i being
    the feature's first non-zero value: then r has no unit and predictions are the same under every change of
    units, though not under rotations.

    Args:
        r: the regularization; a larger value makes smaller updates.
        scaled: begin the matrix in the features' own units. Default: False.
        classes: see `Baseline`.

    Example:
        >>> import numpy as np
        >>> from unitless.paper.baselines import AROW
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(1000, 3)) * [1, 1000, 1]
        >>> y = np.where(X[:, 0] > 0, 2, X[:, 1] > 0)
        >>> scores = AROW(r=1.0, scaled=True, classes=3).run(X, y)
        >>> scores.shape
        (1000, 3)
        >>> bool(np.mean(scores.argmax(axis=1) != y) < 0.2)
        True
    """

    def __init__(self, r: Any = 1.0, *, scaled: bool = False, classes: int | None = None) -> None:
        self.unit_free = scaled
        super().__init__(classes, r=hyperparameter(r, "r"))

    def _begin(self, columns: int) -> None:
        self._inverse = inverse_factor(np.ones(self._lanes), columns, self.unit_free)
        self._w = np.zeros((self._lanes, columns))

    def _predict(self, x: Float64) -> Float64:
        return np.asarray(self._w @ x)

    def _learn(self, x: Float64, y: Float64) -> Float64:
        self._inverse.meet(x)
        p = self._predict(x)
        lacking = 1 - y * p
        short = np.flatnonzero(lacking > 0)
        if len(short):
            r, f = self._lane_values["r"][short], self._inverse.coordinates(short, x)
            Sx = self._inverse.directions(short, f)
            alpha = lacking[short] / (np.einsum("ij,ij->i", f, f) + r)
            self._w[short] += (alpha * y[short])[:, None] * Sx
            self._inverse.grow(short, f, Sx, 1 / r)
        return p


class DiagonalAROW(Baseline):
    """AROW with a diagonal covariance, which is projected in the form of its inverse (Crammer et al. 2009, section 4;
    analyzed by Orabona, Crammer, Cesa-Bianchi 2012).

        p = Σ_i w_i x_i,   q = Σ_i x_i²/A_i;   where y·p < 1:
            w_i ← w_i + (1 − y·p) y x_i/A_i / (q + r),   A_i ← A_i + x_i²/r,   A_i = 1 first

    A row costs d operations per lane.

    **Unit-free?** No: the first A_i has the unit of x_i², and is 1. It is unit-free if and only if the first A_i
    changes with the unit as x_i² does. With `scaled=True` it is x_i² itself, x_i being the feature's first non-zero
    value.

    Args:
        r: the regularization; a larger value makes smaller updates.
        scaled: begin the matrix in the features' own units. Default: False.
        classes: see `Baseline`.

    Example:
        >>> from unitless.paper.baselines import DiagonalAROW
        >>> m = DiagonalAROW(r=1.0)
        >>> m.learn([3.0, 0.0], 1)
        0.0
        >>> m.predict([1.0, 1.0])  # 3/(9 + 1)
        0.30000000000000004
    """

    def __init__(self, r: Any = 1.0, *, scaled: bool = False, classes: int | None = None) -> None:
        self.unit_free = scaled
        super().__init__(classes, r=hyperparameter(r, "r"))

    def _begin(self, columns: int) -> None:
        self._precisions = Precisions(np.ones(self._lanes), columns, self.unit_free)
        self._w = np.zeros((self._lanes, columns))

    def _predict(self, x: Float64) -> Float64:
        return np.asarray(self._w @ x)

    def _learn(self, x: Float64, y: Float64) -> Float64:
        self._precisions.meet(x)
        p = self._predict(x)
        lacking = 1 - y * p
        short = np.flatnonzero(lacking > 0)
        r = self._lane_values["r"][short]
        Sx = x / self._precisions.A[short]
        alpha = lacking[short] / (Sx @ x + r)
        self._w[short] += (alpha * y[short])[:, None] * Sx
        self._precisions.A[short] += x**2 / r[:, None]
        return p
