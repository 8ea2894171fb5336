"""Synchronization rounds of models with several members."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from synchronized import WAYS
from test_merged_ensemble import FEATURES, KINDS, fresh, problem, scaled
from test_merged_information import close, learner, newton, steady
from test_merged_information import problem as plain_problem

import unitless as ul
from unitless.merging import rounds


def in_rounds(kind: str, X: Any, y: Any, partitions: int, rounds: int, way: str = "round") -> ul.Learner:
    base = fresh(kind)
    for rows in np.array_split(np.arange(len(y)), rounds):
        parts = []
        for own in np.array_split(rows, partitions):
            parts.append(base.copy())
            parts[-1]._keep_rates(True)
            parts[-1].learn(X[own], y[own])
        base = WAYS[way](base, parts)
    assert base.ensemble == kind.partition(",")[0]
    return base


@pytest.mark.parametrize("kind", KINDS)
def test_rounds_are_about_as_good_as_one_stream_and_can_go_on(kind: str) -> None:
    X, y = problem(kind, 3200)
    many = in_rounds(kind, X, y, 4, 3)
    assert many.examples == 800
    one, alone = fresh(kind), fresh(kind)
    one.learn(X, y)
    alone.learn(X[:800], y[:800])
    test, truth = problem(kind, 1000, 1)

    def loss(model: ul.Learner) -> float:
        said = model.predict(test)
        return float(np.mean((said > 0) != truth) if truth.dtype == bool else np.mean((said - truth) ** 2))

    assert loss(many) < 1.05 * max(loss(one), loss(alone)) + 0.005
    many.copy().learn(test, truth)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_one_partition_is_unchanged(kind: str, way: str) -> None:
    X, y = problem(kind, 800)
    base = fresh(kind)
    base.learn(X[:400], y[:400])
    part = base.copy()
    part._choose_rates(False)
    part.learn(X[400:], y[400:])
    merged = WAYS[way](base, [part, base.copy()])
    np.testing.assert_allclose(merged.predict(X), part.predict(X), rtol=1e-6, atol=1e-6)
    none = WAYS[way](base, [base.copy(), base.copy()])
    np.testing.assert_array_equal(none.predict(X), base.predict(X))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_units_change_no_bit(kind: str, way: str) -> None:
    powers = np.ldexp(1.0, np.arange(FEATURES) * 7 - 40)
    X, y = problem(kind, 600)
    plain, other = (in_rounds(kind, scaled(X, units), y, 3, 2, way) for units in (np.ones(FEATURES), powers))
    np.testing.assert_array_equal(plain.predict(X), other.predict(scaled(X, powers)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_speaks_for_all_partitions_predicts_the_same(kind: str) -> None:
    X, y = problem(kind, 1200)
    one = in_rounds(kind, X, y, 3, 2)
    every = one.copy()
    every._go_back(rounds.scaled(one.options, one._state_and_labels(), 3 * one.total_weight, 1200))
    # The scale of sNAG and the means of columns are updated by the row that is predicted.
    near = 0.05 if "snag" in kind or one.options.center else 1e-12
    np.testing.assert_allclose(every.predict(X), one.predict(X), rtol=1e-9, atol=near * float(np.std(one.predict(X))))
    assert every.examples == 1200
    every.learn(X, y)


@pytest.mark.parametrize("way", WAYS)
def test_second_order_knows_all_rows_of_all_partitions(way: str) -> None:
    X, y = plain_problem(1200)
    one, base = learner(), learner()
    one.learn(X, y)
    for rows in np.array_split(np.arange(1200), 3):
        parts = []
        for own in np.array_split(rows, 4):
            parts.append(base.copy())
            parts[-1]._keep_rates(True)
            parts[-1].learn(X[own], y[own])
        base = WAYS[way](base, parts)
    assert base.examples == (300 if way == "round" else 1200)
    close(steady(newton(base)), steady(newton(one)))
