"""Tasks on several Ray nodes, one of which fails."""

from __future__ import annotations

import logging
import pathlib
from collections.abc import Iterator
from typing import Any

import processes
import pytest
import tasks
from test_training import trained
from training_data import digest, in_parts, write
from waiting import until

ray = pytest.importorskip("ray")
from ray import cluster_utils  # noqa: E402
from ray._private import ray_constants  # noqa: E402

from unitless.cluster.on_ray import RayEngine  # noqa: E402


@pytest.fixture(scope="module")
def cluster(clean: None) -> Iterator[cluster_utils.Cluster]:
    """Three nodes with one CPU each, on loopback only; the first runs Ray's services."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ray_constants, "ENABLE_RAY_CLUSTER", False)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        node = {"num_cpus": 1, "object_store_memory": 200_000_000, "include_dashboard": False}
        cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=node)
        for _ in range(2):
            cluster.add_node(num_cpus=1, object_store_memory=200_000_000)
        try:
            yield cluster
        finally:
            cluster.shutdown()


def test_a_node_that_is_lost_changes_nothing(cluster: cluster_utils.Cluster, tmp_path: pathlib.Path) -> None:
    with RayEngine(address=cluster.address) as engine:
        assert engine.slots == 3
        assert all(map(processes.is_loopback, processes.listening()))
        folder = engine.put(str(tmp_path))
        first = [engine.submit(tasks.filled, None, i) for i in range(6)]
        engine.wait(first)  # their values are stored on the nodes, and some are lost with a node
        second = [engine.submit(tasks.slow_pid, folder, (i, 0.4)) for i in range(6)]
        sums = engine.combine(tasks.sums, None, first)
        until(lambda: len(list(tmp_path.iterdir())) >= 3)
        cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        assert engine.get(engine.combine(tasks.listed, None, second)) == [None, *range(6)]
        assert engine.get(sums) == [1_000_000 * i for i in range(6)]
        assert logging.getLogger("ray").level >= logging.ERROR
    assert not ray.is_initialized()


def test_training_goes_on_without_a_node(cluster: cluster_utils.Cluster, tmp_path: pathlib.Path) -> None:
    files = write(tmp_path)
    cluster.add_node(num_cpus=1, object_store_memory=200_000_000)
    lost: list[int] = []

    def lose_one(run: Any) -> None:
        if len(run.round_log) == 1 and not lost:  # in the second round, when the first of its tasks are done
            lost.append(1)
            cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)

    with RayEngine(address=cluster.address) as engine:
        there = trained(files, model_type="linear", cluster=in_parts(backend=engine), progress=lose_one)
    assert lost
    assert digest(there.model) == digest(trained(files, model_type="linear").model)
    assert not ray.is_initialized()
