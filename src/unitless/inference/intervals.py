"""Predictions with what is known of their errors: intervals of numbers, sets of classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from ..models.prediction_errors import sets_of


class Interval(NamedTuple):
    """A number that is predicted, and between which limits the truth lies with the probability that was asked for."""

    prediction: float
    low: float
    high: float


class LabelSet(NamedTuple):
    """The likeliest label, and all among which the truth lies with the probability asked for, likeliest first."""

    prediction: Any
    set: list[Any]


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
