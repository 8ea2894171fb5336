"""Messages of one partition of a Kafka topic: `kafka://host:port/topic?partition=0`, each of them JSON.

Only within a partition do messages have one order. A topic of several is read by naming each partition.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from ...errors import OptionError
from .source import MOST_MESSAGES, WAIT, LostMessages, Message, SourceError

PATIENCE = 10.0  # seconds for answers about the topic itself


class KafkaTopic:
    """One partition of a topic.

    Args:
        url: `kafka://host:port,host:port/topic`; `partition` need not be given if there is one. Other parameters, such
            as `security.protocol`, are librdkafka's.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        self._topic, partition = parts.path.strip("/"), query.pop("partition", None)
        query.pop("model", None)
        if not self._topic or "/" in self._topic or not parts.netloc:
            raise OptionError(f"{url!r} must have the form kafka://host:port/topic")
        if partition is not None and not partition.isdecimal():
            raise OptionError(f"partition={partition!r} in the address of {self._topic!r} is not a number")
        self._partition = None if partition is None else int(partition)
        self.name = f"kafka:{self._topic}:{self._partition or 0}"
        self._shown = f"the Kafka topic {self._topic!r} at {parts.netloc.rpartition('@')[2]}"
        settings: dict[str, Any] = {
            "bootstrap.servers": parts.netloc,
            "group.id": f"unitless-{self._topic}",  # required, but positions are stored in the log
            "enable.auto.commit": False,
            "auto.offset.reset": "error",  # never continue silently at another position
            "enable.partition.eof": False,
            **query,
        }
        try:
            self._consumer = Consumer(settings, logger=None)
        except (KafkaException, ValueError) as error:
            raise OptionError(f"{self._shown} has an address that cannot be used: {error}") from None
        self._next: str | bool | None = False  # the position after which the client reads; False: nowhere yet
        self._thread = ThreadPoolExecutor(1, "kafka")

    async def read(self, after: str | None, most: int = MOST_MESSAGES) -> list[Message]:
        """The messages after a position, or the oldest ones."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, after, most)

    async def whole(self) -> bool:
        """Whether the partition still begins with its first message."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._whole)

    def _whole(self) -> bool:
        try:
            place = TopicPartition(self._topic, self._partition or 0)
            return bool(self._consumer.get_watermark_offsets(place, PATIENCE)[0] == 0)
        except KafkaException as error:
            raise SourceError(f"{self._shown} cannot be read: {error.args[0]}") from None

    def _read(self, after: str | None, most: int) -> list[Message]:
        try:
            if self._next is False or self._next != after:
                self._go_to(after)
            first = self._consumer.poll(WAIT)
            found = [] if first is None else [first, *self._consumer.consume(most - 1, 0)]
            messages = [self._message(message) for message in found]
        except KafkaException as error:
            self._next = False
            raise SourceError(f"{self._shown} cannot be read: {error.args[0]}") from None
        except SourceError:
            self._next = False
            raise
        if messages:
            self._next = messages[-1].position
        return messages

    def _go_to(self, after: str | None) -> None:
        partitions = self._consumer.list_topics(self._topic, PATIENCE).topics[self._topic].partitions
        if self._partition is None and len(partitions) > 1:
            raise OptionError(
                f"{self._shown} has {len(partitions)} partitions, among which there is no order; add ?partition=0 to "
                "read one, or give the option once for each"
            )
        offset = OFFSET_BEGINNING if after is None else int(after) + 1
        self._consumer.assign([TopicPartition(self._topic, self._partition or 0, offset)])
        self._next = after

    def _message(self, message: Any) -> Message:
        error = message.error()
        if error is None:
            kind, milliseconds = message.timestamp()
            moment = milliseconds * 1000 if kind else time.time_ns() // 1000
            return Message(str(message.offset()), moment, message.value() or b"")
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise LostMessages(
                f"{self._shown} no longer has the messages after {self._next}. Start anew with an empty data "
                "directory, or keep messages longer in Kafka (retention.ms)"
            )
        raise KafkaException(error)

    async def close(self) -> None:
        """Leave the broker."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._consumer.close)
        self._thread.shutdown()
