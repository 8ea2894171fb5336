"""What all replicas share: they predict, and send those who want more to the primary."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from ..events import Record
from ..house import House
from ..live import LiveStream
from ..problems import Problem
from ..settings import Settings
from ..streams import Stream
from ..tallies import Tallies

_NO_SYNCER: Any = None  # replicas write nothing


def _refuse() -> NoReturn:
    raise Problem(403, "this is a follower", "it only predicts; send this to the primary")


class FollowedStream(LiveStream):
    """A stream whose records others write.

    Args:
        stream: its state so far.
        log: what there is to say about the log.
        settings: of the server.
        server: what the whole server counts.
    """

    def __init__(self, stream: Stream, log: Any, settings: Settings, server: Tallies) -> None:
        self.log: Any
        self.lag: float | None = None  # seconds from the last record's time until it was applied here
        super().__init__(stream, log, settings, _NO_SYNCER, server)

    @property
    def synced_seq(self) -> int:
        """What was written before it was read."""
        return self.stream.seq

    def submit(self, *_: Any, **__: Any) -> None:
        """Refuse: this is a follower."""
        _refuse()

    def follow(self, records: Iterable[Record]) -> None:
        """Apply what others have written."""
        for record in records:
            self._observed(record, self.stream.apply(record))
            self.lag = max(0.0, time.time() - record.time / 1e6)
        self._wake()

    def _observed(self, record: Record, outcomes: list[Any]) -> None:
        for outcome in outcomes:
            status = outcome.status if outcome.problem is None else str(outcome.problem.status)
            self.events[record.kind.name, status] += 1 if outcome.lines is None else record.rows

    def tick(self) -> None:
        """The primary writes down that time passes."""

    async def drain(self) -> None:
        """There is nothing on its way."""


class ReplicaHouse(House):
    """Streams that others write.

    Args:
        folder: of the primary; of a broker, none.
        settings: of the server.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        super().__init__(folder, settings, io.BytesIO())  # no lock: nobody is kept out

    async def create(self, name: str, body: dict[str, Any], model: bytes | None = None) -> bool:
        """Refuse: this is a follower."""
        _refuse()

    async def promote(self, name: str) -> None:
        """Refuse: this is a follower."""
        _refuse()

    async def delete(self, name: str) -> None:
        """Refuse: this is a follower."""
        _refuse()

    async def begin(self) -> None:
        """Come to the state of this moment."""
        raise NotImplementedError

    async def run(self) -> None:
        """Follow until it is cancelled."""
        raise NotImplementedError
