"""Training on a Dask cluster.

result = unitless.dask.train(client, "clicks/*.parquet", "clicked", shards=64)
"""

from __future__ import annotations

from typing import Any

from .errors import OptionError
from .training.request import train as _train
from .training.result import TrainResult


def train(
    client: Any,
    source: Any,
    target: Any = None,
    *,
    shards: int = 64,
    rounds: int = 8,
    passes: int = 1,
    **options: Any,
) -> TrainResult:
    """Learn from any data on Dask: `unitless.train` with `on="dask"`. Needs `pip install 'unitless[dask]'`.

    Args:
        client: of the cluster, a `distributed.Client`; None for processes of this machine, stopped at the end.
        source: what `unitless.train` takes, or a Dask DataFrame. Files must be where all machines can read them.
        target: the column to predict.
        shards: into how many parts the rows are dealt. The result depends on it, but not on the number of machines.
        rounds: how often in a pass the parts are brought together.
        passes: how often to go through the data.
        options: all others of `unitless.train`, for example `checkpoint`, `resume` and `model`.
    """
    if client is not None and not hasattr(client, "nthreads"):
        raise OptionError("is a Dask client, or None; the data comes after it", option="client")
    from .distributed.on_dask import DaskEngine  # noqa: PLC0415  (it needs Dask)

    with DaskEngine(client=client) as engine:
        return _train(source, target, on=engine, shards=shards, rounds=rounds, passes=passes, **options)
