"""The base classes of scans. A scan reads a source in chunks, from any position."""

from __future__ import annotations

import abc
import fnmatch
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import InputError, Phrase
from ..columns.schema import Schema
from ..threads import in_order, threads_to_read
from .byte_stream import BegunStream, begun, never
from .csv_columns import CsvColumns
from .files import File, TailedFile
from .located_rows import Chunk, Place, Position
from .row_places import RowPlaces
from .source import FirstRows, ScanOptions
from .text_stream import Text, opened_text

if TYPE_CHECKING:
    from .source import FileSource

R = TypeVar("R")
MOST_AHEAD = 32 << 20  # bytes of text that are read ahead, even if long rows make a piece larger
START = Position()


class Scan(abc.ABC):
    """Reads a source, with a known schema or without one. The same scan can read the source several times."""

    @abc.abstractmethod
    def chunks(
        self, start: Position = START, end: Position | None = None, stopped: Callable[[], bool] = never
    ) -> Iterator[Chunk]:
        """Return the data in chunks, from a position on, up to another one in the same file if it is given.

        Args:
            start: where to begin. Default: the beginning.
            end: where to end. Default: None, the end.
            stopped: returns whether to stop; called while a stream is waited for. A stopped stream counts as ended.
        """

    @abc.abstractmethod
    def places(self, file: int, most: int) -> RowPlaces:
        """Return the number of rows, and positions from which they can be read. Bad rows raise no error here.

        Args:
            file: the number of the file.
            most: the largest number of positions.
        """

    @property
    def found(self) -> dict[str, Any]:
        """Reading options that were inferred from the data, and that apply to later data of the same kind too."""
        return {}

    @property
    def remarks(self) -> list[Phrase]:
        """Notes for the user about the data, in addition to `found`."""
        return []

    @property
    def idle(self) -> list[str]:
        """Names in `ignore` or `only` that do not exist in the data; empty before all data has been read."""
        return []


@dataclass(frozen=True)
class Piece:
    """Some whole lines of a file's text."""

    data: memoryview
    position: int  # in the decoded text, after the lines
    consumed: int  # bytes of the file as stored, up to the end of the lines


class FileScan(Scan):
    """Reads files of one format, one after the other."""

    def __init__(self, source: FileSource, how: ScanOptions) -> None:
        self.files, self.options, self.how = source.files, source.options, how
        self._is_table, self._live, self._path = source.family == "table", source.live, source.path_columns
        self._stopped: Callable[[], bool] = never
        self._added = _from_path(source, how)  # columns from the names of folders
        self._own: frozenset[str] = frozenset()  # columns of the file itself, if there is no schema
        # The schema of the columns that are read from the files themselves.
        self.schema = None if how.schema is None else _without(how.schema, self._added)

    def chunks(
        self, start: Position = START, end: Position | None = None, stopped: Callable[[], bool] = never
    ) -> Iterator[Chunk]:
        """Return the data in chunks, from a position on, up to another one in the same file if it is given."""
        self._stopped = stopped
        if end is not None:
            file = self.files[start.file]
            yield from (self._with_path_columns(chunk, file) for chunk in self.read(file, start, end))
            return
        before = sum(file.size or 0 for file in self.files[: start.file])
        for number in range(start.file, len(self.files)):
            file, note = self.files[number], ""
            here = start if number == start.file else Position(number)
            while True:
                for chunk in self._arriving(self._opened_file(number), here):
                    chunk.consumed += before
                    chunk.note, note = note, ""
                    yield chunk
                if not isinstance(file, TailedFile) or stopped():
                    break
                note = f"{file.name} {self._replaced()}; it is read again from its beginning"
                here = Position(number)
            before += file.size or 0

    @abc.abstractmethod
    def read(self, file: File, start: Position, end: Position | None = None) -> Iterator[Chunk]:
        """Read one file from a position on, up to another one if it is given."""

    def _opened_file(self, number: int) -> File:
        """Return a file by its number."""
        return self.files[number]

    def _replaced(self) -> str:
        """Return what happened to the growing file that was read last, such as "was replaced"; empty if nothing did."""
        return ""

    def _arriving(self, file: File, start: Position) -> Iterator[Chunk]:
        """Return the chunks of a file; none for a stream that ends before its first row."""
        given = False
        try:
            for chunk in self.read(file, start):
                given = True
                yield self._with_path_columns(chunk, file)
        except InputError as error:
            about_rows = error.row is not None or error.line is not None  # otherwise: that there are no rows yet
            if given or about_rows or not (self._live and (self._stopped() or self._replaced())):
                raise

    # ------------------------------------------------------------------------------------------------ first rows

    def first_rows(self, stopped: Callable[[], bool]) -> FirstRows:
        """Return the first rows, from which the column types are inferred."""
        with closing(self.chunks(stopped=stopped)) as chunks:  # type: ignore[type-var]
            chunk = next((chunk for chunk in chunks if chunk.rows), None)
        handover = self._handover()
        if chunk is None:
            return FirstRows(None, Place("", "row", 1), handover=handover)
        table = chunk.content
        for place, name in enumerate(table.column_names):
            if name in self._path.names and name not in self._own:
                # The values of all folders: those of one file would look like a constant.
                values = self._path.sample(name, table.num_rows)
                table = table.set_column(place, name, self._path.as_inferred(name, values, self._is_text(name)))
        return FirstRows(table, chunk.place, self._own, self.found, handover)

    def _handover(self) -> Any:
        """Return what the next scan needs; see `FirstRows`."""
        return None

    # ------------------------------------------------------------------------------------------------ path columns

    def _with_path_columns(self, chunk: Chunk, file: File) -> Chunk:
        """Add the columns from the names of folders to the rows of a file."""
        if not self._path.names or not self._is_table or not chunk.rows:
            return chunk
        added = self._added
        if self.schema is None:
            self._own = frozenset(chunk.content.column_names)
            added = [name for name in self._path.names if name not in self._own]
        for name in added:
            column = self._path.column(name, file, chunk.rows)
            if isinstance(chunk.content, CsvColumns):
                chunk.content.added[name] = column
            else:
                column = (
                    column if self.schema is not None else self._path.as_inferred(name, column, self._is_text(name))
                )
                chunk.content = chunk.content.append_column(name, column)
            if chunk.original is not None:
                rows = self._path.column(name, file, chunk.original.num_rows)
                chunk.original = chunk.original.append_column(name, rows)
        return chunk

    def _is_text(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.options.text)


class TextScan(FileScan):
    """Reads files of text."""

    def __init__(self, source: FileSource, how: ScanOptions) -> None:
        super().__init__(source, how)
        self._text: Text | None = None  # the last opened text
        # By the number of the file: streams that are read again, or whose beginning was read before.
        self._begun: dict[int, BegunStream] = {} if how.first is None else dict(how.first.handover)
        self._at_once = how.schema is not None  # whether the first rows of a stream are returned when they arrive

    def _opened_file(self, number: int) -> File:
        """Return a file by its number; a stream that is read twice is open already."""
        if not self.how.recorded:
            self._at_once = self.schema is not None and number not in self._begun
            return self._begun.pop(number, self.files[number])
        file = self.files[number]
        if file.size is None:
            file = self._begun[number] = begun(file)
            file.stream.record()
        return file

    def _replaced(self) -> str:
        """Return what happened to the growing file that was read last, such as "was replaced"; empty if nothing did."""
        return "" if self._text is None else self._text.bytes.replaced

    def _handover(self) -> dict[int, BegunStream]:
        """Return the streams, rewound to their beginning."""
        for file in self._begun.values():
            file.stream.rewind()
        return self._begun

    def opened(self, file: File, end: Position | None = None) -> Text:
        """Open the text of a file, up to a position if it is given."""
        self._text = None
        self._text = opened_text(file, self.encoding(file), end, self._stopped, self._at_once)
        return self._text

    def encoding(self, file: File) -> str | None:
        """Return the encoding of a text file; None for UTF-8, or the encoding of a byte-order mark."""
        return self.options.encoding

    def pieces(
        self, text: Text, chunks: Iterator[memoryview], work: Callable[[memoryview], R]
    ) -> Generator[tuple[Piece, R], None, None]:
        """Split a text into pieces, each with the result of `work`; several threads work on the next pieces.

        A piece is valid until the next one is requested. Nothing is read ahead in three cases: in a stream, whose rows
        are needed when they arrive; in a part of a file, while others are read; and if only the first rows are needed.

        Args:
            text: the text.
            chunks: the chunks of the text.
            work: called in any thread with the text of a piece.
        """
        alone = text.live or text.is_part or (self._is_table and self.schema is None)
        threads = 1 if alone else max(1, threads_to_read() - 1)  # one thread learns
        if threads > 1:
            text.keep_chunks()
        ahead = 0  # bytes that are being worked on

        def drawn() -> Iterator[Piece]:
            nonlocal ahead
            for chunk in chunks:
                ahead += len(chunk)
                yield Piece(chunk, text.position, text.consumed)

        worked = in_order(drawn(), lambda piece: work(piece.data), threads, lambda: ahead < MOST_AHEAD)
        try:
            for piece, found in worked:
                yield piece, found
                ahead -= len(piece.data)
                text.release(piece.data)
        except InputError as error:
            text.locate(error)
            raise
        finally:
            worked.close()


def _from_path(source: FileSource, how: ScanOptions) -> list[str]:
    """Return the columns of the schema that come from the names of folders, and not from the files."""
    if how.schema is None or source.family != "table":
        return []
    known = {*how.schema.kinds, *how.schema.not_features}
    wanted = [name for name in source.path_columns.names if how.originals or name in known]
    if not wanted:
        return []
    own = _own_columns(source) if how.first is None else how.first.own_columns
    return [name for name in wanted if name not in own]


def _own_columns(source: FileSource) -> frozenset[str]:
    """Return the columns of the first file itself; they take precedence over columns from its folders."""
    if source.live:
        return frozenset()
    chunks = source.format.scan(source, ScanOptions()).read(source.files[0], START)
    first = next((chunk for chunk in chunks if chunk.rows), None)
    return frozenset() if first is None else frozenset(first.content.column_names)


def _without(schema: Schema, names: list[str]) -> Schema:
    """Return the schema without these columns."""
    return replace(
        schema,
        columns=tuple(column for column in schema.columns if column[0] not in names),
        target=None if schema.target in names else schema.target,
        target_kind=None if schema.target in names else schema.target_kind,
        weight=None if schema.weight in names else schema.weight,
        offset=None if schema.offset in names else schema.offset,
        groups=None if schema.groups in names else schema.groups,
        written={name: how for name, how in schema.written.items() if name not in names},
    )
