"""How many cores models of many lanes keep busy: the graph of their tasks, scheduled on 1 to 16 cores.

    python benchmarks/critical_path.py [--rows 100000]

The core is asked to cut a pass into the tasks that so many threads would share, to do them one by one on one thread,
and to note what each takes. Then the tasks are given to so many cores: whenever a core is free, it takes the one that
is furthest behind among those that are ready. The longest chain of tasks that wait for one another is the critical
path: no number of cores is faster than that. Beside it stand the times that were measured with one thread and with two.

What is not in the schedule: that threads take some time to be told of work, that caches and memory are shared, and that
processors are slower when all cores are busy. What no task stands for (the values are looked through before learning
begins; memory for the predictions is found) counts as work that one core does while all others wait.
"""

from __future__ import annotations

import argparse
import heapq
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from data import Size, Store

import unitless as ul
from unitless import _core

DEPTH = 8  # LanePipeline::depth
CORES = (1, 2, 4, 8, 16)
CLASSES = range(1, 8)
RATES = np.geomspace(0.01, 10.0, 64).tolist()

Key = tuple[str, int, int]  # kind, track, batch


@dataclass
class Task:
    """What it takes, and the tasks that it waits for."""

    seconds: float
    batch: int
    after: list[Key] = field(default_factory=list)


def graph(recorded: list[tuple[str, int, int, float, int, int]]) -> dict[Key, Task]:
    """The recorded tasks with what they wait for.

    A batch is prepared after the one before it, when one of DEPTH places is free, and goes on when there is one more; a
    track takes the batches in order; scoring waits for what it reads. After a drain nothing goes on, and nothing is
    prepared, before all batches have been scored. Pieces of other work are done together while nothing else is.
    """
    tasks: dict[Key, Task] = {}
    of_batch: dict[int, list[Key]] = defaultdict(list)
    of_track: dict[int, Key] = {}  # by track: its last task
    prepared: dict[int, Key] = {}  # by batch: the last step of its preparation
    drained: set[int] = set()  # batches that those before them do not run beside
    last_step: Key | None = None
    drain: list[Key] = []  # what the next step of preparing waits for
    pieces: dict[int, list[Key]] = defaultdict(list)  # by the work that they are pieces of
    for number, (kind, track, batch, seconds, first, end) in enumerate(recorded):
        if kind == "drain":
            drained.add(batch)
            drain = [*drain, *of_batch[batch - 1]]
        elif kind == "piece":
            key = (kind, number, batch)
            before = drain if track == 0 or not pieces[batch] else tasks[pieces[batch][0]].after
            tasks[key] = Task(seconds, batch, list(before))
            pieces[batch].append(key)
            drain = pieces[batch]
        elif kind == "prepare":
            key = (kind, number, batch)
            tasks[key] = Task(seconds, batch, of_batch[batch - DEPTH] + drain + ([last_step] if last_step else []))
            prepared[batch] = last_step = key
            drain = []
        else:
            key = (kind, track, batch)
            tasks[key] = Task(seconds, batch, [of_track[i] for i in range(first, end)])
            if kind == "run":
                tasks[key].after += [prepared[batch], *of_batch[batch - DEPTH + 1]]
                if batch in drained:
                    tasks[key].after += of_batch[batch - 1]
            if track in of_track and batch not in drained:
                tasks[key].after.append(of_track[track])
            of_track[track] = key
            of_batch[batch].append(key)
    return tasks


def chain(tasks: dict[Key, Task]) -> float:
    """The longest sum of seconds along tasks that wait for one another."""
    reached: dict[Key, float] = {}

    def end_of(start: Key) -> float:
        stack = [start]
        while stack:
            key = stack[-1]
            left = [other for other in tasks[key].after if other not in reached]
            if left:
                stack += left
                continue
            reached[key] = tasks[key].seconds + max((reached[other] for other in tasks[key].after), default=0.0)
            stack.pop()
        return reached[start]

    return max((end_of(key) for key in tasks), default=0.0)


def scheduled(tasks: dict[Key, Task], cores: int) -> float:
    """How long the tasks take on so many cores, none of which rests while a task is ready.

    Preparing goes first, then the oldest batch.
    """
    waits = {key: len(set(task.after)) for key, task in tasks.items()}
    followers: dict[Key, list[Key]] = defaultdict(list)
    for key, task in tasks.items():
        for other in set(task.after):
            followers[other].append(key)

    def rank(key: Key) -> tuple[bool, int, Key]:
        return key[0] != "prepare", tasks[key].batch, key

    ready = [rank(key) for key, count in waits.items() if count == 0]
    heapq.heapify(ready)
    running: list[tuple[float, Key]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < cores:
            key = heapq.heappop(ready)[2]
            heapq.heappush(running, (now + tasks[key].seconds, key))
        now, done = heapq.heappop(running)
        for key in followers[done]:
            waits[key] -= 1
            if waits[key] == 0:
                heapq.heappush(ready, rank(key))
    return now


def workloads(X: np.ndarray, classes: np.ndarray) -> dict[str, Callable[[], object]]:
    """Models of many lanes, to be made and trained."""
    y = classes == 2
    return {
        "Sweep of 64 rates": lambda: ul.Sweep(RATES, loss="logistic").learn(X, y),
        "OneVsAll, 7 classes, automatic rates": lambda: ul.OneVsAll(range(1, 8), learning_rate="auto").learn(
            X, classes
        ),
        "OneVsAll, 7 classes, one rate": lambda: ul.OneVsAll(range(1, 8), learning_rate=0.5).learn(X, classes),
        "Learner, automatic rate": lambda: ul.Learner(loss="logistic", learning_rate="auto").learn(X, y),
    }


def best_time(work: Callable[[], object], times: int) -> float:
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best


def measured(folder: pathlib.Path, rows: int, threads: int, times: int) -> dict[str, float]:
    """The seconds of each workload with so many threads, in a process of its own."""
    command = [
        sys.executable,
        __file__,
        "--folder",
        str(folder),
        "--rows",
        str(rows),
        "--times",
        str(times),
        "--measure",
    ]
    said = subprocess.run(
        command, env=os.environ | {"UNITLESS_THREADS": str(threads)}, check=True, capture_output=True, text=True
    )
    return {name: float(seconds) for name, seconds in (line.rsplit("\t", 1) for line in said.stdout.splitlines())}


def schedule(work: Callable[[], object], cores: int, times: int) -> tuple[float, float, float]:
    """The shortest of some records, scheduled: seconds on so many cores, the critical path, and what both consist of
    that no task stands for.
    """
    best = (float("inf"), 0.0, 0.0)
    for _ in range(times):
        _core.record_tasks(cores)
        began = time.perf_counter()
        work()
        elapsed = time.perf_counter() - began
        tasks = graph(_core.recorded_tasks())
        rest = elapsed - sum(task.seconds for task in tasks.values())
        best = min(best, (scheduled(tasks, cores) + rest, chain(tasks) + rest, rest))
    return best


def show(store: Store, rows: int, times: int) -> None:
    X, classes = (array[:rows] for array in store.covertype())
    print(f"{store.name}, {len(X):,} rows; nanoseconds a row\n")
    seconds = {threads: measured(store.folder, rows, threads, times) for threads in (1, 2)}
    for name, work in workloads(X, classes).items():
        work()
        print(name)
        for threads in (1, 2):
            per_row = seconds[threads][name] / len(X) * 1e9
            print(
                f"  measured, {threads:2} threads {per_row:8,.0f}   {seconds[1][name] / seconds[threads][name]:5.2f} x"
            )
        one = None
        for cores in CORES:
            total, path, rest = schedule(work, cores, times)
            one = one or total
            print(
                f"  scheduled, {cores:2} cores {total / len(X) * 1e9:8,.0f}   {one / total:5.2f} x"
                f"   (critical path {path / len(X) * 1e9:,.0f}, of which no task {rest / len(X) * 1e9:,.0f})"
            )
        print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=Size.full(0).covertype_rows)
    parser.add_argument("--times", type=int, default=3, help="the shortest of so many passes counts")
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unitless-benchmarks-") as temporary:
        store = Store(options.folder or pathlib.Path(temporary), Size.full(0))
        if not options.measure:
            return show(store, options.rows, options.times)
        X, classes = (array[: options.rows] for array in store.covertype())
        for name, work in workloads(X, classes).items():
            work()
            print(f"{name}\t{best_time(work, options.times)}")


if __name__ == "__main__":
    main()
