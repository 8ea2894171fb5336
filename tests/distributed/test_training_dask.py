"""`train` on Dask gives what it gives in threads, whatever happens to workers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from test_training import trained
from training_data import Killer, digest, table, write

import unitless.dask

pytest.importorskip("distributed")
import distributed


@pytest.fixture(scope="module")
def client(clean: None) -> Iterator[distributed.Client]:
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("table"))


PLAN = {"shards": 3, "rounds": 2, "seed": 5}


@pytest.mark.parametrize(("target", "shape"), [("price", "trees"), ("class", "linear")])
def test_the_same_bits_as_in_threads(client: distributed.Client, files: str, target: str, shape: str) -> None:
    others = {"price": ["dear", "class"], "class": ["price", "dear"]}[target]
    there = unitless.dask.train(client, files, target, **PLAN, shape=shape, ignore=others)
    here = trained(files, target, shape=shape)
    assert digest(there.model) == digest(here.model)
    assert there.score == here.score
    assert there.metrics == here.metrics


def test_workers_that_are_killed_in_every_round(client: distributed.Client, files: str) -> None:
    killer = Killer(lambda command: "spawn_main" in command)
    there = unitless.dask.train(client, files, "dear", **PLAN, ignore=["price", "class"], progress=killer)
    assert killer.killed >= 2
    assert digest(there.model) == digest(trained(files, "dear").model)


def test_a_frame_that_lives_in_dask(client: distributed.Client) -> None:
    dask_frames = pytest.importorskip("dask.dataframe")
    frame = dask_frames.from_pandas(table().to_pandas(), npartitions=3)
    there = unitless.dask.train(client, frame, "price", **PLAN, ignore=["dear", "class"], shape="linear")
    assert there.learned == len(frame)
    assert there.score["rmse"] < there.baseline["rmse"]
