"""Where messages come from: a broker that keeps them in order, and gives those after a position."""

from __future__ import annotations

from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from ...errors import Error, OptionError

WAIT = 0.2  # seconds that a broker waits for the next message
MOST_MESSAGES = 1000  # that are read at once


class SourceError(Error):
    """A broker does not answer as it should. Worth to try again."""


class LostMessages(SourceError):
    """A broker no longer has the next messages: to continue would leave them out."""


class Message(NamedTuple):
    """One message."""

    position: str  # its position; reading continues after it
    time: int  # when the broker got it, in microseconds since 1970
    value: bytes


class Source(Protocol):
    """Messages of one broker, in one order."""

    name: str  # what logs call it, without the broker's address: brokers move

    async def read(self, after: str | None, most: int = MOST_MESSAGES) -> list[Message]:
        """The messages after a position, or the oldest ones; waits a little for the first."""

    async def whole(self) -> bool:
        """Whether the broker still has all messages that it ever had."""

    async def close(self) -> None:
        """Leave the broker."""


def open_source(url: str) -> Source:
    """The broker's messages that an address stands for: redis://host:port/db?stream=NAME, kafka://host:port/topic."""
    scheme = urlsplit(url).scheme
    try:
        if scheme in ("redis", "rediss", "unix"):
            from .redis_stream import RedisStream  # noqa: PLC0415  (its client is an extra)

            return RedisStream(url)
        if scheme == "kafka":
            from .kafka_topic import KafkaTopic  # noqa: PLC0415  (its client is an extra)

            return KafkaTopic(url)
    except ModuleNotFoundError as error:
        extra = "kafka" if scheme == "kafka" else "redis"
        raise OptionError(f"{scheme}:// needs its client: pip install 'unitless[{extra}]' ({error.name})") from None
    raise OptionError(f"{url!r} is not the address of a broker: it must begin with redis://, rediss:// or kafka://")


def is_broker(address: str) -> bool:
    """Whether an address is one of a broker, not a directory."""
    return "://" in address
