"""What each row adds to each metric: one array per name, each row's value the same whatever rows are around it.

Sums over classes are taken one class after another for that reason: NumPy adds up in an order that depends on an
array's shape.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from ..losses import LOSSES
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll

_TINY = float(np.finfo(np.float64).tiny)


def of_numbers(p: Float64, y: Float64, judge: Learner) -> dict[str, Float64]:
    """Loss, squared and absolute error; with squared loss the first two are one."""
    each = {"loss": judge.losses(p, y)}
    error = np.abs(judge.link(p) - y)
    if not LOSSES[judge.options.loss].is_squared_error:
        each["squared"] = error * error
    each["absolute"] = error
    return each


def of_two_classes(p: Float64, positive: NDArray[np.bool_], judge: Learner) -> dict[str, Float64]:
    """Loss and error, of hinge loss; logistic loss is added up in the core."""
    return {"loss": judge.losses(p, positive), "zero_one": np.not_equal(p > 0, positive).astype(np.float64)}


def of_classes(
    scores: Float64, truth: NDArray[np.intp], best: NDArray[np.intp], model: OneVsAll, judge: Learner
) -> dict[str, Float64]:
    """Loss and error; with logistic loss log loss and Brier score of the classes' shares. Scores: one row per class."""
    met = truth < len(scores)  # a class that joins later has no score yet
    rows = np.flatnonzero(met)
    own = truth[rows] * len(truth) + rows  # where each row's own class is
    limited = np.maximum(np.minimum(scores, 700.0), -700.0)  # a class that was not known has minus infinity
    result = {"zero_one": (best != truth).astype(np.float64)}
    loss = LOSSES[model.options.loss]
    if not loss.link.gives_probabilities:
        signs = np.full(scores.size, loss.other_class)
        signs[own] = 1.0
        result["loss"] = total(judge.losses(limited.ravel(), signs).reshape(scores.shape))
        return result
    shares = np.ascontiguousarray(model.shares(limited.T).T).reshape(-1)
    of_own = np.zeros(len(truth))
    of_own[rows] = shares[own]
    result["log_loss"] = -np.log(np.maximum(of_own, _TINY))
    shares[own] = of_own[rows] - 1.0  # Brier's score is Σ(share - hit)²
    shares *= shares
    result["brier"] = total(shares.reshape(scores.shape)) + ~met
    flat = limited.reshape(-1)
    flat[own] = -flat[own]
    result["loss"] = total(logistic(limited))
    return result


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
