"""Explanations add up to the prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul

ROWS: list[dict[str, Any]] = [
    {"age": 20.0 + (7 * i) % 50, "pay": 1e3 * ((3 * i) % 17), "job": "clerk" if i % 3 else "pilot", "on": i % 4 < 2}
    for i in range(200)
]
NEW: list[dict[str, Any]] = [
    ROWS[5],
    {"age": 500.0, "pay": -9e4, "job": "pilot", "on": True},  # outside the range of the training data
    {"age": 30.0, "job": "smith"},
]


def label(row: dict[str, Any]) -> float:
    return float(row["age"] / 10 + row["pay"] / 2e3 + 3 * (row["job"] == "pilot"))


def agrees(model: Any, rows: Any, label: Any = None) -> None:
    for row in rows:
        why = ul.explain(model, row, label)
        scores = np.atleast_1d(model.predict_one(row) if isinstance(row, dict) else model.predict([row])[0])
        score = scores[0] if why.label is None else scores[model.classes.index(why.label)]
        total = why.base_value + sum(part.contribution for part in why.contributions)
        assert why.score == pytest.approx(total, rel=1e-12, abs=1e-12)
        by_feature = why.base_value + sum(part.contribution for part in why.features)
        assert by_feature == pytest.approx(total, rel=1e-12, abs=1e-12)
        assert why.limited == pytest.approx(score, rel=1e-9, abs=1e-9)


def plain(row: dict[str, Any]) -> dict[str, float]:
    return {
        f"{k}={v}" if isinstance(v, str | bool) else k: 1.0 if isinstance(v, str | bool) else v for k, v in row.items()
    }


@pytest.mark.parametrize("rule", ["nag", "snag", "ng", "ag", "gd"])
@pytest.mark.parametrize("interactions", [None, 2, "ordered", [("age", "job=*"), ("job=*", "pay")]])
@pytest.mark.parametrize("further", [{}, {"target": "auto"}, {"bits": 5}, {"learning_rate": "auto"}, {"bias": False}])
def test_contributions_add_up_for_every_rule(rule: Any, interactions: Any, further: Any) -> None:
    rate = {"gd": 1e-12, "ag": 1e-3}.get(rule, 0.5)
    model = ul.Learner(rule, **{"learning_rate": rate, "interactions": interactions, **further})
    model.learn([plain(row) for row in ROWS], [label(row) for row in ROWS])
    agrees(model, [plain(row) for row in NEW])


@pytest.mark.parametrize("rule", ["nag", "snag", "ng", "ag"])
@pytest.mark.parametrize("interactions", [None, 2, [(0, 1)]])
def test_contributions_add_up_with_centering(rule: Any, interactions: Any) -> None:
    X = np.array([[row["age"], row["pay"]] for row in ROWS])
    model = ul.Learner(rule, center=True, interactions=interactions)
    model.learn(X, [label(row) for row in ROWS])
    agrees(model, [X[3].tolist(), [1000.0, -1e6], [0.0, 0.0]])


@pytest.mark.parametrize("rule", ["nag", "snag", "ng"])
def test_contributions_add_up_in_the_order_of_vowpal_wabbit(rule: Any) -> None:
    model = ul.Learner(rule, order="vw", clip="vw")
    model.learn([plain(row) for row in ROWS], [label(row) for row in ROWS])
    agrees(model, [plain(row) for row in NEW])


@pytest.mark.parametrize("target", ["number", "two", "three"])
@pytest.mark.parametrize("interactions", [None, 2])
def test_trained_models_explain_their_rows(target: str, interactions: Any) -> None:
    table = pd.DataFrame(ROWS)
    table["y"] = [label(row) for row in ROWS]
    if target != "number":
        table["y"] = [["low", "high", "top"][int(y > 8) + (target == "three" and y > 11)] for y in table["y"]]
    result = ul.train(table, "y", interactions=interactions, passes=2)
    rows = [*NEW, {}]
    said = result.predict(pd.DataFrame(rows, columns=list(ROWS[0])))
    for row, prediction in zip(rows, said, strict=True):
        why = ul.explain(result.model, row)
        assert why.prediction == (pytest.approx(prediction, rel=1e-9) if target == "number" else prediction)
        if target == "number":
            assert why.limited == pytest.approx(prediction, rel=1e-9)
        if target == "two":
            assert (why.score > 0) == (why.prediction == "low")
        if target == "three":
            others = [ul.explain(result.model, row, other).score for other in result.predictor.classes]
            assert why.score == max(others)
            assert why.label == prediction


def test_unknown_features_are_named() -> None:
    result = ul.train(pd.DataFrame({"a": [1.0, 2, 3, 4], "b": list("xyxy"), "y": [1.5, 2, 3, 4]}), "y")
    assert ul.explain(result.model, {"a": 1, "b": "z", "c": 5}).unknown == ["c", "b=z"]
    lacking = ul.explain(result.model, {"a": 1, "c": 5})
    assert "b=(missing)" in lacking.unknown
    assert str(lacking).endswith("not known to the model, and ignored: 'c'")
    with pytest.raises(ul.InputError, match="'a' is 'one'"):
        ul.explain(result.model, {"a": "one"})
    with pytest.raises(ul.OptionError, match="no classes"):
        ul.explain(result.model, {"a": 1}, "x")


@pytest.mark.parametrize("model_type", ["linear", "trees"])
@pytest.mark.parametrize("interactions", [None, 2])
def test_levels_dates_words_and_products_are_summed_by_column(model_type: Any, interactions: Any) -> None:
    table = pd.DataFrame(ROWS)
    table["day"] = [f"2021-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(len(ROWS))]
    table["said"] = [f"the room was {'clean' if i % 3 else 'dirty'} and number {i % 50}" for i in range(len(ROWS))]
    table["y"] = [label(row) for row in ROWS]
    reading = ul.Reading(dates="parts", words="said")
    result = ul.train(table, "y", model_type=model_type, interactions=interactions, reading=reading)
    row = {**ROWS[5], "day": "2021-03-04", "said": "the room was dirty"}
    why = ul.explain(result, row)
    assert {part.column for part in why.contributions} == {"age", "pay", "job", "on", "day", "said"}
    values = {part.column: part.value for part in why.contributions}
    assert values["job"] == row["job"]
    assert values["age"] == row["age"]
    assert values["day"] == "2021-03-04"
    assert values["said"] == "the room was dirty"
    assert any(str(part.feature).startswith("day.weekday=") for part in why.features)
    job = next(part.contribution for part in why.contributions if part.column == "job")
    if interactions is None:
        assert job == sum(part.contribution for part in why.features if str(part.feature).startswith("job="))


def test_a_product_counts_half_for_each_column_and_whole_for_a_square() -> None:
    model = ul.Learner(interactions=2, bias=False)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    model.learn(X, 3 * X[:, 0] * X[:, 1] + X[:, 0] ** 2)
    why = ul.explain(model, [0.5, 2.0])
    of = {str(part.feature): part.contribution for part in why.features}
    first, second = (next(p.contribution for p in why.contributions if p.column == k) for k in (0, 1))
    assert first == pytest.approx(of["0"] + of["0*0"] + of["0*1"] / 2)
    assert second == pytest.approx(of["1"] + of["1*1"] + of["0*1"] / 2)


def test_the_base_value_is_called_by_what_it_is() -> None:
    X = np.random.default_rng(0).normal(10, 1, size=(500, 2))
    given: list[dict[str, Any]] = [{}, {"center": True}, {"model_type": "trees"}]
    plain, centered, bent = (ul.explain(_learned(X, **options), [1.0, 2.0]) for options in given)
    assert "the score where all features are 0" in str(plain)
    assert "numbers count from the mean of their column" in str(centered)
    assert "about the mean prediction" in str(bent)
    assert bent.base_value == pytest.approx(10, rel=0.2)


def _learned(X: Any, **options: Any) -> ul.Learner:
    model = ul.Learner(**options)
    model.learn(X, X[:, 0])
    return model


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("model_type", ["curves", "trees"])
def test_missing_values_count_from_the_mean_too(model_type: Any, missing: float) -> None:
    rng = np.random.default_rng(0)
    lost = rng.random(4000) < missing
    for values in (np.ones(4000), rng.normal(size=4000)):
        table = pd.DataFrame({"a": rng.normal(size=4000), "c": np.where(lost, np.nan, values)})
        labels = 2 * table["a"] + np.where(lost, -4, 1) + 0.1 * rng.normal(size=4000) + 5
        result = ul.train(table, labels, model_type=model_type, progress=False)
        found = ul.explain(result, table[:1])
        assert found.base_value == pytest.approx(np.mean(result.predict(table)), abs=0.15)


@pytest.mark.parametrize("rows", [32, 33, 320])
def test_columns_of_one_value_are_explained(rows: int) -> None:
    a = np.random.default_rng(0).normal(size=rows)
    model = ul.Learner(model_type="trees")
    model.learn([{"a": x, "c": 3.0} for x in a.tolist()], 2 * a + 5)
    found = ul.explain(model, {"a": 1.0, "c": 3.0})
    assert {one.column: one.contribution for one in found.contributions}["c"] == pytest.approx(0, abs=1e-9)
