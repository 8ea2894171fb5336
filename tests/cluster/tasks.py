"""Toy tasks that workers can import."""

from __future__ import annotations

import os
import pathlib
import signal
import time
from typing import Any

import numpy as np

import unitless as ul
from unitless.cluster.engine import go_on
from unitless.errors import Option, Phrase


def product(common: Any, item: Any) -> Any:
    return (common or 1) * item


def listed(common: Any, values: list[Any]) -> list[Any]:
    return [common, *values]


def process(common: Any, item: Any) -> int:
    return os.getpid()


def bad_row(common: Any, item: int) -> int:
    """Fail for 3, after some time, and at once for 5."""
    if item == 3:
        time.sleep(0.3)
    if item in (3, 5):
        note(common)
        advice = Phrase("use ", Option("on_error", "skip"))
        raise ul.InputError("'oops' is not a number", advice=advice, file=f"{item}.csv", row=item, column="area")
    return item


def broken(common: Any, item: Any) -> Any:
    return {}[item]


class UnpicklableError(Exception):
    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one} and {other}")
        self.sum = lambda: one + other


def unpicklable(common: Any, item: Any) -> Any:
    raise UnpicklableError(1, 2)


def out_of_memory(common: Any, item: Any) -> Any:
    raise MemoryError


def note(folder: Any) -> None:
    """Create one more file in the folder."""
    if folder is not None:
        (pathlib.Path(folder) / f"{time.time_ns()}-{os.getpid()}").touch()


def killed_once(folder: str, item: int) -> int:
    """Kill the process of the first try."""
    mark = pathlib.Path(folder) / str(item)
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def killed(folder: str, item: int) -> int:
    note(folder)
    os.kill(os.getpid(), signal.SIGKILL)
    return item


def array_facts(common: np.ndarray[Any, Any], item: Any) -> tuple[float, bool, bool]:
    """The array's sum, and whether it has separate, writable memory."""
    return float(common.sum()), bool(common.flags.owndata), bool(common.flags.writeable)


def zeros(common: Any, item: int) -> np.ndarray[Any, Any]:
    return np.zeros(item, np.uint8)


def sizes(common: Any, values: list[Any]) -> list[int]:
    return [len(value) for value in values]


def slow(folder: str, seconds: float) -> float:
    """A task that can be stopped."""
    note(folder)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        go_on()
        time.sleep(0.01)
    return seconds


def slow_pid(folder: str, item: tuple[int, float]) -> int:
    """Write down the process id, then work slowly."""
    (pathlib.Path(folder) / f"pid-{os.getpid()}").touch()
    time.sleep(item[1])
    return item[0]


class CountsPickles:
    """Record how often it is pickled."""

    def __init__(self, folder: str, size: int) -> None:
        self.folder, self.array = folder, np.ones(size, np.uint8)

    def __getstate__(self) -> dict[str, Any]:
        note(self.folder)
        return vars(self)


def size_of(common: CountsPickles, item: Any) -> int:
    return len(common.array)


def filled(common: Any, item: int) -> np.ndarray[Any, Any]:
    return np.full(1_000_000, item, np.uint8)


def sums(common: Any, values: list[Any]) -> list[int]:
    return [int(value.sum()) for value in values]


def as_it_is(common: Any, item: Any) -> Any:
    return item


def first_row(common: Any, item: Any) -> Any:
    table = item.table()
    return len(table), table.slice(0, 1).to_pylist()
