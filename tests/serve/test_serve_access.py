"""Access tokens and the permissions of their roles."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from raw_http import Connection

import unitless as ul
from unitless.serve.http.access import MOST_REMEMBERED, Access, Role, new_token
from unitless.serve.problems import Problem

ROW = {"features": {"a": 1.0}}
KEPT = {**ROW, "id": "1"}
EXAMPLE = {**ROW, "label": 1.0}


class Guarded(NamedTuple):
    port: int
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("access")
    tokens = {role.name: new_token(role.name, folder / "tokens") for role in Role}
    with ul.serve.background(
        data=folder / "data", port=0, durability="process", token_file=folder / "tokens", create=["m"]
    ) as server:
        yield Guarded(server.port, tokens)


NEEDED = [
    ("GET", "/", None, None),
    ("GET", "/health/live", None, None),
    ("GET", "/health/ready", None, None),
    ("GET", "/openapi.json", None, None),
    ("GET", "/v2/health/ready", None, None),
    ("GET", "/metrics", None, "read"),
    ("GET", "/v1/models", None, "read"),
    ("GET", "/v1/models/m", None, "read"),
    ("GET", "/v1/models/m/metrics", None, "read"),
    ("GET", "/v1/models/m/weights", None, "read"),
    ("GET", "/v1/models/m/snapshots", None, "read"),
    ("POST", "/v1/models/m/predict", ROW, "read"),
    ("GET", "/v2/models/m", None, "read"),
    ("POST", "/v1/models/m/predict", KEPT, "write"),
    ("POST", "/v1/models/m/learn", EXAMPLE, "write"),
    ("POST", "/v1/models/m/label", {"id": "none", "label": 1}, "write"),
    ("PUT", "/v1/models/m", {}, "admin"),
    ("GET", "/v1/models/m/file", None, "admin"),
    ("POST", "/v1/models/m/promote", None, "admin"),
    ("POST", "/v1/models/m/replay", {"name": "m-again"}, "admin"),
]


@pytest.mark.parametrize(("method", "path", "body", "least"), NEEDED)
def test_each_address_needs_its_role(guarded: Guarded, method: str, path: str, body: object, least: str | None) -> None:
    with Connection(guarded.port) as connection:
        for _ in range(2):  # the second time, the head of the request is cached
            for role in (None, "read", "write", "admin"):
                headers = {} if role is None else {"Authorization": f"Bearer {guarded.tokens[role]}"}
                answer = connection.request(method, path, body, headers)
                if least is None or (role is not None and Role[role] >= Role[least]):
                    assert answer.status not in (401, 403), answer.body
                elif role is None:
                    assert answer.status == 401
                    assert answer.headers["www-authenticate"].startswith("Bearer")
                else:
                    assert answer.status == 403
                    assert least in answer.json()["detail"]


@pytest.mark.parametrize("header", ["Bearer wrong", "Basic YTpi", "Bearer", "", "Bearer " + "x" * 5000, "Bearer é"])
@pytest.mark.parametrize("path", ["/v1/models/m/learn", "/v1/models/m/explain"])
def test_wrong_tokens(guarded: Guarded, header: str, path: str) -> None:
    with Connection(guarded.port) as connection:
        for _ in range(2):
            assert connection.request("POST", path, EXAMPLE, {"Authorization": header}).status == 401
        good = {"Authorization": f"bearer {guarded.tokens['write']}"}
        assert connection.request("POST", "/v1/models/m/learn", EXAMPLE, good).status == 200


def test_a_role_too_low_is_told_row_by_row(guarded: Guarded) -> None:
    body = b'{"features": {}}\n{"features": {}, "id": "7"}\n'
    headers = {"Content-Type": "application/x-ndjson", "Authorization": f"Bearer {guarded.tokens['read']}"}
    with Connection(guarded.port) as connection:
        first, second = connection.request("POST", "/v1/models/m/predict", body, headers).body.splitlines()
    assert b'"status":403' not in first
    assert b'"status":403' in second


def test_remembered_tokens_are_bounded(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    token = new_token("read", file).encode()
    access = Access.of(file)
    for spaces in range(MOST_REMEMBERED + 10):
        assert access.role(b"Bearer " + b" " * spaces + token) == Role.read
    for k in range(100):
        with pytest.raises(Problem):
            access.role(b"Bearer %d" % k)
    assert len(access._remembered) <= MOST_REMEMBERED


def test_a_token_file_holds_hashes_and_is_its_owners(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    tokens = [new_token(role, file) for role in ("read", "admin", "read")]
    text = file.read_text()
    assert not any(token in text for token in tokens)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("# people\n\n" + text)
    access = Access.of(file)
    assert [access.role(f"Bearer {token}".encode()) for token in tokens] == [Role.read, Role.admin, Role.read]


@pytest.mark.parametrize("text", ["", "# nobody\n", "admin\n", "king sha256:" + "0" * 64, "admin sha256:12\n", "\xff"])
def test_bad_token_files_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tokens"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ul.OptionError, match=str(file)):
        Access.of(file)


def test_without_tokens_only_this_machine_is_answered(tmp_path: Path) -> None:
    """A page of another site can make a browser send requests here, under the name of that site."""
    with (
        ul.serve.background(data=tmp_path / "data", port=0, create=["m"]) as server,
        Connection(server.port) as connection,
    ):
        for host in ("localhost", "127.0.0.1:8000", "[::1]:80", "LOCALHOST:1"):
            assert connection.request("POST", "/v1/models/m/predict", ROW, {"Host": host}).status == 200
        for host in ("evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example"):
            assert connection.request("POST", "/v1/models/m/predict", ROW, {"Host": host}).status == 403
            assert connection.request("GET", "/v1/models", None, {"Host": host}).status == 403
