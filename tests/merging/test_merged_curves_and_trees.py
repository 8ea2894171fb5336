"""Merging models with curves and trees."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import unitless as ul

SHAPES = ["curves", "trees", "curves only"]


def problem(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)) * [1, 1000, 1e-3, 1]
    y = np.abs(X[:, 0]) * (X[:, 1] > 300) + 2.0 * (X[:, 2] > 0) + 0.1 * rng.normal(size=rows)
    return X, y


def apart(model_type: str, count: int = 2, rows: int = 1600, units: Any = 1.0, **options: Any) -> list[ul.Learner]:
    X, y = problem(rows)
    if "loss" in options:
        y = y > 1
    models = []
    for part in np.array_split(np.arange(rows), count):
        m = ul.Learner(model_type=model_type, learning_rate="auto", **options)  # type: ignore[arg-type]
        m.learn(X[part] * units, y[part])
        models.append(m)
    return models


@pytest.mark.parametrize("model_type", SHAPES)
@pytest.mark.parametrize("options", [{"target": "auto", "center": True}, {"loss": "logistic"}, {"loss": "hinge"}])
def test_a_fresh_model_is_neutral_and_order_does_not_matter(model_type: str, options: Any) -> None:
    models = apart(model_type, **options)
    fresh = ul.Learner(model_type=model_type, learning_rate="auto", **options)  # type: ignore[arg-type]
    X = problem(300, 1)[0]
    for merged in (ul.merge([models[0], fresh]), ul.merge([fresh, models[0]]), ul.merge([models[0]])):
        np.testing.assert_allclose(merged.predict(X), models[0].predict(X), rtol=1e-9, atol=1e-12)
    assert ul.merge([fresh, fresh.copy()]).examples == 0
    a, b = (ul.merge(order) for order in itertools.permutations(models))
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model_type", SHAPES)
def test_merged_models_are_about_as_good_as_their_parts(model_type: str) -> None:
    """Curves are joined; each tree is taken from one of the models, which costs a little accuracy."""
    models = apart(model_type, rows=4000, target="auto", center=True)
    X, y = problem(1000, 1)
    losses = [float(np.mean((m.predict(X) - y) ** 2)) for m in models]
    merged = ul.merge(models)
    assert np.mean((merged.predict(X) - y) ** 2) < (1.2 if model_type == "trees" else 1.05) * np.mean(losses)
    copy = merged.copy()  # its state could come from learning
    np.testing.assert_array_equal(copy.predict(X), merged.predict(X))
    copy.learn(X, y)
    assert copy.examples == 5000


@pytest.mark.parametrize("model_type", SHAPES)
def test_the_order_of_merging_hardly_matters(model_type: str) -> None:
    """Linear terms do not depend on it; curves and trees with too many leaves do."""
    a, b, c = apart(model_type, 3, rows=3000)
    left, right, at_once = ul.merge([ul.merge([a, b]), c]), ul.merge([a, ul.merge([b, c])]), ul.merge([a, b, c])
    X, y = problem(500, 1)
    for other in (right, at_once):
        if model_type != "curves only":
            np.testing.assert_allclose(list(left.weights.values()), list(other.weights.values()), rtol=1e-9)
        difference = np.sqrt(np.mean((left.predict(X) - other.predict(X)) ** 2))
        assert difference < 0.1 * np.std(y)
        assert left.examples == other.examples == 3000


@pytest.mark.parametrize("model_type", SHAPES)
def test_units_change_no_bit(model_type: str) -> None:
    powers = np.ldexp(1.0, [-30, 5, 0, 90])
    X = problem(200, 1)[0]
    plain, other = (ul.merge(apart(model_type, rows=1000, units=units)) for units in (1.0, powers))
    np.testing.assert_array_equal(plain.predict(X), other.predict(X * powers))


def test_columns_and_texts_are_merged_by_name() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {
            "size": float(rng.normal()),
            f"city={rng.choice(['Rome', 'Oslo', 'Kyiv'])}": 1.0,
            "age": float(rng.integers(9)),
        }
        for _ in range(3000)
    ]
    y = np.array([3.0 * ("city=Oslo" in row) + (row["size"] > 0.3) * row["age"] for row in rows])
    swapped = [dict(sorted(row.items())) for row in rows]
    a, b = (ul.Learner(model_type="trees", learning_rate="auto") for _ in range(2))
    a.learn(rows[:1500], y[:1500])
    b.learn(swapped[1500:], y[1500:])
    test = rows[:200]
    truth = y[:200]
    merged = [ul.merge(order).predict(test) for order in ([a, b], [b, a])]
    np.testing.assert_allclose(merged[0], merged[1], rtol=1e-9, atol=1e-9)
    assert np.mean((merged[0] - truth) ** 2) < 0.1 * np.var(
        truth
    )  # if columns or texts were mixed up, it would be as large


def test_classes_that_one_part_has_not_met() -> None:
    X, y = problem(1500)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    a, b = ul.OneVsAll(model_type="trees"), ul.OneVsAll(model_type="trees")
    few = labels[:700] != 2
    a.learn(X[:700][few], labels[:700][few])
    b.learn(X[700:], labels[700:])
    merged = ul.merge([a, b])
    assert sorted(merged.classes) == [0, 1, 2]
    merged.copy().learn(X[:50], labels[:50])


def test_shapes_that_differ_are_refused() -> None:
    a, b = apart("curves")[0], apart("trees")[0]
    with pytest.raises(ul.MergeError, match="differ in model_type: 'curves' and 'trees'"):
        ul.merge([a, b])


def test_each_tree_is_one_of_the_models_whatever_is_merged_first() -> None:
    a, b, c = apart("trees", 3, rows=2400)
    nodes = [_trees(m) for m in (a, b, c)]
    merged = _trees(ul.merge([a, b, c]))
    assert all(tree in (own[k] for own in nodes) for k, tree in enumerate(merged))
    assert all(any(own[k] == tree for k, tree in enumerate(merged)) for own in nodes)
    assert merged == _trees(ul.merge([ul.merge([c, a]), b])) == _trees(ul.merge([a, ul.merge([c, b])]))


def _trees(model: ul.Learner) -> list[bytes]:
    form = model._snapshot()["form"]
    ends = np.cumsum(2 * form["tree.sizes"].astype(int) - 1)[:-1]
    arrays = [np.split(form[f"tree.{name}"], ends) for name in ("low", "high", "column", "child", "place")]
    return [b"".join(one.tobytes() for one in tree) for tree in zip(*arrays, strict=True)]


def test_a_merged_curve_has_all_cuts_while_there_is_room() -> None:
    models = apart("curves only", rows=200)
    cuts = [set(m._snapshot()["form"]["curve.thresholds"].tolist()) for m in models]
    merged = ul.merge(models)._snapshot()["form"]
    assert set(merged["curve.thresholds"].tolist()) == cuts[0] | cuts[1]
    evidence = [m._snapshot()["form"]["curves.evidence"].sum() for m in models]
    assert merged["curves.evidence"].sum() == pytest.approx(sum(evidence))
    many = ul.merge(apart("curves only", 4, rows=6000))._snapshot()["form"]
    assert many["curve.leaves"].max() <= 32


def test_auto_that_was_settled_apart_is_refused() -> None:
    X, y = problem(200)
    a, b = (ul.Learner(model_type="auto", learning_rate="auto") for _ in range(2))
    a.learn(X, y)
    b.learn([{f"x{j}": 1.0 for j in range(1200)}], [1.0])
    if b.model_type == a.model_type:
        pytest.skip("both have become the same")
    with pytest.raises(ul.MergeError, match="differ in model type"):
        ul.merge([a, b])
