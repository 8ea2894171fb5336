"""Predictions with intervals of numbers, or with sets of classes."""

from __future__ import annotations

from typing import Any, NamedTuple


class Interval(NamedTuple):
    """A predicted number, with limits that contain the true value with the requested probability."""

    prediction: float
    low: float
    high: float


class LabelSet(NamedTuple):
    """The most likely label, and the set that contains the true label with the requested probability."""

    prediction: Any
    set: list[Any]
