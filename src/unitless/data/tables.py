"""From an Arrow table to what the core reads: numbers, codes of text, labels, weights."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs import FlagColumn, Float64, Frame
from .arrow import pyarrow
from .columns import arrow_features, first_missing, number, text, whole
from .csv_columns import CsvColumns
from .labels import Numbers, RawLabels, Texts
from .located_rows import Place
from .policy import Policy
from .read_options import ALLOW_MISSING
from .schema import TEXTS, Schema, kind_of


@dataclass
class Columns:
    """The features of some rows, and how many values were missing, by column."""

    frame: Frame
    missing: Counter[str]


def features(arrow: Any, schema: Schema, place: Place, policy: Policy) -> Columns:
    """Read the columns that are features."""
    names: list[str] = []
    columns: list[Any] = []
    missing: Counter[str] = Counter()
    for name, kind in schema.columns:
        for part, read, absent in _read(arrow, name, kind, policy):
            if absent:
                missing[name] = max(missing[name], absent)
                if policy.missing == "error":
                    row = first_missing(read)
                    raise InputError(f"column {name!r} has no value", advice=ALLOW_MISSING, **place.at(row))
            names.append(part)
            columns.append(read)
    rows = arrow.rows if isinstance(arrow, CsvColumns) else arrow.num_rows
    return Columns(Frame(names, columns, rows, missing=True, whole=not missing), missing)


def _read(table: Any, name: str, kind: str, policy: Policy) -> list[tuple[str, Any, int]]:
    """A column's features: name, values, how many are missing."""
    if isinstance(table, CsvColumns):  # the core has read its booleans as categories, as the policy of `train` is
        if kind in TEXTS:
            return [(name, *table.text(name))]
        numbers, absent = table.number(name)
        return [(name, FlagColumn(numbers) if kind == "flag" else numbers, absent)]
    return arrow_features(name, whole(table.column(name)), kind, policy)


def labels(arrow: Any, schema: Schema) -> RawLabels | None:
    """The values of the target's column, if there is one."""
    if schema.target is None:
        return None
    if isinstance(arrow, CsvColumns):
        if schema.target not in arrow.columns:
            return None
        column = arrow.columns[schema.target]
        return _texts(*column) if schema.target_kind in TEXTS else Numbers(column)
    if schema.target not in arrow.column_names:
        return None
    column = whole(arrow.column(schema.target))
    return raw_labels(column, as_text=schema.target_kind in TEXTS)


def raw_labels(column: Any, as_text: bool) -> RawLabels:
    """The values of an Arrow column as labels."""
    if not as_text:
        return Numbers(np.ascontiguousarray(number(column)[0], dtype=np.float64))
    return _texts(*text(column)[0])


def _texts(codes: NDArray[np.int32], ends: NDArray[np.int64], data: NDArray[np.uint8]) -> Texts:
    raw = data.tobytes()
    return Texts(codes, [raw[a:b].decode() for a, b in itertools.pairwise(ends.tolist())])


def weights(arrow: Any, schema: Schema) -> Float64 | None:
    """The column of weights; not-a-number where it is missing."""
    return None if schema.weight is None else _numbers_beside(arrow, schema.weight, "weights")


def offsets(arrow: Any, schema: Schema) -> Float64 | None:
    """The column of offsets; not-a-number where it is missing."""
    return None if schema.offset is None else _numbers_beside(arrow, schema.offset, "offsets")


def _numbers_beside(arrow: Any, name: str, what: str) -> Float64:
    """A column of numbers that are not a feature."""
    if isinstance(arrow, CsvColumns):
        if name not in arrow.columns:
            raise InputError(f"there is no column {name!r}, which holds the {what}")
        numbers: Float64 = arrow.columns[name]
        return numbers
    if name not in arrow.column_names:
        raise InputError(f"there is no column {name!r}, which holds the {what}")
    column = whole(arrow.column(name))
    types = pyarrow("types")
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_decimal(column.type)):
        found = "text" if kind_of(column.type) == "text" else column.type
        raise InputError(f"the {what} in column {name!r} are not numbers but {found}")
    return np.ascontiguousarray(number(column)[0], dtype=np.float64)
