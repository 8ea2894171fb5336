"""Tasks on a Ray cluster that the tests start."""

from __future__ import annotations

import _thread
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
import tasks
from every_engine import EveryCluster, ModulesOfWorkers

ray = pytest.importorskip("ray")
from unitless.cluster.on_ray import RayEngine  # noqa: E402


@pytest.fixture(scope="module")
def engine(clean: None) -> Iterator[RayEngine]:
    handler = signal.getsignal(signal.SIGTERM)
    with RayEngine(2) as engine:
        assert signal.getsignal(signal.SIGTERM) is handler
        yield engine
    assert not ray.is_initialized()


class TestRay(EveryCluster, ModulesOfWorkers):
    name = "ray"


def test_arrays_are_read_where_they_lie_and_shipped_once(engine: RayEngine, tmp_path: pathlib.Path) -> None:
    big = engine.put(np.ones(100_000_000, np.uint8))
    facts = [engine.submit(tasks.array_facts, big, i) for i in range(4)]
    engine.wait(facts)
    assert {engine.get(fact) for fact in facts} == {(100_000_000.0, False, False)}  # neither copied nor writable
    counted = engine.put(tasks.CountsPickles(str(tmp_path), 1_000_000))
    engine.wait([engine.submit(tasks.size_of, counted, i) for i in range(4)])
    assert len(list(tmp_path.iterdir())) == 1
    given = [engine.submit(tasks.zeros, None, 10_000_000) for _ in range(3)]
    assert engine.get(engine.combine(tasks.sizes, None, given)) == [10_000_000] * 3


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray uses deprecated settings of its own
def test_blocks_of_a_dataset_in_their_order(engine: RayEngine, capfd: pytest.CaptureFixture[str]) -> None:
    data = pytest.importorskip("ray.data")
    given = [pa.table({"a": range(10 * i, 10 * i + 5 + i)}) for i in range(3)]
    tables = engine.tables(data.from_arrow(given))
    assert tables is not None
    assert [table.rows for table in tables] == [5, 6, 7]
    rows = [engine.get(engine.submit(tasks.first_row, None, table)) for table in tables]
    assert rows == [(5 + i, [{"a": 10 * i}]) for i in range(3)]
    assert engine.tables(given[0]) is None
    assert capfd.readouterr() == ("", "")


def test_ctrl_c_cancels_tasks_and_leaves_the_cluster_of_others_running(engine: RayEngine) -> None:
    start = time.monotonic()
    with RayEngine() as other:  # a cluster is already running
        handles = [other.submit(tasks.slow, None, 60.0) for _ in range(4)]
        threading.Timer(0.5, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            other.wait(handles)
    assert engine.get(engine.submit(tasks.product, None, 3)) == 3
    assert time.monotonic() - start < 50  # a task takes 60


UNREACHABLE = """
import unitless as ul
from unitless.cluster.on_ray import RayEngine
for given in ({"address": "127.0.0.1:1"}, {"address": "127.0.0.1:1", "workers": 2}):
    try:
        RayEngine(**given)
    except ul.Error as error:
        print(error)
"""


def test_a_cluster_that_is_not_there() -> None:
    run = subprocess.run([sys.executable, "-c", UNREACHABLE], capture_output=True, text=True, timeout=60, check=True)
    assert run.stderr == ""
    lines = run.stdout.splitlines()
    assert lines[0].startswith("the Ray cluster at 127.0.0.1:1 cannot be reached: ")
    assert lines[1] == "workers has no use for a cluster that is there: 127.0.0.1:1 has its own"


HOMELESS = """
import tasks
from unitless.cluster.on_ray import RayEngine
with RayEngine(workers=1) as engine:
    print(engine.get(engine.submit(tasks.filled, None, 2)).sum())
"""


def test_a_home_folder_that_cannot_be_written() -> None:
    environment = {**os.environ, "HOME": "/dev/null/home", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HOMELESS]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert (run.returncode, run.stdout) == (0, "2000000\n"), run.stderr


def test_ray_is_not_installed() -> None:
    script = "import sys; sys.modules['ray'] = None; import unitless.cluster.on_ray"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.stderr.splitlines()[-1].endswith("OptionError: Ray is not installed: pip install 'unitless[ray]'")
