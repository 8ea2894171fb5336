"""The content of answers: probabilities, unknown features, and messages of limited length."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import unitless as ul
from unitless.serve import background
from unitless.serve.problems import LONGEST
from unitless.serve.served import ServedModel
from unitless.serve.served.known_names import LONGEST_NAME, MOST_NAMED

PLAIN = {"model_type": "linear", "ensemble": False}
LINES = "application/x-ndjson"
_numbers = itertools.count()


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("answers") / "data"
    settings = {"data": folder, "port": 0, "durability": "process", "snapshot_every": "1h"}
    with background(**settings) as server, httpx.Client(base_url=server.url, timeout=20) as client:
        yield client


@pytest.fixture
def name(http: httpx.Client) -> str:
    return f"m{next(_numbers)}"


def lines(http: httpx.Client, path: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    body = "\n".join(map(json.dumps, rows)).encode()
    answer = http.post(path, content=body, headers={"content-type": LINES}, params={"answers": "all"})
    return [json.loads(line) for line in answer.text.splitlines()]


# ----- probabilities


@pytest.mark.parametrize("classes", [[False, True], [0, 1], ["ham", "spam"], [-1, 1]])
def test_of_two_classes_the_probability_is_that_of_the_prediction(
    http: httpx.Client, name: str, classes: list[Any]
) -> None:
    path = f"/v1/models/{name}"
    http.put(path, json={"task": "binary", "classes": classes} | PLAIN)
    for k in range(40):
        http.post(f"{path}/learn", json={"features": {"x": k % 2 - 0.5}, "label": classes[k % 2]})
    texts = [{False: "false", True: "true"}.get(one, one) if isinstance(one, bool) else str(one) for one in classes]
    for place, x in enumerate((-0.5, 0.5)):
        (row,) = lines(http, f"{path}/predict", [{"features": {"x": x}}])
        with_id = http.post(f"{path}/predict", json={"features": {"x": x}, "id": f"{place}"}).json()
        for answer in (row, with_id, http.post(f"{path}/predict", json={"features": {"x": x}}).json()):
            assert answer["prediction"] == classes[place]
            assert answer["probability"] > 0.5
            assert answer["probability"] == answer["probabilities"][texts[place]]
            assert list(answer["probabilities"]) == texts
            assert math.isclose(sum(answer["probabilities"].values()), 1.0)
            assert math.isclose(answer["probabilities"][texts[1]], 1 / (1 + math.exp(-answer["score"])))
        tensor = {"name": "x", "shape": [1], "datatype": "FP64", "data": [x]}
        outputs = http.post(f"/v2/models/{name}/infer", json={"inputs": [tensor]}).json()["outputs"]
        assert {one["name"]: one["data"][0] for one in outputs}["probability"] == row["probability"]


def test_probabilities_that_are_almost_certain_stay_numbers() -> None:
    served = ServedModel("a", "champion", {"task": "binary"} | PLAIN)
    served.learn({"x": 1.0}, True)
    for score in (-1e4, -750.0, -40.0, 0.0, 40.0, 750.0, 1e4):
        said = served.prediction_of(score)
        assert said.probabilities is not None
        assert said.prediction is (score > 0)
        assert said.probability == said.probabilities["true" if said.prediction else "false"] >= 0.5
        assert all(0 <= p <= 1 for p in said.probabilities.values())
    assert served.prediction_of(40.0).answer()["probabilities"]["false"] == pytest.approx(math.exp(-40), rel=1e-9)


# ----- unknown features


def test_features_that_the_model_has_never_seen_are_named(http: httpx.Client, name: str) -> None:
    path = f"/v1/models/{name}"
    http.put(path, json={"task": "regression"} | PLAIN)
    http.post(f"{path}/learn", json={"features": {"x": 1.0, "color": "red"}, "label": 2.0})
    predict = f"{path}/predict"
    assert "unknown" not in http.post(predict, json={"features": {"x": 2, "color": "red"}}).json()
    assert http.post(predict, json={"features": {"x": 2, "height": 3}}).json()["unknown"] == ["height"]
    assert http.post(predict, json={"features": {"color": "blue"}}).json()["unknown"] == ["color=blue"]
    assert http.post(predict, json={"features": {"height": 3}, "id": "1"}).json()["unknown"] == ["height"]
    http.post(f"{path}/learn", json={"features": {"height": 3.0, "color": "blue"}, "label": 2.0})
    assert "unknown" not in http.post(predict, json={"features": {"height": 2, "color": "blue"}}).json()


def test_rows_that_are_learned_together_are_known(http: httpx.Client, name: str) -> None:
    path = f"/v1/models/{name}"
    http.put(path, json={"task": "regression"} | PLAIN)
    for k in range(3):
        rows = [{"features": {f"x{k}": 1.0, "y": j}, "label": 1.0 * j} for j in range(50)]
        assert {one["status"] for one in lines(http, f"{path}/learn", rows)} == {"learned"}
        assert "unknown" not in http.post(f"{path}/predict", json={"features": {f"x{k}": 1, "y": 2}}).json()
        found = http.post(f"{path}/predict", json={"features": {f"x{k + 1}": 1, "y": 2}}).json()
        assert found["unknown"] == [f"x{k + 1}"]


def test_unknown_names_are_few_and_short(http: httpx.Client, name: str) -> None:
    path = f"/v1/models/{name}"
    http.put(path, json=PLAIN)
    http.post(path + "/learn", json={"features": {"x": 1}, "label": 1})
    row = {f"{k} {'n' * 1000}": 1 for k in range(100)}
    unknown = http.post(path + "/predict", json={"features": row}).json()["unknown"]
    assert len(unknown) == MOST_NAMED
    assert all(len(one) == LONGEST_NAME for one in unknown)


def test_what_is_known_survives_a_restart(tmp_path: Path) -> None:
    settings = {"data": tmp_path, "port": 0, "durability": "process"}
    with background(**settings) as server, httpx.Client(base_url=server.url) as http:
        http.put("/v1/models/a", json=PLAIN)
        http.put("/v1/models/classes", json=PLAIN | {"task": "classes"})
        http.put("/v1/models/hashed", json=PLAIN | {"bits": 8})
        for model, label in (("a", 1.5), ("classes", "red"), ("hashed", 1.5)):
            http.post(f"/v1/models/{model}/learn", json={"features": {"x": 1, "color": "red"}, "label": label})
    with background(**settings) as server, httpx.Client(base_url=server.url) as http:
        for model, unknown in (("a", ["y"]), ("classes", ["y"]), ("hashed", None)):
            answer = http.post(f"/v1/models/{model}/predict", json={"features": {"x": 1, "color": "red", "y": 2}})
            assert answer.json().get("unknown") == unknown


def test_of_a_table_the_names_that_are_no_columns_are_unknown(http: httpx.Client, name: str) -> None:
    rows = [{"area": 50 + k % 40, "heating": "gas" if k % 3 else "oil", "price": 100.0 + k % 40} for k in range(200)]
    model = ul.train(rows, target="price").model
    file = ul.models.file.to_bytes(model)
    http.put(f"/v1/models/{name}", content=file, headers={"content-type": "application/octet-stream"})
    answer = http.post(f"/v1/models/{name}/predict", json={"features": {"area": 60, "heating": "gas", "rooms": 3}})
    assert answer.json()["unknown"] == ["rooms"]
    metadata = http.get(f"/v2/models/{name}").json()
    assert metadata["inputs"] == [
        {"name": "area", "datatype": "FP64", "shape": [-1]},
        {"name": "heating", "datatype": "BYTES", "shape": [-1]},
    ]


# ----- messages


def test_messages_leave_out_the_middle_of_long_values(http: httpx.Client, name: str) -> None:
    path, long = f"/v1/models/{name}", "v" * 100_000
    http.put(path, json=PLAIN | {"task": "regression"})
    http.post(path + "/learn", json={"features": {"x": 1}, "label": 1})
    answers = [
        http.post(path + "/learn", json={"features": {"x": 1}, "label": long[:900]}),
        http.post(path + "/learn", json={"features": {long: [1]}, "label": 1}),
        http.post(path + "/learn", json={"features": {"x": 1}, "label": 1, long: 1}),
        http.post(path + "/label", json={"id": long[:250], "label": 1}),
        http.post(path + "/predict", json={"features": {"a=b": 1, "a": "b", long: 2}}),
        http.put(f"{path}x", json={"task": long}),
        http.put(f"{path}x", json={"loss": long}),
        http.put(f"{path}x", json={long: 1}),
        http.put(f"{path}x", json={"stream": long}),
        http.put(f"{path}x", json={"role": long}),
        http.put(f"{path}x", json={"classes": [long, long]}),
        http.post(path + "/learn", content=b"x", headers={"content-type": long[:8000]}),
    ]
    for answer in answers:
        assert 400 <= answer.status_code < 500, answer.text[:1000]
        assert len(answer.text) < LONGEST + 300
    assert answers[0].json()["detail"].endswith("or with a label that is text as its first")


# ----- the Open Inference Protocol


def test_the_inference_protocol_lists_versions_and_inputs(http: httpx.Client, name: str) -> None:
    http.put(f"/v1/models/{name}", json=PLAIN)
    http.post(f"/v1/models/{name}/learn", json={"features": {"x": 1, "color": "red"}, "label": 1})
    for path in (f"/v2/models/{name}", f"/v2/models/{name}/versions/1"):
        metadata = http.get(path).json()
        assert metadata["versions"] == ["1"]
        assert sorted(one["name"] + one["datatype"] for one in metadata["inputs"]) == ["colorBYTES", "xFP64"]
        assert http.get(f"{path}/ready").json()["ready"]
        tensor = {"name": "x", "shape": [1], "datatype": "FP64", "data": [1.0]}
        assert http.post(f"{path}/infer", json={"inputs": [tensor]}).json()["model_version"] == "1"
    assert http.get(f"/v2/models/{name}/versions/2").status_code == 404


def test_the_inference_protocol_has_errors_of_its_own_form(http: httpx.Client, name: str) -> None:
    http.put(f"/v1/models/{name}", json=PLAIN)
    infer = f"/v2/models/{name}/infer"
    answers = [
        (404, http.get("/v2/models/nowhere")),
        (404, http.get("/v2/nothing")),
        (405, http.get(infer)),
        (400, http.post(infer, content=b"{", headers={"content-type": "application/json"})),
        (422, http.post(infer, json={"inputs": []})),
        (415, http.post(infer, content=b'{"inputs": []}', headers={"content-type": "text/plain"})),
    ]
    for status, answer in answers:
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/json"
        assert list(answer.json()) == ["error"]
        assert isinstance(answer.json()["error"], str)
