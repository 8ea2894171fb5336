"""A table that an engine stores in parts: a Ray Dataset, a Dask DataFrame."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..data import Position, Schema, Source
from ..data.columns.schema import check
from ..data.sources.byte_stream import never
from ..data.sources.columnar import batch_rows
from ..data.sources.located_rows import Chunk, Place
from ..data.sources.row_places import RowPlaces
from ..data.sources.scan import START, Scan
from ..data.sources.source import ScanOptions
from .engine import TableHandle

KEPT = 8  # parts that a process caches for its next block


class EngineTables(Source):
    """The parts of a table, concatenated.

    Args:
        handles: the parts, in their order.
    """

    def __init__(self, handles: Sequence[TableHandle]) -> None:
        self._handles = [handle for handle in handles if handle.rows]

    def _scan(self, options: ScanOptions) -> Scan:
        return _TableScan(self.name, self._handles, options.schema)

    @property
    def name(self) -> str:
        """The name in messages."""
        return "the table"


class _TableScan(Scan):
    """Reads the parts with a schema."""

    def __init__(self, name: str, handles: Sequence[TableHandle], schema: Schema | None) -> None:
        self._name, self._handles, self._schema = name, handles, schema
        self._ends = np.cumsum([0, *(handle.rows for handle in handles)])
        self._tables: OrderedDict[int, Any] = OrderedDict()

    def chunks(
        self, start: Position = START, end: Position | None = None, stopped: Callable[[], bool] = never
    ) -> Iterator[Chunk]:
        """The rows from one position up to another, in slices."""
        row, last = start.offset, int(self._ends[-1]) if end is None else end.offset
        while row < last:
            part = int(np.searchsorted(self._ends, row, "right")) - 1
            table, begin = self._table(part), int(self._ends[part])
            until = min(last, int(self._ends[part + 1]), row + batch_rows(table.num_columns))
            if self._schema is not None:
                types = dict(zip(table.column_names, table.schema.types, strict=True))
                check(self._schema, types, self._name, row + 1)
            some = table.slice(row - begin, until - row)
            yield Chunk(some, some.num_rows, Place("", "row", row + 1), Position(0, until, until))
            row = until

    def places(self, file: int, most: int) -> RowPlaces:
        """The number of rows; within a part reading can begin anywhere."""
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
