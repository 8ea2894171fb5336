"""Reads text files of named features, VW text and libsvm, with the core's parsers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..read_options import SKIP_LINES
from .files import File
from .located_rows import Bad, Chunk, Place, Position
from .named_parsers import LibsvmParser, NamedParser, VwParser
from .row_places import RowPlaces, places_in_text
from .scan import TextScan
from .source import FileSource, ScanOptions
from .text_stream import Text


class NamedTextScan(TextScan):
    """Reads files with one row of named features per line.

    Args:
        source: the files.
        how: see `ScanOptions`.
        parser: parses the text.
        comment: begins a comment, which lasts until the end of the line.
    """

    def __init__(self, source: FileSource, how: ScanOptions, parser: NamedParser, comment: bytes | None = None) -> None:
        super().__init__(source, how)
        self._parser, self._comment = parser, comment
        self._whole: set[int] = set()  # files that have been read from the beginning to the end

    @property
    def idle(self) -> list[str]:
        """The patterns that no feature matches; empty before all files have been read."""
        return self._parser.idle if len(self._whole) == len(self.files) else []

    def read(self, file: File, start: Position, end: Position | None = None) -> Iterator[Chunk]:
        """Read one file from a position on, up to another one if it is given."""
        text = self.opened(file, end)
        lines = start.count
        text.where = lambda before: f"line {lines + 1 + before}"
        try:
            text.go_to(start.offset)
            with closing(self.pieces(text, text.chunks(small=True), self._parser.read)) as pieces:
                for piece, found in pieces:
                    read = self._parser.settled(piece.data, found)
                    place = Place(file.name, "line", lines + 1, read.line)
                    wrong = read.bad if read.bad_count else []
                    bad = [Bad(f"{file.name}, line {lines + 1 + line}", problem) for line, problem in wrong[:20]]
                    if bad and self.options.on_error == "fail":
                        raise InputError(wrong[0][1], advice=SKIP_LINES, file=file.name, line=lines + 1 + wrong[0][0])
                    lines += read.lines
                    position = Position(start.file, piece.position, lines)
                    if read.rows or read.bad_count:
                        numbers = [line for line, _ in wrong]
                        if read.bad_count > len(numbers):  # only the first ones are listed
                            numbers = self._unread(bytes(piece.data), read.line)
                        yield Chunk(read, read.rows, place, position, piece.consumed, bad, read.bad_count, numbers)
            if lines == 0:
                raise InputError(f"{file.name} is empty")
            if start.offset == 0 and end is None:
                self._whole.add(start.file)
        finally:
            text.close()

    def places(self, file: int, most: int) -> RowPlaces:
        """Return the number of rows of a file, and positions from which they can be read."""
        with closing(Text(self.files[file], self.options.encoding)) as text:
            return places_in_text(text, file, most, comment=(self._comment or b"").decode())

    def _unread(self, data: bytes, good: NDArray[np.int64]) -> list[int]:
        """Return the lines that are neither good nor blank."""
        known = set(good.tolist())
        lines = (line.partition(self._comment)[0] if self._comment else line for line in data.split(b"\n"))
        return [number for number, line in enumerate(lines) if number not in known and line.strip(b" \t\r")]


class VwScan(NamedTextScan):
    """Reads the text format of Vowpal Wabbit."""

    def __init__(self, source: FileSource, how: ScanOptions) -> None:
        super().__init__(source, how, VwParser(source.options.ignore, source.options.only))


class LibsvmScan(NamedTextScan):
    """Reads libsvm (svmlight): a label, then number:value pairs."""

    def __init__(self, source: FileSource, how: ScanOptions) -> None:
        super().__init__(source, how, LibsvmParser(source.options.zero_based), comment=b"#")
