"""Scales that fall, in plain NumPy: the oracle of `core/encoding/window.hpp`.

A scale is the largest value so far, so that a column whose unit becomes larger (millimeters, now meters) would keep the
scale of the old unit forever. Every 4,000 examples, the values of these examples are examined. If there are at least
1,000 of them, not all equal, and the largest distance from their mean is below a thirtieth of the scale, then that
distance is the scale from then on, and their mean the column's mean. The learned state is unchanged: v = w·s and H =
G/s² are kept.

A scale that comes from an outlier, or from a slow drift, is always far larger than the values around it. So a scale can
fall only if it was proven: in some window, the root mean square of the first 128 values' distances from their mean was
an eighth of it or more. One that has grown more than sixteenfold since then falls only if the mean of the values has
moved from the column's mean by a sixteenth of the scale or more.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from unitless.paper import algorithms as reference

Float64 = NDArray[np.float64]

LENGTH, PROOF, SPREAD, ENOUGH, FALL, GROWN = 4000, 128, 8, 1000, 30, 16


class Windows:
    """The values of centered columns since the last multiple of 4,000 examples, NaN where a value is missing."""

    def __init__(self) -> None:
        self.rows: list[tuple[Float64, float]] = []
        self.scales: Float64 = np.zeros(0)  # when the window began
        self.proven: dict[int, float] = {}

    def add(self, values: Float64, h: float) -> None:
        """Add the values of a row that is learned."""
        self.rows.append((values, h))

    def end(self, scales: Float64, means: Float64) -> dict[int, tuple[float, float, float, float]]:
        """For each column whose scale falls: its mean, its weight, the largest deviation and the root mean square.

        Settled: a column takes part only if the values are also closer together than its scale at the beginning of the
        window allows, and the first 1,000 of them vary, so that most columns need not be examined to the end of the
        window.
        """
        found = {}
        for j, scale in enumerate(self.scales):
            there = [(x[j], h) for x, h in self.rows if j < len(x) and not np.isnan(x[j])]
            if len(there) < PROOF or not scale > 0:
                continue
            x, weight = np.array(there).T
            if SPREAD * _moments(x[:PROOF], weight[:PROOF])[1] >= scale:
                self.proven[j] = float(scale)
                continue
            (mean, root), proven = _moments(x, weight), self.proven.get(j, 0.0)
            largest, enough = float(np.abs(x - mean).max()), len(x) >= ENOUGH and np.ptp(x[:ENOUGH]) > 0
            near = FALL / 2 * np.ptp(x) < min(scale, proven) and FALL * largest < min(scales[j], proven)
            if enough and near and scales[j] <= GROWN * max(proven, abs(mean - means[j])):
                found[j] = mean, float(weight.sum()), largest, root
        return found

    def begin(self, scales: Float64, fallen: Iterable[int]) -> None:
        """Start a new window with these scales; those that have just fallen are proven."""
        self.proven |= {j: float(scales[j]) for j in fallen}
        self.rows, self.scales = [], scales.copy()


def _moments(x: Float64, weight: Float64) -> tuple[float, float]:
    """The mean, and the root mean square of the distances from it."""
    mean = float(np.average(x, weights=weight))
    return mean, float(np.sqrt(np.average((x - mean) ** 2, weights=weight)))


def lower(algorithm: reference.Algorithm, i: int, largest: float, root_mean_square: float) -> float:
    """Give feature i a smaller scale and keep v and H; return the factor by which its unit changed."""
    before = float(algorithm.unit()[i])
    squares = isinstance(algorithm, reference.SNAG)
    algorithm.s = algorithm.s.copy()
    algorithm.s[i] = root_mean_square**2 * algorithm.t if squares else largest
    ratio = float(algorithm.unit()[i]) / before
    algorithm.w, algorithm.G = algorithm.w.copy(), algorithm.G.copy()
    algorithm.w[i] /= ratio
    algorithm.G[i] *= ratio**2
    return ratio


class Centered:
    """An algorithm over a bias and centered columns, with falling scales."""

    def __init__(self, algorithm: reference.Algorithm, average: reference.Average | None = None) -> None:
        self.algorithm, self.average, self.windows = algorithm, average, Windows()
        self.means: Float64 = np.zeros(0)
        self.masses: Float64 = np.zeros(0)
        self.examples = 0

    def learn_one(self, values: Float64, y: float, h: float = 1.0) -> float:
        """Predict a row, then learn it. A NaN value is missing."""
        if not len(self.means):
            self.means, self.masses = np.zeros(len(values)), np.zeros(len(values))
        there = ~np.isnan(values)
        distance = np.where(there, values - self.means, 0.0)
        x = np.append(1.0, distance - distance / (self.masses + 1))
        p = (self.average or self.algorithm).learn_one(x, y, h)
        if h > 0:
            self.masses = self.masses + np.where(there, h, 0.0)
            self.means = self.means + distance * h / np.where(self.masses > 0, self.masses, 1.0)
            self.windows.add(values, h)
            self.examples += 1
            if self.examples % LENGTH == 0:
                self._end_window()
        return p

    def _end_window(self) -> None:
        falling = self.windows.end(self.algorithm.unit()[1:], self.means)
        for j, (mean, weight, *deviations) in falling.items():
            ratio = lower(self.algorithm, 1 + j, *deviations)
            if self.average is not None:
                self.average.change_unit(1 + j, ratio)
            self.means[j], self.masses[j] = mean, weight
        self.windows.begin(self.algorithm.unit()[1:], falling)
