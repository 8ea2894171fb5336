"""Columns that are constant until the last rows of a stream are reported, and no others are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul

ROWS, LEARNED = 1500, 1350


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(ROWS, 2)), columns=["a", "b"])
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(ROWS), "h")
    return frame.assign(y=frame.a + rng.normal(size=ROWS))


def reported(frame: pd.DataFrame, **options: Any) -> list[str]:
    known = {"shuffle": False, "holdout": "last", **options}
    return [note for note in ul.train(frame, "y", progress=False, **known).notes if "one value" in note]


@pytest.mark.parametrize("kind", ["number", "text", "filled in later"])
def test_a_column_that_is_constant_until_the_last_rows_is_named(kind: str) -> None:
    late = np.arange(ROWS) >= LEARNED
    values = {
        "number": np.where(late, np.arange(ROWS) / 7, 1.0),
        "text": np.where(late, np.array(["x", "y", "z"])[np.arange(ROWS) % 3], "old"),
        "filled in later": np.where(late, np.arange(ROWS) / 7, np.nan),
    }[kind]
    frame = table().assign(state=values)
    (note,) = reported(frame)
    assert "column 'state' has one value in the learned rows and others in the last 150 rows" in note
    assert "ignore='state'" in note
    assert reported(frame, shuffle=True, holdout=0.1) == []  # in random order, rows with all values are learned


def test_columns_that_are_constant_or_rarely_differ_are_not_named() -> None:
    number = np.arange(ROWS)
    frame = table().assign(same=1.0, rare=np.where(number == 1400, 1.0, 0.0), often=number % 2, empty=np.nan)
    assert reported(frame) == []
