"""Exports of models with curves and trees."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest

import unitless as ul

CASES = [
    *[(model_type, {"target": "auto", "center": True}) for model_type in ("curves", "trees", "curves only")],
    *[(model_type, {"loss": "logistic"}) for model_type in ("curves", "trees", "curves only")],
    ("trees", {"loss": "hinge", "center": True}),
    ("trees", {"loss": "quantile", "quantile": 0.8, "interactions": 2}),
    ("trees", {"rule": "snag", "clip": "labels", "learning_rate": 0.3}),
]


def problem(rows: int = 1500, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(rows, 4)) * [1, 1000, 1e-3, 1]).astype(np.float32).astype(np.float64)
    y = np.abs(X[:, 0]) * (X[:, 1] > 300) + 2.0 * (X[:, 2] > 0) + 0.1 * rng.normal(size=rows)
    return X, y


def learned(model_type: Any, options: Any) -> ul.Learner:
    X, y = problem()
    m = ul.Learner(model_type=model_type, **{"learning_rate": "auto", **options})
    m.learn(X, y > 1 if options.get("loss") in ("logistic", "hinge") else y)
    return m


def session(model: Any, **options: Any) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(ul.to_onnx(model, **options).SerializeToString())


@pytest.mark.parametrize(("model_type", "options"), CASES)
@pytest.mark.parametrize("extrapolate", [False, True])
def test_a_graph_predicts_as_the_model_does(model_type: str, options: Any, extrapolate: bool) -> None:
    m = learned(model_type, options)
    X = problem(400, 1)[0] * 1.5
    X = X.astype(np.float32).astype(np.float64)
    expected = m.predict(X, extrapolate=extrapolate)
    (scores,) = session(m, extrapolate=extrapolate, dtype="float64").run(["scores"], {"features": X})
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    (scores,) = session(m, extrapolate=extrapolate).run(["scores"], {"features": X.astype(np.float32)})
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def table(rows: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=rows),
            "city": rng.choice(["Rome", "Oslo", "Kyiv"], rows),
            "age": rng.integers(0, 9, rows).astype(float),
        }
    )
    frame["price"] = 3.1 * (frame["city"] == "Oslo") + (frame["size"] > 0.3) * frame["age"] + 0.1 * frame["size"]
    frame.loc[rng.random(rows) < 0.1, "age"] = np.nan
    frame.loc[rng.random(rows) < 0.1, "city"] = None
    return frame


def test_a_table_with_missing_values_goes_into_the_graph() -> None:
    data = table()
    m = ul.train(data, target="price", model_type="trees").model
    rows = data.drop(columns="price").head(300)
    columns = {
        "size": rows[["size"]].to_numpy(np.float64),
        "age": rows[["age"]].to_numpy(np.float64),
        "city": rows[["city"]].fillna("").to_numpy(object),
    }
    (scores,) = session(m, inputs="columns", dtype="float64").run(["scores"], columns)
    np.testing.assert_allclose(scores, m.predict(rows), rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------------------------------------------------------- JSON


def member_scores(member: dict[str, Any], row: dict[Any, Any]) -> np.ndarray:
    """Follow the description of the format. `row`: numbers and texts by column."""
    features = {
        **{name: x for name, x in row.items() if not isinstance(x, str)},
        **{f"{name}={x}": 1.0 for name, x in row.items() if isinstance(x, str)},
    }
    means = {one["name"]: one.get("mean", 0.0) for one in member["features"]}
    score = np.array(member["intercept"], float)
    for one in member["features"]:
        if one["name"] in features:
            score = score + np.array(one["weight"]) * (features[one["name"]] - means[one["name"]])
    for one in member["products"]:
        if all(name in features for name in one["features"]):
            score = score + np.array(one["weight"]) * math.prod(features[f] - means[f] for f in one["features"])
    for curve in member["curves"]:
        x = row.get(curve["column"])
        place = None if x is None else sum(threshold < x for threshold in curve["thresholds"])
        score = score + np.array(curve["missing"] if place is None else curve["weights"][place])
    for tree in member["trees"]:
        node = 0
        while tree["column"][node] is not None:
            x, above, text = row.get(tree["column"][node]), tree["above"][node], tree["text"][node]
            yes = x == text if text is not None else x is not None and (above is None or x > above)
            node = tree["next"][node] + yes
        score = score + np.array(tree["weight"][node])
    if member.get("coupled"):
        p = np.exp(score - score.max()) / np.exp(score - score.max()).sum()
        others = np.array([np.delete(p, k).sum() for k in range(len(p))])
        return np.clip(np.log(p / others), -math.log(1e15), math.log(1e15))
    return np.asarray(score)


def mixed(mixture: dict[str, Any] | None, scores: np.ndarray) -> np.ndarray:
    """Mix numbers of [member] or [member, class]."""
    if mixture is None:
        return np.asarray(scores[0])
    top, stackers, limits = np.array(mixture["top"]), mixture["stackers"], mixture["limits"]
    if mixture["kind"] == "scores":
        return np.asarray(top @ scores)
    if mixture["kind"] == "numbers":
        m = scores.mean()
        said = [m + np.array(one["weights"]) @ (scores - m) for one in stackers]
        return np.asarray(top @ [*scores, *(np.clip(said, *limits) if limits else said)])
    certain = math.log(1e15)
    if mixture["kind"] == "odds":
        x = np.append(np.clip(scores, -30, 30), mixture["last"])
        said = [
            np.array(one["weights"]) @ x / math.sqrt(1 + math.pi / 8 * x @ np.array(one["covariance"]) @ x)
            for one in stackers
        ]
        p = top @ (1 / (1 + np.exp(-np.array([*scores, *said]))))
        return np.clip(np.log(p / (1 - p)), -certain, certain)
    p = 1 / (1 + np.exp(-scores))
    p = p / p.sum(axis=1, keepdims=True)
    x = np.vstack([np.maximum(np.log(p), -30), np.arange(p.shape[1]) == mixture["last"]])
    said = []
    for one in stackers:
        score = np.array(one["weights"]) @ x
        first, second = np.argsort(-score)[:2]
        d = x[:, first] - x[:, second]
        shrunk = np.exp(score / math.sqrt(1 + math.pi / 8 * d @ np.array(one["covariance"]) @ d))
        said.append(shrunk / shrunk.sum())
    p = top @ np.array([*p, *said])
    return np.clip(np.log(p / (1 - p)), -certain, certain)


def scored(plain: dict[str, Any], row: dict[Any, Any]) -> np.ndarray:
    return mixed(plain["mixture"], np.array([member_scores(member, row) for member in plain["members"]]))


@pytest.mark.parametrize(("model_type", "options"), CASES)
def test_json_alone_gives_the_scores(model_type: str, options: Any) -> None:
    m = learned(model_type, options)
    plain = json.loads(ul.to_json(m))
    assert (plain["version"], plain["model_type"]) == (3, model_type)
    X = problem(40, 1)[0]
    expected = m.predict(X, extrapolate=True)
    for row, score in zip(X, expected, strict=True):
        assert scored(plain, dict(enumerate(row.tolist()))) == pytest.approx(score, rel=1e-7, abs=1e-9)


def test_json_of_a_table_with_missing_values() -> None:
    data = table()
    m = ul.train(data, target="price", model_type="trees").model
    plain = json.loads(ul.to_json(m))
    rows = data.drop(columns="price").head(60)
    for row, score in zip(rows.to_dict("records"), m.predict(rows, extrapolate=True), strict=True):
        known = {name if pd.notna(x) else f"{name}=(missing)": x if pd.notna(x) else 1.0 for name, x in row.items()}
        assert scored(plain, known) == pytest.approx(score, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("model_type", ["curves", "trees", "curves only"])
def test_json_of_many_classes(model_type: Any) -> None:
    X, y = problem()
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    m = ul.OneVsAll(model_type=model_type)
    m.learn(X, labels)
    plain = json.loads(ul.to_json(m))
    for row, score in zip(X[:30], m.predict(X[:30], extrapolate=True), strict=True):
        np.testing.assert_allclose(scored(plain, dict(enumerate(row.tolist()))), score, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("model_type", ["curves", "trees", "curves only"])
def test_a_graph_of_many_classes(model_type: Any, loss: Any) -> None:
    X, y = problem()
    m = ul.OneVsAll(model_type=model_type, loss=loss)
    m.learn(X, np.digitize(y, np.quantile(y, [0.3, 0.7])))
    rows = problem(100, 1)[0]
    scores, label = session(m, dtype="float64").run(["scores", "label"], {"features": rows})
    np.testing.assert_allclose(scores, m.predict(rows), rtol=1e-9, atol=1e-9)
    assert label.tolist() == m.predict_label(rows).tolist()
    if loss == "logistic":
        (probabilities,) = session(m).run(["probabilities"], {"features": rows.astype(np.float32)})
        np.testing.assert_allclose(probabilities, m.predict_proba(rows), atol=1e-5)


def test_a_graph_of_many_classes_with_text() -> None:
    data = table().dropna()
    data["price"] = pd.cut(data["price"], [-np.inf, 1, 4, np.inf], labels=["low", "fair", "high"]).astype(str)
    m = ul.train(data, target="price", model_type="trees").model
    rows = data.drop(columns="price").head(50)
    columns = {name: rows[[name]].to_numpy(object if name == "city" else np.float64) for name in rows}
    (scores,) = session(m, inputs="columns", dtype="float64").run(["scores"], columns)
    np.testing.assert_allclose(scores, m.predict(rows), rtol=1e-9, atol=1e-9)


def test_scikit_learn_has_no_place_for_trees() -> None:
    with pytest.raises(ul.OptionError, match="model type 'trees' cannot be exported to scikit-learn"):
        ul.to_sklearn(learned("trees", {}))
