"""The HTTP API of one server: every address, one row or many, in every form that a client can send."""

from __future__ import annotations

import io
import itertools
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import numpy as np
import pyarrow as pa
import pytest
from raw_http import Connection, request
from waiting import join

import unitless as ul
from unitless.cli import main
from unitless.serve import wire
from unitless.serve.in_thread import Background

COUNTER = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    folder = tmp_path_factory.mktemp("http") / "data"
    with ul.serve.background(data=folder, port=0, durability="process", snapshot_every="1h") as server:
        yield server


@pytest.fixture(scope="module")
def http(server: Background) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=20) as client:
        yield client


@pytest.fixture
def name(http: httpx.Client) -> Iterator[str]:
    """The name of a new model of numbers, small and quick."""
    name = f"m{next(COUNTER)}"
    assert http.put(f"/v1/models/{name}", json={"model_type": "linear", "ensemble": False}).status_code == 201
    yield name
    for model in sorted(http.get("/v1/models").json()["models"], key=lambda model: model["role"] == "champion"):
        if model["stream"].startswith(name):
            assert http.delete(f"/v1/models/{model['name']}").status_code == 204


def learn(http: httpx.Client, name: str, rows: int = 20) -> None:
    for k in range(rows):
        row = {"features": {"size": k, "kind": "new" if k % 2 else "old"}, "label": 3.0 * k + k % 2}
        assert http.post(f"/v1/models/{name}/learn", json=row).status_code == 200


def test_a_model_file_from_the_server_is_not_marked_interrupted(
    http: httpx.Client, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learn(http, name)
    file = tmp_path / "model.unitless"
    file.write_bytes(http.get(f"/v1/models/{name}/file").content)
    assert main(["inspect", str(file)]) == 0
    said = capsys.readouterr().out
    assert "examples       20" in said
    assert "interrupted" not in said


def test_the_file_of_a_model_does_not_depend_on_when_its_rows_came(http: httpx.Client, name: str) -> None:
    other = f"{name}-again"
    assert http.put(f"/v1/models/{other}", json={"model_type": "linear", "ensemble": False}).status_code == 201
    found = []
    for one in (name, other):
        learn(http, one)
        found.append(http.get(f"/v1/models/{one}/file").content)
    assert found[0] == found[1]


# ----- one row


def test_answers_end_with_a_line_break(http: httpx.Client, name: str) -> None:
    one = {"features": {"a": 1}, "label": 2}
    answers = [http.post(f"/v1/models/{name}/{verb}", json=one) for verb in ("learn", "predict", "label")]
    answers += [http.get(f"/v1/models/{name}"), http.get("/v1/models/no-such-model"), http.get("/v2/models/" + name)]
    assert [answer.content[-2:] for answer in answers] == [b"}\n"] * 6


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ('{"features": {"a": 1}, "label": 2, "weigth": 3}', "there is no field 'weigth'; did you mean 'weight'?"),
        ('{"features": {"a": 1}, "label": 2, "zzz": 3}', "there is no field 'zzz'; there are features, label"),
        ('{"a": 1}', '"features" is missing'),
        ("[1]", "A row is an object"),
        ('{"features": {"a": 1}, "label": 2, "weight": "x"}', "$.weight"),
        ('{"features": {"a": 1}, "zzz": 2, "weight": ', ""),
    ],
)
def test_a_field_that_does_not_exist_is_a_mistake(http: httpx.Client, name: str, sent: str, told: str) -> None:
    for kind in ("application/json", "application/x-ndjson"):
        answer = http.post(f"/v1/models/{name}/learn", content=sent, headers={"content-type": kind})
        problem = json.loads(answer.content)
        assert problem["status"] in (400, 422), kind
        assert told in problem["detail"]
    assert http.get(f"/v1/models/{name}").json()["examples"] == 0


def test_a_row_is_predicted_learned_and_labelled_later(http: httpx.Client, name: str) -> None:
    post = lambda action, **row: http.post(f"/v1/models/{name}/{action}", json=row)  # noqa: E731
    features = {"size": 3.0, "kind": "new"}
    first = post("learn", features=features, label=7.0)
    assert (first.status_code, first.json()) == (200, {"score": 0.0, "seq": 2, "status": "learned"})
    said = post("predict", features=features).json()
    assert said.keys() == {"score", "prediction", "seq", "model"}
    assert (said["seq"], said["model"]) == (2, name)
    kept = post("predict", features=features, id="a").json()
    assert kept == {**said, "seq": 3}
    again = post("predict", features=features, id="a").json()
    assert again == {**said, "seq": 4, "status": "duplicate"}
    learned = post("label", id="a", label=8.0).json()
    assert learned == {"score": said["score"], "seq": 5, "status": "learned"}
    assert post("label", id="a", label=8.0).json() == {**learned, "seq": 6, "status": "duplicate"}


@pytest.mark.parametrize(
    ("action", "row", "status"),
    [
        ("predict", b"{", 400),
        ("learn", b'{"features": {"a": 1}, "label": 1', 400),
        ("learn", b'{"features": {"a": ' + b"[" * 100_000, 422),
        ("learn", b"[1]", 422),
        ("learn", b'{"features": 3, "label": 1}', 422),
        ("learn", b'{"features": {"a": 1}}', 422),
        ("learn", b'{"label": 1}', 422),
        ("learn", b'{"features": {"a": 1}, "label": "text"}', 422),
        ("learn", b'{"features": {"a": 1}, "label": 1, "weight": -1}', 422),
        ("learn", b'{"features": {"a": 1}, "label": 1, "weight": "x"}', 422),
        ("learn", b'{"features": {"a": [1]}, "label": 1}', 422),
        ("predict", b'{"features": {"a": "\xff"}}', 400),
        ("learn", b'{"features": {"\xa9": 1}, "label": 1}', 400),
        ("predict", b'{"features": [1, 2]}', 422),
        ("predict", b'{"id": "x"}', 422),
        ("predict", b'{"features": {}, "id": ""}', 422),
        ("label", b'{"id": "never predicted", "label": 1}', 404),
        ("label", b'{"label": 1}', 422),
        ("label", b'{"id": 7, "label": 1}', 422),
    ],
)
@pytest.mark.parametrize("way", ["protocol", "application"])
def test_rows_that_cannot_be_used_are_problems(
    http: httpx.Client, name: str, action: str, row: bytes, status: int, way: str
) -> None:
    learn(http, name, 2)
    headers = {"content-type": "application/json"} | ({"unitless-min-seq": "1"} if way == "application" else {})
    answer = http.post(f"/v1/models/{name}/{action}", content=row, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]


def test_an_id_stands_for_one_content(http: httpx.Client, name: str) -> None:
    post = lambda action, **row: http.post(f"/v1/models/{name}/{action}", json=row).status_code  # noqa: E731
    assert post("learn", features={"a": 1}, label=1, id="x") == 200
    assert post("learn", features={"a": 1}, label=1, id="x") == 200
    assert post("learn", features={"a": 1}, label=2, id="x") == 409
    assert post("predict", features={"a": 1}, id="y") == 200
    assert post("predict", features={"a": 2}, id="y") == 409


def test_both_ways_through_the_server_say_the_same(http: httpx.Client, server: Background, name: str) -> None:
    learn(http, name)
    body = json.dumps({"features": {"size": 4, "kind": "new"}}).encode()
    path = f"/v1/models/{name}/predict"
    plain = {"Content-Type": "application/json"}
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    with Connection(server.port) as connection:
        first = connection.request("POST", path, body, plain)
        for headers in ({"Unitless-Min-Seq": "1"}, {"Content-Encoding": "identity"}, {"Upgrade-Insecure": "1"}):
            assert connection.request("POST", path, body, plain | headers).body == first.body
        connection.send(request("POST", path, None, plain | {"Transfer-Encoding": "chunked"}) + chunked)
        assert connection.answer().body == first.body
        connection.send(request("POST", path, None, plain | {"Expect": "100-continue", "Content-Length": "51"})[:-2])
        connection.send(b"\r\n")
        assert connection.line().startswith(b"HTTP/1.1 100")
        connection.line()
        connection.send(body.ljust(51))
        assert connection.answer().body == first.body


def test_another_model_of_the_stream_can_be_asked(http: httpx.Client, name: str) -> None:
    learn(http, name)
    assert http.put(f"/v1/models/{name}-b", json={"stream": name, "task": "regression"}).status_code == 201
    row = {"features": {"size": 4, "kind": "new"}}
    assert http.post(f"/v1/models/{name}/predict", json=row).json()["model"] == name
    for path in (f"/v1/models/{name}-b/predict", f"/v1/models/{name}/predict?model={name}-b"):
        assert http.post(path, json=row).json()["model"] == f"{name}-b"
    kept = http.post(f"/v1/models/{name}-b/predict", json={**row, "id": "1", "model": name}).json()
    assert kept["model"] == f"{name}-b"
    assert http.post(f"/v1/models/{name}/predict?model=other", json=row).status_code == 404


def test_a_prediction_waits_for_what_was_written(http: httpx.Client, server: Background, name: str) -> None:
    row = {"features": {"a": 1.0}}
    seq = http.get(f"/v1/models/{name}").json()["seq"]
    found: list[httpx.Response] = []

    def ask() -> None:
        headers = {"unitless-min-seq": str(seq + 1)}
        found.append(httpx.post(f"{server.url}v1/models/{name}/predict", json=row, headers=headers, timeout=20))

    thread = threading.Thread(target=ask)
    thread.start()
    http.post(f"/v1/models/{name}/learn", json={**row, "label": 1})
    join(thread)
    assert found[0].json()["seq"] == seq + 1
    bad = http.post(f"/v1/models/{name}/predict", json=row, headers={"unitless-min-seq": "x"})
    assert bad.status_code == 400


# ----- connections


def test_answers_of_pipelined_requests_come_in_order(server: Background, name: str) -> None:
    rows = [{"features": {"a": k}, "label": k} for k in range(20)]
    paths = {0: "predict", 1: "learn", 2: "learn", 3: None, 4: "broken"}
    sent = b""
    for k, row in enumerate(rows):
        action = paths[k % 5]
        if action is None:
            sent += request("GET", f"/v1/models/{name}")
        elif action == "broken":
            sent += request("POST", f"/v1/models/{name}/learn", b"{", {"Content-Type": "application/json"})
        else:
            sent += request("POST", f"/v1/models/{name}/{action}", row)
    for cut in (len(sent), 7, 1000):
        with Connection(server.port) as connection:
            for start in range(0, len(sent), cut):
                connection.send(sent[start : start + cut])
            answers = [connection.answer() for _ in rows]
        assert [answer.status for answer in answers] == [200, 200, 200, 200, 400] * 4
        seqs = [answers[k].json()["seq"] for k in range(20) if k % 5 in (1, 2)]
        assert seqs == list(range(seqs[0], seqs[0] + 8))
        assert all("options" in answers[k].json() for k in range(3, 20, 5))


def test_connections_are_kept_or_closed_as_asked(server: Background, name: str) -> None:
    row = {"features": {"a": 1.0}}
    for path in (f"/v1/models/{name}/predict", f"/v1/models/{name}/explain"):
        with Connection(server.port) as connection:
            for _ in range(3):
                connection.request("POST", path, row)
            answer = connection.request("POST", path, row, {"Connection": "close"})
            assert answer.headers["connection"] == "close"
            assert connection.is_closed()
        with Connection(server.port) as connection:
            connection.send(request("POST", path, row).replace(b"HTTP/1.1", b"HTTP/1.0", 1))
            connection.answer()
            assert connection.is_closed()


def test_a_client_that_sends_no_more_still_gets_its_answers(server: Background, name: str) -> None:
    with Connection(server.port) as connection:
        connection.send(request("POST", f"/v1/models/{name}/learn", {"features": {"a": 1}, "label": 1}) * 3)
        connection.socket.shutdown(1)
        assert [connection.answer().status for _ in range(3)] == [200, 200, 200]
        assert connection.is_closed()


@pytest.mark.parametrize(
    "junk", [b"hello\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01", b"\0" * 64]
)
def test_what_is_not_http_is_answered_and_closed(server: Background, junk: bytes) -> None:
    with Connection(server.port) as connection:
        connection.send(junk)
        assert connection.answer().status == 400
        assert connection.is_closed()


def test_the_same_bytes_mean_the_same_wherever_they_are_cut(server: Background, name: str) -> None:
    """Heads of requests are cached as bytes; this must have no visible effect."""
    row = request("POST", f"/v1/models/{name}/predict", {"features": {"a": 1.0}})
    odd = row.replace(b"Host: localhost\r\n", b"Host: localhost\r\nX: 1\r\n")
    with Connection(server.port) as connection:
        found = []
        for sent in (row, row, odd, row[:30], row[30:] + row, odd + row[:-1], row[-1:], b"\r\n" + row):
            connection.send(sent)
        for _ in range(8):
            found.append(connection.answer().body)
        assert set(found) == {found[0]}
        other = request("POST", "/v1/models/nobody/predict", {"features": {"a": 1.0}})
        connection.send(row + other + row)
        assert [connection.answer().status for _ in range(3)] == [200, 404, 200]


# ----- many rows


def lines(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def test_json_lines_are_answered_line_by_line(http: httpx.Client, name: str) -> None:
    rows = [json.dumps({"features": {"a": k}, "label": 2.0 * k}) for k in range(1000)]
    rows[300] = "{"
    rows[301] = '{"features": {"a": 1}}'
    rows[303] = '{"features": {"a": "\udcff"}, "label": 1}'
    rows[302] = '{"features": {"a": 1}, "label": "text"}'
    body = "\n".join([*rows, "", ""]).replace("\n", "\r\n", 3).encode(errors="surrogateescape")
    found = lines(http.post(f"/v1/models/{name}/learn", content=body, headers={"content-type": "application/x-ndjson"}))
    assert len(found) == 1000
    assert [(row["row"], row["status"]) for row in found if "title" in row] == [
        (300, 400),
        (301, 422),
        (302, 422),
        (303, 400),
    ]
    assert all(row["status"] == "learned" for k, row in enumerate(found) if not 300 <= k <= 303)
    assert http.get(f"/v1/models/{name}").json()["examples"] == 996


def test_one_by_one_and_in_lines_is_the_same_model(http: httpx.Client, name: str) -> None:
    rows = [{"features": {"a": k % 7, "b": "xyz"[k % 3]}, "label": k % 5} for k in range(300)]
    other = f"{name}-lines"
    http.put(f"/v1/models/{other}", json={"model_type": "linear", "ensemble": False})
    one = [http.post(f"/v1/models/{name}/learn", json=row).json()["score"] for row in rows]
    body = "\n".join(map(json.dumps, rows))
    headers = {"content-type": "application/x-ndjson"}
    many = [row["score"] for row in lines(http.post(f"/v1/models/{other}/learn", content=body, headers=headers))]
    assert one == many
    assert http.get(f"/v1/models/{name}/file").content == http.get(f"/v1/models/{other}/file").content


def test_lines_of_predictions_with_and_without_ids(http: httpx.Client, name: str) -> None:
    learn(http, name)
    rows = [{"features": {"size": k}} | ({"id": f"p{k}"} if k % 2 else {}) for k in range(600)]
    headers = {"content-type": "application/x-ndjson"}
    said = lines(http.post(f"/v1/models/{name}/predict", content="\n".join(map(json.dumps, rows)), headers=headers))
    assert [row["model"] for row in said] == [name] * 600
    assert http.get(f"/v1/models/{name}").json()["waiting"] == 300
    labels = [{"id": f"p{k}", "label": k} for k in range(600)]
    found = lines(http.post(f"/v1/models/{name}/label", content="\n".join(map(json.dumps, labels)), headers=headers))
    assert [row["status"] for row in found] == [404, "learned"] * 300
    assert [row["score"] for row in found[1::2]][:1] == [said[1]["score"]]


def test_answers_come_while_the_body_arrives(server: Background, name: str) -> None:
    part = b"".join(json.dumps({"features": {"a": k}, "label": 1}).encode() + b"\n" for k in range(300))
    chunk = b"%x\r\n%b\r\n" % (len(part), part)
    with Connection(server.port) as connection:
        headers = {"Content-Type": "application/x-ndjson", "Transfer-Encoding": "chunked"}
        connection.send(request("POST", f"/v1/models/{name}/learn?answers=all", None, headers) + chunk)
        while b"learned" not in connection.line():
            pass
        connection.send(chunk + b"0\r\n\r\n")
        found = 0
        while (line := connection.line()) != b"0\r":
            found += b"learned" in line
        assert found == 599


def test_a_client_may_send_all_before_it_reads_anything(server: Background, name: str) -> None:
    rows = 60_000
    body = b'{"features":{},"label":1}\n' * rows
    headers = {"Content-Type": "application/x-ndjson"}
    with Connection(server.port, timeout=60) as connection:
        connection.send(request("POST", f"/v1/models/{name}/learn?answers=all", body, headers))
        assert connection.answer().body.count(b'"learned"') == rows


def test_csv(http: httpx.Client, name: str) -> None:
    text = (
        "\ufeffsize,kind,new,note,price,id,weight\r\n"
        '1,flat,true,"a ""quoted"", cell\nof two lines",10.5,x1,1\r\n'
        "2e3,house,false,,20,,2\r\n"
        "3,house\r\n"
        "\r\n"
        "1_0,007,True,plain,+.5,x2,1"
    )
    headers = {"content-type": "text/csv; charset=utf-8"}
    found = lines(http.post(f"/v1/models/{name}/learn?label=price", content=text.encode(), headers=headers))
    assert [row["status"] for row in found] == ["learned", "learned", 400, "learned"], found
    same = f"{name}-same"
    http.put(f"/v1/models/{same}", json={"model_type": "linear", "ensemble": False})
    rows: list[dict[str, Any]] = [
        {
            "features": {"size": 1, "kind": "flat", "new": True, "note": 'a "quoted", cell\nof two lines'},
            "label": 10.5,
            "id": "x1",
            "weight": 1,
        },
        {"features": {"size": 2e3, "kind": "house", "new": False, "note": None}, "label": 20, "weight": 2},
        {"features": {"size": "1_0", "kind": 7, "new": True, "note": "plain"}, "label": 0.5, "id": "x2", "weight": 1},
    ]
    for row in rows:
        http.post(f"/v1/models/{same}/learn", json=row)
    assert http.get(f"/v1/models/{name}/weights").json() == http.get(f"/v1/models/{same}/weights").json()


@pytest.mark.parametrize(
    ("text", "path", "status"),
    [
        ("a,a\n1,2\n", "learn", 422),
        ("a,b\n1,2\n", "learn?label=c", 422),
        ("", "learn", 400),
        ('a,label\n1,"2\n', "learn", 400),
        (b"a,label\n\xff\xfe,1\n", "learn", 400),
    ],
)
def test_csv_that_cannot_be_read(http: httpx.Client, name: str, text: Any, path: str, status: int) -> None:
    answer = http.post(f"/v1/models/{name}/{path}", content=text, headers={"content-type": "text/csv"})
    assert answer.status_code == status, answer.text


ARROW = {"content-type": "application/vnd.apache.arrow.stream"}


def arrow(table: pa.Table, rows: int = 1000, **options: Any) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, rows)
    return out.getvalue()


def test_arrow(http: httpx.Client, name: str) -> None:
    n = 700
    columns = {
        "size": pa.array([float(k % 11) for k in range(n)]),
        "kind": pa.array(["xyz"[k % 3] for k in range(n)]).dictionary_encode(),
        "rooms": pa.array([k % 4 if k % 5 else None for k in range(n)]),
        "label": pa.array([k % 7 for k in range(n)]),
    }
    found = lines(http.post(f"/v1/models/{name}/learn", content=arrow(pa.table(columns), 300), headers=ARROW))
    same = f"{name}-same"
    http.put(f"/v1/models/{same}", json={"model_type": "linear", "ensemble": False})
    rows = [
        {"features": {key: column[k].as_py() for key, column in columns.items() if key != "label"}, "label": k % 7}
        for k in range(n)
    ]
    body = "\n".join(map(json.dumps, rows))
    wanted = lines(
        http.post(f"/v1/models/{same}/learn", content=body, headers={"content-type": "application/x-ndjson"})
    )
    assert [row["score"] for row in found] == [row["score"] for row in wanted]


def test_arrow_that_cannot_be_read(http: httpx.Client, name: str) -> None:
    good = arrow(pa.table({"a": [1.0, 2.0], "label": [1, 2]}))
    path = f"/v1/models/{name}/learn"
    for bad, status in (
        (b"", 400),
        (b"not arrow at all", 400),
        (good[:-20], 400),
        (good[:200], 400),
        (arrow(pa.table({"a": [1.0] * 100, "label": [1] * 100}), compression="zstd"), 415),
        (arrow(pa.table([[1.0], [2.0]], ["a", "a"])), 422),
    ):
        answer = http.post(path, content=bad, headers=ARROW)
        assert answer.status_code == status, answer.text
    for at in range(8, len(good), 5):
        flipped = bytearray(good)
        flipped[at] ^= 0xFF
        assert http.post(path, content=bytes(flipped), headers=ARROW).status_code in (200, 400, 415, 422)
    assert http.get("/health/ready").status_code == 200
    found = lines(http.post(path, content=arrow(pa.table({"a": [1.0, float("inf")], "label": [1, 2]})), headers=ARROW))
    assert [row["status"] for row in found] == ["learned", 422]


def test_a_batch_says_what_is_wrong_with_the_whole(http: httpx.Client, name: str) -> None:
    row = b'{"features": {}, "label": 1}'
    for kind, status in (("application/xml", 415), ("", 415), ("application/x-www-form-urlencoded", 415)):
        answer = http.post(f"/v1/models/{name}/learn", content=row, headers={"content-type": kind})
        assert (answer.status_code, answer.json()["status"]) == (status, status)
    zipped = {"content-type": "application/x-ndjson", "content-encoding": "gzip"}
    assert http.post(f"/v1/models/{name}/learn", content=row, headers=zipped).status_code == 415
    headers = {"content-type": "application/x-ndjson"}
    assert http.post("/v1/models/nobody/learn", content=row, headers=headers).status_code == 404
    assert http.post(f"/v1/models/{name}/learn", content=b"", headers=headers).text == ""


# ----- models


def test_models_come_and_go(http: httpx.Client, name: str) -> None:
    put = lambda name, **body: http.put(f"/v1/models/{name}", json=body).status_code  # noqa: E731
    assert put(name, model_type="linear", ensemble=False) == 200
    assert put(name, model_type="curves") == 409
    assert put(f"{name}-b", stream=name) == 201
    assert put(f"{name}-c", stream=name, role="shadow") == 201
    assert put(f"{name}-d", stream="nobody") == 404
    assert put(f"{name}-d", role="emperor") == 422
    assert put(f"{name}-d", los="squared") == 422
    listed = {model["name"]: model for model in http.get("/v1/models").json()["models"]}
    roles = [listed[one]["role"] for one in (name, f"{name}-b", f"{name}-c")]
    assert roles == ["champion", "challenger", "shadow"]
    assert http.post(f"/v1/models/{name}-b/promote").json()["role"] == "champion"
    learn(http, name, 3)
    assert http.post(f"/v1/models/{name}/predict", json={"features": {}}).json()["model"] == f"{name}-b"
    # the champion cannot be deleted while there are other models
    assert http.delete(f"/v1/models/{name}-b").status_code == 409
    # it is a challenger now, though the stream has its name
    assert http.delete(f"/v1/models/{name}").status_code == 204
    assert http.post(f"/v1/models/{name}/predict", json={"features": {}}).json()["model"] == f"{name}-b"
    assert http.delete(f"/v1/models/{name}-c").status_code == 204
    assert http.delete(f"/v1/models/{name}-b").status_code == 204
    assert http.get(f"/v1/models/{name}-b").status_code == http.get(f"/v1/models/{name}").status_code == 404


@pytest.mark.parametrize("bad", ["Upper", "-a", "a" * 65, "a%20b", "a%2Fb", "..%2F..%2Fetc", "%2e%2e", "a.b"])
def test_names_that_are_not_names(http: httpx.Client, server: Background, bad: str) -> None:
    with Connection(server.port) as connection:
        for method, path in (("PUT", ""), ("GET", ""), ("DELETE", ""), ("POST", "/learn"), ("GET", "/file")):
            body = {} if method in ("PUT", "POST") else None
            assert connection.request(method, f"/v1/models/{bad}{path}", body).status in (404, 422)
    assert connection.socket.fileno() == -1


def test_nothing_outside_the_page_is_served(server: Background) -> None:
    with Connection(server.port) as connection:
        for path in (
            "/page/../server.py",
            "/page/%2e%2e/server.py",
            "/page//etc/passwd",
            "/page/",
            "/../../etc/passwd",
        ):
            assert connection.request("GET", path).status == 404
        assert connection.request("GET", "/page/style.css").status == 200


def test_a_model_file_goes_out_and_comes_in(http: httpx.Client, name: str, tmp_path: Path) -> None:
    learn(http, name)
    file = tmp_path / "model.unitless"
    file.write_bytes(http.get(f"/v1/models/{name}/file").content)
    row = {"size": 4, "kind": "new"}
    said = http.post(f"/v1/models/{name}/predict", json={"features": row}).json()["prediction"]
    assert ul.Predictor(str(file)).predict_one(row) == said
    headers = {"content-type": "application/octet-stream"}
    copy = f"/v1/models/{name}-copy"
    assert http.put(copy, content=file.read_bytes(), headers=headers).status_code == 201
    assert http.post(f"{copy}/predict", json={"features": row}).json()["prediction"] == said
    assert http.put(f"/v1/models/{name}-bad", content=b"not a model", headers=headers).status_code == 422


def test_what_there_is_to_see(http: httpx.Client, name: str) -> None:
    learn(http, name)
    http.post(f"/v1/models/{name}/predict", json={"features": {"size": 4, "kind": "new"}, "id": "w"})
    found = http.get(f"/v1/models/{name}/metrics").json()
    assert found["examples"] == 20
    assert found["waiting"] == 1
    assert found["progressive"]["rmse"] > 0
    assert found["log"]["seq"] == 22
    assert {row["feature"] for row in http.get(f"/v1/models/{name}/weights").json()["features"]} >= {"size"}
    assert http.get(f"/v1/models/{name}/weights?most=0").status_code == 422
    posted = http.post(f"/v1/models/{name}/explain", json={"features": {"size": 4, "kind": "new"}})
    by_id = http.get(f"/v1/models/{name}/explain", params={"id": "w"})
    by_features = http.get(f"/v1/models/{name}/explain", params={"features": '{"size": 4, "kind": "new"}'})
    assert posted.json() == by_id.json() == by_features.json()
    assert posted.json()["contributions"]
    assert http.get(f"/v1/models/{name}/explain", params={"id": "nobody"}).status_code == 404
    assert http.get(f"/v1/models/{name}/explain", params={"features": "{"}).status_code == 400
    assert http.get(f"/v1/models/{name}/explain").status_code == 422


def test_events_are_sent_while_rows_are_learned(http: httpx.Client, server: Background, name: str) -> None:
    with httpx.stream("GET", f"{server.url}v1/models/{name}/events", timeout=10) as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        received = ""
        for text in events.iter_text():
            if not received:
                learn(http, name, 3)
            received += text
            if "event: example" in received and "event: moment" in received:
                break
    assert http.get(f"/v1/models/{name}").status_code == 200


def test_a_snapshot_on_demand(http: httpx.Client, name: str) -> None:
    learn(http, name, 5)
    assert http.post(f"/v1/models/{name}/snapshot").json() == {"stream": name, "snapshot_seq": 6}


# ----- the server


def test_the_page_is_safe_and_answers_are_not_kept(http: httpx.Client, name: str) -> None:
    page = http.get("/")
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert http.get("/", headers={"if-none-match": page.headers["etag"]}).status_code == 304
    for answer in (page, http.get("/v1/models"), http.post(f"/v1/models/{name}/predict", json={"features": {}})):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "date" in answer.headers
        assert "no-" in answer.headers["cache-control"]


def test_addresses_and_methods_that_are_not_there(http: httpx.Client) -> None:
    for method, path, status in (("GET", "/nothing", 404), ("POST", "/v1/models", 405), ("GET", "/v1/models/x", 404)):
        answer = http.request(method, path)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert http.post("/v1/models").headers["allow"]
    assert http.head("/v1/models").status_code == 200


def test_health_and_metrics(http: httpx.Client, name: str) -> None:
    learn(http, name, 2)
    assert http.get("/health/live").json() == {"status": "live"}
    assert http.get("/health/ready").json() == {"status": "ready"}
    text = http.get("/metrics").text
    assert 'unitless_requests_total{status="200",verb="learn"}' in text


def test_the_description_is_consistent(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert {"get", "put", "delete"} == set(document["paths"]["/v1/models/{name}"])
    operations = [one["operationId"] for methods in document["paths"].values() for one in methods.values()]
    assert len(set(operations)) == len(operations)
    text = json.dumps(document)
    for reference in {part.split('"')[0] for part in text.split('"$ref": "')[1:]}:
        found = document
        for key in reference.removeprefix("#/").split("/"):
            found = found[key]
    for path, methods in document["paths"].items():
        for one in methods.values():
            named = {parameter["name"] for parameter in one.get("parameters", ()) if parameter["in"] == "path"}
            assert named == {part.strip("{}") for part in path.split("/") if part.startswith("{")}


def test_answers_are_as_described(http: httpx.Client, name: str) -> None:
    """An answer has exactly the fields that its declaration has."""
    learn(http, name)
    row = {"features": {"size": 4, "kind": "new"}}
    one = f"/v1/models/{name}"
    for answer, declared in (
        (http.get("/v1/models"), wire.Models),
        (http.get(one), wire.Model),
        (http.get(f"{one}/metrics"), wire.Metrics),
        (http.get(f"{one}/weights"), wire.Weights),
        (http.get(f"{one}/snapshots"), wire.Snapshots),
        (http.post(f"{one}/explain", json=row), wire.Explanation),
        (http.post(f"{one}/predict", json=row), wire.Prediction),
        (http.post(f"{one}/predict", json={**row, "level": 0.9}), wire.Prediction),
        (http.post(f"{one}/learn", json={**row, "label": 1}), wire.Learned),
        (http.post(f"{one}/learn", json=row), wire.ProblemDetails),
        (http.get("/health/ready"), wire.Status),
    ):
        read = msgspec.to_builtins(msgspec.json.decode(answer.content, type=declared))
        given = {key: value for key, value in read.items() if value is not None or key in answer.json()}
        assert given == answer.json()


# ----- the Open Inference Protocol


def test_inference_with_named_tensors(http: httpx.Client, name: str) -> None:
    learn(http, name)
    assert http.get("/v2").json()["name"] == "unitless"
    assert http.get("/v2/health/ready").json() == {"ready": True}
    assert http.get(f"/v2/models/{name}").json()["outputs"][0] == {
        "name": "prediction",
        "datatype": "FP64",
        "shape": [-1],
    }
    assert http.get(f"/v2/models/{name}/ready").json()["ready"]
    tensors = [
        {"name": "size", "shape": [2], "datatype": "INT64", "data": [4, 5]},
        {"name": "kind", "shape": [2, 1], "datatype": "BYTES", "data": [["new"], ["old"]]},
    ]
    answer = http.post(f"/v2/models/{name}/infer", json={"inputs": tensors, "id": "7"}).json()
    assert (answer["id"], answer["model_name"]) == ("7", name)
    wanted = [
        http.post(f"/v1/models/{name}/predict", json={"features": {"size": size, "kind": kind}}).json()["prediction"]
        for size, kind in ((4, "new"), (5, "old"))
    ]
    assert answer["outputs"][0] == {"name": "prediction", "shape": [2], "datatype": "FP64", "data": wanted}
    asked = http.post(f"/v2/models/{name}/infer", json={"inputs": tensors, "outputs": [{"name": "score"}]}).json()
    assert [output["name"] for output in asked["outputs"]] == ["score"]


def test_inference_of_classes(http: httpx.Client) -> None:
    http.put("/v1/models/colours", json={"model_type": "linear", "ensemble": False})
    for k in range(30):
        http.post("/v1/models/colours/learn", json={"features": {"a": k % 3}, "label": ("red", "green", "blue")[k % 3]})
    tensors = [{"name": "a", "shape": [3], "datatype": "FP32", "data": [0, 1, 2]}]
    outputs = http.post("/v2/models/colours/infer", json={"inputs": tensors}).json()["outputs"]
    assert [output["datatype"] for output in outputs] == ["BYTES", "FP64", "FP64"]
    assert outputs[0]["data"] == ["red", "green", "blue"]


def test_inference_of_numbered_features(http: httpx.Client, tmp_path: Path) -> None:
    rows = np.arange(40.0).reshape(20, 2) % 7
    file = tmp_path / "numbered.unitless"
    model = ul.train(rows, rows @ [1.0, 2.0], model_type="linear", task="regression").model
    model.save(file)
    headers = {"content-type": "application/octet-stream"}
    assert http.put("/v1/models/numbered", content=file.read_bytes(), headers=headers).status_code == 201
    tensor = {"name": "x", "shape": [20, 2], "datatype": "FP64", "data": rows.tolist()}
    answer = http.post("/v2/models/numbered/infer", json={"inputs": [tensor]}).json()
    assert answer["outputs"][0]["data"] == model.predict(rows).tolist()


@pytest.mark.parametrize(
    ("tensor", "status"),
    [
        ({"name": "a", "shape": [2], "datatype": "FP64", "data": [1]}, 422),
        ({"name": "a", "shape": [], "datatype": "FP64", "data": [1]}, 422),
        ({"name": "a", "shape": [-1], "datatype": "FP64", "data": [1]}, 422),
        ({"name": "a", "shape": [1], "datatype": "FP128", "data": [1]}, 422),
        ({"name": "a", "shape": [1], "datatype": "FP64", "data": ["x"]}, 422),
        ({"name": "a", "shape": [1, 1, 1], "datatype": "FP64", "data": [1]}, 422),
        ({"name": "a", "shape": [10**9], "datatype": "FP64", "data": []}, 413),
        ({"name": "a"}, 422),
        (None, 422),
    ],
)
def test_inference_requests_that_cannot_be_used(http: httpx.Client, name: str, tensor: Any, status: int) -> None:
    inputs = [] if tensor is None else [tensor]
    assert http.post(f"/v2/models/{name}/infer", json={"inputs": inputs}).status_code == status
