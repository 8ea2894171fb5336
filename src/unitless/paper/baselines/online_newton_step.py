"""Online Newton Step: second order, with the whole matrix of the gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs import Float64
from . import losses
from .inverse_factor import inverse_factor
from .lanes import Baseline, hyperparameter


class OnlineNewtonStep(Baseline):
    """Online Newton Step (Hazan, Kalai, Kale, Agarwal 2006; Hazan, Agarwal, Kale 2007, Figure 2).

        A_0 = ε I,   A_t = A_{t−1} + g gᵀ,   w ← Π(w − η A_t⁻¹ g),   g = ∂L(w·x, y)/∂w

    where:
        η is the paper's 1/β. It has the unit of the loss. Logistic loss has none, and 1 is the natural step: the
            mean of g gᵀ is then the Hessian. For squared loss it is about the square of the label's noise.
        ε has the unit of g², that is (loss/weight)²; the paper's choice is 1/(βD)², D the diameter of the weights' set.
        Π is the projection in the norm of A onto {w : |w·x| ≤ limit} for the next row, with the
            closed form w − A⁻¹x·(p − clip(p, −limit, limit))/(xᵀA⁻¹x). The paper projects onto one fixed set of
            weights; this set, of all weights that predict nothing beyond the limit, is the one whose shape has no unit
            (Luo, Agarwal, Cesa-Bianchi, Langford 2016). With limit=None there is no projection.

    A row costs d² operations and the state d² numbers per lane.

    **Unit-free?** No, but only ε has a unit. Without ε, x → Mx for any invertible M turns A into M A Mᵀ and w
    into M⁻ᵀw, and w·x stays: the step itself depends neither on units nor on rotations. But without ε, A has no inverse
    before d independent rows, and its replacement, ε I (or a pseudo-inverse, the limit ε → 0), depends on units:
    directions of small values count as unknown for longer. Rotations do not change ε I.

    *Normalized Online Learning* states that ONS "has a regret bound independent of units". The bound as published,
    5(1/α + GD) d log T, is not: G and D are Euclidean lengths of gradients and of weights, and their product is
    unchanged only when all features change by the same factor. But its proof needs GD just as a bound of
    |g·(w − w*)|, which no unit changes; what is left is ε‖w*‖² and the ε in log det(A_T/ε). So the claim is true for an
    initial matrix in the features' own units. This is what `scaled=True` does: A begins with ε·x_i², x_i being the
    feature's first non-zero value. Then predictions are the same under every change of units, though not under
    rotations.

    Args:
        loss: "squared" or "logistic".
        rate: η.
        epsilon: ε.
        limit: the largest prediction, or None.
        scaled: begin A in the features' own units. Default: False.
        classes: see `Baseline`.

    Example:
        >>> import numpy as np
        >>> from unitless.paper.baselines import OnlineNewtonStep
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(1000, 3))
        >>> y = X @ [1.0, -2.0, 0.5] > 0
        >>> p = OnlineNewtonStep("logistic", limit=5.0).run(X, y)
        >>> bool(np.mean((p > 0) != y) < 0.05)
        True
        >>> p = OnlineNewtonStep("logistic", limit=5.0).run(X * [1, 1e-6, 1], y)  # ε I has a unit
        >>> bool(np.mean((p > 0) != y) > 0.3)
        True
        >>> p = OnlineNewtonStep("logistic", limit=5.0, scaled=True).run(X * [1, 1e-6, 1], y)
        >>> bool(np.mean((p > 0) != y) < 0.05)
        True
    """

    def __init__(
        self,
        loss: losses.LossName = "squared",
        rate: Any = 1.0,
        epsilon: Any = 1.0,
        *,
        limit: Any = None,
        scaled: bool = False,
        classes: int | None = None,
    ) -> None:
        self._loss = losses.by_name(loss)
        self.binary = self._loss.binary
        self.unit_free = scaled
        super().__init__(
            classes,
            rate=hyperparameter(rate, "rate"),
            epsilon=hyperparameter(epsilon, "epsilon"),
            limit=np.asarray(np.inf) if limit is None else hyperparameter(limit, "limit"),
        )

    def _begin(self, columns: int) -> None:
        self._inverse = inverse_factor(self._lane_values["epsilon"], columns, self.unit_free)
        self._w = np.zeros((self._lanes, columns))

    def _predict(self, x: Float64) -> Float64:
        limit = self._lane_values["limit"]
        return np.clip(self._w @ x, -limit, limit)

    def _learn(self, x: Float64, y: Float64) -> Float64:
        self._inverse.meet(x)
        unprojected, p = self._w @ x, self._predict(x)
        slope, rate = self._loss.slope(p, y), self._lane_values["rate"]
        f = self._inverse.coordinates(self._all, x)
        Px = self._inverse.directions(self._all, f)
        xPx = np.einsum("ij,ij->i", f, f)
        projection = np.divide(p - unprojected, xPx, out=np.zeros_like(p), where=xPx > 0)
        newton_step = rate * slope / (1 + slope**2 * xPx)  # A_t⁻¹g by Sherman–Morrison
        self._w += (projection - newton_step)[:, None] * Px
        self._inverse.grow(self._all, f, Px, slope**2)
        return p
