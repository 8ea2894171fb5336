"""How dates and times are written: each form has a name, which is an example of it, and one way to read it.

A column is read at once, through Arrow, and the value of one row by itself; both take a text apart with the same
expression and put the same whole numbers together with the same code, so that they agree to the last bit.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrow import as_numpy, pyarrow

YEAR_FIRST, DAY_FIRST, MONTH_FIRST, TOGETHER = "2020-02-13", "13/02/2020", "02/13/2020", "20200213"
MONTH_OF_YEAR, TIME = "2020-02", "10:30"
EPOCHS = {"seconds": 1_000_000.0, "milliseconds": 1_000.0, "microseconds": 1.0, "nanoseconds": 0.001}  # microseconds

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# The names of zones in RFC 2822; other names mean different things in different countries.
_ZONES = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
_DAY_OF_WEEK = "(?:(?i:mon|tue|wed|thu|fri|sat|sun)(?i:[a-z]{0,6}),? )?"
_NAME = (
    "(?P<name>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    "sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))[.]?"
)
_YEAR, _MONTH, _DAY = "(?P<year>[0-9]{4})", "(?P<month>[0-9]{1,2})", "(?P<day>[0-9]{1,2})"
_SHORT_YEAR = "(?P<year>[0-9]{4}|[0-9]{2})"
_MARK, _SAME = "(?P<mark>[-/.])", "(?P<same>[-/.])"
_ORDINAL = "(?:st|nd|rd|th)?,?"
_SECONDS = "(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?"
_HALF = " ?(?:(?P<half>[AaPp])[.]?[Mm][.]?)?"
_CLOCK = f"(?P<hour>[0-9]{{1,2}}):(?P<minute>[0-9]{{2}})(?::{_SECONDS})?{_HALF}"
_ZONE = f" ?(?:Z|z|UTC|GMT)?(?P<zone>[+-][0-9]{{2}}:?(?:[0-9]{{2}})?|{'|'.join(_ZONES)})?(?: [(][A-Za-z ]+[)])?"
_LOOSE_CLOCK = f"(?P<hour>[0-9]{{1,2}})(?::?(?P<minute>[0-9]{{2}})(?::?{_SECONDS})?)?{_HALF}"
_CLOSE_CLOCK = f"(?P<hour>[0-9]{{2}}):?(?P<minute>[0-9]{{2}})(?::?{_SECONDS})?"
_AND_TIME = f"(?:(?:[T_:]|,? {{1,2}}(?:at )?){_CLOCK}{_ZONE})?"

_EXPRESSIONS = {
    YEAR_FIRST: f"{_YEAR}{_MARK}{_MONTH}{_SAME}{_DAY}(?:(?:[T_]| {{1,2}}){_LOOSE_CLOCK}{_ZONE})?",
    DAY_FIRST: f"{_DAY}{_MARK}{_MONTH}{_SAME}{_SHORT_YEAR}{_AND_TIME}",
    MONTH_FIRST: f"{_MONTH}{_MARK}{_DAY}{_SAME}{_SHORT_YEAR}{_AND_TIME}",
    TOGETHER: f"{_YEAR}(?P<month>[0-9]{{2}})(?P<day>[0-9]{{2}})(?:[T_ ]?{_CLOSE_CLOCK}{_ZONE})?",
    "13 Feb 2020": f"{_DAY_OF_WEEK}{_DAY}{_ORDINAL}[-/ ]?{_NAME}[-/ ,]? ?{_SHORT_YEAR}{_AND_TIME}",
    "Feb 13 2020": f"{_DAY_OF_WEEK}{_NAME}[-/ ]? ?{_DAY}{_ORDINAL}[-/ ]{_SHORT_YEAR}{_AND_TIME}",
    "Feb 13 10:30:00 2020": f"{_DAY_OF_WEEK}{_NAME} {{1,2}}{_DAY} {_CLOCK}{_ZONE} {_YEAR}",
    MONTH_OF_YEAR: f"{_YEAR}[-/](?P<month>[0-9]{{2}})",
    "Feb 2020": f"{_NAME}[-/ ,]? ?{_YEAR}",
    TIME: _CLOCK,
}
WRITTEN = tuple(_EXPRESSIONS)
FORMS = (*WRITTEN, *EPOCHS)
_BLANKS = " \t\r\n"
_ISO = "^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]{1,6})?)?)?$"
_DAY_LENGTH, _MINUTE = 86_400_000_000, 60_000_000  # in microseconds
_LAST = 253_402_300_800_000_000  # the end of the year 9999
_END = {form: _DAY_LENGTH if form == TIME else _LAST for form in WRITTEN}


@dataclass(frozen=True)
class Moments:
    """Moments in microseconds since 1970, as a clock on the spot would show them; and by how much that is ahead of UTC.

    Arrays for a column, whole numbers for one value. What cannot be read is not `valid`.
    """

    wall: Any
    ahead: Any
    valid: Any


def read_column(texts: Any, form: str) -> Moments:
    """Read an Arrow array of text. Nulls are not valid."""
    pa, compute = pyarrow(), pyarrow("compute")
    if form in EPOCHS:
        return read_numbers(as_numpy(_numbers(texts)), form)
    texts = compute.ascii_trim(texts, _BLANKS)
    if form == YEAR_FIRST and compute.all(compute.match_substring_regex(texts, _ISO), skip_nulls=True).as_py() is True:
        try:  # Arrow's own way is many times as quick; it refuses a column with an impossible date
            moments = texts.cast(pa.timestamp("us")).cast(pa.int64())
        except pa.ArrowInvalid:
            pass
        else:
            valid = as_numpy(compute.cast(moments.is_valid(), pa.uint8())).astype(bool)
            wall = as_numpy(moments.fill_null(0))
            possible = valid & (wall >= _FIRST)
            return Moments(np.where(possible, wall, 0), np.zeros(len(wall), np.int64), possible)
    found = compute.extract_regex(texts, f"^{_EXPRESSIONS[form]}$")
    names = [found.type.field(k).name for k in range(found.type.num_fields)]
    parts = {name: compute.fill_null(part, "") for name, part in zip(names, found.flatten(), strict=True)}
    fields = {name: _FIELDS.get(name, _whole)(part) for name, part in parts.items()}
    if "year" in parts:
        short = as_numpy(compute.binary_length(parts["year"])) == 2
        fields["year"] = np.where(short, _full_year(fields["year"]), fields["year"])
    matched = as_numpy(compute.cast(found.is_valid(), pa.uint8())).astype(bool)
    moments = _together(fields)
    valid = matched & moments.valid & (moments.wall < _END[form])
    return Moments(np.where(valid, moments.wall, 0), moments.ahead * np.ones(len(valid), np.int64), valid)


def read_value(text: str, form: str) -> Moments:
    """Read one text."""
    text = text.strip(_BLANKS)
    if form in EPOCHS:
        return _read_number(text, form)
    found = _compiled(form).fullmatch(text)
    if found is None:
        return _NOTHING
    parts = found.groupdict(default="")
    fields = {name: _VALUES[name](part) if name in _VALUES else int(part or 0) for name, part in parts.items()}
    if len(parts.get("year", "")) == 2:
        fields["year"] = int(_full_year(fields["year"]))
    moments = _together(fields)
    return moments if moments.valid and moments.wall < _END[form] else _NOTHING


def read_numbers(values: NDArray[Any], form: str) -> Moments:
    """Read numbers: time since 1970 in some unit, or 20200213."""
    values = np.asarray(values, np.float64)
    if form == TOGETHER:
        return _digits(values)
    with np.errstate(all="ignore"):
        exact = np.rint(values * EPOCHS[form])
        valid = (exact >= _FIRST) & (exact < _LAST) & (exact != 0)  # 0 stands for no date
    return Moments(np.where(valid, exact, 0).astype(np.int64), np.zeros(len(values), np.int64), valid)


def _read_number(text: str, form: str) -> Moments:
    moments = read_numbers(np.array([float(text) if _NUMBER.fullmatch(text) else np.nan]), form)
    return Moments(int(moments.wall[0]), 0, True) if moments.valid[0] else _NOTHING


def _numbers(texts: Any) -> Any:
    """Texts as numbers, and null where they are none."""
    pa, compute = pyarrow(), pyarrow("compute")
    texts = compute.ascii_trim(texts, _BLANKS)
    plain = compute.match_substring_regex(texts, f"^{_NUMBER.pattern}$")
    return compute.if_else(plain, texts, pa.scalar(None, pa.string())).cast(pa.float64())


_NUMBER = re.compile("[0-9]{1,20}(?:[.][0-9]{0,20})?")


def _digits(values: NDArray[np.float64]) -> Moments:
    """Numbers whose digits are a date, and perhaps a time: 20200213, 202002131030, 20200213103000."""
    with np.errstate(all="ignore"):
        whole = (values == np.floor(values)) & (values >= 1e7) & (values < 1e14)
        digits = np.where(whole, values, 0).astype(np.int64)
    days = digits < 10**8
    minutes = (digits >= 10**11) & (digits < 10**12)
    seconds = digits >= 10**13
    digits = np.where(days, digits * 1_000_000, np.where(minutes, digits * 100, digits))
    names = ("second", "minute", "hour", "day", "month")
    fields = {name: digits // 100**place % 100 for place, name in enumerate(names)}
    moments = _together({**fields, "year": digits // 10**10})
    valid = whole & (days | minutes | seconds) & moments.valid & (moments.wall < _LAST)
    return Moments(np.where(valid, moments.wall, 0), np.zeros(len(values), np.int64), valid)


def _together(fields: dict[str, Any]) -> Moments:
    """A moment from its parts: whole numbers, or arrays of them."""
    year, month, day = fields.get("year", 1970), fields.get("month", fields.get("name", 1)), fields.get("day", 1)
    hour, minute, second = fields.get("hour", 0), fields.get("minute", 0), fields.get("second", 0)
    half = fields.get("half", 0)
    days = _days(year, month, day)
    beyond = _days(year + month // 12, month % 12 + 1, 1)
    valid = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (days < beyond)
    midnight = (hour == 24) & (minute == 0) & (second == 0)  # the end of a day
    valid = valid & ((hour < 24) | midnight) & (minute < 60) & (second <= 60)  # 60: a leap second
    valid = valid & ((half == 0) | ((hour >= 1) & (hour <= 12)))
    valid = valid & (fields.get("mark", 0) == fields.get("same", 0)) & (fields.get("zone", 0) != _IMPOSSIBLE)
    hour = (half == 0) * hour + (half != 0) * (hour % 12 + 12 * (half == 2))
    seconds = (hour * 60 + minute) * 60 + second
    wall = days * _DAY_LENGTH + seconds * 1_000_000 + fields.get("fraction", 0)
    return Moments(wall, fields.get("zone", 0) * _MINUTE, valid)


def _days(year: Any, month: Any, day: Any) -> Any:
    """Days since 1970 in the Gregorian calendar; the year is counted from March, so that leap days are last."""
    year = year - (month <= 2)
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


_FIRST = _days(1, 1, 1) * _DAY_LENGTH
_IMPOSSIBLE = 10**6
_NOTHING = Moments(0, 0, False)


def _full_year(short: Any) -> Any:
    """The year that two digits mean, as POSIX has it: 69 to 99 are in the twentieth century."""
    return short + 1900 + 100 * (short < 69)


def _month_number(name: str) -> int:
    short = name[:3].lower()
    return _MONTHS.index(short) + 1 if short in _MONTHS else 0


def _half_number(half: str) -> int:
    return {"": 0, "a": 1, "p": 2}[half.lower()]


def _zone_minutes(zone: str) -> int:
    if not zone or zone in _ZONES:
        return 60 * _ZONES.get(zone, 0)
    digits = zone[1:].replace(":", "")
    hours, minutes = int(digits[:2]), int(digits[2:] or 0)
    if hours > 15 or minutes > 59 or zone.endswith(":"):
        return _IMPOSSIBLE
    return (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)


def _microseconds(fraction: str) -> int:
    return int(fraction[:6].ljust(6, "0"))


_VALUES: dict[str, Callable[[str], int]] = {
    "name": _month_number,
    "half": _half_number,
    "zone": _zone_minutes,
    "fraction": _microseconds,
    "mark": ord,
    "same": ord,
}


def _whole(part: Any) -> NDArray[np.int64]:
    """Digits as whole numbers; 0 where there are none."""
    pa, compute = pyarrow(), pyarrow("compute")
    return as_numpy(compute.if_else(compute.equal(part, ""), "0", part).cast(pa.int64()))


def _few(read: Callable[[str], int]) -> Callable[[Any], NDArray[np.int64]]:
    """Read a part that has few different values: each of them once."""

    def of_column(part: Any) -> NDArray[np.int64]:
        coded = part.dictionary_encode()
        numbers = np.array([read(value) if value else 0 for value in coded.dictionary.to_pylist()], np.int64)
        return numbers[as_numpy(coded.indices)] if len(numbers) else np.zeros(len(part), np.int64)

    return of_column


def _fractions(part: Any) -> NDArray[np.int64]:
    compute = pyarrow("compute")
    return _whole(compute.utf8_slice_codeunits(compute.utf8_rpad(part, 6, "0"), 0, 6))


_FIELDS: dict[str, Callable[[Any], NDArray[np.int64]]] = {
    **{name: _few(_VALUES[name]) for name in ("name", "half", "zone", "mark", "same")},
    "fraction": _fractions,
}


@functools.cache
def _compiled(form: str) -> re.Pattern[str]:
    return re.compile(_EXPRESSIONS[form])


def as_arrow(texts: Sequence[str]) -> Any:
    """Texts as an Arrow array."""
    return pyarrow().array(list(texts), pyarrow().string())
