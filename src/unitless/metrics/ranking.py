"""How well scores rank the examples of two classes (AUC), in constant memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from .records import Found
from .rows import BinaryRows


class Ranking:
    """The weight of positive and of negative examples by score.

    Scores are counted in a million bins whose width is 1/256 of the score itself; a pair within one bin counts half.

    Args:
        small: store only the bins in use, for many simultaneous rankings; counting takes longer. Default: False.

    Example:
        >>> import numpy as np, unitless as ul
        >>> ranking = ul.metrics.Ranking()
        >>> ranking.add(np.array([-1.0, 0.5, 2.0]), np.array([False, False, True]), None)
        >>> ranking.found().area
        1.0
    """

    BITS = 20

    def __init__(self, small: bool = False) -> None:
        self._small = small
        self._kept: tuple[NDArray[np.intp], Float64] = np.zeros(0, np.intp), np.zeros(0)
        self._counts: Float64 | None = None

    @property
    def counts(self) -> Float64:
        """The weights by the score's leading bits (sign, exponent, eight bits of fraction).

        The second half of the array is for positive examples. The array is made when it is first needed; before that
        only the bins in use are stored.
        """
        if self._counts is None:
            self._counts = np.zeros(2 << self.BITS)
            self._counts[self._kept[0]] = self._kept[1]
        return self._counts

    @property
    def _used(self) -> tuple[NDArray[np.intp], Float64]:
        """The bins in use, ascending, and their weights."""
        if self._counts is None:
            return self._kept
        # comparing with 0 first is much faster than np.flatnonzero of the numbers
        bins = np.flatnonzero(self._counts != 0)
        return bins, self._counts[bins]

    def add(self, scores: Float64, positive: NDArray[np.bool_], weight: Float64 | None) -> None:
        """Count scores of positive and negative examples, in order; without a weight each counts 1."""
        bins = (scores + 0.0).view(np.int64)  # adding 0 turns -0 into 0
        bins >>= 64 - self.BITS
        bins &= (1 << self.BITS) - 1
        bins += positive * np.int64(1 << self.BITS)
        self._add(bins, 1.0 if weight is None else weight)

    def count(self, rows: BinaryRows, h: Float64 | None) -> None:
        """Count rows in order. All weights must be positive; without weights each row counts 1."""
        self.add(rows.p, rows.truth, h)

    def _add(self, bins: NDArray[np.intp], weights: Float64 | float) -> None:
        """Add weights to bins, one after another, as a loop would."""
        if not self._small:
            np.add.at(self.counts, bins, weights)
            return
        used, held = self._kept
        new = np.setdiff1d(bins, used)
        at = np.searchsorted(used, new)
        used, held = np.insert(used, at, new), np.insert(held, at, 0.0)
        np.add.at(held, np.searchsorted(used, bins), weights)
        self._kept = used, held

    def absorb(self, other: Ranking) -> None:
        """Add the counts of another ranking."""
        self._add(*other._used)

    def found(self, means: dict[str, float] | None = None) -> Found:
        """The area under the ROC curve, and the weight of examples with a score above 0."""
        scores, negative, positive = self.by_score
        with np.errstate(over="ignore", invalid="ignore"):  # the products of very large weights overflow
            pairs = float(negative.sum() * positive.sum())
            below = np.cumsum(negative) - negative
            area = float((positive * (below + negative / 2)).sum()) / pairs if pairs else math.nan
        above = scores > 0  # true also for bins next to 0 (2^-1030), which no model distinguishes from 0
        hits, wrong = float(positive[above].sum()), float(negative[above].sum())
        return Found(area=area, hits=hits, predicted=hits + wrong, positive=float(positive.sum()))

    @property
    def by_score(self) -> tuple[Float64, Float64, Float64]:
        """Scores in ascending order (the middles of the bins in use), with the weight of negative and of positive
        examples at each.
        """
        half, shift = 1 << (self.BITS - 1), 64 - self.BITS
        numbers, weights = self._used
        bins, places = np.unique(numbers & (2 * half - 1), return_inverse=True)
        counts = np.zeros((2, len(bins)))
        counts[numbers >> self.BITS, places] = weights
        middles = (bins.astype(np.uint64) << np.uint64(shift)) | np.uint64(1 << (shift - 1))
        scores = middles.view(np.float64)
        scores[bins == 0] = 0.0
        infinite = np.isnan(scores)  # what the bits of an infinite score become
        scores[infinite] = np.where(bins[infinite] < half, np.inf, -np.inf)
        first_negative = int(np.searchsorted(bins, half))  # their sign bit is set, and a larger magnitude ranks lower
        order = np.concatenate([np.arange(len(bins))[first_negative:][::-1], np.arange(first_negative)])
        negative, positive = counts[:, order]
        return scores[order], negative, positive

    def state(self) -> dict[str, Any]:
        """The bins in use and their weights; whole numbers as such, others in hexadecimal."""
        bins, counted = self._used
        weights = [int(w) if w.is_integer() and w < 2**53 else w.hex() for w in counted.tolist()]
        return {"ranking": {"bins": bins.tolist(), "weights": weights}}

    def restore(self, state: dict[str, Any], by_label: bool = False) -> float:
        """Restore a state; returns its total weight.

        Raises ValueError, KeyError or TypeError if the state is invalid.
        """
        bins, weights = state["ranking"]["bins"], state["ranking"]["weights"]
        if not set(map(type, bins)) <= {int} or (bins and not 0 <= min(bins) <= max(bins) < 2 << self.BITS):
            raise ValueError("bins of the ranking that do not exist")
        values = np.array([float(one) if type(one) is int else float.fromhex(one) for one in weights], np.float64)
        if len(values) != len(bins) or not (values > 0).all():
            raise ValueError("weights in the ranking that are not positive")
        numbers = np.array(bins, dtype=np.intp)
        if not (np.diff(numbers) > 0).all():
            raise ValueError("bins of the ranking that are not in order")
        self._kept, self._counts = (numbers, values), None
        return float(values.sum())
