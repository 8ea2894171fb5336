"""Zip archives are read without unpacking; other archives and unknown kinds of files are named in the message."""

from __future__ import annotations

import gzip
import io
import pickle
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sources import cli, content, refused, set_chunk, train, write

import unitless as ul

FRAME = pd.DataFrame({"a": np.arange(600) % 13, "b": np.arange(600) % 7, "y": np.arange(600) % 13 + 0.25})
CSV = FRAME.to_csv(index=False)


def packed(path: Path, how: int = zipfile.ZIP_DEFLATED, **members: str | bytes) -> str:
    """An archive of files by name; a double underscore means a point, a triple one a slash."""
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("___", "/").replace("__", "."), data)
    return str(path)


def trained(path: object, **options: object) -> bytes:
    return content(train(path, "y", **options).model)


@pytest.fixture(scope="module")
def expected() -> bytes:
    return trained(FRAME)


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_the_one_data_file_in_an_archive_is_read(how: int, tmp_path: Path, expected: bytes) -> None:
    assert trained(packed(tmp_path / "data.zip", how, prices__csv=CSV)) == expected


def test_any_format_is_read_from_an_archive(tmp_path: Path, expected: bytes) -> None:
    out = io.BytesIO()
    FRAME.to_parquet(out)
    assert trained(packed(tmp_path / "p.zip", data__parquet=out.getvalue())) == expected
    lines = FRAME.to_json(orient="records", lines=True)
    assert trained(packed(tmp_path / "j.zip", data__jsonl=lines)) == expected
    assert trained(packed(tmp_path / "g.zip", data__csv__gz=gzip.compress(CSV.encode()))) == expected
    assert trained(packed(tmp_path / "plain.csv.zip", data=CSV)) == expected  # by its content


def test_several_files_of_one_format_are_read_in_order_of_their_names(tmp_path: Path) -> None:
    parts = {"b__csv": FRAME[300:].to_csv(index=False), "a__csv": FRAME[:300].to_csv(index=False)}
    path = packed(tmp_path / "data.zip", README__txt="about it", **parts)
    assert trained(path, shuffle=False) == trained(FRAME, shuffle=False)


def test_files_that_macos_adds_are_not_read(tmp_path: Path, expected: bytes) -> None:
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("data.csv", "__MACOSX/._data.csv", "__MACOSX/data.csv", ".DS_Store", ".hidden.csv", "folder/"):
            archive.writestr(name, CSV if name == "data.csv" else b"\0\1\2")
    assert trained(path) == expected


def test_archives_in_a_folder_are_read(tmp_path: Path) -> None:
    packed(tmp_path / "1.csv.zip", x__csv=FRAME[:300].to_csv(index=False))
    packed(tmp_path / "2.zip", x__csv=FRAME[300:].to_csv(index=False))
    assert trained(tmp_path, shuffle=False) == trained(FRAME, shuffle=False)


def test_an_archive_is_read_in_chunks_and_by_several_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, plain = packed(tmp_path / "data.zip", data__csv=CSV), write(tmp_path / "data.csv", CSV)
    assert trained(path, partitions=2, workers=2) == trained(plain, partitions=2, workers=2)
    set_chunk(monkeypatch, 1000)
    assert trained(path, shuffle=False) == trained(plain, shuffle=False)


def test_training_on_an_archive_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_chunk(monkeypatch, 1000)
    path, model = packed(tmp_path / "data.zip", data__csv=CSV), str(tmp_path / "m.unitless")

    class StopError(Exception):
        pass

    def stop(run: object) -> None:
        if run.progress.rows >= 300:  # type: ignore[attr-defined]
            raise StopError

    with pytest.raises(StopError):
        train(path, "y", shuffle=False, output=model, checkpoint=100, progress=stop)
    result = ul.train(path, resume=model, shuffle=False, passes=1)
    assert result.rows == 600
    assert content(result.model) == trained(path, shuffle=False)


def test_the_data_of_an_archive_is_not_written_over(tmp_path: Path) -> None:
    path = packed(tmp_path / "data.zip", data__csv=CSV)
    with pytest.raises(ul.OptionError, match="would be written over the data"):
        ul.train(path, "y", output=path)


def test_rows_are_named_by_archive_and_member(tmp_path: Path) -> None:
    path = packed(tmp_path / "data.zip", data__csv=CSV + "1,2\n")
    with pytest.raises(ul.InputError, match=rf"{path}/data\.csv, row 601: it has 2 columns, the header 3"):
        ul.train(path, "y")


def test_an_archive_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    several = packed(tmp_path / "several.zip", a__csv=CSV, b__jsonl="{}", c__txt="")
    said = r"holds files of several formats, csv and jsonl: a\.csv, b\.jsonl, c\.txt; unpack it, and give the files"
    with pytest.raises(ul.InputError, match=said):
        ul.train(several, "y")
    with pytest.raises(ul.InputError, match=r"none of which has the name of a data file: a\.txt, b; unpack it"):
        ul.train(packed(tmp_path / "none.zip", a__txt=CSV, b=CSV), "y")
    with pytest.raises(ul.InputError, match="holds no file; unpack it"):
        ul.train(packed(tmp_path / "empty.zip"), "y")
    data = Path(packed(tmp_path / "whole.zip", data__csv=CSV)).read_bytes()
    (tmp_path / "cut.zip").write_bytes(data[: len(data) // 2])
    with pytest.raises(ul.InputError, match=r"cut\.zip: the zip archive is damaged or cut off"):
        ul.train(tmp_path / "cut.zip", "y")
    damaged = bytearray(data)
    damaged[200:260] = bytes(60)
    (tmp_path / "damaged.zip").write_bytes(damaged)
    with pytest.raises(ul.InputError, match=r"damaged\.zip/data\.csv: the zip archive is damaged or cut off"):
        ul.train(tmp_path / "damaged.zip", "y")
    locked = bytearray(data)
    locked[6] |= 1  # the mark of encrypted members, here and in the list of members
    locked[data.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "locked.zip").write_bytes(locked)
    with pytest.raises(ul.InputError, match=r"'data\.csv' in the zip archive .*locked\.zip is encrypted; unpack it"):
        ul.train(tmp_path / "locked.zip", "y")


def excel() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("xl/workbook.xml", "<x/>")
    return out.getvalue()


def tar(mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        member = tarfile.TarInfo("data.csv")
        member.size = len(CSV)
        archive.addfile(member, io.BytesIO(CSV.encode()))
    return out.getvalue()


def sqlite(folder: Path) -> bytes:
    with sqlite3.connect(folder / "db") as database:
        database.execute("create table t (a)")
    database.close()
    return (folder / "db").read_bytes()


def test_files_of_other_kinds_are_named_with_what_to_do(tmp_path: Path) -> None:
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    for name, data, said in (
        ("a.xlsx", excel(), "is an Excel file; save it as CSV"),
        ("a.csv", excel(), "is an Excel file; save it as CSV"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "is an Excel file; save it as CSV"),
        ("a.zip", excel(), "is a document of Microsoft Office; save its table as CSV"),
        ("a.tar", tar("w"), "is a tar archive; unpack it, and give the files in it"),
        ("a.tar.gz", tar("w:gz"), "is a tar archive; unpack it, and give the files in it"),
        ("a.csv", bytes(8) + b'{"__metadata__":{"unitless":"{}"}}', "is a model file; give the data here"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c" + bytes(20), "is a 7z archive; unpack it"),
        ("a.db", sqlite(tmp_path), "is an SQLite database; write the table that is meant to a CSV file"),
        ("a.pkl", pickle.dumps(FRAME), "is a pickle of Python; load it yourself, if you trust it, and give the frame"),
        ("a.npy", array.getvalue(), "is a file of NumPy; load it with numpy.load"),
        ("a.orc", b"ORC\n\x00\x01", "is an ORC file; write it as Parquet"),
        ("page.csv", b"<!DOCTYPE html><html>", "is a web page; perhaps the address does not give the file itself"),
        ("b.csv", Path(packed(tmp_path / "x.zip", a__csv=CSV)).read_bytes(), "is a zip archive; give it a name that"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ul.InputError, match=said):
            ul.train(tmp_path / name, "y")
    message = refused(cli("train", "-", "--target", "y", stdin=excel()))
    assert "standard input is an Excel file; save it as CSV" in message


def test_text_that_begins_like_another_kind_is_text(tmp_path: Path) -> None:
    assert ul.train(write(tmp_path / "a.csv", CSV.replace("a,", "ORC,", 1)), "y", model_type="linear").rows == 600
