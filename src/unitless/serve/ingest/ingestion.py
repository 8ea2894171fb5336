"""Messages of brokers become records of a stream's log, each exactly once.

A record has the position up to which its broker had been read. So after a crash, reading continues right after the last
message that is in the log: what was not written comes again, and what was written does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from ...errors import OptionError
from ..events import Form, from_broker
from ..live import LiveStream
from ..problems import Problem
from ..settings import Settings
from ..store import ModelStore
from .messages import Bad, Run, runs
from .source import MOST_MESSAGES, LostMessages, Message, Source, SourceError, open_source

_FIRST_WAIT, _LONGEST_WAIT = 0.1, 10.0  # seconds, after a failure

_log = logging.getLogger("unitless.serve")


class Ingestion:
    """One broker's messages, which become records of one stream."""

    def __init__(self, store: ModelStore, name: str, source: Source) -> None:
        self.name, self.source = name, source
        self.taken = self.skipped = 0  # messages, since the start
        self.problem: str | None = None  # why no messages arrive
        self._store = store
        self._after: str | None = None  # the last message that was looked at
        self._told: tuple[LiveStream, str] | None = None

    async def run(self) -> None:
        """Read messages until the task is cancelled or the stream can learn no more."""
        wait = _FIRST_WAIT
        known = False  # where to go on
        while True:
            try:
                live, _ = self._store.find(self.name)
                if not known:
                    self._after, known = live.stream.sources.get(self.source.name), True
                messages = await self.source.read(self._after, live.rows_at_once(MOST_MESSAGES))
                await self._take(live, messages)
                if self.problem is not None:
                    self._tell(live, None)
                wait = _FIRST_WAIT
            except (LostMessages, OptionError) as error:
                self._tell(None, str(error))
                return
            except (SourceError, Problem) as error:
                known = False
                self._tell(None, str(error))
                await asyncio.sleep(wait)
                wait = min(2 * wait, _LONGEST_WAIT)

    async def _take(self, live: LiveStream, messages: list[Message]) -> None:
        for part in runs(messages, live.row_limits):
            if isinstance(part, Bad):
                self.skipped += 1
                self._note(live, f"{self.source.name}: message {part.position} was left out: {part.problem}")
            else:
                await self._write(live, part)
            self._after = part.position

    async def _write(self, live: LiveStream, run: Run) -> None:
        payload = from_broker(self.source.name, run.position, run.lines)
        outcomes = await live.submitted(run.kind, Form.broker, len(run.lines), payload)
        self.taken += len(run.lines)
        refused = [outcome.problem for outcome in outcomes if outcome.problem is not None]
        if refused:
            self._note(live, f"{self.source.name}: a message up to {run.position} was refused: {refused[-1]}")

    def _tell(self, live: LiveStream | None, problem: str | None) -> None:
        """Log once why no messages arrive, or that they arrive again."""
        if problem != self.problem:
            _log.warning("%s", problem or f"messages of {self.source.name} come again")
        self.problem = problem
        if live is None:
            with contextlib.suppress(Problem):
                live, _ = self._store.find(self.name)
        if live is not None:
            self._note(live, problem)

    def _note(self, live: LiveStream, text: str | None) -> None:
        """Replace the note of this broker among the notes of the stream."""
        if self._told is not None and self._told[1] in self._told[0].notes:
            self._told[0].notes.remove(self._told[1])
        self._told = None
        if text is not None:
            live.notes.append(text)
            self._told = live, text


class Ingestions:
    """All brokers of a server, being read."""

    def __init__(self, all: list[Ingestion]) -> None:
        self.all = all
        self._tasks = [asyncio.create_task(one.run()) for one in all]

    async def close(self) -> None:
        """Take no more messages."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for one in self.all:
            await one.source.close()


async def start(store: ModelStore, settings: Settings) -> Ingestions:
    """Begin to read all brokers; models that are not there yet are made."""
    found = []
    for name, url in settings.ingest:
        source = open_source(url)
        try:
            store.find(name)
        except Problem as problem:
            if problem.status == 404:  # else it is not there now, such as a quarantined one
                await _made(store, name)
        found.append(Ingestion(store, name, source))
    return Ingestions(found)


async def _made(store: ModelStore, name: str) -> None:
    try:
        await store.create(name, {})
    except Problem as problem:
        raise OptionError(f"names a model that cannot be made: {problem.detail}", option="ingest") from None
