"""Reads Parquet, Arrow and Feather files with pyarrow."""

from __future__ import annotations

import abc
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...errors import InputError
from ..arrow import pyarrow
from ..columns.schema import check, first_rows
from ..threads import threads_to_read
from . import compression
from .byte_stream import Bytes
from .decoded_parts import MOST_CACHED, cached_part
from .files import STDIN, File
from .located_rows import Chunk, Place, Position
from .row_places import RowPlaces
from .scan import FileScan
from .source import FileSource, ScanOptions

MOST_HELD = 4 << 30  # bytes of a file that can be read only if it is in memory as a whole


def batch_rows(columns: int) -> int:
    """Return how many rows are read at once: some megabytes, and enough to infer column types."""
    return max(first_rows(columns), min(65_536, (2 << 20) // max(1, columns)))


def enough_to_infer(tables: Iterator[Any]) -> Iterator[Any]:
    """Join the first tables until they have enough rows to infer column types; return all tables."""
    pa = pyarrow()
    first: list[Any] | None = []
    for table in tables:
        table = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table  # noqa: PLW2901
        if first is None:
            yield table
            continue
        first.append(table)
        if sum(one.num_rows for one in first) >= first_rows(table.num_columns):
            yield _joined(first)
            first = None
    if first:
        yield _joined(first)


def _joined(tables: list[Any]) -> Any:
    if len(tables) == 1:
        return tables[0]
    return pyarrow().concat_tables(tables).unify_dictionaries().combine_chunks()


@dataclass(frozen=True)
class _Groups:
    """The row groups of a file: its columns, the rows of each group, and whether a group can be read alone."""

    names: list[str]
    rows: list[int]
    direct: bool
    more: Any  # what the format needs to read a group
    large: frozenset[int] = frozenset()  # groups that are too large to be in memory as a whole


class _ColumnarScan(FileScan):
    def __init__(self, source: FileSource, how: ScanOptions) -> None:
        super().__init__(source, how)
        self._rows = 0  # rows in the current file, if known
        self._checked: Any = None  # the types that were last compared with the schema
        # Files that can be read only once.
        self._held: dict[str, bytes] = {} if how.first is None else how.first.handover

    def _handover(self) -> dict[str, bytes]:
        return self._held

    def read(self, file: File, start: Position, end: Position | None = None) -> Iterator[Chunk]:
        """Read one file from a position on, up to another one if it is given."""
        pa = pyarrow()
        rows = 0
        try:
            tables = self._tables(file, start.offset, None if end is None else end.offset)
            # The first chunk always has the same rows, so that a resumed training finds its place in it.
            for table in tables if start.offset or end is not None else enough_to_infer(tables):
                rows += table.num_rows
                first = start.offset + rows - table.num_rows
                if self.schema is None or (self.schema, table.schema) != self._checked:
                    # Dict(), because names may be repeated.
                    types = dict(zip(table.column_names, table.schema.types, strict=True))
                    if self.schema is not None:
                        check(self.schema, types, file.name, first + 1)
                        self._checked = self.schema, table.schema
                place = Place(file.name, "row", first + 1)
                position = Position(start.file, start.offset + rows, start.offset + rows)
                yield Chunk(table, table.num_rows, place, position, consumed=self._consumed(file, position.offset))
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:  # pyarrow raises different errors for damaged files
            raise InputError(f"cannot read {file.name}: {_first_line(error)}") from None
        if not start.offset and not rows and end is None:
            raise InputError(f"{file.name} has no rows")

    def places(self, file: int, most: int) -> RowPlaces:
        """Return the number of rows of a file. Reading can begin at any row, and row groups can be read alone."""
        pa = pyarrow()
        try:
            groups = self._groups(self.files[file])
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InputError(f"cannot read {self.files[file].name}: {_first_line(error)}") from None
        return RowPlaces.anywhere(file, groups.rows, groups.direct)

    def _tables(self, file: File, first: int, last: int | None) -> Iterator[Any]:
        """Return the rows from `first` up to, but not including, `last` (None: the end)."""
        pa = pyarrow()
        if last is None:
            for batch in self._batches(file, first):
                yield pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
            return
        groups = self._groups(file)
        wanted = set(self._columns() or groups.names)
        columns = [name for name in groups.names if name in wanted]
        begin, size = 0, batch_rows(len(columns))
        for number, rows in enumerate(groups.rows):
            end = begin + rows
            if begin < last and end > first and (not self.how.reuse or number in groups.large):
                yield from self._streamed(file, number, columns, max(0, first - begin), min(last, end) - begin)
            elif begin < last and end > first:
                group = cached_part(
                    (file.path, file.stamp, number, tuple(columns)),
                    partial(self._group, file, number, groups, columns),
                    lambda table: table.nbytes,
                )
                at, upto = max(first, begin), min(last, end)
                for row in range(at, upto, size):
                    yield group.slice(row - begin, min(size, upto - row))
            begin = end

    @abc.abstractmethod
    def _groups(self, file: File) -> _Groups:
        """Return the row groups of a file."""

    @abc.abstractmethod
    def _group(self, file: File, number: int, groups: _Groups, columns: list[str]) -> Any:
        """Read one row group."""

    def _consumed(self, file: File, rows: int) -> int:
        return int((file.size or 0) * rows / self._rows) if self._rows else 0

    def _streamed(self, file: File, number: int, columns: list[str], first: int, last: int) -> Iterator[Any]:
        """Read rows of a row group that is not kept in memory."""
        yield self._group(file, number, self._groups(file), columns).slice(first, last - first)

    @abc.abstractmethod
    def _batches(self, file: File, skip: int) -> Iterator[Any]:
        """Read all rows but the first `skip`."""

    def _opened(self, file: File) -> Any:
        """Open a file so that pyarrow can seek in it."""
        pa = pyarrow()
        if not _is_stored(file):
            if file.path not in self._held:
                stored = Bytes(file)
                try:
                    self._held[file.path] = stored.all(MOST_HELD)
                finally:
                    stored.close()
            return pa.BufferReader(self._held[file.path])
        return file.open_in_arrow()

    def _columns(self) -> list[str] | None:
        if self.schema is None or self.how.originals:
            return None
        schema = self.schema
        return [*schema.kinds, *(name for name in schema.not_features if name not in schema.kinds)]


class ParquetScan(_ColumnarScan):
    """Reads Parquet files."""

    def _groups(self, file: File) -> _Groups:
        def read() -> _Groups:
            with pyarrow("parquet").ParquetFile(self._opened(file)) as probe:
                metadata = probe.metadata
                names = probe.schema_arrow.names
                groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
                large = frozenset(g for g, group in enumerate(groups) if group.total_byte_size > MOST_CACHED)
                more = metadata, _strings(probe)
                return _Groups(names, [group.num_rows for group in groups], _is_stored(file) and not large, more, large)

        return _cached_groups(file, read)

    def _group(self, file: File, number: int, groups: _Groups, columns: list[str]) -> Any:
        with self._reader(file, groups) as reader:
            table = reader.read_row_group(number, columns, use_threads=False)
        table = table.unify_dictionaries().combine_chunks()
        return table if self.schema is not None else _by_itself(table, groups.more[1])

    def _reader(self, file: File, groups: _Groups) -> Any:
        metadata, strings = groups.more
        return pyarrow("parquet").ParquetFile(
            self._opened(file), metadata=metadata, read_dictionary=strings, pre_buffer=file.distant
        )

    def _streamed(self, file: File, number: int, columns: list[str], first: int, last: int) -> Iterator[Any]:
        at, size = 0, min(last, batch_rows(len(columns)))
        with self._reader(file, self._groups(file)) as reader:
            for batch in reader.iter_batches(size, [number], columns, use_threads=False):
                begin, end = max(first - at, 0), min(last - at, batch.num_rows)
                if begin < end:
                    yield pyarrow().Table.from_batches([batch.slice(begin, end - begin)])
                at += batch.num_rows
                if at >= last:
                    return

    def _batches(self, file: File, skip: int) -> Iterator[Any]:
        parquet = pyarrow("parquet")
        with parquet.ParquetFile(self._opened(file)) as probe:
            names = probe.schema_arrow.names
            self._rows = probe.metadata.num_rows
            sizes = [probe.metadata.row_group(g).num_rows for g in range(probe.num_row_groups)]
            strings = _strings(probe)
        columns = [name for name in self._columns() or names if name in names]
        group = 0
        while group < len(sizes) and skip >= sizes[group]:
            skip -= sizes[group]
            group += 1
        with parquet.ParquetFile(self._opened(file), read_dictionary=strings, pre_buffer=file.distant) as reader:
            groups = list(range(group, len(sizes)))
            several = threads_to_read() > 2  # one thread learns, and this one waits
            for batch in (
                reader.iter_batches(batch_rows(len(columns)), groups, columns, use_threads=several) if groups else ()
            ):
                drop = min(skip, batch.num_rows)
                skip -= drop
                if drop < batch.num_rows:
                    batch = batch.slice(drop)  # noqa: PLW2901
                    table = pyarrow().Table.from_batches([batch])
                    yield table if self.schema is not None else _by_itself(table, strings)


class ArrowScan(_ColumnarScan):
    """Reads Arrow IPC files and streams, and Feather."""

    def _groups(self, file: File) -> _Groups:
        def read() -> _Groups:
            ipc = pyarrow("ipc")
            opened = self._opened(file)
            options = ipc.IpcReadOptions(included_fields=[0])
            try:
                names = ipc.open_file(opened).schema.names
                reader = ipc.open_file(opened, options=options)
                rows = [reader.get_batch(k).num_rows for k in range(reader.num_record_batches)]
            except pyarrow().ArrowInvalid:
                opened.seek(0)
                names = ipc.open_stream(opened).schema.names
                opened.seek(0)
                rows = [batch.num_rows for batch in ipc.open_stream(opened, options=options)]
                return _Groups(names, rows, False, "stream")
            return _Groups(names, rows, _is_stored(file), "file")

        return _cached_groups(file, read)

    def _group(self, file: File, number: int, groups: _Groups, columns: list[str]) -> Any:
        ipc = pyarrow("ipc")
        if groups.more == "file":
            whole = ipc.open_file(self._opened(file)).get_batch(number)
        else:
            whole = next(itertools.islice(ipc.open_stream(self._opened(file)), number, None))
        batch = whole.select(columns)
        batch.validate(full=True)
        return pyarrow().Table.from_batches([batch])

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
            batch.validate(full=True)  # the memory of the file is used without a copy
            drop = min(skip, batch.num_rows)
            skip -= drop
            size = batch_rows(batch.num_columns)
            for first in range(drop, batch.num_rows, size):
                yield batch.slice(first, size)


def _cached_groups(file: File, read: Callable[[], _Groups]) -> _Groups:
    """Return the row groups of a file, from the cache; those of a stream, which is in memory, are found each time."""
    if file.size is None:
        return read()
    return cached_part((file.path, file.stamp, "groups"), read, lambda groups: 64 * len(groups.rows))


def _is_stored(file: File) -> bool:
    """Return whether parts of a file can be read from where it is stored."""
    return file.path != STDIN and file.in_parts and file.size is not None and compression.of_name(file.path) is None


def _strings(parquet: Any) -> list[str]:
    """Return the columns of text, which are read as dictionaries, because Parquet stores them so."""
    types = pyarrow("types")
    return [f.name for f in parquet.schema_arrow if types.is_string(f.type) or types.is_large_string(f.type)]


def _by_itself(table: Any, names: list[str]) -> Any:
    """Convert the text of some columns from dictionaries to plain text."""
    pa = pyarrow()
    for place, name in enumerate(table.column_names):
        if name in names:
            table = table.set_column(place, name, table.column(name).cast(pa.large_string()))
    return table


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
