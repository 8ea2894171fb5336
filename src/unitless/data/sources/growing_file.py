"""A file that grows while it is read, as `tail -F` reads it: by its name."""

from __future__ import annotations

import io
import os
import time
from typing import Any

POLL = 0.2  # seconds between two looks at the file
SHORTER, REPLACED = "became shorter", "was replaced"  # what may become of it
COMPARED = 64  # bytes before the place that was reached, to see whether the file is still the same


class GrowingFile(io.RawIOBase):
    """A file whose end is waited at for more. It ends when the file is replaced by another one, or becomes shorter.

    Args:
        path: its name, under which another file may turn up.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115  (closed with this)
        self._last = b""  # the last bytes that were read
        self.gone = ""  # what has become of it, once that is known

    def is_ready(self, seconds: float) -> bool:
        """Whether there is something to read, or the file has come to its end; waits for it at most so long."""
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
        except OSError:  # renamed, and the next one is not there yet
            return False
        # What was written between the two looks is read first.
        if not os.path.samestat(own, now) and os.fstat(self._file.fileno()).st_size == here:
            self.gone = REPLACED
        return not os.path.samestat(own, now)

    def _is_the_same(self, here: int) -> bool:
        """Whether what was read is still there: a file may be cut and grow again between two looks."""
        if not self._last:
            return True
        self._file.seek(here - len(self._last))
        try:
            return self._file.read(len(self._last)) == self._last
        finally:
            self._file.seek(here)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what there is; None while there is nothing, 0 at the end."""
        if self.gone:
            return 0
        count = self._file.readinto(buffer)
        if not count:
            return 0 if self.gone else None
        self._last = (self._last + bytes(buffer[max(0, count - COMPARED) : count]))[-COMPARED:]
        return count

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        self._last = b""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """The place at which it is read."""
        return self._file.tell()

    def fileno(self) -> int:
        """Of the file that is open."""
        return self._file.fileno()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
