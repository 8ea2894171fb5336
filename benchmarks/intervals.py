"""Coverage and width of prediction intervals: every regression table, in the order of its file.

python benchmarks/intervals.py [--level 0.9] [--model-type linear]

Each interval is made before its row is learned. The table shows the share of labels inside their interval (coverage),
the coverage in the worst window of 1,000 consecutive rows, and the mean width next to the best fixed width: that of the
narrowest interval around the predictions which, known in hindsight, covers as many rows. The last column is the
increase of the processor time of training due to intervals.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import time
from typing import Any

import numpy as np

import unitless as ul
from unitless.metrics.coverage import Coverage, Predicted
from unitless.models.error_quantiles import ErrorQuantiles
from unitless.options import USUAL_LEVEL
from unitless.training import progressive

WINDOW = 1000
TABLES: dict[str, tuple[str, str]] = {
    "msd": ("msd_random7000.parquet", "label"),
    "ctslice": ("ctslice_head682.parquet", "label"),
    "kc_house": ("raw/kc_house.csv.gz", "price"),
    "diamonds": ("raw/diamonds.csv.gz", "price"),
    "beijing": ("raw/beijing_pm25.csv.gz", "pm"),
}


class Recording(Coverage):
    """Records the errors and the widths of the intervals."""

    def __init__(self, level: float, quantiles: ErrorQuantiles) -> None:
        super().__init__(level, quantiles, follows=True)
        self.errors: list[np.ndarray[Any, Any]] = []
        self._mirror = quantiles.copy()
        self.reaches: list[np.ndarray[Any, Any]] = []

    def count(self, predicted: Predicted, weight: Any) -> None:
        self.errors.append(predicted.errors)
        self.reaches.append(self._mirror.update_at(self.level, predicted.errors, weight))
        super().count(predicted, weight)


def streamed(path: pathlib.Path, target: str, model_type: str, make: Any) -> tuple[Any, float]:
    """Train in the order of the file, with the counter of intervals from `make`; return the counter and the time."""
    made: list[Any] = []

    def counting(model: Any, level: float) -> Any:
        model._errors = ErrorQuantiles()
        made.append(make(model._errors))
        return made[-1]

    usual, progressive.followed_intervals = progressive.followed_intervals, counting
    start = time.process_time()
    try:
        ul.train(
            path,
            target=target,
            task="regression",
            shuffle=False,
            model_type=model_type,
            reading=ul.Reading(on_error="skip"),
            progress=False,
        )
    finally:
        progressive.followed_intervals = usual
    return made[0], time.process_time() - start


def line(name: str, folder: pathlib.Path, level: float, model_type: str, rounds: int) -> str:
    """The line of a table in the output."""
    file, target = TABLES[name]
    path = folder / file
    found, _ = streamed(path, target, model_type, lambda quantiles: Recording(level, quantiles))
    errors, reaches = np.concatenate(found.errors), np.concatenate(found.reaches)
    counted = np.isfinite(reaches)
    errors, reaches = errors[counted], reaches[counted]
    held = (errors <= reaches).astype(float)
    worst = np.convolve(held, np.ones(WINDOW) / WINDOW, "valid").min() if len(held) >= WINDOW else np.nan
    fixed = np.quantile(errors, held.mean())
    times: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for with_intervals, taken in times.items():
            make = (lambda quantiles: Coverage(level, quantiles, follows=True)) if with_intervals else lambda _: None
            taken.append(streamed(path, target, model_type, make)[1])
    cost = min(times[True]) / min(times[False]) - 1 if rounds else np.nan
    return (
        f"{name:9} {len(held):7,} {held.mean():9.2%} {worst:13.2%} {2 * reaches.mean():13.5g} {2 * fixed:13.5g} "
        f"{reaches.mean() / fixed:6.3f} {cost:+7.1%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("UNITLESS_DATA"))
    parser.add_argument("--level", type=float, default=USUAL_LEVEL)
    parser.add_argument("--model-type", default="auto")
    parser.add_argument("--rounds", type=int, default=5, help="how often the time is taken")
    given = parser.parse_args()
    if given.data is None:
        parser.error("name the folder of the tables, with --data or UNITLESS_DATA")
    print("table        rows  coverage  worst window    mean width    best fixed  ratio    time")
    for name in TABLES:
        print(line(name, pathlib.Path(given.data), given.level, given.model_type, given.rounds), flush=True)


if __name__ == "__main__":
    main()
