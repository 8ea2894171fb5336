"""Sources of data: the same table gives the same model from every container and for every chunk size."""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import io
import json
import lzma
import os
import re
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sources import cli, content, facts, json_lines, mappings, set_chunk, table, train, write, write_all

import unitless as ul
from unitless.data import Reader, ReadOptions, open_source

FRAME = table()
TABLE_KINDS = [
    *("t.csv", "t.tsv", "semicolons.csv", "t.parquet", "t.feather", "t.arrows", "t.jsonl"),
    *("polars", "arrow", "dataset", "reader", "record batch"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table")
    write_all(FRAME, path)
    return path


def source_of(kind: str, folder: Path, frame: pd.DataFrame = FRAME) -> Any:
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    held: dict[str, Callable[[], Any]] = {
        "polars": lambda: pl.from_pandas(frame),
        "arrow": lambda: arrow,
        "dataset": lambda: pyarrow.dataset.dataset(arrow),
        "reader": lambda: arrow.to_reader(137),
        "record batch": lambda: arrow.combine_chunks().to_batches()[0],
        "mappings": lambda: mappings(frame),
        "generator": lambda: (row for row in mappings(frame)),
    }
    return held[kind]() if kind in held else str(folder / kind)


# ------------------------------------------------------------------------------------------------ the same everywhere


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_reading_changes_nothing_in_a_source(kind: str, folder: Path) -> None:
    options = ReadOptions(target="y")
    source = open_source(source_of(kind, folder), options)
    before = dict(vars(source))
    reader = Reader(source, options)
    assert sum(batch.rows for batch in reader.batches()) == len(FRAME)
    if source.repeatable:
        assert sum(batch.rows for batch in reader.batches()) == len(FRAME)
        assert sum(batch.rows for batch in Reader(source, options).batches()) == len(FRAME)
    after = vars(source)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


STREAMS = ("reader", "generator")  # these are always streamed


@pytest.fixture(scope="module")
def reference() -> dict[bool, ul.TrainResult]:
    return {center: ul.train(FRAME, "y", center=center) for center in (True, False)}


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_a_table_trains_the_same_model_in_every_container(
    kind: str, folder: Path, reference: dict[bool, ul.TrainResult]
) -> None:
    shuffle = kind not in STREAMS
    expected = reference[True] if shuffle else ul.train(FRAME, "y", center=True, shuffle=False)
    result = ul.train(source_of(kind, folder), "y", center=True, shuffle=shuffle)
    assert facts(result) == facts(expected)
    assert content(result.model) == content(expected.model)


@pytest.mark.parametrize("kind", [*TABLE_KINDS, "mappings", "generator"])
def test_without_centering_a_stream_of_mappings_trains_the_same_as_well(
    kind: str, folder: Path, reference: dict[bool, ul.TrainResult]
) -> None:
    shuffle = kind not in STREAMS
    expected = reference[False] if shuffle else ul.train(FRAME, "y", center=False, shuffle=False)
    result = ul.train(source_of(kind, folder), "y", center=False, shuffle=shuffle)
    assert facts(result) == facts(expected)


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_a_table_is_predicted_the_same_in_every_container(
    kind: str, folder: Path, reference: dict[bool, ul.TrainResult]
) -> None:
    found = reference[True].predict(source_of(kind, folder))
    assert (found.to_pylist() if isinstance(found, pa.Array) else list(found)) == list(reference[True].predict(FRAME))


@pytest.mark.parametrize("kind", ["t.csv", "t.tsv", "semicolons.csv", "t.jsonl"])
@pytest.mark.parametrize("size", [1500, 4096])
def test_text_files_in_many_pieces_train_the_same(
    kind: str,
    size: int,
    folder: Path,
    reference: dict[bool, ul.TrainResult],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_chunk(monkeypatch, size)
    result = ul.train(str(folder / kind), "y", center=True)
    assert facts(result) == facts(reference[True])


@pytest.mark.parametrize("kind", ["t.csv", "t.jsonl"])
def test_files_of_several_megabytes_train_the_same(kind: str, tmp_path: Path) -> None:
    big = pd.concat([table(2000, seed) for seed in range(4)] * 10, ignore_index=True)
    text = big.to_csv(index=False) if kind == "t.csv" else json_lines(big)
    assert len(text) > 5 << 20
    quick: dict[str, Any] = {"model_type": "linear", "passes": 2}
    result = ul.train(write(tmp_path / (kind + ".gz"), gzip.compress(text.encode(), 1)), "y", **quick)
    assert facts(result) == facts(ul.train(big, "y", **quick))


def numeric_table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(800, 4)) * [1, 1e-300, 1e200, 5]
    values[rng.random(values.shape) < 0.3] = 0.0
    values[::50, 3] = -0.0
    frame = pd.DataFrame(values, columns=["1", "2", "3", "4"])
    frame["y"] = rng.normal(size=800)
    return frame


@pytest.mark.parametrize("kind", ["t.vw", "t.vw.gz", "t.svm", "t.libsvm.bz2", "zero.svm", "mappings", "t.csv"])
def test_a_table_of_numbers_trains_the_same_from_text_of_named_features(kind: str, tmp_path: Path) -> None:
    frame = numeric_table()
    rows = frame.to_dict("records")
    expected = ul.train(frame, "y", center=False, model_type="linear", ensemble=False)
    options: dict[str, Any] = {}
    if "vw" in kind:
        text = "".join(f"{r['y']!r} | " + " ".join(f"{k}:{v!r}" for k, v in r.items() if k != "y") + "\n" for r in rows)
    elif kind == "t.csv":
        text = frame.to_csv(index=False)
    else:
        shift = 0
        if kind == "zero.svm":
            options, shift = {"reading": ul.Reading(zero_based=True)}, 1
        text = "".join(
            f"{r['y']!r} " + " ".join(f"{int(k) - shift}:{v!r}" for k, v in r.items() if k != "y" and v != 0) + "\n"
            for r in rows
        )
    packed = {"gz": gzip.compress, "bz2": bz2.compress}.get(kind.rpartition(".")[2], bytes)(text.encode())
    source = rows if kind == "mappings" else write(tmp_path / kind, packed)
    target = "y" if kind in ("mappings", "t.csv") else None
    result = ul.train(source, target, center=False, model_type="linear", ensemble=False, **options)
    a, b = facts(result), facts(expected)
    for told in (a, b):
        told.pop("importance")  # the columns' names and the order of the rows may differ
    assert a == b
    assert sorted(result.model.weights.values()) == sorted(expected.model.weights.values())


@pytest.mark.parametrize("kind", ["array", "csr", "csc", "float32 array", "list"])
def test_arrays_and_sparse_matrices_train_as_frames_do(kind: str) -> None:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(500, 3)), 3).astype(np.float32).astype(float)
    X[rng.random(X.shape) < 0.2] = 0
    y = rng.normal(size=500)
    expected = ul.train(pd.DataFrame(X), y, center=False, model_type="linear", ensemble=False)
    kinds: dict[str, Callable[[Any], Any]] = {
        "array": np.asarray,
        "csr": sp.csr_matrix,
        "csc": sp.csc_array,
        "float32 array": lambda x: x.astype("f4"),
        "list": lambda x: x.tolist(),
    }
    result = ul.train(kinds[kind](X), y, center=False, model_type="linear", ensemble=False)
    assert result.progressive == expected.progressive
    assert list(result.model.weights.values()) == list(expected.model.weights.values())


# ------------------------------------------------------------------------------------------------ files


CSV = "a,b,y\n" + "".join(f"{i % 13},{i * 7 % 31}.5,{(i * i) % 17}.25\n" for i in range(400))


def packed(kind: str, text: str = CSV) -> bytes:
    data = text.encode()
    half = data.index(b"\n", len(data) // 2) + 1
    return {
        "plain": lambda: data,
        "gz": lambda: gzip.compress(data),
        "bz2": lambda: bz2.compress(data),
        "xz": lambda: lzma.compress(data),
        "zst": lambda: pa.compress(data, "zstd", asbytes=True),
        "two gz": lambda: gzip.compress(data[:half]) + gzip.compress(data[half:]),
        "two bz2": lambda: bz2.compress(data[:half]) + bz2.compress(data[half:]),
        "two zst": lambda: (
            pa.compress(data[:half], "zstd", asbytes=True) + pa.compress(data[half:], "zstd", asbytes=True)
        ),
    }[kind]()


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst", "two gz", "two bz2", "two zst"])
@pytest.mark.parametrize("suffix", ["", ".csv", ".csv.gz"])
def test_compression_is_seen_from_the_content_not_the_name(kind: str, suffix: str, tmp_path: Path) -> None:
    plain = train(write(tmp_path / "p.csv", CSV), "y")
    assert facts(train(write(tmp_path / f"c{suffix}", packed(kind)), "y")) == facts(plain)


@pytest.mark.parametrize("kind", ["files", "glob", "folder", "nested folder"])
def test_several_files_are_one(kind: str, tmp_path: Path) -> None:
    lines = CSV.splitlines(keepends=True)
    parts = [lines[1:100], lines[100:250], lines[250:]]
    sub = ["p1", "p2", "p3"] if kind == "nested folder" else ["", "", ""]
    names = [write(tmp_path / "in" / sub[k] / f"part{k}.csv", lines[0] + "".join(part)) for k, part in enumerate(parts)]
    write(tmp_path / "in" / "_SUCCESS", "")
    source = {"files": names, "glob": str(tmp_path / "in" / "part*.csv")}.get(kind, str(tmp_path / "in"))
    assert facts(train(source, "y")) == facts(train(write(tmp_path / "all.csv", CSV), "y"))


def test_a_folder_of_parquet_is_one_table(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for k in range(3):
        FRAME.iloc[400 * k : 400 * k + 400].to_parquet(tmp_path / "in" / f"{k}.parquet")
    assert facts(train(tmp_path / "in", "y")) == facts(train(FRAME, "y"))


def test_files_in_hidden_folders_are_not_read(tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.csv", CSV)
    write(tmp_path / "in" / ".ipynb_checkpoints" / "a-checkpoint.csv", CSV)
    assert train(str(tmp_path / "in"), "y").rows == 400


def test_columns_of_a_second_file_may_be_in_another_order(tmp_path: Path) -> None:
    frame = pd.read_csv(io.StringIO(CSV))
    first, second = frame[:200], frame[200:]
    names = [
        write(tmp_path / "1.csv", first.to_csv(index=False)),
        write(tmp_path / "2.csv", second[["y", "b", "a"]].to_csv(index=False, sep=";")),
    ]
    assert facts(train(names, "y")) == facts(train(frame, "y"))


@pytest.fixture
def stdin_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes], None]]:
    """Replace the standard input by a pipe to which others write."""
    opened = []

    def become(data: bytes) -> None:
        end, start = os.pipe()

        def feed() -> None:
            with contextlib.suppress(BrokenPipeError), open(start, "wb") as pipe:
                pipe.write(data)

        threading.Thread(target=feed, daemon=True).start()
        opened.append(open(end, encoding="utf-8"))  # noqa: SIM115
        monkeypatch.setattr(sys, "stdin", opened[-1])

    yield become
    for one in opened:
        one.close()


@pytest.mark.parametrize("kind", ["plain", "gz", "zst"])
def test_the_standard_input_is_a_file_like_others(kind: str, tmp_path: Path, stdin_of: Callable[[bytes], None]) -> None:
    expected = facts(train(write(tmp_path / "p.csv", CSV), "y", shuffle=False))
    stdin_of(packed(kind))
    assert facts(train("-", "y", format="csv")) == expected


def test_the_standard_input_without_header_loses_no_row(tmp_path: Path, stdin_of: Callable[[bytes], None]) -> None:
    headless = CSV.partition("\n")[2]
    expected = facts(train(write(tmp_path / "p.csv", headless), "3", header=False, shuffle=False))
    stdin_of(headless.encode())
    assert facts(train("-", "3", format="csv", header=False)) == expected


def test_columnar_files_come_by_the_standard_input_too(folder: Path, stdin_of: Callable[[bytes], None]) -> None:
    for kind, format in (("t.parquet", "parquet"), ("t.feather", "arrow"), ("t.arrows", "arrow")):
        stdin_of((folder / kind).read_bytes())
        assert facts(train("-", "y", format=format)) == facts(train(FRAME, "y", shuffle=False))


def test_a_closed_standard_input_does_not_matter_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "p.csv", CSV)
    monkeypatch.setattr(sys, "stdin", None)  # the value in Python when the descriptor is closed, or without a console
    assert train(path, "y").rows == 400
    with pytest.raises(ul.InputError, match="standard input"):
        train("-", "y", format="csv")


def test_a_file_without_suffix_is_recognized_by_its_content(tmp_path: Path) -> None:
    frame = numeric_table()
    frame.to_parquet(tmp_path / "parquet")
    frame.to_feather(tmp_path / "arrow")
    write(tmp_path / "json", json_lines(frame))
    write(tmp_path / "csv", frame.to_csv(index=False))
    write(tmp_path / "tsv", frame.to_csv(index=False, sep="\t"))
    write(tmp_path / "pipes", frame.to_csv(index=False, sep="|"))
    expected = facts(train(frame, "y"))
    for name in ("parquet", "arrow", "json", "csv", "tsv", "pipes"):
        assert facts(train(str(tmp_path / name), "y")) == expected, name


# ------------------------------------------------------------------------------------------------ cutting


AWKWARD = pd.DataFrame(
    {
        "text": ['new\nline "quoted"', "two\r\n\r\nlines", "é€😀" * 3, '""', "a;b\tc|d,e", "plain"] * 40,
        "x": [0.1 * k - 7.3 for k in range(240)],
        "y": [float(k % 7) + 0.5 for k in range(240)],
    }
)


@pytest.mark.parametrize("size", [64, 67, 333, 100_000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_any_size_of_pieces_reads_the_same_csv(
    size: int, encoding: str, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.csv", AWKWARD.to_csv(index=False, lineterminator=end).encode(encoding))
    set_chunk(monkeypatch, size)
    result = train(path, "y", task="regression", encoding="utf-16-be" if encoding == "utf-16-be" else None)
    assert facts(result) == facts(train(AWKWARD, "y", task="regression"))


@pytest.mark.parametrize("size", [64, 67, 333, 100_000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_any_size_of_pieces_reads_the_same_json(
    size: int, encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\r\n" for row in AWKWARD.to_dict("records"))
    path = write(tmp_path / "a.jsonl", text.encode(encoding))
    set_chunk(monkeypatch, size)
    result = train(path, "y", task="regression")
    assert facts(result) == facts(train(AWKWARD, "y", task="regression"))


@pytest.mark.parametrize("size", [64, 65, 67, 333])
def test_any_size_of_pieces_reads_the_same_vw_text(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = ("\n", "\r\n")
    lines = [f"{k % 2 * 2 - 1} {1 + k % 3} täg{k}|é:2 a:{k} b |n c{k % 5}:0.1{ends[k % 2]}" for k in range(300)]
    path = write(tmp_path / "a.vw", "\n".join(lines).rstrip())
    expected = facts(train(path, loss="logistic"))
    set_chunk(monkeypatch, size)
    assert facts(train(path, loss="logistic")) == expected


cells = st.text(st.sampled_from('ab1 ,;"\n\r\té€😀.-=\u2028\x85'), max_size=8)


@settings(max_examples=70, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.integers(2, 4).flatmap(
        lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), min_size=1, max_size=25)
    ),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n"]),
    delimiter=st.sampled_from([",", "\t", ";", "|"]),
    size=st.integers(16, 400),
    last=st.booleans(),
)
def test_csv_is_read_as_the_csv_module_reads_it(
    rows: list[list[str]], quoting: Any, end: str, delimiter: str, size: int, last: bool, tmp_path: Path
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, quoting=quoting, lineterminator=end, delimiter=delimiter)
    names = [f"c{k}" for k in range(len(rows[0]))]
    if quoting == csv.QUOTE_MINIMAL:  # which leaves a carriage return unquoted
        rows = [[cell.replace("\r", "\n") for cell in row] for row in rows]
    writer.writerows([names, *rows])
    written = text.getvalue() if last else text.getvalue().removesuffix(end)
    expected = list(csv.reader(io.StringIO(written, newline=""), delimiter=delimiter))[1:]
    path = write(tmp_path / "a.csv", written)
    with pytest.MonkeyPatch.context() as patch:
        set_chunk(patch, size)
        source = open_source(path, ReadOptions(target="c0", text=tuple(names), delimiter=delimiter))
        chunks = list(source.open().chunks())
    read = [[row[name] or "" for name in names] for chunk in chunks for row in chunk.content.to_pylist()]
    assert read == expected


@settings(max_examples=70, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.text(st.sampled_from('a1,"\n\r '), max_size=120), size=st.integers(4, 60))
def test_malformed_csv_is_read_the_same_in_pieces_of_any_size(body: str, size: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "p,q\n" + body)

    def read(chunk: int) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            set_chunk(patch, chunk)
            options = ReadOptions(target="p", text=("p", "q"), delimiter=",", on_error="skip")
            try:
                chunks = list(open_source(path, options).open().chunks())
            except ul.InputError:
                return "refused"
        rows = [(row["p"] or "", row["q"] or "") for chunk in chunks if chunk.rows for row in chunk.content.to_pylist()]
        return rows, sum(chunk.bad_count for chunk in chunks)

    assert read(size) == read(1 << 20)


NUMBERS = [
    *("1", "-2", "0.5", " 3 ", "1e3", "1E-3", ".5", "5.", "-0.0", "007", "+4", "9007199254740993", "1e400", "5e-324"),
    *("18446744073709551617", "nan", "NaN", "-nan", "NA", "N/A", "null", "NULL", "", '""', '"6"', "0x1F", "1_0", "1,5"),
    *("inf", "-inf", "Infinity", "true", "1.5.5", "-", "#N/A", "n/a", "None", "1e5x", "\u0661", '" 7"', "1e", "--1"),
]
FLAGS = ["true", "false", "True", "FALSE", "1", "0", "", "NA", "yes", '"true"', " true", "tRue", "2"]
TEXTS = ["u", " u", "u ", '"u"', '"u,v"', '"a""b"', "", "NA", "null", 'a"b', "1", "true", "é", '"two\nlines"', '""']
LABELS = ["1.5", "2", "", "NA", "nan", "x", "inf", '"3"', " 4"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cells=st.lists(
        st.tuples(*(st.sampled_from(pool) for pool in (NUMBERS, FLAGS, TEXTS, LABELS))), min_size=1, max_size=12
    ),
    skip=st.booleans(),
)
def test_a_row_is_read_the_same_in_the_first_piece_and_in_later_ones(
    cells: list[tuple[str, ...]], skip: bool, tmp_path: Path
) -> None:
    head = "n,f,t,y\n" + "".join(f"{k}.25,{k % 2 == 0},w{k % 3},{k}.5\n" for k in range(1, 60))
    path = write(tmp_path / "a.csv", head + "".join(",".join(row) + "\n" for row in cells))

    def outcome(chunk: int) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            set_chunk(patch, chunk)
            try:
                result = train(path, "y", on_error="skip" if skip else "fail", center=False)
            except ul.InputError:
                return "refused"
        return {**facts(result), "skipped_rows": sorted(result.details.skipped_rows), "names": names_of(result)}

    whole, small, smaller = outcome(1 << 20), outcome(700), outcome(150)
    assert small == smaller
    if isinstance(whole, dict) and isinstance(small, dict) and whole["skipped"] == small["skipped"]:
        true = [one["names"] & {"f=true", "f=True"} for one in (whole, small)]
        if true[0] == true[1]:  # otherwise the first chunk would show a column of text
            assert whole == small


# ------------------------------------------------------------------------------------------------ columns


def names_of(result: ul.TrainResult) -> set[str]:
    return {str(name) for name in result.model.weights} - {"(bias)"}


def test_text_and_booleans_become_indicators_and_numbers_stay(tmp_path: Path) -> None:
    rows = [
        {"n": k + 0.5, "t": "u" if k % 2 else "v", "b": k % 3 == 0, "zip": 100 + k % 2, "y": k * 1.5} for k in range(20)
    ]
    expected = {"n", "t=u", "t=v", "b=true", "b=false", "zip=100", "zip=101"}
    frame = pd.DataFrame(rows)
    write(tmp_path / "t.csv", frame.to_csv(index=False))
    write(tmp_path / "t.jsonl", json_lines(frame))
    for source in (rows, frame, pl.DataFrame(rows), str(tmp_path / "t.csv"), str(tmp_path / "t.jsonl")):
        assert names_of(train(source, "y", text="zip")) == expected


def test_text_columns_of_numbers_with_gaps_have_the_same_names_everywhere(tmp_path: Path) -> None:
    frame = pd.DataFrame({"zip": [12345, None, 54321, 12345] * 5, "x": range(20), "y": np.arange(20) + 0.5})
    write(tmp_path / "t.jsonl", json_lines(frame))
    arrow = pa.table({"zip": frame["zip"].to_numpy(), "x": frame["x"].to_numpy(), "y": frame["y"].to_numpy()})
    for source in (frame, pl.DataFrame(frame.to_dict("list")), arrow, str(tmp_path / "t.jsonl")):
        result = train(source, "y", text="zip")
        assert names_of(result) == {"x", "zip=12345", "zip=54321", "zip=(missing)"}
        assert result.details.missing == {"zip": 5}


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars", "jsonl"])
def test_dates_are_refused_with_advice_and_taken_in_parts(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"when": pd.date_range("2020-01-01 05:00", periods=60, freq="7h"), "y": np.arange(60) + 0.5})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    write(tmp_path / "t.jsonl", json_lines(frame.assign(when=frame["when"].astype(str))))
    source = {"pandas": frame, "polars": pl.from_pandas(frame)}.get(kind, str(tmp_path / f"t.{kind}"))
    with pytest.raises(ul.InputError, match=r"'when' holds dates or times.*ignore='when'.*dates='parts'"):
        train(source, "y", dates="error")
    parts = names_of(train(source, "y"))
    assert {"when.time", "when.month=1", "when.weekday=wed", "when.hour=5"} <= parts
    assert not names_of(train(frame.assign(x=1.0), "y", ignore="when")) - {"x"}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "pandas", "mappings"])
def test_missing_values_are_counted_or_an_error_with_its_place(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2, None, 4], "b": ["u", "v", "u", None], "y": [1.5, 2, 3, 4]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    write(tmp_path / "t.jsonl", json_lines(frame))
    source = {"pandas": frame, "mappings": mappings(frame)}.get(kind, str(tmp_path / f"t.{kind}"))
    assert train(source, "y").details.missing == {"a": 1, "b": 1}
    with pytest.raises(ul.InputError, match=r"'a' has no value.*; .*missing='(indicator|absent)'") as caught:
        train(source, "y", missing="error")
    assert caught.value.row == 3 or caught.value.line == 3


def test_missing_values_of_every_library_are_absent() -> None:
    def missing(values: Any) -> dict[str, int]:
        return train(pd.DataFrame({"a": values, "x": [1.0, 2, 3], "y": [1.5, 2, 3]}), "y").details.missing

    assert missing(pd.array([1, None, 3], dtype="Int64")) == {"a": 1}
    assert missing(pd.array([True, None, False], dtype="boolean")) == {"a": 1}
    assert missing(pd.array(["u", None, ""], dtype="string")) == {"a": 2}
    assert missing(pd.Categorical(["u", None, "v"])) == {"a": 1}
    assert missing([None, None, None]) == {"a": 3}
    assert missing([np.nan, 1.0, 2.0]) == {"a": 1}
    for nothing in (None, float("nan"), np.float64("nan"), np.float32("nan")):
        rows = [{"a": nothing, "x": 1.0, "y": 1.5}, {"a": 1.0, "x": 1.0, "y": 2.5}, {"x": 2.0, "y": 3.0}]
        assert train(rows, "y").details.missing == {"a": 1}


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, 3]).cast(pa.decimal128(21, 2)),
        pa.array([1, 2, 3], pa.uint8()),
        pa.array([1, 2, 3], pa.float32()),
        pa.array([1, 2, 3], pa.int8()),
        pa.array([1, 2, 3], pa.uint64()),
    ],
    ids=lambda values: str(values.type),
)
def test_numbers_of_every_type_are_numbers(values: Any) -> None:
    y = [1.5, 2, 4]
    result = train(pa.table({"a": values, "y": y}), "y")
    assert result.model.weights == train(pd.DataFrame({"a": [1.0, 2, 3], "y": y}), "y").model.weights


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["u", "v", "u"], pa.large_string()),
        pa.array(["u", "v", "u"]).dictionary_encode(),
        pa.array(["no", "u", "v", "u"])[1:],
        pa.array(["no", "u", "v", "u"]).dictionary_encode()[1:],
        pa.DictionaryArray.from_arrays(pa.array([1, 0, 1], pa.int8()), pa.array(["v", "u"])),
        pa.chunked_array([pa.array(["u"]).dictionary_encode(), pa.array(["v", "u"]).dictionary_encode()]),
    ],
    ids=["large", "dictionary", "slice", "slice of dictionary", "int8 codes", "several dictionaries"],
)
def test_text_of_every_type_is_text(values: Any) -> None:
    assert names_of(train(pa.table({"a": values, "y": [1.5, 2, 4]}), "y")) == {"a=u", "a=v"}


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("column", ["number", "flag", "word"])
def test_values_unlike_the_first_rows_are_missing_and_counted(
    kind: str, column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[dict[str, Any]] = [
        {"number": k * 7 % 200, "flag": k % 2 == 0, "word": "uv"[k % 2], "y": k + 0.5} for k in range(200)
    ]
    wrong: dict[str, Any] = {"number": "many", "flag": "maybe", "word": 7}
    first = pd.DataFrame(rows)
    for bad in ([*rows[:150], {**rows[150], column: wrong[column]}, *rows[151:]], [{**r, **wrong} for r in rows]):
        second = pd.DataFrame([{**row, column: new[column]} for row, new in zip(rows, bad, strict=True)], dtype=object)
        names = []
        for k, frame in enumerate((first, second)):
            text = frame.to_csv(index=False) if kind == "csv" else json_lines(frame)
            names.append(write(tmp_path / f"{k}.{kind}", text))
        set_chunk(monkeypatch, 600)
        place = 151 if len({str(row[column]) for row in bad}) > 1 else 1
        result = train(names, "y", model_type="linear")
        if column == "word":  # any value can be text
            assert not result.invalid_values
            continue
        count = 200 if place == 1 else 1
        assert result.invalid_values == {column: count}
        what = "numbers" if column == "number" else "true or false"
        share = "50.0%" if place == 1 else "99.8%"
        said = rf"column '{column}': {share} {what}; first other value '{wrong[column]}' in (row|line) {place} of"
        assert any(re.match(rf"{said} .*1\.{kind}, treated as missing", str(one)) for one in result.column_report)
        told = rf"1\.{kind}, (row|line) {place}\b.*{column}.*is '{wrong[column]}'"
        with pytest.raises(ul.InputError, match=told):
            train(names, "y", missing="error")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_second_file_without_a_column_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2], "b": ["u", "v"], "w": [1.0, 1], "y": [1.5, 2]})
    for left_out in ("b", "w", "y"):
        names = []
        for k, one in enumerate((frame, frame.drop(columns=left_out))):
            path = tmp_path / f"{k}.{kind}"
            if kind == "parquet":
                one.to_parquet(path)
            else:
                write(path, one.to_csv(index=False) if kind == "csv" else json_lines(one))
            names.append(str(path))
        if kind == "jsonl" and left_out == "b":
            assert train(names, "y", weight="w").details.missing == {"b": 2}  # an absent key is a missing value
            continue
        if kind == "jsonl" and left_out == "y":
            assert train(names, "y", weight="w").details.unlabeled == 2
            continue
        with pytest.raises(ul.InputError, match=rf"1\.{kind}.*('{left_out}'|target|weight)"):
            train(names, "y", weight="w")


@pytest.mark.parametrize("column", ["flag", "word", "number"])
def test_a_key_that_json_leaves_out_for_long_is_missing(
    column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[dict[str, Any]] = [
        {"flag": k % 2 == 0, "word": "uv"[k % 2], "number": k * 7 % 100, "y": k + 0.5} for k in range(100)
    ]
    rows = [{k: v for k, v in row.items() if k != column or n < 50} for n, row in enumerate(rows)]
    path = write(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    expected = facts(train(path, "y"))
    assert expected["missing"] == {column: 50}
    set_chunk(monkeypatch, 400)
    assert facts(train(path, "y")) == expected


def test_text_that_looks_like_dates_stays_text_in_later_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"c": "word" if k < 50 else f"2020-01-{k % 28 + 1:02d}", "y": k + 0.5} for k in range(100)]
    path = write(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    whole = train(path, "y")
    assert whole.details.weighted_features == 29
    expected = list(whole.predict(pd.DataFrame(rows)))
    set_chunk(monkeypatch, 400)
    assert whole.predict(path) == expected


def test_ignored_columns_may_have_any_values(tmp_path: Path) -> None:
    text = '{"a": 1, "tags": [1, {"b": 2}], "y": 1.5}\n\n{"a": 2, "tags": null, "y": 2.5}\n{"a": 3, "y": 3}\n'
    assert train(write(tmp_path / "a.jsonl", text), "y", ignore="tags").rows == 3
    assert train(pa.table({"a": [1.0, 2], "b": [b"u", b"v"], "y": [1.5, 2]}), "y", ignore="b").rows == 2


def test_columns_are_left_out_by_pattern_from_every_source(tmp_path: Path) -> None:
    rows = [{"id_1": k, "id_2": -k, "x": k + 0.5, "y": k + 1.5} for k in range(10)]
    for source in (rows, pd.DataFrame(rows), write(tmp_path / "a.csv", pd.DataFrame(rows).to_csv(index=False))):
        assert names_of(train(source, "y", ignore="id_*")) == {"x"}
        assert names_of(train(source, "y", only=["x"])) == {"x"}
        assert names_of(train(source, "y", only=["x", "id_?"], ignore=["id_1"])) == {"x", "id_2"}


@pytest.mark.parametrize("option", ["target", "weight", "ignore", "only", "text"])
def test_a_column_that_is_not_there_is_named_with_the_nearest_one(option: str) -> None:
    frame = pd.DataFrame({"price": [1.0, 2], "size": [1.0, 2]})
    options = {"target": "price", option: "prize"}
    with pytest.raises(ul.OptionError, match=r"there is no column 'prize'; did you mean 'price'\?"):
        train(frame, **options)


# ------------------------------------------------------------------------------------------------ other containers


def test_rows_of_a_database_can_be_streamed() -> None:
    base = sqlite3.connect(":memory:")  # which may be used only by the thread that opened it
    base.execute("create table t (x, y)")
    base.executemany("insert into t values (?, ?)", [(k, k * 0.5) for k in range(50)])
    assert train(({"x": x, "y": y} for x, y in base.execute("select x, y from t")), "y").rows == 50


def test_an_error_of_the_iterable_comes_out_as_it_is() -> None:
    def rows() -> Any:
        yield {"x": 1.0, "y": 1.5}
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        train(rows(), "y")


def test_a_lazy_frame_is_learned_or_refused_with_advice() -> None:
    lazy = pl.DataFrame({"a": [1.0, 2], "y": [1.5, 2]}).lazy()
    rows = 2
    with contextlib.suppress(ul.InputError):
        rows = train(lazy, "y").rows
    assert rows == 2


def test_a_model_of_weighted_rows_predicts_rows_without_weight(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2, 3], "w": [1.0, 2, 1], "y": [1.5, 2, 3]})
    result = train(frame, "y", weight="w")
    expected = list(result.predict(frame))
    assert list(result.predict(frame[["a"]])) == expected
    assert result.predict(write(tmp_path / "a.csv", frame[["a"]].to_csv(index=False))) == expected


@pytest.mark.parametrize("words", [("True", "False"), ("TRUE", "FALSE"), ("true", "false")])
def test_booleans_of_csv_are_predicted_as_they_were_learned(words: tuple[str, str], tmp_path: Path) -> None:
    rows = "".join(f"{words[k % 3 > 0]},{k % 7},{words[k % 3 > 0]}\n" for k in range(300))
    path = write(tmp_path / "a.csv", "flag,x,y\n" + rows)
    result = train(path, "y")
    predicted = result.predict(path)
    assert sum(str(p).lower() == words[k % 3 > 0].lower() for k, p in enumerate(predicted)) > 290


@pytest.mark.parametrize("where", ["text", "number", "header", "later text", "later number"])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_text_of_another_encoding_is_read_as_such_or_refused_with_advice(
    where: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "größe" if where == "header" else "n"
    rows = [{name: k, "t": "u", "y": k + 0.5} for k in range(200)]
    at = 150 if "later" in where else 0
    if "text" in where:
        rows[at]["t"] = "groß"
    if "number" in where:
        rows[at][name] = "fünf"
    if kind == "csv":
        text = pd.DataFrame(rows, dtype=object).to_csv(index=False)
    else:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path = write(tmp_path / f"a.{kind}", text.encode("latin-1"))
    set_chunk(monkeypatch, 500)
    if kind == "csv":
        assert any("read as windows-1252" in str(one) for one in train(path, "y").column_report)
        return
    with pytest.raises(ul.InputError, match="encoding"):
        train(path, "y")
    if "number" not in where:
        assert train(path, "y", encoding="latin-1").rows == 200


def test_lines_that_end_with_a_carriage_return_alone_lose_no_row(tmp_path: Path) -> None:
    for text in ("a,y\r1,2.5\r2,3.5\r3,4\r", "a,y\r1,2.5\n2,3.5\n3,4\n"):
        rows = 3
        with contextlib.suppress(ul.InputError):  # a failure is acceptable if the message gives the reason
            rows = train(write(tmp_path / "a.csv", text), "y").rows
        assert rows == 3


@pytest.mark.parametrize("delimiter", ["\n", "\r", "\0", "é", '"'])
def test_delimiters_that_cannot_be_are_refused(delimiter: str, tmp_path: Path) -> None:
    with pytest.raises(ul.OptionError, match="delimiter"):
        train(write(tmp_path / "a.csv", CSV), "y", delimiter=delimiter)


def test_quoted_numbers_and_spaces_are_read(tmp_path: Path) -> None:
    text = 'a, b ,y\n"1", 2 ,"3.5"\n"2",3, 4.5\n"3",4,7\n'
    result = train(write(tmp_path / "a.csv", text), "y")
    assert names_of(result) == {"a", "b"}
    assert result.details.target.task == "regression"


def test_the_command_line_reads_a_pipe(tmp_path: Path) -> None:
    run = cli("train", "-", "--format", "csv", "--target", "y", "--json", stdin=CSV.encode())
    assert run.returncode == 0
    assert json.loads(run.stdout)["rows"] == 400
    seen = cli("train", "-", "--target", "y", "--json", stdin=CSV.encode())  # from its first line
    assert json.loads(seen.stdout)["rows"] == 400


def test_long_rows_do_not_change_column_types(tmp_path: Path) -> None:
    rng, rows = np.random.default_rng(0), 900
    late = np.arange(rows) >= 700  # beyond the first chunk of CSV, within the first thousand rows
    frame = pd.DataFrame(
        {
            "x": np.where(late, rng.integers(5, 9, rows), rng.integers(0, 2, rows)),
            "text": [f"{'w' * 8000}{k % 3}" for k in range(rows)],
            "y": rng.normal(size=rows),
        }
    )
    path = write(tmp_path / "a.csv", frame.to_csv(index=False))
    assert train(path, "y").metrics == train(frame, "y").metrics
