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
from ..models.by_feature import StateReading
from ..models.classes import Label
from ..models.form_reading import FormReading
from ..models.learner import Learner
from ..models.model import Feature
from ..models.one_vs_all import OneVsAll
from ..models.terms import Terms
from ..presentation import html, shown
from .nonlinear_explanation import raw_row, taken_apart
from .predictor import Predictor, places

_WORD = 2**64 - 1
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
        if self.unknown:
            names = ", ".join(shown.short(repr(name), 40) for name in self.unknown[:8])
            lines.append(f"not known to the model, and ignored: {names}{', ...' if len(self.unknown) > 8 else ''}")
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
    taken = _Row(reading, batch.data, model._word_features, columns)
    if model._adds_up():
        explanation = taken.explained(head)
    else:
        explanation = taken.mixed(model._form_reading(), head, len(scores), offset)
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


def entries(data: inputs.Input, word_features: inputs.WordFeatures) -> list[tuple[Feature, float]]:
    """The features of the only row; `word_features` as for `inputs.Frame.first_row`."""
    if isinstance(data, inputs.Dense):
        return [(j, float(x)) for j, x in enumerate(data.array[0])]
    if isinstance(data, inputs.Compressed):
        return [(int(j), float(x)) for j, x in zip(data.indices, data.values, strict=True)]
    if isinstance(data, inputs.NamedRows):
        return [(str(name), float(x)) for name, x in data.mappings[0].items()]
    if isinstance(data, inputs.TextRows):
        names = data.read.names
        return [(names[i], float(x)) for i, x in zip(data.read.ids, data.read.values, strict=True)]
    return list(data.first_row(word_features).items())


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


# ----------------------------------------------------------------------------------------------------- the model's view


class _Row:
    """A row as the core uses it: centered values, products, and slots."""

    def __init__(
        self,
        reading: StateReading,
        data: inputs.Input,
        word_features: inputs.WordFeatures,
        columns: FeatureColumns,
    ) -> None:
        self._columns = columns
        self._factors: dict[Feature, tuple[Feature, Feature]] = {}  # the columns of the factors of each product
        self._reading, self._options = reading, reading.options
        state = reading.state
        self._numbers = {name: k for k, name in enumerate(state["names"] or (), 1)}
        kinds = zip(state["center_features"].tolist(), state["center_kinds"].tolist(), strict=True)
        means = state["center_means"].reshape(-1, 2).tolist()
        self._center = {feature: mean for (feature, kind), mean in zip(kinds, means, strict=True) if kind}
        self.unknown: list[str] = []
        self.centered = False
        self._parts: list[tuple[Feature, int, float, float]] = []  # feature, slot, value, value as the model uses it
        self._given: list[tuple[Feature, int, float]] = []  # feature, number, value
        seen: dict[int, float] = {}
        given: dict[int, list[Feature]] = {}
        for name, x in entries(data, word_features):
            number = self._number(name)
            if number is None:
                self.unknown.append(str(name))
                continue
            self.centered |= number in self._center
            z = self._centered(number, x)
            self._given.append((name, number, x))
            self._parts.append((name, reading.slot(number), x, z))
            seen[number] = seen.get(number, 0.0) + z
            given.setdefault(number, []).append(name)
        if self._options.interactions is not None:
            self._multiply({number: x for number, x in seen.items() if x != 0}, given)

    def _number(self, name: Feature) -> int | None:
        bits, columns = self._options.bits, self._reading.state["columns"]
        if bits is not None:
            return 1 + ((name if isinstance(name, int) else _hash(name)) & ((1 << bits) - 1))
        if isinstance(name, int):
            return 1 + name if columns is not None and name < columns else None
        return self._numbers.get(name)

    def _centered(self, number: int, x: float) -> float:
        if number not in self._center:
            return x
        mean, mass = self._center[number]
        return (x - mean) - (x - mean) * (1.0 / (mass + 1.0))

    def _multiply(self, seen: dict[int, float], given: dict[int, list[Feature]]) -> None:
        """Add products of features that are not zero."""
        reading = self._reading
        if self._options.bits is None:
            named = dict(zip(reading.state["slots"].tolist(), reading.features, strict=True))
            for slot, (left, right) in reading.products.items():
                if left in seen and right in seen and slot in named:
                    x = seen[left] * seen[right]
                    self._parts.append((named[slot], slot, x, x))
                    self._factors[named[slot]] = self._pair(given[left][0], given[right][0])
            return
        mask = 2**self._options.bits - 1
        numbers = sorted(seen)
        for j, right in enumerate(numbers):
            for left in numbers[: j + 1]:
                if not self._wanted(given[left], given[right]):
                    continue
                both = self._options.interactions == "ordered" and left != right
                for a, b in ((left, right), (right, left)) if both else ((left, right),):
                    x = seen[a] * seen[b]
                    product = f"{given[a][0]}*{given[b][0]}"
                    self._parts.append((product, 1 + (_hash_pair(a, b) & mask), x, x))
                    self._factors[product] = self._pair(given[a][0], given[b][0])

    def _pair(self, left: Feature, right: Feature) -> tuple[Feature, Feature]:
        return self._columns.of(left), self._columns.of(right)

    def columns_of(self, feature: Feature) -> tuple[Feature, ...]:
        """The column that a feature was made of; for a product, the column of each factor."""
        return self._factors.get(feature) or (self._columns.of(feature),)

    def _wanted(self, left: list[Feature], right: list[Feature]) -> bool:
        pairs = self._options.interactions
        if not isinstance(pairs, tuple):
            return True
        return any(
            (_matches(a, left) and _matches(b, right)) or (_matches(a, right) and _matches(b, left)) for a, b in pairs
        )

    def explained(self, head: int) -> Explanation:
        """Explain the score of a head."""
        reading, options = self._reading, self._options
        linear = reading.terms([head])
        w = linear.weights[:, 0]
        terms, biases = self.terms(linear)
        parts = []
        for (name, slot, value, _), (_, term) in zip(self._parts, terms, strict=True):
            at = linear.entry.get(slot)
            parts.append(FeatureContribution(name, value, 0.0 if at is None else float(w[at]), float(term[0])))
        bias = float(biases[0])
        score = bias + math.fsum(part.contribution for part in parts)
        limited = score
        state = reading.state
        if (options.clip or options.target) and state["label_min"] <= state["label_max"]:
            limited = min(max(score, state["label_min"]), state["label_max"])
        parts.sort(key=_largest_first)
        center = self._target_center()
        return Explanation([], bias + center, score + center, limited + center, None, features=parts)

    def mixed(self, form: FormReading, head: int, heads: int, offset: float) -> Explanation:
        """Explain the score of a head for a model that is more than one sum, without the row's offset."""
        raw, active = raw_row(form, self._given)
        found = taken_apart(form, raw, active, self, head, heads, offset)
        values: dict[Feature, float] = {}
        for name, _, value, _ in self._parts:
            values[name] = values.get(name, 0.0) + value
        contributions = [
            FeatureContribution(name, values.get(name, math.nan), None, amount)
            for name, amount in found.contributions.items()
            if name in values or amount != 0
        ]
        contributions.sort(key=_largest_first)
        center = self._target_center()
        score = found.score + center
        return Explanation([], found.base + center, score, score, None, features=contributions)

    def terms(self, of: Terms) -> tuple[list[tuple[Feature, Float64]], Float64]:
        """The contribution of each feature of the row, and of the bias, by head."""
        total = self._values()
        nothing = np.zeros(of.v.shape[1])
        terms = []
        for name, slot, _, x in self._parts:
            at = of.entry.get(slot)
            if at is None:  # the feature has always been zero
                terms.append((name, nothing))
                continue
            share = x / total[slot] if total[slot] != 0 else 0.0  # two names may share a slot
            terms.append((name, of.v[at] * of.seen(at, total[slot]) * share))
        at = of.entry.get(0) if self._options.bias else None
        return terms, nothing if at is None else of.v[at] * of.seen(at, 1.0)

    def term(self, number: int, x: float, of: Terms) -> Float64:
        """The contribution of a feature, given by its number, if its value were x, by head."""
        at = of.entry.get(self._reading.slot(number))
        if at is None:
            return np.zeros(of.v.shape[1])
        return np.asarray(of.v[at] * of.seen(at, self._centered(number, x)))

    def certainty(self, of: Terms) -> float:
        """The factor of the sum of the terms, which depends on its variance."""
        return of.certainty({**self._values(), **({0: 1.0} if self._options.bias else {})})

    def _values(self) -> dict[int, float]:
        """The row's values by slot."""
        total: dict[int, float] = {}
        for _, slot, _, x in self._parts:
            total[slot] = total.get(slot, 0.0) + x
        return total

    def _target_center(self) -> float:
        """The center of the labels, if the model learns it."""
        target = self._reading.state["target"]
        return float(target[1]) if self._options.target and target[0] else 0.0


def _largest_first(part: FeatureContribution) -> tuple[float, str]:
    return -abs(part.contribution), str(part.feature)


def _matches(side: Any, names: list[Feature]) -> bool:
    members = side if isinstance(side, tuple) else (side,)
    return any(
        name == member
        or (isinstance(member, str) and isinstance(name, str) and member.endswith("*") and name.startswith(member[:-1]))
        for member in members
        for name in names
    )


def _hash(name: str) -> int:
    """Hash a name like the core: 64-bit FNV-1a, then mixed."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & _WORD
    h = ((h ^ (h >> 33)) * 0xFF51AFD7ED558CCD) & _WORD
    h = ((h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53) & _WORD
    return h ^ (h >> 33)


def _hash_pair(left: int, right: int) -> int:
    """Hash a product of features like the core."""
    h = ((left << 32 | right) * 0x9E3779B97F4A7C15) & _WORD
    h = ((h ^ (h >> 32)) * 0xD6E8FEB86659FD93) & _WORD
    return (h ^ (h >> 29)) & 0xFFFFFFFF
