"""Dates become the same features, to the last bit, in every format."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unitless.data.columns import date_parts, dates

Moment = datetime.datetime


def first_row(columns: dict[str, Any], row: int) -> dict[str, Any]:
    return {name: column[row].as_py() for name, column in columns.items()}


@settings(deadline=None, max_examples=50)
@given(st.lists(st.datetimes(), min_size=1, max_size=5), st.sampled_from(["date", "moment"]))
def test_a_column_and_a_value_have_the_same_parts(moments: list[Moment], kind: str) -> None:
    columns = date_parts.of_column("d", pa.array(moments, pa.timestamp("us")), kind)
    texts = [moment.isoformat() for moment in moments]
    assert list(columns) == list(date_parts.kinds("d", kind))
    for row, moment in enumerate(moments):
        assert first_row(columns, row) == date_parts.of_value("d", moment, kind)
        read = dates.read_one(texts[row], "2020-02-13")
        assert first_row(columns, row) == date_parts.of_microseconds("d", read.wall, read.ahead, kind)


@settings(deadline=None, max_examples=20)
@given(st.times())
def test_a_column_and_a_value_have_the_same_parts_of_a_time(time: datetime.time) -> None:
    columns = date_parts.of_column("t", pa.array([time]), "time")
    assert first_row(columns, 0) == date_parts.of_value("t", time, "time")
    read = dates.read_one(time.isoformat(), "10:30")
    assert first_row(columns, 0) == date_parts.of_microseconds("t", read.wall, read.ahead, "time")


def test_the_parts_of_a_moment() -> None:
    found = date_parts.of_value("d", Moment(2020, 7, 2, 13, 30), "moment")
    assert found == {
        "d.time": 1593696600.0,
        "d.month": "7",
        "d.weekday": "thu",
        "d.hour": "13",
        "d.year": 2020.0,
        "d.yearday.sin": 0.0,
        "d.yearday.cos": -1.0,
    }
    assert date_parts.of_value("d", datetime.date(2020, 1, 1), "date") == {
        "d.time": 1577836800.0,
        "d.month": "1",
        "d.weekday": "wed",
        "d.year": 2020.0,
        "d.yearday.sin": 0.0,
        "d.yearday.cos": 1.0,
    }


def test_parts_are_by_the_clock_on_the_spot_and_the_time_is_in_utc() -> None:
    texts = pa.array(["2020-01-01T00:30:00+02:00"])
    wall, utc = dates.read_both(texts, "2020-02-13")
    found = first_row(date_parts.of_column("d", wall, "moment", utc), 0)
    assert (found["d.time"], found["d.month"], found["d.hour"], found["d.year"]) == (1577831400.0, "1", "0", 2020.0)
    read = dates.read_one(texts[0].as_py(), "2020-02-13")
    assert date_parts.of_microseconds("d", read.wall, read.ahead, "moment") == found
    typed = pa.array([Moment(2019, 12, 31, 22, 30)]).cast(pa.timestamp("us", tz="+02:00"))
    assert first_row(date_parts.of_column("d", typed, "moment"), 0) == found


def test_missing_dates_have_missing_parts() -> None:
    for type, kind in ((pa.timestamp("us"), "moment"), (pa.date32(), "date"), (pa.time64("us"), "time")):
        for column in date_parts.of_column("d", pa.array([None], type), kind).values():
            assert column.to_pylist() == [None]


@pytest.mark.parametrize("value", ["2020-01-01", 5.0, Moment(2020, 1, 1, tzinfo=datetime.timezone.utc)])
def test_other_values_are_left_to_arrow(value: Any) -> None:
    assert date_parts.of_value("d", value, "moment") is None
