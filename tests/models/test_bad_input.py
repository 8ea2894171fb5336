"""Bad input raises one clear error of our own type and does not change a byte of the learner."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import unitless as ul

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
Y = np.array([1.0, 0.0, 1.0])
NAN, INF = float("nan"), float("inf")


def with_value(value: float) -> np.ndarray:
    bad = X.copy()
    bad[2, 1] = value
    return bad


def columns_learner() -> ul.Learner:
    m = ul.Learner(loss="logistic")
    m.learn(X, Y)
    return m


def names_learner() -> ul.Learner:
    m = ul.Learner(loss="logistic")
    m.learn([{"a": 1.0, "b": 2.0}], [1])
    return m


COLUMN_CASES: dict[str, tuple[Callable[[ul.Learner], object], str]] = {
    "nan": (lambda m: m.learn(with_value(NAN), Y), "value is nan at row 2, column 1; drop or fill in"),
    "inf": (lambda m: m.learn(with_value(INF), Y), "value is inf at row 2, column 1"),
    "-inf": (lambda m: m.learn(with_value(-INF), Y), "value is -inf at row 2, column 1"),
    "float32 nan": (lambda m: m.learn(with_value(NAN).astype("f4"), Y), "value is nan at row 2, column 1"),
    "strided nan": (lambda m: m.learn(np.asfortranarray(with_value(NAN)), Y), "value is nan at row 2, column 1"),
    "sparse nan": (lambda m: m.learn(sp.csr_matrix(with_value(NAN)), Y), "value is nan at row 2, column 1"),
    "nan with weight 0": (lambda m: m.learn(with_value(NAN), Y, [1, 1, 0]), "value is nan at row 2"),
    "predict nan": (lambda m: m.predict(with_value(NAN)), "value is nan at row 2, column 1"),
    "predict sparse inf": (lambda m: m.predict(sp.csr_matrix(with_value(INF))), "value is inf at row 2, column 1"),
    "too few columns": (lambda m: m.learn(X[:, :1], Y), "X has 1 columns, but the learner was made with 2"),
    "too many columns": (lambda m: m.predict(np.hstack([X, X])), "X has 4 columns, but the learner was made with 2"),
    "sparse columns": (lambda m: m.learn(sp.csr_matrix((3, 5)), Y), "X has 5 columns"),
    "no columns": (lambda m: m.learn(np.zeros((3, 0)), Y), "X has 0 columns"),
    "one dimension": (lambda m: m.learn(X[0], Y), "X has 1 dimension; it must have 2"),
    "three dimensions": (lambda m: m.learn(X[None], Y), "X has 3 dimensions; it must have 2"),
    "ragged": (lambda m: m.learn([[1.0], [1.0, 2.0]], Y[:2]), "X cannot be read as an array"),
    "text": (lambda m: m.learn(np.array([["a", "b"]]), [1]), "X is of type .*; it must hold numbers"),
    "objects": (
        lambda m: m.learn(np.array([[1, "b"]], dtype=object), [1]),
        "X is not all numbers: it has 'b'. train and the estimators read columns of text",
    ),
    "dates": (lambda m: m.learn(np.zeros((1, 2), "M8[s]"), [1]), "it must hold numbers"),
    "complex": (lambda m: m.learn(X + 1j, Y), "it must hold numbers"),
    "short labels": (lambda m: m.learn(X, Y[:2]), "y has 2 values, but X has 3 rows"),
    "labels in a table": (lambda m: m.learn(X, Y[:, None]), "y has 2 dimensions"),
    "text labels": (
        lambda m: m.learn(X, ["a", "b", "c"]),
        "y has text, 'a', but labels are numbers here; for classes use UnitlessClassifier",
    ),
    "label 2": (lambda m: m.learn(X, [1, 0, 2]), r"label is 2 at row 2; .* takes \{-1, \+1\}, \{0, 1\} or booleans"),
    "label nan": (lambda m: m.learn(X, [1, 0, NAN]), "label is nan at row 2; labels must be finite"),
    "mixed labels": (lambda m: m.learn(X, [1, 0, -1]), "label is -1 at row 2; earlier negative labels were 0"),
    "later mixed labels": (lambda m: m.learn(X, [1, 1, -1]), "earlier negative labels were 0"),
    "negative weight": (
        lambda m: m.learn(X, Y, [1, 1, -1]),
        "weight is -1 at row 2; weights must be between 0 and 1e15",
    ),
    "nan weight": (lambda m: m.learn(X, Y, [1, 1, NAN]), "weight is nan at row 2"),
    "infinite weight": (lambda m: m.learn(X, Y, [1, 1, INF]), "weight is inf at row 2"),
    "short weights": (lambda m: m.learn(X, Y, [1.0]), "weight has 1 values, but X has 3 rows"),
    "named row": (lambda m: m.learn_one({"a": 1.0}, 1), "knows its features as 2 columns"),
    "frame": (lambda m: m.learn(pd.DataFrame({"a": [1.0]}), [1]), "knows its features as 2 columns"),
    "one mapping": (lambda m: m.learn({"a": 1.0}, [1]), "use learn_one"),
}

NAME_CASES: dict[str, tuple[Callable[[ul.Learner], object], str]] = {
    "nan": (lambda m: m.learn_one({"new": 1.0, "a": NAN}, 1), "the value of feature 'a' is nan; leave such features"),
    "inf": (lambda m: m.learn_one({"a": np.float32(INF)}, 1), "the value of feature 'a' is inf"),
    "text": (lambda m: m.learn_one({"a": "1"}, 1), "'a' is '1', not a number; give a number, or leave the feature out"),
    "none": (lambda m: m.learn_one({"a": None}, 1), "the value of feature 'a' is None, not a number"),
    "integer name": (lambda m: m.learn_one({7: 1.0}, 1), "feature names must be text, not 7"),
    "broken name": (lambda m: m.learn_one({"\ud800": 1.0}, 1), "is not valid Unicode"),
    "huge integer": (lambda m: m.learn_one({"a": 10**400}, 1), "not a number"),
    "no mapping": (lambda m: m.learn_one([1.0], 1), "not a mapping of names to numbers"),
    "text label": (lambda m: m.learn_one({"a": 1.0}, "yes"), "label is 'yes', not a number"),
    "label 3": (lambda m: m.learn_one({"new": 1.0}, 3), "label is 3 at row 0"),
    "nan label": (lambda m: m.learn_one({"new": 1.0}, NAN), "label is nan"),
    "weight": (lambda m: m.learn_one({"new": 1.0}, 1, -2.0), "weight is -2.0; weights must be between 0 and 1e15"),
    "nan weight": (lambda m: m.learn_one({"new": 1.0}, 1, weight=NAN), "weight is nan"),
    "predict nan": (lambda m: m.predict_one({"a": NAN}), "the value of feature 'a' is nan"),
    "second of two rows": (lambda m: m.learn([{"new": 1.0}, {"a": NAN}], [1, 1]), "the value of feature 'a' is nan"),
    "second of two labels": (lambda m: m.learn([{"new": 1.0}, {"a": 1.0}], [1, 5]), "label is 5 at row 1"),
    "array": (lambda m: m.learn(X, Y), "knows its features by name"),
    "frame nan": (lambda m: m.learn(pd.DataFrame({"new": [1, 2], "a": [1.0, NAN]}), [1, 1]), "row 1, column 'a'"),
    "frame null": (lambda m: m.learn(pl.DataFrame({"new": [1, 2], "a": [1.0, None]}), [1, 1]), "row 1, column 'a'"),
    "frame text": (
        lambda m: m.learn(pl.DataFrame({"a": ["x"]}), [1]),
        "column 'a' is (not all|of type)",
    ),
    "frame columns": (lambda m: m.learn(pd.DataFrame([[1, 2]], columns=["a", "a"]), [1]), "two columns named 'a'"),
    "unknown column nan": (lambda m: m.predict(pd.DataFrame({"c": [NAN]})), "value is nan at row 0, column 'c'"),
}


@pytest.mark.parametrize("case", COLUMN_CASES)
def test_bad_arrays_are_refused_and_change_nothing(case: str) -> None:
    check(columns_learner(), *COLUMN_CASES[case])


@pytest.mark.parametrize("case", NAME_CASES)
def test_bad_named_rows_are_refused_and_change_nothing(case: str) -> None:
    check(names_learner(), *NAME_CASES[case])


@pytest.mark.parametrize("case", COLUMN_CASES)
def test_a_fresh_learner_stays_fresh_after_bad_arrays(case: str) -> None:
    action, _ = COLUMN_CASES[case]
    m = ul.Learner(loss="logistic")
    before = pickle.dumps(m)
    try:
        action(m)
    except ul.Error:
        assert pickle.dumps(m) == before


def check(m: ul.Learner, action: Callable[[ul.Learner], object], message: str) -> None:
    before = pickle.dumps(m)
    with pytest.raises(ul.InputError, match=message) as caught:
        action(m)
    assert isinstance(caught.value, ValueError)
    assert pickle.dumps(m) == before


@pytest.mark.parametrize("order", ["paper", "vw"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_a_bad_value_late_in_a_long_call_changes_nothing(kind: Callable[[object], object], order: str) -> None:
    rng = np.random.default_rng(0)
    long = rng.normal(size=(5000, 9))
    m = ul.Learner(order=order)
    m.learn(kind(long), long[:, 0])
    before = pickle.dumps(m)
    long[4999, 8] = NAN
    with pytest.raises(ul.InputError, match="row 4999, column 8"):
        m.learn(kind(long), long[:, 0])
    assert pickle.dumps(m) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "adam"}, "rule is 'adam'; it must be one of 'nag', 'snag', 'ng', 'ag', 'gd'"),
        ({"loss": "log"}, "loss is 'log'; it must be one of 'squared'"),
        ({"learning_rate": 0}, "learning_rate is 0; it must be positive"),
        ({"learning_rate": NAN}, "learning_rate is nan"),
        ({"learning_rate": "fast"}, "learning_rate is 'fast'"),
        ({"quantile": 1.0}, "quantile is 1.0; it must lie between 0 and 1"),
        ({"schedule": "sqrt"}, "schedule is for the rules 'ng' and 'gd'"),
        ({"order": "random"}, "order is 'random'"),
        ({"clip": "labels", "loss": "logistic"}, "clip='labels' is for squared and quantile loss"),
        ({"bits": 0}, "bits is 0; it must be a whole number from 1 to 30"),
        ({"bits": 18.0}, "bits is 18.0"),
        ({"bias": 1}, "bias is 1; it must be one of True, False"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ul.OptionError, match=message):
        ul.Learner(**options)  # type: ignore[arg-type]


def test_an_unknown_kernel_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNITLESS_KERNEL", "quantum")
    with pytest.raises(ul.OptionError, match="UNITLESS_KERNEL is 'quantum'; this machine runs baseline"):
        ul.Learner()


# ------------------------------------------------------------------------------------------------- what just works


def test_empty_batches_change_nothing() -> None:
    m = columns_learner()
    before = pickle.dumps(m)
    for empty in (X[:0], sp.csr_matrix((0, 2))):
        assert m.learn(empty, []).shape == (0,)
        assert m.predict(empty).shape == (0,)
    assert pickle.dumps(m) == before


def test_zero_columns_learn_the_bias() -> None:
    m = ul.Learner()
    m.learn(np.zeros((200, 0)), np.full(200, 3.0))
    assert m.predict(np.zeros((1, 0)))[0] == pytest.approx(3.0, abs=0.1)
    named = ul.Learner()
    for _ in range(200):
        named.learn_one({}, 3.0)
    assert named.predict_one({}) == m.predict(np.zeros((1, 0)))[0]


@pytest.mark.parametrize("rule", ["ng", "nag", "snag"])
def test_all_numbers_up_to_the_limit_work(rule: str) -> None:
    rng = np.random.default_rng(0)
    plain = rng.uniform(-1, 1, size=(400, 4))
    y = plain @ [1, -1, 2, 0.5]
    extreme = plain * [1e-300, 1e300, 2.0**-1000, 1e299]
    expected = ul.Learner(rule).learn(plain, y)
    np.testing.assert_allclose(ul.Learner(rule).learn(extreme, y), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("rule", ["ng", "nag", "snag"])
def test_denormals_and_negative_zeros_work(rule: str) -> None:
    rng = np.random.default_rng(0)
    steps = rng.integers(-1000, 1000, size=(300, 2)).astype(float)
    y = steps @ [1e-3, -2e-3]
    tiny = steps * 5e-324  # integer multiples of the smallest denormal
    a, b = ul.Learner(rule).learn(steps, y), ul.Learner(rule).learn(tiny, y)
    if rule == "snag":  # the scale is not a value of x, so it has only the few digits of denormals
        np.testing.assert_allclose(a, b, rtol=0.01, atol=0.01)
    else:
        assert a.tobytes() == b.tobytes()
    assert ul.Learner(rule).learn(np.where(steps == 0, -0.0, steps), y).tobytes() == a.tobytes()


def test_an_example_of_weight_zero_changes_nothing() -> None:
    m = columns_learner()
    before = pickle.dumps(m)
    p = m.learn(10 * X, Y, np.zeros(3))
    assert pickle.dumps(m) == before
    assert p.tobytes() == m.predict(10 * X).tobytes()


def test_divergence_is_reported_and_the_rows_before_are_learned() -> None:
    rng = np.random.default_rng(0)
    wild = rng.normal(size=(300, 3)) * 100
    y = wild @ [1, 2, 3]
    learned = []
    for kind in (np.asarray, sp.csr_matrix):
        m = ul.Learner("gd", learning_rate=1.0, importance_aware=False, schedule="constant")
        with pytest.raises(ul.DivergedError, match=r"diverged at row \d+; the rows before it are learned"):
            m.learn(kind(wild), y)
        learned.append(pickle.dumps(m))
        assert 0 < m.examples < 300
        assert np.isfinite(list(m.weights.values())).all()
    assert learned[0] == learned[1]


@pytest.mark.parametrize("labels", [[-1, 1], [0, 1], [False, True], [np.False_, np.True_]], ids=str)
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_every_way_of_writing_two_classes_is_the_same(loss: str, labels: list[object]) -> None:
    m, expected = ul.Learner(loss=loss), ul.Learner(loss=loss)
    which = np.arange(50) % 2
    a = m.learn(np.c_[which - 0.5], [labels[i] for i in which])
    assert a.tobytes() == expected.learn(np.c_[which - 0.5], 2 * which - 1).tobytes()


def test_clipping_to_labels_never_uses_the_current_label() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)) * [1, 1000]
    y = X @ [5, 0.01] + rng.normal(size=500)
    m = ul.Learner(clip="labels")
    p = m.learn(X, y)
    assert p[0] == 0.0
    lowest, highest = np.minimum.accumulate(y)[:-1], np.maximum.accumulate(y)[:-1]
    assert ((p[1:] >= lowest) & (p[1:] <= highest)).all()
    assert ((p[1:] == lowest) | (p[1:] == highest)).any()
    assert m.predict([[1e9, 1e9]])[0] <= y.max()
    assert m.predict([[1e9, 1e9]], extrapolate=True)[0] == pytest.approx(
        1e9 * (m.weights[0] + m.weights[1]) + m.weights["(bias)"]
    )


def test_an_option_that_does_not_exist_is_named_with_a_hint() -> None:
    with pytest.raises(ul.OptionError, match="there is no option 'lr'; did you mean 'learning_rate'"):
        ul.Learner(lr=3)
