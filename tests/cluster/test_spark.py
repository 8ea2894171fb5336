"""Tasks on a Spark session that the tests start."""

from __future__ import annotations

import _thread
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import tasks
from every_engine import EveryCluster, ModulesOfWorkers

import unitless as ul

if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java", allow_module_level=True)
try:
    from unitless.cluster.on_spark import SparkEngine, tries_of
except ul.OptionError as error:
    pytest.skip(str(error), allow_module_level=True)
import pyspark.sql


@pytest.fixture(scope="module")
def engine(clean: None) -> Iterator[SparkEngine]:
    with SparkEngine(2) as engine:
        yield engine
    assert pyspark.SparkContext._active_spark_context is None


class TestSpark(EveryCluster, ModulesOfWorkers):
    name = "spark"


def test_tasks_run_in_other_processes(engine: SparkEngine) -> None:
    handles = [engine.submit(tasks.process, None, i) for i in range(5)]
    assert os.getpid() not in map(engine.get, handles)


def test_arrays_are_pickled_once(engine: SparkEngine, tmp_path: pathlib.Path) -> None:
    big = engine.put(np.ones(100_000_000, np.uint8))
    assert engine.get(engine.submit(tasks.array_facts, big, 1))[0] == 100_000_000
    engine.forget([big])
    counted = engine.put(tasks.CountsPickles(str(tmp_path), 1_000_000))
    engine.wait([engine.submit(tasks.size_of, counted, i) for i in range(4)])
    assert len(list(tmp_path.iterdir())) == 1
    given = [engine.submit(tasks.zeros, None, 10_000_000) for _ in range(2)]
    assert engine.get(engine.combine(tasks.sizes, None, given)) == [10_000_000] * 2


@pytest.mark.parametrize(
    ("master", "tries"), [("local", 4), ("local[*]", 4), ("local[2]", 4), ("local[2,4]", 1), ("spark://a:7077", 1)]
)
def test_where_spark_does_not_retry_the_engine_does(engine: SparkEngine, master: str, tries: int) -> None:
    assert tries_of(master) == tries


def test_ctrl_c_and_the_session_of_others_stays(engine: SparkEngine) -> None:
    start = time.monotonic()
    with SparkEngine(spark=engine._spark) as other:
        handles = [other.submit(tasks.slow, None, 60.0) for _ in range(20)]
        threading.Timer(0.5, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            other.wait(handles)
    assert engine.get(engine.submit(tasks.product, None, 3)) == 3
    assert time.monotonic() - start < 50  # a task takes 60


def test_jobs_that_begin_while_the_engine_closes_are_canceled(engine: SparkEngine) -> None:
    start = time.monotonic()
    with SparkEngine(spark=engine._spark) as other:
        for _ in range(20):
            other.submit(tasks.slow, None, 60.0)
    assert time.monotonic() - start < 50  # a task takes 60


def test_a_frame_is_written_once_and_read_in_order(engine: SparkEngine, tmp_path: pathlib.Path) -> None:
    spark = pyspark.sql.SparkSession(engine._spark)
    frame = (
        spark.range(0, 1000, numPartitions=3).withColumnRenamed("id", "a").where("a >= 334")
    )  # the first part is empty
    for scratch in (None, tmp_path / "folder", f"file://{tmp_path}/other"):
        with SparkEngine(spark=spark, scratch=scratch) as other:
            tables = other.tables(frame)
            assert tables is not None
            assert [table.rows for table in tables] == [332, 334]  # one part has no rows
            rows = [other.get(other.submit(tasks.first_row, None, table)) for table in tables]
            assert rows == [(332, [{"a": 334}]), (334, [{"a": 666}])]
            path = pathlib.Path(tables[0].path.removeprefix("file://"))  # type: ignore[attr-defined]
            assert path.exists()
            assert other.tables("a.csv") is None
        assert not path.parent.exists()


UNREACHABLE = """
import unitless as ul
from unitless.cluster.on_spark import SparkEngine
try:
    SparkEngine(address="spark://127.0.0.1:1")
except ul.Error as error:
    print(error)
"""


def test_a_cluster_that_is_not_there() -> None:
    run = subprocess.run([sys.executable, "-c", UNREACHABLE], capture_output=True, text=True, timeout=60, check=True)
    assert run.stderr == ""
    assert run.stdout.startswith("the Spark cluster at spark://127.0.0.1:1 cannot be reached: ")


@pytest.mark.parametrize(
    ("prepared", "message"),
    [
        ("sys.modules['pyspark'] = None", "Spark is not installed: pip install 'unitless[spark]'"),
        ("os.environ['JAVA_HOME'] = '/nowhere'", "Spark cannot be started; it needs Java 17 or later"),
    ],
)
def test_missing_requirements_of_spark_are_named(prepared: str, message: str) -> None:
    script = f"import os, sys; {prepared}; from unitless.cluster.on_spark import SparkEngine; SparkEngine(1)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert message in run.stderr.splitlines()[-1]
