"""Rows of frames: pandas, polars and Arrow tables, as the server's CSV has them.

The columns `label`, `weight` and `id` are what their names mean; all others are features. A missing value is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ..errors import InputError

_PART = 1000  # rows that are turned into Python's values at a time


def is_frame(rows: Any) -> bool:
    """Whether rows are a frame of columns."""
    return any(callable(getattr(rows, name, None)) for name in ("iter_rows", "itertuples", "to_batches"))


def examples(frame: Any, label: str) -> Iterator[tuple[dict[str, Any], Any, float | None, str | None]]:
    """Rows to learn: features, label, weight and id.

    Args:
        frame: which.
        label: the column with the labels.
    """
    if label not in _names(frame):
        raise InputError(f"the frame has no column {label!r}", advice="name the column of the labels with label=")
    for row in _rows(frame):
        truth, weight, id = row.pop(label), row.pop("weight", None), row.pop("id", None)
        yield row, truth, weight, None if id is None else str(id)


def prediction_rows(frame: Any) -> Iterator[dict[str, Any] | tuple[dict[str, Any], str]]:
    """Rows to predict: features, or pairs of features and id."""
    _names(frame)
    for row in _rows(frame):
        id = row.pop("id", None)
        yield row if id is None else (row, str(id))


def _names(frame: Any) -> list[str]:
    names = [*map(str, getattr(frame, "column_names", frame.columns))]
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InputError(f"the frame has two columns named {twice!r}", advice="rename one")
    return names


def _rows(frame: Any) -> Iterator[dict[str, Any]]:
    for row in _named(frame):
        yield {str(name): _value(value) for name, value in row.items()}


def _named(frame: Any) -> Iterator[dict[Any, Any]]:
    if hasattr(frame, "iter_rows"):  # polars
        yield from frame.iter_rows(named=True)
    elif hasattr(frame, "to_batches"):  # Arrow
        for batch in frame.to_batches(max_chunksize=_PART):
            yield from batch.to_pylist()
    else:
        for first in range(0, len(frame), _PART):
            yield from islice(frame.iloc[first : first + _PART].to_dict("records"), _PART)


def _value(value: Any) -> Any:
    """What is not a number (NaN, NaT, pandas' NA) is missing."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if type(value).__name__ in ("NAType", "NaTType") else value
