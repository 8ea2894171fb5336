"""Models with ensemble: the linear member and others, combined by one mixture."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

import unitless as ul

COLUMNS = 6
LABELS = ("low", "middle", "high")

# Options of ensembles of learners of numbers and of two classes.
LEARNERS: list[tuple[str, dict[str, Any]]] = [
    ("snag", {}),
    ("snag", {"learning_rate": "auto", "target": "auto", "average": True}),
    ("snag", {"loss": "logistic", "interactions": [(0, 1)], "bias": False}),
    ("newton", {"clip": "labels"}),
    ("newton", {"learning_rate": "auto", "center": True, "target": "auto", "average": True}),
    ("newton", {"loss": "logistic", "center": True, "interactions": [(0, 1), (2, 3)]}),
    ("newton", {"model_type": "curves", "bias": False}),
    ("newton", {"model_type": "trees", "loss": "logistic", "center": True}),
]
# Options of models of many classes, whose ensemble is "softmax" (sparse data) or "newton".
CLASSIFIERS: list[tuple[str, dict[str, Any]]] = [
    ("softmax", {}),
    ("newton", {"average": True}),
    ("newton", {"classes": LABELS, "center": True}),
    ("newton", {"model_type": "curves"}),
]


def problem(rows: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns of all units, exact in float32. The label depends on the first three."""
    rng = np.random.default_rng(7)
    unit, offset = np.exp(3 * rng.normal(size=COLUMNS)), rng.normal(size=COLUMNS)
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rows, COLUMNS))
    X = ((z + offset) * unit).astype(np.float32).astype(np.float64)
    return X, z[:, 0] - 2 * z[:, 1] + np.abs(z[:, 2]) + 0.3 * rng.normal(size=rows)


def learner(ensemble: str, **options: Any) -> ul.Learner:
    """A learner of numbers or, with logistic loss, of two classes."""
    m = ul.Learner(ensemble=True, **options)
    X, y = problem()
    return _learned(m, ensemble, X, y > 0 if options.get("loss") == "logistic" else y)


def of_classes(ensemble: str, **options: Any) -> ul.OneVsAll:
    """A learner of three classes."""
    X, y = problem()
    m = ul.OneVsAll(ensemble=True, **options)
    return _learned(m, ensemble, X, np.array(LABELS)[np.digitize(y, [-0.5, 1.5])])


def _learned(m: Any, ensemble: str, X: np.ndarray, y: np.ndarray) -> Any:
    m.learn(X if ensemble == "newton" else scipy.sparse.csr_matrix(X), y)
    assert m.ensemble == ensemble
    if m.options.average:
        m.keep("averaged")
    return m
