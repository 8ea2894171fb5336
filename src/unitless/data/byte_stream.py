"""A file's content as bytes: decompressed, read forward, also from a standard input that does not block."""

from __future__ import annotations

import io
import os
import select
import sys
import time
from collections.abc import Callable
from typing import IO, Any

from ..errors import InputError
from . import compression
from .files import STDIN, File

CHUNK = 4 << 20


class Bytes:
    """A file's content, decompressed if need be, read forward."""

    def __init__(self, file: File) -> None:
        self.file = file
        self._raw: IO[bytes]
        try:
            self._raw = _stdin() if file.path == STDIN else file.open()
            self._peeked = _Peeked(self._raw)
            head = self._peeked.peek(compression.LONGEST_MAGIC)
        except OSError as error:
            raise InputError(f"cannot read {file.name}: {error.strerror or error}") from None
        self.compression = compression.of_content(head)
        try:
            self._stream: Any = self._peeked if self.compression is None else self.compression.reading(self._peeked)
        except BaseException:
            self.close()
            raise

    def read(self, size: int = -1) -> bytes:
        """Read so many bytes; fewer only at the end of the file."""
        parts: list[bytes] = []
        left = size
        try:
            while left != 0:
                part = self._stream.read(left if size >= 0 else 1 << 24)
                if not part:
                    break
                parts.append(part)
                left -= len(part) if size >= 0 else 0
        except compression.ERRORS as error:
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
        """Read into a buffer until it is full or the file ends; how many bytes were read."""
        done = 0
        try:
            while done < len(room):
                count = self._stream.readinto(room[done:])
                if not count:
                    break
                done += count
        except compression.ERRORS as error:
            raise self._unreadable(error) from None
        return done

    def _unreadable(self, error: Exception) -> InputError:
        kind = f"the {self.compression.name} data is damaged or cut off: " if self.compression else ""
        return InputError(f"cannot read {self.file.name}: {kind}{error}")

    def skip(self, count: int) -> None:
        """Skip so many bytes."""
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
        """Close the file."""
        if self.file.path != STDIN:
            self._raw.close()


def _stdin() -> IO[bytes]:
    """Without the interpreter's buffer, whose lock a thread that waits for input would hold at the program's end."""
    if sys.stdin is None:
        raise InputError("the standard input is closed")
    try:
        return io.FileIO(sys.stdin.fileno(), closefd=False)
    except (OSError, ValueError, AttributeError):  # something that replaces the standard input, such as in tests
        return sys.stdin.buffer


class _Peeked(io.RawIOBase):
    """A stream whose first bytes can be looked at before they are read, and that counts what is read."""

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
        """Skip so many bytes by seeking; False if the stream cannot seek so far."""
        try:
            if not self._raw.seekable():
                return False
            goal = self._raw.tell() - len(self._head) + count  # which need not be `position`: stdin may be begun
            if self._raw.seek(0, os.SEEK_END) < goal:
                self._raw.seek(goal - count + len(self._head))
                return False
            self._raw.seek(goal)
        except (OSError, ValueError):
            return False
        self._head = b""
        self.position += count
        return True


def mebibytes(size: int) -> str:
    """A number of bytes, as messages say it."""
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size:,} bytes"
