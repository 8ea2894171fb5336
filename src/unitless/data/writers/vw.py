"""Writes Vowpal Wabbit's text format, from tables and from named features."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...inputs import FlagColumn, Float64, Frame, TextColumn, WordsColumn
from ..arrow import pyarrow
from ..columns import ngrams, words
from ..sources.located_rows import Chunk
from .cells import cells
from .lines import LineWriter, before_each, features_by_row, text_column


class VwLines(LineWriter):
    """Writes label, weight, offset and tag, a bar, and `name:value` or `column=value`."""

    title = "VW text"

    def __init__(self) -> None:
        self._mentioned: set[str] = set()
        self._replaced: set[str] = set()

    def from_table(
        self, frame: Frame, labels: Float64, weight: Float64 | None, offset: Float64 | None = None
    ) -> list[Any]:
        pa = pyarrow()
        known = ~np.isnan(labels)
        parts: list[Any] = [cells("label", pa.array(labels, mask=~known))]
        learned = known
        if offset is not None and weight is None:  # an offset needs a weight before it
            weight = np.ones(len(labels))
        if weight is not None:
            learned = known & (weight > 0)
            parts.append(before_each(" ", cells("weight", pa.array(weight, mask=~known))))
        if offset is not None:
            parts.append(before_each(" ", cells("offset", pa.array(offset, mask=~known))))
        parts.append(text_column(np.where(known, " |", "|")))
        for name, column in zip(frame.names, frame.columns, strict=True):
            if isinstance(column, TextColumn):
                parts.append(self._texts(name, column, lambda value: [value]))
            elif isinstance(column, WordsColumn):
                parts.append(self._texts(name, column.texts, (ngrams if column.ngrams else words).found_in))
            else:
                numbers = column.numbers if isinstance(column, FlagColumn) else column
                parts.append(self._values(self._safe(name), numbers, learned))
        return [*parts, "\n"]

    def _values(self, name: str, column: NDArray[Any], learned: NDArray[np.bool_]) -> Any:
        """Return ` name:value` for each row whose value is not zero.

        In the first row that is learned, zeros are written too: models number their features in the order of first
        appearance, and this order must be that of the table.
        """
        there = ~np.isnan(column) if column.dtype.kind == "f" else np.ones(len(column), bool)
        written = there & (column != 0)
        if name not in self._mentioned:
            first = np.flatnonzero(there & learned)
            if len(first):
                self._mentioned.add(name)
                written[first[0]] = True
        return number_cells(name, column, written)

    def _texts(self, name: str, column: TextColumn, parts: Callable[[str], list[str]]) -> Any:
        """Return ` column=part` for each part of a value; nothing for a missing value."""
        pa = pyarrow()
        codes, ends, data = column
        raw = data.tobytes()
        values = [raw[a:b].decode() for a, b in itertools.pairwise(ends.tolist())]
        cells = ["".join(f" {self._safe(f'{name}={part}')}" for part in parts(value)) for value in values]
        return pa.array(cells, pa.string()).take(pa.array(codes, mask=codes < 0))

    def _safe(self, name: str) -> str:
        clean = safe_name(name)
        if clean != name:
            self._replaced.add(name)
        return clean

    def from_named(self, chunk: Chunk) -> list[Any]:
        pa, read = pyarrow(), chunk.content
        known = ~np.isnan(read.label)
        parts: list[Any] = [cells("label", pa.array(read.label, mask=~known))]
        offset = read.offset if len(read.offset) else np.zeros(chunk.rows)
        shifted = known & (offset != 0)
        weighed = known & (read.weight != 1) | shifted
        if weighed.any():
            parts.append(before_each(" ", cells("weight", pa.array(read.weight, mask=~weighed))))
        if shifted.any():
            parts.append(before_each(" ", cells("offset", pa.array(offset, mask=~shifted))))
        if read.tags is not None:
            parts.append(text_column(np.array([f" '{tag}|" if tag else " |" for tag in read.tags], object)))
        else:
            parts.append(text_column(np.where(known, " |", "|")))
        names = pa.array([safe_name(name) for name in read.names], pa.string())
        ends = np.concatenate([[0], read.row_ends])
        return [*parts, features_by_row(" ", names, ":", read.ids, read.values, ends, " "), "\n"]

    def remarks(self) -> list[str]:
        if not self._replaced:
            return []
        return [f"names: spaces, colons and bars became _ in {len(self._replaced):,}"]


def number_cells(name: str, column: NDArray[Any], written: NDArray[np.bool_]) -> Any:
    """Return ` name:value` for the rows where `written` is true."""
    wide = column.astype(np.float64) if column.dtype == np.float32 else column
    return before_each(f" {name}:", cells(name, pyarrow().array(wide, mask=~written)))


def safe_name(name: str) -> str:
    """Return a name that VW text can have: spaces, colons and bars become `_`."""
    return re.sub(r"[\s:|\0]", "_", name)
