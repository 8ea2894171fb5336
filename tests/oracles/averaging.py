"""Averaged weights in plain NumPy: the oracle of `average`, which is not in the paper."""

from __future__ import annotations

import numpy as np

from unitless.inputs import Float64
from unitless.paper.algorithms import Algorithm


class Average:
    """The average of an algorithm's weights, in which the weights at time t count t times.

    The average is updated at certain numbers of examples, a sixty-fourth of them apart, or a sixteenth of the number of
    features (`slots`, if there are more): the weights then stand for the time since the previous update. If a feature's
    scale has grown more than sixteenfold in between, its unit has changed: then the average of v = w·s is kept, as the
    algorithm keeps its weights.
    """

    def __init__(self, algorithm: Algorithm, slots: int = 0) -> None:
        self.algorithm, self.slots = algorithm, slots
        self.examples, self.look, self.t = 0, max(1, slots // 16), 0.0
        self._w: Float64 = np.zeros(0)
        self._unit: Float64 = np.zeros(0)

    def learn_one(self, x: Float64, y: float, h: float = 1.0, offset: float = 0.0) -> float:
        """One timestep of the algorithm, and an update of the average if it is due."""
        p = self.algorithm.learn_one(x, y, h, offset)
        self.examples += h > 0
        if self.examples == self.look:
            before, part = self.w, 1 - (self.t / self.algorithm.t) ** 2
            self._w, self._unit = before + part * (self.algorithm.w - before), self.algorithm.unit()
            features = max(int(np.count_nonzero(self.algorithm.s)), self.slots)
            self.t, self.look = self.algorithm.t, self.look + max(1, self.look // 64, features // 16)
        return p

    @property
    def w(self) -> Float64:
        """The averaged weights; before the first update, the algorithm's own weights."""
        if self.t == 0:
            return self.algorithm.w
        now, before = self.algorithm.unit(), self._unit
        return np.where(now <= 16 * before, self._w, np.divide(self._w * before, now, out=now * 0, where=now > 0))

    def change_unit(self, i: int, ratio: float) -> None:
        """Multiply the unit of feature i by a ratio; v = w·s of the average is kept."""
        if self.t > 0:
            self._w, self._unit = self._w.copy(), self._unit.copy()
            self._w[i] /= ratio
            self._unit[i] *= ratio

    def predict_one(self, x: Float64, offset: float = 0.0) -> float:
        """ŷ of the averaged weights."""
        own = self.algorithm.w
        self.algorithm.w = self.w
        p = self.algorithm.learn_one(x, 0.0, 0.0, offset)
        self.algorithm.w = own
        return p
