"""Rows in random order: the same order for every format, chunk size and memory limit."""

from __future__ import annotations

import errno
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
import sources
from hypothesis import given, settings
from hypothesis import strategies as st

import unitless as ul
from unitless import inputs
from unitless.data import Batch, Position, Reader, ReadOptions, open_source
from unitless.data.labels import Numbers, Texts, labels_of
from unitless.data.memory import LEAST, _container, default_memory, memory_size
from unitless.data.rows import random_order, shuffle
from unitless.data.rows.shuffle import Shuffle
from unitless.data.rows.stored_rows import concatenated
from unitless.data.sources.located_rows import Place

LARGE = 1 << 30
PINNED_HASHES = [5662737076530584639, 6099509816101183344, 5254628678599460343]
PINNED_ORDER = [6, 2, 0, 1, 10, 11, 4, 7, 3, 8, 5, 9]


def read(source: Any, **options: Any) -> list[Batch]:
    beside = {name: options.pop(name) for name in ("target", "weight") if not isinstance(options.get(name, ""), str)}
    known = ReadOptions(**options)
    reader = Reader(open_source(source, known), known, None, beside.get("target"), beside.get("weight"))
    return list(reader.batches())


def shuffled(batches: Iterable[Batch], memory: int = LARGE, seed: int = 5, folder: Path | None = None) -> list[Batch]:
    with Shuffle(seed, memory, None if folder is None else str(folder)) as rows:
        for batch in batches:
            rows.add(batch)
        rows.seal()
        return list(rows.batches())


def trained(batches: Iterable[Batch]) -> bytes:
    """The state of a model that has learned these rows."""
    model = ul.Learner(loss="squared", learning_rate="auto", target="auto")
    for batch in batches:
        assert isinstance(batch.labels, Numbers)
        there = batch.labels.present()
        part = batch.select(there)
        model._feed(part.data, batch.labels.values[there], part.weight)
    return sources.content(model)


def plain(batch: Batch) -> list[Any]:
    """Each row with its label and weight, in Python types."""
    data, rows = batch.data, [dict[str, Any]() for _ in range(batch.rows)]
    if isinstance(data, inputs.Dense):
        for row, values in zip(rows, data.array.astype(np.float64).tolist(), strict=True):
            row |= {str(k): float.hex(x) for k, x in enumerate(values)}
    elif isinstance(data, inputs.Compressed):
        for k, row in enumerate(rows):
            part = slice(data.row_starts[k], data.row_starts[k + 1])
            pairs = zip(data.indices[part].tolist(), data.values[part].tolist(), strict=True)
            row |= {str(i): float.hex(x) for i, x in pairs}
    elif isinstance(data, inputs.TextRows):
        read, begin = data.read, 0
        for row, end in zip(rows, read.row_ends.tolist(), strict=True):
            row |= {read.names[i]: float.hex(read.values[k]) for k, i in enumerate(read.ids[begin:end], start=begin)}
            begin = end
    elif isinstance(data, inputs.NamedRows):
        for row, mapping in zip(rows, data.mappings, strict=True):
            row |= {name: float.hex(float(x)) for name, x in mapping.items()}
    else:
        for name, column in zip(data.names, data.columns, strict=True):
            if isinstance(column, inputs.TextColumn | inputs.WordsColumn):
                codes, ends, text = column if isinstance(column, inputs.TextColumn) else column.texts
                kind, letters = type(column).__name__, text.tobytes()
                for row, code in zip(rows, codes.tolist(), strict=True):
                    row.update({} if code < 0 else {name: (kind, letters[ends[code] : ends[code + 1]].decode())})
            else:
                numbers = column.numbers if isinstance(column, inputs.FlagColumn) else column
                for row, x in zip(rows, numbers.astype(np.float64).tolist(), strict=True):
                    row.update({} if data.missing and np.isnan(x) else {name: float.hex(x)})
    labels: list[Any] = [None] * batch.rows
    if isinstance(batch.labels, Numbers):
        labels = [float.hex(x) for x in batch.labels.values.tolist()]
    elif batch.labels is not None:
        labels = [None if code < 0 else batch.labels.values[code] for code in batch.labels.codes.tolist()]
    weights = [1.0] * batch.rows if batch.weight is None else batch.weight.tolist()
    tags = [""] * batch.rows if batch.tags is None else batch.tags
    where = [batch.place(k) for k in range(batch.rows)]
    return list(zip(rows, labels, weights, tags, where, strict=True))


def all_rows(batches: Iterable[Batch]) -> list[Any]:
    return [row for batch in batches for row in plain(batch)]


def without_zeros(row: Any) -> Any:
    """A row of text without its place and without indices that are mentioned only to fix their order."""
    return ({name: x for name, x in row[0].items() if float.fromhex(x)}, *row[1:4])


def in_order(rows: list[Any], seed: int = 5) -> list[Any]:
    return [rows[k] for k in random_order.Order(seed, len(rows))[: len(rows)].tolist()]


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle, "batch_rows", lambda data: (200, 100))


# ---------------------------------------------------------------------------------------------------- the order


def test_the_order_is_that_of_the_hash() -> None:
    for seed in (0, 1, 2**63, -7):
        found = random_order.hashes(seed, 0, 70_000)
        assert len(np.unique(found)) == 70_000
        assert (random_order.Order(seed, 70_000)[:70_000] == np.argsort(found)).all()
        assert (random_order.hashes(seed, 69_990, 70_000) == found[69_990:]).all()
    assert random_order.Order(0, 10)[:10].tolist() != random_order.Order(1, 10)[:10].tolist()


def test_the_order_never_changes() -> None:
    assert random_order.hashes(0, 0, 3).tolist() == PINNED_HASHES
    assert random_order.Order(0, 12)[:12].tolist() == PINNED_ORDER


def test_places_are_uniform() -> None:
    place = np.argsort(random_order.Order(3, 100_000)[:100_000])
    correlation = np.corrcoef(place, np.arange(100_000))[0, 1]
    assert abs(correlation) < 0.02
    assert abs(np.corrcoef(place[:-1], place[1:])[0, 1]) < 0.02


# ---------------------------------------------------------------------------------------------------- formats


def test_every_format_gives_the_rows_of_a_file_written_in_that_order(
    tmp_path: Path, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = sources.table()
    moved = frame.iloc[random_order.Order(5, len(frame))[: len(frame)]]
    (tmp_path / "moved").mkdir()
    expected = trained(read(sources.write_all(moved, tmp_path / "moved")["t.parquet"], target="y"))
    assert expected != trained(read(frame, target="y"))
    sources.set_chunk(monkeypatch, 3000)
    given = {**sources.write_all(frame, tmp_path), "frame": frame, "table": pa.Table.from_pandas(frame)}
    for name, source in given.items():
        batches = read(source, target="y")
        assert trained(shuffled(batches)) == expected, name
        assert trained(shuffled(batches, memory=30_000)) == expected, name


def test_named_text_is_as_if_its_lines_were_in_that_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    monkeypatch.setattr(shuffle, "batch_rows", lambda data: (150, 150))
    libsvm, vw = [], []
    for k in range(900):
        features = {int(j): rng.normal() for j in rng.integers(1, 40 + k // 20, 6)}
        libsvm.append(f"{rng.normal()} " + " ".join(f"{j}:{x}" for j, x in sorted(features.items())))
        tag = f" t{k}" if k % 3 else " "
        weight = f" {1 + k % 2}" if k > 300 else ""
        vw.append(f"{rng.normal()}{weight}{tag}|a {' '.join(f'n{j}:{x}' for j, x in features.items())} |b w{k % 17}")
    sources.set_chunk(monkeypatch, 4000)
    for name, lines in (("t.libsvm", libsvm), ("t.vw", vw)):
        path = sources.write(tmp_path / name, "\n".join(lines) + "\n")
        moved = sources.write(tmp_path / f"moved_{name}", "\n".join(in_order(lines)) + "\n")
        expected = all_rows(read(moved))
        for memory in (LARGE, 100_000, 5000):
            batches = shuffled(read(path), memory)
            assert trained(batches) == trained(read(moved))
            rows = all_rows(batches)
            assert [without_zeros(row) for row in rows] == [without_zeros(row) for row in expected]
            assert [row[4] for row in rows] == [
                f"{path}, line {1 + k}" for k in random_order.Order(5, 900)[:900].tolist()
            ]


def test_arrays_and_matrices() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=3000)
    X = rng.normal(size=(3000, 5)) * (rng.random((3000, 5)) < 0.5)
    order = random_order.Order(5, 3000)[:3000]
    for form in (X, np.asfortranarray(X), X.astype(np.float32), scipy.sparse.csr_matrix(X), (X * 10).astype(np.int8)):
        expected = trained(read(form[order], target=y[order]))
        for memory in (LARGE, 40_000):
            assert trained(shuffled(read(form, target=y), memory)) == expected


def test_an_array_that_is_in_memory_anyway_is_not_copied(tmp_path: Path) -> None:
    X = np.zeros((20_000, 20))
    with Shuffle(0, 2 << 20, str(tmp_path)) as rows:
        for batch in read(X, target=np.zeros(20_000)):
            rows.add(batch)
        assert rows.how == "in memory"


def test_mappings(small_batches: None) -> None:
    given = [{"x": k / 3, "word": f"w{k % 5}", "y": k, "big": 2**60 + k, "flag": k % 2 == 0} for k in range(700)]
    given[3]["x"], given[4]["x"] = np.float32(0.1), np.int64(7)
    expected = trained(read(in_order(given), target="y"))
    for memory in (LARGE, 20_000):
        assert trained(shuffled(read(given, target="y"), memory)) == expected


def test_several_files_and_compressed_ones(tmp_path: Path, small_batches: None) -> None:
    frame = sources.table(1000)
    one = tmp_path / "in" / "a.csv"
    one.parent.mkdir()
    frame[:400].to_csv(one, index=False)
    with gzip.open(tmp_path / "in" / "b.csv.gz", "wb") as to:
        to.write(frame[400:].to_csv(index=False).encode())
    paths = [str(one), str(tmp_path / "in" / "b.csv.gz")]
    for memory in (LARGE, 20_000):
        batches = shuffled(read(paths, target="y"), memory)
        assert trained(batches) == trained(read(frame.iloc[random_order.Order(5, 1000)[:1000]], target="y"))
        where = [batch.place(k) for batch in batches for k in range(batch.rows)]
        expected = [
            f"{paths[0]}, row {k + 1}" if k < 400 else f"{paths[1]}, row {k - 399}"
            for k in random_order.Order(5, 1000)[:1000].tolist()
        ]
        assert where == expected


# ---------------------------------------------------------------------------------------------------- memory


def test_batches_are_the_same_whatever_the_memory(small_batches: None, tmp_path: Path) -> None:
    batches = read(sources.table(1250), target="y")
    expected = [plain(batch) for batch in shuffled(batches)]
    assert [len(rows) for rows in expected] == [200] + [100] * 10 + [50]
    assert [row for rows in expected for row in rows] == in_order(all_rows(batches))
    for memory in (100_000, 20_000, 3000, 1):
        with Shuffle(5, memory, str(tmp_path)) as rows:
            for batch in batches:
                for first in range(0, batch.rows, 300):
                    rows.add(batch.part(first, min(first + 300, batch.rows)))
            rows.seal()
            assert rows.rows == 1250
            assert "temporary" in rows.how
            for _ in range(2):
                assert [plain(batch) for batch in rows.batches()] == expected


@pytest.mark.parametrize("memory", [LARGE, 20_000])
def test_any_part_of_the_order_can_be_had(small_batches: None, memory: int) -> None:
    batches = read(sources.table(600), target="y")
    expected = in_order(all_rows(batches))
    with Shuffle(5, memory) as rows:
        for batch in batches:
            rows.add(batch)
        rows.seal()
        for first, last in ((0, 0), (0, 1), (37, 38), (250, 431), (599, 600), (590, 700), (600, 601)):
            assert all_rows(rows.batches(first, last)) == expected[first:last]
        assert all_rows(rows.batches(stopped=lambda: True)) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is told there")
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer takes memory of its own")
def test_memory_stays_under_its_bound_with_ten_times_as_much_data() -> None:
    peak = int(subprocess.run([sys.executable, "-c", PEAK], capture_output=True, check=True, timeout=100).stdout)
    assert peak < 32 << 20


PEAK = """
import sys
import numpy as np
from unitless import inputs
from unitless.data import Batch, Position
from unitless.data.labels import Numbers
from unitless.data.sources.located_rows import Place
from unitless.data.rows.shuffle import Shuffle
def peak(): return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024
before, rng = peak(), np.random.default_rng(0)
rows, names, TOTAL = 5000, [f"c{k}" for k in range(20)], 2_000_000
with Shuffle(0, 32 << 20) as shuffle:
    for first in range(0, TOTAL, rows):
        numbers = rng.normal(size=(rows, 19))
        codes = np.arange(rows, dtype=np.int32)
        words = np.char.zfill(np.arange(first, first + rows).astype("S8"), 8).tobytes()
        text = inputs.TextColumn(codes, np.arange(0, 8 * rows + 1, 8), np.frombuffer(words, np.uint8))
        data = inputs.Frame(names, [*(numbers[:, k] for k in range(19)), text], rows, missing=True)
        labels, place = Numbers(numbers[:, 0].copy()), Place("", "row", first + 1)
        shuffle.add(Batch(data, rows, labels, None, place, Position(), 0, [], 0))
    shuffle.seal()
    assert sum(batch.rows for batch in shuffle.batches()) == TOTAL
print(peak() - before)
"""


# ---------------------------------------------------------------------------------------------------- temporary files


@pytest.mark.skipif(os.name == "nt", reason="a file that is open has a name there")
def test_nothing_is_left_in_the_folder(tmp_path: Path) -> None:
    batches = read(sources.table(500), target="y")
    files = []

    def fail() -> None:
        with Shuffle(0, 1000, str(tmp_path)) as rows:
            for batch in batches:
                rows.add(batch)
            assert rows._file is not None
            files.append(rows._file._file)
            # the file has no name, so it disappears even if the process is killed
            assert list(tmp_path.iterdir()) == []
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert files[0].closed
    assert len(shuffled(batches, 1000, folder=tmp_path)) > 0
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_clear_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Full:
        def __init__(self, **_: Any) -> None:
            self.closed = False

        def seek(self, at: int) -> None:
            pass

        def write(self, data: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            self.closed = True

    monkeypatch.setattr(tempfile, "TemporaryFile", Full)
    batches = read(sources.table(500), target="y")
    with pytest.raises(
        ul.InputError, match=r"No space left on device; use more memory, set TMPDIR .*shuffle=False"
    ) as e:
        shuffled(batches, 1000, folder=tmp_path)
    assert str(tmp_path) in str(e.value)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ul.InputError, match="cannot make a temporary file"):
        shuffled(read(sources.table(500), target="y"), 1000, folder=tmp_path / "none")


# ---------------------------------------------------------------------------------------------------- edges


def test_no_rows_and_one_row() -> None:
    assert shuffled([]) == []
    assert shuffled([], memory=1) == []
    one = read(pd.DataFrame({"x": [1.5], "y": [2]}), target="y")
    assert all_rows(shuffled(one)) == all_rows(one) == all_rows(shuffled(one, memory=1))
    empty = one[0].part(0, 0)
    assert all_rows(shuffled([empty, *one, empty])) == all_rows(one)


def test_places_of_selected_rows(tmp_path: Path, small_batches: None) -> None:
    lines = [f'{{"x": {k}, "y": {k}}}\n' + "\n" * (k % 3 == 0) for k in range(300)]
    path = sources.write(tmp_path / "t.jsonl", "".join(lines))
    number = np.cumsum([0, *(1 + (k % 3 == 0) for k in range(299))]) + 1
    for memory in (LARGE, 4000):
        batch = shuffled(read(path, target="y"), memory)[1]
        assert isinstance(batch.labels, Numbers)
        x = batch.labels.values.astype(int)
        for part, rows in (
            (batch.part(10, 20), np.arange(10, 20)),
            (batch.select(x % 2 == 0), np.flatnonzero(x % 2 == 0)),
            (concatenated([batch.part(0, 3), batch.part(3, 9)]), np.arange(9)),
        ):
            assert part.rows == len(rows)
            assert isinstance(part.labels, Numbers)
            assert (part.labels.values == x[rows]).all()
            assert [part.place.at(k) for k in range(part.rows)] == [
                {"file": path, "line": number[x[row]]} for row in rows
            ]


def test_fractions_after_whole_numbers_that_fill_a_block() -> None:
    whole, fractions = (np.arange(4096) % 3).astype(float), np.arange(5) + 0.5
    frames = [pd.DataFrame({"x": x, "y": np.arange(len(x)) + 0.25}) for x in (whole, fractions)]
    found = concatenated([batch for frame in frames for batch in read(frame, target="y")])
    assert isinstance(found.data, inputs.Frame)
    assert found.data.columns[0].tolist() == [*whole, *fractions]  # type: ignore[union-attr]


def test_an_error_of_the_learner_names_the_row_in_its_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.arange(500.0), "y": np.arange(500.0)})
    frame.loc[123, "x"] = np.inf
    frame.to_csv(tmp_path / "t.csv", index=False)
    batch = shuffled(read(str(tmp_path / "t.csv"), target="y"))[0]
    assert isinstance(batch.labels, Numbers)
    with pytest.raises(ul.InputError) as error:
        ul.Learner()._feed(batch.data, batch.labels.values, None)
    assert str(error.value.moved(batch.place.at)).startswith(f"{tmp_path / 't.csv'}, row 124, column 'x'")


def test_labels_that_are_text_in_some_chunks() -> None:
    frame = inputs.Frame(["x"], [np.arange(3)], 3)
    given = [labels_of([1, 2.5, None]), labels_of(["b", "a", ""]), Texts(np.array([1, 1, -1], np.int32), ["q", "b"])]
    batches = [
        Batch(frame, 3, labels, None, Place("", "row", 1 + 3 * k), Position(), 0, [], 0)
        for k, labels in enumerate(given)
    ]
    expected = [*["1", "2.5", None], *["b", "a", None], *["b", "b", None]]
    for memory in (LARGE, 1):
        assert [row[1] for row in all_rows(shuffled(batches, memory))] == in_order(expected)


def test_rows_of_different_kinds_are_refused() -> None:
    text = inputs.TextColumn(np.zeros(1, np.int32), np.array([0, 1]), np.zeros(1, np.uint8))
    one = inputs.Frame(["x"], [np.zeros(1)], 1)
    for data in (
        inputs.Frame(["x"], [text], 1),
        inputs.Dense(np.zeros((1, 1))),
    ):
        place = Place("f.csv", "row", 7)
        batches = [Batch(d, 1, None, None, place, Position(), 0, [], 0) for d in (one, data)]
        with pytest.raises(ul.InputError, match=r"^f\.csv, row 7: "):
            shuffled(batches)
    batches = [
        Batch(inputs.Dense(np.zeros((1, k))), 1, None, None, Place("", "row", 1), Position(), 0, [], 0) for k in (1, 2)
    ]
    with pytest.raises(ul.InputError, match="columns"):
        shuffled(batches)


# ---------------------------------------------------------------------------------------------------- any kind

TYPES = ["int8", "int16", "int64", "uint64", "float32", "float64", "bool"]


@st.composite
def frames(draw: st.DrawFn) -> list[inputs.Input]:
    """Chunks of one table: types, dictionaries and columns differ from chunk to chunk."""
    kinds = draw(st.lists(st.sampled_from(["number", "flag", "text", "words", "ngrams"]), min_size=1, max_size=4))
    wide = draw(st.booleans())  # many values
    chunks: list[inputs.Input] = []
    for _ in range(draw(st.integers(1, 5))):
        rows = draw(st.integers(1, 40))
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        names, columns = [], []
        for k, kind in enumerate(kinds):
            if draw(st.integers(0, 9)) == 0:
                continue  # missing here
            names.append(f"c{k}")
            if kind in ("text", "words", "ngrams"):
                words = [f"wörd{j}".encode() for j in rng.permutation(20_000 if wide else 5)]
                codes = rng.integers(-1, len(words), rows).astype(np.int32)
                ends = np.cumsum([3, *map(len, words)])
                letters = np.frombuffer(b"xyz" + b"".join(words), np.uint8)
                texts = inputs.TextColumn(codes, ends, letters)
                columns.append(texts if kind == "text" else inputs.WordsColumn(texts, kind == "ngrams"))
            else:
                numbers = rng.integers(0, 2, rows).astype(draw(st.sampled_from(TYPES)))
                columns.append(inputs.FlagColumn(numbers) if kind == "flag" else numbers)
        chunks.append(inputs.Frame(names, columns, rows, missing=True, whole=draw(st.booleans())))
    return chunks


@st.composite
def matrices(draw: st.DrawFn) -> list[inputs.Input]:
    width, sparse, mapped = draw(st.integers(1, 6)), draw(st.booleans()), draw(st.booleans())
    chunks: list[inputs.Input] = []
    for _ in range(draw(st.integers(1, 5))):
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        X = rng.integers(-1, 2, (draw(st.integers(1, 40)), width)) * 1.5
        if mapped:
            chunks.append(inputs.NamedRows([{f"n{j}": x for j, x in enumerate(row) if x} for row in X.tolist()]))
        elif sparse:
            matrix = scipy.sparse.csr_matrix(X)
            if draw(st.booleans()):
                matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
            chunks.append(inputs.read(matrix))
        else:
            order = draw(st.sampled_from("CF"))
            chunks.append(inputs.Dense(np.array(X, draw(st.sampled_from(["float64", "float32", "int8"])), order=order)))
    return chunks


@settings(max_examples=150, deadline=None)
@given(data=st.data(), memory=st.sampled_from([1, 300, 3000, 30_000, LARGE]), seed=st.integers(0, 2**64))
def test_any_kind_of_rows_in_any_chunks(data: st.DataObject, memory: int, seed: int) -> None:
    chunks = data.draw(st.one_of(frames(), matrices()))
    labels = data.draw(st.sampled_from(["number", "text", "none"]))
    batches, first = [], 1
    for k, chunk in enumerate(chunks):
        y = None
        if labels != "none":
            y = labels_of([f"l{j % 3}" if labels == "text" else j / 3 for j in range(k, k + chunk.rows)])
        weight = np.arange(chunk.rows) + 0.5 if data.draw(st.booleans()) else None
        place = Place(f"f{k // 2}", "row", first)
        batches.append(Batch(chunk, chunk.rows, y, weight, place, Position(), 0, [], 0))
        first += chunk.rows
    before = all_rows(batches)
    usual = shuffle.batch_rows
    try:
        shuffle.batch_rows = lambda data: (20, 17)
        after = shuffled(batches, memory, seed)
    finally:
        shuffle.batch_rows = usual
    assert all_rows(after) == in_order(before, seed)
    assert all_rows([concatenated(batches)]) == before
    whole = all(isinstance(chunk, inputs.Frame) and chunk.whole for chunk in chunks)
    gaps = any(isinstance(b.data, inputs.Frame) and b.data.whole and not whole for b in after)
    assert not gaps


# ---------------------------------------------------------------------------------------------------- how much memory


def test_memory_sizes_that_people_write() -> None:
    assert memory_size("2GB") == 2 * 10**9
    assert memory_size(" 1.5 gib ") == 3 << 29
    assert memory_size("512M") == 512 << 20
    assert memory_size("2000000") == memory_size(2_000_000) == 2_000_000
    assert memory_size(None) == default_memory() >= LEAST
    for wrong in ("2 XB", "", "-1GB", "GB", "1e9", 0, -5, 1000, 2.5, True, "1kB"):
        with pytest.raises(ul.OptionError, match="memory is"):
            memory_size(wrong)  # type: ignore[arg-type]


def test_a_container_limits_the_memory(tmp_path: Path) -> None:
    root, own = tmp_path / "cgroup", tmp_path / "own"
    (root / "a" / "b").mkdir(parents=True)
    own.write_text("0::/a/b\n")
    assert _container(str(root), str(own)) is None
    (root / "a" / "memory.max").write_text("5000000\n")
    (root / "a" / "b" / "memory.max").write_text("max\n")
    assert _container(str(root), str(own)) == 5_000_000
    (root / "memory").mkdir()
    (root / "memory" / "memory.limit_in_bytes").write_text("4000000\n")
    assert _container(str(root), str(own)) == 4_000_000
    assert _container(str(tmp_path / "none"), str(tmp_path / "nothing")) is None


def test_mappings_with_values_that_are_not_numbers_cannot_be_stored() -> None:
    rows = inputs.NamedRows([{"x": json}])  # type: ignore[dict-item]
    batch = Batch(rows, 1, None, None, Place("", "row", 1), Position(), 0, [], 0)
    with pytest.raises(ul.InputError, match="not a number"):
        shuffled([batch], 1)
