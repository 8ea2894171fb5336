"""Speed beside the peers, on the same work, in one run: `make bench`.

The work: one pass over Covertype (class 2 against the rest, raw, 54 float32 columns, logistic loss, NAG) with a
prediction for each row before it is learned; and named rows one at a time. Rounds are interleaved, so that a slow
moment of the machine hits all alike; the table shows each peer's best round and how many times ours is faster.

Without UNITLESS_DATA (the directory with covertype.parquet) data of the same shape is made up, and the output says so.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import tempfile
import warnings
from collections.abc import Callable

import numpy as np
from river import linear_model, preprocessing
from side_by_side import VowpalWabbit, covertype, measure, table, timed, write_vw
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

import unitless as ul

RIVER_ROWS = 20_000
ONE_ROWS = 20_000


def dense_peers(X: np.ndarray, y: np.ndarray, vw: VowpalWabbit) -> dict[str, Callable[[], float]]:
    """Each gives its seconds for all rows."""
    scaled = StandardScaler().fit_transform(X)

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
        "Vowpal Wabbit, cache": vw.from_cache,
        "Vowpal Wabbit, text": vw.from_text,
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
    X, classes, name = covertype()
    y = classes == 2
    print(f"{name}: {X.shape[0]:,} x {X.shape[1]}, kernel {ul.kernels()[-1]}, {options.rounds} rounds\n")
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "data.vw"
        write_vw(X, np.where(y, 1, -1), text)
        vw = VowpalWabbit(text)
        dense = measure(dense_peers(X, y, vw), options.rounds)
        table("One pass over all rows", dense, len(y))
        learner = ul.Learner(loss="logistic")
        loss = learner.losses(learner.learn(X, y), y).mean()
        print(f"  progressive log loss: unitless {loss:.4f}, Vowpal Wabbit {vw.loss:.4f}\n")
    named = measure(named_peers(), options.rounds)
    table(f"{ONE_ROWS:,} rows of 20 named features, predict_one then learn_one", named, ONE_ROWS)
    options.results.mkdir(exist_ok=True)
    result = {"data": name, "rows": len(y), "dense_seconds": dense, "named_seconds": named, "kernels": ul.kernels()}
    (options.results / "throughput.json").write_text(json.dumps(result, indent=1))
    plot(dense, len(y), options.results / "throughput.png")
    print(f"Numbers and picture: {options.results}")


if __name__ == "__main__":
    main()
