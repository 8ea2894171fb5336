"""The one reader of frames and of mappings, for models, estimators and `train`; a `Policy` says how they differ.

The columns of a frame keep their names. Arrays of numbers are taken as they lie, so that frames of numbers need no
pyarrow; everything else goes through Arrow.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from .. import inputs
from ..errors import InputError, Option, Phrase
from ..inputs import Frame, FrameColumn, TextColumn
from .arrow import pyarrow
from .columns import arrow_features, first_missing, whole
from .policy import Policy
from .schema import kind_of
from .written import BLANKS


class MissingValueError(InputError):
    """A value is missing where that is an error."""


def read(X: Any, policy: Policy) -> inputs.Input:
    """X of any kind as the core reads it."""
    if not isinstance(X, np.ndarray) and is_frame_of_columns(X):
        return read_frame(X, policy)
    return inputs.read(X)


def is_frame_of_columns(X: Any) -> bool:
    """Whether X is a pandas or polars frame, or an Arrow table or record batch."""
    if hasattr(X, "column_names") and hasattr(X, "column"):
        return True
    return hasattr(X, "shape") and hasattr(X, "__getitem__") and hasattr(X, "columns")  # lazy frames have no shape


def read_frame(X: Any, policy: Policy) -> Frame:
    """A frame as the core reads it."""
    names = list(X.column_names if hasattr(X, "column_names") else X.columns)
    check_names([str(name) for name in names])
    columns = [X.column(name) if hasattr(X, "column_names") else X[name] for name in names]
    rows = X.num_rows if hasattr(X, "num_rows") else X.shape[0]
    return read_columns(names, columns, int(rows), policy)


def check_names(names: list[str]) -> None:
    """Names must be text that can be stored, and differ."""
    for name in names:
        if not name.isascii() and name.encode(errors="replace").decode() != name:
            raise InputError(f"column name {name!r} is not valid Unicode")
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise InputError(f"X has two columns named {double!r}; rename one")


def read_columns(names: Sequence[Any], columns: Sequence[Any], rows: int, policy: Policy) -> Frame:
    """Columns of any library as the core reads them."""
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
    """The features of one column. Numbers that are missing where that is an error are left to the core to refuse."""
    what = f"column {name!r}"
    if not _is_categorical(column):
        array = inputs.unmasked(inputs.as_array(column, what), what)
        if array.ndim != 1:
            raise InputError(f"{what} holds lists; it must hold numbers")
        if array.dtype.kind == "O" and len(array) and all(isinstance(value, bool | np.bool_) for value in array):
            array = array.astype(bool)
        if array.dtype.kind in "iuf" or (array.dtype.kind == "b" and policy.booleans == "indicator"):
            return [(name, inputs.as_numbers(array, what))]
        if policy.text == "error":  # nothing but numbers is allowed, which need no pyarrow
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
    """Whether a column is of categories, which are text whatever their values are."""
    return str(getattr(column, "dtype", getattr(column, "type", ""))).lower().startswith(_CATEGORICAL)


_CATEGORICAL = ("category", "dictionary", "categorical", "enum")  # pandas, pyarrow, polars


def _as_arrow(column: Any, name: str) -> Any:
    """A column of a pandas or polars frame or of an Arrow table as one Arrow array."""
    pa = pyarrow()
    try:
        if hasattr(column, "to_arrow"):  # polars
            column = column.to_arrow()
        elif not hasattr(column, "type"):
            column = pa.Array.from_pandas(column)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"column {name!r} is neither all numbers nor all text: {error}") from None
    return whole(column)


def read_mapping(
    row: Mapping[Any, Any], policy: Policy, as_text: Collection[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """A mapping as the core takes it, names to numbers and booleans; and the names without a value.

    Args:
        row: names to values.
        policy: what the values become. Dates are left to the core, which refuses them.
        as_text: names whose values are text although they look like numbers.
    """
    found: dict[str, Any] = {}
    absent: list[str] = []
    for name, value in row.items():
        # The most common case first: this is called for each row of a stream.
        if type(value) is float and type(name) is str and value == value and not as_text:  # noqa: PLR0124  (not NaN)
            found[name] = value
            continue
        if isinstance(value, str) and policy.trim:
            value = value.strip(BLANKS)  # noqa: PLW2901
        if is_missing(value) or (isinstance(value, str) and value in policy.marks):
            if policy.missing == "error":
                raise InputError(
                    f"feature {str(name)!r} has no value (it is {str(value) or 'empty text'})",
                    advice=Phrase("fill it in, leave the feature out, or use ", Option("missing", "absent")),
                )
            absent.append(str(name))
            if policy.missing == "indicator":
                found[f"{name}={inputs.MISSING}"] = True
        elif isinstance(value, bool | np.bool_) and policy.booleans == "categories":
            found[f"{name}={'true' if value else 'false'}"] = True
        elif isinstance(value, str) or name in as_text:
            found[f"{name}={value}"] = True
        else:
            found[name if type(name) is str else str(name)] = value
    if len(found) + (len(absent) if policy.missing == "absent" else 0) < len(row):
        raise InputError(f"two features of {list(row)!r} have the same name; rename one")
    return found, absent


def is_missing(value: Any) -> bool:
    """None, not-a-number, pandas' NA and NaT, and empty text stand for missing values."""
    if isinstance(value, str):
        return not value
    if value is None or isinstance(value, float | np.floating):
        return value is None or math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


def text_columns(frame: Frame) -> list[str]:
    """The names of the columns of text."""
    columns = zip(frame.names, frame.columns, strict=True)
    return [name for name, column in columns if isinstance(column, TextColumn)]
