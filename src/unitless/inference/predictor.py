"""Predictions for any data, with a model that `train` made: it knows the table's columns and the labels' names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import inputs
from ..data import Batch, Reader, ReadOptions, Schema, Target, open_source
from ..data.in_memory import Frames, Mappings
from ..data.labels import number_text
from ..data.source import other_kind
from ..errors import Error, InputError, OptionError
from ..inputs import Float64
from ..losses import LOSSES
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll, by_row


@dataclass
class Predictions:
    """For some rows, in order. Rows that could not be read (and were to be skipped) have no prediction."""

    batch: Batch
    labels: list[Any]  # of classes, as they were in the data; none where numbers are predicted
    codes: NDArray[np.int32] | None  # each row's place among them, -1 where there is no prediction
    scores: Float64  # one or more per row; not-a-number where there is no prediction
    numbers: Float64 | None  # what is predicted where that is a number; not-a-number where there is no prediction
    probabilities: Float64 | None  # one column per class
    classes: list[str]  # the labels as text
    readable: NDArray[np.intp]  # where the rows of the batch stand among all

    @cached_property
    def values(self) -> list[Any]:
        """Labels as they were in the data, or numbers; None where there is no prediction."""
        if self.codes is not None:
            names = [*self.labels, None]
            return [names[code] for code in self.codes.tolist()]
        assert self.numbers is not None
        values: list[Any] = self.numbers.tolist()
        for row in np.flatnonzero(self.missing).tolist():
            values[row] = None
        return values

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no prediction."""
        missing = np.ones(len(self.scores), bool)
        missing[self.readable] = False
        return missing

    @property
    def tags(self) -> list[str | None] | None:
        """The rows' names, where VW text has them."""
        if self.batch.tags is None:
            return None
        tags: list[str | None] = [None] * len(self.scores)
        for row, tag in zip(self.positions.tolist(), self.batch.tags, strict=True):
            tags[row] = tag or None
        return tags

    @property
    def positions(self) -> NDArray[np.intp]:
        """The place of each row of the batch among all rows, including those that could not be read."""
        return places(self.batch)


def places(batch: Batch) -> NDArray[np.intp]:
    """The place of each row of a batch among all rows, including those that could not be read."""
    numbers = np.arange(batch.rows) if batch.place.numbers is None else np.asarray(batch.place.numbers)
    both = np.concatenate([numbers, np.asarray(batch.bad_numbers, dtype=numbers.dtype)])
    order = np.empty(len(both), dtype=np.intp)
    order[np.argsort(both, kind="stable")] = np.arange(len(both))
    return order[: batch.rows]


class Predictor:
    """A model that knows how to read data."""

    def __init__(self, model: Any) -> None:
        if not isinstance(model, Learner | OneVsAll) or model._training is None:
            raise OptionError(
                "this model was not made by train, so it does not know what a table's columns are; "
                "use its own predict with arrays, frames or mappings of numbers"
            )
        self.model = model
        self.schema = Schema.read(model._training.get("schema"))
        self.target = Target.read(model._training.get("target"))
        self._reading = model._training.get("reading") or {}

    @property
    def classes(self) -> list[str]:
        """The labels' names, in the order of the probabilities."""
        if isinstance(self.model, OneVsAll):
            return [label if isinstance(label, str) else number_text(label) for label in self.model.classes]
        return self.target.classes

    def batches(
        self, source: Any, *, extrapolate: bool = False, keep: bool = False, **reading: Any
    ) -> Iterator[Predictions]:
        """Predictions batch by batch. Reading options as for `train`; `keep` keeps the rows as they were."""
        skip = reading.get("on_error") == "skip"
        for batch in self.read(source, keep, **reading):
            yield self.predict(batch, extrapolate, skip)

    def read(self, source: Any, keep: bool = False, **reading: Any) -> Iterator[Batch]:
        """Data as the model's training data was read, batch by batch."""
        settled = {name: self._reading[name] for name in ("dates", "missing") if name in self._reading}
        options = ReadOptions(**{**settled, **reading})
        opened = open_source(source, options)
        if isinstance(opened, Mappings) and self.schema.family == "table":  # rows of the table, by name
            opened = Frames(opened.as_table())
        if opened.family != self.schema.family:
            raise OptionError(other_kind(self.schema.family, opened))
        if keep and opened.family != "table":
            raise OptionError(f"{opened.name} is not a table: it has no columns to keep")
        yield from Reader(opened, options, self.schema, target_needed=False, keep=keep).batches()

    def predict(self, batch: Batch, extrapolate: bool = False, skip: bool = False) -> Predictions:
        """Predictions for a batch; `skip`: without those that cannot be predicted."""
        used, readable, total = batch, places(batch), batch.rows + len(batch.bad_numbers)
        if skip:
            infinite = _infinite(batch)
            used, readable = batch.select(~infinite), readable[~infinite]
        several = isinstance(self.model, OneVsAll)
        try:
            with self.model._locked():  # a class that joins meanwhile has no score here, nor a label
                flat = self.model._ask(used.data, extrapolate) if used.rows else np.zeros(0)
                labels, classes = self.labels, self.classes
        except Error as error:
            raise error.moved(used.place.at) from None
        width = (len(labels),) if several else ()
        scores = by_row(flat, used.rows, len(labels)) if several else flat
        every = np.full((total, *width), np.nan)
        every[readable] = scores
        codes = numbers = probabilities = None
        if several or self.target.task == "binary":
            codes = np.full(total, -1, np.int32)
            if used.rows:
                codes[readable] = scores.argmax(axis=1) if several else scores > 0
        else:
            numbers = self.model.link(every)
        if LOSSES[self.model.options.loss].link.gives_probabilities:
            probabilities = np.full((total, len(classes)), np.nan)
            if several:
                probabilities[readable] = self.model.shares(scores)  # type: ignore[union-attr]
            else:
                p = self.model.link(scores)
                probabilities[readable] = np.stack([1 - p, p], axis=1)
        return Predictions(batch, labels, codes, every, numbers, probabilities, classes, readable)

    @property
    def labels(self) -> list[Any]:
        """The classes as they were called in the data; none where numbers are predicted."""
        if isinstance(self.model, OneVsAll):
            return list(self.model.classes)
        if self.target.task == "binary" and "" in self.target.classes:
            known = next((name for name in self.target.classes if name), "")
            raise InputError(
                f"the training of this model was interrupted when the target had had only one value, {known!r}; "
                "go on with it, so that there is another to predict"
            )
        if self.target.task == "binary":
            return [_as_it_was(name, self.target.number) for name in self.target.classes]
        return []


def _as_it_was(name: str, number: bool) -> Any:
    if not number:
        return name
    value = float(name)
    return int(value) if value == int(value) else value


def _infinite(batch: Batch) -> NDArray[np.bool_]:
    wrong = np.zeros(batch.rows, bool)
    if isinstance(batch.data, inputs.Frame):
        for column in batch.data.columns:
            if (infinite := inputs.infinite(column)) is not None:
                wrong |= infinite
    return wrong
