"""A table of the contest: where its rows come from, and its rows as all learners get them."""

from __future__ import annotations

import io
import pathlib
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import DatasetError
from ...inputs import Float64

Task: TypeAlias = Literal["binary", "classes", "regression"]
Source: TypeAlias = Literal["paper", "raw file", "scikit-learn", "River", "statsmodels", "synthetic"]

MOST_ROWS = 5000
MOST_WORK = 1.2e6
"""The limit of rows × features × classes."""


@dataclass(frozen=True)
class Rows:
    """Rows in the order in which they are learned.

    Attributes:
        X: numbers in raw units; a text column is one indicator for each of its values.
        y: 0 and 1; the number of the class; or a number in its raw unit.
        task: what y is.
    """

    X: Float64
    y: Float64
    task: Task

    @property
    def classes(self) -> int:
        """The number of scores that a learner makes for a row."""
        return int(self.y.max()) + 1 if self.task == "classes" else 1


@dataclass(frozen=True)
class Table:
    """A table of the contest.

    Attributes:
        name: its name, unique among all tables.
        source: where it comes from.
        task: what is predicted.
        read: reads X and y of all rows, given the directory of datasets; raises a DatasetError if it is not there.
        in_order: whether rows are learned in the order of the file, because they are ordered by time.
        about: what is special about its units.
    """

    name: str
    source: Source
    task: Task
    read: Callable[[pathlib.Path | None], tuple[Any, Any]]
    in_order: bool = False
    about: str = ""

    def rows(self, directory: pathlib.Path | None) -> Rows:
        """The rows of the contest: shuffled by a fixed seed unless they are ordered by time, and limited in number."""
        X, y = self.read(directory)
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
        if self.task != "regression":
            y = np.unique(y, return_inverse=True)[1].reshape(-1)
        classes = int(y.max()) + 1 if self.task == "classes" else 1
        most = min(MOST_ROWS, int(MOST_WORK / (X.shape[1] * classes)))
        order = np.arange(len(y)) if self.in_order else np.random.default_rng(0).permutation(len(y))
        order = order[:most]
        y = y[order].astype(np.float64)
        if len(np.unique(y)) < 2:
            raise DatasetError(f"the first {len(y)} labels of {self.name} are all the same")
        if self.task == "classes":
            y = np.unique(y, return_inverse=True)[1].reshape(-1).astype(np.float64)
        return Rows(np.ascontiguousarray(X[order]), y, self.task)


def csv_columns(path: pathlib.Path, **options: Any) -> dict[str, NDArray[Any]]:
    """The columns of a file of comma-separated values, by name.

    Args:
        path: the file, perhaps compressed by gzip, or the first of a zip archive.
        options: `names` of the columns if the file has no header, `skip`, the lines before the first row or the
            header, and `delimiter`.
    """
    from pyarrow import csv  # noqa: PLC0415  (takes long to import)

    if not path.is_file():
        raise DatasetError(f"there is no file {path.name}")
    names = options.get("names")
    whole: Any = path
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            whole = io.BytesIO(archive.read(archive.namelist()[0]))
    table = csv.read_csv(
        whole,
        csv.ReadOptions(column_names=names, skip_rows=options.get("skip", 0)),
        csv.ParseOptions(delimiter=options.get("delimiter", ",")),
        csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True),
    )
    return {name: _array(table.column(name)) for name in table.column_names}


def _array(column: Any) -> NDArray[Any]:
    """A column of pyarrow: numbers as float64 with NaN for missing ones, anything else as text."""
    from pyarrow import types  # noqa: PLC0415

    if types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type):
        return np.asarray([np.nan if value is None else value for value in column.to_pylist()], dtype=np.float64)
    return np.asarray([str(value) for value in column.to_pylist()], dtype=object)


def matrix(columns: dict[str, NDArray[Any]], leave_out: Iterable[str] = ()) -> Float64:
    """Numbers as they are, and an indicator for each value of a text column; rows with missing numbers are NaN."""
    left_out = set(leave_out)
    parts: list[Any] = []
    for name, column in columns.items():
        if name in left_out:
            continue
        if column.dtype == object:
            texts = column.astype(str)
            parts += [texts == value for value in np.unique(texts)]
        else:
            parts.append(column.astype(np.float64))
    return np.column_stack([np.asarray(part, dtype=np.float64) for part in parts])


def complete(X: Float64, y: Any) -> tuple[Float64, Any]:
    """The rows without a missing number."""
    known = np.isfinite(X).all(axis=1)
    if np.asarray(y).dtype != object:
        known &= np.isfinite(np.asarray(y, dtype=np.float64))
    return X[known], np.asarray(y)[known]


def lagged(series: Any, lags: int) -> tuple[Float64, Float64]:
    """A series as rows: each value, and the values before it, the latest first."""
    values = np.asarray(series, dtype=np.float64)
    X = np.column_stack([values[lags - k : len(values) - k] for k in range(1, lags + 1)])
    return complete(X, values[lags:])
