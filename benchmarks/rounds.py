"""Measure all contenders in one run, round after round, so that a slow moment of the machine affects all of them."""

from __future__ import annotations

import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from data import Store
from passes import Prepare, Worker

LAUNCH = pathlib.Path(__file__).with_name("launch.py")


@dataclass(frozen=True)
class Loop:
    """A contender that works in memory, in its own process: prepared once, and run once before it is measured."""

    name: str
    prepare: Prepare
    threads: int | None = None
    process: str = ""  # loops with the same name here share a process

    def __post_init__(self) -> None:
        object.__setattr__(self, "process", self.process or self.name)


@dataclass(frozen=True)
class Program:
    """A contender that is a command: started for every round; its whole time counts."""

    name: str
    command: list[str]
    rows: int
    loss: str = "(never)"  # a pattern that finds the loss in its output

    def once(self) -> tuple[float, dict[str, Any]]:
        """Run it; returns the seconds, and its loss and peak memory."""
        with tempfile.TemporaryDirectory() as folder:
            said, report = pathlib.Path(folder) / "said", pathlib.Path(folder) / "report"
            with said.open("w") as out:
                command = [sys.executable, "-I", "-S", str(LAUNCH), str(report), *self.command]
                subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=True)
            seconds, code, kilobytes = report.read_text().split()
            text = said.read_text()
        if code != "0":
            raise SystemExit(f"{' '.join(self.command)}:\n{text}")
        found = re.search(self.loss, text)
        return float(seconds), {"loss": float(found[1]) if found else None, "peak_mb": int(kilobytes) / 1024}


@dataclass
class Measured:
    """The results of a contender."""

    name: str
    rows: int
    loss: float | None
    peak_mb: float
    seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """Seconds per row, in the best round."""
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
    """Show the progress on a terminal."""
    if sys.stderr.isatty():
        print(f"\r{text[:110]:110}\r", end="", file=sys.stderr, flush=True)


def measure(contenders: list[Loop | Program], store: Store, rounds: int, title: str) -> list[Measured]:
    """Warm up each contender, then measure round after round.

    Each round begins with another contender, so that none always follows the same one. The files that programs read
    were written or read just before, so they are in the system's cache.
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
