"""Messages of a Redis stream: `redis://host:port/db?stream=NAME`, each with its JSON in the field `event`."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from redis.asyncio import Redis
from redis.exceptions import RedisError

from ...errors import OptionError
from .source import MOST_MESSAGES, WAIT, LostMessages, Message, SourceError

FIELD = b"event"


class RedisStream:
    """A Redis stream.

    Args:
        url: `redis://user:password@host:port/db?stream=NAME`; `rediss://` is encrypted. Other parameters go to the
            client.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        query = parse_qs(parts.query)
        names = query.pop("stream", [])
        query.pop("model", None)
        if len(names) != 1:
            raise OptionError(f"{parts.scheme}://{parts.hostname}… does not say which stream: add ?stream=NAME")
        self.name = f"redis:{names[0]}"
        self._stream = names[0].encode()
        self._shown = f"the Redis stream {names[0]!r} at {parts.hostname}:{parts.port or 6379}"
        try:
            self._redis: Redis = Redis.from_url(parts._replace(query=urlencode(query, doseq=True)).geturl())
        except ValueError as error:
            raise OptionError(f"{self._shown} has an address that cannot be used: {error}") from None
        self._reading: asyncio.Future[list[Message]] | None = None

    async def read(self, after: str | None, most: int = MOST_MESSAGES) -> list[Message]:
        """The messages after a position, or the oldest ones."""
        # In a separate task: the client may take a cancellation for a timeout, and then it would be lost.
        self._reading = asyncio.ensure_future(self._read(after, most))
        return await asyncio.shield(self._reading)

    async def _read(self, after: str | None, most: int) -> list[Message]:
        try:
            answer: Any = await self._redis.xread({self._stream: after or "0-0"}, count=most, block=int(WAIT * 1000))
            entries = [entry for _, found in answer or [] for entry in found]
            if after is not None and entries:
                await self._check(after)
        except (RedisError, OSError) as error:
            raise SourceError(f"{self._shown} cannot be read: {error}") from None
        return [_message(name.decode(), fields) for name, fields in entries]

    async def whole(self) -> bool:
        """Whether all messages are there that the stream ever had; Redis knows this from version 7 on."""
        try:
            if not await self._redis.exists(self._stream):
                return True
            facts: Any = await self._redis.xinfo_stream(self._stream)
        except (RedisError, OSError) as error:
            raise SourceError(f"{self._shown} cannot be read: {error}") from None
        return bool(facts.get("entries-added", facts["length"]) == facts["length"])

    async def _check(self, after: str) -> None:
        """That the messages just read are those that followed a position.

        Streams lose their oldest messages first. So none is missing if the one before them is still there.
        """
        facts: Any = await self._redis.xinfo_stream(self._stream)
        deleted = facts.get("max-deleted-entry-id", b"0-0").decode()
        if _place(deleted) > _place(after) or not await self._redis.xrange(self._stream, after, after):
            raise LostMessages(
                f"{self._shown} may have lost messages after {after}, up to which it has been read. Keep more messages "
                "in Redis (XADD … MAXLEN), and start anew with an empty data directory"
            )

    async def close(self) -> None:
        """Leave the broker."""
        if self._reading is not None:
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._redis.aclose()


def _place(position: str) -> tuple[int, int]:
    milliseconds, _, number = position.partition("-")
    return int(milliseconds), int(number or 0)


def _message(position: str, fields: dict[bytes, bytes]) -> Message:
    return Message(position, _place(position)[0] * 1000, fields.get(FIELD, b""))
