"""Reads a file that grows, by its name, as `tail -F` does."""

from __future__ import annotations

import io
import os
import time
from typing import Any

POLL = 0.2  # seconds between checks of the file
SHORTER, REPLACED = "became shorter", "was replaced"  # what can happen to the file
COMPARED = 64  # bytes before the current place that are compared to see whether the file is still the same


class GrowingFile(io.RawIOBase):
    """A file that is waited for at its end. It ends when another file replaces it, or when it becomes shorter.

    Args:
        path: the name; another file may get it.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115  (`close` closes it)
        self._last = b""  # the last bytes that were read
        self.gone = ""  # what has happened to the file: SHORTER, REPLACED or nothing

    def is_ready(self, seconds: float) -> bool:
        """Return whether bytes can be read, or the file has ended; wait at most this many seconds."""
        until = time.monotonic() + seconds
        while not self._has_more():
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(left, POLL))
        return True

    def _has_more(self) -> bool:
        if self.gone:
            return True
        here, own = self._file.tell(), os.fstat(self._file.fileno())
        if own.st_size > here:
            if not self._is_the_same(here):
                self.gone = REPLACED
            return True
        if own.st_size < here:
            self.gone = SHORTER
            return True
        try:
            now = os.stat(self._path)
        except OSError:  # renamed, and the next file does not exist yet
            return False
        # First, the bytes that were written between the two checks are read.
        if not os.path.samestat(own, now) and os.fstat(self._file.fileno()).st_size == here:
            self.gone = REPLACED
        return not os.path.samestat(own, now)

    def _is_the_same(self, here: int) -> bool:
        """Return whether the bytes that were read are still in the file; it may be cut and grow between two checks."""
        if not self._last:
            return True
        self._file.seek(here - len(self._last))
        try:
            return self._file.read(len(self._last)) == self._last
        finally:
            self._file.seek(here)

    def readable(self) -> bool:
        """Return True: the file can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what has been written; return None if there is nothing yet, 0 at the end."""
        if self.gone:
            return 0
        count = self._file.readinto(buffer)
        if not count:
            return 0 if self.gone else None
        self._last = (self._last + bytes(buffer[max(0, count - COMPARED) : count]))[-COMPARED:]
        return count

    def seekable(self) -> bool:
        """Return True: reading can go to any place."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place in the file."""
        self._last = b""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the current place in the file."""
        return self._file.tell()

    def fileno(self) -> int:
        """Return the descriptor of the open file."""
        return self._file.fileno()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
