"""From what a user asks for to a training in rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..training.run import Run, Way
from .engine import Engine
from .local import LocalEngine
from .rounds import ROUNDS, SHARDS, Rounds


@contextmanager
def in_rounds(engine: Engine, shards: int | None = None, rounds: int | None = None) -> Iterator[Callable[[Run], Way]]:
    """A way through the data, by an engine that is closed at the end."""
    with engine:
        yield lambda run: Rounds(run, engine, shards or SHARDS, rounds or ROUNDS)


def local(workers: int) -> Engine:
    """Threads of this process."""
    return LocalEngine(workers)
