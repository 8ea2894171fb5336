"""Waits with a limit, for tests that wait for another thread, process or task."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

LIMIT = 60.0  # seconds; far more than anything takes on a busy machine, and less than a test may take


def until(condition: Callable[[], Any], seconds: float = LIMIT) -> None:
    """Wait until a condition is true.

    Raises:
        TimeoutError: it is still false when the time is over.
    """
    for pause in _pauses(condition, seconds):
        time.sleep(pause)


async def until_async(condition: Callable[[], Any], seconds: float = LIMIT) -> None:
    """Wait in an event loop until a condition is true.

    Raises:
        TimeoutError: it is still false when the time is over.
    """
    for pause in _pauses(condition, seconds):
        await asyncio.sleep(pause)


def _pauses(condition: Callable[[], Any], seconds: float) -> Iterable[float]:
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise TimeoutError(f"it did not happen within {seconds:g} s")
        yield 0.005


def until_idle(pid: int) -> None:
    """Wait until all threads of a process sleep for half a second. A thread that only lacks a processor does not sleep.

    Raises:
        TimeoutError: a thread still runs when the time is over.
    """
    idle_since = time.monotonic()

    def state(thread: Path) -> str:
        with contextlib.suppress(OSError):  # the thread has ended
            return thread.read_text().rpartition(")")[2].split()[0]
        return "ended"

    def is_idle() -> bool:
        nonlocal idle_since
        if {state(thread) for thread in Path(f"/proc/{pid}/task").glob("*/stat")} != {"S"}:
            idle_since = time.monotonic()
        return time.monotonic() - idle_since > 0.5

    until(is_idle)


def join(thread: threading.Thread, seconds: float = LIMIT) -> None:
    """Wait for the end of a thread.

    Raises:
        TimeoutError: the thread has not ended when the time is over.
    """
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"thread {thread.name} did not end within {seconds:g} s")


@contextlib.contextmanager
def running(command: list[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Run a process and kill it if it still runs at the end of the block; `Popen` alone would wait for it."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()
