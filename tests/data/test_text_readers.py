"""The core's text readers: numbers, VW's format compared with VW itself, libsvm's format, any chunks, bad lines."""

from __future__ import annotations

import math
import random
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import command, refused, train, write

import unitless as ul
from unitless import _core, inputs

Reader = _core.VwReader | _core.LibsvmReader
Row = list[tuple[str, float]]


def vw(text: str | bytes) -> _core.TextRows:
    data = text.encode() if isinstance(text, str) else text
    rows = _core.VwReader().read(data, True)
    assert rows.bytes_used == len(data)
    return rows


def libsvm(text: str, zero_based: bool = False) -> _core.TextRows:
    return _core.LibsvmReader(zero_based).read(text.encode(), True)


def rows_of(rows: _core.TextRows) -> list[Row]:
    names = rows.names
    entries = [(names[i], float(x)) for i, x in zip(rows.ids, rows.values, strict=True)]
    return [entries[a:b] for a, b in zip([0, *rows.row_ends], rows.row_ends, strict=False)]


def row_of(line: str) -> Row:
    rows = vw(line)
    assert rows.bad == []
    (row,) = rows_of(rows)
    return row


# ------------------------------------------------------------------------------------------- numbers

digits = st.text("0123456789", min_size=1, max_size=25)
decimals = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "-", "+"]),
        st.one_of(
            digits, st.builds("{}.{}".format, digits, digits), st.builds(".{}".format, digits), digits.map("{}.".format)
        ),
        st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(["e", "E", "e+", "e-"]), st.integers(0, 400))),
    ),
)
any_double = st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0])
printed = st.builds(
    lambda form, x: form % x, st.sampled_from(["%r", "%.17g", "%.16e", "%.20e", "%.6g", "%.3f"]), any_double
)
halfway = st.builds(lambda m, k: str((2 * m + 1) * 2**k), st.integers(2**52, 2**53 - 1), st.integers(0, 60))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(decimals, printed, halfway), min_size=30, max_size=60))
def test_numbers_are_rounded_as_python_rounds_them(texts: list[str]) -> None:
    expected = [(text, float(text)) for text in texts]
    rows = vw("".join(f"1 | x:{text}\n" for text in texts))
    finite = [x for _, x in expected if math.isfinite(x)]
    assert rows.values.tobytes() == np.array(finite, dtype=np.float64).tobytes()
    assert [line for line, _ in rows.bad] == [i for i, (_, x) in enumerate(expected) if not math.isfinite(x)]


@pytest.mark.parametrize(
    "text",
    [
        *[
            "0",
            "-0",
            "2596",
            "12345678",
            "123456789",
            "9007199254740993",
            "0.1",
            "1.",
            ".5",
            "-1.25",
            "5e-324",
            "2.4e-324",
            "1e-400",
            "-1e-400",
        ],
        *["1.7976931348623157e308", "0e999999999999999999999", "123456.78901234567", "1234567.8901234567890"],
        *["1" + "0" * 308, "0." + "0" * 400 + "1e401", "0." + "1" * 800],
    ],
)
def test_numbers_at_the_edges(text: str) -> None:
    assert vw(f"1 | x:{text}\n").values.tobytes() == np.array([float(text)]).tobytes()
    assert libsvm(f"1 1:{text}\n").values.tobytes() == np.array([float(text)]).tobytes()


@pytest.mark.parametrize(
    "text",
    [
        *["", "1\r2", "1\u0661", "1" + "0" * 309],
        *[
            "nan",
            "inf",
            "-inf",
            "0x10",
            "1.2.3",
            "1e",
            "1e+",
            ".",
            "-",
            "+",
            "--1",
            "+-1",
            "1_0",
            "1,5",
            "1f",
            "1e5x",
            "12345678x",
        ],
        *["1e999", "-1e999", "1.7976931348623159e308"],
    ],
)
def test_incomplete_or_infinite_numbers_are_bad(text: str) -> None:
    rows = vw(f"1 | a:1\n1 | x:{text} y\n1 |a:{text} y\n1 | a:1\n")
    assert (rows.rows, rows.lines, rows.bad_count) == (2, 4, 2)
    assert [line for line, _ in rows.bad] == [1, 2]
    assert rows.names == ["a"]
    assert [line for line, _ in libsvm(f"1 1:1\n1 1:{text}\n").bad] == [1]


@pytest.mark.parametrize("text", ["e5", "abc", "x12345678"])
def test_text_is_no_number_of_libsvm_nor_a_namespaces_weight(text: str) -> None:
    assert [line for line, _ in vw(f"1 |a:1 y\n1 |a:{text} y\n").bad] == [1]
    assert [line for line, _ in libsvm(f"1 1:1\n1 1:{text}\n").bad] == [1]


# ------------------------------------------------------------------------------------------- VW's text


def seen_by_vowpal_wabbit(text: str, folder: Path) -> list[list[tuple[str, int, float]]]:
    """Names, indices and values of each example's features, sorted, as `--audit` shows them."""
    pytest.importorskip("vowpalwabbit", reason="needs Vowpal Wabbit's wheel: pip install vowpalwabbit")
    path = folder / "data.vw"
    path.write_text(text, encoding="utf-8", newline="")
    command = [sys.executable, "-m", "vowpalwabbit", "--quiet", "--audit", "--noconstant", "-d", str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True).stdout
    lines = shown.split("\n")[1::2]
    examples = []
    for line in lines:
        features = []
        for feature in line.split("\t"):
            if feature:
                name, index, value, _ = feature.rsplit(":", 3)
                features.append((name, int(index), float(value)))
        examples.append(sorted(features))
    return examples


def well_formed_line(r: random.Random) -> str:
    blank = lambda: r.choice([" ", " ", " ", "  "])  # noqa: E731
    number = lambda: r.choice(["1", "2.5", "-3", "+4", "1e2", "-2.5E-1", ".5", "7.", "123456789", "0.0001"])  # noqa: E731
    line = r.choice(["", "1 ", "-1 ", "0.5 2 ", "1 0.25 0 ", "1 2 0.5 ", " 1 "]) + r.choice(
        ["", "", "'tag ", "tag", "'t"]
    )
    for _ in range(r.randint(1, 3)):
        line += "|" + r.choice(["", "", "a", "b:2", "name_space:0.5", "ä", "c^d"])
        for _ in range(r.randint(0, 5)):
            name = r.choice(
                ["x", "y", "feature", "a_longer_name", "ü", "日本語の名前", "x^y", "'q", "12", "f0", "(x)", "="]
            )
            line += blank() + r.choice([name, f"{name}:{number()}"])
        line += r.choice(["", " ", "  "])
    return line + r.choice(["\n", "\n", "\r\n"])


def test_features_are_those_that_vowpal_wabbit_sees(tmp_path: Path) -> None:
    r = random.Random(5)
    lines = [well_formed_line(r) for _ in range(400)]
    ours = vw("".join(lines))
    assert ours.bad == []
    theirs = seen_by_vowpal_wabbit("".join(lines), tmp_path)
    assert ours.rows == len(lines) == len(theirs)
    for line, mine, other in zip(lines, rows_of(ours), theirs, strict=True):
        other_features = sorted((name, value) for name, _, value in other)
        assert [name for name, _ in sorted(mine)] == [name for name, _ in other_features], line
        # VW's numbers are single, and it shows six digits of them.
        np.testing.assert_allclose(
            [x for _, x in sorted(mine)], [x for _, x in other_features], rtol=1e-5, err_msg=line
        )


def test_nameless_features_have_the_numbers_and_weights_of_vowpal_wabbit(
    tmp_path: Path,
) -> None:
    pairs = [
        ("1 | :3 x :4\n", "1 | 0:3 x 1:4\n"),
        ("1 |a :3 :0 :4 |a :7 |b:2 :1\n", "1 |a 0:3 1:0 2:4 |a 0:7 |b:2 0:1\n"),
    ]
    for nameless, named in pairs:
        assert row_of(nameless) == row_of(named)
        (a,), (b,) = seen_by_vowpal_wabbit(nameless, tmp_path), seen_by_vowpal_wabbit(named, tmp_path)
        assert sorted((index, x) for _, index, x in a) == sorted((index, x) for _, index, x in b)


@pytest.mark.parametrize(
    ("line", "label", "weight", "tag"),
    [
        ("1 | x", 1, 1, ""),
        ("| x", math.nan, 1, ""),
        (" | x", math.nan, 1, ""),
        ("1 2 | x", 1, 2, ""),
        ("-1.5 0 | x", -1.5, 0, ""),
        ("1 2 0 | x", 1, 2, ""),
        ("+1 'tag | x", 1, 1, "tag"),
        ("1 'tag| x", 1, 1, "tag"),
        ("1 2 tag| x", 1, 2, "tag"),
        ("1 2 0 tag|a x", 1, 2, "tag"),
        ("tag| x", math.nan, 1, "tag"),
        ("'tag | x", math.nan, 1, "tag"),
        ("1| x", math.nan, 1, "1"),
        ("1 '| x", 1, 1, ""),
        ("1 ' | x", 1, 1, ""),
        ("1 ''t |a x", 1, 1, "'t"),
        ("\t1  2\t| x", 1, 2, ""),
        ("1 't:ä | x", 1, 1, "t:ä"),
    ],
)
def test_label_importance_and_tag(line: str, label: float, weight: float, tag: str) -> None:
    rows = vw(line)
    assert rows.bad == []
    np.testing.assert_equal(rows.label, [label])
    assert rows.weight.tolist() == [weight]
    assert rows.tags == ([tag] if tag else None)
    assert vw(f"1 | x\n1 't| x\n{line}\n").tags == ["", "t", tag]


@pytest.mark.parametrize(
    ("line", "weight", "offset", "tag"),
    [
        ("1 2 0.5 | x", 2, 0.5, None),
        ("1 2 -1e-3 | x", 2, -1e-3, None),
        ("1 2 +3 'tag | x", 2, 3, "tag"),
        ("1 2 .5 'tag|a x", 2, 0.5, "tag"),
        ("1 0 0.25 tag|a x", 0, 0.25, "tag"),
        ("+1 1 1e2|a x", 1, 0, "1e2"),  # text that touches the bar is a tag, as in VW
        ("-1e0\t2\t7\t|x", 2, 7, None),
    ],
)
def test_the_third_number_of_a_label_is_the_offset(line: str, weight: float, offset: float, tag: str | None) -> None:
    rows = vw(line)
    assert rows.bad == []
    assert rows.weight.tolist() == [weight]
    assert rows.offset.tolist() == ([offset] if offset else [])
    assert rows.tags == ([tag] if tag else None)
    assert vw(f"1 | x\n{line}\n1 2 0 | x\n").offset.tolist() == ([0, offset, 0] if offset else [])


def test_selected_gathered_and_stored_rows_keep_their_offsets() -> None:
    rows = vw("1 | x\n1 2 0.5 | y\n1 1 -3 | x\n")
    assert rows.select(np.array([True, False, True])).offset.tolist() == [0, -3]
    pieces = [rows, vw("1 | z\n")]
    gathered = _core.gather_text(pieces, np.array([1, 0, 0]), np.array([0, 2, 1]))
    assert gathered.offset.tolist() == [0, -3, 0.5]
    assert _core.gather_text(pieces, np.array([1, 0]), np.array([0, 0])).offset.tolist() == []
    assert inputs.TextRows.made(*inputs.TextRows(rows).arrays()).read.offset.tolist() == [0, 0.5, -3]


def test_initial_predictions_are_vowpal_wabbits(tmp_path: Path) -> None:
    """Nothing is learned, so VW's prediction for a line is its initial prediction."""
    pytest.importorskip("vowpalwabbit", reason="needs Vowpal Wabbit's wheel: pip install vowpalwabbit")
    heads = ["1 ", "1 2 ", "1 2 0.5 ", "1 2 0.5 'tag ", "1 2 0.25 tag", "1 0 -0.75 ", " 1 2 1e-1 ", "1 1 +.5 "]
    text = "".join(f"{head}|a k\n" for head in heads)
    data, said = tmp_path / "data.vw", tmp_path / "said.txt"
    data.write_text(text)
    command = [sys.executable, "-m", "vowpalwabbit", "--quiet", "-t", "-d", str(data), "-r", str(said)]
    subprocess.run(command, capture_output=True, check=True)
    theirs = [float(line.split()[0]) for line in said.read_text().splitlines()]
    np.testing.assert_allclose(vw(text).offset, theirs, rtol=1e-6)


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("1 | x:red", [("x=red", 1)]),
        ("1 |a x:red y:2", [("a^x=red", 1), ("a^y", 2)]),
        ("1 |a:3 x:red y", [("a^x=red", 1), ("a^y", 3)]),  # as in VW
        ("1 | x:red x:blue x:2", [("x=red", 1), ("x=blue", 1), ("x", 2)]),
        ("1 | x:red x=red", [("x=red", 1), ("x=red", 1)]),
        ("1 | a_long_name_of_a_column:a_long_value|b y", [("a_long_name_of_a_column=a_long_value", 1), ("b^y", 1)]),
        ("1 | url:http://a.b/c", [("url=http://a.b/c", 1)]),
        ("1 | x:-red y:ä", [("x=-red", 1), ("y=ä", 1)]),
        ("1 | x:infinite y:nancy", [("x=infinite", 1), ("y=nancy", 1)]),
    ],
)
def test_text_values_are_features_of_their_own(line: str, row: Row) -> None:
    assert row_of(line) == row
    assert row_of(line + "\r\n") == row
    assert row_of(f"{line}\n") == row


def test_text_values_are_those_that_vowpal_wabbit_sees(tmp_path: Path) -> None:
    text = "1 |a x:red y:2 |b:2 x:red z:-blue\n1 | x:red:blue k\n1 |a x:ä x:r=d\n"
    theirs = seen_by_vowpal_wabbit(text, tmp_path)
    for mine, other in zip(rows_of(vw(text)), theirs, strict=True):  # VW writes x^red
        named = sorted((name.replace("^r=d", "=r=d"), value) for name, _, value in other)
        assert sorted(value for _, value in mine) == sorted(value for _, value in named)
        assert sorted(name.replace("=", "^") for name, _ in mine) == sorted(n.replace("=", "^") for n, _ in named)


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("1 | x:2 y", [("x", 2), ("y", 1)]),
        ("1 |a x:2 |b:3 x:2 y", [("a^x", 2), ("b^x", 6), ("b^y", 3)]),
        ("1 |a x:2|b y", [("a^x", 2), ("b^y", 1)]),
        ("1 |a|b x", [("b^x", 1)]),
        ("1 |a x |a x:3", [("a^x", 1), ("a^x", 3)]),
        ("1 |a x | a^x:3", [("a^x", 1), ("a^x", 3)]),
        ("1 | x x:2", [("x", 1), ("x", 2)]),
        ("1 | x:0 y:-0.0", [("x", 0), ("y", 0)]),
        ("1 |a:0 x:5", [("a^x", 0)]),
        ("1 |", []),
        ("1 |a", []),
        ("1 | x|", [("x", 1)]),
        ("1\t|a\tx:1\ty:2 ", [("a^x", 1), ("a^y", 2)]),
        ("1 |a (bias)", [("a^(bias)", 1)]),
        ("1 |a:2 long_name_of_a_feature:1.5", [("a^long_name_of_a_feature", 3)]),
    ],
)
def test_features_of_a_line(line: str, row: Row) -> None:
    assert row_of(line) == row
    assert row_of(line + "\r\n") == row
    assert row_of("\ufeff" + line + "\n") == row


def test_names_are_numbered_by_first_use_and_bad_lines_add_no_name() -> None:
    rows = vw("1 | b a\n1 | new other:1x\n1 | c:0 a\n1 |a b |c other\n")
    assert rows.names == ["b", "a", "c", "a^b", "c^other"]
    assert rows.ids.tolist() == [0, 1, 2, 1, 3, 4]


def test_a_long_bad_line_leaves_the_names_before_and_after_it_alone() -> None:
    names = [f"{'n' * (i % 12)}{i}" for i in range(3000)]
    new = " ".join(names)
    back = " ".join(names[::-1])
    rows = vw(f"1 | b {names[7]}\n1 |a {new} x:1y\n1 | {new} x:1y\n1 | {back} b\n1 |a b {back}\n")
    assert rows.bad_count == 2
    later = [name for name in names[::-1] if name != names[7]]
    assert rows.names == ["b", names[7], *later, "a^b", *(f"a^{name}" for name in names[::-1])]
    assert rows_of(rows)[1] == [(name, 1) for name in [*names[::-1], "b"]]


@pytest.mark.parametrize("order", [1, -1])
def test_a_name_has_one_number_whichever_way_it_is_written(order: int) -> None:
    ways = [
        "|a x",
        "| a^x",
        "|a long_name_with_17",
        "| a^long_name_with_17",
        "|b b^x",
        "|b^b x",
        "| b^b^x",
        "|c :1",
        "| c^0:1",
    ]
    rows = vw("".join(f"1 {way}\n" for way in [*ways[::order], "| x ^x x^ a^ ^"] * 2))
    assert rows.bad == []
    names = ["a^x", "a^long_name_with_17", "b^b^x", "c^0"][::order]
    assert rows.names == [*names, "x", "^x", "x^", "a^", "^"]


def test_blank_lines_are_no_rows_but_counted() -> None:
    rows = vw("\n1 | x\n\r\n  \t \n2 | y\n\n")
    assert (rows.lines, rows.rows, rows.bad_count, rows.entries) == (6, 2, 0, 2)
    assert rows.line.tolist() == [1, 4]
    assert rows.label.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1 x:2", "there is no '|' in the line '1 x:2'; put one before the features: label | name:value"),
        (b"a | x", "the label is not a number: 'a'; write a finite decimal number"),
        (b"nan | x", "the label is not a number: 'nan'"),
        (b"1 2 0 4 | x", "there are too many words before the '|' in '1 2 0 4 '"),
        (b"1 2 0 4 5 t| x", "there are too many words"),
        (b"'t 1 | x", "the label is not a number: ''t'"),
        (b"1 -2 | x", "the importance is not a number of at least 0: '-2'"),
        (b"1 w | x", "the importance is not a number of at least 0: 'w'"),
        (b"1 2 w | x", "the initial prediction is not a number: 'w'; write a finite decimal number"),
        (b"1 2 nan | x", "the initial prediction is not a number: 'nan'"),
        (b"1 | x:1.2.3 y", "the value is not a number: 'x:1.2.3'"),
        (b"1 | x:", "the value is not a number: 'x:'"),
        (b"1 | :", "the value is not a number: ':'"),
        (b"1 | a:2:3 y", "the value is not a number: 'a:2:3'"),
        (b"1 | x:1a", "the value is not a number: 'x:1a'; write a finite decimal number, or text that does not begin"),
        (b"1 | :red", "the value is not a number: ':red'"),
        (b"1 | x:\xff", "there is a feature whose name is not valid text, 'x=\\xff'"),
        (b"1 |a:x y", "the namespace's weight is not a number: 'a:x'"),
        (b"1 |a:2:3 y", "the namespace's weight is not a number: 'a:2:3'"),
        (b"1 |:3 y", "there is a weight without a namespace: ':3'; write |name:weight"),
        (b"1 |a:1e200 y:1e200", "the value times the namespace's weight is too big: 'y:1e200'"),
        (b"1 | (bias):2", "there is a feature named '(bias)'; rename it"),
        (b"1 | x\0y", "there is a feature whose name is not valid text, 'x\\x00y'; write UTF-8"),
        (b"1 | x\0:3", "there is a feature whose name is not valid text"),
        (b"1 | \xff:3", "there is a feature whose name is not valid text, '\\xff'"),
        (b"1 | \xed\xa0\x80", "there is a feature whose name is not valid text"),
        (b"1 | x\ry", "there is a feature whose name is not valid text, 'x\\x0dy'"),
        (b"1 |\xff y", "there is a namespace that is not valid text"),
        (b"1 't\xc3| y", "there is a tag that is not valid text"),
        (b"1 | " + b"x" * 100 + b":1y", "the value is not a number: '" + "x" * 40 + "...'"),
    ],
)
def test_bad_lines_are_reported_and_give_no_row(line: bytes, message: str) -> None:
    rows = vw(b"1 | x\n\n" + line + b"\n1 | y\n" + line)
    assert [number for number, _ in rows.bad] == [2, 4]
    assert all(message in problem for _, problem in rows.bad)
    assert rows_of(rows) == [[("x", 1)], [("y", 1)]]
    assert rows.line.tolist() == [0, 3]


def test_messages_are_limited_but_all_bad_lines_are_counted() -> None:
    rows = vw("no bar\n" * 5000)
    assert (rows.bad_count, len(rows.bad), rows.rows) == (5000, 1000, 0)


# ------------------------------------------------------------------------------------------- libsvm's text


def test_libsvm_lines() -> None:
    rows = libsvm("+1 1:2 3:0.5 # a comment 7:8\n\n# only that\n-1\t2:-1e1 \r\n2.5\n0 003:1 1:1#c\n")
    assert rows.bad == []
    assert rows.label.tolist() == [1, -1, 2.5, 0]
    assert rows.weight.tolist() == [1] * 4
    assert rows.line.tolist() == [0, 3, 4, 5]
    assert rows.tags is None
    assert rows_of(rows) == [[("1", 2), ("2", 0), ("3", 0.5)], [("2", -10)], [], [("3", 1), ("1", 1)]]


def test_indices_that_were_left_out_are_mentioned_when_a_higher_one_is_met() -> None:
    assert libsvm("1 4:1 2:5\n1 6:1\n").names == ["1", "2", "3", "4", "5", "6"]
    assert libsvm("1 2:1\n", zero_based=True).names == ["0", "1", "2"]
    assert rows_of(libsvm("1 2:1 4:1 1:3\n")) == [[("1", 0), ("2", 1), ("3", 0), ("4", 1), ("1", 3)]]
    reader = _core.LibsvmReader(False)
    reader.read(b"1 3:1\n", False)
    assert reader.read(b"1 5:1 2:1\n", True).names == ["4", "5", "2"]


def test_a_bad_line_does_not_move_the_highest_index() -> None:
    assert libsvm("1 1:1\n1 3:1 4:x\n1 3:1\n").names == ["1", "2", "3"]


def test_no_index_is_mentioned_that_is_only_between_hashes() -> None:
    assert libsvm("1 65537:1\n").entries == 65537
    assert libsvm("1 65540:1 3000000000:2\n1 4294967293:1 5:1\n").names == ["65540", "3000000000", "4294967293", "5"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 0:1", "there is a feature with index '0'; indices count from 1, unless zero_based=True is given"),
        ("1 qid:3 1:1", "there is a query, 'qid:3'; leave it out"),
        ("1,2 1:1", "there are several labels, '1,2'; write one"),
        ("x 1:1", "the label is not a number: 'x'"),
        ("1:1 2:1", "the line begins with a feature, '1:1'; put the label before it"),
        ("1 5", "there is a feature without a value, '5'; write index:value"),
        ("1 -5:1", "the index is not a whole number: '-5:1'"),
        ("1 :1", "the index is not a whole number: ':1'"),
        ("1 a:1", "the index is not a whole number: 'a:1'"),
        ("1 4294967294:1", "the index is too big: '4294967294'"),
        ("1 2:3:4", "the value is not a number: '2:3:4'"),
        ("1 2:", "the value is not a number: '2:'"),
    ],
)
def test_bad_libsvm_lines(line: str, message: str) -> None:
    rows = libsvm(f"# c\n{line}\n1 1:1\n{line} # c")
    assert [number for number, _ in rows.bad] == [1, 3]
    assert all(message in problem for _, problem in rows.bad)
    assert rows_of(rows) == [[("1", 1)]]


# ------------------------------------------------------------------------------------------- chunks


def read_in_chunks(reader: Reader, data: bytes, size: int) -> tuple[list[object], list[tuple[int, str]]]:
    seen: list[object] = []
    bad: list[tuple[int, str]] = []
    begin, end, lines = 0, 0, 0
    while end < len(data):
        end = min(end + size, len(data))
        rows = reader.read(data[begin:end], end == len(data))
        begin += rows.bytes_used
        bad += [(lines + line, problem) for line, problem in rows.bad]
        tags = rows.tags or [""] * rows.rows
        numbers = (lines + rows.line).tolist()
        seen += zip(numbers, map(str, rows.label), rows.weight.tolist(), tags, rows_of(rows), strict=True)
        lines += rows.lines
    assert begin == len(data)
    return seen, bad


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 300))
def test_where_chunks_are_cut_does_not_matter(seed: int, size: int) -> None:
    r = random.Random(seed)
    lines = [r.choice([well_formed_line(r), well_formed_line(r), "\n", "bad\n", "1 | x:y\n"]) for _ in range(12)]
    text = ("\ufeff" + "".join(lines)).encode()[: -r.randint(1, 3)]
    assert read_in_chunks(_core.VwReader(), text, size) == read_in_chunks(_core.VwReader(), text, len(text))
    rows = [
        f"{r.randint(-1, 1)} {r.randint(0, 30)}:{r.random()} {r.randint(1, 50)}:2{r.choice(['', ' # c'])}\n"
        for _ in range(12)
    ]
    data = "".join(rows).encode()[: -r.randint(1, 3)]
    whole = read_in_chunks(_core.LibsvmReader(False), data, len(data))
    assert read_in_chunks(_core.LibsvmReader(False), data, size) == whole


def test_a_line_without_an_end_waits_for_the_rest() -> None:
    reader = _core.VwReader()
    assert reader.read(b"1 | x", False).bytes_used == 0
    assert reader.read(b"1 | x\n2 | y", False).bytes_used == 6
    assert reader.read(b"", True).rows == 0


def test_any_memory_can_be_read() -> None:
    text = b"1 | x:2\n"
    for data in (text, bytearray(text), memoryview(text), np.frombuffer(text, dtype=np.uint8)):
        assert rows_of(_core.VwReader().read(data, True)) == [[("x", 2)]]


def test_selected_rows_keep_names_labels_and_tags() -> None:
    rows = vw("1 | x:2\nbad\n2 3 't| y z\n3 | x\n")
    some = rows.select(np.array([False, True, True]))
    assert rows_of(some) == [[("y", 1), ("z", 1)], [("x", 1)]]
    assert some.names == rows.names
    assert (some.label.tolist(), some.weight.tolist(), some.tags, some.line.tolist()) == (
        [2, 3],
        [3, 1],
        ["t", ""],
        [2, 3],
    )
    with pytest.raises(ul.InputError, match="2 values for 3 rows"):
        rows.select(np.array([True, False]))


def test_many_names_each_have_one_number() -> None:
    names = [f"{'n' * (i % 12)}{i}" for i in range(20000)]
    rows = vw("".join(f"1 | {name}:1 {name}:2\n" for name in names))
    assert rows.names == names
    assert (rows.ids == np.repeat(np.arange(20000), 2)).all()


NOT_OBJECTS = {"null": "null", "5": "a number", '"a"': "text", "[1]": "an array", "true": "true or false"}


@pytest.mark.parametrize("value", NOT_OBJECTS)
@pytest.mark.parametrize("before", [0, 1, 3000])
def test_a_line_that_is_no_json_object_is_named(tmp_path: Path, value: str, before: int) -> None:
    good = '{"a": 1, "y": 1.5}\n'
    if value == "[1]" and not before:
        pytest.skip("that is taken for a file that is one array")
    path = write(tmp_path / "a.jsonl", good * before + f" {value}\n" + good * 20)
    message = refused(command("train", path, "--target", "y"))
    assert f"a.jsonl, line {before + 1}: it is not a JSON object but {NOT_OBJECTS[value]}" in message
    skipped = train(path, "y", on_error="skip")
    assert (skipped.details.learned, skipped.details.skipped) == (before + 20, 1)


@pytest.mark.parametrize("line", ['{"a": 1, "y": 2} null', '{"a": 1, "y": 2}{"a": 1, "y": 2}', '{"a": 1, "y": 2} 5 {}'])
def test_several_values_on_a_line_are_named(tmp_path: Path, line: str) -> None:
    """With an empty line as well, there would be as many values as lines."""
    good = '{"a": 1, "y": 1.5}\n'
    path = write(tmp_path / "a.jsonl", f"{good}{line}\n\n\n{good}")
    with pytest.raises(ul.InputError, match=r"a\.jsonl, line 2: it is not valid JSON: Extra data"):
        ul.train(path, "y")
    assert ul.train(path, "y", reading=ul.Reading(on_error="skip")).details.skipped == 1


def test_only_newlines_separate_json_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"a": 1,\r"y": 1.5}\r\n\n  {"y": 2.5, "a": {}}\n{"a": 1, "y": 3}\n')
    with pytest.raises(ul.InputError, match=r"a\.jsonl, line 3: 'a' holds a list or an object"):
        ul.train(path, "y")
    assert ul.train(path, "y", reading=ul.Reading(on_error="skip")).details.learned == 2
