"""Quantiles of errors: the core and the plain Python oracle agree, exactness, and coverage guarantees."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.error_quantiles import PlainErrorQuantiles

import unitless as ul
from unitless.models.error_quantiles import LEVELS, ErrorQuantiles, checked_level
from unitless.models.prediction_errors import errors_of, hide_unmet, sets_of
from unitless.models.scored import Scored

sizes = st.just(0.0) | st.floats(1e-6, 1e6)
streams = st.lists(st.tuples(sizes, st.just(0.0) | st.floats(1e-3, 100)), max_size=60)


def followed(errors: Any, weight: Any = None) -> ErrorQuantiles:
    quantiles = ErrorQuantiles()
    quantiles.update(np.array(errors, np.float64), None if weight is None else np.array(weight, np.float64))
    return quantiles


def noise(rows: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.abs(np.random.default_rng(seed).normal(size=rows))


@given(streams, st.booleans())
def test_the_core_is_the_plain_one_to_the_last_bit(stream: list[tuple[float, float]], weighted: bool) -> None:
    errors, weights = [error for error, _ in stream], [weight for _, weight in stream]
    plain = PlainErrorQuantiles()
    plain.follow(errors, weights if weighted else None)
    core = followed(errors, weights if weighted else None)
    assert core._state.tolist() == [plain.rows, plain.weight, plain.size, *plain.quantiles, *plain.steady]


def test_quantiles_of_any_level_agree_with_the_oracle() -> None:
    errors = noise(3000)
    plain, core = PlainErrorQuantiles(), followed(errors)
    plain.follow(errors.tolist())
    for level in (0.01, 0.3, 0.5, 0.55, 0.7, 0.85, 0.9, 0.97, 0.995, 0.999):
        assert core.reach(level) == pytest.approx(plain.reach(level), rel=1e-12)
        assert core.steady_reach(level) == pytest.approx(plain.reach(level, steady=True), rel=1e-12)


@given(streams, st.lists(sizes, min_size=1, max_size=20))
def test_no_weights_are_weights_of_one_among_others(stream: list[tuple[float, float]], later: list[float]) -> None:
    errors, weights = [one for one, _ in stream], [one for _, one in stream]
    whole, parts = followed([*errors, *later], [*weights, *([1.0] * len(later))]), followed(errors, weights)
    parts.update(np.array(later))
    assert parts._state.tolist() == whole._state.tolist()


@given(streams, st.integers(0, 60))
def test_it_does_not_matter_how_a_stream_is_cut(stream: list[tuple[float, float]], cut: int) -> None:
    errors, weights = np.array([one for one, _ in stream]), np.array([one for _, one in stream])
    whole, parts = followed(errors, weights), ErrorQuantiles()
    reaches = ErrorQuantiles().update_at(0.9, errors, weights)
    said = [parts.update_at(0.9, errors[:cut], weights[:cut]), parts.update_at(0.9, errors[cut:], weights[cut:])]
    assert parts._state.tolist() == whole._state.tolist()
    assert np.concatenate(said).tolist() == reaches.tolist()


@given(streams, st.integers(-400, 400))
def test_a_unit_of_a_power_of_two_changes_no_bit(stream: list[tuple[float, float]], power: int) -> None:
    errors, unit = np.array([one for one, _ in stream]), 2.0**power
    ours, other = followed(errors), followed(errors * unit)
    assert (ours._state[2:] * unit).tolist() == other._state[2:].tolist()


@given(streams, st.integers(-50, 50))
def test_the_unit_of_the_weights_does_not_matter(stream: list[tuple[float, float]], power: int) -> None:
    errors, weights = [one for one, _ in stream], np.array([one for _, one in stream])
    assert followed(errors, weights)._state[2:].tolist() == followed(errors, weights * 2.0**power)._state[2:].tolist()


def test_equal_weights_change_nothing_and_weight_zero_is_no_row() -> None:
    errors, weights = noise(500), np.ones(1000)
    weights[1::2] = 0.0
    with_gaps = np.repeat(errors, 2)
    with_gaps[1::2] = 1e9
    assert followed(with_gaps, weights)._state.tolist() == followed(errors)._state.tolist()


def test_a_row_of_huge_weight_moves_quantiles_no_further_than_its_error() -> None:
    quantiles = followed(noise(1000), np.ones(1000))
    before = quantiles._state[3:11].copy()
    quantiles.update(np.array([1.5]), np.array([1e6]))
    after, step = quantiles._state[3:11], 0.2 * quantiles._state[2]
    below = before < 1.5
    assert below.any()
    assert not below.all()
    assert np.all((after[below] >= 1.5) & (after[below] <= 1.5 + step))
    assert np.all((1.5 - step <= after[~below]) & (after[~below] < before[~below]))


DRIFT = np.exp(np.sin(np.arange(20_000) / 300))  # sevenfold within a thousand rows, and back
JUMPS = np.repeat([1.0, 30.0, 0.1, 1e3], 5000)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize(("sizes", "within"), [(1.0, 0.01), (DRIFT, 0.01), (DRIFT * JUMPS, 0.03)])
def test_the_share_of_rows_within_reach_is_about_the_level(sizes: Any, within: float, level: float) -> None:
    errors = noise(20_000) * sizes
    reach = ErrorQuantiles().update_at(level, errors)
    assert abs(np.mean(errors <= reach) - level) < within


@pytest.mark.parametrize(("level", "least"), [(0.5, 1), (0.9, 9), (0.95, 19), (0.99, 99), (0.999, 999)])
def test_too_few_rows_reach_to_infinity(level: float, least: int) -> None:
    assert followed(noise(least - 1)).reach(level) == math.inf
    assert followed(noise(least)).reach(level) < math.inf
    with pytest.raises(ul.OptionError, match=f"at least {least} rows, .* has those of {least - 1}"):
        followed(noise(least - 1)).known_reach(level)


@given(streams)
def test_a_higher_level_never_reaches_less_far(stream: list[tuple[float, float]]) -> None:
    quantiles = followed([one for one, _ in stream])
    reaches = [quantiles.reach(level) for level in np.linspace(0.01, 0.999, 80)]
    assert reaches == sorted(reaches)


@pytest.mark.parametrize("level", [0.5, 0.65, 0.8, 0.9, 0.95])
def test_steady_quantiles_are_right_at_any_moment(level: float) -> None:
    """Adaptive quantiles are correct only in the long run: their value at one moment depends on chance."""
    quantiles, after, found = ErrorQuantiles(), noise(20_000, seed=1), []
    quantiles.update(noise(1000))
    for seed in range(50):
        quantiles.update(noise(100, seed))
        found.append((np.mean(after <= quantiles.reach(level)), np.mean(after <= quantiles.steady_reach(level))))
    at_once, steady = np.std(np.array(found) - level, axis=0)
    assert steady < 0.025
    assert steady < at_once / 1.5


def test_errors_that_are_not_finite_are_beyond_and_leave_the_size() -> None:
    quantiles = followed(noise(100))
    size, reach = quantiles._state[2], quantiles.reach(0.9)
    quantiles.update(np.array([math.inf, math.nan]))
    assert quantiles._state[2] == size
    assert reach < quantiles.reach(0.9) < math.inf
    followed([1.7e308] * 2000).plain()
    assert np.isfinite(followed([1.7e308, math.inf] * 2000)._state).all()


def test_calibration_takes_the_quantile_of_rows_and_the_one_to_come() -> None:
    errors = np.random.default_rng(0).permutation(np.arange(1.0, 100.0))  # 1 ... 99
    quantiles = ErrorQuantiles.calibrated(errors)
    assert [quantiles.reach(level) for level in (0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99)] == [50, 65, 80, 90, 95, 98, 99]
    assert quantiles.reach(0.999) == math.inf
    assert quantiles._state[2] == 50.0
    twice = ErrorQuantiles.calibrated(np.append(errors, 1e9), np.append(np.full(99, 2.0), 0.0))
    assert twice._state[2:].tolist() == quantiles._state[2:].tolist()
    heavy = ErrorQuantiles.calibrated(np.array([1.0, 2.0] * 50), np.array([99.0, 1.0] * 50))
    assert (heavy.reach(0.98), heavy.reach(0.99)) == (1.0, 2.0)
    assert ErrorQuantiles.calibrated(np.full(50, math.inf)).reach(0.9) == np.finfo(float).max
    assert ErrorQuantiles.calibrated(np.zeros(0)).rows == 0


def test_calibrated_intervals_cover_at_their_level() -> None:
    held = []
    for seed in range(400):
        errors = noise(40, seed)
        held.append(errors[-1] <= ErrorQuantiles.calibrated(errors[:-1]).reach(0.9))
    assert 0.86 < np.mean(held) < 0.96


def test_streaming_continues_from_the_calibration() -> None:
    quantiles = ErrorQuantiles.calibrated(noise(1000))
    reach = quantiles.update_at(0.9, noise(5000, seed=1))
    assert reach[0] == ErrorQuantiles.calibrated(noise(1000)).reach(0.9)
    assert abs(np.mean(noise(5000, seed=1) <= reach) - 0.9) < 0.01


@pytest.mark.parametrize("level", [0, 1, -0.1, 0.9995, math.nan, "0.9", None, True])
def test_levels_that_cannot_be(level: Any) -> None:
    with pytest.raises(ul.OptionError, match=r"it must be a probability above 0, at most 0\.999"):
        checked_level(level)


def test_a_percentage_is_refused_as_a_level() -> None:
    with pytest.raises(ul.OptionError, match=r"90% is 0\.9"):
        checked_level(90)


def test_error_quantiles_continue_exactly_after_a_file() -> None:
    model = ul.Learner(loss="logistic")
    model._errors = followed(noise(100))
    again = model.copy()
    assert again._errors.plain() == model._errors.plain()
    for quantiles in (model._errors, again._errors):
        quantiles.update(noise(50, seed=2))
    assert again._errors.plain() == model._errors.plain()
    assert model.copy()._errors is not model._errors
    assert ul.Learner().copy()._errors is None


good = ErrorQuantiles.calibrated(np.ones(30)).plain()


@pytest.mark.parametrize(
    "forged",
    [
        [],
        good[:-1],
        [*good[:-1], "nan"],
        [*good[:-1], "-0x1p+0"],
        [*good[:-1], 1.0],
        ["0x1.8p+0", *good[1:]],
        ["0x0p+0", *good[1:]],
        {"rows": 1},
    ],
)
def test_forged_error_quantiles_are_refused(forged: Any) -> None:
    with pytest.raises((ul.ModelFileError, ValueError)):
        ErrorQuantiles.read(forged)


def errors(model: Any, scores: Any, truth: Any) -> Any:
    return [column.tolist() for column in errors_of(model, Scored.of(model, scores, truth))]


def test_errors_of_numbers_counts_and_classes() -> None:
    assert errors(ul.Learner(), [1.0, 2.0], [1.5, 0.0]) == [[1.0, 2.0], [1.5, 0.0]]  # numbers and labels
    assert errors(ul.Learner(loss="poisson"), [0.0], [3.0]) == [[1.0], [3.0]]
    (two,) = errors(ul.Learner(loss="logistic"), [0.0, 50.0, 50.0], [1.0, 1.0, 0.0])
    assert two == pytest.approx([0.5, 0.0, 1.0])
    model = ul.OneVsAll(["a", "b"])
    (several,) = errors(model, [[0.0, 0.0], [50.0, -50.0]], [1, 2])
    assert several == [0.5, 1.0]  # an unknown class had no probability


def test_prediction_sets_contain_likely_labels_and_are_never_empty() -> None:
    shares = np.array([[0.6, 0.3, 0.1], [0.4, 0.35, 0.25]])
    assert sets_of(shares, np.array([0, 0]), 0.7).tolist() == [[True, True, False]] * 2
    assert sets_of(shares, np.array([0, 0]), 0.1).tolist() == [[True, False, False]] * 2
    assert sets_of(shares, np.array([0, 0]), np.array([0.95, 0.0])).sum(axis=1).tolist() == [3, 1]


def test_a_class_has_no_score_before_it_was_met() -> None:
    scored = Scored(np.zeros((3, 2)), np.array([0, 1, 0]))
    assert hide_unmet(scored, 1).scores.tolist() == [[0.0, -math.inf], [0.0, 0.0], [0.0, 0.0]]
    weighted = replace(scored, weight=np.array([1.0, 0.0, 1.0]))
    assert hide_unmet(weighted, 1).scores[:, 1].tolist() == [-math.inf] * 3
    assert hide_unmet(scored, 2) is scored
    later = Scored(np.zeros((2, 4)), np.array([0, 3]))  # classes that were known before have scores in every row
    assert hide_unmet(later, 3).scores.tolist() == [[0.0, 0.0, 0.0, -math.inf], [0.0] * 4]


def test_levels_rise() -> None:
    assert list(LEVELS) == sorted(LEVELS)


@given(streams)
def test_parts_without_weights_are_parts_with_weights_of_one(stream: list[tuple[float, float]]) -> None:
    """In a stream where some rows have weights, it makes no difference which parts are passed without weights."""
    errors, weight = np.array([*(row[0] for row in stream), *noise(20)]), [*(row[1] for row in stream), *([1.0] * 20)]
    whole = followed(errors, weight)
    parts = followed(errors[:-20], weight[:-20])
    parts.update(errors[-20:])
    assert parts.plain() == whole.plain()
