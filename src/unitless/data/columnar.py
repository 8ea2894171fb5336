"""Parquet, Arrow and Feather files, through pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ..errors import InputError
from . import compression
from .arrow import pyarrow
from .byte_stream import Bytes
from .files import STDIN, File
from .located_rows import Chunk, Place, Position
from .read_options import ReadOptions
from .schema import check, first_rows
from .source import FileSource

MOST_HELD = 4 << 30  # bytes of a file that must be whole in memory to be read


def batch_rows(columns: int) -> int:
    """How many rows to take at a time: some megabytes of them, and enough to decide what the columns are."""
    return max(first_rows(columns), min(65_536, (2 << 20) // max(1, columns)))


class _Columnar(FileSource):
    def read(self, file: File, start: Position) -> Iterator[Chunk]:
        """Read one file from a position on."""
        pa = pyarrow()
        rows = 0
        try:
            for batch in self._batches(file, start.offset):
                rows += batch.num_rows
                first = start.offset + rows - batch.num_rows
                table = pa.Table.from_batches([batch])
                _ = table.column_names  # which raises an error if they are not valid text
                if self.schema is not None:
                    types = dict(zip(table.column_names, table.schema.types, strict=True))
                    check(self.schema, types, file.name, first + 1)
                place = Place(file.name, "row", first + 1)
                position = Position(start.file, start.offset + rows, start.offset + rows)
                yield Chunk(table, batch.num_rows, place, position, consumed=self._consumed(file, position.offset))
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:  # a damaged file has many ways to say so
            raise InputError(f"cannot read {file.name}: {_first_line(error)}") from None
        if not start.offset and not rows:
            raise InputError(f"{file.name} has no rows")

    _rows = 0

    def __init__(self, files: list[File], options: ReadOptions) -> None:
        super().__init__(files, options)
        self._held: dict[str, bytes] = {}  # what cannot be read twice

    def _consumed(self, file: File, rows: int) -> int:
        return int((file.size or 0) * rows / self._rows) if self._rows else 0

    def _batches(self, file: File, skip: int) -> Iterator[Any]:
        raise NotImplementedError

    def _opened(self, file: File) -> Any:
        """The file in a form in which pyarrow can seek."""
        pa = pyarrow()
        if file.path == STDIN or file.size is None or compression.of_name(file.path) is not None:
            if file.path not in self._held:
                stored = Bytes(file)
                try:
                    self._held[file.path] = stored.all(MOST_HELD)
                finally:
                    stored.close()
            return pa.BufferReader(self._held[file.path])
        return pa.memory_map(file.path)

    def _columns(self) -> list[str] | None:
        if self.schema is None or self.keep:
            return None
        schema = self.schema
        extra = [name for name in (schema.target, schema.weight) if name is not None]
        return [name for name, _ in schema.columns] + extra


class Parquet(_Columnar):
    """Parquet files."""

    def _batches(self, file: File, skip: int) -> Iterator[Any]:
        parquet = pyarrow("parquet")
        with parquet.ParquetFile(self._opened(file)) as probe:
            names = probe.schema_arrow.names
            self._rows = probe.metadata.num_rows
            sizes = [probe.metadata.row_group(g).num_rows for g in range(probe.num_row_groups)]
            types = pyarrow("types")
            strings = [f.name for f in probe.schema_arrow if types.is_string(f.type) or types.is_large_string(f.type)]
        columns = [name for name in self._columns() or names if name in names]
        group = 0
        while group < len(sizes) and skip >= sizes[group]:
            skip -= sizes[group]
            group += 1
        with parquet.ParquetFile(self._opened(file), read_dictionary=strings, pre_buffer=False) as reader:
            groups = list(range(group, len(sizes)))
            several = (os.cpu_count() or 1) > 2  # one thread learns, and one is here
            for batch in (
                reader.iter_batches(batch_rows(len(columns)), groups, columns, use_threads=several) if groups else ()
            ):
                drop = min(skip, batch.num_rows)
                skip -= drop
                if drop < batch.num_rows:
                    yield batch.slice(drop)


class ArrowFiles(_Columnar):
    """Arrow IPC files and streams, and Feather."""

    def _batches(self, file: File, skip: int) -> Iterator[Any]:
        ipc = pyarrow("ipc")
        opened = self._opened(file)
        wanted = self._columns()
        try:
            reader = ipc.open_file(opened)
            batches = (reader.get_batch(k) for k in range(reader.num_record_batches))
        except pyarrow().ArrowInvalid:
            opened.seek(0)
            batches = iter(ipc.open_stream(opened))
        for whole in batches:
            batch = whole if wanted is None else whole.select([name for name in wanted if name in whole.schema.names])
            batch.validate(full=True)  # its memory is used as it is
            drop = min(skip, batch.num_rows)
            skip -= drop
            size = batch_rows(batch.num_columns)
            for first in range(drop, batch.num_rows, size):
                yield batch.slice(first, size)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
