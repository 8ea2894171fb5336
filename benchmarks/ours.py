"""Passes of unitless, each of which runs in a separate process."""

from __future__ import annotations

from typing import Any

import numpy as np
from data import Store
from passes import Pass

import unitless as ul

CLASSES = range(1, 8)
AUTOMATIC = {"learning_rate": "auto", "center": True}
DEFAULTS = {
    **AUTOMATIC,
    "falling_scales": True,
    "ensemble": True,
}  # the defaults of `train` and the estimators for a stream


def log_loss(scores: np.ndarray, y: np.ndarray) -> float:
    """The mean logistic loss of scores for labels that are true or false."""
    return float(np.logaddexp(0.0, np.where(y, -scores, scores)).mean())


def learn(store: Store, kind: str = "dense", **options: Any) -> Pass:
    """Two classes; every row is predicted, then learned."""
    X, y = store.two_classes(kind)

    def run() -> np.ndarray:
        return ul.Learner(loss="logistic", **options).learn(X, y)

    return Pass(run, len(y), lambda: log_loss(run(), y))


def predict(store: Store, kind: str = "dense", **options: Any) -> Pass:
    """Predict every row without learning."""
    X, y = store.two_classes(kind)
    model = ul.Learner(loss="logistic", **options)
    model.learn(X, y)
    return Pass(lambda: model.predict(X), len(y))


def sweep(store: Store, rates: int = 16) -> Pass:
    """Learn with rates from e^-4.8 to e^4.8; the loss is that of the best rate."""
    X, y = store.two_classes("dense")
    grid = np.exp(9.6 / rates * (np.arange(rates) - rates // 2)).tolist()

    def run() -> ul.Sweep:
        model = ul.Sweep(grid, loss="logistic")
        model.learn(X, y)
        return model

    return Pass(run, len(y), lambda: float(run().losses.min()))


def classify(store: Store, kind: str = "OneVsAll", **options: Any) -> Pass:
    """Covertype's seven classes by a model of this kind; the loss is the share of rows with a wrong class."""
    X, classes = store.covertype()

    def run() -> np.ndarray:
        return getattr(ul, kind)(CLASSES, **options).learn(X, classes)

    return Pass(run, len(classes), lambda: float(np.mean(1 + run().argmax(axis=1) != classes)))


def predict_classes(store: Store) -> Pass:
    X, classes = store.covertype()
    model = ul.OneVsAll(CLASSES, learning_rate=0.5)
    model.learn(X, classes)
    return Pass(lambda: model.predict(X), len(classes))


def merge(store: Store, models: int) -> Pass:
    """Run `ul.merge` on models in which every slot is in use."""
    from merging import taught

    parts = [taught(seed, store.size.hash_bits, "hashed", {"learning_rate": 0.5}) for seed in range(models)]
    return Pass(lambda: ul.merge(parts), 1)
