"""Blocks: together they have all rows, each once, as the ordinary reader gives them, with their file and row."""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
import os
import pickle
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
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
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sources import mappings, table, write, write_all

import unitless as ul
from unitless import inputs
from unitless.cluster import blocks as cut
from unitless.cluster.agreement import agree
from unitless.cluster.blocks import Block, DataSpec, FileSurvey, batches, row_numbers, survey
from unitless.cluster.layout import lay_out
from unitless.data import Batch, Position, Reader, ReadOptions, open_source
from unitless.data.labels import Texts
from unitless.data.sources import columnar, decoded_parts, row_places

FRAME = table(1500)
FILES = ["t.csv", "t.tsv", "semicolons.csv", "t.parquet", "t.feather", "t.arrows", "t.jsonl"]
MEMORY: dict[str, Callable[[], Any]] = {
    "pandas": lambda: FRAME,
    "polars": lambda: pl.from_pandas(FRAME),
    "arrow": lambda: pa.Table.from_pandas(FRAME, preserve_index=False),
    "dataset": lambda: pyarrow.dataset.dataset(pa.Table.from_pandas(FRAME, preserve_index=False)),
    "record batch": lambda: pa.Table.from_pandas(FRAME, preserve_index=False).to_batches()[0],
    "mappings": lambda: mappings(FRAME),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table")
    write_all(FRAME, path)
    for name in ("t.csv", "t.jsonl", "t.parquet"):
        (path / f"{name}.gz").write_bytes(gzip.compress((path / name).read_bytes()))
    (path / "t.tsv.bz2").write_bytes(bz2.compress((path / "t.tsv").read_bytes()))
    write(path / "utf16.csv", FRAME.to_csv(index=False).encode("utf-16"))
    return path


def surveyed(spec: DataSpec) -> tuple[DataSpec, list[FileSurvey]]:
    """Survey the files as workers do: everything is sent."""
    surveys = [pickle.loads(pickle.dumps(survey(spec, file))) for file in range(spec.parts)]
    schema, _ = agree(spec, surveys)
    return pickle.loads(pickle.dumps(replace(spec, schema=schema))), surveys


def content(found: Iterable[Batch]) -> dict[str, Any]:
    """Every row by its place: features, label and weight."""
    rows: dict[str, Any] = {}
    for batch in found:
        features = values(batch.data)
        for row in range(batch.rows):
            place = batch.place(row)
            assert place not in rows, "a row came twice"
            label = None
            if isinstance(batch.labels, Texts):
                label = batch.labels.values[batch.labels.codes[row]] if batch.labels.codes[row] >= 0 else None
            elif batch.labels is not None:
                label = repr(float(batch.labels.values[row]))
            rows[place] = features[row], label, None if batch.weight is None else float(batch.weight[row])
    return rows


def values(data: inputs.Input) -> list[dict[Any, str]]:
    """The features of each row."""
    if isinstance(data, inputs.Frame):
        return [{name: repr(x) for name, x in one_row(data, row).items()} for row in range(data.rows)]
    if isinstance(data, inputs.Dense):
        return [dict(enumerate(map(repr, row))) for row in data.array.tolist()]
    if isinstance(data, inputs.NamedRows):
        return [{name: repr(float(x)) for name, x in row.items()} for row in data.mappings]
    if isinstance(data, inputs.Compressed):
        ends = itertools.pairwise(data.row_starts.tolist())
        return [
            dict(zip(data.indices[a:b].tolist(), map(repr, data.values[a:b].tolist()), strict=True)) for a, b in ends
        ]
    read, found, begin = data.read, [], 0
    names = read.names
    for end in read.row_ends.tolist():
        ids = read.ids[begin:end].tolist()
        entries = zip((names[k] for k in ids), read.values[begin:end].tolist(), strict=True)
        # libsvm's first row mentions other features, with zeros
        found.append({name: repr(x) for name, x in entries if x})
        begin = end
    return found


def one_row(frame: inputs.Frame, row: int) -> dict[str, float]:
    one = inputs.pick(frame, np.array([row]))
    assert isinstance(one, inputs.Frame)
    return one.first_row(lambda column, text: [])


def ordinary(spec: DataSpec) -> dict[str, Any]:
    """All rows, read in one go by the same schema."""
    return content(Reader(spec.source(), spec.options, spec.schema, spec.target, spec.weight).batches())


def check(spec: DataSpec, partitions: int = 3, rounds: int = 2, least_rows: int = 10) -> list[FileSurvey]:
    spec, surveys = surveyed(spec)
    expected = ordinary(spec)
    for pass_number in (0, 1):
        layout = lay_out(surveys, partitions, rounds, 7, pass_number, least_rows)
        assert (layout.partitions, layout.rounds) == (partitions, rounds)
        cells = [list(batches(spec, cell)) for row in layout.cells for cell in row]
        assert content(itertools.chain.from_iterable(cells)) == expected
        numbers = np.concatenate([row_numbers(batch) for cell in cells for batch in cell])
        assert len(np.unique(numbers)) == len(numbers) == len(expected)
        assert numbers.min() >= 0
        assert numbers.max() < sum(one.numbers for one in surveys)
    return surveys


@pytest.mark.parametrize(
    "name", [*FILES, "t.csv.gz", "t.jsonl.gz", "t.parquet.gz", "t.tsv.bz2", "utf16.csv", *MEMORY], ids=str
)
@pytest.mark.parametrize("target", ["y", "word"])
def test_all_blocks_are_all_rows(name: str, target: str, folder: Path) -> None:
    if (name, target) == ("mappings", "word"):
        pytest.skip("its missing values are not text")
    source = MEMORY[name]() if name in MEMORY else str(folder / name)
    surveys = check(DataSpec.of(source, ReadOptions(target=target, encoding="utf-16" if "16" in name else None)))
    assert sum(one.rows for one in surveys) == len(FRAME)


def test_arrays_and_matrices_with_separate_labels() -> None:
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(900, 5)), rng.normal(size=900), rng.uniform(size=900)
    for data in (X, sp.csr_matrix(np.where(X > 1, X, 0)), X.tolist()):
        for target in (y, y.tolist(), [str(x > 0) for x in y]):
            check(DataSpec.of(data, ReadOptions(), target, weight))
    check(DataSpec.of(pd.DataFrame(X, columns=list("abcde")), ReadOptions(), y.tolist(), weight))


NAMED = {
    "vw": ["1 |a x:1 y:2.5", "-1 2.0 'tag|b z", "", "   ", "0.5 |a x:3 |b q r:4"],
    "libsvm": ["1 1:0.5 3:2", "# a comment", "-1 2:7 # and another", "", "0 1:1"],
}


@pytest.mark.parametrize("format", NAMED)
@pytest.mark.parametrize("compressed", [False, True])
def test_rows_of_named_features(format: str, compressed: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lines = "\n".join(NAMED[format][k] for k in rng.integers(0, 5, 2000)).encode()
    path = tmp_path / f"t.{format}{'.gz' if compressed else ''}"
    path.write_bytes(gzip.compress(lines) if compressed else lines)
    (one,) = check(DataSpec.of(str(path), ReadOptions()))
    assert one.rows < one.numbers == 2000


def test_several_files_of_a_folder(tmp_path: Path) -> None:
    for number, start in enumerate(range(0, 1500, 300)):
        FRAME[start : start + 300].to_csv(tmp_path / f"{number}.csv", index=False)
    surveys = check(DataSpec.of(str(tmp_path), ReadOptions(target="y")))
    assert [one.rows for one in surveys] == [300] * 5
    check(DataSpec.of(str(tmp_path / "[0-2].csv"), ReadOptions(target="y")))


def test_bad_rows_are_counted_once_and_the_others_are_there(tmp_path: Path) -> None:
    rows = [f"{k},{k * k},a" for k in range(3000)]
    for k in range(2500, 3000, 10):
        rows[k] = f"{k},1" if k % 20 else f"{k},1,a,too many"
    path = write(tmp_path / "bad.csv", "x,y,z\n" + "\n".join(rows))
    options = ReadOptions(target="x", on_error="skip")
    spec = DataSpec.of(path, options)
    surveys = [survey(spec, 0)]
    plain = write(tmp_path / "good.csv", "x,y,z\n" + "\n".join(rows[:2500]))
    schema = agree(DataSpec.of(plain, options), [survey(DataSpec.of(plain, options), 0)])[0]
    spec = replace(spec, schema=schema)
    found = [batch for row in lay_out(surveys, 2, 2, 0, 0, 10).cells for cell in row for batch in batches(spec, cell)]
    assert sum(batch.bad_count for batch in found) == 50
    assert {bad.where for batch in found for bad in batch.bad} <= {
        f"{path}, row {k + 1}" for k in range(2500, 3000, 10)
    }
    assert content(found) == ordinary(spec)
    ((cell,),) = lay_out(surveys, 1, 1, 0, 0, 10).cells
    with pytest.raises(ul.InputError, match=r"bad.csv, row 2501: .*oops|bad.csv, row 2501: it has 4 columns"):
        list(batches(replace(spec, options=replace(options, on_error="fail")), cell))


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_dates_are_read_as_parts(format: str, tmp_path: Path) -> None:
    days = pd.date_range("2020-01-01", periods=1500, freq="7h")
    frame = pd.DataFrame({"when": days, "x": np.arange(1500.0), "y": np.arange(1500) % 5})
    path = str(tmp_path / f"t.{format}")
    frame.to_csv(path, index=False) if format == "csv" else frame.to_parquet(path)
    check(DataSpec.of(path, ReadOptions(target="y", dates="parts")))


# ------------------------------------------------------------------------------------------------ where rows stand

FIELDS = st.sampled_from(["1", "", '"a\nb"', '"say ""x"", y"', "a\rb", '"c\r\nd"', "plain", 'mid"quote', '""', " "])
LINES = st.lists(st.tuples(FIELDS, FIELDS, st.sampled_from(["\n", "\r\n", "\n\n", "\n\r\n"])), min_size=1, max_size=60)


@given(LINES, st.integers(1, 9), st.integers(2, 30))
@example([("1", "", "\n"), ("", "", "\n\n"), ('"a\nb"', "x", "\r\n")], 1, 30)
@settings(max_examples=150, deadline=None)
def test_rows_of_csv_are_found_where_the_reader_counts_them(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, str, str]], every: int, most: int
) -> None:
    """The core finds rows without reading them; the reader counts the rows before each place."""
    path = tmp_path_factory.getbasetemp() / "rows.csv"
    write(path, "x,y\n" + "".join(f"{a},{b}{end}" for a, b, end in lines))
    source = open_source(str(path), ReadOptions(target="y", text=("x", "y"), on_error="skip"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_places, "CLOSEST", every)
        places = source.open().places(0, most)
    assert len(places.offsets) <= most + 2
    for place in range(len(places.offsets) - 1):
        start, end = places.position(place), places.position(place + 1)
        chunks = list(source.open().chunks(start, end))
        assert sum(chunk.rows + chunk.bad_count for chunk in chunks) == places.before[place + 1] - places.before[place]
        assert all(chunk.position.count <= end.count for chunk in chunks)
    assert places.rows == sum(chunk.rows + chunk.bad_count for chunk in source.open().chunks())


def test_a_file_of_many_rows_has_a_bounded_number_of_places(tmp_path: Path) -> None:
    path = write(tmp_path / "long.csv", "x,y\n" + "1,2\n" * 100_000)
    places = open_source(path, ReadOptions(target="y")).open().places(0, 100)
    assert 50 <= len(places.offsets) <= 102
    steps = np.diff(places.before)
    assert steps[:-1].min() == steps[:-1].max() == 64 * 16


def test_a_group_of_parquet_is_decoded_once_for_all_its_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"x": np.arange(4000.0), "y": np.arange(4000.0)}), path, row_group_size=1000)
    spec, surveys = surveyed(DataSpec.of(str(path), ReadOptions(target="y")))
    decoded: list[int] = []
    decode = columnar.ParquetScan._group
    monkeypatch.setattr(columnar.ParquetScan, "_group", lambda *args: (decoded.append(args[2]), decode(*args))[1])
    monkeypatch.setattr(decoded_parts, "_PARTS", decoded_parts.PartCache(decoded_parts.MOST_CACHED))
    for cells in lay_out(surveys, 4, 2, 0, 0, 10).cells:
        for cell in cells:
            list(batches(spec, cell))
    assert sorted(decoded) == [0, 1, 2, 3]


def test_groups_too_large_for_memory_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar, "MOST_CACHED", 1000)
    monkeypatch.setattr(decoded_parts, "MOST_CACHED", 1000)
    monkeypatch.setattr(decoded_parts, "_PARTS", decoded_parts.PartCache(decoded_parts.MOST_CACHED))
    FRAME.to_parquet(tmp_path / "t.parquet", row_group_size=600)
    (one,) = check(DataSpec.of(str(tmp_path / "t.parquet"), ReadOptions(target="y")))
    assert not one.places.direct


def test_compressed_text_too_large_for_memory_is_read_from_its_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unitless.data.sources import text_stream  # noqa: PLC0415

    monkeypatch.setattr(text_stream, "MOST_CACHED", 1000)
    monkeypatch.setattr(decoded_parts, "_PARTS", decoded_parts.PartCache(decoded_parts.MOST_CACHED))
    check(DataSpec.of(str(folder / "t.csv.gz"), ReadOptions(target="y")))


def test_a_file_that_was_written_again_is_not_read_from_memory(tmp_path: Path) -> None:
    for value in (1.0, 2.0):
        path = tmp_path / "t.parquet"
        pa.parquet.write_table(pa.table({"x": np.full(200, value), "y": np.arange(200.0)}), path)
        os.utime(path, ns=(0, int(value)))
        spec, surveys = surveyed(DataSpec.of(str(path), ReadOptions(target="y")))
        (batch,) = batches(spec, lay_out(surveys, 1, 1, 0, 0, 10).cells[0][0])
        assert isinstance(batch.data, inputs.Frame)
        assert set(np.asarray(getattr(batch.data.columns[0], "numbers", batch.data.columns[0]))) == {value}


# ------------------------------------------------------------------------------------------------ surveys


def test_a_survey_is_small_and_knows_data_that_has_changed(tmp_path: Path) -> None:
    rows = "".join(f"{k},{k % 7}\n" for k in range(20_000))
    path = write(tmp_path / "t.csv", "x,y\n" + rows)
    spec = DataSpec.of(path, ReadOptions(target="y"))
    first = survey(spec, 0)
    assert len(pickle.dumps(first)) < 1 << 20
    assert survey(spec, 0).identity == first.identity
    assert survey(DataSpec.of(path, ReadOptions(target="y", missing="error")), 0).identity != first.identity
    write(tmp_path / "t.csv", "x,y\n" + rows[:-2] + "9\n")
    assert survey(spec, 0).identity != first.identity
    frame = pd.DataFrame({"x": np.arange(500.0), "y": np.arange(500.0)})
    held = survey(DataSpec.of(frame, ReadOptions(target="y")), 0).identity
    assert survey(DataSpec.of(frame.copy(), ReadOptions(target="y")), 0).identity == held
    assert survey(DataSpec.of(frame + 1, ReadOptions(target="y")), 0).identity != held


def test_data_that_cannot_be_cut_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ul.InputError, match="only once"):
        DataSpec.of(pa.table({"x": [1.0], "y": [2.0]}).to_reader(), ReadOptions(target="y"))
    with pytest.raises(ul.InputError, match="only once"):
        DataSpec.of(({"x": k} for k in range(9)), ReadOptions(target="x"))
    empty = write(tmp_path / "e.csv", "x,y\n")
    with pytest.raises(ul.InputError, match="has no rows"):
        survey(DataSpec.of(empty, ReadOptions(target="y")), 0)
    with pytest.raises(ul.InputError, match="target has 3 values, but the data has 4 rows"):
        survey(DataSpec.of(np.zeros((4, 2)), ReadOptions(), [1, 2, 3]), 0)


def test_blocks_that_follow_one_another_are_read_in_one_go(folder: Path) -> None:
    _, surveys = surveyed(DataSpec.of(str(folder / "t.csv"), ReadOptions(target="y")))
    blocks: list[Block] = [block for row in lay_out(surveys, 1, 1, 0, 0, 10).cells for cell in row for block in cell]
    assert len(blocks) > 3
    assert len(list(cut._joined(blocks))) == 1
    assert sum(block.rows for block in blocks) == 1500


def test_json_lines_may_have_keys_that_not_all_rows_have(tmp_path: Path) -> None:
    rows = [{"x": k * 7 % 4001, "y": k % 3} | ({"late": -k * 3 % 4001} if k > 2000 else {}) for k in range(4000)]
    path = write(tmp_path / "t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    spec, surveys = surveyed(DataSpec.of(path, ReadOptions(target="y")))
    assert spec.schema is not None
    assert list(spec.schema.kinds) == ["x", "late"]
    assert surveys[0].rows == 4000
    check(DataSpec.of(path, ReadOptions(target="y")))
    write(
        tmp_path / "t.jsonl",
        "".join(json.dumps(row | ({"odd": 1} if k == 77 else {})) + "\n" for k, row in enumerate(rows)),
    )
    check(DataSpec.of(path, ReadOptions(target="y", ignore=("odd",))))
    block = Block(Position(), Position(0, 1 << 40, 4000), 4000, 0)
    with pytest.raises(ul.InputError, match=r"line 78: the key 'odd' was not in the first rows"):
        list(batches(spec, [block]))


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.csv.gz"])
def test_threads_read_at_the_same_time(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_parts, "_PARTS", decoded_parts.PartCache(decoded_parts.MOST_CACHED))
    spec, surveys = surveyed(DataSpec.of(str(folder / name), ReadOptions(target="y")))
    cells = [cell for row in lay_out(surveys, 8, 2, 0, 0, 10).cells for cell in row]
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda cell: list(batches(spec, cell)), cells)
        assert content(itertools.chain.from_iterable(found)) == ordinary(spec)
