"""A model's state as plain objects: their sums equal the core's predictions."""

import numpy as np
import pytest

import unitless as ul
from unitless.models.form_reading import FormReading, RawColumn, raw_columns


def read(model):
    return FormReading(model.options, model._candidates, model._snapshot())


def some_rows(count=2500):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 4)) * [1e-3, 1, 1e3, 1]
    X[:, 3] = rng.integers(0, 3, count)
    return X, np.sin(3e3 * X[:, 0]) + (X[:, 1] > 0) * (X[:, 3] == 1) + 0.1 * rng.normal(size=count)


def scores(reading, x):
    """The scores of a row of numbers by member and head, without centering."""
    said = []
    for member in reading.members:
        terms = member.terms
        z = [terms.seen(k, 1.0 if slot == 0 else x[slot - 1]) for k, slot in enumerate(terms.slots.tolist())]
        total = np.array(z) @ terms.v
        for curve in member.curves.values():
            total = total + curve.at(x[curve.column])
        for tree in member.trees:
            total = total + tree.weights[tree.path(x)[-1]]
        said.append(total)
    return np.array(said)


@pytest.mark.parametrize("rate", [0.5, "auto"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "quantile"])
@pytest.mark.parametrize("model_type", ["curves", "trees", "curves only"])
def test_the_parts_add_up_to_the_prediction(model_type, loss, rate) -> None:
    X, y = some_rows()
    y = y > 0.3 if loss == "logistic" else y
    m = ul.Learner(model_type=model_type, loss=loss, learning_rate=rate)
    m.learn(X, y)
    reading = read(m)
    assert [member.name for member in reading.members] == {
        "curves": ["curves", "linear"],
        "trees": ["curves", "trees", "linear"],
        "curves only": ["curves"],
    }[model_type]
    mixture = reading.mixture
    for x, said in zip(X[:50], m.predict(X[:50]), strict=True):
        members = scores(reading, x)
        mixed = mixture.say(members)[0] if mixture else members[0, 0]
        assert mixed == pytest.approx(said, rel=1e-9, abs=1e-12)


def test_classes() -> None:
    X, y = some_rows()
    labels = np.digitize(y, [0, 0.8])
    m = ul.OneVsAll(model_type="trees")
    m.learn(X, labels)
    reading = read(m)
    for x, said in zip(X[:20], m.predict(X[:20]), strict=True):
        members = scores(reading, x)[:, : len(m.classes)]
        assert reading.mixture.say(np.ascontiguousarray(members)) == pytest.approx(said, rel=1e-9)


def test_raw_columns_follow_from_the_names() -> None:
    m = ul.Learner(model_type="trees")
    m.learn_one({"age": 3, "city=Oslo": 1}, 1.0)
    m.learn_one({"city=Bergen": 1, "rooms": 2, "a=b=c": 1}, 2.0)
    columns, column_of = raw_columns(m._snapshot())
    names = m._snapshot()["names"]
    assert {column.name: column.text for column in columns} == {"age": False, "city": True, "rooms": False, "a": True}
    assert {names[number - 1]: columns[column].name for number, column in column_of.items()} == {
        "age": "age",
        "city=Oslo": "city",
        "city=Bergen": "city",
        "rooms": "rooms",
        "a=b=c": "a",
    }
    m = ul.Learner()
    m.learn([[1.0, 2.0]], [1.0])
    assert raw_columns(m._snapshot()) == ([RawColumn(0, False), RawColumn(1, False)], {1: 0, 2: 1})


def test_trees_ask_for_the_numbers_of_features() -> None:
    rng = np.random.default_rng(0)
    m = ul.Learner(model_type="trees")
    cities = rng.choice(["Oslo", "Bergen", "Bodo"], 3000)
    for city, x in zip(cities, rng.normal(size=3000), strict=True):
        m.learn_one({f"city={city}": 1, "x": x}, (city == "Oslo") * (x > 0))
    reading = read(m)
    numbers = {number for number, column in reading.column_of.items() if reading.columns[column].name == "city"}
    asked = set()
    for tree in reading.member("trees").trees:
        inner = tree.child != np.arange(len(tree.child))
        of_text = inner & np.array([reading.columns[column].text for column in tree.column])
        asked |= set(((tree.low + tree.high) / 2)[of_text & np.isfinite(tree.low)].tolist())
    assert asked
    assert asked <= numbers


def test_values_that_a_curve_keeps_lie_within_their_interval() -> None:
    X, y = some_rows()
    m = ul.Learner(model_type="curves")
    m.learn(X, y)
    for curve in read(m).member("curves").curves.values():
        assert len(curve.values) == len(curve.weights) == len(curve.thresholds) + 1
        for i, values in enumerate(curve.values):
            assert all(curve.interval(x) == i for x in values)


def test_shares_add_up_to_one_and_follow_the_better_member() -> None:
    X, y = some_rows(6000)
    m = ul.Learner(model_type="trees")
    m.learn(X, y)
    shares = read(m).shares()
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["trees"] > shares["linear"]
    linear = ul.Learner()
    linear.learn(X, y)
    assert read(linear).shares() == {"linear": 1.0}
