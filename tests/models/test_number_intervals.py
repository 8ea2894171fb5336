"""Intervals of numbers: the core next to the plain ones, exactness, and coverage at every size of prediction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.number_intervals import PlainNumberIntervals

import unitless as ul
from unitless.models.error_quantiles import QUANTILES
from unitless.models.number_intervals import NumberIntervals

numbers = st.just(0.0) | st.floats(1e-6, 1e6) | st.floats(-1e6, -1e-6)
weights = st.just(0.0) | st.floats(1e-3, 100)
streams = st.lists(st.tuples(numbers, numbers, weights), max_size=60)
Array = np.ndarray[Any, Any]


def columns(stream: list[tuple[float, float, float]]) -> list[Array]:
    return list(np.array(stream, np.float64).reshape(-1, 3).T.copy())


def followed(*rows: Array) -> NumberIntervals:
    intervals = NumberIntervals()
    intervals.update(*rows)
    return intervals


def prices(rows: int, seed: int = 0, drift: float = 0.0) -> tuple[Array, Array]:
    """Predictions and labels; errors are larger where predictions are, and both may drift."""
    rng = np.random.default_rng(seed)
    predictions = np.exp(0.7 * rng.normal(size=rows) + drift * np.arange(rows) / rows)
    return predictions, predictions * (1 + 0.1 * rng.normal(size=rows))


def bins(intervals: NumberIntervals) -> int:
    return int(intervals._state[QUANTILES + 1])


def assert_equal(core: NumberIntervals, plain: PlainNumberIntervals) -> None:
    quantiles = plain.quantiles
    assert core._state[:QUANTILES].tolist() == [
        quantiles.rows,
        quantiles.weight,
        quantiles.size,
        *quantiles.quantiles,
        *quantiles.steady,
    ]
    assert core._state[QUANTILES] == plain.scale.rows
    parts = core._state[QUANTILES + 2 : -2].reshape(3, -1)[:, : bins(core)]
    assert parts.T.tolist() == [[one.weight, one.prediction, one.error] for one in plain.scale.bins]
    assert core._state[-2:].tolist() == [plain.negative, plain.positive]


@given(streams)
def test_the_core_is_the_plain_one_to_the_last_bit(stream: list[tuple[float, float, float]]) -> None:
    plain = PlainNumberIntervals()
    plain.follow(stream)
    assert_equal(followed(*columns(stream)), plain)


@pytest.mark.parametrize("drift", [0.0, 5.0])
def test_the_core_is_the_plain_one_on_a_long_stream(drift: float) -> None:
    predictions, labels = prices(6000, drift=drift)
    predictions[5000:5300] = 1.0  # ties
    core, plain = followed(predictions, labels), PlainNumberIntervals()
    plain.follow(zip(predictions, labels, np.ones(6000), strict=True))
    assert_equal(core, plain)
    for level in (0.3, 0.9, 0.99):
        for steady, reach in ((False, core.reach(level)), (True, core.steady_reach(level))):
            low, high = core.around(np.array([0.01, 0.5, 1.0, 3.0, 1e3]), reach)
            limits = [plain.around(p, level, steady) for p in (0.01, 0.5, 1.0, 3.0, 1e3)]
            assert np.stack([low, high], axis=1) == pytest.approx(np.array(limits), rel=1e-12)


@given(streams, st.integers(0, 60))
def test_it_does_not_matter_how_a_stream_is_cut(stream: list[tuple[float, float, float]], cut: int) -> None:
    rows = columns(stream)
    limits = NumberIntervals().update_at(0.6, *rows)
    parts = NumberIntervals()
    found = [parts.update_at(0.6, *(column[part] for column in rows)) for part in (slice(cut), slice(cut, None))]
    assert np.concatenate(found, axis=1).tolist() == np.stack(limits).tolist()
    assert parts.plain() == followed(*rows).plain()


@given(streams, st.integers(-200, 200))
def test_a_unit_of_a_power_of_two_changes_no_bit(stream: list[tuple[float, float, float]], power: int) -> None:
    predictions, labels, weight = columns(stream)
    unit = 2.0**power
    ours = NumberIntervals().update_at(0.6, predictions, labels, weight)
    other = NumberIntervals().update_at(0.6, predictions * unit, labels * unit, weight)
    assert (np.stack(ours) * unit).tolist() == np.stack(other).tolist()


@given(streams)
def test_rows_without_weight_change_nothing(stream: list[tuple[float, float, float]]) -> None:
    predictions, labels, weight = columns(stream)
    some = weight > 0
    assert (
        followed(predictions, labels, weight).plain() == followed(predictions[some], labels[some], weight[some]).plain()
    )


@given(streams, st.lists(st.tuples(numbers, numbers), max_size=20))
def test_no_weights_are_weights_of_one(
    stream: list[tuple[float, float, float]], later: list[tuple[float, float]]
) -> None:
    parts = followed(*columns(stream))
    parts.update(*np.array(later, np.float64).reshape(-1, 2).T.copy())
    assert parts.plain() == followed(*columns([*stream, *((*row, 1.0) for row in later)])).plain()


def fifths(predictions: Array, labels: Array, low: Array, high: Array) -> list[float]:
    """The coverage of each fifth of the rows, by prediction."""
    order = np.argsort(predictions, kind="stable")
    return [float(np.mean(part)) for part in np.array_split(((low <= labels) & (labels <= high))[order], 5)]


@pytest.mark.parametrize("drift", [0.0, 3.0])
def test_every_fifth_of_the_predictions_of_a_stream_is_covered(drift: float) -> None:
    predictions, labels = prices(20_000, drift=drift)
    low, high = NumberIntervals().update_at(0.9, predictions, labels)
    assert all(0.85 < share < 0.95 for share in fifths(predictions, labels, low, high))


def test_errors_that_jump_are_covered_at_the_level_and_soon() -> None:
    rng = np.random.default_rng(0)
    predictions, sizes = rng.normal(size=20_000), np.repeat([1.0, 30.0, 0.1, 1e3], 5000)
    labels = predictions + rng.normal(size=20_000) * sizes
    low, high = NumberIntervals().update_at(0.9, predictions, labels)
    inside = (low <= labels) & (labels <= high)
    assert abs(inside.mean() - 0.9) < 0.02
    assert np.convolve(inside, np.ones(1000) / 1000, "valid").min() > 0.83


def test_every_fifth_of_the_predictions_is_covered_after_calibration() -> None:
    predictions, labels = prices(20_000, seed=1)
    for known in (NumberIntervals(), followed(*prices(5000, seed=2))):
        intervals = known.calibrated(*prices(2000))
        low, high = intervals.around(predictions, intervals.known_reach(0.9))
        assert all(0.85 < share < 0.95 for share in fifths(predictions, labels, low, high))
        assert intervals.rows == 2000


def test_errors_that_do_not_depend_on_the_prediction_have_nearly_one_width() -> None:
    rng = np.random.default_rng(0)
    predictions = rng.normal(size=10_000)
    intervals = followed(predictions, predictions + rng.normal(size=10_000))
    low, high = intervals.around(np.linspace(-2, 2, 100), intervals.steady_reach(0.9))
    assert np.all(np.abs((high - low) / (2 * 1.645) - 1) < 0.3)


@pytest.mark.parametrize("drift", [0.0, 20.0])
def test_memory_is_bounded(drift: float) -> None:
    intervals = NumberIntervals()
    for seed in range(20):
        intervals.update(*prices(1000, seed, drift))
        assert bins(intervals) <= 21


def test_limits_do_not_pass_zero_if_all_labels_have_one_sign() -> None:
    predictions = np.linspace(0.1, 2.0, 500)
    labels = predictions + np.tile([-0.1, 0.1], 250)
    low, high = followed(predictions, labels).around(np.array([0.05, 1.0]), 3.0)
    assert low[0] == 0.0
    assert high[0] > 0.1
    other_low, other_high = followed(-predictions, -labels).around(np.array([-0.05, -1.0]), 3.0)
    assert (other_low.tolist(), other_high.tolist()) == ((-high).tolist(), (-low).tolist())
    both, _ = followed(np.append(predictions, 1.0), np.append(labels, -1e-9)).around(np.array([0.05]), 3.0)
    assert both[0] < 0


def test_without_rows_limits_are_infinite() -> None:
    assert [limit.tolist() for limit in NumberIntervals().around(np.ones(1), math.inf)] == [[-math.inf], [math.inf]]
    low, high = NumberIntervals().update_at(0.9, *prices(20))
    assert np.isinf(low[:9]).all()
    assert np.isfinite(high[9:]).all()


def test_errors_of_zero_give_intervals_of_no_width() -> None:
    ones = np.ones(100)
    intervals = followed(ones, ones)
    assert [limit.tolist() for limit in intervals.around(ones[:1], intervals.reach(0.9))] == [[1.0], [1.0]]
    intervals.update(ones, ones + 1e-3)  # and it goes on from there
    low, high = intervals.around(ones[:1], intervals.reach(0.9))
    assert 0 < high[0] - low[0] < 1


def test_rows_that_are_not_finite_leave_the_scale() -> None:
    rows = prices(200)
    intervals = followed(*rows)
    scale = intervals._state[QUANTILES:].tolist()
    intervals.update(np.array([math.inf, 1.0, math.nan]), np.array([1.0, math.inf, 1.0]))
    assert intervals._state[QUANTILES:].tolist() == scale
    assert intervals.rows == 203
    assert np.isfinite(followed(np.full(3000, 1.7e308), np.tile([1e308, 0.0], 1500))._state).all()


def test_intervals_continue_exactly_after_a_file() -> None:
    model = ul.Learner()
    model._errors = followed(*prices(1500))
    again = model.copy()
    for intervals in (model._errors, again._errors):
        intervals.update(*prices(500, seed=2))
    assert again._errors.plain() == model._errors.plain()


good = followed(*prices(1000)).plain()


@pytest.mark.parametrize(
    ("place", "number"),
    [
        (0, "0x1.8p+0"),  # rows
        (QUANTILES, "0x1.8p+0"),  # rows of the scale
        (QUANTILES, "0x1p+0"),
        (QUANTILES + 1, "0x1.8p+0"),  # bins
        (QUANTILES + 1, "0x1.6p+4"),
        (QUANTILES + 1, "-0x1p+0"),
        (QUANTILES + 2, "0x0p+0"),  # the weight of a bin
        (QUANTILES + 2, "inf"),
        (QUANTILES + 24, "0x1p+100"),  # its prediction, which must be below that of the next
        (QUANTILES + 46, "-0x1p+0"),  # its error
        (QUANTILES + 45, "0x1p+0"),  # a place without a bin
        (-1, "0x1p+1"),  # whether a label was positive
    ],
)
def test_forged_intervals_are_refused(place: int, number: str) -> None:
    NumberIntervals.read(good)
    forged = list(good)
    forged[place] = number
    with pytest.raises(ul.ModelFileError):
        NumberIntervals.read(forged)


@pytest.mark.parametrize("wrong", [1e3, 1e9])
def test_one_wrong_label_does_not_widen_the_intervals_of_other_rows(wrong: float) -> None:
    predictions, labels = prices(5000)
    clean = followed(predictions, labels)
    labels[4000] = wrong
    spoiled = followed(predictions, labels)
    at = np.exp(np.linspace(-1.5, 1.5, 50))
    width = [one.around(at, one.reach(0.9))[1] - at for one in (clean, spoiled)]
    assert (width[1] < 2 * width[0]).all()
