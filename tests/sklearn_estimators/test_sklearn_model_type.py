"""The scikit-learn estimators and `model_type`."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import unitless as ul
from unitless.sklearn import UnitlessClassifier, UnitlessRegressor

SHAPES = ("linear", "curves", "trees", "auto", "curves only")


def data() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    X = np.random.default_rng(0).normal(size=(200, 3)) * [1e-3, 1, 1e3]
    return X, np.abs(X[:, 1]) + X @ [1000, 0, 0.001]


@pytest.mark.parametrize("model_type", SHAPES)
@pytest.mark.parametrize("estimator", [UnitlessClassifier(max_iter=2), UnitlessRegressor(max_iter=2)])
def test_an_estimator_has_the_shape_that_was_asked_for(estimator: Any, model_type: str) -> None:
    X, y = data()
    one = clone(estimator).set_params(model_type=model_type)
    one.fit(X, y if isinstance(one, UnitlessRegressor) else np.digitize(y, [0, 1]))
    assert one.get_params()["model_type"] == model_type
    assert one.model_.options.model_type == model_type
    assert one.model_.options.average == (model_type == "linear")
    assert pickle.loads(pickle.dumps(one)).predict(X).tolist() == one.predict(X).tolist()
    parts = clone(one)
    keywords = {} if isinstance(one, UnitlessRegressor) else {"classes": [0, 1, 2]}
    parts.partial_fit(X, y if isinstance(one, UnitlessRegressor) else np.digitize(y, [0, 1]), **keywords)
    assert parts.model_.options.model_type == model_type


def test_the_usual_shape_is_that_of_train() -> None:
    assert UnitlessClassifier().model_type == UnitlessRegressor().model_type == "auto"


def test_auto_is_averaged_for_sparse_matrices() -> None:
    X, y = data()
    model = UnitlessRegressor(model_type="auto", max_iter=2).fit(sp.csr_matrix(X), y).model_
    assert model.options.average
    assert model.model_type == "linear"


def test_a_wrong_shape_is_refused_by_fit() -> None:
    with pytest.raises(ul.OptionError, match="model_type is 'round'"):
        UnitlessRegressor(model_type="round").fit(*data())  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:(l2|sparsity) makes the model linear")
def test_a_grid_of_penalties_and_model_types_has_every_score() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    types = ["auto", "linear", "curves", "trees", "curves only"]
    grid = {"l2": [0.0, 1.0], "sparsity": [0.0, 1.0, "auto"], "model_type": types}
    found = GridSearchCV(UnitlessRegressor(max_iter=1), grid, cv=2).fit(X, X[:, 0] ** 2)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()


def test_a_penalty_that_makes_the_model_linear_is_warned_of() -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    with pytest.warns(UserWarning, match="l2 makes the model linear"):
        UnitlessRegressor(l2=1.0).fit(X, X[:, 0])
