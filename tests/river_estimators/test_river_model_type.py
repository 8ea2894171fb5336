"""River's estimators and `model_type`."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("river", reason="River of today needs Python 3.11")

import unitless as ul
from unitless.river import UnitlessClassifier, UnitlessRegressor

SHAPES = ("linear", "curves", "trees", "auto", "curves only")


@pytest.mark.parametrize("model_type", SHAPES)
def test_an_estimator_has_the_shape_that_was_asked_for(model_type: Any) -> None:
    regressor, classifier = UnitlessRegressor(model_type=model_type), UnitlessClassifier(model_type=model_type)
    for k in range(20):
        row = {"a": float(k % 7), "b": 1000.0 * (k % 3), "job": "clerk" if k % 2 else "pilot"}
        regressor.learn_one(row, float(k % 7))
        classifier.learn_one(row, ["x", "y", "z"][k % 3])
    for estimator in (regressor, classifier):
        copy = estimator.clone()
        assert copy.model_type == estimator.model_type == model_type
        assert estimator.model is not None
        assert estimator.model.options.model_type == model_type
        assert estimator.model.model_type is not None
        assert estimator.predict_one({"a": 3.0, "b": 0.0, "job": "clerk"}) is not None


def test_the_usual_shape_is_that_of_train() -> None:
    assert UnitlessClassifier().model_type == UnitlessRegressor().model_type == "auto"


def test_options_that_a_model_type_lacks_are_refused_at_once() -> None:
    with pytest.raises(ul.OptionError, match="hashed features have no columns"):
        UnitlessRegressor(model_type="trees", bits=10)
    with pytest.raises(ul.OptionError, match="model_type is 'round'"):
        UnitlessClassifier(model_type="round")  # type: ignore[arg-type]
    assert UnitlessRegressor(model_type="auto", bits=10)._given["model_type"] == "auto"
