"""The second-order perceptron, with the whole matrix and with its diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs import Float64
from .inverse_factor import inverse_factor
from .lanes import Baseline, hyperparameter
from .precisions import Precisions


class SecondOrderPerceptron(Baseline):
    """The second-order perceptron (Cesa-Bianchi, Conconi, Gentile 2005, Figure 3.1).

        p = vᵀ (a I + X Xᵀ + x xᵀ)⁻¹ x;   on a mistake (y·p ≤ 0):   v ← v + y x,   X ← [X x]

    where:
        v is the perceptron's weight vector, the sum of y x over mistakes.
        X has the rows of mistakes as columns; the row to be predicted counts as well, mistake or not.
        a has the unit of x².

    Where the paper is silent: p = 0 is a mistake. The implementation uses A = a I + X Xᵀ, w = A⁻¹v and q = xᵀA⁻¹x: then
    p = w·x/(1 + q), and on a mistake w ← w + A⁻¹x (y − w·x)/(1 + q). This is ridge regression on the mistakes.

    A row costs d² operations and the state d² numbers per lane.

    **Unit-free?** No: a has a unit, the square of the features'. For a → 0 with the pseudo-inverse, which
    the authors give as a variant without parameters (it is not built here), p depends on no unit and no rotation,
    because both v and x lie in the span of A. With `scaled=True` A begins with a·x_i², x_i being the feature's first
    non-zero value: then predictions are the same under every change of units, though not under rotations.

    Args:
        a: the initial value of the matrix's diagonal; with a larger value the learner is closer to the perceptron.
        scaled: begin the matrix in the features' own units. Default: False.
        classes: see `Baseline`.

    Example:
        >>> import numpy as np
        >>> from unitless.paper.baselines import SecondOrderPerceptron
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(1000, 3))
        >>> y = X @ [1.0, -2.0, 0.5] > 0
        >>> p = SecondOrderPerceptron(a=[0.1, 1.0, 10.0]).run(X, y)
        >>> p.shape
        (1000, 3)
        >>> bool(np.mean((p > 0) != y[:, None]) < 0.1)
        True
    """

    def __init__(self, a: Any = 1.0, *, scaled: bool = False, classes: int | None = None) -> None:
        self.unit_free = scaled
        super().__init__(classes, a=hyperparameter(a, "a"))

    def _begin(self, columns: int) -> None:
        self._inverse = inverse_factor(self._lane_values["a"], columns, self.unit_free)
        self._w = np.zeros((self._lanes, columns))

    def _predict(self, x: Float64) -> Float64:
        f = self._inverse.coordinates(self._all, x)
        return np.asarray((self._w @ x) / (1 + np.einsum("ij,ij->i", f, f)))

    def _learn(self, x: Float64, y: Float64) -> Float64:
        self._inverse.meet(x)
        f = self._inverse.coordinates(self._all, x)
        wx, q = self._w @ x, np.einsum("ij,ij->i", f, f)
        p = wx / (1 + q)
        mistaken = np.flatnonzero(y * p <= 0)
        if len(mistaken):
            f, error = f[mistaken], ((y - wx) / (1 + q))[mistaken]
            Ax = self._inverse.directions(mistaken, f)
            self._w[mistaken] += error[:, None] * Ax
            self._inverse.grow(mistaken, f, Ax, np.ones(len(mistaken)))
        return np.asarray(p)


class DiagonalSecondOrderPerceptron(Baseline):
    """The second-order perceptron with the diagonal of its matrix alone (Orabona, Crammer, Cesa-Bianchi 2012).

        p = Σ_i v_i x_i / (A_i + x_i²);   on a mistake (y·p ≤ 0):   v_i ← v_i + y x_i,   A_i ← A_i + x_i²

    where A_i is a at first.

    Where the paper is silent: p = 0 is a mistake. A row costs d operations per lane.

    **Unit-free?** No: a has a unit, the square of the features'. With `scaled=True` A_i begins with a·x_i²,
    x_i being the feature's first non-zero value, and predictions are the same under every change of units.

    Args:
        a: the initial value of the diagonal.
        scaled: begin the matrix in the features' own units. Default: False.
        classes: see `Baseline`.

    Example:
        >>> from unitless.paper.baselines import DiagonalSecondOrderPerceptron
        >>> m = DiagonalSecondOrderPerceptron(a=1.0)
        >>> m.learn([2.0, 0.0], 1)  # nothing is known: a mistake
        0.0
        >>> m.predict([2.0, 5.0])  # 2·2/(1 + 4 + 4)
        0.4444444444444444
    """

    def __init__(self, a: Any = 1.0, *, scaled: bool = False, classes: int | None = None) -> None:
        self.unit_free = scaled
        super().__init__(classes, a=hyperparameter(a, "a"))

    def _begin(self, columns: int) -> None:
        self._precisions = Precisions(self._lane_values["a"], columns, self.unit_free)
        self._v = np.zeros((self._lanes, columns))

    def _predict(self, x: Float64) -> Float64:
        return np.asarray((self._v / (self._precisions.seeing(x) + x**2)) @ x)

    def _learn(self, x: Float64, y: Float64) -> Float64:
        self._precisions.meet(x)
        p = self._predict(x)
        mistaken = np.flatnonzero(y * p <= 0)
        self._v[mistaken] += y[mistaken, None] * x
        self._precisions.A[mistaken] += x**2
        return p
