"""Tasks on Spark: each is a job of one task, started by a thread of the driver; values return to the driver.

Spark cannot store values for other tasks, so the driver collects them.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
import uuid
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..data.memory import default_memory
from ..errors import Option, OptionError, Phrase, WorkerError
from ..version import __version__
from .engine import RETRIES, Failed, Handle, TableHandle, Task, carried_out, lost, not_run, reach
from .local import Later, LocalEngine


@contextlib.contextmanager
def _no_remarks() -> Iterator[None]:
    """Suppress Spark's warnings about pandas while it is loaded; pandas is not used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


try:
    with _no_remarks():
        import pyspark
        from py4j.protocol import Py4JError, Py4JJavaError
        from pyspark.errors import PySparkException
        from pyspark.java_gateway import launch_gateway
    from pyarrow import fs, parquet
except ModuleNotFoundError:
    raise OptionError("Spark is not installed: pip install 'unitless[spark]'") from None

_LOST = re.compile(r"Python worker exited unexpectedly|ExecutorLostFailure|OutOfMemoryError|EOFException|[Ss]lave lost")
_ADDRESS = re.compile(r"spark://([^,]+:\d+)")


class _Call:
    """The function and arguments of a worker's task."""

    def __init__(self, function: Task, common: Any) -> None:
        self._function, self._common, self._version = function, common, __version__

    def __call__(self, item: Any) -> Any:
        common = None if self._common is None else self._common.value
        return carried_out(self._function, common, item, self._version)


@dataclass
class _Shipped:
    """A value that was sent to workers, with the number of tasks that use it, and whether more tasks will."""

    broadcast: Any
    tasks: int = 0
    forgotten: bool = False


@dataclass(frozen=True)
class SparkTable(TableHandle):
    """A file of a Spark frame that was written as Parquet."""

    path: str
    rows: int

    def table(self) -> Any:
        """The rows of the file."""
        return parquet.read_table(self.path)


class SparkEngine(LocalEngine):
    """A Spark cluster: that of a session, the cluster that this program has joined, or one on this machine.

    Args:
        workers: the number of tasks that run at once. Default: one for each core for a cluster on this machine.
        address: the address of the master, such as "spark://head:7077".
        spark: a session.
        scratch: a folder that all machines can read and write; frames are stored there until the engine closes.
            Default: a temporary folder if Spark runs on this machine only.
    """

    name = "spark"

    def __init__(
        self,
        workers: int | None = None,
        address: str | None = None,
        spark: Any = None,
        scratch: str | os.PathLike[str] | None = None,
    ) -> None:
        there = pyspark.SparkContext._active_spark_context if spark is None else _context_of(spark)
        self._own = there is None
        self._spark: Any = there or _started(address or f"local[{workers or os.cpu_count() or 1},{RETRIES + 1}]")
        known = int(self._spark.defaultParallelism)
        super().__init__(workers or (known if self._own else max(known, 64)))  # clusters may grow when there is work
        self.slots = workers or known
        self._tries = tries_of(self._spark.master)
        self._group = f"unitless-{uuid.uuid4()}"
        self._scratch, self._written = scratch, contextlib.ExitStack()
        self._shipped: dict[Later, _Shipped] = {}
        self._shipping = threading.Lock()

    def _run(self, function: Task, common: Later | None, item: Any, name: str) -> Any:
        if common is not None and isinstance(failed := common.result(), Failed):
            return failed
        shared = None if common is None else self._shared(common)
        try:
            return self._job(_Call(function, shared), item, name or function.__name__)
        finally:
            if common is not None:
                self._done_with(common, tasks=1)

    def _job(self, call: _Call, item: Any, name: str) -> Any:
        self._spark.setJobGroup(self._group, name, interruptOnCancel=True)
        for left in reversed(range(self._tries)):
            try:
                return self._spark.parallelize([item], 1).map(call).collect()[0]
            except (Py4JError, PySparkException, OSError) as error:
                said = _message(error)
                is_lost = _LOST.search(said) is not None
                if self._closing.is_set() or left == 0 or not is_lost:
                    raise (lost(name) if is_lost else not_run(name, said)) from None
        raise AssertionError

    def _shared(self, later: Later) -> Any:
        """The value as a broadcast; it is sent when the first task needs it."""
        with self._shipping:
            if later not in self._shipped:
                self._shipped[later] = _Shipped(self._spark.broadcast(later.result()))
            self._shipped[later].tasks += 1
            return self._shipped[later].broadcast

    def _done_with(self, later: Later, tasks: int = 0, forgotten: bool = False) -> None:
        """Free the value on the workers, after the last task that needs it."""
        with self._shipping:
            shipped = self._shipped.get(later)
            if shipped is None:
                return
            shipped.tasks -= tasks
            shipped.forgotten |= forgotten
            if shipped.forgotten and shipped.tasks == 0 and not self._closing.is_set():
                del self._shipped[later]
                shipped.broadcast.destroy()

    def forget(self, handles: Sequence[Handle]) -> None:
        """Release the values, here and on the workers."""
        for handle in handles:
            if handle.later is not None:
                self._done_with(handle.later, forgotten=True)
        super().forget(handles)

    def tables(self, source: Any) -> list[TableHandle] | None:
        """The files of a Spark frame, which is written once so that its rows keep their order."""
        if not type(source).__module__.startswith("pyspark.sql"):
            return None
        folder = self._folder()
        try:
            source.write.parquet(folder)
        except (Py4JError, PySparkException) as error:
            raise WorkerError(f"the Spark frame cannot be written to {folder}: {_first_line(error)}") from None
        files, inside = fs.FileSystem.from_uri(folder)
        self._written.callback(files.delete_dir, inside)
        found = sorted(info.path for info in files.get_file_info(fs.FileSelector(inside)))
        prefix = folder.removesuffix(inside)
        parts = [path for path in found if path.endswith(".parquet")]  # the file names begin with their numbers
        counts = [parquet.read_metadata(path, filesystem=files).num_rows for path in parts]
        return [SparkTable(prefix + path, rows) for path, rows in zip(parts, counts, strict=True) if rows]

    def _folder(self) -> str:
        """Make a new folder for a frame."""
        if self._scratch is not None:
            scratch = os.fspath(self._scratch).rstrip("/")
            folder = scratch if "://" in scratch else os.path.abspath(scratch)
            return f"{folder}/unitless-{uuid.uuid4()}"
        if not self._spark.master.startswith("local"):
            problem = "a Spark frame is written down once, where all machines can read it"
            raise OptionError(problem, advice=Phrase("name a folder for it with ", Option("scratch")))
        return os.path.join(self._written.enter_context(tempfile.TemporaryDirectory(prefix="unitless-")), "frame")

    def close(self) -> None:
        """Cancel running tasks, and stop Spark if it was started for this engine."""
        if self._closing.is_set():
            return
        self._closing.set()
        ended = threading.Event()
        canceling = threading.Thread(target=self._cancel_until, args=(ended,))
        canceling.start()
        super().close()
        ended.set()
        canceling.join()
        self._written.close()
        if self._own:
            _stop(self._spark)

    def _cancel_until(self, ended: threading.Event) -> None:
        """Cancel jobs repeatedly: a thread may start one just after the others were canceled."""
        while not ended.is_set():
            self._spark.cancelJobGroup(self._group)
            ended.wait(0.2)


def tries_of(master: str) -> int:
    """How often a job is tried here.

    A cluster retries by itself; a local session retries only if it is configured so.
    """
    return RETRIES + 1 if re.fullmatch(r"local(\[[^,]*\])?", master) else 1


def _message(error: Exception) -> str:
    """Spark's message, without the Java stack trace."""
    return str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)


def _first_line(error: Exception) -> str:
    return _message(error).strip().partition("\n")[0]


def _context_of(spark: Any) -> Any:
    if isinstance(spark, pyspark.SparkContext):
        return spark
    try:
        return spark.sparkContext
    except (PySparkException, AttributeError):
        problem = "a session of Spark Connect cannot run tasks"
        raise OptionError(problem, advice="give a SparkSession of the cluster itself") from None


def _started(master: str) -> Any:
    """A new Spark session. On this machine, it accepts connections from this machine only."""
    settings = {
        "spark.app.name": "unitless",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.maxResultSize": "0",
        "spark.driver.memory": f"{max(1024, default_memory() >> 20)}m",
    }
    if master.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    elif found := _ADDRESS.fullmatch(master):
        try:
            reach(found[1])
        except OSError as error:
            problem = f"the Spark cluster at {master} cannot be reached: {error}"
            raise WorkerError(problem, advice="is it running, and is this its address?") from None
    conf = pyspark.SparkConf().setMaster(master).setAll(list(settings.items()))
    try:
        gateway = launch_gateway(conf, {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL})
    except (PySparkException, OSError):
        raise WorkerError("Spark cannot be started", advice="it needs Java 17 or later; is JAVA_HOME right?") from None
    try:
        with _no_remarks():
            context = pyspark.SparkContext(conf=conf, gateway=gateway)
    except (Py4JError, PySparkException) as error:
        _end(gateway)
        raise WorkerError(f"Spark cannot be started: {_first_line(error)}") from None
    if master.startswith("local"):
        context.pythonExec = sys.executable  # Spark would use the first python3 on the path
    return context


def _stop(spark: Any) -> None:
    gateway = spark._gateway
    spark.stop()
    _end(gateway)


def _end(gateway: Any) -> None:
    """End the Java process, which Spark would otherwise keep for a later session of the program."""
    pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(30)
