"""Ctrl-C and SIGTERM, which stop a training at the end of a batch."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Handle Ctrl-C and SIGTERM: the first one sets the returned flag, a second one stops at once.

    The caller looks at the flag after each batch, so that a training ends where it can be resumed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    received: list[int] = []

    def stop(number: int, frame: Any) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    before: dict[int, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            # None: a library installed its handler in C. Python could not restore it, so it is left in place.
            if signal.getsignal(number) is not None:
                before[number] = signal.signal(number, stop)
        yield lambda: bool(received)
    finally:
        for changed, handler in before.items():
            signal.signal(changed, handler)
