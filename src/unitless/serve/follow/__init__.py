"""Replicas that only predict, and messages of brokers.

source.py         what every broker gives: messages after a position
redis_stream.py   a Redis stream
kafka_topic.py    a partition of a Kafka topic
messages.py       which events messages are
ingestion.py      messages become records of a primary's log
replica.py        what all replicas share
directory.py      a replica of another server's folder
broker.py         a replica whose log is a broker
"""

from __future__ import annotations

from pathlib import Path

from ..settings import Settings
from .replica import ReplicaHouse
from .source import is_broker

__all__ = ["ReplicaHouse", "open_replica"]


def open_replica(settings: Settings) -> ReplicaHouse:
    """The house of a replica. Then `begin` brings it to the state of this moment, and the task `run` follows."""
    assert settings.replica_of is not None
    if is_broker(settings.replica_of):
        from .broker import BrokerReplica  # noqa: PLC0415  (clients of brokers are extras)

        return BrokerReplica(settings.replica_of, settings)
    from .directory import DirectoryReplica  # noqa: PLC0415

    return DirectoryReplica(Path(settings.replica_of).expanduser(), settings)
