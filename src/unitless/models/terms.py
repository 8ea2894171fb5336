"""Linear terms: weights in units of the scales, and values as a rule sees them."""

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
    """How far a second-order model is from knowing its weights: the less it knows, the nearer to 0 is what it says."""

    covariance: Float64  # of v, [entry, entry]
    of_odds: bool  # what is said are log odds; otherwise numbers

    def certainty(self, variance: float) -> float:
        """What a sum of terms is multiplied by, if its variance is known."""
        return 1.0 / math.sqrt(1.0 + math.pi / 8 * variance) if self.of_odds else 1.0 / (1.0 + variance)


@dataclass(frozen=True)
class Terms:
    """The linear terms of one model, of one lane for each head: v·z, z being a value as the rule sees it."""

    rule: Rule
    order: Order
    t: float  # the total weight of the examples
    slots: NDArray[np.int64]  # those that are in use; everything else has an entry for each
    scale: Float64  # as the rule keeps it
    v: Float64  # [entry, head]
    H: Float64  # likewise: sums of squared gradients; of second order, variances
    doubt: Doubt | None = None  # if what is said takes it into account

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
    def in_scales(self) -> Float64:
        """w·s, [entry, head]: what a value as large as its scale adds."""
        return self.v if self.rule.unit_free else self.v * self.scale[:, None]

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

    def certainty(self, values: Mapping[int, float]) -> float:
        """What the sum of a row's terms is multiplied by. `values`: by slot; the bias is one of them."""
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
        ahead = self.order == "paper"  # Vowpal Wabbit's order predicts with the scales as they are
        return math.sqrt(self.t + ahead) if self.rule.sums_squares else 1.0
