"""How good a model's predictions were, counted some at a time: a row costs no more than an entry in a list."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from ...inputs import Float64
from ...metrics.coverage import Coverage
from ...metrics.evaluation import Evaluation
from ...metrics.stream_baselines import StreamBaselines
from ...models.error_quantiles import ErrorQuantiles
from ...models.learner import Learner
from ...models.one_vs_all import OneVsAll
from ...models.prediction_errors import has_errors
from ...options import USUAL_LEVEL

MAX_PENDING = 1024  # rows: more of them at a time cost less each
_FEW = 32  # rows that are kept until there are more


class Scores:
    """An evaluation that is brought up to date some rows at a time. However they are cut, the numbers are the same.

    Args:
        model: whose predictions they are.
        follows: whether the predictions were made before their rows were learned: then intervals and trivial answers
            are counted too.
        small: for a few rows: take little time and memory to begin with. It has no `state`.
    """

    def __init__(self, model: Learner | OneVsAll, *, follows: bool, small: bool = False) -> None:
        self._model, self._follows = model, follows
        self._several = isinstance(model, OneVsAll)
        self._waiting: list[tuple[Any, Any, float]] = []
        intervals = None
        if follows and has_errors(model):
            model._errors = model._errors or ErrorQuantiles()
            intervals = Coverage(USUAL_LEVEL, model._errors, follows=True)
        self._evaluation = Evaluation(model, small=small, intervals=intervals)
        self._baselines = StreamBaselines(model) if follows else None

    def add(self, score: Any, truth: Any, weight: float) -> None:
        """A prediction, and the label as a number, or the number of a class. Without weight it does not count.

        Args:
            score: of several classes those that were known; None if nothing was predicted.
            truth: a class that has no score is one that was not known.
            weight: of the row.
        """
        self._waiting.append((score, truth, weight))
        if len(self._waiting) >= MAX_PENDING:
            self.flush()

    def add_many(self, scores: Float64, truth: Float64, weight: Float64) -> None:
        """The same for rows in order, of one score each."""
        if len(scores) < _FEW:
            for row in zip(scores.tolist(), truth.tolist(), weight.tolist(), strict=True):
                self.add(*row)
            return
        self.flush()
        if self._baselines is not None:
            self._baselines.add_numbered(truth > 0 if self._binary else truth, weight)
        self._evaluation.add(scores, truth, weight)

    def flush(self) -> None:
        """Count what waits."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        weight = np.array([row[2] for row in waiting])
        truth: Any = np.array([row[1] for row in waiting], np.intp if self._several else np.float64)
        if self._baselines is not None:
            self._baselines.add_numbered(truth if self._several or not self._binary else truth > 0, weight)
        said = [row for row in waiting if row[0] is not None]
        if not said:
            return
        if len(said) < len(waiting):
            kept = np.array([row[0] is not None for row in waiting])
            weight, truth = weight[kept], truth[kept]
        if not self._several:
            self._evaluation.add(np.array([row[0] for row in said]), truth, weight)
            return
        first = 0
        for _, rows in groupby(said, lambda row: len(row[0])):  # classes may have joined on the way
            scores = np.array([row[0] for row in rows], np.float64)
            part = slice(first, first := first + len(scores))
            self._evaluation.add_numbered(scores, truth[part], weight[part])

    @property
    def _binary(self) -> bool:
        return self._evaluation._binary

    @property
    def evaluation(self) -> Evaluation:
        """With all rows so far."""
        self.flush()
        return self._evaluation

    @property
    def baselines(self) -> dict[str, dict[str, float]]:
        """What the trivial answers score, by name."""
        self.flush()
        return {} if self._baselines is None else self._baselines.metrics

    def sums(self) -> tuple[float, float, float]:
        """Weight, loss and errors of all rows so far, to be subtracted from later ones."""
        evaluation = self.evaluation
        return evaluation.weight, evaluation._sums.get("loss", 0.0), evaluation._sums.get("error_rate", 0.0)

    def state(self) -> dict[str, Any]:
        """All that has been counted, as JSON can keep it."""
        self.flush()
        return {
            "evaluation": self._evaluation.state(),
            "baselines": None if self._baselines is None else self._baselines.state(),
        }

    @classmethod
    def restore(cls, model: Learner | OneVsAll, state: dict[str, Any], *, follows: bool) -> Scores:
        """What had this state, of a model in the state of the same moment."""
        scores = cls(model, follows=follows)
        scores._evaluation = Evaluation.restore(model, state["evaluation"])
        if follows:
            scores._baselines = StreamBaselines.restore(model, state["baselines"])
        return scores
