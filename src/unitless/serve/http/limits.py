"""Limits of requests and connections, and the answers to clients that exceed them."""

from __future__ import annotations

from dataclasses import dataclass

from ..problems import Problem
from ..settings import Settings

KEEP_ALIVE = 60.0  # seconds that a connection can stay without a request
MOST_OUTSTANDING = 64  # answers that one connection can wait for; with more, its requests are not read
PROGRESS = 64 << 10  # bytes of a long body after which its time begins again
LINGER = 1.0  # seconds in which a client that still sends can read why it was refused
LAST_REQUEST = 0.25  # seconds after the signal to stop in which an arriving request is still accepted


@dataclass(frozen=True)
class Limits:
    """Limits of requests: bytes, seconds and numbers of things."""

    header: int
    body: int
    row: int
    receive: float
    connections: int

    @classmethod
    def of(cls, settings: Settings, connections: int | None = None) -> Limits:
        """The limits that the settings give."""
        most = settings.max_connections if connections is None else min(connections, settings.max_connections)
        return cls(settings.max_header, settings.max_body, settings.max_row_bytes, settings.receive_timeout, most)

    def header_too_large(self) -> Problem:
        """The head of a request is too large."""
        return Problem(431, "the head is too large", f"The head of a request can have {self.header:,} bytes.")

    def body_too_large(self) -> Problem:
        """The body of a request is too large."""
        return Problem(
            413, "the body is too large", f"A request can have {self.body:,} bytes. Send the rows in several requests."
        )

    def too_slow(self) -> Problem:
        """A request does not arrive."""
        return Problem(408, "the request is too slow", f"It did not arrive within {self.receive:g} seconds.")

    def too_many(self) -> Problem:
        """There are too many connections."""
        return Problem(
            503, "too many connections", f"There are {self.connections:,} already. Try again later.", retry_after=1
        )
