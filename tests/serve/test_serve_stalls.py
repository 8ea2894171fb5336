"""No request keeps the server from answering others: /health/live answers while large requests are processed."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from in_store import recovered, with_store
from raw_http import Answer, Connection

import unitless as ul
from unitless.serve.events import DEEPEST, MOST_BRACKETS, Form, Kind, is_too_deep
from unitless.serve.in_thread import Background
from unitless.serve.store import ModelStore
from unitless.serve.upkeep import Upkeep

JSON = {"content-type": "application/json"}
LINES, CSV = {"content-type": "application/x-ndjson"}, {"content-type": "text/csv"}
ARROW, FILE = {"content-type": "application/vnd.apache.arrow.stream"}, {"content-type": "application/octet-stream"}
PATIENCE = 120.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    folder = tmp_path_factory.mktemp("stalls") / "data"
    linear = '={"model_type": "linear", "ensemble": false}'
    new = ["m" + linear, "large" + linear, "classes={}"]
    with ul.serve.background(data=folder, port=0, durability="process", create=new) as server:
        yield server


def asked(server: Background, method: str, path: str, body: Any, headers: dict[str, str] | None) -> Answer:
    with Connection(server.port, PATIENCE) as connection:
        return connection.request(method, path, body, headers)


def meanwhile(server: Background, method: str, path: str, body: Any, headers: dict[str, str] | None) -> tuple[Any, int]:
    """The answer to a request, and the number of answers that another client got before it."""
    found: list[Answer] = []
    thread = threading.Thread(target=lambda: found.append(asked(server, method, path, body, headers)))
    answered = 0
    with Connection(server.port, PATIENCE) as other:
        thread.start()
        while thread.is_alive():
            assert other.request("GET", "/health/live").status == 200
            answered += thread.is_alive()
        thread.join()
    return found[0], answered


def wide_csv() -> bytes:
    return b",".join(b"c%d" % i for i in range(5000)) + b"\n" + (b"1," * 4999 + b"1\n") * 200


def wide_arrow() -> bytes:
    sink = io.BytesIO()
    table = pa.table({f"c{i}": [1.0] * 200 for i in range(5000)})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def classes() -> bytes:
    rows = [{"features": {f"c{k}": i * k % 17 for k in range(20)}, "label": f"l{i % 20}"} for i in range(600)]
    return b"\n".join(json.dumps(row).encode() for row in rows)


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("/v1/models/m/predict", wide_csv(), CSV),
        ("/v1/models/m/predict", wide_arrow(), ARROW),
        ("/v1/models/classes/learn", classes(), LINES),
    ],
    ids=["wide CSV", "wide Arrow", "many classes"],
)
def test_others_are_answered_while_rows_are_worked_on(server: Background, path: str, body: bytes, headers: Any) -> None:
    answer, answered = meanwhile(server, "POST", path, body, headers)
    assert answer.status == 200
    assert b'"status":4' not in answer.body
    assert answered >= 5


def test_others_are_answered_while_an_inference_request_is_worked_on(server: Background) -> None:
    assert asked(server, "POST", "/v1/models/classes/learn", classes(), LINES).status == 200
    tensor = {"name": "c1", "shape": [20_000], "datatype": "INT64", "data": [1] * 20_000}
    answer, answered = meanwhile(server, "POST", "/v2/models/classes/infer", {"inputs": [tensor]}, JSON)
    assert answer.status == 200
    assert [output["shape"] for output in json.loads(answer.body)["outputs"]] == [[20_000]] * 3
    assert answered >= 20


def test_others_are_answered_while_a_large_model_is_read_and_sent(server: Background) -> None:
    for start in range(0, 80_000, 4000):
        row = {"features": {f"n{start + i}": 1.0 for i in range(4000)}, "label": 1.0}
        assert asked(server, "POST", "/v1/models/large/learn", row, None).status == 200
    file, answered = meanwhile(server, "GET", "/v1/models/large/file", None, None)
    assert file.status == 200
    assert answered >= 1
    for path in ("/v1/models/copy", "/v1/models/beside?stream=m"):
        answer, answered = meanwhile(server, "PUT", path, file.body, FILE)
        assert answer.status == 201
        assert answered >= 1
    same = asked(server, "GET", "/v1/models/beside/file", None, None)
    assert same.body == file.body
    answer, answered = meanwhile(server, "POST", "/v1/models/large/explain", {"features": {"n1": 1.0}}, None)
    assert answer.status == 200
    assert answered >= 1


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b",".join([*(b"c%d" % i for i in range(99_999)), b"c5"]), CSV, 422),
        (b",".join([*(b"c%d" % i for i in range(9_999)), b"c5"]), CSV, 422),
        (b"a\n" + b"," * 8_000_000, CSV, 413),
        (b'a\n"' + b"\n" * 8_000_000, CSV, 413),
        (b'{"features": ' + b"[" * 900_000, JSON, 422),
        (b'{"features": {"a": [' + b"[]," * 300_000 + b"[]]}}", JSON, 422),
        (b"[" * 40 + b'{"f": "' + b'\\"' * 400_000, JSON, 422),
        (json.dumps({"features": {f"n{i}": 1 for i in range(100_000)}}).encode(), JSON, 413),
    ],
    ids=[
        "100,000 columns",
        "two columns alike",
        "a long line",
        "long quotes",
        "deep",
        "many lists",
        "quotes",
        "many names",
    ],
)
def test_what_would_take_long_is_refused_at_once(
    server: Background, body: bytes, headers: dict[str, str] | None, status: int
) -> None:
    assert asked(server, "POST", "/v1/models/m/predict", body, headers).status == status


@pytest.mark.parametrize(
    ("text", "is_deep"),
    [
        (b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), True),
        (b"[" * DEEPEST + b"]" * DEEPEST, False),
        (b'{"a":' * (DEEPEST + 1) + b"1" + b"}" * (DEEPEST + 1), True),
        (b"[" + b"[]," * 100 + b"{}]", False),
        (b"[" + b"[]," * (MOST_BRACKETS + 1) + b"{}]", True),
        (b'{"a": "' + b"[" * 100 + b'\\"' + b"{" * 100 + b'\\\\"}', False),
        (b'{"a": "\\\\", "b": ' + b"[" * 100, True),
        (b"]" * 100 + b"[" * 100, False),
    ],
)
def test_depth_is_counted_outside_of_text(text: bytes, is_deep: bool) -> None:
    assert is_too_deep(text) is is_deep


def test_a_tick_waits_for_its_turn_in_the_queue(tmp_path: Path) -> None:
    """A tick has digests of the state after all earlier records, but does not cause them to be learned at once."""

    async def test(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("a", {})
        live, answers = store.streams["a"], list[int]()
        await live.submitted(Kind.learn, Form.json, 1, b'{"features": {"x": 1}, "label": 1}')
        for k in range(2000):
            body = b'{"features": {"x": %d}, "label": %d}' % (k % 7, k % 3)
            live.submit(Kind.learn, Form.json, 1, body, lambda _: answers.append(live.stream.seq))
        live.tick()
        live.tick()
        assert len(answers) < 2000
        await live.drain()
        assert (len(answers), live.model().examples, live.stream.seq) == (2000, 2001, 2003)
        live.tick()
        assert live.stream.seq == 2003
        assert [record.kind for record in live.log.records(2002)] == [Kind.learn, Kind.tick]

    with_store(tmp_path, test, tick=1000, queue=10_000)
    assert recovered(tmp_path).streams["a"].stream.mismatch is None
