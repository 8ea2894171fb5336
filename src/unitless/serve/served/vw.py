"""Rows in Vowpal Wabbit's text format. Consecutive rows are learned, or predicted, in one call."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ... import _core, inputs
from ...errors import DivergedError, Error, InputError
from ...inputs import Float64
from ..problems import message_of
from .model import WEIGHTS, ServedModel, are_weights
from .rows import NamedFeatures

_BLOCK = 64  # rows per call after a larger call was refused

_read = _core.VwReader().read


class VwPredictions(NamedTuple):
    """The predictions of a model for some lines."""

    predictions: Float64 | list[Any]  # numbers; scores for two classes; labels for several
    problems: dict[int, str]  # by row that was refused


class VwText:
    """Lines of valid examples.

    Args:
        text: the lines.
        read: their content, if they have been parsed already.
    """

    def __init__(self, text: bytes, read: _core.TextRows | None = None) -> None:
        self.text, self.read = text, read or _read(text, True)

    @cached_property
    def _lines(self) -> list[bytes]:
        return self.text.split(b"\n")

    def part(self, first: int, last: int) -> VwText:
        """The lines from `first` to before `last`."""
        return VwText(b"\n".join(self._lines[first:last]))

    @cached_property
    def runs(self) -> list[tuple[int, bool, VwText]]:
        """Runs of consecutive lines that all have labels or all have none: first line, whether labeled, the lines."""
        labeled = ~np.isnan(self.read.label)
        turns = np.flatnonzero(labeled[1:] != labeled[:-1]) + 1
        if not len(turns):
            return [(0, bool(labeled[:1].all()), self)]
        cuts = [0, *turns.tolist(), len(labeled)]
        return [(first, bool(labeled[first]), self.part(first, last)) for first, last in pairwise(cuts)]

    @cached_property
    def labeled(self) -> int:
        """The number of lines with labels."""
        return int(np.count_nonzero(~np.isnan(self.read.label)))

    def has_label(self, row: int) -> bool:
        """Whether a line has a label."""
        return not np.isnan(self.read.label[row])

    def first(self) -> tuple[dict[str, float], float] | None:
        """Features and label of the first line; None if it has no label."""
        if not self.has_label(0):
            return None
        names, entries = self.read.names, int(self.read.row_ends[0])
        ids, values = self.read.ids[:entries].tolist(), self.read.values[:entries].tolist()
        return {names[id]: value for id, value in zip(ids, values, strict=True)}, float(self.read.label[0])

    def smaller(self) -> Iterator[tuple[int, VwText]]:
        """The lines split into at least two parts."""
        step = _BLOCK if self.read.rows > _BLOCK else 1
        for first in range(0, self.read.rows, step):
            yield first, self.part(first, min(first + step, self.read.rows))


def work(served: ServedModel, text: VwText, without: Collection[int] = ()) -> VwPredictions:
    """Learn the lines with labels and predict those without, in order.

    A line that is refused changes nothing, and the others are learned as if it did not exist.

    Args:
        served: the model.
        text: the lines.
        without: places of lines to leave out.
    """
    predicted: list[tuple[int, VwPredictions]] = []
    for first, labeled, run in text.runs:
        if not labeled:
            predicted.append((first, predict(served, run)))
        elif not any(first <= row < first + run.read.rows for row in without):
            predicted += ((first + start, one) for start, one in _learned(served, run))
        else:
            for start in range(run.read.rows):
                if first + start not in without:
                    predicted += ((first + start, one) for _, one in _learned(served, run.part(start, start + 1)))
    return (
        predicted[0][1]
        if len(predicted) == 1 and len(predicted[0][1].predictions) == text.read.rows
        else _joined(text, predicted)
    )


def predict(served: ServedModel, text: VwText) -> VwPredictions:
    """Predict lines, which changes nothing."""
    try:
        return VwPredictions(_predictions(served, _ask(served, text)), {})
    except Error as error:
        if text.read.rows == 1:
            return VwPredictions([0.0], {0: message_of(error)})
        return _joined(text, [(first, predict(served, part)) for first, part in text.smaller()])


def _learned(served: ServedModel, text: VwText) -> Iterator[tuple[int, VwPredictions]]:
    """Learn lines that all have labels, in one call unless some are refused."""
    rows = text.read.rows
    try:
        yield 0, VwPredictions(_predictions(served, _learn(served, text)), {})
    except Error as error:
        if rows == 1 or isinstance(error, DivergedError):  # the rows before the divergence have been learned
            served.rejected += rows
            served.last_refusal = message_of(error)
            yield 0, VwPredictions(np.zeros(rows), dict.fromkeys(range(rows), message_of(error)))
        else:
            for first, part in text.smaller():
                yield from ((first + start, predicted) for start, predicted in _learned(served, part))


def _joined(text: VwText, parts: list[tuple[int, VwPredictions]]) -> VwPredictions:
    predictions: list[Any] = [0.0] * text.read.rows
    problems: dict[int, str] = {}
    for first, part in parts:
        predictions[first : first + len(part.predictions)] = list(part.predictions)
        problems |= {first + row: problem for row, problem in part.problems.items()}
    return VwPredictions(predictions, problems)


def _check(served: ServedModel) -> None:
    if served.model is not None and not isinstance(served._rows, NamedFeatures):
        raise InputError("the model was trained on a table; lines of Vowpal Wabbit are for models of named features")


def _ask(served: ServedModel, text: VwText) -> Float64:
    _check(served)
    read = text.read
    return served.score_batch(inputs.TextRows(read), read.offset if len(read.offset) else None)


def _learn(served: ServedModel, text: VwText) -> Float64:
    """Learn lines in one call; returns the scores from before."""
    _check(served)
    read = text.read
    weight = read.weight if read.weighted else None
    if weight is not None and not are_weights(weight):
        raise InputError("a weight cannot be used", advice=WEIGHTS)
    offset = read.offset if len(read.offset) else None
    return served.learn_batch(inputs.TextRows(read), read.label, weight, offset)


def _predictions(served: ServedModel, scores: Float64) -> Float64 | list[Any]:
    """Predictions from scores: labels for several classes, scores for two, linked numbers for regression."""
    if served.model is not None and served.model.task == "classes":
        known = served.model._class_labels
        return [known[best] for best in scores.argmax(axis=1).tolist()] if scores.shape[1] else [0.0] * len(scores)
    if served.model is None or served._binary or served._link.name == "identity":
        return scores
    return np.asarray(served._link.function(scores))
