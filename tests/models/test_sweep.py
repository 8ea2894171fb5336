"""The lanes of a sweep equal separate learners."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.rates import PAPER_RATES
from streams import LOSSES, RULES, stream

import unitless as ul

RATES = [0.002, 0.01, 0.05, 0.25, 1.0]


def small(rule: str, loss: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    baseline = rule in ("gd", "ag")
    X, y = stream(loss, rows=300, features=13, spread=0.5 if baseline else 12, growth=not baseline)
    return X, y, np.random.default_rng(1).integers(0, 3, len(y)).astype(float)


@pytest.mark.parametrize("aware", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rule", RULES)
def test_every_rate_is_a_learner_of_its_own(rule: str, loss: str, aware: bool, kernel: str) -> None:
    X, y, weight = small(rule, loss)
    rates = RATES if aware else [0.01, 0.05]
    if loss == "poisson" and not aware:
        rates = [0.002, 0.01]
    sweep = ul.Sweep(rates, rule, loss, importance_aware=aware)
    together = sweep.learn(X, y, weight)
    assert together.shape == (len(y), len(rates))
    for j, rate in enumerate(rates):
        alone = ul.Learner(rule, loss, rate, importance_aware=aware)
        p = alone.learn(X, y, weight)
        size = max(1.0, float(np.abs(p).max()))
        np.testing.assert_allclose(together[:, j], p, rtol=0, atol=1e-12 * size)
        np.testing.assert_allclose(sweep.losses[j], np.average(alone.losses(p, y), weights=weight), rtol=1e-10)
        single = sweep.model(j)
        assert isinstance(single, ul.Learner)
        assert single.options == alone.options
        np.testing.assert_allclose(single.predict(2 * X), alone.predict(2 * X), rtol=0, atol=1e-12 * size)
        np.testing.assert_allclose(list(single.weights.values()), list(alone.weights.values()), rtol=1e-9, atol=1e-300)


def test_sixteen_lanes_and_more_are_learners_of_their_own() -> None:
    X, y, _ = small("nag", "logistic")
    rates = PAPER_RATES
    sweep = ul.Sweep(rates, loss="logistic")
    together = sweep.learn(X, y)
    for j in range(0, len(rates), 5):
        np.testing.assert_allclose(together[:, j], ul.Learner("nag", "logistic", rates[j]).learn(X, y), atol=1e-12)


def test_the_best_goes_on_as_an_ordinary_learner() -> None:
    X, y, _ = small("nag", "squared")
    sweep = ul.Sweep(RATES)
    sweep.learn(X[:200], y[:200])
    best = sweep.best
    assert best.options.learning_rate == sweep.best_rate == RATES[int(np.argmin(sweep.losses))]
    np.testing.assert_allclose(best.predict(X), sweep.predict(X), rtol=1e-9, atol=1e-12)
    p = best.learn(X[200:], y[200:])
    index = RATES.index(sweep.best_rate)
    np.testing.assert_allclose(p, sweep.learn(X[200:], y[200:])[:, index], rtol=0, atol=1e-12 * np.abs(p).max())


def test_errors_count_wrong_classes() -> None:
    X, y, _ = small("nag", "logistic")
    sweep = ul.Sweep(RATES, loss="logistic")
    p = sweep.learn(X, y)
    np.testing.assert_allclose(sweep.errors, np.mean((p > 0) != (y[:, None] > 0), axis=0))
    labels = np.where(y > 0, "up", "down")
    classes = ul.Sweep(RATES, classes=["up", "down"])
    predicted = classes.learn(X, labels)
    np.testing.assert_allclose(classes.errors, np.mean(predicted != labels[:, None], axis=0))
    with pytest.raises(ul.InputError, match="no errors to count"):
        _ = ul.Sweep(RATES).errors


def test_a_sweep_of_classes_is_a_sweep_of_one_vs_all_models() -> None:
    X, y, _ = small("nag", "squared")
    labels = np.digitize(y, np.quantile(y, [0.2, 0.5, 0.7]))
    sweep = ul.Sweep([0.1, 1.0], classes=range(4))
    predicted = sweep.learn(X, labels)
    for j, rate in enumerate((0.1, 1.0)):
        alone = ul.OneVsAll(range(4), learning_rate=rate)
        scores = alone.learn(X, labels)
        np.testing.assert_array_equal(predicted[:, j], scores.argmax(axis=1))
        np.testing.assert_allclose(sweep.model(j).predict(X), alone.predict(X), atol=1e-12)
        signs = np.where(labels[:, None] == np.arange(4), 1.0, -1.0)
        np.testing.assert_allclose(sweep.losses[j], np.logaddexp(0, -signs * scores).sum(axis=1).mean())
    assert isinstance(sweep.best, ul.OneVsAll)
    np.testing.assert_allclose(sweep.predict(X), sweep.best.predict(X), atol=1e-12)


def test_one_rate_is_a_sweep_too() -> None:
    X, y, _ = small("nag", "squared")
    sweep = ul.Sweep([0.5])
    np.testing.assert_allclose(
        sweep.learn(X, y)[:, 0], ul.Learner(learning_rate=0.5).learn(X, y), rtol=1e-9, atol=1e-12
    )
    assert sweep.losses.shape == (1,)


def test_a_rate_that_diverges_does_not_take_the_others_along() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, 2.0, 3.0]
    sweep = ul.Sweep([0.01, 1e6], "gd", importance_aware=False, schedule="constant")
    p = sweep.learn(X, y)
    alone = ul.Learner("gd", learning_rate=0.01, importance_aware=False, schedule="constant")
    np.testing.assert_allclose(p[:, 0], alone.learn(X, y), rtol=1e-9, atol=1e-12)
    assert sweep.losses[1] == np.inf
    assert sweep.best_rate == 0.01
    with pytest.raises(ul.DivergedError):
        ul.Sweep([1e6, 1e7], "gd", importance_aware=False, schedule="constant").learn(X, y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rates": []}, "rates is empty"),
        ({"rates": [0.1, 0.0]}, "a rate is 0; it must be positive"),
        ({"rates": [0.1, -1]}, "a rate is -1; it must be positive"),
        ({"rates": [np.inf]}, "a rate is inf"),
        ({"rates": [np.nan]}, "a rate is nan"),
        ({"rates": ["fast"]}, "a rate is 'fast'; it must be a number"),
        ({"rates": 0.5}, "it must be a list"),
        ({"rates": [0.1], "learning_rate": 0.5}, "give them as `rates`"),
        ({"rates": [0.1], "order": "vw"}, "order='vw' is for one learner"),
        ({"rates": [0.1], "classes": ["a"]}, "at least two"),
        ({"rates": [0.1], "classes": ["a", "a"]}, "twice"),
        ({"rates": [0.1], "classes": ["a", "b"], "target": "auto", "loss": "squared"}, "predicts classes"),
    ],
)
def test_bad_options_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ul.OptionError, match=message.replace("(", r"\(")):
        ul.Sweep(**arguments)  # type: ignore[arg-type]


def test_a_fresh_sweep_has_a_best_too() -> None:
    best = ul.Sweep([0.1, 1.0]).best
    assert isinstance(best, ul.Learner)
    assert best.examples == 0


def test_the_best_rate_is_the_one_that_predicts_even_if_means_are_equal() -> None:
    X = np.array([[0.0, -0.75], [1.0, 0.1], [0.0, 0.1]])
    options = {"importance_aware": False, "bias": False, "center": True, "interactions": "ordered"}
    sweep = ul.Sweep([0.02, 0.3, 1.0, 10.0], "nag", "poisson", **options)
    sweep.learn(X, [30.0, 30.0, 30.0])
    assert len(set(sweep.losses)) == 1  # the sums differ by rounding, and their means do not
    row = [[0.0, 0.5]]
    np.testing.assert_allclose(sweep.predict(row), sweep.best.predict(row), rtol=1e-12)
    assert sweep.best_rate == sweep.best.learning_rate


def test_its_task_and_heads_are_those_of_the_models_it_compares() -> None:
    for sweep in (ul.Sweep([0.1]), ul.Sweep([0.1], loss="logistic"), ul.Sweep([0.1, 1.0], classes=["a", "b", "c"])):
        assert (sweep.task, sweep.heads) == (sweep.model(0).task, sweep.model(0).heads)
