"""A table for training in partitions, and a digest to compare models."""

from __future__ import annotations

import hashlib
import os
import pathlib
import pickle
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import processes
import pyarrow as pa
from pyarrow import parquet

import unitless as ul

ROWS = 6000


def in_parts(**options: Any) -> ul.Cluster:
    """Train in few small partitions, with these options."""
    return ul.Cluster(**{"partitions": 3, "sync_rounds": 2, **options})


PLAN: dict[str, Any] = {"random_state": 5, "cluster": in_parts()}


def table(rows: int = ROWS, seed: int = 0) -> pa.Table:
    """Numbers in several units, text with gaps, and three things to predict."""
    rng = np.random.default_rng(seed)
    size, heat = rng.gamma(2.0, 1e-4, rows), rng.normal(300.0, 20.0, rows)
    town = rng.choice(["Ulm", "Bonn", "Köln"], rows)
    price = 4e4 * size + np.sin(heat / 10) + (town == "Ulm") + 0.1 * rng.normal(size=rows)
    return pa.table(
        {
            "size": size,
            "heat": pa.array(heat, mask=rng.random(rows) < 0.05),
            "town": pa.array(town, mask=rng.random(rows) < 0.1),
            "count": rng.integers(0, 9, rows),
            "price": price,
            "dear": np.where(price > 1, "yes", "no"),
            "class": np.array(["low", "middle", "high"])[np.digitize(price, [0.0, 1.5])],
        }
    )


def write(folder: pathlib.Path, files: int = 2) -> str:
    """Write the table to several files; return a pattern that matches them."""
    whole = table()
    size = -(-whole.num_rows // files)
    for number in range(files):
        part = whole.slice(number * size, size)
        parquet.write_table(part, folder / f"part{number}.parquet", row_group_size=700)
    return str(folder / "part*.parquet")


def digest(model: Any) -> str:
    """A digest of everything that a model has learned."""
    copied = model.copy()
    copied._training = None
    return hashlib.sha256(pickle.dumps(copied)).hexdigest()


class Killer:
    """Kills workers with signal 9, once in every round, after the first tasks of the round."""

    def __init__(self, is_worker: Callable[[str], bool]) -> None:
        self._is_worker = is_worker
        self._rounds: set[int] = set()
        self.killed = 0

    def __call__(self, run: Any) -> None:
        round_number = len(run.round_log)
        if run.model is None or round_number in self._rounds:
            return
        self._rounds.add(round_number)
        workers = [process for process, command in processes.descendants().items() if self._is_worker(command)]
        for process in workers[:1]:
            os.kill(process, signal.SIGKILL)
            self.killed += 1
