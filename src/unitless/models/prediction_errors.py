"""Computes the errors of a model's predictions, and prediction intervals and sets from their distribution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from ..inputs import Float64
from ..losses import LOSSES
from .error_quantiles import ErrorQuantiles
from .learner import Learner
from .number_intervals import Limits, NumberIntervals
from .one_vs_all import OneVsAll
from .scored import Scored


def has_errors(model: Learner | OneVsAll) -> bool:
    """Return whether a model can have intervals or sets: it predicts numbers or probabilities."""
    return LOSSES[model.options.loss].link.gives_probabilities or model.task == "regression"


def errors_known(model: Learner | OneVsAll) -> NumberIntervals | ErrorQuantiles:
    """Return what a model knows of its errors; without any row if it stores none."""
    return model._errors or (NumberIntervals() if model.task == "regression" else ErrorQuantiles())


def errors_of(model: Learner | OneVsAll, scored: Scored) -> tuple[Float64, ...]:
    """Return rows as `errors_known` takes them: predicted numbers and labels; for classes the error of each row.

    A class without a score has probability 0.
    """
    if model.task == "regression":
        with np.errstate(over="ignore"):
            return model._link(np.ascontiguousarray(scored.scores[:, 0])), scored.truth
    shares, truth = model._shares(scored.scores), scored.truth.astype(np.intp)
    own = np.zeros(len(shares))
    known = np.flatnonzero(truth < shares.shape[1])
    own[known] = shares[known, truth[known]]
    return (1.0 - own,)


def follow_errors(model: Learner | OneVsAll, scored: Scored) -> None:
    """Update the error quantiles of a model with predictions that were made before their rows were learned.

    Nothing changes if the model cannot have intervals or sets.
    """
    if has_errors(model) and len(scored):
        known: Any = errors_known(model)  # for the same task as `errors_of`
        known.update(*errors_of(model, scored), weight=scored.weight)
        model._errors = known


def hide_unmet(scored: Scored, known: int) -> Scored:
    """Set the scores of new classes to -inf in the rows before the first row of the class.

    So the scores do not depend on how many rows are learned in one call.

    Args:
        scored: rows that were learned in one call; classes have numbers in the order of their first rows.
        known: the number of classes before the call.
    """
    width = scored.scores.shape[1]
    if width == known:
        return scored
    brings = (scored.truth < width) & (True if scored.weight is None else scored.weight != 0)
    met = np.maximum(np.maximum.accumulate(np.where(brings, scored.truth, -1)), known - 1)
    return replace(scored, scores=np.where(np.arange(width) > met[:, None], -np.inf, scored.scores))


def calibrate(model: Learner | OneVsAll, parts: list[Scored]) -> None:
    """Calibrate the intervals or sets of a model with rows that it has not learned."""
    columns = [np.concatenate(column) for column in zip(*(errors_of(model, part) for part in parts), strict=True)]
    weights = [np.ones(len(part)) if part.weight is None else part.weight for part in parts]
    known: Any = errors_known(model)  # for the same task as `errors_of`
    model._errors = known.calibrated(*columns, weight=np.concatenate(weights))


def bounds(model: Learner | OneVsAll | None, numbers: Float64, reach: float) -> Limits:
    """Return the lower and upper limits of prediction intervals; infinite without a model.

    Args:
        model: the model that made the predictions.
        numbers: the predictions.
        reach: the reach of the level; see `KnownErrors`.
    """
    known = NumberIntervals() if model is None else errors_known(model)
    assert isinstance(known, NumberIntervals)
    return known.around(numbers, reach)


def sets_of(shares: Float64, best: NDArray[Any], largest_error: Float64 | float) -> NDArray[np.bool_]:
    """Return a mask of the classes in each row's prediction set.

    Args:
        shares: the probabilities, one column per class.
        best: the predicted class, which is always in the set.
        largest_error: the largest error of a class in the set, for all rows or for each row.
    """
    members = np.asarray(1.0 - shares <= np.reshape(largest_error, (-1, 1)))
    if shares.size:
        members[np.arange(len(shares)), best] = True
    return members


def label_sets(shares: Float64, best: NDArray[Any], largest_error: float, labels: list[Any]) -> list[list[Any]]:
    """Return the prediction set of each row as a list of labels, the most probable first.

    Args:
        shares: the probabilities, one column per class.
        best: the number of the predicted class.
        largest_error: the largest error of a class in the set.
        labels: the labels of the classes.
    """
    members = sets_of(shares, best, largest_error)
    ranked = -shares
    ranked[np.arange(len(shares)), best] = -2.0  # the predicted class is first, also among equals
    order = np.argsort(ranked, axis=1, kind="stable")
    counts = members.sum(axis=1).tolist()
    return [[labels[k] for k in row[:count]] for row, count in zip(order.tolist(), counts, strict=True)]


def quantiles_of(model: Learner | OneVsAll) -> NumberIntervals | ErrorQuantiles:
    """Return the distribution of a model's errors; raise an error that tells why there is none."""
    if not has_errors(model):
        raise OptionError(
            f"asks for sets of classes, which are made of probabilities; {model.options.loss} loss gives none",
            option="level",
        )
    quantiles = errors_known(model)
    if not quantiles.rows and model.examples > 1:  # the very first row has no prediction
        raise OptionError(
            "needs the errors of predictions for rows that the model had not learned; this model stores none",
            option="level",
            advice="train it anew with held-out rows; a merged model stores none",
        )
    return quantiles
