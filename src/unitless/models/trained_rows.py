"""The rows and labels of a model that `train` made, read as its training data was: the one way for all callers.

The model itself, a `Predictor` and a server learn and predict with it.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inputs
from ..data import Reader, ReadOptions, Schema, Target, open_source
from ..data.columns.row_reader import RowReader, row_reader
from ..data.columns.schema import TEXTS
from ..data.columns.table_row import row_offset
from ..data.fitting import fitting_source
from ..data.labels import checked_labels
from ..data.sources.in_memory import is_frame
from ..data.sources.located_rows import Place
from ..errors import Error, InputError
from ..inputs import Float64

if TYPE_CHECKING:
    from .classes import Label
    from .model import Model

_NOWHERE = Place("", "row", 0)


class TrainedRows:
    """Reads the rows and labels of a model that `train` made, and learns and predicts single rows. It does not keep the
    model alive.

    Args:
        training: the model's record of its training.
        model: the model.

    Example:
        >>> import unitless as ul
        >>> people = [{"age": 20 + i % 50, "job": "pilot" if i % 3 else "cook"} for i in range(300)]
        >>> result = ul.train([{**one, "rich": "yes" if one["job"] == "pilot" else "no"} for one in people], "rich")
        >>> score = result.model.learn_one({"age": 31, "job": "pilot"}, "yes")  # made before the row was learned
        >>> score == result.model.predict_one({"age": 31, "job": "pilot"})
        False
    """

    def __init__(self, training: Mapping[str, Any], model: Model) -> None:
        self.schema, self.target = Schema.read(training["schema"]), Target.read(training["target"])
        self.options = ReadOptions.settled(training["reading"])
        self.reader: RowReader = row_reader(self.schema, self.options, training["reading"])
        self._model = weakref.ref(model)
        self._several = model.task == "classes"
        self._kinds, self._names = self.schema.kinds, {*self.schema.kinds, *self.schema.not_features}
        self._direct, self._has_offset = self.reader.direct, self.schema.offset is not None
        self._known: dict[tuple[type, Any], float] = {}  # labels of two classes that were read before

    @property
    def model(self) -> Model:
        """The model."""
        model = self._model()
        assert model is not None  # it is the one that asks
        return model

    # ---------------------------------------------------------------------------------------------------- many rows

    def read(self, X: Any) -> tuple[inputs.Input, Float64 | None]:
        """A frame, or a list of mappings, as the core reads it, and the offsets of its rows, if they have any."""
        source = fitting_source(open_source(X, self.options), self.schema, self.options, whole=True)
        for batch in Reader(source, self.options, self.schema, target_needed=False).batches():
            return batch.data, batch.offset
        return inputs.NamedRows([]), None

    def numbers(self, y: Any, rows: int) -> Float64:
        """The labels of one number or of two classes, as the core takes them."""
        return self.target.numbers_of(y, rows)

    def class_numbers(self, y: Any, rows: int, weight: Any) -> tuple[Float64, list[Label]]:
        """The labels of several classes, as the core takes them, and the classes that are new."""
        found = checked_labels(y, rows)
        weights = None if weight is None else inputs.vector(weight, "weight", rows)
        return self.model._class_numbers(found, _NOWHERE, weights)

    # ------------------------------------------------------------------------------------------------------ one row

    def predict(self, row: Any, offset: float = 0.0, extrapolate: bool = False) -> Any:
        """The score of one row; of several classes, an array with one score for each."""
        model: Any = self._model()
        if self._has_offset and offset == 0:
            offset = self.offset(row)
        if self._direct is not None:  # most rows: the core reads them by itself
            score = (
                model._predict_row_wide(self._direct, row, extrapolate)
                if self._several
                else model._predict_row(self._direct, row, extrapolate, offset)
            )
            if score is not None:
                return score
        if (plain := self.reader.plain(row)) is not None:
            score = (
                model._predict_row_wide(self.reader.columns, plain, extrapolate)
                if self._several
                else model._predict_row(self.reader.columns, plain, extrapolate, offset)
            )
            if score is not None:
                return score
        data = self.read_one(row)
        try:
            scores = model._ask(data, extrapolate, None if offset == 0 else np.full(data.rows, offset))
        except Error as error:
            raise error.at(row=None) from None
        return scores if self._several else float(scores[0])

    def learn(self, row: Any, label: Any, weight: float = 1.0, offset: float = 0.0) -> Any:
        """Learn one row; returns the score that was made before. A row that is refused changes nothing.

        Args:
            row: a mapping of columns to values, a Series, a frame of one row; for a model of arrays a list of numbers.
            label: the label as the data had it; see `Target.numbers_of`.
            weight: how many rows it counts for.
            offset: what is added to the score. Default: the row's own offset, if the model was trained with a column.
        """
        try:
            if not self._several:
                return self._learned(row, self._number(label), weight, offset)
            model = self.model
            with model._locked():  # what the core and the model know of the classes changes together
                numbers, new = self.class_numbers([label], 1, [weight])
                with model._joining(new):
                    return self._learned(row, max(0.0, float(numbers[0])), weight, offset, len(new))
        except Error as error:
            raise error.at(row=None) from None

    def learn_numbered(self, row: Any, label: Any, weight: float) -> Any:
        """Learn one row whose label is already as the model takes it: a number, of several classes the class."""
        try:
            if not self._several:
                return self._learned(row, label, weight)
            model = self.model
            with model._locked():
                number, new = model._class_number(label, weight)
                with model._joining(new):
                    return self._learned(row, number, weight, new_classes=len(new))
        except Error as error:
            raise error.at(row=None) from None

    def _learned(self, row: Any, number: Any, weight: float, offset: float = 0.0, new_classes: int = 0) -> Any:
        """Learn one row; its label is the number that the core takes."""
        model: Any = self._model()
        if self._has_offset and offset == 0:
            offset = self.offset(row)
        if self._direct is not None:  # most rows: the core reads them by itself
            score = (
                model._learn_row_wide(self._direct, row, number, weight, new_classes)
                if self._several
                else model._learn_row(self._direct, row, number, weight, offset)
            )
            if score is not None:
                return score
        if (plain := self.reader.plain(row)) is not None:
            score = (
                model._learn_row_wide(self.reader.columns, plain, number, weight, new_classes)
                if self._several
                else model._learn_row(self.reader.columns, plain, number, weight, offset)
            )
            if score is not None:
                return score
        data, labels = self.read_one(row), inputs.vector([number], "y", 1)
        scores = model._feed(data, labels, [weight], new_classes, offset=None if offset == 0 else [offset])
        return scores if self._several else float(scores[0])

    def offset(self, row: Any) -> float:
        """The offset of one row, if the model was trained with a column of them; otherwise 0."""
        if self.schema.offset is None:
            return 0.0
        if is_frame(row):
            offsets = self.read(row)[1]
            return 0.0 if offsets is None else float(offsets[0])
        return row_offset(row, self.schema)

    def by_column(self, row: Any) -> Any:
        """A row of a table whose features may be given by name, such as `job=pilot`, as values of its columns."""
        if self.schema.family != "table" or not isinstance(row, Mapping) or row.keys() <= self._names:
            return row
        found: dict[Any, Any] = {}
        for name, value in row.items():
            column, mark, text = str(name).partition("=")
            if name in self._names or not mark or self._kinds.get(column) not in TEXTS or not value:
                found[name] = value
            elif row.get(column) is None and text != inputs.MISSING:
                found[column] = text == "true" if self._kinds[column] == "boolean" else text
        return found

    def read_one(self, row: Any) -> inputs.Input:
        """One row as the core takes it, with all the care that there is."""
        if not is_frame(row):
            return self.reader.read(row)
        data, _ = self.read(row)
        if data.rows != 1:
            raise InputError(f"the frame has {data.rows:,} rows; it must have one")
        return data

    def _number(self, label: Any) -> float:
        """The label of one row as the core takes it."""
        if self.target.task == "regression":
            if type(label) in (float, int) and math.isfinite(label):
                return float(label)
            return float(self.numbers([label], 1)[0])
        try:
            return self._known[label.__class__, label]
        except (KeyError, TypeError):
            number = float(self.numbers([label], 1)[0])
        if isinstance(label, str | int | float) and len(self._known) < 100:
            self._known[label.__class__, label] = number
        return number
