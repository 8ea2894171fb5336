"""A stream in service. Requests become records, which are written in groups, applied, flushed to disk, and answered.

Everything runs in the event loop, except for the wait for the disk, which needs a thread. Requests that arrive during
that wait form the next group.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from ..errors import InputError
from ..presentation.shown import short
from . import limiting
from .events import OF_ROWS, AnyRow, Choice, Form, Kind, Record
from .log import Log, LogError
from .moments import Moments
from .problems import Problem, unexpected
from .row_limits import RowLimits
from .served import Prediction, ServedModel
from .served.vw import VwText
from .settings import Settings
from .streams import Outcome, Refused, Stream, encoded
from .tallies import StreamTallies, Tallies
from .watching import Watch
from .wire import LogState

_REGULATED = 0.05  # seconds between checks of the size of models
_AT_ONCE = 0.02  # seconds of learning before other requests are answered
_REASON = 200  # characters of a reason in the log
_MOST_UNSYNCED = 4 << 20  # bytes that no answer waits for: a new log file must wait for them
Answer: TypeAlias = Callable[["list[Outcome] | Problem"], None]
Given: TypeAlias = "Sequence[AnyRow] | VwText | None"  # rows that have been parsed

_log = logging.getLogger("unitless.serve")


class _Pending(NamedTuple):
    kind: Kind
    form: Form
    rows: int
    payload: bytes
    given: Given
    answer: Answer
    payload_later: Callable[[], bytes] | None = None  # computed after all earlier records were applied


class LiveStream:
    """A stream, its log, and the requests that wait.

    Args:
        stream: its state at the end of the log.
        log: the log that gets the records.
        settings: of the server.
        disk: the thread that flushes logs to disk.
        server: counters of the whole server.
    """

    def __init__(self, stream: Stream, log: Log, settings: Settings, disk: Executor, server: Tallies) -> None:
        self.stream, self.log, self.settings = stream, log, settings
        self.row_limits = RowLimits(settings)
        self.moments = Moments(stream.champion)
        self.tallies, self._server = StreamTallies(), server
        self._watch = Watch(stream, self.moments, self.tallies)
        self.snapshot_seq = 0
        self.lag: float | None = None  # on a replica: seconds between the time of the last record and its application
        self.notes: list[str] = []
        self.replaying: dict[str, float] = {}  # models that learn from history, and their progress
        self.failure: str | None = None  # why the stream can learn no more rows
        self.trouble: str | None = None  # why the stream cannot learn rows now; it tries again
        self.is_being_deleted = False  # requests that found the stream before are refused from now on
        self._disk = disk
        self._safe = settings.durability == "disk"
        self._queue: list[_Pending] = []
        self._queued = self._held_rows = 0
        self._held: deque[tuple[int, int, Answer, list[Outcome]]] = deque()  # answers that wait for the disk
        self._scheduled = self._syncing = False
        self._synced_seq = stream.seq
        self._last_tick = stream.seq
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._next_look = 0.0  # when the size of models is checked again
        self._full: str | None = None  # why a bandit makes no more decisions
        self._row_seconds = _AT_ONCE  # seconds that the latest rows took to learn; at first a guess

    # ------------------------------------------------------------------------------------------------ reading

    @property
    def name(self) -> str:
        """The name of the stream."""
        return self.stream.name

    @property
    def synced_seq(self) -> int:
        """The last record that is on disk; without durability "disk", the last record."""
        return self._synced_seq if self._safe else self.stream.seq

    @property
    def queue(self) -> int:
        """The number of rows that wait to be learned or for the disk."""
        return self._queued + self._held_rows

    def model(self, name: str | None = None) -> ServedModel:
        """One of its models; the champion if no other is named.

        Raises:
            Problem: 404 if the model does not exist; it may have been deleted during the request.
        """
        found = self.stream.models.get(name or self.stream.champion)
        if found is None:
            raise Problem(404, "no such model", f"the model {name!r} was deleted meanwhile")
        return found

    def predict(self, features: Any, model: str | None = None, level: float | None = None) -> Prediction:
        """Predict a row at once, without writing a record."""
        if features is None:
            raise InputError("there are no features")
        served = self.model(model)
        self.tallies.predicted += 1
        return served.predict(features, level)

    def propensities(self, choice: Choice) -> dict[Any, float]:
        """With which probability each action would be chosen now, without writing a record."""
        actions: Any = choice.actions
        return self.stream.checked_bandit().bandit.propensities(choice.context, actions)

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

    def submit(self, kind: Kind, form: Form, rows: int, payload: bytes, answer: Answer, given: Given = None) -> None:
        """Accept a request. `answer` is called when its record is applied and, with durability "disk", on disk.

        Args:
            kind: the kind of the record.
            form: the format of the rows.
            rows: the number of rows.
            payload: the rows as the log stores them.
            answer: called in the event loop, with an outcome for each row or one problem for all rows.
            given: the rows, if they have been parsed already.

        Raises:
            Problem: too many rows wait, the disk failed, or the stream is being deleted.
        """
        self._check_open()
        if self.queue + rows > self.settings.queue and self.queue:
            detail = f"{self.queue:,} rows wait to be learned; send them more slowly"
            raise Problem(429, "too many requests", detail, retry_after=1)
        if kind is Kind.prediction and len(self.stream.join) + rows > self.settings.max_pending:
            detail = f"{len(self.stream.join):,} predictions wait for their labels, which is the most that can"
            raise Problem(429, "too many wait for labels", detail, retry_after=60)
        if kind is Kind.rank and self._full is not None:
            raise Problem(429, "the bandit is full", self._full, retry_after=60)
        self._queue.append(_Pending(kind, form, rows, payload, given, answer))
        self._queued += rows
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._commit)

    async def submitted(self, kind: Kind, form: Form, rows: int, payload: bytes, given: Given = None) -> list[Outcome]:
        """Accept a request and wait for its outcomes, see `submit`."""
        future: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self.submit(kind, form, rows, payload, partial(_settle, future), given)
        return await future

    async def settled(self, kind: Kind, payload: Callable[[], bytes]) -> list[Outcome]:
        """Write a record whose content depends on all records before it."""
        self._check_open()
        future: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self._write_after_queue(kind, payload, partial(_settle, future))
        return await future

    def _check_open(self) -> None:
        """Refuse a record that the log will not take."""
        if self.is_being_deleted:
            raise Problem(404, "no such model", f"the stream {self.name!r} was deleted meanwhile")
        if self.failure is not None:
            raise Problem(503, "the log has failed", self.failure)

    def rows_at_once(self, most: int) -> int:
        """The number of rows per record that lets other requests be answered soon."""
        return max(1, min(most, int(_AT_ONCE / self._row_seconds)))

    def _write_after_queue(self, kind: Kind, payload: Callable[[], bytes], answer: Answer) -> None:
        self._queue.append(_Pending(kind, Form.json, 1, b"", None, answer, payload))
        self._queued += 1
        if len(self._queue) == 1:  # otherwise a commit is already scheduled
            self._commit()

    def _commit(self) -> None:
        """Write the waiting requests as one group and apply it. What would take too long forms the next group."""
        self._scheduled = False
        group = self._next_group()
        if not group:
            return
        if (moment := time.monotonic()) >= self._next_look:
            self._next_look = moment + _REGULATED
            self._full = limiting.full(self.stream, self.settings)
            limits = limiting.renewed(self.stream, self.settings)
            if limits is not None:
                group.insert(0, _Pending(Kind.limits, Form.json, 1, encoded(limits), None, _nobody))
        now = max(self.stream.time, time.time_ns() // 1000)
        try:
            records = self.log.append([(one.kind, one.form, one.rows, one.payload) for one in group], now)
        except (OSError, LogError) as error:
            self._refuse(group, error)
            return
        self.trouble = None
        began = time.perf_counter()
        refused: dict[int, str] = {}
        for place, record in enumerate(records):
            try:
                refused |= self._applied(group[place], record)
            except (OSError, LogError, MemoryError) as error:
                self._fail(group[place:], error)
                break
        if refused and self.failure is None:
            self._report(refused, now)
        seconds = (time.perf_counter() - began) / sum(one.rows for one in group)
        self._row_seconds += (seconds - self._row_seconds) / 4
        if not self._syncing and (self._held or self.log.end - self.log.synced_end > _MOST_UNSYNCED):
            self._sync()
        if self._waiters:
            self._wake()

    def _next_group(self) -> list[_Pending]:
        """The first requests of the queue that can be learned soon. One with `payload_later` forms its own group."""
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

    def _report(self, refused: dict[int, str], now: int) -> None:
        """Write which rows of a group were refused, for readers of the log. The state does not depend on it."""
        try:
            (record,) = self.log.append([(Kind.refused, Form.json, 1, encoded(Refused(refused)))], now)
            self.stream.apply(record)
        except LogError as error:
            self.failure = str(error)
        except OSError:
            _log.exception("which rows were refused could not be written")

    def _applied(self, one: _Pending, record: Record) -> dict[int, str]:
        """Apply a record and answer its request; return the rows that were refused, with the reasons."""
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
        return {} if record.kind not in OF_ROWS else _refused_rows(record, outcomes)

    def _refuse(self, group: list[_Pending], error: Exception) -> None:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        if isinstance(error, LogError):
            self.failure = str(error)
        title = "the disk is full" if full else "the log cannot be written"
        self.trouble = f"{title}: {error}"
        problem = Problem(503, title, f"nothing was learned: {error}", retry_after=5)
        for one in group:
            _tell(one.answer, problem)

    def _fail(self, group: list[_Pending], error: Exception) -> None:
        """Stop learning: records were written, but their effect is unknown because the log could not be read."""
        reason = str(error) or type(error).__name__
        self.failure = f"what was written could not be learned ({reason}); start the server again, which learns it"
        for one in group:
            one.answer(Problem(503, "the log has failed", self.failure))

    def _sync(self) -> None:
        self._syncing = True
        end, seq, began = self.log.end, self.stream.seq, time.perf_counter()
        synced = asyncio.get_running_loop().run_in_executor(self._disk, self.log.sync)
        synced.add_done_callback(lambda done: self._synced(end, seq, began, done.exception()))

    def _synced(self, end: int, seq: int, began: float, error: BaseException | None) -> None:
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
        """Write a tick if the stream changed or ids wait, or to check whether a problem of the disk is over."""
        bandit = self.stream.bandit
        waits = len(self.stream.join) or (bandit is not None and bandit.bandit.pending and bandit.bandit.time_limit)
        idle = self.stream.seq == self._last_tick and not waits and self.trouble is None
        if idle or self.failure is not None or self.is_being_deleted:  # its log may be closed before a sync
            return
        if not any(one.kind is Kind.tick for one in self._queue):
            self._write_after_queue(Kind.tick, self._ticked, _nobody)

    def _ticked(self) -> bytes:
        return self.stream.ticked(*self.settings.expired(time.time_ns() // 1000), self.settings.max_done)

    def beat(self, now: float) -> None:
        """Send the moment of the last second to the readers of events."""
        total_loss = self._watch.beat()
        self.moments.tick(now, total_loss, self._watch.scale_growth(now), self.standing, self._watch.policies())

    def standing(self) -> dict[str, Any]:
        """The state of the stream in a few numbers."""
        return {
            "examples": self.model().examples,
            "waiting": self.stream.waiting,
            "predicted": self.tallies.predicted,
            "queue": self.queue,
            "log": self.log_state(),
            "models": self._watch.models(time.time()),
            "replaying": self.replaying,
            "bandit": None if self.stream.bandit is None else self.stream.bandit.describe(),
        }

    def log_state(self) -> LogState:
        """The state of the log; its lag is the number of records that may not be on disk."""
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
        """Wait until all accepted requests are answered and on disk."""
        while self._queue or self._held or self._syncing:
            await asyncio.sleep(0.001)
        if self.failure is None and not self.log.synced_end >= self.log.end:
            await asyncio.to_thread(self.log.sync)

    def close(self) -> None:
        """Close the log."""
        self.moments.close()
        self.log.close()


def _refused_rows(record: Record, outcomes: list[Outcome]) -> dict[int, str]:
    """The rows of a record that were refused, by sequence number, with short reasons."""
    found = {one.seq: str(one.problem) for one in outcomes if one.problem is not None}
    for one in outcomes:
        if one.lines is not None and one.model in one.lines:
            found |= {record.seq + row: reason for row, reason in one.lines[one.model].problems.items()}
    return {seq: short(reason, _REASON) for seq, reason in found.items()}


def _with_payload(one: _Pending) -> list[_Pending]:
    """The group of one request whose payload is computed now; empty if that fails."""
    assert one.payload_later is not None
    try:
        return [one._replace(payload=one.payload_later())]
    except Exception as error:
        if not isinstance(error, Problem):
            _log.exception("a record could not be made")
            error = unexpected()
        _tell(one.answer, error)
        return []


def _tell(answer: Answer, found: list[Outcome] | Problem) -> None:
    """Call `answer`. An error in it must not prevent the other requests of the group from being learned."""
    try:
        answer(found)
    except Exception:
        _log.exception("an answer could not be given")
        with contextlib.suppress(Exception):
            answer(unexpected("The row may have been learned. See the server's log."))


def _settle(future: asyncio.Future[list[Outcome]], found: list[Outcome] | Problem) -> None:
    if future.cancelled():
        return
    if isinstance(found, Problem):
        future.set_exception(found)
    else:
        future.set_result(found)


def _nobody(_: list[Outcome] | Problem) -> None:
    """Ignore the outcome of a record that the server made itself."""
