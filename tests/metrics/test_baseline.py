"""The baseline's metrics are those of the best constant prediction."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from streams import LOSSES, labeled

import unitless as ul
from unitless.metrics import Evaluation
from unitless.metrics.baseline import Baseline, HindsightBaseline, skill
from unitless.models.scored import Scored

ROWS = 3000


def labels(kind: str, loss: str) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(11)
    if kind == "OneVsAll":
        return ul.OneVsAll(list("abc"), loss=loss), rng.choice(list("abc"), ROWS, p=[0.2, 0.5, 0.3])
    y = {
        "poisson": rng.poisson(3.0, ROWS).astype(float),
        "logistic": rng.random(ROWS) < 0.3,
        "hinge": rng.random(ROWS) < 0.7,
    }.get(loss, rng.exponential(size=ROWS) * 20 + 1000)
    return ul.Learner(loss=loss), y


def constant_score(model: Any, y: np.ndarray, weight: np.ndarray) -> Any:
    """The score with the least loss, found by search."""
    if isinstance(model, ul.OneVsAll):
        judge = ul.Learner(loss=model.options.loss)
        other = 0.0 if model.options.loss == "poisson" else -1.0
        return [constant_score(judge, np.where(y == label, 1.0, other), weight) for label in model.classes]
    low, high = (-9.0, 9.0) if model.options.loss in ("logistic", "hinge", "poisson") else (y.min(), y.max())
    for _ in range(60):  # the loss of a constant is convex
        a, b = low + (high - low) / 3, high - (high - low) / 3
        losses = [np.average(model.losses(np.full(len(y), score), y), weights=weight) for score in (a, b)]
        low, high = (low, b) if losses[0] <= losses[1] else (a, high)
    return (low + high) / 2


@pytest.mark.parametrize("kind", ["Learner", "OneVsAll"])
@pytest.mark.parametrize("loss", LOSSES)
def test_it_is_the_best_constant_of_learned_labels_scored_on_others(kind: str, loss: str) -> None:
    model, y = labels(kind, loss)
    weight = np.random.default_rng(1).exponential(size=ROWS)
    learned, scored = slice(0, 1000), slice(1000, ROWS)
    baseline = Baseline(model)
    baseline.observe(labeled(model, y[learned], weight[learned]))
    baseline.count(labeled(model, y[scored], weight[scored]))
    best = constant_score(model, y[learned], weight[learned])
    evaluation = Evaluation(model)
    evaluation.add(
        np.tile(best, (ROWS - 1000, 1)) if kind == "OneVsAll" else np.full(ROWS - 1000, best), y[scored], weight[scored]
    )
    assert baseline.metrics.keys() == evaluation.metrics.keys()
    for name, value in evaluation.metrics.items():
        if name == "r2":
            assert baseline.metrics[name] == pytest.approx(value, abs=1e-3)
        elif name not in ("accuracy", "error_rate") or not (kind == "OneVsAll" and loss in ("hinge", "quantile")):
            # Where scores tie, any class may be the largest.
            assert baseline.metrics[name] == pytest.approx(value, rel=2e-3, nan_ok=True)
    if kind == "OneVsAll":  # the most frequent class is "b", whatever the loss
        assert baseline.metrics["accuracy"] == pytest.approx(np.average(y[scored] == "b", weights=weight[scored]))


def test_answers() -> None:
    model, y = labels("OneVsAll", "logistic")
    baseline = Baseline(model)
    assert math.isnan(baseline.answer)  # type: ignore[arg-type]
    assert baseline.metrics == {}
    baseline.observe(labeled(model, y))
    assert baseline.answer == "b"
    for loss, expected in (("squared", np.mean), ("quantile", np.median), ("poisson", np.mean)):
        number, values = labels("Learner", loss)
        constant = Baseline(number)
        constant.observe(labeled(number, values))
        assert constant.answer == pytest.approx(expected(values), rel=1e-3)
    two, flags = labels("Learner", "hinge")
    positive = Baseline(two)
    positive.observe(labeled(two, flags))
    assert positive.answer is True


def test_in_hindsight_the_evaluated_labels_make_the_answer() -> None:
    model, y = labels("Learner", "squared")
    baseline = HindsightBaseline(model)
    assert baseline.metrics == {}
    baseline.count(labeled(model, y))
    assert baseline.answer == pytest.approx(y.mean())
    assert baseline.metrics["rmse"] == pytest.approx(y.std())
    assert baseline.metrics["r2"] == pytest.approx(0, abs=1e-9)
    assert baseline.metrics["mae"] == pytest.approx(np.abs(y - y.mean()).mean())


@pytest.mark.parametrize("kind", ["Learner", "OneVsAll"])
@pytest.mark.parametrize("loss", LOSSES)
def test_hindsight_over_many_rows_merges_nearly_equal_labels(
    kind: str, loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, some = labels(kind, loss)
    y, rows, rng = np.tile(some, 4), 4 * ROWS, np.random.default_rng(1)
    weight, offset = rng.exponential(size=rows), rng.choice([-0.5, 0.0, 1.0], rows) if loss == "poisson" else None
    remembered = HindsightBaseline(model)
    remembered.count(labeled(model, y, weight, offset))
    monkeypatch.setattr(HindsightBaseline, "MOST", 100)
    merged = HindsightBaseline(model)
    for first in range(0, rows, 70):
        part = slice(first, first + 70)
        merged.count(labeled(model, y[part], weight[part], None if offset is None else offset[part]))
    assert merged._waiting < rows / 2
    for name, value in remembered.metrics.items():
        exact = kind == "OneVsAll" or name in ("rmse", "mse", "r2", "error_rate")
        assert merged.metrics[name] == pytest.approx(value, rel=1e-9 if exact else 5e-3, abs=1e-9, nan_ok=True), name
    if isinstance(remembered.answer, float):
        assert merged.answer == pytest.approx(remembered.answer, rel=5e-3)
    else:
        assert merged.answer == remembered.answer


def test_far_first_label_in_hindsight(monkeypatch: pytest.MonkeyPatch) -> None:
    """One distant label puts all others into one interval of the summary, whose spread must be kept."""
    monkeypatch.setattr(HindsightBaseline, "MOST", 10)
    model, y = ul.Learner(), np.append(1e6, np.random.default_rng(0).normal(size=500))
    baseline = HindsightBaseline(model)
    baseline.count(labeled(model, y, np.append(1e-12, np.ones(500))))
    assert baseline.metrics["rmse"] == pytest.approx(y[1:].std(), rel=1e-3)


@pytest.mark.parametrize("kind", ["Learner", "OneVsAll"])
@pytest.mark.parametrize("loss", LOSSES)
def test_cuts_and_interruptions_change_no_bit(kind: str, loss: str) -> None:
    model, y = labels(kind, loss)
    weight = np.random.default_rng(1).integers(0, 3, ROWS) / 3
    whole, parts = Baseline(model), Baseline(model)
    whole.observe(labeled(model, y[:1000], weight[:1000]))
    whole.count(labeled(model, y[1000:], weight[1000:]))
    for first, last in itertools.pairwise([0, 1, 17, 999, 1000]):
        parts.observe(labeled(model, y[first:last], weight[first:last]))
        parts = Baseline.restore(model, json.loads(json.dumps(parts.state(), allow_nan=False)))
    for first, last in itertools.pairwise([1000, 1001, 2500, ROWS]):
        parts.count(labeled(model, y[first:last], weight[first:last]))
    assert repr(parts.metrics) == repr(whole.metrics)
    assert parts.answer == whole.answer


def test_classes_may_join_and_some_may_not_be_known() -> None:
    model = ul.OneVsAll()
    baseline = Baseline(model)
    for k, label in enumerate("aab"):
        model.learn([[1.0]], [label])
        baseline.observe(labeled(model, [label]))
        assert baseline.answer == "a", k
    baseline.count(Scored(np.zeros((4, 2)), np.array([0, 1, 2, 2])))  # the last two are of a class that was never met
    found = baseline.metrics
    assert found["error_rate"] == 0.75
    assert found["log_loss"] > 18  # half of the largest possible loss of a row
    assert all(math.isfinite(value) for value in found.values())


def test_damaged_states_are_refused() -> None:
    model, y = labels("Learner", "squared")
    baseline = Baseline(model)
    baseline.observe(labeled(model, y))
    for name, junk in itertools.product(("version", "labels"), (None, 7, "x", {}, [])):
        with pytest.raises(ul.ModelFileError, match="state of a baseline"):
            Baseline.restore(model, {**baseline.state(), name: junk})


def test_skill_is_the_share_of_the_error_that_is_removed() -> None:
    assert skill({"error_rate": 0.1}, {"error_rate": 0.4}) == pytest.approx(0.75)
    assert skill({"rmse": 1.0, "mae": 3.0}, {"rmse": 2.0, "mae": 4.0}) == pytest.approx(0.75)
    assert skill({"rmse": 1.0, "mae": 3.0}, {"rmse": 2.0, "mae": 4.0}, "mae") == pytest.approx(0.25)
    assert skill({"rmse": 3.0}, {"rmse": 2.0}) < 0
    assert math.isnan(skill({"error_rate": 0.0}, {"error_rate": 0.0}))
    with pytest.raises(ul.InputError, match="'auc' is not both a metric of the model and of the baseline"):
        skill({"rmse": 1.0}, {"rmse": 1.0}, "auc")


@pytest.mark.parametrize("loss", ["squared", "quantile", "poisson"])
def test_with_offsets_the_baseline_is_the_best_constant_added_to_them(loss: str) -> None:
    """For counts, it is a rate times the exposure; for other numbers, a constant that is added."""
    rng = np.random.default_rng(1)
    offset, weight = rng.normal(size=400), rng.choice([0.0, 1.0, 2.5], 400)
    y = rng.poisson(0.7 * np.exp(offset)).astype(float) if loss == "poisson" else offset + rng.normal(size=400)
    model = ul.Learner(loss=loss)
    baseline, evaluation = Baseline(model), Evaluation(model)
    baseline.observe(labeled(model, y, weight, offset))
    baseline.count(labeled(model, y, weight, offset))
    answer = float(baseline.answer)
    if loss == "poisson":
        assert answer == pytest.approx((weight @ y) / (weight @ np.exp(offset)))
    elif loss == "squared":
        assert answer == pytest.approx((weight @ (y - offset)) / weight.sum())
    scores = offset + (np.log(answer) if loss == "poisson" else answer)
    evaluation.add(scores, y, weight)
    expected = evaluation.metrics
    assert baseline.metrics.keys() == expected.keys()
    for name, value in baseline.metrics.items():
        assert value == pytest.approx(expected[name], rel=5e-3, abs=5e-3), name
    hindsight = HindsightBaseline(model)
    hindsight.count(labeled(model, y, weight, offset))
    assert hindsight.metrics == pytest.approx(baseline.metrics)
    parts = [Baseline(model) for _ in range(3)]
    for k, part in enumerate(parts):
        part.observe(labeled(model, y[k::3], weight[k::3], offset[k::3]))
    joined = Baseline.join(model, [part.state() for part in parts])
    assert joined.answer == pytest.approx(answer, rel=2e-2, abs=1e-2)
    assert joined.has_offsets


def test_rows_before_the_first_offset_had_none() -> None:
    model = ul.Learner(loss="poisson")
    late, whole = Baseline(model), Baseline(model)
    y, offset = np.array([1.0, 0.0, 2.0, 1.0]), np.array([0.0, 0.0, 0.5, -0.5])
    late.observe(labeled(model, y[:2], None))
    late.observe(labeled(model, y[2:], None, offset[2:]))
    whole.observe(labeled(model, y, None, offset))
    assert late.answer == pytest.approx(whole.answer)
    assert late.has_offsets
