"""From any remains on the disk, a server restores the state at the end of its log, or reports why it cannot."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import in_store
import pytest
from waiting import until_async

pytest.importorskip("msgspec")
from unitless.serve import store as store_module
from unitless.serve.events import Form, Kind
from unitless.serve.log import Log, LogError
from unitless.serve.log import log as log_module
from unitless.serve.log.reader import Reader
from unitless.serve.problems import Problem
from unitless.serve.store import ModelStore
from unitless.serve.streams import snapshots
from unitless.serve.streams import stream as stream_module
from unitless.serve.upkeep import Upkeep
from unitless.version import __version__

with_store = partial(in_store.with_store, crash=True)


async def send(store: ModelStore, kind: Kind, **row: Any) -> None:
    (outcome,) = await store.streams["a"].submitted(kind, Form.json, 1, json.dumps(row).encode())
    assert outcome.problem is None


async def learn(store: ModelStore, rows: int) -> None:
    for k in range(rows):
        await send(store, Kind.learn, features={"x": k % 7, "name": "n" * 40}, label=k % 3)


def damage(path: Path) -> None:
    file = path / "000.part"
    file.write_bytes(file.read_bytes()[:-1] + b"?")


def test_a_damaged_snapshot_is_passed_over(tmp_path: Path) -> None:
    prints: list[str] = []

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        for _ in range(3):
            await learn(store, 10)
            await upkeep.snapshot(store.streams["a"])
        await learn(store, 10)
        prints.append(store.streams["a"].stream.fingerprint())

    def again(damaged: int) -> in_store.Test:
        async def check(store: ModelStore, upkeep: Upkeep) -> None:
            assert store.streams["a"].stream.fingerprint() == prints[0]
            assert len(store.streams["a"].notes) == damaged

        return check

    with_store(tmp_path, test)
    (folder,) = (tmp_path / "streams").iterdir()
    second, newest = snapshots.listed(folder)
    with_store(tmp_path, again(0))
    damage(newest)
    with_store(tmp_path, again(1))
    damage(second)
    with_store(tmp_path, again(2))  # the log has everything


def test_what_is_needed_stays_even_if_the_newest_snapshot_is_damaged(tmp_path: Path) -> None:
    """A prediction that waited when the second newest snapshot was taken has received its label since."""
    prints: list[str] = []

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await learn(store, 100)
        await send(store, Kind.prediction, features={"x": 1}, id="late", model="a")
        await learn(store, 100)
        await upkeep.snapshot(store.streams["a"])
        await send(store, Kind.label, id="late", label=2)
        await learn(store, 100)
        await upkeep.snapshot(store.streams["a"])
        await until_async(lambda: store.streams["a"].log.first_seq > 1)
        assert store.streams["a"].log.first_seq <= 102
        prints.append(store.streams["a"].stream.fingerprint())

    async def again(store: ModelStore, upkeep: Upkeep) -> None:
        assert store.streams["a"].stream.fingerprint() == prints[0]

    with_store(tmp_path, test, log_retention="4kB", segment="4kB")
    (folder,) = (tmp_path / "streams").iterdir()
    damage(snapshots.listed(folder)[-1])
    with_store(tmp_path, again, log_retention="4kB", segment="4kB")
    damage(snapshots.listed(folder)[-2])

    async def missing(store: ModelStore, upkeep: Upkeep) -> None:
        assert "no snapshot of the records before" in store.quarantined[0].problem

    with_store(tmp_path, missing)


def test_a_log_that_cannot_be_read_at_the_moment_stops_learning(tmp_path: Path) -> None:
    """Records in the log are valid; a server must not continue from a state that lacks them."""

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await learn(store, 5)
        await send(store, Kind.prediction, features={"x": 3}, id="late", model="a")
        live = store.streams["a"]

        def broken(position: int) -> Any:
            raise OSError(5, "Input/output error")

        live.stream.read = broken
        with pytest.raises(Problem, match="Input/output error"):
            await send(store, Kind.label, id="late", label=1)
        with pytest.raises(Problem, match="the log has failed"):
            await learn(store, 1)
        assert live.predict({"x": 3}).score is not None

    async def again(store: ModelStore, upkeep: Upkeep) -> None:
        stream = store.streams["a"].stream
        assert (stream.models["a"].learned, len(stream.join)) == (6, 0)

    with_store(tmp_path, test)
    with_store(tmp_path, again)


def test_records_of_an_older_version_are_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def begin(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await learn(store, 5)
        other = {"a": 12345}  # the digest of a state with other last bits
        monkeypatch.setattr(store.streams["a"].stream, "digests", lambda: other)
        store.streams["a"].tick()

    async def more(store: ModelStore, upkeep: Upkeep) -> None:
        live = store.streams["a"]
        (note,) = live.notes
        assert f"records of unitless 0.0.1 were replayed by {__version__}; last bits of scores may differ" in note
        assert live.stream.mismatch is None
        await learn(store, 5)
        store.streams["a"].tick()
        live.log.sync()

    async def again(store: ModelStore, upkeep: Upkeep) -> None:
        assert store.streams["a"].model().examples == 10
        await upkeep.snapshot(store.streams["a"])

    async def at_last(store: ModelStore, upkeep: Upkeep) -> None:
        assert store.streams["a"].notes == []

    with monkeypatch.context() as old:
        old.setattr(log_module, "_LIBRARY", "0.0.1")
        old.setattr(store_module, "__version__", "0.0.1")
        old.setattr(stream_module, "__version__", "0.0.1")
        with_store(tmp_path, begin)
    with_store(tmp_path, more)
    with_store(tmp_path, again)
    with_store(tmp_path, at_last)
    (folder,) = (tmp_path / "streams").iterdir()
    with Log.open(folder / "log") as log:
        assert log.versions_from(1) == {"0.0.1", __version__}
        assert log.versions_from(log.segments[-1][0]) == {__version__}


def test_single_records_are_read_while_the_log_is_written(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    records = []
    with Log.open(tmp_path, segment_bytes=2000) as log:
        for k in range(60):
            records += log.append([(Kind.learn, Form.json, 1, b"x" * (k * 40))], k)
            assert reader.read(records[-1].position) == records[-1]
            assert reader.read(records[k // 2].position) == records[k // 2]
        assert len(log.segments) > 10
        log.drop_before(30)
        assert Reader(tmp_path).read(records[40].position) == records[40]
        with pytest.raises(LogError, match="no longer kept"):
            Reader(tmp_path).read(records[0].position)
        with pytest.raises(LogError, match="no valid record"):
            reader.read(log.end)
    reader.close()


@pytest.mark.parametrize("step", ["sync_folder", "recover"])
@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), MemoryError()], ids=["files", "memory"])
def test_a_create_that_fails_leaves_no_second_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: Exception
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(store_module, step, fail)
            with pytest.raises((Problem, MemoryError)):
                await store.create("a", {})
        assert list((tmp_path / "streams").iterdir()) == []
        assert await store.create("a", {})
        await learn(store, 3)

    async def again(store: ModelStore, upkeep: Upkeep) -> None:
        assert (store.quarantined, store.streams["a"].model().examples) == ([], 3)

    with_store(tmp_path, test)
    with_store(tmp_path, again)
