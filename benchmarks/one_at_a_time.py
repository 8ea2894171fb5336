"""Named rows, predicted and then learned one at a time: `Learner`, River's models, and our estimators for River."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from data import Store
from ours import log_loss
from passes import Pass

import unitless as ul

Make = Callable[[], Any]


def learner(store: Store, **options: Any) -> Pass:
    """`ul.Learner`, without River's conventions."""
    rows, score = store.named()
    labels = (score > 0).tolist()

    def run() -> list[float]:
        model = ul.Learner(loss="logistic", **options)
        predict_one, learn_one, scores = model.predict_one, model.learn_one, []
        for x, y in zip(rows, labels, strict=True):
            scores.append(predict_one(x))
            learn_one(x, y)
        return scores

    return Pass(run, len(rows), lambda: log_loss(np.array(run()), score > 0))


def our_classifier(**options: Any) -> Any:
    from unitless.river import UnitlessClassifier

    return UnitlessClassifier(**{"shape": "linear", **options})


def our_regressor(**options: Any) -> Any:
    from unitless.river import UnitlessRegressor

    return UnitlessRegressor(**{"shape": "linear", **options})


def river_classifier(scaled: bool) -> Any:
    from river import linear_model, preprocessing

    model = linear_model.LogisticRegression()
    return preprocessing.StandardScaler() | model if scaled else model


def river_regressor(scaled: bool) -> Any:
    from river import linear_model, preprocessing

    model = linear_model.LinearRegression()
    return preprocessing.StandardScaler() | model if scaled else model


def _classify(make: Make, rows: list[dict[Any, float]], y: np.ndarray, words: bool) -> Pass:
    labels = np.where(y, "yes", "no").tolist() if words else y.tolist()
    positive = "yes" if words else True
    make()  # so that imports do not count as memory of the pass

    def run() -> list[float]:
        model = make()
        predict_proba_one, learn_one, shares = model.predict_proba_one, model.learn_one, []
        for x, label in zip(rows, labels, strict=True):
            shares.append(predict_proba_one(x).get(positive, 0.5))
            learn_one(x, label)
        return shares

    def loss() -> float:
        share = np.clip(run(), 1e-15, 1 - 1e-15)
        return float(-np.log(np.where(y, share, 1 - share)).mean())

    return Pass(run, len(rows), loss)


def classify(store: Store, make: Make, words: bool = False) -> Pass:
    """predict_proba_one, then learn_one, over rows of 20 names."""
    rows, score = store.named()
    return _classify(make, rows, score > 0, words)


def classify_covertype(store: Store, make: Make) -> Pass:
    """The same over the first rows of Covertype, as mappings."""
    X, y = store.two_classes("dense")
    count = store.size.slow_rows
    return _classify(make, [dict(enumerate(row)) for row in X[:count].tolist()], y[:count], words=False)


def regress(store: Store, make: Make) -> Pass:
    """predict_one, then learn_one, over rows of 20 names; the loss is the root of the mean squared error."""
    rows, score = store.named()
    labels = score.tolist()
    make()

    def run() -> list[float]:
        model = make()
        predict_one, learn_one, predictions = model.predict_one, model.learn_one, []
        for x, label in zip(rows, labels, strict=True):
            predictions.append(predict_one(x))
            learn_one(x, label)
        return predictions

    def loss() -> float:
        with np.errstate(all="ignore"):  # some diverge
            return math.sqrt(np.mean((np.array(run(), float) - score) ** 2))

    return Pass(run, len(rows), loss)
