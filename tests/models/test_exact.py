"""The exact properties: changes of the input that must not change a single bit."""

from __future__ import annotations

import copy
import io
import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from instruction_sets import KERNELS
from streams import LOSSES, RULES, UNIT_FREE, same_bits, stream

import unitless as ul

OPTIONS = [{"rule": rule, "loss": loss} for rule in RULES for loss in ("squared", "logistic")]


def small(rule: str, loss: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    baseline = rule in ("gd", "ag")  # compared near unit scales, where they work
    return stream(loss, rows=120, features=13, seed=seed, spread=0.5 if baseline else 12, growth=not baseline)


def state(m: ul.Learner) -> bytes:
    return pickle.dumps(m)


# ------------------------------------------------------------------------------------------------- units


@given(
    rule=st.sampled_from(UNIT_FREE),
    loss=st.sampled_from(LOSSES),
    powers=st.lists(st.integers(-900, 900), min_size=6, max_size=6),
    aware=st.booleans(),
)
def test_power_of_two_scaling_changes_no_bit(rule: str, loss: str, powers: list[int], aware: bool) -> None:
    X, y = stream(loss, rows=60, features=6, spread=3)
    scaled = X * np.ldexp(1.0, powers)
    a = ul.Learner(rule, loss, importance_aware=aware, learning_rate=0.1)
    b = ul.Learner(rule, loss, importance_aware=aware, learning_rate=0.1)
    assert same_bits(a.learn(X, y), b.learn(scaled, y))
    assert same_bits(a.predict(3 * X), b.predict(3 * scaled))
    assert same_bits(list(a.importance.values()), list(b.importance.values()))


@pytest.mark.parametrize("rule", UNIT_FREE)
def test_any_other_factor_changes_predictions_by_rounding_only(rule: str) -> None:
    X, y = stream()
    factors = 10.0 ** np.random.default_rng(1).uniform(-6, 6, size=X.shape[1])
    a, b = ul.Learner(rule).learn(X, y), ul.Learner(rule).learn(X * factors, y)
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * np.sqrt(np.mean(a**2)))


@pytest.mark.parametrize("rule", ["gd", "ag"])
def test_the_baselines_do_depend_on_units(rule: str) -> None:
    X, y = stream(spread=0)
    factors = np.ldexp(1.0, np.arange(X.shape[1]))
    a, b = ul.Learner(rule).learn(X, y), ul.Learner(rule).learn(X * factors, y)
    assert np.sqrt(np.mean((a - b) ** 2)) > 0.05 * np.sqrt(np.mean(a**2))


@given(
    rule=st.sampled_from(RULES), loss=st.sampled_from(LOSSES), flips=st.lists(st.booleans(), min_size=13, max_size=13)
)
def test_flipping_a_features_sign_changes_no_bit(rule: str, loss: str, flips: list[bool]) -> None:
    X, y = small(rule, loss)
    signs = np.where(flips, -1.0, 1.0)
    assert same_bits(ul.Learner(rule, loss, 0.1).learn(X, y), ul.Learner(rule, loss, 0.1).learn(X * signs, y))


@given(rule=st.sampled_from(RULES), loss=st.sampled_from(LOSSES), columns=st.integers(1, 20))
def test_appending_all_zero_columns_changes_no_bit(rule: str, loss: str, columns: int) -> None:
    X, y = small(rule, loss)
    wider = np.hstack([X, np.zeros((len(X), columns))])
    assert same_bits(ul.Learner(rule, loss, 0.1).learn(X, y), ul.Learner(rule, loss, 0.1).learn(wider, y))


@given(rule=st.sampled_from(("ag", "nag", "snag")), power=st.integers(-60, 60))
def test_power_of_two_scaling_of_label_and_rate_scales_predictions(rule: str, power: int) -> None:
    X, y = small(rule, "squared")
    factor = float(np.ldexp(1.0, power))
    a = ul.Learner(rule, learning_rate=0.5).learn(X, y)
    b = ul.Learner(rule, learning_rate=0.5 * factor).learn(X, y * factor)
    assert same_bits(a * factor, b)


@pytest.mark.parametrize("rule", ["gd", "ng"])
def test_without_adaptive_rates_predictions_scale_with_the_label_alone(rule: str) -> None:
    X, y = small(rule, "squared")
    assert same_bits(
        1024 * ul.Learner(rule, learning_rate=0.1).learn(X, y), ul.Learner(rule, learning_rate=0.1).learn(X, 1024 * y)
    )


# ------------------------------------------------------------------------------------------------- ways of feeding


def csr(X: np.ndarray) -> sp.csr_matrix:
    return sp.csr_matrix(X)


def shuffled_csr(X: np.ndarray) -> sp.csr_matrix:
    """Indices out of order, explicit zeros, and duplicates that must be added up."""
    rng = np.random.default_rng(5)
    values, indices, starts = [], [], [0]
    for row in X:
        for j in rng.permutation(len(row)):
            parts = [row[j] / 2, row[j] / 2] if j % 3 == 0 else [row[j]]
            values += parts
            indices += [j] * len(parts)
        starts.append(len(values))
    return sp.csr_matrix((values, indices, starts), shape=X.shape)


def strided(X: np.ndarray) -> np.ndarray:
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::-2, ::3] = X
    return wide[::-2, ::3]


ARRAYS = {
    "csr": csr,
    "csr, 64-bit indices": lambda X: _wide_indices(csr(X)),
    "csc": sp.csc_matrix,
    "sparse array": sp.csr_array,
    "shuffled csr": shuffled_csr,
    "fortran": np.asfortranarray,
    "strided": strided,
    "list": lambda X: X.tolist(),
}


def _wide_indices(matrix: sp.csr_matrix) -> sp.csr_matrix:
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ARRAYS)
def test_every_array_gives_the_same_bits_as_dense(kind: str, options: dict[str, str], kernel: str) -> None:
    X, y = small(options["rule"], options["loss"])
    weight = np.random.default_rng(2).integers(0, 3, len(y))
    a, b = ul.Learner(**options), ul.Learner(**options)
    assert same_bits(a.learn(X, y, weight), b.learn(ARRAYS[kind](X), y, weight))
    assert state(a) == state(b)
    for extrapolate in (False, True):
        expected = a.predict(2 * X, extrapolate=extrapolate)
        assert same_bits(expected, b.predict(ARRAYS[kind](2 * X), extrapolate=extrapolate))


@pytest.mark.parametrize(
    "dtype",
    ["float32", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", ">f8", "float16"],
)
def test_every_number_type_gives_the_same_bits_as_float64(dtype: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2 if dtype == "bool" else 100, size=(80, 7)).astype(dtype)
    y = rng.normal(size=80)
    expected = ul.Learner().learn(X.astype(np.float64), y)
    assert same_bits(expected, ul.Learner().learn(X, y))
    assert same_bits(expected, ul.Learner().learn(np.asfortranarray(X), y))


@given(
    options=st.sampled_from(OPTIONS),
    cuts=st.lists(st.integers(0, 120), max_size=6),
)
def test_one_call_is_many_calls(options: dict[str, str], cuts: list[int]) -> None:
    X, y = small(options["rule"], options["loss"])
    weight = np.random.default_rng(2).exponential(size=len(y))
    whole, parts = ul.Learner(**options), ul.Learner(**options)
    expected = whole.learn(X, y, weight)
    edges = [0, *sorted(cuts), len(y)]
    pieces = [parts.learn(X[a:b], y[a:b], weight[a:b]) for a, b in itertools.pairwise(edges)]
    assert same_bits(expected, np.concatenate(pieces))
    assert state(whole) == state(parts)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_dense_and_sparse_calls_can_alternate(options: dict[str, str]) -> None:
    X, y = small(options["rule"], options["loss"])
    expected = ul.Learner(**options).learn(X, y)
    m = ul.Learner(**options)
    mixed = [m.learn(X[i : i + 7] if i % 2 else csr(X[i : i + 7]), y[i : i + 7]) for i in range(0, len(y), 7)]
    assert same_bits(expected, np.concatenate(mixed))


NAMES = [f"f{j:02d}" for j in range(13)]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_named_rows_give_the_same_bits_as_dense(options: dict[str, str], kernel: str) -> None:
    X, y = small(options["rule"], options["loss"])
    rng = np.random.default_rng(4)
    dense, named = ul.Learner(**options), ul.Learner(**options)
    expected = dense.learn(X, y)
    predictions = []
    for r, (row, label) in enumerate(zip(X, y, strict=True)):
        order = range(13) if r == 0 else rng.permutation(13)  # names are first met in column order
        mapping = {NAMES[j]: float(row[j]) for j in order if r == 0 or row[j] != 0}
        predictions.append(named.learn_one(mapping, label))
    assert same_bits(expected, predictions)
    assert same_bits(list(dense.weights.values()), list(named.weights.values()))
    one_by_one = [named.predict_one(dict(zip(NAMES, row.tolist(), strict=True))) for row in X]
    assert same_bits(dense.predict(X), one_by_one)


def frames(X: np.ndarray, names: list[str]) -> dict[str, object]:
    columns = dict(zip(names, X.T, strict=True))
    return {
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "pyarrow": pa.table(columns),
        "record batch": pa.RecordBatch.from_pydict(columns),
        "mappings": [dict(zip(names, row, strict=True)) for row in X.tolist()],
    }


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "record batch", "mappings"])
def test_frames_give_the_same_bits_as_dense_whatever_the_order_of_columns(kind: str, options: dict[str, str]) -> None:
    X, y = small(options["rule"], options["loss"])
    dense, framed = ul.Learner(**options), ul.Learner(**options)
    expected = dense.learn(X, y)
    first = framed.learn(frames(X[:50], NAMES)[kind], y[:50])
    rest = framed.learn(frames(X[50:, ::-1], NAMES[::-1])[kind], y[50:])
    assert same_bits(expected, np.concatenate([first, rest]))
    assert same_bits(dense.predict(X), framed.predict(frames(X[:, ::-1], NAMES[::-1])[kind]))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_hashed_names_without_collisions_learn_what_interned_names_do(options: dict[str, str]) -> None:
    X, y = small(options["rule"], options["loss"])
    exact, hashed = ul.Learner(**options), ul.Learner(**options, bits=20)
    rows = frames(X, NAMES)["mappings"]
    a, b = exact.learn(rows, y), hashed.learn(rows, y)
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-4)  # sums in another order
    assert same_bits(b, ul.Learner(**options, bits=20).learn(pd.DataFrame(dict(zip(NAMES, X.T, strict=True))), y))


def test_hashed_columns_give_the_same_bits_dense_and_sparse() -> None:
    X, y = small("nag", "squared")
    a, b = ul.Learner(bits=3), ul.Learner(bits=3)
    assert same_bits(a.learn(X, y), b.learn(csr(X), y))
    assert len(a.weights) <= 9


def test_the_order_of_colliding_features_within_a_row_does_not_matter() -> None:
    a, b = ul.Learner(bits=1), ul.Learner(bits=1)
    row = {f"n{j}": 0.1 * 3**j for j in range(12)}
    assert a.learn_one(row, 1.0) == b.learn_one(dict(reversed(row.items())), 1.0)
    assert a.predict_one(row) == b.predict_one(row)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_predict_is_what_learn_would_have_predicted(options: dict[str, str], kernel: str) -> None:
    X, y = small(options["rule"], options["loss"])
    m = ul.Learner(**options)
    for r in range(len(y)):
        before = state(m)
        predicted = m.predict(X[r : r + 1])
        assert state(m) == before
        assert same_bits(predicted, m.learn(X[r : r + 1], y[r : r + 1]))


# ------------------------------------------------------------------------------------------------- machines, files


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rule", RULES)
def test_every_instruction_set_gives_the_same_bits(rule: str, loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = small(rule, loss)
    weight = np.random.default_rng(2).exponential(size=len(y))
    results = set()
    for name in KERNELS:
        monkeypatch.setenv("UNITLESS_KERNEL", name)
        for aware in (True, False):
            m = ul.Learner(rule, loss, 0.05, importance_aware=aware)
            dense = m.learn(X, y, weight).tobytes() + m.predict(X * 1.5).tobytes()
            sparse = ul.Learner(rule, loss, 0.05, importance_aware=aware).learn(csr(X), y, weight)
            results.add((aware, dense, sparse.tobytes()))
    assert len(results) == 2  # one with importance-aware steps, one without


@given(options=st.sampled_from(OPTIONS), cut=st.integers(0, 120))
def test_saving_and_loading_in_mid_stream_is_invisible(
    options: dict[str, str], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    X, y = small(options["rule"], options["loss"])
    whole = ul.Learner(**options)
    expected = whole.learn(X, y)
    m = ul.Learner(**options)
    first = m.learn(X[:cut], y[:cut])
    path = tmp_path_factory.mktemp("models") / "m.unitless"
    m.save(path)
    rest = ul.load(path).learn(X[cut:], y[cut:])
    assert same_bits(expected, np.concatenate([first, rest]))


@pytest.mark.parametrize("options", [*OPTIONS, {"rule": "nag", "loss": "squared", "bits": 10}], ids=str)
def test_pickles_and_copies_go_on_alike_and_apart(options: dict[str, str]) -> None:
    X, y = small(options["rule"], options["loss"])
    m = ul.Learner(**options)
    m.learn(X[:60], y[:60])
    before = state(m)
    for twin in (pickle.loads(pickle.dumps(m)), copy.copy(m), copy.deepcopy(m), m.copy()):
        assert type(twin) is ul.Learner
        assert twin.options == m.options
        assert state(twin) == before
        twin.learn(X[60:], y[60:])
        assert state(m) == before


def test_the_same_model_gives_the_same_bytes() -> None:
    X, y = small("nag", "squared")
    buffers = []
    for _ in range(2):
        m = ul.Learner()
        m.learn(X, y)
        buffer = io.BytesIO()
        pickle.dump(m, buffer)
        buffers.append(buffer.getvalue())
    assert buffers[0] == buffers[1]


@pytest.mark.parametrize("learning_rate", [0.5, "auto"])
def test_hashed_columns_give_the_same_bits_in_any_order_of_storage(learning_rate: object) -> None:
    X, y = small("nag", "squared")
    make = lambda: ul.Learner(learning_rate=learning_rate, bits=3)  # type: ignore[arg-type]  # noqa: E731
    a, b, c = make(), make(), make()
    expected = a.learn(X, y)
    assert same_bits(expected, b.learn(np.asfortranarray(X), y))
    assert same_bits(expected, c.learn(strided(X), y))
    assert state(a) == state(b) == state(c)


@pytest.mark.parametrize(
    "options",
    [{}, {"learning_rate": "auto"}, {"bits": 4}, {"bits": 6, "interactions": [("name a", "name*")]}],
    ids=str,
)
def test_names_can_be_the_same_objects_or_only_the_same_text(options: dict[str, object]) -> None:
    shapes = [
        ["name a", "name b", "name c"],
        ["name a", "name b"],
        ["name c", "name b", "name a"],
        ["name a", "name d"],
    ]
    rng = np.random.default_rng(0)
    kept, copied = ul.Learner(**options), ul.Learner(**options)
    for step in range(400):
        names = shapes[step // 3 % 4]  # each three times in a row
        values = rng.normal(size=3).tolist()
        weight = float(rng.integers(0, 3))
        row = dict(zip(names, values, strict=False))
        rows = [row, {"".join(list(name)): value for name, value in row.items()}]
        if step % 7 == 3:  # a bad row, which leaves no trace
            for model, good in zip((kept, copied), rows, strict=True):
                with pytest.raises(ul.InputError, match="'name z' is nan"):
                    model.learn_one({**good, "name z": float("nan")}, 1.0)
        assert kept.predict_one(rows[0]) == copied.predict_one(rows[1])
        assert kept.learn_one(rows[0], values[0], weight) == copied.learn_one(rows[1], values[0], weight)
    assert pickle.dumps(kept) == pickle.dumps(copied)
