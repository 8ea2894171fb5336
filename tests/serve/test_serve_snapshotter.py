"""The process that reads the logs has the server's state, writes it down, and notices differences from it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from waiting import until_async

pytest.importorskip("msgspec")
from unitless.serve import snapshot_process as process
from unitless.serve import snapshotter as snapshotting
from unitless.serve.events import Form, Kind
from unitless.serve.log import Log
from unitless.serve.log.reader import Reader
from unitless.serve.problems import Problem
from unitless.serve.snapshotter import Snapshotter
from unitless.serve.streams import Created, Stream, encoded, recovery, snapshots

NAME = "00c0ffee"


class Writer:
    """A stream as in a server: a log, and the state after all of its records."""

    def __init__(self, data: Path, segment_bytes: int = 4096) -> None:
        self.folder = data / "streams" / NAME
        self.folder.mkdir(parents=True)
        (self.folder / "manifest.json").write_text(json.dumps({"name": "a"}))
        self.log = Log.open(self.folder / "log", segment_bytes=segment_bytes)
        self.stream = Stream("a", self.log.read)
        self.time = 1_000_000
        self.deleted = False
        self.append((Kind.create, encoded(Created("a", "champion", {}))))

    def append(self, *events: tuple[Kind, bytes]) -> None:
        self.time += 1000
        for record in self.log.append([(kind, Form.json, 1, payload) for kind, payload in events], self.time):
            (outcome,) = self.stream.apply(record)
            assert outcome.problem is None

    def learn(self, rows: int) -> None:
        for k in range(rows):
            row = {"features": {"x": k % 7, "city": f"c{k % 3}"}, "label": k % 5}
            self.append((Kind.learn, json.dumps(row).encode()))

    def predict(self, id: str) -> None:
        self.append((Kind.prediction, json.dumps({"features": {"x": 3}, "id": id, "model": "a"}).encode()))

    def label(self, id: str) -> None:
        self.append((Kind.label, json.dumps({"id": id, "label": 2}).encode()))

    def tick(self) -> None:
        self.append((Kind.tick, self.stream.ticked(0, 0)))

    def counted(self) -> dict[str, int]:
        return {} if self.deleted else {NAME: self.stream.seq}

    def recovered(self) -> Stream:
        return recovery.newest_state(self.folder, Reader(self.folder / "log").read, pytest.fail)


def run(writer: Writer, test: Callable[[Snapshotter, list[str]], Awaitable[None]], **options: Any) -> None:
    async def whole() -> None:
        warnings: list[str] = []
        data = writer.folder.parents[1]
        snapshotter = Snapshotter(
            data,
            options.get("every", 1000.0),
            options.get("retain", 1 << 30),
            writer.counted,
            warn=warnings.append,
        )
        snapshotter.start()
        try:
            await asyncio.wait_for(test(snapshotter, warnings), 30)
        finally:
            await snapshotter.stop()

    asyncio.run(whole())


def test_a_snapshot_is_the_state(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.learn(60)
    for id in "pqr":
        writer.predict(id)
    writer.label("q")
    writer.tick()

    async def test(snapshotter: Snapshotter, warnings: list[str]) -> None:
        report = await snapshotter.request(NAME)
        assert (report.seq, report.snapshot_seq, report.lag) == (writer.stream.seq, writer.stream.seq, 0)
        assert report.bytes > 1000
        assert snapshotter.reports[NAME] == report
        assert writer.recovered().fingerprint() == writer.stream.fingerprint()
        writer.learn(10)
        writer.label("p")
        assert snapshotter.pid is not None
        for number in (signal.SIGINT, signal.SIGTERM):  # meant for the server, whose process group gets them
            os.kill(snapshotter.pid, number)
        await snapshotter.request(NAME)
        assert writer.recovered().fingerprint() == writer.stream.fingerprint()
        same = await snapshotter.request(NAME)
        assert same.snapshot_seq == writer.stream.seq
        assert (warnings, snapshotter.deaths) == ([], 0)

    run(writer, test)
    newest = snapshots.read_newest(writer.folder)
    assert newest is not None
    assert newest.needs == 64  # the record of r, whose label is still missing
    assert newest.position == writer.log.end


def test_snapshots_come_by_themselves_and_at_the_end(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.learn(20)

    async def test(snapshotter: Snapshotter, warnings: list[str]) -> None:
        await until_async(lambda: snapshots.seqs(writer.folder))
        writer.learn(5)

    run(writer, test, every=0.1)
    assert snapshots.seqs(writer.folder)[-1] == writer.stream.seq
    assert writer.recovered().fingerprint() == writer.stream.fingerprint()
    assert len(snapshots.listed(writer.folder)) <= snapshots.KEPT


def test_it_is_started_again_when_it_dies(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.learn(5)

    async def test(snapshotter: Snapshotter, warnings: list[str]) -> None:
        await snapshotter.request(NAME)
        assert snapshotter.pid is not None
        os.kill(snapshotter.pid, signal.SIGKILL)
        writer.learn(5)
        assert (await snapshotter.request(NAME)).snapshot_seq == writer.stream.seq
        assert snapshotter.deaths == 1
        assert "started again" in warnings[0]

    run(writer, test)


def test_a_deleted_stream_is_forgotten(tmp_path: Path) -> None:
    writer = Writer(tmp_path)

    async def test(snapshotter: Snapshotter, warnings: list[str]) -> None:
        await snapshotter.request(NAME)
        writer.deleted = True
        shutil.rmtree(writer.folder)
        await until_async(lambda: NAME not in snapshotter.reports)
        with pytest.raises(Problem, match="deleted before its snapshot"):
            await snapshotter.request(NAME)
        assert snapshotter.deaths == 0

    run(writer, test)
    assert not writer.folder.exists()


def test_many_records_make_a_snapshot_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_RECORDS", 50)
    writer = Writer(tmp_path)
    copy = process.StreamCopy(writer.folder, 1e9)
    for rows, due in ((40, False), (10, True)):
        writer.learn(rows)
        copy.counts = writer.stream.seq
        copy.catch_up()
        assert not copy.behind
        assert copy.due(1000.0) is due
    copy.snapshot()
    assert not copy.due(0.0)
    copy.close()


def test_a_stream_without_news_is_let_go_and_taken_up_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_IDLE", -1.0)
    writer = Writer(tmp_path)
    copy = process.StreamCopy(writer.folder, 1e9)
    for _ in range(3):
        writer.learn(10)
        copy.counts = writer.stream.seq
        copy.catch_up()
        assert not copy.behind
        copy.rest()
        assert copy.due(0.0), "what no snapshot has is not let go"
        copy.snapshot()
        copy.rest()
        assert not copy.due(0.0)
    assert writer.recovered().fingerprint() == writer.stream.fingerprint()
    assert snapshots.seqs(writer.folder)[-1] == writer.stream.seq


def copy_up_to(writer: Writer, seq: int) -> process.StreamCopy:
    copy = process.StreamCopy(writer.folder, 1e9)
    copy.counts = seq
    copy.catch_up()
    return copy


def test_records_that_do_not_count_yet_are_not_applied(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.learn(20)
    copy = copy_up_to(writer, 11)
    assert (copy.report.seq, copy.behind) == (11, False)
    copy.counts = 13
    copy.catch_up()
    copy.snapshot()
    assert snapshots.seqs(writer.folder) == [13]


def test_a_state_that_differs_is_reported_and_not_kept(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.learn(5)
    writer.stream.models["a"].digest ^= 1
    tick = writer.stream.ticked(0, 0)
    writer.append((Kind.tick, tick))
    copy = copy_up_to(writer, writer.stream.seq)
    assert "not those of the first time" in str(copy.report.mismatch)
    assert not copy.due(0.0)
    assert not copy.behind


def test_a_damaged_snapshot_leaves_before_a_good_one(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    for _ in range(2):
        writer.learn(3)
        copy_up_to(writer, writer.stream.seq).snapshot()
    good, damaged = snapshots.listed(writer.folder)
    (damaged / "000.part").write_bytes(b"?")
    writer.learn(3)
    copy = copy_up_to(writer, writer.stream.seq)
    assert damaged.name in str(copy.report.error)
    copy.snapshot()
    assert snapshots.seqs(writer.folder) == [int(good.name), writer.stream.seq]
    assert writer.recovered().fingerprint() == writer.stream.fingerprint()


def test_a_log_that_cannot_be_read_at_the_moment_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer(tmp_path)
    writer.learn(5)
    writer.predict("late")
    writer.label("late")

    def broken(reader: Reader, position: int) -> Any:
        raise OSError(5, "Input/output error")

    copy = process.StreamCopy(writer.folder, 1e9)
    copy.counts = writer.stream.seq
    with monkeypatch.context() as now:
        now.setattr(Reader, "read", broken)
        with pytest.raises(OSError, match="Input"):
            copy.catch_up()
    assert copy.behind
    copy.catch_up()
    copy.snapshot()
    assert writer.recovered().fingerprint() == writer.stream.fingerprint()


def test_a_request_is_answered_when_the_log_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer(tmp_path)
    writer.learn(5)
    on_report: list[dict[str, Any]] = []

    class FromServer:
        def receive(self, timeout: float) -> list[dict[str, Any]]:
            return [{"do": "snapshot", "stream": NAME, "seq": writer.stream.seq}, {"do": "stop"}]

        def send(self, **message: Any) -> None:
            on_report.append(message)

    def broken(self: process.StreamCopy) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(process.StreamCopy, "catch_up", broken)
    process.SnapshotWriter(tmp_path, 1000.0, 1e9, FromServer()).run()  # type: ignore[arg-type]
    (answer,) = [message for message in on_report if message.get("answer")]
    assert "Input/output error" in answer["error"]


def test_a_request_is_answered_when_the_process_stands_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer(tmp_path)
    monkeypatch.setattr(snapshotting, "_ANSWERED_WITHIN", 0.5)

    async def test(snapshotter: Snapshotter, warnings: list[str]) -> None:
        await until_async(lambda: snapshotter.pid is not None)
        pid = snapshotter.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(Problem, match="not written within") as on_report:
                await asyncio.wait_for(snapshotter.request(NAME), 10)
            assert on_report.value.status == 503
        finally:
            os.kill(pid, signal.SIGCONT)

    run(writer, test)
