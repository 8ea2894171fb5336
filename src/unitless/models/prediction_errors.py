"""The errors of a model's predictions, of which `ErrorQuantiles` are made; the intervals and sets that they lead to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from ..inputs import Float64
from ..losses import LOSSES
from .error_quantiles import ErrorQuantiles
from .learner import Learner
from .one_vs_all import OneVsAll


def has_errors(model: Learner | OneVsAll) -> bool:
    """Whether a model's predictions can have intervals or sets: it predicts numbers or gives probabilities."""
    loss = LOSSES[model.options.loss]
    return loss.link.gives_probabilities or not (loss.for_classes or isinstance(model, OneVsAll))


def shares_of(model: Learner | OneVsAll, scores: Float64) -> Float64:
    """The probability of each class, a column each; of two classes the positive one comes last."""
    if isinstance(model, OneVsAll):
        return model._shares(scores)
    positive = model._link(scores)
    return np.stack([1.0 - positive, positive], axis=1)


def errors_of(model: Learner | OneVsAll, scores: Float64, truth: NDArray[Any]) -> Float64:
    """The error of each row: scores as the model gives them; labels as numbers, or the numbers of classes.

    A class that has no score had no probability.
    """
    if not isinstance(model, OneVsAll) and not LOSSES[model.options.loss].for_classes:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(np.abs(model._link(scores) - truth))
    shares = shares_of(model, scores)
    return errors_of_shares(shares, truth if isinstance(model, OneVsAll) else (truth > 0).astype(np.intp))


def follow_errors(
    model: Learner | OneVsAll, scores: Float64, truth: NDArray[Any], weight: Float64 | None, skip_first: bool = False
) -> None:
    """Bring what a model knows of its errors up to date, by predictions that were made before their rows were learned.

    Args:
        model: which; a model whose predictions have no errors is left as it is.
        scores: as `learn` gives them.
        truth: as for `errors_of`.
        weight: of the rows.
        skip_first: leave out the first row that has a weight, before which nothing was known of the label's unit.
    """
    if not has_errors(model) or not len(scores):
        return
    if skip_first:
        weight = np.ones(len(scores)) if weight is None else weight.copy()
        weight[int(np.argmax(weight > 0))] = 0.0
    model._errors = model._errors or ErrorQuantiles()
    model._errors.follow(errors_of(model, scores, truth), weight)


def hide_unmet(scores: Float64, numbers: NDArray[Any], weight: Float64 | None, known: int) -> Float64:
    """Scores without those of classes that joined on the way, in rows before they were met.

    Before a class was met it had no score, however many rows are learned at once.

    Args:
        scores: of rows that were learned in one call.
        numbers: the classes of the rows, numbered in the order in which they joined.
        weight: of the rows; one without weight brings no class.
        known: how many classes had joined before.
    """
    width = scores.shape[1]
    if width == known:
        return scores
    met = np.maximum.accumulate(np.where(weight == 0, -1, numbers) if weight is not None else numbers)
    return np.where(np.arange(width) > np.maximum(met, known - 1)[:, None], -np.inf, scores)


def errors_of_shares(shares: Float64, truth: NDArray[np.intp]) -> Float64:
    """The same, by the probabilities of the classes."""
    own = np.zeros(len(shares))
    known = np.flatnonzero(truth < shares.shape[1])
    own[known] = shares[known, truth[known]]
    return 1.0 - own


def bounds(numbers: Float64, reach: float, least: float | None) -> tuple[Float64, Float64]:
    """Both limits of each prediction; `least`: the smallest label that there can be."""
    low, high = numbers - reach, numbers + reach
    return (low if least is None else np.maximum(low, least)), high


def sets_of(shares: Float64, best: NDArray[Any], reach: Float64 | float) -> NDArray[np.bool_]:
    """Which classes are in each row's set.

    Args:
        shares: their probabilities, one column per class.
        best: the class that is predicted, which always is in the set.
        reach: of all rows, or of each.
    """
    members = np.asarray(1.0 - shares <= np.reshape(reach, (-1, 1)))
    if shares.size:
        members[np.arange(len(shares)), best] = True
    return members


def label_sets(shares: Float64, best: NDArray[Any], reach: float, labels: list[Any]) -> list[list[Any]]:
    """The set of each row, likeliest first.

    Args:
        shares: the probabilities of the classes, a column each.
        best: the number of the class that is predicted.
        reach: how large errors are at most.
        labels: of the classes.
    """
    members = sets_of(shares, best, reach)
    ranked = -shares
    ranked[np.arange(len(shares)), best] = -2.0  # what is predicted comes first, though another may be as likely
    order = np.argsort(ranked, axis=1, kind="stable")
    counts = members.sum(axis=1).tolist()
    return [[labels[k] for k in row[:count]] for row, count in zip(order.tolist(), counts, strict=True)]


def quantiles_of(model: Learner | OneVsAll) -> ErrorQuantiles:
    """The quantiles of a model's errors, or a message that says why there are none."""
    if not has_errors(model):
        raise OptionError(
            f"asks for sets of classes, which are made of probabilities; {model.options.loss} loss gives none",
            option="level",
        )
    if model._errors is None or not model._errors.rows:
        raise OptionError(
            "needs a model that knows how large its errors are; this one does not",
            option="level",
            advice="train it anew, with held-out rows; merged models do not know it",
        )
    quantiles: ErrorQuantiles = model._errors
    return quantiles
