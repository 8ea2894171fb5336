"""Requests of many rows: which rows are answered, the summary, and clients that send everything before they read."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from raw_http import Connection, request

from unitless.serve import background
from unitless.serve.http.answering import LARGE, MOST_PROBLEMS
from unitless.serve.http.batches import Batch
from unitless.serve.in_thread import Background

LINES, CSV = "application/x-ndjson", "text/csv"
PLAIN = {"model_type": "linear", "ensemble": False}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    folder = tmp_path_factory.mktemp("many") / "data"
    settings = {"data": folder, "port": 0, "durability": "process", "snapshot_every": "1h", "max_body": 20 * LARGE}
    with background(**settings) as server:
        with Connection(server.port) as connection:
            assert connection.request("PUT", "/v1/models/m", PLAIN).status == 201
        yield server


def post(server: Background, path: str, body: bytes, kind: str = LINES) -> tuple[int, list[dict[str, Any]]]:
    """Send everything, and only then read."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request("POST", path, body, {"Content-Type": kind})
        answer = connection.getresponse()
        return answer.status, [json.loads(line) for line in answer.read().splitlines()]
    finally:
        connection.close()


def lines(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


GOOD, BAD = {"features": {"x": 1}, "label": 2}, {"features": {"x": 1}, "label": "two"}


class _HoldsLittle(Batch):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._most = 1 << 16


def test_a_large_body_is_sent_whole_before_anything_is_read(
    server: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer to each row would exceed the buffers of the server and the network for a client that does not read."""
    monkeypatch.setattr("unitless.serve.http.app.Batch", _HoldsLittle)
    row = b"1.%b,2\n" % (b"0" * 120)
    rows = (20 * LARGE - 100) // len(row)
    with socket.socket() as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        plain.settimeout(20)
        plain.connect(("127.0.0.1", server.port))
        body, headers = b"x,label\n" + row * rows, {"Content-Type": CSV, "Connection": "close"}
        plain.sendall(request("POST", "/v1/models/m/learn", body, headers))
        found = b""
        while part := plain.recv(1 << 16):
            found += part
    assert b'"rows":%d,"learned":%d,"duplicates":0,"refused":0' % (rows, rows) in found


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_is_answered_by_its_problems(server: Background, chunked: bool) -> None:
    body = lines(GOOD, BAD, GOOD)
    headers = {"Content-Type": LINES}
    with Connection(server.port) as connection:
        if chunked:
            sent = request("POST", "/v1/models/m/learn", None, headers | {"Transfer-Encoding": "chunked"})
            connection.send(sent + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        else:
            body += b" " * LARGE
            connection.send(request("POST", "/v1/models/m/learn", body, headers))
        problem, last = (json.loads(line) for line in connection.answer().body.splitlines())
    assert (problem["status"], problem["row"]) == (422, 1)
    assert {**last["summary"], "seq": 0} == {"rows": 3, "learned": 2, "duplicates": 0, "refused": 1, "seq": 0}


def test_the_client_says_which_rows_are_answered(server: Background) -> None:
    body = lines(GOOD | {"id": "a"}, GOOD | {"id": "a"}, BAD, GOOD | {"id": "b"})
    for first, mode in (("1", "all"), ("2", "problems"), ("3", "summary")):
        path = f"/v1/models/m/learn?answers={mode}"
        status, found = post(
            server, path, body.replace(b'"a"', b'"a%b"' % first.encode()).replace(b'"b"', b'"%b"' % mode.encode())
        )
        assert status == 200
        kinds = [one.get("status", "summary") for one in found]
        assert (
            kinds
            == {
                "all": ["learned", "duplicate", 422, "learned"],
                "problems": [422, "summary"],
                "summary": ["summary"],
            }[mode]
        )
        if mode != "all":
            summary = found[-1]["summary"]
            assert {name: summary[name] for name in ("rows", "learned", "duplicates", "refused")} == {
                "rows": 4,
                "learned": 2,
                "duplicates": 1,
                "refused": 1,
            }
            assert summary["seq"] > 0
    status, found = post(server, "/v1/models/m/learn?answers=some", body)
    assert (status, found[0]["detail"]) == (422, "answers is 'some'; it must be one of all, problems, summary.")


def test_predictions_are_all_given_unless_the_client_wants_fewer(server: Background) -> None:
    body = lines({"features": {"x": 1}}, {"features": {"x": [2]}}) + b" " * LARGE
    _, found = post(server, "/v1/models/m/predict", body)
    assert [one.get("status", 200) for one in found] == [200, 422]
    _, found = post(server, "/v1/models/m/predict?answers=summary", body)
    assert found == [
        {"summary": {"rows": 2, "predicted": 1, "duplicates": 0, "refused": 1, "seq": found[0]["summary"]["seq"]}}
    ]


def test_problems_are_many_but_not_without_end(server: Background) -> None:
    _, found = post(server, "/v1/models/m/learn?answers=problems", lines(BAD) * (MOST_PROBLEMS + 50))
    assert len(found) == MOST_PROBLEMS + 1
    assert found[-1]["summary"]["refused"] == MOST_PROBLEMS + 50


@pytest.mark.parametrize("mode", ["all", "problems", "summary"])
def test_what_was_learned_before_a_body_broke_is_told(server: Background, mode: str) -> None:
    status, found = post(server, f"/v1/models/m/learn?answers={mode}", b'x,label\n1,2\n3,4\n"5', CSV)
    assert status == 200
    (problem,) = (one for one in found if one.get("status") == 400)
    assert problem["title"] == "this is not CSV"
    if mode != "all":
        assert found[-1]["summary"]["learned"] == 2
    assert post(server, f"/v1/models/m/learn?answers={mode}", b'"x', CSV)[0] == 400
