"""A model that learns from history equals one that exists from the start, to the last bit."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from waiting import until_async

pytest.importorskip("msgspec")
from in_store import joined, recovered, with_store

from unitless.serve import background
from unitless.serve.backtests import Backtests
from unitless.serve.events import Form, Kind
from unitless.serve.live import LiveStream
from unitless.serve.problems import Problem
from unitless.serve.served import ServedModel
from unitless.serve.store import ModelStore
from unitless.serve.streams import Created, snapshots
from unitless.serve.upkeep import Upkeep

OPTIONS = {"stream": "a", "role": "challenger", "learning_rate": 0.3, "model_type": "linear", "ensemble": False}


def row(k: int, **more: Any) -> bytes:
    return json.dumps({"features": {"x": k % 11, "y": (k * 7) % 5, "city": f"c{k % 4}"}, **more}).encode()


async def history(store: ModelStore, first: int, last: int) -> None:
    """Rows of all kinds: with and without ids, twice, with late labels, with labels that the champion refuses."""
    live = store.streams["a"]
    for k in range(first, last):
        events = [(Kind.learn, row(k, label=k % 3, weight=1.0 + k % 2))]
        if k % 5 == 0:
            events.append((Kind.learn, row(k, label=k % 3, id=f"learned {k}")))
            events.append((Kind.learn, row(k, label=k % 3, id=f"learned {k}")))
        if k % 4 == 0:
            events.append((Kind.prediction, row(k, id=f"asked {k}", model="a")))
        if k % 4 == 3 and k > 38:
            events.append((Kind.label, json.dumps({"id": f"asked {k - 39}", "label": k % 3}).encode()))
        if k % 20 == 0:
            events.append((Kind.learn, row(k, label="dog")))
        for kind, payload in events:
            await live.submitted(kind, Form.json, 1, payload)
        if k % 25 == 0:
            live.tick()


def state(store: ModelStore, name: str) -> dict[str, Any]:
    model = store.streams["a"].stream.models[name]
    parts: dict[str, Any] = dict(model.parts())
    told = json.loads(parts.pop("state.json"))
    return {
        **parts,
        **{key: value for key, value in told.items() if key not in ("name", "created", "created_seq", "origin")},
    }


def test_a_model_with_history_is_one_that_was_there_from_the_start(tmp_path: Path) -> None:
    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await store.create("early", OPTIONS)
        await history(store, 0, 200)
        assert await store.create("late", OPTIONS | {"replay": True})
        assert store.streams["a"].replaying == {"late": 0.0}
        assert not await store.create("late", OPTIONS | {"replay": True})
        with pytest.raises(Problem, match="learns from history"):
            store.find("late")
        k = 200
        while "late" in store.backtests:  # the stream continues meanwhile
            await history(store, k, k + 1)
            k += 1
            await asyncio.sleep(0.002)
        await joined(store, "late")
        await history(store, k, k + 50)
        assert state(store, "late") == state(store, "early")
        assert state(store, "late")["learned"] > 250
        assert store.streams["a"].replaying == {}
        before.append(store.streams["a"].stream.fingerprint())

    before: list[str] = []
    with_store(tmp_path, test)
    for path in snapshots.listed(next((tmp_path / "streams").iterdir())):
        snapshots.remove(path)  # so that only the log describes what happened
    store = recovered(tmp_path)
    assert store.streams["a"].stream.fingerprint() == before[0]
    assert state(store, "late") == state(store, "early")


def test_what_a_crash_interrupts_begins_again(tmp_path: Path) -> None:
    async def begin(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await store.create("early", OPTIONS)
        await history(store, 0, 100)
        await store.create("late", OPTIONS | {"replay": True})

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        assert "late" in store.backtests
        await joined(store, "late")
        assert state(store, "late") == state(store, "early")

    with_store(tmp_path, begin)
    (folder,) = (tmp_path / "streams").iterdir()
    (folder / ".backtest-abandoned").write_bytes(b"half")
    with_store(tmp_path, test)
    assert sorted(path.name for path in folder.iterdir()) == ["log", "manifest.json", "snapshots"]


def test_a_model_on_its_way_can_be_deleted(tmp_path: Path) -> None:
    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await history(store, 0, 20)
        await store.create("late", OPTIONS | {"replay": True})
        with pytest.raises(Problem, match="other options"):
            await store.create("late", {"stream": "a", "replay": True})
        await store.delete("late")
        assert "late" not in store.backtests
        assert store.streams["a"].replaying == {}
        with pytest.raises(Problem, match="no model"):
            store.find("late")
        await store.delete("a")

    with_store(tmp_path, test)
    assert list((tmp_path / "streams").iterdir()) == []


def test_what_is_left_of_a_long_log_is_replayed_from_a_snapshot(tmp_path: Path) -> None:
    """The log was cut; a model with its history equals one that was created when the oldest snapshot was taken."""

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await history(store, 0, 130)
        await upkeep.snapshot(store.streams["a"])
        await store.create("early", OPTIONS)
        await history(store, 130, 190)
        await upkeep.snapshot(store.streams["a"])
        live = store.streams["a"]
        await until_async(lambda: live.log.first_seq > 1)
        assert live.log.first_seq < snapshots.seqs(store.folders["a"])[0]
        await store.create("late", OPTIONS | {"replay": True})
        await joined(store, "late")
        assert state(store, "late") == state(store, "early")
        assert state(store, "late")["learned"] > 60
        with_history.append(live.stream.fingerprint())

    with_history: list[str] = []
    with_store(tmp_path, test, log_retention="10kB", segment="4kB")
    assert recovered(tmp_path).streams["a"].stream.fingerprint() == with_history[0]


def test_the_history_is_asked_for_over_http(tmp_path: Path) -> None:
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("uvicorn")
    with background(data=tmp_path, port=0, durability="process") as server, httpx.Client(base_url=server.url) as http:
        assert http.put("/v1/models/a", json={}).status_code == 201
        lines = b"\n".join(row(k, label=k % 3) for k in range(300))
        learned = http.post("/v1/models/a/learn", content=lines, headers={"content-type": "application/x-ndjson"})
        assert learned.text.count("learned") == 300
        answer = http.put("/v1/models/b", json=OPTIONS | {"replay": True})
        assert answer.status_code == 202
        assert answer.json()["status"] == "replaying"
        assert {one["name"]: one["status"] for one in http.get("/v1/models").json()["models"]}["a"] == "ready"
        while (there := http.get("/v1/models/b").json())["status"] == "replaying":
            assert 0 <= there["progress"] <= 1
            time.sleep(0.05)
        assert there["examples"] == 300
        assert http.put("/v1/models/b", json=OPTIONS | {"replay": True}).status_code == 200
        assert http.post("/v1/models/b/snapshot").json() == {"stream": "a", "snapshot_seq": there["seq"]}


def test_models_that_learn_from_history_count_and_few_do_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    working: list[str] = []

    async def once(self: Backtests, live: LiveStream, folder: Path, created: Created) -> None:
        working.append(created.name)
        await asyncio.sleep(60)

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        for name in ("b", "c", "d"):
            assert await store.create(name, OPTIONS | {"replay": True})
        with pytest.raises(Problem, match="there are 4 models"):
            await store.create("e", OPTIONS | {"replay": True})
        await until_async(lambda: len(working) == 2)
        await asyncio.sleep(0.05)
        assert working == ["b", "c"]
        await store.delete("b")
        await until_async(lambda: working == ["b", "c", "d"])
        assert await store.create("e", OPTIONS | {"replay": True})

    monkeypatch.setattr(Backtests, "_once", once)
    with_store(tmp_path, test, max_models=4)


def test_a_model_with_history_is_not_read_again_in_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprints: list[str] = []
    from_parts = ServedModel.from_parts

    def read(parts: dict[str, bytes]) -> ServedModel:
        assert threading.current_thread() is not threading.main_thread()
        return from_parts(parts)

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await history(store, 0, 50)
        with monkeypatch.context() as patched:
            patched.setattr(ServedModel, "from_parts", read)
            assert await store.create("late", OPTIONS | {"replay": True})
            await joined(store, "late")
        await history(store, 50, 100)
        fingerprints.append(store.streams["a"].stream.fingerprint())

    with_store(tmp_path, test)
    assert [recovered(tmp_path).streams["a"].stream.fingerprint()] == fingerprints
