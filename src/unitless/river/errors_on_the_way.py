"""The errors of predictions that were made before their rows were learned, one row at a time.

Each row costs no more than an entry in a list. The core takes them in some at a time, or when somebody asks.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.prediction_errors import follow_errors

MOST_WAITING = 1024


class ErrorsOnTheWay:
    """Rows whose errors a model has not been told of yet."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Any, Any, float]] = []  # scores; label, or the number of a class; weight

    def add(self, model: Learner | OneVsAll, scores: Any, truth: Any, weight: float) -> None:
        """A row, with the scores that were made before it was learned."""
        self._waiting.append((scores, truth, weight))
        if len(self._waiting) >= MOST_WAITING:
            self.tell(model)

    def tell(self, model: Learner | OneVsAll) -> None:
        """Let the model know of all rows so far."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        several = isinstance(model, OneVsAll)
        # Classes may have joined between two rows: then these have scores of different lengths.
        for _, rows in groupby(waiting, lambda row: len(row[0])) if several else [(0, waiting)]:
            scores, truth, weight = zip(*rows, strict=True)
            numbers = np.array(truth, np.intp if several else np.float64)
            follow_errors(model, np.array(scores, np.float64), numbers, np.array(weight, np.float64))
