"""Curves equal scikit-learn's; they use histograms and samples that do not depend on how rows are cut into calls."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import sklearn.metrics

import unitless as ul
from unitless import figures
from unitless.metrics import Evaluation
from unitless.metrics.curves import SAMPLE, Curves
from unitless.models.scored import Scored

RNG = np.random.default_rng(0)
ROWS = 6000
P = 2 * RNG.normal(size=ROWS)
POSITIVE = RNG.random(ROWS) < 1 / (1 + np.exp(-P))
WEIGHT = RNG.exponential(size=ROWS)


def test_roc_and_precision_are_those_of_scikit_learn() -> None:
    curves = Curves(ul.Learner(loss="logistic"))
    curves.count(Scored.of(ul.Learner(loss="logistic"), P, POSITIVE, WEIGHT))
    assert curves.roc is not None
    assert curves.precision_recall is not None
    x, y, _ = sklearn.metrics.roc_curve(POSITIVE, P, sample_weight=WEIGHT)
    inside = curves.roc.x > 0.01  # where it is not vertical
    np.testing.assert_allclose(np.interp(curves.roc.x[inside], x, y), curves.roc.y[inside], atol=0.02)
    assert sklearn.metrics.auc(curves.roc.x, curves.roc.y) == pytest.approx(sklearn.metrics.auc(x, y), abs=2e-3)
    precision, recall, _ = sklearn.metrics.precision_recall_curve(POSITIVE, P, sample_weight=WEIGHT)
    inside = curves.precision_recall.x > 0.05
    expected = np.interp(curves.precision_recall.x[inside], recall[::-1], precision[::-1])
    np.testing.assert_allclose(curves.precision_recall.y[inside], expected, atol=0.02)
    assert len(curves.roc.x) <= 402


def test_reliability_is_the_share_in_each_bin() -> None:
    curves = Curves(ul.Learner(loss="logistic"))
    curves.count(Scored.of(ul.Learner(loss="logistic"), P, POSITIVE, WEIGHT))
    found = curves.reliability
    assert found is not None
    chance = 1 / (1 + np.exp(-P))
    for k in range(10):
        rows = (chance >= k / 10) & (chance < (k + 1) / 10)
        assert found.predicted[k] == pytest.approx(np.average(chance[rows], weights=WEIGHT[rows]), abs=0.01)
        assert found.observed[k] == pytest.approx(np.average(POSITIVE[rows], weights=WEIGHT[rows]), abs=0.02)
    assert found.weight.sum() == pytest.approx(WEIGHT.sum())


def test_an_evaluation_of_the_same_rows_is_enough() -> None:
    model = ul.Learner(loss="logistic")
    evaluation, alone = Evaluation(model), Curves(model)
    shared = Curves(model, evaluation)
    for curves in (shared, alone):
        curves.count(Scored.of(model, P, POSITIVE))
    evaluation.add(P, POSITIVE)
    assert shared.roc is not None
    assert alone.roc is not None
    np.testing.assert_array_equal(shared.roc.y, alone.roc.y)


def test_reliability_of_classes_is_that_of_the_predicted_one() -> None:
    model = ul.OneVsAll(list("abc"))
    scores = RNG.normal(size=(ROWS, 3))
    labels = RNG.choice(list("abc"), ROWS)
    curves = Curves(model)
    curves.count(Scored.read(model, scores, labels, WEIGHT))
    found = curves.reliability
    assert found is not None
    shares = model._shares(scores)
    right = np.array(list("abc"))[scores.argmax(axis=1)] == labels
    assert np.average(found.predicted, weights=found.weight) == pytest.approx(
        np.average(shares.max(axis=1), weights=WEIGHT)
    )
    assert np.average(found.observed, weights=found.weight) == pytest.approx(np.average(right, weights=WEIGHT))
    assert curves.roc is None
    assert curves.residuals is None


def test_residuals_and_a_sample_of_pairs() -> None:
    y = P + RNG.standard_t(3, size=ROWS)
    whole, parts = Curves(ul.Learner()), Curves(ul.Learner())
    whole.count(Scored.of(ul.Learner(), P, y))
    for first, last in itertools.pairwise([0, 1, 700, 3000, ROWS]):
        parts.count(Scored.of(ul.Learner(), P[first:last], y[first:last]))
    for one in (whole, parts):
        bars, pairs = one.residuals, one.pairs
        assert bars is not None
        assert pairs is not None
        expected, _ = np.histogram(y - P, bars.edges)
        assert np.abs(bars.weight - expected).max() < 0.05 * expected.max()
        assert bars.beyond == pytest.approx(0.01, abs=0.005)
        assert len(pairs.truth) == SAMPLE
        assert set(zip(pairs.predicted.tolist(), pairs.truth.tolist(), strict=True)) <= set(
            zip(P.tolist(), y.tolist(), strict=True)
        )
    assert whole.pairs is not None
    assert parts.pairs is not None
    np.testing.assert_array_equal(whole.pairs.truth, parts.pairs.truth)
    assert abs(np.mean(whole.pairs.predicted) - P.mean()) < 5 * P.std() / np.sqrt(SAMPLE)


@pytest.mark.parametrize(
    ("model", "p", "y", "panels"),
    [
        (ul.Learner(loss="logistic"), P, POSITIVE, 3),
        (ul.Learner(loss="hinge"), P, POSITIVE, 2),
        (ul.Learner(), P, P + 1, 2),
        (ul.Learner(loss="poisson"), P / 4, np.floor(np.abs(P)), 2),
        (ul.Learner(), np.zeros(3), np.zeros(3), 2),
        (ul.Learner(loss="logistic"), np.zeros(2), [True, True], 2),
        (ul.OneVsAll(["a", "b", "c"]), RNG.normal(size=(50, 3)), ["a", "b"] * 25, 2),
        (ul.OneVsAll(["a", "b", "c"], loss="hinge"), RNG.normal(size=(50, 3)), ["a", "b"] * 25, 1),
        (ul.Learner(), np.array([np.inf, 1.0]), [1.0, 2.0], 2),
    ],
)
def test_every_kind_of_score_can_be_drawn(model: Any, p: Any, y: Any, panels: int, tmp_path: Any) -> None:
    curves, evaluation = Curves(model), Evaluation(model)
    curves.count(Scored.read(model, p, y))
    evaluation.add(p, y)
    figure = figures.score(curves, "a title", evaluation.per_class)
    assert len(figure.axes) == panels
    figures.save(figure, tmp_path / "score.png")
    assert (tmp_path / "score.png").stat().st_size > 5000
