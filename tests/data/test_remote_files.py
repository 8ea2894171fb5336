"""Files on pyarrow's filesystems: the same rows as of local ones, by address or by path."""

from __future__ import annotations

import gzip
import pickle
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.fs
import pytest
from sources import content, set_chunk, table, train, write, write_all

import unitless as ul
from unitless.cluster.agreement import agree
from unitless.cluster.blocks import DataSpec, batches, survey
from unitless.cluster.layout import lay_out
from unitless.data import ReadOptions, open_source
from unitless.data.sources.files import find
from unitless.data.sources.open_data import open_files
from unitless.data.sources.remote_files import RemoteFile

FRAME = table(700)
NAMES = ["t.csv", "t.csv.gz", "t.parquet", "t.parquet.gz", "t.feather", "t.arrows", "t.jsonl"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("remote")
    write_all(FRAME, path)
    for name in ("t.csv", "t.parquet"):
        (path / f"{name}.gz").write_bytes(gzip.compress((path / name).read_bytes()))
    return path


def of(folder: Path) -> pyarrow.fs.FileSystem:
    return pyarrow.fs.SubTreeFileSystem(str(folder), pyarrow.fs.LocalFileSystem())


@pytest.mark.parametrize("name", NAMES)
def test_a_file_elsewhere_trains_the_same_model(name: str, folder: Path) -> None:
    expected = train(str(folder / name), "y")
    assert content(train(name, "y", filesystem=of(folder)).model) == content(expected.model)
    assert content(train(f"file://{folder}/{name}", "y").model) == content(expected.model)


def test_a_file_that_has_changed_is_recognized_elsewhere(folder: Path) -> None:
    options = ReadOptions(target="y")
    local, remote = open_source(str(folder / "t.csv"), options), open_source(f"file://{folder}/t.csv", options)
    assert remote.content(1000) == local.content(1000) != [None]
    assert remote.total_bytes == local.total_bytes


@pytest.mark.parametrize("name", NAMES)
def test_blocks_of_a_file_elsewhere(name: str, folder: Path) -> None:
    spec = DataSpec.of(name, ReadOptions(target="y", filesystem=of(folder)))
    surveys = [survey(pickle.loads(pickle.dumps(spec)), 0)]
    spec = pickle.loads(pickle.dumps(replace(spec, schema=agree(spec, surveys)[0])))
    cells = [cell for row in lay_out(surveys, 2, 2, 0, 0, 10).cells for cell in row]
    assert sum(batch.rows for cell in cells for batch in batches(spec, cell)) == len(FRAME)


def test_folders_and_patterns(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", "in/c.csv", ".hidden/d.csv", "in/_e.csv", "readme.txt"):
        write(tmp_path / name, "x,y\n1,2\n")
    filesystem = of(tmp_path)
    assert [file.path for file in find("", filesystem)] == ["a.csv", "b.csv", "in/c.csv"]
    assert [file.path for file in find("*.csv", filesystem)] == ["a.csv", "b.csv"]
    assert [file.path for file in find("**/*.csv", filesystem)] == ["a.csv", "b.csv", "in/_e.csv", "in/c.csv"]
    assert [file.name for file in find(f"file://{tmp_path}/[ab].csv")] == [f"file://{tmp_path}/{n}.csv" for n in "ab"]
    assert all(isinstance(file, RemoteFile) for file in find("in", filesystem))
    write(tmp_path / "t.jsonl", "{}\n")
    with pytest.raises(ul.InputError, match="several formats, csv and jsonl"):
        find("", filesystem)


def test_missing_remote_files_are_named(folder: Path) -> None:
    with pytest.raises(ul.InputError, match=r"there is no file 'nope.csv'"):
        find("nope.csv", of(folder))
    with pytest.raises(ul.InputError, match=r"no file matches '\*.vw'"):
        find("*.vw", of(folder))
    with pytest.raises(ul.InputError, match=r"cannot read xyz://a/b.csv: Unrecognized filesystem type"):
        find("xyz://a/b.csv")
    with pytest.raises(ul.InputError, match=r"cannot read https://a/b.csv: data are not read over HTTP; download"):
        find("https://a/b.csv")
    (file,) = find("t.csv", of(folder))
    assert isinstance(file, RemoteFile)
    gone = replace(file, place="gone.csv")
    source = open_files([gone], ReadOptions(target="y"))
    with pytest.raises(ul.InputError, match=r"cannot read t\.csv"):
        next(source.open().chunks())


def test_a_row_that_cannot_be_read_is_named_by_its_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_chunk(monkeypatch, 20_000)
    rows = "".join(f"{k},{k}\n" for k in range(9000))
    write(tmp_path / "bad.csv", "x,y\n" + rows + "1,1,oops\n")
    with pytest.raises(ul.InputError, match=rf"file://{tmp_path}/bad.csv, row 9001: it has 3 columns"):
        train(f"file://{tmp_path}/bad.csv", "y")


def test_a_filesystem_in_memory() -> None:
    filesystem, _ = pyarrow.fs.FileSystem.from_uri("mock:///")
    frame = pd.DataFrame({"x": range(300), "y": [k % 7 / 3 for k in range(300)]})
    with filesystem.open_output_stream("t.csv") as out:
        out.write(frame.to_csv(index=False).encode())
    assert content(train("t.csv", "y", filesystem=filesystem).model) == content(train(frame, "y").model)
