"""River's estimators: River's own checks, exactness, labels, values, frames, errors."""

from __future__ import annotations

import copy
import itertools
import math
import pathlib
import pickle
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

pytest.importorskip("river", reason="River of today needs Python 3.11")

from river import base, checks, compose, datasets, ensemble, evaluate, metrics, multiclass, preprocessing

import unitless as ul
from unitless import inputs
from unitless.river import UnitlessClassifier, UnitlessRegressor

ESTIMATORS = [
    UnitlessRegressor(),
    UnitlessRegressor(learning_rate=0.5, center=False, target=None),
    UnitlessRegressor(rule="snag", loss="quantile", quantile=0.9),
    UnitlessRegressor(interactions=2, bits=12),
    UnitlessRegressor(missing="error", learning_rate=1.0),
    UnitlessClassifier(),
    UnitlessClassifier(learning_rate=0.5, center=False),
    UnitlessClassifier(rule="snag", interactions=2),
    UnitlessClassifier(loss="hinge"),
    UnitlessClassifier(bits=12, bias=False),
]


def named_checks() -> Iterator[Any]:
    for number, estimator in enumerate(ESTIMATORS):
        for place, check in enumerate(checks.yield_checks(estimator)):
            name = f"{type(estimator).__name__}-{number}-{check.__name__}-{place}"
            yield pytest.param(estimator, check, id=name)


@pytest.mark.parametrize(("estimator", "check"), list(named_checks()))
def test_rivers_own_checks_pass(estimator: base.Estimator, check: Callable[[Any], None]) -> None:
    check(estimator.clone())


def test_no_check_is_skipped() -> None:
    assert all(not estimator._unit_test_skips() for estimator in ESTIMATORS)


# ---------------------------------------------------------------------------------------------------------- the streams

FEATURES = ("metres", "dollars", "bytes")


def rows(count: int = 300, seed: int = 0) -> list[dict[str, float]]:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(count, 3)) * [0.001, 100, 1e9] + [0.005, 50_000, 0]
    return [dict(zip(FEATURES, row, strict=True)) for row in values.tolist()]


def targets(stream: list[dict[str, float]]) -> list[float]:
    return [3000 * x["metres"] + x["dollars"] / 10 - x["bytes"] / 1e8 for x in stream]


def two(stream: list[dict[str, float]]) -> list[bool]:
    return [y > 5015 for y in targets(stream)]


def three(stream: list[dict[str, float]]) -> list[str]:
    return ["low" if y < 5005 else "middle" if y < 5025 else "high" for y in targets(stream)]


def stepwise(model: Any, stream: list[Any], labels: list[Any]) -> list[Any]:
    predictions = []
    for x, y in zip(stream, labels, strict=True):
        predictions.append(model.predict_one(x))
        model.learn_one(x, y)
    return predictions


def state(model: Any) -> bytes:
    """The state of the model of an estimator, without its error quantiles, which a plain model does not have."""
    plain = model.model.copy()
    plain._errors = None
    return pickle.dumps(plain)


CASES = [
    pytest.param(UnitlessRegressor, targets, id="regression"),
    pytest.param(UnitlessClassifier, two, id="two classes"),
    pytest.param(UnitlessClassifier, three, id="three classes"),
]


# ------------------------------------------------------------------------------------------------------------ exactness


@pytest.mark.parametrize(
    "options",
    [{"model_type": "linear", "ensemble": False}, {"learning_rate": 0.5, "model_type": "linear", "ensemble": False}],
    ids=["auto", "one rate"],
)
def test_the_same_bits_as_a_learner(options: dict[str, Any]) -> None:
    stream = rows()
    frame = pd.DataFrame(stream)
    defaults = {"learning_rate": "auto", "center": True, "falling_scales": True, **options}
    regressor = ul.Learner(target="auto", **defaults)
    expected = regressor.learn(frame, targets(stream)).tolist()
    model = UnitlessRegressor(**options)
    assert stepwise(model, stream, targets(stream)) == expected
    assert state(model) == pickle.dumps(regressor)
    classifier = ul.Learner(loss="logistic", **defaults)
    scores = classifier.learn(frame, two(stream))
    model = UnitlessClassifier(**options)
    assert stepwise(model, stream, two(stream))[1:] == (scores > 0).tolist()[1:]
    assert state(model) == pickle.dumps(classifier)


def test_the_same_bits_as_one_vs_all() -> None:
    stream, labels = rows(), three(rows())
    model, expected = (
        UnitlessClassifier(model_type="linear", ensemble=False),
        ul.OneVsAll(center=True, falling_scales=True),
    )
    scores = expected.learn(pd.DataFrame(stream), labels)
    predicted = stepwise(model, stream, labels)
    assert predicted[-100:] == [expected.classes[k] for k in scores[-100:].argmax(axis=1)]
    assert state(model) == pickle.dumps(expected)
    shares = dict(zip(expected.classes, expected._shares(expected.predict_one(stream[0])), strict=True))
    assert model.predict_proba_one(stream[0]) == pytest.approx(shares, rel=1e-12)


def test_without_centering_mappings_are_the_learners_own() -> None:
    stream = rows()
    model = UnitlessClassifier(center=False, model_type="linear", ensemble=False)
    expected = ul.Learner(loss="logistic", learning_rate="auto")
    for x, y in zip(stream, two(stream), strict=True):
        expected.learn_one(x, y)
    stepwise(model, stream, two(stream))
    assert state(model) == pickle.dumps(expected)


@pytest.mark.parametrize(("kind", "labels_of"), CASES)
def test_power_of_two_scaling_changes_no_bit(kind: Any, labels_of: Any) -> None:
    stream = rows()
    factors = dict(zip(FEATURES, (2.0**-40, 8.0, 2.0**20), strict=True))
    scaled = [{name: value * factors[name] for name, value in x.items()} for x in stream]
    labels = labels_of(stream)
    assert stepwise(kind(), scaled, labels) == stepwise(kind(), stream, labels)


@pytest.mark.parametrize(("kind", "labels_of"), CASES)
def test_offsets_do_not_matter(kind: Any, labels_of: Any) -> None:
    stream = rows()
    shifted = [{name: value + 1.0 if name == "metres" else value for name, value in x.items()} for x in stream]
    labels = labels_of(stream)
    one, other = stepwise(kind(), stream, labels), stepwise(kind(), shifted, labels)
    if kind is UnitlessRegressor:
        assert other == pytest.approx(one, rel=1e-6)
    else:
        assert sum(a != b for a, b in zip(one, other, strict=True)) <= 1


MIXED = [
    {"metres": 1.5, "job": "clerk", "urgent": True},
    {"metres": 2.5, "job": "pilot", "urgent": False},
    {"metres": 0.5, "job": "clerk", "urgent": False},
    {"metres": 9.5, "job": "cook", "urgent": True},
]


def frames(stream: list[dict[str, Any]], labels: list[Any]) -> dict[str, tuple[Any, Any]]:
    return {
        "pandas": (pd.DataFrame(stream), pd.Series(labels)),
        "polars": (pl.DataFrame(stream), pl.Series(labels)),
        "pyarrow": (pa.Table.from_pylist(stream), pa.array(labels)),
    }


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("cuts", [(0, 300), (0, 1, 300), (0, 7, 7, 290, 300)])
@pytest.mark.parametrize(("kind", "labels_of"), CASES)
def test_learn_many_is_learn_one_to_the_bit(kind: Any, labels_of: Any, cuts: tuple[int, ...], library: str) -> None:
    stream, labels = rows(), labels_of(rows())
    one, many = kind(), kind()
    stepwise(one, stream, labels)
    for first, last in itertools.pairwise(cuts):
        if first == last:
            many.learn_many(pd.DataFrame(columns=FEATURES, dtype=float), pd.Series([], dtype=float))
        else:
            many.learn_many(*frames(stream[first:last], labels[first:last])[library])
    assert state(many) == state(one)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("weights", [None, [0.0, 2.0, 0.0, 1.0]])
def test_learn_many_is_learn_one_with_text_booleans_and_weights(weights: list[float] | None, library: str) -> None:
    labels = ["a", "b", "a", "c"]
    one, many = UnitlessClassifier(), UnitlessClassifier()
    for x, y, w in zip(MIXED, labels, weights or [1.0] * 4, strict=True):
        one.learn_one(x, y, w)
    X, y = frames(MIXED, labels)[library]
    many.learn_many(X, y, 1.0 if weights is None else weights)
    assert state(many) == state(one)
    assert many.predict_one(MIXED[2]) == one.predict_one(MIXED[2])


@pytest.mark.parametrize("missing_row", [0, 2])
@pytest.mark.parametrize("missing", ["indicator", "absent"])
def test_learn_many_is_learn_one_with_missing_values(missing_row: int, missing: Any) -> None:
    stream = [{"a": 1.5, "b": 2.5}, {"a": 3.5, "b": 1.0}, {"a": 2.0, "b": 9.0}, {"a": 5.0, "b": 3.0}]
    one = UnitlessRegressor(missing=missing)
    for row, x in enumerate(stream):
        gap = {"b": x["b"]} if missing == "absent" else {"a": None, "b": x["b"]}
        one.learn_one(gap if row == missing_row else x, float(row))
    gaps: list[dict[str, Any]] = [{**x, "a": None} if row == missing_row else x for row, x in enumerate(stream)]
    for X, y in frames(gaps, [0.0, 1.0, 2.0, 3.0]).values():
        many = UnitlessRegressor(missing=missing)
        many.learn_many(X, y)
        assert state(many) == state(one)
        for x in gaps:
            assert many.predict_one(x) == one.predict_one(x)


def test_only_numbers_of_the_first_row_are_centered() -> None:
    model = UnitlessRegressor()
    for i in range(20):
        model.learn_one({"kelvin": 293.0 + i, "flag": i % 2 == 0, "job": "clerk", "count": i}, float(i))
        model.learn_one({"kelvin": 293.0 + i, "late": 400.0 + i}, float(i))
    assert isinstance(model.model, ul.Learner)
    assert set(model.model._reading().means()) == {"kelvin", "count"}


def test_a_row_without_weight_is_not_the_first() -> None:
    model, expected = UnitlessRegressor(), UnitlessRegressor()
    model.learn_one({"other": 5.0}, 1.0, w=0.0)
    stepwise(model, rows(), targets(rows()))
    stepwise(expected, rows(), targets(rows()))
    assert state(model) == state(expected)


def test_a_weight_of_two_counts_as_two() -> None:
    twice, weighted = UnitlessClassifier(importance_aware=False), UnitlessClassifier(importance_aware=False)
    for x, y in zip(rows(), two(rows()), strict=True):
        weighted.learn_one(x, y, w=2.0)
        twice.learn_one(x, y)
        twice.learn_one(x, y)
    assert twice.model is not None
    assert weighted.model is not None
    assert weighted.model.total_weight == twice.model.total_weight == 600


# --------------------------------------------------------------------------------------------------------------- labels


def test_before_any_example() -> None:
    x = {"a": 1.0}
    assert UnitlessRegressor().predict_one(x) == 0.0
    assert UnitlessRegressor(loss="poisson").predict_one(x) == 1.0
    assert UnitlessClassifier().predict_one(x) is None
    assert UnitlessClassifier().predict_proba_one(x) == {}
    assert UnitlessClassifier(classes=["no", "yes"]).predict_proba_one(x) == {"no": 0.5, "yes": 0.5}
    assert UnitlessClassifier(classes=["a", "b", "c"]).predict_proba_one(x) == pytest.approx(
        dict.fromkeys("abc", 1 / 3)
    )
    for model in (UnitlessRegressor(), UnitlessClassifier()):
        assert model.model is None
        assert model.weights == {}
        assert model.intercept == 0.0
        assert "Nothing" in model.debug_one(x)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_before_any_example_with_frames(library: str) -> None:
    X, _ = frames([{"a": 1.0}, {"a": 2.0}], [0, 1])[library]
    assert list(map(_plain, UnitlessClassifier().predict_many(X))) == [None, None]
    assert list(_columns(UnitlessClassifier().predict_proba_many(X))) == []
    assert list(map(_plain, UnitlessRegressor().predict_many(X))) == [0.0, 0.0]


def _plain(value: Any) -> Any:
    return value.as_py() if isinstance(value, pa.Scalar) else value


def _columns(frame: Any) -> Any:
    return frame.column_names if isinstance(frame, pa.Table) else frame.columns


@pytest.mark.parametrize(
    "pair", [(False, True), (np.False_, np.True_), ("no", "yes"), (0, 1), (-1, 1), (3.5, 7.25)], ids=str
)
def test_two_labels_of_any_kind(pair: tuple[Any, Any]) -> None:
    labels = [pair[y] for y in two(rows())]
    met, named = UnitlessClassifier(), UnitlessClassifier(classes=pair)
    for model in (met, named):
        predictions = stepwise(model, rows(), labels)
        assert np.mean([p == y for p, y in zip(predictions[50:], labels[50:], strict=True)]) > 0.9
        probabilities = model.predict_proba_one(rows()[0])
        assert set(probabilities) == set(pair)
        assert sum(probabilities.values()) == pytest.approx(1)
    assert type(named.model) is ul.Learner


def test_named_pairs_are_the_same_model_as_booleans() -> None:
    booleans, named = UnitlessClassifier(), UnitlessClassifier(classes=["no", "yes"])
    stepwise(booleans, rows(), two(rows()))
    stepwise(named, rows(), ["yes" if y else "no" for y in two(rows())])
    assert state(named) == state(booleans)
    assert booleans.predict_proba_one(rows()[0])[True] == named.predict_proba_one(rows()[0])["yes"]


def test_classes_that_join_late_are_as_if_they_had_been_known() -> None:
    stream = rows()
    labels = three(stream)
    labels[:200] = ["low" if y == "low" else "high" for y in labels[:200]]
    open_model = UnitlessClassifier(model_type="linear", ensemble=False)
    known = UnitlessClassifier(classes=["low", "high", "middle"], model_type="linear", ensemble=False)
    stepwise(open_model, stream, labels)
    stepwise(known, stream, labels)
    for x in stream[:20]:
        assert open_model.predict_proba_one(x) == known.predict_proba_one(x)


def test_a_label_that_cannot_be_is_refused_and_nothing_is_learned() -> None:
    model = UnitlessClassifier()
    stepwise(model, rows(), two(rows()))
    named = UnitlessClassifier(classes=["a", "b", "c"])
    named.learn_one({"x": 1.0}, "a")
    for estimator, label, words in (
        (model, "perhaps", "'perhaps'; it must be False or True"),
        (model, -1, "-1; it must be False or True"),
        (model, [True], "it must be False or True"),
        (model, None, "None; it must be False or True"),
        (named, "d", "'d', which is not one of 'a', 'b', 'c'"),
        (UnitlessRegressor(), "12", "12"),
        (UnitlessClassifier(), None, "classes are text, numbers or booleans"),
    ):
        before = pickle.dumps(estimator)
        with pytest.raises(ul.InputError, match=words):
            estimator.learn_one(rows()[0], label)
        good = "a" if estimator is named else True
        with pytest.raises(ul.InputError):
            estimator.learn_many(pd.DataFrame(rows(2)), pd.Series([good, label], dtype=object))
        assert pickle.dumps(estimator) == before


def test_hinge_loss_gives_labels_and_no_probabilities() -> None:
    model = UnitlessClassifier(loss="hinge")
    assert np.mean([p == y for p, y in zip(stepwise(model, rows(), two(rows())), two(rows()), strict=True)]) > 0.8
    with pytest.raises(NotImplementedError, match="hinge"):
        model.predict_proba_one(rows()[0])
    with pytest.raises(NotImplementedError, match="hinge"):
        model.predict_proba_many(pd.DataFrame(rows(2)))


def test_probabilities_do_not_overflow() -> None:
    model = UnitlessClassifier(
        model_type="linear", learning_rate=0.5, rule="gd", schedule="constant", importance_aware=False, center=False
    )
    model.learn_one({"x": 1e3}, True)
    assert model.predict_proba_one({"x": -1e6}) == {False: 1.0, True: 0.0}
    assert model.predict_proba_one({"x": 1e6}) == {False: 0.0, True: 1.0}


def test_counts_are_predicted_as_counts() -> None:
    model = UnitlessRegressor(loss="poisson")
    for i in range(300):
        model.learn_one({"x": float(i % 3)}, [1, 3, 9][i % 3])
    assert model.predict_one({"x": 2.0}) == pytest.approx(9, rel=0.2)
    many = model.predict_many(pd.DataFrame({"x": [0.0, 2.0]}))
    assert many.tolist() == [model.predict_one({"x": 0.0}), model.predict_one({"x": 2.0})]


# --------------------------------------------------------------------------------------------------------------- values


def test_text_becomes_indicators() -> None:
    model, expected = UnitlessClassifier(), UnitlessClassifier()
    for x, y in zip(MIXED * 20, [True, False, True, False] * 20, strict=True):
        model.learn_one(x, y)
        expected.learn_one({"metres": x["metres"], f"job={x['job']}": True, "urgent": x["urgent"]}, y)
    assert state(model) == state(expected)
    assert model.predict_proba_one(MIXED[0]) == expected.predict_proba_one(
        {"metres": 1.5, "job=clerk": True, "urgent": True}
    )


def test_text_may_come_late() -> None:
    model = UnitlessRegressor()
    model.learn_one({"a": 1.0}, 1.0)
    model.learn_one({"a": 1.0, "job": "clerk"}, 2.0)
    model.learn_one({"a": 2.0}, 2.0)
    assert set(model.weights) == {"a", "job=clerk"}


def test_names_of_any_kind_are_features() -> None:
    model, expected = UnitlessRegressor(), UnitlessRegressor()
    for i in range(10):
        model.learn_one({0: float(i), ("a", "b"): 2.0 * i}, float(i))
        expected.learn_one({"0": float(i), "('a', 'b')": 2.0 * i}, float(i))
    assert state(model) == state(expected)
    frame = pd.DataFrame([[1.0, 2.0]], columns=[0, ("a", "b")])
    assert model.predict_many(frame).tolist() == [model.predict_one({0: 1.0, ("a", "b"): 2.0})]


@pytest.mark.parametrize("number", [np.float64(2.5), np.float32(2.5), 2, np.int64(2), True, np.True_])
def test_numbers_of_any_kind(number: Any) -> None:
    model, expected = UnitlessRegressor(center=False), UnitlessRegressor(center=False)
    for y in (1.0, 2.0, 3.0):
        model.learn_one({"a": number}, y)
        expected.learn_one({"a": float(number)}, y)
    assert state(model) == state(expected)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ({"a": float("nan")}, r"'a' has no value \(it is nan\); .*missing='absent'"),
        ({"a": None}, r"'a' has no value \(it is None\); .*missing='absent'"),
        ({"a": np.float32("nan")}, r"'a' has no value \(it is nan\)"),
        ({"a": ""}, r"'a' has no value \(it is empty text\)"),
        ({"a": float("inf")}, "'a' is inf"),
        ({"a": float("inf"), "job": "clerk"}, "'a' is inf"),
        ({"a": [1.0]}, "'a' is \\[1.0\\], not a number"),
        ({"(bias)": 1.0}, "the bias's own name"),
        ({"a": 1.0, 1: 2.0, "1": 3.0}, "the same name"),
        ({"a": "b", "a=b": 2.0}, "the same name"),
        (7, "not a mapping"),
        (None, "not a mapping"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [UnitlessRegressor, UnitlessClassifier])
@pytest.mark.parametrize("started", [False, True])
def test_bad_rows_are_refused_and_nothing_is_learned(kind: Any, started: bool, x: Any, words: str) -> None:
    model = kind(missing="error")
    if started:
        model.learn_one({"a": 1.0}, True)
    before = pickle.dumps(model)
    with pytest.raises(ul.InputError, match=words):
        model.learn_one(x, True)
    if started:
        with pytest.raises(ul.InputError, match=words):
            model.predict_one(x)
    assert pickle.dumps(model) == before
    model.learn_one({"a": 2.0}, False)


@pytest.mark.parametrize("w", [-1.0, float("nan"), "2"])
def test_bad_weights_are_refused(w: Any) -> None:
    for model in (UnitlessRegressor(), UnitlessClassifier()):
        with pytest.raises(ul.InputError, match="weight"):
            model.learn_one({"a": 1.0}, True, w)
        assert model.model is None
        model.learn_one({"a": 1.0}, True)
        before = pickle.dumps(model)
        with pytest.raises(ul.InputError, match="weight"):
            model.learn_one({"a": 1.0}, True, w)
        assert pickle.dumps(model) == before


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_values_are_features_of_their_own(missing: Any) -> None:
    model, expected = UnitlessClassifier(missing="indicator"), UnitlessClassifier(missing="error")
    for i in range(40):
        gone = i % 3 == 1
        model.learn_one({"a": float(i), "b": missing if gone else 5.0 + i}, i % 2 == 0)
        expected.learn_one({"a": float(i), **({"b=(missing)": True} if gone else {"b": 5.0 + i})}, i % 2 == 0)
    assert state(model) == state(expected)
    assert "b=(missing)" in model.weights
    assert model.predict_proba_one({"a": 3.0, "b": missing}) == expected.predict_proba_one({"a": 3.0, "b=(missing)": 1})


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_values_can_be_absent(missing: Any) -> None:
    model, expected = UnitlessClassifier(missing="absent"), UnitlessClassifier(missing="error")
    for i in range(40):
        gone = i % 3 == 1
        model.learn_one({"a": float(i), "b": missing if gone else 5.0 + i}, i % 2 == 0)
        expected.learn_one({"a": float(i)} if gone else {"a": float(i), "b": 5.0 + i}, i % 2 == 0)
    assert state(model) == state(expected)
    assert model.predict_proba_one({"a": 3.0, "b": missing}) == expected.predict_proba_one({"a": 3.0})


# --------------------------------------------------------------------------------------------------------------- frames


@pytest.mark.parametrize(("kind", "labels_of"), CASES)
def test_predictions_come_back_as_the_callers_kind(kind: Any, labels_of: Any) -> None:
    stream, labels = rows(), labels_of(rows())
    model = kind()
    model.learn_many(pd.DataFrame(stream), pd.Series(labels, name="price"))
    one = [model.predict_one(x) for x in stream[:5]]
    X = pd.DataFrame(stream[:5], index=list("vwxyz"))
    series = model.predict_many(X)
    assert isinstance(series, pd.Series)
    assert list(series.index) == list("vwxyz")
    assert series.name == "price"
    assert series.tolist() == one
    in_polars, in_arrow = (
        model.predict_many(pl.DataFrame(stream[:5])),
        model.predict_many(pa.Table.from_pylist(stream[:5])),
    )
    assert isinstance(in_polars, pl.Series)
    assert in_polars.to_list() == one
    assert isinstance(in_arrow, pa.ChunkedArray)
    assert in_arrow.to_pylist() == one


@pytest.mark.parametrize("labels_of", [two, three])
def test_probabilities_of_frames_are_those_of_rows_to_the_bit(labels_of: Any) -> None:
    stream, labels = rows(), labels_of(rows())
    model = UnitlessClassifier()
    stepwise(model, stream, labels)
    one = [model.predict_proba_one(x) for x in stream[:5]]
    frame = model.predict_proba_many(pd.DataFrame(stream[:5], index=list("vwxyz")))
    assert list(frame.index) == list("vwxyz")
    assert frame.to_dict("records") == one
    named = [{str(label): p for label, p in row.items()} for row in one]
    assert model.predict_proba_many(pl.DataFrame(stream[:5])).to_dicts() == named
    assert model.predict_proba_many(pa.Table.from_pylist(stream[:5])).to_pylist() == named


def test_bad_frames_are_refused_and_nothing_is_learned() -> None:
    model = UnitlessRegressor(missing="error")
    y = pd.Series([1.0, 2.0])
    for X, words in (
        (pd.DataFrame({"a": [1.0, np.nan]}), r"feature 'a' has no value \(it is (nan|None)\) at row 1; "),
        (pl.DataFrame({"a": [1.0, None]}), r"feature 'a' has no value \(it is None\) at row 1; "),
        (pd.DataFrame({"a": ["x", "y"], "b": [1.0, np.inf]}), "the value of feature 'b' is inf"),
        (pd.DataFrame({"a": [1.0, np.inf]}), "inf"),
        (pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=[1, "1"]), "two columns named '1'"),
        (pd.DataFrame({"a": [1.0]}), "y has 2 values, but X has 1 row"),
        ([{"a": 1.0}, {"a": 2.0}], "X is a list; it must be a pandas, polars or pyarrow frame"),
    ):
        with pytest.raises(ul.InputError, match=words):
            model.learn_many(X, y)
        assert model.model is None
    with pytest.raises(ul.InputError, match="w has 1 values"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), y, [1.0])
    with pytest.raises(ul.InputError, match="y has shape"):
        UnitlessClassifier().learn_many(pd.DataFrame({"a": [1.0, 2.0]}), [True])


# ----------------------------------------------------------------------------------------------------- with River's own


def test_no_worse_than_rivers_scaled_pipelines_on_its_datasets() -> None:
    from river import linear_model  # noqa: PLC0415

    for dataset, ours, theirs, metric in (
        (datasets.Phishing(), UnitlessClassifier(), linear_model.LogisticRegression(), metrics.Accuracy),
        (datasets.TrumpApproval(), UnitlessRegressor(), linear_model.LinearRegression(), metrics.MAE),
        (datasets.ChickWeights(), UnitlessRegressor(), linear_model.LinearRegression(), metrics.RMSE),
    ):
        mine = evaluate.progressive_val_score(dataset, ours, metric())
        other = evaluate.progressive_val_score(dataset, preprocessing.StandardScaler() | theirs, metric())
        assert mine.is_better_than(other), (mine, other)


@pytest.mark.parametrize(
    "model",
    [
        compose.Select("gallup", "ipsos") | UnitlessRegressor(),
        preprocessing.StandardScaler() | UnitlessRegressor(),
        preprocessing.TargetStandardScaler(UnitlessRegressor()),
        ensemble.BaggingRegressor(UnitlessRegressor(), n_models=3, seed=1),
    ],
    ids=str,
)
def test_regression_within_rivers_compositions(model: Any) -> None:
    assert evaluate.progressive_val_score(datasets.TrumpApproval().take(300), model, metrics.MAE()).get() < 3


@pytest.mark.parametrize(
    "model",
    [
        preprocessing.MinMaxScaler() | UnitlessClassifier(),
        ensemble.BaggingClassifier(UnitlessClassifier(), n_models=3, seed=1),
        ensemble.ADWINBaggingClassifier(UnitlessClassifier(), n_models=3, seed=1),
        multiclass.OneVsRestClassifier(UnitlessClassifier()),
        multiclass.OneVsOneClassifier(UnitlessClassifier()),
        UnitlessClassifier(),
    ],
    ids=str,
)
def test_classification_within_rivers_compositions(model: Any) -> None:
    assert evaluate.progressive_val_score(datasets.ImageSegments().take(500), model, metrics.Accuracy()).get() > 0.6


def test_pipelines_learn_frames_in_pieces() -> None:
    stream, labels = rows(), two(rows())
    pipeline = compose.Select("metres", "dollars") | UnitlessClassifier()
    pipeline.learn_many(pd.DataFrame(stream), pd.Series(labels))
    alone = UnitlessClassifier()
    alone.learn_many(pd.DataFrame(stream)[["metres", "dollars"]], pd.Series(labels))
    expected = alone.predict_proba_many(pd.DataFrame(stream)[["metres", "dollars"]])
    assert np.allclose(pipeline.predict_proba_many(pd.DataFrame(stream)), expected, rtol=1e-9)


# ----------------------------------------------------------------------------------------------- copies, clones, memory


@pytest.mark.parametrize(("kind", "labels_of"), CASES)
@pytest.mark.parametrize(
    "copied",
    [
        lambda model: pickle.loads(pickle.dumps(model)),
        copy.deepcopy,
        lambda model: model.clone(include_attributes=True),
    ],
    ids=["pickle", "deepcopy", "clone with attributes"],
)
def test_a_copy_goes_on_as_the_original_would(kind: Any, labels_of: Any, copied: Any) -> None:
    stream, labels = rows(), labels_of(rows())
    model = kind()
    stepwise(model, stream[:150], labels[:150])
    other = copied(model)
    assert stepwise(other, stream[150:], labels[150:]) == stepwise(model, stream[150:], labels[150:])
    assert state(other) == state(model)


def test_clones_are_fresh_and_take_new_parameters() -> None:
    model = UnitlessClassifier(interactions=[("metres", "bytes")])
    stepwise(model, rows(), two(rows()))
    clone = model.clone({"learning_rate": 0.25})
    assert clone.model is None
    assert (clone.learning_rate, clone.interactions) == (0.25, [("metres", "bytes")])
    assert UnitlessClassifier(classes=("a", "b")).clone().predict_one({}) == "a"


def test_memory_counts_the_core() -> None:
    model = UnitlessRegressor()
    for i in range(2000):
        model.learn_one({f"feature {i}": 1.0}, float(i))
    assert isinstance(model.model, ul.Learner)
    assert model.model.nbytes > 100_000
    assert model._raw_memory_usage > model.model.nbytes
    assert "iB" in model._memory_usage


def test_the_model_behind_can_be_saved_and_merged(tmp_path: Any) -> None:
    model = UnitlessRegressor()
    stepwise(model, rows(), targets(rows()))
    assert isinstance(model.model, ul.Learner)
    model.model.save(tmp_path / "model.unitless")
    loaded = ul.load(tmp_path / "model.unitless")
    assert loaded.predict_one(rows()[0]) == model.predict_one(rows()[0])
    assert ul.merge([model.model, loaded]).total_weight == 600


# -------------------------------------------------------------------------------------------------------------- reading


def test_weights_and_intercept_are_in_the_datas_units() -> None:
    model = UnitlessRegressor(model_type="linear", ensemble=False)
    stepwise(model, rows(3000), targets(rows(3000)))
    assert model.weights["metres"] == pytest.approx(3000, rel=0.05)
    assert model.weights["dollars"] == pytest.approx(0.1, rel=0.05)
    x = rows()[0]
    assert isinstance(model.model, ul.Learner)
    total = model.intercept + sum(model.weights[name] * value for name, value in x.items())
    assert total == pytest.approx(model.model.predict_one(x, extrapolate=True))
    assert model.importance["metres"] == pytest.approx(model.weights["metres"] * model.model.scales["metres"])
    assert "(bias)" not in model.importance
    many = UnitlessClassifier()
    stepwise(many, rows(), three(rows()))
    assert set(many.weights) == set(many.intercept) == {"low", "middle", "high"}
    assert set(many.weights["low"]) == set(FEATURES)


def numbers_of(table: str, column: str) -> dict[str, float]:
    lines = [line for line in table.splitlines() if line and not line.startswith("Class")]
    headers = lines[0].split()
    wanted = headers.index(column) - len(headers)
    return {line.split()[0]: float(line.split()[wanted].replace(",", "")) for line in lines[1:]}


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(("kind", "labels_of"), CASES)
def test_contributions_add_up_to_the_score(kind: Any, labels_of: Any, center: bool) -> None:
    stream = rows()
    model = kind(center=center)
    stepwise(model, stream, labels_of(stream))
    table = model.debug_one(stream[7], decimals=15)
    assert set(numbers_of(table, "Contribution")) == {"Intercept", *FEATURES}
    score = max(np.atleast_1d(model.model.predict_one(stream[7])))
    assert math.fsum(numbers_of(table, "Contribution").values()) == pytest.approx(score, rel=1e-9, abs=1e-9)
    assert ("Mean" in table) == center
    contributions = list(numbers_of(table, "Contribution").values())
    assert contributions == sorted(contributions, reverse=True)
    if labels_of is three:
        assert table.startswith(f"Class: {model.predict_one(stream[7])}\n")


def test_without_centering_a_contribution_is_value_times_weight() -> None:
    stream = rows()
    model = UnitlessRegressor(center=False, model_type="linear", ensemble=False)
    stepwise(model, stream, targets(stream))
    table = model.debug_one(stream[7], decimals=15)
    values, weights = numbers_of(table, "Value"), numbers_of(table, "Weight")
    for name, contribution in numbers_of(table, "Contribution").items():
        assert contribution == pytest.approx(values[name] * weights[name], rel=1e-9)


def test_rivers_pipelines_show_the_explanation() -> None:
    pipeline = compose.Select("metres", "dollars") | UnitlessClassifier()
    for x, y in zip(rows(), two(rows()), strict=True):
        pipeline.learn_one(x, y)
    report = pipeline.debug_one(rows()[0])
    assert "Contribution" in report
    assert "True: " in report
    assert "bytes" in report.split("1. Select")[0]


# -------------------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: UnitlessRegressor(loss="logistic"), "is for classes; to predict numbers, use 'squared'"),
        (lambda: UnitlessClassifier(loss="squared"), "is for numbers; to predict classes, use 'logistic', 'hinge'"),
        (lambda: UnitlessClassifier(rule="adam"), "rule is 'adam'"),
        (lambda: UnitlessClassifier(classes=["one"]), "at least two"),
        (lambda: UnitlessRegressor(missing="drop"), "missing is 'drop'"),
        (lambda: UnitlessRegressor(bits=10, center=True), "hashed features are never centered"),
        (lambda: UnitlessRegressor(learning_rate=-1), "learning_rate is -1"),
    ],
)
def test_bad_options_are_refused_at_once(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ul.OptionError, match=words):
        make()


def test_all_options_of_the_learner_reach_it() -> None:
    options = {
        "rule": "ng",
        "learning_rate": 0.25,
        "importance_aware": False,
        "bias": False,
        "schedule": "constant",
        "center": False,
        "interactions": "ordered",
        "bits": 8,
    }
    regressor = UnitlessRegressor(**options, loss="quantile", quantile=0.25, clip="labels", target="auto")
    classifier = UnitlessClassifier(**options)
    for model in (regressor, classifier):
        model.learn_one({"a": 1.0}, True)
        assert model.model is not None
        made = model.model.options.asdict()
        assert {name: made[name] for name in options} == options
    assert regressor.model is not None
    assert (regressor.model.options.quantile, regressor.model.options.clip, regressor.model.options.target) == (
        0.25,
        "labels",
        None,
    )


def test_the_example_runs_and_does_not_notice_units(capsys: pytest.CaptureFixture[str]) -> None:
    example = pathlib.Path(__file__).parents[2] / "examples" / "streaming_with_river.py"
    runpy.run_path(str(example), run_name="__main__")
    printed = capsys.readouterr().out
    ours = [line.split()[1:3] for line in printed.splitlines() if line.strip().startswith("Unitless")]
    assert len(ours) == 2
    assert all(as_it_is == other_units for as_it_is, other_units in ours)
    assert "Why is this page False?" in printed


def test_importing_the_package_does_not_import_river() -> None:
    code = "import sys, unitless.models.learner; assert 'river' not in sys.modules and 'narwhals' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_data_that_is_read_already_is_taken_as_it_is() -> None:
    frame = inputs.Frame(["a"], [np.array([1.0])], 1)
    assert inputs.read(frame) is frame


@pytest.mark.parametrize("row", [0, 1, 5])
def test_errors_of_the_first_frame_name_its_rows(row: int) -> None:
    frame = pd.DataFrame({"a": np.arange(9.0), "b": ["x", "y", "z"] * 3})
    frame.loc[row, "a"] = np.inf
    with pytest.raises(ul.InputError, match=rf"\brow {row}\b"):
        UnitlessRegressor().learn_many(frame, pd.Series(np.arange(9.0)))
    labels = np.arange(9.0)
    labels[row] = np.nan
    with pytest.raises(ul.InputError, match=rf"\brow {row}\b"):
        UnitlessRegressor().learn_many(pd.DataFrame({"b": ["x", "y", "z"] * 3}), pd.Series(labels))


@pytest.mark.parametrize("names", [["a", "a"], ["a", "\ud800"], [1, "1"]])
def test_names_of_columns_must_differ_and_be_text(names: list[Any]) -> None:
    X = pd.DataFrame(np.ones((2, 2)), columns=pd.Index(names, dtype=object))
    model = UnitlessClassifier()
    for call in (lambda: model.learn_many(X, pd.Series([0, 1])), lambda: model.predict_many(X)):
        with pytest.raises(ul.InputError, match=r"two columns named|not valid Unicode"):
            call()


@pytest.mark.parametrize(("make", "labels"), CASES)
def test_errors_are_the_same_row_by_row_and_in_batches(make: Any, labels: Any) -> None:
    stream = rows()
    one, many = make(model_type="linear"), make(model_type="linear")
    stepwise(one, stream, labels(stream))
    for k in range(0, len(stream), 37):
        many.learn_many(pd.DataFrame(stream[k : k + 37]), pd.Series(labels(stream)[k : k + 37]))
    assert one.model._errors.rows >= len(stream) - 1
    assert one.model._errors.plain() == many.model._errors.plain()
    assert pickle.loads(pickle.dumps(one)).model._errors.plain() == one.model._errors.plain()


def test_intervals_cover_about_at_their_level() -> None:
    rng = np.random.default_rng(0)
    model, held = UnitlessRegressor(model_type="linear"), 0
    assert model.predict_interval_one({"x": 1.0}) == (-math.inf, math.inf)
    for _ in range(2000):
        x = {"x": rng.normal() * 1e3}
        y = x["x"] / 1e3 + rng.normal()
        low, high = model.predict_interval_one(x, level=0.8)
        held += low <= y <= high
        model.learn_one(x, y)
    assert abs(held / 2000 - 0.8) < 0.02
    with pytest.raises(ul.OptionError, match="level is 80"):
        model.predict_interval_one(x, level=80)


def test_intervals_are_wider_where_errors_are_larger() -> None:
    rng = np.random.default_rng(0)
    model, held = UnitlessRegressor(model_type="linear"), {False: [], True: []}
    for _ in range(4000):
        x = {"x": rng.uniform(10, 100)}
        y = x["x"] * max(0.0, 1 + 0.3 * rng.normal())
        low, high = model.predict_interval_one(x)
        held[x["x"] > 55].append(low <= y <= high)
        model.learn_one(x, y)
    assert all(0.85 < np.mean(side) < 0.95 for side in held.values())
    (small_low, small_high), (low, high) = (model.predict_interval_one({"x": x}) for x in (15.0, 95.0))
    assert high - low > 2 * (small_high - small_low)
    assert model.predict_interval_one({"x": 10.0}, level=0.999)[0] >= 0.0 <= small_low


def test_sets_begin_with_the_prediction_and_hold_all_labels_at_first() -> None:
    stream = rows()
    model = UnitlessClassifier(["low", "middle", "high"], model_type="linear")
    assert set(model.predict_interval_one(stream[0])) == {"low", "middle", "high"}
    assert UnitlessClassifier().predict_interval_one(stream[0]) == []
    for x, label in zip(stream, three(stream), strict=True):
        model.learn_one(x, label)
        found = model.predict_interval_one(x, 0.5)
        assert found[0] == model.predict_one(x)
        assert 1 <= len(found) <= 3
    with pytest.raises(NotImplementedError):
        UnitlessClassifier(loss="hinge").predict_interval_one(stream[0])


def test_a_batch_that_is_refused_leaves_no_errors_behind() -> None:
    model = UnitlessClassifier(["a", "b", "c"], model_type="linear", center=False)
    with pytest.raises(ul.InputError):
        model.learn_many(pd.DataFrame({"x": [1.0, 2.0], "t": ["u", "v"]}), pd.Series(["a", "nobody"]))
    model.learn_one({"x": 1.0}, "a")
    assert model.model is not None
    assert model.model._errors is not None
    assert model.model._errors.rows == 1


@pytest.mark.parametrize("kind", [np.bool_, int, np.int64, float])
def test_labels_that_equal_booleans_are_the_same_as_booleans(kind: Any) -> None:
    stream = rows()
    plain, typed = UnitlessClassifier(model_type="linear"), UnitlessClassifier(model_type="linear")
    for place, x in enumerate(stream):
        label = place % 3 == 0
        assert typed.predict_proba_one(x) == plain.predict_proba_one(x)
        plain.learn_one(x, label)
        typed.learn_one(x, kind(label) if place else label)
    assert pickle.dumps(typed.model) == pickle.dumps(plain.model)


def test_errors_in_progress_survive_a_copy() -> None:
    stream = rows()
    whole, copied = UnitlessRegressor(model_type="linear"), UnitlessRegressor(model_type="linear")
    for place, x in enumerate(stream):
        for model in (whole, copied):
            model.learn_one(x, float(place % 7))
        if place % 20 == 5:
            copied = copy.deepcopy(pickle.loads(pickle.dumps(copied)))
    assert whole.model is not None
    assert copied.model is not None
    assert whole.model._errors.plain() == copied.model._errors.plain()  # type: ignore[union-attr]


@pytest.mark.parametrize("row", [None, 7, "text", [("a", 1.0)]], ids=str)
def test_a_row_that_is_no_mapping_is_refused_after_others(row: Any) -> None:
    for model, label in (
        (UnitlessClassifier(model_type="linear"), True),
        (UnitlessRegressor(model_type="linear"), 1.0),
    ):
        for _ in range(5):
            model.learn_one({"a": 1.0, "b": 2.0}, label)
        for call in (
            lambda model=model, label=label: model.learn_one(row, label),
            lambda model=model: model.predict_one(row),
        ):
            with pytest.raises(ul.InputError, match="not a mapping"):
                call()
    with pytest.raises(ul.InputError, match="not a mapping"):
        UnitlessClassifier([False, True]).predict_proba_one(row)
