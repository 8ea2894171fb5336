"""Start a training in rounds from the user's arguments."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..errors import Option, OptionError, Phrase
from ..models import file as model_file
from ..models.model import Model
from ..options import is_penalized
from ..presentation import notebook_bar
from ..training.cluster import Cluster
from ..training.plan import Plan
from ..training.result import TrainResult
from ..training.setup import ModelRequest, Setup
from ..training.training import Training
from .engine import Engine
from .engine_tables import EngineTables
from .engines import engine_for
from .rounds import PARTITIONS, ROUNDS, Rounds


def run(
    arguments: tuple[Any, ...], cluster: Cluster, checkpoint: Any, progress: Callable[[Training], None] | None
) -> TrainResult:
    """Train in partitions.

    Args:
        arguments: the arguments of a `Setup`.
        cluster: the backend, partitions and rounds.
        checkpoint: the file that stores what is needed to resume after each synchronization round.
        progress: called after every round.
    """
    _check_checkpoint(checkpoint)
    source, *others = arguments
    plan = next(one for one in arguments if isinstance(one, Plan))
    if not plan.shuffle:
        raise OptionError(
            Phrase("a stream is learned in its order, which cannot be done in parts: leave out ", Option("cluster"))
            + Phrase(", or ", Option("shuffle", False), " and ", Option("tail"))
        )
    for one in arguments:
        of_model = (
            one.options if isinstance(one, ModelRequest) else one.options.asdict() if isinstance(one, Model) else {}
        )
        if is_penalized(of_model):
            raise OptionError(
                Phrase("models with ", Option("sparsity"), " or ", Option("l2"), " learn in one part; leave out ")
                + Phrase(Option("cluster"))
            )
    elsewhere = type(source).__module__.partition(".")[0] in ("ray", "dask", "dask_expr", "pyspark")
    # errors in the arguments are raised before an engine is started
    training = None if elsewhere else Training(Setup.of(*arguments))
    with engine_for(cluster.backend, cluster.workers, cluster.address) as engine:
        if training is None:
            tables = engine.tables(source)
            training = Training(Setup.of(source if tables is None else EngineTables(tables), *others))
        path = None if checkpoint is None else os.fspath(checkpoint)
        parts = _parts(cluster, engine, training.rounds)
        notebook_bar.opened(progress, training)
        return training.go(progress, lambda training: Rounds(training, engine, *parts, path), in_rounds=True)


def _check_checkpoint(checkpoint: Any) -> None:
    if checkpoint is None:
        return
    if not isinstance(checkpoint, str | os.PathLike):
        raise OptionError(
            f"is {checkpoint!r}; in a training in parts it is the file that keeps each round", option="checkpoint"
        )
    model_file.check_writable(os.fspath(checkpoint))


def _parts(cluster: Cluster, engine: Engine, begun: dict[str, Any] | None) -> tuple[int, int]:
    """The numbers of partitions and rounds: those that were given, or those of the training that is resumed.

    For threads the default is one partition for each worker.
    """
    threads = cluster.workers if engine.name == "local" else None
    partitions, rounds = (None, None) if begun is None else begun["asked"]
    return cluster.partitions or partitions or threads or PARTITIONS, cluster.sync_rounds or rounds or ROUNDS
