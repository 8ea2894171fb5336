"""Requests of many rows: taken in slices while the body arrives, answered line by line, in order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from ..events import AnyRow, Form, is_too_deep, reader_of
from ..problems import Problem
from . import rows
from .access import Role, require
from .answering import Answering
from .bodies import PAUSE, Body, Item

if TYPE_CHECKING:
    from ..live import LiveStream
    from ..row_limits import RowLimits
    from ..streams import Outcome

SLICE = 256  # rows of one record, at most
SLICE_BYTES = 64 << 10  # after which a record has no more rows
MOMENT = 0.01  # seconds of work before other requests are answered
IN_FLIGHT = 4  # slices that wait for the disk at the same time
PATIENCE = 30.0  # seconds to wait for a place in the queue


class Batch:
    """One request.

    Args:
        live: the stream.
        model: the one that predicts.
        action: one of `rows.KINDS`.
        role: of the client.
        body: reads the rows.
        answering: makes the lines of the answer.
        held: bytes of answers that are kept for a client which sends all before it reads anything.
    """

    def __init__(
        self, live: LiveStream, model: str, action: str, role: Role, body: Body, answering: Answering, held: int
    ) -> None:
        self._live, self._model, self._action, self._role, self._body = live, model, action, role, body
        self._answering = answering
        self._most = held
        self._count = 0
        self._answers = bytearray()
        self._changed = asyncio.Event()
        self._taken = asyncio.Event()

    async def answers(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The lines of the answer. The first comes when the first rows are done, so that errors before are errors.

        Raises:
            Problem: what is wrong with the whole, if it is found before any row was taken.
        """
        task = asyncio.ensure_future(self._work(pieces))
        try:
            while True:
                if task.done():
                    problem = task.exception()
                    if problem is not None and not (isinstance(problem, Problem) and self._count):
                        raise problem
                    self._answers += self._answering.last(problem)
                    yield bytes(self._answers)
                    return
                if self._answers:
                    lines, self._answers = bytes(self._answers), bytearray()
                    self._taken.set()
                    yield lines
                else:
                    self._changed.clear()
                    changed = asyncio.ensure_future(self._changed.wait())
                    await asyncio.wait([task, changed], return_when=asyncio.FIRST_COMPLETED)
                    changed.cancel()
        finally:
            task.cancel()

    async def _work(self, pieces: AsyncIterator[bytes]) -> None:
        waiting: asyncio.Queue[Awaitable[bytes] | None] = asyncio.Queue(IN_FLIGHT)
        speaking = asyncio.ensure_future(self._speak(waiting))
        try:
            async for piece in pieces:
                await self._feed(self._body.feed(piece), waiting)
            await self._feed(self._body.end(), waiting)
        finally:  # accepted rows are answered, even after an error
            await waiting.put(None)
            await speaking

    async def _feed(self, items: Iterator[Item | None], waiting: asyncio.Queue[Awaitable[bytes] | None]) -> None:
        more = True
        while more:
            part, more = self._slice(items)
            if part:
                await waiting.put(await self._take(part))
            while len(self._answers) > self._most:
                self._taken.clear()
                await self._taken.wait()
            await asyncio.sleep(0)

    def _slice(self, items: Iterator[Item | None]) -> tuple[list[Item], bool]:
        """The next rows, as many as are read and learned in a moment; and whether there may be more."""
        part: list[Item] = []
        most = SLICE if self._action == "predict" else self._live.rows_at_once(SLICE)
        size, ends = 0, time.perf_counter() + MOMENT
        for item in items:
            if item is not PAUSE:
                part.append(item)
                size += 0 if isinstance(item, Problem) else len(item)
            if len(part) >= most or size >= SLICE_BYTES or time.perf_counter() > ends:
                return part, True
        return part, False

    async def _speak(self, waiting: asyncio.Queue[Awaitable[bytes] | None]) -> None:
        while (answer := await waiting.get()) is not None:
            lines = await answer
            self._answers += lines
            self._changed.set()

    async def _take(self, items: list[Item]) -> Awaitable[bytes]:
        """Take a slice: what needs no record is answered at once, the rest becomes one record."""
        answers: list[bytes | None] = []
        logged: list[AnyRow] = []
        payload: list[bytes] = []
        first = self._count
        self._count += len(items)
        ends = time.perf_counter() + MOMENT
        for line, row in zip(items, _read(self._action, items, self._live.row_limits), strict=True):
            try:
                if isinstance(row, Problem):
                    raise row
                rows.check(self._action, row, self._live.row_limits, len(line))  # type: ignore[arg-type]
                require(self._role, rows.needed(self._action, row))
                if rows.is_answered_at_once(self._action, row):
                    found = rows.answered_at_once(self._live, self._model, row, len(line))  # type: ignore[arg-type]
                    answers.append(self._answering.done(rows.DONE[self._action], found))
                    if time.perf_counter() > ends:
                        await asyncio.sleep(0)
                        ends = time.perf_counter() + MOMENT
                    continue
                payload.append(rows.logged(self._action, row, line, self._model))  # type: ignore[arg-type]
                logged.append(row)
                answers.append(None)
            except Problem as problem:
                answers.append(self._answering.refused(problem, first + len(answers)))
        outcome = await self._submit(payload, logged) if logged else None
        return self._answered(answers, first, outcome)

    async def _submit(self, payload: list[bytes], logged: list[AnyRow]) -> asyncio.Future[list[Outcome] | Problem]:
        future: asyncio.Future[list[Outcome] | Problem] = asyncio.get_running_loop().create_future()
        kind, text = rows.KINDS[self._action], b"\n".join(payload)
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while True:
            try:
                self._live.submit(kind, Form.lines, len(logged), text, _fill(future), logged)
            except Problem as problem:
                late = asyncio.get_running_loop().time() > deadline
                if problem.status == 429 and problem.headers.get("retry-after") == "1" and not late:
                    await asyncio.sleep(0.005)
                    continue
                future.set_result(problem)
            return future

    async def _answered(
        self, answers: list[bytes | None], first: int, outcome: asyncio.Future[list[Outcome] | Problem] | None
    ) -> bytes:
        if outcome is not None:
            found = await outcome
            each = iter([] if isinstance(found, Problem) else found)
            for place, answer in enumerate(answers):
                if answer is None:
                    answers[place] = self._outcome(found if isinstance(found, Problem) else next(each), first + place)
        return b"".join(answer for answer in answers if answer is not None)

    def _outcome(self, found: Outcome | Problem, place: int) -> bytes:
        problem = found if isinstance(found, Problem) else found.problem
        if problem is not None:
            return self._answering.refused(problem, place)
        assert not isinstance(found, Problem)
        return self._answering.done(found.status, rows.fields(self._action, found))


def _fill(future: asyncio.Future[list[Outcome] | Problem]) -> Callable[[list[Outcome] | Problem], None]:
    def fill(found: list[Outcome] | Problem) -> None:
        if not future.done():
            future.set_result(found)

    return fill


def _read(action: str, items: list[Item], limits: RowLimits) -> list[AnyRow | Problem]:
    """Rows from lines; all in one go if there is nothing wrong with any of them."""
    lines = [item for item in items if isinstance(item, bytes) and len(item) <= limits.bytes]
    if len(lines) == len(items) and not any(map(is_too_deep, lines)):
        try:
            found = reader_of(rows.KINDS[action]).decode_lines(b"\n".join(lines))
        except rows.NOT_JSON:
            found = []
        if len(found) == len(lines):
            return list(found)
    return [_read_one(action, item, limits) for item in items]


def _read_one(action: str, item: Item, limits: RowLimits) -> AnyRow | Problem:
    if isinstance(item, Problem):
        return item
    if len(item) > limits.bytes:
        return limits.too_large(len(item))
    try:
        return rows.read(action, item)
    except Problem as problem:
        return problem
