"""Tasks on a Ray cluster that is started for them."""

from __future__ import annotations

import _thread
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator

import numpy as np
import processes
import pyarrow as pa
import pytest
import tasks

from unitless.errors import InputError, WorkerError

ray = pytest.importorskip("ray")
from unitless.cluster.on_ray import RayEngine  # noqa: E402


@pytest.fixture(scope="module")
def engine(clean: None) -> Iterator[RayEngine]:
    handler = signal.getsignal(signal.SIGTERM)
    with RayEngine(2) as engine:
        assert signal.getsignal(signal.SIGTERM) is handler
        yield engine
    assert not ray.is_initialized()


def test_values_in_order_and_through_trees(engine: RayEngine) -> None:
    assert (engine.name, engine.slots) == ("ray", 2)
    ten = engine.put(10)
    leaves = [engine.submit(tasks.product, ten, i) for i in range(20)]
    folded = [engine.combine(tasks.listed, ten, leaves[i : i + 8]) for i in range(0, 20, 8)]
    top = engine.combine(tasks.listed, None, folded)
    engine.forget(leaves)
    engine.forget([*folded, ten])
    assert engine.get(top) == [None, *([10, *range(10 * i, 10 * min(i + 8, 20), 10)] for i in range(0, 20, 8))]


def test_nothing_listens_beyond_this_machine(engine: RayEngine) -> None:
    addresses = processes.listening()
    assert addresses
    assert all(map(processes.is_loopback, addresses)), addresses


def test_progress_is_told(engine: RayEngine) -> None:
    seen: list[int] = []
    handles = [engine.submit(tasks.slow, None, i / 10) for i in range(5)]
    engine.wait([*handles, engine.put(1), handles[0]], seen.append)
    assert seen == sorted(set(seen))
    assert seen[-1] == 7
    assert len(seen) > 2


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


def test_the_first_failure_by_order_is_raised_and_not_retried(engine: RayEngine, tmp_path: pathlib.Path) -> None:
    folder = engine.put(tmp_path)
    handles = [engine.submit(tasks.bad_row, folder, i) for i in range(8)]
    folded = engine.combine(tasks.listed, None, handles)
    for waited_for in (handles, [folded]):
        with pytest.raises(InputError) as caught:
            engine.wait(waited_for)
        assert (caught.value.file, caught.value.row, caught.value.column) == ("3.csv", 3, "area")
        assert caught.value.text(lambda option: f"--{option.name}").endswith("use --on_error")
        assert caught.value.__cause__ is None
    assert len(list(tmp_path.iterdir())) == 2


def test_errors_that_are_not_the_users_say_where_they_came_from(engine: RayEngine) -> None:
    with pytest.raises(KeyError) as caught:
        engine.get(engine.submit(tasks.broken, None, "k"))
    assert "in broken" in str(caught.value.__cause__)


def test_a_worker_that_is_killed_is_replaced(engine: RayEngine, tmp_path: pathlib.Path) -> None:
    folder = engine.put(str(tmp_path))
    handles = [engine.submit(tasks.killed_once, folder, i) for i in range(2)]
    assert engine.get(engine.combine(tasks.listed, None, handles)) == [None, 0, 1]


def test_a_task_that_kills_its_workers_is_named(
    engine: RayEngine, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    handles = [engine.submit(tasks.killed, engine.put(tmp_path), 1, "partition 7 of round 2")]
    folded = engine.combine(tasks.listed, None, [engine.combine(tasks.listed, None, handles, "a fold")])
    with pytest.raises(WorkerError) as caught:
        engine.wait([folded])
    assert str(caught.value).startswith("the worker was lost 4 times while it was at partition 7 of round 2; perhaps")
    assert caught.value.__cause__ is None
    assert len(list(tmp_path.iterdir())) == 4
    assert capfd.readouterr() == ("", "")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray copies settings of its own that are deprecated
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


def test_ctrl_c_gives_up_what_runs_and_leaves_the_cluster_of_others_alone(engine: RayEngine) -> None:
    start = time.monotonic()
    with RayEngine() as other:  # there is a cluster already
        handles = [other.submit(tasks.slow, None, 60.0) for _ in range(4)]
        threading.Timer(0.5, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            other.wait(handles)
    assert engine.get(engine.submit(tasks.product, None, 3)) == 3
    assert time.monotonic() - start < 50  # a task takes 60


def test_a_module_that_workers_do_not_have(engine: RayEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("not_there")
    exec("def task(common, item): return item", vars(module))
    monkeypatch.setitem(sys.modules, "not_there", module)
    with pytest.raises(WorkerError, match="a worker has no Python module 'not_there'; install the same packages"):
        engine.get(engine.submit(module.task, None, 1))


UNREACHABLE = """
from unitless.cluster.on_ray import RayEngine
from unitless.errors import Error
for given in ({"address": "127.0.0.1:1"}, {"address": "127.0.0.1:1", "workers": 2}):
    try:
        RayEngine(**given)
    except Error as error:
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
