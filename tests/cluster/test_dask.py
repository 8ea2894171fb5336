"""Tasks on a Dask cluster that the tests start."""

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
import pandas as pd
import processes
import pytest
import tasks
from every_engine import EveryCluster

pytest.importorskip("distributed")
import dask.dataframe as dask_frames

import unitless as ul
from unitless.cluster.on_dask import DaskEngine


@pytest.fixture(scope="module")
def engine(clean: None) -> Iterator[DaskEngine]:
    with DaskEngine(2) as engine:
        yield engine


class TestDask(EveryCluster):
    name = "dask"
    first_in_trees = False


def test_items_are_not_looked_into(engine: DaskEngine) -> None:
    for item in ((len, "ab"), ["key", {"a": (max, 1, 2)}]):
        assert engine.get(engine.submit(tasks.as_it_is, None, item)) == item


def test_arrays_are_pickled_once(engine: DaskEngine, tmp_path: pathlib.Path) -> None:
    big = engine.put(np.ones(100_000_000, np.uint8))
    assert engine.get(engine.submit(tasks.array_facts, big, 1))[0] == 100_000_000
    engine.forget([big])
    counted = engine.put(tasks.CountsPickles(str(tmp_path), 1_000_000))
    here = f"-{os.getpid()}"
    engine.wait([engine.submit(tasks.size_of, counted, i) for i in range(4)])
    assert [path.name.endswith(here) for path in tmp_path.iterdir()].count(True) == 1
    given = [engine.submit(tasks.zeros, None, 10_000_000) for _ in range(3)]
    assert engine.get(engine.combine(tasks.sizes, None, given)) == [10_000_000] * 3


def test_values_of_killed_workers_are_computed_again(engine: DaskEngine, tmp_path: pathlib.Path) -> None:
    folder = engine.put(str(tmp_path))
    kept = [engine.submit(tasks.filled, None, i) for i in range(4)]
    engine.wait(kept)
    handles = [engine.submit(tasks.killed_once, folder, i) for i in range(3)]
    assert engine.get(engine.combine(tasks.listed, None, handles)) == [None, 0, 1, 2]
    assert engine.get(engine.combine(tasks.sums, None, kept)) == [0, 1_000_000, 2_000_000, 3_000_000]


def test_all_workers_killed_at_once_lose_nothing(engine: DaskEngine) -> None:
    ten = engine.put(10)
    handle = engine.submit(tasks.product, ten, 2)
    engine.wait([handle])
    for process, command in processes.descendants().items():
        if "spawn_main" in command:
            os.kill(process, signal.SIGKILL)
    assert engine.get(engine.combine(tasks.listed, ten, [handle])) == [10, 20]


def test_partitions_of_a_frame_are_computed_by_the_tasks(engine: DaskEngine, tmp_path: pathlib.Path) -> None:
    frame = pd.DataFrame({"a": np.arange(100.0), "b": ["x", "y"] * 50})
    for i in range(2):
        frame[i::2].to_parquet(tmp_path / f"{i}.parquet")
    lazy = dask_frames.read_parquet(tmp_path)
    lazy = lazy.assign(c=lazy.a + 1)
    tables = engine.tables(lazy)
    assert tables is not None
    assert [table.rows for table in tables] == [50, 50]
    rows = [engine.get(engine.submit(tasks.first_row, None, table)) for table in tables]
    assert rows == [(50, [{"a": 0.0, "b": "x", "c": 1.0}]), (50, [{"a": 1.0, "b": "y", "c": 2.0}])]
    assert engine.tables(frame) is None
    with pytest.raises(ul.OptionError, match=r"give the frame as it was before persist\(\)"):
        engine.tables(engine._client.persist(lazy))


def test_ctrl_c_and_the_client_of_others_stays(engine: DaskEngine) -> None:
    start = time.monotonic()
    with DaskEngine(client=engine._client) as other:
        handles = [other.submit(tasks.slow, None, 2.0) for _ in range(20)]
        threading.Timer(0.5, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            other.wait(handles)
    assert engine.get(engine.submit(tasks.product, None, 3)) == 3
    assert time.monotonic() - start < 10
    with pytest.raises(ul.OptionError, match="workers has no use for a cluster that is there"):
        DaskEngine(2, client=engine._client)


def test_a_cluster_at_an_address(engine: DaskEngine) -> None:
    with DaskEngine(address=engine._client.scheduler.address) as other:
        assert other.get(other.submit(tasks.product, other.put(2), 3)) == 6
    with pytest.raises(
        ul.WorkerError, match=r"the Dask cluster at tcp://127\.0\.0\.1:1 cannot be reached: .*; is it run"
    ):
        DaskEngine(address="tcp://127.0.0.1:1")


def test_dask_is_not_installed() -> None:
    script = "import sys; sys.modules['distributed'] = None; import unitless.cluster.on_dask"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.stderr.splitlines()[-1].endswith("OptionError: Dask is not installed: pip install 'unitless[dask]'")
