"""The losses of the gradient-based baselines, over many predictions at once.

The losses of `unitless.paper.algorithms`, against whose slopes they are tested; vSGD needs the curvature as
well.
"""

from __future__ import annotations

import abc
from typing import Literal, TypeAlias

import numpy as np

from ...errors import OptionError
from ...inputs import Float64

LossName: TypeAlias = Literal["squared", "logistic", "linear"]


class Loss(abc.ABC):
    """A loss L(p, y), given by its first two derivatives in p."""

    binary: bool

    @abc.abstractmethod
    def slope(self, p: Float64, y: Float64) -> Float64:
        """∂L/∂p."""

    @abc.abstractmethod
    def curvature(self, p: Float64, y: Float64) -> Float64:
        """∂²L/∂p²."""


class Squared(Loss):
    """(p − y)²."""

    binary = False

    def slope(self, p: Float64, y: Float64) -> Float64:
        return 2 * (p - y)

    def curvature(self, p: Float64, y: Float64) -> Float64:
        return np.full_like(p, 2.0)


class Logistic(Loss):
    """log(1 + exp(−yp)), y = ±1."""

    binary = True

    def slope(self, p: Float64, y: Float64) -> Float64:
        return np.asarray(-y / (1 + np.exp(y * p)))  # where exp overflows, the slope is correctly 0

    def curvature(self, p: Float64, y: Float64) -> Float64:
        tail = np.exp(-np.abs(p))
        return np.asarray(tail / (1 + tail) ** 2)


class Linear(Loss):
    """yp: the label is the slope, which an adversary can choose."""

    binary = False

    def slope(self, p: Float64, y: Float64) -> Float64:
        return np.asarray(y + np.zeros_like(p))

    def curvature(self, p: Float64, y: Float64) -> Float64:
        return np.zeros_like(p)


def by_name(name: LossName) -> Loss:
    """The loss with a name."""
    if name == "squared":
        return Squared()
    if name == "logistic":
        return Logistic()
    if name == "linear":
        return Linear()
    raise OptionError(f"loss is {name!r}; it must be 'squared', 'logistic' or 'linear'")
