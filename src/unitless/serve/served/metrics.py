"""Metrics of predictions that were served. Rows are added one at a time and counted in batches, which is faster."""

from __future__ import annotations

from typing import Any

from ...metrics.evaluation import Evaluation
from ...models.learner import Learner
from ...models.one_vs_all import OneVsAll
from ...training.pending_rows import PendingRows


class ServedMetrics:
    """An evaluation to which single rows can be added.

    Args:
        model: the model that made the predictions.
        evaluation: the evaluation to continue. Default: a new one.
    """

    def __init__(self, model: Learner | OneVsAll, evaluation: Evaluation | None = None) -> None:
        self._model, self._evaluation = model, evaluation or Evaluation(model)
        self._pending = PendingRows()

    def add(self, score: Any, truth: float, weight: float) -> None:
        """Add the score of a row and its label, as a number or as the index of its class."""
        if self._pending.add(score, truth, weight):
            self._count()

    def _count(self) -> None:
        for scored in self._pending.take(self._model):
            self._evaluation.count(scored)

    @property
    def evaluation(self) -> Evaluation:
        """The metrics of all rows so far."""
        self._count()
        return self._evaluation
