"""The client and the server together: every call, tokens, and a server that is killed during requests."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from server_process import Server
from waiting import join, until

import unitless as ul
from unitless.client import AsyncClient, Client, ClientError
from unitless.serve.http.access import new_token


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("data"), "--durability", "process")
    server.start()
    with Client(server.url) as client:
        client.wait_ready()
    yield server
    assert server.stop() == 0


def rows(count: int) -> Iterator[tuple[dict[str, Any], float]]:
    for i in range(count):
        area, heating = 40 + i * 37 % 120, "gas" if i % 3 else "oil"
        yield {"area": area, "heating": heating}, 2500.0 * area + 30_000.0 * (heating == "gas")


def test_intervals_are_wider_where_errors_are_larger_and_pass_no_sign(server: Server) -> None:
    def prices() -> Iterator[tuple[dict[str, Any], float]]:
        for i in range(2000):
            area = 20 + i * 37 % 180
            yield {"area": area}, area * (1 + 0.6 * math.sin(i))

    with Client(server.url) as client:
        client.create("rents", task="regression", model_type="linear")
        client.learn_many("rents", prices())
        small, large = (client.predict("rents", {"area": area}, level=0.9) for area in (25, 190))
        assert None not in (small.low, small.high, large.low, large.high)
        assert large.high - large.low > 2 * (small.high - small.low)  # type: ignore[operator]
        surely = client.predict("rents", {"area": 25}, level=0.999)
        assert surely.low >= 0  # type: ignore[operator]
        client.delete("rents")


def test_a_model_is_made_taught_asked_and_removed(server: Server, tmp_path: Path) -> None:
    with Client(server.url) as client:
        made = client.create("prices", task="regression", model_type="linear")
        assert (made["name"], made["role"], made["task"]) == ("prices", "champion", "regression")
        assert client.create("prices", task="regression", model_type="linear")["name"] == "prices"
        with pytest.raises(ClientError, match="409"):
            client.create("prices", task="binary")
        scores: list[float | None] = []
        result = client.learn_many("prices", rows(1500), each=lambda answer: scores.append(answer.score))
        assert (result.learned, result.problems, len(scores)) == (1500, [], 1500)
        assert result.seq is not None
        row = {"area": 100, "heating": "gas"}
        answer = client.predict("prices", row, min_seq=result.seq)
        assert answer.prediction == pytest.approx(280_000, rel=0.01)
        assert answer.seq is not None
        assert answer.seq >= result.seq
        limits = client.predict("prices", row, level=0.9)
        assert limits.low is not None
        assert limits.high is not None
        assert limits.low <= answer.prediction <= limits.high
        assert [one.prediction for one in client.predict_many("prices", [row, row])] == [answer.prediction] * 2
        assert client.explain("prices", row)["prediction"] == pytest.approx(answer.prediction)
        assert {one["feature"] for one in client.weights("prices", most=1)["features"]} == {"area"}
        assert client.metrics("prices")["progressive"]["loss"] > 0
        assert client.models()["server"]["durability"] == "process"
        client.download("prices", tmp_path / "prices.unitless")
        assert ul.load(tmp_path / "prices.unitless").predictor.predict_one(row) == pytest.approx(answer.prediction)
        client.create("challenger", stream="prices", replay=True, task="regression", model_type="linear")
        client.wait_ready("challenger")
        twin = client.predict("challenger", row)
        assert (twin.prediction, twin.model) == (answer.prediction, "challenger")
        client.promote("challenger")
        assert client.predict("prices", row).model == "challenger"
        assert client.snapshot("prices")["stream"] == "prices"
        client.delete("prices")
        with pytest.raises(ClientError, match="404"):
            client.delete("nobody")


def test_rows_are_taken_back(server: Server) -> None:
    with Client(server.url) as client:
        client.create("flats", task="regression", model_type="linear", ensemble=False)
        good = client.learn_many("flats", rows(300))
        assert good.seq is not None
        expected = client.predict("flats", {"area": 100}).prediction
        client.snapshot("flats")
        wrong_since = datetime.now()
        client.learn_many("flats", (({"area": 100}, 1e9) for _ in range(10)))
        assert client.predict("flats", {"area": 100}).prediction != expected
        for name, choice in (
            ("by-span", {"skip": [(wrong_since, None)]}),
            ("by-time", {"until": wrong_since}),
            ("by-seq", {"until": good.seq}),
        ):
            made = client.replay("flats", name, **choice)  # type: ignore[arg-type]
            assert (made["status"], made["stream"], made["role"]) == ("replaying", "flats", "challenger")
            client.wait_ready(name)
            assert client.predict(name, {"area": 100}).prediction == expected
            there = client.model(name)
            assert there["examples"] == 300
            assert there["replay"] is not None
            assert there["replay"]["of"] == "flats"
            assert client.replay("flats", name, **choice)["status"] == "ready"  # type: ignore[arg-type]
        with pytest.raises(ClientError, match="no such id"):
            client.replay("flats", "other", skip=["nobody"])
        with pytest.raises(ClientError, match="409"):
            client.replay("flats", "by-seq", until=2)
        client.promote("by-seq")
        client.delete("flats")
        assert client.predict("flats", {"area": 100}).model == "by-seq"
        (snapshot,) = client.snapshots("flats")
        assert (snapshot["seq"], snapshot["rows"], snapshot["models"]) == (good.seq, 300, ["flats"])
        assert snapshot["bytes"] > 1000
        assert snapshot["time"] <= wrong_since.astimezone(timezone.utc).isoformat()


def test_labels_come_later_and_once(server: Server) -> None:
    with Client(server.url) as client:
        client.create("visits")
        client.learn("visits", {"pages": 3}, True, weight=2.0)
        said = client.predict("visits", {"pages": 4}, id="a")
        assert (said.prediction, said.model) == (True, "visits")
        assert client.label("visits", "a", True).status == "learned"
        assert client.label("visits", "a", True).status == "duplicate"
        with pytest.raises(ClientError, match="409"):
            client.label("visits", "a", False)
        with pytest.raises(ClientError) as caught:
            client.label("visits", "nobody", False)
        assert caught.value.status == 404
        result = client.label_many("visits", [("a", True), ("nobody", True)])
        assert (result.learned, result.duplicates, [one.error.status for one in result.problems]) == (0, 1, [404])


def test_rows_that_the_server_refuses_are_named(server: Server) -> None:
    with Client(server.url) as client:
        client.create("numbers", task="regression")
        result = client.learn_many("numbers", [({"x": 1}, 1.0), ({"x": 1}, "one"), ({"x": 2}, 2.0)])
        assert (result.learned, [one.row for one in result.problems]) == (2, [1])
        assert "must be a number" in str(result.problems[0].error)


def test_coroutines_can_do_the_same(server: Server) -> None:
    async def run() -> tuple[int, Any]:
        async with AsyncClient(server.url) as client:
            await client.wait_ready()
            await client.create("rents", task="regression")
            result = await client.learn_many("rents", rows(500))
            await asyncio.gather(*(client.learn("rents", features, label) for features, label in rows(50)))
            return result.learned, (await client.model("rents"))["examples"]

    assert asyncio.run(run()) == (500, 550)


def test_tokens_say_who_may_do_what(tmp_path: Path) -> None:
    tokens = {role: new_token(role, tmp_path / "tokens") for role in ("read", "write", "admin")}
    server = Server(tmp_path / "data", "--token-file", str(tmp_path / "tokens"), "--create", "visits")
    server.start()
    try:
        with Client(server.url, token=tokens["read"]) as reader, Client(server.url, token=tokens["write"]) as writer:
            reader.wait_ready()
            assert writer.learn("visits", {"pages": 3}, True).status == "learned"
            assert reader.predict("visits", {"pages": 3}).prediction is True
            with pytest.raises(ClientError, match="403"):
                reader.learn("visits", {"pages": 3}, True)
            with pytest.raises(ClientError, match="403"):
                writer.create("other")
        with Client(server.url, token="guessed") as stranger, pytest.raises(ClientError, match="401"):
            stranger.models()
    finally:
        assert server.stop() == 0


def test_a_replay_survives_the_end_of_the_server(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    server.start()
    try:
        with Client(server.url) as client:
            client.wait_ready()
            client.create("prices", task="regression", model_type="linear", ensemble=False)
            client.learn_many("prices", rows(200))
            expected = client.predict("prices", {"area": 100}).prediction
            client.learn("prices", {"area": 100}, 1.0, id="wrong")
            assert client.replay("prices", "clean", skip=["wrong"])["status"] == "replaying"
            for everything in (True, False):
                server.kill(everything)
                server.start()
                client.wait_ready()
            client.wait_ready("clean")
            assert client.predict("clean", {"area": 100}).prediction == expected
            assert client.model("clean")["examples"] == 200
        assert server.stop() == 0
    finally:
        server.abandon()


def test_a_server_that_is_killed_learns_each_row_once(tmp_path: Path) -> None:
    server = Server(
        tmp_path, "--durability", "process", "--create", 'prices={"model_type": "linear", "ensemble": false}'
    )
    server.start()
    learned: list[int] = []

    def kill_twice() -> None:
        for _ in range(2):
            before = len(learned)
            until(lambda before=before: len(learned) >= before + 20)
            server.kill()
            server.start()

    try:
        with Client(server.url, retry_for=60) as client:
            client.wait_ready()
            killer = threading.Thread(target=kill_twice)
            killer.start()
            done, total = 0, 0
            while killer.is_alive() or done < 2:
                for features, label in rows(10):
                    learned.append(client.learn("prices", features, label).status == "learned")
                result = client.learn_many("prices", rows(300))
                assert (result.duplicates, result.problems) == (0, [])
                total += result.learned
                done += not killer.is_alive()
            join(killer)
            assert all(learned)
            assert client.model("prices")["examples"] == len(learned) + total
    finally:
        assert server.stop() == 0
