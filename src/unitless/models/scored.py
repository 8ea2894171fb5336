"""Rows that a model has predicted, and what was true: what metrics, baselines and error quantiles are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import inputs
from ..errors import InputError
from ..inputs import Float64

if TYPE_CHECKING:
    from .learner import Learner
    from .one_vs_all import OneVsAll


@dataclass(frozen=True)
class Scored:
    """The scores of rows, and their labels.

    Nothing is checked: `of` is for what the core has accepted, `read` for what a user gives.

    Example:
        >>> import unitless as ul
        >>> Scored.of(ul.Learner(loss="logistic"), [0.5, -1.0], [1, -1])
        Scored(scores=array([[ 0.5],
               [-1. ]]), truth=array([ True, False]), weight=None, offset=None)
    """

    scores: Float64
    """One row each, one column for each head of the model. A class that joined later has no column, or -inf."""
    truth: NDArray[Any]
    """Numbers; of two classes whether a row is positive; of several the class numbers. A number that is not smaller
    than the number of columns is a class without a score."""
    weight: Float64 | None = None
    """Sample weights; None: each row counts 1."""
    offset: Float64 | None = None
    """What was added to the scores of each row; None: nothing."""

    @classmethod
    def of(
        cls, model: Learner | OneVsAll, scores: Any, truth: Any, weight: Float64 | None = None, offset: Any = None
    ) -> Scored:
        """Scores and labels as the core gives and takes them: scores in one dimension or two; two classes by sign,
        several by number, and one that the model does not know as a negative number.
        """
        truth = np.asarray(truth)
        scores = np.asarray(scores, np.float64).reshape(len(truth), -1 if len(truth) else model.heads)
        if model.task == "binary":
            truth = truth > 0
        elif model.task == "classes":
            truth = np.where(truth < 0, scores.shape[1], truth).astype(np.intp)
        return cls(scores, truth, weight, offset)

    @classmethod
    def read(cls, model: Learner | OneVsAll, predictions: Any, y: Any, weight: Any = None) -> Scored:
        """Predictions as `learn` and `predict` give them, labels as `learn` takes them; all of it is checked."""
        try:
            scores = np.asarray(predictions, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("predictions are not all numbers") from None
        if scores.ndim == 0 or np.isnan(scores).any():
            raise InputError("predictions must be numbers, one or more for each row")
        h = None if weight is None else inputs.vector(weight, "weight", len(scores), "predictions")
        if h is not None and not (np.isfinite(h) & (h >= 0)).all():
            raise InputError("weights must be finite and not negative")
        return cls(*model._scores_and_truth(scores, y, h), h)

    def __len__(self) -> int:
        return len(self.truth)

    def __getitem__(self, rows: Any) -> Scored:
        """Some rows: a slice, a mask or numbers."""
        weight = None if self.weight is None else self.weight[rows]
        return Scored(self.scores[rows], self.truth[rows], weight, None if self.offset is None else self.offset[rows])

    @property
    def counted(self) -> Scored:
        """The rows with a weight; weights that are all 1 are left out."""
        if self.weight is None:
            return self
        if (self.weight == 1).all():
            return replace(self, weight=None)
        if self.weight.all():
            return self
        return self[self.weight > 0].counted

    @property
    def after_first(self) -> Scored:
        """The rows after the first one that has a weight, before which nothing was known of the labels."""
        first = 0 if self.weight is None or not len(self) else int(np.argmax(self.weight > 0))
        return self[first + 1 :]

    @property
    def of_known_classes(self) -> Scored:
        """Of several classes: the rows whose class has a score."""
        known = self.truth < self.scores.shape[1]
        return self if known.all() else self[known]

    def blocks(self, numbers: int) -> Iterator[Scored]:
        """Some rows at a time, with about so many scores."""
        step = max(64, numbers // max(1, self.scores.shape[1]))
        for start in range(0, len(self), step):
            yield self[start : start + step]
