"""Losses of predictions that were made before each row was learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...inputs import Float64
from .table import Rows

CERTAIN = float(np.log(1e6))
"""Log odds are limited to this, for all learners: no prediction is more certain than one in a million.

A prediction that is not a number costs as much as the worst limited one, and so does every one after it.
"""


@dataclass(frozen=True)
class Judged:
    """Two losses of each of several learners.

    Attributes:
        losses: the mean log loss; for numbers the mean squared error over the squared range of the labels.
        errors: the share of wrong classes; for numbers the same as `losses`. Between 0 and 1, for the test of
            significance.
    """

    losses: Float64
    errors: Float64


def judge(rows: Rows, scores: Float64) -> Judged:
    """Judge the scores of each row: an axis for learners, and for classes another one for the classes.

    Scores are log odds; for numbers they are predictions in the unit of the label.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if rows.task == "regression":
            return _numbers(rows.y, scores)
        limited = np.where(np.isnan(scores), np.nan, np.clip(scores, -CERTAIN, CERTAIN))
        return _binary(rows.y, limited) if rows.task == "binary" else _classes(rows.y, limited)


def _numbers(y: Float64, scores: Float64) -> Judged:
    """The first row is not judged: nothing is known of the labels before it, except to learners that were told."""
    low, high = y.min(), y.max()
    losses = ((np.clip(scores, low, high) - y[:, None]) / (high - low)) ** 2
    mean = _mean(losses[1:], np.isnan(scores)[1:], 1.0)
    return Judged(mean, mean)


def _binary(y: Float64, scores: Float64) -> Judged:
    wrong = np.isnan(scores)
    losses = np.logaddexp(0.0, np.where(y[:, None] > 0, -scores, scores))
    errors = np.asarray((scores > 0) != (y[:, None] > 0), dtype=np.float64)
    return Judged(_mean(losses, wrong, CERTAIN), _mean(errors, wrong, 1.0))


def _classes(y: Float64, scores: Float64) -> Judged:
    """The odds of the classes, scaled so that they add up to 1."""
    wrong = np.asarray(np.isnan(scores).any(axis=2))
    logs = -np.logaddexp(0.0, -scores)
    logs = logs - np.log(np.sum(np.exp(logs), axis=2, keepdims=True))
    true = y.astype(np.intp)
    losses = -np.take_along_axis(logs, true[:, None, None], axis=2)[:, :, 0]
    errors = np.asarray(scores.argmax(axis=2) != true[:, None], dtype=np.float64)
    return Judged(_mean(losses, wrong, CERTAIN), _mean(errors, wrong, 1.0))


def _mean(losses: Float64, wrong: NDArray[np.bool_], worst: float) -> Float64:
    return np.asarray(np.where(np.maximum.accumulate(wrong, axis=0), worst, losses).mean(axis=0))
