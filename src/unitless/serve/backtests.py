"""Models that learn from the history of a log before they join its stream. backtest_process.py does the work.

    streams/<id>/backtests.json    the models that still learn from history; after a crash they begin again

While the process works, the stream continues. When it is near the end of the log, what the stream learns is remembered
here as well; the model that comes back learns that, a little at a time, and joins with all that it knows written in the
record by which it joins. So later readers of the log do not have to read what was before.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import msgspec

from .. import whole_file
from ..errors import Error
from .backtest_process import read_result
from .child import Child
from .events import Kind
from .live import LiveStream
from .problems import Problem
from .served import ServedModel
from .streams.stream import Created, Lesson, encoded

LIST = "backtests.json"
_RESULT = ".backtest-"  # how the names of results begin
_NEAR = 10_000  # records before the end of the log at which the recorder starts
_MOST = 200_000  # rows that the recorder can store
_SLICE = 256  # rows that are learned before other requests are answered
_TRIES = 3
_AT_ONCE = 2  # models that learn from history at the same time, each in a process of its own; the others wait


class Backtests:
    """All models of a server that learn from history and have not joined their streams yet."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[LiveStream, Path, Created, asyncio.Task[None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()  # also of models that have joined, until their files are removed
        self._writing = asyncio.Lock()
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def __contains__(self, name: str) -> bool:
        return name in self._running and name not in self._running[name][0].stream.models

    def __iter__(self) -> Iterator[str]:
        """The names of models that have not joined yet."""
        return (name for name, (live, *_) in self._running.items() if name not in live.stream.models)

    def stream(self, name: str) -> LiveStream:
        """The stream that a model is to join."""
        return self._running[name][0]

    def created(self, name: str) -> Created:
        """The request for a model that has not joined yet."""
        return self._running[name][2]

    def progress(self, name: str) -> float:
        """The progress of a model's replay, from 0 to 1."""
        return self._running[name][0].replaying.get(name, 0.0)

    async def begin(self, live: LiveStream, folder: Path, created: Created) -> None:
        """Let a model learn the history of a stream and then join it; this does not wait for it.

        Raises:
            Problem: 503 if the list of such models cannot be written.
        """
        self._start(live, folder, created)
        try:
            await self._keep(live, folder)
        except OSError as error:
            await self._end(created.name)
            raise Problem(503, "the model cannot be kept", f"{error}", retry_after=5) from None

    def resume(self, live: LiveStream, folder: Path) -> None:
        """Restart the replays that were not finished when the server stopped."""
        for path in folder.glob(f"{_RESULT}*"):
            with contextlib.suppress(OSError):
                path.unlink()
        try:
            models = msgspec.json.decode((folder / LIST).read_bytes(), type=list[Created])
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            live.notes.append(
                f"{folder / LIST} cannot be read ({error}): create models that learned from history again"
            )
            return
        for created in models:
            if created.name not in live.stream.models:
                self._start(live, folder, created)

    async def cancel(self, name: str) -> None:
        """Stop the replay of a model and forget the model."""
        live, folder = self._running[name][:2]
        await self._end(name)
        await self._keep(live, folder)

    async def _end(self, name: str) -> None:
        if name in self._running:  # otherwise it has ended
            live, _, created, task = self._running[name]
            self._leave(live, created)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _leave(self, live: LiveStream, created: Created) -> None:
        """Forget a model that has joined or failed, unless a new model has its name by now."""
        if created.name in self._running and self.created(created.name) is created:
            del self._running[created.name]
            live.replaying.pop(created.name, None)

    async def _keep(self, live: LiveStream, folder: Path) -> None:
        """Write the list of models that learn from history; one write after another, so that the last list stays."""
        async with self._writing:
            await asyncio.to_thread(_write, folder, self._of(live))

    async def stop(self) -> None:
        """Stop all replays; they begin again when the server starts."""
        for *_, task in self._running.values():
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, live: LiveStream, folder: Path, created: Created) -> None:
        live.replaying[created.name] = 0.0
        task = asyncio.get_running_loop().create_task(self._work(live, folder, created))
        self._running[created.name] = live, folder, created, task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _of(self, live: LiveStream) -> list[Created]:
        return [created for one, _, created, _ in self._running.values() if one is live]

    async def _work(self, live: LiveStream, folder: Path, created: Created) -> None:
        for tries in range(1, _TRIES + 1):
            try:
                async with self._turns:
                    await self._once(live, folder, created)
                return
            except (Problem, Error, OSError) as error:  # such as a full disk, or no more processes
                if tries == _TRIES:
                    live.notes.append(f"{created.name!r} could not learn the history of {live.name!r}: {error}")
                else:
                    await asyncio.sleep(tries)
        await self._finish(live, folder, created)

    async def _finish(self, live: LiveStream, folder: Path, created: Created) -> None:
        self._leave(live, created)
        with contextlib.suppress(OSError):  # the next start finds that the model exists
            await self._keep(live, folder)

    async def _once(self, live: LiveStream, folder: Path, created: Created) -> None:
        result = folder / f"{_RESULT}{secrets.token_hex(8)}"
        child = await Child.start("unitless.serve.backtest_process", str(folder))
        try:
            with _recording(live) as recorder:
                await self._replay(live, child, created, result, recorder)
                model = await asyncio.to_thread(read_result, result)
                model.growth.limit(live.stream.limits, created.name)
                await self._catch_up(model, recorder)
                await self._join(live, created, model, recorder)
            await self._finish(live, folder, created)
        finally:
            await child.end()
            result.unlink(missing_ok=True)

    async def _replay(
        self, live: LiveStream, child: Child, created: Created, result: Path, recorder: _Recorder
    ) -> None:
        payload = base64.b64encode(encoded(created)).decode()
        child.send(do="begin", created=payload, seq=live.stream.seq, result=str(result))
        async for message in child.messages():
            if "error" in message:
                raise Problem(500, "the history cannot be replayed", message["error"])
            live.replaying[created.name] = message["progress"]
            if "done" in message:
                return
            if recorder.recording:
                continue
            near = live.stream.seq - message["seq"] <= _NEAR
            if near:
                recorder.begin()
            child.send(do="finish" if near else "advance", seq=live.stream.seq)
        raise Problem(500, "the history cannot be replayed", f"the process ended with code {await child.ended(1.0)}")

    @staticmethod
    async def _catch_up(model: ServedModel, recorder: _Recorder) -> None:
        while recorder.rows:
            recorder.teach(model, _SLICE)
            await asyncio.sleep(0)

    @staticmethod
    async def _join(live: LiveStream, created: Created, model: ServedModel, recorder: _Recorder) -> None:
        def payload() -> bytes:
            if recorder.too_many:
                raise Problem(503, "the stream is too fast", "it learned more than could be remembered meanwhile")
            recorder.teach(model, recorder.rows)
            origin = created.origin
            if origin is not None and created.model is not None:  # without the file, a replay cannot restart
                origin = msgspec.structs.replace(origin, sources=[])
            joins = Created(created.name, created.role, created.options, parts=model.parts(), origin=origin)
            model.role = created.role
            live.stream.prepared[created.name] = model  # so that the stream does not read it again from the record
            return encoded(joins)

        try:
            (outcome,) = await live.settled(Kind.create, payload)
        finally:
            live.stream.prepared.pop(created.name, None)
        if outcome.problem is not None:
            raise outcome.problem


class _Recorder:
    """Records what a stream learns, for a model that has almost caught up."""

    def __init__(self, live: LiveStream) -> None:
        self._live = live
        self._lessons: deque[Lesson] = deque()
        self.rows = 0  # recorded and not learned yet
        self.recording = self.too_many = False

    def begin(self) -> None:
        self.recording = True
        self._live.stream.listeners.append(self._take)

    def end(self) -> None:
        if self.recording:
            self._live.stream.listeners.remove(self._take)

    def _take(self, lesson: Lesson) -> None:
        if self.rows + lesson.rows > _MOST:
            self.too_many = True
        else:
            self._lessons.append(lesson)
            self.rows += lesson.rows

    def teach(self, model: ServedModel, rows: int) -> None:
        """Let a model learn at least `rows` recorded rows, and drop them."""
        while rows > 0:
            lesson = self._lessons.popleft()
            lesson.teach(model, ())
            self.rows -= lesson.rows
            rows = min(rows - lesson.rows, self.rows)


@contextlib.contextmanager
def _recording(live: LiveStream) -> Iterator[_Recorder]:
    recorder = _Recorder(live)
    try:
        yield recorder
    finally:
        recorder.end()


def _write(folder: Path, models: list[Created]) -> None:
    """Write the list of models that learn from history."""
    path = folder / LIST
    if models:
        whole_file.write(path, msgspec.json.encode(models), private=True)
    else:
        path.unlink(missing_ok=True)
