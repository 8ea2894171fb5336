"""The tasks of `bandits.py`: tables from which bandit feedback is made."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from unitless.bandit.simulation import Task, read_task

ROWS = 20_000  # of a table that is made
Read = Callable[[int], tuple[Any, str]]  # from a seed to a table and the name of its target


def table(name: str, target: str, without: tuple[str, ...] = ()) -> Read:
    """A table of the directory UNITLESS_DATA."""

    def read(_: int) -> tuple[Any, str]:
        path = pathlib.Path(os.environ["UNITLESS_DATA"]) / name
        frame = pd.read_parquet(path) if name.endswith("parquet") else pd.read_csv(path)
        frame = frame.drop(columns=[column for column in without if column in frame]).dropna(subset=[target])
        return frame, target

    return read


def bundled(name: str, classes: bool) -> Read:
    """A table of scikit-learn."""

    def read(_: int) -> tuple[Any, str]:
        from sklearn import datasets

        frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
        return (frame.astype({"target": str}) if classes else frame), "target"

    return read


def letters(seed: int) -> tuple[Any, str]:
    """26 classes of 16 whole numbers from 0 to 15, each in two forms, like the letters of UCI."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(26, 2, 16)) * 2.2
    label, form = rng.integers(26, size=ROWS), rng.integers(2, size=ROWS)
    X = np.round(np.clip(7 + 2 * (centers[label, form] + rng.normal(size=(ROWS, 16))), 0, 15))
    frame = pd.DataFrame(X, columns=[f"box{k}" for k in range(16)])
    return frame.assign(letter=[chr(65 + one) for one in label]), "letter"


def regions(seed: int) -> tuple[Any, str]:
    """Five classes in regions with straight borders, in ten columns of different units."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 10))
    label = np.argmax(X[:, :5] + X[:, 5:] @ rng.normal(size=(5, 5)) + 0.5 * rng.normal(size=(ROWS, 5)), axis=1)
    frame = pd.DataFrame(X * 10.0 ** rng.integers(-4, 5, 10), columns=[f"column{k}" for k in range(10)])
    return frame.assign(label=[f"class{one}" for one in label]), "label"


def checkerboard(seed: int) -> tuple[Any, str]:
    """Three classes by the signs and sizes of three columns among eight."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 8))
    label = (X[:, 0] * X[:, 1] > 0).astype(int) + (np.abs(X[:, 2]) > 1)
    return pd.DataFrame(X, columns=[f"c{k}" for k in range(8)]).assign(label=[f"class{one}" for one in label]), "label"


def offers(seed: int) -> tuple[Any, str]:
    """What somebody would pay, by six numbers and a text."""
    rng = np.random.default_rng(seed)
    X, kind = rng.normal(size=(ROWS, 6)), rng.integers(4, size=ROWS)
    worth = np.exp(0.4 * X[:, 0] + 0.3 * np.abs(X[:, 1]) + 0.5 * kind + 0.2 * rng.normal(size=ROWS)) * 1000
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(6)])
    return frame.assign(kind=[f"kind {one}" for one in kind], worth=worth), "worth"


CLASSES: dict[str, Read] = {
    "covertype": table("covertype.parquet", "label"),
    "shuttle": table("shuttle.parquet", "label"),
    "bank": table("bank.parquet", "label"),
    "census": table("census.parquet", "label"),
    "credit default": table("raw/credit_default.csv.gz", "Y", ("ID",)),
    "diamonds (cut)": table("raw/diamonds.csv.gz", "cut"),
    "digits": bundled("digits", True),
    "breast cancer": bundled("breast_cancer", True),
    "letters (made)": letters,
    "regions (made)": regions,
    "checkerboard (made)": checkerboard,
}
PRICES: dict[str, Read] = {
    "diamonds (price)": table("raw/diamonds.csv.gz", "price"),
    "houses (price)": table("raw/kc_house.csv.gz", "price", ("id",)),
    "diabetes (price)": bundled("diabetes", False),
    "offers (made)": offers,
}
ALL = CLASSES | PRICES


def read(name: str, rounds: int, seed: int) -> Task:
    """The task of some rows of a table, chosen by the seed."""
    frame, target = ALL[name](seed)
    some = frame.sample(n=min(rounds, len(frame)), random_state=seed)
    return read_task(some, target, rounds, seed, None)
