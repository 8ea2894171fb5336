"""The predictions that `learn` returns equal those of `predict` just before, whatever the weight."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import unitless as ul

NAMES = list("abcde")
OPTIONS: list[dict[str, Any]] = [
    {"rule": "snag", "learning_rate": 0.5},
    {"rule": "snag", "learning_rate": 0.1, "importance_aware": False},
    {"rule": "snag", "learning_rate": 0.3, "interactions": 2},
    {"rule": "snag", "learning_rate": 0.3, "bits": 3},
    {"rule": "snag", "learning_rate": "auto", "target": "auto"},
    {"rule": "nag", "learning_rate": 0.5, "center": True},
    {"rule": "ng", "learning_rate": 0.1, "center": True},
    {"rule": "snag", "learning_rate": "auto", "center": True},
]


def data(rows: int = 120) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 5)) * [1, 100, 0.01, 1, 5]
    X[rng.random((rows, 5)) < 0.3] = 0
    y = X @ [1, 0.01, 100, 0, 0.2] + rng.normal(size=rows)
    h = np.where(rng.random(rows) < 0.3, 1.0, rng.exponential(3, size=rows))
    h[rng.random(rows) < 0.1] = 0
    return X, y, h


def as_frame(X: Any) -> Any:
    return pd.DataFrame(X, columns=NAMES)


def as_mappings(X: Any) -> Any:
    return [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix, as_frame, as_mappings], ids=lambda f: f.__name__)
def test_learn_returns_the_predictions_of_predict(options: dict[str, Any], form: Any) -> None:
    X, y, h = data()
    at_once, stepwise = ul.Learner(**options), ul.Learner(**options)
    said = at_once.learn(form(X), y, h)
    for i in range(len(X)):
        row = form(X[i : i + 1])
        expected = stepwise.predict(row)
        assert stepwise.learn(row, y[i : i + 1], h[i : i + 1]) == expected
        assert said[i] == expected
    assert pickle.dumps(at_once) == pickle.dumps(stepwise)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_learn_one_returns_the_prediction_of_predict_one(options: dict[str, Any]) -> None:
    X, y, h = data()
    model, whole = ul.Learner(**options), ul.Learner(**options)
    said = []
    for x, label, weight in zip(as_mappings(X), y.tolist(), h.tolist(), strict=True):
        expected = model.predict_one(x)
        said.append(model.learn_one(x, label, weight))
        assert said[-1] == expected
    assert whole.learn(as_mappings(X), y, h).tolist() == said


@pytest.mark.parametrize("options", [{"rule": "snag"}, {"center": True}], ids=str)
def test_classes_and_sweeps_do_not_know_the_weight_either(options: dict[str, Any]) -> None:
    X, y, h = data()
    labels = np.where(y > 0, "up", "down")
    for weight in (h, np.where(y > 0, 5.0, 0.2)):
        model = ul.OneVsAll(["up", "down"], **options)
        for i in range(len(X)):
            expected = model.predict(X[i : i + 1])
            assert np.array_equal(model.learn(X[i : i + 1], labels[i : i + 1], weight[i : i + 1]), expected)
        whole = ul.OneVsAll(["up", "down"], **options)
        whole.learn(X, labels, weight)
        assert pickle.dumps(whole) == pickle.dumps(model)
    sweep = ul.Sweep([0.1, 0.5, 1.0], **options)
    said = sweep.learn(X, y, h)
    for j, rate in enumerate([0.1, 0.5, 1.0]):
        alone = ul.Learner(learning_rate=rate, **options)
        assert np.allclose(alone.learn(X, y, h), said[:, j], rtol=1e-9, atol=1e-12)
    losses = (h[:, None] * (said - y[:, None]) ** 2).sum(axis=0) / h.sum()  # of the predictions that were returned
    assert np.allclose(sweep.losses, losses)


@pytest.mark.parametrize("options", [{"rule": "snag"}, {"center": True}], ids=str)
def test_weights_do_not_tell_the_label(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 3)), rng.integers(2, size=4000)
    weight = np.where(y == 1, 20.0, 1.0)
    stepwise = ul.Learner(loss="logistic", learning_rate=0.5, **options)
    said = ul.Learner(loss="logistic", learning_rate=0.5, **options).learn(X, y, weight)
    blind = []
    for i in range(len(X)):  # predicted before the label or its weight is known
        blind.append(float(stepwise.predict(X[i : i + 1])[0]))
        stepwise.learn(X[i : i + 1], y[i : i + 1], weight[i : i + 1])
    assert said.tolist() == blind


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix, as_frame, as_mappings], ids=lambda f: f.__name__)
def test_rows_without_weight_leave_no_trace(form: Any) -> None:
    X, y, _ = data(10)
    for options in ({}, {"interactions": 2}, {"center": True}, {"learning_rate": 0.5}):
        model = ul.Learner(**options)
        model.learn(form(X), y, np.zeros(10))
        assert pickle.dumps(model) == pickle.dumps(ul.Learner(**options))


def test_a_zero_is_no_part_of_a_hashed_product() -> None:
    options: dict[str, Any] = {"bits": 1, "interactions": [("b", "c")], "learning_rate": 0.5}
    with_zero, without = ul.Learner(**options), ul.Learner(**options)
    with_zero.learn_one({"b": 0.0, "c": 1.0, "d": 1.0}, 1.0)
    without.learn_one({"c": 1.0, "d": 1.0}, 1.0)
    assert pickle.dumps(with_zero) == pickle.dumps(without)


def test_hashed_products_are_the_same_from_every_kind_of_rows() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        X = rng.normal(size=(20, 4)) * (rng.random((20, 4)) < 0.5)
        y = rng.normal(size=20)
        options: dict[str, Any] = {"bits": 2, "interactions": [("b", "c"), ("a", "d")], "learning_rate": 0.5}
        frame, rows, single = ul.Learner(**options), ul.Learner(**options), ul.Learner(**options)
        names = NAMES[:4]
        mappings = [dict(zip(names, row, strict=True)) for row in X.tolist()]
        expected = frame.learn(pd.DataFrame(X, columns=names), y)
        assert np.array_equal(rows.learn(mappings, y), expected)
        assert [single.learn_one(x, label) for x, label in zip(mappings, y.tolist(), strict=True)] == expected.tolist()
