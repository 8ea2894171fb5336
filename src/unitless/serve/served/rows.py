"""Readers of the features in requests: by name, as rows of the table that a model was trained on, or as lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from ... import inputs
from ...data.columns.policy import Policy
from ...data.columns.row_reader import NamedRowReader
from ...data.columns.schema import SPLIT
from ...errors import InputError
from ...inference.predictor import Predictor
from ...models.learner import Learner
from ...models.one_vs_all import OneVsAll
from ...training.first_row import learn_first_row
from .known_names import ColumnNames, KnownNames

_DATE_PARTS = 8  # largest number of features that a date becomes
_PARTS = 4  # largest number of words, pairs of words or n-grams of a text, per letter


class Rows(Protocol):
    """Reads the features of one kind of model. A score is a number, or an array for several classes."""

    def score(self, features: Any) -> tuple[Any, list[str] | None]:
        """The score of a row, and its names that are unknown to the model (None if it knows all). Changes nothing."""

    def learn(self, features: Any, label: Any, weight: float) -> Any:
        """Learn a row; returns the score from before. A row that is refused changes nothing."""

    def most_names(self, features: Any) -> int:
        """An upper bound of the number of features in a row."""

    def names(self, features: Any) -> Iterable[str]:
        """The names of a row's features."""

    def together(self, features: list[Any]) -> inputs.Input | None:
        """Rows as the input of one call that gives the same bits; None if they must be learned one by one."""

    def learned_elsewhere(self) -> None:
        """Note that the model has learned rows that this object did not read."""


class NamedFeatures:
    """Rows of named features. Text becomes a feature `name=value`; the reader's policy decides what null means.

    Rows go to the core unchanged. Only if the core refuses one does Python look at its values.
    """

    def __init__(self, model: Learner | OneVsAll, reader: NamedRowReader) -> None:
        self.model, self._reader, self.columns = model, reader, reader.texts
        # Bound once: a lookup for each row would cost time.
        self._predict_row: Any = model._predict_features
        self._learn_row: Any = model._learn_features
        self._direct = not reader.as_text and reader.policy.booleans == "indicator"
        self._known = KnownNames(model)

    def score(self, features: dict[str, Any]) -> tuple[Any, list[str] | None]:
        model = self.model
        if self._direct:
            try:
                score = self._predict_row(features)
                return score, None if self._known.has_all(features) else self._known.unknown(features)
            except InputError:  # values other than numbers, or a real error, which is raised again below
                pass
        if self._has_text(features):
            assert self.columns is not None
            features = self.columns.read(features)
        row = self._plain(features)
        score = model._predict_features(row)
        self._direct = False  # later rows will have such values too
        return score, self._known.unknown(row)

    def learn(self, features: dict[str, Any], label: Any, weight: float) -> Any:
        model = self.model
        if self._direct and model.examples:
            try:
                score = self._learn_row(features, label, weight)
                if not self._known.has_all(features):
                    self._known.add(features)
                return score
            except InputError:  # values other than numbers, or a real error, which is raised again below
                pass
        has_text = self._has_text(features)
        seen: list[Any] = []
        if has_text:
            assert self.columns is not None
            features, seen = self.columns.look(features)
        score, row = self._learn(features, label, weight)
        if has_text and weight > 0:
            assert self.columns is not None
            self.columns.take(seen)
        if not self._known.has_all(row):
            self._known.add(row)
        return score

    def _has_text(self, features: dict[str, Any]) -> bool:
        """Whether a row has text that is, or may be, something other than a category, such as a date."""
        columns = self.columns
        if columns is None or features.__class__ is not dict:
            return False
        return (columns.some or str in map(type, features.values())) and not columns.are_plain(features)

    def _learn(self, features: dict[str, Any], label: Any, weight: float) -> tuple[Any, dict[str, Any]]:
        row = self._plain(features)
        if not self.model.examples:
            return learn_first_row(self.model, dict(sorted(row.items())), label, weight), row
        score = self.model._learn_features(row, label, weight)
        self._direct = False  # later rows will have such values too
        return score, row

    def learned_elsewhere(self) -> None:
        self._known.forget()

    def most_names(self, features: Any) -> int:
        return _DATE_PARTS * len(features)

    def names(self, features: Any) -> Iterable[str]:
        if self._has_text(features):
            assert self.columns is not None
            features = self.columns.look(features)[0]
        return self._plain(features)

    def together(self, features: list[Any]) -> inputs.Input | None:
        if not all(row.__class__ is dict for row in features):
            return None
        self._known.forget()
        if self._direct:
            return inputs.NamedRows(features)
        columns = self.columns
        if columns is not None and not columns.are_all_plain(features):
            if not all(map(columns.are_known, features)):
                return None
            features = [columns.read(row) for row in features]
        return inputs.NamedRows([self._plain(row) for row in features])

    def _plain(self, features: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(features, dict):
            raise InputError("the features are a list", advice='this model takes them by name, such as {"age": 31}')
        return self._reader.numbers_and_missing(features)[0]


class TableColumns:
    """Rows of the table that the model was trained on. Text, dates and missing values are read as in training."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor, self._reader = predictor, predictor._rows.reader
        self.learn = predictor._rows.learn_numbered
        self._columns = ColumnNames((*predictor.schema.kinds, *predictor.schema.not_features))

    def score(self, features: dict[str, Any]) -> tuple[Any, list[str] | None]:
        return self.predictor.score_one(features), self._columns.unknown(features)

    def learned_elsewhere(self) -> None:
        pass

    def most_names(self, features: Any) -> int:
        if not isinstance(features, dict):
            return 0  # the reader will refuse the row
        kinds = self.predictor.schema.kinds
        texts = (
            value.lower() for name, value in features.items() if kinds.get(name) in SPLIT and isinstance(value, str)
        )
        return _DATE_PARTS * len(kinds) + _PARTS * sum(map(len, texts))

    def names(self, features: Any) -> Iterable[str]:
        model = self.predictor.model
        data = self._reader.read(features)
        assert isinstance(data, inputs.Frame)
        return data.first_row(model._word_features)

    def together(self, features: list[Any]) -> inputs.Input | None:
        return None


class NumberedColumns:
    """Rows of a model that was trained on arrays: lists of numbers."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor, self.learn = predictor, predictor._rows.learn_numbered

    def score(self, features: Any) -> tuple[Any, list[str] | None]:
        return self.predictor.score_one(features), None

    def learned_elsewhere(self) -> None:
        pass

    def most_names(self, features: Any) -> int:
        return 0  # the columns of the training; none can be added

    def names(self, features: Any) -> Iterable[str]:
        return ()

    def together(self, features: list[Any]) -> inputs.Input | None:
        return None


def rows_of(model: Learner | OneVsAll, missing: str) -> Rows:
    """Make the reader for the features of requests to a model.

    Args:
        model: the model.
        missing: what null means, unless the model's training has decided it.
    """
    if model._training is None:
        policy = Policy("indicator", "indicators", missing, "error")  # type: ignore[arg-type]
        return NamedFeatures(model, NamedRowReader(policy))
    predictor = Predictor(model)
    if predictor.schema.family == "table":
        return TableColumns(predictor)
    if predictor.schema.family == "columns":
        return NumberedColumns(predictor)
    assert isinstance(predictor._rows.reader, NamedRowReader)
    return NamedFeatures(model, predictor._rows.reader)
