"""Tasks on Ray: plain remote functions, which Ray runs again if a worker or a machine is lost."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import signal
import tempfile
import threading
import warnings
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import OptionError, WorkerError
from ..version import __version__
from .engine import RETRIES, Engine, Failed, Handle, TableHandle, Task, carried_out, combined, lost, not_run, reach

try:
    import ray
    from ray._private import ray_constants
    from ray._private import worker as ray_worker
except ModuleNotFoundError:
    raise OptionError("Ray is not installed: pip install 'unitless[ray]'") from None


def _with_failure(value: Any) -> tuple[Any, Failed | None]:
    """Split a task's result into two objects, so that its failure can be read without moving its value."""
    return value, value if isinstance(value, Failed) else None


def _carry_out(function: Task, version: str, common: Any, item: Any) -> tuple[Any, Failed | None]:
    return _with_failure(carried_out(function, common, item, version))


def _combine(function: Task, version: str, common: Any, *values: Any) -> tuple[Any, Failed | None]:
    return _with_failure(combined(function, common, list(values), version))


@dataclass(eq=False)
class _Refs:
    """A handle: a value and, unless it was put, the failure of its task, both in Ray's object store."""

    value: Any
    failure: Any = None
    name: str = ""
    # failures and names of the tasks that this task depends on
    before: list[tuple[Any, str]] = field(default_factory=list)


@dataclass(frozen=True)
class RayTable(TableHandle):
    """A block of a Ray Dataset, in the object store."""

    ref: Any
    rows: int

    def table(self) -> Any:
        """The block as a pyarrow table."""
        return ray.get(self.ref)


def _rows_of(block: Any) -> int:
    return int(block.num_rows)


class RayEngine(Engine):
    """A Ray cluster: the cluster that this program has joined, the cluster at an address, or one on this machine.

    Args:
        workers: the number of CPUs of a cluster on this machine. Default: all CPUs of the machine.
        address: the address of a cluster; "auto" for the cluster that this machine belongs to.
    """

    name = "ray"

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        with contextlib.ExitStack() as joined:
            if not ray.is_initialized():
                _join(address, workers, joined)
                # Ray prints a line for each lost worker; its tasks run again, or an error of this package explains the
                # loss.
                for spoken in ("print_to_stdstream", "_unhandled_error_handler"):
                    joined.enter_context(_replaced(ray_worker, spoken, lambda *_, **__: None))
            self._joined = joined.pop_all()
        self.slots = int(ray.cluster_resources().get("CPU", 1))
        settings = {"num_returns": 2, "num_cpus": 1, "max_retries": RETRIES}
        self._carry_out, self._combine = (ray.remote(**settings)(task) for task in (_carry_out, _combine))
        self._unfinished: weakref.WeakSet[_Refs] = weakref.WeakSet()

    def put(self, value: Any) -> Handle:
        """Copy the value into the object store. Workers read its arrays there, without another copy."""
        return _Refs(ray.put(value))

    def submit(self, function: Task, common: Handle | None, item: Any, name: str = "") -> Handle:
        """Run function(common, item) on a worker."""
        return self._started(self._carry_out, function, common, [item], name, [])

    def combine(self, function: Task, common: Handle | None, handles: Sequence[Handle], name: str = "") -> Handle:
        """Run function(common, [values]) on a worker."""
        values = [handle.value for handle in handles]
        return self._started(self._combine, function, common, values, name, handles)

    def _started(
        self, task: Any, function: Task, common: _Refs | None, rest: list[Any], name: str, before: Sequence[_Refs]
    ) -> _Refs:
        shared = None if common is None else common.value
        named = task.options(name=name or function.__name__)
        value, failure = named.remote(function, __version__, shared, *rest)
        needed = [one for one in (common, *before) if one is not None and one.failure is not None]
        known = {failure: said for one in needed for failure, said in (*one.before, (one.failure, one.name))}
        started = _Refs(value, failure, name, list(known.items()))
        self._unfinished.add(started)
        return started

    def get(self, handle: Handle) -> Any:
        """Return the value; its arrays are read-only."""
        self.wait([handle])
        try:
            return ray.get(handle.value)
        except ray.exceptions.RayError as error:
            raise _worker_error(error, handle.name) from None

    def forget(self, handles: Sequence[Handle]) -> None:
        """Release the objects; Ray frees objects that no task needs."""
        for handle in handles:
            handle.value = handle.failure = None
            self._unfinished.discard(handle)

    def tables(self, source: Any) -> list[TableHandle] | None:
        """The blocks of a Ray Dataset, which is computed once and stays in the object store."""
        if not type(source).__module__.startswith("ray.data"):
            return None
        context, said = source.context, logging.getLogger("ray.data")
        with (
            _replaced(context, "enable_progress_bars", False),
            _replaced(context.execution_options, "preserve_order", True),
            _replaced(said, "level", logging.CRITICAL),
        ):
            refs = source.to_arrow_refs()
        rows_of = ray.remote(num_cpus=0.1, max_retries=RETRIES)(_rows_of)
        try:
            counts = ray.get([rows_of.remote(ref) for ref in refs])
        except ray.exceptions.RayError as error:
            raise _worker_error(error, "the Ray Dataset") from None
        return [RayTable(ref, rows) for ref, rows in zip(refs, counts, strict=True)]

    def close(self) -> None:
        """Cancel running tasks; leave the cluster, or stop it if it was started for this engine."""
        unfinished = [handle for handle in self._unfinished if not self._done([handle], 0)[0]]
        for handle in unfinished:
            ray.cancel(handle.failure)
        self._unfinished.clear()
        self._joined.close()

    def _done(self, handles: Sequence[Handle], seconds: float) -> list[bool]:
        waiting = list({handle.failure for handle in handles if handle.failure is not None})
        if not waiting:
            return [True] * len(handles)
        if len(waiting) == len({id(handle) for handle in handles}):  # no task is finished, so no failure can be read
            ray.wait(waiting, num_returns=1, timeout=seconds, fetch_local=False)
        ready, _ = ray.wait(waiting, num_returns=len(waiting), timeout=0, fetch_local=False)
        done = {None, *ready}
        return [handle.failure in done for handle in handles]

    def _failure(self, handle: Handle) -> Failed | None:
        if handle.failure is None:
            return None
        self._unfinished.discard(handle)
        try:
            failed: Failed | None = ray.get(handle.failure)
        except ray.exceptions.RayError as error:
            return Failed(_worker_error(error, _to_blame(handle)))
        return failed


def _to_blame(handle: _Refs) -> str:
    """The name of the first failed task among those that a lost value depends on."""
    for failure, name in handle.before:
        try:
            ray.get(failure)
        except ray.exceptions.RayError:
            return name
    return handle.name


def _worker_error(error: Exception, name: str) -> WorkerError:
    """Ray's message in one sentence."""
    broken = ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError, ray.exceptions.NodeDiedError
    if isinstance(error, broken):
        return lost(name)
    if isinstance(error, ray.exceptions.TaskCancelledError):
        return WorkerError(f"{name or 'a task'} was cancelled")
    return not_run(name, str(error.cause if isinstance(error, ray.exceptions.RayTaskError) else error))


def _folder() -> tempfile.TemporaryDirectory[str]:
    """The folder for the records of a cluster on this machine; Ray needs a short path."""
    place = "/tmp" if os.path.isdir("/tmp") else None
    return tempfile.TemporaryDirectory(prefix="unitless-", dir=place, ignore_cleanup_errors=True)


def _join(address: str | None, workers: int | None, joined: contextlib.ExitStack) -> None:
    """Join a cluster, and leave it when all users of it have closed."""
    own = address in (None, "local")
    if workers is not None and not own:
        raise OptionError(f"has no use for a cluster that is there: {address} has its own", option="workers")
    settings: dict[str, Any] = {}
    if own:
        settings = {"num_cpus": workers, "include_dashboard": False, "_temp_dir": joined.enter_context(_folder())}
    try:
        if address is not None and ":" in address:
            reach(address)  # Ray itself would retry for hours
        with _starting(own):
            ray.init(
                address="local" if own else address,
                logging_level=logging.ERROR,
                log_to_driver=False,
                **settings,
            )
        joined.callback(ray.shutdown)
    except Exception as error:  # Ray raises many kinds of errors without a common base class
        if "Version mismatch" in str(error):
            problem = f"the Ray cluster at {address} has another version of Ray or of Python than this program"
            raise WorkerError(problem, advice=f"this program has Ray {ray.__version__}") from None
        what = "a Ray cluster cannot be started" if own else f"the Ray cluster at {address} cannot be reached"
        advice = "" if own else "is it running, and is this its address?"
        raise WorkerError(f"{what}: {str(error).strip().partition(chr(10))[0]}", advice=advice) from None


_TOKEN = secrets.token_hex(32)  # one for each process, because Ray reads it once


def _token() -> dict[str, str]:
    """Give Ray an access token if its version would write one to the home folder, which may be read-only."""
    if "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ:
        return {}
    folder = os.path.expanduser("~/.ray")
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)
        if os.access(folder, os.W_OK):
            return {}
    return {"RAY_AUTH_TOKEN": _TOKEN}


@contextlib.contextmanager
def _starting(own: bool) -> Iterator[None]:
    """Settings while Ray starts: no usage reports, and signal handlers stay as they are.

    A cluster on this machine accepts connections from this machine only. Ray does so by itself only on systems where it
    expects no other machines, such as macOS.
    """
    settings = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_task_oom_retries": str(RETRIES), **(_token() if own else {})}
    before = {name: os.environ.get(name) for name in settings}
    polite_kill = signal.getsignal(signal.SIGTERM)
    os.environ.update(settings)
    try:
        clusters = ray_constants.ENABLE_RAY_CLUSTER and not own
        with _replaced(ray_constants, "ENABLE_RAY_CLUSTER", clusters), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about graphics processors
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if threading.current_thread() is threading.main_thread() and polite_kill is not None:
            signal.signal(signal.SIGTERM, polite_kill)


@contextlib.contextmanager
def _replaced(holder: Any, name: str, value: Any) -> Iterator[None]:
    """Replace one of Ray's settings temporarily."""
    before = getattr(holder, name)
    setattr(holder, name, value)
    try:
        yield
    finally:
        setattr(holder, name, before)
