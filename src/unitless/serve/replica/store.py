"""What all replicas share: they predict, and refuse everything that the primary does."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ..events import OF_ROWS, AnyRow, Form, Record, rows_of
from ..live import LiveStream
from ..problems import Problem
from ..served.vw import VwText
from ..settings import Settings
from ..store import ModelStore
from ..streams import Stream
from ..tallies import Tallies
from ..watching import Watch

_NO_DISK: Any = None  # replicas write nothing


def _refuse() -> NoReturn:
    raise Problem(403, "this is a replica", "it only predicts; send this to the primary")


class ReplicaStream(LiveStream):
    """A stream whose records others write.

    Args:
        stream: its state so far.
        log: the state of the log.
        settings: of the server.
        server: what the whole server counts.
    """

    def __init__(self, stream: Stream, log: Any, settings: Settings, server: Tallies) -> None:
        self.log: Any
        super().__init__(stream, log, settings, _NO_DISK, server)

    def begin_again(self, stream: Stream, log: Any) -> None:
        """Go on from another state."""
        self.log.close()
        self.stream, self.log = stream, log
        self._watch = Watch(stream, self.moments, self.tallies)
        self.notes.clear()

    @property
    def synced_seq(self) -> int:
        """What was written before it was read."""
        return self.stream.seq

    def submit(self, *_: Any, **__: Any) -> None:
        """Refuse: this is a replica."""
        _refuse()

    def apply(self, records: Iterable[Record]) -> None:
        """Apply what others have written."""
        for record in records:
            self.take(record)
        self._wake()

    def take(self, record: Record, rows: Sequence[AnyRow] | None = None) -> None:
        """Apply one record; the rows are those of the record, if they have been read already."""
        self.lag = max(0.0, time.time() - record.time / 1e6)
        given: Sequence[AnyRow] | VwText | None = rows
        if rows is None and record.kind in OF_ROWS:
            given = VwText(record.payload) if record.form is Form.vw else rows_of(record)
        shown = self._watch.shown(record.kind, given) if self.moments.wants_example else None
        self._watch.observe(record.kind, record, self.stream.apply(record, given), shown)

    def tick(self) -> None:
        """The primary writes down that time passes."""

    async def drain(self) -> None:
        """There is nothing to wait for."""


class ReplicaStore(ModelStore):
    """Streams that others write.

    Args:
        folder: of the primary; of a broker, none.
        settings: of the server.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        super().__init__(folder, settings, io.BytesIO())  # no lock: it writes nothing

    def troubles(self) -> dict[str, str]:
        """None: it writes nothing."""
        return {}

    async def _refuse(self, *_: Any) -> NoReturn:
        _refuse()

    create = replay = promote = delete = _refuse  # type: ignore[assignment]

    async def begin(self) -> None:
        """Catch up with the source."""
        raise NotImplementedError

    async def keep_up(self) -> None:
        """Apply what others write, as it comes."""
        raise NotImplementedError

    async def run(self) -> None:
        """Apply what others write until it is cancelled."""
        await asyncio.gather(self.keep_up(), self.keep_time())
