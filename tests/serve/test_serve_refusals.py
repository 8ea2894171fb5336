"""Requests that once caused internal errors: each now has an answer, or a refusal with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from unitless.serve import background
from unitless.serve.served import ServedModel, describe

PLAIN = {"model_type": "linear", "ensemble": False}


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("refusals") / "data"
    settings = {"data": folder, "port": 0, "durability": "process", "snapshot_every": "1h"}
    with background(**settings) as server, httpx.Client(base_url=server.url, timeout=20) as client:
        yield client


def test_a_model_that_has_learned_nothing_has_no_file(http: httpx.Client) -> None:
    http.put("/v1/models/empty", json={})
    answer = http.get("/v1/models/empty/file")
    assert (answer.status_code, answer.json()["detail"]) == (422, "the model has learned no rows yet")


@pytest.mark.parametrize("weight", [1e-160, 1e-300, 5e-324, 1e16, -1.0])
def test_a_weight_that_vanishes_or_overflows_is_refused(http: httpx.Client, weight: float) -> None:
    """After such a weight a model could not be written to a file and read again."""
    http.put("/v1/models/weighted", json={})
    row = {"features": {"x": 1}, "label": 2.5, "weight": weight}
    answers = [http.post("/v1/models/weighted/learn", json=row)]
    lines = "\n".join([json.dumps(row)] * 2)
    kind = {"content-type": "application/x-ndjson"}
    assert [one.status_code for one in answers] == [422]
    for line in http.post("/v1/models/weighted/learn", content=lines, headers=kind).text.splitlines():
        assert (json.loads(line)["status"], "weights are 0, or between" in line) == (422, True)
    assert http.get("/v1/models/weighted").json()["examples"] == 0


@pytest.mark.parametrize("weight", [1e-60, 1e-100])
@pytest.mark.parametrize("labels", [(1.5, 2.5), (1e-200, 3e-200), (1e60, -1e60), (True, False), ("a", "b")])
def test_metrics_can_be_read_whatever_the_weights_and_labels(weight: float, labels: tuple[object, object]) -> None:
    served = ServedModel("a", "champion", PLAIN)
    for k in range(6):
        served.learn({"x": float(k)}, labels[k % 2], weight)
    json.dumps(describe.progress(served), allow_nan=False)
    json.dumps(describe.summary(served), allow_nan=False)


@pytest.mark.parametrize("look", ["weights", "explain"])
@pytest.mark.parametrize("joins", ["classes", "columns of text"])
def test_a_class_or_a_column_may_join_while_someone_looks(look: str, joins: str) -> None:
    served = ServedModel("a", "champion", {"task": "classes"} | PLAIN)
    served.learn({"x": 1.0}, "first")

    def watch(frozen: Callable[[], ServedModel]) -> None:
        if look == "weights":
            describe.features(frozen())
        else:
            describe.explanation(frozen(), {"x": 1.0})

    with ThreadPoolExecutor(2) as watching:
        looks = []
        for k in range(200):
            if k % 5 == 0:
                looks.append(watching.submit(watch, served.frozen_later()))
            if joins == "classes":
                served.learn({"x": float(k), "y": 1.0}, f"class {k}")
            else:
                served.learn({"x": float(k), f"town {k}": f"Bonn {k}"}, "first")
        for one in looks:
            one.result(60)


@pytest.mark.parametrize("options", [{"bits": 30}, {"bits": 30, "task": "regression"}, {"bits": 24, "task": "classes"}])
def test_a_model_that_needs_more_memory_than_there_is_is_refused(
    http: httpx.Client, options: dict[str, object]
) -> None:
    answer = http.put("/v1/models/large", json=options)
    assert answer.status_code == 422
    assert "memory" in answer.json()["detail"] or "max_model_bytes" in answer.json()["detail"]
    assert http.get("/v1/models/large").status_code == 404
