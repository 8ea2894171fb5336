"""The errors of predictions that were made before their rows were learned, one row at a time.

Each row costs no more than to be written down. The core takes them in some at a time, or when somebody asks.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from .. import _core
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.prediction_errors import follow_errors

MOST_WAITING = 1024


class ErrorsOnTheWay:
    """Rows whose errors a model has not been told of yet."""

    def __init__(self) -> None:
        self.of_scores = _core.WaitingErrors()  # of a model that gives one score; the core adds rows by itself
        self._of_classes: list[tuple[Any, int, float]] = []  # scores, the number of the class, weight

    def add(self, model: Learner | OneVsAll, scores: Any, truth: Any, weight: float) -> None:
        """A row, with the scores that were made before it was learned."""
        if isinstance(model, OneVsAll):
            self._of_classes.append((scores, truth, weight))
            if len(self._of_classes) >= MOST_WAITING:
                self.tell(model)
        elif self.of_scores.add(float(scores), float(truth), float(weight)):
            self.tell(model)

    def tell(self, model: Learner | OneVsAll) -> None:
        """Let the model know of all rows so far."""
        if isinstance(model, OneVsAll):
            waiting, self._of_classes = self._of_classes, []
            # Classes may have joined between two rows: then these have scores of different lengths.
            for _, rows in groupby(waiting, lambda row: len(row[0])):
                scores, truth, weight = zip(*rows, strict=True)
                follow_errors(
                    model, np.array(scores, np.float64), np.array(truth, np.intp), np.array(weight, np.float64)
                )
        elif len(self.of_scores):
            follow_errors(model, *self.of_scores.take())

    def __getstate__(self) -> dict[str, Any]:
        return {"of_scores": self.of_scores.rows(), "of_classes": self._of_classes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.of_scores = _core.WaitingErrors()
        for row in zip(*state["of_scores"], strict=True):
            self.of_scores.add(*row)
        self._of_classes = state["of_classes"]
