"""Server-sent events: what happens in a stream, for every connection that reads them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import msgspec

KEEP_ALIVE = 15.0  # seconds without an event after which a comment is sent, so that proxies keep the connection
HELD = 64  # events that wait for one slow reader; with more, that reader loses the oldest


class _Reader:
    """One connection: what was not sent to it yet."""

    __slots__ = ("waiting", "woken")

    def __init__(self) -> None:
        self.waiting: deque[bytes] = deque(maxlen=HELD)
        self.woken = asyncio.Event()


class Broadcast:
    """Events for any number of readers. Each event is encoded once; without readers it costs nothing.

    All methods are called in the server's event loop.
    """

    def __init__(self) -> None:
        self._readers: set[_Reader] = set()
        self._closed = False

    @property
    def has_readers(self) -> bool:
        """Whether there are readers."""
        return bool(self._readers)

    def send(self, event: str, data: Any) -> None:
        """Send an event to every reader, without waiting."""
        if not self._readers:
            return
        encoded = b"event: %s\ndata: %s\n\n" % (event.encode(), msgspec.json.encode(data))
        for reader in self._readers:
            reader.waiting.append(encoded)
            reader.woken.set()

    def close(self) -> None:
        """End every connection after its waiting events."""
        self._closed = True
        for reader in self._readers:
            reader.woken.set()

    async def events(self) -> AsyncIterator[bytes]:
        """The bytes that one connection gets, from now until it ends: the body of `GET /v1/models/{name}/events`.

        Events: `moment` each second, `example` at most five times a second, `models` when one joins, leaves or is
        promoted, `note` with a text.
        """
        reader = _Reader()
        self._readers.add(reader)
        try:
            yield b": events follow\n\n"  # the reader knows that it misses nothing from here on
            while True:
                try:
                    await asyncio.wait_for(reader.woken.wait(), KEEP_ALIVE)
                except asyncio.TimeoutError:
                    yield b": nothing new\n\n"
                    continue
                reader.woken.clear()
                if reader.waiting:
                    sent = b"".join(reader.waiting)
                    reader.waiting.clear()
                    yield sent
                if self._closed:
                    return
        finally:
            self._readers.discard(reader)
