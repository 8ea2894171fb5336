"""Work that another thread does while this one goes on: what is counted of a batch while the next one is learned."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

AHEAD = 4  # pieces of work that wait at most: each holds a batch


class Beside:
    """Pieces of work, done in the order in which they are given.

    Args:
        apart: whether another thread does them. If not, each is done at once.
    """

    def __init__(self, apart: bool) -> None:
        self.apart = apart
        self._thread: ThreadPoolExecutor | None = None
        self._waiting: deque[Future[None]] = deque()

    def do(self, work: Callable[[], None]) -> None:
        """One more piece. An error of an earlier one is raised here, or by `wait`."""
        if not self.apart:
            work()
            return
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "unitless-counter")
        self._waiting.append(self._thread.submit(work))
        while len(self._waiting) > AHEAD:
            self._waiting.popleft().result()

    def wait(self) -> None:
        """Until all is done."""
        while self._waiting:
            self._waiting.popleft().result()

    def end(self) -> None:
        """All is done, and the other thread ends."""
        try:
            self.wait()
        finally:
            if self._thread is not None:
                self._thread.shutdown()
                self._thread = None
