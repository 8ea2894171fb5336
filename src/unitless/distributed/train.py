"""Training in parts at the same time, from the options of `train`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import OptionError
from ..training.result import TrainResult
from .engines import engine_for


@dataclass(frozen=True)
class Parts:
    """Where and how a training is done in parts; see `unitless.train`."""

    on: Any = None
    shards: int | None = None
    rounds: int | None = None
    workers: int | None = None
    address: str | None = None
    checkpoint: int | str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        for name in ("shards", "rounds", "workers"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise OptionError(f"is {value!r}; it must be a whole number, 1 or more", option=name)


def run(
    given: tuple[Any, ...],
    parts: Parts,
    opened: Callable[[Any], None] | None,
    progress: Callable[[Any], None] | None,
) -> TrainResult:
    """Train in parts.

    Args:
        given: what `training.run.Run` takes: source, target, weight, reading, request, plan, resume.
        parts: into which, and where they are learned.
        opened: called with the run before the first row is read.
        progress: called with the run from time to time.
    """
    with engine_for(parts.on, parts.workers, parts.address) as engine:
        raise NotImplementedError(engine.name)
