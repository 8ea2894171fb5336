"""Rounds of models with curves and trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from synchronized import WAYS, synchronized
from test_merged_curves_and_trees import SHAPES, problem

import unitless as ul
from unitless.merging.rounds import scaled


def in_rounds(make: Any, X: Any, y: Any, partitions: int, rounds: int, way: str = "round") -> Any:
    base = make()
    for rows in np.array_split(np.arange(len(y)), rounds):
        parts = []
        for own in np.array_split(rows, partitions):
            part = base.copy()
            part.learn(X[own] if isinstance(X, np.ndarray) else [X[row] for row in own], y[own])
            parts.append(part)
        base = WAYS[way](base, parts)
    return base


def learner(model_type: str, **options: Any) -> Any:
    return ul.Learner(model_type=model_type, learning_rate=0.5, **options)  # type: ignore[arg-type]


def arrays(model: Any) -> dict[str, Any]:
    form: dict[str, Any] = model._snapshot()["form"]
    return form


def same(a: dict[str, Any], b: dict[str, Any], but: Sequence[str] = ()) -> None:
    assert a.keys() == b.keys()
    for name in a.keys() - {"settled", *but}:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


@pytest.mark.parametrize("model_type", SHAPES)
@pytest.mark.parametrize("options", [{"target": "auto", "center": True}, {"loss": "logistic"}, {"loss": "hinge"}])
@pytest.mark.parametrize("way", WAYS)
def test_rounds_are_better_than_one_partition_and_can_go_on(model_type: str, options: Any, way: str) -> None:
    X, y = problem(6400)
    truth = (y > 1) if "loss" in options else y
    many = in_rounds(lambda: learner(model_type, **options), X, truth, 4, 4, way)
    assert many.examples == (1600 if way == "round" else 6400)
    alone = learner(model_type, **options)
    alone.learn(X[:1600], truth[:1600])
    test, labels = problem(2000, 1)

    def loss(model: Any) -> float:
        said = model.predict(test)
        return float(np.mean((said > 0) != (labels > 1)) if "loss" in options else np.mean((said - labels) ** 2))

    assert loss(many) < 1.02 * loss(alone) + 0.005
    copy = many.copy()
    np.testing.assert_array_equal(copy.predict(test), many.predict(test))
    copy.learn(test, (labels > 1) if "loss" in options else labels)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model_type", SHAPES)
def test_the_same_partitions_give_the_same_bits_whatever_the_units(model_type: str, way: str) -> None:
    X, y = problem(2400)
    powers = np.ldexp(1.0, [-30, 5, 0, 90])
    a, b, other = (in_rounds(lambda: learner(model_type), X * units, y, 3, 2, way) for units in (1.0, 1.0, powers))
    same(arrays(a), arrays(b))
    np.testing.assert_array_equal(a.predict(X), other.predict(X * powers))
    same(arrays(a), arrays(other), ("curve.thresholds", "curve.values", "tree.low", "tree.watched"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model_type", SHAPES)
def test_one_partition_is_unchanged(model_type: str, way: str) -> None:
    X, y = problem(1600)
    base = learner(model_type, target="auto", center=True)
    base.learn(X[:800], y[:800])
    part = base.copy()
    part.learn(X[800:], y[800:])
    merged = WAYS[way](base, [part, base.copy()])
    np.testing.assert_allclose(merged.predict(X), part.predict(X), rtol=1e-9, atol=1e-9)
    same(arrays(WAYS[way](base, [base.copy(), base.copy()])), arrays(base))


@pytest.mark.parametrize("model_type", SHAPES)
def test_a_partition_without_rows_does_not_count(model_type: str) -> None:
    X, y = problem(1600)
    base = learner(model_type)
    for start in (base, in_rounds(lambda: learner(model_type), X, y, 2, 1)):
        part, idle = start.copy(), start.copy()
        part.learn(X[:400], y[:400])
        same(arrays(synchronized(start, [part, idle])), arrays(synchronized(start, [part])))


def test_leaves_without_a_split_are_averaged_by_evidence() -> None:
    X, y = problem(4000)
    base = learner("trees")
    base.learn(X[:3000], y[:3000])
    parts = [base.copy(), base.copy()]
    for part, rows in zip(parts, (slice(3000, 3010), slice(3010, 3020)), strict=True):  # too few for any split
        part.learn(X[rows], y[rows])
    merged, a, b = (arrays(model) for model in (synchronized(base, parts), *parts))
    assert merged["tree.sizes"].min() >= arrays(base)["tree.sizes"].min()
    old = np.isin(merged["trees.leaves"], a["trees.leaves"])
    if old.all() and len(merged["trees.leaves"]) == len(a["trees.leaves"]):  # no region was split in the merge
        G = [one["trees.evidence"] for one in (a, b)]
        np.testing.assert_allclose(merged["trees.evidence"], (G[0] + G[1]) / 2, rtol=1e-12)
        mean = (G[0] * a["trees.weights"] + G[1] * b["trees.weights"]) / (G[0] + G[1])
        np.testing.assert_allclose(merged["trees.weights"], mean, rtol=1e-9, atol=1e-12)


def test_statistics_of_all_partitions_split_where_one_would_not() -> None:
    """Sums of the same candidates add up, and each leaf is split at most once in a merge."""
    X, y = problem(6000)
    base = learner("trees")
    base.learn(X[:2000], y[:2000])
    parts = [base.copy() for _ in range(8)]
    for part, rows in zip(parts, np.array_split(np.arange(2000, 2160), 8), strict=True):
        part.learn(X[rows], y[rows])
    merged = arrays(synchronized(base, parts))
    grown = np.array([arrays(part)["tree.sizes"] for part in parts])
    assert merged["tree.sizes"].sum() > grown.max(axis=0).sum()
    facts = merged["tree.facts"].reshape(-1, 6)
    assert not np.any((facts[:, 2] == 5) & (facts[:, 4] >= facts[:, 3]))  # nothing is undecided


def test_a_tree_that_would_be_too_large_keeps_its_first_splits() -> None:
    X = np.random.default_rng(0).uniform(size=(22000, 3))
    y = np.floor(4 * X[:, 0]) * np.floor(4 * X[:, 1]) + 4 * (X[:, 2] > X[:, 0])
    base = learner("trees")
    base.learn(X[:14000], y[:14000])
    assert arrays(base)["tree.sizes"].min() < 256
    parts = [base.copy() for _ in range(6)]
    for part, rows in zip(parts, np.array_split(np.arange(14000, 20000), 6), strict=True):
        part.learn(X[rows], y[rows])
    merged = synchronized(base, parts)
    largest = np.max([arrays(part)["tree.sizes"] for part in parts], axis=0)
    assert np.any((arrays(merged)["tree.sizes"] == 256) & (largest < 256))
    losses = [float(np.mean((model.predict(X[20000:]) - y[20000:]) ** 2)) for model in (merged, *parts)]
    assert losses[0] < np.mean(losses[1:])
    merged.learn(X[20000:], y[20000:])


def _named_rows(rows: int, seed: int) -> tuple[list[dict[str, float]], np.ndarray]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(rows):
        row = {"size": float(rng.normal()), f"city={rng.choice(['Rome', 'Oslo', 'Kyiv'])}": 1.0}
        if rng.uniform() < 0.8:
            row["age"] = float(rng.integers(9))
        names = list(row)
        rng.shuffle(names)
        found.append({name: row[name] for name in names})
    y = [3.0 * ("city=Oslo" in row) + (row["size"] > 0.3) * row.get("age", 5.0) for row in found]
    return found, np.array(y)


def test_columns_and_texts_are_found_by_name_and_some_partitions_lack_one() -> None:
    rows, y = _named_rows(4000, 0)
    for row in rows[:500]:
        row.pop("age", None)
    merged = in_rounds(lambda: learner("trees"), rows, y, 2, 4)
    test, truth = _named_rows(1000, 1)
    assert np.mean((merged.predict(test) - truth) ** 2) < 0.1 * np.var(truth)
    merged.learn(test, truth)


def test_a_column_that_joins_in_one_partition() -> None:
    rows, y = _named_rows(1500, 0)
    without = [{name: value for name, value in row.items() if name != "age"} for row in rows]
    base = learner("trees")
    base.learn(without[:500], y[:500])
    parts = [base.copy(), base.copy()]
    parts[0].learn(without[500:1000], y[500:1000])
    parts[1].learn(rows[1000:], y[1000:])
    merged = synchronized(base, parts)
    assert "age" in merged.weights
    np.testing.assert_array_equal(merged.copy().predict(rows), merged.predict(rows))
    merged.learn(rows[:300], y[:300])


@pytest.mark.parametrize("model_type", ["curves", "trees"])
def test_classes_join_in_different_partitions(model_type: str) -> None:
    X, y = problem(4000)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6, 0.8]))
    base = ul.OneVsAll(model_type=model_type)  # type: ignore[arg-type]
    for rows in np.array_split(np.arange(4000), 3):
        parts = [base.copy(), base.copy()]
        halves = rows[labels[rows] != 3], rows[labels[rows] != 0]
        for part, own in zip(parts, halves, strict=True):
            part.learn(X[own], labels[own])
        base = synchronized(base, parts)
    assert sorted(base.classes) == [0, 1, 2, 3]
    test, truth = problem(1000, 1)
    known = np.digitize(truth, np.quantile(y, [0.3, 0.6, 0.8]))
    said = np.array(base.classes)[np.argmax(base.predict(test), axis=1)]
    assert np.mean(said != known) < 0.45
    base.learn(test, known)


def test_automatic_rates() -> None:
    """Lanes of all rates are merged; partitions that choose a rate later continue with them."""
    X, y = problem(3200)
    merged = in_rounds(
        lambda: ul.Learner(model_type="trees", learning_rate="auto", target="auto"), X[:800], y[:800], 2, 1
    )
    assert len(arrays(merged)["trees.lane_rates"]) > 1
    merged.learn(X[800:], y[800:])


@pytest.mark.parametrize("model_type", SHAPES)
@pytest.mark.parametrize("rule", ["nag", "snag"])
def test_a_model_that_speaks_for_all_partitions_predicts_the_same(model_type: str, rule: str) -> None:
    X, y = problem(3000)
    one = in_rounds(
        lambda: ul.Learner(model_type=model_type, rule=rule, learning_rate="auto"), X[:2400], y[:2400], 3, 2
    )  # type: ignore[arg-type]
    every = one.copy()
    every._go_back(scaled(one.options, one._state_and_labels(), 3 * one.total_weight, 2400))
    near = 0.02 if rule == "snag" else 1e-12  # the scale is updated by the row that is predicted
    np.testing.assert_allclose(every.predict(X), one.predict(X), rtol=1e-9, atol=near)
    assert every.examples == 2400
    np.testing.assert_array_equal(arrays(every)["curves.N"], 3 * arrays(one)["curves.N"])
    every.learn(X[2400:], y[2400:])
