"""The tables on which model types are compared, in the order of their files and shuffled, and their scores.

For each row, before it learns the row, a contender predicts a number, the log odds of the positive class, or the
logarithm of the probability of each of several classes.
"""

from __future__ import annotations

import pathlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

AT_MOST = 30_000  # shuffled rows
FIRST_FIT = 250  # rows before gradient boosting is fitted for the first time; before that it predicts the mean


@dataclass(frozen=True)
class Rows:
    """Rows of a table in a certain order, and their labels: numbers, true and false, or codes of classes."""

    table: str
    order: str
    X: Any  # an array, or a frame if there is text
    y: np.ndarray
    classes: int = 0  # 0: numbers

    def __len__(self) -> int:
        return len(self.y)

    @property
    def key(self) -> str:
        """A key that identifies exactly these rows."""
        seen = pd.util.hash_pandas_object(pd.DataFrame(self.X), index=False).to_numpy()
        return f"{self.table}, {self.order}, {len(self)} rows, {zlib.crc32(seen.tobytes() + self.y.tobytes()):08x}"

    def first(self, count: int) -> Rows:
        return Rows(self.table, self.order, self.X[:count], self.y[:count], self.classes)

    def score(self, said: np.ndarray) -> dict[str, float]:
        """The error and the log loss, or the squared error divided by the square of the labels' range.

        The first row of a regression does not count: no model can know the range of the labels. `later` is the loss on
        the rows after the first fit of gradient boosting, which weigh much in a small table.
        """
        found: dict[str, float] = {}
        counted = slice(None)
        if self.classes == 0:
            loss, counted = (said - self.y) ** 2 / np.ptp(self.y) ** 2, slice(1, None)
        elif self.classes == 2:
            found["error"] = float(np.mean((said > 0) != self.y))
            loss = np.logaddexp(0.0, np.where(self.y, -said, said))
        else:
            found["error"] = float(np.mean(said.argmax(axis=1) != self.y))
            loss = -said[np.arange(len(self)), self.y]
        found["loss"] = float(np.mean(loss[counted]))
        if len(self) > FIRST_FIT:
            found["later"] = float(np.mean(loss[FIRST_FIT:]))
        return found


@dataclass(frozen=True)
class Table:
    """A file, its label, and the columns that only name or number the rows."""

    path: str
    target: str = "label"
    names: tuple[str, ...] = ()
    positive: Callable[[pd.Series], pd.Series] | None = None  # for two classes: the rows that are true
    classes: bool = False  # all classes of the file
    first: int | None = None  # in the order of the file, at most this many rows
    separator: str = ","

    def read(self, folder: pathlib.Path) -> tuple[pd.DataFrame, pd.Series]:
        path = folder / self.path
        frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, sep=self.separator)
        frame = frame.dropna(subset=[self.target]).drop(columns=list(self.names)).reset_index(drop=True)
        return frame, frame.pop(self.target)

    def rows(self, name: str, folder: pathlib.Path, seed: int | None, text: bool = False) -> Rows:
        """Rows in the order of the file or shuffled: a frame if text is used, otherwise an array of numeric columns."""
        frame, labels = self.read(folder)
        y, classes = labels.to_numpy(float), 0
        if self.positive is not None:
            y, classes = self.positive(labels).to_numpy(bool), 2
        elif self.classes:
            known, y = np.unique(labels.to_numpy(), return_inverse=True)
            classes = len(known)
        chosen = np.arange(len(y))[: self.first]
        if seed is not None:
            chosen = np.random.default_rng(seed).permutation(len(y))[:AT_MOST]
        X: Any = frame.iloc[chosen].reset_index(drop=True)
        if text:
            texts = [column for column in X.columns if X[column].dtype.kind not in "iufb"]
            X[texts] = X[texts].astype(str)
        else:
            X = np.ascontiguousarray(np.nan_to_num(X.select_dtypes("number").to_numpy().astype(float)))
        return Rows(name + (" with text" if text else ""), order_name(seed), X, y[chosen], classes)


def order_name(seed: int | None) -> str:
    return "file" if seed is None else f"shuffled {seed}"


NUMBERS = {
    "shuttle 1/rest": Table("shuttle.parquet", positive=lambda y: y == 1),
    "census": Table("census.parquet", positive=lambda y: y == 1),
    "bank": Table("bank.parquet", positive=lambda y: y == 1),
    "covertype 2/rest": Table("covertype.parquet", positive=lambda y: y == 2, first=100_000),
    "kc_house": Table("raw/kc_house.csv.gz", "price", ("id", "date")),
    "diamonds": Table("raw/diamonds.csv.gz", "price", ("Unnamed: 0",)),
    "beijing_pm25": Table("raw/beijing_pm25.csv.gz", "pm", ("No",)),
    "msd sample": Table("msd_random7000.parquet"),
    "ctslice sample": Table("ctslice_head682.parquet"),
}
ALL_CLASSES = {
    "shuttle": Table("shuttle.parquet", classes=True),
    "covertype": Table("covertype.parquet", classes=True, first=100_000),
}
TEXT = {
    "bank": NUMBERS["bank"],
    "census": NUMBERS["census"],
    "credit_default": Table("raw/credit_default.csv.gz", "Y", ("ID",), positive=lambda y: y == 1),
    "kc_house": Table("raw/kc_house.csv.gz", "price", ("id",)),
    "diamonds": NUMBERS["diamonds"],
    "beijing_pm25": NUMBERS["beijing_pm25"],
}
