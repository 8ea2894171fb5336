"""A model keeps working after numbers at the limits of the accepted range; larger numbers are refused everywhere."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import unitless as ul

VALUE, LABEL, WEIGHT = 1e300, 1e60, 1e15  # core/base/limits.hpp
MODELS: dict[str, dict[str, Any]] = {
    "one rate": {"learning_rate": 0.5},
    "linear": {"learning_rate": "auto", "center": True},
    "snag": {"rule": "snag", "learning_rate": "auto"},
    "second order": {"rule": "newton", "center": True},
    "second order, not centered": {"rule": "newton"},
    "trees": {"learning_rate": "auto", "center": True, "model_type": "trees"},
    "default": {
        "learning_rate": "auto",
        "center": True,
        "falling_scales": True,
        "model_type": "trees",
        "ensemble": True,
        "average": True,
    },
}
values = st.one_of(st.floats(-3, 3), st.sampled_from([VALUE, -VALUE, VALUE / 2, 1e150, 1e-300, 5e-324, 0.0]))
weights = st.sampled_from([1.0, 1.0, 1.0, WEIGHT, 1e7, 1e-300, 0.0])
labels = st.one_of(st.floats(-3, 3), st.sampled_from([LABEL, -LABEL, 1e30, 1e-300]))


def made(name: str, loss: str) -> ul.Learner:
    return ul.Learner(loss=loss, target="auto" if loss == "squared" else None, **MODELS[name])


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=25)
@given(st.lists(st.tuples(values, values, values, labels, weights), min_size=1, max_size=40))
def test_a_model_survives_all_numbers_within_the_limits(name: str, loss: str, rows: list[tuple[float, ...]]) -> None:
    data = np.array(rows)
    X, y, weight = data[:, :3], data[:, 3], data[:, 4]
    y = (y > 0).astype(float) if loss == "logistic" else y
    model = made(name, loss)
    for r in range(len(X)):
        assert np.isfinite(model.learn(X[r : r + 1], y[r : r + 1], weight[r : r + 1])).all()
    assert np.isfinite(model.predict(X)).all()
    model = pickle.loads(pickle.dumps(model))
    ordinary = np.random.default_rng(0).normal(size=(20, 3))
    assert np.isfinite(model.learn(ordinary, (ordinary[:, 0] > 0).astype(float))).all()


DOORS: dict[str, Callable[[ul.Learner, np.ndarray], object]] = {
    "dense": lambda model, X: model.learn(X, np.ones(len(X))),
    "dense, column by column": lambda model, X: model.learn(np.asfortranarray(X), np.ones(len(X))),
    "sparse": lambda model, X: model.learn(sp.csr_matrix(X), np.ones(len(X))),
    "predict": lambda model, X: model.predict(X),
}


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1.7e308, -1.01e300])
@pytest.mark.parametrize("name", ["one rate", "linear", "default"])
@pytest.mark.parametrize("door", DOORS)
def test_larger_numbers_are_refused_with_their_place(door: str, name: str, value: float) -> None:
    if (door, name) == ("sparse", "default"):
        pytest.skip("trees take no sparse matrices")
    model = made(name, "squared")
    X = np.random.default_rng(0).normal(size=(50, 3))
    model.learn(X, X[:, 0])
    before = model._snapshot()
    X[7, 2] = value
    with pytest.raises(ul.InputError, match="row 7, column 2"):
        DOORS[door](model, X)
    assert pickle.dumps(before) == pickle.dumps(model._snapshot())


@pytest.mark.parametrize("value", [np.inf, np.nan, 1.7e308, -1.01e300])
def test_larger_numbers_of_named_features_are_refused(value: float) -> None:
    model = made("linear", "squared")
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    for call in (
        lambda: model.learn_one({"a": value, "b": 1.0}, 1.0),
        lambda: model.predict_one({"a": value, "b": 1.0}),
        lambda: model.learn([{"a": 1.0}, {"a": value}], [1.0, 2.0]),
    ):
        with pytest.raises(ul.InputError, match="'a'"):
            call()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("label", "weight"), [(1.1e60, 1.0), (np.inf, 1.0), (1.0, 1.1e15), (1.0, np.inf), (1.0, -1.0)])
def test_larger_labels_and_weights_are_refused(name: str, label: float, weight: float) -> None:
    model = made(name, "squared")
    with pytest.raises(ul.InputError, match=r"(labels|weights) must be"):
        model.learn(np.ones((2, 1)), [1.0, label], [1.0, weight])
    with pytest.raises(ul.InputError, match=r"(labels|weights) must be"):
        model.learn_one({"a": 1.0}, label, weight)
    assert model.examples == 0


@pytest.mark.parametrize("offset", [1.1e60, -1e200, np.inf, np.nan])
def test_larger_offsets_are_refused(offset: float) -> None:
    model = made("linear", "squared")
    with pytest.raises(ul.InputError, match="offsets must be finite, and not beyond 1e60"):
        model.learn(np.ones((2, 1)), [1.0, 2.0], offset=[0.0, offset])
    with pytest.raises(ul.InputError, match="offsets must be finite, and not beyond 1e60"):
        model.learn_one({"a": 1.0}, 1.0, offset=offset)
    assert model.examples == 0
