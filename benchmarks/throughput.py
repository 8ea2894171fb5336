"""Speed beside the peers, on the same work, in one run: `make bench`.

The work: one pass over Covertype (class 2 against the rest, raw, 54 float32 columns, logistic loss, NAG) with a
prediction for each row before it is learned; and named rows one at a time. Rounds are interleaved, so that a slow
moment of the machine hits all alike; the table shows each peer's best round and how many times ours is faster.

Without UNITLESS_DATA (the directory with covertype.parquet) data of the same shape is made up, and the output says so.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable

import numpy as np
from river import linear_model, preprocessing
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

import unitless as ul

RIVER_ROWS = 20_000
ONE_ROWS = 20_000


def covertype() -> tuple[np.ndarray, np.ndarray, str]:
    folder = os.environ.get("UNITLESS_DATA")
    if folder and (path := pathlib.Path(folder) / "covertype.parquet").exists():
        import pyarrow.parquet  # noqa: PLC0415

        table = pyarrow.parquet.read_table(path)
        names = [name for name in table.column_names if name != "label"]
        X = np.column_stack([table.column(name).to_numpy().astype(np.float32) for name in names])
        return X, table.column("label").to_numpy() == 2, "Covertype"
    rng = np.random.default_rng(0)
    rows = 581_012
    X = np.zeros((rows, 54), np.float32)
    X[:, :10] = rng.integers(0, 3000, size=(rows, 10))
    X[np.arange(rows), 10 + rng.integers(0, 4, rows)] = 1
    X[np.arange(rows), 14 + rng.integers(0, 40, rows)] = 1
    y = X[:, 0] + 500 * X[:, 20] > X[:, 1] + rng.normal(size=rows) * 500
    return X, y, "made-up data of Covertype's shape (UNITLESS_DATA is not set)"


def write_vw(X: np.ndarray, y: np.ndarray, path: pathlib.Path) -> None:
    with path.open("w") as file:
        for row, label in zip(X, y, strict=True):
            features = " ".join(f"{j}:{row[j]:g}" for j in np.flatnonzero(row))
            file.write(f"{1 if label else -1} | {features}\n")


def vw(*arguments: str) -> float:
    command = [sys.executable, "-m", "vowpalwabbit", "--loss_function", "logistic", *arguments]
    start = time.perf_counter()
    output = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    seconds = time.perf_counter() - start
    line = next(line for line in output.splitlines() if line.startswith("average loss"))
    vw.loss = float(line.split("=")[1])  # type: ignore[attr-defined]
    return seconds


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def dense_peers(X: np.ndarray, y: np.ndarray, folder: pathlib.Path) -> dict[str, Callable[[], float]]:
    """Each gives its seconds for all rows."""
    scaled = StandardScaler().fit_transform(X)
    text, cache, nothing = folder / "data.vw", folder / "data.cache", folder / "nothing.vw"
    write_vw(X, y, text)
    write_vw(X[:1], y[:1], nothing)
    vw("-d", str(text), "--cache_file", str(cache), "-k")
    idle = min(vw("-d", str(nothing)) for _ in range(3))  # starting Python and Vowpal Wabbit is not its learning

    def pipeline() -> None:
        scaler, model = StandardScaler(), SGDClassifier(loss="log_loss")
        for first in range(0, len(y), 1000):
            rows = X[first : first + 1000]
            model.partial_fit(scaler.partial_fit(rows).transform(rows), y[first : first + 1000], classes=[False, True])

    river_rows = [dict(enumerate(row)) for row in X[:RIVER_ROWS].tolist()]

    def river() -> None:
        model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
        for row, label in zip(river_rows, y[:RIVER_ROWS].tolist(), strict=True):
            model.predict_proba_one(row)
            model.learn_one(row, label)

    w = np.random.default_rng(0).normal(size=X.shape[1]).astype(np.float32)
    return {
        "unitless": lambda: timed(lambda: ul.Learner(loss="logistic").learn(X, y)),
        "unitless, plain steps": lambda: timed(lambda: ul.Learner(loss="logistic", importance_aware=False).learn(X, y)),
        "unitless, sNAG": lambda: timed(lambda: ul.Learner("snag", loss="logistic").learn(X, y)),
        "Vowpal Wabbit, cache": lambda: vw("-d", str(text), "--cache_file", str(cache)) - idle,
        "Vowpal Wabbit, text": lambda: vw("-d", str(text)) - idle,
        "scikit-learn SGD, pre-scaled": lambda: timed(
            lambda: SGDClassifier(loss="log_loss").partial_fit(scaled, y, classes=[False, True])
        ),
        "scikit-learn scaler + SGD": lambda: timed(pipeline),
        "River scaler | logistic": lambda: timed(river) * len(y) / RIVER_ROWS,
        "NumPy X @ w, to compare": lambda: timed(lambda: X @ w),
    }


def named_peers() -> dict[str, Callable[[], float]]:
    """20 named features, predict then learn; each gives its seconds for ONE_ROWS rows."""
    rng = np.random.default_rng(0)
    names = [f"feature {j}" for j in range(20)]
    rows = [dict(zip(names, row, strict=True)) for row in rng.normal(size=(ONE_ROWS, 20)).tolist()]
    labels = (rng.random(ONE_ROWS) < 0.5).tolist()

    def ours() -> None:
        model = ul.Learner(loss="logistic")
        for row, label in zip(rows, labels, strict=True):
            model.predict_one(row)
            model.learn_one(row, label)

    def river(model: object) -> Callable[[], None]:
        def run() -> None:
            for row, label in zip(rows, labels, strict=True):
                model.predict_proba_one(row)  # type: ignore[attr-defined]
                model.learn_one(row, label)  # type: ignore[attr-defined]

        return run

    return {
        "unitless": lambda: timed(ours),
        "River logistic, bare": lambda: timed(river(linear_model.LogisticRegression())),
        "River scaler | logistic": lambda: timed(
            river(preprocessing.StandardScaler() | linear_model.LogisticRegression())
        ),
    }


def measure(peers: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in peers}
    for round_number in range(rounds):
        for name, run in peers.items():
            print(f"\r  round {round_number + 1} of {rounds}: {name:40}", end="", file=sys.stderr)
            seconds[name].append(run())
    print("\r" + " " * 70 + "\r", end="", file=sys.stderr)
    return seconds


def table(title: str, seconds: dict[str, list[float]], rows: int) -> None:
    ours = min(seconds["unitless"])
    print(f"{title}\n{'':34}{'best, s':>10}{'median, s':>11}{'ns a row':>10}{'ours is faster by':>19}")
    for name, times in seconds.items():
        best, median = min(times), float(np.median(times))
        print(f"  {name:32}{best:10.4f}{median:11.4f}{best / rows * 1e9:10.0f}{best / ours:17.1f} x")
    print()


def plot(seconds: dict[str, list[float]], rows: int, path: pathlib.Path) -> None:
    import matplotlib  # noqa: PLC0415

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    names = list(seconds)
    nanoseconds = [min(times) / rows * 1e9 for times in seconds.values()]
    figure, axes = plt.subplots(figsize=(8, 0.45 * len(names) + 1), layout="constrained")
    bars = axes.barh(names, nanoseconds, color=["C1" if name.startswith("unitless") else "C0" for name in names])
    axes.bar_label(bars, [f" {value:,.0f}" for value in nanoseconds])
    axes.set(xscale="log", xlabel="nanoseconds a row (best round)", title="One pass over Covertype, 54 columns")
    axes.invert_yaxis()
    axes.margins(x=0.15)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path(__file__).with_name("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y, name = covertype()
    print(f"{name}: {X.shape[0]:,} x {X.shape[1]}, kernel {ul.kernels()[-1]}, {options.rounds} rounds\n")
    with tempfile.TemporaryDirectory() as folder:
        dense = measure(dense_peers(X, y, pathlib.Path(folder)), options.rounds)
        table("One pass over all rows", dense, len(y))
        learner = ul.Learner(loss="logistic")
        loss = learner.losses(learner.learn(X, y), y).mean()
        print(f"  progressive log loss: unitless {loss:.4f}, Vowpal Wabbit {vw.loss:.4f}\n")  # type: ignore[attr-defined]
    named = measure(named_peers(), options.rounds)
    table(f"{ONE_ROWS:,} rows of 20 named features, predict_one then learn_one", named, ONE_ROWS)
    options.results.mkdir(exist_ok=True)
    result = {"data": name, "rows": len(y), "dense_seconds": dense, "named_seconds": named, "kernels": ul.kernels()}
    (options.results / "throughput.json").write_text(json.dumps(result, indent=1))
    plot(dense, len(y), options.results / "throughput.png")
    print(f"Numbers and picture: {options.results}")


if __name__ == "__main__":
    main()
