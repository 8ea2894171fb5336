"""The common base of the baselines: several learners that read the same rows, each in its own lane."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import inputs
from ...errors import InputError, OptionError
from ...inputs import Float64


def hyperparameter(value: Any, name: str) -> Float64:
    """Check that a hyperparameter is a positive number, or a list of them: one learner for each."""
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{name} is {value!r}; it must be a number or a list of numbers") from None
    if numbers.ndim > 1 or numbers.size == 0:
        raise OptionError(f"{name} has the shape {numbers.shape}; it must be a number or a list of numbers")
    if not np.all(np.isfinite(numbers) & (numbers > 0)):
        raise OptionError(f"{name} is {value!r}; it must be above 0 and finite")
    return numbers


class Baseline(abc.ABC):
    """Online learners over dense rows, one for each hyperparameter value and each class, in one pass.

    A hyperparameter may be one number or a list. With a list there is a learner for each value, and predictions have an
    axis for the values. With `classes` there is a learner for each class 0 … classes − 1 against all others, and
    predictions have a last axis for the classes: the largest is the predicted class. Otherwise a prediction is a
    number.

    There is no intercept: add a column of ones. Learners do not influence each other: if one diverges, its predictions
    are NaN from then on, and the others continue.
    """

    unit_free: bool
    """Whether predictions stay the same when each feature is multiplied by a positive number of its own."""

    binary: bool = True
    """Whether the label is one of two classes, written −1 and 1, 0 and 1, or as booleans."""

    def __init__(self, classes: int | None, **hyperparameters: Float64) -> None:
        if classes is not None and (not isinstance(classes, int) or classes < 2):
            raise OptionError(f"classes is {classes!r}; it must be a number of at least 2, or None")
        try:
            values = dict(zip(hyperparameters, np.broadcast_arrays(*hyperparameters.values()), strict=True))
        except ValueError:
            sizes = ", ".join(f"{len(value)} of {name}" for name, value in hyperparameters.items() if value.ndim)
            raise OptionError(f"there are {sizes}; lists of hyperparameters must be equally long") from None
        shape = next(iter(values.values())).shape
        self.classes = classes
        self.shape: tuple[int, ...] = shape if classes is None else (*shape, classes)
        """The shape of one row's predictions."""
        self.columns: int | None = None
        """The number of features; None before the first row."""
        self._lane_values = {name: np.repeat(np.ravel(value), classes or 1) for name, value in values.items()}
        self._lanes = int(np.prod(self.shape))
        self._all = np.arange(self._lanes)

    def learn(self, x: Any, y: Any) -> Any:
        """Learn one row; returns the predictions made before."""
        return self._shaped(self.run(self._row(x), [y])[0])

    def predict(self, x: Any) -> Any:
        """Predict one row; changes nothing."""
        row = self._matrix(self._row(x))[0]
        if self.columns is None:
            return self._shaped(np.zeros(self._lanes))
        with np.errstate(all="ignore"):
            return self._shaped(self._predict(row))

    def run(self, X: Any, y: Any) -> Float64:
        """Learn rows in order; returns the predictions made before each row, one row of predictions for each.

        If any row is invalid, nothing is learned.
        """
        rows = self._matrix(X)
        targets = self._targets(y, len(rows))
        if self.columns is None:
            self.columns = rows.shape[1]
            self._begin(self.columns)
        predictions = np.empty((len(rows), self._lanes))
        with np.errstate(all="ignore"):
            for place, x in enumerate(rows):
                predictions[place] = self._learn(x, targets[place])
        return predictions.reshape(len(rows), *self.shape)

    # ------------------------------------------------------------------------------------- implemented by each
    # algorithm

    @abc.abstractmethod
    def _begin(self, columns: int) -> None:
        """Initialize the state before the first row."""

    @abc.abstractmethod
    def _predict(self, x: Float64) -> Float64:
        """The prediction of each lane."""

    @abc.abstractmethod
    def _learn(self, x: Float64, y: Float64) -> Float64:
        """The prediction of each lane, followed by its update; y is the label of each lane."""

    def _shaped(self, predictions: Float64) -> Any:
        return predictions.reshape(self.shape) if self.shape else float(predictions.reshape(()))

    # -------------------------------------------------------------------------------------------------- checks of
    # inputs

    def _row(self, x: Any) -> NDArray[Any]:
        row = inputs.as_array(x, "x")
        if row.ndim != 1:
            raise InputError(f"x has {row.ndim} dimensions; it must be one row of numbers")
        return row[None]

    def _matrix(self, X: Any) -> Float64:
        dense = inputs.read(X)
        if not isinstance(dense, inputs.Dense):
            raise InputError("X must be a dense 2-D array of numbers")
        rows = np.ascontiguousarray(dense.array, dtype=np.float64)
        if self.columns is not None and rows.shape[1] != self.columns:
            raise InputError(f"X has {rows.shape[1]} columns, but the rows before had {self.columns}")
        bad = np.argwhere(~np.isfinite(rows))
        if len(bad):
            row, column = bad[0]
            raise InputError(f"X has {rows[row, column]} at row {row}, column {column}; it must be all finite")
        return rows

    def _targets(self, y: Any, rows: int) -> Float64:
        """The label of each row for each lane."""
        labels = inputs.vector(y, "y", rows)
        if self.classes is not None:
            wrong = np.flatnonzero(~np.isin(labels, np.arange(self.classes)))
            if len(wrong):
                raise InputError(f"y has {labels[wrong[0]]:g} at row {wrong[0]}; a class is 0 to {self.classes - 1}")
            marks = np.where(labels[:, None] == np.arange(self.classes), 1.0, -1.0)
            return np.tile(marks, self._lanes // self.classes)
        if self.binary:
            wrong = np.flatnonzero(~np.isin(labels, (-1, 0, 1)))
            if len(wrong):
                raise InputError(f"y has {labels[wrong[0]]:g} at row {wrong[0]}; it must be -1 and 1, or 0 and 1")
            labels = np.where(labels > 0, 1.0, -1.0)
        elif not np.all(np.isfinite(labels)):
            raise InputError(f"y is not finite at row {np.flatnonzero(~np.isfinite(labels))[0]}")
        return np.repeat(labels[:, None], self._lanes, axis=1)
