"""Pages of other sites cannot make a browser change anything on a server without tokens."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from raw_http import Connection

from unitless.serve import background
from unitless.serve.http.access import new_token
from unitless.serve.in_thread import Background

LINES, CSV = "application/x-ndjson", "text/csv"
ROW: dict[str, Any] = {"features": {"x": 1}}
HOST = {"Host": "localhost:8000"}
FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "http://localhost:3000"},
    {"Origin": "http://localhost"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://localhost:8000.evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:8000"},
]
OWN = [
    {},
    {"Origin": "http://localhost:8000"},
    {"Origin": "https://LOCALHOST:8000", "Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"},
]
WRITES: list[tuple[str, str, Any, str]] = [
    ("POST", "/v1/models/m/learn", ROW | {"label": 1}, ""),
    ("POST", "/v1/models/m/learn?model=m", ROW | {"label": 1}, ""),
    ("POST", "/v1/models/m/predict", ROW | {"id": "1"}, ""),
    ("POST", "/v1/models/m/label", {"id": "1", "label": 1}, ""),
    ("POST", "/v1/models/m/learn", b'{"features": {"x": 1}, "label": 1}\n', LINES),
    ("POST", "/v1/models/m/learn", b"x,label\n1,2\n", CSV),
    ("POST", "/v1/models/m/predict", b'{"features": {"x": 1}, "id": "2"}\n', LINES),
    ("PUT", "/v1/models/other", {}, ""),
    ("POST", "/v1/models/m/promote", None, ""),
    ("POST", "/v1/models/m/snapshot", None, ""),
    ("DELETE", "/v1/models/m", None, ""),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    folder = tmp_path_factory.mktemp("sites") / "data"
    plain = '{"model_type": "linear", "ensemble": false}'
    with background(data=folder, port=0, vw_port=0, vw_model="m", create=[f"m={plain}"]) as server:
        yield server


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize(("method", "path", "body", "kind"), WRITES)
def test_a_page_of_another_site_changes_nothing(
    server: Background, headers: dict[str, str], method: str, path: str, body: Any, kind: str
) -> None:
    seq = server.store.streams["m"].stream.seq
    given = HOST | headers | ({"Content-Type": kind} if kind else {})
    with Connection(server.port) as connection:
        for _ in range(2):  # the second time, the head of the request may be cached
            answer = connection.request(method, path, body, given)
            assert (answer.status, answer.json()["title"]) == (403, "the request comes from another site")
    assert list(server.store.streams) == ["m"]
    assert server.store.streams["m"].stream.seq == seq


@pytest.mark.parametrize("headers", OWN)
def test_the_own_page_and_programs_may(server: Background, headers: dict[str, str]) -> None:
    with Connection(server.port) as connection:
        for _ in range(2):
            row = ROW | {"label": 1}
            assert connection.request("POST", "/v1/models/m/learn", row, HOST | headers).status == 200
            assert connection.request("POST", "/v1/models/m/explain", ROW, HOST | headers).status == 200


def test_reading_needs_no_site(server: Background) -> None:
    """A browser does not give the answer to a page of another site."""
    with Connection(server.port) as connection:
        for headers in FOREIGN:
            assert connection.request("GET", "/v1/models", None, HOST | headers).status == 200


def test_with_tokens_the_token_decides(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    token = {"Authorization": f"Bearer {new_token('admin', file)}"}
    row, settings = ROW | {"label": 1}, {"data": tmp_path / "data", "port": 0, "create": ["m"], "token_file": file}
    with background(**settings) as server, Connection(server.port) as connection:
        for headers in FOREIGN:
            assert connection.request("POST", "/v1/models/m/learn", row, headers | token).status == 200
            assert connection.request("POST", "/v1/models/m/learn", row, headers).status == 401


@pytest.mark.parametrize("path", ["/v1/models/m/learn", "/v1/models/m/explain", "/v2/models/m/infer"])
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_json_is_called_json(server: Background, path: str, kind: str) -> None:
    """A page can send these kinds of content to another site without asking that site first."""
    with Connection(server.port) as connection:
        headers = {"Content-Type": kind} if kind else {}
        assert connection.request("POST", path, b'{"features": {"x": 1}, "label": 1}', headers).status == 415
        assert connection.request("PUT", "/v1/models/other", b"{}", headers).status == 415


@pytest.mark.parametrize("cut", [0, 3, 20])
@pytest.mark.parametrize("first", [b"POST / HTTP/1.1", b"GET /x?y HTTP/1.0", b"options * HTTP/1.1", b"PRI * HTTP/2.0"])
def test_the_port_of_lines_closes_on_http(server: Background, first: bytes, cut: int) -> None:
    (port,) = (one.sockets[0].getsockname()[1] for one in server.server._services if hasattr(one, "sockets"))
    seq = server.store.streams["m"].stream.seq
    sent = first + b"\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n\r\n1 | x:1\n2 | x:2\n"
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(sent[:cut])
        connection.sendall(sent[cut:])
        found = b""
        try:
            while part := connection.recv(1 << 12):
                found += part
        except ConnectionResetError:
            pass
    assert found in (b"", b"error: this port takes lines of Vowpal Wabbit, not HTTP; the connection is closed\n")
    assert server.store.streams["m"].stream.seq == seq
