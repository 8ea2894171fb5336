"""Reads a file's text as UTF-8, whatever its encoding, in chunks of whole lines."""

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

# Encodings whose name does not tell the order of bytes, and the byte-order marks that tell it.
_MARKS = {
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}
# For parsers in the core: smaller chunks cost more Python calls, larger ones do not fit into the cache.
TEXT_CHUNK = 2 << 20
MOST_FIRST_LINES = 128 << 20  # bytes of a file's first lines, if they are long
LONGEST_LINE = 64 << 20  # bytes; a small compressed file may have a line of any length
FIRST_LINES = 4096  # the first chunk of a file has at least so many lines


class Text:
    """A file's text as UTF-8, in chunks that end with a line.

    Args:
        file: the file.
        encoding: the encoding. Default: None, that of a byte-order mark, or UTF-8.
        stopped: returns whether to stop; called while a stream is waited for. A stopped stream counts as ended.
        at_once: whether the lines of a stream are returned when they arrive. If not, the first lines, which decide the
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
        self._end: int | None = None  # where the needed text ends
        # The place of a line, by the number of lines after the last returned chunk.
        self.where: Callable[[int], str] = lambda lines: f"line {1 + lines}"
        # A line that is too long: the error, and the lines before it.
        self._too_long: tuple[InputError, int] | None = None
        self._spare: list[bytearray] | None = None  # free memory for chunks, if each chunk has its own
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
        """Return enough bytes to detect the encoding and other kinds of files; of a stream at most its first line."""
        if not self.live:
            return self.bytes.read(other_kinds.FIRST_BYTES)
        head = b""
        while len(head) < 4 and b"\n" not in head and (part := self.bytes.arrived(CHUNK)):
            head += part
        return head

    def go_to(self, offset: int) -> None:
        """Skip to an offset in the decoded text; text that was only peeked at can be read again."""
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
        """Set the end of the needed text to an offset, where a line ends."""
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
        """From now on, newlines within quoted fields do not end a line."""
        self._quoted = delimiter

    def put_back(self, line: bytes) -> None:
        """Return text to the stream, so that it is read again."""
        self._rest = line + self._rest
        self.position -= len(line)

    def line(self) -> bytes:
        """Read one line, of any length."""
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
        """Return the next bytes of text without reading them; of a stream at least one line, or its first lines."""
        lines = 1 if self._at_once else FIRST_LINES
        while len(self._rest) < size and not self._ended:
            if self.live and self._rest.lstrip(codecs.BOM_UTF8 + b" \t\r\n").count(b"\n") >= lines:
                break
            self._rest += self._next(size - len(self._rest))
        return self._rest[:size]

    def chunks(self, small: bool = False, first_lines: int | None = None) -> Iterator[memoryview]:
        """Return the rest of the text in chunks of whole lines; the last line may lack its newline.

        A chunk is valid until the next one is requested, unless `keep_chunks` was called.

        Args:
            small: whether chunks have the best size for parsers in the core. The first chunk of a file is large in any
                case, because column types are inferred from it. Default: False.
            first_lines: the smallest number of lines in the first chunk of a file. Default: None, the usual number.
        """
        usual = min(CHUNK, TEXT_CHUNK) if small else CHUNK
        first_lines = FIRST_LINES if first_lines is None else min(first_lines, FIRST_LINES)
        first, self._at_beginning = self._at_beginning and not (self.live and self._at_once), False
        size = CHUNK if first else usual
        room, length = bytearray(self._rest), len(self._rest)  # the same memory for all chunks stays in the cache
        self._rest = b""
        unfinished = 0  # bytes that have no whole row
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
            if not end:  # a line is longer than a chunk, or than all first lines
                self._limit(length)
                first_lines *= 2
            size = usual if end else max(usual, min(2 * length, LONGEST_LINE + 1))

    def keep_chunks(self) -> None:
        """From now on, a chunk is valid until it is given to `release`."""
        self._spare = []

    def release(self, chunk: memoryview) -> None:
        """Release a chunk, so that its memory can be used for others."""
        if self._spare is not None and isinstance(chunk.obj, bytearray) and len(chunk.obj) <= 2 * CHUNK:
            self._spare.append(chunk.obj)

    def _moved(self, room: bytearray, begin: int, end: int, usual: int) -> bytearray:
        """Return other memory that begins with a part of this memory."""
        assert self._spare is not None
        other = self._spare.pop() if self._spare else bytearray(usual)
        if len(other) < end - begin:
            other = bytearray(end - begin)
        other[: end - begin] = memoryview(room)[begin:end]
        return other

    def _arrived(self, room: bytearray, length: int, lines: int) -> int:
        """Return how much of a stream's text can be returned at once: whole lines, and at first at least `lines`.

        The minimum is needed because inferred types must not depend on the speed of the stream.
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
        """Read more, up to a size; return the memory and how much of it is filled."""
        known = self._decoder is not None or self.live
        part = self._next(size - length) if known else b""
        least = length + len(part) if known else size
        if len(room) < least:  # readers may still use the old memory
            room = room[:length] + bytes(least - length)
        if known:
            room[length:least] = part
            return room, least
        count = self.bytes.read_into(memoryview(room)[length:size])
        self._ended = length + count < size
        return room, length + count

    def _last_line(self, room: bytearray, length: int) -> int:
        """Return where the last whole line ends; with quotes, the last one that ends outside of quotes."""
        if self._quoted and room.find(b'"', 0, length) >= 0:
            return _core.row_end(bytes(memoryview(room)[:length]), self._quoted, False)
        return room.rfind(b"\n", 0, length) + 1

    def _limit(self, length: int, lines_before: int = 0) -> None:
        if length > LONGEST_LINE:
            error = InputError(self._too_long_message(lines_before))
            self._too_long = error, lines_before
            raise error

    def _too_long_message(self, lines_before: int) -> str:
        return (
            f"{self.file.name}, {self.where(lines_before)}: it is longer than {mebibytes(LONGEST_LINE)}, the most that "
            "a line may have (or a quote is never closed); check that it is a text file"
        )

    def locate(self, error: InputError) -> None:
        """Set the place of an error that was found ahead of time, after everything before it has been read."""
        if self._too_long is not None and self._too_long[0] is error:
            error.at(problem=self._too_long_message(self._too_long[1]))

    @property
    def is_part(self) -> bool:
        """Whether only the text up to some offset is needed."""
        return self._end is not None

    @property
    def direct(self) -> bool:
        """Whether reading can go to any offset without reading what is before it."""
        return self._decoder is None and self.bytes.compression is None and self.file.in_parts

    def content(self, most: int) -> bytes | None:
        """Return the rest of the text; None if it has more than this many bytes."""
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
    """Open the text of a file, up to a position if it is given.

    If a position is given, other parts of the file will be read too. The text of a file that can be read only from its
    beginning is then kept in memory for them, if it is not too large.
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
            else:  # other methods may have read it to find out
                text.close()
                text = Text(file, encoding)
        text.end_at(end.offset)
    except BaseException:
        text.close()
        raise
    return text
