"""Predictions for any data, with a model that `train` made: it knows the table's columns and the labels' names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import inputs
from .data import Batch, Reader, ReadOptions, Schema, Target, open_source
from .data.labels import number_text
from .errors import Error, InputError, OptionError
from .inputs import Float64
from .learner import Learner
from .one_vs_all import OneVsAll
from .placing import placed


@dataclass
class Predictions:
    """For some rows, in order. Rows that could not be read (and were to be skipped) have no prediction."""

    batch: Batch
    values: list[Any]  # labels as they were in the data, or numbers; None where there is none
    scores: Float64  # one or more per row; not-a-number where there is none
    probabilities: Float64 | None  # one column per class
    classes: list[Any]
    readable: NDArray[np.intp]  # where the rows of the batch stand among all


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
    def classes(self) -> list[Any]:
        """The labels' names, in the order of the probabilities."""
        if isinstance(self.model, OneVsAll):
            return [label if isinstance(label, str) else number_text(label) for label in self.model.classes]
        return self.target.classes

    def batches(
        self, source: Any, *, extrapolate: bool = False, keep: bool = False, **reading: Any
    ) -> Iterator[Predictions]:
        """Predictions batch by batch. Reading options as for `train`; `keep` keeps the rows as they were."""
        settled = {name: self._reading[name] for name in ("dates", "missing") if name in self._reading}
        options = ReadOptions(**{**settled, **reading})
        opened = open_source(source, options)
        if opened.family != self.schema.family:
            raise OptionError(f"the model was trained on data of another kind than {opened.name}")
        reader = Reader(opened, options, self.schema, target_needed=False, keep_original=keep)
        for batch in reader.batches():
            yield self._predict(batch, extrapolate, options)

    def _predict(self, batch: Batch, extrapolate: bool, options: ReadOptions) -> Predictions:
        numbers = np.arange(batch.rows) if batch.place.numbers is None else np.asarray(batch.place.numbers)
        both = np.concatenate([numbers, np.asarray(batch.bad_numbers, dtype=numbers.dtype)])
        order = np.empty(len(both), dtype=np.intp)
        order[np.argsort(both, kind="stable")] = np.arange(len(both))
        readable = order[: batch.rows]
        used = batch
        if options.on_error == "skip":
            infinite = _infinite(batch)
            used, readable = batch.select(~infinite), readable[~infinite]
        try:
            flat = self.model._ask(used.data, extrapolate) if used.rows else np.zeros(0)
        except Error as error:
            raise InputError(placed(str(error), batch)) from None
        several = isinstance(self.model, OneVsAll)
        scores = flat.reshape(used.rows, len(self.model.classes)) if isinstance(self.model, OneVsAll) else flat
        total = np.full((len(both), *scores.shape[1:]), np.nan)
        total[readable] = scores
        values: list[Any] = [None] * len(both)
        for row, value in zip(readable.tolist(), self.labels(scores), strict=True):
            values[row] = value
        probabilities = None
        if self.model.options.loss == "logistic":
            probabilities = np.full((len(both), len(self.classes)), np.nan)
            if several:
                probabilities[readable] = self.model.shares(scores)  # type: ignore[union-attr]
            else:
                p = self.model.link(scores)
                probabilities[readable] = np.stack([1 - p, p], axis=1)
        return Predictions(batch, values, total, probabilities, self.classes, readable)

    def labels(self, scores: Float64) -> list[Any]:
        """What scores say: a class as it was called in the data, or a number."""
        if isinstance(self.model, OneVsAll):
            labels: list[Any] = list(self.model.classes)
            return [labels[best] for best in scores.argmax(axis=1)] if len(scores) else []
        if self.target.task == "binary":
            names = [_as_it_was(name, self.target.number) for name in self.target.classes]
            return [names[int(score > 0)] for score in scores]
        values: list[Any] = self.model.link(scores).tolist()
        return values


def _as_it_was(name: str, number: bool) -> Any:
    if not number:
        return name
    value = float(name)
    return int(value) if value == int(value) else value


def _infinite(batch: Batch) -> NDArray[np.bool_]:
    wrong = np.zeros(batch.rows, bool)
    if isinstance(batch.data, inputs.Frame):
        for column in batch.data.columns:
            if (numbers := inputs.numeric(column)) is not None:
                wrong |= np.isinf(numbers)
    return wrong
