"""The core's CSV reader reads plain files exactly, and leaves files that are not plain to pyarrow."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import command, write

import unitless as ul
from unitless import _core
from unitless.data.columns.written import BLANKS, NUMBER_MARKS

IGNORED, NUMBER, TEXT, BOOLEAN, APART = range(5)

words = st.text(st.characters(exclude_characters="\0\r", exclude_categories=("Cs",)), max_size=20)
floats = st.floats(allow_nan=False, allow_infinity=False)


def texts_of(column: tuple[np.ndarray, np.ndarray, np.ndarray]) -> list[str]:
    codes, offsets, letters = column
    raw = letters.tobytes()
    return ["" if code < 0 else raw[offsets[code] : offsets[code + 1]].decode() for code in codes]


@settings(max_examples=200)
@given(st.lists(st.tuples(floats, words, st.booleans(), words, floats), max_size=20), st.sampled_from([",", ";", "\t"]))
def test_output_of_the_csv_module_is_read_back(rows: list[tuple], delimiter: str) -> None:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows([(repr(a), b, c, d, repr(e)) for a, b, c, d, e in rows])
    read = _core.CsvReader([NUMBER, TEXT, BOOLEAN, IGNORED, APART], delimiter).read(out.getvalue().encode())
    assert read is not None
    numbers, absent, apart, texts, odd = read
    assert not odd
    assert numbers[:, 0].tolist() == [row[0] for row in rows]
    assert absent.tolist() == [0]
    assert apart[0].tolist() == [row[4] for row in rows]
    assert texts_of(texts[0]) == [row[1].strip(BLANKS) for row in rows]
    assert texts_of(texts[1]) == [str(row[2]).lower() for row in rows]


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_random_bytes_are_read_or_left_alone(data: bytes) -> None:
    for kinds in ([NUMBER, TEXT], [TEXT], [BOOLEAN, APART, IGNORED]):
        read = _core.CsvReader(kinds, ",").read(data)
        assert read is None or len(read[0]) <= data.count(b"\n") + 1


@pytest.mark.parametrize("text", ["", "NA", "nan", "NaN", "null", "N/A", "?", "-", "n/a", " ", '""'])
def test_common_marks_of_missing_numbers_are_missing(text: str) -> None:
    read = _core.CsvReader([NUMBER, NUMBER], ",", marks=list(NUMBER_MARKS)).read(f"{text},1\n2, 3 \n".encode())
    assert read is not None
    assert math.isnan(read[0][0, 0])
    assert read[0][1].tolist() == [2.0, 3.0]
    assert read[1].tolist() == [1, 0]


@pytest.mark.parametrize(
    "text",
    [
        "1\n",
        "1,2,3\n",
        "1,2\n3\n",
        '1,"2\n',
        '1,"2"3\n',
    ],
)
def test_text_that_is_not_plain_is_left_to_the_general_reader(text: str) -> None:
    assert _core.CsvReader([NUMBER, NUMBER], ",").read(text.encode()) is None


@pytest.mark.parametrize("text", ["oops", "0x1", "1e999", "1 2", "1,2,3", "12,34.5", "--5", "5-", "$", "%", "1.2.3"])
def test_invalid_numbers_are_missing_and_counted(text: str) -> None:
    read = _core.CsvReader([NUMBER, NUMBER], ";").read(f"1;2\n{text};3\n4;5\n{text};6\n".encode())
    assert read is not None
    assert np.isnan(read[0][:, 0]).tolist() == [False, True, False, True]
    assert read[1].tolist() == [2, 0]
    assert read[4] == [(0, 2, 1, text.encode())]


@pytest.mark.parametrize(
    ("form", "text", "number"),
    [
        (".", "+1", 1),
        (".", " 12.5 ", 12.5),
        (".", "$5801.02", 5801.02),
        (".", "-$5", -5),
        (".", "$-5", -5),
        (".", "($5)", -5),
        (".", "90.1%", 90.1),
        (".", "90.1 %", 90.1),
        (".", "7 €", 7),
        (".", "£1 234.5", 1234.5),
        (".", "1'234'567", 1234567),
        (".", "1\u00a0234", 1234),
        (".", "\u22125", -5),
        (".", "1e3", 1000),
        (".,", "$5,801.02", 5801.02),
        (".,", "1,234,567", 1234567),
        (".,", "12", 12),
        (",.", "1.234,56", 1234.56),
        (",.", "1234,5", 1234.5),
        (",.", "-1.234", -1234),
        (",.", "0,5", 0.5),
        (",.", "1 234,5", 1234.5),
        (",.", "12", 12),
    ],
)
def test_numbers_are_read_as_people_write_them(form: str, text: str, number: float) -> None:
    read = _core.CsvReader([NUMBER, APART], "|", [form, form]).read(f"{text}|{text}\n".encode())
    assert read is not None
    assert read[0].tolist() == [[number]]
    assert read[2][0].tolist() == [number]
    letters = np.frombuffer(text.encode(), np.uint8)
    numbers, kinds = _core.written_numbers(np.array([0, len(letters)]), letters, form, [])
    assert (numbers.tolist(), kinds.tolist()) == ([number], [0])


def test_text_that_is_no_unicode_is_left_to_others() -> None:
    assert _core.CsvReader([TEXT, NUMBER], ",").read(b"\xff,1\n") is None


def test_empty_lines_line_ends_and_a_last_line_without_one() -> None:
    read = _core.CsvReader([NUMBER, TEXT], ",").read(b'1,a\r\n\r\n\n2,"b,\n""c"\r\n3,d')
    assert read is not None
    assert read[0][:, 0].tolist() == [1.0, 2.0, 3.0]
    assert texts_of(read[3][0]) == ["a", 'b,\n"c', "d"]


@given(st.lists(st.lists(words, min_size=3, max_size=3), min_size=1, max_size=10), st.data())
def test_rows_end_where_they_end_whatever_the_quotes(rows: list[list[str]], data: st.DataObject) -> None:
    out = io.StringIO()
    ends = [0]
    for row in rows:
        csv.writer(out).writerow(row)
        ends.append(len(out.getvalue().encode()))
    text = out.getvalue().encode()
    cut = data.draw(st.integers(0, len(text)))
    assert _core.row_end(text[:cut], ",", False) == max(end for end in ends if end <= cut)
    assert _core.row_end(text, ",", False) == len(text)
    assert _core.row_end(text, ",", True) == ends[1]


@settings(max_examples=200)
@given(
    st.integers(1, 40).flatmap(
        lambda columns: st.lists(
            st.lists(st.one_of(st.integers(0, 1), st.integers(0, 12)), min_size=columns, max_size=columns),
            min_size=1,
            max_size=40,
        )
    ),
    st.sampled_from(["\n", "\r\n"]),
)
def test_many_columns_of_few_digits_are_read_as_they_are_written(rows: list[list[int]], end: str) -> None:
    text = "".join(",".join(map(str, row)) + end for row in rows)
    read = _core.CsvReader([NUMBER] * len(rows[0]), ",").read(text.encode())
    assert read is not None
    assert read[0].tolist() == rows
    short = _core.CsvReader([NUMBER] * (len(rows[0]) + 1), ",").read(text.encode())
    assert short is None


@pytest.mark.parametrize(
    "row",
    [
        "1.5,o\rne,2\n",
        "1.5\r,one,2\n",
        "1.5,one,\r2\n",
        "1.5,\r,2\n",
        "\r1.5,one,2\n",
        '"1.5",o\rne,2\n',
        "1.5,one,2\r\r\n",
    ],
)
def test_a_carriage_return_outside_of_quotes_means_the_same_to_all_readers(row: str, tmp_path: Path) -> None:
    """pyarrow, which reads the first rows and those that are stored, ends a row there."""
    data = "a,b,y\n" + "2.5,two,1\n3.5,three,2\n" * 4000
    model = str(tmp_path / "m")
    ul.train(write(tmp_path / "t.csv", data), "y", output=model, passes=1, model_type="linear", ensemble=False)
    path = write(tmp_path / "a.csv", data + row)
    plain, kept = (command("predict", model, path, "--on-error", "skip", *more) for more in ([], ["--keep"]))
    assert plain.returncode == kept.returncode == 0
    assert plain.stderr == kept.stderr
    predictions = [line.rpartition(",")[2] for line in kept.stdout.splitlines()]
    assert predictions == [line.strip('"') for line in plain.stdout.splitlines()]  # "" where it is the only column
    assert _core.CsvReader([NUMBER, TEXT, APART], ",").read(row.encode()) is None


def test_carriage_returns_at_the_ends_of_lines_and_in_quotes_are_read() -> None:
    for data in (b'1,one\r\n2,"t\rwo"\r\n3,three\r', b"1,one\r\n\r\n2,two\r\n3,three"):
        read = _core.CsvReader([NUMBER, TEXT], ",").read(data)
        assert read is not None
        assert read[0][:, 0].tolist() == [1.0, 2.0, 3.0]
        assert texts_of(read[3][0])[::2] == ["one", "three"]
