"""Ctrl-C and a polite kill, answered at a good moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Ctrl-C and a polite kill wait for the end of a batch; the second one does not."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked: list[int] = []

    def stop(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
