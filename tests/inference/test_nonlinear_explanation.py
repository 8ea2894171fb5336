"""Explanations of models with curves and trees add up to the prediction, and name the columns that change it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from test_explanation import NEW, ROWS, agrees, label, plain

import unitless as ul

SHAPES = ("curves", "trees", "curves only")
MANY: list[dict[str, Any]] = [{**ROWS[(37 * i) % 200], "age": 20.0 + (7 * i) % 51} for i in range(1500)]


def bent(row: dict[str, Any]) -> float:
    """A target that is neither linear nor a sum."""
    return float(abs(row["age"] - 40) / 10 + 5 * (row["job"] == "pilot") * (row["pay"] > 8e3))


@pytest.mark.parametrize("model_type", SHAPES)
@pytest.mark.parametrize("rule", ["nag", "snag", "ng", "ag"])
@pytest.mark.parametrize("further", [{}, {"target": "auto"}, {"learning_rate": "auto"}, {"bias": False}])
def test_contributions_add_up_for_every_rule(model_type: Any, rule: Any, further: Any) -> None:
    rate = {"ag": 1e-3}.get(rule, 0.5)
    model = ul.Learner(rule, **{"learning_rate": rate, "model_type": model_type, **further})
    rows = MANY[:600]
    model.learn([plain(row) for row in rows], [bent(row) for row in rows])
    agrees(model, [plain(row) for row in NEW])


@pytest.mark.parametrize("model_type", SHAPES)
@pytest.mark.parametrize("loss", ["logistic", "hinge", "quantile", "poisson"])
def test_contributions_add_up_for_every_loss(model_type: Any, loss: Any) -> None:
    model = ul.Learner(loss=loss, model_type=model_type)
    labels = [bent(row) > 2 if loss in ("logistic", "hinge") else bent(row) for row in MANY]
    model.learn([plain(row) for row in MANY], labels)
    agrees(model, [plain(row) for row in NEW])


@pytest.mark.parametrize("model_type", ["curves", "trees"])
@pytest.mark.parametrize("interactions", [None, 2])
def test_contributions_add_up_with_centering(model_type: Any, interactions: Any) -> None:
    X = np.array([[row["age"], row["pay"]] for row in MANY])
    model = ul.Learner(model_type=model_type, center=True, interactions=interactions)
    model.learn(X, [bent(row) for row in MANY])
    agrees(model, X[:5].tolist())


@pytest.mark.parametrize("model_type", SHAPES)
@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("classes", [None, ["low", "middle", "high"]])
def test_classes(model_type: Any, loss: Any, classes: Any) -> None:
    model = ul.OneVsAll(classes, loss=loss, model_type=model_type)
    labels = np.array(["low", "middle", "high"])[np.digitize([bent(row) for row in MANY], [1, 4])]
    model.learn([plain(row) for row in MANY], labels)
    agrees(model, [plain(row) for row in NEW])
    agrees(model, [plain(row) for row in NEW], "middle")


def test_a_model_that_has_learned_little() -> None:
    for rows in (1, 2, 5):
        model = ul.Learner(model_type="trees")
        model.learn([plain(row) for row in MANY[:rows]], [label(row) for row in MANY[:rows]])
        agrees(model, [plain(row) for row in NEW])


def test_the_strongest_feature_has_the_largest_contribution() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3)) * [1e-6, 1, 1e6]
    model = ul.Learner(model_type="trees", learning_rate="auto")
    model.learn(X, np.abs(X[:, 1]) * 10 + 1e6 * X[:, 0])
    why = ul.explain(model, [0.0, 2.5, 0.0])
    assert why.contributions[0].column == 1
    assert why.contributions[0].contribution > 10  # far above the mean of |x|
    assert why.features[0].weight is None
    assert ul.explain(model, [0.0, 0.0, 0.0]).contributions[0].contribution < -4
    assert why.base_value == pytest.approx(np.mean(np.abs(X[:, 1]) * 10), rel=0.3)


def test_text_columns_speak_by_the_value_of_the_row() -> None:
    rows = [{"city": "Oslo" if i % 3 else "Bergen", "x": float(i * 7 % 50)} for i in range(2000)]
    table = [{**row, "y": (row["city"] == "Oslo") * (row["x"] > 20)} for row in rows]
    result = ul.train(table, target="y", task="regression", model_type="trees")
    why = ul.explain(result.model, {"city": "Bergen", "x": 45.0})
    assert {part.feature for part in why.features} <= {"city=Bergen", "x"}
    assert {part.column: part.contribution for part in why.contributions}["city"] < 0


def test_missing_values_are_shown_as_such() -> None:
    rng = np.random.default_rng(0)
    model = ul.Learner(model_type="curves")
    for x in rng.normal(size=2000):
        model.learn_one({"a": 1.0} if x > 1 else {"a": 1.0, "x": x}, 5.0 * (x > 1))
    why = ul.explain(model, {"a": 1.0})
    assert why.contributions[0].column == "x"
    assert math.isnan(why.contributions[0].value)  # type: ignore[arg-type]
    assert "missing" in str(why)


def test_nonlinear_explanations_show_no_weights() -> None:
    model = ul.Learner(model_type="curves")
    model.learn([plain(row) for row in MANY], [bent(row) for row in MANY])
    why = ul.explain(model, plain(MANY[0]))
    assert "weight" not in str(why)
    assert ">weight<" not in why._repr_html_()
    assert "mean prediction" in str(why)
