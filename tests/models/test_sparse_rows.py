"""Rows with few of many features give the same bits in every form and on every instruction set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
from instruction_sets import KERNELS
from streams import RULES

import unitless as ul

ROWS, COLUMNS = 300, 700  # too few values among the columns to be spread over all of them


def rows_of_all_kinds() -> tuple[sp.csr_matrix, np.ndarray]:
    """Empty rows, rows of up to 300 features, scales from 1e-3 to 1e3, new largest values, and extreme values."""
    rng = np.random.default_rng(3)
    X = sp.lil_matrix((ROWS, COLUMNS))
    scales = 10.0 ** rng.uniform(-3, 3, COLUMNS)
    for r in range(ROWS):
        count = 300 if r % 50 == 7 else int(rng.integers(0, 40))
        for j in rng.choice(COLUMNS, count, replace=False):
            X[r, j] = scales[j] * rng.normal()
    X[20, 3], X[21, 3], X[22, 3] = 1e-310, 2e-310, -1e-310
    return X.tocsr(), rng.choice([-1.0, 1.0], ROWS)


def with_stored_zeros(X: sp.csr_matrix) -> sp.csr_matrix:
    full = X.tolil()
    marked = sp.csr_matrix(np.where((X.toarray() == 0) & (np.arange(COLUMNS) % 5 == 0), 1e-30, X.toarray()))
    marked.data[marked.data == 1e-30] = 0
    assert marked.nnz > full.nnz
    return marked


def backwards(X: sp.csr_matrix) -> sp.csr_matrix:
    X = X.copy()
    for r in range(ROWS):
        row = slice(X.indptr[r], X.indptr[r + 1])
        X.indices[row], X.data[row] = X.indices[row][::-1].copy(), X.data[row][::-1].copy()
    X.has_sorted_indices = False
    return X


def with_wide_indices(X: sp.csr_matrix) -> sp.csr_matrix:
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


WRITINGS: dict[str, Callable[[sp.csr_matrix], object]] = {
    "dense": lambda X: X.toarray(),
    "stored zeros": with_stored_zeros,
    "backwards": backwards,
    "64-bit indices": with_wide_indices,
}
OPTIONS = [{"rule": rule, "loss": "logistic"} for rule in RULES]


def fed(model: ul.Learner, X: object, y: np.ndarray) -> bytes:
    weight = np.arange(ROWS) % 4 / 2.0
    predictions = model.learn(X, y, weight=weight)
    return b"".join(p.tobytes() for p in (predictions, model.predict(X), model.predict(X, extrapolate=True)))


@pytest.mark.parametrize("bits", [None, 20, 6], ids=["columns", "hashed", "hashed with collisions"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_few_of_many_features_give_the_same_bits_however_they_are_written(
    options: dict[str, str], bits: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rows_of_all_kinds()
    results = set()
    for kernel in KERNELS:
        monkeypatch.setenv("UNITLESS_KERNEL", kernel)
        results.add(fed(ul.Learner(**options, bits=bits, learning_rate=0.1), X, y))
    for writing in WRITINGS.values():
        results.add(fed(ul.Learner(**options, bits=bits, learning_rate=0.1), writing(X), y))
    assert len(results) == 1


@pytest.mark.parametrize("bits", [None, 20], ids=["columns", "hashed"])
def test_few_of_many_features_can_come_row_by_row(bits: int | None) -> None:
    X, y = rows_of_all_kinds()
    together, apart = ul.Learner(bits=bits), ul.Learner(bits=bits)
    rows = np.concatenate([apart.learn(X[r], y[r : r + 1]) for r in range(ROWS)])
    assert together.learn(X, y).tobytes() == rows.tobytes()
    assert together.predict(X).tobytes() == apart.predict(X).tobytes()


@pytest.mark.parametrize("place", [0, 5000, 9999])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_bad_value_far_into_a_sparse_matrix_changes_nothing(place: int, value: float) -> None:
    X = sp.random(10_000, 500, density=0.02, format="csr", random_state=1)
    y = np.ones(10_000)
    model = ul.Learner(bits=10)
    model.learn(X[:100], y[:100])
    before = model.predict(X).tobytes()
    bad = X.copy()
    bad.data[bad.indptr[place]] = value
    with pytest.raises(ul.InputError, match=f"at row {place}, column {bad.indices[bad.indptr[place]]}"):
        model.learn(bad, y)
    assert model.predict(X).tobytes() == before


@pytest.mark.parametrize("bits", [None, 20], ids=["names", "hashed"])
def test_names_whose_values_are_sometimes_zero_can_come_row_by_row(bits: int | None) -> None:
    rng = np.random.default_rng(4)
    names = [f"feature {j}" for j in range(30)]
    values = rng.normal(size=(ROWS, 30)) * (rng.random((ROWS, 30)) < 0.6)
    rows = [dict(zip(names, row, strict=True)) for row in values.tolist()]
    y = rng.normal(size=ROWS)
    together, apart = ul.Learner(bits=bits), ul.Learner(bits=bits)
    one_by_one = [apart.learn_one(row, label) for row, label in zip(rows, y, strict=True)]
    assert together.learn(rows, y).tobytes() == np.asarray(one_by_one).tobytes()
    assert together.predict(rows).tobytes() == np.asarray([apart.predict_one(row) for row in rows]).tobytes()
