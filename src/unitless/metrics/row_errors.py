"""How far predictions are off, row by row: for rows that are few enough to be remembered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll


class RowErrors:
    """Of classes whether a prediction is wrong (1) or right (0); of numbers, and of two classes, by how much.

    Args:
        model: whose predictions they are.
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._model = model
        self._parts: list[Float64] = []

    def add(self, scores: Float64, truth: NDArray[np.float64], weight: Float64 | None) -> None:
        """Scores, as `predict` gives them, and labels."""
        self._parts.append(self._model._link(scores) - truth)

    def add_numbered(self, scores: Float64, numbers: NDArray[np.intp], weight: Float64 | None) -> None:
        """The same for classes by number."""
        self._parts.append((scores.argmax(axis=1) != numbers).astype(np.float64))

    @property
    def errors(self) -> Float64:
        """One per row, in the order of the rows."""
        return np.concatenate(self._parts) if self._parts else np.zeros(0)
