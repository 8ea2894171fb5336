"""River's estimators and `shape`."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("river", reason="River of today needs Python 3.11")

import unitless as ul
from unitless.options import USUAL_SHAPE
from unitless.river import UnitlessClassifier, UnitlessRegressor

SHAPES = ("linear", "curves", "trees", "auto", "curves only")


@pytest.mark.parametrize("shape", SHAPES)
def test_an_estimator_has_the_shape_that_was_asked_for(shape: Any) -> None:
    regressor, classifier = UnitlessRegressor(shape=shape), UnitlessClassifier(shape=shape)
    for k in range(20):
        row = {"a": float(k % 7), "b": 1000.0 * (k % 3), "job": "clerk" if k % 2 else "pilot"}
        regressor.learn_one(row, float(k % 7))
        classifier.learn_one(row, ["x", "y", "z"][k % 3])
    for estimator in (regressor, classifier):
        copy = estimator.clone()
        assert copy.shape == estimator.shape == shape
        assert estimator.model is not None
        assert estimator.model.options.shape == shape
        assert estimator.model.settled_shape is not None
        assert estimator.predict_one({"a": 3.0, "b": 0.0, "job": "clerk"}) is not None


def test_the_usual_shape_is_that_of_train() -> None:
    assert UnitlessClassifier().shape == UnitlessRegressor().shape == USUAL_SHAPE


def test_what_does_not_go_with_a_shape_is_refused_at_once() -> None:
    with pytest.raises(ul.OptionError, match="hashed features have no columns"):
        UnitlessRegressor(shape="trees", bits=10)
    with pytest.raises(ul.OptionError, match="shape is 'round'"):
        UnitlessClassifier(shape="round")  # type: ignore[arg-type]
    assert UnitlessRegressor(shape="auto", bits=10)._options["shape"] == "auto"
