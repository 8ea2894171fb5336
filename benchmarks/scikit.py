"""Passes of scikit-learn: stochastic gradient descent on rows that were scaled in advance, or with its scaler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from data import Store
from ours import log_loss
from passes import Pass

CHUNK = 1_000  # rows per call of scaler and model; the progressive loss is computed by such chunks


def sgd(**options: Any) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="log_loss", random_state=0, **options)


def scaled(X: Any) -> Any:
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    return (StandardScaler() if isinstance(X, np.ndarray) else MaxAbsScaler()).fit_transform(X)


def _progressive(scores_of_chunk: Callable[[int, int], np.ndarray], y: np.ndarray) -> float:
    """The log loss when each chunk is predicted before it is learned."""
    scores = [scores_of_chunk(first, min(first + CHUNK, len(y))) for first in range(0, len(y), CHUNK)]
    return log_loss(np.concatenate(scores), y)


def pre_scaled(store: Store, kind: str = "dense", *, shuffle: bool = False) -> Pass:
    """One call over rows that were scaled in advance, with statistics of all rows; it makes no predictions."""
    X, y = store.two_classes(kind)
    X = scaled(X)
    sgd()  # so that imports do not count as memory of the pass

    def run() -> Any:
        return sgd(shuffle=shuffle).partial_fit(X, y, classes=[False, True])

    def loss() -> float:
        model = sgd(shuffle=shuffle)

        def chunk(first: int, last: int) -> np.ndarray:
            scores = model.decision_function(X[first:last]) if first else np.zeros(last)
            model.partial_fit(X[first:last], y[first:last], classes=[False, True])
            return scores

        return _progressive(chunk, y)

    return Pass(run, len(y), loss)


def pipeline(store: Store) -> Pass:
    """The usual way for a stream of raw rows: each chunk updates the scaler, is scaled, and is learned."""
    from sklearn.preprocessing import StandardScaler

    X, y = store.two_classes("dense")

    def chunks(scored: bool) -> Callable[[int, int], np.ndarray]:
        scaler, model = StandardScaler(), sgd()

        def chunk(first: int, last: int) -> np.ndarray:
            rows = scaler.partial_fit(X[first:last]).transform(X[first:last])
            scores = model.decision_function(rows) if scored and first else np.zeros(last - first)
            model.partial_fit(rows, y[first:last], classes=[False, True])
            return scores

        return chunk

    def run() -> None:
        chunk = chunks(scored=False)
        for first in range(0, len(y), CHUNK):
            chunk(first, first + CHUNK)

    return Pass(run, len(y), lambda: _progressive(chunks(scored=True), y))


def classes(store: Store) -> Pass:
    """Seven classes, one against all, pre-scaled; the loss is the share of errors."""
    X, classes = store.covertype()
    X = scaled(X)
    labels = np.arange(1, 8)

    def loss() -> float:
        model, wrong = sgd(shuffle=False), 0
        for first in range(0, len(classes), CHUNK):
            rows, truth = X[first : first + CHUNK], classes[first : first + CHUNK]
            wrong += (model.predict(rows) != truth).sum() if first else len(truth)
            model.partial_fit(rows, truth, classes=labels)
        return wrong / len(classes)

    return Pass(lambda: sgd(shuffle=False).partial_fit(X, classes, classes=labels), len(classes), loss)


def predict(store: Store) -> Pass:
    X, y = store.two_classes("dense")
    X = scaled(X)
    model = sgd().partial_fit(X, y, classes=[False, True])
    return Pass(lambda: model.decision_function(X), len(y))
