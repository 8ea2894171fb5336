"""Clients that send too much, nothing, or without end get an error, and other clients are not affected."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from raw_http import Connection, request
from waiting import LIMIT, join, until

import unitless as ul
from unitless.serve.in_thread import Background
from unitless.serve.store import ModelStore

ROW = {"features": {"a": 1.0}}
EXAMPLE = {**ROW, "label": 1.0}
LINES = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    with ul.serve.background(
        data=tmp_path_factory.mktemp("limits") / "data",
        port=0,
        durability="process",
        create=['m={"model_type": "linear", "ensemble": false}'],
        receive_timeout="1s",
        max_body="1MB",
    ) as server:
        yield server


@pytest.fixture(autouse=True)
def _lives(server: Background) -> Iterator[None]:
    """Whatever one client does, the next one is answered, and no resource of the first remains."""
    yield
    with Connection(server.port) as connection:
        assert connection.request("POST", "/v1/models/m/predict", ROW).status == 200
        assert connection.request("GET", "/health/ready").status == 200
    state = server.server._state
    until(lambda: not state.connections and not state.tasks)


def memory() -> int:
    """The memory of this process, in which the server runs too."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def flood(connection: Connection, piece: bytes, times: int) -> None:
    """Send until the time is over or the other side closes the connection."""
    with contextlib.suppress(OSError):
        for _ in range(times):
            connection.send(piece)


def test_a_head_without_end(server: Background) -> None:
    before = memory()
    with Connection(server.port) as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        flood(connection, b"x" * (1 << 20), 64)
        assert connection.answer().status == 431
        assert connection.is_closed()
    assert memory() - before < 32 << 20


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n" + b"X: " + b"x" * 20_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 4_000 + b"\r\n",
        b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\n\r\n",
        request("POST", "/v1/models/m/predict", ROW, {"X": "x" * 20_000}),
    ],
)
def test_heads_that_are_too_large(server: Background, head: bytes) -> None:
    for cut in (len(head), 5000):
        with Connection(server.port) as connection:
            for start in range(0, len(head), cut):
                flood(connection, head[start : start + cut], 1)
            assert connection.answer().status == 431
            assert connection.is_closed()


@pytest.mark.parametrize("path", ["/v1/models/m/learn", "/v1/models/m/explain"])
def test_bodies_that_are_too_large(server: Background, path: str) -> None:
    with Connection(server.port) as connection:
        connection.send(request("POST", path, None, {"Content-Type": "application/json", "Content-Length": "2000000"}))
        assert connection.answer().status == 413
        assert connection.is_closed()
    before = memory()
    for kind in ("application/json", "application/x-ndjson"):
        with Connection(server.port) as connection:
            headers = {"Content-Type": kind, "Transfer-Encoding": "chunked"}
            connection.send(request("POST", path, None, headers))
            flood(connection, b"10000\r\n" + b" " * 65536 + b"\r\n", 64)
            assert connection.answer().status in (413, 415)
            assert connection.is_closed()
    assert memory() - before < 32 << 20


def test_a_body_that_is_too_large_after_its_first_answers(server: Background) -> None:
    rows = (json.dumps(EXAMPLE).encode() + b"\n") * 1000
    with Connection(server.port) as connection:
        headers = LINES | {"Transfer-Encoding": "chunked"}
        connection.send(request("POST", "/v1/models/m/learn?answers=all", None, headers))
        flood(connection, b"%x\r\n%b\r\n" % (len(rows), rows), 60)
        with pytest.raises(OSError, match=r"closed|reset|pipe"):
            connection.answer()


@pytest.mark.parametrize("noise", [b"1;" + b"x" * 1000 + b"\r\n \r\n", b"1\r\n \r\n"])
def test_chunks_of_almost_nothing(server: Background, noise: bytes) -> None:
    with Connection(server.port) as connection:
        headers = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
        connection.send(request("POST", "/v1/models/m/predict", None, headers))
        flood(connection, noise * 1000, (4 << 20) // len(noise * 1000))
        assert connection.answer().status == 413
        assert connection.is_closed()


@pytest.mark.parametrize(
    "begun",
    [
        b"GET / HTTP/1.1\r\nHost: ",
        request("POST", "/v1/models/m/learn", None, {"Content-Type": "application/json", "Content-Length": "5000"}),
        request("POST", "/v1/models/m/learn", None, LINES | {"Content-Length": "5000"}),
    ],
    ids=["head", "body", "lines"],
)
def test_requests_that_come_byte_by_byte(server: Background, begun: bytes) -> None:
    with Connection(server.port, timeout=0.02) as connection:
        connection.send(begun)
        for _ in range(3000):
            try:
                answer = connection.answer()
                break
            except TimeoutError:
                connection.send(b"\n" if LINES["Content-Type"].encode() in begun else b" ")
        assert answer.status == 408
        assert connection.is_closed()


def test_a_connection_that_says_nothing_is_closed(server: Background) -> None:
    with Connection(server.port) as connection:
        assert connection.is_closed()


def test_a_long_body_has_time_while_it_moves(server: Background) -> None:
    row = json.dumps(EXAMPLE).encode() + b"\n"
    piece = row * (70_000 // len(row))
    with Connection(server.port) as connection:
        connection.send(request("POST", "/v1/models/m/learn", None, LINES | {"Content-Length": str(5 * len(piece))}))
        for _ in range(5):
            connection.send(piece)
            time.sleep(0.5)
        assert connection.answer().body.count(b"learned") == 5 * (70_000 // len(row))


def test_a_thousand_idle_connections(server: Background) -> None:
    before = memory()
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(1000)]
    with Connection(server.port) as connection:
        for _ in range(100):
            assert connection.request("POST", "/v1/models/m/learn", EXAMPLE).status == 200
    assert memory() - before < 64 << 20
    for one in idle:
        one.close()


def test_a_client_that_never_reads_its_answers(server: Background) -> None:
    before = memory()
    with Connection(server.port) as connection:
        connection.socket.settimeout(0.5)
        flood(connection, request("POST", "/v1/models/m/predict", ROW) * 500, 400)
        assert memory() - before < 64 << 20


def test_a_client_is_not_too_slow_because_the_server_is(server: Background) -> None:
    whole = request("POST", "/v1/models/m/learn", EXAMPLE)
    ours, theirs = socket.socketpair()
    loop = server._loop
    assert loop is not None

    def hold() -> None:
        theirs.recv(1)
        time.sleep(2.0)  # longer than the time limit of a request

    with ours, theirs, Connection(server.port) as connection:
        connection.send(whole[:-3])
        loop.call_soon_threadsafe(loop.add_reader, theirs, hold)
        time.sleep(0.6)  # now the server has read this
        ours.send(b"x")
        time.sleep(0.1)
        connection.send(whole[-3:])
        answer = connection.answer()
        loop.call_soon_threadsafe(loop.remove_reader, theirs)
        assert connection.request("GET", "/health/live").status == 200
    assert answer.status == 200


def test_a_flood_of_pipelined_requests(server: Background) -> None:
    with Connection(server.port, timeout=30) as connection:
        connection.send(request("POST", "/v1/models/m/learn", EXAMPLE) * 3000)
        statuses = [connection.answer().status for _ in range(3000)]
    assert set(statuses) <= {200, 429}
    assert statuses.count(200) > 500


def test_a_client_that_leaves_in_the_middle(server: Background) -> None:
    whole = request("POST", "/v1/models/m/learn", EXAMPLE)
    for sent in (whole[:10], whole[:-3], whole, request("GET", "/v1/models/m/events"), whole * 50):
        with Connection(server.port) as connection:
            connection.send(sent)
    with Connection(server.port) as connection:
        connection.send(request("POST", "/v1/models/m/learn", None, LINES | {"Content-Length": "5000"}) + b'{"fea')


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    with ul.serve.background(
        data=tmp_path_factory.mktemp("small") / "data", port=0, queue=5, max_connections=10, create=["m"]
    ) as server:
        yield server


def test_a_queue_that_is_full(small: Background) -> None:
    with Connection(small.port) as connection:
        connection.send(request("POST", "/v1/models/m/learn", EXAMPLE) * 50)
        answers = [connection.answer() for _ in range(50)]
        assert {answer.status for answer in answers} == {200, 429}
        assert all(answer.headers["retry-after"] for answer in answers if answer.status == 429)
        rows = (json.dumps(EXAMPLE).encode() + b"\n") * 2000
        found = connection.request("POST", "/v1/models/m/learn", rows, LINES)
        assert found.body.count(b'"learned"') == 2000


def test_more_connections_than_there_can_be(small: Background) -> None:
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(Connection(small.port)) for _ in range(10)]
        for connection in many:
            assert connection.request("GET", "/health/live").status == 200
        with Connection(small.port) as connection:
            answer = connection.answer()
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert connection.is_closed()
        assert many[0].request("GET", "/health/live").status == 200
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), Connection(small.port) as connection:
            if connection.request("GET", "/health/live").status == 200:
                return
    pytest.fail("there is no room after all others have left")


def test_while_logs_are_read_requests_are_told_to_wait(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, opened = threading.Event(), ModelStore.open.__func__  # type: ignore[attr-defined]

    def slowly(cls: type[ModelStore], *given: Any) -> ModelStore:
        read.wait(20)
        return cast(ModelStore, opened(cls, *given))

    monkeypatch.setattr(ModelStore, "open", classmethod(slowly))
    server = ul.serve.background(data=tmp_path_factory.mktemp("slow") / "data", port=0, create=["m"])
    starting = threading.Thread(target=server.__enter__)
    starting.start()
    try:
        until(lambda: hasattr(server, "server") and server.server._listeners)
        with Connection(server.port) as connection:
            assert connection.request("GET", "/health/live").status == 200
            for method, path, body in (
                ("GET", "/health/ready", None),
                ("POST", "/v1/models/m/predict", ROW),
                ("POST", "/v1/models/m/learn", EXAMPLE),
                ("GET", "/v1/models", None),
                ("PUT", "/v1/models/n", {}),
            ):
                answer = connection.request(method, path, body)
                assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            read.set()
            join(starting)
            assert connection.request("GET", "/health/ready").status == 200
            assert connection.request("POST", "/v1/models/m/learn", EXAMPLE).status == 200
    finally:
        read.set()
        join(starting)
        server.__exit__(None, None, None)


def test_the_end_does_not_wait_for_those_who_only_listen(tmp_path: Path) -> None:
    with ul.serve.background(data=tmp_path / "data", port=0, create=["m"]) as server:
        listening, unused = Connection(server.port), Connection(server.port)
        listening.send(request("GET", "/v1/models/m/events"))
        while b"events follow" not in listening.line():
            pass
    while listening.line() != b"0\r":
        pass
    for connection in (listening, unused):
        assert connection.is_closed()
        connection.socket.close()
