"""How fast the default model learns a nonlinear concept again after it has changed abruptly.

    python benchmarks/changed_concepts.py [--river]

The label is the exclusive or of two columns, first of columns 0 and 1, then of columns 2 and 3. Printed are means over
streams: the error in the 500 rows after the change and in the 500 rows after those, and after how many rows the error
over 200 rows is normal again, that is at most .02 or a fifth above the error before the change. --river also runs
River's adaptive random forest, which takes minutes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import unitless as ul

STREAMS = 6
WINDOW = 200


class Case(NamedTuple):
    """A kind of stream."""

    before: int  # rows before the change
    after: int
    columns: int
    noise: float  # share of labels that are flipped


CASES = [
    Case(10_000, 10_000, 10, 0.0),
    Case(10_000, 10_000, 10, 0.1),
    Case(50_000, 10_000, 10, 0.0),
    Case(50_000, 10_000, 6, 0.1),
]


def stream(case: Case, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The values and labels of a stream."""
    rng = np.random.default_rng(seed)
    rows = case.before + case.after
    X = rng.random((rows, case.columns))
    high = X > 0.5
    y = np.where(np.arange(rows) < case.before, high[:, 0] ^ high[:, 1], high[:, 2] ^ high[:, 3])
    return X, y ^ (rng.random(rows) < case.noise)


def unitless_errors(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether each progressive prediction of the default model is wrong."""
    model = ul.Learner(loss="logistic", learning_rate="auto", model_type="trees", ensemble=True, center=True)
    scores = [model.learn(X[i : i + 500], y[i : i + 500].astype(float)) for i in range(0, len(y), 500)]
    return (np.concatenate(scores) > 0) != y


def river_errors(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The same for River's adaptive random forest."""
    from river import forest

    model = forest.ARFClassifier(seed=1)

    def wrong() -> Iterator[bool]:
        for values, label in zip(X.tolist(), y.tolist(), strict=True):
            row = dict(enumerate(values))
            yield model.predict_one(row) != label
            model.learn_one(row, label)

    return np.fromiter(wrong(), bool, len(y))


def normal_after(wrong: np.ndarray, before: int) -> int:
    """The number of rows after the change until the error is normal again."""
    usual = wrong[before - 2000 : before].mean()
    recent = np.convolve(wrong[before:], np.ones(WINDOW) / WINDOW, "valid")
    normal = recent <= max(1.2 * usual, usual + 0.02)
    return int(np.argmax(normal)) if normal.any() else len(wrong) - before


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--river", action="store_true")
    learners = {"unitless, defaults": unitless_errors}
    if parser.parse_args().river:
        learners["River, adaptive random forest"] = river_errors
    print("| rows before | columns | noise | learner | time per row | before | next 500 | then 500 | normal after |")
    print("|---:|---:|---:|---|---:|---:|---:|---:|---:|")
    for case in CASES:
        for name, errors in learners.items():
            found, began = [], time.perf_counter()
            for seed in range(STREAMS if name.startswith("unitless") else 2):
                wrong, at = errors(*stream(case, seed)), case.before
                windows = wrong[at - 2000 : at], wrong[at : at + 500], wrong[at + 500 : at + 1000]
                found.append([*(window.mean() for window in windows), normal_after(wrong, at)])
            took = (time.perf_counter() - began) / len(found) / (case.before + case.after)
            usual, first, second, normal = np.mean(found, axis=0)
            cells = [f"{case.before:,}", case.columns, case.noise, name, f"{1e6 * took:,.1f} µs"]
            cells += [f"{share:.1%}" for share in (usual, first, second)] + [f"{normal:,.0f} rows"]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
