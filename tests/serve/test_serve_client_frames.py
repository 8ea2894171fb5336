"""The client sends frames as rows, with a limited number of concurrent requests."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import json
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from unitless.client import AsyncClient, Client
from unitless.errors import InputError
from unitless.serve import background
from unitless.serve.in_thread import Background

PLAIN = {"model_type": "linear", "ensemble": False}
ROWS: dict[str, list[Any]] = {
    "area": [50.0, None, 70.0, 80.0],
    "rooms": [1, 2, 3, 4],
    "heating": ["gas", None, "oil", "gas"],
    "new": [True, False, True, False],
    "sold": [datetime.datetime(2024, 5, day, 12) for day in (1, 2, 3, 4)],
    "price": [100.0, 120.0, 140.0, 160.0],
    "weight": [1.0, 2.0, 1.0, 1.0],
}


def frame(kind: str) -> Any:
    if kind == "pandas":
        pandas = pytest.importorskip("pandas")
        return pandas.DataFrame(ROWS).astype({"heating": "category", "rooms": "Int64"})
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame(ROWS)
    return pytest.importorskip("pyarrow").table(ROWS)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    folder = tmp_path_factory.mktemp("frames") / "data"
    with background(data=folder, port=0, durability="process") as server:
        yield server


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_frame_is_learned_like_its_rows(server: Background, kind: str) -> None:
    rows = [
        (
            {name: ROWS[name][k] for name in ("area", "rooms", "heating", "new")}
            | {"sold": ROWS["sold"][k].isoformat()},
            ROWS["price"][k],
            ROWS["weight"][k],
        )
        for k in range(4)
    ]
    with Client(server.url) as client:
        for name in (f"{kind}-rows", f"{kind}-frame"):
            client.create(name, **PLAIN)
        assert client.learn_many(f"{kind}-rows", rows).learned == 4
        result = client.learn_many(f"{kind}-frame", frame(kind), label="price")
        assert (result.learned, result.problems) == (4, [])
        digests = {client.model(f"{kind}-{one}")["digest"] for one in ("rows", "frame")}
        assert len(digests) == 1
        features = (
            frame(kind).drop(columns=["price"])
            if kind == "pandas"
            else frame(kind).drop(["price"] if kind == "arrow" else "price")
        )
        assert len([*client.predict_many(f"{kind}-frame", features)]) == 4


def test_a_frame_without_the_label_is_refused_before_anything_is_sent(server: Background) -> None:
    with Client(server.url) as client:
        with pytest.raises(InputError, match="no column 'label'"):
            client.learn_many("nowhere", frame("arrow"))
        pandas = pytest.importorskip("pandas")
        twice = pandas.DataFrame([[1, 2, 3]], columns=["x", "x", "label"])
        with pytest.raises(InputError, match="two columns named 'x'"):
            client.learn_many("nowhere", twice)


def test_ids_of_a_frame_are_those_of_its_rows(server: Background) -> None:
    pandas = pytest.importorskip("pandas")
    data = pandas.DataFrame({"x": [1, 2], "label": [1.0, 2.0], "id": ["first", "second"]})
    with Client(server.url) as client:
        client.create("ids", **PLAIN)
        assert client.learn_many("ids", data).learned == 2
        assert client.learn_many("ids", data).duplicates == 2


def test_values_of_other_libraries_can_be_sent(server: Background) -> None:
    features = {
        "a": np.float32(1.5),
        "b": np.int64(3),
        "c": np.bool_(True),
        "d": decimal.Decimal("2.5"),
        "e": datetime.date(2024, 5, 1),
        "f": np.datetime64("2024-05-01T12:00:00"),
    }
    with Client(server.url) as client:
        client.create("values", **PLAIN)
        assert client.learn("values", features, np.float64(2.0)).status == "learned"


def test_an_asynchronous_client_limits_its_requests() -> None:
    under_way = most = 0

    async def answer(request: httpx.Request) -> httpx.Response:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1
        rows = request.content.count(b"\n") or 1
        body = b"\n".join([json.dumps({"status": "learned", "seq": 1, "score": 0.0, "prediction": 1}).encode()] * rows)
        return httpx.Response(200, content=body)

    async def whole() -> None:
        http = httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://server")
        async with AsyncClient(http=http, max_concurrency=5) as client:
            one = [client.predict("m", {"x": 1}) for _ in range(200)]
            many = [client.learn_many("m", [({"x": 1}, 1.0)] * 3) for _ in range(50)]
            await asyncio.gather(*one, *many)

    asyncio.run(whole())
    assert most == 5


def test_a_thousand_predictions_at_once_are_all_answered(server: Background) -> None:
    async def whole() -> list[Any]:
        async with AsyncClient(server.url, retry_for=0) as client:
            await client.create("thousand", task="regression", **PLAIN)
            await client.learn("thousand", {"x": 1}, 2.0)
            return await asyncio.gather(*(client.predict("thousand", {"x": k}) for k in range(1000)))

    assert len(asyncio.run(whole())) == 1000
