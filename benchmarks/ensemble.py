"""The gain from the other members of an ensemble: second order, softmax and sNAG in one mixture.

    UNITLESS_DATA=DIRECTORY python benchmarks/ensemble.py [NAME ...] [--classes] [--fit] [--model-type TYPE] [--rows N]

Progressive losses of `ensemble=False` and `ensemble=True`, with defaults otherwise: numeric columns as arrays, in the
order of the file and shuffled (at most 30,000 rows). Scores are the error and the log loss, or the squared error
divided by the square of the labels' range, without the first row. `--classes`: all classes of a table, one-vs-all
alone, softmax alone and all together. `--fit`: five folds, our scikit-learn estimators with their defaults except that
they are linear and use one pass, and a tuned multinomial LogisticRegression after a StandardScaler.
"""

from __future__ import annotations

import argparse
import math
import os
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from model_type_tables import ALL_CLASSES, NUMBERS, Rows, Table
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unitless as ul
from unitless.sklearn import UnitlessClassifier

# The goals for ensembles of linear models, on rows in the order of the file.
GOALS = {
    "shuttle 1/rest": ("error", 0.031),
    "covertype 2/rest": ("error", 0.040),
    "census": ("error", 0.0542),
    "beijing_pm25": ("loss", 6.2e-4),
    "msd sample": ("loss", 0.0132),
}
FIT_ROWS = 60_000  # the largest number of rows of a table in five folds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of tables")
    parser.add_argument("--classes", action="store_true", help="all classes of a table")
    parser.add_argument("--fit", action="store_true", help="five folds, next to scikit-learn")
    parser.add_argument("--model-type", default="linear")
    parser.add_argument("--rows", type=int, help="at most so many rows of a table")
    parser.add_argument("--orders", nargs="+", choices=["file", "shuffled"], default=["file", "shuffled"])
    given = parser.parse_args()
    folder = os.environ.get("UNITLESS_DATA")
    if folder is None:
        sys.exit("ensemble.py needs tables: set UNITLESS_DATA to their directory")
    data = pathlib.Path(folder)
    if given.fit:
        fits(data, given.names)
        return
    tables = ALL_CLASSES if given.classes else NUMBERS
    unknown = set(given.names) - set(tables)
    if unknown:
        sys.exit(f"there is no table {sorted(unknown)[0]!r}; there are {', '.join(tables)}")
    changes: list[float] = []
    for name in given.names or tables:
        for order in given.orders:
            rows = _rows(tables[name], name, data, order, given.rows)
            if given.classes:
                of_classes(rows, given.model_type)
            else:
                changes.append(of_numbers(rows, given.model_type))
    if changes:
        mean = math.exp(sum(map(math.log, changes)) / len(changes))
        print(f"\nloss with members over loss without: geometric mean {mean:.3f}, worst {max(changes):.3f}")


def _rows(table: Table, name: str, folder: pathlib.Path, order: str, most: int | None) -> Rows:
    rows = table.rows(name, folder, None if order == "file" else 0)
    return rows if most is None else rows.first(most)


def of_numbers(rows: Rows, model_type: str) -> float:
    """Measure one table of numbers or two classes; return the ratio of the losses."""
    found: dict[bool, dict[str, float]] = {}
    for ensemble in (False, True):
        start = time.perf_counter()
        found[ensemble] = rows.score(_learner(rows, model_type, ensemble).learn(rows.X, rows.y))
        found[ensemble]["time"] = 1e6 * (time.perf_counter() - start) / len(rows)
    before, after = found[False], found[True]
    parts = [f"{key} {before[key]:.4g} → {after[key]:.4g}" for key in ("error", "loss") if key in before]
    said = f"{rows.table}, {rows.order}: {', '.join(parts)} ({after['loss'] / before['loss']:.3f})"
    said += f", {before['time']:.1f} → {after['time']:.1f} µs a row"
    if rows.order == "file" and rows.table in GOALS and model_type == "linear":
        key, goal = GOALS[rows.table]
        said += f"; goal {goal:g}: {'reached' if after[key] <= goal else 'NOT reached'}"
    print(said, flush=True)
    return after["loss"] / before["loss"]


def _learner(rows: Rows, model_type: Any, ensemble: bool) -> ul.Learner:
    if rows.classes:
        return ul.Learner(loss="logistic", learning_rate="auto", center=True, model_type=model_type, ensemble=ensemble)
    return ul.Learner(learning_rate="auto", target="auto", center=True, model_type=model_type, ensemble=ensemble)


def of_classes(rows: Rows, model_type: Any) -> None:
    """Measure one-vs-all alone, softmax alone, and both together."""
    made: dict[str, Callable[[], Any]] = {
        "one-vs-all": lambda: ul.OneVsAll(range(rows.classes), center=True, model_type=model_type),
        "softmax": lambda: ul.Softmax(range(rows.classes), center=True, model_type=model_type),
        "together": lambda: ul.OneVsAll(range(rows.classes), center=True, model_type=model_type, ensemble=True),
    }
    parts = []
    for name, make in made.items():
        start = time.perf_counter()
        model = make()
        shares = model._shares(model.learn(rows.X, rows.y))
        took = 1e6 * (time.perf_counter() - start) / len(rows)
        score = rows.score(np.log(np.maximum(shares, 1e-15)))
        parts.append(f"{name} {score['error']:.4f}/{score['loss']:.4f} ({took:.1f} µs)")
    print(f"{rows.table}, {rows.order}: {', '.join(parts)}", flush=True)


def fits(folder: pathlib.Path, names: list[str]) -> None:
    """Accuracy in five folds, in percent."""
    for name, (X, y) in _fitted_tables(folder).items():
        if names and name not in names:
            continue
        ours, solver = [], []
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            model = UnitlessClassifier(model_type="linear", max_iter=1).fit(X[train], y[train])
            ours.append(model.score(X[test], y[test]))
            tuned = GridSearchCV(
                make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
                {"logisticregression__C": [0.01, 0.1, 1.0, 10.0, 100.0]},
                cv=3,
            )
            solver.append(tuned.fit(X[train], y[train]).score(X[test], y[test]))
        print(f"{name}: ours {100 * np.mean(ours):.2f}%, LogisticRegression {100 * np.mean(solver):.2f}%", flush=True)


def _fitted_tables(folder: pathlib.Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    tables = {"shuttle": ALL_CLASSES["shuttle"], "covertype": ALL_CLASSES["covertype"]}
    tables |= {name: NUMBERS[name] for name in ("bank", "census")}
    found = {"digits": load_digits(return_X_y=True)}
    for name, table in tables.items():
        rows = table.rows(name, folder, None)
        chosen = np.random.default_rng(0).permutation(len(rows))[:FIT_ROWS]
        found[name] = rows.X[chosen], rows.y[chosen]
    return found


if __name__ == "__main__":
    main()
