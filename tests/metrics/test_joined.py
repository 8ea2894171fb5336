"""Joined evaluations of parts of the rows equal the evaluation of all rows."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from streams import LOSSES, labeled

import unitless as ul
from unitless.data.progress import Progress
from unitless.data.sources.located_rows import Bad, Position
from unitless.metrics import Evaluation
from unitless.metrics.baseline import Baseline

ROWS = 900
CLASSES = list("abcdefg")
KINDS = [(kind, loss) for kind in ("Learner", "OneVsAll") for loss in LOSSES]


def case(kind: str, loss: str) -> tuple[Any, np.ndarray, Any]:
    """A model, predictions and labels."""
    rng = np.random.default_rng(7)
    if kind == "OneVsAll":
        return ul.OneVsAll(CLASSES, loss=loss), rng.normal(size=(ROWS, 7)) * 3, rng.choice(CLASSES, ROWS)
    p = rng.normal(size=ROWS) * 3
    y = p + rng.normal(size=ROWS)
    labels = {"poisson": np.floor(np.abs(y)), "logistic": y > 0, "hinge": y > 0}.get(loss, y + 1000)
    return ul.Learner(loss=loss), p, labels


def partitions(count: int) -> list[np.ndarray]:
    """Split rows unevenly; the third partition has none."""
    shares = np.arange(1, count + 1.0)
    shares[2] = 0
    dealt = np.random.default_rng(3).choice(count, ROWS, p=shares / shares.sum())
    return [np.flatnonzero(dealt == partition) for partition in range(count)]


def kept(state: dict[str, Any]) -> dict[str, Any]:
    """A state after it was written to a file and read."""
    return dict(json.loads(json.dumps(state, allow_nan=False)))


def evaluated(model: Any, p: np.ndarray, y: Any, weight: np.ndarray | None, rows: np.ndarray) -> dict[str, Any]:
    part = Evaluation(model)
    part.add(p[rows], y[rows], None if weight is None else weight[rows])
    return kept(part.state())


def assert_close(found: Evaluation, expected: Evaluation) -> None:
    assert found.examples == expected.examples
    assert found.weight == pytest.approx(expected.weight, rel=1e-13)
    assert found.metrics == pytest.approx(expected.metrics, rel=1e-11, nan_ok=True)
    assert found.interval == pytest.approx(expected.interval, rel=1e-9)
    assert found.per_class.keys() == expected.per_class.keys()
    for label, numbers in expected.per_class.items():
        assert found.per_class[label] == pytest.approx(numbers, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("kind", "loss"), KINDS)
def test_joined_metrics_are_those_of_all_rows(kind: str, loss: str, weighted: bool) -> None:
    model, p, y = case(kind, loss)
    weight = np.random.default_rng(1).integers(0, 5, ROWS) / 3 if weighted else None
    whole = Evaluation(model)
    whole.add(p, y, weight)
    states = [evaluated(model, p, y, weight, rows) for rows in partitions(9)]
    joined = Evaluation.join(model, states)
    assert_close(joined, whole)
    if not weighted:  # counts are whole numbers, which add up exactly in any order
        for name in ("error_rate", "auc", "precision", "recall", "f1"):
            assert joined.metrics.get(name) == whole.metrics.get(name)
    assert kept(Evaluation.join(model, states).state()) == kept(joined.state())
    tree = [Evaluation.join(model, states[i : i + 3]).state() for i in (0, 3, 6)]
    assert_close(Evaluation.join(model, tree), joined)
    for found in (joined, Evaluation.join(model, tree)):
        assert [m.examples for m in found.history] == [m.examples for m in joined.history]
        np.testing.assert_allclose([m.loss for m in found.curve], [m.loss for m in joined.curve], rtol=1e-12)
    assert kept(Evaluation.join(model, states[:1]).state()) == states[0]
    assert Evaluation.join(model, []).metrics == {}


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_moments_are_those_at_which_all_parts_had_come_equally_far(loss: str) -> None:
    model, p, y = case("Learner", loss)
    dealt = partitions(5)
    joined = Evaluation.join(model, [evaluated(model, p, y, None, rows) for rows in dealt])
    longest = max(map(len, dealt))
    assert len(joined.history) == longest.bit_length()
    losses, done = model.losses(p, y), 0
    before = np.zeros(0, dtype=int)
    for k, moment in enumerate(joined.history):
        rows = np.concatenate([rows[: 2**k] for rows in dealt])
        assert moment.examples == moment.weight == len(rows) > done
        assert moment.loss == pytest.approx(losses[rows].mean())
        new = np.setdiff1d(rows, before)
        assert moment.since_last == pytest.approx(losses[new].mean())
        assert (moment.error_rate is None) == (loss == "squared")
        if moment.error_rate is not None:
            assert moment.error_rate == pytest.approx(np.mean((p[rows] > 0) != y[rows]))
        before, done = rows, len(rows)


@pytest.mark.parametrize(("kind", "loss"), [("Learner", "logistic"), ("Learner", "squared"), ("OneVsAll", "logistic")])
def test_rounds_follow_one_another(kind: str, loss: str) -> None:
    model, p, y = case(kind, loss)
    whole, state = Evaluation(model), None
    whole.add(p, y)
    for rows in np.array_split(np.arange(ROWS), 8):
        parts = [evaluated(model, p, y, None, part) for part in np.array_split(rows, 4)]
        state = kept(Evaluation.join(model, parts, after=state).state())
    joined = Evaluation.restore(model, state or {})
    assert_close(joined, whole)
    counts = [moment.examples for moment in joined.history]
    assert all(1.8 * a < b for a, b in itertools.pairwise(counts))
    ends = np.cumsum([len(rows) for rows in np.array_split(np.arange(ROWS), 8)]).tolist()
    assert counts[-3:] == [ends[1], ends[3], ends[7]]
    assert [moment.examples for moment in joined.curve[-6:]] == [*ends[1:6], ends[7]]
    for moment in joined.curve:
        if moment.examples in ends:  # all rows of the rounds up to here, and no others
            first = Evaluation(model)
            first.add(p[: moment.examples], y[: moment.examples])
            assert moment.loss == pytest.approx(first.now.loss)
    for evaluation in (whole, joined):  # a joined evaluation can continue
        evaluation.add(np.concatenate([p, p]), np.concatenate([y, y]))
    assert_close(joined, whole)
    assert [m.examples for m in joined.history[-2:]] == [1024, 2048]
    assert [m.loss for m in joined.history[-2:]] == pytest.approx([m.loss for m in whole.history[-2:]])
    nothing = Evaluation(model).state()
    assert kept(Evaluation.join(model, [], after=state).state()) == state
    empty = Evaluation.join(model, [nothing], after=nothing)
    assert (empty.examples, empty.metrics, empty.history) == (0, {}, [])


def test_classes_are_identified_by_their_labels() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(CLASSES, ROWS)
    scores = rng.normal(size=(ROWS, 7))
    model = ul.OneVsAll(CLASSES)
    whole, whole_baseline = Evaluation(model), Baseline(model)
    whole.add(scores, y)
    whole_baseline.observe(labeled(model, y))
    states, baselines = [], []
    for rows in partitions(6):
        order = rng.permutation(7)
        partition = ul.OneVsAll([CLASSES[k] for k in order])
        part = Evaluation(partition)
        part.add(scores[rows][:, order], y[rows])
        states.append(kept(part.state()))
        baseline = Baseline(partition)
        baseline.observe(labeled(partition, y[rows]))
        baselines.append(kept(baseline.state()))
    assert_close(Evaluation.join(model, states), whole)
    joined = Baseline.join(model, baselines)
    for one in (joined, whole_baseline):
        one.count(labeled(model, y[:50]))
    assert joined.metrics == pytest.approx(whole_baseline.metrics)
    assert joined.answer == whole_baseline.answer


def test_a_part_need_not_have_met_all_classes() -> None:
    parts = []
    for labels in (["x", "y", "x"], ["z", "x", "z", "z"]):
        model = ul.OneVsAll()
        part, baseline = Evaluation(model), Baseline(model)
        part.add(model.learn(np.ones((len(labels), 1)), labels), labels)
        baseline.observe(labeled(model, labels))
        parts.append((part.state(), baseline.state()))
    whole = ul.OneVsAll(["z", "y", "x"])
    joined = Evaluation.join(whole, [state for state, _ in parts])
    assert {label: numbers["share"] * 7 for label, numbers in joined.per_class.items()} == pytest.approx(
        {"z": 3, "y": 1, "x": 3}
    )
    Baseline.join(whole, [state for _, state in parts])
    with pytest.raises(ul.ModelFileError, match="class 'y' has been counted, but the model does not have it"):
        Evaluation.join(ul.OneVsAll(["x", "z"]), [parts[0][0]])
    with pytest.raises(ul.ModelFileError, match="class 'y' has been counted"):
        Baseline.join(ul.OneVsAll(["x", "z"]), [parts[0][1]])


@pytest.mark.parametrize("junk", [None, [], ["a"], ["a", "a"], [[], []], 7])
def test_states_that_do_not_name_their_classes_are_refused(junk: Any) -> None:
    model = ul.OneVsAll(["a", "b"])
    evaluation, baseline = Evaluation(model), Baseline(model)
    evaluation.add([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    baseline.observe(labeled(model, ["a", "b"]))
    with pytest.raises(ul.ModelFileError):
        Evaluation.join(model, [{**evaluation.state(), "classes": junk}])
    with pytest.raises(ul.ModelFileError):
        Baseline.join(model, [{**baseline.state(), "classes": junk}])
    with pytest.raises(ul.ModelFileError, match="loss"):
        Evaluation.join(ul.OneVsAll(["a", "b"], loss="hinge"), [evaluation.state()])


@pytest.mark.parametrize(("kind", "loss"), KINDS)
def test_joined_baselines_are_those_of_all_labels(kind: str, loss: str) -> None:
    model, _, y = case(kind, loss)
    weight = np.random.default_rng(1).integers(0, 5, ROWS) / 3
    whole = Baseline(model)
    whole.observe(labeled(model, y[300:], weight[300:]))
    states = []
    for rows in partitions(7):
        part = Baseline(model)
        learned = rows[rows >= 300]
        part.observe(labeled(model, y[learned], weight[learned]))
        states.append(kept(part.state()))
    joined = Baseline.join(model, states)
    assert kept(Baseline.join(model, states).state()) == kept(joined.state())
    assert kept(Baseline.join(model, states[:1]).state()) == states[0]
    spread = 0.0 if kind == "OneVsAll" or loss in ("logistic", "hinge") else float(np.ptp(y)) / 256
    if isinstance(whole.answer, float):
        assert joined.answer == pytest.approx(whole.answer, abs=spread if loss == "quantile" else 1e-9)
    else:
        assert joined.answer == whole.answer
    for one in (joined, whole):
        one.count(labeled(model, y[:300], weight[:300]))
    for name, value in whole.metrics.items():
        exact = not spread or (loss == "squared" and name != "mae")
        assert joined.metrics[name] == pytest.approx(value, abs=1e-9 if exact else spread, nan_ok=True)


def test_far_labels_with_tiny_weights_leave_no_negative_sums() -> None:
    model, states = ul.Learner(), []
    for weight in (np.ones(9), np.array([1e-30] + [1.0] * 8)):
        part = Evaluation(model)
        part.add(np.zeros(9), np.array([1e9 if weight[0] < 1 else 1.0] + [1.0] * 8), weight)
        states.append(part.state())
    joined = Evaluation.join(model, states)
    again = Evaluation.restore(model, kept(joined.state()))
    assert again.metrics == pytest.approx(joined.metrics, nan_ok=True)


def test_progress_of_parts_adds_up() -> None:
    parts = [
        Progress(rows=10, learned=7, skipped=2, unlabeled=1, held=3, consumed=100, missing=Counter(age=2)),
        Progress(rows=5, learned=5, consumed=60, missing=Counter(age=1, job=4), position=Position(2, 3, 4), passes=1),
        Progress(rows=4, skipped=30, bad=[Bad(f"row {k}", "is bad") for k in range(15)]),
        Progress(rows=4, skipped=30, bad=[Bad(f"line {k}", "is bad") for k in range(15)]),
    ]
    joined = Progress(seconds=1.5, passes=2)
    for part in parts:
        joined.absorb(part)
    assert (joined.rows, joined.learned, joined.skipped, joined.unlabeled) == (23, 12, 62, 1)
    assert (joined.held, joined.consumed, joined.seconds, joined.passes) == (3, 160, 1.5, 2)
    assert joined.missing == {"age": 3, "job": 4}
    assert joined.position == Position()
    assert [bad.where for bad in joined.bad] == [f"row {k}" for k in range(15)] + [f"line {k}" for k in range(5)]
    assert len(parts[2].bad) == 15
