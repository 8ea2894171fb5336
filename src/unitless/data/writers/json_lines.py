"""Writes JSON lines: one object per row."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..arrow import pyarrow
from ..sources.located_rows import Chunk
from .cells import cells, columns, joined, json_cells
from .lines import LineWriter, combined, features_by_row
from .tables import TableWriter


class JsonTable(TableWriter):
    """Writes one object per row, with the columns as keys."""

    def _rows(self, table: Any) -> None:
        parts: list[Any] = []
        for k, (name, column) in enumerate(columns(table)):
            parts += [f"{', ' if k else '{'}{json.dumps(name, ensure_ascii=False)}: ", json_cells(name, column)]
        parts.append("}\n")
        self.file.write(joined(parts))


class JsonFeatures(LineWriter):
    """Writes one object per row with its label, weight, offset and tag, and an object of its features."""

    title = "JSON lines"

    def from_named(self, chunk: Chunk) -> list[Any]:
        pa, read = pyarrow(), chunk.content
        ids, values, rows = combined(read)
        ends = np.searchsorted(rows, np.arange(chunk.rows + 1))
        names = pa.array([json.dumps(name, ensure_ascii=False) for name in read.names], pa.string())
        label = cells("label", pa.array(read.label, mask=np.isnan(read.label))).fill_null("null")
        parts = ['{"label": ', label, ', "weight": ', cells("weight", pa.array(read.weight))]
        if len(read.offset):
            parts += [', "offset": ', cells("offset", pa.array(read.offset))]
        if read.tags is not None:
            tags = [json.dumps(tag or None, ensure_ascii=False) for tag in read.tags]
            parts += [', "tag": ', pa.array(tags, pa.string())]
        return [*parts, ', "features": {', features_by_row("", names, ": ", ids, values, ends, ", "), "}}\n"]
