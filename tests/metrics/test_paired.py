"""The paired test finds real differences, and reports false ones no more often than its level."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from unitless.metrics.intervals import student_quantile
from unitless.metrics.paired import BLOCKS, Paired

Float64 = NDArray[np.float64]


def paired(losses: dict[str, Float64], weight: Float64 | None = None) -> Paired:
    pairs = Paired(losses)
    pairs.add(losses, weight)
    return pairs


@pytest.mark.parametrize("freedom", [1, 2, 3, 8, 63, 127])
def test_quantiles_are_those_of_student(freedom: int) -> None:
    for share in (0.001, 0.3, 0.5, 0.95, 0.9999):
        assert student_quantile(share, freedom) == pytest.approx(stats.t.ppf(share, freedom), rel=1e-9, abs=1e-12)


def streams(rng: np.random.Generator, rows: int, kind: str) -> dict[str, Float64]:
    """Three learners of equal quality; their losses differ row by row, or over long stretches."""
    hard = rng.exponential(size=rows) * 5
    if kind == "independent":
        return {name: hard + rng.normal(size=rows) for name in "abc"}
    if kind == "errors":
        wrong = rng.random(rows) < 0.2
        return {name: np.where(rng.random(rows) < 0.1, rng.random(rows) < 0.2, wrong).astype(float) for name in "abc"}
    steps = rng.normal(size=(3, rows))
    slow = np.empty_like(steps)  # each row resembles the one before it
    state = np.zeros(3)
    for k in range(rows):
        state = 0.95 * state + steps[:, k]
        slow[:, k] = state
    return dict(zip("abc", hard + slow, strict=True))


@pytest.mark.parametrize("kind", ["independent", "errors", "slow"])
def test_learners_that_are_equally_good_seldom_seem_different(kind: str) -> None:
    rng = np.random.default_rng(0)
    times = 150
    wrong = 0
    for _ in range(times):
        pairs = paired(streams(rng, 5000, kind))
        wrong += any(pairs.difference(a, b).found for a, b in itertools.combinations("abc", 2))
    # All intervals cover at once with 90%; 150 tries give more than 15% of failures once in a hundred times.
    assert wrong <= 0.15 * times


def test_single_rows_would_be_too_sure_of_a_slow_stream() -> None:
    rng = np.random.default_rng(1)
    losses = streams(rng, 5000, "slow")
    apart = losses["a"] - losses["b"]
    naive = apart.std() / np.sqrt(len(apart))
    found = paired(losses).difference("a", "b")
    assert found.high - found.low > 4 * 2 * naive


def test_a_small_difference_is_found_with_enough_rows() -> None:
    rng = np.random.default_rng(2)
    verdicts = {}
    for rows in (300, 200_000):
        hard = rng.exponential(size=rows) * 5
        pairs = paired({"a": hard + rng.normal(size=rows), "b": hard + rng.normal(size=rows) + 0.02})
        verdicts[rows] = pairs.difference("b", "a").found
        assert pairs.difference("b", "a").mean == pytest.approx(-pairs.difference("a", "b").mean)
    assert verdicts == {300: False, 200_000: True}


def test_intervals_grow_with_the_number_of_learners() -> None:
    rng = np.random.default_rng(3)
    losses = {str(k): rng.normal(size=2000) for k in range(6)}
    two = paired({name: losses[name] for name in "01"}).difference("0", "1")
    six = paired(losses).difference("0", "1")
    assert six.low < two.low < two.high < six.high


def test_the_mean_is_weighted() -> None:
    rng = np.random.default_rng(4)
    a, b, weight = rng.normal(size=(3, 1000))
    weight = np.abs(weight)
    found = paired({"a": a, "b": b}, weight).difference("a", "b")
    assert found.mean == pytest.approx(np.average(a - b, weights=weight))
    same = paired({"a": a, "b": b}, np.full(1000, 7.0)).difference("a", "b")
    once = paired({"a": a, "b": b}).difference("a", "b")
    assert (same.low, same.high) == pytest.approx((once.low, once.high))


@settings(max_examples=20)
@given(cuts=st.lists(st.integers(0, 3000), max_size=8))
def test_any_cutting_gives_the_same_bits(cuts: list[int]) -> None:
    rng = np.random.default_rng(5)
    a, b, h = rng.exponential(size=(3, 3000))
    whole, parts = paired({"a": a, "b": b}, h), Paired("ab")
    for first, last in itertools.pairwise([0, *sorted(cuts), 3000]):
        parts.add({"a": a[first:last], "b": b[first:last]}, h[first:last])
    assert parts.difference("a", "b") == whole.difference("a", "b")


@pytest.mark.parametrize("rows", [0, 1, 9, 10, BLOCKS, BLOCKS + 1, 10 * BLOCKS])
def test_a_constant_difference_is_found_once_there_are_rows(rows: int) -> None:
    found = paired({"a": np.ones(rows), "b": np.zeros(rows)}).difference("a", "b")
    assert found.found == (rows >= 10)
    if rows:
        assert found.mean == 1


def test_one_that_drops_out_does_not_come_back() -> None:
    pairs = paired({"a": np.ones(20), "b": np.zeros(20), "c": np.ones(20)})
    pairs.add({"a": np.ones(20), "b": np.zeros(20)})
    assert pairs.names == ["a", "b"]
    assert pairs.comparisons == 1


def test_infinite_losses_decide_nothing() -> None:
    assert not paired({"a": np.full(50, np.inf), "b": np.zeros(50)}).difference("a", "b").found
