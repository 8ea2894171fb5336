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


class ErrorsOnTheWay:
    """Rows whose errors a model has not been told of yet."""

    def __init__(self) -> None:
        self.waiting = _core.WaitingErrors()  # the core adds rows by itself

    def add(self, model: Learner | OneVsAll, scores: Any, truth: Any, weight: float) -> None:
        """A row, with the scores that were made before it was learned."""
        if self.waiting.add(scores, float(truth), float(weight)):
            self.tell(model)

    def tell(self, model: Learner | OneVsAll) -> None:
        """Let the model know of all rows so far."""
        if not len(self.waiting):
            return
        scores, truth, weight, widths = self.waiting.take()
        if not isinstance(model, OneVsAll):
            follow_errors(model, scores, truth, weight)
            return
        row = at = 0
        for width, rows in groupby(widths.astype(int).tolist()):  # classes may have joined between two rows
            end = row + len(list(rows))
            upto = at + width * (end - row)
            follow_errors(model, scores[at:upto].reshape(-1, width), truth[row:end].astype(np.intp), weight[row:end])
            row, at = end, upto

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.waiting.rows()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.waiting = _core.WaitingErrors()
        scores, *others = state["rows"]
        at = 0
        for truth, weight, width in zip(*(column.tolist() for column in others), strict=True):
            self.waiting.add(scores[at : at + int(width)], truth, weight)
            at += int(width)
