"""How the features of requests reach a model: by name, as rows of the table that it was trained on, or as lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from ... import inputs
from ...data.frame_reader import read_mapping
from ...data.policy import Policy
from ...data.row_reader import RowReader
from ...data.text_columns import TextColumns
from ...errors import InputError
from ...inference.predictor import Predictor, numbered
from ...inference.row_learning import RowLearning
from ...models.learner import Learner
from ...models.one_vs_all import OneVsAll
from .known_names import ColumnNames, KnownNames

# The core's own methods, without looking them up for each row.
_learn_one: Any = Learner.learn_one
_predict_one: Any = Learner.predict_one

_DATE_PARTS = 8  # features that a date becomes, at most


class Rows(Protocol):
    """How one kind of model reads features. Scores are a number, of several classes an array."""

    def score(self, features: Any) -> tuple[Any, list[str] | None]:
        """What the model says of a row, and which of its names the model has never seen; changes nothing."""

    def learn(self, features: Any, label: Any, weight: float) -> Any:
        """The same, and then learns the row; nothing is changed if it is refused."""

    def most_names(self, features: Any) -> int:
        """How many features a row has at most."""

    def names(self, features: Any) -> Iterable[str]:
        """The names of a row's features."""

    def together(self, features: list[Any]) -> inputs.Input | None:
        """Rows as they can be learned in one call, with the same bits; None if they are learned one by one."""

    def learned_elsewhere(self) -> None:
        """The model has learned rows that were read by others."""


class NamedFeatures:
    """Rows of named features. Text becomes a feature `name=value`, and null is what `policy` says.

    Rows go to the core as they are; only where it refuses one are the values looked at here.
    """

    def __init__(
        self,
        model: Learner | OneVsAll,
        policy: Policy,
        as_text: tuple[str, ...] = (),
        columns: TextColumns | None = None,
    ) -> None:
        self.model, self._policy, self._as_text, self.columns = model, policy, as_text, columns
        self._several = isinstance(model, OneVsAll)
        self._direct = not as_text and policy.booleans == "indicator"
        self._known = KnownNames(model)

    def score(self, features: dict[str, Any]) -> tuple[Any, list[str] | None]:
        model = self.model
        if self._direct:
            try:
                score = model.predict_one(features) if self._several else _predict_one(model, features)
                return score, None if self._known.has_all(features) else self._known.unknown(features)
            except InputError:  # it has other values than numbers, or the error is explained below
                pass
        if self._has_text(features):
            assert self.columns is not None
            features = self.columns.read(features)
        row = self._plain(features)
        score = model.predict_one(row)
        self._direct = False  # others will have such values too
        return score, self._known.unknown(row)

    def learn(self, features: dict[str, Any], label: Any, weight: float) -> Any:
        model = self.model
        if self._direct and model.examples:
            try:
                learn: Any = type(model).learn_one if self._several else _learn_one
                score = learn(model, features, label, weight)
                if not self._known.has_all(features):
                    self._known.add(features)
                return score
            except InputError:  # as above
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
        """Whether there is text that is, or may be, something else than the name of a category."""
        columns = self.columns
        if columns is None or features.__class__ is not dict:
            return False
        return (columns.some or str in map(type, features.values())) and not columns.are_plain(features)

    def _learn(self, features: dict[str, Any], label: Any, weight: float) -> tuple[Any, dict[str, Any]]:
        row = self._plain(features)
        if not self.model.examples:
            return self._learn_first(row, label, weight), row
        score = self.model.learn_one(row, label, weight)
        self._direct = False  # others will have such values too
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
            if not all(map(columns.are_decided, features)):
                return None
            features = [columns.read(row) for row in features]
        return inputs.NamedRows([self._plain(row) for row in features])

    def _plain(self, features: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(features, dict):
            raise InputError("the features are a list", advice='this model takes them by name, such as {"age": 31}')
        return read_mapping(features, self._policy, self._as_text)[0]

    def _learn_first(self, row: dict[str, Any], label: Any, weight: float) -> Any:
        """The first row numbers the columns, so that the order of its names must not matter; its numbers are columns,
        which can be centered.
        """
        row = dict(sorted(row.items()))
        if not self.model.options.center:
            return self.model.learn_one(row, label, weight)
        self.model.predict_one(row)  # refuses a bad row in the same words as later
        columns: list[inputs.FrameColumn] = []
        for value in row.values():
            column = np.array([float(value)])
            columns.append(inputs.FlagColumn(column) if isinstance(value, bool) else column)
        return _plain(self.model.learn(inputs.Frame(list(row), columns, 1), [label], [weight])[0])


class TableColumns:
    """Rows of the table that the model was trained on: text, dates and missing values are read as in training."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor, self.learn = predictor, RowLearning(predictor).learn
        self._reader = RowReader(predictor.model._training or {})
        self._columns = ColumnNames((*predictor.schema.kinds, *predictor.schema.beside))

    def score(self, features: dict[str, Any]) -> tuple[Any, list[str] | None]:
        return self.predictor.score_one(features), self._columns.unknown(features)

    def learned_elsewhere(self) -> None:
        pass

    def most_names(self, features: Any) -> int:
        if not isinstance(features, dict):
            return 0  # refused later
        kinds = self._reader.schema.kinds
        texts = (value for name, value in features.items() if kinds.get(name) == "words" and isinstance(value, str))
        return _DATE_PARTS * len(kinds) + sum(map(len, texts))  # words and pairs of words: fewer than letters

    def names(self, features: Any) -> Iterable[str]:
        model = self.predictor.model
        return map(str, self._reader.features(features, model._word_features))

    def together(self, features: list[Any]) -> inputs.Input | None:
        return None


class NumberedColumns:
    """Rows of a model that was trained on arrays: lists of numbers."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor, self.model = predictor, predictor.model

    def score(self, features: Any) -> tuple[Any, list[str] | None]:
        return self.predictor.score_one(features), None

    def learned_elsewhere(self) -> None:
        pass

    def most_names(self, features: Any) -> int:
        return 0  # it has the columns of its training

    def names(self, features: Any) -> Iterable[str]:
        return ()

    def learn(self, features: Any, label: Any, weight: float) -> Any:
        return _plain(self.model.learn(numbered(features), [label], [weight])[0])

    def together(self, features: list[Any]) -> inputs.Input | None:
        return None


def _plain(score: Any) -> Any:
    """A single score as Python's own number."""
    return score if np.ndim(score) else float(score)


def rows_of(model: Learner | OneVsAll, missing: str) -> Rows:
    """How the features of requests to a model are read.

    Args:
        model: which.
        missing: what null is, where the model's training does not say it.
    """
    if model._training is None:
        return NamedFeatures(model, Policy("indicator", "indicators", missing, "error"))  # type: ignore[arg-type]
    predictor = Predictor(model)
    if predictor.schema.family == "table":
        return TableColumns(predictor)
    if predictor.schema.family == "columns":
        return NumberedColumns(predictor)
    return NamedFeatures(model, predictor.policy, predictor._settled.text, predictor.columns)
