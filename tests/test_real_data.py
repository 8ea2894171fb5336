"""The exact properties on real data: Shuttle, which is bundled, and the paper's larger sets where they are at hand."""

from __future__ import annotations

import pathlib

import numpy as np
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from streams import UNIT_FREE

import unitless as ul
from unitless.datasets import load_shuttle

ROWS = 50_000
POSITIVE = {"bank": 1, "census": 1, "covertype": 2}


def load(name: str, request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    if name == "shuttle":
        X, classes = load_shuttle()
        return X, classes == 1
    folder: pathlib.Path = request.getfixturevalue("data_directory")
    table = pyarrow.parquet.read_table(folder / f"{name}.parquet").slice(0, ROWS)
    numeric = [
        field.name for field in table.schema if field.name != "label" and not pyarrow.types.is_dictionary(field.type)
    ]
    X = np.column_stack([table.column(column).to_numpy().astype(float) for column in numeric])
    return X, table.column("label").to_numpy() == POSITIVE[name]


@pytest.mark.parametrize("rule", UNIT_FREE)
@pytest.mark.parametrize("name", ["shuttle", "bank", "census", "covertype"])
def test_units_and_storage_change_no_bit(name: str, rule: str, request: pytest.FixtureRequest) -> None:
    X, y = load(name, request)
    p = ul.Learner(rule, "logistic").learn(X, y)
    units = np.ldexp(1.0, np.random.default_rng(0).integers(-400, 400, size=X.shape[1]))
    assert ul.Learner(rule, "logistic").learn(X * units, y).tobytes() == p.tobytes()
    assert ul.Learner(rule, "logistic").learn(sp.csr_matrix(X), y).tobytes() == p.tobytes()
    if np.array_equal(X, X.astype(np.float32)):  # census has a column that float32 cannot hold
        assert ul.Learner(rule, "logistic").learn(X.astype(np.float32), y).tobytes() == p.tobytes()


@pytest.mark.parametrize("name", ["shuttle", "bank", "census", "covertype"])
def test_it_learns(name: str, request: pytest.FixtureRequest) -> None:
    X, y = load(name, request)
    guess = min(np.mean(y), 1 - np.mean(y))
    error = np.mean((ul.Learner(loss="logistic").learn(X, y) > 0) != y)
    assert error < 0.99 * guess
