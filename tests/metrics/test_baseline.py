"""The baseline is what the best constant answer really scores."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from streams import LOSSES

import unitless as ul
from unitless.metrics import Evaluation
from unitless.metrics.baseline import Baseline, LastLabel, skill

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
    """The score with the least loss, found by trying many."""
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
    baseline.observe(y[learned], weight[learned])
    baseline.score(y[scored], weight[scored])
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


def test_answers() -> None:
    model, y = labels("OneVsAll", "logistic")
    baseline = Baseline(model)
    assert math.isnan(baseline.answer)  # type: ignore[arg-type]
    assert baseline.metrics == {}
    baseline.observe(y)
    assert baseline.answer == "b"
    for loss, expected in (("squared", np.mean), ("quantile", np.median), ("poisson", np.mean)):
        number, values = labels("Learner", loss)
        constant = Baseline(number)
        constant.observe(values)
        assert constant.answer == pytest.approx(expected(values), rel=1e-3)
    two, flags = labels("Learner", "hinge")
    positive = Baseline(two)
    positive.observe(flags)
    assert positive.answer is True


def test_without_learned_labels_the_scored_ones_make_the_answer() -> None:
    model, y = labels("Learner", "squared")
    baseline = Baseline(model)
    baseline.score(y)
    assert baseline.answer == pytest.approx(y.mean())
    assert baseline.metrics["rmse"] == pytest.approx(y.std())
    assert baseline.metrics["r2"] == pytest.approx(0, abs=1e-9)
    assert baseline.metrics["mae"] == pytest.approx(np.abs(y - y.mean()).mean(), rel=1e-4)


@pytest.mark.parametrize("kind", ["Learner", "OneVsAll"])
@pytest.mark.parametrize("loss", LOSSES)
def test_cuts_order_and_interruptions_change_no_bit(kind: str, loss: str) -> None:
    model, y = labels(kind, loss)
    weight = np.random.default_rng(1).integers(0, 3, ROWS) / 3
    whole, parts = Baseline(model), Baseline(model)
    whole.score(y[1000:], weight[1000:])
    whole.observe(y[:1000], weight[:1000])
    for first, last in itertools.pairwise([0, 1, 17, 999, 1000]):
        parts.observe(y[first:last], weight[first:last])
    for first, last in itertools.pairwise([1000, 1001, 2500, ROWS]):
        parts = Baseline.restore(model, json.loads(json.dumps(parts.state(), allow_nan=False)))
        parts.score(y[first:last], weight[first:last])
    assert repr(parts.metrics) == repr(whole.metrics)
    assert parts.answer == whole.answer


def test_classes_may_join_and_some_may_not_be_known() -> None:
    model = ul.OneVsAll()
    baseline = Baseline(model)
    for k, label in enumerate("aab"):
        model.learn([[1.0]], [label])
        baseline.observe([label])
        assert baseline.answer == "a", k
    baseline.score_numbered(np.array([0, 1, 2, 2]), None)  # the last two are of a class that was never met
    found = baseline.metrics
    assert found["error_rate"] == 0.75
    assert found["log_loss"] > 18  # half of the most that a row can cost
    assert all(math.isfinite(value) for value in found.values())


def test_damaged_states_are_refused() -> None:
    model, y = labels("Learner", "squared")
    baseline, last = Baseline(model), LastLabel(model)
    baseline.score(y)
    last.add(y)
    for name, junk in itertools.product(("version", "learned", "scored"), (None, 7, "x", {}, [])):
        with pytest.raises(ul.ModelFileError, match="state of a baseline"):
            Baseline.restore(model, {**baseline.state(), name: junk})
    for name, junk in itertools.product(("version", "sums", "labels"), (None, 7, "x", {}, [])):
        with pytest.raises(ul.ModelFileError, match="state of a baseline"):
            LastLabel.restore(model, {**last.state(), name: junk})


def test_repeating_the_last_label() -> None:
    model, y = labels("Learner", "squared")
    weight = np.random.default_rng(1).integers(0, 3, ROWS) / 2
    last = LastLabel(model)
    assert last.metrics == {}
    for first, cut in itertools.pairwise([0, 1, 2, 5, 5, 1800, ROWS]):
        last = LastLabel.restore(model, json.loads(json.dumps(last.state())))
        last.add(y[first:cut], weight[first:cut])
    kept, h = y[weight > 0], weight[weight > 0]
    error = kept[1:] - kept[:-1]
    assert last.metrics["rmse"] == pytest.approx(np.sqrt(np.average(error**2, weights=h[1:])))
    assert last.metrics["mae"] == pytest.approx(np.average(np.abs(error), weights=h[1:]))
    assert last.metrics["mse"] == pytest.approx(last.metrics["rmse"] ** 2)
    spread = np.average((kept[1:] - np.average(kept[1:], weights=h[1:])) ** 2, weights=h[1:])
    assert last.metrics["r2"] == pytest.approx(1 - last.metrics["rmse"] ** 2 / spread)
    for kind, loss in (("OneVsAll", "logistic"), ("Learner", "hinge")):
        model, y = labels(kind, loss)
        last = LastLabel(model)
        last.add(y[:1])
        last.add(y[1:])
        wrong = np.mean(y[1:] != y[:-1])
        assert last.metrics == pytest.approx({"accuracy": 1 - wrong, "error_rate": wrong})


def test_skill_is_the_share_of_the_error_that_is_removed() -> None:
    assert skill({"error_rate": 0.1}, {"error_rate": 0.4}) == pytest.approx(0.75)
    assert skill({"rmse": 1.0, "mae": 3.0}, {"rmse": 2.0, "mae": 4.0}) == pytest.approx(0.75)
    assert skill({"rmse": 1.0, "mae": 3.0}, {"rmse": 2.0, "mae": 4.0}, "mae") == pytest.approx(0.25)
    assert skill({"rmse": 3.0}, {"rmse": 2.0}) < 0
    assert math.isnan(skill({"error_rate": 0.0}, {"error_rate": 0.0}))
    with pytest.raises(ul.InputError, match="'auc' is not both a metric of the model and of the baseline"):
        skill({"rmse": 1.0}, {"rmse": 1.0}, "auc")


@pytest.mark.parametrize("loss", ["squared", "quantile", "poisson"])
def test_with_offsets_the_answer_is_the_best_one_beside_them(loss: str) -> None:
    """Of counts it is a rate times the exposure; of other numbers a number that is added."""
    rng = np.random.default_rng(1)
    offset, weight = rng.normal(size=400), rng.choice([0.0, 1.0, 2.5], 400)
    y = rng.poisson(0.7 * np.exp(offset)).astype(float) if loss == "poisson" else offset + rng.normal(size=400)
    model = ul.Learner(loss=loss)
    baseline, evaluation = Baseline(model), Evaluation(model)
    baseline.observe_numbered(y, weight, offset)
    baseline.score_numbered(y, weight, offset)
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
    parts = [Baseline(model) for _ in range(3)]
    for k, part in enumerate(parts):
        part.observe_numbered(y[k::3], weight[k::3], offset[k::3])
        part.score_numbered(y[k::3], weight[k::3], offset[k::3])
    joined = Baseline.join(model, [part.state() for part in parts])
    for name, value in joined.metrics.items():
        assert value == pytest.approx(baseline.metrics[name], rel=2e-2, abs=1e-2), name


def test_rows_before_the_first_offset_had_none() -> None:
    model = ul.Learner(loss="poisson")
    late, whole = Baseline(model), Baseline(model)
    y, offset = np.array([1.0, 0.0, 2.0, 1.0]), np.array([0.0, 0.0, 0.5, -0.5])
    late.score_numbered(y[:2], None)
    late.score_numbered(y[2:], None, offset[2:])
    whole.score_numbered(y, None, offset)
    assert late.metrics == pytest.approx(whole.metrics)
    assert late.has_offsets
