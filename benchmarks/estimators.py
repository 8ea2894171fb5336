"""Our scikit-learn estimators compared with scikit-learn's own, both linear: part of `make bench`.

Five-fold cross-validation of the raw numeric columns, with scikit-learn's own folds (in the order of the files, which
may drift or be sorted) and with shuffled ones. For each fold all estimators are fitted one after another, so that a
slow moment of the machine affects all of them; the time is the median over the fits. The logistic regression is tuned
in hindsight: the best mean accuracy over a grid of C is shown. Needs UNITLESS_DATA, the directory with the datasets.
"""

from __future__ import annotations

import argparse
import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from data import folder_of_datasets, paper_dataset
from passes import seconds_of
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unitless.sklearn import UnitlessClassifier

OURS, SGD = "unitless", "StandardScaler + SGDClassifier"


def peers(seed: int, grid: list[float]) -> dict[str, Callable[[], Any]]:
    makers: dict[str, Callable[[], Any]] = {
        OURS: lambda: UnitlessClassifier(model_type="linear", random_state=seed),
        SGD: lambda: make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=seed)),
    }
    for C in () if seed else grid:  # logistic regression does not depend on the seed
        makers[f"logistic {C:g}"] = lambda C=C: make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=300))
    return makers


def cross_validate(
    X: np.ndarray, y: np.ndarray, shuffle: bool, seeds: int, grid: list[float]
) -> dict[str, tuple[float, float]]:
    """For each estimator: the mean accuracy, and the median time of a fit in seconds."""
    scores: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    folds = StratifiedKFold(5, shuffle=shuffle, random_state=0 if shuffle else None)
    for train, test in folds.split(X, y):
        X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]
        for seed in range(seeds):
            for name, make in peers(seed, grid).items():
                model = make()
                seconds.setdefault(name, []).append(seconds_of(functools.partial(model.fit, X_train, y_train)))
                scores.setdefault(name, []).append(model.score(X_test, y_test))
    return {name: (float(np.mean(scores[name])), float(np.median(seconds[name]))) for name in scores}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["bank", "census", "shuttle", "covertype"])
    parser.add_argument("--every", type=int, default=1, help="take every n-th row only")
    parser.add_argument(
        "--seeds", type=int, default=3, help="number of random orders of the rows; accuracies are means over them"
    )
    parser.add_argument("--grid", type=float, nargs="*", default=[0.01, 1.0, 100.0], help="C of logistic regression")
    options = parser.parse_args()
    if folder_of_datasets() is None:
        sys.exit("estimators.py needs the paper's datasets: set UNITLESS_DATA to their directory")
    warnings.simplefilter("ignore")  # the warning that 300 iterations were not enough for some C
    heads = ("unitless", "scaler + SGD", "tuned logistic", "faster than SGD")
    print(f"{'accuracy; seconds of a fit':32}" + "".join(f"{head:>18}" for head in heads))
    for name in options.sets:
        X, y = paper_dataset(name)
        X, y = X[:: options.every], y[:: options.every]
        for shuffle in (False, True):
            found = cross_validate(X, y, shuffle, options.seeds, options.grid)
            tuned = max((found[peer] for peer in found if peer not in (OURS, SGD)), default=None)
            shown = [f"{score:.2%} {seconds:7.3f}s" for score, seconds in (found[OURS], found[SGD])]
            shown.append("" if tuned is None else f"{tuned[0]:.2%} {tuned[1]:6.2f}s")
            title = f"{name}, folds {'shuffled' if shuffle else 'in order'}"
            faster = found[SGD][1] / found[OURS][1]
            print(f"{title:32}{shown[0]:>18}{shown[1]:>18}{shown[2]:>18}{faster:16.1f} x", flush=True)


if __name__ == "__main__":
    main()
