"""The events that viewers of a live stream receive."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from unitless.serve.events import Form, Kind, Row
from unitless.serve.live import LiveStream
from unitless.serve.settings import Settings
from unitless.serve.store import ModelStore

LABELS: dict[str, Any] = {"numbers": 3.5, "yes or no": True, "classes": "high"}
OTHERS: dict[str, Any] = {"numbers": 1.5, "yes or no": False, "classes": "low"}


def watched(folder: Path, act: Callable[[ModelStore, LiveStream], Awaitable[None]]) -> None:
    """A stream "s" with a challenger "b" in a model store of its own."""

    async def run() -> None:
        store = ModelStore.open(folder, Settings(data=str(folder), durability="process"))
        try:
            await store.create("s", {})
            await store.create("b", {"stream": "s", "model_type": "linear"})
            store.streams["s"].beat(time.time())
            await act(store, store.streams["s"])
            await store.drain()
        finally:
            store.close()

    asyncio.run(run())


async def send(live: LiveStream, kind: Kind, **fields: Any) -> None:
    (outcome,) = await live.submitted(kind, Form.json, 1, json.dumps(fields).encode(), [Row(**fields)])
    assert outcome.problem is None


@pytest.mark.parametrize("task", LABELS)
def test_an_example_has_the_prediction_before_it_was_learned_and_its_loss(tmp_path: Path, task: str) -> None:
    async def act(store: ModelStore, live: LiveStream) -> None:
        for k in range(4):
            label = LABELS[task] if k % 2 else OTHERS[task]
            await send(live, Kind.learn, features={"a": float(k)}, label=label)
        said = live.predict({"a": 3.0})
        before = live.model().sums()[1]
        live.beat(time.time() + 1)
        await send(live, Kind.learn, features={"a": 3.0}, label=LABELS[task])
        example = live.moments.recent()[0]
        assert (example.features, example.label, example.model) == ({"a": 3.0}, LABELS[task], "s")
        assert (example.prediction, example.score) == (said.prediction, said.score)
        assert example.loss == pytest.approx(live.model().sums()[1] - before)

    watched(tmp_path, act)


def test_a_label_that_comes_later_shows_its_features_and_its_delay(tmp_path: Path) -> None:
    async def act(store: ModelStore, live: LiveStream) -> None:
        await send(live, Kind.learn, features={"a": 1.0}, label=True)
        await send(live, Kind.prediction, features={"a": 7.0}, id="x")
        await asyncio.sleep(0.05)
        await send(live, Kind.label, id="x", label=False)
        live.beat(time.time() + 1)
        example, moment = live.moments.recent()[0], live.moments.seconds()[-1]
        assert (example.features, example.label, example.id) == ({"a": 7.0}, False, "x")
        assert moment.delay_p50 is not None
        assert 0.04 < moment.delay_p50 < 5
        assert (moment.learned, moment.predicted) == (2, 1)

    watched(tmp_path, act)


def test_a_second_has_the_losses_of_all_models(tmp_path: Path) -> None:
    async def act(store: ModelStore, live: LiveStream) -> None:
        for k in range(40):
            await send(live, Kind.learn, features={"a": float(k % 7)}, label=k % 2 == 0)
        live.beat(time.time() + 1)
        moment = live.moments.seconds()[-1]
        assert (moment.learned, set(moment.by_model)) == (40, {"s", "b"})
        for name, model in live.stream.models.items():
            weight, loss, _ = model.sums()
            assert moment.by_model[name] == pytest.approx(loss / weight)
        assert moment.loss == moment.total_loss == moment.by_model["s"]
        live.beat(time.time() + 2)
        assert live.moments.seconds()[-1].learned == 0

    watched(tmp_path, act)


def test_standing_says_how_every_model_and_the_log_are(tmp_path: Path) -> None:
    async def act(store: ModelStore, live: LiveStream) -> None:
        for k in range(30):
            await send(live, Kind.learn, features={"a": float(k)}, label=k % 3 == 0)
        standing = live.standing()
        assert {one["name"]: one["role"] for one in standing["models"]} == {"s": "champion", "b": "challenger"}
        assert standing["models"][0]["examples"] == standing["examples"] == 30
        assert standing["log"]["seq"] == live.stream.seq
        for one in standing["models"]:
            evaluation = live.model(one["name"]).evaluation
            assert evaluation is not None
            assert one["metrics"]["loss"] == pytest.approx(evaluation.loss)
            assert one["metrics"]["error_rate"] == pytest.approx(evaluation.metrics["error_rate"])
        await store.promote("b")
        live.beat(time.time() + 1)
        assert live.moments.champion == "b"

    watched(tmp_path, act)


def test_scales_that_grow_are_counted_while_someone_looks(tmp_path: Path) -> None:
    async def act(store: ModelStore, live: LiveStream) -> None:
        def grown() -> int | None:
            return live._watch.scale_growth(1000.0)

        for k in range(3):
            await send(live, Kind.learn, features={"a": float(k), "c": float(k)}, label=1.0)
        assert grown() is None
        reader = live.moments.broadcast.events()
        await anext(reader)
        assert grown() is None  # the first time there is nothing to compare with
        await send(live, Kind.learn, features={"a": 50.0, "c": 1.0}, label=1.0)
        assert grown() == 1
        assert grown() == 0
        await reader.aclose()

    watched(tmp_path, act)
