"""What runs the tasks of a training, as one small interface.

A task is a function that can be imported and that depends on nothing but its arguments, so that an engine may run it on
any machine, and once more where a machine was lost. Arrays that a task is given may be shared: it must not write into
them.
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
RETRIES = 3  # of a task whose worker was lost


class StoppedError(Exception):
    """A task was given up because its engine closes."""


@dataclass(frozen=True)
class Failed:
    """What a task gives in place of a value: its data or its options are wrong, and another try would not help."""

    error: Exception
    trace: str = ""

    def throw(self) -> NoReturn:
        """Raise the error. One that users are not meant to see says where in the task it came from."""
        if isinstance(self.error, Error):
            raise self.error
        raise self.error from _ElsewhereError(self.trace)


class _ElsewhereError(Exception):
    """Where in a task an error came from."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def carried_out(function: Task, common: Any, item: Any, version: str = __version__) -> Any:
    """What a worker does: the function's value, or `Failed`."""
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
    """What a worker does with what other tasks have given. If one of them has failed, that is handed on."""
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
    """The task that runs inside, in this thread, is given up once it is asked to be."""
    _here.asked = asked
    try:
        yield
    finally:
        _here.asked = None


def go_on() -> None:
    """To be called by long tasks now and then: raises `StoppedError` if the engine closes."""
    asked = getattr(_here, "asked", None)
    if asked is not None and asked():
        raise StoppedError


class TableHandle(abc.ABC):
    """A part of a table that lives in an engine. It can be sent to workers, which ask for its rows.

    Attributes:
        rows: how many it has.
        direct: whether they are there, or are made anew whenever they are asked for.
    """

    rows: int
    direct: bool = True

    @abc.abstractmethod
    def table(self) -> Any:
        """The rows, as a pyarrow table: the same each time."""


class Engine(abc.ABC):
    """Runs tasks, on threads or on a cluster, and keeps what they give until it is asked for.

    Attributes:
        name: as the option `on` has it.
        slots: how many tasks run at once, as far as is known.
    """

    name: str
    slots: int

    @abc.abstractmethod
    def put(self, value: Any) -> Handle:
        """Ship a value once, to be read by many tasks."""

    @abc.abstractmethod
    def submit(self, function: Task, common: Handle | None, item: Any, name: str = "") -> Handle:
        """Run function(common, item) on a worker; `name` is what messages call the task."""

    @abc.abstractmethod
    def combine(self, function: Task, common: Handle | None, handles: Sequence[Handle], name: str = "") -> Handle:
        """Run function(common, [values]) once the values are there. If one of them is `Failed`, so is the result."""

    @abc.abstractmethod
    def get(self, handle: Handle) -> Any:
        """The value, or an error as by `wait`."""

    @abc.abstractmethod
    def forget(self, handles: Sequence[Handle]) -> None:
        """Free the memory of values that are not needed any more."""

    def tables(self, source: Any) -> list[TableHandle] | None:
        """The parts of a table that lives in the engine, in their order; None if the source is something else."""
        return None

    @abc.abstractmethod
    def close(self) -> None:
        """Give up what still runs, and stop what was started for this engine."""

    @abc.abstractmethod
    def _done(self, handles: Sequence[Handle], seconds: float) -> list[bool]:
        """Which of them are done, at the latest after so many seconds."""

    @abc.abstractmethod
    def _failure(self, handle: Handle) -> Failed | None:
        """How a task that is done has failed."""

    def wait(
        self,
        handles: Sequence[Handle],
        told: Callable[[int], None] | None = None,
        tick: Callable[[], None] | None = None,
    ) -> None:
        """Wait until all are done. The first that failed, by their order, raises its error.

        Args:
            handles: of tasks.
            told: called with the number of tasks that are done, whenever it has grown.
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
    """The error of a task whose workers were lost, each time that it was tried."""
    problem = f"the worker was lost {RETRIES + 1} times while it was at {name or 'the same task'}"
    advice = "perhaps it ran out of memory: use more partitions, or fewer workers on a machine"
    return WorkerError(problem, advice=advice)


_MISSING = re.compile(r"No module named '([^']+)'")


def not_run(name: str, reason: str) -> WorkerError:
    """The error of a task that a worker could not begin, or whose value was lost; `reason` as the engine says it."""
    if missing := _MISSING.search(reason):
        problem = f"a worker has no Python module {missing[1]!r}"
        return WorkerError(problem, advice="install the same packages on all machines of the cluster")
    first = reason.strip().partition("\n")[0]
    return WorkerError(f"{name or 'a task'} cannot be run on a worker: {first}")


def reach(address: str, seconds: float = 10.0) -> None:
    """Connect once to an address such as "head:6379" or "tcp://10.0.0.1:8786"; raises OSError where nobody answers."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=seconds).close()
    except ValueError:
        raise OSError("an address ends with a colon and a port") from None


def poll(is_done: Callable[[Handle], bool], handles: Sequence[Handle], seconds: float) -> list[bool]:
    """Which of them are done: as soon as one is, at the latest after so many seconds."""
    end = time.monotonic() + seconds
    pause = 0.0005
    while True:
        done = [is_done(handle) for handle in handles]
        if any(done) or (left := end - time.monotonic()) <= 0:
            return done
        time.sleep(min(pause, left))
        pause = min(2 * pause, 0.02)
