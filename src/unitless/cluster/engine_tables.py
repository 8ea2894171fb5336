"""A table that lives in an engine, in parts: a Ray Dataset, a Dask DataFrame."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..data import Position, Source
from ..data.columnar import batch_rows
from ..data.located_rows import Chunk, Place
from ..data.row_places import RowPlaces
from ..data.schema import check
from .engine import TableHandle

KEPT = 8  # parts that a task keeps for its next block


class EngineTables(Source):
    """The parts of a table, one after the other.

    Args:
        handles: of the parts, in their order.
    """

    def __init__(self, handles: Sequence[TableHandle]) -> None:
        self._handles = [handle for handle in handles if handle.rows]
        self._ends = np.cumsum([0, *(handle.rows for handle in self._handles)])
        self._tables: OrderedDict[int, Any] = OrderedDict()

    @property
    def name(self) -> str:
        """What messages call it."""
        return "the table"

    def chunks(self, start: Position, end: Position | None = None) -> Iterator[Chunk]:
        """The rows from a position on, in slices."""
        row, last = start.offset, int(self._ends[-1]) if end is None else end.offset
        while row < last:
            part = int(np.searchsorted(self._ends, row, "right")) - 1
            table, begin = self._table(part), int(self._ends[part])
            until = min(last, int(self._ends[part + 1]), row + batch_rows(table.num_columns))
            if self.schema is not None:
                types = dict(zip(table.column_names, table.schema.types, strict=True))
                check(self.schema, types, self.name, row + 1)
            some = table.slice(row - begin, until - row)
            yield Chunk(some, some.num_rows, Place("", "row", row + 1), Position(0, until, until))
            row = until

    def places(self, file: int, most: int) -> RowPlaces:
        """How many rows there are; within a part they can be read from anywhere."""
        return RowPlaces.anywhere(
            file, [handle.rows for handle in self._handles], all(handle.direct for handle in self._handles)
        )

    def _table(self, part: int) -> Any:
        if part not in self._tables:
            self._tables[part] = self._handles[part].table()
            if len(self._tables) > KEPT:
                self._tables.popitem(last=False)
        self._tables.move_to_end(part)
        return self._tables[part]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tables": OrderedDict()}
