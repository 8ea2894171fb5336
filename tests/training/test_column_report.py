"""Each decision about a column is reported in one line that names the option to change it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sources import command, write

import unitless as ul

ROWS = 400


def table(columns: dict[str, list[str]], delimiter: str = ",", header: bool = True) -> str:
    lines = [delimiter.join(row) for row in zip(*columns.values(), strict=True)]
    return "\n".join([*([delimiter.join(columns)] if header else []), *lines, ""])


def said(path: str, **options: Any) -> list[str]:
    return [
        str(one)
        for one in ul.train(path, options.pop("target", "y"), model_type="linear", passes=1, **options).column_report
    ]


def column(make: Any) -> list[str]:
    return [make(k) for k in range(ROWS)]


X, Y = column(lambda k: str(k * 37 % 101)), column(lambda k: f"{k * 37 % 101 / 2}")


def test_row_counters_and_ids_are_left_out_unless_they_are_asked_for(tmp_path: Path) -> None:
    rng = random.Random(0)
    ids = rng.sample(range(10**6), ROWS)
    columns = {"No": column(lambda k: str(k + 1)), "user_id": [str(one) for one in ids]}
    columns |= {"key": [f"{one:x}-{one * 7:x}" for one in ids], "x": X, "y": Y}
    path = write(tmp_path / "a.csv", table(columns))
    assert said(path)[1:] == [
        "left out: 'No', a row counter (numbers='No' to use it)",
        "left out: 'user_id', an id: nearly every row has its own (numbers='user_id' to use it)",
        "left out: 'key', text with 400 different values in 400 rows (text='key' to use it)",
    ]
    kept = ul.train(path, "y", reading=ul.Reading(numbers=["No", "user_id"], text="key"), model_type="linear", passes=1)
    assert set(kept.details.schema.kinds) == {"No", "user_id", "key", "x"}
    run = command("train", path, "--target", "y", "--model-type", "linear", "-q")
    assert "left out: 'No', a row counter (--numbers No to use it)" in run.stdout


def test_a_column_of_years_that_rise_is_no_row_counter(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", table({"year": column(lambda k: str(1600 + k)), "x": X, "y": Y}))
    assert len(said(path)) == 1


def test_an_unnamed_first_column_that_counts_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", table({"": column(lambda k: f'"{k + 1}"'), "x": X, "y": Y}))
    assert said(path)[1] == "left out: 'column 1', a row counter (numbers='column 1' to use it)"


@pytest.mark.parametrize("mark", ["?", "-", "NA", "null", "n/a", ""])
def test_usual_marks_are_missing_values_without_a_word(mark: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", table({"x": [mark if k % 50 == 3 else one for k, one in enumerate(X)], "y": Y}))
    result = ul.train(path, "y", model_type="linear", passes=1)
    assert (result.details.missing, result.invalid_values, result.details.schema.kinds) == (
        {"x": 8},
        {},
        {"x": "number"},
    )


def test_an_invalid_number_is_reported_and_counted(tmp_path: Path) -> None:
    x = [*X[:300], "oops", *X[301:]]
    path = write(tmp_path / "a.csv", table({"x": x, "y": Y}))
    line = f"column 'x': 99.8% numbers; first other value 'oops' in row 301 of {path}, treated as missing"
    assert said(path)[1:] == [line]
    assert said(path, reading=ul.Reading(na="oops"))[1:] == []
    told = r"a\.csv, row 301.*column 'x' is 'oops', which is not a number.*na='oops'"
    with pytest.raises(ul.InputError, match=told):
        ul.train(path, "y", reading=ul.Reading(missing="error"))


def test_number_formats_are_detected_and_reported(tmp_path: Path) -> None:
    dollars = column(lambda k: f'"${k * 911 % 9973 + 1000:,}.50"')
    path = write(tmp_path / "a.csv", table({"price": dollars, "share": [f"{one}%" for one in X], "y": Y}))
    assert said(path)[1:] == ["'price': numbers with ',' between thousands (decimal=',' if it is not)"]
    commas = column(lambda k: f"{k * 911 % 9973 / 8:.3f}".replace(".", ","))
    european = write(tmp_path / "b.csv", table({"x": commas, "y": Y}, ";"))
    result = ul.train(european, "y", model_type="linear", passes=1)
    assert [str(one) for one in result.column_report][1:] == [
        "'x': numbers with a decimal comma (decimal='.' if it is not)"
    ]
    assert result.details.schema.kinds == {"x": "number"}


def test_the_presence_of_a_header_is_always_reported(tmp_path: Path) -> None:
    named = write(tmp_path / "a.csv", table({"a": X, "b": X, "y": Y}))
    assert said(named) == ["the first row has the columns' names (header=False if it is data)"]
    bare = write(tmp_path / "b.csv", table({"a": X, "b": X, "y": Y}, header=False))
    line = "no header row was found: the columns are called 1 to 3 (header=True if the first row has names)"
    assert said(bare, target="3") == [line]
    assert said(named, reading=ul.Reading(header=True)) == []
    run = command("train", bare, "--target", "price")
    assert (
        "--target: there is no column 'price': the file seems to have no header row, so that its columns" in run.stderr
    )


def test_dates_and_words_are_reported(tmp_path: Path) -> None:
    rng = random.Random(1)
    said_words = [
        "the room was clean and very quiet",
        "the street was loud all night long",
        "a great view and breakfast",
    ]
    comments = [f"{rng.choice(said_words)} {rng.choice(said_words)} {rng.randrange(999)}" for _ in range(ROWS)]
    days = column(lambda k: f"2020{k % 12 + 1:02}{k % 28 + 1:02}T000000")
    path = write(tmp_path / "a.csv", table({"day": days, "comment": comments, "x": X, "y": Y}))
    assert said(path)[1:] == [
        "'day': dates, taken as their parts (text='day' takes them as categories)",
        "'comment': text, taken word by word (text='comment' takes it as a category)",
    ]


def test_at_most_twelve_lines_are_reported(tmp_path: Path) -> None:
    columns = {f"c{j}": [*X[:200], f"odd{j}", *X[201:]] for j in range(30)}
    columns |= {f"id_{j}": column(lambda k: str(10 * k + 1)) for j in range(20)}
    path = write(tmp_path / "a.csv", table({**columns, "y": Y}))
    lines = said(path)
    assert len(lines) <= 12
    assert any("'id_0', 'id_1', 'id_2', 'id_3' and 16 more, a row counter" in line for line in lines)
    assert lines[-1].startswith("and in 27 more columns: 'c3', 'c4'")


@pytest.mark.parametrize(("names", "columns"), [(["day"], "1 date"), (["day", "end"], "2 dates")])
def test_the_summary_counts_the_columns_of_each_kind(names: list[str], columns: str) -> None:
    frame = pd.DataFrame({name: pd.date_range("2020-01-01", periods=100) for name in names}).assign(y=np.arange(100.0))
    result = ul.train(frame, "y", model_type="linear", passes=1)
    assert f"columns     {columns}\n" in str(result)
