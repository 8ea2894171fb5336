"""Replicas: servers that copy the log of another one, and only predict.

store.py       what all replicas share
directory.py   a replica of another server's folder
broker.py      a replica whose log is a broker
"""

from __future__ import annotations

from pathlib import Path

from ..ingest.source import is_broker
from ..settings import Settings
from .store import ReplicaStore

__all__ = ["ReplicaStore", "open_replica"]


def open_replica(settings: Settings) -> ReplicaStore:
    """The model store of a replica: `begin` brings it to the current state, then the task `run` keeps it there."""
    assert settings.replica_of is not None
    if is_broker(settings.replica_of):
        from .broker import BrokerReplica  # noqa: PLC0415  (clients of brokers are extras)

        return BrokerReplica(settings.replica_of, settings)
    from .directory import DirectoryReplica  # noqa: PLC0415

    return DirectoryReplica(Path(settings.replica_of).expanduser(), settings)
