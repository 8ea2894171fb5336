"""Merging is a commutative monoid up to rounding, and does not depend on units."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from streams import RULES, UNIT_FREE, stream

import unitless as ul

KINDS = [(rule, bounded) for rule in RULES for bounded in (False, True)]


def partitions(rule: str, count: int = 3, **options: object) -> list[ul.Learner]:
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
    a, b, c = partitions(rule)
    left = ul.merge([ul.merge([a, b], bounded=bounded), c], bounded=bounded)
    right = ul.merge([a, ul.merge([b, c], bounded=bounded)], bounded=bounded)
    close(left, right)
    close(left, ul.merge([a, b, c], bounded=bounded))


@pytest.mark.parametrize(("rule", "bounded"), KINDS)
def test_merge_is_commutative(rule: str, bounded: bool) -> None:
    learners = partitions(rule)
    first = ul.merge(learners, bounded=bounded)
    for order in itertools.permutations(learners):
        close(first, ul.merge(order, bounded=bounded))


@pytest.mark.parametrize(("rule", "bounded"), KINDS)
def test_the_empty_model_is_neutral(rule: str, bounded: bool) -> None:
    (m,) = partitions(rule, 1)
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
def test_merged_partitions_predict_nearly_as_well_as_one_stream(rule: str) -> None:
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
    parts = partitions(rule, 4)
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
    # If nothing was learned since, the result is the base. With one part, it is that part.
    close(ul.merge([base.copy(), base.copy()], base=base), base)
    close(ul.merge([a, base.copy()], base=base), a)
    # What both models learned before is counted once.
    both, twice = merged._snapshot(), ul.merge([a, b])._snapshot()
    assert both["N"] < twice["N"]


def test_models_with_names_merge_by_name() -> None:
    a, b = ul.Learner(), ul.Learner()
    for _ in range(50):
        a.learn_one({"x": 1.0, "y": 2.0}, 1.0)
        b.learn_one({"y": 2.0, "z": 3.0}, 1.0)
    merged = ul.merge([a, b])
    assert set(merged.weights) == {"(bias)", "x", "y", "z"}
    assert merged.weights["x"] == pytest.approx(a.weights["x"], rel=1e-12)
    assert merged.weights["z"] == pytest.approx(b.weights["z"], rel=1e-12)
    assert merged.scales["y"] == 2.0


def test_hashed_models_merge_by_slot() -> None:
    a, b = ul.Learner(bits=10), ul.Learner(bits=10)
    a.learn_one({"x": 1.0}, 1.0)
    b.learn_one({"y": 1.0}, 1.0)
    assert set(ul.merge([a, b]).weights) == set(a.weights) | set(b.weights)


def test_a_merged_model_saves_loads_and_learns_on(tmp_path: object) -> None:
    merged = ul.merge(partitions("nag"))
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
        (lambda: [labeled(0), labeled(-1)], "negative labels"),
    ],
)
def test_models_that_do_not_fit_are_refused(make: object, message: str) -> None:
    with pytest.raises(ul.MergeError, match=message):
        ul.merge(make())  # type: ignore[operator]


def trained(X: object) -> ul.Learner:
    m = ul.Learner()
    m.learn(X, [1.0])
    return m


def labeled(label: int) -> ul.Learner:
    m = ul.Learner(loss="logistic")
    m.learn([[1.0]], [label])
    return m


# ------------------------------------------------------------------------------------------------- other kinds


def make(kind: str) -> ul.Learner | ul.OneVsAll | ul.Sweep:
    options = {
        "auto": lambda: ul.Learner(loss="logistic", learning_rate="auto"),
        "pairs": lambda: ul.Learner(loss="logistic", learning_rate=0.5, interactions=2),
        "sweep": lambda: ul.Sweep([0.01, 0.1, 1.0], "snag", "logistic"),
        "classes": lambda: ul.OneVsAll([False, True]),
        "open": lambda: ul.OneVsAll(learning_rate=0.5),
        "softmax": lambda: ul.Softmax([False, True]),
        "open softmax": ul.Softmax,
        "center": lambda: ul.Learner(loss="logistic", learning_rate=0.5, center=True),
        "target": lambda: ul.Learner(learning_rate=0.5, target="auto"),
    }
    return options[kind]()


ALL = ["auto", "pairs", "sweep", "classes", "open", "softmax", "open softmax", "center", "target"]


def problem(kind: str, rows: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    X, y = stream("squared", rows=rows, features=6, spread=3, growth=False)
    return (X, 100 + y) if kind == "target" else (X, y > 0)


def apart(kind: str, count: int = 3) -> list[ul.Learner | ul.OneVsAll | ul.Sweep]:
    X, y = problem(kind)
    models = []
    for part in np.array_split(np.arange(len(y)), count):
        m = make(kind)
        m.learn(X[part], y[part])
        models.append(m)
    return models


def same_predictions(a: ul.Learner, b: ul.Learner, kind: str, tolerance: float = 1e-9) -> None:
    X = problem(kind, 200)[0]
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", ALL)
def test_models_of_every_kind_merge_associatively(kind: str) -> None:
    a, b, c = apart(kind)
    left, right = ul.merge([ul.merge([a, b]), c]), ul.merge([a, ul.merge([b, c])])
    same_predictions(left, right, kind)
    assert left.examples == 6000


@pytest.mark.parametrize("kind", ALL)
def test_models_of_every_kind_merge_in_any_order(kind: str) -> None:
    models = apart(kind)
    for order in itertools.permutations(models):
        merged = ul.merge(order)
        if "open" in kind:  # the classes may be in another order
            assert sorted(merged.classes) == [False, True]
        else:
            same_predictions(ul.merge(models), merged, kind)


@pytest.mark.parametrize("kind", ALL)
def test_a_fresh_model_of_every_kind_is_neutral(kind: str) -> None:
    m = apart(kind, 1)[0]
    for merged in (ul.merge([m, make(kind)]), ul.merge([make(kind), m]), ul.merge([m])):
        same_predictions(m, merged, kind)
        before, after = m._snapshot(), merged._snapshot()
        np.testing.assert_array_equal(before["lane_rates"], after["lane_rates"])
        np.testing.assert_allclose(before["scores"], after["scores"], rtol=1e-12)
    assert ul.merge([make(kind), make(kind)]).examples == 0


@pytest.mark.parametrize("kind", ALL)
def test_merged_models_of_every_kind_predict_well(kind: str) -> None:
    X, y = problem(kind)
    merged = ul.merge(apart(kind))
    p = merged.predict(X)
    if kind == "target":
        assert np.mean((p - y) ** 2) < 0.3 * np.var(y)
    else:
        scores = p if p.ndim == 1 else p[:, 1] - p[:, 0] if merged.classes == [False, True] else p[:, 0] - p[:, 1]
        assert np.mean((scores > 0) == y) > 0.85
    merged.copy().learn(X[:100], y[:100])


@pytest.mark.parametrize("kind", ALL)
def test_models_of_every_kind_merge_since_a_base(kind: str) -> None:
    X, y = problem(kind)
    base = make(kind)
    base.learn(X[:2000], y[:2000])
    same_predictions(base, ul.merge([base.copy(), base.copy()], base=base), kind)
    parts = []
    for rows in (slice(2000, 4000), slice(4000, 6000)):
        part = base.copy()
        part.learn(X[rows], y[rows])
        parts.append(part)
    merged = ul.merge(parts, base=base)
    assert merged.examples == 6000
    same_predictions(ul.merge([parts[0]], base=base), parts[0], kind, 1e-7)


def test_merging_keeps_all_automatic_rates_that_differ() -> None:
    models = apart("auto", 2)
    rates = [set(m.rates) for m in models]  # type: ignore[union-attr]
    assert set(ul.merge(models).rates) == rates[0] | rates[1]


def test_classes_that_one_part_has_not_met() -> None:
    X, y = stream("squared", rows=900, features=6, spread=3, growth=False)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    a, b = ul.OneVsAll(learning_rate=0.5), ul.OneVsAll(learning_rate=0.5)
    few = labels[:450] != 2
    a.learn(X[:450][few], labels[:450][few])
    b.learn(X[450:], labels[450:])
    merged = ul.merge([a, b])
    assert sorted(merged.classes) == [0, 1, 2]
    known = ul.OneVsAll([*a.classes, 2], learning_rate=0.5)
    known.learn(X[:450][few], labels[:450][few])
    other = ul.OneVsAll([*a.classes, 2], learning_rate=0.5)
    other.learn(X[450:], labels[450:])
    np.testing.assert_allclose(merged.predict(X), ul.merge([known, other]).predict(X), rtol=1e-9, atol=1e-12)


def test_a_rate_that_diverged_stays_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, 2.0, 3.0]
    base = ul.Sweep([0.01, 1e6], "gd", importance_aware=False, schedule="constant")
    base.learn(X[:200], y[:200])
    part = base.copy()
    part.learn(X[200:], y[200:])
    for merged in (ul.merge([part, base]), ul.merge([part, part.copy()], base=base)):
        assert merged.losses[1] == np.inf
        assert np.isfinite(merged.losses[0])
        merged.copy()


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (ul.Learner, ul.OneVsAll, "different kinds"),
        (lambda: ul.Sweep([1.0]), lambda: ul.Sweep([2.0]), "rates|learning_rate"),
        (lambda: ul.OneVsAll(["a", "b"]), lambda: ul.OneVsAll(["a", "c"]), "classes"),
        (lambda: ul.Learner(interactions=2), ul.Learner, "interactions"),
    ],
)
def test_models_that_differ_in_options_are_not_merged(
    a: Callable[[], ul.Learner], b: Callable[[], ul.Learner], message: str
) -> None:
    with pytest.raises(ul.MergeError, match=message):
        ul.merge([a(), b()])
