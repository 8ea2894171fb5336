"""Training on a Spark cluster.

result = unitless.spark.train(spark, "clicks/*.parquet", "clicked", shards=64)
"""

from __future__ import annotations

import os
from typing import Any

from .errors import OptionError
from .training.request import train as _train
from .training.result import TrainResult


def train(
    spark: Any,
    source: Any,
    target: Any = None,
    *,
    shards: int = 64,
    rounds: int = 8,
    passes: int = 1,
    scratch: str | os.PathLike[str] | None = None,
    **options: Any,
) -> TrainResult:
    """Learn from any data on Spark: `unitless.train` with `on="spark"`. Needs `pip install 'unitless[spark]'` and Java.

    Args:
        spark: a `SparkSession`; None for a Spark of this machine alone, stopped at the end.
        source: what `unitless.train` takes, or a Spark DataFrame. Files must be where all machines can read them.
        target: the column to predict.
        shards: into how many parts the rows are dealt. The result depends on it, but not on the number of machines.
        rounds: how often in a pass the parts are brought together.
        passes: how often to go through the data.
        scratch: a folder that all machines can read and write, for a frame, which is written down once; a temporary one
            if Spark runs on this machine alone.
        options: all others of `unitless.train`, for example `checkpoint`, `resume` and `model`.
    """
    if spark is not None and not hasattr(spark, "sparkContext"):
        raise OptionError("is a SparkSession, or None; the data comes after it", option="spark")
    from .distributed.on_spark import SparkEngine  # noqa: PLC0415  (it needs Spark)

    with SparkEngine(spark=spark, scratch=scratch) as engine:
        return _train(source, target, on=engine, shards=shards, rounds=rounds, passes=passes, **options)
