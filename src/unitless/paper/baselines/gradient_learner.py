"""The common base of learners that know the losses by their gradients alone."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from ...errors import OptionError
from ...inputs import Float64
from . import losses
from .lanes import Baseline


class GradientLearner(Baseline):
    """A learner that predicts p = w·x with weights from a rule, and gives the rule the gradient g = L'(p) x.

    The analysis of most of these rules needs |L'| ≤ 1. Logistic loss has it. Squared loss has it if labels and
    predictions stay within an interval of length ½: give the interval as `limits`, and L' is taken at the nearest point
    of the interval, which is also what is predicted.

    Args:
        loss: "squared" or "logistic".
        limits: the smallest and the largest prediction. Default: None, no limits.
        classes: see `Baseline`.
        hyperparameters: one for each name, a number or a list.
    """

    def __init__(
        self,
        loss: losses.LossName,
        limits: tuple[float, float] | None,
        classes: int | None,
        **hyperparameters: Float64,
    ) -> None:
        if limits is not None and not limits[0] < limits[1]:
            raise OptionError(f"limits is {limits!r}; it must be a smaller and a larger number")
        self._loss = losses.by_name(loss)
        self.binary = self._loss.binary
        self._limits = limits
        super().__init__(classes, **hyperparameters)

    def weights(self, x: Any) -> Float64:
        """The weights that predict a row, of each lane; changes nothing."""
        row = self._matrix(self._row(x))[0]
        with np.errstate(all="ignore"):
            return np.zeros((self._lanes, len(row))) if self.columns is None else np.asarray(self._weights(row))

    def _lane(self, name: str) -> Float64:
        """A hyperparameter of each lane, as a column."""
        return self._lane_values[name][:, None]

    def _limited(self, p: Float64) -> Float64:
        return p if self._limits is None else np.asarray(np.clip(p, *self._limits))

    def _predict(self, x: Float64) -> Float64:
        return self._limited(self._weights(x) @ x)

    def _learn(self, x: Float64, y: Float64) -> Float64:
        w = self._weights(x)
        p = self._limited(w @ x)
        self._update(x, self._loss.slope(p, y)[:, None], w)
        return p

    _w: Float64
    """The weights of each lane, unless the rule computes them from other things."""

    def _weights(self, x: Float64) -> Float64:
        """The weights of each lane that predict x; changes nothing."""
        return self._w

    @abc.abstractmethod
    def _update(self, x: Float64, slope: Float64, w: Float64) -> None:
        """Learn from x, the slope L'(p) of each lane, as a column, and the weights that predicted."""


def ratio(above: Any, below: Any) -> Float64:
    """The quotient, and 0 where the divisor is 0: a feature that has not been seen has no weight."""
    above, below = np.broadcast_arrays(above, below)
    return np.asarray(np.divide(above, below, out=np.zeros(above.shape), where=below != 0))
