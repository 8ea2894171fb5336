"""The speedup of each piece of work with 2, 4, ... threads over one, up to the cores of the machine.

The thread counts of a piece of work take turns in one run, each in a separate process (`UNITLESS_THREADS`). "Python
threads" have one thread of unitless each: they predict with the same model, or learn with a learner of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import floors
import machine
import ours
import workloads
from contenders import By, Contender, Loop
from data import Store
from passes import Pass, Prepare
from rounds import measure

import unitless as ul

partial = functools.partial


@dataclass(frozen=True)
class Task:
    """A piece of work, and the contender that does it with a given number of threads."""

    group: str
    name: str
    contender: Callable[[Store, str, int], Contender]

    def contenders(self, store: Store, counts: list[int]) -> list[Contender]:
        return [self.contender(store, called(self.name, count), count) for count in counts]


def called(task: str, count: int) -> str:
    """The name of a contender, as goals use it."""
    return f"{task}, {count} thread{'s' * (count > 1)}"


def counts(cores: int) -> list[int]:
    """1, 2, 4, ... and all cores."""
    powers = [2**k for k in range(cores.bit_length()) if 2**k < cores]
    return [*powers, cores]


def _loop(group: str, name: str, prepare: Prepare, by: By = "unitless") -> Task:
    return Task(group, name, lambda _, called, count: Loop(called, prepare, count, by))


def _python_threads(name: str, prepare: Callable[[Store, int], Pass]) -> Task:
    def contender(_: Store, called: str, count: int) -> Loop:
        return Loop(called, partial(prepare, threads=count), threads=1)

    return Task("Python threads", name, contender)


def _file(name: str, file: str, rows: str, *arguments: str) -> Task:
    def contender(store: Store, called: str, count: int) -> Contender:
        number = int(store.path(rows).read_text())
        return workloads.train(called, store.path(file), number, *arguments, threads=count)

    return Task("files", name, contender)


def sharing(store: Store, threads: int, rows: int = 1_000) -> Pass:
    """Python threads that predict with one model, with this many rows per call."""
    X, y = store.two_classes("dense")
    model = ul.Learner(loss="logistic")
    model.learn(X, y)
    batches = [X[first : first + rows] for first in range(0, len(y), rows)]

    def some(first: int) -> None:
        for batch in batches[first::threads]:
            model.predict(batch)

    return Pass(_at_once(some, threads), len(y))


def apart(store: Store, threads: int) -> Pass:
    """Python threads, each of which learns all rows with its own learner."""
    X, y = store.two_classes("dense")

    def all_rows(_: int) -> None:
        ul.Learner(loss="logistic").learn(X, y)

    return Pass(_at_once(all_rows, threads), threads * len(y))


def _at_once(work: Callable[[int], None], threads: int) -> Callable[[], Any]:
    pool = ThreadPoolExecutor(threads)
    return lambda: list(pool.map(work, range(threads)))


FIXED_CLASSES = partial(ours.classify, learning_rate=0.5)
SHAPED = {"kind": "some", **ours.AUTOMATIC}

ALL = (
    _loop("learning", "learn, dense", ours.learn),
    _loop("learning", "learn, sparse", partial(ours.learn, kind="sparse")),
    _loop("learning", "learn, stream", partial(ours.learn, kind="stream", bits=20)),
    _loop("learning", "learn, automatic rate", partial(ours.learn, learning_rate="auto")),
    _loop("learning", "learn, 16 rates", ours.sweep),
    _loop("learning", "learn, 64 rates", partial(ours.sweep, rates=64)),
    _loop("learning", "learn, 7 classes", FIXED_CLASSES),
    _loop("learning", "learn, 7 classes, automatic rates", ours.classify),
    _loop("learning", "learn, softmax, automatic rates", partial(ours.classify, kind="Softmax")),
    _loop("learning", "learn, curves", partial(ours.learn, model_type="curves", **SHAPED)),
    _loop("learning", "learn, trees", partial(ours.learn, model_type="trees", **SHAPED)),
    _loop("predicting", "predict, dense", ours.predict),
    _loop("predicting", "predict, sparse", partial(ours.predict, kind="sparse")),
    _loop("predicting", "predict, stream", partial(ours.predict, kind="stream", bits=20)),
    _loop("predicting", "predict, table", partial(ours.predict, kind="table")),
    _loop("predicting", "predict, automatic rate", partial(ours.predict, learning_rate="auto")),
    _loop("predicting", "predict, 7 classes", ours.predict_classes),
    _loop("predicting", "predict, curves", partial(ours.predict, model_type="curves", **SHAPED)),
    _loop("predicting", "predict, trees", partial(ours.predict, model_type="trees", **SHAPED)),
    _loop("predicting", "NumPy X @ w", floors.numpy_product, by="floor"),
    _file("train, CSV", "large.csv", "large.csv.rows", *workloads.FIXED),
    _file("train, VW text", "large.vw", "large.vw.rows", *workloads.FIXED),
    _file("train, Parquet", "large.parquet", "large.csv.rows", *workloads.FIXED),
    _file("train, CSV, automatic rate", "large.csv", "large.csv.rows"),
    _python_threads("predict, one model for all threads", sharing),
    _python_threads("predict, one model for all threads, 10,000 rows a call", partial(sharing, rows=10_000)),
    _python_threads("learn, a learner for each thread", apart),
)


def run(store: Store, rounds: int) -> list[dict[str, Any]]:
    """Every task with every number of threads, as plain data."""
    numbers = counts(machine.cores())
    results = []
    for task in ALL:
        measured = measure(task.contenders(store, numbers), store, rounds, f"threads, {task.name}")
        contenders = [one.asdict() for one in measured]
        results.append({"name": task.name, "group": task.group, "threads": numbers, "contenders": contenders})
    return results
