"""The metrics, one record each: what a row adds to it, the tasks it applies to, and how it is reported.

To add a metric, add its record to `METRICS`; evaluation, model files and the command line use these records. Most
metrics are means of what each row adds (`each`); others are computed from further counts (`found`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from ..inputs import Float64
from ..losses import Loss
from .rows import LEAST_SHARE, BinaryRows, ClassRows, NumberRows, total


def _never(loss: Loss, task: str) -> bool:
    return False


def _always(loss: Loss, task: str) -> bool:
    return True


def _is_no_metric(loss: Loss, task: str) -> bool:
    """Whether a training loss is not among the metrics. The squared error and log loss are among them."""
    return not (loss.is_squared_error if task == "regression" else loss.link.gives_probabilities)


@dataclass(frozen=True)
class Found:
    """What is known after rows have been counted, besides the means of the sums."""

    squared_error: float = math.nan  # for numbers: the mean
    variance: float = math.nan  # for numbers: the variance of the labels
    area: float = math.nan  # for two classes: the area under the ROC curve
    hits: float = math.nan  # for two classes: the weight of true positives
    predicted: float = math.nan  # the weight of rows that are predicted to be positive
    positive: float = math.nan  # the weight of rows that are positive


@dataclass(frozen=True)
class Metric:
    """A metric: what rows add to it, where it applies, and how it is reported."""

    name: str
    tasks: tuple[str, ...]
    each: Callable[[Any], Float64] | None  # the value that each row adds to the sum; None: not a mean over rows
    found: Callable[[Found], float] | None = None  # for a metric that is not a mean: its value
    total: str = ""  # the name of its sum in states of evaluations; default: its own name
    finish: Callable[[float], float] = float  # from the mean to the metric
    of_probabilities: bool = False  # only for losses whose scores stand for probabilities
    is_loss: Callable[[Loss, str], bool] = _never  # whether it is the training loss; then it has no sum of its own
    reported: Callable[[Loss, str], bool] = _always  # whether it is reported; it is counted in any case
    smaller_is_better: bool = True
    # tasks for which it is reported only on request, because another metric has the same information
    hidden: tuple[str, ...] = ()
    about: str = ""  # a short explanation for users

    def summed(self, loss: Loss, task: str) -> str:
        """The name of the sum whose mean gives this metric; empty if it is not a mean."""
        if self.each is None:
            return ""
        return "loss" if self.is_loss(loss, task) else self.total or self.name


def ratio(part: float, whole: float) -> float:
    """part/whole; NaN if whole is 0."""
    return part / whole if whole else math.nan


def _brier(rows: BinaryRows | ClassRows) -> Float64:
    if isinstance(rows, BinaryRows):
        distance = rows.judge._link(rows.p) - rows.truth
        return np.asarray(distance * distance)
    difference = rows.shares.copy()
    difference[rows.own] = rows.share_of_own[rows.known] - 1.0
    difference *= difference
    return np.asarray(total(difference.reshape(rows.scores.shape)) + ~rows.known)


def _surprise(rows: ClassRows) -> Float64:
    return np.asarray(-np.log(np.maximum(rows.share_of_own, LEAST_SHARE)))


def _squared_error(rows: NumberRows) -> Float64:
    return np.asarray(rows.error * rows.error)


# Results are pickled with the functions of their sums, so these have names.
METRICS = (
    Metric(
        "loss",
        ("regression", "binary", "classes"),
        attrgetter("loss"),
        reported=_is_no_metric,
        about="what training minimizes",
    ),
    Metric(
        "accuracy",
        ("binary", "classes"),
        attrgetter("wrong"),
        total="error_rate",
        finish=lambda mean: 1.0 - mean,
        smaller_is_better=False,
        about="the share of rows that are predicted correctly",
    ),
    Metric(
        "error_rate",
        ("binary", "classes"),
        attrgetter("wrong"),
        hidden=("binary", "classes"),  # accuracy is reported instead
        about="the share of rows that are predicted incorrectly",
    ),
    Metric(
        "log_loss",
        ("binary", "classes"),
        _surprise,
        of_probabilities=True,
        is_loss=lambda loss, task: task == "binary",
        about="how surprising the truth was, by the probabilities that were given",
    ),
    Metric(  # Σ(share - hit)²; for two classes mostly computed by the core
        "brier",
        ("binary", "classes"),
        _brier,
        of_probabilities=True,
        about="how far the probabilities are from what was true, squared",
    ),
    Metric(  # see ranking.py
        "auc",
        ("binary",),
        None,
        lambda found: found.area,
        smaller_is_better=False,
        about="how often a positive row scores above a negative one",
    ),
    # Metrics of the positive class; a row is predicted to be positive if its score is above 0.
    Metric(
        "precision",
        ("binary",),
        None,
        lambda found: ratio(found.hits, found.predicted),
        smaller_is_better=False,
        about="of the rows predicted to be positive, how many are",
    ),
    Metric(
        "recall",
        ("binary",),
        None,
        lambda found: ratio(found.hits, found.positive),
        smaller_is_better=False,
        about="of the rows that are positive, how many were predicted so",
    ),
    Metric(
        "f1",
        ("binary",),
        None,
        lambda found: ratio(2 * found.hits, found.predicted + found.positive),
        smaller_is_better=False,
        about="between precision and recall: their harmonic mean",
    ),
    Metric(
        "rmse",
        ("regression",),
        _squared_error,
        total="squared",
        finish=math.sqrt,
        is_loss=lambda loss, task: loss.is_squared_error,
        about="the root of the mean squared error, in the target's unit",
    ),
    Metric(
        "mae",
        ("regression",),
        attrgetter("error"),
        total="absolute",
        about="the mean absolute error, in the target's unit",
    ),
    Metric(
        "mse",
        ("regression",),
        _squared_error,
        total="squared",
        is_loss=lambda loss, task: loss.is_squared_error,
        hidden=("regression",),  # rmse is reported instead
        about="the mean squared error",
    ),
    Metric(  # the share of the labels' variance that is explained; NaN if the labels do not vary
        "r2",
        ("regression",),
        None,
        lambda found: 1 - ratio(found.squared_error, found.variance),
        smaller_is_better=False,
        about="what part of the target's variance is explained",
    ),
)

CORE_SUMS = ("loss", "error_rate", "brier")
"""The sums that the core computes, for two classes with probabilities."""


def of(task: str, loss: Loss) -> list[Metric]:
    """The metrics of a task and a loss, in the order in which they are reported."""
    return [
        metric
        for metric in METRICS
        if task in metric.tasks and (loss.link.gives_probabilities or not metric.of_probabilities)
    ]


def reported(task: str, loss: Loss) -> list[str]:
    """The names of the reported metrics, in order."""
    return [one.name for one in of(task, loss) if one.reported(loss, task)]


def sums(task: str, loss: Loss, names: Collection[str] | None = None) -> dict[str, Callable[[Any], Float64]]:
    """Each sum's function of a row, by the name of the sum, in the order of model files."""
    wanted = [one for one in of(task, loss) if names is None or one.name in names]
    needed = {one.summed(loss, task) for one in wanted}
    each = {one.total or one.name: one.each for one in of(task, loss) if one.each and not one.is_loss(loss, task)}
    order = sorted(each, key=lambda name: task == "classes" and name == "loss")  # for classes the loss comes last
    return {name: each[name] for name in order if name in needed}


def values(task: str, loss: Loss, means: dict[str, float], found: Found | None) -> dict[str, float]:
    """The metrics, from the means of the sums and the further counts; metrics without either are left out."""
    result = {}
    for one in of(task, loss):
        if not one.reported(loss, task):
            continue
        if one.found is not None and found is not None:
            result[one.name] = one.found(found)
        elif (summed := one.summed(loss, task)) in means:
            result[one.name] = one.finish(means[summed])
    return result


def squared_error(loss: Loss, means: dict[str, float]) -> float:
    """The mean squared error, from the means of the sums for numbers."""
    return means["loss"] if loss.is_squared_error else means["squared"]


def judged_by(task: str, loss: Loss) -> str:
    """The metric by which models of a task are ranked by default."""
    return "error_rate" if task != "regression" else "rmse" if loss.is_squared_error else "loss"
