"""How often the confidence interval of a fit contains the error of its model on new rows, for small tables.

    python benchmarks/holdout_coverage.py [TRAININGS]

Simulates tables of 80 to 1,000 rows, trains on each with no option, and compares `metrics_ci` (90%) with the error of
the saved model on 8,000 new rows. Prints the share of intervals that contain it, by kind of table and by size.
"""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pandas as pd

import unitless as ul

KINDS = ("two classes", "three classes", "two classes, noise", "numbers", "numbers, noise", "numbers, heavy tail")
SIZES = (80, 150, 300, 600, 1000)
NEW_ROWS = 8000


def table(kind: str, rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Six numeric columns in different units, a category, and a target of this kind."""
    z = rng.normal(size=(rows, 6))
    frame = pd.DataFrame(z * [1, 10, 100, 1e-3, 1, 1], columns=list("abcdef"))
    frame["g"] = rng.choice(["u", "v", "w"], rows)
    signal = z[:, 0] - z[:, 1] + 0.5 * z[:, 2] * z[:, 3] + 0.8 * (frame.g == "u").to_numpy()
    noise = rng.normal(size=rows)
    frame["y"] = {
        "two classes": lambda: np.where(rng.random(rows) < 1 / (1 + np.exp(-1.5 * signal)), "yes", "no"),
        "three classes": lambda: np.array(list("pqr"))[np.digitize(signal + noise, [-1, 1])],
        "two classes, noise": lambda: np.where(rng.random(rows) < 0.4, "yes", "no"),
        "numbers": lambda: 100 * signal + 50 * noise,
        "numbers, noise": lambda: noise,
        "numbers, heavy tail": lambda: np.exp(0.7 * signal + 0.5 * noise),
    }[kind]()
    return frame


def contains(kind: str, rows: int, seed: int) -> bool:
    """Whether the interval of one training contains the error on new rows."""
    rng = np.random.default_rng([seed, rows, KINDS.index(kind)])
    frame, new = table(kind, rows, rng), table(kind, NEW_ROWS, rng)
    result = ul.train(frame, "y", random_state=seed, progress=False)
    predicted, truth = np.asarray(result.predict(new.drop(columns="y"))), new.y.to_numpy()
    numbers = kind.startswith("numbers")
    error = float(np.sqrt(np.mean((predicted - truth) ** 2))) if numbers else float(np.mean(predicted != truth))
    low, high = result.metrics_ci
    return low <= error <= high


def main() -> None:
    """Print the table."""
    trainings = int(sys.argv[1]) if len(sys.argv) > 1 else 210
    cells = list(itertools.product(KINDS, SIZES))
    hits: dict[tuple[str, int], list[bool]] = {cell: [] for cell in cells}
    for number in range(trainings):
        kind, rows = cells[number % len(cells)]
        hits[kind, rows].append(contains(kind, rows, number // len(cells)))
    for what, keys in (("kind", KINDS), ("rows", SIZES)):
        for key in keys:
            found = [hit for cell, some in hits.items() if key in cell for hit in some]
            print(f"{what} {key}: {np.mean(found):.1%} of {len(found)}")
    every = [hit for some in hits.values() for hit in some]
    print(f"all: {np.mean(every):.1%} of {len(every)}")


if __name__ == "__main__":
    main()
