"""Data from the standard input: no row is lost, however it arrives, and however often training is interrupted."""

from __future__ import annotations

import fcntl
import gzip
import io
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sources import cli, content, write

import unitless as ul

CSV = "a,b,y\n" + "".join(f"{k % 13},{k % 7},{k * k % 17}.25\n" for k in range(3000))
JSON = "".join(f'{{"a": {k % 13}, "y": {k * k % 17}.25}}\n' for k in range(3000))
VW = "".join(f"{k * k % 17}.25 | a:{k % 13}\n" for k in range(3000))


def parquet() -> bytes:
    out = io.BytesIO()
    pa.parquet.write_table(pa.table({"a": np.arange(3000.0) % 13, "y": np.arange(3000.0) % 17}), out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("csv", CSV.encode()),
        ("csv", gzip.compress(CSV.encode())),
        ("csv", pa.compress(CSV.encode(), "zstd", asbytes=True)),
        ("jsonl", JSON.encode()),
        ("vw", VW.encode()),
        ("parquet", parquet()),
    ],
    ids=["csv", "csv.gz", "csv.zst", "jsonl", "vw", "parquet"],
)
def test_a_pipe_that_does_not_block_is_waited_for(format: str, data: bytes) -> None:
    read, write = os.pipe()
    fcntl.fcntl(read, fcntl.F_SETFL, fcntl.fcntl(read, fcntl.F_GETFL) | os.O_NONBLOCK)
    target = [] if format == "vw" else ["--target", "y"]
    command = [sys.executable, "-m", "unitless", "train", "-", "--format", format, *target, "--json"]
    with subprocess.Popen(command, stdin=read, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        os.close(read)

        def feed() -> None:
            with os.fdopen(write, "wb", buffering=0) as out:
                time.sleep(1.0)  # it begins to read before anything is there
                for first in range(0, len(data), 1 + len(data) // 4):
                    out.write(data[first : first + 1 + len(data) // 4])
                    time.sleep(0.1)

        thread = threading.Thread(target=feed)
        thread.start()
        out, errors = process.communicate(timeout=60)
        thread.join()
    assert process.returncode == 0, errors.decode()
    assert json.loads(out)["learned"] == 3000


# Some megabytes, because that much is read at once.
LONG = "a,b,y\n" + "".join(f"{k % 1301}.{'25' * 30},{k % 701}.{'75' * 20},{k * k % 1709}.25\n" for k in range(60_000))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
@pytest.mark.parametrize("header", [True, False], ids=["header", "no header"])
def test_a_csv_from_a_pipe_goes_on_at_the_row_where_it_stopped(tmp_path: Path, encoding: str, header: bool) -> None:
    text = LONG if header else LONG.partition("\n")[2]
    options = ["--target", "y" if header else "3", "--format", "csv", "--encoding", encoding]
    options += [] if header else ["--no-header"]
    bad = text.splitlines(keepends=True)
    bad[59_000] = "1,2,2.5,oops\n"
    half, whole = str(tmp_path / "half.unitless"), str(tmp_path / "whole.unitless")
    stopped = cli(
        *("train", "-", *options, "--model", half, "--checkpoint", "1000"), stdin="".join(bad).encode(encoding)
    )
    assert "it has 4 columns" in stopped.stderr
    resumed = cli("train", "-", *options, "--resume", half, "--model", half, stdin=text.encode(encoding))
    assert resumed.returncode == 0, resumed.stderr
    assert cli("train", "-", *options, "--model", whole, stdin=text.encode(encoding)).returncode == 0
    assert ul.load(half).examples == 60_000
    assert content(ul.load(half)) == content(ul.load(whole))


def test_a_file_as_standard_input_that_was_read_before_goes_on_at_the_right_row(tmp_path: Path) -> None:
    """The place in the file is not the place in the data, which begins where someone else stopped reading."""
    path = write(tmp_path / "a.csv", "a remark that a shell has read\n" + LONG)
    bad = write(tmp_path / "b.csv", "a remark that a shell has read\n" + LONG[:-300] + "\n1,1,2.5,oops\n")
    model = str(tmp_path / "m.unitless")
    options = ["--target", "y", "--format", "csv", "--model", model, "--checkpoint", "1000"]
    for name, more in ((bad, []), (path, ["--resume", model])):
        with open(name, "rb", buffering=0) as file:
            file.seek(31)
            run = subprocess.run(
                [sys.executable, "-m", "unitless", "train", "-", *options, *more],
                stdin=file,
                capture_output=True,
                timeout=60,
                check=False,
            )
        assert run.returncode == (0 if more else 1), run.stderr.decode()
    assert ul.load(model).examples == 60_000


def test_labels_beside_a_stream_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would have to be found by row, but a stream is read by bytes."""
    for name in ("target", "weight"):
        with pytest.raises(ul.OptionError, match="for files, target and weight are names of columns"):
            ul.train("-", **{"target": "y", name: np.ones(3000)}, format="csv")
