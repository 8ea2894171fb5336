"""How scores rank the examples of two classes, in constant memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from .label_sums import Histogram


def area(negative: Float64, positive: Float64) -> float:
    """Under the ROC curve, from the weights of both classes by ascending score."""
    with np.errstate(over="ignore", invalid="ignore"):  # the products of very large weights overflow
        pairs = float(negative.sum() * positive.sum())
        below = np.cumsum(negative) - negative
        return float((positive * (below + negative / 2)).sum()) / pairs if pairs else math.nan


class Ranking:
    """How much weight of positive and of negative examples had which score.

    Scores are counted in a million bins whose width is 1/256 of the score itself; a pair within one bin counts half.
    """

    BITS = 20

    def __init__(self) -> None:
        self._kept: tuple[NDArray[np.intp], Float64] = np.zeros(0, np.intp), np.zeros(0)
        self._counts: Float64 | None = None

    @property
    def counts(self) -> Float64:
        """Weights by the score's leading bits (sign, exponent, eight bits of fraction), those of positive examples in
        the second half. Before it is asked for, as of rankings that are only absorbed, the bins in use are enough.
        """
        if self._counts is None:
            self._counts = np.zeros(2 << self.BITS)
            self._counts[self._kept[0]] = self._kept[1]
        return self._counts

    @property
    def _used(self) -> tuple[NDArray[np.intp], Float64]:
        """The bins in use, ascending, and what they hold."""
        if self._counts is None:
            return self._kept
        bins = np.flatnonzero(self._counts)
        return bins, self._counts[bins]

    def add(self, scores: Float64, positive: NDArray[np.bool_], weight: Float64 | None) -> None:
        """Count scores of positive and negative examples, in order; without a weight each counts 1."""
        bins = (scores + 0.0).view(np.int64)  # adding 0 turns -0 into 0
        bins >>= 64 - self.BITS
        bins &= (1 << self.BITS) - 1
        bins += positive * np.int64(1 << self.BITS)
        np.add.at(self.counts, bins, 1.0 if weight is None else weight)

    def absorb(self, other: Ranking) -> None:
        """Count what another has counted."""
        bins, weights = other._used
        self.counts[bins] += weights

    @property
    def area(self) -> float:
        """How often a positive example scores above a negative one; not a number before both have been seen."""
        return area(*self.by_score[1:])

    @property
    def hits(self) -> float:
        """The weight of positive examples with a score above 0 (by 2^-1030, which no model tells from 0)."""
        return float(self.counts[(1 << self.BITS) + 1 : 3 << (self.BITS - 1)].sum())

    @property
    def predicted(self) -> float:
        """The weight of all examples with a score above 0."""
        return float(self.counts[1 : 1 << (self.BITS - 1)].sum()) + self.hits

    @property
    def positive(self) -> float:
        """The weight of positive examples."""
        return float(self.counts[1 << self.BITS :].sum())

    @property
    def by_score(self) -> tuple[Float64, Float64, Float64]:
        """Scores in ascending order (the middles of the bins in use), with the weight of negative and of positive
        examples at each.
        """
        counts = self.counts.reshape(2, -1)
        bins = np.flatnonzero(counts.any(axis=0))
        below_zero = bins >= 1 << (self.BITS - 1)  # their sign bit is set, and a larger magnitude ranks lower
        bins = np.concatenate([bins[below_zero][::-1], bins[~below_zero]])
        shift = 64 - self.BITS
        middles = (bins.astype(np.uint64) << np.uint64(shift)) | np.uint64(1 << (shift - 1))
        scores = middles.view(np.float64).copy()
        scores[bins == 0] = 0.0
        infinite = np.isnan(scores)  # what the bits of an infinite score become
        scores[infinite] = np.where(bins[infinite] < 1 << (self.BITS - 1), np.inf, -np.inf)
        negative, positive = counts[:, bins]
        return scores, negative, positive

    @property
    def weight(self) -> float:
        """The total weight of all examples."""
        return float(self._used[1].sum())

    def state(self) -> dict[str, Any]:
        """The bins in use and what they hold; whole numbers as such, others in hexadecimal."""
        bins, counted = self._used
        weights = [int(w) if w.is_integer() and w < 2**53 else w.hex() for w in counted.tolist()]
        return {"bins": bins.tolist(), "weights": weights}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Ranking:
        """What gave this state; a ValueError, KeyError or TypeError if nothing can have."""
        ranking = cls()
        bins, weights = state["bins"], state["weights"]
        if not set(map(type, bins)) <= {int} or (bins and not 0 <= min(bins) <= max(bins) < 2 << cls.BITS):
            raise ValueError("bins of the ranking that do not exist")
        values = np.array([float(one) if type(one) is int else float.fromhex(one) for one in weights], np.float64)
        if len(values) != len(bins) or not (values > 0).all():
            raise ValueError("weights in the ranking that are not positive")
        numbers = np.array(bins, dtype=np.intp)
        if not (np.diff(numbers) > 0).all():
            raise ValueError("bins of the ranking that are not in order")
        ranking._kept = numbers, values
        return ranking


class SmallRanking:
    """The same in as little memory as the scores allow, for many rankings at once."""

    def __init__(self) -> None:
        self._classes = (Histogram(), Histogram())  # negative and positive examples

    def add(self, scores: Float64, positive: NDArray[np.bool_], weight: Float64 | None) -> None:
        """Count scores of positive and negative examples."""
        for histogram, rows in zip(self._classes, (~positive, positive), strict=True):
            histogram.add(scores[rows], None if weight is None else weight[rows])

    def absorb(self, other: SmallRanking) -> None:
        """Count what another has counted."""
        for histogram, more in zip(self._classes, other._classes, strict=True):
            histogram.absorb(more)

    @property
    def area(self) -> float:
        """How often a positive example scores above a negative one; not a number before both have been seen."""
        ranges = np.union1d(*(one.ranges for one in self._classes))
        counts = np.zeros((2, len(ranges)))
        for row, one in zip(counts, self._classes, strict=True):
            row[np.searchsorted(ranges, one.ranges)] = one.weights
        return area(*counts)

    @property
    def hits(self) -> float:
        """The weight of positive examples with a score above 0."""
        positive = self._classes[1]
        return float(positive.weights[positive.ranges > 0].sum())

    @property
    def predicted(self) -> float:
        """The weight of all examples with a score above 0."""
        return float(self._classes[0].weights[self._classes[0].ranges > 0].sum()) + self.hits

    @property
    def positive(self) -> float:
        """The weight of positive examples."""
        return float(self._classes[1].weights.sum())
