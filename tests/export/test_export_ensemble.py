"""Exported ensembles compute the model's predictions."""

from __future__ import annotations

import json
from typing import Any

import ensembles
import numpy as np
import pytest
from test_export_curves_and_trees import scored, session

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
    """Rows, some of them outside the range of the training data."""
    return (1.5 * ensembles.problem(count, 1)[0]).astype(np.float32).astype(np.float64)


@pytest.mark.parametrize(("who", "options"), ensembles.LEARNERS)
def test_learners(who: str, options: dict[str, Any]) -> None:
    m = ensembles.learner(who, **options)
    same_in_onnx(m, rows(40))
    plain = same_in_json(m, rows(5))
    assert (plain["version"], plain["model_type"]) == (3, options.get("model_type", "linear"))
    assert [member["name"] for member in plain["members"]] == list(m.members)
    linear = next(member for member in plain["members"] if member["name"] == "linear")["features"][1]
    terms = m._reading().terms([0])
    at = terms.entry[2]
    assert linear["weight"] == pytest.approx(terms.weights[at, 0])
    assert (linear["scale"], linear["importance"]) == (m.scales[1], pytest.approx(abs(terms.in_scales[at, 0])))


@pytest.mark.parametrize(("who", "options"), ensembles.CLASSIFIERS)
def test_classes(who: str, options: dict[str, Any]) -> None:
    m = ensembles.of_classes(who, **options)
    same_in_onnx(m, rows(40))
    plain = same_in_json(m, rows(5))
    assert (plain["version"], plain["link"]) == (4, "logistic")
    assert {one["name"]: one["coupled"] for one in plain["members"]} == {
        name: name in ("softmax", "newton", "forgetting") for name in m.members
    }
    (probabilities,) = session(m, dtype="float64").run(["probabilities"], {"features": rows(40)})
    np.testing.assert_allclose(probabilities, m.predict_proba(rows(40)), atol=1e-9)


@pytest.mark.parametrize("classes", [None, ensembles.LABELS])
@pytest.mark.parametrize("options", [{"rule": "newton"}, {"ensemble": True}, {"model_type": "curves"}])
def test_a_softmax(classes: Any, options: Any) -> None:
    X, y = ensembles.problem()
    m = ul.Softmax(classes, **options)
    m.learn(X, np.array(ensembles.LABELS)[np.digitize(y, [-0.5, 1.5])])
    same_in_onnx(m, rows(40))
    if "rule" not in options:
        same_in_json(m, rows(5))


@pytest.mark.parametrize("options", [{"target": "auto"}, {"loss": "logistic"}, {"clip": "labels", "center": True}])
@pytest.mark.parametrize("count", [4, 300])
def test_second_order_alone(count: int, options: Any) -> None:
    X, y = ensembles.problem(count)
    m = ul.Learner("newton", **options)
    m.learn(X, y > 0 if options.get("loss") else y)
    same_in_onnx(m, rows(40))


def test_scikit_learn_has_no_place_for_ensembles() -> None:
    with pytest.raises(ul.OptionError, match=r"with an ensemble \(snag\) cannot be.*ensemble=False"):
        ul.to_sklearn(ensembles.learner("snag"))
