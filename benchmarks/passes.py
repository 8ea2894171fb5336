"""One pass over rows, and the separate process in which a contender waits for its turn."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import pathlib
import resource
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from builds import Build
from data import Store
from environment import environment, of_threads

SHORTEST_TURN = 0.1  # seconds; a faster pass is repeated within its turn


@dataclass(frozen=True)
class Pass:
    """The function that is timed, and the computation of its loss outside of the timing."""

    run: Callable[[], object]
    rows: int
    loss: Callable[[], float] | None = None
    idle: Callable[[], object] | None = None  # the pass over a single row: its time is subtracted


Prepare = Callable[[Store], Pass]


def seconds_of(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


class _Memory:
    """The peak memory of this process since this object was made, minus the memory at that time."""

    def __init__(self) -> None:
        gc.collect()
        with contextlib.suppress(OSError):
            pathlib.Path("/proc/self/clear_refs").write_text("5")  # on Linux: reset the peak
        self._before = self._peak()

    def megabytes(self) -> float:
        return self._peak() - self._before

    def _peak(self) -> float:
        status = pathlib.Path("/proc/self/status")
        if not status.exists():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return next(int(line.split()[1]) for line in status.open() if line.startswith("VmHWM")) / 1024


class _Prepared:
    """A pass that is ready to run, in the process where it runs."""

    def __init__(self, made: Pass) -> None:
        self._pass = made
        memory = _Memory()
        made.run()
        self.facts = {"rows": made.rows, "peak_mb": memory.megabytes(), "loss": made.loss() if made.loss else None}
        self._idle = min(seconds_of(made.idle) for _ in range(5)) if made.idle else 0.0

    def turn(self) -> float:
        """The seconds of a pass: the mean over the passes of a turn."""
        start, count = time.perf_counter(), 0
        while (taken := time.perf_counter() - start) < SHORTEST_TURN:
            self._pass.run()
            count += 1
        return taken / count - self._idle


def _serve(pipe: Connection, store: Store) -> None:
    warnings.simplefilter("ignore")
    prepared: dict[str, _Prepared] = {}
    while (order := pipe.recv()) is not None:
        name, prepare = order
        try:
            if prepare is not None:
                prepared[name] = _Prepared(prepare(store))
                pipe.send(prepared[name].facts)
            else:
                pipe.send(prepared[name].turn())
        except Exception:
            pipe.send(traceback.format_exc())


class Failed(Exception):
    """A contender could not do its work; the text is the error in its process."""

    @property
    def reason(self) -> str:
        return str(self).strip().splitlines()[-1]


class Worker:
    """A process that prepares passes and runs them on request. Otherwise it waits and uses no processor time."""

    def __init__(self, store: Store, threads: int | None, build: Build | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, store))
        with environment(of_threads(threads)), build.chosen() if build else contextlib.nullcontext():
            self._process.start()
        theirs.close()

    def prepare(self, name: str, prepare: Prepare) -> dict[str, Any]:
        """Prepare the pass, run it once, and return its rows, loss and peak memory."""
        return self._ask(name, prepare)

    def turn(self, name: str) -> float:
        return self._ask(name, None)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # it has ended already
            self._pipe.send(None)
        self._process.join()

    def _ask(self, name: str, prepare: Prepare | None) -> Any:
        try:
            self._pipe.send((name, prepare))
            answer = self._pipe.recv()
        except (OSError, EOFError):
            raise Failed("its process ended") from None
        if isinstance(answer, str):
            raise Failed(answer)
        return answer
