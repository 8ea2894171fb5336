"""Work in other threads: many items in parallel with results in order, and items that are made ahead of time."""

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

MOST_THREADS = 9  # more would only wait for the thread that learns


def threads_to_read() -> int:
    """Return how many threads may work on a file, including the one that learns."""
    return min(_core.thread_count(), MOST_THREADS)


def in_order(
    items: Iterator[T],
    work: Callable[[T], R],
    threads: int,
    may_look_ahead: Callable[[], bool] = lambda: True,
) -> Generator[tuple[T, R], None, None]:
    """Apply `work` to items in several threads; return an iterator over (item, result) in the order of the items.

    Items are drawn in the caller's thread. The caller's thread also works: it does not wait for an item that no thread
    has begun. Before the first result is taken, at most `threads` + 1 items are drawn. An error is raised after the
    results of all items before it.

    Args:
        items: the items to work on.
        work: is called in any thread, in any order.
        threads: the number of threads, including the caller's.
        may_look_ahead: returns whether another item may be drawn while others are not finished. Default: always True.
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
                except Exception as error:  # raised after the results of the items before it
                    failure, more = error, False
                    break
                try:
                    future = pool.submit(work, item) if pending else None
                except RuntimeError:  # the system cannot start more threads; the caller's thread does the rest
                    pool.shutdown(cancel_futures=True)
                    future, threads = None, 1
                pending.append((item, future))
            if pending:
                item, future = pending.popleft()
                alone = future is None or future.cancel()
                found = work(item) if alone or future is None else future.result()
                del future  # releases the result, which may be large
                yield item, found
        if failure is not None:
            raise failure
    finally:
        pool.shutdown(cancel_futures=True)


class OneEach(Generic[T]):
    """Objects that are used by one thread at a time, made when they are needed."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._free: list[T] = []
        self.all: list[T] = []  # all that have been made

    def use(self, how: Callable[[T], R]) -> R:
        """Call `how` with a free object, and return its result."""
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
    """Make items in another thread ahead of time; return an iterator over them, which ends early once `stopped`.

    The thread is a daemon thread outside of any pool, because it may wait for a pipe forever and must not keep the
    program from ending.

    Args:
        make: returns the items; it runs in the other thread.
        stopped: returns whether to end; called while the caller waits for an item.
        depth: how many items are made ahead.
        stop: an event that is set when no more items are wanted, so that `make` can stop waiting.
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
        except BaseException as error:  # raised in the caller's thread
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
        thread.join(1.0)  # it may be waiting for a pipe without data
