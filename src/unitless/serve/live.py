"""A stream in service. Requests become records: written in groups, applied, brought to the disk, then answered.

All of it runs in the event loop; only waiting for the disk happens in a thread. Requests that come while the disk works
are the next group.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from ..errors import InputError
from . import limiting
from .events import Form, Kind, Record, Row
from .log import Log, LogError, Syncer
from .moments import Moments
from .problems import Problem
from .row_limits import RowLimits
from .served import Said, ServedModel
from .served.vw import VwText
from .settings import Settings
from .streams import Outcome, Stream, limits_payload
from .tallies import StreamTallies, Tallies
from .watching import Watch

_REGULATED = 0.05  # seconds between two looks at how large the models are
_AT_ONCE = 0.02  # seconds in which rows are learned before others have their turn
_MOST_UNSYNCED = 4 << 20  # bytes that nobody waits for: a new file of the log has to wait until they are on the disk
Answer: TypeAlias = Callable[["list[Outcome] | Problem"], None]

_log = logging.getLogger("unitless.serve")


class _Asked(NamedTuple):
    kind: Kind
    form: Form
    rows: int
    payload: bytes
    given: list[Row] | VwText | None
    answer: Answer
    payload_later: Callable[[], bytes] | None = None  # makes the payload after all records before it were applied


class LiveStream:
    """A stream, its log, and the requests on their way.

    Args:
        stream: in the state of the log's end.
        log: to append to.
        settings: of the server.
        syncer: brings logs to the disk.
        server: what the whole server counts.
    """

    def __init__(self, stream: Stream, log: Log, settings: Settings, syncer: Syncer, server: Tallies) -> None:
        self.stream, self.log, self.settings = stream, log, settings
        self.row_limits = RowLimits(settings)
        self.moments = Moments(stream.champion)
        self.tallies, self._server = StreamTallies(), server
        self._watch = Watch(stream, self.moments, self.tallies)
        self.events = self._watch.events
        self.snapshot_seq = 0
        self.lag: float | None = None  # of a replica: seconds from the last record's time until it was applied
        self.notes: list[str] = []
        self.replaying: dict[str, float] = {}  # models that learn from history, and how far they are
        self.failure: str | None = None  # why nothing more can be learned
        self.trouble: str | None = None  # why nothing can be learned now; it is tried again
        self._syncer = syncer
        self._safe = settings.durability == "disk"
        self._queue: list[_Asked] = []
        self._queued = self._held_rows = 0
        self._held: deque[tuple[int, int, Answer, list[Outcome]]] = deque()  # to be answered when they are on the disk
        self._scheduled = self._syncing = False
        self._synced_seq = stream.seq
        self._last_tick = stream.seq
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._next_look = 0.0  # at how large the models are
        self._row_seconds = _AT_ONCE  # that a row took to be learned lately; nothing is known yet

    # ------------------------------------------------------------------------------------------------ reading

    @property
    def name(self) -> str:
        """The name of the stream."""
        return self.stream.name

    @property
    def synced_seq(self) -> int:
        """Up to which record the log is on the disk; without durability "disk", as far as was asked for."""
        return self._synced_seq if self._safe else self.stream.seq

    @property
    def queue(self) -> int:
        """How many rows wait to be learned, or for the disk."""
        return self._queued + self._held_rows

    def model(self, name: str | None = None) -> ServedModel:
        """One of its models; the champion if no other is named.

        Raises:
            Problem: 404 if the model was deleted, such as during the request that asks for it.
        """
        found = self.stream.models.get(name or self.stream.champion)
        if found is None:
            raise Problem(404, "no such model", f"the model {name!r} was deleted meanwhile")
        return found

    def predict(self, features: Any, model: str | None = None, level: float | None = None) -> Said:
        """What a model says of a row, now. Nothing is written."""
        if features is None:
            raise InputError("there are no features")
        served = self.model(model)
        self.tallies.predicted += 1
        return served.predict(features, level)

    async def reached(self, seq: int, patience: float = 5.0) -> None:
        """Wait until a record has been applied."""
        if self.stream.seq >= seq:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append((seq, waiter))
        try:
            await asyncio.wait_for(waiter, patience)
        except asyncio.TimeoutError:
            detail = f"record {seq:,} has not come; the last one is {self.stream.seq:,}"
            raise Problem(503, "not there yet", detail, retry_after=1) from None
        finally:
            self._waiters = [one for one in self._waiters if one[1] is not waiter]

    # ------------------------------------------------------------------------------------------------ writing

    def submit(
        self, kind: Kind, form: Form, rows: int, payload: bytes, answer: Answer, given: list[Row] | VwText | None = None
    ) -> None:
        """Take a request. The answer comes when its record is written and applied and, if that was promised, on disk.

        Args:
            kind: what happened.
            form: how the rows are written.
            rows: how many there are.
            payload: the rows, as they go to the log.
            answer: called in the event loop, with an outcome for each row or one problem for all.
            given: the rows, if they have been read already.

        Raises:
            Problem: too many rows wait, or the disk failed.
        """
        if self.failure is not None:
            raise Problem(503, "the log has failed", self.failure)
        if self.queue + rows > self.settings.queue and self.queue:
            detail = f"{self.queue:,} rows wait to be learned; send them more slowly"
            raise Problem(429, "too many requests", detail, retry_after=1)
        if kind is Kind.prediction and len(self.stream.join) + rows > self.settings.max_pending:
            detail = f"{len(self.stream.join):,} predictions wait for their labels, which is the most that can"
            raise Problem(429, "too many wait for labels", detail, retry_after=60)
        self._queue.append(_Asked(kind, form, rows, payload, given, answer))
        self._queued += rows
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._commit)

    async def submitted(
        self, kind: Kind, form: Form, rows: int, payload: bytes, given: list[Row] | VwText | None = None
    ) -> list[Outcome]:
        """The same, for those who can wait."""
        future: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self.submit(kind, form, rows, payload, partial(_settle, future), given)
        return await future

    async def settled(self, kind: Kind, payload: Callable[[], bytes]) -> list[Outcome]:
        """Write a record whose content depends on all records before it."""
        if self.failure is not None:
            raise Problem(503, "the log has failed", self.failure)
        future: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self._write_after_queue(kind, payload, partial(_settle, future))
        return await future

    def rows_at_once(self, most: int) -> int:
        """How many rows one record can have, so that others are answered soon."""
        return max(1, min(most, int(_AT_ONCE / self._row_seconds)))

    def _write_after_queue(self, kind: Kind, payload: Callable[[], bytes], answer: Answer) -> None:
        self._queue.append(_Asked(kind, Form.json, 1, b"", None, answer, payload))
        self._queued += 1
        if len(self._queue) == 1:  # else a commit is scheduled already
            self._commit()

    def _commit(self) -> None:
        """Write what waits as one group, then apply it. What would take too long is the next group."""
        self._scheduled = False
        group = self._next_group()
        if not group:
            return
        if (moment := time.monotonic()) >= self._next_look:
            self._next_look = moment + _REGULATED
            limits = limiting.renewed(self.stream, self.settings)
            if limits is not None:
                group.insert(0, _Asked(Kind.limits, Form.json, 1, limits_payload(limits), None, _nobody))
        now = max(self.stream.time, time.time_ns() // 1000)
        try:
            records = self.log.append([(one.kind, one.form, one.rows, one.payload) for one in group], now)
        except (OSError, LogError) as error:
            self._refuse(group, error)
            return
        self.trouble = None
        began = time.perf_counter()
        for place, record in enumerate(records):
            try:
                self._applied(group[place], record)
            except (OSError, LogError, MemoryError) as error:
                self._fail(group[place:], error)
                break
        seconds = (time.perf_counter() - began) / sum(one.rows for one in group)
        self._row_seconds += (seconds - self._row_seconds) / 4
        if not self._syncing and (self._held or self.log.end - self.log.synced_end > _MOST_UNSYNCED):
            self._sync()
        if self._waiters:
            self._wake()

    def _next_group(self) -> list[_Asked]:
        """The first of the queue, as many as are learned soon. What has `payload_later` is a group of its own."""
        queue, most = self._queue, self.rows_at_once(1 << 30)
        count = rows = 0
        for one in queue:
            if count and (rows + one.rows > most or one.payload_later or queue[0].payload_later):
                break
            rows += one.rows
            count += 1
        self._queue, self._queued = queue[count:], self._queued - rows
        if self._queue:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._commit)
        return _with_payload(queue[0]) if queue and queue[0].payload_later else queue[:count]

    def _applied(self, one: _Asked, record: Record) -> None:
        shown = self._watch.shown(one.kind, one.given) if self.moments.wants_example else None
        outcomes = self.stream.apply(record, one.given)
        if one.kind is Kind.tick:
            self._last_tick = self.stream.seq
        self._watch.observe(one.kind, record, outcomes, shown)
        if self._safe and one.kind is not Kind.prediction:
            self._held.append((record.end, record.rows, one.answer, outcomes))
            self._held_rows += record.rows
        else:
            _tell(one.answer, outcomes)

    def _refuse(self, group: list[_Asked], error: Exception) -> None:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        if isinstance(error, LogError):
            self.failure = str(error)
        title = "the disk is full" if full else "the log cannot be written"
        self.trouble = f"{title}: {error}"
        problem = Problem(503, title, f"nothing was learned: {error}", retry_after=5)
        for one in group:
            _tell(one.answer, problem)

    def _fail(self, group: list[_Asked], error: Exception) -> None:
        """Records are written, but what they come to cannot be known without the rest of the log."""
        reason = str(error) or type(error).__name__
        self.failure = f"what was written could not be learned ({reason}); start the server again, which learns it"
        for one in group:
            one.answer(Problem(503, "the log has failed", self.failure))

    def _sync(self) -> None:
        self._syncing = True
        loop, end, seq, began = asyncio.get_running_loop(), self.log.end, self.stream.seq, time.perf_counter()

        def done(error: OSError | None) -> None:
            loop.call_soon_threadsafe(self._synced, end, seq, began, error)

        self._syncer.sync(self.log, end, done)

    def _synced(self, end: int, seq: int, began: float, error: OSError | None) -> None:
        self._syncing = False
        self._server.sync_seconds.observe(time.perf_counter() - began)
        problem: Problem | None = None
        if error is not None:
            self.failure = f"what was written may not be on the disk ({error}); see to the disk, then start again"
            problem = Problem(503, "the log has failed", self.failure)
            end = self.log.end
        else:
            self._synced_seq = seq
        while self._held and self._held[0][0] <= end:
            _, rows, answer, outcomes = self._held.popleft()
            self._held_rows -= rows
            _tell(answer, outcomes if problem is None else problem)
        if self._held:
            self._sync()

    # ------------------------------------------------------------------------------------------------ time

    def tick(self) -> None:
        """Time has passed: write it down, if anything has happened or waits, or to see whether trouble has passed."""
        idle = self.stream.seq == self._last_tick and not len(self.stream.join) and self.trouble is None
        if self.failure is not None or idle:
            return
        if not any(one.kind is Kind.tick for one in self._queue):
            self._write_after_queue(Kind.tick, self._ticked, _nobody)

    def _ticked(self) -> bytes:
        now, settings = time.time_ns() // 1000, self.settings
        waiting, done = (now - round(seconds * 1e6) for seconds in (settings.label_wait, settings.id_window))
        return self.stream.ticked(waiting, done, settings.max_done)

    def beat(self, now: float) -> None:
        """A second has passed: tell those who look how it was."""
        total_loss = self._watch.beat()
        self.moments.tick(now, total_loss, self._watch.scale_growth(now), self.standing)

    def standing(self) -> dict[str, Any]:
        """How the stream stands, in few numbers."""
        return {
            "examples": self.model().examples,
            "waiting": len(self.stream.join),
            "predicted": self.tallies.predicted,
            "queue": self.queue,
            "log": self.log_state(),
            "models": self._watch.models(time.time()),
            "replaying": self.replaying,
        }

    def log_state(self) -> dict[str, int]:
        """How far the log is; its lag is how many records are not known to be on the disk."""
        return {
            "seq": self.stream.seq,
            "synced_seq": self.synced_seq,
            "snapshot_seq": self.snapshot_seq,
            "bytes": self.log.bytes,
            "segments": len(self.log.segments),
            "lag": self.stream.seq - self.synced_seq,
        }

    def _wake(self) -> None:
        for seq, waiter in self._waiters:
            if seq <= self.stream.seq and not waiter.done():
                waiter.set_result(None)

    # ------------------------------------------------------------------------------------------------ the end

    async def drain(self) -> None:
        """Wait until all that was taken is answered, and on the disk."""
        while self._queue or self._held or self._syncing:
            await asyncio.sleep(0.001)
        if self.failure is None and not self.log.synced_end >= self.log.end:
            await asyncio.to_thread(self.log.sync)

    def close(self) -> None:
        """Close the log."""
        self.moments.close()
        self.log.close()


def _with_payload(one: _Asked) -> list[_Asked]:
    """A group of one request, whose payload is computed now; without it if that fails."""
    assert one.payload_later is not None
    try:
        return [one._replace(payload=one.payload_later())]
    except Exception as error:
        if not isinstance(error, Problem):
            _log.exception("a record could not be made")
            error = Problem(500, "an error of the server", "Its log says more.")
        _tell(one.answer, error)
        return []


def _tell(answer: Answer, found: list[Outcome] | Problem) -> None:
    """Give an answer. One that cannot be given must not keep the others of its group from being learned."""
    try:
        answer(found)
    except Exception:
        _log.exception("an answer could not be given")
        with contextlib.suppress(Exception):
            answer(Problem(500, "an error of the server", "The row may have been learned. The server's log says more."))


def _settle(future: asyncio.Future[list[Outcome]], found: list[Outcome] | Problem) -> None:
    if future.cancelled():
        return
    if isinstance(found, Problem):
        future.set_exception(found)
    else:
        future.set_result(found)


def _nobody(_: list[Outcome] | Problem) -> None:
    """Nobody waits for the answer."""
