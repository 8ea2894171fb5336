"""Messages of Kafka topics, from the mock cluster that is built into the client's library, librdkafka.

It speaks the protocol over real sockets, in this process; no broker needs to be installed.
"""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec")
pytest.importorskip("confluent_kafka")

import broker_checks
from confluent_kafka import Producer

from unitless.errors import OptionError
from unitless.serve.ingest import ingestion
from unitless.serve.ingest.kafka_topic import KafkaTopic
from unitless.serve.ingest.source import LostMessages, SourceError, open_source

_numbers = itertools.count()


class Kafka:
    """Partition 1 of a topic."""

    def __init__(self, producer: Producer, address: str, topic: str) -> None:
        self.producer, self.address, self.topic = producer, address, topic
        self.url = f"kafka://{address}/{topic}?partition=1"

    def send(self, messages: list[bytes]) -> None:
        for message in messages:
            self.producer.produce(self.topic, message, partition=1)
        assert self.producer.flush(10) == 0


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[Producer, str]]:
    producer = Producer({"bootstrap.servers": "none:1", "test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = producer.list_topics(timeout=10).brokers.values()
    yield producer, f"{broker.host}:{broker.port}"
    producer.flush(5)


@pytest.fixture
def broker(cluster: tuple[Producer, str]) -> Kafka:
    return Kafka(*cluster, f"topic-{next(_numbers)}")


def test_each_message_is_learned_once(broker: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "MOST_MESSAGES", 70)
    broker_checks.check_each_message_is_learned_once(broker, tmp_path)


def test_messages_that_are_no_events_are_left_out(broker: Kafka, tmp_path: Path) -> None:
    broker_checks.check_messages_that_are_no_events_are_left_out(broker, tmp_path)


def test_a_replica_has_the_same_bits(broker: Kafka, tmp_path: Path) -> None:
    broker_checks.check_a_replica_has_the_same_bits(broker, tmp_path)


def read(url: str, after: str | None, count: int = 1) -> list[Any]:
    """Read this many messages, which may arrive one by one."""

    async def run() -> list[Any]:
        source, found = KafkaTopic(url), []
        try:
            for _ in range(50):
                found += await source.read(found[-1].position if found else after)
                if len(found) >= count:
                    break
            return found[:count]
        finally:
            await source.close()

    return asyncio.run(run())


def test_reading_goes_on_after_a_position(broker: Kafka) -> None:
    broker.send([b"%d" % k for k in range(10)])
    first = read(broker.url, None, 3)
    assert [message.value for message in first] == [b"0", b"1", b"2"]
    assert [message.value for message in read(broker.url, first[2].position, 2)] == [b"3", b"4"]


def test_messages_that_are_no_longer_there_are_not_passed_over(broker: Kafka) -> None:
    broker.send([b"0"])
    with pytest.raises(LostMessages, match="no longer has the messages after 1000"):
        read(broker.url, "1000")


def test_a_topic_of_several_partitions_needs_a_choice(broker: Kafka) -> None:
    broker.send([b"0"])
    with pytest.raises(OptionError, match=r"partitions, among which there is no order; add .partition=0"):
        read(f"kafka://{broker.address}/{broker.topic}", None)


def test_a_cluster_that_cannot_be_reached_is_an_error_that_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unitless.serve.ingest.kafka_topic.PATIENCE", 0.2)
    with pytest.raises(SourceError, match=r"the Kafka topic 'x' at 127.0.0.1:1 cannot be read"):
        read("kafka://127.0.0.1:1/x", None)


@pytest.mark.parametrize("url", ["kafka://host:1", "kafka://host:1/a/b", "kafka://host:1/x?partition=y"])
def test_addresses_that_cannot_be_meant_are_refused(url: str) -> None:
    with pytest.raises(OptionError, match=r"kafka://host:port/topic|is not a number"):
        open_source(url)


def test_unknown_settings_of_the_client_are_refused() -> None:
    with pytest.raises(OptionError, match=r"cannot be used: .*nonsense"):
        open_source("kafka://127.0.0.1:1/x?nonsense.setting=1")
