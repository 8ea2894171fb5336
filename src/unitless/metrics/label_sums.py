"""Mean, variance and histogram of numeric labels: running sums in constant memory."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from .states import Stored


def running(start: float | Float64, values: NDArray[Any] | None, weight: Float64 | None, rows: int = 0) -> Float64:
    """The running sums start, start + first value, and so on; without values each row adds 1.

    A cumulative sum adds in order, unlike `np.sum`, so the result does not depend on where one array ends.

    Args:
        start: a number, or one for each row of a matrix of values.
        values: numbers, or truth values, which count 1 or 0.
        weight: what each value is multiplied by. None: 1.
        rows: how many ones, if there are no values.
    """
    first = np.asarray(start, np.float64)[..., None]
    values = np.ones(rows, np.bool_) if values is None else values
    sums = np.empty((*values.shape[:-1], values.shape[-1] + 1))
    if weight is None and _counts_exactly(first, values):
        sums[..., 0] = 0.0
        sums[..., 1:] = np.cumsum(values, axis=-1, dtype=np.int64)
        sums += first
        return sums
    sums[..., :1] = first
    sums[..., 1:] = values
    if weight is not None:
        sums[..., 1:] *= weight
    return np.cumsum(sums, axis=-1, out=sums)


def added(start: float, values: NDArray[Any] | None, weight: Float64 | None, rows: int = 0) -> float:
    """The last of the `running` sums, for one row of values."""
    values = np.ones(rows, np.bool_) if values is None else values
    if weight is None and _counts_exactly(start, values):
        return start + int(np.count_nonzero(values))
    return float(running(start, values, weight)[-1])


def _counts_exactly(start: float | Float64, values: NDArray[Any]) -> bool:
    """Whether whole numbers are added that float64 represents exactly.

    Then the order does not matter and counting is faster.
    """
    limit = 2**53 - values.shape[-1]
    return bool(values.dtype == np.bool_ and np.all(np.less(start, limit) & (np.floor(start) == start)))


class LabelSums(Stored):
    """Weighted sums of labels and of their squares, both counted from the first label.

    The first label is itself one of the labels whose variance is computed. So however far it lies from the others, the
    rounding error grows by a factor of n at most.
    """

    STORED: ClassVar = ("origin", "weight", "first", "second")

    def __init__(self) -> None:
        self.origin = self.weight = 0.0
        self.first = self.second = 0.0

    def add(self, labels: Float64, weight: Float64 | None) -> None:
        """Count labels, in order; without a weight each counts 1, and no weight may be 0."""
        if not len(labels):
            return
        if not self.weight:
            self.origin = float(labels[0])
        with np.errstate(over="ignore", invalid="ignore"):
            offset = labels - self.origin
            self.first = added(self.first, offset, weight)
            self.second = added(self.second, offset * offset, weight)
        self.weight = added(self.weight, weight, None, len(labels))

    def absorb(self, other: LabelSums) -> None:
        """Add the sums of another `LabelSums`."""
        if not other.weight:
            return
        if not self.weight:
            self.origin, self.weight = other.origin, other.weight
            self.first, self.second = other.first, other.second
            return
        shift = other.mean - self.origin
        self.second += (other.variance + shift * shift) * other.weight  # this sum cannot become negative
        self.first += other.first + (other.origin - self.origin) * other.weight
        self.weight += other.weight

    @property
    def mean(self) -> float:
        """The mean label; NaN before the first label."""
        return self.origin + self.first / self.weight if self.weight else math.nan

    @property
    def variance(self) -> float:
        """The mean squared distance from the mean."""
        if not self.weight:
            return math.nan
        first, second = self.first / self.weight, self.second / self.weight
        return max(0.0, second - first * first)

    def _check(self) -> None:
        if not (math.isfinite(self.origin) and 0 <= self.weight < math.inf and self.second >= 0):
            raise ValueError("sums of labels that cannot be")


class Histogram(Stored):
    """A histogram of numbers: the weight in each range, and the weighted sum of the numbers there.

    Each range is as wide as 1/256 of the numbers in it. Only ranges in use take memory; there are at most a million.
    """

    BITS = 20
    STORED: ClassVar = ("ranges", "weights", "sums")

    def __init__(self) -> None:
        self.ranges: NDArray[np.int64] = np.zeros(0, np.int64)  # those in use, ascending, in the order of the numbers
        self.weights: Float64 = np.zeros(0)
        self.sums: Float64 = np.zeros(0)

    def add(self, values: Float64, weight: Float64 | None) -> None:
        """Count numbers, in order; without a weight each counts 1."""
        if not len(values):
            return
        ranges = self.ranges_of(values)
        new = np.setdiff1d(ranges, self.ranges)
        if len(new):
            at = np.searchsorted(self.ranges, new)
            self.ranges = np.insert(self.ranges, at, new)
            self.weights, self.sums = (np.insert(array, at, 0.0) for array in (self.weights, self.sums))
        places = np.searchsorted(self.ranges, ranges)
        with np.errstate(over="ignore", invalid="ignore"):
            # adds one value after another, as a loop would
            np.add.at(self.weights, places, 1.0 if weight is None else weight)
            np.add.at(self.sums, places, values if weight is None else values * weight)

    @classmethod
    def ranges_of(cls, values: Float64) -> NDArray[np.int64]:
        """The number of each value's range: its leading bits (sign, exponent, eight of fraction), in order."""
        bits = (np.ascontiguousarray(values) + 0.0).view(np.int64)  # adding 0 turns -0 into 0
        magnitude = (bits & np.int64(0x7FFF_FFFF_FFFF_FFFF)) >> np.int64(64 - cls.BITS)
        return np.where(bits < 0, -1 - magnitude, magnitude)

    @property
    def means(self) -> Float64:
        """The mean of the numbers in each range."""
        return np.asarray(self.sums / self.weights)

    def quantile(self, share: float) -> float:
        """The weighted quantile, to the precision of one range."""
        if not len(self.ranges):
            return math.nan
        below = np.cumsum(self.weights)
        return float(self.means[min(len(below) - 1, int(np.searchsorted(below, share * below[-1])))])

    def _check(self) -> None:
        most = 1 << (self.BITS - 1)
        if not ((-most <= self.ranges) & (self.ranges < most)).all() or not (np.diff(self.ranges) > 0).all():
            raise ValueError("ranges that do not exist, or are not in order")
        if not len(self.weights) == len(self.sums) == len(self.ranges) or not (self.weights > 0).all():
            raise ValueError("weights of ranges that are not positive, or do not fit the ranges")
