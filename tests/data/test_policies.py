"""Booleans, text, missing values and dates have the same meaning in all estimators, unless a policy changes it."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import unitless as ul
from unitless.river import UnitlessRegressor as RiverRegressor
from unitless.sklearn import UnitlessRegressor

LIBRARIES = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}
ROWS = 40


def frame(values: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": np.arange(1.0, ROWS + 1), "v": values})


def learner(X: Any) -> set[str]:
    model = ul.Learner()
    model.learn(X, np.arange(ROWS) % 7)
    return set(map(str, model.scales))


def trained(X: Any) -> set[str]:
    return set(map(str, ul.train(X, np.arange(ROWS) % 7 + 0.5).model.scales))


def scikit(X: Any) -> set[str]:
    return set(map(str, UnitlessRegressor(max_iter=1).fit(X, np.arange(ROWS) % 7 + 0.5).model_.scales))


def river(X: Any) -> set[str]:
    model = RiverRegressor()
    model.learn_many(X, pd.Series(np.arange(ROWS) % 7 + 0.5))
    return set(map(str, model.model.scales))


def features(found: set[str]) -> set[str]:
    return {name for name in found if name.startswith("v")}


BOOLEANS = np.arange(ROWS) % 3 == 0
TEXT = ["a", "b"] * (ROWS // 2)


@pytest.mark.parametrize("library", LIBRARIES)
def test_booleans_are_one_feature_or_two_categories(library: str) -> None:
    X = LIBRARIES[library](frame(BOOLEANS))
    assert [features(read(X)) for read in (learner, river)] == [{"v"}] * 2
    assert [features(read(X)) for read in (trained, scikit)] == [{"v=true", "v=false"}] * 2


@pytest.mark.parametrize("library", LIBRARIES)
def test_text_and_categories_are_indicators_or_an_error(library: str) -> None:
    for values in (TEXT, pd.Categorical(TEXT)):
        X = LIBRARIES[library](frame(values))
        assert [features(read(X)) for read in (trained, scikit, river)] == [{"v=a", "v=b"}] * 3
        with pytest.raises(ul.InputError, match=r"column 'v' (is not all numbers: it has 'a'|holds categories)"):
            learner(X)


def test_categories_of_numbers_are_not_numbers() -> None:
    X = frame(pd.Categorical([3, 5] * (ROWS // 2)))
    assert features(trained(X)) == features(scikit(X)) == {"v=3", "v=5"}
    with pytest.raises(ul.InputError, match="column 'v' holds categories; turn them into columns of 0 and 1"):
        learner(X)


def test_booleans_among_objects_are_booleans() -> None:
    def centered(values: Any) -> bytes:
        model = ul.Learner(center=True)
        model.learn(frame(values), np.arange(ROWS) % 7)
        return pickle.dumps(model)

    assert centered(BOOLEANS) == centered(BOOLEANS.astype(object))
    assert centered(BOOLEANS) != centered(BOOLEANS.astype(float))


@pytest.mark.parametrize("nothing", [None, ""])
def test_text_that_is_missing_is_absent_or_an_error(nothing: Any) -> None:
    X = frame([nothing, *TEXT[1:]])
    assert [features(read(X)) for read in (trained, scikit)] == [{"v=a", "v=b", "v=(missing)"}] * 2
    assert features(river(X)) == {"v=a", "v=b"}
    with pytest.raises(ul.InputError, match=r"column 'v' has no value at row 1; missing='indicator'"):
        ul.train(X, np.arange(ROWS) + 0.5, reading=ul.Reading(missing="error"))
    rows = X.to_dict("records")
    with pytest.raises(ul.InputError, match="feature 'v' has no value"):
        RiverRegressor(missing="error").learn_one(rows[0], 1.0)
    with pytest.raises(ul.InputError, match=r"feature 'v' has no value \(.*\) at row 1; "):
        ul.train(rows, "x", reading=ul.Reading(missing="error"))
    model = RiverRegressor()
    model.learn_one(rows[0], 1.0)
    assert features(set(map(str, model.model.scales))) == set()


def test_dates_become_their_parts_except_in_a_plain_model() -> None:
    X = frame([datetime.datetime(2026, 1, 1 + k % 28, k % 24) for k in range(ROWS)])
    with pytest.raises(ul.InputError):
        learner(X)
    assert any(name.startswith("v") for name in scikit(X))  # which reads frames as train does
    assert {"v.time", "v.month=1", "v.hour=0"} <= set(river(X))
    with pytest.raises(ul.InputError):
        ul.train(X, np.arange(ROWS) + 0.5, reading=ul.Reading(dates="error"))
    found = ul.train(X, np.arange(ROWS) + 0.5).model.scales
    assert {"v.time", "v.month=1", "v.hour=0"} <= set(found)


def test_two_features_of_one_name_are_an_error() -> None:
    row = {"v": "a", "v=a": 2.0, "y": 1.5}
    with pytest.raises(ul.InputError, match="have the same name; rename one"):
        ul.train([row] * 3, "y")
    with pytest.raises(ul.InputError, match="have the same name; rename one"):
        RiverRegressor().learn_one(row, 1.0)


def test_a_number_that_is_missing_is_not_text() -> None:
    rows = [{"v": np.nan if k == 3 else 12345.0 + k % 2, "x": float(k), "y": k + 0.5} for k in range(ROWS)]
    result = ul.train(rows, "y", reading=ul.Reading(text="v"))
    assert features(set(map(str, result.model.scales))) == {"v=12345.0", "v=12346.0", "v=(missing)"}
    assert result.details.missing["v"] == 1


def test_a_frame_that_is_not_in_memory_is_refused_by_models() -> None:
    with pytest.raises(ul.InputError, match="X is a LazyFrame, which cannot be read here"):
        learner(pl.LazyFrame({"x": [1.0] * ROWS}))
