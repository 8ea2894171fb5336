"""Predicted rows of each task, with the values that metrics are made from: each is computed once, when first needed.

Each row's value does not depend on the rows around it. Sums over classes are therefore taken one class after another:
NumPy adds in an order that depends on an array's shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from ..losses import LOSSES
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored

LEAST_SHARE = float(np.finfo(np.float64).eps)
"""The least probability in log loss, as in scikit-learn: an unknown class costs at most 36."""


@dataclass
class NumberRows:
    """Rows with numeric labels: predictions and labels."""

    p: Float64
    truth: Float64
    judge: Learner  # computes the loss

    @cached_property
    def loss(self) -> Float64:
        return self.judge.losses(self.p, self.truth)

    @cached_property
    def error(self) -> Float64:
        """The absolute error."""
        return np.asarray(np.abs(self.judge._link(self.p) - self.truth))


@dataclass
class BinaryRows:
    """Rows of two classes: scores, and whether each row is of the positive class."""

    p: Float64
    truth: NDArray[np.bool_]
    judge: Learner

    @cached_property
    def loss(self) -> Float64:
        return self.judge.losses(self.p, self.truth)

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        return np.not_equal(self.p > 0, self.truth)


@dataclass
class ClassRows:
    """Rows of several classes."""

    scores: Float64  # by class and row
    truth: NDArray[np.intp]  # the number of each row's own class; a class that joins later has no score yet
    best: NDArray[np.intp]  # the class with the largest score
    model: Learner | OneVsAll
    judge: Learner

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        return np.not_equal(self.best, self.truth)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Whether each row's own class has a score."""
        return np.asarray(self.truth < len(self.scores))

    @cached_property
    def own(self) -> NDArray[np.intp]:
        """The positions of the scores of the rows' own classes, in the flattened scores."""
        rows = np.flatnonzero(self.known)
        return np.asarray(self.truth[rows] * len(self.truth) + rows)

    @cached_property
    def limited(self) -> Float64:
        """The scores; a class that was unknown at prediction time has minus infinity."""
        return np.maximum(np.minimum(self.scores, 700.0), -700.0)

    @cached_property
    def shares(self) -> Float64:
        """The probabilities of the classes, flattened."""
        return np.ascontiguousarray(self.model._shares(self.limited.T).T).reshape(-1)

    @cached_property
    def share_of_own(self) -> Float64:
        """The probability of each row's own class."""
        result = np.zeros(len(self.truth))
        result[self.known] = self.shares[self.own]
        return result

    @cached_property
    def loss(self) -> Float64:
        """The sum of the losses of the one-against-all models; for a softmax, its loss."""
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


class ShareRows(ClassRows):
    """Rows of several classes with probabilities as `scores`; the probabilities of each row add up to 1."""

    @cached_property
    def limited(self) -> Float64:
        return LOSSES[self.model.options.loss].link.inverse(self.scores)

    @cached_property
    def shares(self) -> Float64:
        return self.scores.reshape(-1)


Rows: TypeAlias = NumberRows | BinaryRows | ClassRows


def rows_of(model: Learner | OneVsAll, judge: Learner, scored: Scored) -> Rows:
    """Build rows for the model's task; `judge` computes the loss of single scores."""
    if model.task == "classes":
        scores = np.ascontiguousarray(scored.scores.T)
        return ClassRows(scores, scored.truth, winners(scores), model, judge)
    p = np.ascontiguousarray(scored.scores[:, 0])
    return NumberRows(p, scored.truth, judge) if model.task == "regression" else BinaryRows(p, scored.truth, judge)


def winners(scores: Float64) -> NDArray[np.intp]:
    """The first class with the largest score, for each row; -1 without classes. Scores: one row per class."""
    if not len(scores):
        return np.full(scores.shape[1], -1)
    best, highest = np.zeros(scores.shape[1], dtype=np.int32), scores[0].copy()
    for number, score in enumerate(scores[1:], 1):  # much faster than argmax across rows
        # numbers only grow, so the maximum is the latest winner
        np.maximum(best, (score > highest) * np.int32(number), out=best)
        np.maximum(highest, score, out=highest)
    return best.astype(np.intp)


def logistic(against: Float64) -> Float64:
    """log(1 + exp(x)) without overflow, x being the score with its sign reversed for positive rows."""
    loss = np.abs(against)
    np.negative(loss, out=loss)
    np.exp(loss, out=loss)
    np.log1p(loss, out=loss)
    loss += np.maximum(against, 0.0)
    return loss


def total(each: Float64) -> Float64:
    """Sum over classes, in their order."""
    result = np.zeros(each.shape[1:])
    for values in each:
        result += values
    return result
