"""From what a user asks for to a training in rounds."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import Option, OptionError, Phrase
from ..models import file as model_file
from ..models.model import Model
from ..options import is_sparse
from ..training.plan import Plan
from ..training.result import TrainResult
from ..training.run import ModelRequest, Run
from .engine import Engine
from .engine_tables import EngineTables
from .engines import engine_for
from .rounds import ROUNDS, SHARDS, Rounds


@dataclass(frozen=True)
class Parts:
    """How a training is done in parts, as a user says it; None for what is usual.

    Args:
        on: the engine, or its name.
        shards: how many parts there are.
        rounds: how often in a pass they are brought together.
        workers: how many are learned at the same time.
        address: of a cluster.
        checkpoint: the file that keeps what is needed to go on after each round.
    """

    on: Any = None
    shards: int | None = None
    rounds: int | None = None
    workers: int | None = None
    address: str | None = None
    checkpoint: Any = None

    def __post_init__(self) -> None:
        for name in ("shards", "rounds", "workers"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise OptionError(f"is {value!r}; it must be a whole number, 1 or more", option=name)
        if self.checkpoint is not None:
            if not isinstance(self.checkpoint, str | os.PathLike):
                raise OptionError(
                    f"is {self.checkpoint!r}; in a training in parts it is the file that keeps each round",
                    option="checkpoint",
                )
            model_file.check_writable(os.fspath(self.checkpoint))

    def of(self, engine: Engine, begun: dict[str, Any] | None) -> tuple[int, int]:
        """How many shards and rounds: those that were said, or those with which a training that goes on was begun.

        Of threads there are otherwise as many shards as workers were asked for.
        """
        threads = self.workers if engine.name == "local" else None
        shards, rounds = (None, None) if begun is None else begun["asked"]
        return self.shards or shards or threads or SHARDS, self.rounds or rounds or ROUNDS


def run(
    arguments: tuple[Any, ...],
    parts: Parts,
    opened: Callable[[Run], None] | None,
    progress: Callable[[Run], None] | None,
) -> TrainResult:
    """Train in parts; `arguments` are those of a run."""
    plan = next(one for one in arguments if isinstance(one, Plan))
    if not plan.shuffle:
        raise OptionError(
            Phrase(Option("shuffle", False), " follows the rows in their order, which cannot be done in parts; leave ")
            + Phrase("out ", Option("on"), ", ", Option("shards"), ", ", Option("rounds"), " and ", Option("workers"))
        )
    for one in arguments:
        of_model = (
            one.options if isinstance(one, ModelRequest) else one.options.asdict() if isinstance(one, Model) else {}
        )
        if is_sparse(of_model):
            raise OptionError(
                Phrase("models with ", Option("sparsity"), " or ", Option("l2"), " learn in one part; leave out ")
                + Phrase(Option("on"), ", ", Option("shards"), ", ", Option("rounds"), " and ", Option("workers"))
            )
    source, *others = arguments
    elsewhere = type(source).__module__.partition(".")[0] in ("ray", "dask", "dask_expr", "pyspark")
    training = None if elsewhere else Run(*arguments)  # what is wrong with it is said before an engine is started
    with engine_for(parts.on, parts.workers, parts.address) as engine:
        if training is None:
            tables = engine.tables(source)
            training = Run(source if tables is None else EngineTables(tables), *others)
        training.checkpoint_path = None if parts.checkpoint is None else os.fspath(parts.checkpoint)
        if opened is not None:
            opened(training)
        return training.go(progress, lambda run: Rounds(run, engine, *parts.of(engine, run.rounds)))
