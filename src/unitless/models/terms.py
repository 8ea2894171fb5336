"""Linear terms: weights in units of the scales, and values as a rule transforms them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from ..options import Order
from ..rules import Rule


@dataclass(frozen=True)
class Doubt:
    """The uncertainty of a second-order model's weights: the more uncertain they are, the closer to 0 it predicts."""

    covariance: Float64  # the covariance of v, [entry, entry]
    of_odds: bool  # True if scores are log odds; False if they are numbers

    def certainty(self, variance: float) -> float:
        """Return the factor by which a sum of terms with this variance is multiplied."""
        return 1.0 / math.sqrt(1.0 + math.pi / 8 * variance) if self.of_odds else 1.0 / (1.0 + variance)


@dataclass(frozen=True)
class Terms:
    """The linear terms of one model, v·z for each head's lane, where z is a value as the rule transforms it."""

    rule: Rule
    order: Order
    t: float  # the total weight of the examples
    slots: NDArray[np.int64]  # the slots in use; the arrays below have an entry for each
    scale: Float64  # as the rule stores it
    v: Float64  # [entry, head]
    H: Float64  # [entry, head]: sums of squared gradients; variances for second order
    doubt: Doubt | None = None  # the uncertainty, if predictions take it into account

    @cached_property
    def entry(self) -> dict[int, int]:
        """The entry of each slot."""
        return {slot: k for k, slot in enumerate(self.slots.tolist())}

    @property
    def unit(self) -> Float64:
        """The scales s."""
        return self.scale / np.sqrt(self.t) if self.rule.sums_squares else self.scale

    @property
    def weights(self) -> Float64:
        """The weights w, [entry, head], in units of the values that the rule is given."""
        with np.errstate(over="ignore"):  # a weight in the unit of its feature may exceed float64
            return self.v / self.unit[:, None] if self.rule.unit_free else self.v

    @property
    def in_scales(self) -> Float64:
        """w·s, [entry, head]: the contribution of a value that is as large as its scale."""
        return self.v if self.rule.unit_free else self.v * self.scale[:, None]

    @property
    def evidence(self) -> Float64:
        """By entry, the sum of squared gradients in the unit of the data; for a 0/1 feature about the number of 1s."""
        return np.asarray((self.H * self.scale[:, None] ** 2).sum(axis=1))

    def seen(self, entry: int, x: float) -> float:
        """Return z for a value x: beyond the largest value so far, "nag" limits z to ±1, and "ng" lets z shrink."""
        scale = float(self.scale[entry])
        if not self.rule.unit_free:
            return x
        if self.order == "vw":
            return self._spread * (x / scale)
        if self.rule.beyond == "squash":
            q = x / scale
            return self._spread * (q / math.sqrt(1.0 + q * q))
        if abs(x) > scale:
            return math.copysign(1.0, x) if self.rule.beyond == "hold" else math.copysign(scale / abs(x), x)
        return x / scale

    def certainty(self, values: Mapping[int, float]) -> float:
        """Return the factor for the sum of a row's terms; `values` are the row's values by slot, with the bias."""
        if self.doubt is None:
            return 1.0
        z = np.zeros(len(self.slots))
        for slot, x in values.items():
            at = self.entry.get(slot)
            if at is not None:
                z[at] = self.seen(at, x)
        return self.doubt.certainty(max(0.0, float(z @ self.doubt.covariance @ z)))

    @property
    def _spread(self) -> float:
        ahead = self.order == "paper"  # Vowpal Wabbit's order predicts with the scales before the row
        return math.sqrt(self.t + ahead) if self.rule.sums_squares else 1.0
