"""Dates are recognized only where they are certain, and are read as the moment that was written."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from typing import Any

import date_oracle
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unitless.data.columns import date_forms, dates

MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
Moment = datetime.datetime


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2020-02-13", Moment(2020, 2, 13)),
        ("2020/02/13", Moment(2020, 2, 13)),
        ("2020-2-3 9:05", Moment(2020, 2, 3, 9, 5)),
        ("2020-02-13T10:30:15Z", Moment(2020, 2, 13, 10, 30, 15)),
        ("2020-02-13T10:30:15.25+01:00", Moment(2020, 2, 13, 10, 30, 15, 250_000)),
        ("2020-02-13 10:30:15,123456789", Moment(2020, 2, 13, 10, 30, 15, 123_456)),
        ("2020-02-13 10:30:15 UTC", Moment(2020, 2, 13, 10, 30, 15)),
        ("20141013T000000", Moment(2014, 10, 13)),
        ("20141013T103015Z", Moment(2014, 10, 13, 10, 30, 15)),
        ("01/02/2020 13:00", Moment(2020, 1, 2, 13)),
        ("1/2/20", Moment(2020, 1, 2)),
        ("1/2/69", Moment(1969, 1, 2)),
        ("13.02.2020", Moment(2020, 2, 13)),
        ("01.02.2020", Moment(2020, 2, 1)),
        ("13/02/2020 01:05:00 PM", Moment(2020, 2, 13, 13, 5)),
        ("2/13/2020 12:05 a.m.", Moment(2020, 2, 13, 0, 5)),
        ("Feb 13 2020", Moment(2020, 2, 13)),
        ("February 13th, 2020 10:30 AM", Moment(2020, 2, 13, 10, 30)),
        ("13-Feb-2020", Moment(2020, 2, 13)),
        ("13FEB2020", Moment(2020, 2, 13)),
        ("13/Feb/2020:10:30:15 +0000", Moment(2020, 2, 13, 10, 30, 15)),
        ("Thu, 13 Feb 2020 10:30:15 +0100", Moment(2020, 2, 13, 10, 30, 15)),
        ("Mon Apr 06 22:19:45 PDT 2009", Moment(2009, 4, 6, 22, 19, 45)),
        ("Feb 2020", Moment(2020, 2, 1)),
        ("1500-01-01 10:00:00", Moment(1500, 1, 1, 10)),
        ("9999-12-31 23:59:59", Moment(9999, 12, 31, 23, 59, 59)),
        ("2020-12-31 24:00", Moment(2021, 1, 1)),
    ],
)
def test_the_usual_ways_to_write_dates_are_read(text: str, moment: Moment) -> None:
    form = dates.recognize("x", [text])
    assert form is not None
    assert dates.read(pa.array([text, f" {text} ", None]), form.text).to_pylist() == [moment, moment, None]
    at_midnight = (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)
    assert form.kind == ("date" if at_midnight else "moment")


@pytest.mark.parametrize(
    "texts",
    [
        ["3-4", "1-2"],
        ["1.2.3", "1.10.12"],
        ["1.2.20", "1.3.21"],
        ["10-11-12"],
        ["555-123-4567"],
        ["2010-11", "2011-12"],
        ["192.168.1.1"],
        ["20200213"],
        ["1546300800"],
        ["31/02/2020"],
        ["30/30/2020"],
        ["2020-01/02"],
        ["1/2/1020"],
        ["may", "march"],
        ["May", "12"],
        ["25:10"],
        ["16:9"],
        ["12", "13"],
        ["2020"],
        ["0000-00-00"],
        [""],
        [],
        ["٢٠٢٠-٠١-٠١"],
        ["2020-01-01", "2020-01-02", "soon"],
    ],
)
def test_ambiguous_text_is_not_a_date(texts: list[str]) -> None:
    assert dates.recognize("x", texts) is None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("date", True),
        ("order_date", True),
        ("saledate", True),
        ("createdAt", True),
        ("created_at", True),
        ("event.ts", True),
        ("UnixTime", True),
        ("pickup_datetime", True),
        ("day", True),
        ("Timestamp (UTC)", True),
        ("update", False),
        ("candidate", False),
        ("flat", False),
        ("at_home", False),
        ("days_open", False),
        ("price", False),
        ("", False),
        ("2", False),
    ],
)
def test_the_column_name_decides_whether_numbers_are_times(name: str, says: bool) -> None:
    assert dates.speaks_of_time(name) == says
    found = dates.recognize(name, ["1546300800"])
    assert (found is not None) == says
    assert dates.recognize_numbers(name, np.array([1546300800])) == found


@pytest.mark.parametrize(
    ("unit", "number"), [("seconds", 1), ("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9)]
)
def test_times_since_1970_are_read_in_their_unit(unit: str, number: float) -> None:
    moments = [Moment(2019, 1, 1, 12), Moment(2019, 6, 1, 1, 30)]
    values = [(moment - Moment(1970, 1, 1)).total_seconds() * number for moment in moments]
    for form in (
        dates.recognize("time", [str(int(value)) for value in values]),
        dates.recognize_numbers("time", np.array(values)),
    ):
        assert form == dates.DateForm(unit, "moment")
    assert dates.read(pa.array([str(int(value)) for value in values] + ["x", "0"]), unit).to_pylist() == [
        *moments,
        None,
        None,
    ]
    assert dates.read_numbers(pa.array([*values, None, float("nan")]), unit).to_pylist() == [*moments, None, None]


def test_days_as_numbers_need_a_name_or_many_values() -> None:
    days = [Moment(2014, 1, 1) + datetime.timedelta(days=5 * k) for k in range(30)]
    texts = [f"{moment:%Y%m%d}" for moment in days]
    expected = dates.DateForm("20200213", "date")
    assert dates.recognize("x", texts) == dates.recognize_numbers("x", np.array(texts, float)) == expected
    assert dates.recognize("day", texts[:2]) == dates.recognize_numbers("day", np.array(texts[:2], float)) == expected
    assert dates.recognize("x", [*texts, "20140231"]) is None
    assert dates.recognize("x", texts[:19]) is None
    assert dates.read(pa.array(texts), "20200213").to_pylist() == days
    assert dates.read_numbers(np.array(texts, float), "20200213").to_pylist() == days


def test_month_first_unless_a_day_a_dot_or_the_user_decides_otherwise() -> None:
    month_first, day_first = "02/13/2020", "13/02/2020"
    assert dates.recognize("x", ["1/2/2020", "3/4/2020"]) == dates.DateForm(
        month_first, "date", ambiguous=True, example="1/2/2020"
    )
    assert dates.recognize("x", ["1/2/2020", "13/4/2020"]) == dates.DateForm(day_first, "date")
    assert dates.recognize("x", ["1/2/2020", "3/14/2020"]) == dates.DateForm(month_first, "date")
    assert dates.recognize("x", ["1.2.2020", "3.4.2020"]) == dates.DateForm(day_first, "date")
    assert dates.recognize("x", ["1/2/2020"], day_first=True) == dates.DateForm(day_first, "date")
    assert dates.recognize("x", ["1.2.2020"], day_first=False) == dates.DateForm(month_first, "date")
    assert dates.recognize("x", ["1/2/2020", "3/14/2020"], day_first=True) == dates.DateForm(month_first, "date")


def test_a_few_texts_may_be_something_else_and_are_null() -> None:
    texts = [f"2020-01-{k:02}" for k in range(1, 31)]
    assert dates.recognize("x", [*texts, "soon", "0000-00-00"]) == dates.DateForm("2020-02-13", "date")
    read = dates.read(pa.array(["2020-01-01", "soon", "2020-02-30", "0000-00-00"]), "2020-02-13").to_pylist()
    assert read == [Moment(2020, 1, 1), None, None, None]


def test_times_of_day_are_times() -> None:
    form = dates.recognize("x", ["10:30", "9:15:30", "2:30 PM"])
    assert form == dates.DateForm("10:30", "time")
    read = dates.read(pa.array(["10:30", "2:30 PM", "24:00", "12:60"]), form.text).to_pylist()
    assert read == [datetime.time(10, 30), datetime.time(14, 30), None, None]


def test_the_clock_on_the_spot_and_the_time_in_utc_differ_by_the_zone() -> None:
    texts = pa.array(["2020-02-13T10:00:00+01:30", "2020-02-13T10:00:00Z", "2020-02-13T10:00:00-0800"])
    wall, utc = dates.read_both(texts, "2020-02-13")
    assert wall.to_pylist() == [Moment(2020, 2, 13, 10)] * 3
    assert utc.to_pylist() == [Moment(2020, 2, 13, 8, 30), Moment(2020, 2, 13, 10), Moment(2020, 2, 13, 18)]


def test_days_without_a_time_differ_from_moments() -> None:
    midnight = pa.array([Moment(2020, 1, 1), None, Moment(1500, 1, 2)])
    assert dates.all_midnight(midnight)
    assert dates.all_midnight(midnight.cast(pa.timestamp("s")))
    assert not dates.all_midnight(pa.array([Moment(2020, 1, 1), Moment(2020, 1, 1, 0, 0, 1)]))
    in_zone = pa.array([Moment(2020, 1, 1, 5)]).cast(pa.timestamp("us", tz="America/New_York"))
    assert dates.all_midnight(in_zone)


def named(moment: Moment) -> str:
    return MONTHS[moment.month - 1]


def clock(moment: Moment) -> str:
    hour = moment.hour % 12 or 12
    return f"{hour}:{moment:%M:%S} {'PM' if moment.hour >= 12 else 'AM'}"


WAYS: dict[str, Callable[[Moment], str]] = {
    "ISO": lambda m: m.isoformat(),
    "ISO with a blank": lambda m: f"{m.year:04}-{m:%m-%d %H:%M:%S.%f}",
    "slashes": lambda m: f"{m.year:04}/{m.month}/{m.day} {m:%H:%M:%S.%f}",
    "together": lambda m: f"{m.year:04}{m:%m%dT%H%M%S.%f}",
    "day first": lambda m: f"{m:%d/%m}/{m.year:04} {m:%H:%M:%S.%f}",
    "month first": lambda m: f"{m:%m-%d}-{m.year:04} {m:%H:%M:%S.%f}",
    "dots": lambda m: f"{m.day}.{m.month}.{m.year:04} {m:%H:%M:%S.%f}",
    "name": lambda m: f"{m.day} {named(m)} {m.year:04} {m:%H:%M:%S.%f}",
    "short name": lambda m: f"{named(m)[:3]} {m.day}, {m.year:04} {m:%H:%M:%S.%f}",
    "letter": lambda m: f"{DAYS[m.weekday()]}, {m:%d} {named(m)[:3]} {m.year:04} {m:%H:%M:%S.%f} +0000",
    "C": lambda m: f"{DAYS[m.weekday()]} {named(m)[:3]} {m.day:2} {m:%H:%M:%S.%f} {m.year:04}",
}


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(WAYS)), st.lists(st.datetimes(), min_size=1, max_size=8))
def test_recognized_dates_are_read_as_the_moment_that_was_written(way: str, moments: list[Moment]) -> None:
    texts = [WAYS[way](moment) for moment in moments]
    form = dates.recognize("date", texts, day_first=way in ("day first", "dots"))
    assert form is not None
    assert dates.read(pa.array(texts), form.text).to_pylist() == moments


@settings(deadline=None, max_examples=40)
@given(st.lists(st.datetimes(Moment(1970, 1, 1), Moment(2068, 12, 31)), min_size=1, max_size=8))
def test_hours_of_twelve_and_years_of_two_digits_are_read(moments: list[Moment]) -> None:
    whole = [moment.replace(microsecond=0) for moment in moments]
    texts = [f"{m.month}/{m.day}/{m.year % 100:02} {clock(m)}" for m in whole]
    form = dates.recognize("x", texts, day_first=False)
    assert form is not None
    assert dates.read(pa.array(texts), form.text).to_pylist() == whole


PIECES = [*"0-/.: TZ,x9", "2020", "02", "13", "31", "Feb", "sept", "Mon", "PM", "+01"]


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_a_column_and_single_texts_are_read_as_the_slow_reader_reads_them(data: Any) -> None:
    """Texts are pieces of dates in any order, and dates with one piece changed."""
    source = data.draw(st.randoms(use_true_random=False))
    texts = [_mangled(source) for _ in range(100)]
    assert date_forms.WRITTEN == date_oracle.FORMS
    for form in date_forms.WRITTEN:
        column = date_forms.read_column(pa.array(texts), form)
        for row, text in enumerate(texts):
            expected = date_oracle.read(text, form)
            value = date_forms.read_value(text, form)
            assert ((value.wall, value.ahead) if value.valid else None) == expected, (form, text)
            found = (column.wall[row], column.ahead[row]) if column.valid[row] else None
            assert found == expected, (form, text)


def _mangled(source: random.Random) -> str:
    if source.random() < 0.3:
        return "".join(source.choices(PIECES, k=source.randrange(1, 8)))
    moment = Moment(1900, 1, 1) + datetime.timedelta(seconds=source.randrange(6_000_000_000))
    text = WAYS[source.choice(sorted(WAYS))](moment)
    if source.random() < 0.3:
        text += source.choice(
            ["Z", " UTC", "+01:30", " -0800", " GMT+05", " PDT", " +01: ", " (CET)", " PM", "am", " p.m."]
        )
    place = source.randrange(len(text))
    return text[:place] + source.choice([*PIECES, ""]) + text[place + source.randrange(3) :]
