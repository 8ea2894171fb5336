"""Shared parts of the tests of data sources and training:

small chunks, tables in every format, comparison of models.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import flat_options
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import unitless as ul
from unitless.cli import main
from unitless.data.sources import byte_stream, text_stream
from unitless.models import file as model_file

EXTREME = [1e-300, 5e-324, -0.0, -9.9e299, 0.1, 1 / 3, -2.5, 1e16, 123456789.125, float(2**53) + 2]
WORDS = ["a,b", 'say "hi"', "ünï=1", "x\ny", "tab\there", "plain", "NA", "😀"]


def set_chunk(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Read text in chunks of this many bytes."""
    monkeypatch.setattr(byte_stream, "CHUNK", size)
    for name in ("CHUNK", "TEXT_CHUNK"):
        monkeypatch.setattr(text_stream, name, size)
    monkeypatch.setattr(text_stream, "FIRST_LINES", 1)
    peek = text_stream.Text.peek  # which reads the beginning of CSV at once, so that small files would be one chunk
    monkeypatch.setattr(text_stream.Text, "peek", lambda text, most: peek(text, min(most, max(size, 80))))


def write(path: Path, data: str | bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def table(rows: int = 1200, seed: int = 0) -> pd.DataFrame:
    """Numbers of all sizes, whole numbers beyond 2^53, booleans, awkward text, missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "extreme": np.array(EXTREME)[rng.integers(0, len(EXTREME), rows)],
            "whole": [2**53 + 1 + k if k % 3 else -k for k in range(rows)],
            "flag": rng.integers(0, 2, rows).astype(bool),
            "word": [WORDS[k] for k in rng.integers(0, len(WORDS), rows)],
        }
    )
    frame["y"] = rng.normal(size=rows) + 3 * frame["flag"]
    frame.loc[3::7, "x"] = np.nan
    frame.loc[5::11, "word"] = None
    return frame


LINEAR: dict[str, Any] = {"model_type": "linear", "ensemble": False}


def train(source: Any, target: Any = None, **options: Any) -> ul.TrainResult:
    """Train the fastest model, for tests of reading rather than learning."""
    return flat_options.train(source, target, **{**LINEAR, "passes": 1, **options})


def json_lines(frame: pd.DataFrame) -> str:
    def plain(value: Any) -> Any:
        return None if isinstance(value, float) and math.isnan(value) else value

    rows = frame.to_dict("records")
    return "".join(json.dumps({str(k): plain(v) for k, v in row.items()}) + "\n" for row in rows)


def mappings(frame: pd.DataFrame) -> list[Mapping[str, Any]]:
    return frame.to_dict("records")


def write_all(frame: pd.DataFrame, folder: Path) -> dict[str, str]:
    """The table as files of every format that has columns."""
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.tsv", index=False, sep="\t", quoting=1)
    frame.to_csv(folder / "semicolons.csv", index=False, sep=";", lineterminator="\r\n")
    pyarrow.parquet.write_table(arrow, folder / "t.parquet", row_group_size=max(1, len(frame) // 5))
    pyarrow.feather.write_feather(arrow, str(folder / "t.feather"), chunksize=max(1, len(frame) // 3))
    with pa.ipc.new_stream(str(folder / "t.arrows"), arrow.schema) as stream:
        stream.write_table(arrow, max(1, len(frame) // 4))
    write(folder / "t.jsonl", json_lines(frame))
    names = ("t.csv", "t.tsv", "semicolons.csv", "t.parquet", "t.feather", "t.arrows", "t.jsonl")
    return {name: str(folder / name) for name in names}


def content(model: Any, errors: bool = True) -> bytes:
    """The content of a model except the duration of its training and the location of its data.

    Args:
        model: which.
        errors: whether to include its error quantiles.
    """
    training, known = model._training, model._errors
    try:
        model._training, model._errors = None, known if errors else None
        return model_file.to_bytes(model)
    finally:
        model._training, model._errors = training, known


def facts(result: ul.TrainResult) -> dict[str, Any]:
    """The report of a training except its duration and the location of its data."""
    told = result.asdict()
    for name in ("seconds", "rows_per_second", "source", "output", "column_report"):
        told.pop(name)
    return told


def cli(*arguments: str, stdin: bytes | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command line, in a process of its own."""
    command = [sys.executable, "-m", "unitless", *arguments]
    environment = {**os.environ, "PYTHONFAULTHANDLER": "0"}
    run = subprocess.run(command, input=stdin, capture_output=True, timeout=60, env=environment, check=False, **options)
    return subprocess.CompletedProcess(
        command, run.returncode, run.stdout.decode(errors="replace"), run.stderr.decode(errors="replace")
    )


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process, which is faster; for tests without standard input and signals."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    found = [stream.buffer.getvalue().decode(errors="replace") for stream in (out, err)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(["unitless", *arguments], code, *found)


def refused(run: subprocess.CompletedProcess[str], code: int = 1) -> str:
    """Check that a command failed with one message, this exit code, and no traceback; return the message."""
    assert run.returncode == code, run.stderr
    assert "Traceback" not in run.stderr
    message = run.stderr.strip()
    assert message.startswith("unitless: ")
    assert message.count("unitless: ") == 1
    return message
