"""Limits on growth: rows and models have limits, the limits are stored in the log, and predictions ignore them."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from raw_http import Connection

import unitless as ul
from unitless.models.file import to_bytes
from unitless.serve import limiting
from unitless.serve.events import Form, Kind
from unitless.serve.in_thread import Background
from unitless.serve.ingest.messages import Bad, Run, runs
from unitless.serve.ingest.source import Message
from unitless.serve.problems import Problem
from unitless.serve.row_limits import RowLimits
from unitless.serve.served import Limits, ServedModel
from unitless.serve.settings import Settings
from unitless.serve.store import ModelStore

LINEAR = {"model_type": "linear", "ensemble": False}
LINES, CSV = {"Content-Type": "application/x-ndjson"}, {"Content-Type": "text/csv"}


def settings(folder: Path, **given: Any) -> Settings:
    """Settings of a server without disk durability, which tests do not need."""
    return Settings.of(data=folder, durability="process", environment={}, **given)


def served(options: dict[str, Any], **limits: Any) -> ServedModel:
    """A model with limits."""
    model = ServedModel("m", "champion", options)
    model.growth.limit(Limits(**limits), "m")
    return model


# ---------------------------------------------------------------------------------------------------- one model


def test_only_rows_without_new_features_are_learned_beyond_the_limit() -> None:
    model = served(LINEAR, features=3)
    model.learn({"a": 1.0, "b": 2.0}, 1.0)
    with pytest.raises(
        ul.InputError, match=r"2 new features, such as 'c'; the model has 2, and can have 3 \(max_featu"
    ):
        model.learn({"a": 1.0, "c": 1.0, "d": 1.0}, 1.0)
    model.learn({"a": 1.0, "c": 1.0}, 1.0)
    with pytest.raises(ul.InputError, match="max_features"):
        model.learn({"e": 1.0}, 1.0)
    model.learn({"c": 2.0, "a": 1.0}, 2.0)
    assert model.learned == 3
    assert model.growth.features == 3
    assert model.predict({"a": 1.0, "other": 5.0}).score is not None


def test_text_counts_as_one_feature_for_each_value() -> None:
    model = served(LINEAR, features=2)
    model.learn({"city": "Rome"}, 1.0)
    model.learn({"city": "Bern"}, 1.0)
    with pytest.raises(ul.InputError, match="'city=Oslo'"):
        model.learn({"city": "Oslo"}, 1.0)


def test_a_class_too_many_is_refused() -> None:
    model = served(LINEAR, classes=2)
    for label in ("a", "b", "a"):
        model.learn({"x": 1.0}, label)
    with pytest.raises(ul.InputError, match=r"new class; the model has 2, and cannot have more \(max_classes\)"):
        model.learn({"x": 1.0}, "c")
    assert model.classes == ["a", "b"]


def test_what_bytes_leave_room_for_is_named_as_such() -> None:
    model = served(LINEAR, features=10, classes=10, by_bytes={"m": (1, 1), "other": (1, 1)})
    model.learn({"x": 1.0}, "a")
    with pytest.raises(ul.InputError, match="max_model_bytes"):
        model.learn({"y": 1.0}, "a")
    with pytest.raises(ul.InputError, match="max_model_bytes"):
        model.learn({"x": 1.0}, "b")


@pytest.mark.parametrize("label", [1.0, "a"])
def test_together_or_one_by_one_the_same_rows_are_refused(label: Any) -> None:
    rows = [{f"n{i % 17}": 1.0, "x": float(i)} for i in range(40)]
    one, many = served(LINEAR, features=12), served(LINEAR, features=12)
    for model in (one, many):
        model.learn(rows[0], label)
    taken = []
    for row in rows[1:]:
        try:
            one.learn(row, label)
            taken.append(row)
        except ul.InputError:
            pass
    assert 0 < len(taken) < len(rows) - 1
    assert many.learn_rows(rows[1:], [label] * 39, [1.0] * 39) is None
    if label == 1.0:
        assert many.learn_rows(taken, [label] * len(taken), [1.0] * len(taken)) is not None
        assert many.parts() == one.parts()


def test_a_table_of_training_grows_by_its_texts() -> None:
    rows = [{"city": ["Rome", "Bern"][i % 2], "x": float(i), "y": float(i % 3)} for i in range(200)]
    trained = ul.train(rows, target="y", task="regression", model_type="linear", ensemble=False).model
    model = ServedModel("m", "champion", {}, trained)
    model.growth.limit(Limits(features=model.growth.features + 1), "m")
    model.learn({"city": "Oslo", "x": 1.0}, 1.0)
    with pytest.raises(ul.InputError, match="'city=Kyiv'"):
        model.learn({"city": "Kyiv", "x": 1.0}, 1.0)
    model.learn({"city": "Oslo", "x": 2.0}, 1.0)


def test_hashed_features_have_no_limit_of_their_own() -> None:
    model = served({**LINEAR, "bits": 4}, features=3)
    for i in range(20):
        model.learn({f"n{i}": 1.0}, 1.0)
    assert model.growth.features == 16


# ---------------------------------------------------------------------------------------------------- the log


def in_store(folder: Path, work: Callable[[ModelStore], Coroutine[Any, Any, Any]], **given: Any) -> Any:
    """Run `work` with the model store of a folder, and return its result."""

    async def run() -> Any:
        store = ModelStore.open(folder, settings(folder, **given))
        try:
            return await work(store)
        finally:
            await store.drain()
            store.close()

    return asyncio.run(run())


async def learn(store: ModelStore, features: dict[str, Any], label: Any = 1.0) -> str | None:
    """Learn a row; return the reason if it was refused."""
    payload = json.dumps({"features": features, "label": label}).encode()
    (outcome,) = await store.streams["m"].submitted(Kind.learn, Form.json, 1, payload)
    return None if outcome.problem is None else f"{outcome.problem.status} {outcome.problem.detail}"


def test_smaller_limits_replay_to_the_same_state_and_refuse_more(tmp_path: Path) -> None:
    async def first(store: ModelStore) -> str:
        await store.create("m", dict(LINEAR))
        for i in range(30):
            assert await learn(store, {f"n{i}": 1.0, "x": 1.0}) is None
        return store.streams["m"].stream.fingerprint()

    async def second(store: ModelStore) -> None:
        live = store.streams["m"]
        assert live.stream.fingerprint() == state
        assert live.predict({"n5": 1.0, "new": 1.0}).score is not None
        assert await learn(store, {"n5": 1.0}) is None
        assert "can have 10 (max_features)" in str(await learn(store, {"new": 1.0}))

    async def third(store: ModelStore) -> None:
        assert await learn(store, {"new": 1.0}) is None

    state = in_store(tmp_path, first)
    in_store(tmp_path, second, max_features=10)
    in_store(tmp_path, third)


def test_a_replay_refuses_the_same_rows(tmp_path: Path) -> None:
    async def first(store: ModelStore) -> tuple[list[bool], str]:
        await store.create("m", dict(LINEAR))
        refused = [await learn(store, {f"n{i * i % 23}": 1.0}, f"l{i % 5}") is not None for i in range(50)]
        return refused, store.streams["m"].stream.fingerprint()

    async def again(store: ModelStore) -> str:
        return store.streams["m"].stream.fingerprint()

    refused, state = in_store(tmp_path, first, max_features=8, max_classes=3)
    assert True in refused
    assert False in refused
    assert in_store(tmp_path, again, max_features=8, max_classes=3) == state
    assert in_store(tmp_path, again) == state  # the limits at that time apply, not those of today


def test_bytes_become_limits_of_features_and_classes(tmp_path: Path) -> None:
    async def work(store: ModelStore) -> None:
        await store.create("m", dict(LINEAR))
        live, refused = store.streams["m"], 0
        for i in range(300):
            live._next_look = 0.0
            refused += await learn(store, {f"{i}-{k}": 1.0 for k in range(50)}, f"l{i % 3}") is not None
        assert 100 < refused < 299
        model = live.model().model
        assert model is not None
        assert model.nbytes < 2 * (4 << 20)
        assert live.stream.limits.by_bytes["m"][0] <= live.model().growth.features + 4000
        assert await learn(store, {"0-1": 1.0}, "l1") is None

    in_store(tmp_path, work, max_model_bytes="4MB")


def test_limits_are_renewed_only_when_they_change(tmp_path: Path) -> None:
    async def work(store: ModelStore) -> int:
        await store.create("m", dict(LINEAR))
        live = store.streams["m"]
        for i in range(100):
            live._next_look = 0.0
            await learn(store, {"x": float(i)})
        return live.stream.seq

    assert in_store(tmp_path, work) == 101


def test_a_model_file_beyond_the_limits_is_refused(tmp_path: Path) -> None:
    classes = ul.OneVsAll()
    for i in range(6):
        classes.learn_one({f"x{i}": 1.0}, f"l{i}")
    content = to_bytes(classes)

    async def work(store: ModelStore) -> None:
        for name, setting in (("a", "max_features"), ("b", "max_classes"), ("c", "max_model_bytes")):
            with pytest.raises(Problem, match=setting) as told:
                limiting.check(
                    ServedModel(name, "champion", {}, ul.load(tmp_path / "f")), settings(tmp_path, **{setting: 5})
                )
            assert told.value.status == 422
        with pytest.raises(Problem, match="max_classes"):
            await store.create("d", {}, content)
        with pytest.raises(Problem, match="max_classes"):
            await store.create("e", {"classes": ["a", "b", "c", "d", "e", "f"]})
        assert not store.streams

    (tmp_path / "f").write_bytes(content)
    in_store(tmp_path / "store", work, max_classes=5)


# ---------------------------------------------------------------------------------------------------- rows


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    with ul.serve.background(
        data=tmp_path_factory.mktemp("growth") / "data",
        port=0,
        vw_port=0,
        vw_model="m",
        durability="process",
        create=['m={"model_type": "linear", "ensemble": false}'],
        max_row_features=5,
        max_name_length=20,
        max_columns=6,
        max_row_bytes="10kB",
    ) as server:
        yield server


def post(server: Background, what: str, body: Any, headers: dict[str, str] | None = None) -> Any:
    """Send a POST request and return the answer."""
    with Connection(server.port) as connection:
        return connection.request("POST", f"/v1/models/m/{what}", body, headers)


MANY = {f"n{i}": 1.0 for i in range(6)}


@pytest.mark.parametrize(
    ("row", "setting"),
    [
        ({"features": MANY, "label": 1.0}, "max_row_features"),
        ({"features": {"n" * 21: 1.0}, "label": 1.0}, "max_name_length"),
        ({"features": {"x": "t" * 21}, "label": 1.0}, "max_name_length"),
        ({"features": {"x": 1.0}, "label": "t" * 21}, "max_name_length"),
    ],
)
def test_a_row_that_is_too_large_is_not_learned_nor_written(server: Background, row: Any, setting: str) -> None:
    before = server.store.streams["m"].stream.seq
    answer = post(server, "learn", row)
    assert answer.status == 422
    assert setting in answer.json()["detail"]
    assert server.store.streams["m"].stream.seq == before
    lines = b"\n".join([json.dumps(row).encode()] * 2)
    answers = [json.loads(line) for line in post(server, "learn", lines, LINES).body.splitlines()]
    assert [one["status"] for one in answers] == [422, 422]
    assert setting in answers[1]["detail"]
    assert server.store.streams["m"].stream.seq == before


def test_predictions_are_not_stopped_unless_they_are_to_be_learned_later(server: Background) -> None:
    assert post(server, "predict", {"features": MANY}).status == 200
    assert post(server, "predict", {"features": {"n" * 21: 1.0}}).status == 200
    assert post(server, "predict", {"features": MANY, "id": "1"}).status == 422


def test_a_row_of_too_many_bytes_is_not_read(server: Background) -> None:
    row = {"features": {"x": 1.0}, "id": "i" * 10_300}
    for what in ("predict", "learn", "label"):
        answer = post(server, what, row)
        assert answer.status == 413
        assert "max_row_bytes" in answer.json()["detail"]
    answer = post(server, "predict", json.dumps(row).encode() + b"\n", LINES)
    assert json.loads(answer.body)["status"] == 413


def _vw_port(server: Background) -> int:
    return int(next(one for one in server.server._services if hasattr(one, "sockets")).sockets[0].getsockname()[1])


def test_lines_of_vowpal_wabbit_have_the_same_limits(server: Background) -> None:
    sent = b"1 | a b\n1 | a b c d e f\n1 | " + b"n" * 30 + b"\n| a b c d e f\n1 | a\n"
    with socket.create_connection(("127.0.0.1", _vw_port(server)), timeout=10) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        received = b""
        while piece := client.recv(4096):
            received += piece
    lines = received.decode().splitlines()
    assert len(lines) == 5
    assert "max_row_features" in lines[1]
    assert "max_name_length" in lines[2]
    assert not any("error" in lines[i] for i in (0, 3, 4))


def test_messages_of_brokers_have_the_same_limits(tmp_path: Path) -> None:
    limits = RowLimits(settings(tmp_path, max_row_features=5))
    rows = [{"features": {"a": 1.0}, "label": 1.0}, {"features": MANY, "label": 1.0}]
    found = list(runs([Message(str(i), 0, json.dumps(row).encode()) for i, row in enumerate(rows)], limits))
    assert isinstance(found[0], Run)
    assert isinstance(found[1], Bad)
    assert "max_row_features" in found[1].problem


def test_rows_without_weight_bring_no_features() -> None:
    """A model that is read from a snapshot then takes the same rows as one that never stopped."""
    limits = Limits(features=8)
    for together in (False, True):
        served = ServedModel("a", "champion", {"model_type": "linear", "ensemble": False, "task": "regression"})
        served.growth.limit(limits, "a")
        for _ in range(2):
            served.learn({"a": 1.0}, 1.0)
        names = [{f"z{k}": 1.0, f"y{k}": 1.0} for k in range(4)]
        if together:
            served.learn_rows(names, [1.0] * 4, [0.0] * 4)
        else:
            for row in names:
                served.learn(row, 1.0, 0.0)
        again = ServedModel.from_parts(served.parts())
        again.growth.limit(limits, "a")
        for model in (served, again):
            model.learn({"b1": 1.0, "b2": 1.0, "b3": 1.0}, 2.0)
        assert served.parts() == again.parts()
        assert served.examples == 3
