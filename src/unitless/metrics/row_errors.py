"""How far predictions are off, row by row: for rows that are few enough to be remembered."""

from __future__ import annotations

import numpy as np

from ..inputs import Float64
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored


class RowErrors:
    """Of classes whether a prediction is wrong (1) or right (0); of numbers, and of two classes, by how much.

    Args:
        model: whose predictions they are.
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._model = model
        self._parts: list[Float64] = []

    def count(self, scored: Scored) -> None:
        """Remember rows, in their order."""
        if self._model.task == "classes":
            self._parts.append((scored.scores.argmax(axis=1) != scored.truth).astype(np.float64))
        else:
            self._parts.append(self._model._link(scored.scores[:, 0]) - scored.truth)

    @property
    def errors(self) -> Float64:
        """One per row, in the order of the rows."""
        return np.concatenate(self._parts) if self._parts else np.zeros(0)
