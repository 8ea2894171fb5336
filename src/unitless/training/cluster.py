"""What a user asks of a training in parts: where it runs, and how often the parts are merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import OptionError


@dataclass(frozen=True)
class Cluster:
    """Where a training runs in parts at the same time: threads of this machine, or a cluster.

    Args:
        backend: "local" (threads), "ray", "dask" or "spark"; a Dask client or a Spark session; or one of the backends
            in `unitless.cluster`. Default: "local".
        partitions: how many parts the rows are divided into; each is learned on its own between two synchronization
            rounds. The result depends on it, but not on the number of workers. Default: 64; with `workers` and "local",
            as many as workers.
        sync_rounds: how often in a pass the parts are merged. Default: 8.
        workers: how many parts are learned at the same time. Default: one for each core.
        address: the address of a running cluster. Default: a cluster is started on this machine and stopped at the end.

    Example:
        >>> import numpy as np, unitless as ul
        >>> X = np.random.default_rng(0).normal(size=(4000, 3))
        >>> result = ul.train(X, X[:, 0] > X[:, 1], cluster=ul.Cluster(partitions=4, sync_rounds=2), passes=1)
        >>> len(result.round_log)  # two, and one in which the held-out rows were added
        3
    """

    backend: Any = None
    partitions: int | None = None
    sync_rounds: int | None = None
    workers: int | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        for name in ("partitions", "sync_rounds", "workers"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise OptionError(f"is {value!r}; it must be a whole number, 1 or more", option=name)
