"""The best linear predictor in hindsight, by a solver: what regret is measured against."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...inputs import Float64
from .judge import judge
from .table import Rows

LEAST = 1e-10
"""A penalty on normalized weights, per row, so that separable classes have a best predictor."""

STEPS = 60


def best_linear_loss(rows: Rows) -> float:
    """The loss of the linear predictor, with a constant, that fits all rows best.

    It is least squares for numbers and logistic regression for two classes. For several classes it is the better one of
    softmax regression and of logistic regressions of each class against the others, as the learners make them.
    """
    Z = normalized(rows.X)
    if rows.task == "regression":
        return _loss(rows, Z @ np.linalg.lstsq(Z, rows.y, rcond=None)[0])
    if rows.task == "binary":
        return _loss(rows, _scores(Z, rows.y > 0))
    each = np.stack([_scores(Z, rows.y == k) for k in range(rows.classes)], axis=1)
    return min(_loss(rows, each), _softmax_loss(Z, rows.y.astype(np.intp), rows.classes))


def normalized(X: Float64) -> Float64:
    """A column of ones, and each column less its mean, divided by its deviation: the same predictors, well scaled."""
    size = np.abs(X).max(axis=0)
    Z = X / np.where(size > 0, size, 1.0)
    Z = Z - Z.mean(axis=0)
    deviation = Z.std(axis=0)
    return np.hstack([np.ones((len(Z), 1)), Z[:, deviation > 1e-13] / deviation[deviation > 1e-13]])


def _loss(rows: Rows, scores: Float64) -> float:
    return float(judge(rows, scores[:, None]).losses[0])


def _scores(Z: Float64, label: NDArray[np.bool_]) -> Float64:
    """The scores of logistic regression."""
    y, penalty = np.where(label, 1.0, -1.0), LEAST * len(Z)

    def total(w: Float64) -> float:
        return float(np.logaddexp(0.0, -y * (Z @ w)).sum() + penalty * w @ w / 2)

    def slopes(w: Float64) -> tuple[Float64, Float64]:
        p = 1 / (1 + np.exp(np.clip(y * (Z @ w), -700, 700)))
        hessian = (Z * (p * (1 - p))[:, None]).T @ Z + penalty * np.eye(len(w))
        return -(y * p) @ Z + penalty * w, hessian

    return np.asarray(Z @ _newton(np.zeros(Z.shape[1]), total, slopes))


def _softmax_loss(Z: Float64, y: NDArray[np.intp], classes: int) -> float:
    """The mean log loss of softmax regression."""
    n, d = Z.shape
    penalty, true = LEAST * n, np.eye(classes)[y]

    def logs(w: Float64) -> Float64:
        scores = Z @ w.reshape(classes, d).T
        scores = scores - scores.max(axis=1, keepdims=True)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))

    def total(w: Float64) -> float:
        return float(-(logs(w) * true).sum() + penalty * w @ w / 2)

    def slopes(w: Float64) -> tuple[Float64, Float64]:
        p = np.exp(logs(w))
        hessian = penalty * np.eye(classes * d)
        for j in range(classes):
            for k in range(j + 1):
                part = (Z * (p[:, j] * ((j == k) - p[:, k]))[:, None]).T @ Z
                hessian[j * d : (j + 1) * d, k * d : (k + 1) * d] += part
                if j != k:
                    hessian[k * d : (k + 1) * d, j * d : (j + 1) * d] += part
        return ((p - true).T @ Z).ravel() + penalty * w, hessian

    w = _newton(np.zeros(classes * d), total, slopes)
    return float(-(logs(w) * true).sum() / n)


def _newton(
    w: Float64, total: Callable[[Float64], float], slopes: Callable[[Float64], tuple[Float64, Float64]]
) -> Float64:
    """Newton's method with halved steps; the total loss never grows."""
    loss = total(w)
    for _ in range(STEPS):
        gradient, hessian = slopes(w)
        step = np.linalg.solve(hessian, gradient)
        share = 1.0
        while (new := total(w - share * step)) > loss and share > 1e-9:
            share /= 2
        if not new < loss - 1e-10 * (1 + loss):
            break
        w, loss = w - share * step, new
    return w
