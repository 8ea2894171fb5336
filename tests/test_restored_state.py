"""What cannot come of learning is refused, when it is learned or when it is loaded."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul


def trained(**options: Any) -> ul.Learner:
    model = ul.Learner(learning_rate=0.5, **options)
    X = np.random.default_rng(0).normal(size=(20, 3))
    model.learn(X, X.sum(axis=1))
    return model


@pytest.mark.parametrize("rule", ["nag", "snag", "ag"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lane_heads", np.array([16], np.uint32)),
        ("lane_rates", np.array([3], np.uint32)),
        ("scale", np.array([5e-324, 1.0, 1.0, 1.0])),
        ("scale", np.array([1.0, 0.0, 1.0, 1.0])),
        ("scale", np.array([1.0, np.inf, 1.0, 1.0])),
    ],
)
def test_a_state_that_learning_cannot_give_is_refused(rule: str, name: str, value: Any) -> None:
    state = trained(rule=rule)._snapshot()
    ul.Learner(learning_rate=0.5, rule=rule)._restore(state)  # type: ignore[arg-type]
    with pytest.raises(ul.InputError):
        ul.Learner(learning_rate=0.5, rule=rule)._restore({**state, name: value})  # type: ignore[arg-type, misc]


@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_with_an_automatic_target_a_label_that_has_no_square_diverges(rate: Any) -> None:
    for label in (1e155, -1e155, 1.7e308):
        model, expected = (ul.Learner(loss="quantile", target="auto", learning_rate=rate) for _ in range(2))
        expected.learn([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])
        model.learn([[1.0], [2.0]], [1.0, 2.0])
        with pytest.raises(ul.DivergedError, match="row 1"):
            model.learn([[3.0], [1.0]], [3.0, label])
        assert pickle.dumps(model) == pickle.dumps(expected)
        with pytest.raises(ul.DivergedError):
            model.learn([[1.0]], [label])
        assert pickle.dumps(pickle.loads(pickle.dumps(model))) == pickle.dumps(expected)


@pytest.mark.parametrize("rule", ["nag", "ng"])
@pytest.mark.parametrize("form", [np.asarray, lambda X: pd.DataFrame(X, columns=["a"])])
def test_distances_beyond_all_numbers_are_predicted_as_the_largest(rule: Any, form: Any) -> None:
    model = ul.Learner(rule=rule, centre=True, learning_rate=0.5)
    model.learn(form(np.array([[1e308], [1.7e308], [1.5e308]])), [1.0, 2.0, 3.0])
    for again in (model, pickle.loads(pickle.dumps(model))):
        assert np.isfinite(again.predict(form(np.array([[1e308], [-1.7e308], [0.0]])))).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int16])
def test_arrays_that_are_not_aligned(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(50, 9)) * 100).astype(dtype)
    y = rng.normal(size=50)
    room = np.zeros(X.nbytes + 1, np.uint8)
    odd = room[1:].view(dtype).reshape(X.shape)
    odd[:] = X
    a, b = ul.Learner(learning_rate=0.5), ul.Learner(learning_rate=0.5)
    assert np.array_equal(a.learn(X, y), b.learn(odd, y))
    assert np.array_equal(a.predict(X), b.predict(odd))
