"""A replay without some rows gives the model of one offline pass over exactly the remaining rows, to the last bit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("msgspec")
from in_store import joined, recovered, with_store
from offline import LABEL, LEARN, LINES, PREDICTION, offline, records
from waiting import until_async

from unitless.serve.events import Form, Kind
from unitless.serve.log.places import time_text
from unitless.serve.problems import Problem
from unitless.serve.store import ModelStore
from unitless.serve.streams import snapshots, starts
from unitless.serve.upkeep import Upkeep

NAMES = {PREDICTION: "prediction", LEARN: "learn", LABEL: "label"}


class Written(NamedTuple):
    """A row of a log."""

    seq: int
    time: int
    kind: str
    id: str | None


def written(log: Path) -> list[Written]:
    found = []
    for record in records(log):
        if record.kind in NAMES:
            lines = record.content.splitlines() if record.form == LINES else [record.content]
            for place, line in enumerate(lines):
                row = json.loads(line)
                found.append(Written(record.seq + place, record.time, NAMES[record.kind], row.get("id")))
    return found


def features(k: int) -> dict[str, Any]:
    return {"x": k % 11 + 0.5, "y": (k * 7) % 5, "city": f"c{k % 4}"}


def encoded(**row: Any) -> bytes:
    return json.dumps(row).encode()


async def history(store: ModelStore, first: int, last: int) -> None:
    """Rows of all kinds: alone and together, with and without ids, twice, with late labels, refused ones."""
    live = store.streams["a"]
    for k in range(first, last):
        learn = [encoded(features=features(k + j), label=(k + j) % 13 - 0.25, weight=1.0 + j % 2) for j in range(3)]
        await live.submitted(Kind.learn, Form.lines, 3, b"\n".join(learn))
        if k % 3 == 0:
            for _ in range(2):
                row = encoded(features=features(k), label=k % 5, id=f"learned {k}")
                await live.submitted(Kind.learn, Form.json, 1, row)
        if k % 2 == 0:
            await live.submitted(
                Kind.prediction, Form.json, 1, encoded(features=features(k), id=f"asked {k}", model="a")
            )
        if k % 2 == 1 and k > 8:
            await live.submitted(Kind.label, Form.json, 1, encoded(id=f"asked {k - 9}", label=k % 7))
        if k % 10 == 0:
            await live.submitted(Kind.learn, Form.json, 1, encoded(features=features(k), label="dog"))
        if k % 12 == 0:
            live.tick()


def compare(store: ModelStore, name: str, skipped: set[int], asked_at: int) -> None:
    """Compare a model with one pass over the remaining rows."""
    live = store.streams["a"]
    log = store.folders["a"] / "log"
    options = {"a": {"task": "regression"}, name: {"task": "regression"}}
    passed = offline(log, options, {name: (skipped, asked_at)})
    passed.models[name].compare(live.stream.models[name].parts())


def some_seqs(rows: list[Written]) -> tuple[dict[str, Any], set[int]]:
    chosen = [row.seq for row in rows if row.kind == "learn"][10:60:7]
    return {"skip": chosen}, set(chosen)


def a_span(rows: list[Written]) -> tuple[dict[str, Any], set[int]]:
    first, last = rows[len(rows) // 2].seq, rows[len(rows) // 2 + 21].seq
    return {"skip": [[first, last]]}, set(range(first, last + 1))


def ids(rows: list[Written]) -> tuple[dict[str, Any], set[int]]:
    chosen = ["learned 15", "asked 20", "learned 30"]
    return {"skip": chosen}, {row.seq for row in rows if row.id in chosen}


def a_row_that_came_twice(rows: list[Written]) -> tuple[dict[str, Any], set[int]]:
    """The second copy was a duplicate, and is not learned instead."""
    seq = next(row.seq for row in rows if row.id == "learned 15")
    return {"skip": [seq]}, {seq}


def a_prediction(rows: list[Written]) -> tuple[dict[str, Any], set[int]]:
    """Its label came later, and is not learned either."""
    seq = next(row.seq for row in rows if row.kind == "prediction" and row.id == "asked 20")
    return {"skip": [seq]}, {seq}


def until_seq(rows: list[Written]) -> tuple[dict[str, Any], set[int]]:
    last = rows[len(rows) // 2].seq  # in the middle of a record of several rows, or not
    return {"until": last}, {row.seq for row in rows if row.seq > last}


def until_time(rows: list[Written]) -> tuple[dict[str, Any], set[int]]:
    time = rows[len(rows) // 2].time
    return {"until": time_text(time)}, {row.seq for row in rows if row.time > time}


def a_span_of_time(rows: list[Written]) -> tuple[dict[str, Any], set[int]]:
    first, last = rows[len(rows) // 2].time, rows[-20].time
    asked = {"skip": [[time_text(first), time_text(last)], [rows[-3].seq, None]]}
    return asked, {row.seq for row in rows if first <= row.time <= last or row.seq >= rows[-3].seq}


def nothing(rows: list[Written]) -> tuple[dict[str, Any], set[int]]:
    return {}, set()


Choice = Callable[[list[Written]], tuple[dict[str, Any], set[int]]]
CHOICES = [
    some_seqs,
    a_span,
    ids,
    a_row_that_came_twice,
    a_prediction,
    until_seq,
    until_time,
    a_span_of_time,
    nothing,
]


@pytest.mark.parametrize("snapshot", [False, True], ids=["from the log", "with snapshots"])
@pytest.mark.parametrize("choose", CHOICES)
def test_what_is_left_out_was_never_learned(choose: Choice, snapshot: bool, tmp_path: Path) -> None:
    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        live = store.streams["a"]
        await history(store, 0, 12)
        if snapshot:
            await upkeep.snapshot(live)
        await history(store, 12, 48)
        if snapshot:
            await upkeep.snapshot(live)
        asked, skipped = choose(written(store.folders["a"] / "log"))
        asked_at = live.stream.seq
        assert await store.replay("a", {"name": "clean", **asked}) == ("clean", True)
        k = 48
        while "clean" in store.backtests:  # rows that arrive meanwhile are learned
            await history(store, k, k + 1)
            k += 1
            await asyncio.sleep(0.01)
        await joined(store, "clean")
        await history(store, k, k + 20)
        compare(store, "clean", skipped, asked_at)
        assert (state(store, "clean") != state(store, "a")) == bool(skipped)
        assert await store.replay("a", {"name": "clean", **asked}) == ("clean", False)
        await store.promote("clean")
        await store.delete("a")
        live.tick()
        after.append(live.stream.fingerprint())

    after: list[str] = []
    with_store(tmp_path, test)
    for path in snapshots.listed(next((tmp_path / "streams").iterdir())):
        snapshots.remove(path)  # so that only the log describes what happened
    live = recovered(tmp_path).streams["a"]
    assert live.stream.fingerprint() == after[0]
    assert live.stream.champion == "clean"
    assert live.stream.mismatch is None


def state(store: ModelStore, name: str) -> bytes:
    return store.streams["a"].stream.models[name].parts()["model.unitless"]


def test_the_state_at_a_snapshot_is_read_from_it(tmp_path: Path) -> None:
    """Records before and after the snapshot are not replayed, except those that no snapshot contains."""

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        live, folder = store.streams["a"], store.folders["a"]
        await history(store, 0, 20)
        await upkeep.snapshot(live)
        at_snapshot = live.stream.models["a"].parts()["model.unitless"]
        await history(store, 20, 30)
        await upkeep.snapshot(live)
        older, newer = starts.described(folder)
        await history(store, 30, 31)
        asked_at = live.stream.seq
        await store.replay("a", {"name": "back", "until": older.seq})
        origin = store.backtests.created("back").origin
        assert origin is not None
        start = starts.find(folder, origin.sources)
        assert (start.model, start.seq, start.stream) == (older.path, older.seq, newer.path)
        await joined(store, "back")
        assert live.stream.models["back"].parts()["model.unitless"] == at_snapshot
        compare(store, "back", set(range(older.seq + 1, asked_at + 1)), asked_at)

    with_store(tmp_path, test)


def test_a_damaged_snapshot_is_not_used(tmp_path: Path) -> None:
    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await history(store, 0, 20)
        await upkeep.snapshot(store.streams["a"])
        (snapshot,) = starts.described(store.folders["a"])
        for part in snapshot.path.glob("*.part"):
            if part.stat().st_size > 10_000:
                part.write_bytes(b"x" * part.stat().st_size)
        seq = store.streams["a"].stream.seq
        await store.replay("a", {"name": "back", "until": snapshot.seq})
        await joined(store, "back")
        compare(store, "back", set(), seq)

    with_store(tmp_path, test)


def test_what_a_crash_interrupts_begins_again(tmp_path: Path) -> None:
    async def begin(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await history(store, 0, 40)
        asked, rows = a_span(written(store.folders["a"] / "log"))
        skipped.extend((rows, store.streams["a"].stream.seq))
        await store.replay("a", {"name": "clean", **asked})
        await history(store, 40, 50)

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        assert "clean" in store.backtests
        await history(store, 50, 60)
        await joined(store, "clean")
        compare(store, "clean", *skipped)

    skipped: list[Any] = []
    with_store(tmp_path, begin)
    with_store(tmp_path, test)


def test_a_model_on_its_way_can_be_deleted(tmp_path: Path) -> None:
    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await history(store, 0, 20)
        await store.replay("a", {"name": "clean", "until": 10})
        with pytest.raises(Problem, match="the champion stays"):
            await store.delete("a")
        await store.delete("clean")
        assert "clean" not in store.backtests
        with pytest.raises(Problem, match="no model"):
            store.find("clean")
        await store.delete("a")

    with_store(tmp_path, test)
    assert list((tmp_path / "streams").iterdir()) == []


def test_a_model_that_has_joined_is_not_on_its_way(tmp_path: Path) -> None:
    """The model and its stream can be deleted at once, although the process that replayed it may still be running."""

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await history(store, 0, 5)
        await store.replay("a", {"name": "clean", "until": 4})
        await until_async(lambda: "clean" in store.streams["a"].stream.models)
        await store.delete("clean")
        assert list(store.backtests) == []
        await store.delete("a")

    with_store(tmp_path, test)


def test_a_replayed_model_can_be_replayed(tmp_path: Path) -> None:
    """Rows from before it joined are left out too, by starting from the model from which it was made."""

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        live = store.streams["a"]
        await history(store, 0, 30)
        rows = written(store.folders["a"] / "log")
        first_asked_at = live.stream.seq
        await store.replay("a", {"name": "b", "skip": ["asked 20"]})
        await joined(store, "b")
        await store.promote("b")
        await store.delete("a")
        await history(store, 30, 40)
        second_asked_at = live.stream.seq
        await store.replay("b", {"name": "c", "skip": [rows[30].seq]})
        await joined(store, "c")
        left_out = {row.seq for row in rows if row.id == "asked 20"}
        label = next(
            row.seq for row in written(store.folders["a"] / "log") if row.id == "asked 20" and row.kind == "label"
        )
        assert label <= first_asked_at < second_asked_at
        compare(store, "c", {*left_out, rows[30].seq}, second_asked_at)
        last = live.stream.seq
        await store.replay("c", {"name": "d", "skip": [[last, None]]})
        await joined(store, "d")
        assert state(store, "d") == state(store, "c")

    with_store(tmp_path, test)


def test_a_model_that_joined_later_is_replayed_from_there(tmp_path: Path) -> None:
    """It never learned rows from before it joined."""

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await history(store, 0, 20)
        await store.create("b", {"stream": "a"})
        await history(store, 20, 30)
        await store.replay("b", {"name": "c", "skip": [[3, 5]]})
        await joined(store, "c")
        assert state(store, "c") == state(store, "b") != state(store, "a")
        assert store.streams["a"].stream.models["c"].digest == store.streams["a"].stream.models["b"].digest

    with_store(tmp_path, test)


def test_a_new_model_learns_history_without_rows(tmp_path: Path) -> None:
    """PUT with "replay" skips the same rows, and starts with a new model."""

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await history(store, 0, 40)
        asked, skipped = a_span(written(store.folders["a"] / "log"))
        asked_at = store.streams["a"].stream.seq
        assert await store.create("new", {"stream": "a", "replay": asked})
        assert not await store.create("new", {"stream": "a", "replay": asked})
        with pytest.raises(Problem, match="other options"):
            await store.create("new", {"stream": "a", "replay": True})
        await joined(store, "new")
        compare(store, "new", skipped, asked_at)
        assert not await store.create("new", {"stream": "a", "replay": asked})
        with pytest.raises(Problem, match="other options"):
            await store.create("new", {"stream": "a", "replay": {"until": 3}})
        with pytest.raises(Problem, match="field 'skp'"):
            await store.create("other", {"stream": "a", "replay": {"skp": [1]}})

    with_store(tmp_path, test)


def test_lines_of_text_are_left_out_one_by_one(tmp_path: Path) -> None:
    lines = [f"{k % 7} | a:{k} b:{k % 3}".encode() for k in range(40)]

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        for name, left_out in (("a", ()), ("expected", (3, 4, 17))):
            await store.create(name, {"task": "regression"})
            for part in (lines[:16], lines[16:]):
                kept = [line for line in part if lines.index(line) not in left_out]
                await store.streams[name].submitted(Kind.learn, Form.vw, len(kept), b"\n".join(kept))
        await store.replay("a", {"name": "clean", "skip": [[5, 6], 19]})  # line 0 is record 2
        await joined(store, "clean")
        expected = store.streams["expected"].stream.models["expected"]
        assert store.streams["a"].stream.models["clean"].digest == expected.digest
        assert store.streams["a"].stream.models["a"].digest != expected.digest
        assert state(store, "clean") == expected.parts()["model.unitless"]

    with_store(tmp_path, test)


def test_a_row_after_the_request_is_learned(tmp_path: Path) -> None:
    """The label of a skipped prediction came after the request: it is a new row, as for any challenger."""

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await history(store, 0, 20)
        live = store.streams["a"]
        await live.submitted(Kind.prediction, Form.json, 1, encoded(features=features(3), id="late", model="a"))
        asked_at = live.stream.seq
        await store.replay("a", {"name": "clean", "skip": ["late"]})
        await live.submitted(Kind.label, Form.json, 1, encoded(id="late", label=4))
        assert "clean" in store.backtests
        await joined(store, "clean")
        assert live.stream.models["clean"].learned == live.stream.models["a"].learned
        compare(store, "clean", {asked_at}, asked_at)

    with_store(tmp_path, test)


WRONG: list[tuple[dict[str, Any], int, str]] = [
    ({}, 422, "missing required field `name`"),
    ({"name": "Clean"}, 422, "a name has up to 64"),
    ({"name": "b", "role": "champion"}, 422, "role"),
    ({"name": "b", "skp": [3]}, 422, "unknown field `skp`"),
    ({"name": "a"}, 409, "already"),
    ({"name": "b", "skip": 3}, 422, '"skip" is a list'),
    ({"name": "b", "skip": [2.5]}, 422, '"skip" is a list'),
    ({"name": "b", "skip": [[3]]}, 422, "not a pair"),
    ({"name": "b", "skip": [[None, 3]]}, 422, "not a pair"),
    ({"name": "b", "skip": [["yesterday", None]]}, 422, "'yesterday' is not a time"),
    ({"name": "b", "until": "noon"}, 422, "'noon' is not a time"),
    ({"name": "b", "skip": [0, 5, 10**9]}, 422, "0, 1,000,000,000: the log has the records up to"),
    ({"name": "b", "skip": [10**30]}, 422, "beyond all"),
    ({"name": "b", "skip": [[-(10**30), None]]}, 422, "beyond all"),
    ({"name": "b", "until": 10**30}, 422, "beyond all"),
    ({"name": "b", "until": True}, 422, '"until" is a place'),
    ({"name": "b", "skip": [["9999-12-31T23:59:59.999999+00:00", "0001-01-01"]]}, 422, "no record from"),
    ({"name": "b", "skip": [1]}, 422, "1: these are records of another kind"),
    ({"name": "b", "skip": ["learned 3", "nobody"]}, 422, "'nobody': no row that is kept in the log has it"),
    ({"name": "b", "skip": [[9, 8]]}, 422, "no record from 9 to 8"),
    ({"name": "b", "skip": [["2100-01-01T00:00:00Z", None]]}, 422, "no record from '2100-01-01T00:00:00Z' to the end"),
    ({"name": "b", "until": 10**9}, 422, "1,000,000,000: the log has the records up to"),
    ({"name": "b", "until": "2000-01-01"}, 422, "no record up to '2000-01-01'"),
    ({"name": "b", "skip": list(range(10_001))}, 422, "can have 10,000"),
]


def test_wrong_requests_change_nothing(tmp_path: Path) -> None:
    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        await history(store, 0, 6)
        for body, status, words in WRONG:
            with pytest.raises(Problem) as problem:
                await store.replay("a", body)
            assert (problem.value.status, words in problem.value.detail) == (status, True), problem.value
            assert list(store.backtests) == []
            assert store.changing == set()
        with pytest.raises(Problem, match="no model 'other'"):
            await store.replay("other", {"name": "b"})
        assert list(store.streams["a"].stream.models) == ["a"]

    with_store(tmp_path, test)


def test_rows_of_a_log_that_was_removed_cannot_be_left_out(tmp_path: Path) -> None:
    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        live, folder = store.streams["a"], store.folders["a"]
        await history(store, 0, 40)
        await upkeep.snapshot(live)
        await history(store, 40, 60)
        await upkeep.snapshot(live)
        await until_async(lambda: live.log.first_seq > 1)
        oldest = snapshots.seqs(folder)[0]
        for asked in ({"skip": [oldest - 3]}, {"until": oldest - 1}, {"skip": [[2, 5]]}):
            with pytest.raises(Problem) as problem:
                await store.replay("a", {"name": "b", **asked})
            assert problem.value.status == 409
            assert f"after record {oldest:,} can be left out" in problem.value.detail
            assert f"the log begins at record {live.log.first_seq:,}" in problem.value.detail
        await store.replay("a", {"name": "b", "until": oldest})
        await joined(store, "b")
        await store.replay("a", {"name": "copy"})
        await joined(store, "copy")
        assert state(store, "copy") == state(store, "a") != state(store, "b")

    with_store(tmp_path, test, log_retention="10kB", segment="4kB")
