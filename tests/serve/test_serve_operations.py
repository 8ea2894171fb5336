"""Operating a server: latencies, metrics in plain units, and tokens that change."""

from __future__ import annotations

import logging
import os
import re
import signal
from pathlib import Path

import httpx
import pytest
from server_process import Server
from waiting import until

from unitless.serve import background
from unitless.serve.http.access import new_token

PLAIN = {"model_type": "linear", "ensemble": False}
ROW, LINES = {"features": {"x": 1.0}}, "application/x-ndjson"


def test_latencies_of_each_verb_are_counted(tmp_path: Path) -> None:
    settings = {"data": tmp_path, "port": 0, "durability": "process", "create": ["m"]}
    with background(**settings) as server, httpx.Client(base_url=server.url) as http:
        for _ in range(3):
            http.post("/v1/models/m/learn", json=ROW | {"label": 1.0})
            http.post("/v1/models/m/predict", json=ROW)
        http.post("/v1/models/m/predict", json=ROW | {"id": "7"})
        http.post("/v1/models/m/label", json={"id": "7", "label": 2.0})
        http.post("/v1/models/m/label", json={"id": "8", "label": 2.0})
        body = b'{"features": {"x": 1}, "label": 1}\n' * 5
        http.post("/v1/models/m/learn", content=body, headers={"content-type": LINES})
        http.post("/v1/models/m/learn?model=m&answers=all", json=ROW | {"label": 1.0})
        http.get("/v1/models")
        text = http.get("/metrics").text
    counts = dict(re.findall(r'unitless_request_seconds_count\{verb="(\w+)"\} (\S+)', text))
    assert {verb: float(count) for verb, count in counts.items()} == {
        "learn": 4,
        "predict": 4,
        "label": 2,
        "learn_many": 1,
        "other": 1,
    }
    sums = [float(one) for one in re.findall(r"unitless_request_seconds_sum\{.*\} (\S+)", text)]
    assert all(0 < one < 60 for one in sums)
    assert 'unitless_request_seconds_bucket{le="+Inf",verb="predict"} 4.0' in text


def test_rmse_and_accuracy_are_where_people_look(tmp_path: Path) -> None:
    with background(data=tmp_path, port=0, durability="process") as server, httpx.Client(base_url=server.url) as http:
        for name in ("numbers", "classes"):
            http.put(f"/v1/models/{name}", json=PLAIN)
            for k in range(50):
                label = 2.0 * k if name == "numbers" else ["red", "green"][k % 2]
                http.post(f"/v1/models/{name}/learn", json={"features": {"x": k, "y": k % 2}, "label": label})
        text = http.get("/metrics").text
        for name, metric in (("numbers", "rmse"), ("classes", "accuracy")):
            progressive = http.get(f"/v1/models/{name}/metrics").json()["progressive"]
            assert http.get(f"/v1/models/{name}").json()["metrics"][metric] == progressive[metric]
            gauge = rf'unitless_model_metric\{{metric="{metric}",model="{name}",stream="{name}"\}} (\S+)'
            assert float(re.findall(gauge, text)[0]) == pytest.approx(progressive[metric])
        found = http.get("/v1/models/classes/metrics").json()["progressive"]
        assert found["accuracy"] == pytest.approx(1 - found["error_rate"])


def test_tokens_can_be_read_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "tokens"
    old = new_token("admin", file)
    settings = {"data": tmp_path / "data", "port": 0, "create": ["m"], "token_file": file}

    def status(http: httpx.Client, token: str) -> int:
        headers = {"authorization": f"Bearer {token}"}
        return http.post("/v1/models/m/learn", json=ROW | {"label": 1}, headers=headers).status_code

    with background(**settings) as server, httpx.Client(base_url=server.url) as http, caplog.at_level(logging.INFO):
        assert [status(http, old) for _ in range(3)] == [200] * 3  # the head of the request is cached now
        good = file.read_text()
        for text in ("", "nonsense\n", "king sha256:" + "0" * 64):
            file.write_text(text)
            server.server.reload_tokens()
            assert status(http, old) == 200
        assert len([one for one in caplog.records if one.levelname == "ERROR"]) == 3
        file.unlink()
        new = new_token("write", file)
        server.server.reload_tokens()
        assert [status(http, old), status(http, new)] == [401, 200]
        file.write_text(good)
        server.server.reload_tokens()
        assert [status(http, old), status(http, new)] == [200, 401]


def test_a_hangup_reads_the_tokens_again_and_ends_nothing(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    old = new_token("read", file)
    server = Server(tmp_path / "data", "--token-file", str(file))
    server.start()
    try:
        with httpx.Client(base_url=server.url, timeout=10) as http:
            until(lambda: _is_ready(http))
            file.unlink()
            new = new_token("read", file)
            os.kill(server.pid, signal.SIGHUP)
            until(lambda: [_status(http, token) for token in (old, new)] == [401, 200])
        assert server.stop() == 0
    finally:
        server.abandon()


def _status(http: httpx.Client, token: str) -> int:
    return http.get("/v1/models", headers={"authorization": f"Bearer {token}"}).status_code


def _is_ready(http: httpx.Client) -> bool:
    try:
        return http.get("/health/ready").status_code == 200
    except httpx.TransportError:
        return False
