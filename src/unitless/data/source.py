"""A source of data: something that can be read in chunks, from any position."""

from __future__ import annotations

import abc
import copy
import fnmatch
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from ..errors import InputError, Phrase
from . import formats
from .byte_stream import never
from .csv_columns import CsvColumns
from .file_identity import content_before, identity_of
from .files import STDIN, File, FollowedFile
from .located_rows import Chunk, Position
from .ordered_work import in_order, threads_to_read
from .path_columns import PathColumns
from .read_options import ReadOptions
from .row_places import RowPlaces
from .schema import Schema
from .text_stream import Text, opened_text

R = TypeVar("R")
MOST_AHEAD = 32 << 20  # bytes of text that lie ahead, even if rows are so long that a piece has many


@dataclass(frozen=True)
class Piece:
    """Some whole lines of a file's text."""

    data: memoryview
    position: int  # in the decoded text, after it
    consumed: int  # bytes of the file as stored, up to here


class Source(abc.ABC):
    """Rows in chunks. Once the schema is decided it is told (`hold`), and later chunks must fit."""

    family: str = "table"
    schema: Schema | None = None
    keep: bool = False  # also give the columns that are not features
    once: bool = False  # no other part of what lies around a part will be wanted: nothing is kept
    strict: bool = False  # a key that the schema does not know is an error, wherever reading begins
    columns_may_come_later: bool = False  # after the first rows, which decide what the columns are
    files: Sequence[File] = ()  # that are read, if there are any
    stopped: Callable[[], bool] = staticmethod(never)  # asked while a stream is waited for: then it ends

    @abc.abstractmethod
    def chunks(self, start: Position, end: Position | None = None) -> Iterator[Chunk]:
        """The data from a position on, up to another one in the same file if it is given."""

    @abc.abstractmethod
    def places(self, file: int, most: int) -> RowPlaces:
        """How many rows there are, and positions from which they can be read, at most so many; of a file by its number.

        Raises nothing about rows that cannot be read.
        """

    @property
    def name(self) -> str:
        """What messages call the source."""
        return "the data"

    @property
    def total_bytes(self) -> int | None:
        """How much there is, as stored, if that is known."""
        return None

    @property
    def repeatable(self) -> bool:
        """Can it be read more than once?"""
        return True

    @property
    def live(self) -> bool:
        """May rows arrive while it is read? Then `stopped` ends it."""
        return False

    @property
    def followed(self) -> bool:
        """Is a file read while it grows?"""
        return any(isinstance(file, FollowedFile) for file in self.files)

    @property
    def at_hand(self) -> bool:
        """Are all rows there, so that they can be taken in any order? A stream's are not."""
        return self.repeatable

    @property
    def found(self) -> dict[str, Any]:
        """Reading options that were not given but found, and that later data of the same kind has too."""
        return {}

    @property
    def remarks(self) -> list[Phrase]:
        """What was found in the data that a user should know, besides `found`."""
        return []

    @cached_property
    def identity(self) -> list[Any]:
        """To recognize the same data when training goes on."""
        return []

    def content(self, consumed: int) -> list[Any] | None:
        """To recognize a file that grows, of which so many bytes were read."""
        return None

    def hold(self, schema: Schema) -> None:
        """Read all further data by this schema."""
        self.schema = schema

    def reread(self, chunk: Chunk) -> Chunk:
        """The chunk that was given last, as it is read by the schema that was decided from it."""
        return chunk

    def to_decide(self, table: Any) -> Any:
        """The first rows as what the columns hold is decided from them."""
        return table


class FileSource(Source):
    """Files of one format, one after the other."""

    def __init__(self, files: list[File], options: ReadOptions) -> None:
        self.files, self.options = files, options
        self._text: Text | None = None  # that was opened last
        self._path = PathColumns(files)
        self._added: list[str] = []  # columns of the schema that the names of folders give
        self._own: set[str] | None = None  # columns that the files have themselves, once it is known

    @property
    def name(self) -> str:
        """The name of the file, or how many files there are."""
        return self.files[0].name if len(self.files) == 1 else f"{len(self.files)} files"

    @property
    def total_bytes(self) -> int | None:
        """The size of all files, if all are known."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def repeatable(self) -> bool:
        """Whether it can be read again, which a pipe cannot."""
        return all(file.path != STDIN and file.size is not None for file in self.files)

    @property
    def live(self) -> bool:
        """Whether one of the files is a pipe or the like."""
        return any(file.size is None for file in self.files)

    @cached_property
    def identity(self) -> list[Any]:
        """The names, sizes and digests of the files, as they were when this was first asked for."""
        return [identity_of(file) for file in self.files]

    def content(self, consumed: int) -> list[Any] | None:
        """Digests of a growing file, up to the place that was reached; `consumed` counts the bytes of all files."""
        last = self.files[-1]
        if not isinstance(last, FollowedFile):
            return None
        return content_before(last, consumed - sum(file.size or 0 for file in self.files[:-1]))

    def chunks(self, start: Position, end: Position | None = None) -> Iterator[Chunk]:
        """The data from a position on, file by file; up to another one in the same file if it is given."""
        if end is not None:
            file = self.files[start.file]
            yield from (self._with_path_columns(chunk, file) for chunk in self.read(file, start, end))
            return
        before = sum(file.size or 0 for file in self.files[: start.file])
        for number in range(start.file, len(self.files)):
            file, note = self.files[number], ""
            here = start if number == start.file else Position(number)
            while True:
                for chunk in self._arriving(file, here):
                    chunk.consumed += before
                    chunk.note, note = note, ""
                    yield chunk
                if not isinstance(file, FollowedFile) or self.stopped():
                    break
                note = f"{file.name} {self._replaced()}; it is read again from its beginning"
                here = Position(number)
            before += file.size or 0

    def _arriving(self, file: File, start: Position) -> Iterator[Chunk]:
        """The chunks of a file; of a stream that ends before its first row comes, none."""
        given = False
        try:
            for chunk in self.read(file, start):
                given = True
                yield self._with_path_columns(chunk, file)
        except InputError:
            if given or not (self.live and (self.stopped() or self._replaced())):
                raise

    def _replaced(self) -> str:
        """What has become of the file that was read last, if it was to be followed."""
        return "" if self._text is None else self._text.bytes.replaced

    # ------------------------------------------------------------------------------------------------ path columns

    def hold(self, schema: Schema) -> None:
        """Read all further data by this schema. What the names of folders give is not looked for in the files."""
        known = {*schema.kinds, *schema.beside}
        wanted = [name for name in self._path.names if self.keep or name in known] if self.family == "table" else []
        own = self._own_columns() if wanted else set()
        self._added = [name for name in wanted if name not in own]
        super().hold(_without(schema, self._added))

    def _own_columns(self) -> set[str]:
        """The columns that the first file itself has: its values count, not those of its folder."""
        if self._own is None and self.live:
            return set()
        if self._own is None:
            probe = copy.copy(self)
            probe.schema = None
            first = next((chunk for chunk in probe.read(self.files[0], Position()) if chunk.rows), None)
            self._own = set() if first is None else set(first.content.column_names)
        return self._own

    def _with_path_columns(self, chunk: Chunk, file: File) -> Chunk:
        """The rows of a file, with what the names of its folders say."""
        if not self._path.names or self.family != "table" or not chunk.rows:
            return chunk
        added = self._added
        if self.schema is None:
            self._own = set(chunk.content.column_names)
            added = [name for name in self._path.names if name not in self._own]
        for name in added:
            if isinstance(chunk.content, CsvColumns):
                chunk.content.beside[name] = self._path.column(name, file, chunk.rows)
            else:
                column = self._path.column(name, file, chunk.rows)
                column = column if self.schema is not None else self._path.undecided(name, column, self._is_text(name))
                chunk.content = chunk.content.append_column(name, column)
            if chunk.original is not None:
                rows = self._path.column(name, file, chunk.original.num_rows)
                chunk.original = chunk.original.append_column(name, rows)
        return chunk

    def to_decide(self, table: Any) -> Any:
        """The first rows, with the values that the names of all folders have."""
        for place, name in enumerate(table.column_names):
            if name in self._path.names and name not in (self._own or ()):
                values = self._path.sample(name, table.num_rows)
                table = table.set_column(place, name, self._path.undecided(name, values, self._is_text(name)))
        return table

    def _is_text(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.options.text)

    def opened(self, file: File, end: Position | None = None) -> Text:
        """A file's text, up to a position if it is given."""
        self._text = None
        self._text = opened_text(file, self.encoding(file), end, self.stopped, self.schema is not None)
        return self._text

    def pieces(
        self,
        text: Text,
        chunks: Iterator[memoryview],
        work: Callable[[memoryview], R],
        may_look_ahead: Callable[[], bool] = lambda: True,
    ) -> Generator[tuple[Piece, R], None, None]:
        """A text in pieces, each with what `work` makes of it; several threads work on pieces that lie ahead.

        A piece is gone when the next one is asked for. Nothing lies ahead in a stream, whose rows are to be given as
        they come, and of a part of a file, beside which others are being read.

        Args:
            text: that is read.
            chunks: of the text.
            work: called in any thread, with the text of a piece.
            may_look_ahead: whether it is known how all pieces are to be worked on.
        """
        threads = 1 if text.live or text.is_part else max(1, threads_to_read() - 1)  # one learns
        if threads > 1:
            text.keep_chunks()
        ahead = 0  # bytes that are drawn and not given back

        def drawn() -> Iterator[Piece]:
            nonlocal ahead
            for chunk in chunks:
                ahead += len(chunk)
                yield Piece(chunk, text.position, text.consumed)

        def more_ahead() -> bool:
            return ahead < MOST_AHEAD and may_look_ahead()

        worked = in_order(drawn(), lambda piece: work(piece.data), threads, more_ahead)
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

    def encoding(self, file: File) -> str | None:
        """The encoding of a file of text; None for UTF-8, or what its byte-order mark says."""
        return self.options.encoding

    @abc.abstractmethod
    def read(self, file: File, start: Position, end: Position | None = None) -> Iterator[Chunk]:
        """Read one file from a position on, up to another one if it is given."""


def _without(schema: Schema, names: list[str]) -> Schema:
    """The schema of the other columns."""
    return replace(
        schema,
        columns=tuple(column for column in schema.columns if column[0] not in names),
        target=None if schema.target in names else schema.target,
        target_kind=None if schema.target in names else schema.target_kind,
        weight=None if schema.weight in names else schema.weight,
        offset=None if schema.offset in names else schema.offset,
        written={name: how for name, how in schema.written.items() if name not in names},
    )


def other_kind(family: str, source: Source) -> str:
    """What to say when data does not fit a model's."""
    families = {
        "table": f"tables ({formats.titles('table')}, frames)",
        "named": f"rows of named features ({formats.titles('named')}, mappings)",
        "columns": "arrays",
    }
    return f"the model was trained on {families[family]}; {source.name} is one of {families[source.family]}"
