"""Rows by name, one at a time: any order, missing or new names and values of any type give the same bits as a batch."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streams import RULES

import unitless as ul

NAMES = [f"name {j}" for j in range(21)]
Row = dict[str, Any]
Change = Callable[[Row, int, random.Random], Row]


def in_other_order(row: Row, place: int, chance: random.Random) -> Row:
    return dict(chance.sample(list(row.items()), len(row)))


def with_names_missing(row: Row, place: int, chance: random.Random) -> Row:
    kept = [item for item in row.items() if chance.random() > 0.15]
    return dict(kept if place % 20 else [])  # some rows are empty


def with_few_names(row: Row, place: int, chance: random.Random) -> Row:
    return dict(chance.sample(list(row.items()), 3))


def with_new_names(row: Row, place: int, chance: random.Random) -> Row:
    return {**row, f"new {place // 15}": 1.5} if place % 5 == 0 else row


def with_other_strings(row: Row, place: int, chance: random.Random) -> Row:
    read: Row = json.loads(json.dumps(in_other_order(row, place, chance)))  # the same names as other objects
    return read


def with_anything(row: Row, place: int, chance: random.Random) -> Row:
    for change in (in_other_order, with_names_missing, with_new_names, with_other_strings):
        if chance.random() < 0.3:
            row = change(row, place, chance)
    return row


CHANGES: list[Change] = [
    in_other_order,
    with_names_missing,
    with_few_names,
    with_new_names,
    with_other_strings,
    with_anything,
]

MODELS: dict[str, Callable[[], Any]] = {
    "bias=False": lambda: ul.Learner(loss="logistic", bias=False),
    "hashed": lambda: ul.Learner(loss="logistic", bits=6),
    "hashed into many": lambda: ul.Learner(loss="logistic", bits=18),
    "averaged": lambda: ul.Learner(loss="logistic", average=True),
    "automatic rate": lambda: ul.Learner(loss="logistic", learning_rate="auto"),
    "automatic rate, averaged": lambda: ul.Learner(loss="logistic", learning_rate="auto", average=True),
    "automatic rate, target": lambda: ul.Learner(learning_rate="auto", target="auto"),
    "rates": lambda: ul.Sweep(rates=[0.1, 0.3, 1.0], loss="logistic"),
    "sparsity": lambda: ul.Learner(loss="logistic", sparsity="auto"),
    "interactions": lambda: ul.Learner(loss="logistic", interactions=[("name 0", "name 1")]),
    "curves": lambda: ul.Learner(loss="logistic", model_type="curves"),
    "trees": lambda: ul.Learner(loss="logistic", model_type="trees"),
    "newton": lambda: ul.Learner(rule="newton", loss="logistic"),
    "classes": lambda: ul.OneVsAll([0, 1], learning_rate=0.5),
    "classes, automatic rates": lambda: ul.OneVsAll([0, 1]),
    "classes that join": ul.OneVsAll,
    "softmax": lambda: ul.Softmax([0, 1]),
    **{f"rule {rule}": lambda rule=rule: ul.Learner(rule=rule, loss="logistic", learning_rate=0.1) for rule in RULES},
}


def stream(change: Change, rows: int = 150) -> tuple[list[Row], list[int], list[float]]:
    rng, chance = np.random.default_rng(4), random.Random(4)
    X = rng.normal(size=(rows, len(NAMES))) * 10.0 ** rng.integers(-3, 4, size=len(NAMES))
    X[rng.random(X.shape) < 0.1] = 0
    y = (X[:, 0] / abs(X[:, 0]).max() + rng.normal(size=rows) > 0).astype(int)
    made = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
    weight = rng.choice([0.0, 1.0, 2.0], rows, p=[0.05, 0.9, 0.05])
    return [change(row, place, chance) for place, row in enumerate(made)], y.tolist(), weight.tolist()


def same_bits(a: Any, b: Any) -> bool:
    return np.asarray(a, np.float64).tobytes() == np.asarray(b, np.float64).tobytes()


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("make", MODELS.values(), ids=list(MODELS))
def test_rows_one_at_a_time_have_the_bits_of_a_batch(make: Callable[[], Any], change: Change) -> None:
    rows, y, weight = stream(change)
    together, single = make(), make()
    expected = together.learn(rows, y, weight)
    for place, (row, label, w) in enumerate(zip(rows, y, weight, strict=True)):
        if not isinstance(single, ul.Sweep):
            asked = single.predict_one(row)
            assert place % 10 or same_bits(asked, single.predict([row])[0])
        made = single.learn_one(row, label, w)
        if not isinstance(single, ul.OneVsAll):  # classes that join later have no scores yet
            assert same_bits(made, expected[place])
        if place == 100:  # the cache of names is not part of a model
            single = pickle.loads(pickle.dumps(single))
    assert pickle.dumps(single) == pickle.dumps(together)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_centered_rows_one_at_a_time_have_the_bits_of_a_batch(rate: Any, change: Change) -> None:
    rows, y, weight = stream(change)
    first = np.array([[rows[1].get(name, 0.0) for name in NAMES]])
    models = [ul.Learner(loss="logistic", learning_rate=rate, center=True, falling_scales=True) for _ in range(2)]
    for model in models:
        model.learn(pd.DataFrame(first, columns=NAMES), [1])
    expected = models[0].learn(rows, y, weight)
    made = [models[1].learn_one(row, label, w) for row, label, w in zip(rows, y, weight, strict=True)]
    assert same_bits(made, expected)
    assert pickle.dumps(models[0]) == pickle.dumps(models[1])


KINDS = [
    *(np.float64, np.float32, np.float16, np.longdouble, np.bool_, bool, int),
    *(getattr(np, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_values_and_labels_can_be_scalars_of_any_type(kind: Callable[[Any], Any]) -> None:
    rng = np.random.default_rng(5)
    plain, typed = ul.Learner(loss="logistic"), ul.Learner(loss="logistic")
    for whole in rng.integers(0, 120, (40, len(NAMES))).tolist():
        values = [kind(value) for value in whole]
        row, same = dict(zip(NAMES, values, strict=True)), {n: float(v) for n, v in zip(NAMES, values, strict=True)}
        label = kind(whole[0] > 60)
        assert typed.predict_one(row) == plain.predict_one(same)
        assert typed.learn_one(row, label, kind(1)) == plain.learn_one(same, float(label))
    assert pickle.dumps(plain) == pickle.dumps(typed)


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1, 2**53 + 1, -1, np.uint64(2**64 - 1)], ids=str)
def test_large_integers_of_numpy_are_the_nearest_floats(value: Any) -> None:
    scalar = value if isinstance(value, np.uint64) else np.int64(value)
    plain, typed = ul.Learner(), ul.Learner()
    for _ in range(4):
        assert typed.learn_one({"a": scalar, "b": 1.0}, 1.0) == plain.learn_one({"a": float(int(value)), "b": 1.0}, 1.0)
    assert typed.weights == plain.weights


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize(("value", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_scalars_that_are_not_finite_are_refused(kind: Callable[[Any], Any], value: float, shown: str) -> None:
    m = ul.Learner(loss="logistic")
    good = dict.fromkeys(NAMES, kind(0.5))
    for label in (0, 1, 0, 1):
        m.learn_one(good, label)
    before = pickle.dumps(m)
    for row in ({**good, NAMES[3]: kind(value)}, {NAMES[3]: kind(value)}):
        with pytest.raises(ul.InputError, match=f"the value of feature 'name 3' is {shown}"):
            m.learn_one(row, 1)
        with pytest.raises(ul.InputError, match=f"the value of feature 'name 3' is {shown}"):
            m.predict_one(row)
    with pytest.raises(ul.InputError, match="label is"):
        m.learn_one(good, kind(value))
    with pytest.raises(ul.InputError, match="weight is"):
        m.learn_one(good, 1, kind(value))
    assert pickle.dumps(m) == before


def test_a_name_that_is_no_text_is_refused_among_rows_that_are_placed() -> None:
    m = ul.Learner(loss="logistic")
    for label in (0, 1, 0, 1):
        m.learn_one(dict.fromkeys(NAMES, 0.5), label)
    for row in ({7: 1.0}, {**dict.fromkeys(NAMES[:15], 0.5), 7: 1.0}, {**dict.fromkeys(NAMES[1:], 0.5), None: 1.0}):
        with pytest.raises(ul.InputError, match="feature names must be text"):
            m.predict_one(row)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ul.Learner(loss="logistic", learning_rate="auto"),
        lambda: ul.Learner(loss="logistic", learning_rate="auto", average=True),
        lambda: ul.OneVsAll([0, 1]),
        lambda: ul.OneVsAll(learning_rate=0.5),
        lambda: ul.Softmax([0, 1], learning_rate="auto"),
    ],
    ids=["rates", "rates, averaged", "classes and rates", "classes that join", "softmax"],
)
def test_rates_are_looked_at_after_the_same_rows_one_at_a_time(make: Callable[[], Any]) -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(2100, 5)) * [1, 10, 100, 0.1, 1e-6]
    y = (X @ [1, 0.1, -0.01, 2, 0] + rng.normal(size=len(X)) > 0).astype(int).tolist()
    rows = [dict(zip(NAMES, row, strict=False)) for row in X.tolist()]
    together, single = make(), make()
    together.learn(rows, y)
    for row, label in zip(rows, y, strict=True):
        asked, said = single.predict_one(row), single.learn_one(row, label)
        if len(np.atleast_1d(asked)) == len(np.atleast_1d(said)):  # not where a class joins
            assert same_bits(asked, said)
    assert same_bits(single.predict(rows[:50]), [single.predict_one(row) for row in rows[:50]])
    assert pickle.dumps(single) == pickle.dumps(together)


@pytest.mark.parametrize("options", [{}, {"center": True}], ids=str)
def test_a_row_that_diverges_alone_leaves_what_it_leaves_in_a_batch(options: dict[str, Any]) -> None:
    first = pd.DataFrame([[0.5] * len(NAMES)], columns=NAMES)
    unstable = {"rule": "gd", "learning_rate": "auto", "importance_aware": False, **options}
    alone, together = ul.Learner(**unstable), ul.Learner(**unstable)
    row = dict.fromkeys(NAMES, 0.5)
    for model in (alone, together):
        model.learn(first, [1.0])
        for place in range(5):
            model.learn_one({**row, NAMES[place]: 0.1 * place}, 1.0)
    for value in (1e200, -1e250):
        wild = dict.fromkeys(NAMES, value)
        with pytest.raises(ul.DivergedError):
            alone.learn_one(wild, 1.0)
        with pytest.raises(ul.DivergedError):
            together.learn([wild], [1.0])
    assert pickle.dumps(alone) == pickle.dumps(together)
    assert alone.learn_one(row, 1.0) == together.learn([row], [1.0])[0]
