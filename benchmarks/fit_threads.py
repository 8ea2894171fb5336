"""Wall time of trees with 1, 2, 4, ... threads: a stream, and a fit with the default options, next to LightGBM.

Each thread count has a process of its own (`UNITLESS_THREADS`), one after the other. The digest is of all predictions:
it must be the same for every thread count.

    python benchmarks/fit_threads.py                     Covertype (class 2?) with UNITLESS_DATA, otherwise made rows
    python benchmarks/fit_threads.py rows.npz            rows from a file of NumPy: X, and y with two classes
    python benchmarks/fit_threads.py --made 1000000      made rows, of which so many are learned
    python benchmarks/fit_threads.py --trees 100,700     LightGBM with these numbers of trees. Default: 100,300,700
    python benchmarks/fit_threads.py --passes 2,3        fits with these numbers of passes as well
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROWS = 200_000  # learned; a fifth as many are held out


def made(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that depend on products of columns with different units."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows * 6 // 5, 20))
    logit = 2 * X[:, 0] * X[:, 1] + np.where(X[:, 2] > 0.5, X[:, 3], -X[:, 4]) + np.sin(3 * X[:, 5]) * X[:, 6]
    y = rng.random(len(X)) < 1 / (1 + np.exp(-2 * logit))
    return X * 10.0 ** np.arange(-10, 10), y.astype(int)


def covertype() -> tuple[np.ndarray, np.ndarray]:
    """Random rows of Covertype, class 2 against the rest."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(Path(os.environ["UNITLESS_DATA"]) / "covertype.parquet").to_pandas()
    table = table.sample(ROWS * 6 // 5, random_state=0)
    return table.drop(columns="label").to_numpy(float), (table["label"] == 2).to_numpy(int)


def one(job: str, rows: str) -> dict[str, object]:
    """One job in this process: its wall and processor time, the error, and the digest of the predictions."""
    with np.load(rows) as file:
        X, y = file["X"].astype(float), file["y"]
    cut = len(y) * 5 // 6
    train, labels, test, truth = X[:cut], y[:cut], X[cut:], y[cut:]
    kind, _, count = job.partition(" ")
    if kind == "stream":
        import unitless as ul

        model = ul.Learner(loss="logistic", learning_rate="auto", center=True, ensemble=True, model_type="trees")
    elif kind == "fit":
        from unitless.sklearn import UnitlessClassifier

        model = UnitlessClassifier(max_iter=int(count) if count else "auto")
    else:
        import lightgbm

        model = lightgbm.LGBMClassifier(n_estimators=int(count), n_jobs=int(os.environ["UNITLESS_THREADS"]), verbose=-1)
    started, used = time.perf_counter(), time.process_time()
    if kind == "stream":
        predicted = model.learn(train, labels)
        error = float(np.mean((predicted > 0) != (labels == 1)))
    else:
        model.fit(train, labels)
    wall, processor = time.perf_counter() - started, time.process_time() - used
    if kind != "stream":
        predicted = model.predict_proba(test)
        error = float(np.mean((predicted[:, 1] > 0.5) != (truth == 1)))
    digest = hashlib.sha256(np.ascontiguousarray(predicted)).hexdigest()[:12]
    return {
        "wall": wall,
        "processor": processor,
        "error": error,
        "digest": digest,
        "passes": getattr(model, "n_iter_", 1),
    }


def measure(job: str, rows: str, threads: int) -> dict[str, object]:
    environment = os.environ | {"UNITLESS_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    command = [sys.executable, __file__, rows, "--job", job]
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", help="a file of NumPy with X and y")
    parser.add_argument("--trees", default="100,300,700", help="numbers of LightGBM's trees; '' for none")
    parser.add_argument("--passes", default="", help="numbers of passes of further fits")
    parser.add_argument("--threads", default="", help="thread counts. Default: 1, 2, 4, ... and all cores")
    parser.add_argument("--made", type=int, default=0, metavar="ROWS", help="made rows, so many to learn")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(one(options.job, options.rows)))
        return
    cores = os.cpu_count() or 1
    counts = [int(each) for each in options.threads.split(",") if each] or [
        *(2**k for k in range(10) if 2**k < cores),
        cores,
    ]
    jobs = ["stream", "fit"]
    jobs += [f"fit {each}" for each in options.passes.split(",") if each]
    jobs += [f"LightGBM {each}" for each in options.trees.split(",") if each]
    with tempfile.TemporaryDirectory() as folder:
        rows = options.rows
        if not rows:
            rows = str(Path(folder) / "rows.npz")
            stored = "UNITLESS_DATA" in os.environ and not options.made
            X, y = covertype() if stored else made(options.made or ROWS)
            np.savez(rows, X=X, y=y)
        print(f"{'':14}{'threads':>8}{'seconds':>9}{'speedup':>9}{'CPU s':>8}{'error':>9}{'passes':>8}  digest")
        for job in jobs:
            first = 0.0
            for threads in counts:
                found = measure(job, rows, threads)
                wall = float(str(found["wall"]))
                first = first or wall
                print(
                    f"{job:14}{threads:8}{wall:9.2f}{first / wall:8.2f}×{found['processor']:8.2f}{found['error']:9.4f}"
                    f"{found['passes']:8}  {found['digest']}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
