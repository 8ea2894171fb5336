"""Replicas of another server's folder."""

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waiting import until_async

pytest.importorskip("msgspec")

from unitless.errors import OptionError
from unitless.serve.events import Form, Kind
from unitless.serve.live import LiveStream
from unitless.serve.problems import Problem
from unitless.serve.replica.directory import DirectoryReplica
from unitless.serve.settings import Settings
from unitless.serve.store import ModelStore
from unitless.serve.streams import snapshots

LINEAR = {"model_type": "linear", "ensemble": False}


def rows(count: int, seed: int = 0) -> list[bytes]:
    x = np.random.default_rng(seed).normal(size=(count, 3)).tolist()
    return [json.dumps({"features": {"a": a, "b": b}, "label": a - b + c}).encode() for a, b, c in x]


async def learn(live: LiveStream, lines: list[bytes]) -> None:
    for line in lines:
        await live.submitted(Kind.learn, Form.json, 1, line)


def replicated(folder: Path, do: Callable[[ModelStore, DirectoryReplica], Awaitable[None]], **given: Any) -> None:
    """A server, and a replica of its folder."""

    async def run() -> None:
        settings = Settings.of(data=folder, durability="process", environment={}, **given)
        store = ModelStore.open(folder, settings)
        try:
            if not store.streams:
                await store.create("a", LINEAR)
            replica = DirectoryReplica(folder, Settings.of(replica_of=str(folder), environment={}))
            await replica.begin()
            task = asyncio.create_task(replica.run())
            try:
                await asyncio.wait_for(do(store, replica), 20)
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                replica.close()
            await store.drain()
        finally:
            store.close()

    asyncio.run(run())


async def same(store: ModelStore, replica: DirectoryReplica, name: str = "a") -> None:
    there, here = store.streams[name], replica.streams[name]
    await here.reached(there.stream.seq)
    assert here.stream.fingerprint() == there.stream.fingerprint()


def test_a_replica_has_the_same_bits(tmp_path: Path) -> None:
    async def do(store: ModelStore, replica: DirectoryReplica) -> None:
        live = store.streams["a"]
        await learn(live, rows(300))
        lines = b"".join(b"%d |x y:%d\n" % (k, k) for k in range(50))
        await live.submitted(Kind.learn, Form.vw, 50, lines)
        await store.create("b", {"stream": "a", **LINEAR})
        await learn(live, rows(100, 1))
        await store.promote("b")
        await same(store, replica)
        here = replica.streams["a"]
        assert isinstance(here.lag, float)
        assert here.predict({"a": 1.0}) == live.predict({"a": 1.0})
        assert replica.find("a")[1] == "b"

    replicated(tmp_path, do)


def test_labels_that_come_later_find_their_features(tmp_path: Path) -> None:
    async def do(store: ModelStore, replica: DirectoryReplica) -> None:
        live = store.streams["a"]
        await learn(live, rows(10))
        for k in range(20):
            await live.submitted(Kind.prediction, Form.json, 1, b'{"features": {"a": %d}, "id": "%d"}' % (k, k))
        for k in reversed(range(20)):
            await live.submitted(Kind.label, Form.json, 1, b'{"label": %d, "id": "%d"}' % (2 * k, k))
        assert live.stream.counts["joined"] == 20
        live.tick()
        await same(store, replica)

    replicated(tmp_path, do)


def test_files_of_the_log_are_read_one_after_the_other(tmp_path: Path) -> None:
    async def do(store: ModelStore, replica: DirectoryReplica) -> None:
        await learn(store.streams["a"], rows(200))
        assert len(store.streams["a"].log.segments) > 2
        assert replica.streams["a"].log.bytes == store.streams["a"].log.bytes
        await same(store, replica)

    replicated(tmp_path, do, segment="4kB")


def test_a_replica_begins_with_the_newest_snapshot(tmp_path: Path) -> None:
    async def first(store: ModelStore, replica: DirectoryReplica) -> None:
        live = store.streams["a"]
        await learn(live, rows(200))
        snapshots.write(store.folders["a"], live.stream, seq=live.stream.seq, position=live.stream.end)
        live.log.drop_before(live.stream.seq)
        assert live.log.first_seq > 1
        await learn(live, rows(50, 1))
        await same(store, replica)

    async def again(store: ModelStore, replica: DirectoryReplica) -> None:
        await same(store, replica)

    replicated(tmp_path, first, segment="4kB")
    replicated(tmp_path, again, segment="4kB")


def test_streams_come_and_go(tmp_path: Path) -> None:
    async def do(store: ModelStore, replica: DirectoryReplica) -> None:
        await store.create("new", LINEAR)
        await learn(store.streams["new"], rows(10))
        await until_async(lambda: "new" in replica.streams)
        await same(store, replica, "new")
        await store.delete("new")
        await until_async(lambda: "new" not in replica.streams)
        with pytest.raises(Problem, match="no such model"):
            replica.find("new")

    replicated(tmp_path, do)


def test_a_log_that_was_cut_is_begun_again(tmp_path: Path) -> None:
    copy = tmp_path / "copy"

    async def do(store: ModelStore, replica: DirectoryReplica) -> None:
        live = store.streams["a"]
        await learn(live, rows(20))
        path = live.log.segments[-1][1]
        shutil.copytree(tmp_path / "data", copy)
        other = DirectoryReplica(copy, Settings.of(replica_of=str(copy), environment={}))
        await other.begin()
        task = asyncio.create_task(other.run())
        try:
            cut = copy / path.relative_to(tmp_path / "data")
            cut.write_bytes(cut.read_bytes()[:-10])
            await until_async(lambda: other.streams["a"].stream.seq == live.stream.seq - 1)
            assert other.streams["a"].stream.models["a"].examples == 19
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            other.close()

    replicated(tmp_path / "data", do)


def test_a_replica_refuses_all_but_predictions(tmp_path: Path) -> None:
    async def do(store: ModelStore, replica: DirectoryReplica) -> None:
        here = replica.streams["a"]
        with pytest.raises(Problem, match="send this to the primary") as caught:
            await here.submitted(Kind.learn, Form.json, 1, rows(1)[0])
        assert caught.value.status == 403
        for refused in (replica.create("x", {}), replica.promote("a"), replica.delete("a")):
            with pytest.raises(Problem, match="this is a replica"):
                await refused
        with pytest.raises(Problem, match="not there yet"):
            await here.reached(store.streams["a"].stream.seq + 1, 0.01)

    replicated(tmp_path, do)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="is not the data folder of a server"):
        DirectoryReplica(tmp_path, Settings.of(replica_of=str(tmp_path), environment={}))


def test_a_replica_answers_over_http(tmp_path: Path) -> None:
    httpx = pytest.importorskip("httpx")
    server = pytest.importorskip("unitless.serve.server")

    async def run() -> None:
        common: dict[str, Any] = {"port": 0, "quiet": True, "environment": {}}
        primary = server.Server(Settings.of(data=tmp_path, create=[f"a={json.dumps(LINEAR)}"], **common))
        await primary.start()
        replica = server.Server(Settings.of(replica_of=str(tmp_path), **common))
        await replica.start()
        try:
            async with httpx.AsyncClient() as client:
                row = {"features": {"a": 1.0}}
                for label in (1.0, 2.0, 3.0):
                    learned = await client.post(f"{primary.url}v1/models/a/learn", json={**row, "label": label})
                seq = learned.json()["seq"]
                here, there = [
                    await client.post(f"{one.url}v1/models/a/predict", json=row, headers={"Unitless-Min-Seq": str(seq)})
                    for one in (replica, primary)
                ]
                assert here.json() == there.json()
                refused = await client.post(f"{replica.url}v1/models/a/learn", json={**row, "label": 1.0})
                assert refused.status_code == 403
                about = (await client.get(f"{replica.url}v1/models")).json()
                assert about["server"]["replica"] is True
                assert "unitless_replica_lag_seconds" in (await client.get(f"{replica.url}metrics")).text
        finally:
            await replica.stop()
            await primary.stop()

    asyncio.run(run())
