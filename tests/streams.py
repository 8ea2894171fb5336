"""Streams of examples for the tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from unitless.models.scored import Scored

RULES = ("gd", "ag", "ng", "nag", "snag")
UNIT_FREE = ("ng", "nag", "snag")
LOSSES = ("squared", "logistic", "hinge", "quantile", "poisson")


def same_bits(a: object, b: object) -> bool:
    return np.asarray(a, dtype=np.float64).tobytes() == np.asarray(b, dtype=np.float64).tobytes()


def labels(loss: str, score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noisy = score + 0.3 * rng.normal(size=len(score))
    if loss in ("logistic", "hinge"):
        return np.where(noisy > 0, 1.0, -1.0)
    if loss == "poisson":
        return rng.poisson(np.exp(np.clip(score, -3, 3))).astype(float)
    return noisy


def stream(
    loss: str = "squared",
    rows: int = 300,
    features: int = 11,
    seed: int = 0,
    spread: float = 12.0,
    zeros: float = 0.2,
    growth: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Features with scales from 10^-spread to 10^spread, some zeros, and scales that jump in mid-stream."""
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=(rows, features))
    plain[rng.random(size=plain.shape) < zeros] = 0.0
    score = plain @ (rng.normal(size=features) / np.sqrt(features))
    y = labels(loss, score, rng)
    scale = 10.0 ** np.linspace(-spread, spread, features)
    X = plain * scale
    if growth:
        X[rows // 2 :, ::2] *= 7.3
        if loss != "poisson":  # a score that jumps by thousands is a rate beyond any number
            X[3 * rows // 4 :, 1] *= 1e4
    return X, y


def labeled(model: Any, y: Any, weight: Any = None, offset: Any = None) -> Scored:
    """Labels of rows for baselines, which ignore the scores."""
    scores = np.zeros((len(y), model.heads)) if model.task == "classes" else np.zeros(len(y))
    return replace(Scored.read(model, scores, y, weight), offset=offset)


def signs(rows: int = 400, features: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated features, some absent at first, and the sign of a noisy linear score."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) @ rng.normal(size=(features, features))
    X[rng.random(X.shape) < 0.3] = 0
    X[: rows // 4, -1] = 0
    y = np.where(X @ rng.normal(size=features) + 0.3 * rng.normal(size=rows) > 0, 1.0, -1.0)
    return X, y
