"""The loss of training in partitions, compared with one stream over the same rows.

    UNITLESS_DATA=... python benchmarks/partitions.py [--seeds 5] [--partitions 16] [--trees] [--order]

A fifth of each table is never learned. One stream learns the others in random order, in one pass; so do partitions that
are merged in rounds; each column has another number of rounds. The numbers are the loss on the fifth divided by that of
one stream, minus 1, in percent, averaged over seeds. `--order`: Covertype in the order of its file, where one stream is
led astray.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import time
from typing import Any

import numpy as np
import pandas as pd

import unitless as ul
from unitless.cluster import layout

ROUNDS = (2, 4, 8, 16, 32)
TABLES: dict[str, tuple[str, dict[str, Any]]] = {
    "covertype, centered": ("covertype", {"center": True}),
    "covertype, not centered": ("covertype", {"center": False}),
    "bank": ("bank", {}),
    "census": ("census", {}),
}


def table(name: str) -> pd.DataFrame:
    frame = pd.read_parquet(pathlib.Path(os.environ["UNITLESS_DATA"]) / f"{name}.parquet")
    if name == "covertype":
        frame["label"] = np.where(frame["label"] == 2, "lodgepole", "other")  # one class against all others
    return frame


def loss(frame: pd.DataFrame, test: pd.DataFrame, **options: Any) -> tuple[float, ul.training.result.TrainResult]:
    result = ul.train(frame, "label", passes=1, holdout=0, average=False, **options)
    return ul.evaluate(result.model, test).metrics["log_loss"], result


def split(frame: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    order = np.random.default_rng(seed).permutation(len(frame))
    held = len(frame) // 5
    return frame.iloc[np.sort(order[held:])].reset_index(drop=True), frame.iloc[order[:held]]


def compare(title: str, seeds: int, partitions: int, model_type: str) -> None:
    name, options = TABLES[title]
    frame = table(name)
    found: dict[int, list[float]] = {count: [] for count in ROUNDS}
    begun = time.perf_counter()
    for seed in range(seeds):
        rows, test = split(frame, seed)
        alone, _ = loss(rows, test, model_type=model_type, random_state=seed, **options)
        for count in ROUNDS:
            there, result = loss(
                rows,
                test,
                model_type=model_type,
                random_state=seed,
                cluster=ul.Cluster(partitions=partitions, sync_rounds=count),
                **options,
            )
            assert (result.round_log[0].partitions, len(result.round_log)) == (partitions, count)
            found[count].append(100 * (there / alone - 1))
    cells = "".join(f"{np.mean(values):>+9.2f}" for values in found.values())
    spread = np.std(found[8], ddof=1) if seeds > 1 else float("nan")
    print(f"{title:<24}{len(frame):>9,}{cells}{spread:>10.2f}{time.perf_counter() - begun:>8.0f} s", flush=True)


def in_order(partitions: int, model_type: str) -> None:
    """Files in a meaningful order: each partition still gets rows from everywhere."""
    frame = table("covertype")
    rows, test = split(frame, 0)
    alone, _ = loss(rows, test, model_type=model_type, shuffle=False)
    fitted, _ = loss(rows, test, model_type=model_type)
    dealt, _ = loss(rows, test, model_type=model_type, cluster=ul.Cluster(partitions=partitions, sync_rounds=8))
    print(
        f"covertype in the order of its file: one stream in that order {alone:.4f}, in random order {fitted:.4f}, ",
        end="",
    )
    print(f"{partitions} partitions {dealt:.4f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--trees", action="store_true", help="what `train` makes of tables by default")
    parser.add_argument("--order", action="store_true")
    parser.add_argument("--table", choices=TABLES, action="append")
    given = parser.parse_args()
    if "UNITLESS_DATA" not in os.environ:
        print("set UNITLESS_DATA to the folder of the tables")
        return 1
    model_type = "trees" if given.trees else "linear"
    # Small tables would have fewer partitions than this study needs.
    layout.LEAST_CELL = 1
    if given.order:
        in_order(given.partitions, model_type)
        return 0
    header = "".join(f"{f'R = {count}':>9}" for count in ROUNDS)
    print(f"{given.partitions} partitions, {given.seeds} seeds, {model_type}: loss over one stream's, in percent")
    print(f"{'':<24}{'rows':>9}{header}{'sd, R = 8':>10}")
    for title in given.table or TABLES:
        compare(title, given.seeds, given.partitions, model_type)
    return 0


if __name__ == "__main__":
    sys.exit(main())
