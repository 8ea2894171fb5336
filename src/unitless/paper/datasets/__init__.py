"""Example data that is part of the package.

shuttle.parquet is the training part of Statlog (Shuttle): 43,500 × 9 readings of the space shuttle's radiator system,
label 1 to 7. Source: Statlog (Shuttle) [Dataset], UCI Machine Learning Repository, https://doi.org/10.24432/C5WS31,
CC BY 4.0; donated by Jason Catlett, from NASA. Only the file format was changed.
"""

from __future__ import annotations

import pathlib

import numpy as np
from numpy.typing import NDArray


def load_shuttle() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The Shuttle data: readings (43,500 × 9) and classes 1 to 7."""
    import pyarrow.parquet  # noqa: PLC0415  (an optional dependency)

    table = pyarrow.parquet.read_table(pathlib.Path(__file__).with_name("shuttle.parquet"))
    features = [name for name in table.column_names if name != "label"]
    X = np.column_stack([table.column(name).to_numpy().astype(np.float64) for name in features])
    return X, table.column("label").to_numpy().astype(np.int64)


def write_shuttle(path: str) -> None:
    """The Shuttle data as CSV, to try things with."""
    from ... import whole_file  # noqa: PLC0415

    X, y = load_shuttle()
    lines = ["time," + ",".join(f"sensor{k}" for k in range(1, X.shape[1])) + ",label"]
    lines += [",".join(map(str, row)) for row in np.column_stack([X, y]).astype(np.int64).tolist()]
    whole_file.write(path, ("\n".join(lines) + "\n").encode())
