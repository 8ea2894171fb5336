"""A model of several experts as plain objects: what they say together is what the core says."""

from __future__ import annotations

from typing import Any

import company
import numpy as np
import pytest

import unitless as ul


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
        for tree in expert.trees:
            sums = sums + tree.weights[tree.path(x)[-1], :heads]
        scores.append(expert.scores(sums, terms.certainty(values)))
    limits = (reading.state["label_min"], reading.state["label_max"])
    return np.asarray(reading.mixture.say(np.clip(scores, *limits) if limits[0] < limits[1] else np.array(scores)))


def agree(m: Any) -> None:
    X = 1.5 * company.problem(15, 1)[0]
    for x, expected in zip(X, m.predict(X).reshape(len(X), -1), strict=True):
        assert said(m, x) == pytest.approx(expected, rel=1e-9, abs=1e-9)


PLAIN = ("centre", "target", "interactions")  # what changes the values that experts see is not for `said`
OF_SHAPES = {"linear": [], "curves": ["curves"], "trees": ["curves", "trees"]}
COMPANY = {"snag": ["snag"], "newton": ["newton", "forgetting"], "softmax": ["softmax"]}


def plain(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in PLAIN}


@pytest.mark.parametrize(("who", "options"), company.LEARNERS)
def test_the_experts_together_say_what_the_model_says(who: str, options: dict[str, Any]) -> None:
    m = company.learner(who, **plain(options))
    agree(m)
    names = [*OF_SHAPES[m.settled_shape], "linear", *COMPANY[who]]
    assert [expert.name for expert in m._shape_reading().experts] == names == list(m.experts)
    assert sum(m.experts.values()) == pytest.approx(1)


@pytest.mark.parametrize(("who", "options"), company.CLASSIFIERS)
def test_the_experts_of_classes_together_say_what_the_model_says(who: str, options: dict[str, Any]) -> None:
    m = company.of_classes(who, **plain(options))
    agree(m)
    more = ["softmax"] if who == "newton" else []
    assert list(m.experts) == [*OF_SHAPES[m.settled_shape], "linear", *more, *COMPANY[who]]


@pytest.mark.parametrize("options", [{}, {"loss": "logistic"}])
@pytest.mark.parametrize("rows", [4, 300])
def test_second_order_alone_says_less_the_less_it_knows(rows: int, options: Any) -> None:
    X, y = company.problem(rows)
    m = ul.Learner("newton", **options)
    m.learn(X, y > 0 if options else y)
    (expert,) = m._shape_reading().experts
    new = company.problem(15, 1)[0]
    sums = m.predict(new, extrapolate=True)
    within = (np.abs(new) <= np.abs(X).max(axis=0)).all(axis=1)
    for x, plain_sum, expected in zip(new[within], sums[within], m.predict(new[within]), strict=False):
        values = {0: 1.0, **{1 + j: value for j, value in enumerate(x.tolist())}}
        assert expert.terms.certainty(values) <= 1
        assert expert.terms.certainty(values) * plain_sum == pytest.approx(expected)


def test_a_model_alone_has_one_expert() -> None:
    assert ul.Learner().experts == {"linear": 1.0}
    m = ul.OneVsAll(shape="curves")
    m.learn(company.problem()[0], np.arange(300) % 3)
    assert list(m.experts) == ["curves", "linear"]  # none that was not asked for


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
    assert "with snag, 300 examples" in repr(m)
    shares = m.experts
    assert f"sNAG {shares['snag']:.1%}" in m._repr_html_()
    assert "importance counts the other experts too" in m._repr_html_()
    assert "experts" not in ul.Learner()._repr_html_()
