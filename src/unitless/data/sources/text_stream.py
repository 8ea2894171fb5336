"""A file's text as UTF-8, whatever its encoding, in chunks of whole lines."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator

from ... import _core
from ...errors import InputError, Option, Phrase
from . import other_kinds
from .byte_stream import CHUNK, Bytes, mebibytes, never
from .decoded_parts import MOST_CACHED, cached_part
from .files import File, MemoryFile
from .located_rows import Position

# Encodings whose name leaves the order of bytes open, and the marks that may say it.
_MARKS = {
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}
TEXT_CHUNK = 2 << 20  # for readers in the core: less takes more of Python, more does not stay in the cache
MOST_FIRST_LINES = 128 << 20  # bytes of a file's first lines, if they are long
LONGEST_LINE = 64 << 20  # of any text; a compressed file of some megabytes may hold a line of any length
FIRST_LINES = 4096  # that a file's first chunk has at least


class Text:
    """A file's text as UTF-8, in chunks that end with a line.

    Args:
        file: what is read.
        encoding: of the file; UTF-8, or what its byte-order mark says, if not given.
        stopped: asked while a stream is waited for; once it says so, the stream counts as ended.
        at_once: whether the lines of a stream are given when they arrive; if not, the first ones, which decide the
            column types and the task, are waited for.
    """

    def __init__(
        self, file: File, encoding: str | None, stopped: Callable[[], bool] = never, at_once: bool = False
    ) -> None:
        self.bytes = Bytes(file, stopped)
        self.live = self.bytes.live
        self._at_once = at_once
        self.file = file
        self._quoted = ""  # the delimiter between fields that may be quoted
        self._decoder: codecs.IncrementalDecoder | None = None
        self._encoding = "utf-8"
        self._rest, self._ended = b"", False
        self.position = 0  # in the decoded text
        self._at_beginning = True
        self._end: int | None = None  # of what is wanted
        self.where: Callable[[int], str] = lambda lines: f"line {1 + lines}"  # so many lines after what was read
        self._too_long: tuple[InputError, int] | None = None  # of a line: the lines before it
        self._spare: list[bytearray] | None = None  # memory for chunks, if each has its own
        try:
            self._open(encoding)
        except BaseException:
            self.close()
            raise

    def _open(self, encoding: str | None) -> None:
        head = self._beginning()
        if (other := other_kinds.of_content(head)) is not None:
            raise InputError(f"{self.file.name} is {other.what}; {other.advice}")
        if encoding is None and head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            encoding = "utf-16"
        if encoding is not None and (name := codecs.lookup(encoding).name) not in ("utf-8", "ascii"):
            marks = _MARKS.get(name)
            if marks is not None and head and not head.startswith(marks):
                raise InputError(
                    f"{self.file.name} does not begin with a byte-order mark, so {name} does not say the order of its "
                    "bytes",
                    advice=Phrase(
                        *("name it: ", Option("encoding", f"{name}-le"), " or ", Option("encoding", f"{name}-be"))
                    ),
                )
            self._encoding, self._decoder = name, codecs.getincrementaldecoder(encoding)()
        self._rest = self._decoded(head)

    def _beginning(self) -> bytes:
        """Enough bytes to know the encoding, and what it is not; of a stream not more than its first line."""
        if not self.live:
            return self.bytes.read(other_kinds.FIRST_BYTES)
        head = b""
        while len(head) < 4 and b"\n" not in head and (part := self.bytes.arrived(CHUNK)):
            head += part
        return head

    def go_to(self, offset: int) -> None:
        """Forward to an offset in the decoded text. What has been looked at counts, so that a pipe can do it too."""
        if offset <= self.position:
            return
        self._at_beginning = False
        while True:
            here = min(len(self._rest), offset - self.position)
            self._rest = self._rest[here:]
            self.position += here
            if self.position == offset:
                return
            if self._decoder is None:
                self.bytes.skip(offset - self.position)
                self.position = offset
                return
            self._rest = b"" if self._ended else self._next(CHUNK)
            if not self._rest and self._ended:
                raise InputError(f"{self.file.name} is shorter than it was when training stopped")

    def end_at(self, offset: int) -> None:
        """What comes after an offset, which is where a line ends, is not wanted."""
        self._end = offset

    def _decoded(self, data: bytes, last: bool = False) -> bytes:
        if self._decoder is None:
            return data
        try:
            return self._decoder.decode(data, last).encode()
        except UnicodeError as error:
            reason = getattr(error, "reason", None) or error
            raise InputError(f"{self.file.name} is not valid {self._encoding} text: {reason}") from None

    def _next(self, size: int) -> bytes:
        data = self.bytes.arrived(size) if self.live else self.bytes.read(size)
        self._ended = not data if self.live else len(data) < size
        return self._decoded(data, self._ended)

    def quoted(self, delimiter: str) -> None:
        """From here on, newlines within quoted fields do not end a line."""
        self._quoted = delimiter

    def put_back(self, line: bytes) -> None:
        """Give back what was read, to be read again."""
        self._rest = line + self._rest
        self.position -= len(line)

    def line(self) -> bytes:
        """The next line alone, whatever its length."""
        while not (end := self._end_of_line()) and not self._ended:
            self._limit(len(self._rest))
            self._rest += self._next(max(64 << 10, min(len(self._rest), LONGEST_LINE)))
        end = end or len(self._rest)
        line, self._rest = self._rest[:end], self._rest[end:]
        self.position += len(line)
        return line

    def _end_of_line(self) -> int:
        return _core.row_end(self._rest, self._quoted, True) if self._quoted else self._rest.find(b"\n") + 1

    def peek(self, size: int) -> bytes:
        """The next bytes of text, without reading them; of a stream at least a line, or its first lines."""
        lines = 1 if self._at_once else FIRST_LINES
        while len(self._rest) < size and not self._ended:
            if self.live and self._rest.lstrip(codecs.BOM_UTF8 + b" \t\r\n").count(b"\n") >= lines:
                break
            self._rest += self._next(size - len(self._rest))
        return self._rest[:size]

    def chunks(self, small: bool = False, first_lines: int | None = None) -> Iterator[memoryview]:
        """All the rest, in chunks of whole lines; the last one may lack its newline.

        Each is gone when the next comes, unless `keep_chunks` was called.

        With `small` they are of a size for readers in the core; at a file's beginning the first one is large all the
        same, and has at least so many lines, because column types are inferred from it.
        """
        usual = min(CHUNK, TEXT_CHUNK) if small else CHUNK
        first_lines = FIRST_LINES if first_lines is None else min(first_lines, FIRST_LINES)
        first, self._at_beginning = self._at_beginning and not (self.live and self._at_once), False
        size = CHUNK if first else usual
        room, length = bytearray(self._rest), len(self._rest)  # always the same memory: it stays in the cache
        self._rest = b""
        unfinished = 0  # bytes that are known to have no whole row
        while True:
            wanted = size if self._end is None else min(size, self._end - self.position)
            upto = self._arrived(room, length, first_lines if first else 1) if length > unfinished else 0
            if not self._ended and length < wanted and not upto:
                room, length = self._fill(room, length, wanted)
                continue
            if self._end is not None and length >= self._end - self.position:
                length, self._ended = self._end - self.position, True
            if first and not self._ended and length < MOST_FIRST_LINES and self._lines(room, length) < first_lines:
                self._limit(length - (room.rfind(b"\n", 0, length) + 1), self._lines(room, length))
                size *= 2
                continue
            end = upto or length
            if upto or not self._ended or (end and room[end - 1] != ord("\n") and self.bytes.is_torn()):
                end = self._last_line(room, end)
            if end:
                first = False
                self.position += end
                yield memoryview(room)[:end]
            if self._ended and not upto:
                return
            if end and self._spare is not None:
                room = self._moved(room, end, length, usual)
            else:
                room[: length - end] = room[end:length]
            length -= end
            unfinished = 0 if end else length
            if not end:  # one line that is longer than a chunk, or than all first lines
                self._limit(length)
                first_lines *= 2
            size = usual if end else max(usual, min(2 * length, LONGEST_LINE + 1))

    def keep_chunks(self) -> None:
        """From here on, a chunk stays as it is until it is given back with `release`."""
        self._spare = []

    def release(self, chunk: memoryview) -> None:
        """A chunk is not needed any more; others may have its memory."""
        if self._spare is not None and isinstance(chunk.obj, bytearray) and len(chunk.obj) <= 2 * CHUNK:
            self._spare.append(chunk.obj)

    def _moved(self, room: bytearray, begin: int, end: int, usual: int) -> bytearray:
        """Other memory that begins with a part of this one."""
        assert self._spare is not None
        other = self._spare.pop() if self._spare else bytearray(usual)
        if len(other) < end - begin:
            other = bytearray(end - begin)
        other[: end - begin] = memoryview(room)[begin:end]
        return other

    def _arrived(self, room: bytearray, length: int, lines: int) -> int:
        """How much of what is there can be given at once, of a stream: whole lines. The first ones are so many.

        Inferred types must not depend on how fast a stream is.
        """
        if not self.live:
            return 0
        if lines == 1:
            return room.rfind(b"\n", 0, length) + 1
        end = 0
        for _ in range(lines):
            end = room.find(b"\n", end, length) + 1
            if not end:
                return 0
        return end

    @staticmethod
    def _lines(room: bytearray, length: int) -> int:
        return room.count(b"\n", 0, length)

    def _fill(self, room: bytearray, length: int, size: int) -> tuple[bytearray, int]:
        """Read on, up to a size; where it then is, and how much of it."""
        known = self._decoder is not None or self.live
        part = self._next(size - length) if known else b""
        least = length + len(part) if known else size
        if len(room) < least:  # others may still look at the old one
            room = room[:length] + bytes(least - length)
        if known:
            room[length:least] = part
            return room, least
        count = self.bytes.read_into(memoryview(room)[length:size])
        self._ended = length + count < size
        return room, length + count

    def _last_line(self, room: bytearray, length: int) -> int:
        """Where the last whole line ends; with quotes, the last that ends outside of them."""
        if self._quoted and room.find(b'"', 0, length) >= 0:
            return _core.row_end(bytes(memoryview(room)[:length]), self._quoted, False)
        return room.rfind(b"\n", 0, length) + 1

    def _limit(self, length: int, lines_before: int = 0) -> None:
        if length > LONGEST_LINE:
            error = InputError(self._says_too_long(lines_before))
            self._too_long = error, lines_before
            raise error

    def _says_too_long(self, lines_before: int) -> str:
        return (
            f"{self.file.name}, {self.where(lines_before)}: it is longer than {mebibytes(LONGEST_LINE)}, the most that "
            "a line may have (or a quote is never closed); check that it is a text file"
        )

    def locate(self, error: InputError) -> None:
        """An error that came ahead of time says its place, now that all before it has been read."""
        if self._too_long is not None and self._too_long[0] is error:
            error.at(problem=self._says_too_long(self._too_long[1]))

    @property
    def is_part(self) -> bool:
        """Whether what comes after some offset is not wanted."""
        return self._end is not None

    @property
    def direct(self) -> bool:
        """Whether any offset can be gone to without reading what is before it."""
        return self._decoder is None and self.bytes.compression is None and self.file.in_parts

    def content(self, most: int) -> bytes | None:
        """All the rest, or None if it is more than so many bytes."""
        parts = [self._rest]
        length = len(self._rest)
        while not self._ended and length <= most:
            parts.append(self._next(CHUNK))
            length += len(parts[-1])
        return b"".join(parts) if length <= most else None

    @property
    def consumed(self) -> int:
        """How many bytes of the file as stored have been read."""
        return self.bytes.consumed

    def close(self) -> None:
        """Close the file."""
        self.bytes.close()


def opened_text(
    file: File,
    encoding: str | None,
    end: Position | None,
    stopped: Callable[[], bool] = never,
    at_once: bool = False,
) -> Text:
    """A file's text, up to a position if it is given.

    Where there is an end, other parts will be wanted too: of a file that can only be read from its beginning the text
    is kept in memory for them, if it is not too large.
    """
    text = Text(file, encoding, stopped, at_once)
    if end is None:
        return text
    try:
        if not text.direct:
            content = cached_part((file.path, file.stamp, encoding), lambda: text.content(MOST_CACHED), len)
            if content is not None:
                text.close()
                text = Text(MemoryFile(file.path, content), "utf-8")
            else:  # it may have been read to find out
                text.close()
                text = Text(file, encoding)
        text.end_at(end.offset)
    except BaseException:
        text.close()
        raise
    return text
