"""Contenders are programs with their options that take turns. A loop works in memory; a program is a command."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal, Protocol

from builds import Build
from data import Store
from environment import environment, of_threads
from passes import Failed, Prepare, Worker

# stored after the first start, like the facts of peers
BYTECODE: dict[str, str | None] = {"PYTHONDONTWRITEBYTECODE": None}
LAUNCH = pathlib.Path(__file__).with_name("launch.py")
By = Literal["unitless", "peer", "floor"]
Turn = Callable[[], float]  # takes a turn; returns its seconds


@dataclass
class Facts:
    """The results of a contender other than its times."""

    rows: int
    loss: float | None = None
    peak_mb: float = 0.0


class Running:
    """The processes that the contenders of a run have started; all of them end when the block is left."""

    def __init__(self, store: Store) -> None:
        self.store, self.stack = store, ExitStack()
        self._workers: dict[tuple[str, int | None, Build | None], Worker] = {}

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def worker(self, process: str, threads: int | None, build: Build | None) -> Worker:
        """The process of this name, which several loops may share."""
        key = process, threads, build
        if key not in self._workers:
            self._workers[key] = Worker(self.store, threads, build)
            self.stack.callback(self._workers[key].close)
        return self._workers[key]


class Contender(Protocol):
    """A participant that takes turns."""

    @property
    def name(self) -> str: ...

    @property
    def by(self) -> By: ...

    @property
    def build(self) -> Build | None: ...

    def start(self, running: Running) -> tuple[Facts, Turn]:
        """Prepare, and run once if the first run differs from later ones."""

    def renamed(self, name: str, build: Build | None) -> Contender:
        """The same work with this version of unitless."""


@dataclass(frozen=True)
class Loop:
    """A contender that works in memory, in its own process: prepared once, and run once before it is measured."""

    name: str
    prepare: Prepare
    threads: int | None = None
    by: By = "unitless"
    process: str = ""  # loops with the same name here share a process
    build: Build | None = None

    def start(self, running: Running) -> tuple[Facts, Turn]:
        worker = running.worker(self.process or self.name, self.threads, self.build)
        return Facts(**worker.prepare(self.name, self.prepare)), functools.partial(worker.turn, self.name)

    def renamed(self, name: str, build: Build | None) -> Loop:
        return dataclasses.replace(self, name=name, build=build)


@dataclass(frozen=True)
class Program:
    """A contender that is a command: it is started in every round, and its whole time counts."""

    name: str
    arguments: list[str]  # of Python
    rows: int
    loss: str = "(never)"  # a pattern that finds the loss in its output
    threads: int | None = None
    by: By = "unitless"
    build: Build | None = None

    def start(self, _: Running) -> tuple[Facts, Turn]:
        facts = Facts(self.rows)
        if self.build:  # another version may not support this, which must show before the rounds
            self._turn(facts)
        return facts, functools.partial(self._turn, facts)

    def _turn(self, facts: Facts) -> float:
        python = str(self.build.python) if self.build else sys.executable
        with tempfile.TemporaryDirectory() as folder:
            said, report = pathlib.Path(folder) / "said", pathlib.Path(folder) / "report"
            command = [sys.executable, "-I", "-S", str(LAUNCH), str(report), python, *self.arguments]
            with said.open("w") as out, environment(BYTECODE | of_threads(self.threads) if self.threads else BYTECODE):
                subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=True)
            seconds, code, kilobytes = report.read_text().split()
            text = said.read_text()
        if code != "0":
            raise Failed(f"{' '.join(self.arguments)}:\n{text}")
        found = re.search(self.loss, text)
        facts.loss, facts.peak_mb = float(found[1]) if found else None, int(kilobytes) / 1024
        return float(seconds)

    def renamed(self, name: str, build: Build | None) -> Program:
        return dataclasses.replace(self, name=name, build=build)
