"""Rows of Vowpal Wabbit's text: those that follow one another are learned with one call, or predicted with one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ... import _core, inputs
from ...errors import DivergedError, Error, InputError
from ...inputs import Float64
from ...models.one_vs_all import OneVsAll
from ..problems import told
from .model import WEIGHTS, ServedModel, are_weights
from .rows import NamedFeatures

_BLOCK = 64  # rows that are tried together after one among many was refused

_read = _core.VwReader().read


class VwSaid(NamedTuple):
    """What a model says of rows."""

    predictions: Float64 | list[Any]  # numbers, of two classes scores, of more classes labels
    problems: dict[int, str]  # of rows that were refused


class VwText:
    """Lines of examples, all of which can be read.

    Args:
        text: the lines.
        read: what they say, if somebody has read them already.
    """

    def __init__(self, text: bytes, read: _core.TextRows | None = None) -> None:
        self.text, self.read = text, read or _read(text, True)

    @cached_property
    def _lines(self) -> list[bytes]:
        return self.text.split(b"\n")

    def part(self, first: int, last: int) -> VwText:
        """Some of the lines."""
        return VwText(b"\n".join(self._lines[first:last]))

    @cached_property
    def runs(self) -> list[tuple[int, bool, VwText]]:
        """Lines that follow one another and all have labels, or none: where they begin, whether they have, and they."""
        labelled = ~np.isnan(self.read.label)
        turns = np.flatnonzero(labelled[1:] != labelled[:-1]) + 1
        if not len(turns):
            return [(0, bool(labelled[:1].all()), self)]
        cuts = [0, *turns.tolist(), len(labelled)]
        return [(first, bool(labelled[first]), self.part(first, last)) for first, last in pairwise(cuts)]

    @cached_property
    def labelled(self) -> int:
        """How many lines have labels."""
        return int(np.count_nonzero(~np.isnan(self.read.label)))

    def has_label(self, row: int) -> bool:
        """Whether a line has one."""
        return not np.isnan(self.read.label[row])

    def first(self) -> tuple[dict[str, float], float] | None:
        """Features and label of the first line; None if it has no label."""
        if not self.has_label(0):
            return None
        names, entries = self.read.names, int(self.read.row_ends[0])
        ids, values = self.read.ids[:entries].tolist(), self.read.values[:entries].tolist()
        return {names[id]: value for id, value in zip(ids, values, strict=True)}, float(self.read.label[0])

    def smaller(self) -> Iterator[tuple[int, VwText]]:
        """The same lines in parts, of which there are at least two."""
        step = _BLOCK if self.read.rows > _BLOCK else 1
        for first in range(0, self.read.rows, step):
            yield first, self.part(first, min(first + step, self.read.rows))


def work(served: ServedModel, text: VwText, without: Collection[int] = ()) -> VwSaid:
    """Learn the rows that have labels, predict those that have none, in order.

    A row that is refused changes nothing, and the others are learned as if it were not there.

    Args:
        served: the model.
        text: the rows.
        without: rows that are left out.
    """
    said: list[tuple[int, VwSaid]] = []
    for first, labelled, run in text.runs:
        if not labelled:
            said.append((first, predict(served, run)))
        elif not any(first <= row < first + run.read.rows for row in without):
            said += ((first + start, one) for start, one in _learned(served, run))
        else:
            for start in range(run.read.rows):
                if first + start not in without:
                    said += ((first + start, one) for _, one in _learned(served, run.part(start, start + 1)))
    return said[0][1] if len(said) == 1 and len(said[0][1].predictions) == text.read.rows else _joined(text, said)


def predict(served: ServedModel, text: VwText) -> VwSaid:
    """What it says of rows; changes nothing."""
    try:
        return VwSaid(_predictions(served, _ask(served, text)), {})
    except Error as error:
        if text.read.rows == 1:
            return VwSaid([0.0], {0: told(error)})
        return _joined(text, [(first, predict(served, part)) for first, part in text.smaller()])


def _learned(served: ServedModel, text: VwText) -> Iterator[tuple[int, VwSaid]]:
    """Learn rows that all have labels: all at once, unless some are refused."""
    rows = text.read.rows
    try:
        yield 0, VwSaid(_predictions(served, _learn(served, text)), {})
    except Error as error:
        if rows == 1 or isinstance(error, DivergedError):  # rows before the one that diverged are learned
            served.rejected += rows
            served.last_refusal = told(error)
            yield 0, VwSaid(np.zeros(rows), dict.fromkeys(range(rows), told(error)))
        else:
            for first, part in text.smaller():
                yield from ((first + start, said) for start, said in _learned(served, part))


def _joined(text: VwText, parts: list[tuple[int, VwSaid]]) -> VwSaid:
    predictions: list[Any] = [0.0] * text.read.rows
    problems: dict[int, str] = {}
    for first, part in parts:
        predictions[first : first + len(part.predictions)] = list(part.predictions)
        problems |= {first + row: problem for row, problem in part.problems.items()}
    return VwSaid(predictions, problems)


def _check(served: ServedModel) -> None:
    if served.model is not None and not isinstance(served._rows, NamedFeatures):
        raise InputError("the model was trained on a table; lines of Vowpal Wabbit are for models of named features")


def _ask(served: ServedModel, text: VwText) -> Float64:
    _check(served)
    read = text.read
    return served.ask_batch(inputs.TextRows(read), read.offset if len(read.offset) else None)


def _learn(served: ServedModel, text: VwText) -> Float64:
    """The scores made before each row was learned."""
    _check(served)
    read = text.read
    weight = read.weight if read.weighted else None
    if weight is not None and not are_weights(weight):
        raise InputError("a weight cannot be used", advice=WEIGHTS)
    offset = read.offset if len(read.offset) else None
    return served.learn_batch(inputs.TextRows(read), read.label, weight, offset)


def _predictions(served: ServedModel, scores: Float64) -> Float64 | list[Any]:
    """What is said of scores: labels of many classes, the scores of two; of numbers what the link makes of them."""
    if isinstance(served.model, OneVsAll):
        known = served.model.classes
        return [known[best] for best in scores.argmax(axis=1).tolist()] if scores.shape[1] else [0.0] * len(scores)
    if served.model is None or served._binary or served._link.name == "identity":
        return scores
    return np.asarray(served._link.function(scores))
