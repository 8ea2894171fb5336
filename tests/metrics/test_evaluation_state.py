"""An evaluation's numbers do not depend, to the last bit, on how its stream is cut, interrupted and resumed."""

from __future__ import annotations

import copy
import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import LOSSES

import unitless as ul
from unitless.metrics import Evaluation

ROWS = 700
KINDS = [(kind, loss) for kind in ("Learner", "OneVsAll") for loss in LOSSES]


def case(kind: str, loss: str, weights: str) -> tuple[Any, np.ndarray, Any, np.ndarray | None]:
    """A model, predictions, labels and weights; the quality of the predictions is irrelevant."""
    rng = np.random.default_rng(7)
    weight = {
        "none": None,
        "fractions": rng.exponential(size=ROWS) * 1.1,
        "late": np.where(np.arange(ROWS) < 100, 0.1, 1.0),
        "some zero": rng.integers(0, 3, ROWS) / 3,
    }[weights]
    if kind == "OneVsAll":
        model = ul.OneVsAll(list("abcdefghijk"), loss=loss)
        return model, rng.normal(size=(ROWS, 11)) * 3, rng.choice(list("abcdefghijk"), ROWS), weight
    p = rng.normal(size=ROWS) * 3
    y = p + rng.normal(size=ROWS)
    labels = {"poisson": np.floor(np.abs(y)), "logistic": y > 0, "hinge": y > 0}.get(loss, y)
    return ul.Learner(loss=loss), p, labels, weight


def numbers(e: Evaluation) -> str:
    """All numbers, as text, so that NaN equals itself and no bit is lost."""
    return repr((e.metrics, e.history, e.curve, e.interval, e.per_class, e.now, e.examples, e.weight))


def add(e: Evaluation, p: np.ndarray, y: Any, weight: np.ndarray | None, first: int, last: int) -> None:
    e.add(p[first:last], y[first:last], None if weight is None else weight[first:last])


@pytest.mark.parametrize("weights", ["none", "fractions", "late", "some zero"])
@pytest.mark.parametrize(("kind", "loss"), KINDS)
@settings(max_examples=8)
@given(cuts=st.lists(st.integers(0, ROWS), max_size=12))
def test_any_cutting_gives_the_same_bits(kind: str, loss: str, weights: str, cuts: list[int]) -> None:
    model, p, y, weight = case(kind, loss, weights)
    whole, parts = Evaluation(model), Evaluation(model)
    whole.add(p, y, weight)
    edges = [0, *sorted(cuts), ROWS]
    for first, last in itertools.pairwise(edges):
        add(parts, p, y, weight, first, last)
    assert numbers(parts) == numbers(whole)


@pytest.mark.parametrize(("kind", "loss"), KINDS)
def test_row_by_row_gives_the_same_bits(kind: str, loss: str) -> None:
    model, p, y, weight = case(kind, loss, "fractions")
    whole, rows = Evaluation(model), Evaluation(model)
    whole.add(np.asfortranarray(p), y, weight)
    for row in range(ROWS):
        add(rows, p, y, weight, row, row + 1)
    assert numbers(rows) == numbers(whole)


def test_long_streams_are_added_in_order() -> None:
    rng = np.random.default_rng(0)
    p, y, h = rng.normal(size=(3, 50_000))
    evaluation = Evaluation(ul.Learner())
    evaluation.add(p, y, np.abs(h))
    assert evaluation.weight == sum(np.abs(h).tolist())
    assert evaluation.metrics["mae"] == sum((np.abs(p - y) * np.abs(h)).tolist()) / evaluation.weight


@pytest.mark.parametrize("weights", ["none", "fractions"])
@pytest.mark.parametrize(("kind", "loss"), KINDS)
def test_an_evaluation_taken_up_again_goes_on_exactly(kind: str, loss: str, weights: str) -> None:
    model, p, y, weight = case(kind, loss, weights)
    whole = Evaluation(model)
    whole.add(p, y, weight)
    for cut in (0, 1, 5, 333, ROWS):
        first = Evaluation(model)
        add(first, p, y, weight, 0, cut)
        text = json.dumps(first.state(), allow_nan=False)
        second = Evaluation.restore(model, json.loads(text))
        assert numbers(second) == numbers(first)
        assert json.dumps(second.state()) == text
        add(second, p, y, weight, cut, ROWS)
        assert numbers(second) == numbers(whole)


def test_classes_may_join_while_it_is_interrupted() -> None:
    model = ul.OneVsAll()
    whole, X = Evaluation(model), np.eye(4)
    whole.add(model.learn(X[:2], ["a", "b"]), ["a", "b"])
    state = whole.state()
    scores = model.learn(X[2:], ["c", 1])
    resumed = Evaluation.restore(model, json.loads(json.dumps(state)))
    for evaluation in (whole, resumed):
        evaluation.add(scores, ["c", 1])
    assert numbers(resumed) == numbers(whole)
    assert list(whole.per_class) == ["a", "b", "c", 1]


def test_infinite_predictions_can_be_stored() -> None:
    evaluation = Evaluation(ul.Learner())
    evaluation.add([math.inf, 1.0], [1.0, 2.0])
    assert Evaluation.restore(ul.Learner(), json.loads(json.dumps(evaluation.state()))).metrics["mae"] == math.inf


def test_the_curve_has_about_four_moments_each_time_that_examples_double() -> None:
    model, p, y, _ = case("Learner", "logistic", "none")
    evaluation = Evaluation(model)
    evaluation.add(p, y)
    counts = [moment.examples for moment in evaluation.curve]
    assert counts[:14] == [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 16, 19, 23]
    assert counts[-4:] == [362, 431, 512, 609]
    losses = model.losses(p, y)
    for before, moment in itertools.pairwise(evaluation.curve):
        assert moment.loss == pytest.approx(losses[: moment.examples].mean())
        assert moment.since_last == pytest.approx(losses[before.examples : moment.examples].mean())


def test_a_state_of_another_model_is_refused() -> None:
    state = Evaluation(ul.Learner(loss="logistic")).state()
    with pytest.raises(ul.ModelFileError, match="loss 'logistic'; this one has 'squared'"):
        Evaluation.restore(ul.Learner(), state)
    with pytest.raises(ul.ModelFileError, match="task 'binary'; this one has 'classes'"):
        Evaluation.restore(ul.OneVsAll(), state)
    with pytest.raises(ul.ModelFileError, match="format 99"):
        Evaluation.restore(ul.Learner(), {**state, "version": 99})
    model = ul.OneVsAll(["a", "b"])
    evaluation = Evaluation(model)
    evaluation.add([[0.0, 1.0]], ["a"])
    with pytest.raises(ul.ModelFileError, match="other classes"):
        Evaluation.restore(ul.OneVsAll(["b", "a"]), evaluation.state())


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in nested dictionaries, and of the first value of each list."""
    keys = list(value) if isinstance(value, dict) else [0] if isinstance(value, list) and value else []
    return [path, *(found for key in keys for found in places(value[key], (*path, key)))]


JUNK = [None, -1, 0, 2**70, 1.5, "x", "nan", "inf", "-0x1p+3", "0x1p+1000", "0x1p+2000", [], {}, [[]], True]


@pytest.mark.parametrize(("kind", "loss"), [("Learner", "logistic"), ("Learner", "squared"), ("OneVsAll", "logistic")])
def test_a_damaged_state_is_refused_or_harmless(kind: str, loss: str) -> None:
    model, p, y, weight = case(kind, loss, "fractions")
    evaluation = Evaluation(model)
    add(evaluation, p, y, weight, 0, 20)
    state = evaluation.state()
    for path, junk in itertools.product(places(state), JUNK):
        whole = {"state": copy.deepcopy(state)}
        parent: Any = whole
        *way, key = ("state", *path)
        for step in way:
            parent = parent[step]
        parent[key] = junk
        try:
            restored = Evaluation.restore(model, whole["state"])
        except ul.ModelFileError:
            continue
        numbers(restored)
        add(restored, p, y, weight, 20, 30)
        numbers(restored)


@pytest.mark.parametrize("shape", [(4, 3), (1, 3), (0, 3), (3,), (4, 1), (2, 2, 3)])
def test_shares_add_up_to_one(shape: tuple[int, ...]) -> None:
    scores = np.random.default_rng(0).normal(size=shape) * 300
    shares = ul.OneVsAll(["a", "b", "c"])._shares(scores)
    assert shares.shape == shape
    np.testing.assert_allclose(shares.sum(axis=-1), 1)


def test_shares_are_links_in_proportion() -> None:
    model = ul.OneVsAll(["a", "b", "c"])
    scores = np.array([[1.0, -2.0, 0.5], [-math.inf, 3.0, 4.0]])
    link = model._link(scores)
    np.testing.assert_allclose(model._shares(scores), link / link.sum(axis=1, keepdims=True), atol=1e-300)
    with pytest.raises(ul.OptionError, match="logistic loss; this model's is 'hinge'"):
        ul.OneVsAll(["a", "b"], loss="hinge")._shares(scores)
    for bad in ("abc", 1.0):
        with pytest.raises(ul.InputError, match="scores"):
            model._shares(bad)
