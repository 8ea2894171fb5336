"""A stream that another thread reads ahead of time, for example because it must be decompressed."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

from ..threads import prefetched

BLOCK = 1 << 20  # bytes that are read at once
AHEAD = 4  # blocks that are read ahead


class ReadAhead(io.RawIOBase):
    """The bytes of a stream. The caller's thread reads the first block, because often only the beginning is needed.

    Args:
        stream: the stream; after the first block, only the other thread reads it.
        position: returns how far the stored file has been read; called after each block.
        apart: whether there is another thread. The blocks are the same without it.
    """

    def __init__(self, stream: Any, position: Callable[[], int], apart: bool = True) -> None:
        self._stream, self._position, self._apart = stream, position, apart
        self._blocks: Iterator[tuple[bytes, int]] | None = None
        self._block = memoryview(b"")
        self._begun = self._ended = False
        self.consumed = position()  # the position when the current block was read

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return at most this many bytes; none at the end."""
        if size < 0:
            return b"".join(iter(lambda: self.read(BLOCK), b""))
        return bytes(self._taken(size))

    def readinto(self, buffer: Any) -> int:
        room = memoryview(buffer).cast("B")
        taken = self._taken(len(room))
        room[: len(taken)] = taken
        return len(taken)

    def _taken(self, most: int) -> memoryview:
        if not len(self._block) and not self._ended:
            self._next()
        taken, self._block = self._block[:most], self._block[most:]
        return taken

    def _next(self) -> None:
        if not self._begun:
            self._begun = True
            data, self.consumed = self._stream.read(BLOCK), self._position()
        else:
            if self._blocks is None:
                self._blocks = prefetched(self._rest, depth=AHEAD) if self._apart else self._rest()
            data, self.consumed = next(self._blocks, (b"", self.consumed))
        self._block, self._ended = memoryview(data), not data

    def _rest(self) -> Iterator[tuple[bytes, int]]:
        while data := self._stream.read(BLOCK):
            yield data, self._position()

    def close(self) -> None:
        """Stop the other thread."""
        blocks, self._blocks, self._ended = self._blocks, None, True
        close = getattr(blocks, "close", None)
        if close is not None:
            close()
        super().close()
