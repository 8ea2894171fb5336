"""The calls of Azure Personalizer: Rank, Reward and Activate, with its forms, statuses and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from bandit_checks import LINEAR

import unitless as ul
from unitless.serve.http.access import new_token
from unitless.serve.in_thread import Background

RANK, EVENTS = "/personalizer/v1.0/rank", "/personalizer/v1.0/events"
ACTIONS = [
    {"id": "pasta", "features": [{"taste": "salty", "spice": 2}, {"nutrition": {"calories": 800}}]},
    {"id": "ice cream", "features": [{"taste": "sweet", "tags": ["cold", "milk"]}]},
    {"id": "juice", "features": [{"taste": "sweet", "spice": 0}]},
]
CONTEXT = [{"timeOfDay": "noon"}, {"device": {"mobile": True, "width": 300}}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    create = [f"meals={json.dumps(LINEAR | {'default_reward': 0.0, 'max_pending': 3})}", f"plain={json.dumps(LINEAR)}"]
    with ul.serve.background(
        data=tmp_path_factory.mktemp("http") / "data", port=0, create=create, personalizer="meals"
    ) as server:
        yield server


@pytest.fixture
def http(server: Background) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=20) as client:
        yield client


def state(http: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = http.get("/v1/models/meals/metrics").json()["bandit"]
    return found


def rank(http: httpx.Client, event: str, **more: Any) -> dict[str, Any]:
    body = {"eventId": event, "contextFeatures": CONTEXT, "actions": ACTIONS} | more
    answer = http.post(RANK, json=body)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_rank_and_reward_in_the_forms_of_personalizer(http: httpx.Client) -> None:
    before = state(http)["rewards"]
    found = rank(http, "a")
    assert found.keys() == {"ranking", "eventId", "rewardActionId"}
    assert (found["eventId"], found["ranking"][0]["id"]) == ("a", found["rewardActionId"])
    assert {one["id"] for one in found["ranking"]} == {one["id"] for one in ACTIONS}
    shares = [one["probability"] for one in found["ranking"]]
    assert sum(shares) == pytest.approx(1.0)
    assert shares[1:] == sorted(shares[1:], reverse=True)
    assert rank(http, "a") == found
    reward = http.post(f"{EVENTS}/a/reward", json={"value": 0.5})
    assert (reward.status_code, reward.content) == (204, b"")
    assert http.post(f"{EVENTS}/a/reward", json={"value": 0.5}).status_code == 204
    assert state(http)["rewards"] == before + 1


def test_excluded_actions_keep_their_place_and_are_never_chosen(http: httpx.Client) -> None:
    for k in range(20):
        found = rank(http, f"excluded {k}", excludedActions=["pasta"])
        assert found["ranking"][0] == {"id": "pasta", "probability": 0.0}
        assert found["rewardActionId"] == found["ranking"][1]["id"] != "pasta"


def test_an_event_without_an_id_gets_one(http: httpx.Client) -> None:
    answer = http.post(RANK, json={"actions": ACTIONS})
    event = answer.json()["eventId"]
    assert http.post(f"{EVENTS}/{event}/reward", json={"value": 1}).status_code == 204


def test_the_same_features_decide_as_in_a_call_of_rank(http: httpx.Client) -> None:
    flat = {
        "pasta": {"taste": "salty", "spice": 2, "nutrition.calories": 800},
        "ice cream": {"taste": "sweet", "tags.cold": True, "tags.milk": True},
        "juice": {"taste": "sweet", "spice": 0},
    }
    context = {"timeOfDay": "noon", "device.mobile": True, "device.width": 300}
    for k in range(6):
        made = rank(http, f"flat {k}")
        http.post(f"{EVENTS}/flat {k}/reward", json={"value": float(made["rewardActionId"] == "juice")})
    found = http.post("/v1/models/meals/rank", json={"context": context, "actions": flat}).json()["propensities"]
    assert found == {one["id"]: one["probability"] for one in rank(http, "flat")["ranking"]}


def test_only_activated_events_get_the_default_reward(http: httpx.Client) -> None:
    before = state(http)
    rank(http, "shown", deferActivation=True)
    rank(http, "not shown", deferActivation=True)
    for _ in range(2):
        assert http.post(f"{EVENTS}/shown/activate").status_code == 204
    for k in range(4):  # the fourth event expires the first one
        rank(http, f"later {k}", deferActivation=True)
    after = state(http)
    assert after["rewards"] == before["rewards"] + 1 + before["pending"]
    assert http.post(f"{EVENTS}/not shown/activate").status_code == 410
    assert http.post(f"{EVENTS}/not shown/reward", json={"value": 1}).status_code == 410
    assert http.post(f"{EVENTS}/later 3/reward", json={"value": 1}).status_code == 204
    assert state(http)["rewards"] == after["rewards"] + 1


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        (f"{EVENTS}/nowhere/reward", {"value": 1}, 404, "no decision"),
        (f"{EVENTS}/nowhere/activate", None, 404, "no decision"),
        (f"{EVENTS}/nowhere/reward", {"value": "x"}, 422, "value"),
        (RANK, {"actions": []}, 422, "no action"),
        (RANK, {"actions": [{"id": "a"}], "excludedActions": ["a"]}, 422, "no action"),
        (RANK, {"actions": [{"features": []}]}, 422, "id"),
        (RANK, {"actions": [ACTIONS[0], ACTIONS[0]]}, 422, "twice"),
        (RANK, {"actions": ACTIONS, "contextFeatures": {"a": 1}}, 422, "contextFeatures"),
        (RANK, {"actions": ACTIONS, "eventId": "e" * 300}, 422, "letters"),
    ],
)
def test_errors_are_in_the_form_of_personalizer(
    http: httpx.Client, path: str, body: Any, status: int, words: str
) -> None:
    answer = http.post(path, json=body) if body is not None else http.post(path)
    assert answer.status_code == status, answer.text
    assert answer.json().keys() == {"error"}
    assert answer.json()["error"].keys() == {"code", "message"}
    assert words in answer.json()["error"]["message"]


def test_the_key_of_personalizer_is_a_token_and_one_bandit_needs_no_name(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    tokens = {role: new_token(role, file) for role in ("read", "write")}
    create = f"shop={json.dumps(LINEAR)}"
    with (
        ul.serve.background(data=tmp_path / "data", port=0, token_file=file, create=[create, "model"]) as server,
        httpx.Client(base_url=server.url) as http,
    ):
        body = {"actions": [{"id": "a"}, {"id": "b", "features": [{}]}]}
        for key, status in ((None, 401), ("x", 401), (tokens["read"], 403), (tokens["write"], 201)):
            headers = {} if key is None else {"Ocp-Apim-Subscription-Key": key}
            answer = http.post(RANK, json=body, headers=headers)
            assert answer.status_code == status
            assert status == 201 or "error" in answer.json()


def test_several_bandits_need_the_setting(tmp_path: Path) -> None:
    create = [f"{name}={json.dumps(LINEAR)}" for name in ("a", "b")]
    with (
        ul.serve.background(data=tmp_path / "data", port=0, create=create) as server,
        httpx.Client(base_url=server.url) as http,
    ):
        answer = http.post(RANK, json={"actions": ACTIONS})
        assert (answer.status_code, "setting personalizer" in answer.json()["error"]["message"]) == (404, True)
