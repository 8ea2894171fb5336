"""The diagonal of a matrix that grows by outer products."""

from __future__ import annotations

import numpy as np

from ...inputs import Float64


class Precisions:
    """The diagonal entries A_i for each lane and feature; `InverseFactor` is the version for the whole matrix.

    Args:
        precision: the initial value of A, for each lane.
        columns: the number of features.
        scaled: if True, A_i begins with precision·x_i², where x_i is feature i's first non-zero value.
    """

    def __init__(self, precision: Float64, columns: int, scaled: bool) -> None:
        self.A: Float64 = np.repeat(precision[:, None], columns, axis=1)
        self._unseen = np.full(columns, scaled)

    def meet(self, x: Float64) -> None:
        """Record the scale of features that are non-zero for the first time."""
        self.A = self.seeing(x)
        self._unseen &= x == 0

    def seeing(self, x: Float64) -> Float64:
        """The diagonal of A after adding x."""
        new = self._unseen & (x != 0)
        return np.where(new, self.A * x**2, self.A) if new.any() else self.A
