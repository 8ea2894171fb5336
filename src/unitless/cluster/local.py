"""Tasks as threads of this process. The core releases Python's lock, so threads run at the same time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeAlias

from .engine import Engine, Failed, Handle, StoppedError, Task, can_be_stopped, carried_out, combined, poll

Later: TypeAlias = "Future[Any]"


class Kept:
    """A handle of a task's value; the value is dropped when it is forgotten."""

    def __init__(self, later: Later) -> None:
        self.later: Later | None = later


class LocalEngine(Engine):
    """Threads of this process.

    Args:
        workers: the number of threads. Default: one for each core.
    """

    name = "local"

    def __init__(self, workers: int | None = None) -> None:
        self.slots = workers or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.slots, "unitless-task")
        self._closing = threading.Event()

    def put(self, value: Any) -> Handle:
        """Store the value."""
        later: Later = Future()
        later.set_result(value)
        return Kept(later)

    def submit(self, function: Task, common: Handle | None, item: Any, name: str = "") -> Handle:
        """Run function(common, item) in a thread."""
        return self._after([], common, lambda _, common: self._run(function, common, item, name))

    def combine(self, function: Task, common: Handle | None, handles: Sequence[Handle], name: str = "") -> Handle:
        """Run function(common, [values]) in a thread, when the values are available."""

        def run(laters: list[Later], common: Later | None) -> Any:
            return combined(function, common and common.result(), [later.result() for later in laters])

        return self._after(handles, common, run)

    def _run(self, function: Task, common: Later | None, item: Any, name: str) -> Any:
        return carried_out(function, common and common.result(), item)

    def _after(
        self, handles: Sequence[Handle], common: Handle | None, run: Callable[[list[Later], Later | None], Any]
    ) -> Handle:
        """A handle for the result of `run`, which is called when all its inputs are available."""
        result: Later = Future()
        needed: list[Later] = [handle.later for handle in handles]
        shared: Later | None = common and common.later
        waited_for = [*needed, *([] if shared is None else [shared])]
        left, lock = [len(waited_for) + 1], threading.Lock()

        def work() -> None:
            try:
                with can_be_stopped(self._closing.is_set):
                    result.set_result(run(needed, shared))
            except BaseException as error:
                result.set_exception(error)
            needed.clear()  # values that were forgotten are freed now

        def one_less(_: Later | None) -> None:
            with lock:
                left[0] -= 1
                ready = left[0] == 0
            if not ready:
                return
            try:
                self._pool.submit(work)
            except RuntimeError:  # the executor is closed
                result.set_exception(StoppedError())

        for later in waited_for:
            later.add_done_callback(one_less)
        waited_for.clear()
        one_less(None)
        return Kept(result)

    def get(self, handle: Handle) -> Any:
        """Return the value."""
        self.wait([handle])
        return handle.later.result()

    def forget(self, handles: Sequence[Handle]) -> None:
        """Release the values."""
        for handle in handles:
            handle.later = None

    def close(self) -> None:
        """Stop running tasks."""
        self._closing.set()
        self._pool.shutdown(cancel_futures=True)

    def _done(self, handles: Sequence[Handle], seconds: float) -> list[bool]:
        return poll(lambda handle: handle.later.done(), handles, seconds)

    def _failure(self, handle: Handle) -> Failed | None:
        if (error := handle.later.exception()) is not None:
            return Failed(error)
        value = handle.later.result()
        return value if isinstance(value, Failed) else None
