"""Exports of models with company: what is computed elsewhere is what the model predicts."""

from __future__ import annotations

import json
from typing import Any

import company
import numpy as np
import pytest
from test_export_shapes import scored, session

import unitless as ul


def same_in_onnx(m: Any, X: np.ndarray) -> None:
    for extrapolate in (False, True):
        expected = m.predict(X, extrapolate=extrapolate)
        (scores,) = session(m, extrapolate=extrapolate, dtype="float64").run(["scores"], {"features": X})
        np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        (scores,) = session(m, extrapolate=extrapolate).run(["scores"], {"features": X.astype(np.float32)})
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def same_in_json(m: Any, X: np.ndarray) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(ul.to_json(m))
    for row, score in zip(X, m.predict(X, extrapolate=True), strict=True):
        np.testing.assert_allclose(scored(plain, dict(enumerate(row.tolist()))), score, rtol=1e-7, atol=1e-9)
    return plain


def rows(count: int) -> np.ndarray:
    """Some of them beyond what was seen."""
    return (1.5 * company.problem(count, 1)[0]).astype(np.float32).astype(np.float64)


@pytest.mark.parametrize(("who", "options"), company.LEARNERS)
def test_learners(who: str, options: dict[str, Any]) -> None:
    m = company.learner(who, **options)
    same_in_onnx(m, rows(40))
    plain = same_in_json(m, rows(5))
    assert (plain["version"], plain["shape"]) == (3, options.get("shape", "linear"))
    assert [expert["name"] for expert in plain["experts"]] == list(m.experts)
    linear = next(expert for expert in plain["experts"] if expert["name"] == "linear")["features"][1]
    terms = m._reading().terms([0])
    at = terms.entry[2]
    assert linear["weight"] == pytest.approx(terms.weights[at, 0])
    assert (linear["scale"], linear["importance"]) == (m.scales[1], pytest.approx(abs(terms.in_scales[at, 0])))


@pytest.mark.parametrize(("who", "options"), company.CLASSIFIERS)
def test_classes(who: str, options: dict[str, Any]) -> None:
    m = company.of_classes(who, **options)
    same_in_onnx(m, rows(40))
    plain = same_in_json(m, rows(5))
    assert (plain["version"], plain["link"]) == (4, "logistic")
    assert {one["name"]: one["coupled"] for one in plain["experts"]} == {
        name: name in ("softmax", "newton", "forgetting") for name in m.experts
    }
    (probabilities,) = session(m, dtype="float64").run(["probabilities"], {"features": rows(40)})
    np.testing.assert_allclose(probabilities, m.shares(m.predict(rows(40))), atol=1e-9)


@pytest.mark.parametrize("classes", [None, company.LABELS])
@pytest.mark.parametrize("options", [{"rule": "newton"}, {"experts": "auto"}, {"shape": "curves"}])
def test_a_softmax(classes: Any, options: Any) -> None:
    X, y = company.problem()
    m = ul.Softmax(classes, **options)
    m.learn(X, np.array(company.LABELS)[np.digitize(y, [-0.5, 1.5])])
    same_in_onnx(m, rows(40))
    if "rule" not in options:
        same_in_json(m, rows(5))


@pytest.mark.parametrize("options", [{"target": "auto"}, {"loss": "logistic"}, {"clip": "labels", "centre": True}])
@pytest.mark.parametrize("count", [4, 300])
def test_second_order_alone(count: int, options: Any) -> None:
    X, y = company.problem(count)
    m = ul.Learner("newton", **options)
    m.learn(X, y > 0 if options.get("loss") else y)
    same_in_onnx(m, rows(40))


def test_scikit_learn_has_no_place_for_company() -> None:
    with pytest.raises(ul.OptionError, match=r"with other experts \(snag\) beside it cannot be.*experts='none'"):
        ul.to_sklearn(company.learner("snag"))
