"""A stream that cannot be recovered loses nothing, and the other streams are served."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import shutil
import signal
import struct
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import httpx
import in_store
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("uvloop")

from unitless import version
from unitless.serve import background, prometheus
from unitless.serve import store as store_module
from unitless.serve.events import Form, Kind
from unitless.serve.log import log as log_module
from unitless.serve.log.segments import SEGMENT_HEADER_BYTES
from unitless.serve.problems import Problem
from unitless.serve.settings import Settings
from unitless.serve.store import ModelStore
from unitless.serve.streams import snapshots
from unitless.serve.upkeep import Upkeep

PLAIN = {"model_type": "linear", "ensemble": False, "task": "regression"}


def settings(folder: Path, **more: Any) -> Settings:
    given = {"data": folder, "durability": "process", "snapshot_every": 1000, "segment": "4kB"} | more
    return Settings.of(environment={}, **given)


with_store = partial(in_store.with_store, segment="4kB")


async def learn(store: ModelStore, name: str, rows: int) -> None:
    for k in range(rows):
        row = json.dumps({"features": {"x": k, "text": "n" * 40}, "label": k % 5}).encode()
        (outcome,) = await store.streams[name].submitted(Kind.learn, Form.json, 1, row)
        assert outcome.problem is None


async def three_models(store: ModelStore, upkeep: Upkeep) -> None:
    for name in "abc":
        await store.create(name, PLAIN)
        await learn(store, name, 100)
    assert len(store.streams["b"].log.segments) > 2


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def folder_of(data: Path, name: str) -> Path:
    (found,) = (one for one in (data / "streams").iterdir() if _name(one) == name)
    return found


def _name(folder: Path) -> str | None:
    manifest = folder / "manifest.json"
    return json.loads(manifest.read_text()).get("name") if manifest.exists() else None


def no_name(folder: Path) -> None:
    (folder / "manifest.json").write_text("{}")


def damaged_log(folder: Path) -> None:
    first = min((folder / "log").iterdir())
    content = bytearray(first.read_bytes())
    content[200] ^= 0xFF
    first.write_bytes(content)


def no_log(folder: Path) -> None:
    shutil.rmtree(folder / "log")


def missing_file(folder: Path) -> None:
    sorted((folder / "log").iterdir())[1].unlink()


def unknown_format(folder: Path) -> None:
    first = min((folder / "log").iterdir())
    content = bytearray(first.read_bytes())
    struct.pack_into("<I", content, 8, 99)
    end = SEGMENT_HEADER_BYTES - 4
    struct.pack_into("<I", content, end, crc32(content[:end]))
    first.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (unknown_format, "the format 99 at byte 0 is not known; use the version of unitless that wrote it"),
        (no_name, "manifest.json cannot be read"),
        (damaged_log, "damaged at byte"),
        (no_log, "there is no log"),
        (missing_file, "are missing after it"),
    ],
)
def test_the_others_are_served(tmp_path: Path, damage: Callable[[Path], None], problem: str) -> None:
    data = tmp_path / "data"
    with_store(data, three_models)
    folder = folder_of(data, "b")
    shutil.copytree(folder, tmp_path / "backup")
    damage(folder)
    left = contents(folder)
    name = folder.name if damage is no_name else "b"
    with (
        background(data=data, port=0, durability="process", create="b") as server,
        httpx.Client(base_url=server.url, timeout=20) as http,
    ):
        row = {"features": {"x": 1.0}, "label": 2.0}
        for other in "ac":
            assert http.post(f"/v1/models/{other}/learn", json=row).status_code == 200
        listed = http.get("/v1/models").json()
        (missing,) = listed["quarantined"]
        assert (missing["name"], missing["folder"]) == (name, str(folder))
        assert problem in missing["problem"]
        ready = http.get("/health/ready")
        assert (ready.status_code, ready.json()["quarantined"]) == (200, {name: missing["problem"]})
        assert 'unitless_quarantined{problem="' in http.get("/metrics").text
        if name == "b":
            for asked in (http.post("/v1/models/b/learn", json=row), http.get("/v1/models/b")):
                assert (asked.status_code, asked.json()["title"]) == (503, "the model is quarantined")
                assert problem in asked.json()["detail"]
            assert http.delete("/v1/models/b").status_code == 503
            assert http.put("/v1/models/b", json={}).status_code == 409
    assert contents(folder) == left
    if name != "b":  # its name was unknown, so that another model has it
        assert folder_of(data, "b") != folder
        shutil.rmtree(folder_of(data, "b"))
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "backup", folder)

    async def repaired(store: ModelStore, upkeep: Upkeep) -> None:
        assert store.quarantined == []
        assert {name: live.model().examples for name, live in store.streams.items()} == {"a": 101, "b": 100, "c": 101}

    with_store(data, repaired)


def test_who_has_no_token_is_told_only_how_many_are_missing(tmp_path: Path) -> None:
    with_store(tmp_path / "data", three_models)
    damaged_log(folder_of(tmp_path / "data", "b"))
    tokens = tmp_path / "tokens"
    tokens.write_text("read sha256:" + hashlib.sha256(b"secret").hexdigest() + "\n")
    with (
        background(data=tmp_path / "data", port=0, token_file=tokens) as server,
        httpx.Client(base_url=server.url, timeout=20) as http,
    ):
        assert http.get("/health/ready").json() == {"status": "ready", "quarantined": 1}
        known = http.get("/health/ready", headers={"authorization": "Bearer secret"}).json()
        assert list(known["quarantined"]) == ["b"]


def test_an_error_that_nobody_thought_of_concerns_one_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_store(tmp_path, three_models)
    real, bad = store_module.newest_state, folder_of(tmp_path, "a")

    def fails(folder: Path, *more: Any) -> Any:
        if folder == bad:
            raise ZeroDivisionError("of a model")
        return real(folder, *more)

    monkeypatch.setattr(store_module, "newest_state", fails)
    store = ModelStore.open(tmp_path, settings(tmp_path))
    try:
        assert sorted(store.streams) == ["b", "c"]
        assert [(one.name, one.problem) for one in store.quarantined] == [("a", "ZeroDivisionError: of a model")]
    finally:
        store.close()


def _damaged_at_random(folder: Path, chance: random.Random) -> None:
    """Change any file in the folder of a stream, like a failing disk or a careless person."""
    path = chance.choice(sorted(folder.rglob("*")))
    content = bytearray(path.read_bytes()) if path.is_file() else bytearray()
    how = chance.choice(("gone", "empty", "cut", "bit", "bytes", "folder", "link"))
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "link":
        path.symlink_to(path.name)
    elif how != "gone":
        if how == "empty":
            content.clear()
        elif how == "cut":
            del content[chance.randrange(len(content) + 1) :]
        elif how == "bytes":
            content = bytearray(chance.randbytes(len(content)))
        elif content:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)


def test_no_damage_of_one_stream_keeps_the_others_from_being_served(tmp_path: Path) -> None:
    async def with_snapshots(store: ModelStore, upkeep: Upkeep) -> None:
        await three_models(store, upkeep)
        await upkeep.snapshot(store.streams["b"])
        await learn(store, "b", 20)

    with_store(tmp_path / "whole", with_snapshots)
    folder = folder_of(tmp_path / "whole", "b").name
    ends = Counter[str]()
    for seed in range(60):
        data = tmp_path / f"{seed}"
        shutil.copytree(tmp_path / "whole", data)
        _damaged_at_random(data / "streams" / folder, random.Random(seed))
        store = ModelStore.open(data, settings(data))
        try:
            assert {"a", "c"} <= set(store.streams), seed
            assert all(store.streams[name].model().examples == 100 for name in "ac")
            if "b" in store.streams:
                ends["recovered" if store.streams["b"].model().examples == 120 else "cut at its end"] += 1
            else:
                assert len(store.quarantined) == 1, seed
                ends["quarantined"] += 1
        finally:
            store.close()
    assert min(ends["recovered"], ends["quarantined"]) > 5, ends


def test_two_streams_of_one_name(tmp_path: Path) -> None:
    with_store(tmp_path, three_models)
    shutil.copytree(folder_of(tmp_path, "b"), tmp_path / "streams" / ("f" * 32))

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        assert sorted(store.streams) == ["a", "b", "c"]
        assert [one.name for one in store.quarantined] == ["b"]
        await learn(store, "b", 1)
        assert 'problem="another stream is called' in prometheus.render(store).decode()

    with_store(tmp_path, test)


def test_the_log_of_a_newer_version_is_quarantined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(log_module, "_LIBRARY", "99.0.0")
        newer.setattr(version, "__version__", "99.0.0")
        with_store(tmp_path, three_models)

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        assert sorted(one.name for one in store.quarantined) == ["a", "b", "c"]
        assert "written by unitless 99.0.0" in store.quarantined[0].problem

    for path in (tmp_path / "streams").glob("*/snapshots"):
        shutil.rmtree(path)
    with_store(tmp_path, test)


# -------------------------------------------------------------------------------------- snapshots of deleted streams


def test_a_deleted_stream_gets_no_snapshot(tmp_path: Path) -> None:
    """A snapshot that comes too late must not create the stream's folder again."""
    late: list[Any] = []

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", PLAIN)
        await learn(store, "a", 3)
        late.append((store.folders["a"], store.streams["a"].stream))
        await store.delete("a")

    with_store(tmp_path, test)
    folder, stream = late[0]
    with pytest.raises(FileNotFoundError):
        snapshots.write(folder, stream, seq=stream.seq, position=stream.end)
    assert list((tmp_path / "streams").iterdir()) == []


def test_what_an_unfinished_deletion_has_left_is_cleared(tmp_path: Path) -> None:
    with_store(tmp_path, three_models)
    streams = tmp_path / "streams"
    (streams / ("0" * 32) / "snapshots" / ".making-1").mkdir(parents=True)
    shutil.copytree(folder_of(tmp_path, "a") / "snapshots", streams / ("1" * 32) / "snapshots")
    (streams / ("2" * 32) / "log").mkdir(parents=True)
    (streams / "lost+found").mkdir()

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        assert (sorted(store.streams), store.quarantined) == (["a", "b", "c"], [])

    with_store(tmp_path, test)
    assert sorted(path.name for path in streams.iterdir() if len(set(path.name)) == 1) == []
    assert (streams / "lost+found").exists()


def test_delete_waits_for_the_snapshotter(tmp_path: Path) -> None:
    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", PLAIN)
        await learn(store, "a", 10)
        await upkeep.snapshot(store.streams["a"])
        assert upkeep.pid is not None
        os.kill(upkeep.pid, signal.SIGSTOP)
        try:
            await learn(store, "a", 10)
            asked = asyncio.ensure_future(upkeep.snapshot(store.streams["a"]))
            await asyncio.sleep(0)
            deleting = asyncio.ensure_future(store.delete("a"))
            with pytest.raises(Problem, match="deleted before its snapshot") as told:
                await asyncio.wait_for(asked, 10)
            assert told.value.status == 404
            await asyncio.sleep(0.2)
            assert not deleting.done()
            with pytest.raises(Problem, match="being made or removed"):
                await store.create("a", PLAIN)
        finally:
            os.kill(upkeep.pid, signal.SIGCONT)
        await asyncio.wait_for(deleting, 30)
        assert await store.create("a", PLAIN)

    with_store(tmp_path, test)
    assert len(list((tmp_path / "streams").iterdir())) == 1


def test_delete_does_not_wait_for_a_dead_snapshotter(tmp_path: Path) -> None:
    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", PLAIN)
        await learn(store, "a", 10)
        await upkeep.snapshot(store.streams["a"])
        assert upkeep.pid is not None
        os.kill(upkeep.pid, signal.SIGSTOP)
        deleting = asyncio.ensure_future(store.delete("a"))
        await asyncio.sleep(0.1)
        os.kill(upkeep.pid, signal.SIGKILL)
        await asyncio.wait_for(deleting, 30)

    with_store(tmp_path, test)
    assert list((tmp_path / "streams").iterdir()) == []
