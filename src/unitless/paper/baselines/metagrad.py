"""MetaGrad for each feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs import Float64
from . import losses
from .gradient_learner import GradientLearner, ratio
from .lanes import hyperparameter

EXPERTS = 24
"""Room for the experts of a weight: their number is at most 2 + log2 of the number of rows."""


class MetaGrad(GradientLearner):
    """MetaGrad for each coordinate, "MetaGrad: adaptation using multiple learning rates in online learning" (van Erven,
    Koolen, van der Hoeven 2021, Algorithms 1 and 2, in one dimension per weight as in its experiments).

    Each weight has an expert for each rate η = 2^k with 1/(2 (B + Σb)) ≤ η ≤ 1/(2B), and predicts

        w = Σ_η η π_η w_η / Σ_η η π_η

    then, with b = 2D|g|, B the largest b so far, and ḡ = g·B_before/B:

        π_η ← π_η exp(r − r²),   r = η (w − w_η) ḡ
        H_η ← H_η − 2η² (H_η g)²/(1 + 2η² H_η g²),   w_η ← w_η − H_η (η + 2η² g (w_η − w)) g, limited to ±D

    where:
        D is the largest weight that is considered; w_η = 0 and H_η = D² at first.
        π_η is 1 at first, and again for all experts when B has grown by more than Σ b/B (the paper's restart).

    Departure: the authors' programs begin H_η with a ninth of the squared radius of their domain, because they choose
    the radius three times as large as the best weights; here D is the only parameter.

    **Unit-free?** No: D has the unit of the weights. With `scaled=True` it is D divided by the feature's first non-zero
    value, and predictions are the same in all units.

    Args:
        loss: "squared" or "logistic".
        radius: D.
        scaled: take D in the units of the features. Default: False.
        limits: see `GradientLearner`.
        classes: see `Baseline`.

    Example:
        >>> import numpy as np
        >>> from unitless.paper.baselines import MetaGrad
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(1000, 3)) * [1, 1e6, 1e-6]
        >>> y = X @ [1.0, -2e-6, 0.5e6] > 0
        >>> p = MetaGrad("logistic", 10.0, scaled=True).run(X, y)
        >>> bool(np.mean((p > 0) != y) < 0.1)
        True
    """

    def __init__(
        self,
        loss: losses.LossName = "logistic",
        radius: Any = 1.0,
        *,
        scaled: bool = False,
        limits: tuple[float, float] | None = None,
        classes: int | None = None,
    ) -> None:
        self.unit_free = scaled
        super().__init__(loss, limits, classes, radius=hyperparameter(radius, "radius"))

    def _begin(self, columns: int) -> None:
        shape = (self._lanes, columns)
        self._D = np.zeros(shape) if self.unit_free else np.repeat(self._lane("radius"), columns, axis=1)
        self._B, self._sum, self._relative, self._since = (np.zeros(shape) for _ in range(4))
        self._played = np.zeros(shape)
        self._place = np.arange(EXPERTS)
        self._k = np.full((*shape, EXPERTS), np.nan)  # the expert in each place: η = 2^k
        self._eta, self._share, self._expert, self._H = (np.zeros((*shape, EXPERTS)) for _ in range(4))

    def _weights(self, x: Float64) -> Float64:
        return self._played

    def _update(self, x: Float64, slope: Float64, w: Float64) -> None:
        if self.unit_free:
            self._D = np.where((self._D == 0) & (x != 0), ratio(self._lane("radius"), np.abs(x)), self._D)
        # A row changes only the weights of its features.
        there = np.flatnonzero(x)
        if len(there) == len(x):
            there = slice(None)  # type: ignore[assignment]
        g, D, w = (slope * x)[:, there], self._D[:, there], w[:, there]
        before = self._B[:, there]
        b = 2 * D * np.abs(g)
        B = np.maximum(before, b)
        eta, share, expert, H = (a[:, there] for a in (self._eta, self._share, self._expert, self._H))
        r = eta * (w[..., None] - expert) * (ratio(before, B) * g)[..., None]
        gain = np.where(eta > 0, r - r**2, -np.inf)
        best = np.max(gain, axis=-1, keepdims=True)
        grown = share * np.exp(gain - np.where(np.isfinite(best), best, 0.0))
        total = np.sum(grown, axis=-1, keepdims=True)
        share = ratio(grown * np.sum(share, axis=-1, keepdims=True), total)
        slope_of = (eta + 2 * eta**2 * g[..., None] * (expert - w[..., None])) * g[..., None]
        q = 2 * eta**2 * g[..., None] ** 2
        H = H / (1 + q * H)
        limit = D[..., None]
        expert = np.clip(expert - H * slope_of, -limit, limit)
        relative = self._relative[:, there] + ratio(b, B)
        since = self._since[:, there]
        restart = (B > 0) & ((since == 0) | (since * relative < B))
        share = np.where(restart[..., None] & (eta > 0), 1.0, share)
        sums = self._sum[:, there] + np.minimum(b, before)
        self._B[:, there], self._sum[:, there], self._relative[:, there] = B, sums, relative
        self._since[:, there] = np.where(restart, B, since)
        self._awake(there, B, sums, D, share, expert, H)

    def _awake(
        self, there: Any, B: Float64, sums: Float64, D: Float64, share: Float64, expert: Float64, H: Float64
    ) -> None:
        """Choose the experts of the next row, and their joint prediction."""
        seen = B > 0
        high = np.floor(-np.log2(np.where(seen, 2 * B, 1.0)))
        low = np.ceil(-np.log2(np.where(seen, 2 * (sums + B), 1.0)))
        k = low[..., None] + (self._place - low[..., None]) % EXPERTS
        active = seen[..., None] & (k <= high[..., None])
        new = active & (k != self._k[:, there])
        share = np.where(active, np.where(new, 1.0, share), 0.0)
        expert = np.where(new, 0.0, expert)
        eta = np.where(active, np.exp2(k), 0.0)
        self._k[:, there] = np.where(active, k, np.nan)
        self._eta[:, there], self._share[:, there], self._expert[:, there] = eta, share, expert
        self._H[:, there] = np.where(new, D[..., None] ** 2, H)
        weight = eta * share
        self._played[:, there] = ratio(np.sum(weight * expert, axis=-1), np.sum(weight, axis=-1))
