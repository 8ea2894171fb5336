"""The server's side of the process that writes snapshots (snapshot_process.py): it starts it and sends requests."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from .child import Child
from .problems import Problem
from .snapshot_process import Report

_ROUND = 0.5  # seconds between two messages about how far the logs are
_SHORTEST, _LONGEST = 0.5, 30.0  # seconds before the process is started again after it has died
_STATES = 8  # along the longest log there are about so many snapshots from which a backtest can begin
_STEADY = 60.0  # seconds of life after which the next death counts as the first
_PATIENCE = 60.0  # seconds in which the process lets go of a stream
_ANSWERED_WITHIN = 300.0  # seconds after which a request for a snapshot is answered, whatever the process does


class Snapshotter:
    """Snapshots of all streams, by another process.

    Args:
        data: the server's folder.
        every: seconds between snapshots of a stream that has news.
        retain: how large a log may be, in bytes.
        counted: gives for each stream, by the name of its folder, the last record that was written whole.
        on_report: is called with each report, in the event loop.
        warn: is called with messages for people.
    """

    def __init__(
        self,
        data: Path,
        every: float,
        retain: int,
        counted: Callable[[], Mapping[str, int]],
        *,
        on_report: Callable[[Report], None] | None = None,
        warn: Callable[[str], object] = print,
    ) -> None:
        self.reports: dict[str, Report] = {}
        self.deaths = 0
        self._arguments = str(data), str(every), str(retain / _STATES)
        self._counted, self._on_report, self._warn = counted, on_report, warn
        self._child: Child | None = None
        self._sent: dict[str, int] = {}
        self._waiting: dict[str, list[tuple[int, asyncio.Future[Report]]]] = {}  # the record each needs
        self._leaving: dict[str, asyncio.Future[None]] = {}  # streams that the process is to let go of
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def pid(self) -> int | None:
        """The number of the process, if it runs."""
        return None if self._child is None else self._child.pid

    def start(self) -> None:
        """Begin; this does not wait for the process."""
        self._task = asyncio.get_running_loop().create_task(self._live())

    async def request(self, stream: str) -> Report:
        """A snapshot now, of all that is written: its report. Raises a problem if there can be none."""
        if self._task is None or self._stopping:
            raise Problem(503, "no snapshot", "the server is stopping")
        answer: asyncio.Future[Report] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(stream, []).append((self._counted().get(stream, 0), answer))
        self._ask(stream)
        try:
            report = await asyncio.wait_for(answer, _ANSWERED_WITHIN)
        except asyncio.TimeoutError:
            self._waiting[stream] = [one for one in self._waiting.get(stream, []) if one[1] is not answer]
            detail = f"it was not written within {_ANSWERED_WITHIN:,.0f} seconds; ask again later"
            raise Problem(503, "no snapshot", detail, retry_after=60) from None
        if stream not in self._counted():
            raise Problem(404, "no such model", "the model was deleted before its snapshot was written")
        if report.mismatch:
            raise Problem(500, "no snapshot", report.mismatch)
        if report.error:
            raise Problem(503, "no snapshot", report.error)
        return report

    async def release(self, stream: str) -> None:
        """Wait until no snapshot of a stream is being written. It must not be among those that are counted."""
        if self._child is None:
            return
        gone = self._leaving[stream] = asyncio.get_running_loop().create_future()
        self._forget(self._child, stream)
        await asyncio.wait([gone], timeout=_PATIENCE)
        self._leaving.pop(stream, None)

    async def stop(self, timeout: float = 5.0) -> bool:
        """Last snapshots, then the end; whether they were written in time."""
        self._stopping = True
        child, task = self._child, self._task
        done = False
        if child is not None and task is not None:
            self._tell_how_far(child)
            child.send(do="stop")
            await asyncio.wait([task], timeout=timeout)
            done = task.done()
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        for stream in list(self._waiting):
            self._answer(Report(stream, error="the server is stopping"))
        return done

    async def _live(self) -> None:
        pause = _SHORTEST
        while not self._stopping:
            begin = time.monotonic()
            code = await self._one_life()
            if self._stopping:
                return
            self.deaths += 1
            pause = _SHORTEST if time.monotonic() - begin > _STEADY else min(_LONGEST, 2 * pause)
            self._warn(
                f"the process that writes snapshots ended with code {code}; it is started again in {pause:.0f} s"
            )
            await asyncio.sleep(pause)

    async def _one_life(self) -> int | None:
        child = await Child.start("unitless.serve.snapshot_process", *self._arguments)
        self._child, self._sent = child, {}
        speaking = asyncio.get_running_loop().create_task(self._speak(child))
        try:
            for stream in self._waiting:
                self._ask(stream)
            async for message in child.messages():
                self._hear(message)
            return await child.ended(1.0)
        finally:
            self._child = None
            speaking.cancel()
            await child.end()
            for stream in list(self._leaving):  # with its process nothing is left that writes
                self._let_go(stream)

    async def _speak(self, child: Child) -> None:
        while True:
            self._tell_how_far(child)
            await asyncio.sleep(_ROUND)

    def _tell_how_far(self, child: Child) -> None:
        counted = self._counted()
        for stream, seq in counted.items():
            if self._sent.get(stream) != seq:
                self._sent[stream] = seq
                child.send(do="advance", stream=stream, seq=seq)
        for stream in {*self._sent, *self.reports, *self._waiting} - counted.keys():  # it was deleted
            self._forget(child, stream)

    def _forget(self, child: Child, stream: str) -> None:
        self._sent.pop(stream, None)
        self.reports.pop(stream, None)
        child.send(do="forget", stream=stream)
        self._answer(Report(stream, error="the stream is deleted"))

    def _ask(self, stream: str) -> None:
        if self._child is not None:
            self._child.send(do="snapshot", stream=stream, seq=self._counted().get(stream, 0))

    def _hear(self, message: dict[str, Any]) -> None:
        if "forgotten" in message:
            self._let_go(message["stream"])
            return
        answer = message.pop("answer", False)
        report = msgspec.convert(message, Report)
        if report.stream not in self._counted():
            return
        before = self.reports.get(report.stream)
        self.reports[report.stream] = report
        for new, old in (
            (report.mismatch, before and before.mismatch),
            (report.error, before and before.error),
        ):
            if new and new != old:
                self._warn(f"stream {report.stream}: {new}")
        if self._on_report is not None:
            self._on_report(report)
        if answer:
            self._answer(report)

    def _let_go(self, stream: str) -> None:
        gone = self._leaving.pop(stream, None)
        if gone is not None and not gone.done():
            gone.set_result(None)

    def _answer(self, report: Report) -> None:
        failed = report.mismatch or report.error
        still = []
        for seq, answer in self._waiting.pop(report.stream, []):
            if answer.done():
                continue
            if failed or report.snapshot_seq >= seq:
                answer.set_result(report)
            else:
                still.append((seq, answer))
        if still:
            self._waiting[report.stream] = still
