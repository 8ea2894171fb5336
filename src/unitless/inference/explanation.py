"""Explanations of predictions: each column's contribution to the score of one row, and each feature's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import inputs
from ..data import Batch
from ..data.columns import date_parts
from ..data.columns.feature_columns import FeatureColumns
from ..data.columns.policy import Policy
from ..data.columns.row_reader import NamedRowReader, NumberRowReader
from ..data.columns.schema import DATES
from ..data.labels import number_text
from ..data.read_options import Reading
from ..data.sources.in_memory import is_frame
from ..data.sources.located_rows import Place, Position
from ..errors import InputError, OptionError
from ..inputs import Float64
from ..losses import LOSSES
from ..models.any_model import model_of
from ..models.classes import Label
from ..models.form_reading import FormReading
from ..models.learner import Learner
from ..models.model import Feature
from ..models.one_vs_all import OneVsAll
from ..presentation import html, shown
from .model_row import ModelRow, entries
from .nonlinear_explanation import raw_row, taken_apart
from .predictions import places
from .predictor import Predictor

TOP = 20  # columns that are shown separately

# How values of a row are read for a model that `train` did not make: like the rows of `learn_one`.
FED_BY_HAND = Policy(booleans="indicator", text="indicators", missing="absent", dates="error")


@dataclass(frozen=True)
class Contribution:
    """The contribution of one column of the data to the score: the sum over all features made of it."""

    column: Feature
    value: float | str  # as in the data; NaN if it is missing
    contribution: float


@dataclass(frozen=True)
class FeatureContribution:
    """The contribution of one feature to the score."""

    feature: Feature
    value: float  # as in the data; for a product, the factors as the model uses them
    weight: float | None  # in the data's units; None if the score is not one linear sum
    contribution: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """A prediction as a sum: `base_value` and all contributions add up to `score`.

    `contributions` are by column of the data, `features` by feature of the model: a value of a text column, a word, a
    part of a date, a product. Both have the same sum. A product of two columns counts half for each, which is its
    Shapley value. `print` shows the columns as a table, a notebook as bars.
    """

    contributions: list[Contribution]  # sorted by absolute value, largest first
    base_value: float
    score: float
    limited: float  # the score limited to the range of the labels, if the model limits it
    prediction: Any  # as returned by `predict`: a label, or a number
    label: Label | None = None  # the class whose score this is
    unknown: list[str] = field(default_factory=list)  # features of the row that the model has not learned
    probability: float | None = None  # the probability of `label`; for two classes, of the positive class
    positive: Label | None = None  # for two classes: the class of positive scores
    centered: bool = False  # whether some values are relative to the means of their columns
    weighed: bool = True  # whether features have weights: the score is one sum of weights times values
    bent: bool = False  # whether the model is more than linear: then all contributions are relative to means
    features: list[FeatureContribution] = field(default_factory=list)  # sorted like `contributions`

    @property
    def base_meaning(self) -> str:
        """The meaning of the base value."""
        if self.bent:
            return "columns count from their means: the base value is about the mean prediction"
        if self.centered:
            return "numbers count from the mean of their column: the base value is for mean numbers and no text"
        return "the base value is the score where all features are 0"

    @property
    def meaning(self) -> list[str]:
        """The meaning of the sum, in sentences."""
        said = f"prediction: {_shown(self.prediction)}"
        if self.probability is not None:
            share = f"{self.probability:.2%}"
            if self.label is not None:
                said += f" (for {_shown(self.label)} against all others: {share})"
            else:
                of = "the positive label" if self.positive is None else _shown(self.positive)
                said += f" (probability of {of}: {share})"
        elif self.label is not None:
            said += f" (the score is that of {_shown(self.label)})"
        lines = [said]
        if self.limited != self.score:
            lines.append(
                f"the sum, {shown.number(self.score)}, is beyond the labels seen in training: "
                f"the model keeps to {shown.number(self.limited)}"
            )
        lines.append(self.base_meaning)
        # The table shows which values are missing, so the features that mark them are not listed.
        if unknown := [name for name in self.unknown if not name.endswith(f"={inputs.MISSING}")]:
            names = ", ".join(shown.short(repr(name), 40) for name in unknown[:8])
            lines.append(f"not known to the model, and ignored: {names}{', ...' if len(unknown) > 8 else ''}")
        return lines

    def rows(self, most: int) -> list[tuple[str, str, float]]:
        """Column, value and contribution, the largest first; all beyond `most` are combined into one row."""
        listed = [
            (shown.short(str(part.column), 60), value_text(part.value), part.contribution)
            for part in self.contributions[:most]
        ]
        if len(rest := self.contributions[most:]) > 0:
            listed.append((f"({len(rest):,} others)", "", math.fsum(part.contribution for part in rest)))
        return [*listed, ("(base value)", "", self.base_value), ("sum", "", self.score)]

    def __str__(self) -> str:
        rows = [[*texts, shown.number(contribution)] for *texts, contribution in self.rows(TOP)]
        return "\n".join([shown.table(["column", "value", "contribution"], rows), "", *self.meaning])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = self.rows(TOP)
        largest = max((abs(contribution) for *_, contribution in rows[:-1]), default=0.0)
        cells: list[list[Any]] = [
            [*texts, shown.number(contribution), html.bar(contribution, largest)] for *texts, contribution in rows[:-1]
        ]
        cells.append(["sum", "", shown.number(self.score), ""])
        title, *notes = self.meaning
        return html.card(
            title, html.table(["column", "value", "contribution", ""], cells, total=1), *map(html.note, notes)
        )


def explain(model: Any, row: Any, label: Label | None = None) -> Explanation:
    """Compute each column's contribution to the prediction for one row, and in `features` each feature's.

    Args:
        model: any model, a model file, the result of `train`, a `Predictor`, or a fitted estimator. If `train` made the
            model, the row is read like its table.
        row: a mapping of names to values, a Series, or a frame of one row; for a model of arrays a list of numbers.
        label: for classes, the class whose score is explained. Default: the predicted class.

    Example:
        >>> import unitless as ul
        >>> rows = [{"age": 20 + i % 50, "job": "clerk" if i % 3 else "pilot"} for i in range(300)]
        >>> result = ul.train([{**row, "rich": row["job"] == "pilot"} for row in rows], target="rich")
        >>> why = ul.explain(result.model, {"age": 30, "job": "pilot"})
        >>> why.prediction, why.contributions[0].column, why.contributions[0].value, why.features[0].feature
        (True, 'job', 'pilot', 'job=pilot')
        >>> abs(why.base_value + sum(part.contribution for part in why.contributions) - why.score) < 1e-9
        True
    """
    model = model_of(model)
    data, unknown = read_row(model, row)
    offset = 0.0 if model._training is None else Predictor(model).offset_one(row)
    return explain_batch(model, one_row(data, offset), label, unknown)


def one_row(data: inputs.Input, offset: float = 0.0) -> Batch:
    """Make a batch of one row."""
    offsets = None if offset == 0 else np.array([offset])
    return Batch(data, 1, None, None, Place("", "row", 1), Position(), 0, [], 0, offset=offsets)


def explain_batch(
    model: Learner | OneVsAll, batch: Batch, label: Label | None = None, unknown: list[str] | None = None
) -> Explanation:
    """Explain the prediction for a batch of one row."""
    scores = model._ask(batch.data, False, batch.offset)
    offset = 0.0 if batch.offset is None else float(batch.offset[0])
    head, chosen = _head(model, scores, label)
    reading = model._reading()
    columns = FeatureColumns.of_training(model._training)
    taken = ModelRow(reading, batch.data, model._word_features, columns)
    if model._adds_up():
        explanation = _of_linear(taken, head)
    else:
        explanation = _of_several(taken, model._form_reading(), head, len(scores), offset)
    values = column_values(batch.data, columns)
    if offset != 0:
        name = (None if model._training is None else model._training["schema"]["offset"]) or "(offset)"
        explanation, values[name] = _with_offset(explanation, offset, name, model._adds_up()), offset
    prediction: Any = float(scores[0])
    positive: Label | None = None
    if model._training is not None:
        predictor = Predictor(model)
        prediction = predictor.as_it_was(predictor.predictions(batch).values)[0]
        positive = predictor.classes[1] if predictor.target.task == "binary" else None
    elif model.task == "classes":
        prediction = model._class_labels[int(scores.argmax())]
    gives = LOSSES[model.options.loss].link.gives_probabilities
    return replace(
        explanation,
        contributions=_by_column(explanation.features, taken.columns_of, values),
        prediction=prediction,
        label=chosen,
        unknown=[*(unknown or ()), *taken.unknown],
        probability=float(model._link(explanation.limited)) if gives else None,
        positive=positive,
        centered=taken.centered,
        weighed=model._adds_up(),
        bent=model._bends(),
    )


def _with_offset(of: Explanation, offset: float, name: str, weighed: bool) -> Explanation:
    """Add the row's offset to an explanation, as one of the contributions."""
    part = FeatureContribution(name, offset, 1.0 if weighed else None, offset)
    parts = sorted([*of.features, part], key=_largest_first)
    return replace(of, features=parts, score=of.score + offset, limited=of.limited + offset)


def _by_column(
    parts: list[FeatureContribution], columns_of: Callable[[Feature], tuple[Feature, ...]], values: dict[Feature, Any]
) -> list[Contribution]:
    """The contributions by column. A product counts half for the column of each factor."""
    found: dict[Feature, list[float]] = {}
    for part in parts:
        columns = columns_of(part.feature)
        for column in columns:
            found.setdefault(column, []).append(part.contribution / len(columns))
    summed = [Contribution(column, values.get(column, math.nan), math.fsum(own)) for column, own in found.items()]
    return sorted(summed, key=lambda one: (-abs(one.contribution), str(one.column)))


def _head(model: Learner | OneVsAll, scores: Float64, label: Label | None) -> tuple[int, Label | None]:
    """The class whose score is explained: its number and its label."""
    if model.task != "classes":
        if label is not None:
            raise OptionError(f"class {label!r}: this model has no classes of its own; leave it out")
        return 0, None
    if not model._class_labels:
        raise InputError("the model has not learned any class yet")
    head = int(scores.argmax()) if label is None else class_number(model, label)
    return head, model._class_labels[head]


def class_number(model: Learner | OneVsAll, label: Any) -> int:
    """The number of a class, which may be given as text."""
    for number, known in enumerate(model._class_labels):
        if known == label or (isinstance(label, str) and (str(known) == label or _text(known) == label)):
            return number
    shown = ", ".join(map(str, model._class_labels[:8])) + (", ..." if len(model._class_labels) > 8 else "")
    raise OptionError(f"there is no class {label!r}; there are {shown}")


def value_text(value: float | str) -> str:
    """A value of a column as text for a table."""
    return "missing" if isinstance(value, float) and math.isnan(value) else shown.given(value)


def _shown(value: Any) -> str:
    return shown.given(value) if isinstance(value, float) else shown.short(repr(value), 60)


def _text(label: Label) -> str:
    return label if isinstance(label, str) else number_text(label)


# ---------------------------------------------------------------------------------------------------------- from a row


def read_row(model: Learner | OneVsAll, row: Any) -> tuple[inputs.Input, list[str]]:
    """Read a row as the model takes it; returns also the names that the model does not know."""
    if model._training is not None:
        return Predictor(model).read_one(row)
    if is_frame(row):
        data = model._data(row)
        if data.rows != 1:
            raise InputError(f"the frame has {data.rows:,} rows; it must have one")
        return data, []
    reader = NumberRowReader() if model._snapshot()["columns"] is not None else NamedRowReader(FED_BY_HAND)
    return reader.read(row), []


def row_of(model: Learner | OneVsAll, source: Any, number: int, reading: Reading) -> Batch:
    """Read one row of a source, counted from 1, as a batch."""
    predictor = Predictor(model)
    before = 0
    for batch in predictor.read(source, reading=replace(reading, on_error="skip")):
        at = places(batch)
        total = batch.rows + len(batch.bad_numbers)
        if number <= before + total:
            hit = at == number - 1 - before
            if not hit.any():
                raise InputError(f"row {number} cannot be read: {batch.bad[0] if batch.bad else 'it is bad'}")
            return batch.select(hit)
        before += total
    raise InputError(f"there is no row {number}; the data has {before:,}")


def column_values(data: inputs.Input, columns: FeatureColumns) -> dict[Feature, Any]:
    """The values of the only row by column: numbers, texts, and dates as text in UTC; NaN if a value is missing."""
    found: dict[Feature, Any] = {}
    if isinstance(data, inputs.Frame):
        for name, stored in zip(data.names, data.columns, strict=True):
            column = columns.of(name)
            kind = columns.kinds.get(str(column))
            if isinstance(stored, inputs.TextColumn | inputs.WordsColumn):
                text = (stored.texts if isinstance(stored, inputs.WordsColumn) else stored).first()
                value: float | str = math.nan if text is None else text
            else:
                value = float((stored.numbers if isinstance(stored, inputs.FlagColumn) else stored)[0])
            if kind not in DATES:
                found[column] = value
            elif name == f"{column}.time" and isinstance(value, float):
                found[column] = date_parts.as_text(value, str(kind))
        return found
    several: dict[Feature, list[Any]] = {}
    for feature, x in entries(data, lambda column, text, ngrams: []):
        column = columns.of(feature)
        several.setdefault(column, []).append(x if column == feature else str(feature)[len(str(column)) + 1 :])
    return {column: own[0] if len(own) == 1 else ", ".join(map(str, own)) for column, own in several.items()}


def _of_linear(row: ModelRow, head: int) -> Explanation:
    """Explain the score of a head of a linear model."""
    reading, options = row.reading, row.reading.options
    linear = reading.terms([head])
    w = linear.weights[:, 0]
    terms, biases = row.terms(linear)
    parts = []
    for (name, slot, value, _), (_, term) in zip(row.parts, terms, strict=True):
        at = linear.entry.get(slot)
        parts.append(FeatureContribution(name, value, 0.0 if at is None else float(w[at]), float(term[0])))
    bias = float(biases[0])
    score = bias + math.fsum(part.contribution for part in parts)
    limited = score
    state = reading.state
    if (options.clip or options.target) and state["label_min"] <= state["label_max"]:
        limited = min(max(score, state["label_min"]), state["label_max"])
    parts.sort(key=_largest_first)
    center = row.reading.offset
    return Explanation([], bias + center, score + center, limited + center, None, features=parts)


def _of_several(row: ModelRow, form: FormReading, head: int, heads: int, offset: float) -> Explanation:
    """Explain the score of a head for a model that is more than one sum, without the row's offset."""
    raw, active = raw_row(form, row.given)
    found = taken_apart(form, raw, active, row, head, heads, offset)
    values: dict[Feature, float] = {}
    for name, _, value, _ in row.parts:
        values[name] = values.get(name, 0.0) + value
    contributions = [
        FeatureContribution(name, values.get(name, math.nan), None, amount)
        for name, amount in found.contributions.items()
        if name in values or amount != 0
    ]
    contributions.sort(key=_largest_first)
    center = row.reading.offset
    score = found.score + center
    return Explanation([], found.base + center, score, score, None, features=contributions)


def _largest_first(part: FeatureContribution) -> tuple[float, str]:
    return -abs(part.contribution), str(part.feature)
