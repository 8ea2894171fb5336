"""Data from standard input: no row is lost, however it arrives, and however often training is interrupted."""

from __future__ import annotations

import fcntl
import functools
import gzip
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sources import cli, content, refused, write
from waiting import join, running, until_idle

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
    with running(command, stdin=read, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        os.close(read)

        def feed() -> None:
            with os.fdopen(write, "wb", buffering=0) as out:
                until_idle(process.pid)  # it starts to read before any data exists
                for first in range(0, len(data), 1 + len(data) // 4):
                    out.write(data[first : first + 1 + len(data) // 4])
                    time.sleep(0.1)

        thread = threading.Thread(target=feed)
        thread.start()
        out, errors = process.communicate(timeout=60)
        join(thread)
    assert process.returncode == 0, errors.decode()
    assert json.loads(out)["learned"] == 3000


# Some megabytes, because that much is read at once.
LONG = "a,b,y\n" + "".join(f"{k % 1301}.{'25' * 30},{k % 701}.{'75' * 20},{k * k % 1709}.25\n" for k in range(60_000))


LINEAR = ["--model-type", "linear", "--no-ensemble"]  # which is quick


@functools.cache
def of_the_whole(header: bool) -> Any:
    """The state of a model that learned everything without an interruption."""
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "a.csv", LONG if header else LONG.partition("\n")[2])
        options: dict[str, Any] = {"target": "y"} if header else {"target": "3", "reading": ul.Reading(header=False)}
        return content(ul.train(path, shuffle=False, model_type="linear", ensemble=False, **options).model)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
@pytest.mark.parametrize("header", [True, False], ids=["header", "no header"])
def test_a_csv_from_a_pipe_goes_on_at_the_row_where_it_stopped(tmp_path: Path, encoding: str, header: bool) -> None:
    text = LONG if header else LONG.partition("\n")[2]
    options = ["--target", "y" if header else "3", "--format", "csv", "--encoding", encoding]
    options += [] if header else ["--no-header"]
    bad = text.splitlines(keepends=True)
    bad[59_000] = "1,2,2.5,oops\n"
    half = str(tmp_path / "half.unitless")
    stopped = cli(
        *("train", "-", *options, *LINEAR, "--output", half, "--checkpoint", "1000"),
        stdin="".join(bad).encode(encoding),
    )
    assert "it has 4 columns" in stopped.stderr
    resumed = cli("train", "-", *options, "--resume", half, "--output", half, stdin=text.encode(encoding))
    assert resumed.returncode == 0, resumed.stderr
    assert ul.load(half).examples == 60_000
    assert content(ul.load(half)) == of_the_whole(header)


def test_a_partly_read_file_as_standard_input_resumes_at_the_right_row(tmp_path: Path) -> None:
    """The place in the file differs from the place in the data, which begins where another program stopped reading."""
    path = write(tmp_path / "a.csv", "a remark that a shell has read\n" + LONG)
    bad = write(tmp_path / "b.csv", "a remark that a shell has read\n" + LONG[:-300] + "\n1,1,2.5,oops\n")
    model = str(tmp_path / "m.unitless")
    options = ["--target", "y", "--format", "csv", "--output", model, "--checkpoint", "1000"]
    for name, more in ((bad, LINEAR), (path, ["--resume", model])):
        with open(name, "rb", buffering=0) as file:
            file.seek(31)
            run = subprocess.run(
                [sys.executable, "-m", "unitless", "train", "-", *options, *more],
                stdin=file,
                capture_output=True,
                timeout=60,
                check=False,
            )
        assert run.returncode == (1 if name == bad else 0), run.stderr.decode()
    assert ul.load(model).examples == 60_000


def test_labels_given_separately_from_a_stream_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels are found by row, but a stream is read by bytes."""
    for name in ("target", "weight"):
        with pytest.raises(ul.OptionError, match="for files, target, weight and groups must be names of columns"):
            ul.train("-", **{"target": "y", name: np.ones(3000)}, reading=ul.Reading(format="csv"))


# ------------------------------------------------------------------------------------------------ rows as they arrive

ROWS = {
    "csv": ["a,b,y\n", *(f"{k % 13},{k % 7},{k % 13}.25\n" for k in range(400))],
    "jsonl": [f'{{"a": {k % 13}, "b": {k % 7}, "y": {k % 13}.25}}\n' for k in range(400)],
    "vw": [f"{k % 13}.25 | a:{k % 13} b:{k % 7}\n" for k in range(400)],
    "libsvm": [f"{k % 13}.25 1:{k % 13} 2:{k % 7}\n" for k in range(400)],
}


def trained(tmp_path: Path, format: str) -> ul.Predictor:
    path = write(tmp_path / f"train.{format}", "".join(ROWS[format]))
    return ul.Predictor(
        ul.train(
            path, "y" if format in ("csv", "jsonl") else None, reading=ul.Reading(format=format), model_type="linear"
        )
    )


class Pipe:
    """A standard input that a test writes to."""

    def __init__(self, start: int) -> None:
        self._start = start

    def write(self, text: str) -> None:
        os.write(self._start, text.encode())

    def close(self) -> None:
        os.close(self._start)


@pytest.fixture
def pipes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Pipe]]:
    """Replace the standard input by a new pipe."""
    ends = []

    def become() -> Pipe:
        end, start = os.pipe()
        ends.append(open(end, encoding="utf-8"))  # noqa: SIM115
        monkeypatch.setattr(sys, "stdin", ends[-1])
        return Pipe(start)

    yield become
    for end in ends:
        end.close()


@pytest.mark.parametrize("format", list(ROWS))
def test_each_row_of_a_pipe_is_predicted_before_the_next_one_comes(
    format: str, tmp_path: Path, pipes: Callable[[], Pipe]
) -> None:
    predictor = trained(tmp_path, format)
    lines = ROWS[format][: 4 + (format == "csv")]
    expected = predictor.predict(write(tmp_path / f"few.{format}", "".join(lines)), reading=ul.Reading(format=format))
    pipe = pipes()
    found: list[float] = []
    pipe.write(lines[0] if format == "csv" else "")
    batches = predictor.batches("-")  # the format is seen from the first line
    for line in lines[1:] if format == "csv" else lines:
        pipe.write(line[:3])
        pipe.write(line[3:])
        found += next(batches).values
    pipe.close()
    assert next(batches, None) is None
    assert found == expected


def test_a_quoted_newline_does_not_end_a_row_of_a_pipe(tmp_path: Path, pipes: Callable[[], Pipe]) -> None:
    text = "".join(f'{k % 5},"one\ntwo {k % 3}",{k % 5}.5\n' for k in range(300))
    predictor = ul.Predictor(
        ul.train(write(tmp_path / "q.csv", "a,b,y\n" + text), "y", model_type="linear", reading=ul.Reading(text="b"))
    )
    pipe = pipes()
    batches = predictor.batches("-")
    pipe.write('a,b\n1,"one\n')
    waiting = threading.Timer(0.3, pipe.write, ['two 1"\n2,'])
    waiting.start()
    assert next(batches).values == [predictor.predict_one({"a": 1, "b": "one\ntwo 1"})]
    pipe.write('"one\ntwo 2"')  # the last line may lack its end
    pipe.close()
    assert next(batches).values == [predictor.predict_one({"a": 2, "b": "one\ntwo 2"})]
    assert next(batches, None) is None


def test_a_model_does_not_depend_on_how_fast_a_pipe_is(tmp_path: Path, pipes: Callable[[], Pipe]) -> None:
    # the text comes after the rows that decide
    rows = [f"{k % 13},{'w' if k > 4200 else k % 7},{k * k % 17}.25\n" for k in range(4500)]
    found = []
    for step in (9, 4500):
        pipe = pipes()

        def feed(pipe: Pipe = pipe, step: int = step) -> None:
            pipe.write("a,b,y\n")
            for first in range(0, 4500, 500):
                for at in range(first, first + 500, min(step, 500)):
                    pipe.write("".join(rows[at : min(first + 500, at + step)]))
            pipe.close()

        thread = threading.Thread(target=feed)
        thread.start()
        found.append(content(ul.train("-", "y", reading=ul.Reading(on_error="skip"), model_type="linear").model))
        join(thread)
    assert found[0] == found[1]


def test_a_named_pipe_is_read_once_and_as_it_comes(tmp_path: Path) -> None:
    predictor = trained(tmp_path, "csv")
    path = tmp_path / "fifo"
    os.mkfifo(path)
    more, waited = threading.Event(), []

    def feed() -> None:
        with open(path, "w", encoding="utf-8") as out:
            out.write("a,b\n1,2\n")
            out.flush()
            waited.append(more.wait(20))
            out.write("3,4\n")

    thread = threading.Thread(target=feed)
    thread.start()
    batches = predictor.batches(path)
    first = next(batches).values
    more.set()
    second = [value for part in batches for value in part.values]
    join(thread)
    assert waited == [True]
    assert [*first, *second] == predictor.predict([{"a": 1, "b": 2}, {"a": 3, "b": 4}])


def test_a_socket_is_read_as_it_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = trained(tmp_path, "csv")
    ours, theirs = socket.socketpair()
    with ours, theirs, open(theirs.fileno(), encoding="utf-8", closefd=False) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        batches = predictor.batches("-")
        ours.sendall(b"a,b\n1,2\n")
        found = next(batches).values
        ours.sendall(b"3,4\n")
        found += next(batches).values
        ours.shutdown(socket.SHUT_WR)
        assert next(batches, None) is None
    assert found == predictor.predict([{"a": 1, "b": 2}, {"a": 3, "b": 4}])


def test_a_socket_by_its_name_is_read_as_it_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = trained(tmp_path, "csv")
    monkeypatch.chdir(tmp_path)  # names of sockets must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("rows.socket")
        server.listen()
        batches = predictor.batches("rows.socket", reading=ul.Reading(format="csv"))
        waiting = threading.Thread(target=lambda: found.extend(next(batches).values))
        found: list[float] = []
        waiting.start()
        ours, _ = server.accept()
        with ours:
            ours.sendall(b"a,b\n1,2\n")
            waiting.join(30)
        assert next(batches, None) is None
    assert found == predictor.predict([{"a": 1, "b": 2}])


def test_a_pipe_whose_beginning_shows_no_format_needs_the_format_option() -> None:
    message = refused(cli("train", "-", "--target", "y", stdin=b"\x1f\x8b\x08 damaged"), 2)
    assert "standard input: say which format it has, with --format: csv, tsv, " in message


def test_an_empty_pipe_is_empty() -> None:
    run = cli("train", "-", "--target", "y", stdin=b"")
    assert run.returncode == 1
    assert "standard input is empty" in run.stderr


def test_predictions_of_a_pipe_are_written_line_by_line(tmp_path: Path) -> None:
    model = str(tmp_path / "m.unitless")
    trained(tmp_path, "csv").model.save(model)
    command = [sys.executable, "-m", "unitless", "predict", model, "-"]
    with running(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines = []
        for written in ("a,b\n1,2\n", "", "3,4\n", "5,6\n"):
            process.stdin.write(written.encode())
            process.stdin.flush()
            lines.append(process.stdout.readline().decode())
        process.stdout.close()  # the reader has stopped, like `head`
        process.stdin.write(b"7,6\n" * 10)
        process.stdin.close()
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert lines[0] == "prediction\n"
    assert [round(float(line), 1) for line in lines[1:]] == [1.3, 3.3, 5.2]
