"""Converts dates to features: the time as a number, and what recurs (month, weekday, hour) as categories.

The day of the year becomes a sine and a cosine, so that December 31 is close to January 1. Columns and single values
are converted by separate functions in this module; both must give the same features, to the last bit.
"""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np

from ..arrow import pyarrow

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HOURS = tuple(map(str, range(24)))
_MONTHS = tuple(map(str, range(13)))
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
# Rounded, so that all mathematical libraries give the same table.
_ANGLES = [2 * math.pi * day / 366 for day in range(366)]
_SINE = [round(math.sin(angle), 6) for angle in _ANGLES]
_COSINE = [round(math.cos(angle), 6) for angle in _ANGLES]


def kinds(name: str, kind: str) -> dict[str, str]:
    """Return the kind ("number" or "text") of each feature of a column of dates, by the name of the feature."""
    if kind == "time":
        return {f"{name}.time": "number", f"{name}.hour": "text"}
    found = {f"{name}.time": "number", f"{name}.month": "text", f"{name}.weekday": "text"}
    if kind == "moment":
        found[f"{name}.hour"] = "text"
    return found | dict.fromkeys((f"{name}.year", f"{name}.yearday.sin", f"{name}.yearday.cos"), "number")


def of_column(name: str, column: Any, kind: str, utc: Any = None) -> dict[str, Any]:
    """Convert an Arrow column of dates to features; return them as Arrow columns by name.

    Args:
        name: the name of the column.
        column: dates, timestamps or times.
        kind: "date", "moment" or "time".
        utc: the same moments in UTC, if `column` has local times. Default: None.
    """
    pa, compute = pyarrow(), pyarrow("compute")
    if kind == "time":
        time = column.cast(pa.time64("us"))
        return {f"{name}.time": _seconds(time), f"{name}.hour": _named(compute.hour(time), _HOURS)}
    moment = column.cast(pa.timestamp("us", tz=getattr(column.type, "tz", None)), safe=False)
    found = {
        f"{name}.time": _seconds(moment if utc is None else utc),
        f"{name}.month": _named(compute.month(moment), _MONTHS),
        f"{name}.weekday": _named(compute.day_of_week(moment), WEEKDAYS),
    }
    if kind == "moment":
        found[f"{name}.hour"] = _named(compute.hour(moment), _HOURS)
    day = compute.subtract(compute.day_of_year(moment), 1)
    found[f"{name}.year"] = compute.year(moment).cast(pa.float64())
    found[f"{name}.yearday.sin"] = pa.array(_SINE).take(day)
    found[f"{name}.yearday.cos"] = pa.array(_COSINE).take(day)
    return found


def _named(numbers: Any, names: tuple[str, ...]) -> Any:
    """Convert numbers to the names at these places."""
    pa = pyarrow()
    return pa.DictionaryArray.from_arrays(numbers.cast(pa.int32()), pa.array(names))


def _seconds(column: Any) -> Any:
    pa = pyarrow()
    return pyarrow("compute").divide(column.cast(pa.int64()).cast(pa.float64(), safe=False), 1e6)


def of_value(name: str, value: Any, kind: str) -> dict[str, Any] | None:
    """Convert a date of a Python type, which must have no time zone, to features by name; None for any other value."""
    if kind == "time":
        if type(value) is not datetime.time or value.tzinfo is not None:
            return None
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return {f"{name}.time": float(seconds * 1_000_000 + value.microsecond) / 1e6, f"{name}.hour": str(value.hour)}
    if type(value) is datetime.date:
        value = datetime.datetime(value.year, value.month, value.day)
    if type(value) is not datetime.datetime or value.tzinfo is not None:
        return None
    return _of_moment(name, value, (value - _EPOCH) // _MICROSECOND, kind)


def as_text(seconds: float, kind: str) -> float | str:
    """Return a date, a moment in UTC, or a time of day as text, from its feature `time`; NaN stays NaN."""
    if math.isnan(seconds):
        return seconds
    moment = _EPOCH + datetime.timedelta(seconds=seconds)
    return str(moment.time() if kind == "time" else moment.date() if kind == "date" else moment)


def of_any(name: str, value: Any) -> dict[str, Any] | None:
    """The features of a date, a moment or a time of Python, NumPy or pandas; None for any other value."""
    if isinstance(value, np.datetime64):
        days = np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D")
        value = value.astype("datetime64[D]" if days else "datetime64[us]").item()
    elif type(value).__name__ == "Timestamp":  # a pandas Timestamp, which has nanoseconds too
        value = value.to_pydatetime(warn=False)
    if isinstance(value, datetime.datetime):
        wall = value.replace(tzinfo=None)
        utc = wall - (value.utcoffset() or datetime.timedelta())
        return _of_moment(name, wall, (utc - _EPOCH) // _MICROSECOND, "moment")
    if isinstance(value, datetime.date):
        return of_value(name, value, "date")
    return of_value(name, value, "time") if isinstance(value, datetime.time) else None


def of_microseconds(name: str, wall: int, ahead: int, kind: str) -> dict[str, Any]:
    """Convert a moment to features by name.

    Args:
        name: the name of the column.
        wall: local time, in microseconds since 1970.
        ahead: how far local time is ahead of UTC, in microseconds.
        kind: "date", "moment" or "time".
    """
    if kind == "time":
        return {f"{name}.time": float(wall) / 1e6, f"{name}.hour": str(wall // 3_600_000_000)}
    return _of_moment(name, _EPOCH + datetime.timedelta(microseconds=wall), wall - ahead, kind)


def _of_moment(name: str, moment: datetime.datetime, utc: int, kind: str) -> dict[str, Any]:
    found = {
        f"{name}.time": float(utc) / 1e6,
        f"{name}.month": str(moment.month),
        f"{name}.weekday": WEEKDAYS[moment.weekday()],
    }
    if kind == "moment":
        found[f"{name}.hour"] = str(moment.hour)
    day = moment.timetuple().tm_yday - 1
    found[f"{name}.year"] = float(moment.year)
    found[f"{name}.yearday.sin"] = _SINE[day]
    found[f"{name}.yearday.cos"] = _COSINE[day]
    return found
