"""From an Arrow table to what the core reads: numbers, codes of text, labels, weights."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs import FlagColumn, Float64, Frame, TextColumn
from .arrow import as_numpy, booleans, is_native, pyarrow
from .csv_columns import Parsed
from .labels import Numbers, RawLabels, Texts
from .located_rows import Place
from .read_options import ALLOW_MISSING
from .schema import DATES, TEXTS, Schema

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass
class Columns:
    """The features of some rows, and how many values were missing, by column."""

    frame: Frame
    missing: Counter[str]


def features(arrow: Any, schema: Schema, place: Place, missing_allowed: bool) -> Columns:
    """The columns that are features."""
    names: list[str] = []
    columns: list[Any] = []
    missing: Counter[str] = Counter()
    for name, kind in schema.columns:
        for part, read, absent in _read(arrow, name, kind):
            if absent:
                missing[name] = max(missing[name], absent)
                if not missing_allowed:
                    row = _first_missing(read)
                    raise InputError(f"column {name!r} has no value", advice=ALLOW_MISSING, **place.at(row))
            names.append(part)
            columns.append(read)
    rows = arrow.rows if isinstance(arrow, Parsed) else arrow.num_rows
    return Columns(Frame(names, columns, rows, missing=True, whole=not missing), missing)


def _read(table: Any, name: str, kind: str) -> list[tuple[str, Any, int]]:
    """A column's features: name, values, how many are missing."""
    if isinstance(table, Parsed):
        if kind in TEXTS:
            return [(name, *table.text(name))]
        numbers, absent = table.number(name)
        return [(name, FlagColumn(numbers) if kind == "flag" else numbers, absent)]
    column = whole(table.column(name))
    if kind == "flag":
        values, absent = number(column)
        return [(name, FlagColumn(values), absent)]
    parts = date_parts(name, column, kind) if kind in DATES else [(name, kind, column)]
    return [(part, *(text(values) if of in TEXTS else number(values))) for part, of, values in parts]


def number(column: Any) -> tuple[NDArray[Any], int]:
    """A column of numbers as an array, not-a-number where there is none; how many of those."""
    if not is_native(column):
        pa = pyarrow()
        column = column.cast(pa.int64()) if pyarrow("types").is_duration(column.type) else column
        column = column.cast(pa.float64(), safe=False)
    array = as_numpy(column)
    if array.dtype.kind != "f":
        return array, 0
    with np.errstate(all="ignore"):
        suspicious = column.null_count > 0 or np.isnan(array.sum())
    return array, int(np.isnan(array).sum()) if suspicious else 0


def text(column: Any) -> tuple[TextColumn, int]:
    """A column of text as codes and values; how many rows have none. An empty text is none."""
    pa, types = pyarrow(), pyarrow("types")
    if types.is_boolean(column.type):
        codes = booleans(column)
        bytes_ = np.frombuffer(b"falsetrue", np.uint8)
        return TextColumn(codes, np.array([0, 5, 9], np.int64), bytes_), int(column.null_count)
    if not types.is_dictionary(column.type):
        column = _as_text(column).dictionary_encode()
    values = _as_text(column.dictionary)
    places = as_numpy(column.indices)
    if column.indices.null_count:
        places = np.where(np.isnan(places), -1, places)
    codes = np.ascontiguousarray(places, dtype=np.int32)
    values = values.cast(pa.large_string())
    values.validate(full=True)
    _, offsets, data = values.buffers()
    ends: NDArray[np.int64] = np.zeros(1, np.int64)
    if len(values):
        ends = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    empty = np.flatnonzero(np.diff(ends) == 0)  # a null among the values is as long as nothing
    if len(empty):
        codes = np.where(np.isin(codes, empty), np.int32(-1), codes)
    absent = int((codes < 0).sum()) if len(empty) or column.null_count else 0
    letters = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return TextColumn(codes, ends, letters), absent


def _as_text(column: Any) -> Any:
    """Numbers and the like in the words that a text file would have."""
    pa, types = pyarrow(), pyarrow("types")
    if types.is_string(column.type):
        return column
    compute = pyarrow("compute")
    if types.is_floating(column.type):
        column = compute.if_else(compute.is_nan(column), pa.scalar(None, column.type), column)
    if types.is_floating(column.type) or types.is_decimal(column.type):
        # 1.0 is the same value as 1
        column = compute.replace_substring_regex(column.cast(pa.string()), pattern=r"\.0+$", replacement="")
    return column.cast(pa.string())


def date_parts(name: str, column: Any, kind: str) -> list[tuple[str, str, Any]]:
    """A date as features: the time as a number, and what recurs (month, weekday, hour) as names."""
    pa, compute = pyarrow(), pyarrow("compute")
    if kind == "time":
        micro = column.cast(pa.time64("us"))
        return [
            (f"{name}.time", "number", compute.divide(micro.cast(pa.int64()).cast(pa.float64()), 1e6)),
            (f"{name}.hour", "text", compute.hour(micro).cast(pa.string())),
        ]
    moment = column.cast(pa.timestamp("us", tz=getattr(column.type, "tz", None)), safe=False)
    weekday = compute.day_of_week(moment)
    words = pa.DictionaryArray.from_arrays(weekday.cast(pa.int32()), pa.array(_WEEKDAYS))
    parts = [
        (f"{name}.time", "number", compute.divide(moment.cast(pa.int64()).cast(pa.float64()), 1e6)),
        (f"{name}.month", "text", compute.month(moment).cast(pa.string())),
        (f"{name}.weekday", "text", words),
    ]
    if kind == "moment":
        parts.append((f"{name}.hour", "text", compute.hour(moment).cast(pa.string())))
    return parts


def labels(arrow: Any, schema: Schema) -> RawLabels | None:
    """The target's column as it is."""
    if schema.target is None:
        return None
    if isinstance(arrow, Parsed):
        if schema.target not in arrow.columns:
            return None
        column = arrow.columns[schema.target]
        return _texts(*column) if schema.target_kind in TEXTS else Numbers(column)
    if schema.target not in arrow.column_names:
        return None
    column = whole(arrow.column(schema.target))
    return raw_labels(column, as_text=schema.target_kind in TEXTS)


def raw_labels(column: Any, as_text: bool) -> RawLabels:
    """Labels from a column."""
    if not as_text:
        return Numbers(np.ascontiguousarray(number(column)[0], dtype=np.float64))
    return _texts(*text(column)[0])


def _texts(codes: NDArray[np.int32], ends: NDArray[np.int64], data: NDArray[np.uint8]) -> Texts:
    raw = data.tobytes()
    return Texts(codes, [raw[a:b].decode() for a, b in itertools.pairwise(ends.tolist())])


def weights(arrow: Any, schema: Schema) -> Float64 | None:
    """The column of weights; not-a-number where there is none."""
    if schema.weight is None:
        return None
    if isinstance(arrow, Parsed):
        if schema.weight not in arrow.columns:
            raise InputError(f"there is no column {schema.weight!r}, which holds the weights")
        weights: Float64 = arrow.columns[schema.weight]
        return weights
    if schema.weight not in arrow.column_names:
        raise InputError(f"there is no column {schema.weight!r}, which holds the weights")
    column = whole(arrow.column(schema.weight))
    types = pyarrow("types")
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_decimal(column.type)):
        raise InputError(f"the weights in column {schema.weight!r} are no numbers but {column.type}")
    return np.ascontiguousarray(number(column)[0], dtype=np.float64)


def whole(column: Any) -> Any:
    """In one part; dictionaries of several parts become one."""
    if not hasattr(column, "chunks"):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if column.num_chunks == 0:
        return pyarrow().array([], column.type)
    if pyarrow("types").is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks()


def _first_missing(read: Any) -> int:
    if isinstance(read, TextColumn):
        return int(np.flatnonzero(read.codes < 0)[0])
    return int(np.flatnonzero(np.isnan(read.numbers if isinstance(read, FlagColumn) else read))[0])
