"""The best linear predictor in hindsight, by a solver: what regret is measured against."""

from __future__ import annotations

import numpy as np

from ...inputs import Float64
from .judge import judge
from .table import Rows

LEAST = 1e-10
"""A penalty on normalized weights, per row, so that separable classes have a best predictor."""

STEPS = 60


def best_linear_loss(rows: Rows) -> float:
    """The loss of the linear predictor, with a constant, that fits all rows best: least squares, or logistic regression
    of each class against the others.
    """
    Z = normalized(rows.X)
    if rows.task == "regression":
        scores = Z @ np.linalg.lstsq(Z, rows.y, rcond=None)[0]
    else:
        labels = [rows.y > 0] if rows.task == "binary" else [rows.y == k for k in range(rows.classes)]
        scores = np.stack([Z @ _logistic(Z, np.where(label, 1.0, -1.0)) for label in labels], axis=1)
    return float(judge(rows, scores[:, None] if rows.task != "binary" else scores).losses[0])


def normalized(X: Float64) -> Float64:
    """A column of ones, and each column less its mean, divided by its deviation: the same predictors, well scaled."""
    size = np.abs(X).max(axis=0)
    Z = X / np.where(size > 0, size, 1.0)
    Z = Z - Z.mean(axis=0)
    deviation = Z.std(axis=0)
    return np.hstack([np.ones((len(Z), 1)), Z[:, deviation > 1e-13] / deviation[deviation > 1e-13]])


def _logistic(Z: Float64, y: Float64) -> Float64:
    """Newton's method with halved steps; the loss never grows."""
    w, penalty = np.zeros(Z.shape[1]), LEAST * len(Z) * np.eye(Z.shape[1])

    def total(w: Float64) -> float:
        return float(np.logaddexp(0.0, -y * (Z @ w)).sum() + w @ penalty @ w / 2)

    loss = total(w)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(np.clip(y * (Z @ w), -700, 700)))
        gradient = -(y * p) @ Z + penalty @ w
        hessian = (Z * (p * (1 - p))[:, None]).T @ Z + penalty
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        share = 1.0
        while (new := total(w - share * step)) > loss and share > 1e-9:
            share /= 2
        if not new < loss - 1e-10 * (1 + loss):
            break
        w, loss = w - share * step, new
    return w
