"""Read X: checked by scikit-learn, converted to the core's input.

Arrays and sparse matrices have columns by number. `fit` reads a frame as `train` does: it infers the column types
(numbers, categories, dates, words, identifiers) from the content, and reads later frames with the same types. With
`infer_columns=False`, and for a model that begins with `partial_fit`, which must not depend on the division of rows
into calls, the types of the frame decide: numbers are used as they are, booleans are 0 and 1 and never centered,
dates become their parts, and text and categories become a feature for each value, `column=value`. A column without
any value so far has no type yet. A missing value of a frame or an array is a feature too, `column=(missing)`.
Features that have names need columns that have names: from the first missing value on, the columns of an array are
named by their numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

from .. import inputs
from ..data import Batch, ReadOptions, Schema
from ..data.columns import frame_reader, table_schema
from ..data.columns.policy import Policy
from ..data.columns.schema import VALUE
from ..data.labels import RawLabels
from ..data.reader import frame_batch
from ..data.rows.content import content_hashes
from ..data.rows.kin import Kin
from ..data.rows.random_order import Order
from ..data.sources import in_memory as memory
from ..data.sources.located_rows import Place
from ..data.threads import prefetched
from ..errors import InputError
from ..inputs import Float64
from ..models.numbered_columns import column_names

Rows: TypeAlias = inputs.Dense | inputs.Compressed | inputs.Frame

# Rows that are permuted at a time: few enough for the cache, many enough to be fast.
CHUNK = 16_384

POLICY = Policy(booleans="indicator", text="indicators", missing="indicator", dates="parts")

# The core checks every value anyway, and reports the position of an invalid one.
_CHECKS = {"accept_sparse": "csr", "ensure_all_finite": False}


def read(estimator: Any, X: Any, first: bool = False, infer: bool = False, y: Any = None) -> Rows:
    """Read X for an estimator.

    Args:
        estimator: the estimator, which stores the column types.
        X: the rows.
        first: whether these rows decide the column types; otherwise they must have the same columns.
        infer: whether the types are inferred from the content of a frame's columns, instead of their declared types.
        y: the labels of the rows, for inferring the types.
    """
    if first:
        estimator._column_record = None
    if memory.is_frame(X):
        frame_reader.check_names([str(name) for name in (X.column_names if hasattr(X, "column_names") else X.columns)])
        validate_data(estimator, X, reset=first, skip_check_array=True)
        if hasattr(estimator, "feature_names_in_"):
            if not X.shape[0]:
                raise InputError("X has 0 rows; it must have at least one")
            if first and infer:
                options = ReadOptions()
                table = memory.Frames(X).as_table()
                schema = table_schema.infer_schema(table, options, "X", target_needed=False, labels=y)
                estimator._column_record = {"schema": schema.plain(), "reading": options.kept("table")}
            return _typed(estimator, X, first) if estimator._column_record is None else _inferred(estimator, X)
        return _matrix(estimator, check_array(X, estimator=estimator, input_name="X", **_CHECKS), first)
    by_name = not first and hasattr(estimator, "feature_names_in_")
    checked = validate_data(estimator, X, reset=first, **{**_CHECKS, "accept_sparse": False if by_name else "csr"})
    if not by_name:
        return _matrix(estimator, checked, first)
    for name in estimator._text_columns:
        raise InputError(f"column {name!r} was text when the model was fitted; give X as a frame with that column")
    return _named(estimator.feature_names_in_.tolist(), _dense(checked))


class RandomRows:
    """Rows of data in memory, in random order.

    Args:
        data: all rows.
        labels: their labels.
        weight: their weights, or None.
        order: the row numbers in the order in which they are learned.
    """

    def __init__(self, data: Rows, labels: RawLabels, weight: Float64 | None, order: NDArray[np.intp]) -> None:
        self._data, self._labels, self._weight, self._order = data, labels, weight, order
        self.learned, self.held = len(order), 0  # how many rows are learned, and how many are held out

    @classmethod
    def shuffled(
        cls, data: Rows, labels: RawLabels, weight: Float64 | None, seed: int, held: Callable[[int], int]
    ) -> RandomRows:
        """Bring the rows whose weight is not zero into the random order of `train`.

        Args:
            data: all rows.
            labels: their labels.
            weight: their weights, or None.
            seed: the random seed.
            held: returns how many of a number of rows are held out.
        """
        numbers = np.arange(data.rows) if weight is None else np.flatnonzero(weight)  # rows of weight 0 are ignored
        kin = Kin()
        kin.add(lambda: content_hashes(data, labels)[numbers], None, len(numbers))
        found = kin.held(seed, held(len(numbers)))
        rows = cls(data, labels, weight, numbers[Order(seed, len(numbers), found.parts)[: len(numbers)]])
        rows.learned, rows.held = len(numbers) - found.count - found.aside, found.count
        return rows

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self._order)

    def batches(self, first: int = 0, last: int | None = None) -> Iterator[Batch]:
        """Return batches of the rows from `first` up to `last`. If there are several, another thread collects them."""
        order = self._order[first:last]
        if len(order) <= CHUNK:
            return self._batches(order)
        return prefetched(lambda: self._batches(order))

    def _batches(self, order: NDArray[np.intp]) -> Iterator[Batch]:
        for start in range(0, len(order), CHUNK):
            chosen = order[start : start + CHUNK]
            weight = None if self._weight is None else self._weight[chosen]
            data, labels = inputs.pick(self._data, chosen), self._labels.take(chosen)
            yield Batch(data, len(chosen), labels, weight, Place("", "row", 0, chosen))


def has_numbered_names(estimator: Any, rows: Rows) -> bool:
    """Whether the columns of an array are named by their numbers."""
    return isinstance(rows, inputs.Frame) and not hasattr(estimator, "feature_names_in_")


def text_columns(estimator: Any, rows: Rows) -> list[str]:
    """The columns of a frame that are not plain numbers: text, dates, and ignored columns."""
    if not isinstance(rows, inputs.Frame):
        return []
    found = frame_reader.text_columns(rows)
    names = getattr(estimator, "feature_names_in_", None)
    return found if names is None else [name for name in names.tolist() if name in found or name not in rows.names]


def empty_columns(estimator: Any, rows: Rows) -> list[str]:
    """The columns of a frame without any value, if its declared types are used: they have no type yet."""
    if not isinstance(rows, inputs.Frame) or estimator._column_record is not None:
        return []
    return [name for name, column in zip(rows.names, rows.columns, strict=True) if _is_empty(column)]


def _inferred(estimator: Any, X: Any) -> Rows:
    """Read a frame with the column types that were inferred when the model was fitted."""
    schema = Schema.read(estimator._column_record["schema"])
    batch = frame_batch(X, schema, ReadOptions.settled(estimator._column_record["reading"]))
    for name, invalid in batch.invalid_values.items():
        one = invalid.count == 1
        values = "1 value that is" if one else f"{invalid.count:,} values that are"
        warnings.warn(
            f"column {name!r} has {values} not {VALUE[schema.kinds[name]]} and count{'s' * one} as missing; the first "
            f"is {invalid.value!r} at row {invalid.row}",
            stacklevel=5,
        )
    assert isinstance(batch.data, inputs.Frame)
    return batch.data


def _matrix(estimator: Any, checked: Any, first: bool) -> Rows:
    rows = inputs.read(checked)
    assert isinstance(rows, inputs.Dense | inputs.Compressed)
    if isinstance(rows, inputs.Compressed):
        if estimator._columns_are_named and not first:
            raise InputError("the model was fitted on arrays with missing values; give X as an array, not as a matrix")
        return rows
    if (estimator._columns_are_named and not first) or inputs.has_missing(rows.array):
        if not isinstance(estimator.interactions, int | None):
            raise InputError(
                "X contains NaN: interactions name columns by number, which the columns of an array with missing "
                "values do not keep; give X as a frame, or fill in such values"
            )
        return _named(column_names(rows.array.shape[1]), rows.array)
    return rows


def _named(names: list[str], array: np.ndarray[Any, Any]) -> inputs.Frame:
    """Give names to the columns of an array."""
    some = inputs.has_missing(array)
    return _may_be_unknown(inputs.Frame(names, list(array.T), len(array), missing=some, indicators=some))


def _may_be_unknown(frame: inputs.Frame) -> inputs.Frame:
    """Let the core accept columns that the model does not know, because they never had a value."""
    return replace(frame, missing=True, whole=not frame.missing)


def _dense(checked: Any) -> np.ndarray[Any, Any]:
    rows = inputs.read(checked)
    assert isinstance(rows, inputs.Dense)
    return rows.array


def _typed(estimator: Any, X: Any, first: bool) -> inputs.Frame:
    """Read a frame with its declared column types."""
    frame = _may_be_unknown(frame_reader.read_frame(X, POLICY))
    if first:
        return frame
    columns = dict(zip(frame.names, frame.columns, strict=True))
    for name in estimator.feature_names_in_.tolist():
        column = columns.get(name)  # none of a date, which has become its parts
        was_text = name in estimator._text_columns
        if was_text != (column is None or isinstance(column, inputs.TextColumn)):
            if name in estimator._empty_columns or (column is not None and _is_empty(column)):  # there is no type yet
                continue
            was, now = ("text or dates", "numbers") if was_text else ("numbers", "text or dates")
            raise InputError(f"column {name!r} holds {now}, but held {was} when the model was fitted")
    return frame


def _is_empty(column: inputs.FrameColumn) -> bool:
    """Whether all values are missing."""
    if isinstance(column, inputs.WordsColumn):
        column = column.texts
    if isinstance(column, inputs.TextColumn):
        return bool((column.codes < 0).all())
    numbers = column.numbers if isinstance(column, inputs.FlagColumn) else column
    return bool(numbers.dtype.kind == "f" and np.isnan(numbers).all())
