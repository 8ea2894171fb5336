"""One pass over rows, and the process of its own in which a contender waits until it is its turn."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pathlib
import resource
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from data import Store

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS")}  # for linear algebra
SHORTEST_TURN = 0.1  # seconds; what is faster goes round several times in its turn


@dataclass(frozen=True)
class Pass:
    """What is timed, and what is found out about it outside the timing."""

    run: Callable[[], object]
    rows: int
    loss: Callable[[], float] | None = None
    idle: Callable[[], object] | None = None  # the same with nothing to do: this time is taken off


Prepare = Callable[[Store], Pass]


def seconds_of(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


class _Memory:
    """The peak of this process since it was made, beyond what it held then."""

    def __init__(self) -> None:
        gc.collect()
        with contextlib.suppress(OSError):
            pathlib.Path("/proc/self/clear_refs").write_text("5")  # on Linux: forget the peak so far
        self._before = self._peak()

    def megabytes(self) -> float:
        return self._peak() - self._before

    def _peak(self) -> float:
        status = pathlib.Path("/proc/self/status")
        if not status.exists():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return next(int(line.split()[1]) for line in status.open() if line.startswith("VmHWM")) / 1024


class _Prepared:
    """A pass in the process where it runs."""

    def __init__(self, made: Pass) -> None:
        self._pass = made
        memory = _Memory()
        made.run()
        self.facts = {"rows": made.rows, "peak_mb": memory.megabytes(), "loss": made.loss() if made.loss else None}
        self._idle = min(seconds_of(made.idle) for _ in range(5)) if made.idle else 0.0

    def turn(self) -> float:
        """Seconds of a pass: the mean of those of a turn."""
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


@contextlib.contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    """For processes that are started meanwhile: libraries read it once, when they are loaded."""
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class Worker:
    """A process that prepares passes and runs each when asked. In between it waits and takes no time from others."""

    def __init__(self, store: Store, threads: int | None) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, store))
        with _environment(ONE_THREAD if threads is None else {**ONE_THREAD, "UNITLESS_THREADS": str(threads)}):
            self._process.start()
        theirs.close()

    def prepare(self, name: str, prepare: Prepare) -> dict[str, Any]:
        """Make ready, run once, and tell rows, loss and peak memory."""
        return self._ask(name, prepare)

    def turn(self, name: str) -> float:
        return self._ask(name, None)

    def close(self) -> None:
        self._pipe.send(None)
        self._process.join()

    def _ask(self, name: str, prepare: Prepare | None) -> Any:
        self._pipe.send((name, prepare))
        answer = self._pipe.recv()
        if isinstance(answer, str):
            raise SystemExit(f"{name} failed:\n{answer}")
        return answer
