"""Tables in the directory of datasets: the paper's six, and raw files."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import DatasetError
from ....inputs import Float64
from ...experiments.datasets import DATASETS, load
from ..table import MOST_ROWS, Table, Task, complete, csv_columns, matrix

TASKS: dict[str, Task] = {"binary": "binary", "classes": "classes", "number": "regression"}


def _paper(key: str, directory: pathlib.Path | None) -> tuple[Float64, Any]:
    """The columns of one of the paper's datasets; text as indicators, without the products of columns."""
    table = load(key, directory=directory).table
    table = table.take(np.random.default_rng(1).permutation(table.num_rows)[:MOST_ROWS])
    columns: dict[str, Any] = {}
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        kind = str(column.type)
        text = kind.startswith("dictionary") or "string" in kind
        columns[name] = np.array(column.to_pylist(), dtype=object if text else np.float64)
    return matrix(columns, {"label"}), columns["label"]


def _raw(directory: pathlib.Path | None, file: str, **options: Any) -> dict[str, Any]:
    if directory is None:
        raise DatasetError("no directory of datasets was named; name it with --data or UNITLESS_DATA")
    return csv_columns(directory / "raw" / file, **options)


def _column(
    name: str, task: Task, file: str, target: str, leave_out: tuple[str, ...], about: str, **options: Any
) -> Table:
    def read(directory: pathlib.Path | None) -> tuple[Float64, Any]:
        columns = _raw(directory, file, **options)
        return complete(matrix(columns, {target, *leave_out}), columns[target])

    return Table(name, "raw file", task, read, True, about)


def _houses(directory: pathlib.Path | None) -> tuple[Float64, Any]:
    columns = _raw(directory, "kc_house.csv.gz")
    columns["date"] = np.array([float(text[:8]) for text in columns["date"]])
    columns["floors"] = columns["floors"].astype(np.float64)
    return complete(matrix(columns, {"id", "price"}), columns["price"])


def _every(step: int, read: Callable[[pathlib.Path | None], tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
    """Every so many-th row, so that the limit of rows does not leave only the beginning."""

    def thinned(directory: pathlib.Path | None) -> tuple[Any, Any]:
        X, y = read(directory)
        return X[::step], y[::step]

    return thinned


def _thinned(table: Table, step: int) -> Table:
    return Table(table.name, table.source, table.task, _every(step, table.read), table.in_order, table.about)


PAPER = [
    Table(dataset.title, "paper", TASKS[dataset.task], functools.partial(_paper, key), about="the paper's")
    for key, dataset in DATASETS.items()
]

RAW = [
    _thinned(_column("Beijing air", "regression", "beijing_pm25.csv.gz", "pm", ("No",), "hPa, degrees, years"), 8),
    _thinned(_column("credit default", "binary", "credit_default.csv.gz", "Y", ("ID",), "dollars and codes"), 6),
    _thinned(
        _column("diamonds", "regression", "diamonds.csv.gz", "price", ("",), "carats, mm; nearly sorted by price"), 10
    ),
    _thinned(
        Table("King County houses", "raw file", "regression", _houses, True, "dates of 8 digits, feet, degrees"), 4
    ),
    _thinned(
        _column("bank, by time", "binary", "bank-full.csv.gz", "y", (), "euros, seconds; drifts", delimiter=";"), 9
    ),
]

TABLES = PAPER + RAW
