"""Checks that apply to the messages of every broker."""

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from waiting import until_async

from unitless.serve.events import Form, Kind
from unitless.serve.ingest import ingestion
from unitless.serve.replica.broker import BrokerReplica
from unitless.serve.settings import Settings
from unitless.serve.store import ModelStore

LINEAR = {"model_type": "linear", "ensemble": False}


class Broker(Protocol):
    """A broker that has one stream of messages."""

    url: str

    def send(self, messages: list[bytes]) -> None:
        """Put messages at the end of the stream."""


def learned(count: int, seed: int = 0) -> list[bytes]:
    """Messages with features and labels."""
    x = np.random.default_rng(seed).normal(size=(count, 2)).tolist()
    return [json.dumps({"features": {"a": a, "b": b}, "label": a - b, "weight": 1 + (a > 0)}).encode() for a, b in x]


def delayed(count: int) -> list[bytes]:
    """Predictions, and their labels later."""
    first = [b'{"features": {"a": %d}, "id": "%d"}' % (k, k) for k in range(count)]
    return first + [b'{"label": %d, "id": "%d"}' % (k, k) for k in reversed(range(count))]


async def plain_pass(messages: list[bytes], folder: Path) -> bytes:
    """The model that learns the same messages one by one, as separate requests."""
    store = ModelStore.open(folder, Settings.of(data=folder, durability="process", environment={}))
    await store.create("a", LINEAR)
    live = store.streams["a"]
    for message in messages:
        row = json.loads(message)
        kind = Kind.learn if "features" in row and "label" in row else Kind.label if "label" in row else None
        await live.submitted(kind or Kind.prediction, Form.json, 1, message)
    file = live.model().file()
    store.close()
    return file


def primary(
    folder: Path, broker: Broker, do: Callable[[ModelStore, ingestion.Ingestions], Awaitable[None]], **given: Any
) -> None:
    """A server that learns the messages of the broker."""

    async def run() -> None:
        settings = Settings.of(data=folder, ingest=[f"a={broker.url}"], durability="process", environment={}, **given)
        store = ModelStore.open(folder, settings)
        try:
            if not store.streams:
                await store.create("a", LINEAR)
            running = await ingestion.start(store, settings)
            try:
                await asyncio.wait_for(do(store, running), 30)
            finally:
                await running.close()
        finally:
            store.close()

    asyncio.run(run())


def check_each_message_is_learned_once(broker: Broker, folder: Path) -> None:
    """Each message is learned once, however often the server is killed."""
    messages = learned(300) + delayed(40) + learned(300, 1)
    broker.send(messages)
    for turn in range(4):
        here, there = folder / f"{turn}", folder / f"{turn + 1}"

        async def some(store: ModelStore, _: Any, here: Path = here, there: Path = there) -> None:
            live = store.streams["a"]
            before = live.stream.seq
            await until_async(lambda: live.stream.seq > before)
            shutil.copytree(here, there)  # the state that a server finds if it is killed now

        primary(here, broker, some)
        for segment in there.glob("streams/*/log/*.seg"):  # the last record is incomplete
            segment.write_bytes(segment.read_bytes()[:-3])

    async def rest(store: ModelStore, _: Any) -> None:
        live = store.streams["a"]
        await until_async(lambda: live.stream.counts["learned"] == 640)
        await asyncio.sleep(0.3)
        assert live.stream.counts["learned"] == 640
        assert live.stream.counts["joined"] == 40
        assert live.model().file() == await plain_pass(messages, folder / "plain")

    primary(folder / "4", broker, rest)


def check_messages_that_are_no_events_are_left_out(broker: Broker, folder: Path) -> None:
    """Such messages are reported and left out, and later ones are learned."""
    bad = [b"not json", b"[1, 2]", b'{"features": {"a": 1}}', b'{"label": 3}', b'{"features": 3, "label": 1}']
    refused = [b'{"features": {"a": {}}, "label": 1}', b'{"label": 3, "id": "nobody"}']
    good = learned(10)
    broker.send([*good[:5], *bad, *refused, *good[5:]])

    async def do(store: ModelStore, running: ingestion.Ingestions) -> None:
        live = store.streams["a"]
        await until_async(lambda: live.stream.counts["learned"] == 10)
        (one,) = running.all
        assert one.skipped == len(bad)
        assert one.taken == len(good) + len(refused)
        assert len(live.notes) == 1
        assert live.model().file() == await plain_pass(good, folder / "plain")

    primary(folder / "data", broker, do)


def check_a_replica_has_the_same_bits(broker: Broker, folder: Path) -> None:
    """The replica's state equals that of a primary that learns the same messages, however they are batched."""
    messages = [*learned(200), b"nonsense", *delayed(30), *learned(50, 1)]
    new = [f"a={json.dumps(LINEAR)}"]

    async def do(store: ModelStore, _: Any) -> None:
        replica = BrokerReplica(broker.url, Settings.of(replica_of=broker.url, create=new, environment={}))
        await replica.begin()
        task = asyncio.create_task(replica.run())
        try:
            broker.send(messages[:120])
            await replica.streams["a"].reached(120)
            broker.send(messages[120:])
            there, here = store.streams["a"], replica.streams["a"]
            await here.reached(len(messages))
            await until_async(lambda: there.stream.counts["learned"] == 280)
            assert here.model().file() == there.model().file()
            assert here.model().digest == there.model().digest
            assert replica.skipped == 1
            assert here.predict({"a": 1.0}) == there.predict({"a": 1.0})
            late = BrokerReplica(broker.url, Settings.of(replica_of=broker.url, create=new, environment={}))
            await late.begin()
            assert late.streams["a"].stream.fingerprint() == here.stream.fingerprint()
            await late.drain()
            late.close()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await replica.drain()
            replica.close()

    primary(folder, broker, do)
