"""Fits of tables next to LightGBM with its default options: the error on a fifth of the rows, and the processor time.

Both fit the same four fifths of each table with one thread, in turn, in one process: processor time is comparable on a
machine that does other work too. The last line has the geometric means of the ratios.

    python benchmarks/fit_cost.py                       all tables; those with files need UNITLESS_DATA
    python benchmarks/fit_cost.py xor friedman          two tables
    python benchmarks/fit_cost.py --passes              the error of ours after each pass as well
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["UNITLESS_THREADS"] = "1"

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import lightgbm
import model_type_tables
import numpy as np
import sklearn.datasets
from data import folder_of_datasets

from unitless.sklearn import UnitlessClassifier, UnitlessRegressor

Rows = tuple[np.ndarray, np.ndarray]  # labels: numbers for a regression, otherwise integers


def bundled(load: Callable[..., Any], classes: bool) -> Rows:
    X, y = load(return_X_y=True)
    return X, y.astype(int) if classes else y.astype(float)


def friedman(rng: np.random.Generator) -> Rows:
    X = rng.uniform(size=(5_000, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + rng.normal(size=len(y))


def xor(rng: np.random.Generator) -> Rows:
    X = rng.normal(size=(10_000, 10))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0) ^ (rng.random(len(X)) < 0.1)
    return X, y.astype(int)


def steps(rng: np.random.Generator) -> Rows:
    X = rng.uniform(size=(3_000, 8))
    y = np.floor(4 * X[:, 0]) * (X[:, 1] > 0.3) + 2 * (X[:, 2] > 0.6) * (X[:, 3] < 0.5)
    return X, y + 0.3 * rng.normal(size=len(y))


def moons(rng: np.random.Generator) -> Rows:
    """Small and noisy: 300 rows, of whose columns two matter."""
    X, y = sklearn.datasets.make_moons(300, noise=0.3, random_state=int(rng.integers(1000)))
    return np.column_stack([X, rng.normal(size=(300, 4))]), y.astype(int)


def of_file(name: str, most: int, classes: bool = False) -> Rows:
    table = (model_type_tables.ALL_CLASSES if classes else model_type_tables.NUMBERS)[name]
    folder = folder_of_datasets()
    assert folder is not None
    rows = table.rows(name, folder, 0).first(most)
    return rows.X, rows.y.astype(int) if rows.classes else rows.y


TABLES: dict[str, Callable[[np.random.Generator], Rows]] = {
    "moons": moons,
    "breast cancer": lambda _: bundled(sklearn.datasets.load_breast_cancer, True),
    "digits": lambda _: bundled(sklearn.datasets.load_digits, True),
    "diabetes": lambda _: bundled(sklearn.datasets.load_diabetes, False),
    "friedman": friedman,
    "xor": xor,
    "steps": steps,
}
FILES: dict[str, Callable[[np.random.Generator], Rows]] = {
    "bank": lambda _: of_file("bank", 20_000),
    "census": lambda _: of_file("census", 20_000),
    "covertype 2/rest": lambda _: of_file("covertype 2/rest", 30_000),
    "covertype": lambda _: of_file("covertype", 15_000, classes=True),
    "kc_house": lambda _: of_file("kc_house", 20_000),
    "diamonds": lambda _: of_file("diamonds", 20_000),
}


def error(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The share of wrong labels, or the root of the mean squared error."""
    wrong = model.predict(X) != y if y.dtype.kind == "i" else (model.predict(X) - y) ** 2
    return float(np.mean(wrong) if y.dtype.kind == "i" else np.sqrt(np.mean(wrong)))


def timed(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[Any, float]:
    started = time.process_time()
    model.fit(X, y)
    return model, time.process_time() - started


def compare(name: str, make: Callable[[np.random.Generator], Rows], by_pass: bool, seeds: int) -> list[float]:
    errors, seconds = np.zeros((seeds, 2)), np.zeros((seeds, 2))
    passes: list[int] = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X, y = make(rng)
        order = rng.permutation(len(y))
        test, train = order[: len(y) // 5], order[len(y) // 5 :]
        classes = y.dtype.kind == "i"
        own = UnitlessClassifier if classes else UnitlessRegressor
        theirs = (lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor)(n_jobs=1, verbose=-1)
        for k, one in enumerate((own(), theirs)):
            model, seconds[seed, k] = timed(one, X[train], y[train])
            errors[seed, k] = max(error(model, X[test], y[test]), 0.5 / len(test))
            if k == 0:
                passes.append(model.n_iter_)
    ratio, cost = (float(np.exp(np.mean(np.log(one[:, 0] / one[:, 1])))) for one in (errors, seconds))
    (ours, other), (took, others) = errors.mean(axis=0), seconds.mean(axis=0)
    shown = f"{name:18}{len(train):7,}{X.shape[1]:4}{ours:10.4g}{other:10.4g}{ratio:7.3f}{took:9.2f}{others:9.2f}"
    print(f"{shown}{cost:7.2f}  passes: {passes}", flush=True)
    if by_pass:
        for k in (1, 2, 3, 5, 8, 12):
            found = error(own(max_iter=k).fit(X[train], y[train]), X[test], y[test])
            print(f"    {k:2} passes: {found / errors[-1, 1]:.3f}", flush=True)
    return [ratio, cost]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tables = TABLES | (FILES if folder_of_datasets() else {})
    parser.add_argument("tables", nargs="*", choices=[[], *tables], metavar="table", help=f"of {', '.join(tables)}")
    parser.add_argument("--passes", action="store_true", help="the error after each number of passes")
    parser.add_argument("--seeds", type=int, default=1, help="random splits of each table. Default: 1")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    timed(lightgbm.LGBMRegressor(n_jobs=1, verbose=-1), *moons(np.random.default_rng(0)))  # imports are not timed
    timed(UnitlessRegressor(), *moons(np.random.default_rng(0)))
    timed(UnitlessClassifier(), *moons(np.random.default_rng(0)))
    print(f"{'table':25}{'':4}{'error':>10}{'LightGBM':>10}{'ratio':>7}{'CPU s':>9}{'LightGBM':>9}{'ratio':>7}")
    found = [compare(name, tables[name], options.passes, options.seeds) for name in options.tables or tables]
    error_ratio, cost_ratio = np.exp(np.mean(np.log(found), axis=0))
    print(f"{'geometric mean':49}{error_ratio:7.3f}{'':18}{cost_ratio:7.2f}")


if __name__ == "__main__":
    main()
