"""The metrics, one record each: what a row adds to it, for which tasks it is, how it is reported.

To add a metric, add its record to `METRICS`; evaluation, model files and the command line follow. Most are means of
what each row adds (`each`); others are made of what is counted besides (`found`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..inputs import Float64
from ..losses import Loss
from .rows import LEAST_SHARE, BinaryRows, ClassRows, total


def _never(loss: Loss, task: str) -> bool:
    return False


def _always(loss: Loss, task: str) -> bool:
    return True


def _is_no_metric(loss: Loss, task: str) -> bool:
    """Whether a training loss is none of the metrics: squared error is, and so is log loss."""
    return not (loss.is_squared_error if task == "regression" else loss.link.gives_probabilities)


@dataclass(frozen=True)
class Found:
    """What is known once rows have been counted, besides the means of the sums."""

    squared_error: float = math.nan  # of numbers, its mean
    variance: float = math.nan  # of the labels that are numbers
    area: float = math.nan  # of two classes, that under the ROC curve
    hits: float = math.nan  # of two classes, the weight of rows that are positive and predicted so
    predicted: float = math.nan  # the weight of rows that are predicted to be positive
    positive: float = math.nan  # the weight of rows that are positive


@dataclass(frozen=True)
class Metric:
    """A metric: what rows add to it, where it applies, and how it is reported."""

    name: str
    tasks: tuple[str, ...]
    each: Callable[[Any], Float64] | None  # what rows (of its tasks) add to its sum; None: it is not a mean over rows
    found: Callable[[Found], float] | None = None  # then: what it is
    total: str = ""  # what its sum is called in states of evaluations; its own name if not given
    finish: Callable[[float], float] = float  # from the mean to the metric
    of_probabilities: bool = False  # only for losses whose scores stand for probabilities
    is_loss: Callable[[Loss, str], bool] = _never  # where the mean is that of the loss, there is no sum of its own
    reported: Callable[[Loss, str], bool] = _always  # whether people see it; it is counted in any case
    smaller_is_better: bool = True
    is_share: bool = False  # shown in percent
    hidden: tuple[str, ...] = ()  # for which tasks it is only shown if asked for, because another one says the same
    about: str = ""  # what it is, for people who have not met it

    def summed(self, loss: Loss, task: str) -> str:
        """The sum whose mean it is made of; nothing if it is not made of a mean."""
        if self.each is None:
            return ""
        return "loss" if self.is_loss(loss, task) else self.total or self.name


def ratio(part: float, whole: float) -> float:
    """A share of something; not a number if there is nothing."""
    return part / whole if whole else math.nan


def _brier(rows: BinaryRows | ClassRows) -> Float64:
    if isinstance(rows, BinaryRows):
        distance = rows.judge._link(rows.p) - rows.truth
        return np.asarray(distance * distance)
    difference = rows.shares.copy()
    difference[rows.own] = rows.share_of_own[rows.known] - 1.0
    difference *= difference
    return np.asarray(total(difference.reshape(rows.scores.shape)) + ~rows.known)


METRICS = (
    Metric(
        "loss",
        ("regression", "binary", "classes"),
        lambda rows: rows.loss,
        reported=_is_no_metric,
        about="what training minimizes",
    ),
    Metric(
        "accuracy",
        ("binary", "classes"),
        lambda rows: rows.wrong,
        total="error_rate",
        finish=lambda mean: 1.0 - mean,
        smaller_is_better=False,
        is_share=True,
        about="the share of rows that are predicted correctly",
    ),
    Metric(
        "error_rate",
        ("binary", "classes"),
        lambda rows: rows.wrong,
        is_share=True,
        hidden=("binary", "classes"),  # accuracy is shown
        about="the share of rows that are predicted incorrectly",
    ),
    Metric(
        "log_loss",
        ("binary", "classes"),
        lambda rows: -np.log(np.maximum(rows.share_of_own, LEAST_SHARE)),
        of_probabilities=True,
        is_loss=lambda loss, task: task == "binary",
        about="how surprising the truth was, by the probabilities that were given",
    ),
    Metric(  # Σ(share - hit)²; of two classes mostly by the core
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
    # Of the positive class; a row is predicted to be positive if its score is above 0.
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
        lambda rows: rows.error * rows.error,
        total="squared",
        finish=math.sqrt,
        is_loss=lambda loss, task: loss.is_squared_error,
        about="the root of the mean squared error, in the target's unit",
    ),
    Metric(
        "mae", ("regression",), lambda rows: rows.error, total="absolute", about="the mean error, in the target's unit"
    ),
    Metric(
        "mse",
        ("regression",),
        lambda rows: rows.error * rows.error,
        total="squared",
        is_loss=lambda loss, task: loss.is_squared_error,
        hidden=("regression",),  # rmse is shown
        about="the mean squared error",
    ),
    Metric(  # what part of the labels' variance is explained; not a number if they do not vary
        "r2",
        ("regression",),
        None,
        lambda found: 1 - ratio(found.squared_error, found.variance),
        smaller_is_better=False,
        about="what part of the target's variance is explained",
    ),
)

CORE_SUMS = ("loss", "error_rate", "brier")
"""The sums that the core adds up by itself, for two classes with probabilities."""


def of(task: str, loss: Loss) -> list[Metric]:
    """The metrics of a task and a loss, in the order in which they are reported."""
    return [
        metric
        for metric in METRICS
        if task in metric.tasks and (loss.link.gives_probabilities or not metric.of_probabilities)
    ]


def reported(task: str, loss: Loss) -> list[str]:
    """The names of the metrics that people see, in order."""
    return [one.name for one in of(task, loss) if one.reported(loss, task)]


def sums(task: str, loss: Loss, names: Collection[str] | None = None) -> dict[str, Callable[[Any], Float64]]:
    """What rows add to the sums of some metrics, by the names of the sums, in the order of model files."""
    wanted = [one for one in of(task, loss) if names is None or one.name in names]
    needed = {one.summed(loss, task) for one in wanted}
    each = {one.total or one.name: one.each for one in of(task, loss) if one.each and not one.is_loss(loss, task)}
    order = sorted(each, key=lambda name: task == "classes" and name == "loss")  # there the loss comes last
    return {name: each[name] for name in order if name in needed}


def values(task: str, loss: Loss, means: dict[str, float], found: Found | None) -> dict[str, float]:
    """The metrics, from the means of the sums and what was counted besides; those without either are left out."""
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
    """The mean squared error, from the means of the sums of numbers."""
    return means["loss"] if loss.is_squared_error else means["squared"]


def judged_by(task: str, loss: Loss) -> str:
    """The metric by which models of a task are ranked, if none is asked for."""
    return "error_rate" if task != "regression" else "rmse" if loss.is_squared_error else "loss"
