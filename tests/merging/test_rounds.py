"""Partitions that learn separately for a round become one model again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from synchronized import merged_round

import unitless as ul
from unitless.merging.rounds import scaled
from unitless.models.model import Model, State

RULES = ("gd", "ag", "ng", "nag", "snag")


def rows(count: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 4)) * [1e-3, 1.0, 50.0, 2.0] + [0.0, 3.0, -200.0, 0.5]
    X[:, 3] *= rng.random(count) < 0.3
    return X, X @ [300.0, 1.0, 0.02, -1.0] + 0.1 * rng.normal(size=count)


def learn(model: Model, base: State, X: Any, y: Any, judged: int = 0) -> State:
    model._go_back(base)
    if base[0]["examples"]:
        if judged:
            model._begin_judging(np.asarray(y[:judged], float), None)
            model._ask(model._data(X[:judged]), False)
            model._end_judging()
        model._choose_rates(False)
    else:
        model._keep_rates(True)
    model.learn(X, y)
    return model._state_and_labels()


def one_round(make: Any, base: State, partitions: list[tuple[Any, Any]], fan_in: int = 8, judged: int = 0) -> State:
    states = [learn(make(), base, X, y, judged) for X, y in partitions]
    return merged_round(make(), base, states, fan_in, float(judged) if base[0]["examples"] else 0.0)


def cut(X: Any, y: Any, partitions: int) -> list[tuple[Any, Any]]:
    return list(zip(np.array_split(X, partitions), np.array_split(y, partitions), strict=True))


def restored(make: Any, state: State) -> Any:
    model = make()
    model._go_back(state)
    return model


def close(a: State, b: State, tolerance: float) -> None:
    for key in ("scale", "v", "H", "center_means", "target", "scores", "followed"):
        np.testing.assert_allclose(a[0][key], b[0][key], rtol=tolerance, atol=tolerance * 1e-3, err_msg=key)
    assert a[0]["t"] == pytest.approx(b[0]["t"])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("center", [False, True])
def test_rounds_of_one_partition_are_one_stream(rule: str, center: bool) -> None:
    X, y = rows()

    def make() -> ul.Learner:
        return ul.Learner(rule, learning_rate=0.01 if rule == "gd" else 0.3, center=center, target="auto")

    X = X / np.abs(X).max(axis=0)  # for rules that depend on it
    alone = make()
    alone.learn(X, y)
    base = make()._state_and_labels()
    for some, labels in cut(X, y, 5):
        base = one_round(make, base, [(some, labels)])
    close(base, alone._state_and_labels(), 1e-9)
    assert base[0]["examples"] == len(y)


@pytest.mark.parametrize("rule", RULES)
def test_the_form_of_the_tree_does_not_matter(rule: str) -> None:
    X, y = rows()
    X = X / np.abs(X).max(axis=0)

    def make() -> ul.Learner:
        rate = 0.01 if rule == "gd" else "auto"
        return ul.Learner(rule, learning_rate=rate, center=True, target="auto", interactions=[(0, 1)])

    flat = deep = make()._state_and_labels()
    for some, labels in cut(X, y, 2):
        partitions = cut(some, labels, 7)
        flat, deep = one_round(make, flat, partitions, 100, 20), one_round(make, deep, partitions, 2, 20)
    close(flat, deep, 1e-11)
    assert np.allclose(restored(make, flat).predict(X), restored(make, deep).predict(X), rtol=1e-11, atol=1e-12)


def test_units_do_not_matter() -> None:
    X, y = rows()

    def make() -> ul.Learner:
        return ul.Learner(learning_rate="auto")

    units = np.array([2.0**40, 2.0**-30, 1.0, 2.0**7])
    found = []
    for factor in (np.ones(4), units):
        state = make()._state_and_labels()
        for some, labels in cut(X * factor, y, 3):
            state = one_round(make, state, cut(some, labels, 4), judged=25)
        found.append(state[0])
    for key in ("v", "H", "scores", "followed"):
        assert (found[0][key] == found[1][key]).all(), key  # type: ignore[literal-required]


def test_means_are_those_of_all_rows() -> None:
    X, y = rows(4000)

    def make() -> ul.Learner:
        return ul.Learner(learning_rate=0.5, center=True, target="auto")

    state = make()._state_and_labels()
    for some, labels in cut(X, y, 2):
        state = one_round(make, state, cut(some, labels, 4))
    means = state[0]["center_means"].reshape(-1, 2)
    assert np.allclose(means[:, 0], X.mean(axis=0)[state[0]["center_features"] - 1], rtol=1e-9)
    assert (means[:, 1] == 1000).all()
    _, center, weight, total, *_ = state[0]["target"]
    assert center + total / weight == pytest.approx(y.mean())


@pytest.mark.parametrize("rule", ["nag", "snag"])
def test_the_merged_model_is_one_partition_that_drew_from_all(rule: str) -> None:
    X, y = rows(4000)

    def make() -> ul.Learner:
        return ul.Learner(rule, learning_rate=0.5, target="auto", average=True)

    state = make()._state_and_labels()
    for some, labels in cut(X, y, 2):
        state = one_round(make, state, cut(some, labels, 4))
    assert state[0]["t"] == 1000
    assert state[0]["examples"] == 1000
    done = scaled(make().options, state, 4000.0, 4000)
    model = restored(make, done)
    assert model.examples == 4000
    assert model.total_weight == 4000
    before = restored(make, state)
    assert before.weights == pytest.approx(model.weights, rel=1e-12)
    before.keep("averaged")
    model.keep("averaged")
    assert before.weights == pytest.approx(model.weights, rel=1e-12)
    model.learn(X[:100], y[:100])  # it continues


@pytest.mark.parametrize("rule", ["nag", "snag"])
def test_partitions_are_about_as_good_as_one_stream(rule: str) -> None:
    X, y = rows(8000)
    test, truth = rows(2000, seed=1)

    def make() -> ul.Learner:
        return ul.Learner(rule, learning_rate="auto", center=True, target="auto")

    alone = make()
    alone.learn(X, y)
    state = make()._state_and_labels()
    for some, labels in cut(X, y, 8):
        state = one_round(make, state, cut(some, labels, 4), judged=64)
        sifted = restored(make, state)
        sifted._prune_rates()
        state = sifted._state_and_labels()
    together = restored(make, scaled(make().options, state, 8000.0, 8000))
    errors = [np.mean((model.predict(test) - truth) ** 2) for model in (alone, together)]
    assert errors[1] < 1.3 * errors[0]
    assert errors[1] < 0.01 * np.var(truth)


def test_rates_are_judged_without_being_learned() -> None:
    X, y = rows()
    model = ul.Learner(learning_rate="auto", target="auto", center=True)
    model.learn(X[:300], y[:300])
    model._choose_rates(False)
    before = model._snapshot()
    model._begin_judging(y[300:], None)
    said = model._ask(model._data(X[300:]), False)
    model._end_judging()
    after = model._snapshot()
    assert np.array_equal(before["v"], after["v"])
    assert before["t"] == after["t"]
    assert np.array_equal(said, model.predict(X[300:]))
    losses = (after["scores"] - before["scores"]).reshape(-1, 6)[:, 0]
    for lane in range(len(losses)):
        state = {**before, "scores": before["scores"].copy()}
        state["scores"].reshape(-1, 6)[:, 1] = np.arange(len(losses)) != lane  # this one leads
        model._restore(state)
        assert losses[lane] == pytest.approx(((model.predict(X[300:]) - y[300:]) ** 2).sum(), rel=1e-9)
    model._begin_judging(y[:2], None)
    with pytest.raises(ul.errors.InputError, match="more rows than labels"):
        model.predict(X[:3])
    model._end_judging()


def test_classes_that_join_in_different_partitions() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    classes = np.array(["low", "middle", "high"])
    y = classes[(X @ [[1.0, 0.0, -1.0], [-0.5, 1.0, -0.5]]).argmax(axis=1)]
    partitions = [(X[y != name], y[y != name]) for name in classes]  # no partition meets all of them

    def make() -> ul.OneVsAll:
        return ul.OneVsAll(None)

    state = make()._state_and_labels()
    for _ in range(3):
        state = one_round(make, state, partitions)
    assert set(state[1]) == {"low", "middle", "high"}
    assert np.mean(restored(make, state).predict_label(X) == y) > 0.8


def test_names_that_partitions_meet_in_another_order() -> None:
    def make() -> ul.Learner:
        return ul.Learner(interactions=2, learning_rate=0.5)

    partitions = [
        ([{"a": 1.0, "b": 2.0}, {"b": 1.0}] * 20, [1.0, 2.0] * 20),
        ([{"c": 1.0, "b": 2.0}, {"a": 3.0, "c": 1.0}] * 20, [0.0, 1.0] * 20),
    ]
    state = make()._state_and_labels()
    for _ in range(2):
        states = []
        for mappings, labels in partitions:
            model = make()
            model._go_back(state)
            for row, label in zip(mappings, labels, strict=True):
                model.learn_one(row, label)
            states.append(model._state_and_labels())
        state = merged_round(make(), state, states)
    model = restored(make, state)
    assert set(model.scales) == {"(bias)", "a", "b", "c", "a*b", "b*c", "a*c", "a*a", "b*b", "c*c"}
    assert model.predict_one({"a": 1.0}) != 0


def test_partitions_that_learned_nothing_do_not_count() -> None:
    X, y = rows()

    def make() -> ul.Learner:
        return ul.Learner(learning_rate="auto", center=True, target="auto")

    start = make()._state_and_labels()
    empty = (np.zeros((0, 4)), np.zeros(0))
    alone, beside = one_round(make, start, [(X, y)]), one_round(make, start, [empty, (X, y), empty])
    close(alone, beside, 1e-15)
    nothing = one_round(make, alone, [empty, empty])
    assert nothing[0]["t"] == alone[0]["t"]
    assert np.array_equal(nothing[0]["v"], alone[0]["v"])
