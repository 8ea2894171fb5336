"""Work in other threads: many items at the same time with results in order, and items that are made ahead of time."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from .. import _core

T = TypeVar("T")
R = TypeVar("R")

MOST_THREADS = 9  # more would only wait: one thread learns what the others read


def threads_to_read() -> int:
    """How many threads may be busy with a file, the one that learns from it included."""
    return min(_core.thread_count(), MOST_THREADS)


def in_order(
    items: Iterator[T],
    work: Callable[[T], R],
    threads: int,
    may_look_ahead: Callable[[], bool] = lambda: True,
) -> Generator[tuple[T, R], None, None]:
    """Each item with what `work` makes of it, in the order of the items.

    The items are drawn in the thread of the caller, which works too instead of waiting for an item that no thread has
    begun. At most one item more than there are threads is drawn before the first of them is taken. An error is raised
    after the results of all items before it.

    Args:
        items: what is to be worked on.
        work: called in any thread; what it does must not depend on the order.
        threads: how many work at the same time, the caller's included.
        may_look_ahead: asked before an item is drawn while others are still under way.
    """
    pending: deque[tuple[T, Future[R] | None]] = deque()
    pool = ThreadPoolExecutor(max(1, threads - 1), "unitless-parser")
    failure: Exception | None = None
    more = True
    try:
        while more or pending:
            while more and (not pending or (threads > 1 and len(pending) <= threads and may_look_ahead())):
                try:
                    item = next(items)
                except StopIteration:
                    more = False
                    break
                except Exception as error:  # its turn comes after the items that were drawn before
                    failure, more = error, False
                    break
                try:
                    future = pool.submit(work, item) if pending else None
                except RuntimeError:  # the system cannot start more threads: the caller does the rest
                    pool.shutdown(cancel_futures=True)
                    future, threads = None, 1
                pending.append((item, future))
            if pending:
                item, future = pending.popleft()
                alone = future is None or future.cancel()
                found = work(item) if alone or future is None else future.result()
                del future  # its result may take much memory
                yield item, found
        if failure is not None:
            raise failure
    finally:
        pool.shutdown(cancel_futures=True)


class OneEach(Generic[T]):
    """Things of which each thread uses one at a time, made when they are needed.

    Args:
        make: makes one.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._free: list[T] = []
        self.all: list[T] = []  # that have been made

    def use(self, how: Callable[[T], R]) -> R:
        """What one of them gives."""
        try:
            one = self._free.pop()
        except IndexError:
            one = self._make()
            self.all.append(one)
        try:
            return how(one)
        finally:
            self._free.append(one)


def prefetched(
    make: Callable[[], Iterator[T]],
    stopped: Callable[[], bool] = lambda: False,
    depth: int = 2,
    stop: threading.Event | None = None,
) -> Iterator[T]:
    """Items that another thread makes ahead of time; none once `stopped`, even if one is waited for.

    The thread is a daemon and no pool's: it may wait for a pipe forever, and must not keep the program from ending.

    Args:
        make: makes the items, in the other thread.
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
        except BaseException as error:  # whatever it is, it belongs to the caller
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
        thread.join(1.0)  # it may be waiting for a pipe to which nothing is written
