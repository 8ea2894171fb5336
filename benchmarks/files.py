"""From a file to a model, end to end, beside Vowpal Wabbit and pandas with scikit-learn: part of `make bench`.

Files of 400 MB and more are made by repeating Covertype (class 2 against the rest, raw). Every program is started anew
and reads its file once; start-up counts. Rounds are interleaved. Without UNITLESS_DATA data of the same shape is made
up, and the output says so. `unitless` runs twice: as anyone would type it (automatic rate, centred columns), and with
one fixed rate and no centring, which is what the others do. It always scores every row before it learns it, and so does
Vowpal Wabbit; scikit-learn runs with and without that.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from side_by_side import covertype, measure

SCIKIT = """
import sys
import pandas
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler
scaler, model, wrong, rows = StandardScaler(), SGDClassifier(loss="log_loss"), 0, 0
for chunk in pandas.read_csv(sys.argv[1], chunksize=10_000):
    y = chunk.pop("label").to_numpy()
    X = chunk.to_numpy(float)
    scaler.partial_fit(X)
    X = scaler.transform(X)
    if rows and sys.argv[2] == "scored":
        wrong += (model.predict(X) != y).sum()
    rows += len(y)
    model.partial_fit(X, y, classes=[-1, 1])
if sys.argv[2] == "scored":
    print(f"zero_one {wrong / rows:.4f}")
"""


class Program:
    """A command that is run to its end; its peak memory and what it says of its error are kept."""

    def __init__(self, command: list[str], error: str) -> None:
        self.command, self._pattern = command, error
        self.peak, self.error = 0.0, float("nan")

    def __call__(self) -> float:
        start = time.perf_counter()
        with tempfile.TemporaryFile("w+") as out:
            process = subprocess.Popen(self.command, stdout=out, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            said = out.read()
        if process.returncode:
            raise SystemExit(f"{' '.join(self.command)}:\n{said}")
        self.peak = usage.ru_maxrss / 1024
        if found := re.search(self._pattern, said):
            self.error = float(found[1])
        return seconds


def write_files(folder: pathlib.Path, megabytes: int) -> tuple[dict[str, pathlib.Path], dict[str, int], str]:
    """The same rows as CSV, as CSV for Vowpal Wabbit, as Parquet and as VW text, each at least so large as text."""
    X, classes, name = covertype()
    y = np.where(classes == 2, 1, -1)
    numbers = X.astype(np.int64)
    table = pa.table({**{f"c{j}": numbers[:, j] for j in range(X.shape[1])}, "label": y})
    paths = {kind: folder / f"data.{kind}" for kind in ("csv", "parquet", "vw")}
    paths["vw.csv"] = folder / "data_for_vw.csv"
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink, pyarrow.csv.WriteOptions(quoting_style="none"))
    text = sink.getvalue().to_pybytes()
    head, _, body = text.partition(b"\n")
    repeats = -(-megabytes * 10**6 // len(body))
    for path, first in ((paths["csv"], head), (paths["vw.csv"], head.replace(b"label", b"_label"))):
        with path.open("wb") as file:
            file.write(first + b"\n")
            for _ in range(repeats):
                file.write(body)
    with pyarrow.parquet.ParquetWriter(paths["parquet"], table.schema) as writer:
        for _ in range(repeats):
            writer.write_table(table)
    lines = "".join(
        f"{label} | {' '.join(f'c{j}:{row[j]}' for j in np.flatnonzero(row))}\n"
        for row, label in zip(numbers, y.tolist(), strict=True)
    ).encode()
    vw_repeats = -(-megabytes * 10**6 // len(lines))
    with paths["vw"].open("wb") as file:
        for _ in range(vw_repeats):
            file.write(lines)
    return paths, {"csv": repeats * len(y), "vw": vw_repeats * len(y)}, name


def written(folder: pathlib.Path, megabytes: int) -> tuple[dict[str, pathlib.Path], dict[str, int], str]:
    """In a process of its own: a child's peak memory counts what its parent held when it was started."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(write_files, folder, megabytes).result()


def table_of(title: str, programs: dict[str, Program], seconds: dict[str, list[float]], rows: int) -> None:
    first = min(next(iter(seconds.values())))
    print(
        f"{title}: {rows:,} rows\n{'':44}{'best, s':>9}{'median':>9}{'ns a row':>10}{'times':>8}{'MB':>7}{'error':>8}"
    )
    for name, program in programs.items():
        best, median = min(seconds[name]), float(np.median(seconds[name]))
        print(
            f"  {name:42}{best:9.2f}{median:9.2f}{best / rows * 1e9:10.0f}{best / first:8.1f}"
            f"{program.peak:7.0f}{program.error:8.4f}"
        )
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=400)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path(__file__).with_name("results"))
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        paths, rows, name = written(pathlib.Path(folder), options.megabytes)
        script = pathlib.Path(folder) / "scikit.py"
        script.write_text(SCIKIT)
        print(f"{name}, repeated; {options.rounds} rounds\n")

        def ours(kind: str, *arguments: str) -> Program:
            target = [] if kind == "vw" else ["--target", "label"]
            command = [sys.executable, "-m", "unitless", "train", str(paths[kind]), *target, "--json", *arguments]
            return Program(command, r'"zero_one": ([0-9.e-]+)')

        def vw(path: pathlib.Path, *arguments: str) -> Program:
            command = [sys.executable, "-m", "vowpalwabbit", "-d", str(path), "--loss_function", "logistic", "--binary"]
            return Program([*command, *arguments], r"average loss = ([0-9.e-]+)")

        def scikit(how: str) -> Program:
            return Program([sys.executable, str(script), str(paths["csv"]), how], r"zero_one ([0-9.]+)")

        fixed = ("--rate", "0.5", "--no-centre")
        parts: dict[str, tuple[dict[str, Program], int]] = {
            "VW text": (
                {
                    "unitless, one rate": ours("vw", *fixed),
                    "unitless, as it comes (auto)": ours("vw"),
                    "Vowpal Wabbit": vw(paths["vw"]),
                },
                rows["vw"],
            ),
            "CSV": (
                {
                    "unitless, one rate": ours("csv", *fixed),
                    "unitless, as it comes (auto, centred)": ours("csv"),
                    "Vowpal Wabbit, --csv": vw(paths["vw.csv"], "--csv"),
                    "pandas chunks + scaler + SGDClassifier": scikit("unscored"),
                    "the same, every chunk scored first": scikit("scored"),
                },
                rows["csv"],
            ),
            "Parquet (scikit-learn from CSV)": (
                {
                    "unitless, one rate": ours("parquet", *fixed),
                    "unitless, as it comes (auto, centred)": ours("parquet"),
                    "pandas chunks + scaler + SGDClassifier": scikit("unscored"),
                    "the same, every chunk scored first": scikit("scored"),
                },
                rows["csv"],
            ),
        }
        for title, (programs, count) in parts.items():
            peers: dict[str, Callable[[], float]] = dict(programs)
            seconds = measure(peers, options.rounds)
            table_of(title, programs, seconds, count)
            results[title] = {
                name: {"seconds": seconds[name], "peak_mb": p.peak, "error": p.error, "rows": count}
                for name, p in programs.items()
            }
    helped = min(Program([sys.executable, "-m", "unitless", "--help"], "(never)")() for _ in range(5))
    print(f"unitless --help: {helped:.2f} s")
    options.results.mkdir(exist_ok=True)
    (options.results / "files.json").write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
