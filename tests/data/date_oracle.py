"""Slow reading of dates as text: one expression per form, and the calendar of Python's library."""

from __future__ import annotations

import datetime
import re

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONES = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
_DAY_OF_WEEK = "(?:(?i:mon|tue|wed|thu|fri|sat|sun)[A-Za-z]{0,6},? )?"
_NAME = (
    "(?P<name>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    "sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))[.]?"
)
_YEAR, _MONTH, _DAY = "(?P<year>[0-9]{4})", "(?P<month>[0-9]{1,2})", "(?P<day>[0-9]{1,2})"
_ANY_YEAR = "(?P<year>[0-9]{4}|[0-9]{2})"
_MARK, _SAME = "(?P<mark>[-/.])", "(?P=mark)"
_ORDINAL = "(?:st|nd|rd|th)?,?"
_SECONDS = "(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?"
_HALF = "(?: ?(?P<half>[AaPp])[.]?[Mm][.]?)?"
_ZONE = (
    f"(?: ?(?:Z|z|UTC|GMT))?(?: ?(?P<zone>[+-][0-9]{{2}}(?::?[0-9]{{2}})?|{'|'.join(_ZONES)}))?(?: [(][A-Za-z ]+[)])?"
)
_CLOCK = f"(?P<hour>[0-9]{{1,2}}):(?P<minute>[0-9]{{2}})(?::{_SECONDS})?{_HALF}"
_LOOSE_CLOCK = f"(?P<hour>[0-9]{{1,2}})(?::?(?P<minute>[0-9]{{2}})(?::?{_SECONDS})?)?{_HALF}"
_CLOSE_CLOCK = f"(?P<hour>[0-9]{{2}}):?(?P<minute>[0-9]{{2}})(?::?{_SECONDS})?"
_AND_TIME = f"(?:(?:[T_:]|,? {{1,2}}(?:at )?){_CLOCK}{_ZONE})?"
_EXPRESSIONS = {
    "2020-02-13": f"{_YEAR}{_MARK}{_MONTH}{_SAME}{_DAY}(?:(?:[T_]| {{1,2}}){_LOOSE_CLOCK}{_ZONE})?",
    "13/02/2020": f"{_DAY}{_MARK}{_MONTH}{_SAME}{_ANY_YEAR}{_AND_TIME}",
    "02/13/2020": f"{_MONTH}{_MARK}{_DAY}{_SAME}{_ANY_YEAR}{_AND_TIME}",
    "20200213": f"{_YEAR}(?P<month>[0-9]{{2}})(?P<day>[0-9]{{2}})(?:[T_ ]?{_CLOSE_CLOCK}{_ZONE})?",
    "13 Feb 2020": f"{_DAY_OF_WEEK}{_DAY}{_ORDINAL}[-/ ]?{_NAME}[-/ ,]? ?{_ANY_YEAR}{_AND_TIME}",
    "Feb 13 2020": f"{_DAY_OF_WEEK}{_NAME}[-/ ]? ?{_DAY}{_ORDINAL}[-/ ]{_ANY_YEAR}{_AND_TIME}",
    "Feb 13 10:30:00 2020": f"{_DAY_OF_WEEK}{_NAME} {{1,2}}{_DAY} {_CLOCK}{_ZONE} {_YEAR}",
    "2020-02": f"{_YEAR}[-/](?P<month>[0-9]{{2}})",
    "Feb 2020": f"{_NAME}[-/ ,]? ?{_YEAR}",
    "10:30": _CLOCK,
}
FORMS = tuple(_EXPRESSIONS)
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


def read(text: str, form: str) -> tuple[int, int] | None:
    """The local time in microseconds since 1970, and its difference from UTC; None if the text is not a date."""
    found = re.fullmatch(_EXPRESSIONS[form], text.strip(" \t"))
    if found is None:
        return None
    parts = {name: part for name, part in found.groupdict().items() if part}
    year = int(parts.get("year", 1970))
    if len(parts.get("year", "1970")) == 2:
        year += 2000 if year < 69 else 1900
    month = _MONTHS.index(parts["name"][:3].lower()) + 1 if "name" in parts else int(parts.get("month", 1))
    hour, minute, second = (int(parts.get(name, 0)) for name in ("hour", "minute", "second"))
    if "half" in parts:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (parts["half"] in "pP")
    if not (hour < 24 or (hour, minute, second) == (24, 0, 0)) or minute > 59 or second > 60:
        return None
    try:
        day = datetime.datetime(year, month, int(parts.get("day", 1)))
    except ValueError:
        return None
    wall = (day - _EPOCH) // _MICROSECOND + ((hour * 60 + minute) * 60 + second) * 1_000_000
    wall += int(parts.get("fraction", "")[:6].ljust(6, "0"))
    last = 86_400_000_000 if form == "10:30" else (datetime.datetime.max - _EPOCH) // _MICROSECOND + 1
    ahead = _ahead(parts.get("zone", ""))
    return None if wall >= last or ahead is None else (wall, ahead * 60_000_000)


def _ahead(zone: str) -> int | None:
    """The minutes of a zone."""
    if not zone or zone in _ZONES:
        return 60 * _ZONES.get(zone, 0)
    digits = zone[1:].replace(":", "")
    hours, minutes = int(digits[:2]), int(digits[2:] or 0)
    return None if hours > 15 or minutes > 59 else (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)
