"""Models with company: experts beside the linear one, under one mixture."""

from __future__ import annotations

from typing import Any

import numpy as np

import unitless as ul

# Columns that are too many for second order, and few enough.
COLUMNS = {"snag": 104, "newton": 6}


def problem(company: str, rows: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns of all units; float32 holds them. The label follows the first three."""
    rng = np.random.default_rng(7)
    columns = COLUMNS[company]
    unit, offset = np.exp(3 * rng.normal(size=columns)), rng.normal(size=columns)
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rows, columns))
    X = ((z + offset) * unit).astype(np.float32).astype(np.float64)
    return X, z[:, 0] - 2 * z[:, 1] + np.abs(z[:, 2]) + 0.3 * rng.normal(size=rows)


def learner(company: str, **options: Any) -> ul.Learner:
    """A learner of numbers or, with logistic loss, of two classes."""
    X, y = problem(company)
    m = ul.Learner(experts="auto", **options)
    m.learn(X, y > 0 if options.get("loss") == "logistic" else y)
    assert m.company == company
    if options.get("average"):
        m.keep("averaged")
    return m


def of_classes(company: str, classes: Any = None, **options: Any) -> ul.OneVsAll:
    """Of three classes."""
    X, y = problem(company)
    m = ul.OneVsAll(classes, experts="auto", **options)
    m.learn(X, np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 1.5])])
    return m
