"""Tasks on Dask: plain futures, which the scheduler runs again if a worker is lost."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import pickle
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import OptionError, WorkerError
from ..version import __version__
from .engine import Engine, Failed, Handle, TableHandle, Task, carried_out, combined, lost, not_run, poll, reach

try:
    import dask
    import distributed
except ModuleNotFoundError:
    raise OptionError("Dask is not installed: pip install 'unitless[dask]'") from None


class _TaskFailed(Exception):
    """Carries `Failed` as an exception: Dask then skips the tasks that need the value."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed)
        self.failed = failed


class _Parcel:
    """A value that is pickled once, at the beginning; its arrays are not copied.

    The scheduler stores it without unpickling it, so it survives the loss of any worker.
    """

    def __init__(self, head: bytes, buffers: Sequence[Any]) -> None:
        self.head, self.buffers = head, buffers

    @classmethod
    def of(cls, value: Any) -> _Parcel:
        buffers: list[pickle.PickleBuffer] = []
        return cls(pickle.dumps(value, 5, buffer_callback=buffers.append), buffers)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Parcel, (self.head, [pickle.PickleBuffer(buffer) for buffer in self.buffers])

    def opened(self) -> Any:
        return pickle.loads(self.head, buffers=self.buffers)


def _carry_out(function: Task, version: str, common: Any, item: _Parcel) -> Any:
    return _or_raise(carried_out(function, common, item.opened(), version))


def _combine(function: Task, version: str, common: Any, *values: Any) -> Any:
    return _or_raise(combined(function, common, list(values), version))


def _or_raise(value: Any) -> Any:
    if isinstance(value, Failed):
        raise _TaskFailed(value)
    return value


@dataclass(frozen=True)
class DaskTable(TableHandle):
    """A partition of a Dask DataFrame, as the graph that computes it."""

    partition: Any
    rows: int
    direct: bool = False

    def table(self) -> Any:
        """Compute the partition in the calling process."""
        import pyarrow as pa  # noqa: PLC0415  (only tables need it)

        (frame,) = dask.compute(self.partition, scheduler="synchronous")
        return pa.Table.from_pandas(frame, preserve_index=False)


def _rows_of(common: None, partition: Any) -> int:
    return int(DaskTable(partition, 0).table().num_rows)


class DaskEngine(Engine):
    """A Dask cluster: the cluster of a client, the cluster at an address, or processes of this machine.

    Args:
        workers: the number of processes of this machine's own cluster. Default: one for each core.
        address: the address of a scheduler, such as "tcp://10.0.0.1:8786".
        client: a client that the program uses already.
    """

    name = "dask"

    def __init__(self, workers: int | None = None, address: str | None = None, client: Any = None) -> None:
        if workers is not None and (address is not None or client is not None):
            raise OptionError("has no use for a cluster that is there", option="workers")
        with contextlib.ExitStack() as joined:
            if client is None:
                cluster = address or joined.enter_context(_own_cluster(workers))
                client = joined.enter_context(_client(cluster))
            self._joined = joined.pop_all()
        self._client = client
        self.slots = max(1, sum(client.nthreads().values()))
        self._names: dict[str, str] = {}
        self._unfinished: weakref.WeakSet[Any] = weakref.WeakSet()

    def put(self, value: Any) -> Handle:
        """Send the value to the scheduler; workers copy it from there or from each other."""
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
            return self._client.submit(_Parcel.opened, _Parcel.of(value), pure=False)

    def submit(self, function: Task, common: Handle | None, item: Any, name: str = "") -> Handle:
        """Run function(common, item) on a worker."""
        return self._started(_carry_out, function, name, common, _Parcel.of(item))

    def combine(self, function: Task, common: Handle | None, handles: Sequence[Handle], name: str = "") -> Handle:
        """Run function(common, [values]) on a worker."""
        return self._started(_combine, function, name, common, *handles)

    def _started(self, task: Any, function: Task, name: str, *given: Any) -> Any:
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
            future = self._client.submit(task, function, __version__, *given, pure=False)
        self._names[future.key] = name
        self._unfinished.add(future)
        return future

    def get(self, handle: Handle) -> Any:
        """Return the value."""
        self.wait([handle])
        try:
            return handle.result()
        except Exception as error:  # the worker and those that tried again were lost
            raise self._worker_error(handle, error) from None

    def forget(self, handles: Sequence[Handle]) -> None:
        """Release the futures; the cluster frees values that no task needs."""
        for handle in handles:
            self._unfinished.discard(handle)
            handle.release()

    def tables(self, source: Any) -> list[TableHandle] | None:
        """The partitions of a Dask DataFrame; each task computes the partitions that it needs."""
        if not type(source).__module__.startswith("dask") or not hasattr(source, "to_delayed"):
            return None
        if distributed.futures_of(source):
            advice = "give the frame as it was before persist()"
            raise OptionError("a Dask DataFrame that was persisted cannot be computed by workers", advice=advice)
        partitions = dask.optimize(*source.to_delayed())  # each partition with only the tasks that it needs
        handles = [self.submit(_rows_of, None, one, f"partition {i}") for i, one in enumerate(partitions)]
        self.wait(handles)
        return [DaskTable(one, self.get(rows)) for one, rows in zip(partitions, handles, strict=True)]

    def close(self) -> None:
        """Cancel running tasks; leave the cluster, or stop it if it was started for this engine."""
        unfinished = [future for future in self._unfinished if not future.done()]
        self._unfinished.clear()
        if unfinished:
            self._client.cancel(unfinished)
        self._joined.close()

    def _done(self, handles: Sequence[Handle], seconds: float) -> list[bool]:
        return poll(lambda future: future.done(), handles, seconds)

    def _failure(self, handle: Handle) -> Failed | None:
        self._unfinished.discard(handle)
        if handle.status == "finished":
            return None
        error = handle.exception() if handle.status == "error" else None
        if isinstance(error, _TaskFailed):
            return error.failed
        return Failed(self._worker_error(handle, error))

    def _worker_error(self, handle: Any, error: Exception | None) -> WorkerError:
        """Dask's message in one sentence."""
        key = getattr(error, "task", handle.key)  # the task whose workers were lost
        name = self._names.get(str(key), "")
        if error is None or isinstance(error, distributed.KilledWorker):
            return lost(name)
        return not_run(name, str(error))


def _own_cluster(workers: int | None) -> Any:
    """Processes of this machine, each with one thread, reachable only from this machine."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)  # a worker runs the script from its beginning; the first process prints the error
    try:
        return distributed.LocalCluster(
            n_workers=workers or os.cpu_count() or 1,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        )
    except RuntimeError:
        advice = "a script must keep what it does below the line  if __name__ == '__main__':"
        raise WorkerError("Dask's processes cannot be started", advice=advice) from None


def _client(cluster: Any) -> Any:
    try:
        if isinstance(cluster, str):
            reach(cluster)
        return distributed.Client(cluster, set_as_default=False, timeout=30)
    except (OSError, ValueError) as error:
        problem = f"the Dask cluster at {cluster} cannot be reached: {str(error).strip().partition(chr(10))[0]}"
        raise WorkerError(problem, advice="is it running, and is this its address?") from None
