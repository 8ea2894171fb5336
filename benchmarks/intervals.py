"""Coverage and width of prediction intervals on small, medium and large predictions, next to intervals of one width.

python benchmarks/intervals.py [--level 0.9] [--model-type linear] [TABLE ...]

The rows are sorted by prediction and cut into fifths. The table shows the lowest and the highest coverage of a fifth:
for intervals of one width (a quantile of |label - prediction|, calibrated in the same way), and for those of the
product; and the mean width divided by that of intervals of one width. A stream predicts each row before it learns it;
"window" is the lowest coverage of 1,000 consecutive rows. A fit predicts 30% of the rows, which it never sees; its
coverages are means over three random splits.
"""

from __future__ import annotations

import argparse
import os
import pathlib
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

import unitless as ul
from unitless.metrics.coverage import Coverage, PredictedNumbers
from unitless.models.error_quantiles import ErrorQuantiles
from unitless.options import USUAL_LEVEL
from unitless.training import progressive

WINDOW = 1000
FILES: dict[str, tuple[str, str]] = {
    "kc_house": ("raw/kc_house.csv.gz", "price"),
    "diamonds": ("raw/diamonds.csv.gz", "price"),
    "beijing": ("raw/beijing_pm25.csv.gz", "pm"),
    "msd": ("msd_random7000.parquet", "label"),
    "ctslice": ("ctslice_head682.parquet", "label"),
    "credit limit": ("raw/credit_default.csv.gz", "X1"),
    "bank balance": ("raw/bank-full.csv.gz", "balance"),
    "bank duration": ("raw/bank-full.csv.gz", "duration"),
    "census age": ("census.parquet", "age"),
    "elevation": ("covertype.parquet", "Elevation"),
    "distance to fire": ("covertype.parquet", "Horizontal_Distance_To_Fire_Points"),
}
MADE = ("log-normal", "counts", "drift")
Array = np.ndarray[Any, Any]


def made(name: str, rows: int) -> pd.DataFrame:
    """A table whose errors grow with the prediction."""
    rng = np.random.default_rng(0)
    a, b, noise = rng.normal(size=(3, rows))
    time = np.arange(rows) / rows
    y = {
        "log-normal": np.exp(11 + 0.6 * a + 0.2 * b + 0.3 * noise),
        "counts": rng.poisson(np.exp(1 + 0.8 * a + 0.4 * np.sin(2 * b))).astype(float),
        "drift": np.exp(5 + 3 * time + 0.5 * a + 0.2 * b) * (1 + (0.1 + 0.3 * time) * noise),
    }[name]
    return pd.DataFrame({"a": a, "b": b, "y": y})


def table(name: str, folder: pathlib.Path, rows: int) -> tuple[pd.DataFrame, str]:
    """At most so many rows of a table, in the order of its file, and the name of the target."""
    if name in MADE:
        return made(name, min(rows, 8000)), "y"
    file, target = FILES[name]
    path = folder / file
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, sep=None, engine="python")
    frame = frame.dropna(subset=[target]).iloc[:: max(1, -(-len(frame) // rows))].reset_index(drop=True)
    return frame.assign(**{target: frame[target].astype(float)}), target


@dataclass
class Covered:
    """Predictions with their labels and limits."""

    numbers: Array
    labels: Array
    limits: Array  # two columns

    @property
    def rows(self) -> Array:
        """Whether each label is within its limits."""
        return (self.limits[:, 0] <= self.labels) & (self.labels <= self.limits[:, 1])

    @property
    def fifths(self) -> Array:
        """The coverage of each fifth of the rows, by prediction."""
        parts = np.array_split(self.rows[np.argsort(self.numbers, kind="stable")], 5)
        return np.array([part.mean() for part in parts])

    @property
    def width(self) -> float:
        """The mean width."""
        return float(np.mean(self.limits[:, 1] - self.limits[:, 0]))


class Recording(Coverage):
    """A counter of coverage that records the rows and their limits, and those of intervals of one width."""

    latest: Recording

    def __init__(self, *given: Any, **further: Any) -> None:
        super().__init__(*given, **further)
        self.parts: list[tuple[Array, ...]] = []
        self.quantiles = ErrorQuantiles()
        Recording.latest = self

    def count(self, predicted: Any, weight: Any) -> None:
        numbers, labels = predicted.columns
        limits = PredictedNumbers(numbers, labels).update(self._known.copy(), self.level, weight)
        reach = self.quantiles.update_at(self.level, np.abs(numbers - labels), weight)
        self.parts.append((numbers, labels, limits, np.stack([numbers - reach, numbers + reach], axis=1)))
        super().count(predicted, weight)

    def both(self) -> tuple[Covered, Covered]:
        numbers, labels, limits, one_width = (np.concatenate(column) for column in zip(*self.parts, strict=True))
        some = np.isfinite(one_width).all(axis=1) & np.isfinite(limits).all(axis=1)
        return (
            Covered(numbers[some], labels[some], one_width[some]),
            Covered(numbers[some], labels[some], limits[some]),
        )


def streamed(frame: pd.DataFrame, level: float, **options: Any) -> tuple[Covered, Covered]:
    with mock.patch.object(progressive, "Coverage", Recording):
        ul.train(frame, shuffle=False, level=level, **options)
    return Recording.latest.both()


def fitted(frame: pd.DataFrame, level: float, seed: int, **options: Any) -> tuple[Covered, Covered]:
    order = np.random.default_rng(seed).permutation(len(frame))
    new, learned = frame.iloc[order[: len(frame) * 3 // 10]], frame.iloc[order[len(frame) * 3 // 10 :]]
    result = ul.train(learned, **options)
    found, labels = result.predict_interval(new, level=level), new[options["target"]].to_numpy()
    held_out: Any = result.details.measured.intervals
    numbers, truth = map(np.concatenate, zip(*held_out._columns, strict=True))
    reach = ErrorQuantiles.calibrated(np.abs(numbers - truth)).known_reach(level)
    p = found["prediction"].to_numpy()
    limits = found[["low", "high"]].to_numpy()
    return Covered(p, labels, np.stack([p - reach, p + reach], axis=1)), Covered(p, labels, limits)


def shown(fifths: Array) -> str:
    return f"{100 * fifths.min():3.0f} to {100 * fifths.max():3.0f}%"


def line(name: str, folder: pathlib.Path, level: float, rows: int, model_type: str) -> tuple[str, list[float]]:
    """The results of a table, and the ratios of widths."""
    frame, target = table(name, folder, rows)
    options: dict[str, Any] = {"target": target, "task": "regression", "model_type": model_type, "progress": False}
    if name == "counts":
        options["loss"] = "poisson"
    one, ours = streamed(frame, level, **options)
    window = np.convolve(ours.rows, np.ones(WINDOW) / WINDOW, "valid").min() if len(ours.rows) >= WINDOW else np.nan
    splits = [fitted(frame, level, seed, **options) for seed in range(3)]
    fifths = np.mean([[a.fifths, b.fifths] for a, b in splits], axis=0)
    ratios = [ours.width / one.width, float(np.mean([b.width / a.width for a, b in splits]))]
    return (
        f"{name:16} {len(frame):6,}  {shown(one.fifths)}  {shown(ours.fifths)} {100 * window:4.0f}% {ratios[0]:6.2f}"
        f"   {shown(fifths[0])}  {shown(fifths[1])} {ratios[1]:6.2f}"
    ), ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help="default: all")
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("UNITLESS_DATA"))
    parser.add_argument("--level", type=float, default=USUAL_LEVEL)
    parser.add_argument("--rows", type=int, default=24_000, help="the largest number of rows of a table")
    parser.add_argument("--model-type", default="auto")
    given = parser.parse_args()
    if given.data is None:
        parser.error("name the folder of the tables, with --data or UNITLESS_DATA")
    print(f"{'':24} stream: coverage of fifths                    fit: coverage of fifths")
    print(
        "table              rows  one width       by prediction  window  width   one width       by prediction   width"
    )
    ratios = []
    for name in given.tables or (*FILES, *MADE):
        text, found = line(name, pathlib.Path(given.data), given.level, given.rows, given.model_type)
        ratios.append(found)
        print(text, flush=True)
    stream, fit = np.exp(np.log(ratios).mean(axis=0))
    print(f"geometric mean of the widths: {stream:.2f} when streaming, {fit:.2f} when fitting")


if __name__ == "__main__":
    main()
