"""The update of section 5, w_{t+1} = Π(w_t − A_t⁻¹ g_t), and the record of a run.

>>> import numpy as np
>>> from unitless.paper.theory import Linear, descend
>>> X, y = np.ones((3, 1)), np.array([1.0, -1.0, 1.0])
>>> run = descend(X, y, Linear(), lambda t, G: np.sqrt(G))  # adaptive gradient
>>> run.weights.ravel().round(3).tolist()  # w_1 to w_4
[0.0, -1.0, -0.293, -0.87]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...inputs import Float64
from ..algorithms import Loss
from .ball import Ball
from .losses import truncated_slope

Conditioner: TypeAlias = Callable[[int, Float64], Float64]
"""The diagonal of A_t from t = 0, 1, … and G_i = Σ_{j ≤ t} g_ji², which includes the current gradient."""


@dataclass(frozen=True)
class Run:
    """The record of a run of T rounds over d features; the bounds are functions of it.

    Attributes:
        loss: L.
        x: the inputs, (T, d).
        y: the labels, (T,).
        predictions: ŷ_t as used for the losses: truncated, if requested.
        slopes: g′_t, see `truncated_slope`.
        gradients: g_t = g′_t x_t, (T, d).
        weights: w_1 to w_{T+1}, (T + 1, d).
        conditioners: the diagonals of A_1 to A_T, (T, d).
        losses: L(ŷ_t, y_t).
    """

    loss: Loss
    x: Float64
    y: Float64
    predictions: Float64
    slopes: Float64
    gradients: Float64
    weights: Float64
    conditioners: Float64
    losses: Float64

    @property
    def squares(self) -> Float64:
        """G_i = Σ_t g_ti²."""
        return np.asarray((self.gradients**2).sum(axis=0))


def descend(
    X: Float64,
    y: Float64,
    loss: Loss,
    conditioner: Conditioner,
    balls: Sequence[Ball] | None = None,
    truncate: float | None = None,
) -> Run:
    """Run the update: from w_1 = 0, predict w_t·x_t, take the gradient g_t, and move to Π(w_t − A_t⁻¹ g_t).

    Where the paper is silent: a feature whose gradients are all zero so far is not moved (0/0 → 0).

    Args:
        X: inputs, one in each row.
        y: labels.
        loss: a convex loss of the prediction.
        conditioner: returns the diagonal of A_t; an infinite entry keeps its weight unchanged.
        balls: for each round the ball to project onto, in the norm of A_t. Default: no projection.
        truncate: C, to score predictions truncated to [−C, C], with the gradients of `truncated_slope`.
    """
    T, d = X.shape
    predictions, slopes, losses = np.zeros(T), np.zeros(T), np.zeros(T)
    gradients, conditioners, weights = np.zeros((T, d)), np.zeros((T, d)), np.zeros((T + 1, d))
    limit = np.inf if truncate is None else truncate
    G = np.zeros(d)
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        w = weights[t]
        p = float(w @ x)
        slopes[t] = truncated_slope(loss, p, label, limit)
        predictions[t] = min(max(p, -limit), limit)
        losses[t] = loss.value(predictions[t], label)
        g = slopes[t] * x
        G = G + g**2
        A = conditioner(t, G)
        moved = w - np.where(g != 0, g / np.where(g != 0, A, 1.0), 0.0)
        weights[t + 1] = moved if balls is None else balls[t].project(moved, A)
        gradients[t], conditioners[t] = g, A
    return Run(loss, X, y, predictions, slopes, gradients, weights, conditioners, losses)
