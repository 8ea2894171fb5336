"""The average of the weights: its definition, its independence of how rows are passed, and the methods that use it."""

from __future__ import annotations

import itertools
import json
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles import published
from oracles.averaging import Average
from streams import RULES, UNIT_FREE, stream
from test_oracle import problem, weight_pattern

import unitless as ul
from unitless.export import linear
from unitless.paper import algorithms as reference

NAMES = tuple("abcdefghijk")
MODELS: dict[str, dict[str, Any]] = {
    "one rate": {},
    "automatic rate": {"learning_rate": "auto"},
    "hashed": {"bits": 9},
    "products": {"interactions": 2, "learning_rate": 0.1},
    "target": {"target": "auto", "learning_rate": "auto"},
    "snag": {"rule": "snag"},
    "ng": {"rule": "ng", "learning_rate": 0.1},
}


def averaged(model: Any) -> Any:
    """Copy a learner, with averaged weights turned on."""
    copy = model.copy()
    copy.keep("averaged")
    return copy


def mappings(X: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]


# ------------------------------------------------------------------------------------------------- what it is


@pytest.mark.parametrize("weights", ["none", "zeros", "fractions"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("rule", RULES)
def test_the_average_is_the_oracles(rule: str, loss: str, weights: str) -> None:
    X, y, rate = problem(rule, loss)  # some scales jump by more than sixteen, others by less
    weight = weight_pattern(weights, len(y))
    for bits in (None, 10):
        slots = 0 if bits is None else 2**bits
        oracle = Average(published.RULES[rule](rate, published.LOSSES[loss]), slots)
        reference.run(oracle, X, y, weight)
        m = ul.Learner(rule, loss, rate, average=True, bits=bits)
        m.learn(X, y, weight)
        m.keep("averaged")
        expected = np.array([oracle.predict_one(np.array([1.0, *x])) for x in 2 * X])
        size = np.maximum(np.abs(expected), np.sqrt(np.mean(expected**2)))
        assert np.max(np.abs(m.predict(2 * X) - expected) / size) < 1e-11
        if bits is None:
            np.testing.assert_allclose(list(m.weights.values()), oracle.w, rtol=1e-8, atol=0)


def test_without_growing_scales_it_is_the_mean_of_the_weights_by_time() -> None:
    rng = np.random.default_rng(0)
    # the scale is 1 from the first row on; the average is updated at every row
    X = rng.choice([-1.0, 1.0], size=(60, 3))
    y = X @ [1.0, 2.0, -1.0] + rng.normal(size=60)
    m, w = ul.Learner(average=True), []
    for r in range(60):
        m.learn(X[r : r + 1], y[r : r + 1])
        w.append(list(m.weights.values()))
    m.keep("averaged")
    times = np.arange(1, 61)
    expected = np.average(w, axis=0, weights=times**2 - (times - 1) ** 2)
    np.testing.assert_allclose(list(m.weights.values()), expected, rtol=1e-13)


def test_a_scale_that_jumps_does_not_carry_old_weights_into_another_unit() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = X @ [1.0, 1.0] + 0.1 * rng.normal(size=4000)
    X[2000:, 0] *= 1000.0  # from meters to millimeters
    m = ul.Learner(average=True, learning_rate=2.0)
    m.learn(X[:3500], y[:3500])
    m.keep("averaged")
    assert np.mean((m.predict(X[3500:]) - y[3500:]) ** 2) < 0.2


def test_noise_averages_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 5)) * 10.0 ** rng.integers(-6, 6, size=5)
    truth = X / X.std(axis=0) @ rng.normal(size=5)
    m = ul.Learner(learning_rate=3, average=True)
    m.learn(X, truth + 3 * rng.normal(size=5000))
    last = np.mean((m.predict(X) - truth) ** 2)
    assert np.mean((averaged(m).predict(X) - truth) ** 2) < last / 3


@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_before_the_first_look_the_last_weights_stand_for_it(rate: Any) -> None:
    X, y = stream(rows=127)
    m = ul.Learner(average=True, bits=11, learning_rate=rate)  # 2**11/16 examples
    m.learn(X, y)
    assert (averaged(m).predict(X) == m.predict(X)).all()
    assert averaged(m).importance == m.importance
    m.learn(X[:1], y[:1])
    assert (averaged(m).predict(X) == m.predict(X)).all()  # when it is updated, the average equals the weights
    m.learn(X[:5], y[:5])
    assert (averaged(m).predict(X) != m.predict(X)).any()


# ------------------------------------------------------------------------------------------------- however rows come


def data(options: dict[str, Any], rows: int = 900) -> tuple[np.ndarray, np.ndarray]:
    return stream(rows=rows, spread=3, growth=True, seed=len(options))


@pytest.mark.parametrize("name", MODELS)
def test_one_call_many_calls_and_all_kinds_of_rows_give_the_same_average(name: str, kernel: str) -> None:
    options = MODELS[name]
    X, y = data(options)
    weight = np.where(np.arange(len(y)) % 5 == 2, 0.0, np.arange(len(y)) % 3 + 0.5)
    models: dict[str, Any] = {
        how: ul.Learner(average=True, **options) for how in ("whole", "cut", "rows", "columns", "sparse")
    }
    models["whole"].learn(X, y, weight)
    for a, b in itertools.pairwise((0, 1, 64, 65, 66, 300, 517, 900)):
        models["cut"].learn(X[a:b], y[a:b], weight[a:b])
        kind = sp.csr_matrix if (a % 2) else np.asfortranarray
        models["sparse"].learn(kind(X[a:b]), y[a:b], weight[a:b])
        models["columns"].learn(X[a:b].astype(object).astype(float, order="F"), y[a:b], weight[a:b])
    for r in range(len(y)):
        models["rows"].learn(X[r : r + 1], y[r : r + 1], weight[r : r + 1])
    states = {pickle.dumps(model) for model in models.values()}
    assert len(states) == 1
    ask = averaged(models["whole"])
    assert (ask.predict(3 * X) == ask.predict(sp.csr_matrix(3 * X))).all()
    assert (ask.predict(3 * X, extrapolate=True) == ask.predict(np.asfortranarray(3 * X), extrapolate=True)).all()


@pytest.mark.parametrize("name", MODELS)
def test_names_frames_and_single_rows_give_the_same_average(name: str) -> None:
    options = MODELS[name]
    X, y = data(options)
    rows, frame = mappings(X), pd.DataFrame(X, columns=list(NAMES))
    named, framed, single, mixed = (ul.Learner(average=True, **options) for _ in range(4))
    named.learn(rows, y)
    framed.learn(frame, y)
    for row, label in zip(rows, y.tolist(), strict=True):
        single.learn_one(row, label)
        mixed.learn_one(row, label)
        mixed.predict_one(row)
        mixed.keep("averaged" if mixed.kept == "last" else "last")
    mixed.keep("last")
    assert len({pickle.dumps(model) for model in (named, framed, single, mixed)}) == 1
    single.keep("averaged")
    framed.keep("averaged")
    assert [single.predict_one(row) for row in rows] == framed.predict(frame).tolist()
    assert [single.predict_one(row) for row in rows[::-1]] == framed.predict(frame).tolist()[::-1]


@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_single_rows_follow_what_is_kept(rate: Any) -> None:
    X, y = stream(rows=600, spread=2)
    rows, frame = mappings(X), pd.DataFrame(X, columns=list(NAMES))
    m = ul.Learner(average=True, learning_rate=rate)
    for row, label in zip(rows[:-1], y.tolist()[:-1], strict=True):
        m.learn_one(row, label)
    seen = {}
    for kept in ("last", "averaged", "last", "averaged"):
        m.keep(kept)
        said = m.predict_one(rows[-1])
        assert seen.setdefault(kept, said) == said == m.predict(frame[-1:])[0]
    assert seen["last"] != seen["averaged"]
    progressive = m.learn_one(rows[-1], y[-1])  # learning predicts with the last weights
    assert progressive == seen["last"]


@pytest.mark.parametrize("rule", UNIT_FREE)
@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_powers_of_two_change_no_bit_of_the_average(rule: str, rate: Any) -> None:
    X, y = stream(rows=700, spread=3)
    units = np.ldexp(1.0, np.arange(X.shape[1]) * 17 - 80)
    a, b = (ul.Learner(rule, learning_rate=rate, average=True) for _ in range(2))
    a.learn(X, y)
    b.learn(X * units, y)
    assert (averaged(a).predict(3 * X) == averaged(b).predict(3 * X * units)).all()
    assert averaged(a).importance == averaged(b).importance


def test_bad_rows_change_nothing_of_the_average() -> None:
    X, y = stream(rows=500)
    m = ul.Learner(average=True)
    m.learn(X[:200], y[:200])
    before = pickle.dumps(m)
    bad = X[200:].copy()
    bad[250, 3] = np.nan
    for rows in (bad, np.asfortranarray(bad), pd.DataFrame(bad)):
        with pytest.raises(ul.InputError):
            m.learn(rows, y[200:])
        assert pickle.dumps(m) == before


@pytest.mark.parametrize("rate", [1e-3, "auto"])
def test_what_was_learned_before_divergence_is_averaged(rate: Any) -> None:
    X, y = stream(rows=300, spread=1, growth=False)
    wild = X.copy()
    wild[200] = 1e200
    a, b = (ul.Learner("gd", average=True, learning_rate=rate, importance_aware=False) for _ in range(2))
    with pytest.raises(ul.DivergedError):
        a.learn(wild, y)
    b.learn(X[: a.examples], y[: a.examples])
    assert a.examples > 0
    np.testing.assert_array_equal(averaged(a).predict(X), averaged(b).predict(X))


# ------------------------------------------------------------------------------------------------- lanes and classes


def test_rates_keep_their_average_when_others_are_dropped() -> None:
    X, y = stream(rows=3000, spread=3, growth=False)
    whole, parts = (ul.Learner(learning_rate="auto", average=True) for _ in range(2))
    whole.learn(X, y)
    for a in range(0, 3000, 97):
        parts.learn(X[a : a + 97], y[a : a + 97])
    assert len(whole.rates) < 16
    assert pickle.dumps(whole) == pickle.dumps(parts)
    alone = ul.Learner(learning_rate=whole.learning_rate, average=True)
    alone.learn(X, y)
    np.testing.assert_allclose(whole.predict(X), alone.predict(X), rtol=1e-9, atol=1e-12)  # it led from the beginning
    np.testing.assert_allclose(averaged(whole).predict(X), averaged(alone).predict(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_a_class_that_joins_late_has_the_average_that_it_would_have_had(rate: Any) -> None:
    X, score = stream(rows=3000, spread=3)
    y = np.where(score > 0.5, "high", np.where(score < -0.5, "low", "middle")).astype(object)
    y[:1500] = np.where(score[:1500] > 0, "high", "low")
    joined, named = ul.OneVsAll(learning_rate=rate, average=True), None
    joined.learn(X[:1500], y[:1500])
    joined.learn(X[1500:], y[1500:])
    named = ul.OneVsAll(joined.classes, learning_rate=rate, average=True)
    named.learn(X, y)
    assert (averaged(joined).predict(X) == averaged(named).predict(X)).all()
    assert (averaged(joined).predict(X) != joined.predict(X)).any()
    assert (averaged(joined).predict_label(X) == averaged(named).predict_label(X)).all()


def test_the_models_of_a_sweep_have_their_averages() -> None:
    X, y = stream(rows=700, spread=2)
    sweep = ul.Sweep([0.1, 0.5, 2.0], average=True)
    sweep.learn(X, y)
    for index, rate in enumerate(sweep.rates):
        alone = ul.Learner(learning_rate=float(rate), average=True)
        alone.learn(X, y)
        np.testing.assert_allclose(averaged(sweep.model(index)).predict(X), averaged(alone).predict(X), rtol=1e-9)
    sweep.keep("averaged")
    assert sweep.best.kept == "averaged"
    np.testing.assert_allclose(sweep.predict(X), sweep.best.predict(X), rtol=1e-12)


# ------------------------------------------------------------------------------------------------- who reads it


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("extra", [{}, {"center": True, "target": "auto"}, {"interactions": 2}])
def test_weights_explanations_and_exports_are_of_what_is_kept(rule: str, extra: dict[str, Any]) -> None:
    X, y = stream(rows=400, spread=0.3, features=4, growth=False)
    m = ul.Learner(rule, learning_rate=0.1, average=True, **extra)
    m.learn(X, y)
    last = m.weights
    m.keep("averaged")
    weights = m.weights
    assert weights != last
    expected = np.full(len(X), weights["(bias)"])
    for name, w in weights.items():
        if name != "(bias)":
            columns = [int(part) for part in str(name).split("*")]
            expected += w * np.prod(X[:, columns], axis=1)
    np.testing.assert_allclose(m.predict(X, extrapolate=True), expected, rtol=1e-9, atol=1e-11)
    exported = linear.linear(m, extrapolate=False)
    assert exported.coefficients.shape == (4, 1)
    last_exported = linear.linear(_kept(m, "last"), extrapolate=False)
    assert (exported.coefficients != last_exported.coefficients).any()
    assert ul.explain(m, X[7]).prediction == pytest.approx(m.predict(X[7:8])[0], rel=1e-9)


def _kept(model: Any, kept: Any) -> Any:
    copy = model.copy()
    copy.keep(kept)
    return copy


def test_importance_follows_what_is_kept() -> None:
    X, y = stream(rows=400, spread=3)
    m = ul.OneVsAll(["a", "b"], average=True)
    m.learn(X, np.where(y > 0, "a", "b"))
    assert averaged(m).importance != m.importance
    assert averaged(m).learning_rate == m.learning_rate  # the same rate leads
    assert averaged(m).scales == m.scales


# ------------------------------------------------------------------------------------------------- the option


def test_only_models_that_average_keep_an_average() -> None:
    m = ul.Learner()
    assert m.kept == "last"
    m.keep("last")
    with pytest.raises(ul.OptionError, match="does not average its weights; make it with average=True"):
        m.keep("averaged")
    with pytest.raises(ul.OptionError, match="kept is 'best'; it must be one of 'last', 'averaged'"):
        ul.Learner(average=True).keep("best")  # type: ignore[arg-type]
    with pytest.raises(ul.OptionError, match="average"):
        ul.Learner(average="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_averaging_does_not_touch_learning(rate: Any) -> None:
    X, y = stream(rows=1500)
    a, b = ul.Learner(learning_rate=rate), ul.Learner(learning_rate=rate, average=True)
    assert (a.learn(X, y) == b.learn(X, y)).all()
    assert (a.predict(X) == b.predict(X)).all()
    b.keep("averaged")
    assert (a.learn(X, y) == b.learn(X, y)).all()
    assert a.rates == b.rates or np.isnan(list(a.rates.values())).all()


@pytest.mark.parametrize("average", [False, True])
def test_a_file_says_which_weights_predict_and_since_when(average: bool, tmp_path: Path) -> None:
    m = ul.Learner(average=average)
    m.learn([[1.0], [2.0]], [1.0, 2.0])
    m.save(tmp_path / "m.unitless")
    content = (tmp_path / "m.unitless").read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    about = json.loads(header["__metadata__"]["unitless"])
    assert about["options"]["average"] is average
    expected = ("last", "0x1.0000000000000p+1", 3) if average else ("last", "0x0.0p+0", 0)
    assert tuple(about[name] for name in ("kept", "averaged_t", "next_look")) == expected
    assert [header[name]["shape"] for name in ("average", "average_scale")] == [[2 * average]] * 2


@pytest.mark.parametrize("kept", ["last", "averaged"])
@pytest.mark.parametrize("name", MODELS)
def test_saving_in_mid_stream_is_invisible(name: str, kept: Any, tmp_path: Path) -> None:
    options = MODELS[name]
    X, y = data(options)
    whole, m = (ul.Learner(average=True, **options) for _ in range(2))
    whole.learn(X, y)
    whole.keep(kept)
    m.keep(kept)
    for a, b in itertools.pairwise((0, 3, 101, 102, 650, 900)):
        m.learn(X[a:b], y[a:b])
        m.save(tmp_path / "m.unitless")
        m = ul.load(tmp_path / "m.unitless")
        assert m.kept == kept
    assert pickle.dumps(m) == pickle.dumps(whole)
    assert (m.predict(X) == whole.predict(X)).all()


@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_a_model_goes_back_to_a_state_that_it_was_in(rate: Any) -> None:
    X, y = stream(rows=2400, spread=3)
    rows = mappings(X)
    m = ul.OneVsAll(learning_rate=rate, average=True)
    labels = np.where(y > 0, "a", "b").astype(object)
    m.learn(rows[:1200], labels[:1200])
    m.keep("averaged")
    there, before = m._remember(), pickle.dumps(m)
    labels[2000:] = "c"
    rows[-1]["another"] = 3.0
    m.learn(rows[1200:], labels[1200:])
    for row in rows[-5:]:
        m.learn_one({**row, "more": 1.0}, "d")
    m.keep("last")
    m._go_back(there)
    assert sorted(map(str, m.classes)) == ["a", "b"]
    assert pickle.dumps(m) == before
    twin = pickle.loads(before)
    for row, label in zip(rows[1200:1300], labels[1200:1300], strict=True):
        assert (m.learn_one(row, label) == twin.learn_one(row, label)).all()
    assert pickle.dumps(m) == pickle.dumps(twin)


def test_going_back_forgets_the_places_of_names() -> None:
    m = ul.Learner(average=True)
    m.learn_one({"a": 1.0}, 1.0)
    there = m._remember()
    for _ in range(4):
        m.learn_one({"b": 2.0, "a": 1.0}, 3.0)
    m._go_back(there)
    fresh = pickle.loads(pickle.dumps(m))
    for row in ({"c": 1.0, "a": 1.0}, {"b": 2.0, "a": 1.0}, {"b": 2.0, "a": 1.0}):
        assert m.learn_one(row, 2.0) == fresh.learn_one(row, 2.0)
    assert pickle.dumps(m) == pickle.dumps(fresh)


def test_an_invalid_state_changes_nothing() -> None:
    X, y = stream(rows=100)
    m = ul.Learner(average=True)
    m.learn(X, y)
    before, state = pickle.dumps(m), m._snapshot()
    for name, value in (
        ("average", np.zeros(3)),
        ("average_scale", np.zeros(3)),
        ("averaged_t", -1.0),
        ("averaged_t", 1e9),
        ("averaged_t", np.nan),
        ("v", np.zeros(1)),
    ):
        with pytest.raises(ul.InputError):
            m._restore({**state, name: value})  # type: ignore[misc]
        assert pickle.dumps(m) == before


def test_threads_may_change_what_is_kept() -> None:
    X, y = stream(rows=300, spread=2)
    m = ul.Learner(average=True, learning_rate="auto")
    m.learn(X, y)
    known = {m.predict(X).tobytes(), averaged(m).predict(X).tobytes()}
    assert len(known) == 2
    seen: list[bytes] = []

    def ask() -> None:
        seen.extend(m.predict(X).tobytes() for _ in range(200))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(400):
        m.keep("averaged" if i % 2 else "last")
    for thread in threads:
        thread.join()
    assert set(seen) <= known


# ------------------------------------------------------------------------------------------------- merging


def numbers(m: Any) -> np.ndarray:
    state = m._snapshot()
    arrays = [state[key] for key in ("v", "H", "average", "average_scale")]
    return np.concatenate([*arrays, [state[key] for key in ("averaged_t", "next_look", "t", "missed")]])


@pytest.mark.parametrize("extra", [{}, {"learning_rate": "auto"}, {"bits": 12}])
@pytest.mark.parametrize("rule", RULES)
def test_merging_averages_is_associative_and_commutative(rule: str, extra: dict[str, Any]) -> None:
    baseline = rule in ("gd", "ag")
    X, y = stream(rows=600, spread=0.5 if baseline else 6, growth=not baseline)
    parts = []
    for rows in np.array_split(np.arange(600), [150, 450]):  # with bits, some of them have not begun to average
        m = ul.Learner(**{"rule": rule, "learning_rate": 0.1, "average": True, **extra})
        m.learn(X[rows], y[rows])
        m.keep("averaged")
        parts.append(m)
    a, b, c = parts
    first = ul.merge(parts)
    empty = ul.Learner(**first.options.asdict())
    others = [[ul.merge([a, b]), c], [a, ul.merge([b, c])], [c, a, b], [a, b, empty, c]]
    for merged in map(ul.merge, others):
        np.testing.assert_allclose(numbers(merged), numbers(first), rtol=1e-11, atol=1e-13)
        assert merged.kept == "averaged"
    np.testing.assert_allclose(ul.merge([a]).predict(X), a.predict(X), rtol=1e-9, atol=1e-12)
    c.keep("last")
    assert ul.merge([a, ul.merge([b, c])]).kept == ul.merge([ul.merge([a, b]), c]).kept == "last"


@pytest.mark.parametrize("extra", [{}, {"center": True, "target": "auto"}, {"rule": "snag"}])
def test_a_merged_average_predicts_like_its_parts(extra: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3)) * [1e-3, 1, 1e3] + [1e-3, 0, 1e3]
    y = X @ [1e3, 1.0, -1e-3] + 5
    parts = []
    for rows in np.array_split(np.arange(4000), 4):
        m = ul.Learner(average=True, learning_rate=1.0, **extra)
        m.learn(X[rows], y[rows])
        m.keep("averaged")
        parts.append(m)
    merged = ul.merge(parts)
    worst = max(float(np.mean((m.predict(X) - y) ** 2)) for m in parts)
    assert np.mean((merged.predict(X) - y) ** 2) < 1.5 * worst + 1e-6
    merged.learn(X, y)
    assert np.mean((merged.predict(X) - y) ** 2) < worst


def test_models_with_and_without_an_average_do_not_merge() -> None:
    with pytest.raises(ul.MergeError, match="the models differ in average: False and True"):
        ul.merge([ul.Learner(), ul.Learner(average=True)])


# ------------------------------------------------------------------------------------------------- suspended choices


@pytest.mark.parametrize("model", [ul.Learner, ul.OneVsAll])
def test_rates_stay_as_they_are_while_they_are_not_chosen(model: Any, tmp_path: Path) -> None:
    X, score = stream(rows=3000, spread=3)
    y = np.where(score > 0, 1.0, -1.0)
    m = model(loss="logistic", learning_rate="auto", average=True)
    m.learn(X, y)
    m._choose_rates(False)
    before, rates = m._snapshot(), m.rates
    twin = m.copy()
    for a in range(0, 3000, 500):
        m.learn(X[a : a + 500], y[a : a + 500])
        m.save(tmp_path / "m.unitless")
        m = ul.load(tmp_path / "m.unitless")
        assert not m._chooses_rates
    twin.learn(X, y)
    assert pickle.dumps(m) == pickle.dumps(twin)
    after = m._snapshot()
    for name in ("scores", "followed", "lane_rates", "lane_heads"):
        assert (before[name] == after[name]).all()  # type: ignore[literal-required]
    assert m.rates == rates
    assert (before["v"] != after["v"]).any()  # but all of them continue learning
    m._choose_rates(True)
    m.learn(X, y)
    assert (m._snapshot()["scores"] != after["scores"]).any()
    losses = list(m.rates.values()) if model is ul.Learner else [x for r in m.rates.values() for x in r.values()]
    assert min(losses) == pytest.approx(min(list(rates.values()) if model is ul.Learner else losses), rel=0.5)


def test_the_leader_that_diverges_while_rates_are_not_chosen_is_an_error() -> None:
    X, y = stream(rows=300, spread=1, growth=False)
    m = ul.Learner("gd", learning_rate="auto", importance_aware=False)
    m.learn(X, y)
    m._choose_rates(False)
    with pytest.raises(ul.DivergedError):
        m.learn(X * 1e200, y)


def test_the_losses_of_a_sweep_stay_what_they_were() -> None:
    X, y = stream(rows=600, spread=2)
    m = ul.Sweep([0.1, 1.0], loss="logistic")
    y = np.where(y > 0, 1.0, -1.0)
    m.learn(X, y)
    losses, errors = m.losses, m.errors
    m._choose_rates(False)
    m.learn(X, y)
    assert (m.losses == losses).all()
    assert (m.errors == errors).all()
    half = ul.merge([m, m])
    np.testing.assert_allclose(half.losses, losses, rtol=1e-14)
    assert not half._chooses_rates
    m._choose_rates(True)
    np.testing.assert_allclose(ul.merge([m, half]).losses, losses, rtol=1e-14)
    assert ul.merge([m, half])._chooses_rates
