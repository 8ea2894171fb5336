"""Reads CSV and similar formats with pyarrow, in chunks of whole rows."""

from __future__ import annotations

import csv
import io
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError, Option, OptionError, Phrase
from ..arrow import pyarrow, stream_of
from ..columns.schema import check_names, first_rows
from ..read_options import ENCODING, SKIP_ROWS, counted_column
from ..threads import threads_to_read
from .csv_columns import CsvColumns, CsvParser
from .decoded_parts import cached_part
from .encoding import encoding_of
from .files import File
from .header import has_header
from .located_rows import Bad, Chunk, Place, Position
from .row_places import RowPlaces, places_in_text
from .scan import TextScan
from .source import FileSource, ScanOptions
from .text_stream import Text

MOST_COLUMNS = 100_000
_SEPARATOR_LINE = re.compile(rb"(?i)sep=(.)\r?\n")


class CsvScan(TextScan):
    """Reads files of delimited text. All values are text first; `infer.py` infers what they stand for."""

    usual_delimiter: ClassVar[str | None] = None  # None: it is inferred

    def __init__(self, source: FileSource, how: ScanOptions) -> None:
        super().__init__(source, how)
        self._delimiter = source.options.delimiter or self.usual_delimiter
        self._header_found: bool | None = None  # in the first file
        self._parser: tuple[list[str], CsvParser] | None = None  # for the columns of the current file
        self._comments = 0  # lines before the table, in the first file that has some
        self._other_encoding = ""  # the encoding of a file that was not UTF-8

    @property
    def remarks(self) -> list[Phrase]:
        """Notes about an inferred encoding and lines that were skipped before the table."""
        notes = []
        if self._other_encoding:
            encoding = Option("encoding", "NAME")
            notes.append(Phrase(f"the text is not UTF-8 and was read as {self._other_encoding} (", encoding, ")"))
        if self._comments:
            lines = "one comment line" if self._comments == 1 else f"{self._comments} comment lines"
            notes.append(Phrase(f"{lines} (#) before the table: skipped"))
        return notes

    def encoding(self, file: File) -> str | None:
        """Return the encoding: the option, or the inferred one."""
        if self.options.encoding is not None:
            return self.options.encoding
        found = encoding_of(file)
        self._other_encoding = self._other_encoding or found or ""
        return found

    @property
    def found(self) -> dict[str, Any]:
        """The inferred option `header`."""
        return {} if self._header_found is None else {"header": self._header_found}

    def read(self, file: File, start: Position, end: Position | None = None) -> Iterator[Chunk]:
        """Read one file from a position on, up to another one if it is given."""
        text = self.opened(file, end)
        try:
            names, delimiter, header_end = self._header(text, file) if end is None else self._known_header(text, file)
            text.quoted(delimiter)
            text.go_to(max(start.offset, header_end))  # a pipe cannot go back to it
            rows = start.count
            text.where = lambda before: f"row {rows + 1 + before}"
            chunks = text.chunks(small=not self.how.originals, first_lines=first_rows(len(names)))
            with closing(self.pieces(text, chunks, partial(self._quick, names, delimiter, file))) as pieces:
                for piece, read in pieces:
                    chunk = self._chunk(piece.data, read, names, delimiter, file, rows)
                    rows += chunk.rows + chunk.bad_count
                    chunk.position = Position(start.file, piece.position, rows)
                    chunk.consumed = piece.consumed
                    if chunk.rows or chunk.bad_count:
                        yield chunk
            if rows == 0:
                raise InputError(f"{file.name} has a header but no rows")
        finally:
            text.close()

    def _known_header(self, text: Text, file: File) -> tuple[list[str], str, int]:
        """Return the header of a file; it is cached, because the file may be read in many parts."""
        options = self._delimiter, self.options.header, self.options.encoding
        return cached_part(
            (file.path, file.stamp, "header", options), lambda: self._header(text, file), lambda header: 1024
        )

    def places(self, file: int, most: int) -> RowPlaces:
        """Return the number of rows of a file, and positions from which they can be read."""
        with closing(Text(self.files[file], self.encoding(self.files[file]))) as text:
            _, delimiter, _ = self._header(text, self.files[file])
            text.quoted(delimiter)
            return places_in_text(text, file, most, delimiter)

    def _header(self, text: Text, file: File) -> tuple[list[str], str, int]:
        """Return the names of the columns, the delimiter, and where the rows begin."""
        sample = text.peek(64 << 10)
        if not sample.strip(BOM_UTF8 + b" \t\r\n"):
            raise InputError(f"{file.name} is empty")
        if b"\0" in sample:
            raise InputError(
                f"{file.name} contains zero bytes: it is not a text file, or it has another encoding (such as utf-16)"
            )
        sample = sample.removeprefix(BOM_UTF8)
        comments = comment_lines(sample, self._delimiter)
        if comments:
            for _ in range(comments):
                text.line()
            self._comments = self._comments or comments
            sample = text.peek(64 << 10)
        separator = _SEPARATOR_LINE.match(sample)  # a line that Excel writes
        delimiter = self._delimiter or (separator[1].decode() if separator else sniff(sample))
        text.quoted(delimiter)
        line = text.line() if separator else b""
        while not line.strip(BOM_UTF8 + b" \t\r\n") or (
            separator and _SEPARATOR_LINE.match(line.removeprefix(BOM_UTF8))
        ):
            line = text.line()
            if not line:
                raise InputError(f"{file.name} is empty")
        if b"\r" in line.rstrip(b"\r\n") and b'"' not in line:
            raise InputError(f"{file.name} has lines that end in carriage returns alone; end them with newlines")
        try:
            cells = next(csv.reader(io.StringIO(line.removeprefix(BOM_UTF8).decode(), newline=""), delimiter=delimiter))
        except UnicodeDecodeError:
            raise InputError("this is not valid UTF-8", advice=ENCODING, file=file.name) from None
        except (csv.Error, StopIteration) as error:
            raise InputError(f"{file.name}: the first line cannot be read as a header row: {error}") from None
        if len(cells) > MOST_COLUMNS:
            raise InputError(
                f"{file.name} has {len(cells):,} columns; more than {MOST_COLUMNS:,} are too many for a table. "
                "Give such data as VW text or libsvm, where only what is not zero is written"
            )
        header = self._has_header(cells, text.peek(64 << 10), delimiter, file)
        if self._header_found is None:
            self._header_found = header
        if not header:
            self._check_unnamed(len(cells), file)
            text.put_back(line)
            return [str(k + 1) for k in range(len(cells))], delimiter, text.position
        names = [cell.strip() or f"column {k + 1}" for k, cell in enumerate(cells)]
        check_names(
            names,
            file.name,
            Phrase("rename one, or use ", Option("header", False), " if the first row is not a row of names"),
        )
        return names, delimiter, text.position

    def _check_unnamed(self, columns: int, file: File) -> None:
        """Raise an error if columns without names are requested by name."""
        for option in ("target", "weight", "offset", "groups"):
            name = getattr(self.options, option)
            if self.schema is None and name is not None and counted_column(name, columns) is None:
                how = "has" if self.options.header is False else "seems to have"
                raise OptionError(
                    Phrase(
                        *(Option(option), f": there is no column {name!r}: the file {how} no header row, so that its "),
                        *(f"columns are called 1 to {columns}; use ", Option("header", True), " if it has one"),
                    ),
                    file=file.name,
                )

    def _has_header(self, cells: list[str], sample: bytes, delimiter: str, file: File) -> bool:
        """Return whether the first row has names: by the option, by the first file, or by its content."""
        if self.options.header is not None:
            return self.options.header
        first = self.how.first
        if first is not None and first.found and file.path == self.files[0].path:
            return bool(first.found["header"])
        names = [cell.strip() for cell in cells]
        if self.schema is not None:
            known = [name for name, _ in self.schema.columns]
            if any(name in names for name in known):
                return True
            if all(name.isdigit() and 0 < int(name) <= len(cells) for name in known):
                return False
        lines = sample.decode(errors="replace").splitlines()[:100]
        try:
            rest = list(csv.reader(lines[:-1] or lines, delimiter=delimiter))
        except csv.Error:
            rest = []
        return has_header(
            [cells, *rest], [name for name in self.options.not_features if counted_column(name, len(cells)) is None]
        )

    def _quick(self, names: list[str], delimiter: str, file: File, view: memoryview) -> CsvColumns | None:
        """Read a chunk in the core, in any thread; return None if it needs the slower reader."""
        parser = self._csv_parser(names, delimiter, file)
        return parser.read(view) if parser is not None and not _is_marked(view) else None

    def _chunk(
        self,
        view: memoryview,
        read: CsvColumns | None,
        names: list[str],
        delimiter: str,
        file: File,
        rows: int,
    ) -> Chunk:
        """Return the rows of a chunk, which the core may have read already. Called in the order of the file."""
        place = Place(file.name, "row", rows + 1)
        if read is None and _is_marked(view):
            view = view[len(BOM_UTF8) :] if rows == 0 else view
            parser = self._csv_parser(names, delimiter, file)
            read = parser.read(view) if parser is not None else None
        if read is not None:
            return Chunk(read, read.rows, place, Position())
        data = bytes(view)
        if b"\0" in data:
            raise InputError(
                f"{file.name}, after row {rows}: there are zero bytes; it is not a text file, or has another encoding"
            )
        if not data.isascii():
            try:
                data.decode()
            except UnicodeDecodeError:
                where = f"after row {rows} " if rows else ""
                raise InputError(f"{where}this is not valid UTF-8", advice=ENCODING, file=file.name) from None
        return self._as_text(data, names, delimiter, place)

    def _csv_parser(self, names: list[str], delimiter: str, file: File) -> CsvParser | None:
        """Return the core's reader, if the schema is known and only some columns are used."""
        if self.schema is None or self.how.originals:
            return None
        if self._parser is None or self._parser[0] is not names:
            missing = [name for name, _ in self.schema.columns if name not in names]
            if missing:
                raise InputError(f"{file.name}: there is no column {missing[0]!r}, which the model needs")
            self._parser = names, CsvParser(names, self.schema, delimiter, self.options.policy)
        return self._parser[1]

    def _needed(self, names: list[str]) -> list[str]:
        """Return the columns that are read."""
        if self.schema is None or self.how.originals:
            return names
        schema = self.schema
        return [name for name in names if name in schema.kinds or name in schema.not_features]

    def _as_text(self, data: bytes, names: list[str], delimiter: str, place: Place) -> Chunk:
        """Read a chunk as a table of text. Rows of the wrong length are bad rows."""
        pa, arrow_csv = pyarrow(), pyarrow("csv")
        ragged: list[Any] = []

        def invalid(row: Any) -> str:
            ragged.append(row)
            return "skip"

        needed = self._needed(names)

        def read(threads: bool, handler: Any) -> Any:
            return arrow_csv.read_csv(
                stream_of(data),
                arrow_csv.ReadOptions(column_names=names, block_size=len(data) + 16, use_threads=threads),
                arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=handler),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(needed, pa.string()), include_columns=needed, strings_can_be_null=False
                ),
            )

        try:
            table = read(threads_to_read() > 1, None)
            return Chunk(table, table.num_rows, place, Position())
        except pa.ArrowInvalid:
            table = read(False, invalid)  # one thread numbers the rows
        if not ragged:
            return Chunk(table, table.num_rows, place, Position())
        bad = {
            row.number - 1: f"it has {row.actual_columns} columns, the header {row.expected_columns}" for row in ragged
        }
        if self.options.on_error == "fail":
            first = min(bad)
            raise InputError(bad[first], advice=SKIP_ROWS, **place.at(first))
        numbers = np.setdiff1d(np.arange(table.num_rows + len(bad)), list(bad))
        original = None
        if self.how.originals:
            places = np.full(table.num_rows + len(bad), -1)
            places[numbers] = np.arange(len(numbers))
            original = table.take(pa.array(places, mask=places < 0))
        return Chunk(
            table,
            table.num_rows,
            Place(place.file, "row", place.first, numbers),
            Position(),
            bad=[Bad(place(number), bad[number]) for number in sorted(bad)[:20]],
            bad_count=len(bad),
            bad_numbers=sorted(bad),
            original=original,
        )


class TsvScan(CsvScan):
    """Reads files of text between tabs."""

    usual_delimiter = "\t"


def _is_marked(data: memoryview) -> bool:
    """Return whether data begins with a byte-order mark."""
    return bytes(data[: len(BOM_UTF8)]) == BOM_UTF8


def comment_lines(sample: bytes, delimiter: str | None) -> int:
    """Return how many lines before the table begin with # and do not have the table's number of columns."""
    lines = sample.decode(errors="replace").splitlines()
    count = next((k for k, line in enumerate(lines) if not line.startswith("#")), 0)
    rest = "\n".join(lines[count : count + 20])
    if not count or not rest.strip():
        return 0
    delimiter = delimiter or sniff(rest.encode())
    try:
        last, first = (len(next(csv.reader([line], delimiter=delimiter))) for line in (lines[count - 1], lines[count]))
    except (csv.Error, StopIteration):
        return 0
    return count if last != first else count - 1  # the last of them may be the header


def sniff(sample: bytes) -> str:
    """Return the delimiter that splits the first lines into the same number of columns, and into the most columns."""
    lines = [line for line in sample.decode(errors="replace").splitlines()[:20] if line.strip()]
    lines = lines[:-1] if len(lines) > 2 else lines  # the last line may be incomplete
    best, score = ",", (0, 0)
    if not lines:
        return best
    for delimiter in (",", "\t", ";", "|"):
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        except csv.Error:
            continue
        if not widths:  # only white space
            continue
        alike = sum(width == widths[0] for width in widths)
        candidate = (alike if widths[0] > 1 else 0, widths[0])
        if candidate > score:
            best, score = delimiter, candidate
    return best
