"""Mean, variance and histogram of numeric labels: running sums in constant memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64


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


class LabelSums:
    """Weighted sums of labels and of their squares, both counted from the first label.

    The first label is itself one of the labels whose variance is computed. So however far it lies from the others, the
    rounding error grows by a factor of n at most.
    """

    def __init__(self) -> None:
        self.origin = 0.0
        self.weight = 0.0
        self._first = self._second = 0.0

    def add(self, labels: Float64, weight: Float64 | None) -> None:
        """Count labels, in order; without a weight each counts 1, and no weight may be 0."""
        if not len(labels):
            return
        if not self.weight:
            self.origin = float(labels[0])
        with np.errstate(over="ignore", invalid="ignore"):
            offset = labels - self.origin
            self._first = added(self._first, offset, weight)
            self._second = added(self._second, offset * offset, weight)
        self.weight = added(self.weight, weight, None, len(labels))

    def absorb(self, other: LabelSums) -> None:
        """Add the sums of another `LabelSums`."""
        if not other.weight:
            return
        if not self.weight:
            self.origin, self.weight = other.origin, other.weight
            self._first, self._second = other._first, other._second
            return
        shift = other.mean - self.origin
        self._second += (other.variance + shift * shift) * other.weight  # this sum cannot become negative
        self._first += other._first + (other.origin - self.origin) * other.weight
        self.weight += other.weight

    @property
    def mean(self) -> float:
        """The mean label; NaN before the first label."""
        return self.origin + self._first / self.weight if self.weight else math.nan

    @property
    def variance(self) -> float:
        """The mean squared distance from the mean."""
        if not self.weight:
            return math.nan
        first, second = self._first / self.weight, self._second / self.weight
        return max(0.0, second - first * first)

    def state(self) -> dict[str, Any]:
        """The sums as text, with every float in hexadecimal."""
        numbers = {"origin": self.origin, "weight": self.weight, "first": self._first, "second": self._second}
        return {name: number.hex() for name, number in numbers.items()}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> LabelSums:
        """Rebuild sums from their state; raises ValueError, KeyError or TypeError if the state is invalid."""
        sums = cls()
        sums.origin, sums.weight, sums._first, sums._second = (
            float.fromhex(state[name]) for name in ("origin", "weight", "first", "second")
        )
        if not (math.isfinite(sums.origin) and 0 <= sums.weight < math.inf and sums._second >= 0):
            raise ValueError("sums of labels that cannot be")
        return sums


class Histogram:
    """A histogram of numbers: the weight in each range, and the weighted sum of the numbers there.

    Each range is as wide as 1/256 of the numbers in it. Only ranges in use take memory; there are at most a million.
    """

    BITS = 20

    def __init__(self) -> None:
        self._ranges: NDArray[np.int64] = np.zeros(0, np.int64)  # ascending, in the order of the numbers
        self._weights: Float64 = np.zeros(0)
        self._sums: Float64 = np.zeros(0)

    def add(self, values: Float64, weight: Float64 | None) -> None:
        """Count numbers, in order; without a weight each counts 1."""
        if not len(values):
            return
        ranges = self.ranges_of(values)
        new = np.setdiff1d(ranges, self._ranges)
        if len(new):
            at = np.searchsorted(self._ranges, new)
            self._ranges = np.insert(self._ranges, at, new)
            self._weights, self._sums = (np.insert(array, at, 0.0) for array in (self._weights, self._sums))
        places = np.searchsorted(self._ranges, ranges)
        with np.errstate(over="ignore", invalid="ignore"):
            # adds one value after another, as a loop would
            np.add.at(self._weights, places, 1.0 if weight is None else weight)
            np.add.at(self._sums, places, values if weight is None else values * weight)

    @classmethod
    def ranges_of(cls, values: Float64) -> NDArray[np.int64]:
        """The number of each value's range: its leading bits (sign, exponent, eight of fraction), in order."""
        bits = (np.ascontiguousarray(values) + 0.0).view(np.int64)  # adding 0 turns -0 into 0
        magnitude = (bits & np.int64(0x7FFF_FFFF_FFFF_FFFF)) >> np.int64(64 - cls.BITS)
        return np.where(bits < 0, -1 - magnitude, magnitude)

    @property
    def weights(self) -> Float64:
        """The weight in each range in use, ascending."""
        return self._weights

    @property
    def means(self) -> Float64:
        """The mean of the numbers in each range."""
        return np.asarray(self._sums / self._weights)

    def quantile(self, share: float) -> float:
        """The weighted quantile, to the precision of one range."""
        if not len(self._ranges):
            return math.nan
        below = np.cumsum(self._weights)
        return float(self.means[min(len(below) - 1, int(np.searchsorted(below, share * below[-1])))])

    def state(self) -> dict[str, Any]:
        """The histogram as numbers and text, with every float in hexadecimal."""
        hexadecimal = ([number.hex() for number in array.tolist()] for array in (self._weights, self._sums))
        return dict(zip(("ranges", "weights", "sums"), (self._ranges.tolist(), *hexadecimal), strict=True))

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Histogram:
        """Rebuild a histogram from its state; raises ValueError, KeyError or TypeError if the state is invalid."""
        histogram = cls()
        ranges = state["ranges"]
        most = 1 << (cls.BITS - 1)
        if not all(type(one) is int and -most <= one < most for one in ranges):
            raise ValueError("ranges that do not exist")
        histogram._ranges = np.array(ranges, dtype=np.int64)
        weights, sums = ([float.fromhex(one) for one in state[name]] for name in ("weights", "sums"))
        histogram._weights, histogram._sums = np.array(weights, float), np.array(sums, float)
        if not len(weights) == len(sums) == len(ranges) or not (np.diff(histogram._ranges) > 0).all():
            raise ValueError("ranges that do not fit their weights")
        if not (histogram._weights > 0).all():
            raise ValueError("weights of ranges that are not positive")
        return histogram
