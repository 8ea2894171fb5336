"""Linear terms: weights in units of the scales, and values as a rule sees them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from ..options import Order
from ..rules import Rule


@dataclass(frozen=True)
class Terms:
    """The linear terms of one model, of one lane for each head: v·z, z being a value as the rule sees it."""

    rule: Rule
    order: Order
    t: float  # the total weight of the examples
    slots: NDArray[np.int64]  # those that are in use; everything else has an entry for each
    scale: Float64  # as the rule keeps it
    v: Float64  # [entry, head]
    H: Float64  # likewise: sums of squared gradients

    @cached_property
    def entry(self) -> dict[int, int]:
        """Where a slot is."""
        return {slot: k for k, slot in enumerate(self.slots.tolist())}

    @property
    def unit(self) -> Float64:
        """The scales s."""
        return self.scale / np.sqrt(self.t) if self.rule.sums_squares else self.scale

    @property
    def weights(self) -> Float64:
        """w in units of the values that the rule is given, [entry, head]."""
        with np.errstate(over="ignore"):  # in a feature's own unit a weight may be beyond the range of float64
            return self.v / self.unit[:, None] if self.rule.unit_free else self.v

    @property
    def importance(self) -> Float64:
        """|w|·s, [entry, head]."""
        v = np.abs(self.v)
        return v if self.rule.unit_free else v * self.scale[:, None]

    @property
    def evidence(self) -> Float64:
        """By entry: the sum of squared gradients by the weight in the data's unit. Of 1 and 0: about how often 1."""
        return np.asarray((self.H * self.scale[:, None] ** 2).sum(axis=1))

    def seen(self, entry: int, x: float) -> float:
        """z: beyond the largest value so far nag holds it, ng shrinks it."""
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

    @property
    def _spread(self) -> float:
        ahead = self.order == "paper"  # Vowpal Wabbit's order predicts with the scales as they are
        return math.sqrt(self.t + ahead) if self.rule.sums_squares else 1.0
