"""Explanations of ensembles add up to the prediction."""

from __future__ import annotations

from typing import Any

import ensembles
import numpy as np
import pytest
from test_explanation import agrees

import unitless as ul


@pytest.mark.parametrize(("who", "options"), ensembles.LEARNERS)
def test_contributions_add_up(who: str, options: dict[str, Any]) -> None:
    X = ensembles.problem(2, 1)[0]
    agrees(ensembles.learner(who, **options), [*X.tolist(), (3 * X[0]).tolist()])


@pytest.mark.parametrize(("who", "options"), ensembles.CLASSIFIERS)
def test_contributions_to_a_class_add_up(who: str, options: dict[str, Any]) -> None:
    m = ensembles.of_classes(who, **options)
    X = ensembles.problem(2, 1)[0]
    agrees(m, [*X.tolist(), (3 * X[0]).tolist()])
    agrees(m, X.tolist(), "middle")


@pytest.mark.parametrize("classes", [None, ensembles.LABELS])
@pytest.mark.parametrize("options", [{}, {"rule": "newton"}, {"ensemble": True}, {"model_type": "curves"}])
def test_contributions_under_a_softmax_add_up(classes: Any, options: Any) -> None:
    X, y = ensembles.problem()
    m = ul.Softmax(classes, **options)
    m.learn(X, np.array(ensembles.LABELS)[np.digitize(y, [-0.5, 1.5])])
    agrees(m, X[:2].tolist())
    agrees(m, X[:2].tolist(), "middle")


@pytest.mark.parametrize("options", [{"target": "auto"}, {"loss": "logistic"}, {"clip": "labels", "center": True}])
@pytest.mark.parametrize("rows", [4, 300])
def test_contributions_of_second_order_add_up(rows: int, options: Any) -> None:
    X, y = ensembles.problem(rows)
    m = ul.Learner("newton", **options)
    m.learn(X, y > 0 if options.get("loss") else y)
    agrees(m, [*X[:2].tolist(), (3 * X[0]).tolist()])


def test_an_offset_is_one_of_the_contributions() -> None:
    rng = np.random.default_rng(0)
    table = [{**{f"x{j}": float(x) for j, x in enumerate(row)}, "known": 1.0} for row in rng.normal(size=(300, 4))]
    labeled = [{**row, "y": row["x0"] - row["x1"] + row["known"] > 1} for row in table]
    result = ul.train(labeled, "y", reading=ul.Reading(offset="known"), model_type="linear")
    why = ul.explain(result.model, table[0])
    parts = {part.feature: part for part in why.features}
    assert parts["known"].contribution == 1.0
    assert parts["known"].weight is None
    assert why.base_value + sum(part.contribution for part in why.contributions) == pytest.approx(why.score)


def test_there_are_no_weights_and_means_are_those_of_columns() -> None:
    why = ul.explain(ensembles.learner("newton", center=True), ensembles.problem(1)[0][0].tolist())
    assert all(part.weight is None for part in why.features)
    assert "weight" not in str(why)
    assert "numbers count from the mean of their column" in str(why)
    assert "mean prediction" not in str(why)
