"""Converts Arrow tables to inputs of the core: numbers, codes of text, labels, weights."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import limits
from ...errors import InputError, Option, Phrase
from ...inputs import FlagColumn, Float64, Frame
from ..arrow import number_array, pyarrow
from ..hashes import Hashes, text_hashes
from ..labels import Numbers, RawLabels, Texts, texts
from ..read_options import ALLOW_MISSING
from ..sources.csv_columns import CsvColumns
from ..sources.located_rows import Place
from .arrow_column import arrow_features, as_text, first_missing, number, text, whole
from .date_forms import NUMERIC
from .policy import Policy
from .schema import DATES, HELD, TEXTS, VALUE, Kind, Schema, kind_of
from .written import BLANKS, NUMBER_MARKS, PLAIN, InvalidValues, as_dates, dates_of_numbers, is_text, typed


@dataclass
class Columns:
    """The features of some rows, the number of missing values by column, and the values that could not be read."""

    frame: Frame
    missing: Counter[str]
    invalid_values: dict[str, InvalidValues]


def features(arrow: Any, schema: Schema, place: Place, policy: Policy, drop_invalid: bool = False) -> Columns:
    """Convert the feature columns of some rows.

    Args:
        arrow: the rows.
        schema: the columns.
        place: where the rows are, for messages.
        policy: how values that are not numbers become features.
        drop_invalid: whether infinite and too large numbers count as missing; otherwise the model refuses them.
    """
    names: list[str] = []
    columns: list[Any] = []
    missing: Counter[str] = Counter()
    invalid_values: dict[str, InvalidValues] = {}
    for name, kind in schema.columns:
        read, invalid = _read(arrow, name, kind, schema, policy)
        if drop_invalid and kind in ("number", "flag"):
            read, invalid = _without_invalid(read, invalid)
        if invalid is not None:
            invalid_values[name] = invalid
        for part, values, absent in read:
            if absent:
                missing[name] = max(missing[name], absent)
                if policy.missing == "error":
                    raise _missing(name, kind, first_missing(values), invalid, place)
            names.append(part)
            columns.append(values)
    rows = arrow.rows if isinstance(arrow, CsvColumns) else arrow.num_rows
    indicators = policy.missing == "indicator"
    return Columns(Frame(names, columns, rows, True, not missing, indicators), missing, invalid_values)


def _without_invalid(
    read: list[tuple[str, Any, int]], invalid: InvalidValues | None
) -> tuple[list[tuple[str, Any, int]], InvalidValues | None]:
    """Replace infinite and too large numbers by missing values, and add them to the values that could not be read."""
    ((name, values, absent),) = read
    numbers = values.numbers if isinstance(values, FlagColumn) else values
    beyond = limits.beyond(numbers)
    if beyond is None:
        return read, invalid
    rows = np.flatnonzero(beyond)
    first = InvalidValues(len(rows), int(rows[0]), f"{numbers[rows[0]]:g}")
    valid = np.where(beyond, np.nan, numbers)
    kept = FlagColumn(valid) if isinstance(values, FlagColumn) else valid
    return [(name, kept, absent + len(rows))], first if invalid is None else first.joined(invalid)


def _missing(name: str, kind: Kind, row: int, invalid: InvalidValues | None, place: Place) -> InputError:
    """Return the error for a missing value where missing values are not allowed."""
    if invalid is not None and invalid.row == row:
        advice = Phrase(Option("na", invalid.value), " treats it as missing; ") + ALLOW_MISSING
        return InputError(
            f"column {name!r} is {invalid.value!r}, which is not {VALUE[kind]}", advice=advice, **place.at(row)
        )
    return InputError(f"column {name!r} has no value", advice=ALLOW_MISSING, **place.at(row))


def _read(
    table: Any, name: str, kind: Kind, schema: Schema, policy: Policy
) -> tuple[list[tuple[str, Any, int]], InvalidValues | None]:
    """Convert one column to features; return name, values and missing count of each, and the invalid values."""
    if isinstance(table, CsvColumns) and name in table.added:
        return read_column(name, table.added[name], kind, schema, policy)
    if isinstance(table, CsvColumns):  # the core has read booleans as categories, as in the policy of `train`
        if kind in ("text", "boolean"):
            return [(name, *table.text(name))], table.invalid_values.get(name)
        if kind in ("number", "flag"):
            numbers, absent = table.number(name)
            return [(name, FlagColumn(numbers) if kind == "flag" else numbers, absent)], table.invalid_values.get(name)
        return read_column(name, table.arrow(name), kind, schema, policy)
    return read_column(name, whole(table.column(name)), kind, schema, policy)


def read_column(
    name: str, column: Any, kind: str, schema: Schema, policy: Policy
) -> tuple[list[tuple[str, Any, int]], InvalidValues | None]:
    """Convert an Arrow column of some kind, which may be text, to features; also return its invalid values."""
    invalid = None
    if is_text(column.type):
        column, invalid = typed(column, kind, schema.how(name), policy.marks)
        if invalid is not None and kind in DATES and not schema.how(name).date and column.null_count == len(column):
            raise InputError(
                f"column {name!r} holds text such as {invalid.value!r}, but in training it held {HELD[kind]}",
                advice=as_dates(kind),
            )
    elif kind in DATES and kind_of(column.type) == "number":
        if column.null_count == len(column):
            pa = pyarrow()
            column = pa.nulls(len(column), pa.time64("us") if kind == "time" else pa.timestamp("us"))
        elif schema.how(name).date not in NUMERIC:
            raise InputError(f"column {name!r} holds numbers, but in training it held {HELD[kind]}")
        else:
            column, invalid = dates_of_numbers(column, schema.how(name))
    return arrow_features(name, column, kind, policy), invalid


def labels(arrow: Any, schema: Schema, policy: Policy) -> tuple[RawLabels | None, InvalidValues | None]:
    """Return the labels, if there is a target, and the invalid values of its column."""
    if schema.target is None:
        return None, None
    if isinstance(arrow, CsvColumns):
        if schema.target in arrow.added:
            return raw_labels(arrow.added[schema.target], schema, policy)
        if schema.target not in arrow.columns:
            return None, None
        column = arrow.columns[schema.target]
        found = _texts(*column) if schema.target_kind in TEXTS else Numbers(column)
        return found, arrow.invalid_values.get(schema.target)
    if schema.target not in arrow.column_names:
        return None, None
    return raw_labels(whole(arrow.column(schema.target)), schema, policy)


def raw_labels(column: Any, schema: Schema, policy: Policy) -> tuple[RawLabels, InvalidValues | None]:
    """Convert an Arrow column to labels; also return its invalid values."""
    kind, invalid = schema.target_kind or "text", None
    if is_text(column.type):
        column, invalid = typed(column, kind, schema.how(schema.target), policy.marks)
    if kind not in TEXTS:
        return Numbers(np.ascontiguousarray(number(column)[0], dtype=np.float64)), invalid
    return _texts(*text(column, policy)[0]), invalid


def _texts(codes: NDArray[np.int32], ends: NDArray[np.int64], data: NDArray[np.uint8]) -> Texts:
    raw = data.tobytes()
    return texts(codes, [raw[a:b].decode() for a, b in itertools.pairwise(ends.tolist())])


def weights(arrow: Any, schema: Schema) -> Float64 | None:
    """Return the column of weights, with NaN for missing weights; None if there is no such column."""
    return None if schema.weight is None else _numbers_beside(arrow, schema.weight, "weights")


def offsets(arrow: Any, schema: Schema) -> Float64 | None:
    """Return the column of offsets, with NaN for missing offsets; None if there is no such column."""
    return None if schema.offset is None else _numbers_beside(arrow, schema.offset, "offsets")


def groups(arrow: Any, schema: Schema, policy: Policy) -> Hashes:
    """Return a hash of each row's group, 0 for a row without one."""
    name = schema.groups
    assert name is not None
    if isinstance(arrow, CsvColumns) and name in arrow.columns:
        return text_hashes(arrow.columns[name])
    added = arrow.added if isinstance(arrow, CsvColumns) else {}
    if name not in added and (isinstance(arrow, CsvColumns) or name not in arrow.column_names):
        raise InputError(f"there is no column {name!r}, which holds the groups")
    return text_hashes(text(added[name] if name in added else whole(arrow.column(name)), policy)[0])


def _numbers_beside(arrow: Any, name: str, what: str) -> Float64:
    """Return a column of numbers that are not features."""
    added = arrow.added if isinstance(arrow, CsvColumns) else {}
    names = [*arrow.columns, *added] if isinstance(arrow, CsvColumns) else arrow.column_names
    if name not in names:
        raise InputError(f"there is no column {name!r}, which holds the {what}")
    invalid: InvalidValues | None = None
    if isinstance(arrow, CsvColumns) and name not in added:
        column, invalid = number_array(arrow.columns[name]), arrow.invalid_values.get(name)
    else:
        column = added[name] if name in added else whole(arrow.column(name))
        if is_text(column.type):
            column, invalid = typed(column, "number", PLAIN, ())
    if invalid is not None and invalid.count == len(column):  # if only some values are invalid, their rows are invalid
        raise InputError(f"the {what} in column {name!r} are not numbers but text, such as {invalid.value!r}")
    types = pyarrow("types")
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_decimal(column.type)):
        found = "text" if kind_of(column.type) == "text" else column.type
        raise InputError(f"the {what} in column {name!r} are not numbers but {found}")
    return np.ascontiguousarray(number(column)[0], dtype=np.float64)


def with_types(table: Any, schema: Schema) -> Any:
    """Convert the text columns of a table that are plain numbers or booleans; other notations stay text."""
    pa, compute = pyarrow(), pyarrow("compute")
    for place, name in enumerate(table.column_names):
        kind = schema.target_kind if name == schema.target else schema.kinds.get(name)
        column = table.column(name)
        if not is_text(column.type) or kind not in ("number", "flag", "boolean"):
            continue
        words = compute.utf8_trim(as_text(whole(column)), BLANKS)
        words = compute.if_else(compute.is_in(words, pa.array(NUMBER_MARKS)), pa.scalar(None, pa.string()), words)
        for type in (pa.bool_(),) if kind == "boolean" else (pa.int64(), pa.float64()):
            try:
                table = table.set_column(place, name, words.cast(type))
                break
            except pa.ArrowInvalid:
                continue
    return table
