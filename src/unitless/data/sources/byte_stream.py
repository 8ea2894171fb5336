"""Reads a file's content as bytes: decompressed, from the beginning, also from a pipe that is still being written."""

from __future__ import annotations

import io
import os
import select
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

from ...errors import InputError
from ..threads import threads_to_read
from . import compression
from .files import STDIN, File
from .growing_file import SHORTER, GrowingFile
from .read_ahead import ReadAhead

CHUNK = 4 << 20


BULK = 16 << 10  # so much at once comes from a file or a program, not from single events, so more will follow
LINGER = 0.02  # seconds to wait for more bytes, so that they are processed together
LOOK = 0.1  # seconds between checks whether to stop


def never() -> bool:
    """Return False: reading is never stopped."""
    return False


class Bytes:
    """A file's content, decompressed if it is compressed, read from the beginning.

    Args:
        file: the file.
        stopped: returns whether to stop; called while a stream is waited for. A stopped stream counts as ended.
    """

    def __init__(self, file: File, stopped: Callable[[], bool] = never) -> None:
        self.file = file
        try:
            self._peeked = file.stream if isinstance(file, BegunStream) else Peeked(_opened(file))
            self._peeked.stopped = stopped
            head = self._peeked.peek(compression.LONGEST_MAGIC, lambda head: not compression.may_begin(head))
        except OSError as error:
            raise InputError(f"cannot read {file.name}: {error.strerror or error}") from None
        self.compression = compression.of_content(head)
        self.live = self._peeked.live
        self._ahead: ReadAhead | None = None
        try:
            self._stream: Any = self._peeked if self.compression is None else self.compression.reading(self._peeked)
        except BaseException:
            self.close()
            raise
        if self.compression is not None and not self.live:
            apart = threads_to_read() > 1
            self._stream = self._ahead = ReadAhead(self._stream, lambda: self._peeked.position, apart)

    def read(self, size: int = -1) -> bytes:
        """Read this many bytes; fewer only at the end of the file."""
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
            if not self.cut:
                raise self._unreadable(error) from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def arrived(self, most: int) -> bytes:
        """Return the bytes of a stream that have arrived; wait for the first ones. Empty only at the stream's end."""
        parts: list[bytes] = []
        size, until = 0, time.monotonic() + LINGER
        try:
            while size < most and (not parts or self._follows(size, until)):
                # One read returns what has arrived; `read` of a decompressed stream would wait for all requested bytes.
                read = self._stream.read if self.compression is None else self._stream.read1
                part = read(most - size)
                if not part:
                    break
                parts.append(part)
                size += len(part)
        except compression.ERRORS as error:
            if not self.cut:
                raise self._unreadable(error) from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _follows(self, size: int, until: float) -> bool:
        """Return whether more bytes arrive soon enough to wait for them, after this many bytes of a stream."""
        if self.compression is not None:
            return False
        return self._peeked.is_ready(max(0.0, until - time.monotonic()) if size >= BULK else 0.0)

    @property
    def cut(self) -> bool:
        """Whether the stream was stopped; its last line may be incomplete and is not read."""
        return self._peeked.cut or self.replaced == SHORTER

    def is_torn(self) -> bool:
        """Return whether a stream ended within a line, because Ctrl-C also stops the program that writes to a pipe."""
        if self.live and not self.cut:
            time.sleep(LOOK)
            self._peeked.cut = self._peeked.stopped()
        return self.cut

    @property
    def replaced(self) -> str:
        """What happened to a growing file that ended, such as "was replaced"; empty if nothing did."""
        return self._peeked.replaced

    def all(self, most: int) -> bytes:
        """Read the rest of the content, at most this many bytes."""
        data = self.read(most + 1)
        if len(data) > most:
            raise InputError(
                f"{self.file.name} holds more than {mebibytes(most)}, the most that is kept in memory of a file that "
                "cannot be read in parts, because it is compressed as a whole or a pipe; write it to a plain file first"
            )
        return data

    def read_into(self, room: memoryview) -> int:
        """Read into a buffer until it is full or the file ends; return how many bytes were read."""
        done = 0
        try:
            while done < len(room):
                count = self._stream.readinto(room[done:])
                if not count:
                    break
                done += count
        except compression.ERRORS as error:
            if not self.cut:
                raise self._unreadable(error) from None
        return done

    def _unreadable(self, error: Exception) -> InputError:
        if not self.file.in_parts and self.compression is None:
            return InputError(f"cannot read {self.file.name}: the zip archive is damaged or cut off: {error}")
        kind = f"the {self.compression.name} data is damaged or cut off: " if self.compression else ""
        return InputError(f"cannot read {self.file.name}: {kind}{error}")

    def skip(self, count: int) -> None:
        """Skip this many bytes."""
        if count and self.compression is None and self.file.in_parts and self._peeked.skip(count):
            return
        while count > 0:
            part = self.read(min(count, CHUNK))
            if not part:
                raise InputError(f"{self.file.name} is shorter than it was when training stopped")
            count -= len(part)

    @property
    def consumed(self) -> int:
        """How many bytes of the file as stored have been read."""
        return self._peeked.position if self._ahead is None else self._ahead.consumed

    def close(self) -> None:
        """Close the file."""
        if self._ahead is not None:
            self._ahead.close()
        if self.file.path != STDIN:
            self._peeked.close_raw()


def _opened(file: File) -> IO[bytes]:
    return _stdin() if file.path == STDIN else file.open()


def _stdin() -> IO[bytes]:
    """Open the standard input without the interpreter's buffer.

    At the end of the program, a thread that waits for input would still hold the lock of that buffer.
    """
    if sys.stdin is None:
        raise InputError("the standard input is closed")
    try:
        return io.FileIO(sys.stdin.fileno(), closefd=False)
    except (OSError, ValueError, AttributeError):  # something replaces the standard input, for example in tests
        return sys.stdin.buffer


class Peeked(io.RawIOBase):
    """A stream that can be examined before it is read, and that counts the bytes read."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self._head, self.position = raw, b"", 0
        self.live = _is_live(raw)  # whether bytes may arrive while it is read
        self.stopped: Callable[[], bool] = never
        self.cut = False  # whether it was stopped and counts as ended
        self._recorded: bytearray | None = None  # bytes that were read and will be read again

    def record(self) -> None:
        """Store all bytes read from now on, until `rewind`."""
        self._recorded = bytearray()

    def rewind(self) -> None:
        """Go back to the place where `record` was called."""
        if self._recorded is not None:
            self._head = bytes(self._recorded) + self._head
            self.position -= len(self._recorded)
            self._recorded = None

    def peek(self, size: int, enough: Callable[[bytes], bool] | None = None) -> bytes:
        """Return the first bytes without reading them.

        Args:
            size: how many bytes.
            enough: for a live stream: returns whether the bytes so far are enough, so that no more are waited for.
        """
        while len(self._head) < size and not (self.live and self._head and enough is not None and enough(self._head)):
            part = self._waited(lambda: self._raw.read(size - len(self._head)))
            if not part:
                break
            self._head += part
        return self._head

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            return b"".join(iter(lambda: self.read(CHUNK), b""))
        head, self._head = self._head[:size], self._head[size:]
        rest = b""
        if len(head) < size and not (head and self.live):
            rest = self._waited(lambda: self._raw.read(size - len(head)))
        data = head + rest if head else rest
        self._count(data)
        return data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        head, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        buffer[: len(head)] = head
        rest = memoryview(buffer)[len(head) :]
        count = len(head)
        if len(rest) and not (head and self.live):
            count += self._waited(lambda: self._raw.readinto(rest)) or 0  # type: ignore[attr-defined]
        self._count(memoryview(buffer)[:count])
        return count

    def _count(self, data: bytes | memoryview) -> None:
        self.position += len(data)
        if self._recorded is not None:
            self._recorded += data

    def _waited(self, read: Callable[[], Any]) -> Any:
        """Call `read` until it returns a result: a non-blocking stream returns None while nothing has arrived."""
        while True:
            while self.live and not self.cut:
                if self.stopped():
                    self.cut = True
                elif self.is_ready(LOOK):
                    break
            if self.cut:
                return b""
            if (got := read()) is not None:
                return got
            if not self.live:
                time.sleep(0.01)  # this stream has nothing to wait on

    def is_ready(self, seconds: float) -> bool:
        """Return whether bytes can be read, or the stream has ended; wait at most this many seconds."""
        if self._head:
            return True
        if isinstance(self._raw, GrowingFile):
            return self._raw.is_ready(seconds)
        try:
            if not hasattr(select, "poll"):
                return bool(select.select([self._raw.fileno()], [], [], seconds)[0])
            waiting = select.poll()
            waiting.register(self._raw.fileno(), select.POLLIN)
            return bool(waiting.poll(1000 * seconds))
        except (OSError, ValueError):  # this stream has nothing to wait on: reading itself will wait
            return True

    @property
    def replaced(self) -> str:
        """What happened to a growing file that ended, such as "was replaced"; empty if nothing did."""
        return self._raw.gone if isinstance(self._raw, GrowingFile) else ""

    def close(self) -> None:
        """Do nothing: a decompressor closes what it reads, but this stream may be rewound."""

    def close_raw(self) -> None:
        """Close the file, unless it will be rewound."""
        if self._recorded is None:
            self._raw.close()

    def skip(self, count: int) -> bool:
        """Skip this many bytes by seeking; return False if the stream cannot do this."""
        try:
            if self._recorded is not None or not self._raw.seekable():
                return False
            # It may differ from `position`, because the standard input may have been read before.
            goal = self._raw.tell() - len(self._head) + count
            if self._raw.seek(0, os.SEEK_END) < goal:
                self._raw.seek(goal - count + len(self._head))
                return False
            self._raw.seek(goal)
        except (OSError, ValueError):
            return False
        self._head = b""
        self.position += count
        return True


def _is_live(raw: IO[bytes]) -> bool:
    """Return whether bytes may arrive while the file is read: a pipe, a socket, a terminal, a growing file."""
    if isinstance(raw, GrowingFile):
        return True
    try:
        mode = os.fstat(raw.fileno()).st_mode
    except (OSError, ValueError, AttributeError):  # it has no file descriptor
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)


@dataclass(frozen=True)
class BegunStream(File):
    """A stream that is open already, because its beginning was examined."""

    stream: Peeked = field(default_factory=lambda: Peeked(io.BytesIO()), compare=False)

    @property
    def size(self) -> int | None:
        """None, because the size is not known."""
        return None


def begun(file: File) -> BegunStream:
    """Open a stream; this is possible only once."""
    if isinstance(file, BegunStream):
        return file
    try:
        return BegunStream(file.path, Peeked(_opened(file)))
    except OSError as error:
        raise InputError(f"cannot read {file.name}: {error.strerror or error}") from None


def first_bytes(file: BegunStream, most: int) -> bytes | None:
    """Return the first bytes of a stream's content, at least one line, without reading them; None if this is hard."""
    head = file.stream.peek(most, lambda head: b"\n" in head.lstrip() and not compression.may_begin(head))
    kind = compression.of_content(head)
    if kind is None:
        return head
    try:  # the compressed data is incomplete
        content: bytes = kind.reading(io.BytesIO(file.stream.peek(most))).read1(most)
    except compression.ERRORS:
        return None
    return content


def mebibytes(size: int) -> str:
    """Return a number of bytes as text for messages."""
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size:,} bytes"
