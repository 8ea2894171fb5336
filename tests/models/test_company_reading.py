"""A model of several experts as plain objects: what they say together is what the core says."""

from __future__ import annotations

from typing import Any

import company
import numpy as np
import pytest

import unitless as ul

CASES: list[tuple[str, dict[str, Any]]] = [
    ("snag", {}),
    ("snag", {"learning_rate": "auto", "average": True}),
    ("snag", {"loss": "logistic", "learning_rate": "auto"}),
    ("snag", {"shape": "curves", "clip": "labels"}),
]


def said(model: Any, x: np.ndarray) -> np.ndarray:
    """Of a row of numbers, by head; without centring."""
    reading = model._shape_reading()
    heads = len(model.classes) if isinstance(model, ul.OneVsAll) else 1
    values = {0: 1.0, **{1 + j: value for j, value in enumerate(x.tolist())}}
    scores = []
    for expert in reading.experts:
        terms = expert.terms
        z = np.array([terms.seen(k, values[slot]) for k, slot in enumerate(terms.slots.tolist())])
        sums = z @ terms.v[:, :heads]
        for curve in expert.curves.values():
            sums = sums + curve.at(x[curve.column])[:heads]
        scores.append(expert.scores(sums, terms.certainty(values)))
    limits = (reading.state["label_min"], reading.state["label_max"])
    return np.asarray(reading.mixture.say(np.clip(scores, *limits) if limits[0] < limits[1] else np.array(scores)))


@pytest.mark.parametrize(("who", "options"), CASES)
def test_the_experts_together_say_what_the_model_says(who: str, options: dict[str, Any]) -> None:
    m = company.learner(who, **options)
    X = company.problem(who, 20, 1)[0] * 1.5
    for x, expected in zip(X, m.predict(X), strict=True):
        assert said(m, x)[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("who", "options"), CASES)
def test_experts_are_named_in_the_order_of_the_mixture_and_their_shares_add_up(who: str, options: Any) -> None:
    m = company.learner(who, **options)
    names = [*(["curves"] if "shape" in options else []), "linear", who]
    assert [expert.name for expert in m._shape_reading().experts] == names == list(m.experts)
    assert sum(m.experts.values()) == pytest.approx(1)
    assert ul.Learner().experts == {"linear": 1.0}


def test_importance_is_the_mean_over_the_experts_by_their_shares() -> None:
    m = company.learner("snag")
    linear, other = m._shape_reading().experts
    column = 1
    parts = [np.abs(one.terms.v[one.terms.entry[1 + column], 0]) for one in (linear, other)]
    expected = parts[0] * m.experts["linear"] + parts[1] * m.experts["snag"]
    assert m.importance[column] == pytest.approx(expected)
    assert m.weights[column] == pytest.approx(linear.terms.weights[1 + column, 0])
    assert m.scales[column] == linear.terms.scale[1 + column]


def test_what_is_shown_names_the_company_and_the_shares() -> None:
    m = company.learner("snag")
    assert "with snag, 400 examples" in repr(m)
    shares = m.experts
    assert f"sNAG {shares['snag']:.1%}" in m._repr_html_()
    assert "importance counts the other experts too" in m._repr_html_()
    assert "experts" not in ul.Learner()._repr_html_()
