"""The time and the loss of softmax and one-vs-all.

    UNITLESS_THREADS=1 UNITLESS_DATA=DIRECTORY python benchmarks/softmax.py [--rounds N]

Both learn the same rows, first of a simulated stream of 7 classes, then of the tables in UNITLESS_DATA, with automatic
rates. They take turns, so that other work of the machine slows down both; the fastest round counts. With one thread the
time is processor time. With several it is elapsed time, and the machine should do nothing else.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import time
from typing import Any

import numpy as np

import unitless as ul

KINDS = {"one-vs-all": ul.OneVsAll, "softmax": ul.Softmax}


def made(rows: int, features: int, classes: int = 7) -> tuple[Any, Any]:
    """Rows around the centers of classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, size=rows)
    return rng.normal(size=(classes, features))[y] + rng.normal(size=(rows, features)), y


def table(name: str, rows: int, shuffled: bool) -> tuple[Any, Any] | None:
    """The numbers of a table's columns, and its classes."""
    import pyarrow.parquet

    path = pathlib.Path(os.environ.get("UNITLESS_DATA", ".")) / f"{name}.parquet"
    if not path.exists():
        return None
    frame = pyarrow.parquet.read_table(path).to_pandas()
    order = np.random.default_rng(0).permutation(len(frame))[:rows] if shuffled else np.arange(len(frame))[:rows]
    y = frame.pop("label").to_numpy()[order]
    return frame.to_numpy(np.float64)[order], y


def measured(X: Any, y: Any, rounds: int, **options: Any) -> dict[str, tuple[float, float, float]]:
    """By kind: seconds, progressive error and log loss."""
    times: dict[str, list[float]] = {name: [] for name in KINDS}
    quality: dict[str, tuple[float, float]] = {}
    clock = time.process_time if os.environ.get("UNITLESS_THREADS") == "1" else time.perf_counter
    for _ in range(rounds):
        for name, kind in KINDS.items():
            model = kind(np.unique(y).tolist(), **options)
            start = clock()
            scores = model.learn(X, y)
            times[name].append(clock() - start)
            own = np.searchsorted(np.unique(y), y)
            share = np.maximum(model._shares(scores)[np.arange(len(y)), own], 1e-15)
            quality[name] = float(np.mean(scores.argmax(axis=1) != own)), float(-np.log(share).mean())
    return {name: (min(times[name]), *quality[name]) for name in KINDS}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    cases: dict[str, tuple[tuple[Any, Any] | None, dict[str, Any]]] = {
        "7 classes, 9 features": (made(50_000, 9), {}),
        "7 classes, 9 features, one rate": (made(50_000, 9), {"learning_rate": 0.5}),
        "7 classes, 54 features": (made(20_000, 54), {}),
        "7 classes, 54 features, one rate": (made(20_000, 54), {"learning_rate": 0.5}),
        "26 classes, 16 features": (made(20_000, 16, 26), {}),
        "shuttle": (table("shuttle", 60_000, False), {"center": True}),
        "covertype, file order": (table("covertype", 60_000, False), {"center": True}),
        "covertype, shuffled": (table("covertype", 60_000, True), {"center": True}),
    }
    print(f"{'':34}{'µs a row':>22}{'ratio':>8}   {'error / log loss':>16}")
    for name, (found, options) in cases.items():
        if found is None:
            continue
        result = measured(*found, rounds, **options)
        each = [1e6 * result[kind][0] / len(found[1]) for kind in KINDS]
        shown = "   ".join(f"{result[kind][1]:.4f} / {result[kind][2]:.4f}" for kind in KINDS)
        print(f"{name:34}{each[0]:11.2f}{each[1]:11.2f}{each[1] / each[0]:8.2f}   {shown}")


if __name__ == "__main__":
    main()
