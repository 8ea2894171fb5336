"""A model of several members as plain objects: their mixture predicts what the core predicts."""

from __future__ import annotations

from typing import Any

import ensembles
import numpy as np
import pytest

import unitless as ul


def said(model: Any, x: np.ndarray) -> np.ndarray:
    """The prediction for a row of numbers, by head, without centering."""
    reading = model._form_reading()
    heads = len(model.classes) if isinstance(model, ul.OneVsAll) else 1
    values = {0: 1.0, **{1 + j: value for j, value in enumerate(x.tolist())}}
    scores = []
    for member in reading.members:
        terms = member.terms
        z = np.array([terms.seen(k, values[slot]) for k, slot in enumerate(terms.slots.tolist())])
        sums = z @ terms.v[:, :heads]
        for curve in member.curves.values():
            sums = sums + curve.at(x[curve.column])[:heads]
        for tree in member.trees:
            sums = sums + tree.weights[tree.path(x)[-1], :heads]
        scores.append(member.scores(sums, terms.certainty(values)))
    limits = (reading.state["label_min"], reading.state["label_max"])
    return np.asarray(reading.mixture.say(np.clip(scores, *limits) if limits[0] < limits[1] else np.array(scores)))


def agree(m: Any) -> None:
    X = 1.5 * ensembles.problem(15, 1)[0]
    for x, expected in zip(X, m.predict(X).reshape(len(X), -1), strict=True):
        assert said(m, x) == pytest.approx(expected, rel=1e-9, abs=1e-9)


PLAIN = ("center", "target", "interactions")  # `said` does not apply to options that change the values that members see
OF_SHAPES = {"linear": [], "curves": ["curves"], "trees": ["curves", "trees"]}
EXTRA_MEMBERS = {"snag": ["snag"], "newton": ["newton", "forgetting"], "softmax": ["softmax"]}


def plain(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in PLAIN}


@pytest.mark.parametrize(("who", "options"), ensembles.LEARNERS)
def test_the_members_add_up_to_the_prediction(who: str, options: dict[str, Any]) -> None:
    m = ensembles.learner(who, **plain(options))
    agree(m)
    names = [*OF_SHAPES[m.model_type], "linear", *EXTRA_MEMBERS[who]]
    assert [member.name for member in m._form_reading().members] == names == list(m.members)
    assert sum(m.members.values()) == pytest.approx(1)


@pytest.mark.parametrize(("who", "options"), ensembles.CLASSIFIERS)
def test_the_members_of_classes_add_up_to_the_prediction(who: str, options: dict[str, Any]) -> None:
    m = ensembles.of_classes(who, **plain(options))
    agree(m)
    more = ["softmax"] if who == "newton" else []
    assert list(m.members) == [*OF_SHAPES[m.model_type], "linear", *more, *EXTRA_MEMBERS[who]]


@pytest.mark.parametrize("options", [{}, {"loss": "logistic"}])
@pytest.mark.parametrize("rows", [4, 300])
def test_second_order_alone_shrinks_uncertain_predictions(rows: int, options: Any) -> None:
    X, y = ensembles.problem(rows)
    m = ul.Learner("newton", **options)
    m.learn(X, y > 0 if options else y)
    (member,) = m._form_reading().members
    new = ensembles.problem(15, 1)[0]
    sums = m.predict(new, extrapolate=True)
    within = (np.abs(new) <= np.abs(X).max(axis=0)).all(axis=1)
    for x, plain_sum, expected in zip(new[within], sums[within], m.predict(new[within]), strict=False):
        values = {0: 1.0, **{1 + j: value for j, value in enumerate(x.tolist())}}
        assert member.terms.certainty(values) <= 1
        assert member.terms.certainty(values) * plain_sum == pytest.approx(expected)


def test_a_model_alone_has_one_member() -> None:
    assert ul.Learner().members == {"linear": 1.0}
    m = ul.OneVsAll(model_type="curves")
    m.learn(ensembles.problem()[0], np.arange(300) % 3)
    assert list(m.members) == ["curves", "linear"]  # no member that was not requested


def test_importance_is_the_mean_over_the_members_by_their_shares() -> None:
    m = ensembles.learner("snag")
    linear, other = m._form_reading().members
    column = 1
    parts = [np.abs(one.terms.v[one.terms.entry[1 + column], 0]) for one in (linear, other)]
    expected = parts[0] * m.members["linear"] + parts[1] * m.members["snag"]
    assert m.importance[column] == pytest.approx(expected)
    assert m.weights[column] == pytest.approx(linear.terms.weights[1 + column, 0])
    assert m.scales[column] == linear.terms.scale[1 + column]


def test_the_summary_names_the_ensemble_and_the_shares() -> None:
    m = ensembles.learner("snag")
    assert "with snag, 300 examples" in repr(m)
    shares = m.members
    assert f"sNAG {shares['snag']:.1%}" in m._repr_html_()
    assert "effects count the other members too" in m._repr_html_()
    assert "members" not in ul.Learner()._repr_html_()
