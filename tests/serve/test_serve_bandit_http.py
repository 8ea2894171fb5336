"""Bandits over HTTP: rank and reward, one and many, in the clients, in metrics, on replicas, and through crashes."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import server_process
from bandit_checks import LINEAR, NAMES, choice, replayed, reward
from waiting import until

import unitless as ul
from unitless.client import AsyncClient, Client, ClientError, Ranked
from unitless.presentation.json_values import plain
from unitless.serve import log_lines
from unitless.serve.http.access import new_token
from unitless.serve.in_thread import Background

COUNTER = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    folder = tmp_path_factory.mktemp("http") / "data"
    with ul.serve.background(data=folder, port=0, snapshot_every="1h") as server:
        yield server


@pytest.fixture(scope="module")
def http(server: Background) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=20) as client:
        yield client


@pytest.fixture
def at(http: httpx.Client) -> str:
    """The address of a new bandit."""
    address = f"/v1/models/b{next(COUNTER)}"
    assert http.put(address, json=LINEAR).status_code == 201
    return address


def play(http: httpx.Client, at: str, events: int, seed: int = 0) -> list[dict[str, Any]]:
    """Decide events and reward all but each fourth; the answers to the decisions."""
    rng, answers = np.random.default_rng(seed), []
    for k in range(events):
        row = choice(rng, f"{seed}-{k}")
        answer = http.post(f"{at}/rank", json=row)
        assert answer.status_code == 200, answer.text
        answers.append(answer.json())
        if k % 4:
            given = {"id": row["id"], "reward": reward(answers[-1]["action"], row["context"])}
            assert http.post(f"{at}/reward", json=given).json()["status"] == "learned"
    return answers


def test_a_decision_over_http_is_that_of_the_library(http: httpx.Client, at: str) -> None:
    bandit, rng = ul.Bandit(model_type="linear"), np.random.default_rng(0)
    for k, found in enumerate(play(http, at, 30)):
        row = choice(rng, f"0-{k}")
        made = bandit.decide(row["id"], row["context"], NAMES)
        assert (found["id"], found["action"], found["propensity"]) == (made.event_id, made.action, made.propensity)
        assert found["propensities"] == made.propensities
        assert found["expected"] == plain(made.expected)
        if k % 4:
            bandit.learn(row["id"], reward(made.action, row["context"]))


def test_repeated_requests_are_reported_and_change_nothing(http: httpx.Client, at: str) -> None:
    first = http.post(f"{at}/rank", json={"id": "a", "context": {"x": 1}, "actions": NAMES}).json()
    again = http.post(f"{at}/rank", json={"id": "a", "context": {"x": 1}, "actions": NAMES}).json()
    assert again == first | {"status": "duplicate", "seq": again["seq"]}
    given = [{"id": "a", "reward": 2}, {"id": "a", "reward": 2}, {"id": "a", "reward": 3}, {"id": "no", "reward": 1}]
    answers = [http.post(f"{at}/reward", json=one) for one in given]
    assert [one.status_code for one in answers] == [200, 200, 409, 404]
    assert [one.json()["status"] for one in answers[:2]] == ["learned", "duplicate"]
    assert http.post(f"{at}/rank", json={"id": "a", "context": {}, "actions": NAMES}).status_code == 409
    assert http.get(f"{at}/metrics").json()["bandit"]["rewards"] == 1


def test_propensities_without_an_id_decide_nothing(http: httpx.Client, at: str) -> None:
    play(http, at, 20)
    seq = http.get(at).json()["seq"]
    found = http.post(f"{at}/rank", json={"context": {"age": 20.0}, "actions": NAMES}).json()
    assert found.keys() == {"propensities", "seq", "model"}
    assert sum(found["propensities"].values()) == pytest.approx(1.0)
    assert http.get(at).json()["seq"] == seq
    decided = http.post(f"{at}/rank", json={"id": "next", "context": {"age": 20.0}, "actions": NAMES}).json()
    assert decided["propensities"] == found["propensities"]


def test_actions_may_have_features_by_name_or_by_position(http: httpx.Client, at: str) -> None:
    by_name = {"a": {"price": 3}, "b": {"price": 4, "kind": "new"}}
    one = http.post(f"{at}/rank", json={"id": "1", "context": {"age": 3}, "actions": by_name}).json()
    assert one["propensities"].keys() == {"a", "b"}
    two = http.post(f"{at}/rank", json={"id": "2", "context": {"age": 3}, "actions": list(by_name.values())}).json()
    assert two["action"] in (0, 1)
    assert two["propensities"].keys() == {"0", "1"}
    assert http.post(f"{at}/rank", json={"id": "3", "context": {}, "actions": ["a", "b"]}).status_code == 422


def test_many_rows_have_one_answer_for_each_line(http: httpx.Client, at: str) -> None:
    rng, headers = np.random.default_rng(5), {"content-type": "application/x-ndjson"}
    rows = [choice(rng, None if k == 3 else str(k)) for k in range(40)]
    rows[7] = {"id": "7", "context": {}, "actions": []}
    content = "\n".join(map(json.dumps, rows))
    answers = list(map(json.loads, http.post(f"{at}/rank", content=content, headers=headers).text.splitlines()))
    assert len(answers) == 40
    assert (answers[7]["status"], answers[7]["row"]) == (422, 7)
    assert "action" not in answers[3]
    given = [{"id": one["id"], "reward": 1.0} for one in answers if "action" in one]
    content = "\n".join(map(json.dumps, [*given, given[0], {"id": "nowhere", "reward": 1.0}]))
    summary = http.post(f"{at}/reward?answers=summary", content=content, headers=headers).json()["summary"]
    assert (summary["learned"], summary["duplicates"], summary["refused"]) == (38, 1, 1)
    for kind in ("text/csv", "application/vnd.apache.arrow.stream"):
        assert http.post(f"{at}/rank", content=b"x\n1\n", headers={"content-type": kind}).status_code == 415


@pytest.mark.parametrize(
    ("verb", "body", "words"),
    [
        ("rank", {"context": {}, "id": "x"}, "actions"),
        ("rank", {"actions": NAMES, "id": "x"}, "context"),
        ("rank", {"context": {}, "actions": NAMES, "id": "x", "acitons": []}, "did you mean 'actions'"),
        ("rank", {"context": {}, "actions": [], "id": "x"}, "no action"),
        ("rank", {"context": {}, "actions": ["a", "a"], "id": "x"}, "twice"),
        ("rank", {"context": {}, "actions": [1, "1"], "id": "x"}, "twice"),
        ("rank", {"context": {}, "actions": ["a", {"x": 1}], "id": "x"}, "features"),
        ("rank", {"context": {}, "actions": [True], "id": "x"}, "actions"),
        ("rank", {"context": {}, "actions": [10**30], "id": "x"}, "actions"),
        ("rank", {"context": {"x": [1]}, "actions": NAMES, "id": "x"}, "x"),
        ("rank", {"context": {}, "actions": NAMES, "id": ""}, "id"),
        ("rank", {"context": {}, "actions": ["n" * 1001], "id": "x"}, "name of an action"),
        ("rank", {"context": {"n" * 1001: 1}, "actions": NAMES, "id": "x"}, "name of a feature"),
        ("rank", {"context": {str(k): k for k in range(400)}, "actions": list(range(300)), "id": "x"}, "pairs"),
        ("rank", {"context": {str(k): k for k in range(400)}, "actions": list(range(300))}, "pairs"),
        ("rank", {"context": {}, "actions": list(range(101)), "id": "x"}, "max_classes"),
        ("reward", {"id": "x"}, "reward"),
        ("reward", {"reward": 1}, "id"),
        ("reward", {"id": "x", "reward": "1"}, "reward"),
        ("reward", {"id": "x", "reward": None}, "reward"),
        ("reward", {"id": "x", "reward": 1, "label": 2}, "label"),
        ("learn", {"features": {"x": 1}, "label": 1}, "rank and reward"),
        ("predict", {"features": {"x": 1}}, "rank and reward"),
        ("explain", {"features": {"x": 1}}, "rank and reward"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_reason(
    http: httpx.Client, at: str, verb: str, body: dict[str, Any], words: str
) -> None:
    answer = http.post(f"{at}/{verb}", json=body)
    assert answer.status_code == 422, answer.text
    assert words in answer.json()["detail"]
    assert http.get(f"{at}/metrics").json()["bandit"]["decisions"] == 0


def test_models_refuse_rank_and_name_what_they_take(http: httpx.Client) -> None:
    assert http.put("/v1/models/plain", json={"model_type": "linear"}).status_code in (200, 201)
    for body in ({"context": {}, "actions": NAMES}, {"context": {}, "actions": NAMES, "id": "x"}):
        answer = http.post("/v1/models/plain/rank", json=body)
        assert (answer.status_code, "bandit" in answer.json()["detail"]) == (422, True)


def test_the_pages_numbers_and_prometheus_tell_the_same(http: httpx.Client, at: str) -> None:
    answers = play(http, at, 80)
    metrics = http.get(f"{at}/metrics").json()
    bandit, name = metrics["bandit"], at.rpartition("/")[2]
    assert (bandit["decisions"], bandit["rewards"], bandit["pending"], metrics["waiting"]) == (80, 60, 20, 20)
    assert sum(one["share"] for one in bandit["actions"]) == pytest.approx(1.0)
    chosen = [one["action"] for one in answers]
    assert {one["action"]: one["decisions"] for one in bandit["actions"]} == {one: chosen.count(one) for one in NAMES}
    assert bandit["random"] < bandit["mean_reward"] <= 5.0
    summary = http.get(at).json()
    assert (summary["task"], summary["examples"]) == ("bandit", 60)
    assert summary["metrics"] == {key: bandit[key] for key in ("mean_reward", "random", "best_constant")}
    text = http.get("/metrics").text
    of = f'stream="{name}"'
    assert f'unitless_bandit_rewards_total{{model="{name}",{of}}} 60.0' in text
    assert f"unitless_labels_waiting{{{of}}} 20.0" in text
    for key in ("mean_reward", "random", "best_constant"):
        assert f'unitless_bandit_value{{model="{name}",policy="{key}",{of}}} {bandit[key]!r}' in text
    for one in bandit["actions"]:
        line = f'unitless_bandit_decisions_total{{action="{one["action"]}",model="{name}",{of}}} {one["decisions"]}.0'
        assert line in text
    found = bandit["mean_reward"], bandit["random"], bandit["best_constant"]
    until(lambda: _last_moment(http, at) == found)


def _last_moment(http: httpx.Client, at: str) -> tuple[Any, ...] | None:
    moments = http.get(f"{at}/metrics").json()["moments"]["seconds"]
    return tuple(moments[-1][name] for name in ("total_loss", "random", "best_constant")) if moments else None


def test_a_bandits_file_loads(http: httpx.Client, at: str, tmp_path: Path) -> None:
    play(http, at, 10)
    (tmp_path / "bandit.unitless").write_bytes(http.get(f"{at}/file").content)
    assert ul.Bandit.load(tmp_path / "bandit.unitless").rewards == 7
    kind = {"content-type": "application/octet-stream"}
    copy = http.put(f"{at}-copy", content=(tmp_path / "bandit.unitless").read_bytes(), headers=kind)
    assert (copy.status_code, copy.json()["examples"]) == (201, 7)


def test_rank_and_reward_need_a_token_that_may_write(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    tokens = {role: new_token(role, file) for role in ("read", "write")}
    create = f"shop={json.dumps(LINEAR)}"
    with (
        ul.serve.background(data=tmp_path / "data", port=0, token_file=file, create=[create]) as server,
        httpx.Client(base_url=server.url) as http,
    ):
        bodies = {
            "rank": {"id": "a", "context": {}, "actions": NAMES},
            "reward": {"id": "a", "reward": 1.0},
        }
        for verb, body in bodies.items():
            found = [
                http.post(f"/v1/models/shop/{verb}", json=body, headers=headers).status_code
                for headers in ({}, *({"authorization": f"Bearer {tokens[role]}"} for role in ("read", "write")))
            ]
            assert found == [401, 403, 200]
        headers = {"authorization": f"Bearer {tokens['read']}"}
        look = {"context": {}, "actions": NAMES}
        assert http.post("/v1/models/shop/rank", json=look, headers=headers).status_code == 200


def test_a_replica_answers_propensities_and_refuses_decisions(server: Background, http: httpx.Client, at: str) -> None:
    play(http, at, 20)
    row, folder = {"context": {"age": 30.0}, "actions": NAMES}, server.store.folder
    here = http.post(f"{at}/rank", json=row).json()
    with (
        ul.serve.background(replica_of=str(folder), port=0) as replica,
        httpx.Client(base_url=replica.url) as other,
    ):
        found = other.post(f"{at}/rank", json=row, headers={"unitless-min-seq": str(here["seq"])}).json()
        assert found["propensities"] == here["propensities"]
        for verb, body in (("rank", row | {"id": "x"}), ("reward", {"id": "0-0", "reward": 1.0})):
            answer = other.post(f"{at}/{verb}", json=body)
            assert (answer.status_code, "replica" in answer.json()["title"]) == (403, True)


def test_the_clients_rank_and_reward(server: Background, at: str) -> None:
    name, rng = at.rpartition("/")[2], np.random.default_rng(2)

    async def later() -> Ranked:
        async with AsyncClient(server.url) as client:
            made = await client.rank(name, {"age": 50.0}, NAMES, id="a")
            assert (await client.reward(name, "a", 2.0)).status == "learned"
            return made

    with Client(server.url) as client:
        for _ in range(10):
            context = choice(rng, None)["context"]
            made = client.rank(name, context, NAMES)
            assert made.id is not None
            assert made.status is None
            assert made.propensity == made.propensities[str(made.action)]
            assert client.reward(name, made.id, reward(made.action, context)).status == "learned"
            assert client.reward(name, made.id, reward(made.action, context)).status == "duplicate"
        with pytest.raises(ClientError, match="404"):
            client.reward(name, "nowhere", 1.0)
        first, again = client.rank(name, {"age": 50.0}, NAMES, id="a"), asyncio.run(later())
        assert again == replace(first, status="duplicate", seq=again.seq)
        assert client.metrics(name)["bandit"]["rewards"] == 11  # type: ignore[index]


def test_the_log_command_shows_decisions_and_rewards(http: httpx.Client, at: str, server: Background) -> None:
    play(http, at, 3)
    log = log_lines.find(server.store.folder, at.rpartition("/")[2])
    lines = [json.loads(line) for part in log_lines.read(log, log_lines.Wanted()) for line in part.splitlines()]
    kinds = [line["kind"] for line in lines if line["kind"] in ("rank", "reward")]
    assert kinds == ["rank", "rank", "reward", "rank", "reward"]
    first = next(line for line in lines if line["kind"] == "rank")
    assert (first["id"], first["actions"]) == ("0-0", NAMES)


def test_no_decision_is_forgotten_and_no_reward_counted_twice_after_kills(tmp_path: Path) -> None:
    server = server_process.Server(tmp_path / "data", "--create", f"shop={json.dumps(LINEAR)}", "--segment", "64kB")
    rng, answered, rewards = np.random.default_rng(0), dict[str, dict[str, Any]](), dict[str, float]()
    serial = itertools.count()
    for life in range(3):
        server.start()
        with httpx.Client(base_url=server.url, timeout=20) as http:
            until(lambda: _is_ready(http), 60)
            for id, known in list(answered.items())[-5:]:
                if id not in rewards:
                    again = http.post("/v1/models/shop/rank", json=choice(rng, id)).json()
                    assert {**again, "seq": 0, "status": None} == {**known, "seq": 0, "status": None}
            for _ in range(25):
                row = choice(rng, f"e{next(serial)}")
                answered[row["id"]] = made = http.post("/v1/models/shop/rank", json=row).json()
                if rng.random() < 0.7:
                    given = {"id": row["id"], "reward": reward(made["action"], row["context"])}
                    for _ in range(2):
                        assert http.post("/v1/models/shop/reward", json=given).status_code == 200
                    rewards[row["id"]] = given["reward"]
        if life < 2:
            server.kill()
    with httpx.Client(base_url=server.url, timeout=20) as http:
        file = http.get("/v1/models/shop/file").content
        for id, value in rewards.items():
            assert http.post("/v1/models/shop/reward", json={"id": id, "reward": value}).json()["status"] == "duplicate"
    assert server.stop() == 0, server.output()
    (folder,) = (tmp_path / "data").glob("streams/*")
    plain, decided, rewarded = replayed(folder / "log", LINEAR)
    assert plain.to_bytes() == file
    assert rewarded == rewards
    for id, made in answered.items():
        assert (made["action"], made["propensities"]) == (decided[id]["action"], decided[id]["propensities"])


def _is_ready(http: httpx.Client) -> bool:
    try:
        return http.get("/health/ready").status_code == 200
    except httpx.TransportError:
        return False
