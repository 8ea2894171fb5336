"""What the benchmarks share: the data, Vowpal Wabbit, and rounds that are interleaved."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np


def covertype() -> tuple[np.ndarray, np.ndarray, str]:
    folder = os.environ.get("UNITLESS_DATA")
    if folder and (path := pathlib.Path(folder) / "covertype.parquet").exists():
        import pyarrow.parquet  # noqa: PLC0415

        table = pyarrow.parquet.read_table(path)
        names = [name for name in table.column_names if name != "label"]
        X = np.column_stack([table.column(name).to_numpy().astype(np.float32) for name in names])
        return X, table.column("label").to_numpy(), "Covertype"
    rng = np.random.default_rng(0)
    rows = 581_012
    X = np.zeros((rows, 54), np.float32)
    X[:, :10] = rng.integers(0, 3000, size=(rows, 10))
    X[np.arange(rows), 10 + rng.integers(0, 4, rows)] = 1
    X[np.arange(rows), 14 + rng.integers(0, 40, rows)] = 1
    score = X[:, 0] + 500 * X[:, 20] - X[:, 1] + rng.normal(size=rows) * 500
    y = 1 + np.digitize(score, np.quantile(score, [0.36, 0.85, 0.91, 0.92, 0.94, 0.97]))
    return X, y, "made-up data of Covertype's shape (UNITLESS_DATA is not set)"


def write_vw(X: np.ndarray, labels: np.ndarray, path: pathlib.Path) -> None:
    """Vowpal Wabbit's text; the features are in the namespace f."""
    with path.open("w") as file:
        for row, label in zip(X, labels.tolist(), strict=True):
            features = " ".join(f"{j}:{row[j]:g}" for j in np.flatnonzero(row))
            file.write(f"{label} |f {features}\n")


class VowpalWabbit:
    """Vowpal Wabbit over one file. Its start-up is measured apart and taken off."""

    def __init__(self, data: pathlib.Path, *arguments: str) -> None:
        self.data, self.cache = data, data.with_suffix(".cache")
        self.arguments = ["--loss_function", "logistic", *arguments]
        self.loss = float("nan")
        nothing = data.with_name("nothing.vw")
        nothing.write_text(data.open().readline())
        self._run("-d", str(data), "--cache_file", str(self.cache), "-k")
        self.idle = min(self._run("-d", str(nothing)) for _ in range(3))

    def from_text(self) -> float:
        """Seconds for one pass over the text."""
        return self._run("-d", str(self.data)) - self.idle

    def from_cache(self) -> float:
        """Seconds for one pass over its own binary cache."""
        return self._run("-d", str(self.data), "--cache_file", str(self.cache)) - self.idle

    def _run(self, *arguments: str) -> float:
        command = [sys.executable, "-m", "vowpalwabbit", *self.arguments, *arguments]
        start = time.perf_counter()
        output = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        seconds = time.perf_counter() - start
        line = next(line for line in output.splitlines() if line.startswith("average loss"))
        self.loss = float(line.split("=")[1])
        return seconds


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measure(peers: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in peers}
    for round_number in range(rounds):
        for name, run in peers.items():
            print(f"\r  round {round_number + 1} of {rounds}: {name:40}", end="", file=sys.stderr)
            seconds[name].append(run())
    print("\r" + " " * 70 + "\r", end="", file=sys.stderr)
    return seconds


def table(title: str, seconds: dict[str, list[float]], rows: int) -> None:
    ours = min(next(iter(seconds.values())))
    print(f"{title}\n{'':34}{'best, s':>10}{'median, s':>11}{'ns a row':>10}{'times the first':>19}")
    for name, times in seconds.items():
        best, median = min(times), float(np.median(times))
        print(f"  {name:32}{best:10.4f}{median:11.4f}{best / rows * 1e9:10.0f}{best / ours:17.1f} x")
    print()
