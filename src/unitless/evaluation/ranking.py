"""The area under the ROC curve, in constant memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64


class Ranking:
    """How much weight of positive and of negative examples had which score.

    Scores are counted in a million bins whose width is 1/256 of the score itself; a pair within one bin counts half.
    """

    BITS = 20

    def __init__(self) -> None:
        # By the score's leading bits (sign, exponent, eight bits of fraction); positive examples in the second half.
        self.counts = np.zeros(2 << self.BITS)

    def add(self, scores: Float64, positive: NDArray[np.bool_], weight: Float64 | None) -> None:
        """Count scores of positive and negative examples, in order; without a weight each counts 1."""
        bins = (scores + 0.0).view(np.int64)  # adding 0 turns -0 into 0
        bins >>= 64 - self.BITS
        bins &= (1 << self.BITS) - 1
        bins += positive * np.int64(1 << self.BITS)
        np.add.at(self.counts, bins, 1.0 if weight is None else weight)

    @property
    def area(self) -> float:
        """How often a positive example scores above a negative one; not a number before both have been seen."""
        counts = self.counts.reshape(2, -1)
        bins = np.flatnonzero(counts.any(axis=0))
        below_zero = bins >= 1 << (self.BITS - 1)  # their sign bit is set, and a larger magnitude ranks lower
        bins = np.concatenate([bins[below_zero][::-1], bins[~below_zero]])
        negative, positive = counts[:, bins]
        with np.errstate(over="ignore", invalid="ignore"):  # the products of very large weights overflow
            pairs = float(negative.sum() * positive.sum())
            below = np.cumsum(negative) - negative
            return float((positive * (below + negative / 2)).sum()) / pairs if pairs else math.nan

    @property
    def weight(self) -> float:
        """The total weight of all examples."""
        return float(self.counts.sum())

    def state(self) -> dict[str, Any]:
        """The bins in use and what they hold; whole numbers as such, others in hexadecimal."""
        bins = np.flatnonzero(self.counts)
        weights = [int(w) if w.is_integer() and w < 2**53 else w.hex() for w in self.counts[bins].tolist()]
        return {"bins": bins.tolist(), "weights": weights}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Ranking:
        """What gave this state; a ValueError, KeyError or TypeError if nothing can have."""
        ranking = cls()
        bins, weights = state["bins"], state["weights"]
        if not all(type(bin) is int and 0 <= bin < 2 << cls.BITS for bin in bins) or len(set(bins)) < len(bins):
            raise ValueError("bins of the ranking that do not exist")
        values = [float(weight) if type(weight) is int else float.fromhex(weight) for weight in weights]
        if len(values) != len(bins) or not all(value > 0 for value in values):
            raise ValueError("weights in the ranking that are not positive")
        ranking.counts[np.array(bins, dtype=np.intp)] = values
        return ranking
