"""The exact properties of curves and trees: what must not change a single bit."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import unitless as ul

SHAPES = ("curves", "trees", "curves only")


def same_bits(a: object, b: object) -> bool:
    return np.asarray(a, dtype=np.float64).tobytes() == np.asarray(b, dtype=np.float64).tobytes()


@pytest.mark.parametrize("rate", [0.5, "auto"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_fresh_model_predicts_zero(shape: Any, rate: Any) -> None:
    X = np.ones((3, 2))
    assert not ul.Learner(shape=shape, learning_rate=rate).predict(X).any()
    assert ul.Learner(shape=shape, learning_rate=rate).predict_one({"a": 1.0}) == 0
    m = ul.Learner(shape=shape, learning_rate=rate)
    m.learn_one({}, 1.0)
    assert np.isfinite(m.predict_one({"a": 1.0}))


@pytest.mark.parametrize("shape", SHAPES)
def test_classes_join_when_they_are_met_however_rows_are_fed(shape: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    y = [chr(97 + k) for k in (np.argsort(np.argsort(X[:, 0] + np.linspace(-1, 3, 900))) * 11 // 900)]
    whole, parts = (ul.OneVsAll(shape=shape, learning_rate=0.5) for _ in range(2))
    whole.learn(X, y)
    for a, b in itertools.pairwise([0, 1, 3, 40, 41, 300, 900]):
        parts.learn(X[a:b], y[a:b])
    assert same_bits(whole.predict(X), parts.predict(X))
