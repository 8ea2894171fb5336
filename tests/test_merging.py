"""Merging: a commutative monoid, to rounding, without units."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from streams import RULES, UNIT_FREE, stream

import unitless as ul

KINDS = [(rule, bounded) for rule in RULES for bounded in (False, True)]


def shards(rule: str, count: int = 3, **options: object) -> list[ul.Learner]:
    baseline = rule in ("gd", "ag")
    X, y = stream(rows=600, spread=0.5 if baseline else 6, growth=not baseline)
    learners = []
    for part in np.array_split(np.arange(len(y)), count):
        m = ul.Learner(rule, learning_rate=0.1, **options)
        m.learn(X[part], y[part])
        learners.append(m)
    return learners


def numbers(m: ul.Learner) -> np.ndarray:
    state = m._snapshot()
    return np.concatenate([state["scale"], state["v"], state["H"], [state["N"], state["t"], state["examples"]]])


def close(a: ul.Learner, b: ul.Learner) -> None:
    np.testing.assert_allclose(numbers(a), numbers(b), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("rule", "bounded"), KINDS)
def test_merge_is_associative(rule: str, bounded: bool) -> None:
    a, b, c = shards(rule)
    left = ul.merge([ul.merge([a, b], bounded=bounded), c], bounded=bounded)
    right = ul.merge([a, ul.merge([b, c], bounded=bounded)], bounded=bounded)
    close(left, right)
    close(left, ul.merge([a, b, c], bounded=bounded))


@pytest.mark.parametrize(("rule", "bounded"), KINDS)
def test_merge_is_commutative(rule: str, bounded: bool) -> None:
    learners = shards(rule)
    first = ul.merge(learners, bounded=bounded)
    for order in itertools.permutations(learners):
        close(first, ul.merge(order, bounded=bounded))


@pytest.mark.parametrize(("rule", "bounded"), KINDS)
def test_the_empty_model_is_neutral(rule: str, bounded: bool) -> None:
    (m,) = shards(rule, 1)
    empty = ul.Learner(rule, learning_rate=0.1)
    for merged in (ul.merge([m, empty], bounded=bounded), ul.merge([empty, m], bounded=bounded), ul.merge([m])):
        close(m, merged)
        assert merged.options == m.options


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("rule", UNIT_FREE)
def test_merging_is_unit_free_to_the_bit(rule: str, bounded: bool) -> None:
    X, y = stream(rows=300, features=6, spread=3)
    powers = np.ldexp(1.0, [-700, -100, 3, 0, 90, 800])
    merged = []
    for units in (np.ones(6), powers):
        parts = [ul.Learner(rule), ul.Learner(rule)]
        parts[0].learn(X[:100] * units, y[:100])
        parts[1].learn(X[100:] * units, y[100:])
        merged.append(ul.merge(parts, bounded=bounded))
    a, b = (m._snapshot() for m in merged)
    for key in ("v", "H"):
        assert a[key].tobytes() == b[key].tobytes()
    assert (a["N"], a["t"]) == (b["N"], b["t"])
    assert merged[0].predict(X).tobytes() == merged[1].predict(X * powers).tobytes()


@pytest.mark.parametrize("rule", ["ng", "nag", "snag"])
def test_merged_shards_predict_nearly_as_well_as_one_stream(rule: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16_000, 10)) * 10.0 ** rng.uniform(-4, 4, size=10)
    y = X @ (rng.normal(size=10) / np.abs(X).max(0)) * 5 + 0.1 * rng.normal(size=len(X))
    train, test = slice(0, 12_000), slice(12_000, None)
    one = ul.Learner(rule, learning_rate=4)
    one.learn(X[train], y[train])
    parts = []
    for rows in np.array_split(np.arange(12_000), 8):
        m = ul.Learner(rule, learning_rate=4)
        m.learn(X[rows], y[rows])
        parts.append(m)

    def error(m: ul.Learner) -> float:
        return float(np.mean((m.predict(X[test]) - y[test]) ** 2))

    assert error(ul.merge(parts)) < 1.2 * error(one)
    assert error(ul.merge(parts)) < np.mean([error(m) for m in parts])


@pytest.mark.parametrize("rule", ["nag", "snag"])
def test_bounded_merging_keeps_the_bound_of_its_parts(rule: str) -> None:
    parts = shards(rule, 4)
    bounds = [sum(m.importance.values()) for m in parts]
    assert sum(ul.merge(parts, bounded=True).importance.values()) <= max(bounds) * (1 + 1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_increments_since_a_common_base(rule: str) -> None:
    baseline = rule in ("gd", "ag")
    X, y = stream(rows=900, spread=0.5 if baseline else 6, growth=False)
    base = ul.Learner(rule, learning_rate=0.1)
    base.learn(X[:300], y[:300])
    a, b = base.copy(), base.copy()
    a.learn(X[300:600], y[300:600])
    b.learn(X[600:], y[600:])
    merged = ul.merge([a, b], base=base)
    assert merged.examples == 900
    assert merged.total_weight == 900
    # Nothing learned since: the base itself. One part alone: that part.
    close(ul.merge([base.copy(), base.copy()], base=base), base)
    close(ul.merge([a, base.copy()], base=base), a)
    # What both knew is counted once, not twice.
    both, twice = merged._snapshot(), ul.merge([a, b])._snapshot()
    assert both["N"] < twice["N"]


def test_models_with_names_merge_by_name() -> None:
    a, b = ul.Learner(), ul.Learner()
    for _ in range(50):
        a.learn_one({"x": 1.0, "y": 2.0}, 1.0)
        b.learn_one({"y": 2.0, "z": 3.0}, 1.0)
    merged = ul.merge([a, b])
    assert set(merged.weights) == {ul.BIAS, "x", "y", "z"}
    assert merged.weights["x"] == pytest.approx(a.weights["x"], rel=1e-12)
    assert merged.weights["z"] == pytest.approx(b.weights["z"], rel=1e-12)
    assert merged.scales["y"] == 2.0


def test_hashed_models_merge_by_slot() -> None:
    a, b = ul.Learner(bits=10), ul.Learner(bits=10)
    a.learn_one({"x": 1.0}, 1.0)
    b.learn_one({"y": 1.0}, 1.0)
    assert set(ul.merge([a, b]).weights) == set(a.weights) | set(b.weights)


def test_a_merged_model_saves_loads_and_learns_on(tmp_path: object) -> None:
    merged = ul.merge(shards("nag", precision="float32"))
    merged.save(f"{tmp_path}/m.unitless")
    X, y = stream(spread=6)
    assert ul.load(f"{tmp_path}/m.unitless").learn(X, y).tobytes() == merged.learn(X, y).tobytes()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: [], "nothing to merge"),
        (lambda: [ul.Learner(), ul.Learner("snag")], "differ in rule"),
        (lambda: [ul.Learner(loss="hinge"), ul.Learner(loss="logistic")], "differ in loss"),
        (lambda: [trained([[1.0]]), trained([[1.0, 2.0]])], "number of columns"),
        (lambda: [trained([[1.0]]), trained([{"a": 1.0}])], "others by name"),
        (lambda: [labelled(0), labelled(-1)], "negative labels"),
    ],
)
def test_models_that_do_not_fit_are_refused(make: object, message: str) -> None:
    with pytest.raises(ul.MergeError, match=message):
        ul.merge(make())  # type: ignore[operator]


def trained(X: object) -> ul.Learner:
    m = ul.Learner()
    m.learn(X, [1.0])
    return m


def labelled(label: int) -> ul.Learner:
    m = ul.Learner(loss="logistic")
    m.learn([[1.0]], [label])
    return m
