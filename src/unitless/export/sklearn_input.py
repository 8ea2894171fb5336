"""The preprocessing step of an exported scikit-learn estimator: missing values and text become numbers as in the model.

The steps are classes of scikit-learn, fitted on a few rows that are made for this purpose. So they can be loaded
without unitless. They contain the values that replace missing numbers.

A missing number adds nothing to the model's score: the step replaces it by the mean of a centered column, and by 0
otherwise. It also makes the feature column=(missing), if the model has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data.columns.schema import Kind
from ..data.label_values import is_number
from ..errors import OptionError
from ..inputs import MISSING, Float64
from .linear import Linear
from .optional import library
from .table_columns import AS_MATRIX, check_column


@dataclass
class Prepared:
    """The weights of an estimator, and its preprocessing step if it needs one.

    Args:
        weights: by column of the step's output, and by head.
        intercepts: by head.
        names: the names of the user's columns.
        step: a fitted transformer of scikit-learn, or None.
    """

    weights: Float64
    intercepts: Float64
    names: list[Any]
    step: Any = None


def of_matrix(plain: Linear) -> Prepared:
    """Use the model's features as columns. NaN stands for a missing feature."""
    intercepts = plain.intercepts - plain.means @ plain.weights
    if not isinstance(plain.names[0], str):  # the model refuses NaN in arrays, and so does the estimator
        return Prepared(plain.weights, intercepts, plain.names)
    numbers = _Numbers(_Features(plain))
    made = {f"{name}={MISSING}" for name in plain.names}  # the step makes these features where a number is missing
    for name in plain.names:
        if name not in made:
            numbers.add(str(name))
    step = numbers.imputer().fit(numbers.rows)
    step.feature_names_in_ = np.array(numbers.names, dtype=object)
    return Prepared(numbers.weights, intercepts, numbers.names, step)


def of_columns(plain: Linear, columns: list[tuple[str, Kind]], marks: tuple[str, ...]) -> Prepared:
    """Use the columns of the table that the model was trained on.

    Args:
        plain: the model.
        columns: the table's columns, with their types.
        marks: text that stands for a missing value, including empty text.
    """
    features = _Features(plain)
    numbers, texts = _Numbers(features), _Texts(features, marks)
    intercepts = plain.intercepts - plain.means @ plain.weights
    for name, kind in columns:
        check_column(name, kind)
        if kind == "boolean":
            intercepts = intercepts + numbers.add_boolean(name)
        elif kind == "text":
            texts.add(name)
        else:
            numbers.add(name)
    steps = [("numbers", numbers.imputer(), numbers.names)] if numbers.names else []
    steps += [("texts", texts.encoder(), texts.names)] if texts.names else []
    rows = {**dict(zip(numbers.names, numbers.rows.T, strict=True)), **{name: ["", ""] for name in texts.names}}
    frame = library("pandas").DataFrame({name: rows[name] for name, _ in columns})
    whole = library("sklearn.compose").ColumnTransformer(steps).fit(frame)
    weights = np.concatenate([numbers.weights, texts.weights])
    return Prepared(weights, intercepts, [name for name, _ in columns], whole)


class _Features:
    """The weights and means of a model's features, by name."""

    def __init__(self, plain: Linear) -> None:
        self._weights, self._means = plain.weights, plain.means
        self.place = {str(name): k for k, name in enumerate(plain.names)}
        self.nothing = np.zeros(self._weights.shape[1])  # the weight of a feature that the model does not know

    def weight(self, name: str) -> Float64:
        """The weight of a feature, by head."""
        return np.asarray(self._weights[self.place[name]]) if name in self.place else self.nothing

    def mean(self, name: str) -> float:
        """The value that replaces a missing number."""
        return float(self._means[self.place[name]]) if name in self.place else 0.0

    def joined(self, weights: list[Float64]) -> Float64:
        """Stack weights, by feature and head."""
        return np.array(weights).reshape(len(weights), len(self.nothing))


@dataclass
class _Numbers:
    """Columns of numbers, and the features for their missing values."""

    features: _Features
    names: list[str] = field(default_factory=list)
    _means: list[float] = field(default_factory=list)
    _weights: list[Float64] = field(default_factory=list)
    _missing: dict[int, Float64] = field(default_factory=dict)  # by column: the weight of its missing values

    def add(self, name: str) -> None:
        """Add a column of numbers; the model may not know it."""
        missing = f"{name}={MISSING}"
        if missing in self.features.place:
            self._missing[len(self.names)] = self.features.weight(missing)
        self._add(name, self.features.weight(name), self.features.mean(name))

    def add_boolean(self, name: str) -> Float64:
        """Add a column of booleans as 0 and 1; returns the weight of 0, which is part of every score."""
        no, yes, missing = (self.features.weight(f"{name}={value}") for value in ("false", "true", MISSING))
        self._missing[len(self.names)] = missing - no
        self._add(name, yes - no, 0.0)
        return no

    def _add(self, name: str, weight: Float64, mean: float) -> None:
        self.names.append(name)
        self._weights.append(weight)
        self._means.append(mean)

    @property
    def weights(self) -> Float64:
        """The weights of the columns, followed by the weights of their missing-value indicators."""
        return self.features.joined([*self._weights, *(self._missing[column] for column in sorted(self._missing))])

    def imputer(self) -> Any:
        """A transformer that replaces missing numbers by means, and adds indicator columns for them."""
        return library("sklearn.impute").SimpleImputer(strategy="mean", add_indicator=bool(self._missing))

    @property
    def rows(self) -> Float64:
        """Two rows that the step is fitted on: they give the means, and the columns with missing values."""
        rows = np.array([self._means, self._means])
        rows[1, sorted(self._missing)] = np.nan
        return rows


@dataclass
class _Texts:
    """Columns of text, with a feature for each value."""

    features: _Features
    marks: tuple[str, ...]
    names: list[str] = field(default_factory=list)
    _values: list[list[Any]] = field(default_factory=list)
    _weights: list[Float64] = field(default_factory=list)

    def add(self, name: str) -> None:
        """Add a column of text; an unknown value counts as none of its values."""
        head = f"{name}="
        met = [one.removeprefix(head) for one in self.features.place if one.startswith(head)]
        known = sorted(value for value in met if value != MISSING)
        if known and all(map(is_number, known)):
            raise OptionError(
                f"column {name!r} contains numbers as text, which scikit-learn does not recognize if they are numbers",
                advice=AS_MATRIX,
            )
        absent = [*(mark for mark in self.marks if mark not in known), None]
        missing = self.features.weight(f"{head}{MISSING}")
        self.names.append(name)
        self._values.append([*known, *absent])
        self._weights += [*(self.features.weight(head + value) for value in known), *(missing for _ in absent)]

    @property
    def weights(self) -> Float64:
        """The weights of all values of all columns."""
        return self.features.joined(self._weights)

    def encoder(self) -> Any:
        """A transformer with one output column for each value. NaN becomes empty text; pandas.NA raises an error."""
        values = [np.array(some, dtype=object) for some in self._values]
        empty = library("sklearn.impute").SimpleImputer(strategy="constant", fill_value="")
        encoder = library("sklearn.preprocessing").OneHotEncoder(categories=values, handle_unknown="ignore")
        return library("sklearn.pipeline").Pipeline([("missing", empty), ("values", encoder)])
