"""A replica whose log is a broker: every message is a record, in the broker's order.

The state is a function of the messages and their times, as the broker keeps them. So replicas have the same bits as one
another, and the same models as a primary that learns the same messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ...errors import OptionError
from .. import limiting
from ..events import Form, Kind, Record, Row
from ..ingest.messages import event
from ..ingest.source import LostMessages, Message, Source, SourceError, open_source
from ..settings import NAME, Settings
from ..streams import Created, Stream, encoded
from .store import ReplicaStore, ReplicaStream

_FIRST_WAIT, _LONGEST_WAIT = 0.1, 10.0  # seconds, after a failure

_log = logging.getLogger("unitless.serve")


class _Kept:
    """The part of a broker's log that is kept here: the predictions that wait for their labels."""

    bytes = 0
    segments: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self.records: dict[int, Record] = {}

    def forget_before(self, position: int) -> None:
        """Forget what is older: no label needs it."""
        while self.records and (first := next(iter(self.records))) < position:
            del self.records[first]

    def close(self) -> None:
        """There is nothing to close."""


class BrokerReplica(ReplicaStore):
    """Models that learn what a broker has.

    The models are those of the settings `create` and `model`; the first one answers for the stream. Without any
    there is one with the usual options, named by `model` in the address, or like the broker's stream.
    """

    def __init__(self, address: str, settings: Settings) -> None:
        super().__init__(Path(), settings)
        self.source: Source = open_source(address)
        self.skipped = 0  # messages that cannot be read as events
        self.problem: str | None = None  # why no messages arrive
        self._kept = _Kept()
        self._after: str | None = None
        self._ticked = 0
        created = _models(address, self.source, settings)
        created[0].limits = limiting.initial(settings)
        stream = Stream(created[0].name, self._kept.records.__getitem__)
        for one in created:
            stream.apply(Record(0, 0, Kind.create, Form.json, 1, encoded(one), 0, 0))
        self._stream = ReplicaStream(stream, self._kept, settings, self.tallies)
        self.streams[stream.name] = self._stream

    async def begin(self) -> None:
        """Catch up with the broker, if it answers."""
        with contextlib.suppress(SourceError):
            while await self._read():
                await asyncio.sleep(0)

    async def keep_up(self) -> None:
        """Apply new messages, until no more can be taken."""
        wait = _FIRST_WAIT
        while True:
            try:
                await self._read()
                self._tell(None)
                wait = _FIRST_WAIT
            except (LostMessages, OptionError) as error:
                self._tell(str(error))
                return
            except SourceError as error:
                self._tell(str(error))
                await asyncio.sleep(wait)
                wait = min(2 * wait, _LONGEST_WAIT)

    async def drain(self) -> None:
        """Leave the broker."""
        await self.source.close()

    async def _read(self) -> bool:
        """Apply some messages; whether there were any."""
        if self._after is None and not await self.source.whole():
            raise OptionError(
                f"{self.source.name} no longer begins with its first message, which a replica needs; copy the folder "
                "of a server that has learned it, or keep all messages"
            )
        messages = await self.source.read(self._after)
        for message in messages:
            self._after = message.position
            try:
                kind, row = event(message.value, self._stream.row_limits)
            except ValueError as error:
                self._skip(message, error)
            else:
                self._apply(message, kind, row)
        self._stream.apply(())
        return bool(messages)

    def _skip(self, message: Message, error: ValueError) -> None:
        self.skipped += 1
        self._stream.stream.seq += 1  # which stays the number of messages
        self._stream.notes[:] = [f"{self.source.name}: message {message.position} was left out: {error}"]

    def _apply(self, message: Message, kind: Kind, row: Row) -> None:
        """A record for each message, whatever comes together: ids expire by the times of messages."""
        stream = self._stream.stream
        time, position = max(stream.time, message.time), stream.end
        self._expire(time)
        end = position + len(message.value)
        record = Record(stream.seq + 1, time, kind, Form.json, 1, message.value, position, end)
        if kind is Kind.prediction:
            self._kept.records[position] = record
        self._stream.take(record, [row])

    def _expire(self, time: int) -> None:
        """Forget ids as ticks would, whose times are round numbers."""
        every = max(1, round(self.settings.tick * 1e6))
        if time // every == self._ticked:
            return
        self._ticked, now, join = time // every, time // every * every, self._stream.stream.join
        join.expire(now, *self.settings.expired(now), self.settings.max_done)
        oldest = join.oldest_position()
        self._kept.forget_before(self._stream.stream.end if oldest is None else oldest)

    def _tell(self, problem: str | None) -> None:
        if problem == self.problem:
            return
        _log.warning("%s", problem or f"messages of {self.source.name} come again")
        self._stream.notes[:] = [] if problem is None else [problem]
        self.problem = problem


def _models(address: str, source: Source, settings: Settings) -> list[Created]:
    """The models to begin with: the first is the champion."""
    found: list[tuple[str, dict[str, Any], bytes | None]] = [(name, options, None) for name, options in settings.create]
    for name, path in settings.model:
        try:
            found.append((name, {}, path.read_bytes()))
        except OSError as error:
            raise OptionError(f"{path}: {error.strerror}", option="model") from None
    wished = parse_qs(urlsplit(address).query).get("model")
    if not found:
        name = wished[-1] if wished else re.sub(r"[^a-z0-9_-]+", "-", source.name.split(":")[1].lower()).strip("-_")
        found = [(name, {}, None)]
    for name, _, _ in found:
        if not NAME.fullmatch(name):
            raise OptionError(f"{name!r} cannot be the name of a model; add ?model=NAME to the broker's address")
    roles = ["champion", *["challenger"] * (len(found) - 1)]
    return [Created(name, role, options, file) for (name, options, file), role in zip(found, roles, strict=True)]
