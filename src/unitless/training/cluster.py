"""The options of distributed training: where it runs, and how often the partitions are merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import OptionError


@dataclass(frozen=True)
class Cluster:
    """Where a distributed training runs: on threads of this machine, or on a Ray, Dask or Spark cluster.

    Args:
        backend: "local" (threads), "ray", "dask" or "spark"; a Dask client or a Spark session; or one of the backends
            in `unitless.cluster`. Default: "local".
        partitions: the number of partitions of the rows. Between two synchronization rounds each partition is learned
            on its own. The result depends on this number, but not on the number of workers. Default: 64; with `workers`
            and "local", the number of workers.
        sync_rounds: how often in a pass the models of the partitions are merged. Default: 8.
        workers: how many partitions are learned at the same time. Default: one for each core.
        address: the address of a running cluster. Default: a cluster is started on this machine and stopped at the end.

    Example:
        >>> import numpy as np, unitless as ul
        >>> X = np.random.default_rng(0).normal(size=(4000, 3))
        >>> result = ul.train(X, X[:, 0] > X[:, 1], cluster=ul.Cluster(partitions=4, sync_rounds=2), passes=1)
        >>> len(result.round_log)  # two rounds, and a third one that learns the held-out rows
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
