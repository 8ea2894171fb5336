"""scikit-learn's estimators treat a missing value as a separate feature, in arrays and in frames."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import unitless as ul
from unitless.sklearn import UnitlessClassifier, UnitlessRegressor

SHAPES = ("linear", "trees")
NAMES = ["a", "b", "c"]


def gaps(rows: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, the same with values missing from row 100 on, and labels that depend on which are missing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3)) * [1e-3, 1, 1e3] + [0, 5, 0]
    gone = rng.random((rows, 3)) < 0.2
    gone[:100] = False
    y = X @ [1000, 1, 0.001] + 5 * gone[:, 1]
    return X, np.where(gone, np.nan, X), y


def made(**options: Any) -> UnitlessRegressor:
    return UnitlessRegressor(max_iter=2, **options)


@pytest.mark.parametrize("model_type", SHAPES)
def test_what_is_missing_is_learned(model_type: Any) -> None:
    _, X, y = gaps(3000)
    model = UnitlessRegressor(model_type=model_type).fit(X[:2000], y[:2000])
    missing = np.isnan(X[2000:, 1]) & ~np.isnan(X[2000:, [0, 2]]).any(axis=1)
    error = (model.predict(X[2000:]) - y[2000:])[missing]
    assert abs(error.mean()) < 0.6  # of the 5 that such rows have more
    assert model.n_features_in_ == 3
    assert model.features_.tolist() == [0, 1, 2, "0=(missing)", "1=(missing)", "2=(missing)"]
    assert model.coef_.shape == (6,)
    assert 4 < model.coef_[4] < 6


def frames(X: np.ndarray) -> dict[str, Any]:
    frame = pd.DataFrame(X, columns=NAMES)
    return {
        "pandas": frame,
        "nullable": frame.convert_dtypes(),
        "objects": frame.astype(object).where(frame.notna(), None),
        "polars": pl.DataFrame(X, schema=NAMES, orient="row").fill_nan(None),
        "pyarrow": pa.Table.from_pandas(frame),
    }


@pytest.mark.parametrize("model_type", SHAPES)
def test_every_container_gives_the_same_bits(model_type: Any) -> None:
    _, X, y = gaps()
    expected = made(model_type=model_type).fit(X, y).predict(X).tobytes()
    objects = X.astype(object)
    objects[np.isnan(X)] = None
    assert made(model_type=model_type).fit(objects, y).predict(objects).tobytes() == expected
    for library, frame in frames(X).items():
        if library != "pyarrow":
            assert made(model_type=model_type).fit(frame, y).predict(frame).tobytes() == expected, library


@pytest.mark.parametrize("model_type", SHAPES)
@pytest.mark.parametrize("cuts", [[50], [100], [150], [40, 100, 333]])
def test_partial_fit_in_chunks_is_one_call(model_type: Any, cuts: list[int]) -> None:
    X, missing, y = gaps()
    whole, parts = made(model_type=model_type).partial_fit(missing, y), made(model_type=model_type)
    for rows in np.split(np.arange(len(X)), cuts):  # the first parts have no missing values
        parts.partial_fit(missing[rows], y[rows])
        parts.predict(missing[:1])
    for data in (X, missing):
        assert parts.predict(data).tobytes() == whole.predict(data).tobytes()


def test_a_model_that_never_met_missing_values_predicts_them_as_the_mean() -> None:
    X, missing, y = gaps()
    model = made(model_type="linear", extrapolate=True).fit(X, y)
    before = model.predict(X).tobytes()
    filled = np.where(np.isnan(missing), np.array(list(model.model_._reading().means().values())), missing)
    assert np.allclose(model.predict(missing), model.predict(filled))
    assert model.predict(X).tobytes() == before
    assert list(model.model_.weights) == ["(bias)", 0, 1, 2]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_text_booleans_and_whole_numbers_may_be_missing(library: str) -> None:
    rng = np.random.default_rng(0)
    gone, hit = rng.random(400) < 0.3, rng.random(400) < 0.5

    def holed(values: list[Any]) -> list[Any]:
        return [None if g else value for g, value in zip(gone, values, strict=True)]

    columns = {"job": holed(["clerk" if h else "pilot" for h in hit]), "flag": holed(hit.tolist())}
    columns["count"] = holed(list(range(400)))
    frame = pd.DataFrame(columns).convert_dtypes() if library == "pandas" else pl.DataFrame(columns)
    model = UnitlessClassifier(model_type="linear", infer_columns=False).fit(
        frame, np.where(gone, "gone", np.where(hit, "hit", "not"))
    )
    found = ["flag", "count", "count=(missing)", "flag=(missing)", "job=(missing)", "job=clerk", "job=pilot"]
    assert model.features_.tolist() == found
    assert model.score(frame, np.where(gone, "gone", np.where(hit, "hit", "not"))) == 1
    empty = pd.DataFrame({"job": [None], "flag": [None], "count": [None]})
    assert model.predict(empty).tolist() == ["gone"]


def test_infinity_is_an_error_where_missing_values_are_allowed() -> None:
    _, X, y = gaps()
    X[300, 2] = np.inf
    for wrong, column in ((X, "'2'"), (pd.DataFrame(X, columns=NAMES), "'c'")):
        with pytest.raises(ul.InputError, match=f"X contains infinity: value is inf at row 300, column {column}"):
            made().fit(wrong, y)


def test_interactions_by_number_do_not_go_with_missing_values() -> None:
    _, X, y = gaps()
    with pytest.raises(ul.InputError, match="X contains NaN: interactions name columns by number"):
        made(model_type="linear", interactions=[(0, 1)]).fit(X, y)
    assert "0*1" in made(model_type="linear", interactions=2).fit(X, y).features_.tolist()


def test_estimators_with_missing_values_can_be_kept() -> None:
    _, X, y = gaps()
    model = made().partial_fit(X[:300], y[:300])
    kept = pickle.loads(pickle.dumps(model))
    assert kept.partial_fit(X[300:], y[300:]).predict(X).tobytes() == made().partial_fit(X, y).predict(X).tobytes()


def test_sparse_matrices_do_not_follow_arrays_with_missing_values() -> None:
    import scipy.sparse as sp  # noqa: PLC0415

    X, missing, y = gaps()
    with pytest.raises(ul.InputError, match="fitted on arrays with missing values; give X as an array"):
        made(model_type="linear").fit(missing, y).predict(sp.csr_matrix(X))


@pytest.mark.parametrize("kind", [UnitlessClassifier, UnitlessRegressor])
def test_scikit_learn_knows_that_values_may_be_missing(kind: Any) -> None:
    assert kind().__sklearn_tags__().input_tags.allow_nan
