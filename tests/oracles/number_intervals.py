"""Prediction intervals of numbers, in plain Python: the oracle of core/calibration/number_intervals.hpp.

The interval of a prediction p is p ± q s(p): s(p) is the mean |error| of the predictions around p, and q a quantile of
|error|/s, which follows the rows as `PlainErrorQuantiles` does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from .error_quantiles import PlainErrorQuantiles

MEMORY = 1000  # rows that count, at most
FULL = 100  # the weight at which a bin is split, and of two neighbors that are not merged
FARTHEST = 200  # an error is at most so many times the scale


@dataclass(eq=False)
class Bin:
    """The rows of similar predictions: their weight, their mean prediction and their mean |error|."""

    weight: float
    prediction: float
    error: float

    def move(self, prediction: float, error: float, share: float) -> None:
        self.prediction += share * (prediction - self.prediction)
        self.error += share * (error - self.error)


class PlainErrorScale:
    """The mean |error| as a function of the prediction.

    Example:
        >>> scale = PlainErrorScale()
        >>> for k in range(1000):
        ...     scale.add(k % 100, 2.0 * (k % 100))
        >>> 50 < scale.at(30) < 70
        True
    """

    def __init__(self) -> None:
        self.rows = 0
        self.bins: list[Bin] = []

    def at(self, p: float) -> float:
        below = sum(b.prediction < p for b in self.bins)
        if below in (0, len(self.bins)):
            return self.bins[0 if below == 0 else -1].error
        left, right = self.bins[below - 1 : below + 1]
        return left.error + (p - left.prediction) / (right.prediction - left.prediction) * (right.error - left.error)

    def counted(self, p: float, error: float) -> float:
        if self.rows < FULL or self.at(p) == 0 or not math.isfinite(error):
            return error
        return min(error, FARTHEST * self.at(p))

    def add(self, p: float, error: float) -> None:
        if not (math.isfinite(p) and math.isfinite(error)):
            return
        self.rows += 1
        for b in self.bins:
            b.weight *= 1 - 1 / min(MEMORY, 1 + self.rows)
        if not self.bins:
            self.bins = [Bin(0.0, p, error)]
        below = sum(b.prediction < p for b in self.bins)
        lighter = min(self.bins[max(0, below - 1) : below + 1], key=lambda b: b.weight)
        split = lighter.weight >= FULL
        if split:
            lighter.weight /= 2
            lighter = Bin(lighter.weight, p, self.at(p))
            self.bins.insert(below, lighter)
        lighter.weight += 1
        lighter.prediction += (p - lighter.prediction) / lighter.weight
        lighter.error += (error - lighter.error) / lighter.weight
        if split:
            self._merge()

    def _merge(self) -> None:
        """Merge the lightest two neighbors while they weigh too little."""
        while len(self.bins) > 1:
            pairs = list(zip(self.bins, self.bins[1:], strict=False))
            left, right = min(pairs, key=lambda pair: pair[0].weight + pair[1].weight)
            weight = left.weight + right.weight
            if weight >= FULL:
                return
            left.move(right.prediction, right.error, right.weight / weight)
            left.weight = weight
            self.bins.remove(right)


class PlainNumberIntervals:
    """Intervals that follow a stream of predictions and labels."""

    def __init__(self) -> None:
        self.scale, self.quantiles = PlainErrorScale(), PlainErrorQuantiles()
        self.negative = self.positive = False  # whether there was such a label

    def follow(self, rows: Iterable[tuple[float, float, float]]) -> None:
        """Rows in order: prediction, label, weight."""
        for p, label, weight in rows:
            if not weight > 0:
                continue
            error = self.scale.counted(p, abs(p - label))
            scale = self.scale.at(p) if self.scale.bins else error
            scaled = 0.0 if error == 0 else error / scale if scale > 0 else math.inf
            self.quantiles.follow([scaled], [weight])
            self.scale.add(p, error)
            self.negative, self.positive = self.negative or label < 0, self.positive or label > 0

    def around(self, p: float, level: float, steady: bool = False) -> tuple[float, float]:
        """The interval of a prediction; infinite while there are too few rows."""
        reach = self.quantiles.reach(level, steady)
        if math.isinf(reach):
            return -math.inf, math.inf
        width = reach * self.scale.at(p)
        return p - width if self.negative else max(0.0, p - width), p + width if self.positive else min(0.0, p + width)
