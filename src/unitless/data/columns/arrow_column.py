"""Converts one Arrow column to features: numbers, codes of text, parts of dates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...inputs import FlagColumn, FrameColumn, TextColumn, WordsColumn
from ..arrow import as_numpy, booleans, is_native, letters_of, pyarrow
from . import date_parts
from .policy import Policy
from .schema import DATES, SPLIT, TEXTS
from .words import words_column
from .written import BLANKS, has_both_clocks, is_among


class DatesError(InputError):
    """A column has dates or times, and they are not allowed."""


_NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def arrow_features(name: str, column: Any, kind: str, policy: Policy) -> list[tuple[str, FrameColumn, int]]:
    """Convert a column of some kind to features; return the name, the values and the number of missing values of each.

    Only text is given as text. A column of dates may have each moment twice, in local time and in UTC
    (`written.both_clocks`).
    """
    if kind == "flag":
        values, absent = number(column)
        return [(name, FlagColumn(values), absent)]
    if kind == "boolean" and policy.booleans == "indicator":
        return [(name, *indicator(column))]
    if kind in SPLIT:
        texts, absent = text(column, policy)
        return [(name, words_column(texts, kind == "ngrams"), absent)]
    if kind not in DATES:
        return [(name, *(text(column, policy) if kind in TEXTS else number(column)))]
    if policy.dates == "error":
        raise DatesError(
            f"column {name!r} holds {column.type}, which is neither numbers nor text",
            advice="leave it out, or turn it into numbers",
        )
    column, utc = column.flatten() if has_both_clocks(column.type) else (column, None)
    kinds = date_parts.kinds(name, kind)
    return [
        (part, *(text(values) if kinds[part] == "text" else number(values)))
        for part, values in date_parts.of_column(name, column, kind, utc).items()
    ]


def indicator(column: Any) -> tuple[NDArray[Any] | FlagColumn, int]:
    """Convert a column of booleans to one feature, which is never centered; also return how many values are missing."""
    codes = booleans(column)
    if not column.null_count:
        return codes.astype(bool), 0
    return FlagColumn(np.where(codes < 0, np.nan, codes)), int(column.null_count)


def number(column: Any) -> tuple[NDArray[Any], int]:
    """Convert a column of numbers to an array, with NaN for missing values; also return how many are missing."""
    if not is_native(column):
        pa, unit = pyarrow(), 1.0
        if pyarrow("types").is_duration(column.type):  # always in one unit, whatever unit the frame uses
            column, unit = column.cast(pa.int64()), _NANOSECONDS[column.type.unit]
        column = column.cast(pa.float64(), safe=False)
        column = column if unit == 1.0 else pyarrow("compute").multiply(column, unit)
    array = as_numpy(column)
    if array.dtype.kind != "f":
        return array, 0
    with np.errstate(all="ignore"):
        suspicious = column.null_count > 0 or np.isnan(array.sum())
    return array, int(np.isnan(array).sum()) if suspicious else 0


def text(column: Any, policy: Policy | None = None) -> tuple[TextColumn, int]:
    """Convert a column of text to codes and values; also return the number of missing values. Empty text is missing."""
    pa, types, compute = pyarrow(), pyarrow("types"), pyarrow("compute")
    if types.is_boolean(column.type):
        codes = booleans(column)
        bytes_ = np.frombuffer(b"falsetrue", np.uint8)
        return TextColumn(codes, np.array([0, 5, 9], np.int64), bytes_), int(column.null_count)
    if not types.is_dictionary(column.type):
        column = as_text(column).dictionary_encode()
    values = as_text(column.dictionary)
    if policy is not None and policy.trim:
        values = compute.utf8_trim(values, BLANKS)
    places = as_numpy(column.indices)
    if column.indices.null_count:
        places = np.where(np.isnan(places), -1, places)
    codes = np.ascontiguousarray(places, dtype=np.int32)
    values = values.cast(pa.large_string())
    values.validate(full=True)
    ends, letters = letters_of(values)
    nothing = np.diff(ends) == 0  # a null among the values has no letters either
    if policy is not None and policy.marks:
        nothing |= is_among(values, policy.marks)
    empty = np.flatnonzero(nothing)
    if len(empty):
        codes = np.where(np.isin(codes, empty), np.int32(-1), codes)
    absent = int((codes < 0).sum()) if len(empty) or column.null_count else 0
    return TextColumn(codes, ends, letters), absent


def as_text(column: Any) -> Any:
    """Convert numbers and the like to the text that a file would have."""
    pa, types = pyarrow(), pyarrow("types")
    if types.is_string(column.type):
        return column
    compute = pyarrow("compute")
    if types.is_floating(column.type):
        column = compute.if_else(compute.is_nan(column), pa.scalar(None, column.type), column)
    if types.is_floating(column.type) or types.is_decimal(column.type):
        # 1.0 and 1 are the same value
        column = compute.replace_substring_regex(column.cast(pa.string()), pattern=r"\.0+$", replacement="")
    return column.cast(pa.string())


def whole(column: Any) -> Any:
    """Join a column of several parts to one part; their dictionaries become one dictionary."""
    if not hasattr(column, "chunks"):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if column.num_chunks == 0:
        return pyarrow().array([], column.type)
    if pyarrow("types").is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks()


def first_missing(values: FrameColumn) -> int:
    """Return the first row without a value; there must be one."""
    if isinstance(values, WordsColumn):
        values = values.texts
    if isinstance(values, TextColumn):
        return int(np.flatnonzero(values.codes < 0)[0])
    return int(np.flatnonzero(np.isnan(values.numbers if isinstance(values, FlagColumn) else values))[0])
