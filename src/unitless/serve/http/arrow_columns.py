"""Columns of an Arrow batch as JSON can have them: numbers as numbers, dates as the text that is read as dates."""

from __future__ import annotations

import datetime
from typing import Any

from ...data.arrow import pyarrow
from ...data.columns.arrow_column import as_text, number
from ...data.columns.schema import DATES, kind_of
from ..problems import Problem

_EPOCH = datetime.datetime(1970, 1, 1)


def check_types(schema: Any, label: str) -> None:
    """See that each column can be used.

    Raises:
        Problem: 422 if one cannot.
    """
    for field in schema:
        kind = kind_of(field.type)
        if kind is None:
            detail = f"Column {field.name[:80]!r} holds {str(field.type)[:80]}, which is no number, text or date."
            raise Problem(422, "the columns cannot be used", f"{detail} Leave it out, or turn it into one of these.")
        if kind in DATES and field.name in (label, "weight"):
            detail = f"Column {field.name[:80]!r} holds {field.type}; it has to hold numbers or text."
            raise Problem(422, "the columns cannot be used", detail)


def not_plain(schema: Any) -> set[int]:
    """The places of columns that are not numbers, booleans or text as JSON has them."""
    types = pyarrow("types")
    checks = (types.is_dictionary, types.is_decimal, types.is_duration, types.is_float16, types.is_temporal)
    return {place for place, one in enumerate(schema.types) if any(check(one) for check in checks)}


def plain(column: Any) -> Any:
    """Such a column as numbers or text."""
    pa, types = pyarrow(), pyarrow("types")
    if types.is_dictionary(column.type):  # categories, as in training
        return as_text(column.cast(column.type.value_type))
    if types.is_decimal(column.type) or types.is_duration(column.type) or types.is_float16(column.type):
        return pa.array(number(column)[0].astype("float64"), from_pandas=True)
    if types.is_date(column.type):
        return _texts(column, column.cast(pa.date32()).to_pylist())
    if types.is_time(column.type):
        return _texts(column, column.cast(pa.time64("us"), safe=False).to_pylist())
    return _moments(column) if types.is_timestamp(column.type) else column


def _texts(column: Any, values: list[Any]) -> Any:
    return pyarrow().array([None if value is None else value.isoformat() for value in values], pyarrow().string())


def _moments(column: Any) -> Any:
    """Moments as text; of a column with a zone, as the clock on the spot showed them, and how far that is ahead."""
    pa = pyarrow()
    utc = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    wall = utc if column.type.tz is None else pyarrow("compute").local_timestamp(utc)
    both = zip(_microseconds(wall), _microseconds(utc), strict=True)
    shown = [None if at is None else _written(at, at - (at if moment is None else moment)) for at, moment in both]
    if column.type.tz is None:
        shown = [None if text is None else text[:-6] for text in shown]
    return pa.array(shown, pa.string())


def _microseconds(moments: Any) -> list[int | None]:
    found: list[int | None] = moments.cast(pyarrow().int64()).to_pylist()
    return found


def _written(wall: int, ahead: int) -> str:
    minutes = ahead // 60_000_000
    sign, hours = "-" if minutes < 0 else "+", abs(minutes)
    moment = _EPOCH + datetime.timedelta(microseconds=wall)
    return f"{moment.isoformat()}{sign}{hours // 60:02}:{hours % 60:02}"
