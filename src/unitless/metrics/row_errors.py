"""The error of each row's prediction, for sets of rows that fit into memory."""

from __future__ import annotations

import numpy as np

from ..inputs import Float64
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored


class RowErrors:
    """The errors of rows: for several classes 1 if wrong and 0 if right; for numbers and two classes the row's error.

    Args:
        model: the model that makes the predictions.
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._model = model
        self._parts: list[Float64] = []

    def count(self, scored: Scored) -> None:
        """Append rows, in their order."""
        if self._model.task == "classes":
            self._parts.append((scored.scores.argmax(axis=1) != scored.truth).astype(np.float64))
        else:
            self._parts.append(self._model._link(scored.scores[:, 0]) - scored.truth)

    @property
    def errors(self) -> Float64:
        """One error per row, in the order of the rows."""
        return np.concatenate(self._parts) if self._parts else np.zeros(0)
