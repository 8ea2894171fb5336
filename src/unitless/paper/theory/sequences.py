"""Sequences that are difficult for the learners of the analysis."""

from __future__ import annotations

import numpy as np

from ...inputs import Float64

KINDS = ("random", "signs", "alternating", "one-sided", "heavy", "late", "growing", "sparse")


def sequence(seed: int, labels: str = "slopes") -> tuple[Float64, Float64]:
    """Inputs in extreme units and labels; the kinds alternate, so that a range of seeds contains all kinds."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    T, d = int(rng.integers(1, 24)), int(rng.integers(1, 5))
    Z, y = rng.uniform(-1, 1, size=(T, d)), rng.normal(size=T)
    if kind == "signs":
        Z, y = rng.choice([-1.0, 1.0], size=(T, d)), rng.choice([-1.0, 1.0], size=T)
    elif kind == "alternating":
        Z, y = np.ones((T, d)), np.where(np.arange(T) % 2 == 0, 1.0, -1.0)
    elif kind == "one-sided":
        Z, y = rng.uniform(0.5, 1, size=(T, d)), np.ones(T)
    elif kind == "heavy":
        y = rng.standard_cauchy(size=T)
    elif kind == "late":  # the large gradients come when little is left to learn from them
        y = rng.choice([-1.0, 1.0], size=T) * 2.0 ** np.arange(T)
    elif kind == "growing":
        Z = Z * (2.0 ** rng.uniform(0, 1, size=d)) ** np.arange(T)[:, None]
    elif kind == "sparse":
        Z = np.where(rng.random(Z.shape) < 0.7, 0.0, Z)
    if labels == "classes":
        y = np.where(y > 0, 1.0, -1.0)
    return Z * 10.0 ** rng.uniform(-6, 6, size=d), y


def equal_signs(d: int, T: int, sums: list[int]) -> Float64:
    """A (T, d) matrix of ±1 whose columns have the given sums."""
    columns = []
    for total in sums:
        ups = (T + total) // 2
        columns.append(np.concatenate([np.ones(ups), -np.ones(T - ups)]))
    return np.array(columns).T
