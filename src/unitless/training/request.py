"""`train`: from any data to a model, as a fit or as a stream.

result = ul.train("prices.csv", target="price", output="prices.unitless")
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any, Literal

from ..data.memory import memory_size
from ..data.read_options import Reading, given_reading
from ..errors import OptionError
from ..options import USUAL_LEVEL, Auto
from ..presentation import notebook_bar
from .cluster import Cluster
from .fit import Fit
from .plan import Plan
from .result import TrainResult
from .setup import ModelRequest, Setup
from .stream import Stream
from .training import Training


def train(
    source: Any,
    target: Any = None,
    *,
    weight: Any = None,
    task: str | None = None,
    positive: str | float | None = None,
    shuffle: bool = True,
    passes: int | Auto | None = None,
    holdout: float | Literal["last"] | None = None,
    learn_holdout: bool = True,
    groups: Any = None,
    random_state: int = 0,
    memory: int | str | None = None,
    level: float = USUAL_LEVEL,
    output: str | os.PathLike[str] | None = None,
    resume: Any = None,
    checkpoint: int | str | os.PathLike[str] | None = None,
    reading: Reading | None = None,
    cluster: Cluster | None = None,
    progress: Callable[[Training], None] | Literal[False] | None = None,
    **options: Any,
) -> TrainResult:
    """Train a model on any data, in bounded memory; no scaling, encoding or tuning is needed.

    A *fit* learns files, folders, frames, arrays and lists: rows are learned in random order, in several passes, and
    some are held out; the metrics describe the final model on the held-out rows. A *stream* learns pipes and other
    iterables, and everything with `shuffle=False`: rows are learned once, in their order, and each is predicted before
    it is learned.

    Args:
        source: a file's name (CSV, Parquet, Arrow, JSON lines, VW text, libsvm, compressed or not), a glob, a folder, a
            zip archive, "-" for the standard input, a list of those; a pandas, polars or pyarrow frame; a
            pyarrow dataset; an array or sparse matrix; an iterable of mappings.
        target: the column to predict: its name, or a negative number, which counts from the end (-1 is the last one).
            The columns of a file without a header are called 1, 2, 3, ..., those of an array 0, 1, 2, ... For an array
            or a frame it may be the labels themselves.
        weight: a column of sample weights, likewise, or the weights themselves.
        task: "regression", "binary" or "classes". Default: inferred. Two values are binary; text or up to 20 different
            whole numbers are classes; anything else is a number to predict.
        positive: the positive one of two labels. Default: yes, true, 1, the larger or later one.
        shuffle: True: fit the data, in random order. False: learn it as a stream, in its order. Default: True.
        passes: how often to learn the data. "auto": as long as another pass is expected to lower the loss on the
            held-out rows by 0.5%; the best weights are selected. Default: "auto" for a fit, 1 for a stream and on a
            cluster.
        holdout: the fraction of the rows that are held out. "last", with `shuffle=False`: the last tenth, so that the
            past is learned and the future predicted. Default: 0 for a stream; for a fit a tenth, at most 20,000 rows;
            of small tables 100 rows, but no more than a fifth.
        learn_holdout: add the held-out rows to training after the metrics were computed. Default: True.
        groups: a column of groups, such as customers or patients; all rows of a group are learned, or all are held
            out, so that the metrics are those for new groups. The column is not a feature. For an array or a frame it
            may be the groups themselves. Default: no groups.
        random_state: the random seed for shuffling and the hold-out. Default: 0.
        memory: how much memory rows may take while they are shuffled ("2GB", or bytes). Larger tables go through
            temporary files; the model is the same. Default: a quarter of the machine's.
        level: the level of the prediction intervals (for classes: prediction sets) whose coverage and width the metrics
            show. Default: 0.9.
        output: the file to save the model to, at the end, at checkpoints and when interrupted. Default: the model is
            not saved.
        resume: a model, a `TrainResult` or a model file that learns more. If its training was interrupted, training
            continues where it stopped, with the same result as without the interruption; otherwise the model learns
            this data in addition. Default: a new model.
        checkpoint: save the model each time this many rows are learned; with `cluster`, the file that stores the state
            after each synchronization round. Default: no checkpoints.
        reading: how the data is read; see `Reading`.
        cluster: where a distributed training runs; see `Cluster`. Default: the training is not distributed.
        progress: called after every batch with the training (its `progress`, `evaluation`, `source`). Default: a bar in
            notebooks; False for none.
        options: the options of the learner, such as `model_type`, `ensemble`, `loss` or `learning_rate`; see `Learner`.
            Default: chosen by the task and the data. `Learner`'s option `target` is none of them: `train` always learns
            the labels' unit and offset, where the loss is in this unit.

    Example:
        >>> import unitless as ul
        >>> rows = [{"age": 20 + i % 50, "job": "clerk" if i % 3 else "pilot", "rich": "no" if i % 3 else "yes"}
        ...         for i in range(1000)]
        >>> result = ul.train(rows, target="rich")
        >>> result.task
        "binary: is it 'yes' (positive) or 'no' (negative)?"
        >>> result.metrics["accuracy"], result.metrics_on
        (1.0, '100 held-out rows (added to training afterwards)')
        >>> result.baseline_name, round(result.baseline["accuracy"], 2)
        ("always predict 'no'", 0.65)
        >>> result.predict([{"age": 30, "job": "pilot"}])
        ['yes']
    """
    if cluster is not None and not isinstance(cluster, Cluster):
        raise OptionError(f"is {cluster!r}; it must be a ul.Cluster, such as ul.Cluster('ray')", option="cluster")
    if not isinstance(output, str | os.PathLike | None):
        raise OptionError(f"is {output!r}; it must be the name of a file", option="output")
    how = given_reading(reading)
    request = ModelRequest(task, positive, options)
    cluster_wide = cluster is not None and cluster.backend not in (None, "local")
    plan = Plan(
        1 if passes is None and cluster_wide else passes,
        holdout,
        random_state,
        None if output is None else os.fspath(output),
        None if cluster is not None else checkpoint,  # type: ignore[arg-type]  # the plan checks it
        False if reading is not None and reading.tail else shuffle,
        None if memory is None else memory_size(memory),
        learn_holdout,
        level,
        groups,
    )
    arguments = (source, target, weight, how, request, plan, resume)
    if cluster is not None:
        # Imported here because distributed training itself imports this package.
        in_rounds = importlib.import_module("unitless.cluster.request")
        with notebook_bar.watching(progress) as watch:
            result: TrainResult = in_rounds.run(arguments, cluster, checkpoint, watch)
        return result
    training = Training(Setup.of(*arguments))
    with notebook_bar.watching(progress) as watch:
        notebook_bar.opened(watch, training)
        return training.go(watch, Fit if training.fitted else Stream)
