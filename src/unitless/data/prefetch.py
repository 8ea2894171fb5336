"""Items that are made ahead of time, in another thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


def prefetched(
    make: Callable[[], Iterator[T]],
    stopped: Callable[[], bool] = lambda: False,
    depth: int = 2,
    stop: threading.Event | None = None,
) -> Iterator[T]:
    """The same items, made ahead of time in another thread; none once `stopped`, even if one is waited for.

    Args:
        make: makes them, in the other thread.
        stopped: asked while one is waited for.
        depth: how many are made ahead.
        stop: set when no more are wanted, for a maker that waits for something.
    """
    items: queue.Queue[tuple[bool, Any]] = queue.Queue(depth)
    stop = stop or threading.Event()

    def put(item: tuple[bool, Any]) -> bool:
        while not stop.is_set():
            try:
                items.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        iterator = make()
        try:
            for item in iterator:
                if not put((True, item)):
                    return
            put((False, None))
        except BaseException as error:  # whatever it is, it belongs to whoever asked for the items
            put((False, error))
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()

    thread = threading.Thread(target=work, name="unitless-reader", daemon=True)
    thread.start()
    try:
        while not stopped():
            try:
                more, item = items.get(timeout=0.2)
            except queue.Empty:
                continue
            if more:
                yield item
            elif item is None:
                return
            else:
                raise item
    finally:
        stop.set()
        thread.join(1.0)  # it may be waiting for a pipe that nobody writes to
