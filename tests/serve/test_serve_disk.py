"""The server reports its disk and what it writes there."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("uvloop")
from waiting import until

from unitless.serve import background
from unitless.serve import store as store_module
from unitless.serve.log import log as log_module

ROW = {"features": {"x": 1.0}, "label": 2.0}
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def http(tmp_path: Path) -> Iterator[httpx.Client]:
    settings = {"data": tmp_path / "data", "port": 0, "durability": "disk", "tick": "0.2s"}
    with background(**settings) as server, httpx.Client(base_url=server.url, timeout=20) as client:
        for name in "ab":
            client.put(f"/v1/models/{name}", json={})
            assert client.post(f"/v1/models/{name}/learn", json=ROW).status_code == 200
        assert client.get("/health/ready").json() == {"status": "ready"}
        yield client


def test_a_full_disk_is_not_ready_until_there_is_room(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    append = log_module.Log.append

    def full(log: log_module.Log, events: Any, time: int) -> Any:
        if room:
            return append(log, events, time)
        raise FULL

    room: list[bool] = []
    with monkeypatch.context() as patched:
        patched.setattr(log_module.Log, "append", full)
        assert http.post("/v1/models/a/learn", json=ROW).status_code == 503
        answer = http.get("/health/ready")
        assert (answer.status_code, answer.json()["title"]) == (503, "rows cannot be learned")
        assert "the disk is full" in answer.json()["troubles"]["a"]
        assert http.get("/v2/health/ready").status_code == 503
        assert 'unitless_writable{stream="a"} 0.0' in http.get("/metrics").text
        assert http.post("/v1/models/a/predict", json={"features": {"x": 1.0}}).status_code == 200
        room.append(True)
        # no load balancer sends rows to a server that is not ready
        until(lambda: http.get("/health/ready").status_code == 200)
    assert http.post("/v1/models/a/learn", json=ROW).status_code == 200


def test_a_disk_without_room_is_not_ready_before_a_row_comes(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.statvfs

    class Full:
        f_bavail, f_frsize = 3, 4096

    with monkeypatch.context() as patched:
        patched.setattr(store_module.os, "statvfs", lambda path: Full if "data" in str(path) else real(path))
        answer = http.get("/health/ready")
        assert (answer.status_code, answer.json()["detail"]) == (503, "this concerns all models")
    assert http.get("/health/ready").status_code == 200


def test_a_failed_log_is_not_ready(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(log_module, "_sync_data", broken)
        assert http.post("/v1/models/a/learn", json=ROW).status_code == 503
    answer = http.get("/health/ready")
    assert (answer.status_code, list(answer.json()["troubles"])) == (503, ["a"])
    assert "may not be on the disk" in answer.json()["troubles"]["a"]
    assert http.post("/v1/models/b/learn", json=ROW).status_code == 200


def test_rows_that_come_during_a_sync_share_the_next_one(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, syncs = threading.Event(), threading.Event(), []

    def slow(handle: int) -> None:
        syncs.append(handle)
        begun.set()
        assert go_on.wait(20)

    with monkeypatch.context() as patched, ThreadPoolExecutor(30) as pool:
        patched.setattr(log_module, "_sync_data", slow)
        answers = [pool.submit(http.post, "/v1/models/a/learn", json=ROW)]
        assert begun.wait(20)
        answers += [pool.submit(http.post, "/v1/models/a/learn", json=ROW) for _ in range(25)]
        until(lambda: http.get("/v1/models/a").json()["examples"] == 27)  # learned, but not on the disk
        assert not any(answer.done() for answer in answers)
        go_on.set()
        assert {answer.result(20).status_code for answer in answers} == {200}
    assert len(syncs) < 10  # two records of rows, and those of ticks


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_only_the_owner_can_read_what_is_kept(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        settings = {"data": tmp_path / "data", "port": 0, "segment": "4kB", "snapshot_every": "1h"}
        with background(**settings) as server, httpx.Client(base_url=server.url, timeout=20) as http:
            http.put("/v1/models/a", json={})
            lines = "\n".join(json.dumps(ROW | {"id": f"{k}" * 50}) for k in range(200))
            http.post("/v1/models/a/learn", content=lines, headers={"content-type": "application/x-ndjson"})
            http.put("/v1/models/b", json={"stream": "a", "replay": True})
            until(lambda: http.get("/v1/models/b").json()["status"] == "ready")
            assert http.post("/v1/models/a/snapshot").status_code == 200
    finally:
        os.umask(before)
    found = [tmp_path / "data", *(tmp_path / "data").rglob("*")]
    kinds = {path.suffix or path.name for path in found}
    assert {".seg", ".part", ".json", "LOCK"} <= kinds
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in found}
    assert {path: oct(mode) for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == {}
