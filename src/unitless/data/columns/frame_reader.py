"""Reads frames whose columns keep their types, for models and estimators; a `Policy` has the differences between them.

Columns keep their names. Arrays of numbers are not copied, and a frame of numbers needs no pyarrow. All other columns
are converted with pyarrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import inputs
from ...errors import InputError
from ...inputs import Frame, FrameColumn, TextColumn
from ..arrow import pyarrow
from .arrow_column import arrow_features, first_missing, whole
from .policy import Policy
from .schema import kind_of


class MissingValueError(InputError):
    """A value is missing, and missing values are not allowed."""


def read(X: Any, policy: Policy) -> inputs.Input:
    """Convert X of any type to an input of the core."""
    if not isinstance(X, np.ndarray) and is_frame_of_columns(X):
        return read_frame(X, policy)
    return inputs.read(X)


def is_frame_of_columns(X: Any) -> bool:
    """Return whether X is a pandas or polars frame, or an Arrow table or record batch."""
    if hasattr(X, "column_names") and hasattr(X, "column"):
        return True
    return hasattr(X, "shape") and hasattr(X, "__getitem__") and hasattr(X, "columns")  # lazy frames have no shape


def read_frame(X: Any, policy: Policy) -> Frame:
    """Convert a frame to an input of the core."""
    names = list(X.column_names if hasattr(X, "column_names") else X.columns)
    check_names([str(name) for name in names])
    columns = [X.column(name) if hasattr(X, "column_names") else X[name] for name in names]
    rows = X.num_rows if hasattr(X, "num_rows") else X.shape[0]
    return read_columns(names, columns, int(rows), policy)


def check_names(names: list[str]) -> None:
    """Check that the names of columns can be stored and differ from each other."""
    for name in names:
        if not name.isascii() and name.encode(errors="replace").decode() != name:
            raise InputError(f"column name {name!r} is not valid Unicode")
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise InputError(f"X has two columns named {double!r}; rename one")


def read_columns(names: Sequence[Any], columns: Sequence[Any], rows: int, policy: Policy) -> Frame:
    """Convert columns of any library to an input of the core."""
    found_names: list[str] = []
    found: list[FrameColumn] = []
    for name, column in zip(map(str, names), columns, strict=True):
        for part, values in _features(column, name, policy):
            found_names.append(part)
            found.append(values)
    if policy.missing == "indicator":
        some = any(map(inputs.has_missing, found))
        return Frame(found_names, found, rows, missing=some, indicators=some)
    return Frame(found_names, found, rows, missing=policy.missing == "absent")


def _features(column: Any, name: str, policy: Policy) -> list[tuple[str, FrameColumn]]:
    """Convert one column to features. If missing values are not allowed, the core refuses missing numbers."""
    what = f"column {name!r}"
    if not _is_categorical(column):
        array = inputs.unmasked(inputs.as_array(column, what), what)
        if array.ndim != 1:
            raise InputError(f"{what} holds lists; it must hold numbers")
        if array.dtype.kind == "O" and len(array) and all(isinstance(value, bool | np.bool_) for value in array):
            array = array.astype(bool)
        if array.dtype.kind in "iuf" or (array.dtype.kind == "b" and policy.booleans == "indicator"):
            return [(name, inputs.as_numbers(array, what))]
        if policy.text == "error":  # only numbers are allowed, which need no pyarrow
            return [(name, inputs.as_numbers(array, what))]
    elif policy.text == "error":
        raise InputError(
            f"{what} holds categories; turn them into columns of 0 and 1 (get_dummies), or, if they are numbers, into "
            "a column of numbers"
        )
    arrow = _as_arrow(column, name)
    kind = kind_of(arrow.type)
    if kind is None:
        raise InputError(
            f"{what} holds {arrow.type}, which is neither numbers nor text: leave it out, or turn it into numbers"
        )
    features = []
    for part, values, absent in arrow_features(name, arrow, kind, policy):
        if absent and policy.missing == "error":
            raise MissingValueError(
                "there is no value", advice="drop or fill in such values", row=first_missing(values), column=name
            )
        features.append((part, values))
    return features


def _is_categorical(column: Any) -> bool:
    """Return whether a column has a categorical type; its values are text, whatever they are."""
    return str(getattr(column, "dtype", getattr(column, "type", ""))).lower().startswith(_CATEGORICAL)


_CATEGORICAL = ("category", "dictionary", "categorical", "enum")  # pandas, pyarrow, polars


def _as_arrow(column: Any, name: str) -> Any:
    """Convert a column of a pandas or polars frame, or of an Arrow table, to one Arrow array."""
    pa = pyarrow()
    try:
        if hasattr(column, "to_arrow"):  # polars
            column = column.to_arrow()
        elif not hasattr(column, "type"):
            column = pa.Array.from_pandas(column)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"column {name!r} is neither all numbers nor all text: {error}") from None
    return whole(column)


def text_columns(frame: Frame) -> list[str]:
    """Return the names of the columns of text."""
    columns = zip(frame.names, frame.columns, strict=True)
    return [name for name, column in columns if isinstance(column, TextColumn)]
