"""Count the instructions of a few fixed pieces of work, and compare them with a baseline: part of `make bench`.

Times are noisy; counts of instructions are not. Valgrind's callgrind runs this file once more; every kernel runs once
to warm up and once between two marks, and the instructions between the marks are counted. More than half a per cent
above instructions.json is an error.

    python benchmarks/instructions.py            count and compare
    python benchmarks/instructions.py --accept   count, and make this the baseline

Counts depend on the instruction set (valgrind knows no AVX-512, so that the AVX2 kernel is what runs) and on the
compiler: if these differ from the baseline's, the counts are printed and not compared.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable

import numpy as np
import scipy.sparse
from data import zipf_rows
from machine import compiler

import unitless as ul
from unitless.models.kernels import kernels

BASELINE = pathlib.Path(__file__).with_suffix(".json")
ALLOWED = 0.005
FILE_REPEATS = 4
MARK = "getppid"  # a function of the C library that nothing else here calls: callgrind begins a new count with it


def dense() -> tuple[np.ndarray, np.ndarray]:
    """Like Covertype: 10 numbers and 44 columns of which two are 1."""
    rng = np.random.default_rng(0)
    rows = 5_000
    X = np.zeros((rows, 54), np.float32)
    X[:, :10] = rng.integers(0, 3000, size=(rows, 10))
    X[np.arange(rows), 10 + rng.integers(0, 4, rows)] = 1
    X[np.arange(rows), 14 + rng.integers(0, 40, rows)] = 1
    return X, X[:, 0] + 300 * rng.normal(size=rows) > 1500


def write_text(X: np.ndarray, y: np.ndarray, vw: pathlib.Path, csv: pathlib.Path) -> None:
    """Write the rows as text, repeated until the cost of opening a file is negligible."""
    vw_lines, csv_lines = [], []
    for row, label in zip(X.astype(int).tolist(), y.astype(int).tolist(), strict=True):
        features = " ".join(f"c{j}:{value}" for j, value in enumerate(row) if value)
        vw_lines.append(f"{2 * label - 1} | {features}\n")
        csv_lines.append(f"{label},{','.join(map(str, row))}\n")
    vw.write_text("".join(vw_lines) * FILE_REPEATS)
    csv.write_text(f"label,{','.join(f'c{j}' for j in range(X.shape[1]))}\n" + "".join(csv_lines) * FILE_REPEATS)


def all_kernels(folder: pathlib.Path) -> dict[str, tuple[int, Callable[[], object]]]:
    """By name: the number of rows, and a function that processes them once."""
    X, y = dense()
    model = ul.Learner(loss="logistic")
    model.learn(X, y)
    Z = zipf_rows(4_000, 10**5, 100)
    z_labels = np.arange(Z.shape[0]) % 2 == 0
    names = [f"feature {j}" for j in range(20)]
    mappings = [
        dict(zip(names, row, strict=True)) for row in np.random.default_rng(1).normal(size=(1_000, 20)).tolist()
    ]
    rates = np.geomspace(0.01, 10.0, 16).tolist()
    vw, csv = folder / "rows.vw", folder / "rows.csv"
    write_text(X, y, vw, csv)

    classes = (np.arange(len(X)) * 7) % 5
    S = scipy.sparse.csr_matrix(X)
    weights = 0.5 + (np.arange(len(X)) % 3)

    def one_at_a_time(predicting: bool, learning: bool) -> Callable[[], object]:
        learner = ul.Learner(loss="logistic")
        learner.learn(mappings, np.arange(len(mappings)) % 2)

        def run() -> None:
            for number, x in enumerate(mappings):
                if predicting:
                    learner.predict_one(x)
                if learning:
                    learner.learn_one(x, number % 2)

        return run

    def train(path: pathlib.Path, target: str | None) -> None:
        ul.train(path, target=target, learning_rate=0.5, center=False, shuffle=False, model_type="linear")

    return {
        "dense, learn": (len(X), lambda: ul.Learner(loss="logistic").learn(X, y)),
        "dense, predict": (len(X), lambda: model.predict(X)),
        "dense, 16 rates": (len(X), lambda: ul.Sweep(rates, loss="logistic").learn(X, y)),
        "sparse, hashed, learn": (Z.shape[0], lambda: ul.Learner(loss="logistic", bits=18).learn(Z, z_labels)),
        "CSR, learn": (len(X), lambda: ul.Learner(loss="logistic").learn(S, y)),
        "CSR, predict": (len(X), lambda: model.predict(S)),
        "automatic rate, centered, learn": (
            len(X),
            lambda: ul.Learner(loss="logistic", learning_rate="auto", center=True).learn(X, y),
        ),
        "one-vs-all, learn": (len(X), lambda: ul.OneVsAll(range(5), learning_rate=0.5).learn(X, classes)),
        "pairs, learn": (len(X) // 5, lambda: ul.Learner(loss="logistic", interactions=2).learn(X[::5], y[::5])),
        "weights, snag, learn": (len(X), lambda: ul.Learner("snag", "logistic").learn(X, y, weights)),
        "named, predict_one and learn_one": (len(mappings), one_at_a_time(True, True)),
        "named, learn_one": (len(mappings), one_at_a_time(False, True)),
        "named, predict_one": (len(mappings), one_at_a_time(True, False)),
        "mappings, learn": (len(mappings), lambda: ul.Learner().learn(mappings, np.arange(len(mappings)))),
        "VW text, train": (FILE_REPEATS * len(X), lambda: train(vw, None)),
        "CSV, train": (FILE_REPEATS * len(X), lambda: train(csv, "label")),
    }


def work(report: pathlib.Path) -> None:
    """The work that callgrind runs: two marks around each kernel."""
    with tempfile.TemporaryDirectory() as folder:
        rows = {}
        for name, (count, run) in all_kernels(pathlib.Path(folder)).items():
            run()
            os.getppid()
            run()
            os.getppid()
            rows[name] = count
    report.write_text(json.dumps({"rows": rows, "kernel": kernels()[-1]}))


def count() -> dict[str, object]:
    """The instructions per row of every kernel."""
    with tempfile.TemporaryDirectory() as folder:
        report, out = pathlib.Path(folder) / "report.json", pathlib.Path(folder) / "counts"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", f"--dump-before={MARK}"]
        subprocess.run(
            [*command, sys.executable, __file__, "--work", str(report)],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": "0", "UNITLESS_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        said = json.loads(report.read_text())
        dumps = sorted(out.parent.glob("counts.*"), key=lambda path: int(path.suffix[1:]))
        totals = [int(re.search(r"^(?:summary|totals): (\d+)", path.read_text(), re.MULTILINE)[1]) for path in dumps]
    if len(totals) < 2 * len(said["rows"]):
        sys.exit(f"callgrind saw {len(totals)} marks instead of {2 * len(said['rows'])}: it does not know {MARK} here")
    within = totals[1::2]  # the count before the first mark of each pair is the warm-up
    a_row = {name: round(total / rows, 1) for (name, rows), total in zip(said["rows"].items(), within, strict=False)}
    return {
        "kernel": said["kernel"],
        "compiler": compiler(),
        "machine": platform.machine(),
        "instructions_a_row": a_row,
    }


def compare(counted: dict, baseline: dict) -> bool:
    """Print the counts; returns whether all are within the limit."""
    same = all(counted[key] == baseline[key] for key in ("kernel", "compiler", "machine"))
    now_by, before_by = (f"{one['kernel']}, {one['compiler']}" for one in (counted, baseline))
    print(f"Instructions per row, now ({now_by}) and in the baseline ({before_by})")
    good = True
    for name, now in counted["instructions_a_row"].items():
        before = baseline["instructions_a_row"].get(name)
        change = now / before - 1 if before else 0.0
        good &= change <= ALLOWED
        verdict = "new" if before is None else "MORE" if change > ALLOWED else "less" if change < -ALLOWED else ""
        print(f"  {name:34}{now:12,.0f}{before or float('nan'):12,.0f}{change:+9.1%}  {verdict}".rstrip())
    if not same:
        print("  Another instruction set or compiler than the baseline's: these are not compared.")
    elif not good:
        print(
            f"  More than {ALLOWED:.1%} above the baseline. If it has to be: python benchmarks/instructions.py --accept"
        )
    return good or not same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accept", action="store_true", help="make what is counted the baseline")
    parser.add_argument("--work", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work)
        return
    if not shutil.which("valgrind"):
        print("Instructions are not counted: valgrind is not installed.")
        return
    counted = count()
    good = not BASELINE.exists() or compare(counted, json.loads(BASELINE.read_text()))
    if options.accept or not BASELINE.exists():
        BASELINE.write_text(json.dumps(counted, indent=1) + "\n")
        print(f"The baseline is now what was counted: {BASELINE.name}")
    elif not good:
        sys.exit(1)


if __name__ == "__main__":
    main()
