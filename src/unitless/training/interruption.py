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

    before: dict[int, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            # None: the handler is another library's, not Python's. Python could not put it back, so it stays in charge.
            if signal.getsignal(number) is not None:
                before[number] = signal.signal(number, stop)
        yield lambda: bool(asked)
    finally:
        for changed, handler in before.items():
            signal.signal(changed, handler)
