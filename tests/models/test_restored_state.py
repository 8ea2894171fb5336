"""States that learning cannot produce are refused when they are learned or loaded."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import unitless as ul
from unitless.models import file as model_file


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


def test_columns_that_are_not_known_are_predicted_from_the_bias_alone() -> None:
    model = ul.Learner(learning_rate=0.5)
    model.learn(pd.DataFrame({"a": [1.0, 2.0, 3.0]}), [1.0, 2.0, 3.0])
    only_bias = model.predict_one({})
    for _ in range(3):
        assert model._predict_table(["z"], [np.ones(4)], True, False, 4, False).tolist() == [only_bias] * 4


def test_a_refused_call_does_not_change_what_is_centered_later() -> None:
    failed, clean = ul.Learner(center=True), ul.Learner(center=True)
    with pytest.raises(ul.InputError):
        failed.learn([[1.0, 1.5e308], [1.0, -1.5e308]], [1.0, 2.0])
    for model in (failed, clean):
        model.learn(scipy.sparse.csr_matrix([[1.0, 2.0], [0.0, 3.0]]), [1.0, 2.0])
        model.learn(np.array([[5.0, 6.0], [7.0, 8.0]]), [1.0, 2.0])
    assert failed._snapshot()["center_kinds"].tolist() == clean._snapshot()["center_kinds"].tolist()
    assert bytes(failed.predict([[1.0, 2.0]])) == bytes(clean.predict([[1.0, 2.0]]))


def test_divergence_at_the_first_row_leaves_no_trace() -> None:
    for data in (np.array([[1.0]]), pd.DataFrame({"a": [1.0]})):
        model = ul.Learner("gd", learning_rate=1e200, importance_aware=False)
        before = pickle.dumps(model)
        with pytest.raises(ul.DivergedError):
            model.learn(data, [1e60])
        assert pickle.dumps(model) == before


def test_hashed_columns_side_by_side_keep_the_products_that_are_listed() -> None:
    for names in ("ab", "bc", "cd", "xy", "pq", "mn"):
        options: dict[str, Any] = {"bits": 1, "interactions": [(names[0], names[1])], "learning_rate": 0.5}
        X = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 2.0]])
        by_frame, by_name = ul.Learner(**options), ul.Learner(**options)
        expected = by_name.learn([dict(zip(names, row, strict=True)) for row in X.tolist()], [1.0, 2.0, 3.0])
        assert by_frame.learn(pd.DataFrame(X, columns=list(names)), [1.0, 2.0, 3.0]).tolist() == expected.tolist()


@pytest.mark.parametrize("columns", [2**32, 2**59, 2**63])
def test_a_state_with_too_many_columns_is_refused(columns: int) -> None:
    state = trained()._snapshot()
    with pytest.raises(ul.InputError, match="more columns than a learner can hold"):
        ul.Learner(learning_rate=0.5)._restore({**state, "columns": columns, "names": None})


@pytest.mark.parametrize("loaded_at", range(1, 40, 4))
def test_labels_that_are_all_as_expected_leave_nothing_out_of_a_file(loaded_at: int) -> None:
    models = [ul.Learner(loss="squared", model_type="trees") for _ in range(2)]
    for row in range(40):
        if row == loaded_at:
            models[1] = model_file.from_bytes(model_file.to_bytes(models[1]))
        features = {"a": float(row % 7)} | ({"b": float(row % 3)} if row % 2 else {}) | ({"c": 1.0} if row > 5 else {})
        for model in models:
            model.learn_one(features, 0.0 if row < 12 else float(row % 7))
    assert model_file.to_bytes(models[0]) == model_file.to_bytes(models[1])
