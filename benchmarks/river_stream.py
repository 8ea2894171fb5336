"""Beside River's own pipelines, one example at a time: how fast, and how good.

Speed: predict, then learn, rows of 20 named features, each peer in its turn, many short rounds (so that a slow moment
of the machine hits all alike); CPU time, the best round of each. Quality: progressive validation over the datasets that
come with River, each model with its defaults; those that River would have to download are left out.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from river import base, datasets, linear_model, metrics, multiclass, preprocessing
from side_by_side import measure, table

import unitless as ul
from unitless.river import UnitlessClassifier, UnitlessRegressor

ROWS, FEATURES = 2_000, 20


def seconds(make: Callable[[], Any], predict: str, rows: list[dict[str, float]], labels: list[Any]) -> float:
    """CPU seconds to predict and learn all rows. The model has met them before, as in mid-stream."""
    model = make()
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
    ask, learn = getattr(model, predict), model.learn_one
    start = time.process_time()
    for x, y in zip(rows, labels, strict=True):
        ask(x)
        learn(x, y)
    return time.process_time() - start


def speed(rounds: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES)) * 10.0 ** rng.integers(-3, 4, size=FEATURES)
    score = X @ (rng.normal(size=FEATURES) / X.std(axis=0)) + rng.normal(size=ROWS)
    names = [f"feature {j}" for j in range(FEATURES)]
    rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    signs, numbers, words = (score > 0).tolist(), score.tolist(), np.where(score > 0, "yes", "no").tolist()

    def two(make: Callable[[], Any], predict: str = "predict_proba_one", labels: list[Any] = signs) -> Any:
        return functools.partial(seconds, make, predict, rows, labels)

    def scaled(model: Any) -> Any:
        return preprocessing.StandardScaler() | model

    one_rate = {"learning_rate": 0.5, "centre": False}
    classification = {
        "unitless": two(UnitlessClassifier),
        "unitless, labels alone": two(UnitlessClassifier, "predict_one"),
        "unitless, one rate": two(lambda: UnitlessClassifier(**one_rate)),
        "unitless, classes=['no', 'yes']": two(lambda: UnitlessClassifier(classes=["no", "yes"]), labels=words),
        "unitless, text labels": two(UnitlessClassifier, labels=words),
        "unitless.Learner, one rate": two(lambda: ul.Learner(loss="logistic"), "predict_one"),
        "River logistic, bare": two(linear_model.LogisticRegression),
        "River scaler | logistic": two(lambda: scaled(linear_model.LogisticRegression())),
    }
    table(f"{FEATURES} named features, two classes: predict, learn", measure(classification, rounds), ROWS)
    regression = {
        "unitless": two(UnitlessRegressor, "predict_one", numbers),
        "unitless, one rate": two(lambda: UnitlessRegressor(target=None, **one_rate), "predict_one", numbers),
        "River linear, bare": two(linear_model.LinearRegression, "predict_one", numbers),
        "River scaler | linear": two(lambda: scaled(linear_model.LinearRegression()), "predict_one", numbers),
    }
    table(f"{FEATURES} named features, regression: predict, learn", measure(regression, rounds), ROWS)


def numbers_alone(stream: Iterable[tuple[dict[str, Any], Any]]) -> list[tuple[dict[str, Any], Any]]:
    """What River's linear models can take: times as numbers, text left out."""
    return [
        (
            {
                name: value.timestamp() if isinstance(value, datetime.datetime) else value
                for name, value in x.items()
                if not isinstance(value, str)
            },
            y,
        )
        for x, y in stream
    ]


def progressive(model: Any, stream: list[tuple[dict[str, Any], Any]], measures: list[Any]) -> list[float]:
    """Each example is predicted before it is learned; the first, before which nothing is known, does not count."""
    for number, (x, y) in enumerate(stream):
        if number:
            shares = model.predict_proba_one(x) if isinstance(model, base.Classifier) else None
            label = model.predict_one(x)
            for one in measures:
                one.update(y, label if shares is None or one.requires_labels else shares)
        model.learn_one(x, y)
    return [one.get() for one in measures]


def quality() -> None:
    print(f"Progressive validation, defaults{'':23}{'unitless':>24}{'River, scaled':>24}")
    for dataset in (datasets.Phishing(), datasets.Bananas()):
        stream = numbers_alone(dataset)
        ours = progressive(UnitlessClassifier(), stream, [metrics.Accuracy(), metrics.LogLoss()])
        theirs = preprocessing.StandardScaler() | linear_model.LogisticRegression()
        line(dataset, "accuracy, log loss", ours, progressive(theirs, stream, [metrics.Accuracy(), metrics.LogLoss()]))
    stream = numbers_alone(datasets.ImageSegments())
    ours = progressive(UnitlessClassifier(), stream, [metrics.Accuracy(), metrics.MacroF1()])
    for name, theirs in (
        ("softmax", linear_model.SoftmaxRegression()),
        ("one vs rest", multiclass.OneVsRestClassifier(linear_model.LogisticRegression())),
    ):
        scaled = preprocessing.StandardScaler() | theirs
        scores = progressive(scaled, stream, [metrics.Accuracy(), metrics.MacroF1()])
        line(datasets.ImageSegments(), f"accuracy, F1 ({name})", ours, scores)
    for dataset in (
        datasets.TrumpApproval(),
        datasets.ChickWeights(),
        datasets.AirlinePassengers(),
        datasets.WaterFlow(),
    ):
        stream = numbers_alone(dataset)
        ours = progressive(UnitlessRegressor(), stream, [metrics.MAE(), metrics.RMSE()])
        theirs = preprocessing.StandardScaler() | linear_model.LinearRegression()
        line(dataset, "MAE, RMSE", ours, progressive(theirs, stream, [metrics.MAE(), metrics.RMSE()]))


def line(dataset: Any, what: str, ours: list[float], theirs: list[float]) -> None:
    print(f"  {type(dataset).__name__:20}{what:31}" + "".join(f"{number:12.4f}" for number in [*ours, *theirs]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    speed(options.rounds)
    quality()


if __name__ == "__main__":
    main()
