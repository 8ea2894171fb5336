"""The accuracy of our estimators for River compared with River's own pipelines: part of `make bench`.

Progressive validation over the datasets that come with River, each model with its defaults; datasets that River would
have to download are left out. `run.py` measures their speed (`named`, `named_numbers`).
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterable
from typing import Any

from river import base, datasets, linear_model, metrics, multiclass, preprocessing

from unitless.river import UnitlessClassifier, UnitlessRegressor


def numbers_alone(stream: Iterable[tuple[dict[str, Any], Any]]) -> list[tuple[dict[str, Any], Any]]:
    """The stream in a form that River's linear models can use: times as numbers, without text."""
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
    """Predict each example before it is learned; the first one does not count, because the model knows nothing yet."""
    for number, (x, y) in enumerate(stream):
        if number:
            shares = model.predict_proba_one(x) if isinstance(model, base.Classifier) else None
            label = model.predict_one(x)
            for one in measures:
                one.update(y, label if shares is None or one.requires_labels else shares)
        model.learn_one(x, y)
    return [one.get() for one in measures]


def main() -> None:
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


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
