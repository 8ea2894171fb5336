"""All contenders in one run, round after round, so that a slow moment of the machine hits all alike."""

from __future__ import annotations

import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from data import Store
from passes import Prepare, Worker


@dataclass(frozen=True)
class Loop:
    """A contender that works in memory, in a process of its own: prepared once, warm when it is measured."""

    name: str
    prepare: Prepare
    threads: int | None = None
    process: str = ""  # loops that name the same one share it

    def __post_init__(self) -> None:
        object.__setattr__(self, "process", self.process or self.name)


@dataclass(frozen=True)
class Program:
    """A contender that is a command: started anew every time, from its file to its end."""

    name: str
    command: list[str]
    rows: int
    loss: str = "(never)"  # the pattern of what it says of its loss

    def once(self) -> tuple[float, dict[str, Any]]:
        start = time.perf_counter()
        with tempfile.TemporaryFile("w+") as out:
            process = subprocess.Popen(self.command, stdout=out, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            said = out.read()
        if process.returncode:
            raise SystemExit(f"{' '.join(self.command)}:\n{said}")
        found = re.search(self.loss, said)
        loss = float(found[1]) if found else None
        return seconds, {"rows": self.rows, "peak_mb": usage.ru_maxrss / 1024, "loss": loss}


@dataclass
class Measured:
    """What came of a contender."""

    name: str
    rows: int
    loss: float | None
    peak_mb: float
    seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """Seconds a row, in the best round."""
        return min(self.seconds) / self.rows

    @property
    def median(self) -> float:
        return statistics.median(self.seconds) / self.rows

    def asdict(self) -> dict[str, Any]:
        loss = self.loss if self.loss is not None and math.isfinite(self.loss) else None
        return {
            "name": self.name,
            "rows": self.rows,
            "seconds": self.seconds,
            "best_ns_a_row": self.best * 1e9,
            "median_ns_a_row": self.median * 1e9,
            "loss": loss,
            "peak_mb": round(self.peak_mb, 1),
        }


def progress(text: str) -> None:
    """Where we are, for who watches."""
    if sys.stderr.isatty():
        print(f"\r{text[:110]:110}\r", end="", file=sys.stderr, flush=True)


def measure(contenders: list[Loop | Program], store: Store, rounds: int, title: str) -> list[Measured]:
    """Warm up each, then round after round. Each round begins with another one, so that nobody always follows the same.

    The files of programs were just written or read, so that they are in memory; the first round tells their facts.
    """
    measured: dict[str, Measured] = {}
    turns: dict[str, Callable[[], float]] = {}
    with ExitStack() as stack:
        workers: dict[tuple[str, int | None], Worker] = {}
        for one in contenders:
            progress(f"  {title}: {one.name}, getting ready")
            if isinstance(one, Program):
                measured[one.name] = Measured(one.name, one.rows, None, 0.0)
                turns[one.name] = _program_turn(one, measured[one.name])
                continue
            key = one.process, one.threads
            if key not in workers:
                workers[key] = Worker(store, one.threads)
                stack.callback(workers[key].close)
            measured[one.name] = Measured(one.name, **workers[key].prepare(one.name, one.prepare))
            turns[one.name] = lambda worker=workers[key], name=one.name: worker.turn(name)
        names = list(turns)
        for number in range(rounds):
            for name in names[number % len(names) :] + names[: number % len(names)]:
                progress(f"  {title}: round {number + 1} of {rounds}, {name}")
                measured[name].seconds.append(turns[name]())
    progress("")
    return list(measured.values())


def _program_turn(program: Program, measured: Measured) -> Callable[[], float]:
    def turn() -> float:
        seconds, facts = program.once()
        measured.loss, measured.peak_mb = facts["loss"], facts["peak_mb"]
        return seconds

    return turn
