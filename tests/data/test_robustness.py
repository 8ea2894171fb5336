"""With any input, training neither crashes nor hangs nor leaves half a model: one message, and the right exit code."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import random
import resource
import stat
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import flat_options
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sources import cli, command, json_lines, refused, set_chunk, table, write

import unitless as ul
from unitless.cli import main
from unitless.data.sources import columnar, text_stream

FORMATS = ["csv", "tsv", "jsonl", "vw", "svm", "parquet", "arrow"]
fuzz = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
CSV = "a,b,y\n" + "".join(f"{k % 13},w{k % 3},{k * k % 17}.25\n" for k in range(300))


def survives(path: str, **options: Any) -> None:
    """Training succeeds, or is refused with an error of our own that has a message."""
    target = None if path.rpartition(".")[2] in ("vw", "svm") else "y"
    for on_error in ("fail", "skip"):
        with contextlib.suppress(ul.Error):
            flat_options.train(path, target, on_error=on_error, passes=1, **options)


@pytest.mark.parametrize("format", FORMATS)
@fuzz
@given(data=st.binary(max_size=300))
@example(data=b"\x0b")  # the file is not empty, but all of its lines are
def test_random_bytes_do_no_harm(format: str, data: bytes, tmp_path: Path) -> None:
    survives(write(tmp_path / f"a.{format}", data))


def beginning(format: str) -> bytes:
    return {
        "csv": b"a,b,y\n1,u,2.5\n2,v,3.5\n",
        "tsv": b"a\tb\ty\n1\tu\t2.5\n2\tv\t3.5\n",
        "jsonl": b'{"a": 1, "b": "u", "y": 2.5}\n{"a": 2, "b": "v", "y": 3.5}\n',
        "vw": b"1 2 'tag|a x:1 y |b z:0.5\n-1 | x\n",
        "svm": b"1 1:2 3:4.5\n0 2:1\n",
    }[format]


@pytest.mark.parametrize("format", FORMATS[:5])
@pytest.mark.parametrize("chunk", [40, 1 << 20])
@fuzz
@given(data=st.binary(max_size=120), text=st.text('a1.,;:|"{}[]\t \n\r\0é-+e', max_size=120))
def test_random_text_after_a_good_beginning_does_no_harm(
    format: str, chunk: int, data: bytes, text: str, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        set_chunk(patch, chunk)
        for rest in (data, text.encode()):
            survives(write(tmp_path / f"a.{format}", beginning(format) * 4 + rest))


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize("chunk", [60, 1 << 20])
@fuzz
@given(seed=st.integers(0, 10**6))
def test_a_file_with_some_bytes_changed_does_no_harm(format: str, chunk: int, seed: int, tmp_path: Path) -> None:
    chosen = random.Random(seed)
    frame = table(8, seed % 5)
    data = bytearray((frame.to_csv(index=False) if format == "csv" else json_lines(frame)).encode())
    for _ in range(chosen.randint(1, 4)):
        data[chosen.randrange(len(data))] = chosen.choice(b'\0\n\r",;{}x1\xff\xc3 ')
    with pytest.MonkeyPatch.context() as patch:
        set_chunk(patch, chunk)
        survives(write(tmp_path / f"a.{format}", bytes(data)))


BYTES_CHANGED = """
import random, sys, unitless as ul
data, kind = open(sys.argv[1], "rb").read(), sys.argv[1].rpartition(".")[2]
for seed in range(80):
    chosen = random.Random(seed)
    new = bytearray(data[:chosen.randrange(len(data))] if seed % 3 == 0 else data)
    for _ in range(chosen.randint(0 if seed % 3 == 0 else 1, 5)):
        if new:
            new[chosen.randrange(len(new))] = chosen.randrange(256)
    path = f"{sys.argv[2]}/changed.{kind}"
    open(path, "wb").write(new)
    print(seed, flush=True)
    try:
        ul.train(path, "y")
    except ul.Error:
        pass
"""


@pytest.mark.parametrize("kind", ["parquet", "arrow", "feather"])
def test_damaged_columnar_files_do_no_harm(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"good.{kind}"
    arrow = pa.Table.from_pandas(table(60))
    if kind == "parquet":
        pyarrow.parquet.write_table(arrow, path, row_group_size=25)
    else:
        with (pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream)(str(path), arrow.schema) as file:
            file.write_table(arrow, 25)
    command = [sys.executable, "-c", BYTES_CHANGED, str(path), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, timeout=60, check=False)
    last = run.stderr.decode().strip().splitlines()
    assert run.returncode == 0, f"seed {run.stdout.split()[-1]!r}: {last[-1] if last else run.returncode}"


# ------------------------------------------------------------------------------------------------ named cases


NAMED: dict[str, tuple[str, bytes]] = {
    "empty csv": ("a.csv", b""),
    "blank csv": ("a.csv", b"\n\n \n"),
    "only a mark": ("a.csv", b"\xef\xbb\xbf"),
    "header only": ("a.csv", b"a,y\n"),
    "header without newline": ("a.csv", b"a,y"),
    "header and blank lines": ("a.csv", b"a,y\n\n\n\n"),
    "two columns of one name": ("a.csv", b"a,a,y\n1,2,3.5\n"),
    "no header": ("a.csv", b"1,2,3.5\n2,3,4.5\n"),
    "only ragged rows": ("a.csv", b"a,b,y\n1\n2\n3\n"),
    "zero bytes": ("a.csv", b"a,y\n1,\0\n"),
    "nothing but a vertical tab": ("a.csv", b"\x0b"),
    "zero bytes later": ("a.csv", b"a,y\n" + b"1,2.5\n" * 30 + b"\0\0\0"),
    "a quote never closed": ("a.csv", b'a,b,y\n1,"u,2.5\n' + b"2,v,3.5\n" * 30),
    "a picture": ("a.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))),
    "all values missing": ("a.csv", b"a,y\n,\n,\n"),
    "only a target": ("a.csv", b"y\n1.5\n2.5\n"),
    "gzip cut off": ("a.csv.gz", gzip.compress(CSV.encode())[:-20]),
    "gzip damaged": ("a.csv.gz", gzip.compress(CSV.encode())[:60] + b"xxxx" + gzip.compress(CSV.encode())[64:]),
    "gzip of nothing": ("a.csv.gz", gzip.compress(b"")),
    "gzip header only": ("a.csv.gz", b"\x1f\x8b"),
    "zstd cut off": ("a.csv.zst", pa.compress(CSV.encode(), "zstd", asbytes=True)[:-20]),
    "bzip cut off": ("a.csv.bz2", b"BZh91AY&SY"),
    "empty json": ("a.jsonl", b""),
    "blank json": ("a.jsonl", b"\n\n"),
    "a json array": ("a.jsonl", b'[{"a": 1, "y": 2.5}]'),
    "a json object over lines": ("a.jsonl", b'{\n"a": 1,\n"y": 2.5\n}\n'),
    "json numbers": ("a.jsonl", b"1\n2\n"),
    "json of nothing": ("a.jsonl", b"{}\n{}\n"),
    "json of nulls": ("a.jsonl", b'{"a": null, "y": null}\n' * 3),
    "json text that is no utf-8": ("a.jsonl", b'{"a": "\xff", "y": 2.5}\n{"a": "b", "y": 1}\n'),
    "json with half a surrogate": ("a.jsonl", b'{"a": "\\ud800", "y": 2.5}\n{"a": "b", "y": 1}\n'),
    "json with huge numbers": ("a.jsonl", b'{"a": 1e999, "y": 2.5}\n{"a": -1e999, "y": 1}\n'),
    "json names that are empty": ("a.jsonl", b'{"": 1, "y": 2.5}\n{"": 2, "y": 1}\n'),
    "parquet that is text": ("a.parquet", CSV.encode()),
    "empty parquet": ("a.parquet", b""),
    "arrow that is text": ("a.arrow", CSV.encode()),
    "empty arrow": ("a.arrow", b""),
    "empty vw": ("a.vw", b""),
    "vw without labels": ("a.vw", b"| a\n| b\n"),
    "vw of bars": ("a.vw", b"|||||\n" * 3),
    "libsvm of words": ("a.svm", b"one two three\n"),
    "libsvm with a huge index": ("a.svm", b"1 99999999999999999999:1\n0 1:1\n"),
    "libsvm counted from zero": ("a.svm", b"1 0:1\n0 1:1\n"),
}


@pytest.mark.parametrize("case", NAMED)
@pytest.mark.parametrize("chunk", [64, 4 << 20])
def test_bad_files_end_with_one_message_and_code_one(
    case: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:

    set_chunk(monkeypatch, chunk)
    name, data = NAMED[case]
    path, model = write(tmp_path / name, data), tmp_path / "model"
    target = [] if name.endswith((".vw", ".svm")) else ["--target", "y"]
    for more in ([], ["--on-error", "skip"]):
        code = main(["train", path, *target, "--output", str(model), "-q", *more])
        told = capfd.readouterr().err
        assert "Traceback" not in told
        if code == 0:
            assert model.exists()
            model.unlink()
            continue
        unnamed = ("a picture", "json of nothing", "no header", "nothing but a vertical tab")
        assert code in ((1, 2) if case in unnamed else (1,))
        assert told.startswith("unitless: ")
        assert told.count("unitless: ") == 1
        assert len(told) < 2000
        assert not model.exists()
        assert sorted(entry.name for entry in tmp_path.iterdir()) == [name]


@pytest.mark.parametrize("depth", [2000, 200_000])
@pytest.mark.parametrize("kind", ["lists", "objects"])
def test_json_of_any_depth_does_no_harm(kind: str, depth: int, tmp_path: Path) -> None:
    inside = "[" * depth + "]" * depth if kind == "lists" else '{"a":' * depth + "1" + "}" * depth
    path = write(tmp_path / "a.jsonl", f'{{"x": {inside}, "y": 2.5}}\n')
    message = refused(command("train", path, "--target", "y", "-q"))
    assert len(message) < 2000


def test_a_quote_that_is_never_closed_takes_no_time(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", b'"' + b"\n" * 250_000)
    start = time.process_time()
    with pytest.raises(ul.Error):
        ul.train(path, "y")
    assert time.process_time() - start < 2


def test_a_line_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_stream, "LONGEST_LINE", 1 << 20)
    set_chunk(monkeypatch, 1 << 16)
    long = b"x" * (3 << 20)
    for name, data, where in (
        ("a.csv", b"a,y\n1,2.5\n" + long, "row 2"),
        ("b.csv", long, "line 1"),
        ("c.csv", b'a,y\n1,2.5\n"' + b"\n" * len(long), "row 2"),
        ("a.jsonl", b'{"a": "' + long + b'", "y": 1.5}\n', "line 1"),
        ("a.vw", b"1 | a\n" * 99 + b"1 | " + long + b"\n", "line 100"),
    ):
        target = None if name.endswith("vw") else "y"
        with pytest.raises(ul.InputError, match=f"{name}, {where}: it is longer than 1 MiB"):
            ul.train(write(tmp_path / name, data), target)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure its own memory")
@pytest.mark.parametrize("before", [b"", b'{"a": 1, "y": 1.5}\n'], ids=["first line", "second line"])
def test_an_endless_line_in_a_small_compressed_file_takes_little_memory(tmp_path: Path, before: bytes) -> None:
    packed = zlib.compressobj(9, wbits=31)
    data = packed.compress(before + b'{"a": "') + packed.flush(zlib.Z_FULL_FLUSH)
    block = packed.compress(b"x" * (8 << 20)) + packed.flush(zlib.Z_FULL_FLUSH)  # which may be repeated many times
    path = write(tmp_path / "a.jsonl.gz", data + 200 * block)
    code = (
        "import sys, unitless as ul\n"
        "try: ul.train(sys.argv[1], 'y')\n"
        "except ul.InputError as error: print(error)\n"
        "peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "print(int(peak.split()[1]) // 1024)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=60, check=True)
    message, megabytes = run.stdout.splitlines()
    line = 2 if before else 1
    assert f"a.jsonl.gz, line {line}: it is longer than 64 MiB, the most that a line may have" in message
    assert int(megabytes) < 700


def test_a_compressed_table_that_does_not_fit_in_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar, "MOST_HELD", 1 << 20)
    path = write(tmp_path / "a.parquet.gz", gzip.compress(b"PAR1" + b"x" * (2 << 20)))
    with pytest.raises(ul.InputError, match=r"a\.parquet\.gz holds more than 1 MiB, the most that is kept in memory"):
        ul.train(path, "y")


def test_text_without_a_byte_order_mark_is_refused_as_utf_16(tmp_path: Path) -> None:
    for encoding in ("utf-16", "utf-32"):
        path = write(tmp_path / "a.csv", CSV.encode(f"{encoding}-le"))
        message = refused(command("train", path, "--target", "y", "--encoding", encoding))
        assert "a.csv does not begin with a byte-order mark" in message
        assert f"--encoding {encoding}-le or --encoding {encoding}-be" in message
        assert command("train", path, "--target", "y", "--encoding", f"{encoding}-le").returncode == 0


@pytest.mark.parametrize("encoding", ["utf-7", "utf-16-le", "utf-32-be", "idna", "punycode", "big5"])
def test_text_of_another_encoding_than_its_own_is_refused(tmp_path: Path, encoding: str) -> None:
    for data in (b"a,y\n+2AA-\\udc00\xff\xfe,1.5\n" * 9, bytes(range(256)) * 3, b"a,y\n" + b"x" * 99 + b".,1\n"):
        survives(write(tmp_path / "a.csv", data), encoding=encoding)


def test_a_long_line_is_read(tmp_path: Path) -> None:
    long = "x" * (9 << 20)
    for name, text in (
        ("a.csv", f"a,y\nu,1.5\n{long},2.5\nv,3\n"),
        ("a.jsonl", f'{{"a": "u", "y": 1.5}}\n{{"a": "{long}", "y": 2.5}}\n{{"a": "v", "y": 3}}\n'),
    ):
        assert ul.train(write(tmp_path / name, text), "y").rows == 3


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_too_many_columns_are_refused_at_once(format: str, tmp_path: Path) -> None:
    names = [f"c{k}" for k in range(101_000)]
    if format == "csv":
        text = ",".join([*names, "y"]) + "\n" + ",".join(["1"] * len(names)) + ",2.5\n"
    else:
        text = json.dumps({**dict.fromkeys(names, 1), "y": 2.5}) + "\n"
    with pytest.raises(ul.InputError, match="columns"):
        ul.train(write(tmp_path / f"a.{format}", text), "y")


def test_errors_about_a_folder_name_the_formats(tmp_path: Path) -> None:
    write(tmp_path / "in" / "readme.txt", "nothing")
    with pytest.raises(ul.InputError, match=r"no data files in it .*\.parquet"):
        ul.train(str(tmp_path / "in"), "y")
    write(tmp_path / "in" / "a.csv", CSV)
    write(tmp_path / "in" / "a.jsonl", "{}")
    with pytest.raises(ul.InputError, match="several formats, csv and jsonl"):
        ul.train(str(tmp_path / "in"), "y")


def test_a_file_that_vanishes_or_shrinks_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    names = [write(path, CSV), write(tmp_path / "b.csv", CSV)]
    set_chunk(monkeypatch, 500)

    def watch(run: Any) -> None:
        if os.path.exists(names[1]):
            os.unlink(names[1])

    with pytest.raises(ul.InputError, match=r"cannot read .*b\.csv"):
        ul.train(names, "y", progress=watch)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", CSV)
    os.chmod(path, 0)
    with pytest.raises(ul.InputError, match=r"cannot read .*Permission denied"):
        ul.train(path, "y")


# ------------------------------------------------------------------------------------------------ saving


def test_a_full_disk_leaves_the_model_that_was_there(tmp_path: Path) -> None:
    wide = write(tmp_path / "wide.csv", "a,y\n" + "".join(f"name{k},{k}.5\n" for k in range(3000)))
    model = tmp_path / "m"
    ul.train(write(tmp_path / "a.csv", CSV), "y", output=model)
    before = model.read_bytes()
    for more in ([], ["--checkpoint", "1000"]):
        run = cli(
            *("train", wide, "--target", "y", "--output", str(model), "-q", *more),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
        )
        assert "cannot write the model" in refused(run)
        assert model.read_bytes() == before
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.csv", "m", "wide.csv"]


def test_a_model_never_overwrites_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # a device like /dev/null or /dev/full, which must survive a training too
    with contextlib.suppress(ul.Error):
        ul.train(write(tmp_path / "a.csv", CSV), "y", output=pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_model_is_not_written_over_its_data(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", CSV)
    with pytest.raises(ul.Error):
        ul.train(path, "y", output=path)
    assert Path(path).read_text() == CSV


def test_a_missing_output_folder_is_reported_before_training(tmp_path: Path) -> None:
    called: list[int] = []
    with pytest.raises(ul.Error, match="no directory"):
        ul.train(
            write(tmp_path / "a.csv", CSV), "y", output=tmp_path / "none" / "m", progress=lambda run: called.append(1)
        )
    assert not called


def test_names_that_are_no_unicode_are_no_problem(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.csv"
    with open(path, "wb") as file:
        file.write(CSV.encode())
    name = os.fsdecode(path)
    run = cli("train", name, "--target", "y", "--output", name + ".model", "-q")
    assert run.returncode == 0, run.stderr
    assert ul.load(name + ".model").examples == 300


def test_a_train_of_nothing_changes_no_model(tmp_path: Path) -> None:
    model = tmp_path / "m"
    first = ul.train(pd.read_csv(io.StringIO(CSV)), "y", output=model)
    before = model.read_bytes()
    for bad in ("a,b,y\n", "a,b,y\n1,u,oops\n", "a,y\n1,2.5\n", "a,b,y\n1,u,2.5,3\n"):
        with pytest.raises(ul.Error):
            ul.train(write(tmp_path / "bad.csv", bad), resume=model, output=model)
        assert model.read_bytes() == before
    assert np.isfinite(first.predict(pd.read_csv(io.StringIO(CSV)))).all()
