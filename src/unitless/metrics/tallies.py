"""Counts for metrics that are not means over rows, one class for each task; for two classes see `Ranking`."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from ..errors import ModelFileError
from ..inputs import Float64
from ..losses import LOSSES
from ..models.classes import Label
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from .label_sums import LabelSums, added
from .ranking import Ranking
from .records import Found, squared_error
from .rows import ClassRows, NumberRows
from .states import places_of


class Tally(Protocol):
    """Counts what the metrics of one task need besides means over rows."""

    def count(self, rows: Any, h: Float64 | None) -> None:
        """Count rows of the task in order. All weights must be positive; without weights each row counts 1."""

    def found(self, means: dict[str, float]) -> Found:
        """The values for `Found`, given the means of the sums."""

    def absorb(self, other: Any) -> None:
        """Add the counts of another tally of the same kind."""

    def state(self) -> dict[str, Any]:
        """The counts as JSON-compatible values."""

    def restore(self, state: dict[str, Any], by_label: bool) -> float:
        """Continue from a state; returns its total weight. Raises ValueError, KeyError or TypeError if it is invalid.

        Args:
            state: what `state` returned.
            by_label: allow another order of classes; otherwise another order is an error. Default: False.
        """


class NumberTally(Tally):
    """For numbers: the variance and the limits of the labels, and the spread of the squared errors e²."""

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._loss = LOSSES[model.options.loss]
        self._labels = LabelSums()
        self.limits = (math.inf, -math.inf)
        self.spread: tuple[float, float] | None = (0.0, 0.0)  # the sums of h² e² and h² e⁴; not in the state

    def count(self, rows: NumberRows, h: Float64 | None) -> None:
        self.limits = (min(self.limits[0], float(rows.truth.min())), max(self.limits[1], float(rows.truth.max())))
        self._labels.add(rows.truth, h)
        if self.spread is not None:
            squares, hh = rows.error * rows.error, None if h is None else h * h
            second, fourth = self.spread
            self.spread = added(second, squares, hh), added(fourth, squares * squares, hh)

    def found(self, means: dict[str, float]) -> Found:
        return Found(squared_error=squared_error(self._loss, means), variance=self._labels.variance)

    def absorb(self, other: NumberTally) -> None:
        self._labels.absorb(other._labels)
        self.limits = (min(self.limits[0], other.limits[0]), max(self.limits[1], other.limits[1]))
        if self.spread is None or other.spread is None:
            self.spread = None
        else:
            self.spread = self.spread[0] + other.spread[0], self.spread[1] + other.spread[1]

    def state(self) -> dict[str, Any]:
        return {"labels": [limit.hex() for limit in self.limits], "label_sums": self._labels.state()}

    def restore(self, state: dict[str, Any], by_label: bool) -> float:
        low, high = map(float.fromhex, state["labels"])
        self.limits, self.spread = (low, high), None
        self._labels.restore(state["label_sums"])
        if self._labels.weight and not -math.inf < low <= high < math.inf:
            raise ValueError("the limits of the labels are not numbers in order")
        return self._labels.weight


class ClassTally(Tally):
    """For several classes: by class, the weight of true rows, of predicted rows, and of correct predictions."""

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._model = model
        self._counts: Float64 = np.zeros((3, 0))

    def count(self, rows: ClassRows, h: Float64 | None) -> None:
        self._widen(self._model.heads)
        known, hit = rows.truth < self._counts.shape[1], rows.best == rows.truth
        predicted = slice(None) if rows.best[0] >= 0 else slice(0)  # without scores no class is predicted
        indices, which = (rows.truth, rows.best, rows.truth), (known, predicted, hit)
        for counts, index, some in zip(self._counts, indices, which, strict=True):
            # adds one value after another, as a loop would
            np.add.at(counts, index[some], 1.0 if h is None else h[some])

    def _widen(self, classes: int) -> None:
        missing = classes - self._counts.shape[1]
        if missing > 0:
            self._counts = np.pad(self._counts, ((0, 0), (0, missing)))

    def found(self, means: dict[str, float]) -> Found:
        return Found()

    def per_class(self, weight: float) -> dict[Label, dict[str, float]]:
        """For each class: its share of the weight, its precision and its recall."""
        return {
            label: {
                "share": seen / weight if weight else math.nan,
                "precision": both / predicted if predicted else math.nan,
                "recall": both / seen if seen else math.nan,
            }
            for label, (seen, predicted, both) in zip(self._model._class_labels, self._counts.T.tolist(), strict=False)
        }

    def absorb(self, other: ClassTally) -> None:
        self._widen(other._counts.shape[1])
        self._counts[:, : other._counts.shape[1]] += other._counts

    def state(self) -> dict[str, Any]:
        counts = [[count.hex() for count in counts] for counts in self._counts.tolist()]
        return {"classes": self._model._class_labels[: self._counts.shape[1]], "confusion": counts}

    def restore(self, state: dict[str, Any], by_label: bool) -> float:
        known, classes = state["classes"], self._model._class_labels
        counts = np.array([list(map(float.fromhex, counts)) for counts in state["confusion"]], dtype=np.float64)
        counts = counts.reshape(3, len(known))
        if not by_label and classes[: len(known)] != known:
            raise ModelFileError("the evaluation is of a model with other classes")
        places = places_of(state, self._model)
        if len(places) != len(known):
            raise ValueError("it names a class twice")
        if not np.all(counts >= 0):
            raise ValueError("counts that are negative")
        self._counts = np.zeros((3, len(classes) if by_label else len(known)))
        self._counts[:, places] = counts
        return float(counts[0].sum())


def tally_of(model: Learner | OneVsAll, small: bool) -> Tally:
    """The tally for a model's task."""
    if model.task == "regression":
        return NumberTally(model)
    return Ranking(small) if model.task == "binary" else ClassTally(model)
