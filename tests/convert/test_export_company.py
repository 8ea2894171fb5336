"""Exports of models with company: what is computed elsewhere is what the model predicts."""

from __future__ import annotations

import json
from typing import Any

import company
import numpy as np
import pytest
from test_export_shapes import scored, session

import unitless as ul

CASES: list[tuple[str, dict[str, Any]]] = [
    ("snag", {}),
    ("snag", {"learning_rate": "auto", "centre": True, "target": "auto", "average": True}),
    ("snag", {"loss": "logistic", "centre": True}),
    ("snag", {"shape": "curves", "clip": "labels", "centre": True}),
    ("snag", {"interactions": [(0, 1)], "bias": False}),
]


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


@pytest.mark.parametrize(("who", "options"), CASES)
def test_a_graph_predicts_what_the_model_predicts(who: str, options: dict[str, Any]) -> None:
    X = (1.5 * company.problem(who, 40, 1)[0]).astype(np.float32).astype(np.float64)
    same_in_onnx(company.learner(who, **options), X)


@pytest.mark.parametrize(("who", "options"), CASES)
def test_json_alone_gives_the_scores(who: str, options: dict[str, Any]) -> None:
    m = company.learner(who, **options)
    plain = same_in_json(m, company.problem(who, 5, 1)[0])
    assert (plain["version"], plain["shape"]) == (3, options.get("shape", "linear"))
    assert [expert["name"] for expert in plain["experts"]] == list(m.experts)
    linear = plain["experts"][-2]["features"][1]
    weights = m._reading().terms([0]).weights[:, 0]
    assert (linear["scale"], linear["weight"]) == (m.scales[1], pytest.approx(weights[1 + m.options.bias]))


def test_scikit_learn_has_no_place_for_company() -> None:
    with pytest.raises(
        ul.OptionError, match=r"with other experts \(snag\) beside it cannot be exported.*experts='none'"
    ):
        ul.to_sklearn(company.learner("snag"))
