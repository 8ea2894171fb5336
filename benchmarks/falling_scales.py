"""Falling scales: their effect on real tables, their cost, and an example of their use.

The tables of `model_type_tables.py`, linear models with the defaults of the high-level learners, in the order of the
files and shuffled, with and without `falling_scales`. Then a column that goes from millimeters to meters in mid-stream.
Needs UNITLESS_DATA, the directory with the datasets.

    python benchmarks/falling_scales.py [--rounds 5] [NAMES ...]
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
from data import folder_of_datasets
from model_type_tables import ALL_CLASSES, NUMBERS, Rows

import unitless as ul


def said(rows: Rows, falling: bool) -> tuple[np.ndarray, float]:
    """The progressive predictions, in the form of `Rows.score`, and the seconds of processor time."""
    options: dict[str, Any] = {"learning_rate": "auto", "center": True, "falling_scales": falling}
    y: Any = np.where(rows.y, 1.0, -1.0) if rows.classes == 2 else rows.y
    if rows.classes == 0:
        model: Any = ul.Learner(target="auto", **options)
    else:
        model = (
            ul.Learner(loss="logistic", **options) if rows.classes == 2 else ul.OneVsAll(range(rows.classes), **options)
        )
    start = time.process_time()
    scores = np.asarray(model.learn(rows.X, y))
    seconds = time.process_time() - start
    if rows.classes > 2:
        logs = -np.logaddexp(0.0, -scores)
        scores = logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)
    return scores, seconds


def tables(names: list[str], rounds: int) -> None:
    folder = folder_of_datasets()
    if folder is None:
        sys.exit("set UNITLESS_DATA to the directory with the datasets")
    print(f"{'progressive loss':32}{'without':>14}{'falling':>14}{'change':>10}{'time':>10}")
    for seed in (None, 0):
        for name, table in {**NUMBERS, **ALL_CLASSES}.items():
            if names and name not in names:
                continue
            rows = table.rows(name, folder, seed)
            seconds: dict[bool, list[float]] = {False: [], True: []}
            for _ in range(rounds):  # taking turns, so that a slow moment hits both
                for falling, own in seconds.items():
                    own.append(said(rows, falling)[1])
            before, after = (rows.score(said(rows, falling)[0])["loss"] for falling in (False, True))
            cost = min(seconds[True]) / min(seconds[False]) - 1
            print(
                f"{f'{name}, {rows.order}':32}{before:14.6g}{after:14.6g}{after / before - 1:10.3%}{cost:10.1%}",
                flush=True,
            )


def story() -> None:
    """A linear stream with noise of variance 0.25, whose first column changes its unit after 30,000 rows."""
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(60_000, 4)) * [3, 2, 3, 0.5] + [5, 0, 0, 1]
    y = plain @ [1, -1, 0.5, 2] + 0.5 * rng.normal(size=len(plain))
    print(f"\n{'mean squared error':32}{'before':>14}{'8,000 rows':>14}{'last 20,000':>14}")
    for title, factor in (("millimeters, then meters", 1000.0), ("meters, then millimeters", 0.001)):
        X = plain.copy()
        X[:30_000, 0] *= factor
        for falling in (False, True):
            model = ul.Learner(learning_rate="auto", target="auto", center=True, falling_scales=falling)
            squares = (model.learn(X, y) - y) ** 2
            parts = (squares[20_000:30_000], squares[30_000:38_000], squares[40_000:])
            shown = "".join(f"{part.mean():14.3f}" for part in parts)
            print(f"{title + (', falling' if falling else ''):32}{shown}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="of tables; all if none is given")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is timed")
    given = parser.parse_args()
    tables(given.names, given.rounds)
    story()
