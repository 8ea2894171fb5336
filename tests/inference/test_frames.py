"""Frames in, frames out: by column name, in the library of the caller's frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import unitless as ul


def homes() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.uniform(20, 200, 600), "kind": rng.choice(["hut", "villa"], 600)})
    frame["price"] = 1000 * frame["area"] + 50_000.0 * (frame["kind"] == "villa")
    frame["dear"] = frame["price"] > 130_000
    frame.index = pd.Index([f"home {k}" for k in range(600)])
    return frame


KINDS = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_come_back_as_the_callers_kind(kind: str) -> None:
    rows = homes()
    as_kind: Any = KINDS[kind]
    result = ul.train(rows.drop(columns="dear"), target="price")
    plain = result.predict(rows.to_dict("records"))
    assert isinstance(plain, list)
    found = result.predict(as_kind(rows))
    assert isinstance(found, {"pandas": pd.Series, "polars": pl.Series, "pyarrow": pa.Array}[kind])
    assert (found.to_pylist() if kind == "pyarrow" else found.to_list()) == plain
    if kind == "pandas":
        assert found.index.equals(rows.index)
        assert found.name == "prediction"


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_come_back_as_a_frame(kind: str) -> None:
    rows = homes().drop(columns="price")
    result = ul.train(rows, target="dear")
    array = result.predict_proba(rows.to_dict("records"))
    found = result.predict_proba(KINDS[kind](rows))
    assert isinstance(found, {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}[kind])
    names = found.column_names if kind == "pyarrow" else list(found.columns)
    assert names == ["false", "true"]
    assert np.array_equal(np.column_stack([np.asarray(found[name]) for name in names]), array)
    if kind == "pandas":
        assert found.index.equals(rows.index)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_columns_is_irrelevant(kind: str) -> None:
    rows = homes().drop(columns="dear")
    result = ul.train(rows, target="price")
    other = rows[["price", "kind", "area"]]
    assert list(result.predict(KINDS[kind](other))) == list(result.predict(KINDS[kind](rows)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_column_is_named(kind: str) -> None:
    rows = homes().drop(columns="dear")
    result = ul.train(rows, target="price")
    with pytest.raises(ul.InputError, match="there is no column 'kind', which the model needs"):
        result.predict(KINDS[kind](rows.drop(columns="kind")))
