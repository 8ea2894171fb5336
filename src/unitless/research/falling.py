"""Scales that fall, in plain NumPy: the oracle of `core/preparation/window.hpp`.

A scale is the largest value so far, so that a column whose unit becomes larger (millimetres, now metres) would keep the
scale of the old unit for ever. Every 4,000 examples the values of these examples are looked at. If there are at least
1,000 of them, not all equal, and the largest distance from their mean is below a thirtieth of the scale, then that
distance is the scale from then on, and their mean the column's mean. What was learned stays learned: v = w·s and
H = G/s² are kept.
"""

from __future__ import annotations

import numpy as np

from ..inputs import Float64
from . import reference

LENGTH, ENOUGH, FALL = 4000, 1000, 30


class Windows:
    """The values of centred columns since the last multiple of 4,000 examples, nan where one is missing."""

    def __init__(self) -> None:
        self.rows: list[tuple[Float64, float]] = []
        self.scales: Float64 = np.zeros(0)  # when the window began

    def add(self, values: Float64, h: float) -> None:
        """Values of a row that is learned."""
        self.rows.append((values, h))

    def end(self, scales: Float64) -> dict[int, tuple[float, float, float, float]]:
        """By column whose scale falls: its mean, its weight, the largest deviation and the root mean square.

        Settled: a column takes part only if the values are also closer together than its scale at the beginning of the
        window allows, so that most columns need not be watched to the end.
        """
        found = {}
        for j, scale in enumerate(self.scales):
            there = [(x[j], h) for x, h in self.rows if j < len(x) and not np.isnan(x[j])]
            if len(there) < ENOUGH or not scale > 0:
                continue
            x, weight = np.array(there).T
            mean = float(np.average(x, weights=weight))
            largest = float(np.abs(x - mean).max())
            if 0 < FALL * largest < scales[j] and FALL / 2 * np.ptp(x) < scale:
                square = float(np.average((x - mean) ** 2, weights=weight))
                found[j] = mean, float(weight.sum()), largest, square**0.5
        return found

    def begin(self, scales: Float64) -> None:
        """A new window, at these scales."""
        self.rows, self.scales = [], scales.copy()


def lower(algorithm: reference.Algorithm, i: int, largest: float, root_mean_square: float) -> float:
    """Give feature i a smaller scale, keeping v and H; gives what its unit has been multiplied by."""
    before = float(algorithm.unit()[i])
    squares = isinstance(algorithm, reference.SNAG)
    algorithm.s = algorithm.s.copy()
    algorithm.s[i] = root_mean_square**2 * algorithm.t if squares else largest
    ratio = float(algorithm.unit()[i]) / before
    algorithm.w, algorithm.G = algorithm.w.copy(), algorithm.G.copy()
    algorithm.w[i] /= ratio
    algorithm.G[i] *= ratio**2
    return ratio


class Centred:
    """An algorithm over a bias and columns less their running means, with scales that fall."""

    def __init__(self, algorithm: reference.Algorithm, average: reference.Average | None = None) -> None:
        self.algorithm, self.average, self.windows = algorithm, average, Windows()
        self.means: Float64 = np.zeros(0)
        self.masses: Float64 = np.zeros(0)
        self.examples = 0

    def learn_one(self, values: Float64, y: float, h: float = 1.0) -> float:
        """The prediction for a row, made before it is learned. A value that is nan is missing."""
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
        for j, (mean, weight, *deviations) in self.windows.end(self.algorithm.unit()[1:]).items():
            ratio = lower(self.algorithm, 1 + j, *deviations)
            if self.average is not None:
                self.average.change_unit(1 + j, ratio)
            self.means[j], self.masses[j] = mean, weight
        self.windows.begin(self.algorithm.unit()[1:])
