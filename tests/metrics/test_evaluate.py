"""Evaluation: metrics equal their definitions, in one pass, and confidence intervals have their coverage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from streams import stream

import unitless as ul
from unitless.metrics import Evaluation, chernoff_interval, progressive, records, relative_entropy


def auc(scores: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> float:
    """The AUC by comparing all pairs."""
    difference = scores[positive][:, None] - scores[~positive][None, :]
    pairs = weight[positive][:, None] * weight[~positive][None, :]
    return float((pairs * ((difference > 0) + 0.5 * (difference == 0))).sum() / pairs.sum())


@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_of_two_classes_are_correct(weighted: bool) -> None:
    X, y = stream("logistic", rows=700, features=6)
    weight = np.random.default_rng(1).integers(0, 4, 700).astype(float) if weighted else np.ones(700)
    m = ul.Learner(loss="logistic")
    p = m.learn(X, y, weight)
    evaluation = Evaluation(m)
    evaluation.add(p[:300], y[:300], weight[:300])
    evaluation.add(p[300:], y[300:], weight[300:])
    chance = 1 / (1 + np.exp(-p))
    expected = {
        "accuracy": np.average((p > 0) == (y > 0), weights=weight),
        "error_rate": np.average((p > 0) != (y > 0), weights=weight),
        "log_loss": np.average(np.logaddexp(0, -y * p), weights=weight),
        "brier": np.average((chance - (y > 0)) ** 2, weights=weight),
        "auc": auc(p, y > 0, weight),
        "precision": sklearn.metrics.precision_score(y > 0, p > 0, sample_weight=weight),
        "recall": sklearn.metrics.recall_score(y > 0, p > 0, sample_weight=weight),
        "f1": sklearn.metrics.f1_score(y > 0, p > 0, sample_weight=weight),
    }
    assert evaluation.metrics.keys() == expected.keys()
    for name, value in expected.items():
        assert evaluation.metrics[name] == pytest.approx(value, rel=1e-3 if name == "auc" else 1e-10)
    assert evaluation.loss == pytest.approx(expected["log_loss"])
    assert evaluation.examples == np.count_nonzero(weight)
    assert evaluation.weight == weight.sum()


@pytest.mark.parametrize("loss", ["squared", "quantile", "poisson"])
def test_metrics_of_numbers_are_correct(loss: str) -> None:
    X, y = stream(loss, rows=400, features=5, spread=2)
    m = ul.Learner(loss=loss, learning_rate=0.1)
    p = m.learn(X, y)
    evaluation = Evaluation(m)
    evaluation.add(p, y)
    value = np.exp(p) if loss == "poisson" else p
    assert evaluation.metrics["rmse"] == pytest.approx(np.sqrt(np.mean((value - y) ** 2)))
    assert evaluation.metrics["mae"] == pytest.approx(np.mean(np.abs(value - y)))
    assert evaluation.metrics["mse"] == pytest.approx(np.mean((value - y) ** 2))
    assert evaluation.loss == pytest.approx(m.losses(p, y).mean())
    if loss == "squared":
        assert "loss" not in evaluation.metrics
    else:
        assert evaluation.metrics["loss"] == evaluation.loss
    assert evaluation.metrics["r2"] == pytest.approx(sklearn.metrics.r2_score(y, value))
    low, high = evaluation.interval
    assert 0 <= low <= evaluation.metrics["rmse"] <= high or evaluation.metrics["rmse"] > np.ptp(y)


def test_r2_is_weighted_and_independent_of_unit_and_offset() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=2000)
    p, weight = y + 0.5 * rng.normal(size=2000), rng.exponential(size=2000)
    expected = sklearn.metrics.r2_score(y, p, sample_weight=weight)
    for scale, offset in ((1.0, 0.0), (1e-9, 1.0), (1e3, 1e9), (1e59, 0.0)):
        evaluation = Evaluation(ul.Learner())
        evaluation.add(p * scale + offset, y * scale + offset, weight)
        assert evaluation.metrics["r2"] == pytest.approx(expected, rel=1e-6)


def test_the_variance_survives_a_first_label_that_is_far_away() -> None:
    y = np.concatenate([[1e9], np.random.default_rng(0).normal(size=100_000)])
    evaluation = Evaluation(ul.Learner())
    evaluation.add(np.zeros(len(y)), y)
    assert evaluation.metrics["r2"] == pytest.approx(sklearn.metrics.r2_score(y, np.zeros(len(y))), abs=1e-8)


def test_metrics_without_rows_are_nan() -> None:
    constant = Evaluation(ul.Learner())
    constant.add([1.0, 2.0], [3.0, 3.0])
    assert math.isnan(constant.metrics["r2"])
    timid = Evaluation(ul.Learner(loss="logistic"))
    timid.add([-1.0, -2.0, 0.0], [True, False, False])
    assert math.isnan(timid.metrics["precision"])
    assert timid.metrics["recall"] == timid.metrics["f1"] == 0


@pytest.mark.parametrize(
    ("kind", "loss"), [(None, "logistic"), (None, "hinge"), (None, "squared"), ("abc", "logistic")]
)
def test_a_small_evaluation_agrees_and_can_be_joined(kind: str | None, loss: Any) -> None:
    rng = np.random.default_rng(1)
    model: Any = ul.OneVsAll(list(kind), loss=loss) if kind else ul.Learner(loss=loss)
    p = rng.normal(size=(900, 3) if kind else 900)
    y = rng.choice(list(kind), 900) if kind else p + rng.normal(size=900) > 0 if loss != "squared" else p + 7
    weight = rng.exponential(size=900)
    whole, both, other = Evaluation(model), Evaluation(model, small=True), Evaluation(model, small=True)
    whole.add(p, y, weight)
    both.add(p[:400], y[:400], weight[:400])
    other.add(p[400:], y[400:], weight[400:])
    both.absorb(other)
    assert both.metrics == pytest.approx(whole.metrics)
    assert both.interval == pytest.approx(whole.interval)
    assert both.examples == whole.examples
    for label, numbers in whole.per_class.items():
        assert both.per_class[label] == pytest.approx(numbers)


@pytest.mark.parametrize("loss", ["squared", "logistic", "quantile"])
def test_the_rows_of_the_last_call_can_be_asked_for(loss: Any) -> None:
    X, y = stream(loss, rows=300, features=4)
    m = ul.Learner(loss=loss)
    p = m.learn(X, y)
    evaluation = Evaluation(m)
    evaluation.add(p[:100], y[:100])
    weight = np.arange(200) % 3 / 2
    evaluation.add(p[100:], y[100:], weight)
    values, counted = evaluation.latest("loss")
    np.testing.assert_allclose(values, m.losses(p, y)[100:][weight > 0])
    np.testing.assert_array_equal(counted, weight[weight > 0])
    with pytest.raises(ul.OptionError, match="no metric 'auc' of single rows"):
        evaluation.latest("auc")


def test_metrics_of_many_classes_are_correct() -> None:
    X, y = stream(rows=600, features=6)
    labels = np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    m = ul.OneVsAll()
    scores = m.learn(X, labels)
    evaluation = Evaluation(m)
    evaluation.add(scores, labels)
    classes = np.array(m.classes)
    best, hit = classes[scores.argmax(axis=1)], labels[:, None] == classes
    share = 1 / (1 + np.exp(-scores))
    share /= share.sum(axis=1, keepdims=True)
    assert evaluation.metrics["error_rate"] == pytest.approx(np.mean(best != labels))
    assert evaluation.metrics["accuracy"] == pytest.approx(np.mean(best == labels))
    assert "loss" not in evaluation.metrics
    assert evaluation.loss == pytest.approx(np.logaddexp(0, -np.where(hit, 1, -1) * scores).sum(1).mean())
    assert evaluation.metrics["log_loss"] == pytest.approx(-np.log(share[hit]).mean())
    assert evaluation.metrics["brier"] == pytest.approx(((share - hit) ** 2).sum(axis=1).mean())
    for label, numbers in evaluation.per_class.items():
        assert numbers["share"] == pytest.approx(np.mean(labels == label))
        assert numbers["recall"] == pytest.approx(np.mean(best[labels == label] == label))
        assert numbers["precision"] == pytest.approx(np.mean(labels[best == label] == label))


def test_history_has_the_powers_of_two_however_the_stream_is_cut() -> None:
    X, y = stream("logistic", rows=300, features=5)
    m = ul.Learner(loss="logistic")
    p = m.learn(X, y)
    whole, parts = Evaluation(m), Evaluation(m)
    whole.add(p, y)
    for i in range(0, 300, 7):
        parts.add(p[i : i + 7], y[i : i + 7])
    assert [moment.examples for moment in whole.history] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    losses = m.losses(p, y)
    for a, b in zip(whole.history, parts.history, strict=True):
        assert a.examples == b.examples
        assert a.loss == pytest.approx(losses[: a.examples].mean())
        assert b.loss == pytest.approx(a.loss)
        assert a.since_last == pytest.approx(losses[a.examples // 2 : a.examples].mean())
        assert a.error_rate == pytest.approx(np.mean((p > 0)[: a.examples] != (y > 0)[: a.examples]))
    assert whole.now.examples == 300


@given(p=st.floats(0, 1), q=st.floats(0.01, 0.99))
def test_relative_entropy_is_a_distance_of_sorts(p: float, q: float) -> None:
    assert relative_entropy(p, q) >= -1e-15
    assert relative_entropy(q, q) == 0


@given(mean=st.floats(0, 1), n=st.integers(1, 10**7), confidence=st.sampled_from([0.5, 0.9, 0.99]))
def test_the_ends_of_an_interval_are_where_the_bound_is_met(mean: float, n: int, confidence: float) -> None:
    low, high = chernoff_interval(mean, n, confidence)
    assert 0 <= low <= mean <= high <= 1
    budget = math.log(2 / (1 - confidence))
    for end, limit in ((low, 0), (high, 1)):
        if abs(end - limit) > 1e-12 and end != mean:  # for closer scores the precision of numbers is too small
            assert n * relative_entropy(mean, end) == pytest.approx(budget, rel=1e-3, abs=1e-3)


def test_intervals_cover_at_least_as_often_as_promised() -> None:
    rng = np.random.default_rng(0)
    for truth in (0.02, 0.3):
        means = rng.binomial(500, truth, size=1000) / 500
        held = [low <= truth <= high for low, high in (chernoff_interval(m, 500) for m in means)]
        assert np.mean(held) >= 0.9


def test_without_delay_it_is_learn() -> None:
    X, y = stream("logistic", rows=200, features=5)
    result = progressive(ul.Learner(loss="logistic"), X, y)
    np.testing.assert_array_equal(result.predictions, ul.Learner(loss="logistic").learn(X, y))


@pytest.mark.parametrize("delay", [1, 7, 1000])
@pytest.mark.parametrize("kind", ["array", "csr", "frame", "arrow", "mappings"])
def test_with_delay_a_row_is_predicted_without_the_labels_before_it(delay: int, kind: str) -> None:
    X, y = stream("logistic", rows=60, features=4, spread=2)
    names = list("abcd")
    forms = {
        "array": X,
        "csr": sp.csr_matrix(X),
        "frame": pd.DataFrame(X, columns=names),
        "arrow": pa.table(dict(zip(names, X.T, strict=True))),
        "mappings": [dict(zip(names, row, strict=True)) for row in X.tolist()],
    }
    m = ul.Learner(loss="logistic")
    result = progressive(m, forms[kind], y, delay=delay)
    twin = ul.Learner(loss="logistic")
    for row in range(60):
        if row > delay:
            twin.learn(X[row - delay - 1 : row - delay], y[row - delay - 1 : row - delay])
        assert result.predictions[row] == twin.predict(X[row : row + 1])[0]
    whole = ul.Learner(loss="logistic")
    whole.learn(X, y)
    assert m.examples == 60
    np.testing.assert_array_equal(m.predict(forms[kind]), whole.predict(X))


def test_delay_with_classes_that_join() -> None:
    X, y = stream(rows=80, features=4, spread=2)
    labels = np.where(np.arange(80) < 40, "a", np.where(y > 0, "b", "a"))
    result = progressive(ul.OneVsAll(learning_rate=0.5), X, labels, delay=5)
    assert result.predictions.shape == (80, 2)
    assert np.isfinite(result.evaluation.loss)
    assert all(np.isfinite(value) for value in result.metrics.values())


@pytest.mark.parametrize("delay", [-1, 1.5, "2", True, None])
def test_impossible_delays_are_refused(delay: object) -> None:
    with pytest.raises(ul.OptionError, match="delay is"):
        progressive(ul.Learner(), [[1.0]], [1.0], delay=delay)  # type: ignore[arg-type]


def test_bad_input_is_refused() -> None:
    m = ul.Learner(loss="logistic")
    evaluation = Evaluation(m)
    with pytest.raises(ul.InputError, match="one per row"):
        evaluation.add(np.zeros((2, 2)), [0, 1])
    with pytest.raises(ul.InputError, match="2 values, but predictions has 3 rows"):
        evaluation.add(np.zeros(3), [0, 1])
    for bad in ("abc", [1, "x"], 1.0, [1.0, math.nan]):
        with pytest.raises(ul.InputError, match="predictions"):
            evaluation.add(bad, [0, 1])
    with pytest.raises(ul.InputError, match="label is 7"):
        evaluation.add(np.zeros(2), [0, 7])
    with pytest.raises(ul.InputError, match="not negative"):
        evaluation.add(np.zeros(2), [0, 1], [1, -1])
    with pytest.raises(ul.InputError, match="only a Learner or a OneVsAll"):
        Evaluation(ul.Sweep([1.0]))  # type: ignore[arg-type]
    with pytest.raises(ul.InputError, match="between 0 and 1"):
        chernoff_interval(1.5, 10)
    with pytest.raises(ul.OptionError, match="confidence"):
        chernoff_interval(0.5, 10, 1.0)
    assert evaluation.examples == 0
    assert evaluation.metrics == {}
    assert math.isnan(evaluation.now.loss)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (ul.Learner(), [1.0, 2.0, 3.0, 4.0]),
        (ul.Learner(loss="logistic"), [True, False, True, True]),
        (ul.Learner(loss="hinge"), [True, False, True, True]),
        (ul.OneVsAll(["a", "b"]), ["a", "b", "a", "a"]),
    ],
)
def test_a_metric_is_one_record(model: Any, y: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    largest = records.Metric(
        "largest", ("regression", "binary", "classes"), lambda rows: np.minimum(rows.loss, 0.5), total="cut"
    )
    X = [[1.0], [2.0], [-3.0], [4.0]]
    before = ul.metrics.progressive(model.copy(), X, y).metrics
    monkeypatch.setattr(records, "METRICS", (*records.METRICS, largest))
    result = ul.metrics.progressive(model, X, y, [1.0, 2.0, 1.0, 4.0])
    assert 0 < result.metrics["largest"] <= 0.5
    restored = ul.metrics.Evaluation.restore(model, result.evaluation.state())
    assert restored.metrics == result.metrics
    assert result.metrics.keys() - before.keys() == {"largest"}
