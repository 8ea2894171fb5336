"""learning_rate="auto":

as good as the best rate in hindsight, in one pass, at little more than the cost of one rate.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles.rates import AUTO_RATES, AUTO_START
from streams import UNIT_FREE, stream

import unitless as ul


def follow(sweep_losses: np.ndarray) -> np.ndarray:
    """Which rate leads at each row: the one with the smallest loss so far, where the n-th example has weight n."""
    recent = np.zeros(sweep_losses.shape[1])
    leaders = []
    for n, losses in enumerate(sweep_losses, 1):
        leaders.append(int(np.argmin(recent)))
        recent = recent * (1 - 1 / n) + losses
    return np.array(leaders)


@pytest.mark.parametrize("loss", ["squared", "logistic", "quantile"])
@pytest.mark.parametrize("rule", UNIT_FREE)
def test_each_prediction_is_that_of_the_leading_rate(rule: str, loss: str) -> None:
    X, y = stream(loss, rows=1000, features=6)
    rates = AUTO_RATES[AUTO_START[0] : AUTO_START[1] + 1]
    assert len(rates) == 16
    p = ul.Sweep(rates, rule, loss).learn(X, y)
    judge = ul.Learner(rule, loss)
    leaders = follow(np.column_stack([judge.losses(column, y) for column in p.T]))
    expected = p[np.arange(len(y)), leaders]
    auto = ul.Learner(rule, loss, "auto")
    np.testing.assert_allclose(auto.learn(X, y), expected, rtol=1e-9, atol=1e-12)
    assert list(auto.rates) == list(rates)  # before 1024 examples none is dropped


@pytest.mark.parametrize("rule", ["nag", "snag"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_it_is_as_good_as_the_best_rate_in_hindsight(rule: str, loss: str) -> None:
    X, y = stream(loss, rows=20_000, features=12)
    sweep = ul.Sweep([math.exp(0.2 * k) for k in range(-30, 21)], rule, loss)
    sweep.learn(X, y)
    auto = ul.Learner(rule, loss, "auto")
    assert auto.losses(auto.learn(X, y), y).mean() <= 1.02 * sweep.losses.min()


def test_rates_that_have_lost_are_dropped_and_memory_shrinks() -> None:
    X, y = stream("logistic", rows=20_000, features=12)
    m = ul.Learner(loss="logistic", learning_rate="auto")
    m.learn(X[:1000], y[:1000])
    many, memory = len(m.rates), sum(m._snapshot()["v"].shape)
    m.learn(X[1000:], y[1000:])
    assert many == 16
    assert 3 <= len(m.rates) <= 8
    assert sum(m._snapshot()["v"].shape) < memory / 2
    assert m.learning_rate in m.rates


def test_a_large_model_takes_less_memory_later() -> None:
    X, y = stream("logistic", rows=20_000, features=12)
    m = ul.Learner(loss="logistic", learning_rate="auto", bits=16)
    m.learn(X[:1000], y[:1000])
    before = m.nbytes
    m.learn(X[1000:], y[1000:])
    assert m.nbytes < 0.6 * before


def test_when_the_data_moves_on_the_leader_does_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 5))
    w = np.ones((30_000, 5))
    # from here on the true weights are a random walk
    w[10_000:] = np.cumsum(rng.normal(size=(20_000, 5)), axis=0) * 0.3
    y = (X * w).sum(axis=1) + 5 * rng.normal(size=30_000)
    m = ul.Learner(learning_rate="auto")
    m.learn(X[:10_000], y[:10_000])
    calm = m.learning_rate
    p = m.learn(X[10_000:], y[10_000:])
    assert m.learning_rate > 3 * calm
    fixed = ul.Learner(learning_rate=calm)
    fixed.learn(X[:10_000], y[:10_000])
    q = fixed.learn(X[10_000:], y[10_000:])
    assert np.mean((p - y[10_000:]) ** 2) < 0.7 * np.mean((q - y[10_000:]) ** 2)


def test_a_rate_that_diverges_is_never_followed() -> None:
    X, y = stream("squared", rows=2000, features=5, spread=0, growth=False)
    m = ul.Learner("gd", learning_rate="auto", importance_aware=False, schedule="constant")
    p = m.learn(X, y)
    assert np.isfinite(p).all()
    assert np.isfinite(m.rates[m.learning_rate])


def test_weights_count_as_repetition_does() -> None:
    X, y = stream("squared", rows=300, features=5)
    m = ul.Learner(learning_rate="auto")
    p = m.learn(X, y, np.full(len(y), 3.0))
    assert np.isfinite(p).all()
    assert m.total_weight == 900


@pytest.mark.parametrize("bad", ["fast", "", "AUTO", None, [1.0]])
def test_other_words_are_refused(bad: object) -> None:
    with pytest.raises(ul.OptionError, match="learning_rate is"):
        ul.Learner(learning_rate=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"order": "vw"}, {"clip": "vw"}])
def test_options_that_several_learners_lack_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(ul.OptionError, match="run several at once"):
        ul.Learner(learning_rate="auto", **options)  # type: ignore[arg-type]
