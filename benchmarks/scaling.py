"""The growth of the time with rows (it must be linear), features, classes and rates.

Each line of a curve is measured in a process of its own, in rounds that go over all its points.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import machine
import numpy as np
from contenders import Loop
from data import STREAM_NONZEROS, Store, zipf_rows
from passes import Pass, Prepare
from rounds import measure

import unitless as ul

partial = functools.partial

STRAIGHT = 1.15  # the largest ratio of times per row, at the end and in the middle of a curve, that is linear


@dataclass(frozen=True)
class Line:
    """One line of a curve: its points, and the function that prepares a point."""

    name: str
    points: list[int]
    prepare: Callable[[Store, int], Pass]
    threads: int | None = None

    def loops(self, curve: str) -> list[Loop]:
        """One loop for each point."""
        loops = []
        for point in self.points:
            prepare: Prepare = partial(_at, prepare=self.prepare, point=point)
            loops.append(Loop(_name(self.name, point), prepare, self.threads, process=f"{curve}, {self.name}"))
        return loops


@dataclass(frozen=True)
class Curve:
    """One picture: the time per row depending on a size."""

    name: str
    label: str
    lines: list[Line]
    per: str = "row"  # or "number": the time per row divided by the numbers in a row


def _name(line: str, point: int) -> str:
    return f"{line}, {point:,}"


def _at(store: Store, prepare: Callable[[Store, int], Pass], point: int) -> Pass:
    return prepare(store, point)


def _repeated(store: Store, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The first rows of Covertype, or all its rows several times."""
    X, y = store.two_classes("dense")
    times = -(-rows // len(y))
    return (X[:rows], y[:rows]) if times == 1 else (np.tile(X, (times, 1))[:rows], np.tile(y, times)[:rows])


def rows(store: Store, point: int) -> Pass:
    X, y = _repeated(store, point)
    return Pass(lambda: ul.Learner(loss="logistic").learn(X, y), point)


def rows_of_scikit(store: Store, point: int) -> Pass:
    from scikit import scaled, sgd

    X, y = _repeated(store, point)
    X = scaled(X)
    return Pass(lambda: sgd(shuffle=False).partial_fit(X, y, classes=[False, True]), point)


def _wide(store: Store, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Random rows; their count is chosen so that the total of numbers does not depend on the number of features."""
    count = max(2, int(2e7 * store.size.scaling) // features)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((count, features), np.float32)
    return X, X[:, 0] > 0


def dense_features(store: Store, point: int) -> Pass:
    X, y = _wide(store, point)
    return Pass(lambda: ul.Learner(loss="logistic").learn(X, y), len(y))


def dense_features_of_numpy(store: Store, point: int) -> Pass:
    X, y = _wide(store, point)
    w = np.ones(point, np.float32)
    return Pass(lambda: X @ w, len(y))


def sparse_features(store: Store, point: int) -> Pass:
    X = zipf_rows(max(100, int(2e4 * store.size.scaling)), point, STREAM_NONZEROS)
    y = np.random.default_rng(1).random(X.shape[0]) < 0.5
    return Pass(lambda: ul.Learner(loss="logistic").learn(X, y), len(y))


def _some(store: Store) -> tuple[np.ndarray, np.ndarray]:
    return _repeated(store, max(500, int(1e5 * store.size.scaling)))


def classes(store: Store, point: int) -> Pass:
    """Synthetic classes: the range of the first column is divided into `point` parts."""
    X, _ = _some(store)
    labels = np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, point) / point))
    return Pass(lambda: ul.OneVsAll(range(point), learning_rate=0.5).learn(X, labels), len(X))


def rates(store: Store, point: int) -> Pass:
    X, y = _some(store)
    grid = np.geomspace(0.01, 10.0, point).tolist()
    return Pass(lambda: ul.Sweep(grid, loss="logistic").learn(X, y), len(X))


def curves(store: Store) -> list[Curve]:
    whole = store.size.covertype_rows
    counts = [count for count in (1_000, 10_000, 100_000) if count < whole] + [whole, 4 * whole]
    features = [10, 100, 1_000, 10_000, 100_000]
    powers = [2**k for k in range(7)]
    both = sorted({1, min(2, machine.cores())})

    def by_threads(work: Callable[[Store, int], Pass], points: list[int]) -> list[Line]:
        return [Line(f"{count} thread{'s' * (count > 1)}", points, work, count) for count in both]

    return [
        Curve(
            "rows", "rows", [Line("unitless", counts, rows), Line("scikit-learn, pre-scaled", counts, rows_of_scikit)]
        ),
        Curve(
            "dense features",
            "features, all of them in every row",
            [Line("unitless", features, dense_features), Line("NumPy X @ w", features, dense_features_of_numpy)],
            per="number",
        ),
        Curve(
            "sparse features",
            "features, 100 of them in a row",
            [Line("unitless", [*features[2:], 10**6], sparse_features)],
        ),
        Curve("classes", "classes", by_threads(classes, powers[1:])),
        Curve("rates", "rates", by_threads(rates, powers)),
    ]


def run(store: Store, rounds: int) -> list[dict[str, Any]]:
    """All curves, as plain data."""
    results = []
    for curve in curves(store):
        loops = [loop for line in curve.lines for loop in line.loops(curve.name)]
        measured = {one.name: one for one in measure(loops, store, rounds, f"scaling, {curve.name}")}
        lines = []
        for line in curve.lines:
            best = [measured[_name(line.name, point)].best for point in line.points]
            if curve.per == "number":
                best = [seconds / point for seconds, point in zip(best, line.points, strict=True)]
            lines.append({"name": line.name, "points": line.points, "best_ns": [1e9 * seconds for seconds in best]})
        results.append({"name": curve.name, "label": curve.label, "per": curve.per, "lines": lines})
    return results


def linear(curve: dict[str, Any]) -> tuple[float, bool]:
    """The time per row at the end of our line divided by that in its middle, and whether this counts as linear."""
    times = curve["lines"][0]["best_ns"]
    ratio = times[-1] / times[len(times) // 2]
    return ratio, ratio <= STRAIGHT
