"""River's slower models, over the first rows of Covertype: its adaptive random forest and its softmax."""

from __future__ import annotations

from typing import Any

import numpy as np
from data import Store
from passes import Pass


def _progressive(model_of: Any, rows: list[dict[int, float]], labels: list[Any]) -> list[dict[Any, float]]:
    """The probabilities that each row gets before it is learned."""
    model, shares = model_of(), []
    for row, label in zip(rows, labels, strict=True):
        shares.append(model.predict_proba_one(row))
        model.learn_one(row, label)
    return shares


def _mappings(X: np.ndarray) -> list[dict[int, float]]:
    """Rows in River's form."""
    return [dict(enumerate(values)) for values in X.tolist()]


def forest(store: Store) -> Pass:
    """Two classes; the loss is the log loss."""
    from river.forest import ARFClassifier

    X, y = store.two_classes("some")
    rows, y = _mappings(X[: store.size.forest_rows]), y[: store.size.forest_rows]

    def run() -> list[dict[Any, float]]:
        return _progressive(lambda: ARFClassifier(seed=1), rows, y.tolist())

    def loss() -> float:
        share = np.array([one.get(bool(label), 0.5) for one, label in zip(run(), y, strict=True)])
        return float(-np.log(np.clip(share, 1e-4, 1.0)).mean())

    return Pass(run, len(y), loss)


def softmax(store: Store) -> Pass:
    """Seven classes, scaled; the loss is the share of errors."""
    from river.linear_model import SoftmaxRegression
    from river.preprocessing import StandardScaler

    X, classes = store.covertype()
    rows, labels = _mappings(X[: store.size.slow_rows]), classes[: store.size.slow_rows].tolist()

    def run() -> list[dict[Any, float]]:
        return _progressive(lambda: StandardScaler() | SoftmaxRegression(), rows, labels)

    def loss() -> float:
        said = [max(one, key=one.__getitem__) if one else None for one in run()]
        return float(np.mean([a != b for a, b in zip(said, labels, strict=True)]))

    return Pass(run, len(labels), loss)
