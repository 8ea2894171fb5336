"""Offsets: a number per row that is added to the score, before the loss is computed and in every prediction."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import mixture, published
from oracles.averaging import Average
from streams import LOSSES, RULES, labels, same_bits, stream

import unitless as ul
from unitless import _core
from unitless.paper import algorithms as reference

# Every engine: one learner, a grid of learning rates, curves and trees with their mixture.
ENGINES: dict[str, dict[str, Any]] = {
    "single": {},
    "average": {"average": True},
    "rates": {"learning_rate": "auto", "average": True},
    "curves": {"model_type": "curves"},
    "curves only": {"model_type": "curves only"},
    "trees": {"model_type": "trees", "learning_rate": "auto"},
}


def problem(loss: str, rows: int = 240, features: int = 9) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels whose score has a part that is only in the offset."""
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(rows, features)), 2)
    offset = np.where(rng.random(rows) < 0.2, 0.0, 1.5 * rng.normal(size=rows))
    return X, labels(loss, X @ rng.normal(size=features) / 3 + offset, rng), offset


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("aware", [True, False], ids=["aware", "plain"])
def test_core_equals_oracle_with_offsets(rule: str, loss: str, aware: bool) -> None:
    X, y, offset = problem(loss)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(y))
    rate = (0.1 if rule in ("gd", "ag") else 0.5) / (1 if aware else 10)
    expected = reference.run(published.RULES[rule](rate, published.LOSSES[loss], aware), X, y, weight, offset=offset)
    m = ul.Learner(rule, loss, rate, importance_aware=aware, quantile=0.3)
    np.testing.assert_allclose(m.learn(X, y, weight, offset), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_averaged_weights_equal_the_oracles_with_offsets(loss: str) -> None:
    X, y, offset = problem(loss)
    oracle = Average(reference.NAG(0.5, published.LOSSES[loss]))
    reference.run(oracle, X, y, offset=offset)
    m = ul.Learner("nag", loss, average=True)
    m.learn(X, y, offset=offset)
    m.keep("averaged")
    expected = [oracle.predict_one(np.r_[1.0, x], o) for x, o in zip(X[:9], offset[:9], strict=True)]
    np.testing.assert_allclose(m.predict(X[:9], offset[:9]), expected, rtol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", LOSSES)
def test_one_call_many_calls_and_row_by_row_give_the_same_bits(loss: str, engine: str) -> None:
    X, y, offset = problem(loss)
    options = {"loss": loss, **ENGINES[engine]}
    whole, pieces = ul.Learner(**options), ul.Learner(**options)
    p = whole.learn(X, y, offset=offset)
    parts = [pieces.learn(X[a:b], y[a:b], offset=offset[a:b]) for a, b in ((0, 1), (1, 2), (2, 97), (97, 240))]
    assert same_bits(p, np.concatenate(parts))
    assert pickle.dumps(whole) == pickle.dumps(pieces)
    loaded = copy.copy(pieces)
    assert same_bits(whole.learn(X, y, offset=offset), loaded.learn(X, y, offset=offset))
    assert same_bits(whole.predict(X, offset), loaded.predict(X, offset))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", LOSSES)
def test_rows_by_name_one_at_a_time_give_the_same_bits(loss: str, engine: str) -> None:
    X, y, offset = problem(loss, rows=120)
    options = {"loss": loss, **ENGINES[engine]}
    together, alone = ul.Learner(**options), ul.Learner(**options)
    rows = [{f"x{j}": float(x) for j, x in enumerate(row)} for row in X]
    p = together.learn(rows, y, offset=offset)
    one_by_one = [alone.learn_one(x, label, 1.0, o) for x, label, o in zip(rows, y, offset, strict=True)]
    assert same_bits(p, one_by_one)
    q = together.predict(rows, offset)
    assert same_bits(q, [alone.predict_one(x, o) for x, o in zip(rows, offset, strict=True)])


@pytest.mark.parametrize("engine", ["single", "average", "rates"])
@pytest.mark.parametrize("loss", LOSSES)
def test_dense_and_sparse_give_the_same_bits(loss: str, engine: str) -> None:
    X, y, offset = problem(loss)
    options = {"loss": loss, **ENGINES[engine]}
    dense, sparse = ul.Learner(**options), ul.Learner(**options)
    assert same_bits(dense.learn(X, y, offset=offset), sparse.learn(sp.csr_matrix(X), y, offset=offset))
    assert same_bits(dense.predict(X, offset), sparse.predict(sp.csr_matrix(X), offset))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", LOSSES)
def test_predict_gives_what_learn_would_have_predicted(loss: str, engine: str) -> None:
    X, y, offset = problem(loss)
    m = ul.Learner(loss=loss, **ENGINES[engine])
    m.learn(X[:200], y[:200], offset=offset[:200])
    asked = m.predict(X[200:], offset[200:])
    assert same_bits(asked, m.learn(X[200:], y[200:], np.zeros(40), offset[200:]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", LOSSES)
def test_offsets_of_zero_change_no_bit(loss: str, engine: str) -> None:
    X, y, _ = problem(loss)
    with_zeros, without = (ul.Learner(loss=loss, **ENGINES[engine]) for _ in range(2))
    assert same_bits(with_zeros.learn(X, y, offset=np.zeros(len(y))), without.learn(X, y))
    assert pickle.dumps(with_zeros) == pickle.dumps(without)
    assert same_bits(with_zeros.predict(X, np.zeros(len(y))), without.predict(X))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", [None, "auto"])
@pytest.mark.parametrize("loss", ["squared", "quantile"])
def test_an_equal_offset_for_all_rows_is_a_shift_of_the_label(loss: str, target: Any, engine: str) -> None:
    """The labels and the shift have exact sums, so that no bit may differ."""
    X, y, _ = problem(loss)
    y = np.round(y * 2**20) / 2**20
    options = {"loss": loss, "target": target, **ENGINES[engine]}
    plain, shifted = ul.Learner(**options), ul.Learner(**options)
    p = plain.learn(X, y)
    q = shifted.learn(X, y + 1024, offset=np.full(len(y), 1024.0))
    assert same_bits(p + 1024, q)
    assert same_bits(plain.predict(X) + 1024, shifted.predict(X, np.full(len(y), 1024.0)))


@pytest.mark.parametrize("clip", ["labels", None])
def test_limits_are_those_of_labels_less_their_offsets(clip: Any) -> None:
    X, y, _ = problem("squared")
    plain, shifted = ul.Learner(clip=clip), ul.Learner(clip=clip)
    p = plain.learn(X, y)
    np.testing.assert_allclose(shifted.learn(X, y + 64, offset=np.full(len(y), 64.0)), p + 64, rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", LOSSES)
def test_an_empty_model_predicts_the_offset(loss: str, engine: str) -> None:
    X, y, offset = problem(loss)
    m = ul.Learner(loss=loss, **ENGINES[engine])
    np.testing.assert_allclose(m.predict(X, offset), offset, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(m.learn(X[:1], y[:1], offset=offset[:1]), offset[:1], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("engine", ["single", "rates", "trees"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_offsets_that_tell_a_part_of_the_score_help(loss: str, engine: str) -> None:
    X, y, offset = problem(loss, rows=3000)
    losses = []
    for own in (offset, None):
        m = ul.Learner(loss=loss, **ENGINES[engine])
        losses.append(m.losses(m.learn(X, y, offset=own), y)[1500:].mean())
    assert losses[0] < 0.8 * losses[1]


@pytest.mark.parametrize("model_type", ["linear", "trees"])
def test_poisson_with_exposure_learns_the_rate(model_type: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(20_000, 2))
    exposure = rng.uniform(0.05, 2, size=len(X))
    rate = np.exp(-1 + X[:, 0])
    m = ul.Learner(loss="poisson", learning_rate="auto", average=True, model_type=model_type)
    m.learn(X, rng.poisson(rate * exposure), offset=np.log(exposure))
    m.keep("averaged")
    per_year = m._link(m.predict(X))  # without offset: for an exposure of 1
    assert np.mean(np.abs(per_year / rate - 1)) < 0.06
    np.testing.assert_allclose(m._link(m.predict(X[:5], np.log(exposure[:5]))), exposure[:5] * per_year[:5], rtol=1e-9)


def test_a_sweep_learns_each_rate_with_offsets() -> None:
    for loss in ("squared", "poisson"):
        X, y, offset = problem(loss)
        sweep = ul.Sweep([0.25, 0.5], loss=loss)
        p = sweep.learn(X, y, offset=offset)
        for k, rate in enumerate((0.25, 0.5)):
            alone = ul.Learner(loss=loss, learning_rate=rate)
            np.testing.assert_allclose(p[:, k], alone.learn(X, y, offset=offset), rtol=1e-9)
        best = sweep.best
        np.testing.assert_allclose(sweep.predict(X, offset), best.predict(X, offset), rtol=1e-9)
        row = {f"x{j}": 1.0 for j in range(3)}
        named = ul.Sweep([0.5], loss=loss)
        assert named.learn_one(row, 1.0, 1.0, 0.75)[0] == 0.75
        fresh = ul.Sweep([0.5], loss=loss)
        assert fresh.predict_one(row, 0.75) == 0.75


def test_core_and_oracle_mixtures_agree_with_offsets() -> None:
    rng = np.random.default_rng(3)
    ours, theirs = _core.Mixture("logistic", 3), mixture.Mixture("logistic", 3)
    for _ in range(300):
        z, offset = rng.normal(), float(3 * rng.normal())
        y = 1.0 if rng.random() < 1 / (1 + np.exp(-z - offset)) else -1.0
        members = (z * np.array([1, 0.7, 1.4]) + 0.5 * rng.normal(size=3) + offset)[:, None]
        np.testing.assert_allclose(ours.say(members, offset), theirs.say(members, offset), rtol=1e-9, atol=1e-12)
        ours.learn(members, y, offset=offset)
        theirs.learn(members, y, offset=offset)


def test_stackers_do_not_weigh_the_offset() -> None:
    """Members predict 0 without the offset: the prediction stays near it, however many rows are learned.

    Labels are random, so that stackers that weigh the offset predict 0. The last label moves predictions a little.
    """
    rng = np.random.default_rng(0)
    both = _core.Mixture("logistic", 2)
    for _ in range(200):
        offset = float(2 * rng.normal())
        members = np.full((2, 1), offset)
        np.testing.assert_allclose(both.say(members, offset), offset, rtol=0.05, atol=0.3)
        both.learn(members, 1.0 if rng.random() < 0.5 else -1.0, offset=offset)


def test_models_with_offsets_are_merged() -> None:
    X, y, offset = problem("poisson", rows=4000)
    parts = [ul.Learner(loss="poisson") for _ in range(2)]
    for k, m in enumerate(parts):
        m.learn(X[k::2], y[k::2], offset=offset[k::2])
    merged = ul.merge(parts)
    assert (
        merged.losses(merged.predict(X, offset), y).mean()
        < 1.2 * parts[0].losses(parts[0].predict(X, offset), y).mean()
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_offset_that_is_not_finite_is_an_error_with_its_row(engine: str, value: float) -> None:
    X, y, offset = problem("squared")
    m = ul.Learner(**ENGINES[engine])
    m.learn(X, y, offset=offset)
    before = pickle.dumps(m)
    offset[7] = value
    with pytest.raises(ul.InputError, match=rf"offset is {value} at row 7; offsets must be finite"):
        m.learn(X, y, offset=offset)
    with pytest.raises(ul.InputError, match=rf"offset is {value} at row 7; offsets must be finite"):
        m.predict(X, offset)
    named = ul.Learner(**ENGINES[engine])
    with pytest.raises(ul.InputError, match=rf"offset is {value}; offsets must be finite"):
        named.learn_one({"a": 1.0}, 1.0, 1.0, value)
    with pytest.raises(ul.InputError, match=rf"offset is {value}; offsets must be finite"):
        named.predict_one({"a": 1.0}, value)
    assert pickle.dumps(m) == before
    assert named.examples == 0


def test_offsets_must_be_one_per_row() -> None:
    X, y, _ = problem("squared")
    with pytest.raises(ul.InputError, match="offset has 3 values"):
        ul.Learner().learn(X, y, offset=[1.0, 2.0, 3.0])
    with pytest.raises(ul.InputError, match="offset is 'red'"):
        ul.Learner().learn_one({"a": 1.0}, 1.0, 1.0, "red")


def test_several_classes_have_no_offsets() -> None:
    X, _, offset = problem("squared")
    sweep = ul.Sweep([0.5], classes=["a", "b"])
    with pytest.raises(ul.InputError, match="a model of several classes has no offsets"):
        sweep.learn(X, ["a", "b"] * 120, offset=offset)


def test_scales_from_1e_12_to_1e12_do_not_matter_with_an_offset() -> None:
    X, y = stream("logistic")
    offset = np.random.default_rng(0).normal(size=len(y))
    scaled = X * np.ldexp(1.0, np.arange(X.shape[1]) * 9 - 40)
    a, b = ul.Learner(loss="logistic"), ul.Learner(loss="logistic")
    assert same_bits(a.learn(X, y, offset=offset), b.learn(scaled, y, offset=offset))
