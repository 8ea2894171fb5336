"""What the threads of pyarrow are given: nothing that belongs to Python, which may end before them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.csv
import pyarrow.json
import pytest

import unitless as ul


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_threads_of_pyarrow_hold_no_object_of_python(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = pyarrow.csv if kind == "csv" else pyarrow.json
    read, given = getattr(module, f"read_{kind}"), []

    def spied(stream: Any, read_options: Any, parse_options: Any, *more: Any) -> Any:
        given.append((stream, getattr(parse_options, "invalid_row_handler", None)))
        return read(stream, read_options, parse_options, *more)

    monkeypatch.setattr(module, f"read_{kind}", spied)
    rows = [(row, row % 3) for row in range(100)]
    lines = (
        ["a,y", *(f"{a},{y}" for a, y in rows)] if kind == "csv" else [json.dumps({"a": a, "y": y}) for a, y in rows]
    )
    path = tmp_path / f"data.{kind if kind == 'csv' else 'jsonl'}"
    path.write_text("\n".join(lines) + "\n")
    ul.train(path, "y")
    assert given
    assert all(isinstance(stream, pyarrow.BufferReader) and handler is None for stream, handler in given)
