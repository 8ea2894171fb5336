"""A format is registered once: names, endings, contents, options, help and messages come from its record."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sources import cli, command, refused, table, write, write_all

import unitless as ul
from unitless.data import ReadOptions, formats, open_source
from unitless.data.sources.files import File
from unitless.data.sources.open_data import format_of


def test_every_format_is_recognized_by_its_name_and_by_its_content(tmp_path: Path) -> None:
    write_all(table(300), tmp_path)
    write(tmp_path / "a.vw", "1 |a b:2 c:3\n-1 |a b:1\n")
    write(tmp_path / "a.libsvm", "1 1:2 3:4 # note\n-1 2:1\n")
    found = set()
    for path in sorted(tmp_path.iterdir()):
        named = formats.of_name(path.name)
        assert named is not None, path
        bare = path.rename(tmp_path / "bare")
        shown = format_of(File(str(bare)), ReadOptions())
        bare.rename(path)
        assert shown is (formats.CSV if named is formats.TSV else named), path
        found.add(named.name)
    assert found == set(formats.names())


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b'\xef\xbb\xbf\n {"a": "x | y z"}\n', "jsonl"),
        (b"1 2:3 |a b:1\n", "vw"),
        (b"'tag| a b\n", "vw"),
        (b"a|b\n1|2\n", "csv"),
        (b"a,b |c d\n", "csv"),
        (b"5\n", "csv"),
        (b"", "csv"),
    ],
)
def test_content_that_could_be_several_formats(head: bytes, name: str) -> None:
    assert formats.of_content(head).name == name


def test_names_endings_and_beginnings_belong_to_one_format() -> None:
    assert len(set(formats.names())) == len(formats.FORMATS)
    assert len(set(formats.suffixes())) == len(formats.suffixes())
    options = {field.name for field in dataclasses.fields(ReadOptions)}
    assert set(formats.particular_options()) <= options


def test_a_format_that_is_registered_is_known_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    toy = dataclasses.replace(
        formats.CSV,
        name="toy",
        title="Toys",
        suffixes=(".toy",),
        magic=(b"#toy",),
    )
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, toy))
    path = write(tmp_path / "a.toy", "x,y\n" + "1,2\n3,4.5\n" * 20)
    assert ul.train(path, "y").details.learned == 40
    assert ul.train(write(tmp_path / "a", "#toy,y\n" + "1,2\n3,4.5\n" * 20), "y").details.learned == 40
    assert open_source(tmp_path / "a.toy", ReadOptions(format="toy")).family == "table"
    with pytest.raises(ul.OptionError, match="'libsvm', 'toy'"):
        ReadOptions(format="tpy")
    assert "Toys" in formats.titles()


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [("t.parquet", "encoding", "latin-1"), ("t.jsonl", "delimiter", ";"), ("t.csv", "zero_based", True)],
)
def test_an_option_that_the_format_does_not_take_is_refused(name: str, option: str, value: Any, tmp_path: Path) -> None:
    write_all(table(300), tmp_path)
    with pytest.raises(ul.OptionError, match=f"^{option}={value!r} is for .*; the data is {name[2:]}$"):
        open_source(tmp_path / name, ReadOptions(**{option: value}))


def test_help_lists_the_formats_and_loads_no_numbers() -> None:
    said = command("train", "--help").stdout
    assert all(title in " ".join(said.split()) for title in ("Parquet", "VW text", "libsvm"))
    code = (
        "import sys, unitless.data.formats as f, unitless.cli.options; f.titles()\n"
        "print([name for name in ('numpy', 'pyarrow', 'unitless._core') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("ending", [".gz", ".zst", ".zstd"])
def test_a_compressed_parquet_file_is_read(ending: str, tmp_path: Path) -> None:
    path = write_all(table(300), tmp_path)["t.parquet"]
    data = Path(path).read_bytes()
    codec = "gzip" if ending == ".gz" else "zstd"
    packed = pa.compress(data, codec=codec, asbytes=True)
    source = open_source(write(tmp_path / f"b.parquet{ending}", packed), ReadOptions())
    assert sum(chunk.rows for chunk in source.open().chunks()) == 300


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["t.jsonl", "--no-header"], "--no-header is for csv or tsv; the data is jsonl"),
        (["t.jsonl", "--delimiter", ";"], "--delimiter ; is for csv or tsv; the data is jsonl"),
        (["t.csv", "--zero-based"], "--zero-based is for libsvm; the data is csv"),
        (["dates.csv", "--dates", "error"], "take its parts as features (--dates parts), or"),
        (["t.csv", "--encoding", "utf-16"], "name it: --encoding utf-16-le or --encoding utf-16-be"),
    ],
)
def test_the_command_line_names_its_own_options(given: list[str], message: str, tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "x,y\n1,2\n")
    write(tmp_path / "t.jsonl", '{"x": 1, "y": 2}\n')
    write(tmp_path / "dates.csv", "x,y\n2024-01-01,2\n")
    run = cli("train", *given, "--target", "y", stdin=b"", cwd=tmp_path)
    assert message in refused(run, 1 if "--encoding" in given or "dates.csv" in given else 2)
