"""Messages of Redis streams, from a Redis server that the tests start."""

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec")
pytest.importorskip("redis")

import broker_checks
import redis
from waiting import until_async

from unitless.errors import OptionError
from unitless.serve.ingest import ingestion
from unitless.serve.ingest.redis_stream import RedisStream
from unitless.serve.ingest.source import LostMessages, SourceError, open_source
from unitless.serve.replica.broker import BrokerReplica
from unitless.serve.settings import Settings


class Redis:
    """One stream of a Redis server."""

    def __init__(self, port: int, stream: str) -> None:
        self.stream, self.url = stream, f"redis://127.0.0.1:{port}/0?stream={stream}"
        self.client = redis.Redis(port=port)

    def send(self, messages: list[bytes]) -> None:
        pipe = self.client.pipeline(transaction=False)
        for message in messages:
            pipe.xadd(self.stream, {"event": message})
        pipe.execute()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("redis")
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(["redis-server", *arguments], stdout=subprocess.DEVNULL)
    try:
        with redis.Redis(port=port) as client:
            for _ in range(200):
                try:
                    client.ping()
                    break
                except redis.ConnectionError:
                    time.sleep(0.02)
        yield port
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def broker(server: int, request: pytest.FixtureRequest) -> Iterator[Redis]:
    found = Redis(server, request.node.name)
    yield found
    found.client.close()


def test_each_message_is_learned_once(broker: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "MOST_MESSAGES", 70)
    broker_checks.check_each_message_is_learned_once(broker, tmp_path)


def test_messages_that_are_no_events_are_left_out(broker: Redis, tmp_path: Path) -> None:
    broker.client.xadd(broker.stream, {"something": "else"})
    broker.client.delete(broker.stream)
    broker_checks.check_messages_that_are_no_events_are_left_out(broker, tmp_path)


def test_a_replica_has_the_same_bits(broker: Redis, tmp_path: Path) -> None:
    broker_checks.check_a_replica_has_the_same_bits(broker, tmp_path)


def test_an_entry_without_the_field_is_no_event(broker: Redis, tmp_path: Path) -> None:
    broker.client.xadd(broker.stream, {"something": "else"})
    broker.send(broker_checks.learned(1))

    async def do(store: Any, running: Any) -> None:
        await until_async(lambda: store.streams["a"].stream.counts["learned"] == 1)
        assert running.all[0].skipped == 1

    broker_checks.primary(tmp_path, broker, do)


def test_trimmed_unread_messages_are_an_error(broker: Redis, tmp_path: Path) -> None:
    broker.send(broker_checks.learned(10))

    async def first(store: Any, _: Any) -> None:
        await until_async(lambda: store.streams["a"].stream.counts["learned"] == 10)

    async def then(store: Any, running: Any) -> None:
        await until_async(lambda: running.all[0].problem)
        assert "may have lost messages" in running.all[0].problem
        assert store.streams["a"].notes == [running.all[0].problem]
        assert store.streams["a"].stream.counts["learned"] == 10

    broker_checks.primary(tmp_path, broker, first)
    broker.send(broker_checks.learned(10))
    broker.client.xtrim(broker.stream, maxlen=5, approximate=False)
    broker_checks.primary(tmp_path, broker, then)


def test_a_replica_does_not_begin_in_the_middle(broker: Redis) -> None:
    broker.send(broker_checks.learned(10))
    broker.client.xtrim(broker.stream, maxlen=5, approximate=False)

    async def run() -> None:
        replica = BrokerReplica(broker.url, Settings.of(replica_of=broker.url, create=["a"], environment={}))
        with pytest.raises(OptionError, match="no longer begins with its first message"):
            await replica.begin()
        await replica.drain()
        replica.close()

    asyncio.run(run())


def test_a_broker_that_is_away_is_waited_for(broker: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.send(broker_checks.learned(3))
    read, failures = RedisStream.read, [SourceError("it is away")] * 2

    async def sometimes(self: RedisStream, *given: Any) -> Any:
        if failures:
            raise failures.pop()
        return await read(self, *given)

    monkeypatch.setattr(RedisStream, "read", sometimes)

    async def do(store: Any, running: Any) -> None:
        live = store.streams["a"]
        await until_async(lambda: running.all[0].problem)
        assert live.notes == ["it is away"]
        await until_async(lambda: live.stream.counts["learned"] == 3 and not live.notes)

    broker_checks.primary(tmp_path, broker, do)


def test_a_server_that_cannot_be_reached_is_an_error_that_says_which() -> None:
    async def run() -> None:
        source = RedisStream("redis://127.0.0.1:1/0?stream=x")
        with pytest.raises(SourceError, match=r"the Redis stream 'x' at 127.0.0.1:1 cannot be read") as caught:
            await source.read(None)
        assert not isinstance(caught.value, LostMessages)
        await source.close()

    asyncio.run(run())


def test_addresses_that_say_too_little_are_refused() -> None:
    with pytest.raises(OptionError, match=r"add .stream=NAME"):
        open_source("redis://127.0.0.1/0")
    with pytest.raises(OptionError, match="must begin with redis://"):
        open_source("amqp://127.0.0.1/x")
