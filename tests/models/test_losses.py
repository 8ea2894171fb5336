"""Losses: value, slope and the importance-aware change, against definitions and high-precision arithmetic."""

from __future__ import annotations

import decimal
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import published

import unitless as ul
from unitless.paper import algorithms as reference

VALUE, SLOPE, CHANGE = 0, 1, 2
LABELS = {
    "squared": st.floats(-1e3, 1e3),
    "quantile": st.floats(-1e3, 1e3),
    "logistic": st.sampled_from([-1.0, 1.0]),
    "hinge": st.sampled_from([-1.0, 1.0]),
    "poisson": st.integers(0, 50).map(float),
}


def core(loss: str, which: int, p: float, y: float, tau: float = 0.0) -> float:
    m = ul.Learner(loss=loss, quantile=0.3)
    return float(m._loss(which, np.array([p]), np.array([y]), np.array([tau]))[0])


@pytest.mark.parametrize("loss", LABELS)
@given(data=st.data(), p=st.floats(-30, 30))
def test_value_and_slope_are_the_definitions(loss: str, data: st.DataObject, p: float) -> None:
    y = data.draw(LABELS[loss])
    assert core(loss, VALUE, p, y) == pytest.approx(published.LOSSES[loss].value(p, y), rel=1e-12, abs=1e-12)
    assert core(loss, SLOPE, p, y) == pytest.approx(published.LOSSES[loss].slope(p, y), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("loss", LABELS)
@given(data=st.data(), p=st.floats(-20, 20), power=st.floats(-12, 4))
def test_change_is_the_oracles(loss: str, data: st.DataObject, p: float, power: float) -> None:
    y, tau = data.draw(LABELS[loss]), 10.0**power
    expected = published.LOSSES[loss].step(p, y, tau, 1.0) if published.LOSSES[loss].slope(p, y) else 0.0
    assert core(loss, CHANGE, p, y, tau) == pytest.approx(expected, rel=1e-11, abs=1e-300)


def test_the_poisson_oracle_is_exact_for_a_large_label_and_a_small_rate() -> None:
    with decimal.localcontext() as context:
        context.prec = 60
        p, y = decimal.Decimal(-14), decimal.Decimal(15)
        q = 1 / y + ((-p).exp() - 1 / y) * (-y).exp()  # of dq/dτ = 1 − yq, q = exp(−p), after τ = 1
        change = float(-q.ln() - p)
    assert published.LOSSES["poisson"].step(-14.0, 15.0, 1.0, 1.0) == pytest.approx(change, rel=1e-14)
    assert core("poisson", CHANGE, -14.0, 15.0, 1.0) == pytest.approx(change, rel=1e-14)


@given(p=st.floats(-600, 600), y=st.sampled_from([-1.0, 1.0]), power=st.floats(-10, 10))
def test_logistic_change_solves_its_equation(p: float, y: float, power: float) -> None:
    """The margin grows by δ with δ + exp(m)(exp(δ) − 1) = τ, also where the textbook formula is noise."""
    tau = 10.0**power
    delta = y * core("logistic", CHANGE, p, y, tau)
    if core("logistic", SLOPE, p, y) == 0:
        return
    with decimal.localcontext() as context:
        context.prec = 600
        d, m = decimal.Decimal(delta), decimal.Decimal(y * p)
        left = d + m.exp() * (d.exp() - 1)
        error = abs(left / decimal.Decimal(tau) - 1)
        conditioning = 1 + d  # a relative error of delta is multiplied by up to this
        assert error < decimal.Decimal("2e-13") * conditioning


@pytest.mark.parametrize("tau", [1e-3, 10.0, 999.0, 1000.5, 5000.0, 1e6, 1e12])
@pytest.mark.parametrize("margin", [-299.0, -301.0, -650.0, -1000.0, -1e6])
def test_logistic_change_beyond_the_range_of_exp(margin: float, tau: float) -> None:
    """δ + exp(m)(exp(δ) − 1) = τ where exp(−m) is not a finite number: the new margin q has q + exp(q) = τ + m."""
    delta = core("logistic", CHANGE, margin, 1.0, tau)
    q = margin + delta
    assert q + math.exp(q) == pytest.approx(tau + margin, rel=1e-9, abs=1e-9 * abs(margin))
    assert delta == pytest.approx(reference.Logistic().step(margin, 1.0, tau, 1.0), rel=1e-12)


@pytest.mark.parametrize("loss", LABELS)
@given(data=st.data(), p=st.floats(-5, 5), power=st.floats(-6, 6))
def test_change_goes_towards_the_label_and_never_raises_the_loss(
    loss: str, data: st.DataObject, p: float, power: float
) -> None:
    y, tau = data.draw(LABELS[loss]), 10.0**power
    change, slope = core(loss, CHANGE, p, y, tau), core(loss, SLOPE, p, y)
    assert change * slope <= 0
    assert core(loss, VALUE, p + change, y) <= core(loss, VALUE, p, y) + 1e-12 * (1 + abs(y) ** 2)


@pytest.mark.parametrize("loss", LABELS)
@given(data=st.data(), p=st.floats(-5, 5))
def test_two_changes_are_one_of_twice_the_time(loss: str, data: st.DataObject, p: float) -> None:
    y = data.draw(LABELS[loss])
    once = core(loss, CHANGE, p, y, 0.2)
    first = core(loss, CHANGE, p, y, 0.1)
    both = first + core(loss, CHANGE, p + first, y, 0.1)
    assert both == pytest.approx(once, rel=1e-9, abs=1e-9)


def test_the_link_maps_scores_to_predictions() -> None:
    assert ul.Learner(loss="logistic")._link([0.0, 1000.0, -1000.0]).tolist() == [0.5, 1.0, 0.0]
    assert ul.Learner(loss="poisson")._link([0.0, 1.0]).tolist() == [1.0, math.e]
    assert ul.Learner()._link([3.0]).tolist() == [3.0]


def test_losses_of_progressive_predictions() -> None:
    m = ul.Learner(loss="logistic")
    p = m.learn([[1.0], [2.0]], [0, 1])
    np.testing.assert_allclose(m.losses(p, [0, 1]), np.log1p(np.exp([p[0], -p[1]])), rtol=1e-14)
