"""The errors of a model's predictions, and the intervals and sets of classes that follow from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from ..inputs import Float64
from ..losses import LOSSES
from .error_quantiles import ErrorQuantiles, KnownErrors
from .learner import Learner
from .number_intervals import Limits, NumberIntervals
from .one_vs_all import OneVsAll
from .scored import Scored


def has_errors(model: Learner | OneVsAll) -> bool:
    """Whether a model's predictions can have intervals or sets: it predicts numbers or gives probabilities."""
    return LOSSES[model.options.loss].link.gives_probabilities or model.task == "regression"


def errors_known(model: Learner | OneVsAll) -> NumberIntervals | ErrorQuantiles:
    """What a model knows of its errors, which may be nothing yet."""
    return model._errors or (NumberIntervals() if model.task == "regression" else ErrorQuantiles())


def errors_of(model: Learner | OneVsAll, scored: Scored) -> tuple[Float64, ...]:
    """Predicted rows in the form that `errors_known` counts: numbers and labels; for classes the error of each row.

    A class that has no score had no probability.
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
    """Bring what a model knows of its errors up to date, by predictions that were made before their rows were learned.

    A model whose predictions have no errors is left as it is.
    """
    if has_errors(model) and len(scored):
        model._errors = errors_known(model)
        model._errors.follow(*errors_of(model, scored), weight=scored.weight)


def hide_unmet(scored: Scored, known: int) -> Scored:
    """Without the scores of classes that joined on the way, in rows before they were met.

    Before a class was met it had no score, however many rows are learned at once.

    Args:
        scored: rows that were learned in one call; classes are numbered in the order in which they joined.
        known: how many classes had joined before.
    """
    width = scored.scores.shape[1]
    if width == known:
        return scored
    brings = (scored.truth < width) & (True if scored.weight is None else scored.weight != 0)
    met = np.maximum(np.maximum.accumulate(np.where(brings, scored.truth, -1)), known - 1)
    return replace(scored, scores=np.where(np.arange(width) > met[:, None], -np.inf, scored.scores))


def calibrate(model: Learner | OneVsAll, parts: list[Scored]) -> None:
    """Calibrate the intervals or sets of a model by rows that it has not learned."""
    columns = [np.concatenate(column) for column in zip(*(errors_of(model, part) for part in parts), strict=True)]
    weights = [np.ones(len(part)) if part.weight is None else part.weight for part in parts]
    model._errors = errors_known(model).calibrated(*columns, weight=np.concatenate(weights))


def bounds(model: Learner | OneVsAll | None, numbers: Float64, reach: float) -> Limits:
    """The limits of the intervals around predicted numbers; infinite without a model.

    Args:
        model: the model that predicted them.
        numbers: the predictions.
        reach: the quantile of its errors.
    """
    known = NumberIntervals() if model is None else errors_known(model)
    assert isinstance(known, NumberIntervals)
    return known.around(numbers, reach)


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


def quantiles_of(model: Learner | OneVsAll) -> KnownErrors:
    """The quantiles of a model's errors, or a message that says why there are none."""
    if not has_errors(model):
        raise OptionError(
            f"asks for sets of classes, which are made of probabilities; {model.options.loss} loss gives none",
            option="level",
        )
    quantiles = errors_known(model)
    if not quantiles.rows and model.examples > 1:  # the first row of all is learned without a prediction
        raise OptionError(
            "needs the errors of predictions for rows that the model had not learned; this model stores none",
            option="level",
            advice="train it anew with held-out rows; a merged model stores none",
        )
    return quantiles
