"""The diagonal of a matrix that grows by outer products."""

from __future__ import annotations

import numpy as np

from ...inputs import Float64


class Precisions:
    """A_i for each lane and feature: what `InverseFactor` is for the whole matrix.

    Args:
        precision: what A begins with, for each lane.
        columns: the number of features.
        scaled: if so, A_i begins with precision·x_i², where x_i is feature i's first non-zero value.
    """

    def __init__(self, precision: Float64, columns: int, scaled: bool) -> None:
        self.A: Float64 = np.repeat(precision[:, None], columns, axis=1)
        self._unseen = np.full(columns, scaled)

    def meet(self, x: Float64) -> None:
        """Note the scale of features that are there for the first time."""
        self.A = self.seeing(x)
        self._unseen &= x == 0

    def seeing(self, x: Float64) -> Float64:
        """A as it is once x has been met."""
        new = self._unseen & (x != 0)
        return np.where(new, self.A * x**2, self.A) if new.any() else self.A
