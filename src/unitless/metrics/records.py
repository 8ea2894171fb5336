"""The metrics, one record each: what a row adds to it, for which tasks it is, how it is reported.

To add a metric, add its record to `METRICS`; evaluation, model files and the command line follow. Most are means of
what each row adds (`each`); others are made of what is counted besides (`found`).

Each row's value is the same whatever rows are around it. Sums over classes are taken one class after another for that
reason: NumPy adds up in an order that depends on an array's shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from ..losses import LOSSES, Loss
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll

LEAST_SHARE = float(np.finfo(np.float64).eps)
"""The least probability that log loss counts, as scikit-learn does: a class that was never met costs 36 and no more."""


@dataclass
class NumberRows:
    """Rows of numbers: predictions and labels."""

    p: Float64
    y: Float64
    judge: Learner  # which computes the loss

    @cached_property
    def loss(self) -> Float64:
        return self.judge.losses(self.p, self.y)

    @cached_property
    def error(self) -> Float64:
        """The absolute error."""
        return np.asarray(np.abs(self.judge._link(self.p) - self.y))


@dataclass
class BinaryRows:
    """Rows of two classes: scores, and whether each row is of the positive class."""

    p: Float64
    positive: NDArray[np.bool_]
    judge: Learner

    @cached_property
    def loss(self) -> Float64:
        return self.judge.losses(self.p, self.positive)

    @cached_property
    def wrong(self) -> Float64:
        return np.not_equal(self.p > 0, self.positive).astype(np.float64)


@dataclass
class ClassRows:
    """Rows of several classes."""

    scores: Float64  # by class and row
    truth: NDArray[np.intp]  # the number of each row's own class; a class that joins later has no score yet
    best: NDArray[np.intp]  # the class with the largest score
    model: OneVsAll
    judge: Learner

    @cached_property
    def wrong(self) -> Float64:
        return np.not_equal(self.best, self.truth).astype(np.float64)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Whether a row's own class has a score."""
        return np.asarray(self.truth < len(self.scores))

    @cached_property
    def own(self) -> NDArray[np.intp]:
        """Where the scores of the rows' own classes are, among all scores in one dimension."""
        rows = np.flatnonzero(self.known)
        return np.asarray(self.truth[rows] * len(self.truth) + rows)

    @cached_property
    def limited(self) -> Float64:
        """The scores; that of a class that was not known yet is minus infinity."""
        return np.maximum(np.minimum(self.scores, 700.0), -700.0)

    @cached_property
    def shares(self) -> Float64:
        """The probabilities of the classes, in one dimension."""
        return np.ascontiguousarray(self.model._shares(self.limited.T).T).reshape(-1)

    @cached_property
    def share_of_own(self) -> Float64:
        """The probability of each row's own class."""
        result = np.zeros(len(self.truth))
        result[self.known] = self.shares[self.own]
        return result

    @cached_property
    def loss(self) -> Float64:
        """The sum of the losses of the classes' models; of one model of all, its loss."""
        loss = LOSSES[self.model.options.loss]
        if loss.coupled:
            return -np.log(np.maximum(self.share_of_own, LEAST_SHARE))
        if not loss.link.gives_probabilities:
            labels = np.full(self.scores.size, loss.other_class)
            labels[self.own] = 1.0
            return total(self.judge.losses(self.limited.ravel(), labels).reshape(self.scores.shape))
        against = self.limited.copy()
        flat = against.reshape(-1)
        flat[self.own] = -flat[self.own]
        return total(logistic(against))


Rows: TypeAlias = NumberRows | BinaryRows | ClassRows


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
    """What there is to know about a metric."""

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


def ratio(part: float, whole: float) -> float:
    """A share of something; not a number if there is nothing."""
    return part / whole if whole else math.nan


def _brier(rows: BinaryRows | ClassRows) -> Float64:
    if isinstance(rows, BinaryRows):
        distance = rows.judge._link(rows.p) - rows.positive
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


def sums(task: str, loss: Loss) -> dict[str, Metric]:
    """The sums that are kept for a task and a loss, and whose they are, in the order of model files."""
    summed = [one for one in of(task, loss) if one.each is not None and not one.is_loss(loss, task)]
    summed.sort(key=lambda one: task == "classes" and one.name == "loss")  # there the loss comes last
    return {one.total or one.name: one for one in summed}


def each(rows: Rows, task: str, loss: Loss, apart_from: Iterable[str] = ()) -> dict[str, Float64]:
    """What each row adds to each sum."""
    wanted = {name: one.each for name, one in sums(task, loss).items() if name not in apart_from}
    return {name: add(rows) for name, add in wanted.items() if add is not None}


def values(task: str, loss: Loss, means: dict[str, float], found: Found) -> dict[str, float]:
    """The metrics, from the means of the sums and what was counted besides.

    A metric whose sum is not in `means` is left out: a baseline does not compute every metric.
    """
    result = {}
    for one in of(task, loss):
        if not one.reported(loss, task):
            continue
        summed = "loss" if one.is_loss(loss, task) else one.total or one.name
        if one.found is not None:
            result[one.name] = one.found(found)
        elif summed in means:
            result[one.name] = one.finish(means[summed])
    return result


def squared_error(loss: Loss, means: dict[str, float]) -> float:
    """The mean squared error, from the means of the sums of numbers."""
    return means["loss"] if loss.is_squared_error else means["squared"]


def judged_by(task: str, loss: Loss) -> str:
    """The metric by which models of a task are ranked, if none is asked for."""
    return "error_rate" if task != "regression" else "rmse" if loss.is_squared_error else "loss"


def winners(scores: Float64) -> NDArray[np.intp]:
    """The first class with the largest score, for each row; -1 without classes. Scores: one row per class."""
    if not len(scores):
        return np.full(scores.shape[1], -1)
    best, highest = np.zeros(scores.shape[1], dtype=np.int32), scores[0].copy()
    for number, score in enumerate(scores[1:], 1):  # several times as fast as argmax across rows
        np.maximum(best, (score > highest) * np.int32(number), out=best)  # numbers only grow
        np.maximum(highest, score, out=highest)
    return best.astype(np.intp)


def logistic(against: Float64) -> Float64:
    """log(1 + exp(score against the truth)), never overflowing."""
    loss = np.abs(against)
    np.negative(loss, out=loss)
    np.exp(loss, out=loss)
    np.log1p(loss, out=loss)
    loss += np.maximum(against, 0.0)
    return loss


def total(each: Float64) -> Float64:
    """Over classes, in their order."""
    result = np.zeros(each.shape[1:])
    for values in each:
        result += values
    return result
