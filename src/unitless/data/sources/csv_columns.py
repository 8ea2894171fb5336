"""Columns that the core has read from text; they take the place of an Arrow table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...inputs import TextColumn
from ..columns.policy import Policy
from ..columns.schema import Schema
from ..columns.written import NUMBER_MARKS, InvalidValues, as_column
from ..threads import OneEach

_IGNORED, _NUMBER, _TEXT, _BOOLEAN, _APART = range(5)


@dataclass(frozen=True)
class CsvColumns:
    """Columns by name: numbers (NaN for missing values), or text as (codes, offsets, bytes)."""

    columns: dict[str, Any]
    absent: dict[str, int]
    invalid_values: dict[str, InvalidValues]
    rows: int
    added: dict[str, Any] = field(default_factory=dict)  # Arrow columns that are not in the text

    def number(self, name: str) -> tuple[NDArray[np.float64], int]:
        """Return a column of numbers, and how many are missing."""
        return self.columns[name], self.absent[name]

    def text(self, name: str) -> tuple[TextColumn, int]:
        """Return a column of text, and how many values are missing."""
        column: TextColumn = self.columns[name]
        return column, int((column.codes < 0).sum())

    def arrow(self, name: str) -> Any:
        """Return a column of text as an Arrow column."""
        return as_column(self.columns[name])


class CsvParser:
    """Reads chunks of CSV whose schema is known. A chunk with rows of the wrong length is left to another reader."""

    def __init__(self, names: list[str], schema: Schema, delimiter: str, policy: Policy) -> None:
        kinds = []
        self._names = names
        self._numbers: list[str] = []
        self._apart: list[str] = []
        self._texts: list[str] = []
        for name in names:
            known = schema.target_kind if name == schema.target else schema.kinds.get(name)
            if name in (schema.weight, schema.offset) or (name == schema.target and known == "number"):
                kinds.append(_APART)
                self._apart.append(name)
            elif name == schema.groups:
                kinds.append(_TEXT)
                self._texts.append(name)
            elif known in ("number", "flag"):
                kinds.append(_NUMBER)
                self._numbers.append(name)
            elif known is not None:  # dates and words are read as text first
                kinds.append(_BOOLEAN if known == "boolean" else _TEXT)
                self._texts.append(name)
            else:
                kinds.append(_IGNORED)
        forms = [schema.how(name).form for name in names]
        marks = [*NUMBER_MARKS, *policy.marks]
        self._readers = OneEach(
            lambda: _core.CsvReader(kinds, delimiter, forms, marks, list(policy.marks), policy.trim)
        )

    def read(self, data: bytes | memoryview) -> CsvColumns | None:
        """Read whole rows, in any thread; return None if the chunk needs the slower reader."""
        table = self._readers.use(lambda reader: reader.read(np.frombuffer(data, np.uint8)))
        if table is None:
            return None
        numbers, absent, apart, texts, others = table
        columns: dict[str, Any] = {name: numbers[:, k] for k, name in enumerate(self._numbers)}
        columns.update(zip(self._apart, apart, strict=True))
        columns.update(zip(self._texts, (TextColumn(*column) for column in texts), strict=True))
        invalid = {}
        for column, count, row, text in others:
            invalid[self._names[column]] = InvalidValues(count, row, text.decode(errors="replace"))
        return CsvColumns(columns, dict(zip(self._numbers, absent.tolist(), strict=True)), invalid, len(numbers))
