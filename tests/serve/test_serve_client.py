"""The client: each row is learned once, whatever the network does."""

from __future__ import annotations

import asyncio
import email.utils
import inspect
import json
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from waiting import join

import unitless as ul
from unitless.client import AsyncClient, Client, ClientError
from unitless.client.retries import Patience, retry_after


class Server(ThreadingHTTPServer):
    """A small server that remembers ids, as the real one does, and fails on request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults: list[str] = []
        self.progress: list[str] = []
        self.learned: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.seen = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that have disconnected."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *words: Any) -> None:
        """Nothing is printed."""

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        with self.server.seen:
            self.server.requests.append((self.command, self.path, dict(self.headers), body))
            fault = self.server.faults.pop(0) if self.server.faults else ""
            if fault == "drop before":
                self.close_connection = True
                return
            if fault in ("429", "503", "404"):
                self.send(int(fault), {"title": "not now", "detail": "later"}, {"retry-after": "0"})
                return
            if fault == "page":
                self.send(200, b"<html>Log in</html>", {})
                return
            if fault == "proxy":
                self.send(502, b"<html>Bad Gateway</html>", {})
                return
            status, said = self.carry_out(body, fault)
        if fault == "drop after":
            self.close_connection = True
        elif fault == "half":
            self.send_response(200)
            self.send_header("content-length", "1000")
            self.end_headers()
            self.wfile.write(b'{"score"')
            self.close_connection = True
        else:
            if fault == "slow":
                time.sleep(0.5)
            self.send(status, said, {})

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def send(self, status: int, said: Any, headers: dict[str, str]) -> None:
        body = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def carry_out(self, body: bytes, fault: str) -> tuple[int, Any]:
        verb = self.path.partition("?")[0].rpartition("/")[2]
        if self.command == "GET" and self.server.progress and verb == "m":
            return 200, {"name": "m", "status": self.server.progress.pop(0)}
        if verb == "file":
            return 200, b"the model" * 1000
        if self.command == "DELETE":
            known = self.path not in self.server.learned
            self.server.learned[self.path] = {}
            return (200, {}) if known else (404, {"title": "no such model"})
        if "ndjson" in self.headers.get("content-type", ""):
            rows = [json.loads(line) for line in body.splitlines()]
            told = [self.one(verb, row) for row in (rows[: len(rows) // 2] if fault == "stops" else rows)]
            if fault in ("full", "fuller"):
                taken = 1 if fault == "full" else 0
                told = [*told[:taken], *({"title": "full", "status": 429} for _ in rows[taken:])]
                for row in rows[taken:]:
                    self.server.learned.pop(row["id"], None)
            return 200, b"".join(json.dumps(line).encode() + b"\n" for line in told)
        return 200, self.one(verb, json.loads(body or b"{}"))

    def one(self, verb: str, row: dict[str, Any]) -> dict[str, Any]:
        if verb not in ("learn", "label"):
            return {"prediction": 2.0, "score": 2.0, "seq": 1, "model": "m", "news": True, "body": row}
        if row.get("label") == "bad":
            return {"title": "the row cannot be used", "detail": "no such label", "status": 422}
        duplicate = row["id"] in self.server.learned
        self.server.learned.setdefault(row["id"], row)
        return {"score": 1.5, "seq": len(self.server.learned), "status": "duplicate" if duplicate else "learned"}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        join(thread)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unitless.client.retries._FIRST_PAUSE", 0.001)
    monkeypatch.delenv("UNITLESS_TOKEN", raising=False)


FAULTS = ["drop before", "drop after", "half", "429", "503", "proxy"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_row_is_learned_once_whatever_happens_on_the_way(server: Server, fault: str) -> None:
    server.faults = [fault, fault]
    with Client(server.url) as client:
        answer = client.learn("m", {"x": 1.0}, 3.0)
    assert answer.status == "learned"
    assert len(server.learned) == 1
    assert len(server.requests) == 3


@pytest.mark.parametrize("fault", FAULTS)
def test_a_row_is_learned_once_by_coroutines_too(server: Server, fault: str) -> None:
    async def learn() -> str:
        async with AsyncClient(server.url) as client:
            return (await client.learn("m", {"x": 1.0}, 3.0)).status

    server.faults = [fault, fault]
    assert asyncio.run(learn()) == "learned"
    assert len(server.learned) == 1
    assert len(server.requests) == 3


def test_a_server_that_is_slow_is_asked_again_and_learns_once(server: Server) -> None:
    server.faults = ["slow"]
    with Client(server.url, timeout=0.2) as client:
        assert client.learn("m", {"x": 1.0}, 3.0).status == "learned"
    assert len(server.learned) == 1
    assert len(server.requests) >= 2


def test_an_id_of_the_caller_that_was_learned_before_is_a_duplicate(server: Server) -> None:
    with Client(server.url) as client:
        assert client.learn("m", {"x": 1.0}, 3.0, id="a").status == "learned"
        assert client.learn("m", {"x": 1.0}, 3.0, id="a").status == "duplicate"
        assert client.label("m", "b", 3.0).status == "learned"


@pytest.mark.parametrize("fault", [*FAULTS, "stops", "full"])
def test_many_rows_are_each_learned_once_and_in_their_order(server: Server, fault: str) -> None:
    server.faults = ["", fault, "", fault]
    seen = []
    with Client(server.url) as client:
        result = client.learn_many("m", (({"x": i}, float(i)) for i in range(2500)), each=seen.append)
    assert (result.learned, result.duplicates, result.problems, result.rows) == (2500, 0, [], 2500)
    assert [row["label"] for row in server.learned.values()] == [float(i) for i in range(2500)]
    assert len(seen) == 2500


def test_rows_that_are_refused_are_counted_and_the_others_learned(server: Server) -> None:
    rows = [({"x": 1}, 1.0), ({"x": 1}, "bad", 2.0), ({"x": 1}, 3.0, 2.0, "c"), ({"x": 1}, 3.0, None, "c")]
    with Client(server.url) as client:
        result = client.learn_many("m", rows)
    assert (result.learned, result.duplicates, result.rows) == (2, 1, 4)
    assert [problem.row for problem in result.problems] == [1]
    assert str(result.problems[0].error) == "422 the row cannot be used: no such label"
    assert server.learned["c"] == {"features": {"x": 1}, "label": 3.0, "id": "c", "weight": 2.0}


def test_rows_may_come_from_an_asynchronous_source(server: Server) -> None:
    async def rows() -> AsyncIterator[tuple[dict[str, Any], float]]:
        for i in range(1500):
            yield {"x": i}, 1.0

    async def run() -> tuple[int, int, int]:
        async with AsyncClient(server.url) as client:
            learned = await client.learn_many("m", rows())
            labeled = await client.label_many("m", [("a", 1.0), ("b", 1.0)])
            predicted = [one async for one in client.predict_many("m", [{"x": 1}, ({"x": 2}, "id")])]
            return learned.learned, labeled.learned, len(predicted)

    assert asyncio.run(run()) == (1500, 2, 2)


def test_large_rows_go_in_small_parts(server: Server) -> None:
    with Client(server.url) as client:
        client.learn_many("m", (({"x": "y" * 400_000}, 1.0) for _ in range(7)))
    assert [request[3].count(b"\n") for request in server.requests] == [3, 3, 1]


def test_predictions_are_typed_and_carry_what_was_asked(server: Server) -> None:
    with Client(server.url, token="secret") as client:
        answer = client.predict("m", {"x": np.float32(1.5), "n": np.int64(3), "text": "é"}, id="a", min_seq=7)
    assert (answer.prediction, answer.score, answer.model, answer.seq) == (2.0, 2.0, "m", 1)
    method, path, headers, body = server.requests[0]
    assert (method, path) == ("POST", "/v1/models/m/predict")
    assert headers["unitless-min-seq"] == "7"
    assert headers["authorization"] == "Bearer secret"
    assert json.loads(body) == {"features": {"x": 1.5, "n": 3, "text": "é"}, "id": "a"}


def test_the_token_comes_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNITLESS_TOKEN", "hidden")
    with Client(server.url) as client:
        client.models()
    assert server.requests[0][2]["authorization"] == "Bearer hidden"


def test_names_never_become_other_paths(server: Server) -> None:
    with Client(server.url) as client:
        client.model("../../metrics")
    assert server.requests[0][1] == "/v1/models/..%2F..%2Fmetrics"


def test_every_call_reaches_its_address(server: Server, tmp_path: Path) -> None:
    with Client(server.url) as client:
        client.create("b", stream="a", role="challenger", replay=True)
        client.promote("b")
        client.snapshot("b")
        client.metrics("b")
        client.weights("b", most=5)
        client.explain("b", {"x": 1})
        client.download("b", tmp_path / "b.unitless")
        client.delete("b")
    asked = [(method, path, body) for method, path, _, body in server.requests]
    assert asked == [
        ("PUT", "/v1/models/b", b'{"stream":"a","role":"challenger","replay":true}'),
        ("POST", "/v1/models/b/promote", b""),
        ("POST", "/v1/models/b/snapshot", b""),
        ("GET", "/v1/models/b/metrics", b""),
        ("GET", "/v1/models/b/weights?most=5", b""),
        ("POST", "/v1/models/b/explain", b'{"features":{"x":1}}'),
        ("GET", "/v1/models/b/file", b""),
        ("DELETE", "/v1/models/b", b""),
    ]
    assert (tmp_path / "b.unitless").read_bytes() == b"the model" * 1000


@pytest.mark.parametrize("fault", ["503", "half"])
def test_a_download_is_whole_or_begun_again(server: Server, tmp_path: Path, fault: str) -> None:
    async def run() -> None:
        async with AsyncClient(server.url) as client:
            await client.download("m", tmp_path / "async.unitless")

    server.faults = [fault]
    with Client(server.url) as client:
        client.download("m", tmp_path / "m.unitless")
    server.faults = [fault]
    asyncio.run(run())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["async.unitless", "m.unitless"]
    assert {path.stat().st_size for path in tmp_path.iterdir()} == {9000}


def test_a_model_deleted_by_a_request_whose_answer_was_lost_is_deleted(server: Server) -> None:
    server.faults = ["drop after"]
    with Client(server.url) as client:
        client.delete("m")
        with pytest.raises(ClientError, match="404 no such model"):
            client.delete("m")


def test_problems_are_errors_with_all_that_the_server_said(server: Server) -> None:
    server.faults = ["404"]
    with Client(server.url) as client, pytest.raises(ClientError) as caught:
        client.predict("m", {"x": 1})
    assert caught.value.status == 404
    assert (caught.value.title, caught.value.detail) == ("not now", "later")
    assert str(caught.value) == "404 not now: later"
    assert isinstance(caught.value, ul.Error)
    assert len(server.requests) == 1


def test_patience_ends(server: Server) -> None:
    server.faults = ["503"] * 1000
    with Client(server.url, retry_for=0.05) as client, pytest.raises(ClientError, match="503 not now"):
        client.predict("m", {"x": 1})
    assert 2 <= len(server.requests) < 100
    server.requests.clear()
    with Client(server.url, retry_for=0) as client, pytest.raises(ClientError, match="503 not now"):
        client.predict("m", {"x": 1})
    assert len(server.requests) == 1


def test_rows_of_many_that_are_never_taken_raise_their_problem(server: Server) -> None:
    server.faults = ["full", *["fuller"] * 1000]
    with Client(server.url, retry_for=0.05) as client, pytest.raises(ClientError, match="429 full"):
        client.learn_many("m", [({"x": 1}, 1.0), ({"x": 1}, 2.0)])
    assert [row["label"] for row in server.learned.values()] == [1.0]


def test_a_server_that_is_not_there_is_named() -> None:
    with Client("http://127.0.0.1:9", retry_for=0) as client, pytest.raises(ClientError) as caught:
        client.models()
    assert caught.value.status is None
    assert "no answer from http://127.0.0.1:9" in str(caught.value)
    assert "is the server running" in str(caught.value)


def test_waiting_until_the_server_is_ready(server: Server) -> None:
    server.faults = ["drop before", "503", "503"]
    with Client(server.url, retry_for=0) as client:
        client.wait_ready(timeout=60)
    assert [request[1] for request in server.requests] == ["/health/ready"] * 4


def test_waiting_for_a_model_that_learns_from_history(server: Server) -> None:
    server.progress = ["replaying", "replaying", "ready"]
    with Client(server.url) as client:
        client.wait_ready("m", timeout=60)
        server.progress = ["replaying"] * 1000
        with pytest.raises(ClientError, match="'m' is not ready after"):
            client.wait_ready("m", timeout=0.05)


@pytest.mark.parametrize(
    ("value", "told"),
    [(float("nan"), "send None"), (float("inf"), "send None"), (object(), "numbers, text")],
)
def test_values_that_json_lacks_are_refused_before_sending(server: Server, value: Any, told: str) -> None:
    with Client(server.url) as client, pytest.raises(ul.InputError, match=told):
        client.learn("m", {"x": value}, 1.0)
    assert server.requests == []


def test_an_address_without_its_protocol_is_refused() -> None:
    with pytest.raises(ul.OptionError, match="http://"):
        Client("localhost:8000")


def test_pauses_grow_and_keep_to_what_the_server_wishes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unitless.client.retries._FIRST_PAUSE", 0.1)
    patience = Patience(1000)
    pauses = [patience.pause() or 0.0 for _ in range(9)]
    for pause, longest in zip(pauses, [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5], strict=True):
        assert longest / 2 <= pause <= longest
    assert patience.pause(at_least=12) == 12
    assert Patience(10).pause(at_least=12) is None
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    assert retry_after(httpx.Response(429, headers={"retry-after": "3"})) == 3
    assert 90 < retry_after(httpx.Response(429, headers={"retry-after": date})) <= 100
    assert retry_after(httpx.Response(429, headers={"retry-after": "soon"})) == 0
    assert retry_after(httpx.Response(429)) == 0


def test_both_clients_have_the_same_methods() -> None:
    methods = {
        kind: {
            name: [parameter.name for parameter in inspect.signature(value).parameters.values()]
            for name, value in vars(kind).items()
            if not name.startswith("_")
        }
        for kind in (Client, AsyncClient)
    }
    methods[AsyncClient]["close"] = methods[AsyncClient].pop("aclose")
    assert methods[Client] == methods[AsyncClient]


def test_without_httpx_it_is_said_what_to_install() -> None:
    script = "import sys; sys.modules['httpx'] = None; import unitless.client"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("unitless.client needs httpx: pip install 'unitless[client]'\n")


def test_the_client_needs_no_numpy() -> None:
    script = "import sys; sys.modules['numpy'] = None; import unitless.client"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_answer_that_is_something_else_is_an_error(server: Server) -> None:
    server.faults = ["page"]
    with (
        Client(server.url) as client,
        pytest.raises(ClientError, match="200 the answer cannot be understood") as caught,
    ):
        client.models()
    assert "unitless serve" in caught.value.detail


def test_asynchronous_rows_are_for_the_asynchronous_client(server: Server) -> None:
    async def rows() -> AsyncIterator[tuple[dict[str, Any], float]]:
        yield {"x": 1}, 1.0

    with Client(server.url) as client, pytest.raises(ul.InputError, match="use AsyncClient"):
        client.learn_many("m", rows())
    assert server.requests == []
