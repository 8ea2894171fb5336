"""Raw data in mixed units: unitless with its defaults, compared with a tuned scikit-learn pipeline.

    python examples/mixed_units.py
    python examples/mixed_units.py --rows 43500

The data is Shuttle (class 1 against the rest), which is bundled: once in its own units, and once with every column
converted to another unit. Both learn from the first three quarters of the rows and are scored on the last quarter.

scikit-learn uses a scaler, and a grid search over penalties and step sizes with 3-fold cross-validation: 24 fits for
8 candidates, each of which reads the data several times. This is the usual way, and a good one if all data fit into
memory. unitless reads each row once, in order, without a scaler and without tuning. The last line, the same search
without the scaler, shows the effect of the scaler. Seconds are the time for both sets of units together.

Needs `pip install unitless scikit-learn`; without scikit-learn the table shows only unitless.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import unitless as ul
from unitless.paper.datasets import load_shuttle

# Factors to other units for the nine columns: meters to feet, seconds to hours, grams to tons, and so on.
OTHER_UNITS = np.array([3.28084, 1 / 3600, 1e-6, 1000.0, 0.0254, 60.0, 1e6, 0.001, 453.59237])

Fit = Callable[[Any, Any], Callable[[Any], Any]]  # from training data to a function that predicts


def fit_unitless(X: Any, y: Any) -> Callable[[Any], Any]:
    """Learn in one pass without any tuning."""
    model = ul.Learner(loss="logistic", learning_rate="auto", center=True)
    model.learn(X, y)
    return lambda rows: model.predict(rows) > 0


def fits_of_scikit_learn() -> dict[str, Fit]:
    """A tuned pipeline, and the same pipeline without the scaler."""
    from sklearn.linear_model import SGDClassifier  # noqa: PLC0415  (an optional dependency)
    from sklearn.model_selection import GridSearchCV  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    grid = {"sgdclassifier__alpha": [1e-6, 1e-5, 1e-4, 1e-3], "sgdclassifier__eta0": [0.01, 0.1]}

    def search(*steps: Any) -> Fit:
        pipeline = make_pipeline(*steps, SGDClassifier(loss="log_loss", learning_rate="adaptive", random_state=0))
        return lambda X, y: GridSearchCV(pipeline, grid, cv=3).fit(X, y).predict

    return {"scikit-learn: scaler, SGD, grid": search(StandardScaler()), "scikit-learn: SGD, grid": search()}


def main() -> None:
    """Fit all models in both sets of units, and print their accuracies."""
    parser = argparse.ArgumentParser(description="compare unitless with a tuned scikit-learn pipeline, on mixed units")
    parser.add_argument(
        "--rows", type=int, default=6000, help="how many of the 43,500 rows to use (default: %(default)s)"
    )
    rows = parser.parse_args().rows

    X, classes = load_shuttle()
    X, y = X[:rows], classes[:rows] == 1
    split = 3 * len(y) // 4
    fits: dict[str, Fit] = {"unitless": fit_unitless}
    try:
        fits |= fits_of_scikit_learn()
    except ImportError:
        print("scikit-learn is not installed (pip install scikit-learn), so only unitless is shown\n")

    print(f"Shuttle: {split:,} rows to learn from, {len(y) - split:,} to evaluate on\n")
    print(f"{'':34}{'own units':>10}{'other units':>14}{'seconds':>10}")
    for name, fit in fits.items():
        start = time.perf_counter()
        accuracies = []
        for data in (X, X * OTHER_UNITS):
            predict = fit(data[:split], y[:split])
            accuracies.append(np.mean(predict(data[split:]) == y[split:]))
        seconds = time.perf_counter() - start
        print(f"{name:34}{accuracies[0]:10.2%}{accuracies[1]:14.2%}{seconds:10.2f}")


if __name__ == "__main__":
    main()
