"""Explanations of models with company add up to what the model predicts."""

from __future__ import annotations

from typing import Any

import company
import numpy as np
import pytest
from test_explanation import agrees

import unitless as ul

CASES: list[tuple[str, dict[str, Any]]] = [
    ("snag", {}),
    ("snag", {"learning_rate": "auto", "centre": True, "target": "auto", "average": True}),
    ("snag", {"loss": "logistic", "centre": True}),
    ("snag", {"shape": "curves", "clip": "labels", "centre": True}),
    ("snag", {"interactions": [(0, 1)], "bias": False}),
]


@pytest.mark.parametrize(("who", "options"), CASES)
def test_contributions_add_up(who: str, options: dict[str, Any]) -> None:
    m = company.learner(who, **options)
    X = company.problem(who, 3, 1)[0]
    agrees(m, [*X.tolist(), (3 * X[0]).tolist()])


def test_an_offset_is_one_of_the_contributions() -> None:
    rng = np.random.default_rng(0)
    table = [{**{f"x{j}": float(x) for j, x in enumerate(row)}, "known": 1.0} for row in rng.normal(size=(300, 4))]
    labelled = [{**row, "y": row["x0"] - row["x1"] + row["known"] > 1} for row in table]
    result = ul.train(labelled, "y", offset="known", shape="linear")
    why = ul.explain(result.model, table[0])
    parts = {part.feature: part for part in why.contributions}
    assert parts["known"].contribution == 1.0
    assert parts["known"].weight is None
    assert why.bias + sum(part.contribution for part in why.contributions) == pytest.approx(why.score)


def test_there_are_no_weights_and_means_are_those_of_columns() -> None:
    why = ul.explain(company.learner("snag", centre=True), company.problem("snag", 1)[0][0].tolist())
    assert all(part.weight is None for part in why.contributions)
    assert "weight" not in str(why)
    assert "numbers count from the mean of their column" in str(why)
    assert "mean prediction" not in str(why)
