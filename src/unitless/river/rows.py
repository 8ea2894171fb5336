"""Convert River's inputs (mappings of any values, frames) for the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw
import numpy as np

from .. import inputs
from ..data.columns import frame_reader
from ..data.columns.policy import Policy
from ..data.columns.row_reader import NamedRowReader
from ..errors import InputError

Missing = Literal["indicator", "absent", "error"]

READERS: dict[Missing, NamedRowReader] = {
    missing: NamedRowReader(Policy(booleans="indicator", text="indicators", missing=missing, dates="parts"))
    for missing in get_args(Missing)
}


def numbers(x: Mapping[Any, Any], missing: Missing) -> dict[str, Any]:
    """Convert a mapping for the core: text names, and numbers or booleans. Text becomes `name=value`: True."""
    if type(x) is not dict and not isinstance(x, Mapping):
        raise InputError(f"x is {x!r}, not a mapping of names to values")
    return READERS[missing].numbers_and_missing(x)[0]


def by_name(frame: inputs.Frame) -> inputs.Frame:
    """Sort the columns by name."""
    at = sorted(range(len(frame.names)), key=lambda k: frame.names[k])
    return inputs.Frame([frame.names[k] for k in at], [frame.columns[k] for k in at], frame.rows)


def wrapped(X: Any) -> nw.DataFrame[Any]:
    """Wrap a pandas, polars or pyarrow frame with narwhals."""
    try:
        frame_reader.check_names(list(map(str, X.column_names if hasattr(X, "column_names") else X.columns)))
        return nw.from_native(X, eager_only=True)
    except (AttributeError, TypeError):
        raise InputError(
            f"X is a {type(X).__name__}; it must be a pandas, polars or pyarrow frame. For one mapping there are "
            "learn_one and predict_one"
        ) from None


def table(X: nw.DataFrame[Any], missing: Missing, center: bool) -> inputs.Frame | inputs.NamedRows:
    """Convert a frame for the core: to columns if all are numbers without missing values, otherwise to rows.

    Args:
        X: the frame.
        missing: how missing values are treated.
        center: whether new numeric columns are centered.
    """
    names = [str(name) for name in X.columns]
    for series in X.iter_columns():
        if not (series.dtype.is_numeric() or series.dtype == nw.Boolean) or _has_missing(series):
            return _rows(X, missing)
    frame = frame_reader.read_columns(names, list(X.iter_columns()), len(X), READERS["error"].policy)
    if center:
        return frame
    not_centered: list[inputs.FrameColumn] = [
        inputs.FlagColumn(column) if isinstance(column, np.ndarray) and column.dtype.kind != "b" else column
        for column in frame.columns
    ]
    return inputs.Frame(names, not_centered, len(X))


def _has_missing(series: Any) -> bool:
    return bool(series.null_count() > 0 or (series.dtype.is_float() and series.is_nan().any()))


def _rows(X: nw.DataFrame[Any], missing: Missing) -> inputs.NamedRows:
    columns = []
    for series in X.iter_columns():
        values = series.to_list()
        if series.null_count() > 0:  # every library has its own null
            nulls = series.is_null().to_list()
            values = [None if null else value for value, null in zip(values, nulls, strict=True)]
        columns.append(values)
    rows = []
    for place, row in enumerate(zip(*columns, strict=True)):
        try:
            rows.append(numbers(dict(zip(X.columns, row, strict=True)), missing))
        except InputError as error:
            raise error.at(row=place) from None
    return inputs.NamedRows(rows)
