"""When a concept changes, learners of curves and trees begin anew; everything that holds otherwise still holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracles.curves_and_trees import Shaped
from streams import same_bits

import unitless as ul
from unitless.paper import algorithms as reference

BEFORE, ROWS = 260, 400


def stream(task: str, rows: int = ROWS, before: int = BEFORE) -> tuple[np.ndarray, np.ndarray]:
    """A concept that is easy to learn; from row `before` on, other columns decide, and in the other direction."""
    X = np.random.default_rng(0).normal(size=(rows, 4)) * [1.0, 1e3, 1e-3, 8.0]
    z = X / [1.0, 1e3, 1e-3, 8.0]
    score = np.where(np.arange(rows) < before, z[:, 0], -2 * z[:, 0] + z[:, 1])
    if task == "regression":
        return X, np.sign(score) * 3.0 + 0.01 * score
    if task == "binary":
        return X, np.where(score > 0, 1.0, -1.0)
    return X, np.digitize(score, [-0.5, 0.5])


def learner(task: str, model_type: Any = "trees", rule: str = "nag", rate: Any = 0.5) -> Any:
    if task in ("regression", "binary"):
        loss = "squared" if task == "regression" else "logistic"
        return ul.Learner(rule, loss, rate, model_type=model_type)
    kind = ul.OneVsAll if task == "classes" else ul.Softmax
    return kind(range(3), rule=rule, learning_rate=rate, model_type=model_type)


def advantage(model: Any, member: str) -> float:
    return float(model._snapshot()["form"][f"{member}.advantage"][0])


TASKS = ["regression", "binary", "classes", "softmax"]


@pytest.mark.parametrize("rule", ["nag", "snag"])
@pytest.mark.parametrize("task", TASKS)
def test_learners_that_begin_anew_agree_with_the_oracle(task: str, rule: str) -> None:
    X, y = stream(task)
    loss = reference.Squared() if task == "regression" else reference.Logistic()
    oracle = Shaped(
        "trees", rule, loss, classes=0 if task in ("regression", "binary") else 3, coupled=task == "softmax"
    )
    expected, restarts = [], 0
    for x, label in zip(X, y, strict=True):
        heads = [member.heads for member in oracle.members]
        expected.append(oracle.learn_one(x, float(label)))
        restarts += sum(member.heads is not own for member, own in zip(oracle.members, heads, strict=True))
    assert restarts
    p = learner(task, rule=rule).learn(X, y)
    np.testing.assert_allclose(np.reshape(p, (ROWS, -1)), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("task", TASKS)
def test_one_call_many_calls_and_saving_give_the_same_bits_after_a_change(task: str) -> None:
    X, y = stream(task, 900, 600)
    whole, parts = learner(task, rate="auto"), learner(task, rate="auto")
    expected = whole.learn(X, y)
    found = []
    for first in range(0, 900, 7):
        found.append(parts.learn(X[first : first + 7], y[first : first + 7]))
        if first % 70 == 0:
            parts = parts.copy()
    assert same_bits(expected, np.concatenate(found))
    assert same_bits(whole.predict(X), parts.predict(X))


def test_powers_of_two_of_columns_and_labels_change_no_bit_after_a_change() -> None:
    X, y = stream("regression", 900, 600)
    a, b = (ul.Learner(learning_rate="auto", model_type="trees", target="auto") for _ in range(2))
    assert same_bits(1024 * a.learn(X, y + 5), b.learn(X * np.ldexp(1.0, [3, -40, 100, -9]), 1024 * (y + 5)))


def xor(rows: int, before: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(1).random((rows, 6))
    own = np.where((np.arange(rows) < before)[:, None], X[:, :2], X[:, 2:4]) > 0.5
    return X, np.where(own[:, 0] ^ own[:, 1], 1.0, -1.0)


@pytest.mark.parametrize("before", [4000, 12000])
def test_a_nonlinear_concept_is_learned_again_after_it_has_changed(before: int) -> None:
    X, y = xor(before + 3000, before)
    model = ul.Learner(loss="logistic", learning_rate="auto", model_type="trees", ensemble=True, center=True)
    wrong = np.sign(model.learn(X, y)) != y
    assert wrong[before - 1000 : before].mean() < 0.05
    assert wrong[before + 1200 : before + 1700].mean() < 0.1  # 0.25 to 0.4 for trees that never begin anew


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_stream_that_does_not_change_never_begins_anew(loss: str) -> None:
    rng = np.random.default_rng(5)
    for noise in (0.1, 1.0, 5.0):  # from almost certain to almost all noise
        X = rng.normal(size=(4000, 4))
        score = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + noise * rng.standard_t(3, size=4000)
        model = ul.Learner(loss=loss, learning_rate="auto", model_type="trees", center=True)
        highest = 0.0
        for first in range(0, 4000, 50):
            model.learn(X[first : first + 50], (score if loss == "squared" else score > 0)[first : first + 50])
            state = model._snapshot()["form"]["trees.advantage"]
            assert state[1] >= highest  # it is 0 after a new beginning
            highest = state[1]


def test_a_merged_model_counts_its_advantage_from_the_beginning() -> None:
    X, y = stream("binary", 600, 600)
    parts = [learner("binary") for _ in range(2)]
    for part, rows in zip(parts, (slice(0, 300), slice(300, 600)), strict=True):
        part.learn(X[rows], y[rows])
        assert advantage(part, "trees") > 0
    merged = ul.merge(parts)
    assert "trees.advantage" not in merged._snapshot()["form"] or advantage(merged, "trees") == 0
    merged.learn(X[:50], y[:50])


def test_a_learner_that_began_anew_counts_as_a_new_one() -> None:
    X, y = xor(4600, 4000)
    model = ul.Learner(loss="logistic", learning_rate="auto", model_type="trees", center=True)
    model.learn(X[:4000], y[:4000])
    assert "trees.began" not in model._snapshot()["form"]
    model.learn(X[4000:], y[4000:])
    t, T, N, examples = model._snapshot()["form"]["trees.began"]
    assert 4000 < t == T == examples < 4200
    assert 0 < N < model._snapshot()["form"]["trees.N"]


def test_autocorrelated_labels_are_predicted_and_prediction_is_pure() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 3))
    y = np.where(np.cumsum(rng.random(3000) < 0.05) % 2, 1.0, -1.0)
    model = ul.Learner(loss="logistic", learning_rate="auto", ensemble=True, center=True)
    predicted = []
    for row, label in zip(X, y, strict=True):
        predicted.append(float(model.predict(row[None])[0]))
        assert model.predict(row[None])[0] == predicted[-1] == model.learn(row[None], [label])[0]
    assert np.mean(np.sign(predicted[1000:]) == y[1000:]) > 0.93
    assert same_bits(ul.Learner(**model.options.asdict()).learn(X, y), predicted)
