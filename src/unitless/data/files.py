"""From what a user names (files, globs, folders, stdin, compressed or not) to streams of bytes."""

from __future__ import annotations

import bz2
import codecs
import glob
import gzip
import io
import lzma
import os
import select
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from .. import _core
from ..errors import InputError, Option, OptionError, Phrase

STDIN = "-"
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".vw": "vw",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
}
_COMPRESSED = (".gz", ".bz2", ".zst", ".zstd", ".xz")
# Encodings whose name leaves the order of bytes open, and the marks that may say it.
_MARKS = {
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}
CHUNK = 4 << 20
TEXT_CHUNK = 1 << 20  # for readers in the core: what they make stays in the processor's cache
MOST_DECIDING = 128 << 20  # bytes of a file's first lines, if they are long
LONGEST_LINE = 64 << 20  # of any text; a compressed file of some megabytes may hold a line of any length
FIRST_LINES = 4096  # that a file's first piece has at least


@dataclass(frozen=True)
class File:
    """A file to read: its path, or "-" for the standard input."""

    path: str

    @property
    def name(self) -> str:
        """As messages call it."""
        return "standard input" if self.path == STDIN else self.path

    @property
    def size(self) -> int | None:
        """In bytes, as stored; None if it is a stream."""
        try:
            return os.path.getsize(self.path) if os.path.isfile(self.path) else None
        except OSError:
            return None

    @property
    def suffix_format(self) -> str | None:
        """The format that its name promises."""
        return suffix_format(self.path)


def suffix_format(path: str) -> str | None:
    """The format that a name promises."""
    stem, suffix = os.path.splitext(path.lower())
    if suffix in _COMPRESSED:
        suffix = os.path.splitext(stem)[1]
    return _SUFFIXES.get(suffix)


def find(named: str | os.PathLike[str]) -> list[File]:
    """The files that a path, a glob, a folder or "-" stands for, in order of their names."""
    path = os.fspath(named)
    if path == STDIN:
        return [File(STDIN)]
    if os.path.isdir(path):
        inside = sorted(
            os.path.join(folder, name)
            for folder, names in _folders(path)
            for name in names
            if not name.startswith((".", "_")) and suffix_format(name)
        )
        if not inside:
            known = ", ".join(sorted(_SUFFIXES))
            raise InputError(f"the folder {path!r} has no data files in it (names that end in {known})")
        formats = {suffix_format(name) for name in inside}
        if len(formats) > 1:
            kinds = " and ".join(sorted(map(str, formats)))
            raise InputError(f"the folder {path!r} has files of several formats, {kinds}; name the files themselves")
        return [File(name) for name in inside]
    if not os.path.lexists(path) and glob.has_magic(path):
        hits = [hit for hit in sorted(glob.glob(path, recursive=True)) if os.path.isfile(hit)]
        if not hits:
            raise InputError(f"no file matches {path!r}")
        return [File(hit) for hit in hits]
    if not os.path.exists(path):
        raise InputError(f"there is no file {path!r}")
    return [File(path)]


def check_output(
    output: str | os.PathLike[str] | None, files: Iterable[File], what: str, over: str = "the data"
) -> None:
    """Nothing is written over what is read, whatever it is called: by a pattern, a folder, a link, or as stdin."""
    if output is None or not os.path.isfile(output):  # a device or a pipe keeps nothing
        return
    written = os.stat(output)
    for file in files:
        try:
            read = os.fstat(sys.stdin.fileno()) if file.path == STDIN else os.stat(file.path)
        except (OSError, ValueError, AttributeError):  # no such file, which is told when it is opened
            continue
        if os.path.samestat(written, read):
            alias = "" if os.fspath(output) == file.path else f" (it is the same file as {file.name})"
            raise OptionError(f"{what} would be written over {over}, {os.fspath(output)!r}{alias}; name another file")


def _folders(path: str) -> Iterator[tuple[str, list[str]]]:
    """A folder and those in it, but for hidden ones, with the names of their files."""
    for folder, inside, names in os.walk(path):
        inside[:] = [name for name in inside if not name.startswith((".", "_"))]
        yield folder, names


class Bytes:
    """A file's content, decompressed if need be, read forward."""

    def __init__(self, file: File) -> None:
        self.file = file
        self._raw: IO[bytes]
        try:
            self._raw = _stdin() if file.path == STDIN else open(file.path, "rb")  # noqa: SIM115
            self._peeked = _Peeked(self._raw)
            head = self._peeked.peek(6)
        except OSError as error:
            raise InputError(f"cannot read {file.name}: {error.strerror or error}") from None
        self.compression = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
        try:
            self._stream: Any = self._opened()
        except BaseException:
            self.close()
            raise

    def _opened(self) -> Any:
        if self.compression == "gzip":
            return gzip.GzipFile(fileobj=self._peeked)
        if self.compression == "bz2":
            return bz2.BZ2File(self._peeked)
        if self.compression == "xz":
            return lzma.LZMAFile(self._peeked)  # type: ignore[arg-type]
        if self.compression == "zstd":
            from .arrow import pyarrow  # noqa: PLC0415  (an optional dependency)

            return pyarrow().input_stream(self._peeked, compression="zstd")
        return self._peeked

    def read(self, size: int = -1) -> bytes:
        """So many bytes, fewer only at the end."""
        parts: list[bytes] = []
        left = size
        try:
            while left != 0:
                part = self._stream.read(left if size >= 0 else 1 << 24)
                if not part:
                    break
                parts.append(part)
                left -= len(part) if size >= 0 else 0
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise self._unreadable(error) from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def all(self, most: int) -> bytes:
        """All the rest, if it is not more than so many bytes."""
        data = self.read(most + 1)
        if len(data) > most:
            raise InputError(
                f"{self.file.name} holds more than {mebibytes(most)}, the most that is kept in memory of a file that "
                "cannot be read in parts, because it is compressed as a whole or a pipe; write it to a plain file first"
            )
        return data

    def read_into(self, room: memoryview) -> int:
        """Fill the room, or what there is of it; how much that was."""
        done = 0
        try:
            while done < len(room):
                count = self._stream.readinto(room[done:])
                if not count:
                    break
                done += count
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise self._unreadable(error) from None
        return done

    def _unreadable(self, error: Exception) -> InputError:
        kind = f"the {self.compression} data is damaged or cut off: " if self.compression else ""
        return InputError(f"cannot read {self.file.name}: {kind}{error}")

    def skip(self, count: int) -> None:
        """Go forward."""
        if count and self.compression is None and self._peeked.skip(count):
            return
        while count > 0:
            part = self.read(min(count, CHUNK))
            if not part:
                raise InputError(f"{self.file.name} is shorter than it was when training stopped")
            count -= len(part)

    @property
    def consumed(self) -> int:
        """How many bytes of the file as stored have been read."""
        return self._peeked.position

    def close(self) -> None:
        """Done with it."""
        if self.file.path != STDIN:
            self._raw.close()


def _stdin() -> IO[bytes]:
    """Without the interpreter's buffer, whose lock a thread that waits for input would hold at the program's end."""
    if sys.stdin is None:
        raise InputError("the standard input is closed")
    try:
        return io.FileIO(sys.stdin.fileno(), closefd=False)
    except (OSError, ValueError, AttributeError):  # a stand-in, not a file
        return sys.stdin.buffer


class _Peeked(io.RawIOBase):
    """A stream whose beginning can be looked at, and that counts."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self._head, self.position = raw, b"", 0

    def peek(self, size: int) -> bytes:
        while len(self._head) < size:
            part = self._waited(lambda: self._raw.read(size - len(self._head)))
            if not part:
                break
            self._head += part
        return self._head

    def read(self, size: int = -1) -> bytes:
        head, self._head = (self._head, b"") if size < 0 else (self._head[:size], self._head[size:])
        rest = b""
        if size < 0:
            rest = b"".join(iter(lambda: self._waited(lambda: self._raw.read(CHUNK)), b""))
        elif len(head) < size:
            rest = self._waited(lambda: self._raw.read(size - len(head)))
        self.position += len(head) + len(rest)
        return head + rest if head else rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        head, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        buffer[: len(head)] = head
        rest = memoryview(buffer)[len(head) :]
        count = len(head)
        if len(rest):
            count += self._waited(lambda: self._raw.readinto(rest))  # type: ignore[attr-defined]
        self.position += count
        return count

    def _waited(self, read: Callable[[], Any]) -> Any:
        """What is read. A stream that does not block gives None while nothing has arrived, which is not its end."""
        while (got := read()) is None:
            try:
                handle = self._raw.fileno()
                if hasattr(select, "poll"):
                    waiting = select.poll()
                    waiting.register(handle, select.POLLIN)
                    waiting.poll()
                else:
                    select.select([handle], [], [])
            except (OSError, ValueError):  # it cannot be waited for
                time.sleep(0.01)
        return got

    def skip(self, count: int) -> bool:
        """Without reading, if the stream can."""
        try:
            if not self._raw.seekable():
                return False
            goal = self._raw.tell() - len(self._head) + count  # which need not be `position`: stdin may be begun
            if os.fstat(self._raw.fileno()).st_size < goal:
                return False
            self._raw.seek(goal)
        except (OSError, ValueError):
            return False
        self._head = b""
        self.position += count
        return True


class Text:
    """A file's text as UTF-8, in pieces that end with a line."""

    def __init__(self, file: File, encoding: str | None, start: int = 0) -> None:
        self.bytes = Bytes(file)
        self.file = file
        self._quoted = ""  # the delimiter between fields that may be quoted
        self._decoder: codecs.IncrementalDecoder | None = None
        self._encoding = "utf-8"
        self._rest, self._ended = b"", False
        self.position = 0  # in the decoded text
        self._at_beginning = True
        self.where: Callable[[int], str] = lambda lines: f"line {1 + lines}"  # so many lines after what was read
        try:
            self._open(encoding)
            self.go_to(start)
        except BaseException:
            self.close()
            raise

    def _open(self, encoding: str | None) -> None:
        head = self.bytes.read(4)
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

    def _decoded(self, data: bytes, last: bool = False) -> bytes:
        if self._decoder is None:
            return data
        try:
            return self._decoder.decode(data, last).encode()
        except UnicodeError as error:
            reason = getattr(error, "reason", None) or error
            raise InputError(f"{self.file.name} is not all {self._encoding} text: {reason}") from None

    def _next(self, size: int) -> bytes:
        data = self.bytes.read(size)
        self._ended = len(data) < size
        return self._decoded(data, self._ended)

    def quoted(self, delimiter: str) -> None:
        """From here on, newlines within quoted fields are no ends of lines."""
        self._quoted = delimiter

    def put_back(self, line: bytes) -> None:
        """What was read is to be read again."""
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
        """The beginning of what comes next."""
        while len(self._rest) < size and not self._ended:
            self._rest += self._next(size - len(self._rest))
        return self._rest[:size]

    def pieces(self, small: bool = False, first_lines: int | None = None) -> Iterator[memoryview]:
        """All the rest, in pieces of whole lines; the last one may lack its newline. Each is gone when the next comes.

        With `small` they are of a size for readers in the core; at a file's beginning the first one is large all the
        same, and has at least so many lines, because it decides what the columns are.
        """
        usual = min(CHUNK, TEXT_CHUNK) if small else CHUNK
        first_lines = FIRST_LINES if first_lines is None else min(first_lines, FIRST_LINES)
        deciding, self._at_beginning = self._at_beginning, False
        size = CHUNK if deciding else usual
        room, length = bytearray(self._rest), len(self._rest)  # always the same memory: it stays in the cache
        self._rest = b""
        while True:
            if not self._ended and length < size:
                room, length = self._fill(room, length, size)
                continue
            if deciding and not self._ended and length < MOST_DECIDING and self._lines(room, length) < first_lines:
                self._limit(length - (room.rfind(b"\n", 0, length) + 1), self._lines(room, length))
                size *= 2
                continue
            deciding = False
            end = length if self._ended else self._last_line(room, length)
            if end:
                self.position += end
                yield memoryview(room)[:end]
            if self._ended:
                return
            room[: length - end] = room[end:length]
            length -= end
            if not end:  # one line that is longer than a piece
                self._limit(length)
            size = usual if end else min(2 * length, LONGEST_LINE + 1)

    @staticmethod
    def _lines(room: bytearray, length: int) -> int:
        return room.count(b"\n", 0, length)

    def _fill(self, room: bytearray, length: int, size: int) -> tuple[bytearray, int]:
        """Read on, up to a size; where it then is, and how much of it."""
        part = b"" if self._decoder is None else self._next(size - length)
        least = size if self._decoder is None else length + len(part)
        if len(room) < least:  # others may still look at the old one
            room = room[:length] + bytes(least - length)
        if self._decoder is not None:
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
            raise InputError(
                f"{self.file.name}, {self.where(lines_before)}: it is longer than {mebibytes(LONGEST_LINE)}, the most "
                "that a line may have (or a quote is never closed); is it text at all?"
            )

    @property
    def consumed(self) -> int:
        """How many bytes of the file as stored have been read."""
        return self.bytes.consumed

    def close(self) -> None:
        """Done with it."""
        self.bytes.close()


def mebibytes(size: int) -> str:
    """A limit as messages call it."""
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size:,} bytes"
