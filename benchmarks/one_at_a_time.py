"""Named rows, predicted and then learned one at a time: `Learner`, River's models, and our estimators for River."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from data import Store
from ours import log_loss
from passes import Pass

import unitless as ul

Make = Callable[[], Any]
Row = dict[str, Any]
Kind = Literal["plain", "NumPy's scalars", "names in any order", "names missing", "new names"]


def _rows(store: Store, kind: Kind) -> tuple[list[Row], list[Any], np.ndarray]:
    """Rows of 20 names with labels; optionally a tenth of the names is missing, or every tenth row has a new name."""
    plain, score = store.named()
    labels: list[Any] = (score > 0).tolist()
    chance = random.Random(0)
    if kind == "NumPy's scalars":
        return [{name: np.float64(x) for name, x in row.items()} for row in plain], list(score > 0), score
    if kind == "names in any order":
        return [dict(chance.sample(list(row.items()), len(row))) for row in plain], labels, score
    if kind == "names missing":
        return [{name: x for name, x in row.items() if chance.random() > 0.1} for row in plain], labels, score
    if kind == "new names":
        return [row if i % 10 else {**row, f"new {i}": 1.0} for i, row in enumerate(plain)], labels, score
    return list(plain), labels, score


def learner(store: Store, kind: Kind = "plain", **options: Any) -> Pass:
    """`ul.Learner`, without River's conventions."""
    rows, labels, score = _rows(store, kind)

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

    return UnitlessClassifier(**{"model_type": "linear", **options})


def our_regressor(**options: Any) -> Any:
    from unitless.river import UnitlessRegressor

    return UnitlessRegressor(**{"model_type": "linear", **options})


def river_classifier(scaled: bool) -> Any:
    from river import linear_model, preprocessing

    model = linear_model.LogisticRegression()
    return preprocessing.StandardScaler() | model if scaled else model


def river_regressor(scaled: bool) -> Any:
    from river import linear_model, preprocessing

    model = linear_model.LinearRegression()
    return preprocessing.StandardScaler() | model if scaled else model


def classes(store: Store, count: int = 7, **options: Any) -> Pass:
    """`ul.OneVsAll`: equally many rows of each class, told apart by the number to predict."""
    rows, score = store.named()
    numbers = np.digitize(score, np.quantile(score, np.arange(1, count) / count))
    labels = numbers.tolist()

    def run() -> list[np.ndarray]:
        model = ul.OneVsAll(range(count), **options)
        predict_one, learn_one, scores = model.predict_one, model.learn_one, []
        for x, y in zip(rows, labels, strict=True):
            scores.append(predict_one(x))
            learn_one(x, y)
        return scores

    def loss() -> float:
        shares = ul.OneVsAll(range(count), **options)._shares(np.array(run()))
        return float(-np.log(shares[np.arange(len(numbers)), numbers]).mean())

    return Pass(run, len(rows), loss)


def _classify(make: Make, rows: list[Any], y: np.ndarray, words: bool, labels: list[Any] | None = None) -> Pass:
    labels = labels or (np.where(y, "yes", "no").tolist() if words else y.tolist())
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


def classify(store: Store, make: Make, words: bool = False, kind: Kind = "plain") -> Pass:
    """predict_proba_one, then learn_one, over rows of 20 names."""
    rows, labels, score = _rows(store, kind)
    return _classify(make, rows, score > 0, words, None if words else labels)


def classify_covertype(store: Store, make: Make) -> Pass:
    """predict_proba_one, then learn_one, over the first rows of Covertype, as mappings."""
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
        with np.errstate(all="ignore"):  # some models diverge
            return math.sqrt(np.mean((np.array(run(), float) - score) ** 2))

    return Pass(run, len(rows), loss)
