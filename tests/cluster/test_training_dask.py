"""`train` on Dask gives the result of threads, whatever happens to workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from test_training import trained
from training_data import PLAN, Killer, digest, in_parts, table, write

import unitless as ul

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


def on(client: distributed.Client) -> dict[str, Any]:
    return {**PLAN, "passes": 1, "cluster": in_parts(backend=client)}


@pytest.mark.parametrize(("target", "model_type"), [("price", "trees"), ("class", "linear")])
def test_the_same_bits_as_in_threads(client: distributed.Client, files: str, target: str, model_type: str) -> None:
    others = {"price": ["dear", "class"], "class": ["price", "dear"]}[target]
    there = ul.train(files, target, **on(client), model_type=model_type, reading=ul.Reading(ignore=others))
    here = trained(files, target, model_type=model_type)
    assert digest(there.model) == digest(here.model)
    assert there.metrics == here.metrics
    assert there.progressive == here.progressive


def test_workers_that_are_killed_in_every_round(client: distributed.Client, files: str) -> None:
    killer = Killer(lambda command: "spawn_main" in command)
    there = ul.train(files, "dear", **on(client), reading=ul.Reading(ignore=["price", "class"]), progress=killer)
    assert killer.killed >= 2
    assert digest(there.model) == digest(trained(files, "dear").model)


def test_a_frame_that_lives_in_dask(client: distributed.Client) -> None:
    dask_frames = pytest.importorskip("dask.dataframe")
    frame = dask_frames.from_pandas(table().to_pandas(), npartitions=3)
    there = ul.train(frame, "price", **on(client), reading=ul.Reading(ignore=["dear", "class"]), model_type="linear")
    assert there.details.learned == len(frame)
    assert there.metrics["rmse"] < there.baseline["rmse"]
