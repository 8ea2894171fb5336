"""Scores of rows with their labels, from which metrics, baselines and error quantiles are computed."""

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

    The constructor checks nothing. `of` is for scores and labels that the core has accepted; `read` checks a user's
    data.

    Example:
        >>> import unitless as ul
        >>> Scored.of(ul.Learner(loss="logistic"), [0.5, -1.0], [1, -1])
        Scored(scores=array([[ 0.5],
               [-1. ]]), truth=array([ True, False]), weight=None, offset=None)
    """

    scores: Float64
    """A row of scores for each row, a column for each head. Classes that were added later have no column, or -inf."""
    truth: NDArray[Any]
    """Numbers; for two classes, whether a row is positive; for several classes, the class numbers. A number that is at
    least the number of columns is a class without a score."""
    weight: Float64 | None = None
    """Sample weights; None means 1 for each row."""
    offset: Float64 | None = None
    """Numbers that were added to the scores of the rows; None means 0."""

    @classmethod
    def of(
        cls, model: Learner | OneVsAll, scores: Any, truth: Any, weight: Float64 | None = None, offset: Any = None
    ) -> Scored:
        """Make a `Scored` of scores and labels in the core's form.

        Args:
            model: the model that predicted.
            scores: with one dimension or two.
            truth: numbers; for two classes their sign counts; for several classes, class numbers (negative: unknown
                class).
            weight: sample weights. Default: None (all 1).
            offset: numbers that were added to the scores. Default: None (all 0).
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
        """Make a `Scored` of predictions from `learn` or `predict` and labels as `learn` takes them; check both."""
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
        """Return some rows, chosen by a slice, a mask or numbers."""
        weight = None if self.weight is None else self.weight[rows]
        return Scored(self.scores[rows], self.truth[rows], weight, None if self.offset is None else self.offset[rows])

    @property
    def counted(self) -> Scored:
        """The rows with a positive weight; weights that are all 1 are replaced by None."""
        if self.weight is None:
            return self
        if (self.weight == 1).all():
            return replace(self, weight=None)
        if self.weight.all():
            return self
        return self[self.weight > 0].counted

    @property
    def after_first(self) -> Scored:
        """The rows after the first one with a positive weight; before that row, no label was known."""
        first = 0 if self.weight is None or not len(self) else int(np.argmax(self.weight > 0))
        return self[first + 1 :]

    @property
    def of_known_classes(self) -> Scored:
        """The rows whose class has a score; all rows if there are not several classes."""
        known = self.truth < self.scores.shape[1]
        return self if known.all() else self[known]

    def blocks(self, numbers: int) -> Iterator[Scored]:
        """Return an iterator over blocks of rows with about this many scores each."""
        step = max(64, numbers // max(1, self.scores.shape[1]))
        for start in range(0, len(self), step):
            yield self[start : start + step]
