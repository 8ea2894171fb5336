"""Train on a file that may be larger than memory, with progress and checkpoints; stop, and continue.

    python examples/out_of_core_csv.py                                     # a file of 4 MB; takes a second
    python examples/out_of_core_csv.py --megabytes 2000 --checkpoint 1000000

It writes a CSV of house prices in mixed units (square meters, kilometers, dollars, names of towns) and trains on it
until a simulated crash half-way. Then it continues from the last checkpoint, and compares the result with a training
that was not interrupted: the models are the same, to the last bit. At the end it prints the largest amount of memory
that the process has used. Most of it is Python and its libraries; it does not grow with the file.

Needs `pip install unitless`.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import unitless as ul

TOWNS = ("Aston", "Brook", "Clay", "Dunmere")


def write_houses(path: pathlib.Path, megabytes: float) -> int:
    """Write rows of houses until the file is large enough; returns their number."""
    rng = np.random.default_rng(0)
    rows = 0
    with open(path, "w", encoding="utf-8") as file:
        file.write("area_m2,distance_km,town,income_usd,price_usd\n")
        while file.tell() < megabytes * 1e6:
            n = 5000
            area, distance = rng.gamma(8.0, 14.0, n), rng.exponential(9.0, n)
            town, income = rng.integers(len(TOWNS), size=n), rng.lognormal(10.8, 0.4, n)
            price = 2100 * area - 3500 * distance + 25_000 * town + 1.4 * income + rng.normal(0, 15_000, n)
            lines = zip(area, distance, town, income, price, strict=True)
            file.writelines(f"{a:.1f},{d:.2f},{TOWNS[t]},{i:.0f},{p:.0f}\n" for a, d, t, i, p in lines)
            rows += n
    return rows


def peak_megabytes() -> float | None:
    """The largest amount of memory that this process has used; None if the system does not provide it."""
    try:
        import resource  # noqa: PLC0415  (not on Windows)
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


class Crash(Exception):
    """The simulated crash."""


def watch(stop_at: int | None, every: float = 1.0) -> Callable[[Any], None]:
    """Print the progress, at most once every `every` seconds; crash after `stop_at` rows."""
    shown = time.perf_counter()

    def progress(run: Any) -> None:
        nonlocal shown
        if stop_at is not None and run.progress.rows >= stop_at:
            raise Crash
        if time.perf_counter() - shown >= every:
            shown = time.perf_counter()
            if run.evaluation is None:
                print(f"  reading, {run.progress.consumed / run.source.total_bytes:4.0%}")
            else:
                print(f"  {run.progress.rows:12,} rows, RMSE {run.evaluation.metrics['rmse']:,.0f}")

    return progress


def main() -> None:
    """Write the file, train with and without an interruption, and compare."""
    parser = argparse.ArgumentParser(description="train on a CSV of any size in constant memory, with checkpoints")
    parser.add_argument("--megabytes", type=float, default=4.0, help="size of the CSV (default: %(default)s)")
    parser.add_argument(
        "--checkpoint", type=int, default=20_000, help="number of rows between checkpoints (default: %(default)s)"
    )
    parser.add_argument("--folder", help="folder for the files (default: a temporary one, which is removed)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(given.folder or temporary)
        data, model = folder / "houses.csv", folder / "houses.unitless"
        rows = write_houses(data, given.megabytes)
        before = peak_megabytes()
        print(f"{data.name}: {rows:,} rows, {data.stat().st_size / 1e6:,.0f} MB")

        # Rows in random order, in 16 MB and a temporary file; once, because a large file needs no second pass.
        way: dict[str, Any] = {"checkpoint": given.checkpoint, "memory": "16MB", "passes": 1}
        print("training, with a crash half-way")
        try:
            ul.train(data, "price_usd", output=model, progress=watch(rows // 2), **way)
        except Crash:
            print(f"  the last checkpoint has {ul.load(model).examples:,} rows")

        print("continuing from the checkpoint")
        resumed = ul.train(data, "price_usd", resume=model, output=model, progress=watch(None), **way)
        print("training again, without an interruption")
        never_stopped = ul.train(data, "price_usd", progress=watch(None), memory="16MB", passes=1)
        same = resumed.model.weights == never_stopped.model.weights and resumed.progressive == never_stopped.progressive
        print(f"\nrows            {resumed.rows:,}")
        print(f"RMSE            {resumed.metrics['rmse']:,.0f} dollars on held-out rows; the noise is 15,000")
        print(f"same model      {'yes, to the last bit' if same else 'NO'}")
        if before is not None:
            print(f"memory at most  {peak_megabytes():,.0f} MB, of which {before:,.0f} before the training")


if __name__ == "__main__":
    main()
