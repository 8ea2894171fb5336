"""The division of a frame's rows into calls changes nothing, and unusable columns are reported."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import unitless as ul
from unitless.sklearn import UnitlessClassifier, UnitlessRegressor

ROWS = 60


def mixed(library: str = "pandas") -> tuple[Any, np.ndarray]:
    """Columns whose first rows suggest another type than the whole, and labels that depend on all of them."""
    rng = np.random.default_rng(0)
    early = np.arange(ROWS) < 10
    job = np.where(early, None, rng.choice(["clerk", "pilot"], ROWS))
    code = np.where(early, "2020-01-01", np.where(np.arange(ROWS) < 20, "17", rng.choice(["red", "blue"], ROWS)))
    member = np.where(rng.random(ROWS) < 0.3, None, rng.random(ROWS) < 0.5)
    columns: dict[str, Any] = {
        "size": rng.normal(size=ROWS) * 1e3,
        "flag": rng.integers(0, 2, ROWS),
        "count": np.where(early, early, rng.integers(0, 9, ROWS)),
        "late": np.where(early, np.nan, rng.normal(size=ROWS)),
        "job": job,
        "code": code,
        "member": member,
    }
    y = columns["size"] / 1e3 + columns["flag"] + 2 * (job == "pilot") + (code == "red") + (member == True)  # noqa: E712
    if library == "polars":
        return pl.DataFrame({name: column.tolist() for name, column in columns.items()}), y
    types = {"job": object, "code": object, "member": object} if library == "objects" else {}
    return pd.DataFrame(columns).astype(types), y


def learned(frame: Any, y: np.ndarray, cuts: list[int], **options: Any) -> UnitlessRegressor:
    model = UnitlessRegressor(**options)
    for first, last in zip([0, *cuts], [*cuts, len(y)], strict=True):
        model.partial_fit(frame[first:last], y[first:last])
    return model


@pytest.mark.parametrize("library", ["pandas", "objects", "polars"])
@pytest.mark.parametrize("model_type", ["linear", "trees"])
@given(cuts=st.lists(st.integers(1, ROWS - 1), unique=True).map(sorted))
@settings(max_examples=10)
def test_how_a_frame_is_divided_into_calls_changes_no_bit(library: str, model_type: Any, cuts: list[int]) -> None:
    frame, y = mixed(library)
    whole = learned(frame, y, [], model_type=model_type)
    parts = learned(frame, y, cuts, model_type=model_type)
    assert parts.predict(frame).tobytes() == whole.predict(frame).tobytes()
    assert parts.features_.tolist() == whole.features_.tolist()
    assert parts.progressive_score_ == pytest.approx(whole.progressive_score_)


@pytest.mark.parametrize("library", ["pandas", "objects", "polars"])
@pytest.mark.parametrize("ensemble", [False, True])
def test_a_frame_learned_row_by_row_is_one_call(library: str, ensemble: bool) -> None:
    frame, y = mixed(library)
    whole = learned(frame, y, [], ensemble=ensemble)
    single = learned(frame, y, list(range(1, ROWS)), ensemble=ensemble)
    assert single.predict(frame).tobytes() == whole.predict(frame).tobytes()
    assert "code=2020-01-01" in single.features_.tolist()  # text is text, whatever it looks like


def test_a_column_without_a_value_so_far_becomes_what_its_first_values_are() -> None:
    frame, y = mixed("objects")
    model = UnitlessRegressor(model_type="linear")
    model.partial_fit(frame[:10].assign(job=np.nan), y[:10])  # a column of numbers by its type, and empty
    model.predict(frame)
    model.partial_fit(frame[10:], y[10:])
    assert model.predict(frame).tobytes() == learned(frame, y, [], model_type="linear").predict(frame).tobytes()
    model.partial_fit(frame.assign(job=np.nan, late=pd.Series([None] * ROWS, dtype="str")), y)
    model = pickle.loads(pickle.dumps(model)).partial_fit(frame, y)
    for column, value, held in (("job", 1.5, "text"), ("late", "soon", "numbers")):
        with pytest.raises(ul.InputError, match=f"column '{column}' holds .*, but held {held}( or dates)? when"):
            model.partial_fit(frame.assign(**{column: value}), y)


def test_partial_fit_goes_on_with_the_columns_that_fit_inferred() -> None:
    dates = pd.date_range("2020-01-01", periods=300, freq="31h")
    frame = pd.DataFrame({"when": dates.astype(str), "pay": [f"{n:,}.00" for n in range(5000, 5300)]})
    y = np.arange(300.0)
    model = UnitlessRegressor(model_type="linear").fit(frame, y)
    features = model.features_.tolist()
    assert "pay" in features
    assert any(str(name).startswith("when.") for name in features)
    model.partial_fit(frame[:1], y[:1])
    assert model.features_.tolist() == features


def test_dates_become_their_parts_where_a_model_begins_with_partial_fit() -> None:
    frame = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=30), "size": np.arange(30.0)})
    model = UnitlessRegressor(model_type="linear").partial_fit(frame, frame["size"])
    assert {"when.time", "when.month=1", "when.weekday=wed"} <= set(model.model_.scales)


def test_text_in_a_column_of_numbers_is_reported_and_counts_as_missing() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    model = UnitlessRegressor(model_type="linear").fit(frame, frame["a"] + frame["b"])
    texts = frame.astype(str)
    missing = frame.copy()
    texts.loc[[3, 7], "b"], missing.loc[[3, 7], "b"] = ["unknown", "lost"], np.nan
    message = "column 'b' has 2 values that are not a number and count as missing; the first is 'unknown' at row 3"
    with pytest.warns(UserWarning, match=message):
        found = model.predict(texts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found.tobytes() == model.predict(missing).tobytes()
    with pytest.warns(UserWarning, match=message):
        model.partial_fit(texts, frame["a"])
    with pytest.warns(UserWarning, match="column 'b' has 1 value that is not a number and counts as missing"):
        model.predict(texts[:5])


@pytest.mark.parametrize("infer_columns", [True, False])
def test_a_column_that_never_had_a_value_is_unknown_and_no_error(infer_columns: bool) -> None:
    y = np.arange(60.0)
    empty = np.full((60, 1), np.nan)
    for wrap in (np.asarray, lambda X: pd.DataFrame(X, columns=["a"])):
        model = UnitlessRegressor(infer_columns=infer_columns).fit(wrap(empty), y)
        assert np.isfinite(model.predict(wrap(np.ones((3, 1))))).all()
        model.partial_fit(wrap(np.ones((3, 1))), y[:3])
    text = pd.DataFrame({"job": ["clerk", "cook"] * 30})
    model = UnitlessRegressor(infer_columns=infer_columns).fit(text, y)
    assert np.isfinite(model.predict(pd.DataFrame({"job": ["pilot"]}))).all()


@pytest.mark.parametrize(
    ("option", "value"),
    [("l2", 0.5), ("learning_rate", 0.1), ("model_type", "curves"), ("interactions", 2), ("infer_columns", False)],
)
def test_options_of_a_model_cannot_be_changed_while_it_learns(option: str, value: Any) -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60.0)
    model = UnitlessRegressor(model_type="linear", warm_start=True).partial_fit(X, y)
    before = model.predict(X).tobytes()
    model = pickle.loads(pickle.dumps(model)).set_params(**{option: value})
    for learn in (model.partial_fit, model.fit):
        with pytest.raises(ul.OptionError, match=f"{option} is {value!r}, but the model was made with .*; fit anew"):
            learn(X, y)
    assert model.predict(X).tobytes() == before
    clone(model).partial_fit(X, y)
    model.set_params(warm_start=False).fit(X, y).partial_fit(X, y)


def test_what_does_not_concern_the_model_may_change_while_it_learns() -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    model = UnitlessClassifier().partial_fit(X, y, classes=[0, 1])
    model.set_params(max_iter=3, shuffle=False, random_state=1, extrapolate=True, class_weight={0: 2.0}, l2=0)
    model.partial_fit(X, y).set_params(warm_start=True).fit(X, y)
    with pytest.raises(ul.OptionError, match="new_classes is 'allow', but the model was made with 'error'"):
        model.set_params(new_classes="allow").partial_fit(X, y)


@pytest.mark.parametrize(
    ("first", "then", "message"),
    [
        (["a", "b"], [0, 1], "the class at row 0 is 0, which is a number, but the classes so far are text"),
        ([0, 1], ["b", "a"], "the class at row 0 is 'b', which is text, but the classes so far are numbers"),
    ],
)
def test_classes_of_another_kind_cannot_join(first: list[Any], then: list[Any], message: str) -> None:
    X = np.random.default_rng(0).normal(size=(2, 2))
    model = UnitlessClassifier(new_classes="allow").partial_fit(X, first)
    with pytest.raises(ul.InputError, match=message + ".*make all of them text") as error:
        model.partial_fit(X, then)
    assert "new_classes" not in str(error.value)
    assert model.classes_.tolist() == first
