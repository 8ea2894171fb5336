"""Writes libsvm, from tables of numbers and from named features."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...errors import InputError
from ...inputs import FlagColumn, Float64, Frame, TextColumn, WordsColumn
from ..arrow import pyarrow
from ..sources.located_rows import Chunk
from .cells import cells
from .lines import LineWriter, combined, features_by_row
from .vw import number_cells

_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


class LibsvmLines(LineWriter):
    """Writes a label and `number:value` pairs; the columns of a table are numbered from 1."""

    title = "libsvm"
    holds_weights = False
    holds_offsets = False
    holds_text = False
    needs_labels = True

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._names_are_numbers: bool | None = None
        self._lost_weights = self._lost_offsets = 0

    def from_table(
        self, frame: Frame, labels: Float64, weight: Float64 | None, offset: Float64 | None = None
    ) -> list[Any]:
        parts: list[Any] = [cells("label", pyarrow().array(labels))]
        for k, column in enumerate(frame.columns):
            assert not isinstance(column, TextColumn | WordsColumn)  # `holds_text` is False, so text was refused before
            numbers = column.numbers if isinstance(column, FlagColumn) else column
            written = (numbers != 0) & ~np.isnan(numbers) if numbers.dtype.kind == "f" else numbers != 0
            parts.append(number_cells(str(k + 1), numbers, written))
        return [*parts, "\n"]

    def from_named(self, chunk: Chunk) -> list[Any]:
        pa, read = pyarrow(), chunk.content
        if np.isnan(read.label).any():
            row = int(np.flatnonzero(np.isnan(read.label))[0])
            raise InputError("there is no label, but every line of libsvm must have one", **chunk.place.at(row))
        self._lost_weights += int((read.weight != 1).sum())
        self._lost_offsets += int((read.offset != 0).sum())
        indices = np.array([self._number(name, chunk) for name in read.names], np.int64)
        ids, values, rows = combined(read)
        keep = values != 0
        ids, values, rows = ids[keep], values[keep], rows[keep]
        order = np.lexsort((indices[ids], rows))
        ends = np.searchsorted(rows[order], np.arange(chunk.rows + 1))
        names = cells("index", pa.array(indices))
        return [
            cells("label", pa.array(read.label)),
            features_by_row(" ", names, ":", ids[order], values[order], ends, " "),
            "\n",
        ]

    def _number(self, name: str, chunk: Chunk) -> int:
        """Return a feature's number: its name if all names are numbers, otherwise the next free number."""
        if self._names_are_numbers is None:
            self._names_are_numbers = all(_NUMBER.fullmatch(other) for other in chunk.content.names)
        if self._names_are_numbers:
            if not _NUMBER.fullmatch(name):
                raise InputError(
                    f"feature {name!r} is not a number, but all features before it were, and were written with these "
                    "numbers",
                    file=chunk.place.file,
                )
            return int(name)
        return self._index.setdefault(name, 1 + len(self._index))

    def remarks(self) -> list[str]:
        found = []
        if self._index:
            found.append(f"features: numbered 1 to {len(self._index):,} in the order in which they appear")
        if self._lost_weights:
            found.append(f"weights: libsvm cannot hold weights; those of {self._lost_weights:,} rows were left out")
        if self._lost_offsets:
            found.append(f"offsets: libsvm cannot hold offsets; those of {self._lost_offsets:,} rows were left out")
        return found
