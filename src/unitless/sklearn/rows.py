"""X as scikit-learn's users give it: checked by scikit-learn, read as the core takes it.

Arrays and sparse matrices are columns by their number. A frame is read as `train` reads it: the first frame decides
what each column holds (numbers, categories, dates, words, identifiers). With `infer_columns=False` a frame's columns
keep the types that they have: numbers are taken as they lie, booleans are 0 and 1 that are never centered, and text and
categories become a feature for each value, `column=value`. A missing value of a frame or an array is a feature too,
`column=(missing)`. Features that have names need columns that have names: from the first missing value on, the columns
of an array are named by their numbers.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from .. import inputs
from ..data import ReadOptions, frame_reader, table_schema
from ..data import in_memory as memory
from ..data.policy import Policy
from ..data.reader import frame_features
from ..errors import InputError
from ..models.numbered_columns import column_names

Rows: TypeAlias = inputs.Dense | inputs.Compressed | inputs.Frame

POLICY = Policy(booleans="indicator", text="indicators", missing="indicator", dates="error")

# The core looks at every value anyway, and says where the bad one is.
_CHECKS = {"accept_sparse": "csr", "ensure_all_finite": False}


def read(estimator: Any, X: Any, text_columns: Collection[str] | None = None) -> Rows:
    """X for `estimator`. Without `text_columns` it decides what the columns are; with them it must have the same."""
    first = text_columns is None
    if memory.is_frame(X):
        frame_reader.check_names([str(name) for name in (X.column_names if hasattr(X, "column_names") else X.columns)])
        validate_data(estimator, X, reset=first, skip_check_array=True)
        if hasattr(estimator, "feature_names_in_"):
            return _inferred(estimator, X, first) if estimator.infer_columns else _frame(X, text_columns)
        return _matrix(estimator, check_array(X, estimator=estimator, input_name="X", **_CHECKS), first)
    by_name = not first and hasattr(estimator, "feature_names_in_")
    checked = validate_data(estimator, X, reset=first, **{**_CHECKS, "accept_sparse": False if by_name else "csr"})
    if not by_name:
        return _matrix(estimator, checked, first)
    for name in text_columns or ():
        raise InputError(f"column {name!r} was text when the model was fitted; give X as a frame with that column")
    return _named(estimator.feature_names_in_.tolist(), _dense(checked))


def has_numbered_names(estimator: Any, rows: Rows) -> bool:
    """Whether these are columns of an array that are named by their numbers."""
    return isinstance(rows, inputs.Frame) and not hasattr(estimator, "feature_names_in_")


def text_columns(estimator: Any, rows: Rows) -> list[str]:
    """The columns of a frame that are not numbers themselves: text, dates, and those that are left out."""
    if not isinstance(rows, inputs.Frame):
        return []
    found = frame_reader.text_columns(rows)
    names = getattr(estimator, "feature_names_in_", None)
    return found if names is None else [name for name in names.tolist() if name in found or name not in rows.names]


def _inferred(estimator: Any, X: Any, first: bool) -> Rows:
    """A frame as `train` reads it; `first`: this frame decides what the columns hold."""
    if not X.shape[0]:
        raise InputError("X has 0 rows; it must have at least one")
    if first:
        options = ReadOptions()
        schema = table_schema.decide(memory.Frames(X).as_table(), options, "X", target_needed=False)
        estimator._column_record = {"schema": schema.plain(), "reading": options.kept("table")}
    found = frame_features(X, estimator._column_record)[0]
    assert isinstance(found, inputs.Frame)
    return found


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
    """The columns of an array under names."""
    some = inputs.has_missing(array)
    return inputs.Frame(names, list(array.T), len(array), missing=some, indicators=some)


def _dense(checked: Any) -> np.ndarray[Any, Any]:
    rows = inputs.read(checked)
    assert isinstance(rows, inputs.Dense)
    return rows.array


def _frame(X: Any, text_columns: Collection[str] | None) -> inputs.Frame:
    if not X.shape[0]:
        raise InputError("X has 0 rows; it must have at least one")
    frame = frame_reader.read_frame(X, POLICY)
    for name, column in zip(frame.names, frame.columns, strict=True):
        if text_columns is not None and (name in text_columns) != isinstance(column, inputs.TextColumn):
            if _is_empty(column):  # without a value nobody can tell
                continue
            was, now = ("text", "numbers") if name in text_columns else ("numbers", "text")
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
