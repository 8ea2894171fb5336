"""Exported models compute the model's predictions: as ONNX graphs, from plain JSON, as scikit-learn's estimators."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unitless as ul

RULES = ["nag", "snag", "ng", "ag", "gd"]
LOSSES = ["squared", "quantile", "poisson", "logistic", "hinge"]
LABELS = np.array(["low", "middle", "high"])


def run(model: Any, X: Any, **options: Any) -> dict[str, Any]:
    """All outputs of the graph."""
    proto = ul.to_onnx(model, **options)
    onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    feeds = X if isinstance(X, dict) else {"features": X}
    return dict(zip(names, session.run(names, feeds), strict=True))


def distance(found: Any, expected: Any) -> float:
    """The largest difference, in units of the largest number."""
    return float(np.max(np.abs(np.asarray(found, float) - expected)) / max(1e-300, np.max(np.abs(expected))))


@st.composite
def cases(draw: st.DrawFn, classes: bool = False, products: bool = True) -> tuple[Any, np.ndarray[Any, Any]]:
    """A model of any kind, and rows inside and outside the range of its training data. The numbers are float32, so that
    a graph gets the same ones."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rule, loss = draw(st.sampled_from(RULES)), draw(st.sampled_from(LOSSES))
    numeric = loss in ("squared", "quantile") and not classes
    vw = not classes and draw(st.booleans())
    options: dict[str, Any] = {"bias": draw(st.booleans())}
    if vw:
        options |= {"order": "vw", "clip": draw(st.sampled_from([None, "vw"]))}
    else:
        options |= {"center": draw(st.booleans()), "target": draw(st.sampled_from([None, "auto"])) if numeric else None}
        if numeric and not options["target"]:
            options["clip"] = draw(st.sampled_from([None, "labels"]))
    if products:
        options["interactions"] = draw(st.sampled_from([None, 2, "ordered", [(0, 2)]]))
    units = rule in ("nag", "snag", "ng")
    scales = 10.0 ** draw(st.lists(st.integers(-9, 9), min_size=3, max_size=3).map(np.array)) if units else np.ones(3)
    offsets = scales * draw(st.sampled_from([0.0, 3.0, 100.0 if options.get("center") else 3.0]))
    z = rng.normal(size=(300, 3))
    X = (z * scales + offsets).astype(np.float32)
    score = z @ [1.0, -2.0, 0.5]
    rate = draw(st.sampled_from([0.05, 0.5, "auto"])) if units and not vw else 0.5 if units else 0.01
    if classes:
        model: Any = ul.OneVsAll(None, rule, loss, rate, **options)
        y: Any = LABELS[1 + (score > 1).astype(int) - (score < -1)]
    else:
        model = ul.Learner(rule, loss, rate, **options)
        y = score > 0 if loss in ("logistic", "hinge") else np.round(np.abs(score)) if loss == "poisson" else score + 50
    model.learn(X, y)
    rows = np.concatenate([X[:30], 3 * X[:30], X[:30] * [[1, 50, 1]]]).astype(np.float32)
    return model, rows


# ----------------------------------------------------------------------------------------------------------------- ONNX


@given(cases(), st.booleans())
def test_a_float32_graph_predicts_as_the_model_does(case: Any, extrapolate: bool) -> None:
    model, X = case
    out = run(model, X, extrapolate=extrapolate)
    assert distance(out["scores"], model.predict(X, extrapolate=extrapolate)) < 1e-5


@given(cases(), st.booleans())
def test_a_float64_graph_does_so_to_nearly_all_digits(case: Any, extrapolate: bool) -> None:
    model, X = case
    out = run(model, X.astype(np.float64), extrapolate=extrapolate, dtype="float64")
    assert distance(out["scores"], model.predict(X, extrapolate=extrapolate)) < 1e-13


@given(cases(classes=True), st.booleans())
def test_a_graph_of_classes_gives_scores_labels_and_shares(case: Any, extrapolate: bool) -> None:
    model, X = case
    scores = model.predict(X, extrapolate=extrapolate)
    out = run(model, X, extrapolate=extrapolate)
    assert distance(out["scores"], scores) < 1e-5
    assert out["label"].tolist() == [model.classes[k] for k in out["scores"].argmax(axis=1)]
    assert ("probabilities" in out) == (model.options.loss == "logistic")
    if "probabilities" in out:
        assert np.max(np.abs(out["probabilities"] - model._shares(out["scores"]))) < 1e-6


def test_shares_add_up_where_no_class_is_likely() -> None:
    X = np.array([[1.0, 0.5], [0.9, -1.0], [1.1, 2.0], [1.0, 3.0]], np.float32)
    model = ul.OneVsAll(["a", "b", "c"], "ag", learning_rate=1.0)
    model.learn(X, ["a", "b", "b", "c"])
    far = np.array([[-300, 1], [-300, -70], [50, 400], [9000, 8000], [-1e9, 7e8]], np.float32)
    shares = model.predict_proba(far)
    assert np.min(model.predict(far).max(axis=1)) < -100
    for dtype, error in (("float32", 1e-4), ("float64", 1e-12)):
        found = run(model, far.astype(dtype), dtype=dtype)["probabilities"]
        assert np.max(np.abs(found - shares)) < error


@pytest.mark.parametrize("loss", LOSSES)
def test_outputs_fit_the_task(loss: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)).astype(np.float32)
    binary = loss in ("logistic", "hinge")
    model = ul.Learner(loss=loss)
    model.learn(X, np.where(X[:, 0] > 0, 1, -1) if binary else np.abs(X[:, 0]))
    out, scores = run(model, X), model.predict(X)
    if binary:
        clear = np.abs(scores) > 1e-4
        assert out["label"][clear].tolist() == np.where(scores > 0, 1, -1)[clear].tolist()
        assert ("probabilities" in out) == (loss == "logistic")
        if loss == "logistic":
            p = model._link(scores)
            assert np.max(np.abs(out["probabilities"] - np.stack([1 - p, p], axis=1))) < 1e-6
    else:
        assert set(out) == {"scores", "prediction"}
        assert out["prediction"].shape == (300,)
        assert distance(out["prediction"], model._link(scores)) < 1e-6


def test_offsets_a_million_times_the_spread_cost_no_digits() -> None:
    rng = np.random.default_rng(1)
    X = (1e6 + rng.normal(size=(500, 2)) * [1, 8]).astype(np.float32)
    model = ul.Learner(center=True, learning_rate=2)
    model.learn(X, (X - 1e6) @ [1.0, 0.1])
    assert distance(run(model, X)["scores"], model.predict(X)) < 1e-5


def test_scales_beyond_float32_are_refused_and_float64_works() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2)) * [1e-60, 1e90]
    model = ul.Learner()
    model.learn(X, X @ [1e60, 1e-90])
    with pytest.raises(ul.OptionError, match="dtype='float64'"):
        ul.to_onnx(model)
    assert distance(run(model, X, dtype="float64")["scores"], model.predict(X)) < 1e-12


@pytest.mark.parametrize("rule", ["nag", "snag", "ng"])
def test_huge_values_are_held_by_the_graph_too(rule: Any) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2)).astype(np.float32)
    model = ul.Learner(rule)
    model.learn(X, X[:, 0] + 1)
    rows = np.array([[1e30, 0], [-1e38, 1e20], [0, 0]], np.float32)
    assert distance(run(model, rows)["scores"], model.predict(rows)) < 1e-5


def people(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 70, rows).astype(float),
            "job": np.array(["clerk", "pilot", "cook=chef"])[rng.integers(3, size=rows)],
            "income": (1e5 * rng.random(rows)).astype(np.float32).astype(float),
            "member": rng.random(rows) < 0.5,
        }
    )
    table.loc[::17, "income"] = np.nan
    table["size"] = table["age"] / 10 + 3 * (table["job"] == "pilot") + 2 * table["member"]
    table["rich"] = np.where(table["size"] > 6, "yes", "no")
    return table


@pytest.mark.parametrize("interactions", [None, 2])
def test_a_table_goes_into_the_graph_column_by_column(interactions: Any) -> None:
    table = people()
    model = ul.train(table, "rich", reading=ul.Reading(ignore="size"), interactions=interactions).model
    columns = {
        "age": table[["age"]].to_numpy(np.float32),
        "job": table[["job"]].to_numpy(object).copy(),
        "income": table[["income"]].to_numpy(np.float32),
        "member": table[["member"]].to_numpy(bool),
    }
    columns["job"][5] = "never met"
    table.loc[5, "job"] = "never met"
    out = run(model, columns, inputs="columns")
    assert distance(out["scores"], model.predict(table)) < 1e-5
    assert set(out["label"]) == {"yes", "no"}


def test_a_matrix_of_a_table_has_one_column_for_each_text() -> None:
    table = people()
    model = ul.train(table, "size", reading=ul.Reading(ignore="rich")).model
    proto = ul.to_onnx(model)
    about = {entry.key: json.loads(entry.value) for entry in proto.metadata_props}
    assert set(about["feature_names"]) == {
        *("age", "income", "income=(missing)", "job=clerk", "job=pilot", "job=cook=chef", "member=true", "member=false")
    }
    assert (about["task"], about["target"], about["loss"]) == ("regression", "size", "squared")
    wide = {"age": table["age"], "income": table["income"]}
    for name in set(about["feature_names"]) - set(wide):
        column, value = name.split("=", 1)
        missing = table[column].isna()
        wide[name] = missing if value == "(missing)" else table[column].map(str).str.lower() == value
    X = pd.DataFrame(wide)[about["feature_names"]].to_numpy(np.float32)
    assert distance(run(model, X)["prediction"], model.predict(table)) < 1e-5


def test_labels_keep_their_type() -> None:
    X = np.array([[1.0], [-1.0], [0.5], [-2.0]] * 20, np.float32)
    for labels in ([3, 8], ["a", "b"], [True, False], [0.5, 1.5], ["a", 2]):
        model = ul.OneVsAll()
        model.learn(X, [labels[int(x < 0)] for x in X[:, 0]])
        found = run(model, X)["label"].tolist()
        expected = model.predict_label(X).tolist()
        assert found == ([str(label) for label in expected] if labels == ["a", 2] else expected)


# ----------------------------------------------------------------------------------------------------------------- JSON


def by_hand(plain: dict[str, Any], row: dict[Any, float]) -> list[float]:
    """Scores from the JSON only, in plain Python."""
    x = {
        feature["name"]: row[feature["name"]] - feature.get("mean", 0.0)
        for feature in plain["features"]
        if feature["name"] in row
    }

    def each(value: Any) -> list[float]:
        return value if isinstance(value, list) else [value]

    scores = list(each(plain["intercept"]))
    terms = [(feature["weight"], x.get(feature["name"])) for feature in plain["features"]]
    for product in plain["products"]:
        left, right = product["features"]
        terms.append((product["weight"], x[left] * x[right] if left in x and right in x else None))
    for weight, value in terms:
        if value is not None:
            scores = [score + w * value for score, w in zip(scores, each(weight), strict=True)]
    if plain["limits"]:
        scores = [min(max(score, plain["limits"][0]), plain["limits"][1]) for score in scores]
    return scores


@given(st.booleans().flatmap(lambda classes: cases(classes=classes)))
def test_json_alone_gives_the_scores(case: Any) -> None:
    model, X = case
    plain = json.loads(ul.to_json(model))
    expected = model.predict(X, extrapolate=True).reshape(len(X), -1)
    found = [by_hand(plain, dict(enumerate(row.tolist()))) for row in X]
    assert distance(found, expected) < 1e-13


def test_json_explains_its_numbers() -> None:
    alone = {"model_type": "linear", "ensemble": False}
    model = ul.train(
        people(), "rich", reading=ul.Reading(ignore="size"), interactions=[("age", "job=*")], passes=1, **alone
    ).model
    plain = json.loads(ul.to_json(model))
    assert (plain["task"], plain["target"], plain["classes"]) == ("binary", "rich", ["no", "yes"])
    assert (plain["loss"], plain["link"], plain["limits"]) == ("logistic", "logistic", None)
    by_name = {feature["name"]: feature for feature in plain["features"]}
    assert by_name["age"]["mean"] == pytest.approx(people()["age"].mean())
    assert "mean" not in by_name["job=pilot"]
    assert all(one["scale"] == model.scales[name] for name, one in by_name.items())
    assert all(one["importance"] == model.importance[name] for name, one in by_name.items())
    expected = [["age", f"job={job}"] for job in ("clerk", "cook=chef", "pilot")]
    assert sorted(product["features"] for product in plain["products"]) == expected


def test_json_preserves_every_bit_of_a_weight() -> None:
    model = ul.Learner()
    model.learn([{"a": 1 / 3, "b": 1e-200}] * 9, [math.pi] * 9)
    features = json.loads(ul.to_json(model))["features"]
    assert {one["name"]: one["weight"] for one in features} == {name: model.weights[name] for name in ("a", "b")}


# --------------------------------------------------------------------------------------------------------- scikit-learn


@given(cases(products=False))
def test_an_exported_estimator_predicts_as_the_model_does(case: Any) -> None:
    model, X = case
    estimator = ul.to_sklearn(model)
    scores = model.copy().predict(X, extrapolate=True)
    if model.options.clip == "vw":
        plain = json.loads(ul.to_json(model))
        plain["limits"] = None  # estimators have none
        scores = np.array([by_hand(plain, dict(enumerate(row.tolist())))[0] for row in X])
    X = X.astype(np.float64)
    if model.options.loss in ("logistic", "hinge"):
        assert distance(estimator.decision_function(X), scores) < 1e-9
        assert estimator.predict(X).tolist() == (estimator.decision_function(X) > 0).astype(int).tolist()
        if model.options.loss == "logistic":
            assert np.max(np.abs(estimator.predict_proba(X)[:, 1] - model._link(scores))) < 1e-9
    else:
        with np.errstate(over="ignore"):
            expected = np.minimum(model._link(scores), 1e300)
            assert distance(np.minimum(estimator.predict(X), 1e300), expected) < 1e-6
    assert estimator.n_features_in_ == 3


@given(cases(classes=True, products=False))
def test_an_estimator_of_classes_has_the_shares(case: Any) -> None:
    model, X = case
    estimator = ul.to_sklearn(model)
    order = np.argsort(model.classes)
    scores = model.predict(X, extrapolate=True)[:, order]
    X = X.astype(np.float64)
    assert estimator.classes_.tolist() == sorted(model.classes)
    assert distance(estimator.decision_function(X), scores) < 1e-9
    assert (estimator.predict(X) == estimator.classes_[estimator.decision_function(X).argmax(axis=1)]).all()
    if model.options.loss == "logistic":
        assert np.max(np.abs(estimator.predict_proba(X) - model._shares(scores))) < 1e-9


def test_estimators_know_names_and_sorted_classes() -> None:
    table = people().drop(columns=["job", "member", "size"]).fillna(0)
    model = ul.train(table, "rich", positive="no", model_type="linear", ensemble=False).model
    estimator = ul.to_sklearn(model)
    assert estimator.feature_names_in_.tolist() == ["age", "income"]
    assert estimator.classes_.tolist() == ["no", "yes"]
    frame = table[["age", "income"]]
    assert distance(estimator.predict_proba(frame)[:, 0], model._link(model.predict(frame, extrapolate=True))) < 1e-9
    two = ul.OneVsAll()
    two.learn(frame, table["rich"])
    estimator = ul.to_sklearn(two)
    shares = two._shares(two.predict(frame, extrapolate=True))[:, np.argsort(two.classes)]
    assert np.max(np.abs(estimator.predict_proba(frame) - shares)) < 1e-9
    assert (estimator.predict(frame) == np.array(["no", "yes"])[shares.argmax(axis=1)]).all()


# ------------------------------------------------------------------------------------------------------------ both ways


def test_a_sweep_is_exported_as_its_best_model() -> None:
    X = np.random.default_rng(5).normal(size=(200, 2)).astype(np.float32)
    sweep = ul.Sweep([0.1, 1.0])
    sweep.learn(X, X[:, 0])
    assert ul.to_json(sweep) == ul.to_json(sweep.best)
    assert ul.to_onnx(sweep) == ul.to_onnx(sweep.best)
    assert ul.to_sklearn(sweep).coef_.tolist() == ul.to_sklearn(sweep.best).coef_.tolist()


@pytest.mark.parametrize("export", [ul.to_onnx, ul.to_json, ul.to_sklearn])
def test_impossible_exports_are_named(export: Any) -> None:
    hashed = ul.Learner(bits=8)
    hashed.learn_one({"a": 1.0}, 1.0)
    with pytest.raises(ul.OptionError, match="hashed its features' names away"):
        export(hashed)
    with pytest.raises(ul.OptionError, match="not learned any features yet"):
        export(ul.Learner())
    with pytest.raises(ul.OptionError, match="list has no model; give a model"):
        export([1.0])


def test_limits_of_export_formats_are_named() -> None:
    products = ul.Learner(interactions=2)
    products.learn([[1.0, 2.0]] * 3, [1.0] * 3)
    with pytest.raises(ul.OptionError, match="no products"):
        ul.to_sklearn(products)
    with pytest.raises(ul.OptionError, match="columns of a matrix"):
        ul.to_onnx(products, inputs="columns")
    mixed = ul.OneVsAll(["a", 2])
    mixed.learn([[1.0], [2.0]], ["a", 2])
    with pytest.raises(ul.OptionError, match="sorts classes"):
        ul.to_sklearn(mixed)
    named = ul.Learner()
    named.learn_one({"label": 1.0}, 1.0)
    with pytest.raises(ul.OptionError, match="needs for itself"):
        ul.to_onnx(named, inputs="columns")
    dated = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=50), "y": np.arange(50.0) ** 0.5})
    with pytest.raises(ul.OptionError, match="contains dates"):
        ul.to_onnx(ul.train(dated, "y", reading=ul.Reading(dates="parts")).model, inputs="columns")
    for wrong in ({"inputs": "rows"}, {"dtype": "float16"}):
        with pytest.raises(ul.OptionError, match="it must be"):
            ul.to_onnx(named, **wrong)


def test_labels_beyond_64_bits_are_text_in_a_graph() -> None:
    model = ul.OneVsAll([1, 2, 10**30], learning_rate=0.5)
    model.learn([[1.0], [2.0], [3.0]], [1, 2, 10**30])
    assert run(model, np.array([[1.0]]), dtype="float64")["label"].tolist()[0] in ("1", "2", str(10**30))


def test_labels_that_are_not_unicode_are_refused() -> None:
    model = ul.OneVsAll(["a", "\ud800"], learning_rate=0.5)
    model.learn([[1.0], [2.0]], ["a", "\ud800"])
    with pytest.raises(ul.OptionError, match="is not valid Unicode"):
        ul.to_onnx(model)
