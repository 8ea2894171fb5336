"""`unitless log`: the log of a server as lines of JSON, while the server runs and from a copy."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest
from waiting import until

from unitless.cli import main
from unitless.serve import background, log_lines
from unitless.serve.events import Form, Kind, Record, from_broker
from unitless.serve.log import Log
from unitless.serve.log.places import first_since, time_of, time_text
from unitless.serve.log.segments import SEGMENT_HEADER_BYTES, listed

Served: TypeAlias = tuple[Path, httpx.Client]
LINES = {"content-type": "application/x-ndjson"}
COMMAND = [sys.executable, "-m", "unitless", "log"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The folder of a server that runs, with rows of all kinds; and a client of it."""
    folder = tmp_path_factory.mktemp("data with spaces")
    settings: dict[str, Any] = {"port": 0, "durability": "process", "quiet": True, "tick": 3600}
    with background(data=folder, **settings) as server, httpx.Client(base_url=server.url) as http:
        http.put("/v1/models/prices", json={"model_type": "linear"})
        one = '{"features": {"area": 90.0,\n "city": "Köln"}, "label": 1.25e5, "weight": 2}'
        http.post("/v1/models/prices/learn", content=one, headers={"content-type": "application/json"})
        rows = [{"features": {"area": k}, "label": 1000 * k, "id": f"row {k}"} for k in range(3)]
        many = b"\n".join(json.dumps(row).encode() for row in rows)
        http.post("/v1/models/prices/learn", content=many, headers=LINES)
        http.post("/v1/models/prices/predict", json={"features": {"area": 70}, "id": "asked"})
        http.post("/v1/models/prices/label", json={"id": "asked", "label": 70_000})
        http.put("/v1/models/other", json={"stream": "prices", "model_type": "linear"})
        http.post("/v1/models/other/promote")
        http.delete("/v1/models/prices")
        http.put("/v1/models/second", json={})
        yield folder, http


def log(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str | Path) -> list[dict[str, Any]]:
    assert main(["log", *map(str, arguments)]) == 0
    said = capfdbinary.readouterr()
    assert said.err == b""
    return [json.loads(line) for line in said.out.splitlines()]


def test_each_row_is_a_line(served: Served, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    found = log(capfdbinary, served[0], "prices")
    kinds = ["create", "learn", "learn", "learn", "learn", "prediction", "label", "create", "promote", "delete"]
    assert [line["kind"] for line in found] == kinds
    assert [line.pop("seq") for line in found] == list(range(1, 11))
    times = [line.pop("time") for line in found]
    assert times == sorted(times)
    assert all(time_text(time_of(time) or 0) == time for time in times)
    assert found[0] == {"kind": "create", "model": "prices", "role": "champion", "options": {"model_type": "linear"}}
    features = {"area": 90.0, "city": "Köln"}
    assert found[1] == {"kind": "learn", "features": features, "label": 125000.0, "weight": 2}
    assert found[3] == {"kind": "learn", "id": "row 1", "features": {"area": 1}, "label": 1000}
    asked = {"kind": "prediction", "id": "asked", "features": {"area": 70}, "model": "prices"}
    assert {name: found[5].get(name) for name in asked} == asked
    assert found[6] == {"kind": "label", "id": "asked", "label": 70_000}
    assert found[8] == {"kind": "promote", "model": "other"}
    assert found[9] == {"kind": "delete", "model": "prices"}


def test_a_refused_row_has_the_reason(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with background(data=tmp_path, port=0, quiet=True, tick=3600) as server, httpx.Client(base_url=server.url) as http:
        http.put("/v1/models/prices", json={"task": "regression", "model_type": "linear"})
        assert http.post("/v1/models/prices/learn", json={"features": {"a": 1}, "label": 2}).status_code == 200
        assert http.post("/v1/models/prices/learn", json={"features": {"a": 1}, "label": "x"}).status_code == 422
        assert http.post("/v1/models/prices/label", json={"id": "none", "label": 2}).status_code == 404
    lines = {line["seq"]: line for line in log(capfdbinary, tmp_path)}
    assert "refused" not in lines[2]
    refused = {seq: line["refused"] for seq, line in lines.items() if "refused" in line}
    assert [lines[seq]["kind"] for seq in refused] == ["learn", "label"]
    assert "the row cannot be used: " in next(iter(refused.values()))
    assert [line["rows"] for line in lines.values() if line["kind"] == "refused"] == [[seq] for seq in refused]
    (bad,) = log(capfdbinary, tmp_path, "--from", "3", "--until", "3")
    assert bad == lines[3]


def test_some_of_it_can_be_chosen(served: Served, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    def seqs(*arguments: str) -> list[int]:
        return [line["seq"] for line in log(capfdbinary, served[0], "prices", *arguments)]

    every = log(capfdbinary, served[0], "prices")
    assert seqs("--from", "4", "--until", "6") == [4, 5, 6]  # 3 to 5 are one record
    assert seqs("--kind", "learn,label", "--kind", "promote") == [2, 3, 4, 5, 7, 9]
    assert seqs("--id", "asked") == [6, 7]
    assert seqs("--id", "asked", "--id", "row 0") == [3, 6, 7]
    time = every[5]["time"]
    assert seqs("--from", time) == [line["seq"] for line in every if line["time"] >= time]
    assert seqs("--until", time) == [line["seq"] for line in every if line["time"] <= time]
    assert seqs("--from", "2999-01-01") == []
    assert seqs("--from", "999") == []


def test_rows_can_be_learned_again(served: Served, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    folder, http = served
    lines = log(capfdbinary, folder, "prices", "--kind", "learn")
    rows = [{name: line.get(name) for name in ("features", "label", "weight", "id")} for line in lines]  # as jq does
    body = b"\n".join(json.dumps(row).encode() for row in rows)
    http.put("/v1/models/again", json={"model_type": "linear"})
    answers = http.post("/v1/models/again/learn", content=body, headers=LINES).text.splitlines()
    assert [json.loads(answer)["status"] for answer in answers] == ["learned"] * 4
    http.delete("/v1/models/again")


def test_a_replay_is_seen(served: Served, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    folder, http = served
    http.put("/v1/models/third", json={"model_type": "linear"})
    for k in range(3):
        http.post("/v1/models/third/learn", json={"features": {"a": k}, "label": k})
    assert http.post("/v1/models/third/replay", json={"name": "clean", "skip": [3]}).status_code == 202
    until(lambda: http.get("/v1/models/clean").json()["status"] == "ready")
    _, line = log(capfdbinary, folder, "third", "--kind", "create")
    assert line["state_bytes"] > 100
    assert line["model"] == "clean"
    assert line["replay"] == {"of": "third", "seq": 4, "skipped": [[3, 3]]}
    assert http.get("/v1/models/clean").json()["replay"] == line["replay"]
    assert [http.delete(f"/v1/models/{name}").status_code for name in ("clean", "third")] == [204, 204]


def test_lines_of_other_formats(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with Log.open(tmp_path / "streams" / "x" / "log") as written:
        written.append([(Kind.learn, Form.vw, 2, b"1 | a:1\n| b")], 10)
        written.append(
            [(Kind.learn, Form.broker, 1, from_broker("redis:a", "7-0", [b'{"features":{},"label":1}']))], 20
        )
    head = {"time": "1970-01-01T00:00:00.000010Z", "kind": "learn"}
    assert log(capfdbinary, tmp_path) == [
        {"seq": 1, **head, "line": "1 | a:1"},
        {"seq": 2, **head, "line": "| b"},
        {
            "seq": 3,
            "time": "1970-01-01T00:00:00.000020Z",
            "kind": "learn",
            "features": {},
            "label": 1,
            "source": "redis:a",
            "position": "7-0",
        },
    ]


def test_what_cannot_be_found(served: Served, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = served[0]
    (tmp_path / "file").write_text("x")
    for arguments, code, words in (
        ([tmp_path / "none"], 1, "none: there is no such folder"),
        ([tmp_path], 1, "this is not the data folder of a server"),
        ([tmp_path / "file"], 1, "this is not the data folder of a server"),
        ([folder], 1, "there are 2 streams; name one of them: prices, second"),
        ([folder, "rents"], 1, "there is no stream 'rents'; there are: prices, second"),
        ([folder, "prices", "--kind", "lern"], 2, "--kind is 'lern'; it must be one of prediction, learn"),
        ([folder, "prices", "--from", "noon"], 2, "--from is 'noon'; it must be a sequence number, or a time"),
        ([folder, "prices", "--until", "-3"], 2, "--until is '-3'"),
    ):
        assert main(["log", *map(str, arguments)]) == code
        said = capfd.readouterr()
        assert said.out == ""
        assert words in said.err, said.err


def written_log(data: Path) -> Path:
    """A log of 100 rows in several files, one row each millisecond."""
    log = data / "streams" / "x" / "log"
    with Log.open(log, segment_bytes=4000) as written:
        for k in range(100):
            row = {"features": {"x": k, "text": "t" * 50}, "label": k}
            written.append([(Kind.learn, Form.json, 1, json.dumps(row).encode())], 1000 * k)
    return log


@pytest.mark.parametrize("which", [1, -1], ids=["in the middle", "at the end"])
def test_a_damaged_record_ends_what_can_be_read(tmp_path: Path, which: int, capfd: pytest.CaptureFixture[str]) -> None:
    path = listed(written_log(tmp_path))[which]
    content = bytearray(path.read_bytes())
    content[SEGMENT_HEADER_BYTES + 40] ^= 1
    path.write_bytes(bytes(content))
    assert main(["log", str(tmp_path)]) == 1
    said = capfd.readouterr()
    assert [json.loads(line)["seq"] for line in said.out.splitlines()] == list(range(1, int(path.stem)))
    assert str(path) in said.err
    assert f"byte {SEGMENT_HEADER_BYTES:,}" in said.err


def test_a_copy_may_end_within_a_record(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = listed(written_log(tmp_path))[-1]
    os.truncate(path, path.stat().st_size - 5)
    assert [line["seq"] for line in log(capfdbinary, tmp_path)] == list(range(1, 100))


def test_old_records_may_be_gone(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    paths = listed(written_log(tmp_path))
    paths[0].unlink()
    oldest = int(paths[1].stem)
    assert [line["seq"] for line in log(capfdbinary, tmp_path, "--from", "1")] == list(range(oldest, 101))
    assert log(capfdbinary, tmp_path, "--until", str(oldest - 1)) == []


def test_places_by_time(tmp_path: Path) -> None:
    log = written_log(tmp_path)
    for seq in (1, 2, 50, 99, 100):
        assert first_since(log, 1000 * (seq - 1)) == seq
        assert first_since(log, 1000 * (seq - 1) - 1) == seq
        assert first_since(log, 1000 * (seq - 1) + 1) == seq + 1
    assert time_of("2026-01-31T14:00:00Z") == time_of("2026-01-31T15:00:00+01:00") == time_of("2026-01-31 14:00")
    assert time_of("2026-13-01") is None
    assert time_text(time_of("2026-01-31T14:00:00.000001Z") or 0) == "2026-01-31T14:00:00.000001Z"


def test_the_reader_may_stop(tmp_path: Path) -> None:
    written_log(tmp_path)
    command = f"{shlex.join([*COMMAND, str(tmp_path)])} | head -n 1; echo ${{PIPESTATUS[0]}}"
    bash = shutil.which("bash")
    assert bash is not None
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [bash, "-c", command], capture_output=True, text=True, timeout=60, check=True, env=environment
    )
    line, code = done.stdout.splitlines()
    assert json.loads(line)["seq"] == 1
    assert (code, done.stderr) == ("0", "")


def test_a_record_of_lines_has_as_many_rows_as_it_says() -> None:
    record = Record(7, 0, Kind.learn, Form.vw, 2, b"1 | a\n2 | b\n", 0, 40)
    assert [row["line"] for row in log_lines._rows_of(record)] == ["1 | a", "2 | b"]
