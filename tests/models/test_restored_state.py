"""What cannot come of learning is refused, when it is learned or when it is loaded."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
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


def test_a_label_that_has_no_square_is_not_learned_with_an_automatic_target() -> None:
    model = ul.Learner(loss="quantile", target="auto")
    model.learn([[1.0], [2.0]], [1.0, 2.0])
    before = pickle.dumps(model)
    for label in (1e155, -1e155):
        with pytest.raises(ul.DivergedError, match="diverged at row 0"):
            model.learn([[1.0]], [label])
        with pytest.raises(ul.DivergedError, match="diverged at row 0"):
            model.learn([[1.0], [1.0]], [label, 1.0])
        assert pickle.dumps(model) == before
    with pytest.raises(ul.DivergedError, match="diverged at row 1; the rows before it are learned"):
        model.learn([[1.0]] * 2, [3.0, -1e155])
    assert pickle.dumps(pickle.loads(pickle.dumps(model))) == pickle.dumps(model)


def test_values_whose_distance_from_the_mean_is_not_a_number_are_refused() -> None:
    model = ul.Learner(centre=True)
    before = pickle.dumps(model)
    with pytest.raises(ul.InputError, match=r"row 1.*centre=False"):
        model.learn([[1.5e308], [-1.5e308]], [1.0, 2.0])
    assert pickle.dumps(model) == before
    model.learn([[1.5e308], [1.0]], [1.0, 2.0])
    model.learn([[1.5e308]], [1.0])
    before = pickle.dumps(model)
    for refused in (lambda: model.predict([[-1.5e308]]), lambda: model.learn([[1.0], [-1.7e308]], [1.0, 2.0])):
        with pytest.raises(ul.InputError, match="centre=False"):
            refused()
        assert pickle.dumps(model) == before
    assert np.isfinite(model.predict([[1.5e308], [-1e300], [0.0]])).all()


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
