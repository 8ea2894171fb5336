"""Predictions with what is known of their errors: intervals of numbers, sets of classes."""

from __future__ import annotations

from typing import Any, NamedTuple


class Interval(NamedTuple):
    """A number that is predicted, and between which limits the truth lies with the probability that was asked for."""

    prediction: float
    low: float
    high: float


class LabelSet(NamedTuple):
    """The likeliest label, and all among which the truth lies with the probability asked for, likeliest first."""

    prediction: Any
    set: list[Any]
