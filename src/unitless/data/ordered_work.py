"""Work on many items by several threads at the same time, with the results in the order of the items.

Which thread works on what never shows in a result: an error is raised where its item's turn comes, after the results of
all items before it.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Generic, TypeVar

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
    """Each item with what `work` makes of it.

    The items are drawn in the thread of the caller, which works too while it would have to wait. At most one item more
    than there are threads is drawn before the first of them is taken.

    Args:
        items: what is to be worked on.
        work: called in any thread; what it does must not depend on the order.
        threads: how many work at the same time, the caller's included.
        may_look_ahead: asked before an item is drawn while others are still under way.
    """
    pending: deque[_Task[T, R]] = deque()
    crew = _Crew(work, threads - 1)
    failure: Exception | None = None
    more = True
    try:
        while more or pending:
            while more and (not pending or (threads > 1 and len(pending) <= threads and may_look_ahead())):
                try:
                    task: _Task[T, R] = _Task(next(items))
                except StopIteration:
                    more = False
                    break
                except Exception as error:  # its turn comes after the items that were drawn before
                    failure, more = error, False
                    break
                if threads > 1:
                    crew.take(task, alone=not pending)
                pending.append(task)
            if pending:
                task = pending.popleft()
                task.run(work)
                yield task.item, task.result()
        if failure is not None:
            raise failure
    finally:
        for task in pending:
            task.give_up()
        crew.dismiss()


class _Task(Generic[T, R]):
    """An item that one thread works on: the one that comes first."""

    def __init__(self, item: T) -> None:
        self.item = item
        self._begun, self._done = threading.Lock(), threading.Event()
        self._made: list[R] = []
        self._error: BaseException | None = None

    def run(self, work: Callable[[T], R]) -> None:
        """Work, unless a thread does or did already."""
        if not self._begun.acquire(blocking=False):
            return
        try:
            self._made.append(work(self.item))
        except BaseException as error:  # whatever it is, it belongs to whoever wants the result
            self._error = error
        self._done.set()

    def give_up(self) -> None:
        """Nobody need begin with it any more."""
        self._begun.acquire(blocking=False)

    def result(self) -> R:
        """What was made, once it is there."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._made.pop()


class _Crew(Generic[T, R]):
    """Threads that take tasks as they come. They are started when there is something to do, and end when dismissed."""

    def __init__(self, work: Callable[[T], R], most: int) -> None:
        self._work, self._most = work, most
        self._tasks: queue.SimpleQueue[_Task[T, R] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def take(self, task: _Task[T, R], alone: bool) -> None:
        """One more; `alone`: there is no other, so that the caller can do it as well."""
        if alone and not self._threads:
            return
        self._tasks.put(task)
        if not alone and len(self._threads) < self._most:
            thread = threading.Thread(target=self._run, name="unitless-parser", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system cannot start more; those that there are do it, or the caller
                self._most = len(self._threads)
                return
            self._threads.append(thread)

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            task.run(self._work)
            del task  # it may hold much memory, and the next one may be long in coming

    def dismiss(self) -> None:
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()


class OneEach(Generic[T]):
    """Things of which each thread uses one at a time, made as they are needed.

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
