"""Decides whether texts or numbers of a column are dates, from the first rows, and reads them.

A column is treated as dates only if this is certain. (Nearly) all texts must have one form. Values that may be
something else (20200213, 1581548400, 2020-02) must be in a column whose name suggests time, or be many values that are
all dates.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import Option, Phrase
from ..arrow import as_numpy, pyarrow
from . import date_forms
from .date_forms import DAY_FIRST, EPOCHS, MONTH_FIRST, MONTH_OF_YEAR, TIME, TOGETHER, WRITTEN, YEAR_FIRST, Moments

_DAY = 86_400_000_000  # microseconds
_MANY = 20  # so many eight-digit numbers are not all dates by chance
_ODD = 20  # at most one of so many texts may be something else
_FIRST_TEXTS = 64  # a form that cannot read half of these is not tried on all texts
# The years of dates that nothing else suggests, and the moments that count as times since 1970.
_YEARS = range(1900, 2101)
_EPOCH_YEARS = (3e14, 4.1e15)  # 1979 to 2099, in microseconds

_TIME_WORDS = {
    *("date", "dates", "datetime", "day", "time", "times", "timestamp", "timestamps", "ts", "dt", "epoch", "unix"),
    *("when", "moment", "created", "updated", "modified", "deleted", "started", "ended", "opened", "closed"),
    *("dob", "birthday", "birth", "month", "period", "week"),
}
_NO_DATE_WORDS = {"update", "candidate", "mandate", "validate", "runtime", "lifetime", "overtime", "uptime", "downtime"}


@dataclass(frozen=True)
class DateForm:
    """The form of the dates in a column.

    Args:
        text: the name of the form, one of `date_forms.FORMS`.
        kind: days, days with a time, or times of day.
        ambiguous: whether day and month could be exchanged.
        example: a text that would then be another day.
    """

    text: str
    kind: Literal["date", "moment", "time"]
    ambiguous: bool = False
    example: str = ""


def recognize(name: str, texts: Sequence[str], day_first: bool | None = None) -> DateForm | None:
    """Return the form in which (nearly) all texts are dates; None if it is not certain that they are dates.

    Args:
        name: the name of the column.
        texts: the different texts of the first rows, without missing values.
        day_first: whether 1/2/2020 is in February, if the user has said so. Default: None.
    """
    texts = [text for text in texts if _ZEROS.fullmatch(text) is None]  # 0000-00-00 means that there is no date
    if not texts:
        return None
    if all(_NUMBER.fullmatch(text) for text in texts[:_FIRST_TEXTS]):
        numbers = [float(text) for text in texts if _NUMBER.fullmatch(text)]
        return recognize_numbers(name, np.array(numbers)) if _nearly_all(len(numbers), len(texts)) else None
    counts = _readable(texts)
    if not counts:
        return None
    most = max(counts.values())
    best = [form for form in WRITTEN if counts.get(form) == most]
    form, example = best[0], ""
    if not _nearly_all(most, len(texts)):
        return None
    if form in (DAY_FIRST, MONTH_FIRST):
        chosen = DAY_FIRST if day_first else MONTH_FIRST
        if day_first is not None and _nearly_all(counts.get(chosen, 0), len(texts)):
            form = chosen
        elif len(best) > 1:
            dotted = sum("." in text[:6] for text in texts) * 2 > len(texts)  # dots suggest that the day comes first
            form = DAY_FIRST if dotted else MONTH_FIRST
            example = "" if dotted else _in_two_ways(texts)
    moments = date_forms.read_column(date_forms.as_arrow(texts), form)
    if not _certain(name, texts, form, moments):
        return None
    return DateForm(form, _kind(form, moments.wall[moments.valid]), bool(example), example)


def _in_two_ways(texts: Sequence[str]) -> str:
    """Return the first text that is another day if the day comes first; empty if there is none."""
    for text in texts:
        one, other = (date_forms.read_value(text, form) for form in (DAY_FIRST, MONTH_FIRST))
        if one.valid and other.valid and one.wall != other.wall:
            return text
    return ""


def ambiguity(name: str, form: str, example: str) -> Phrase:
    """Return the note about a column whose dates could be read in two ways."""
    ways = {"month-first": MONTH_FIRST, "day-first": DAY_FIRST}
    days = {way: _day(date_forms.read_value(example, of).wall) for way, of in ways.items()}
    taken, other = ways if form == MONTH_FIRST else reversed(ways)
    return Phrase(
        f"column {name!r}: {example} could be {days['month-first']} or {days['day-first']}; read as {days[taken]}; ",
        *(Option("dates", other), " reads it the other way"),
    )


def _day(wall: int) -> str:
    day = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=wall)
    return f"{_MONTHS[day.month - 1]} {day.day}"


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def recognize_numbers(name: str, values: NDArray[Any]) -> DateForm | None:
    """Return the form of numbers that are dates: time since 1970 if the column's name suggests time, or digits.

    An example of digits is 20200213. The result is None if the numbers are not certainly dates.
    """
    values = np.unique(np.asarray(values, np.float64))
    values = values[np.isfinite(values) & (values != 0)]  # 0 means that there is no date
    if not len(values):
        return None
    temporal = speaks_of_time(name)
    digits = date_forms.read_numbers(values, TOGETHER)
    read = int(digits.valid.sum())
    years = digits.wall.astype("datetime64[us]").astype("datetime64[Y]").astype(np.int64) + 1970
    usual = bool(((years >= _YEARS[0]) & (years <= _YEARS[-1]))[digits.valid].all())
    if usual and (_nearly_all(read, len(values)) if temporal else read == len(values) >= _MANY):
        return DateForm(TOGETHER, _kind(TOGETHER, digits.wall[digits.valid]))
    if not temporal:
        return None
    for unit, size in EPOCHS.items():
        inside = (values * size >= _EPOCH_YEARS[0]) & (values * size < _EPOCH_YEARS[1])
        if _nearly_all(int(inside.sum()), len(values)):
            moments = date_forms.read_numbers(values, unit)
            return DateForm(unit, _kind(unit, moments.wall[moments.valid]))
    return None


def read(texts: Any, form: str) -> Any:
    """Convert text to moments in local time (or to times of day); text that cannot be read becomes null.

    A date such as 2020-02-13 is unambiguous, and is read in every form.
    """
    return _arrow(_read(_plain(texts), form), form, utc=False)


def read_both(texts: Any, form: str) -> tuple[Any, Any]:
    """Convert text to moments in local time and in UTC; they differ if the texts name a time zone."""
    moments = _read(_plain(texts), form)
    return _arrow(moments, form, utc=False), _arrow(moments, form, utc=True)


def read_one(text: str, form: str) -> Moments:
    """Convert one text as `read_both` converts a column."""
    moments = date_forms.read_value(text, form)
    return moments if moments.valid or form in (YEAR_FIRST, TIME) else date_forms.read_value(text, YEAR_FIRST)


def _read(texts: Any, form: str) -> Moments:
    found = date_forms.read_column(texts, form)
    if form in (YEAR_FIRST, TIME) or found.valid.all():
        return found
    other = date_forms.read_column(texts, YEAR_FIRST)
    wall, ahead = (np.where(found.valid, a, b) for a, b in ((found.wall, other.wall), (found.ahead, other.ahead)))
    return Moments(wall, ahead, found.valid | other.valid)


def usual_form(kind: str) -> str:
    """Return the form for text in a column that had a date type in training."""
    return TIME if kind == "time" else YEAR_FIRST


def read_numbers(values: Any, form: str) -> Any:
    """Convert numbers (an array, or an Arrow array) to moments; a number that cannot be read becomes null."""
    if hasattr(values, "cast"):
        values = as_numpy(values.cast(pyarrow().float64(), safe=False))
    return _arrow(date_forms.read_numbers(values, form), form, utc=False)


def all_midnight(moments: Any) -> bool:
    """Return whether all timestamps of an Arrow array are midnight in local time, so that they are days."""
    pa, compute = pyarrow(), pyarrow("compute")
    if getattr(moments.type, "tz", None) is not None:
        moments = compute.local_timestamp(moments)
    wall = moments.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).drop_null()
    return bool((as_numpy(wall) % _DAY == 0).all())


def speaks_of_time(name: str) -> bool:
    """Return whether a column's name suggests dates or times: `date`, `created_at`, `pickupTime`, `saledate`."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return False
    if words[-1] == "at" or not _TIME_WORDS.isdisjoint(words):
        return True
    return any(word.endswith(("date", "time")) and word not in _NO_DATE_WORDS for word in words)


_WORD = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NUMBER = re.compile("[ \t]*[0-9]{1,20}(?:[.][0-9]{0,20})?[ \t]*")
_ZEROS = re.compile("[0-]*0[-/.: T0]*")


def _readable(texts: Sequence[str]) -> dict[str, int]:
    """Return how many texts each form can read, for the forms that can read some."""
    first = texts[:_FIRST_TEXTS]
    likely = [
        form for form in WRITTEN if sum(date_forms.read_value(text, form).valid for text in first) * 2 >= len(first)
    ]
    column = date_forms.as_arrow(texts) if likely else None
    return {form: int(date_forms.read_column(column, form).valid.sum()) for form in likely}


def _certain(name: str, texts: Sequence[str], form: str, moments: Moments) -> bool:
    """Return whether texts that can be read as dates certainly are dates."""
    if speaks_of_time(name):
        return True
    if form == MONTH_OF_YEAR:  # it may also be a season, such as 2010-11
        return False
    if form in (DAY_FIRST, MONTH_FIRST):
        short = [text for text in texts if _SHORT.match(text)]
        if any("/" not in text for text in short):  # 1.2.20 may also be a version
            return False
        years = moments.wall[moments.valid].astype("datetime64[us]").astype("datetime64[Y]").astype(np.int64) + 1970
        return bool(((years >= _YEARS[0]) & (years <= _YEARS[-1])).all())
    return True


_SHORT = re.compile("[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2}(?![0-9])")


def _nearly_all(part: int, of: int) -> bool:
    return 0 < part >= math.ceil(of * (1 - 1 / _ODD))


def _kind(form: str, wall: NDArray[np.int64]) -> Literal["date", "moment", "time"]:
    if form == TIME:
        return "time"
    return "date" if bool((wall % _DAY == 0).all()) else "moment"


def _plain(texts: Any) -> Any:
    """Convert an Arrow array of text in any layout to an array of strings."""
    pa = pyarrow()
    return texts if texts.type == pa.string() else texts.cast(pa.string())


def _arrow(moments: Moments, form: str, utc: bool) -> Any:
    """Convert moments to an Arrow array. It is made from buffers, because Arrow would import pandas for this."""
    pa = pyarrow()
    wall = np.ascontiguousarray(moments.wall - moments.ahead if utc else moments.wall, dtype=np.int64)
    type = pa.time64("us") if form == TIME else pa.timestamp("us")
    valid = pa.py_buffer(np.packbits(moments.valid, bitorder="little").tobytes())
    return pa.Array.from_buffers(type, len(wall), [valid, pa.py_buffer(wall.tobytes())])
