"""Requests that are wrong, odd or malicious get the right answer and leave a readable log."""

from __future__ import annotations

import asyncio
import csv
import errno
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from raw_http import Connection, request
from waiting import LIMIT

from unitless.serve import background
from unitless.serve.events import DEEPEST, Form, Kind
from unitless.serve.http import bodies
from unitless.serve.in_thread import Background
from unitless.serve.live import LiveStream
from unitless.serve.problems import Problem
from unitless.serve.row_limits import RowLimits
from unitless.serve.settings import Settings
from unitless.serve.store import ModelStore, StoreError
from unitless.serve.streams import snapshots

JSON, LINES = "application/json", "application/x-ndjson"
PLAIN = {"model_type": "linear", "ensemble": False}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    folder = tmp_path_factory.mktemp("hostile") / "data"
    with background(data=folder, port=0, durability="process", snapshot_every="1h") as server:
        with httpx.Client(base_url=server.url) as http:
            assert http.put("/v1/models/a", json=PLAIN).status_code == 201
            assert http.put("/v1/models/b", json=PLAIN | {"stream": "a"}).status_code == 201
        yield server


@pytest.fixture
def http(server: Background) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=20) as client:
        yield client


def settings(folder: Path, **more: Any) -> Settings:
    return Settings.of(environment={}, data=folder, **({"durability": "process"} | more))


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"id": "\xff", "features": {"x": 1}, "label": 1}', 400),
        (b'{"features": {"\xff": 1}, "label": 1}', 400),
        (b'{"features": {"x": "\xc3"}, "label": 1}', 400),
        (b'{"features": {"x": "\\ud800"}, "label": 1}', 400),
        (b'{"features": {"x": 1e999}, "label": 1}', 422),
        (b'{"features": {"x": 1}, "label": 1e999}', 422),
        (b'{"features": {"x": NaN}, "label": 1}', 400),
        (b'{"features": {"x": 1}, "label": 1, "other": %b}' % nested(990), 422),
        (b'{"features": {"x": %b}, "label": 1}' % nested(990), 422),
        (b'{"features": {"x": 1}, "label": %b}' % nested(990), 422),
        (b'{"features": {"x": 1}, "label": 1, "other": %b}' % nested(100_000), 422),
        (b'{"features": {"x": "%b"}, "label": 1}' % (b"[" * 500), 200),
        (b'{"features": {"x": 1}, "label": 1, "other": 1}', 422),
        (b'{"features": {"x": 1%b}, "label": 1}' % (b"0" * 25), 200),
    ],
)
def test_rows_that_cannot_be_read_are_refused_and_the_others_taken(
    http: httpx.Client, body: bytes, status: int
) -> None:
    alone = http.post("/v1/models/a/learn", content=body, headers={"content-type": JSON})
    assert alone.status_code == status, alone.text
    good = b'{"features": {"x": 1}, "label": 1}'
    many = http.post("/v1/models/a/learn", content=b"\n".join([good, body, good]), headers={"content-type": LINES})
    found = [json.loads(line) for line in many.text.splitlines()]
    assert [one["status"] for one in found] == ["learned", "learned" if status == 200 else status, "learned"]


def test_a_list_among_rows_of_names_is_refused_alone(http: httpx.Client) -> None:
    http.put("/v1/models/text", json=PLAIN)
    rows = [{"features": one, "label": 1} for one in ([], {"x": 1, "color": "red"}, {"color": "blue"}, [1.0])]
    for _ in range(2):
        body = "\n".join(map(json.dumps, rows)).encode()
        answer = http.post("/v1/models/text/learn", content=body, headers={"content-type": LINES})
        found = [json.loads(line)["status"] for line in answer.text.splitlines()]
        assert found == [422, "learned", "learned", 422]


def test_what_is_nested_deeply_never_stops_a_start(tmp_path: Path) -> None:
    """A row at the greatest depth that one reader can take would stop another reader, whose own calls are deeper."""
    with background(data=tmp_path, port=0, durability="process") as server, httpx.Client(base_url=server.url) as http:
        http.put("/v1/models/a", json=PLAIN)
        for depth in (10, DEEPEST - 1, 900, 940, 960, *range(970, 1000, 2)):
            body = b'{"features": {"x": 1}, "label": %b}' % nested(depth)
            http.post("/v1/models/a/learn", content=body, headers={"content-type": JSON})
        seq = http.get("/v1/models/a").json()["seq"]
    ModelStore.open(tmp_path, settings(tmp_path)).close()
    assert seq >= 3


@pytest.mark.parametrize(
    "field", ["", '"model": null, ', '"model": "a", ', '"mod\\u0065l": null, ', '"model": "zzz", ']
)
def test_the_log_says_who_answered_whatever_the_request_says(
    server: Background, http: httpx.Client, field: str
) -> None:
    id = f"who {field}".replace('"', "").replace("\\", "")
    body = f' {{{field}"id": "{id}", "features": {{"x": 3}}}} \n'
    for place, kind in enumerate((JSON, LINES)):
        sent = body.replace("who", f"who{place}").encode()
        answer = http.post("/v1/models/a/predict?model=b", content=sent, headers={"content-type": kind})
        assert answer.json()["model"] == "b", answer.text
        live = server.store.streams["a"]
        record = next(live.log.records(answer.json()["seq"]))
        assert json.loads(record.payload)["model"] == "b"


def test_a_remembered_head_is_not_used_for_another_request(server: Background, http: httpx.Client) -> None:
    first = request("GET", "/v1/models/a/weights?most=7")
    second = request("POST", "/v1/models/a/predict", {"features": {"x": 1}})
    with Connection(server.port) as client:
        client.send(first + second)
        assert "features" in client.answer().json()
        assert "score" in client.answer().json()
    head = first.partition(b"\r\n\r\n")[0]
    assert head not in server.server.service.heads
    with Connection(server.port) as client:
        client.send(first + second)
        assert "features" in client.answer().json()


UPGRADES = [
    {
        "Connection": "Upgrade, HTTP2-Settings",
        "Upgrade": "h2c",
        "HTTP2-Settings": "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
    },
    {"Connection": "keep-alive, Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="},
]


@pytest.mark.parametrize("wish", UPGRADES)
@pytest.mark.parametrize("kind", [JSON, LINES])
def test_whoever_offers_another_protocol_is_answered_in_this_one(
    server: Background, wish: dict[str, str], kind: str
) -> None:
    """Java's own client and curl --http2 offer another protocol in every first request, including those with bodies."""
    row = b'{"features": {"x": 1}, "label": 1}'
    sent = request("POST", "/v1/models/a/learn", row, {"Content-Type": kind} | wish)
    for cut in (len(sent), len(sent) - 5, len(sent) - len(row)):
        with Connection(server.port) as client:
            for _ in range(2):
                client.send(sent[:cut])
                client.send(sent[cut:])
                assert client.answer().json()["status"] == "learned"
            assert client.request("GET", "/health/live", None, wish).status == 200
            client.send(request("GET", "/health/live", None, wish) + sent)
            assert [client.answer().status for _ in range(2)] == [200, 200]
            client.send(100 * sent)
            assert [client.answer().status for _ in range(100)] == [200] * 100


def in_store(folder: Path, test: Any, **more: Any) -> None:
    async def whole() -> None:
        store = ModelStore.open(folder, settings(folder, **more))
        try:
            await test(store)
        finally:
            await store.drain()
            store.close()

    asyncio.run(whole())


def test_a_stream_survives_a_model_promoted_and_deleted_at_once(tmp_path: Path) -> None:
    async def test(store: ModelStore) -> None:
        await store.create("a", PLAIN)
        for first, second in ((store.promote, store.delete), (store.delete, store.promote)):
            await store.create("b", PLAIN | {"stream": "a"})
            found = await asyncio.gather(first("b"), second("b"), return_exceptions=True)
            assert found[0] is None
            assert isinstance(found[1], Problem)
            live = store.streams["a"]
            assert live.stream.champion in live.stream.models
            await live.submitted(Kind.learn, Form.json, 1, b'{"features": {"x": 1}, "label": 1}')
            if "b" in live.stream.models:
                await store.promote("a")
                await store.delete("b")

    async def again(store: ModelStore) -> None:
        assert store.streams["a"].stream.champion == "a"
        assert store.streams["a"].model().examples == 2

    in_store(tmp_path, test)
    in_store(tmp_path, again)


def test_one_failing_answer_does_not_stop_the_rest_of_its_group(tmp_path: Path) -> None:
    async def test(store: ModelStore) -> None:
        await store.create("a", PLAIN)
        live: LiveStream = store.streams["a"]

        def fail(_: Any) -> None:
            raise RuntimeError("the connection is gone in a way that nobody thought of")

        row = b'{"features": {"x": 1}, "label": 1}'
        live.submit(Kind.learn, Form.json, 1, row, fail)
        outcomes = await live.submitted(Kind.learn, Form.json, 1, row)
        assert (outcomes[0].status, live.model().examples) == ("learned", 2)

    in_store(tmp_path, test)


def test_a_full_disk_is_told_and_learning_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, rows = os.write, [f'{{"features": {{"x": {k}}}, "label": {k}}}'.encode() for k in range(4)]
    fingerprints = []

    async def test(store: ModelStore) -> None:
        await store.create("a", PLAIN)
        live: LiveStream = store.streams["a"]
        await live.submitted(Kind.learn, Form.json, 1, rows[0])
        end, before, room = live.log.end, live.stream.fingerprint(), [20]

        def full(handle: int, data: bytes) -> int:
            if handle != live.log._handle:
                return write(handle, data)
            if not room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(handle, data[: room.pop()])

        with monkeypatch.context() as patched:
            patched.setattr(os, "write", full)
            for row in rows[1:3]:
                with pytest.raises(Problem) as told:
                    await live.submitted(Kind.learn, Form.json, 1, row)
                assert (told.value.status, told.value.title) == (503, "the disk is full")
            assert live.predict({"x": 1}).score == 0.0
        assert (live.log.end, live.stream.fingerprint()) == (end, before)
        (outcome,) = await live.submitted(Kind.learn, Form.json, 1, rows[3])
        assert (outcome.status, live.model().examples) == ("learned", 2)
        fingerprints.append(live.stream.fingerprint())

    async def again(store: ModelStore) -> None:
        assert [store.streams["a"].stream.fingerprint()] == fingerprints

    in_store(tmp_path, test)
    in_store(tmp_path, again)


def test_a_name_is_free_when_its_model_is_gone_from_the_disk(tmp_path: Path) -> None:
    async def test(store: ModelStore) -> None:
        await store.create("a", PLAIN)
        deleted, made = await asyncio.gather(store.delete("a"), store.create("a", PLAIN), return_exceptions=True)
        assert deleted is None
        assert isinstance(made, Problem)
        assert made.status == 409
        assert await store.create("a", PLAIN)

    in_store(tmp_path, test)
    assert len([*(tmp_path / "streams").iterdir()]) == 1


def test_a_stream_that_cannot_be_removed_stays_in_service(tmp_path: Path) -> None:
    async def test(store: ModelStore) -> None:
        await store.create("a", PLAIN)
        (folder,) = (tmp_path / "streams").iterdir()
        in_the_way = folder.with_name(f".gone-{folder.name}")
        (in_the_way / "file").mkdir(parents=True)
        with pytest.raises(Problem, match="cannot be removed"):
            await store.delete("a")
        live = store.streams["a"]
        await live.submitted(Kind.learn, Form.json, 1, b'{"features": {"x": 1}, "label": 1}')
        joins, leaves = store.create("b", PLAIN | {"stream": "a"}), store.delete("a")
        joined, left = await asyncio.gather(joins, leaves, return_exceptions=True)
        assert joined is True
        assert isinstance(left, Problem)
        assert left.status == 409
        assert sorted(live.stream.models) == ["a", "b"]

    async def again(store: ModelStore) -> None:
        assert store.streams["a"].model().examples == 1

    in_store(tmp_path, test)
    in_store(tmp_path, again)


def test_rows_for_a_stream_that_is_being_deleted_are_refused(tmp_path: Path) -> None:
    """A batch that is learned in parts holds its stream while a delete waits for the disk."""

    async def test(store: ModelStore) -> None:
        await store.create("a", PLAIN)
        live = store.streams["a"]
        answers: list[object] = []

        async def learn_in_parts(_: str) -> None:  # called by the delete, after it has waited for accepted rows
            row = b'{"features": {"x": 1}, "label": 1}'
            with pytest.raises(Problem, match="deleted meanwhile") as refusal:
                await live.submitted(Kind.learn, Form.json, 1, row)
            answers.append(refusal.value.status)

        store.release = learn_in_parts
        await store.delete("a")
        assert answers == [404]
        assert live.failure is None

    in_store(tmp_path, test, durability="disk")


def test_a_stream_that_is_being_deleted_gets_no_tick(tmp_path: Path) -> None:
    """Ticks of many streams are written in turns, and a stream may be deleted between two turns."""

    async def test(store: ModelStore) -> None:
        await store.create("a", PLAIN)
        live = store.streams["a"]
        await live.submitted(Kind.learn, Form.json, 1, b'{"features": {"x": 1}, "label": 1}')
        ends: list[int] = []

        async def tick(_: str) -> None:  # called by the delete, after it has waited for accepted rows
            ends.append(live.log.end)
            live.tick()
            ends.append(live.log.end)

        store.release = tick
        await store.delete("a")
        await asyncio.sleep(0.05)
        assert ends[0] == ends[1]
        assert live.failure is None

    in_store(tmp_path, test, durability="disk")


def test_reading_the_logs_ends_when_the_server_is_stopped(tmp_path: Path) -> None:
    async def test(store: ModelStore) -> None:
        await store.create("a", PLAIN)

    in_store(tmp_path, test)
    with pytest.raises(StoreError, match="stopped"):
        ModelStore.open(tmp_path, settings(tmp_path), stopping=lambda: True)
    in_store(tmp_path, is_there)


async def is_there(store: ModelStore) -> None:
    assert "a" in store.streams


def test_a_backtest_that_cannot_be_written_down_does_not_begin(tmp_path: Path) -> None:
    async def test(store: ModelStore) -> None:
        await store.create("a", PLAIN)
        (folder,) = (tmp_path / "streams").iterdir()
        (folder / "backtests.json").mkdir()
        with pytest.raises(Problem, match="cannot be kept"):
            await store.create("late", PLAIN | {"stream": "a", "replay": True})
        assert "late" not in store.backtests
        assert store.streams["a"].replaying == {}
        (folder / "backtests.json").rmdir()
        await store.delete("a")

    in_store(tmp_path, test)


def test_options_that_cannot_be_kept_are_refused(http: httpx.Client) -> None:
    assert http.put("/v1/models/x", json={"classes": [10**30, 2]}).status_code == 422
    assert http.get("/v1/models/x").status_code == 404


def test_a_client_that_leaves_is_not_an_error_of_the_server(
    server: Background, http: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    for kind in (JSON, LINES):
        with Connection(server.port) as client:
            headers = {"Content-Type": kind, "Content-Length": "1000", "Unitless-Min-Seq": "0"}
            client.send(request("POST", "/v1/models/a/learn", b"{", headers))
    with Connection(server.port) as client:
        client.send(b"POST /v1/models/a/learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n")
        client.send(b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")
        assert client.answer().status == 400
    assert http.get("/health/live").status_code == 200
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_stop_ends_uploads_that_do_not_come_to_an_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unitless.serve.server.ANSWERED_WITHIN", 0.5)
    row = b'{"features": {"x": 1}, "label": 1}\n'
    with background(data=tmp_path, port=0) as server, httpx.Client(base_url=server.url) as http:
        http.put("/v1/models/a", json=PLAIN)
        clients = [Connection(server.port) for _ in range(2)]
        for client, sent in zip(reversed(clients), (b"", row), strict=True):
            client.send(
                request("POST", "/v1/models/a/learn", sent, {"Content-Type": LINES, "Content-Length": "100000"})
            )
        assert clients[0].line().startswith(b"HTTP/1.1 200")
    assert clients[1].answer().status == 503
    for client in clients:
        assert client.is_closed()
        client.socket.close()
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize("damage", [b"{", b"\xff", b"[1]", b""])
def test_a_damaged_list_of_backtests_does_not_stop_a_start(tmp_path: Path, damage: bytes) -> None:
    async def test(store: ModelStore) -> None:
        await store.create("a", PLAIN)

    async def again(store: ModelStore) -> None:
        store.backtests.resume(store.streams["a"], store.folders["a"])
        assert "backtests.json cannot be read" in store.streams["a"].notes[0]

    in_store(tmp_path, test)
    (folder,) = (tmp_path / "streams").iterdir()
    (folder / "backtests.json").write_bytes(damage)
    in_store(tmp_path, again)


def test_a_snapshot_whose_model_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    async def test(store: ModelStore) -> None:
        await store.create("a", PLAIN)
        live = store.streams["a"]
        for turn in range(2):
            await live.submitted(Kind.learn, Form.json, 1, b'{"features": {"x": 1}, "label": 1}')
            parts = live.stream.parts()
            if turn:
                parts["models-0-model.unitless"] = b"not a model"
            target = store.folders["a"] / "snapshots" / f"{live.stream.seq:020d}"
            snapshots.write_parts(target, parts, seq=live.stream.seq, position=live.stream.end, needs=1)
        before.append(live.stream.fingerprint())

    async def again(store: ModelStore) -> None:
        assert store.streams["a"].stream.fingerprint() == before[0]
        assert "cannot be used, an older one is" in store.streams["a"].notes[0]

    before: list[str] = []
    in_store(tmp_path, test)
    in_store(tmp_path, again)


def test_numbers_that_grow_without_limit_end_one_row_and_not_the_stream(tmp_path: Path) -> None:
    """One call learns the rows before it, refuses that row, and learns the rows after it."""
    rows = [{"features": {"x": 1.0 * k, "y": -1.0 * k}, "label": 3.0 * k} for k in range(60)]
    sent = b"\n".join(json.dumps(row).encode() for row in rows)
    fingerprints = []

    async def test(store: ModelStore) -> None:
        await store.create(
            "a",
            PLAIN | {"learning_rate": 1e10, "rule": "gd", "importance_aware": False, "center": False, "target": None},
        )
        await store.create("b", PLAIN | {"stream": "a"})
        live = store.streams["a"]
        await live.submitted(Kind.learn, Form.json, 1, json.dumps(rows[1]).encode())
        outcomes = await live.submitted(Kind.learn, Form.lines, 60, sent)
        problems = [outcome.problem for outcome in outcomes if outcome.problem is not None]
        assert problems
        assert {problem.status for problem in problems} == {422}
        assert any("diverged" in problem.detail for problem in problems)
        assert live.stream.counts["learned"] == 61 - len(problems)
        (again,) = await live.submitted(Kind.learn, Form.json, 1, json.dumps({"features": {}, "label": 1.0}).encode())
        assert again.problem is None or again.problem.status == 422
        fingerprints.append(live.stream.fingerprint())

    async def restarted(store: ModelStore) -> None:
        assert [store.streams["a"].stream.fingerprint()] == fingerprints

    in_store(tmp_path, test)
    in_store(tmp_path, restarted)


def found(monkeypatch: pytest.MonkeyPatch, model: str) -> threading.Event:
    """An event that is set when a request has found a model."""
    event, find = threading.Event(), ModelStore.find

    def finds(store: ModelStore, name: str) -> tuple[LiveStream, str]:
        answer = find(store, name)
        if name == model:
            event.set()
        return answer

    monkeypatch.setattr(ModelStore, "find", finds)
    return event


@pytest.mark.parametrize(
    ("path", "begin", "end"),
    [
        ("/v1/models/leaves/predict", b'{"features": {"x": 1}, ', b'"level": null}'),
        ("/v1/models/leaves/explain", b'{"features": ', b'{"x": 1}}'),
        (
            "/v2/models/leaves/infer",
            b'{"inputs": [{"name": "x", "shape": [1], ',
            b'"datatype": "FP64", "data": [1]}]}',
        ),
    ],
    ids=["predict", "explain", "infer"],
)
def test_a_model_that_is_deleted_during_a_request_is_not_found(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch, path: str, begin: bytes, end: bytes
) -> None:
    assert http.put("/v1/models/stays", json=PLAIN).status_code in (200, 201)
    assert http.put("/v1/models/leaves", json=PLAIN | {"stream": "stays"}).status_code == 201
    has_begun = found(monkeypatch, "leaves")

    def body() -> Iterator[bytes]:
        yield begin
        assert has_begun.wait(LIMIT)
        assert http.delete("/v1/models/leaves").status_code == 204
        yield end

    answer = http.post(path, content=body(), headers={"content-type": "application/json"})
    assert answer.status_code == 404, answer.text
    assert "deleted meanwhile" in answer.text


def test_a_model_that_is_deleted_among_many_rows_answers_each_row(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert http.put("/v1/models/stays", json=PLAIN).status_code in (200, 201)
    assert http.put("/v1/models/leaves", json=PLAIN | {"stream": "stays"}).status_code == 201
    has_begun = found(monkeypatch, "leaves")

    def body() -> Iterator[bytes]:
        yield b'{"features": {"x": 1}}\n'
        assert has_begun.wait(LIMIT)
        assert http.delete("/v1/models/leaves").status_code == 204
        yield b'{"features": {"x": 1}}\n' * 2

    answer = http.post("/v1/models/leaves/predict", content=body(), headers={"content-type": "application/x-ndjson"})
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert answer.status_code == 200
    assert [line.get("status") for line in lines[1:3]] == [404, 404]


def test_a_long_line_of_csv_is_refused_before_it_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = bodies.Table("label", 100, RowLimits(settings(tmp_path, max_row_bytes=2000)))
    parsed: list[str] = []
    reader = csv.reader

    def read(lines: list[str], **options: Any) -> Any:
        parsed.extend(lines)
        return reader(lines, **options)

    monkeypatch.setattr(csv, "reader", read)
    found = list(table.feed(b"a,b\n1,2\n" + b"," * 2100 + b"\n3,4\n"))
    assert [one.status if isinstance(one, Problem) else "row" for one in found] == ["row", 413, "row"]
    assert list(table.feed(b"," * 1500)) == []
    with pytest.raises(Problem, match="too large"):  # the end of the request has not arrived
        list(table.feed(b"," * 1500))
    assert parsed == ["a,b\n", "1,2\n", "3,4\n"]
