"""A stream of dictionaries, learned one at a time: unitless compared with River's own pipelines, in two sets of units.

    pip install 'unitless[river]'
    python examples/streaming_with_river.py

The second set of units has polls as fractions instead of percentages, and seconds instead of days. River's linear
models diverge on such columns or need a scaler, which takes most of the time. unitless does not depend on units, and
has no learning rate to tune.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from river import base, datasets, linear_model, metrics, preprocessing

from unitless.river import UnitlessClassifier, UnitlessRegressor

Stream = Iterable[tuple[dict[str, Any], Any]]


def converted(stream: Stream, factors: dict[str, float]) -> Iterator[tuple[dict[str, Any], Any]]:
    """The stream with some of its columns in other units."""
    for x, y in stream:
        yield {name: value * factors.get(name, 1.0) for name, value in x.items()}, y


def progressive(model: Any, stream: Stream, metric: metrics.base.Metric) -> tuple[float, float]:
    """The metric over predictions made before each example was learned, and microseconds per example."""
    examples = list(stream)
    start = time.perf_counter()
    for number, (x, y) in enumerate(examples):
        prediction = model.predict_one(x)
        if number:  # before the first example the models know nothing
            metric.update(y, prediction)
        model.learn_one(x, y)
    return metric.get(), (time.perf_counter() - start) / len(examples) * 1e6


def contest(
    title: str, stream: Stream, factors: dict[str, float], peers: list[tuple[str, base.Estimator, Any]]
) -> None:
    """Print a table: each model on the data in its own units and in other units."""
    examples = list(stream)
    print(f"{title}: {len(examples):,} examples\n{'':44}{'own units':>12}{'other units':>14}{'µs each':>10}")
    for name, model, metric in peers:
        score, microseconds = progressive(model.clone(), examples, metric())
        other, _ = progressive(model.clone(), converted(examples, factors), metric())
        print(f"  {name:42}{score:12.4g}{other:14.4g}{microseconds:10.1f}")
    print()


def main() -> None:
    """Run both comparisons, and explain one prediction."""
    contest(
        "President's approval, mean absolute error",
        datasets.TrumpApproval(),
        {"gallup": 0.01, "rasmussen": 0.01, "ordinal_date": 86_400.0},
        [
            ("UnitlessRegressor()", UnitlessRegressor(), metrics.MAE),
            ("LinearRegression()", linear_model.LinearRegression(), metrics.MAE),
            (
                "StandardScaler() | LinearRegression()",
                preprocessing.StandardScaler() | linear_model.LinearRegression(),
                metrics.MAE,
            ),
        ],
    )
    contest(
        "Phishing pages, accuracy",
        datasets.Phishing(),
        {"age_of_domain": 365.0, "is_popular": 1e6},
        [
            ("UnitlessClassifier()", UnitlessClassifier(), metrics.Accuracy),
            ("LogisticRegression()", linear_model.LogisticRegression(), metrics.Accuracy),
            (
                "StandardScaler() | LogisticRegression()",
                preprocessing.StandardScaler() | linear_model.LogisticRegression(),
                metrics.Accuracy,
            ),
        ],
    )
    model = UnitlessClassifier()
    for x, y in datasets.Phishing():
        model.learn_one(x, y)
    print(f"Why is this page {model.predict_one(x)}?\n\n{model.debug_one(x, decimals=3)}")


if __name__ == "__main__":
    main()
