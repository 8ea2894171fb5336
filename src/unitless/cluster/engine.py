"""The interface of engines, which run the tasks of a training.

A task is an importable function whose result depends only on its arguments. So an engine may run it on any machine, and
run it again if a machine is lost. The arrays among its arguments may be shared: a task must not write to them.
"""

from __future__ import annotations

import abc
import contextlib
import pickle
import re
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from .._core import work_alone
from ..errors import Error, WorkerError
from ..version import __version__

if TYPE_CHECKING:
    from typing_extensions import Self

Task: TypeAlias = Callable[[Any, Any], Any]
Handle: TypeAlias = Any
RETRIES = 3  # for a task whose worker was lost


class StoppedError(Exception):
    """Raised in a task when its engine closes."""


@dataclass(frozen=True)
class Failed:
    """The result of a task whose data or options are wrong, so that another try would not help."""

    error: Exception
    trace: str = ""

    def throw(self) -> NoReturn:
        """Raise the error. An internal error also gets the traceback of the task."""
        if isinstance(self.error, Error):
            raise self.error
        raise self.error from _ElsewhereError(self.trace)


class _ElsewhereError(Exception):
    """The traceback of an error in a task."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def carried_out(function: Task, common: Any, item: Any, version: str = __version__) -> Any:
    """Run a task on a worker: returns the function's value, or `Failed`."""
    if isinstance(common, Failed):
        return common
    if version != __version__:
        problem = f"a worker has unitless {__version__} and this program {version}"
        return Failed(WorkerError(problem, advice="install the same version everywhere"))
    work_alone(True)
    try:
        return function(common, item)
    except StoppedError:
        raise
    except MemoryError:
        advice = "fewer features (ignore, bits) or fewer workers on a machine need less"
        return Failed(WorkerError("there is not enough memory on a worker", advice=advice))
    except Exception as error:
        return Failed(_shippable(error), traceback.format_exc())
    finally:
        work_alone(False)


def combined(function: Task, common: Any, values: list[Any], version: str = __version__) -> Any:
    """Run a function of the values of other tasks on a worker. If one of them is `Failed`, return that."""
    failed = next((value for value in values if isinstance(value, Failed)), None)
    return carried_out(function, common, values, version) if failed is None else failed


def _shippable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


_here = threading.local()


@contextlib.contextmanager
def can_be_stopped(asked: Callable[[], bool]) -> Iterator[None]:
    """Allow the task that runs inside, in this thread, to be stopped by an event."""
    _here.asked = asked
    try:
        yield
    finally:
        _here.asked = None


def go_on() -> None:
    """Raise `StoppedError` if the engine closes; long tasks call this regularly."""
    asked = getattr(_here, "asked", None)
    if asked is not None and asked():
        raise StoppedError


class TableHandle(abc.ABC):
    """A part of a table that an engine stores. It can be sent to workers, which then read its rows.

    Attributes:
        rows: the number of rows.
        direct: whether the rows are stored; otherwise they are computed at each use.
    """

    rows: int
    direct: bool = True

    @abc.abstractmethod
    def table(self) -> Any:
        """The rows as a pyarrow table, equal at each call."""


class Engine(abc.ABC):
    """Runs tasks, on threads or on a cluster, and stores their results until they are fetched.

    Attributes:
        name: the value of the option `backend`.
        slots: the number of tasks that run at once, as far as is known.
    """

    name: str
    slots: int

    @abc.abstractmethod
    def put(self, value: Any) -> Handle:
        """Send a value once, to be read by many tasks."""

    @abc.abstractmethod
    def submit(self, function: Task, common: Handle | None, item: Any, name: str = "") -> Handle:
        """Run function(common, item) on a worker; `name` identifies the task in messages."""

    @abc.abstractmethod
    def combine(self, function: Task, common: Handle | None, handles: Sequence[Handle], name: str = "") -> Handle:
        """Run function(common, [values]) when the values are available.

        If one of them is `Failed`, that is the result.
        """

    @abc.abstractmethod
    def get(self, handle: Handle) -> Any:
        """Return the value, or raise an error like `wait`."""

    @abc.abstractmethod
    def forget(self, handles: Sequence[Handle]) -> None:
        """Free the memory of values that are no longer needed."""

    def tables(self, source: Any) -> list[TableHandle] | None:
        """The parts of a table that the engine stores, in their order; None for any other source."""
        return None

    @abc.abstractmethod
    def close(self) -> None:
        """Stop running tasks, and whatever was started for this engine."""

    @abc.abstractmethod
    def _done(self, handles: Sequence[Handle], seconds: float) -> list[bool]:
        """The finished tasks among `handles`; waits for the first of them, but not longer than `seconds`."""

    @abc.abstractmethod
    def _failure(self, handle: Handle) -> Failed | None:
        """The failure of a finished task, or None."""

    def wait(
        self,
        handles: Sequence[Handle],
        told: Callable[[int], None] | None = None,
        tick: Callable[[], None] | None = None,
    ) -> None:
        """Wait until all tasks are finished. The first failed task, in their order, raises its error.

        Args:
            handles: the tasks.
            told: called with the number of finished tasks, whenever it has grown.
            tick: called several times a second.
        """
        handles = list(handles)
        pending = list(range(len(handles)))
        failures: dict[int, Failed] = {}
        finished = 0
        while pending:
            done = self._done([handles[i] for i in pending], 0.2)
            for i in (i for i, is_done in zip(pending, done, strict=True) if is_done):
                finished += 1
                if (failed := self._failure(handles[i])) is not None:
                    failures[i] = failed
            first = min(failures, default=len(handles))
            pending = [i for i, is_done in zip(pending, done, strict=True) if not is_done and i < first]
            if told is not None and any(done):
                told(finished)
            if tick is not None:
                tick()
        if failures:
            failures[min(failures)].throw()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def lost(name: str) -> WorkerError:
    """The error for a task whose workers were lost at each try."""
    problem = f"the worker was lost {RETRIES + 1} times while it was at {name or 'the same task'}"
    advice = "perhaps it ran out of memory: use more partitions, or fewer workers on a machine"
    return WorkerError(problem, advice=advice)


_MISSING = re.compile(r"No module named '([^']+)'")


def not_run(name: str, reason: str) -> WorkerError:
    """The error for a task that could not start or whose value was lost; `reason` is the engine's message."""
    if missing := _MISSING.search(reason):
        problem = f"a worker has no Python module {missing[1]!r}"
        return WorkerError(problem, advice="install the same packages on all machines of the cluster")
    first = reason.strip().partition("\n")[0]
    return WorkerError(f"{name or 'a task'} cannot be run on a worker: {first}")


def reach(address: str, seconds: float = 10.0) -> None:
    """Connect once to an address such as "head:6379" or "tcp://10.0.0.1:8786"; raises OSError if there is no answer."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=seconds).close()
    except ValueError:
        raise OSError("an address ends with a colon and a port") from None


def poll(is_done: Callable[[Handle], bool], handles: Sequence[Handle], seconds: float) -> list[bool]:
    """The finished tasks: returns as soon as there is one, or after `seconds`."""
    end = time.monotonic() + seconds
    pause = 0.0005
    while True:
        done = [is_done(handle) for handle in handles]
        if any(done) or (left := end - time.monotonic()) <= 0:
            return done
        time.sleep(min(pause, left))
        pause = min(2 * pause, 0.02)
