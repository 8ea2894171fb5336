"""Training on a Ray cluster.

result = unitless.ray.train("clicks/*.parquet", "clicked", shards=64, address="auto")
"""

from __future__ import annotations

from typing import Any

from .training.request import train as _train
from .training.result import TrainResult


def train(
    source: Any,
    target: Any = None,
    *,
    shards: int = 64,
    rounds: int = 8,
    passes: int = 1,
    address: str | None = None,
    workers: int | None = None,
    **options: Any,
) -> TrainResult:
    """Learn from any data on Ray: `unitless.train` with `on="ray"`. Needs `pip install 'unitless[ray]'`.

    Args:
        source: what `unitless.train` takes, or a Ray Dataset. Files must be where all machines can read them.
        target: the column to predict.
        shards: into how many parts the rows are dealt. The result depends on it, but not on the number of machines.
        rounds: how often in a pass the parts are brought together.
        passes: how often to go through the data.
        address: of a cluster; "auto" for the one that this machine belongs to. If it is not given, the cluster is the
            one that this program has joined, or else one that is started on this machine and stopped at the end.
        workers: how many tasks run at the same time on a cluster that is started here.
        options: all others of `unitless.train`, for example `checkpoint`, `resume` and `model`.
    """
    parts: dict[str, Any] = {"shards": shards, "rounds": rounds, "passes": passes, "workers": workers}
    return _train(source, target, on="ray", address=address, **parts, **options)
