"""The scikit-learn estimators: scikit-learn's own checks and tools, and the exact properties of the models."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import subprocess
import sys
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import skops.io
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import estimator_html_repr
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks
from streams import stream

import unitless as ul
from unitless.data.rows.random_order import Order
from unitless.sklearn import UnitlessClassifier, UnitlessRegressor

ORDER = (
    "a row of weight 2 is one long step, two rows of weight 1 are two steps among others: "
    "the result of online learning depends on the order of the rows, which this check changes"
)
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
}
ESTIMATORS = [
    UnitlessClassifier(),
    UnitlessClassifier(loss="hinge", rule="snag"),
    UnitlessClassifier(new_classes="allow"),
    UnitlessClassifier(interactions=2, max_iter=5),
    UnitlessRegressor(),
    UnitlessRegressor(loss="quantile", rule="snag", shuffle=False, extrapolate=True),
]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda _: EXPECTED)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def data(task: str, rows: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Columns of many units; y is numbers, one of two classes or one of three."""
    X, y = stream("squared" if task != "two" else "logistic", rows=rows, features=6, spread=6, growth=False)
    if task == "three":
        return X, np.array(["cat", "dog", "eel"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]
    return X, (np.where(y > 0, "yes", "no") if task == "two" else y)


def made(task: str, **options: Any) -> Any:
    return UnitlessRegressor(**options) if task == "numbers" else UnitlessClassifier(**options)


def outcome(estimator: Any, X: Any) -> np.ndarray:
    return estimator.predict(X) if isinstance(estimator, UnitlessRegressor) else estimator.decision_function(X)


def frame_of(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


TASKS = ("numbers", "two", "three")
task = pytest.mark.parametrize("task", TASKS)


# The same bits


@task
def test_partial_fit_is_learn_to_the_bit(task: str) -> None:
    X, y = data(task)
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    estimator = made(task, model_type="linear", ensemble=False)
    if task == "numbers":
        model: Any = ul.Learner(learning_rate="auto", target="auto", center=True)
        model.learn(X, y, weight)
        estimator.partial_fit(X, y, sample_weight=weight)
    elif task == "two":
        model = ul.Learner(loss="logistic", learning_rate="auto", center=True)
        model.learn(X, y == "yes", weight)
        estimator.partial_fit(X, y, ["no", "yes"], weight)
    else:
        model = ul.OneVsAll(["cat", "dog", "eel"], center=True)
        model.learn(X, y, weight)
        estimator.partial_fit(X, y, ["cat", "dog", "eel"], weight)
        assert estimator.predict_proba(X).tobytes() == model._shares(model.predict(X)).tobytes()
        assert estimator.predict(X).tolist() == model.predict_label(X).tolist()
    assert outcome(estimator, X).tobytes() == model.predict(X).tobytes()


@task
def test_fit_is_learn_on_the_shuffled_rows(task: str) -> None:
    X, y = data(task, rows=9000)
    at = Order(7, len(y))[: len(y)]
    learned, held = at[:-900], at[-900:]  # held-out rows are learned at the end
    streamed = made(task, model_type="linear", ensemble=False, average=True)  # a stream does not average
    streamed.partial_fit(X[learned], y[learned], **({} if task == "numbers" else {"classes": np.unique(y)}))
    streamed.model_._choose_rates(False)
    streamed.partial_fit(X[learned], y[learned])
    streamed.model_._choose_rates(True)
    streamed.partial_fit(X[held], y[held])
    fitted = made(task, model_type="linear", ensemble=False, max_iter=2, random_state=7).fit(X, y)
    streamed.model_.keep(fitted.model_.kept)
    assert outcome(fitted, X).tobytes() == outcome(streamed, X).tobytes()
    assert fitted.n_iter_ == 2


@task
def test_fit_without_shuffling_is_partial_fit(task: str) -> None:
    X, y = data(task, rows=5000)
    streamed = made(task).partial_fit(X, y, **({} if task == "numbers" else {"classes": np.unique(y)}))
    fitted = made(task, max_iter=1, shuffle=False).fit(X, y)
    assert outcome(fitted, X).tobytes() == outcome(streamed, X).tobytes()
    assert fitted.progressive_score_ == pytest.approx(streamed.progressive_score_, rel=1e-12)


@given(name=st.sampled_from(TASKS), cuts=st.lists(st.integers(1, 149), max_size=5, unique=True))
def test_partial_fit_in_chunks_is_one_call(name: str, cuts: list[int]) -> None:
    X, y = data(name, rows=150)
    classes = {} if name == "numbers" else {"classes": np.unique(y)}
    whole, parts = made(name).partial_fit(X, y, **classes), made(name)
    for rows in np.split(np.arange(150), sorted(cuts)):
        parts.partial_fit(X[rows], y[rows], **classes)
    assert outcome(whole, X).tobytes() == outcome(parts, X).tobytes()
    assert whole.progressive_score_ == pytest.approx(parts.progressive_score_, rel=1e-12)


@task
def test_power_of_two_scaling_changes_no_bit(task: str) -> None:
    X, y = data(task)
    units = np.ldexp(1.0, np.random.default_rng(1).integers(-60, 60, X.shape[1]))
    a, b = made(task).fit(X, y), made(task).fit(X * units, y)
    assert outcome(a, 3 * X).tobytes() == outcome(b, 3 * X * units).tobytes()
    assert a.feature_importances_.tobytes() == b.feature_importances_.tobytes()
    assert a.coef_.tobytes() == (b.coef_ * units).tobytes()


@task
def test_every_container_gives_the_same_bits(task: str) -> None:
    X, y = data(task)
    frame = frame_of(X)
    dense = outcome(made(task, max_iter=2).fit(X, y), X)
    for same in (X.tolist(), np.asfortranarray(X), frame, pl.DataFrame(frame), pa.Table.from_pandas(frame)):
        assert outcome(made(task, max_iter=2).fit(same, y), same).tobytes() == dense.tobytes()
    linear: dict[str, Any] = {"center": False, "model_type": "linear", "ensemble": False, "max_iter": 2}
    plain = outcome(made(task, **linear).fit(X, y), X)
    for kind in (sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array):
        assert outcome(made(task, **linear).fit(kind(X), y), kind(X)).tobytes() == plain.tobytes()


def test_types_of_numbers_do_not_matter() -> None:
    X = np.random.default_rng(0).integers(-100, 100, size=(400, 5))
    y = X @ [1, 2, 3, 0, -1] > 0
    expected = UnitlessClassifier(max_iter=2).fit(X, y).decision_function(X)
    for type in (np.int8, np.int16, np.float32, object):
        assert (
            UnitlessClassifier(max_iter=2).fit(X.astype(type), y).decision_function(X).tobytes() == expected.tobytes()
        )


def test_the_model_depends_on_the_data_and_on_random_state() -> None:
    X, y = data("two")
    first = UnitlessClassifier(max_iter=2).fit(X, y).decision_function(X)
    assert first.tobytes() == UnitlessClassifier(max_iter=2).fit(X, y).decision_function(X).tobytes()
    assert first.tobytes() != UnitlessClassifier(max_iter=2, random_state=1).fit(X, y).decision_function(X).tobytes()


# What can be read from a fitted estimator


@task
@pytest.mark.parametrize("center", [True, False])
def test_coefficients_are_in_the_data_s_units(task: str, center: bool) -> None:
    X, y = data(task)
    estimator = made(task, model_type="linear", ensemble=False, center=center, extrapolate=True).fit(X, y)
    far = 100 * X[:50]
    scores = far @ np.atleast_2d(estimator.coef_).T + estimator.intercept_
    np.testing.assert_allclose(outcome(estimator, far), np.squeeze(scores), rtol=1e-9, atol=1e-9)
    assert estimator.coef_.shape == {"numbers": (6,), "two": (1, 6), "three": (3, 6)}[task]
    assert np.shape(estimator.intercept_) == {"numbers": (), "two": (1,), "three": (3,)}[task]


def test_a_column_of_zeros_has_no_weight_but_its_place() -> None:
    X, y = data("two")
    X[:, 2] = 0
    estimator = UnitlessClassifier().fit(X, y)
    assert estimator.coef_.shape == (1, 6)
    assert estimator.coef_[0, 2] == estimator.feature_importances_[2] == 0
    assert np.count_nonzero(estimator.coef_) == 5


def test_products_follow_the_columns() -> None:
    X, y = data("two")
    estimator = UnitlessClassifier(interactions=[(0, 3)]).fit(X, y)
    assert estimator.features_.tolist() == [0, 1, 2, 3, 4, 5, "0*3"]
    assert estimator.coef_.shape == (1, 7)


def test_importance_finds_what_counts() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4)) * [1e-6, 1, 1e6, 1e3]
    y = X[:, 0] * 1e6 + 0.1 * X[:, 2] / 1e6
    estimator = UnitlessRegressor().fit(X, y)
    assert np.argsort(estimator.feature_importances_)[::-1][:2].tolist() == [0, 2]
    assert SelectFromModel(UnitlessRegressor(), max_features=1).fit(X, y).get_support().tolist() == [
        True,
        False,
        False,
        False,
    ]


def test_the_progressive_score_is_that_of_predictions_made_before() -> None:
    X, y = data("three")
    classes = np.unique(y)
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    whole = UnitlessClassifier(model_type="linear", ensemble=False).partial_fit(X, y, classes, weight)
    scores = ul.OneVsAll(classes.tolist(), center=True).learn(X, y, weight)
    exact = np.average(classes[scores.argmax(axis=1)] == y, weights=weight)
    assert whole.progressive_score_ == pytest.approx(exact, rel=1e-12)


def test_the_progressive_r2_has_neither_unit_nor_offset() -> None:
    X, y = data("numbers")
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    weight[0] = 1
    p = ul.Learner(learning_rate="auto", target="auto", center=True).learn(X, y, weight)
    residual = np.sum(weight[1:] * (p - y)[1:] ** 2)
    expected = 1 - residual / np.sum(weight[1:] * (y[1:] - np.average(y[1:], weights=weight[1:])) ** 2)
    estimator = UnitlessRegressor(model_type="linear", ensemble=False).partial_fit(X, y, weight)
    assert estimator.progressive_score_ == pytest.approx(expected, rel=1e-10)
    other = UnitlessRegressor(model_type="linear", ensemble=False).partial_fit(X, 1024 * y + 50_000, weight)
    assert other.progressive_score_ == pytest.approx(expected, rel=1e-6)


def test_small_data_is_seen_more_often() -> None:
    X, y = data("two", rows=30_000)
    seen = {rows: UnitlessClassifier().fit(X[:rows], y[:rows]).n_iter_ for rows in (40, 100, 2000, 10_000, 30_000)}
    assert seen[40] == 20  # too few to hold some back
    assert 20 <= seen[100] <= 100
    assert 5 <= seen[2000] <= 100
    assert 2 <= seen[10_000] <= 100  # training ends when another pass is not expected to help
    assert 2 <= seen[30_000] <= 100


@pytest.mark.parametrize("loss", ["squared", "quantile", "poisson"])
def test_losses_of_the_regressor(loss: str) -> None:
    X, y = stream("poisson" if loss == "poisson" else "squared", rows=4000, features=5, spread=4, growth=False)
    estimator = UnitlessRegressor(loss=loss, quantile=0.8).fit(X, y)
    predicted = estimator.predict(X)
    if loss == "quantile":
        assert np.mean(y < predicted) == pytest.approx(0.8, abs=0.02)
    else:
        assert np.mean(predicted) == pytest.approx(np.mean(y), abs=0.05 * np.std(y))
        assert estimator.score(X, y) > 0.5
    assert loss != "poisson" or predicted.min() > 0


# Weights, classes, going on


def test_class_weights_are_sample_weights() -> None:
    X, y = data("three")
    weight = np.random.default_rng(1).integers(1, 3, len(y)).astype(float)
    chosen = {"cat": 3.0, "eel": 0.5}
    for class_weight in (chosen, "balanced"):
        expected = compute_sample_weight({**{"dog": 1.0}, **chosen} if class_weight == chosen else "balanced", y)
        a = UnitlessClassifier(max_iter=2, class_weight=class_weight).fit(X, y, weight)
        b = UnitlessClassifier(max_iter=2).fit(X, y, weight * expected)
        assert a.decision_function(X).tobytes() == b.decision_function(X).tobytes()
    a = UnitlessClassifier(class_weight=chosen).partial_fit(X, y, np.unique(y))
    b = UnitlessClassifier().partial_fit(X, y, np.unique(y), compute_sample_weight({"dog": 1.0, **chosen}, y))
    assert a.decision_function(X).tobytes() == b.decision_function(X).tobytes()


def test_balanced_weights_need_all_labels() -> None:
    with pytest.raises(ValueError, match="not supported for partial_fit"):
        UnitlessClassifier(class_weight="balanced").partial_fit([[1.0], [2.0]], [0, 1], [0, 1])
    with pytest.raises(ValueError, match="class_weight has 'cow', which is not one of the classes"):
        UnitlessClassifier(class_weight={"cow": 2.0}).fit(*data("three"))


@task
def test_warm_start_goes_on(task: str) -> None:
    X, y = data(task, rows=5000)
    twice = made(task, max_iter=2, shuffle=False).fit(X, y)
    again = made(task, max_iter=1, shuffle=False, warm_start=True).fit(X, y).fit(X, y)
    assert outcome(twice, X).tobytes() == outcome(again, X).tobytes()
    anew = made(task, max_iter=1, shuffle=False).fit(X, y).fit(X, y)
    assert outcome(anew, X).tobytes() != outcome(again, X).tobytes()


def test_bad_data_leave_a_warm_model_as_it_was() -> None:
    X, y = data("two", rows=9000)
    estimator = UnitlessClassifier(warm_start=True, shuffle=False).fit(X, y)
    before, score = estimator.decision_function(X).tobytes(), estimator.progressive_score_
    bad = X.copy()
    bad[8000, 3] = np.inf
    with pytest.raises(ValueError, match="at row 8000, column 3"):
        estimator.fit(bad, y)
    with pytest.raises(ValueError, match="at row 8000, column 3"):
        estimator.partial_fit(bad, y)
    assert estimator.decision_function(X).tobytes() == before
    assert estimator.progressive_score_ == score


def test_bad_data_leave_no_half_fitted_model() -> None:
    X, y = data("two")
    estimator = UnitlessClassifier().fit(X, y)
    with pytest.raises(ValueError, match="X contains infinity"):
        estimator.fit([[1.0], [np.inf], [2.0]], ["a", "b", "c"])
    with pytest.raises(NotFittedError):
        estimator.predict(X)


def test_new_classes_join_on_request() -> None:
    X, y = data("three")
    late = np.concatenate([np.flatnonzero(y == "eel"), np.flatnonzero(y == "dog"), np.flatnonzero(y == "cat")])
    X, y = X[late], y[late]
    estimator = UnitlessClassifier(new_classes="allow", model_type="linear", ensemble=False)
    known = []
    for rows in np.array_split(np.arange(len(y)), 10):
        estimator.partial_fit(X[rows], y[rows])
        known.append(estimator.classes_.tolist())
        assert set(estimator.predict(X)) <= set(estimator.classes_)
        assert estimator.predict_proba(X).shape == (len(y), len(estimator.classes_))
        np.testing.assert_allclose(estimator.predict_proba(X).sum(axis=1), 1.0)
    assert known[0] == ["eel"]
    assert ["dog", "eel"] in known
    assert known[-1] == ["cat", "dog", "eel"]
    model = ul.OneVsAll(["cat", "dog", "eel"], center=True)
    model.learn(X, y)
    assert estimator.decision_function(X).tobytes() == model.predict(X).tobytes()
    np.testing.assert_array_equal(estimator.coef_[0], [model.weights["cat"][j] for j in range(6)])


def test_two_classes_that_may_become_three() -> None:
    X, y = data("two")
    estimator = UnitlessClassifier(new_classes="allow", model_type="linear", ensemble=False, extrapolate=True).fit(X, y)
    scores = estimator.decision_function(X)
    assert scores.shape == (len(y),)
    assert (np.where(scores > 0, "yes", "no") == estimator.predict(X)).all()
    np.testing.assert_allclose(X @ estimator.coef_[0] + estimator.intercept_, scores, rtol=1e-9, atol=1e-9)
    assert estimator.fit(*data("three")).classes_.tolist() == ["cat", "dog", "eel"]


def test_unknown_classes_are_an_error_otherwise() -> None:
    X, y = data("three")
    estimator = UnitlessClassifier().partial_fit(X, np.where(y == "eel", "dog", y), ["cat", "dog"])
    row = np.argmax(y == "eel")
    with pytest.raises(ValueError, match=f"the class at row {row} is 'eel', which is not one of 'cat'"):
        estimator.partial_fit(X, y)
    with pytest.raises(ValueError, match="not the same as on the first call to partial_fit"):
        estimator.partial_fit(X, y, classes=["cat", "dog", "eel"])
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        UnitlessClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        UnitlessClassifier().fit(X, np.full(len(y), "cat"))


@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], [False, True], [0.0, 2.0], ["a", "b"], [3, 5, 70_000]])
def test_labels_of_any_kind(labels: list[Any]) -> None:
    X, _ = data("two")
    y = np.array(labels)[np.argsort(np.argsort(X[:, 0])) * len(labels) // len(X)]
    for given_labels in (y, y.tolist(), pd.Series(y, name="y")):
        estimator = UnitlessClassifier(max_iter=2).fit(X, given_labels)
        assert estimator.classes_.tolist() == labels
        assert np.mean(estimator.predict(X) == y) > 0.8
    if y.dtype.kind != "f":  # numbers with a point are not classes for scikit-learn if they are objects
        assert UnitlessClassifier(max_iter=2).fit(X, y.astype(object)).classes_.tolist() == labels


# Frames


def people(rows: int = 900) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "job": np.array(["clerk", "pilot", "cook"])[rng.integers(0, 3, rows)],
            "member": rng.random(rows) < 0.5,
            "income": rng.normal(50_000, 10_000, rows),
        }
    )
    score = (frame["age"] - 50) / 15 + 2 * (frame["job"] == "pilot") + frame["member"] - 1
    return frame, np.where(score > 0, "rich", "poor")


def test_text_columns_are_indicators() -> None:
    frame, y = people()
    dummies = frame[["age", "member", "income"]].copy()
    for job in frame["job"].unique():
        dummies[f"job={job}"] = frame["job"] == job
    estimator = UnitlessClassifier(model_type="linear", ensemble=False, infer_columns=False).fit(frame, y)
    expected = UnitlessClassifier(model_type="linear", ensemble=False, infer_columns=False).fit(dummies, y)
    np.testing.assert_allclose(estimator.decision_function(frame), expected.decision_function(dummies), rtol=1e-9)
    assert estimator.n_features_in_ == 4
    assert estimator.feature_names_in_.tolist() == ["age", "job", "member", "income"]
    assert sorted(estimator.features_) == ["age", "income", "job=clerk", "job=cook", "job=pilot", "member"]
    assert estimator.coef_.shape == (1, 6)


def _numbers_in(kind: Any) -> Any:
    return pa.table({"a": [1.0, 2.0]}) if kind is pa.Table else kind({"a": [1.0, 2.0]})


def test_how_categories_are_coded_does_not_matter() -> None:
    frame, y = people()
    expected = UnitlessClassifier(max_iter=2).fit(frame, y).decision_function(frame)
    forms: list[Any] = [
        frame.astype({"job": "category"}),
        frame.astype({"job": pd.CategoricalDtype(["pilot", "unused", "cook", "clerk"])}),
        frame.astype({"job": object}),
        pl.DataFrame(frame),
        pl.DataFrame(frame).with_columns(pl.col("job").cast(pl.Categorical)),
        pa.Table.from_pandas(frame),
        pa.Table.from_pandas(frame.astype({"job": "category"})),
    ]
    for form in forms:
        if not hasattr(UnitlessClassifier().fit(_numbers_in(type(form)), [0, 1]), "feature_names_in_"):
            with pytest.raises(ul.InputError, match="not all numbers"):  # scikit-learn 1.7 knows no names of polars 2
                UnitlessClassifier().fit(form, y)
            continue
        estimator = UnitlessClassifier(max_iter=2).fit(form, y)
        predicted = estimator.predict(form)
        assert estimator.decision_function(form).tobytes() == expected.tobytes()
        assert type(predicted) is np.ndarray
    numbered = frame.assign(job=frame["job"].map({"clerk": 1, "pilot": 2, "cook": 3}).astype("category"))
    np.testing.assert_allclose(
        UnitlessClassifier(max_iter=2).fit(numbered, y).decision_function(numbered), expected, rtol=1e-9, atol=1e-9
    )


def test_a_category_that_was_never_met_counts_nothing() -> None:
    frame, y = people()
    estimator = UnitlessClassifier(model_type="linear", ensemble=False).fit(frame, y)
    unknown = frame.head(5).assign(job="astronaut")
    scores = estimator.decision_function(unknown)
    for job in ("clerk", "pilot"):
        known = estimator.decision_function(unknown.assign(job=job))
        weight = estimator.coef_[0, estimator.features_.tolist().index(f"job={job}")]
        np.testing.assert_allclose(known - scores, weight, rtol=1e-9)


def test_frames_must_stay_what_they_were() -> None:
    frame, y = people()
    estimator = UnitlessClassifier(infer_columns=False).fit(frame, y)
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- wage\n.*now missing:\n- income"):
        estimator.predict(frame.rename(columns={"income": "wage"}))
    with pytest.raises(ValueError, match="must be in the same order"):
        estimator.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match="'job' holds numbers, but held text or dates when the model was fitted"):
        estimator.predict(frame.assign(job=1.0))
    with pytest.raises(ValueError, match="'age' holds text or dates, but held numbers when the model was fitted"):
        estimator.partial_fit(frame.assign(age="old"), y)
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(ValueError, match="column 'job' was text when the model was fitted; give X as a frame"),
    ):
        estimator.predict(np.ones((2, 4)))


def test_a_model_of_a_frame_takes_arrays_with_scikit_learn_s_warning() -> None:
    X, y = data("two")
    frame = frame_of(X)
    by_name, by_number = UnitlessClassifier(max_iter=2).fit(frame, y), UnitlessClassifier(max_iter=2).fit(X, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert by_name.predict_proba(X).tobytes() == by_number.predict_proba(X).tobytes()
    with pytest.warns(UserWarning, match="X has feature names, but UnitlessClassifier was fitted without"):
        assert by_number.predict_proba(frame).tobytes() == by_name.predict_proba(frame).tobytes()
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(TypeError, match="Sparse data was passed"),
    ):
        by_name.predict(sp.csr_matrix(X))


def test_a_frame_whose_columns_are_numbered_is_an_array() -> None:
    X, y = data("two")
    estimator = UnitlessClassifier(max_iter=2).fit(pd.DataFrame(X), y)
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.predict_proba(X).tobytes() == UnitlessClassifier(max_iter=2).fit(X, y).predict_proba(X).tobytes()


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0, np.inf, 3.0], "X contains infinity: value is inf at row 1, column 'a'"),
        (["x", 1, 2.0], "column 'a' is neither all numbers nor all text"),
        ([[1], [2], [3]], "column 'a' holds list.*neither numbers nor text"),
    ],
)
def test_columns_that_cannot_be_learned(column: Any, message: str) -> None:
    frame = pd.DataFrame({"b": [1.0, 2.0, 3.0], "a": column})
    with pytest.raises(ul.InputError, match=message):
        UnitlessClassifier(infer_columns=False).fit(frame, [0, 1, 0])


def raw_table(rows: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    """A raw frame as from a file: a row counter, dates, numbers written as text, categories, sentences."""
    rng = np.random.default_rng(0)
    words = np.array(["fine day", "a cold morning", "rain and wind all day", "sunny again", "fog until noon"])
    frame = pd.DataFrame(
        {
            "id": np.arange(rows),
            "when": pd.date_range("2020-01-01", periods=rows, freq="7h"),
            "pay": [f"{value:,.2f}" for value in rng.normal(5e4, 1e4, rows)],
            "job": np.array(["clerk", "pilot", "cook"])[rng.integers(0, 3, rows)],
            "said": [f"{words[k]} {words[(k + i) % 5]} {i % 97}" for i, k in enumerate(rng.integers(0, 5, rows))],
        }
    )
    return frame, np.where(frame["job"] == "pilot", "yes", "no")


@pytest.mark.parametrize("estimator", [UnitlessClassifier, UnitlessRegressor])
def test_a_frame_is_read_as_train_reads_it(estimator: Any) -> None:
    frame, y = raw_table()
    labels = y if estimator is UnitlessClassifier else np.arange(600) % 7 * 1.0
    fitted = estimator(model_type="linear", ensemble=False, shuffle=False, max_iter=1).fit(frame, labels)
    given = frame.assign(y=labels)
    task = "binary" if estimator is UnitlessClassifier else "regression"
    trained = ul.train(given, "y", task=task, model_type="linear", ensemble=False, shuffle=False, passes=1).model
    assert set(fitted.model_.weights) == set(trained.weights)
    assert fitted.model_.predict(frame).tobytes() == trained.predict(frame).tobytes()
    assert {"id", "pay=(missing)"}.isdisjoint(fitted.model_.weights)
    assert any(str(name).startswith("when") for name in fitted.model_.weights)
    loaded = ul.Predictor(fitted)
    assert list(loaded.predict(frame)) == fitted.predict(frame).tolist()
    assert ul.explain(fitted, frame.iloc[3].to_dict()).prediction == fitted.predict(frame.iloc[[3]])[0]


def test_frames_of_no_rows_or_double_names_are_refused() -> None:
    frame, y = people()
    with pytest.raises(ValueError, match="0 rows"):
        UnitlessClassifier().fit(frame.head(0), [])
    with pytest.raises(ValueError, match="two columns named 'age'"):
        UnitlessClassifier().fit(pd.concat([frame, frame[["age"]]], axis=1), y)
    with pytest.raises(ValueError, match="lazy; collect"):
        UnitlessClassifier().fit(pl.DataFrame(frame).lazy(), y)


# In scikit-learn's tools


def test_in_a_pipeline_with_a_column_transformer() -> None:
    frame, y = people()
    columns = ColumnTransformer([("job", OneHotEncoder(), ["job"])], remainder="passthrough")
    pipeline = make_pipeline(columns, UnitlessClassifier())
    assert cross_val_score(pipeline, frame, y, cv=3, error_score="raise").min() > 0.9
    assert "UnitlessClassifier" in estimator_html_repr(pipeline)
    named = columns.set_output(transform="pandas").set_params(job__sparse_output=False)
    assert make_pipeline(named, UnitlessClassifier()).fit(frame, y).score(frame, y) > 0.9


def test_in_a_grid_search_and_parallel() -> None:
    frame, _ = people()
    y = (frame["age"] > 50) ^ (frame["job"] == "pilot")  # which no linear model can separate
    search = GridSearchCV(
        UnitlessClassifier(model_type="linear"), {"interactions": [None, 2], "max_iter": [1, 5]}, cv=3, n_jobs=2
    )
    search.fit(frame, y)
    assert search.best_params_["interactions"] == 2
    assert search.score(frame, y) == search.best_estimator_.score(frame, y)


@task
def test_across_processes(task: str) -> None:
    X, y = data(task)
    here = made(task).fit(X, y)
    (there,) = joblib.Parallel(n_jobs=2)([joblib.delayed(clone(here).fit)(X, y)])
    assert outcome(there, X).tobytes() == outcome(here, X).tobytes()


def test_calibrated() -> None:
    X, y = data("three", rows=1500)
    calibrated = CalibratedClassifierCV(UnitlessClassifier(max_iter=2), cv=3).fit(X, y)
    probabilities = calibrated.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert calibrated.score(X, y) > 0.7
    hinge = CalibratedClassifierCV(UnitlessClassifier(loss="hinge", max_iter=2), cv=3).fit(X, y)
    assert hinge.predict_proba(X).shape == (len(y), 3)


def test_several_targets_through_a_wrapper() -> None:
    X, y = data("numbers")
    both = MultiOutputRegressor(UnitlessRegressor()).fit(X, np.c_[y, 1000 * y + 7])
    np.testing.assert_allclose(both.predict(X)[:, 1], 1000 * both.predict(X)[:, 0] + 7, rtol=1e-6)


def test_probabilities_out_of_cross_validation() -> None:
    X, y = data("two")
    probabilities = cross_val_predict(UnitlessClassifier(), X, y, method="predict_proba")
    log_loss = -np.log(probabilities[np.arange(len(y)), (y == "yes").astype(int)]).mean()
    assert log_loss < 0.5


# Kept and taken up again


def through_pickle(estimator: Any) -> Any:
    return pickle.loads(pickle.dumps(estimator))


def through_joblib(estimator: Any) -> Any:
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


def through_skops(estimator: Any) -> Any:
    kept = skops.io.dumps(estimator)
    types = skops.io.get_untrusted_types(data=kept)
    assert types == [f"{type(estimator).__module__}.{type(estimator).__name__}"]
    return skops.io.loads(kept, trusted=types)


@task
@pytest.mark.parametrize("way", [through_pickle, through_joblib, through_skops, copy.deepcopy])
def test_a_kept_estimator_goes_on_as_if_it_had_never_stopped(task: str, way: Any) -> None:
    X, y = data(task)
    frame = frame_of(X).assign(job=np.where(X[:, 0] > 0, "clerk", "cook"))
    classes = {} if task == "numbers" else {"classes": np.unique(y)}
    estimator = made(task).partial_fit(frame[:300], y[:300], **classes)
    kept = way(estimator)
    assert outcome(kept, frame).tobytes() == outcome(estimator, frame).tobytes()
    for one in (estimator, kept):
        one.partial_fit(frame[300:], y[300:])
    assert outcome(kept, frame).tobytes() == outcome(estimator, frame).tobytes()
    assert kept.progressive_score_ == estimator.progressive_score_


def test_the_model_behind_is_an_ordinary_one(tmp_path: Any) -> None:
    X, y = data("three")
    estimator = UnitlessClassifier().fit(X, y)
    estimator.model_.save(tmp_path / "model.unitless")
    loaded = ul.load(tmp_path / "model.unitless")
    assert loaded.predict_label(X).tolist() == estimator.predict(X).tolist()


# What goes wrong


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iter": 0}, "max_iter is 0; it must be a number of passes"),
        ({"max_iter": 1.5}, "max_iter is 1.5"),
        ({"shuffle": "yes"}, "shuffle is 'yes'; it must be True or False"),
        ({"warm_start": 1}, "warm_start is 1"),
        ({"extrapolate": None}, "extrapolate is None"),
        ({"rule": "adam"}, "rule is 'adam'; it must be one of"),
        ({"loss": "squared_hinge"}, "loss is 'squared_hinge'; it must be one of "),
        ({"learning_rate": "optimal"}, "learning_rate is 'optimal'; it must be a number or 'auto'"),
        ({"learning_rate": -1}, "learning_rate is -1; it must be positive"),
        ({"interactions": 3}, "interactions is 3"),
    ],
)
@task
def test_options_that_do_not_exist(task: str, options: dict[str, Any], message: str) -> None:
    X, y = data(task)
    with pytest.raises(ValueError, match=message):
        made(task, **options).fit(X, y).predict(X)


@pytest.mark.parametrize("options", [{"new_classes": "maybe"}, {"class_weight": "even"}, {"class_weight": 3}])
def test_options_of_classes_that_do_not_exist(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(options))} is"):
        UnitlessClassifier(**options).fit(*data("two"))


@task
def test_bad_values_are_named_where_the_user_finds_them(task: str) -> None:
    X, y = data(task, rows=9000)
    X[5000, 2] = np.inf
    X[7000, 1] = -np.inf
    no_number = sp.csr_matrix(X)
    no_number.data[no_number.data == np.inf] = np.nan  # in a sparse matrix it has no meaning of its own
    for wrong in (X, X.astype(np.float32), sp.csr_matrix(X), no_number):
        with pytest.raises(
            ul.InputError, match=r"X contains (NaN|infinity): .* at row (5000, column 2|7000, column 1);"
        ):
            made(task).fit(wrong, y)
    X[7000, 1] = 0
    estimator = made(task).fit(X[:5000], y[:5000])
    with pytest.raises(ul.InputError, match="at row 5000, column 2"):
        estimator.predict(X)
    with pytest.raises(ValueError, match="sample_weight has 3 values, but X has 9000 rows"):
        made(task).fit(X, y, [1, 2, 3])
    with pytest.raises(ValueError, match="weight is -1 at row 4000; weights must be between 0 and 1e15"):
        made(task).fit(X[:5000], y[:5000], np.where(np.arange(5000) == 4000, -1.0, 1.0))
    with pytest.raises(ValueError, match="y has 8999 values, but X has 9000 rows"):
        made(task).fit(X, y[1:])


@pytest.mark.parametrize("name", ["predict", "decision_function", "predict_proba", "coef_", "progressive_score_"])
def test_an_unfitted_estimator_has_no_results(name: str) -> None:
    estimator = UnitlessClassifier()
    with pytest.raises(NotFittedError, match="UnitlessClassifier instance is not fitted yet"):
        getattr(estimator, name)([[1.0]])
    for attribute in ("coef_", "intercept_", "feature_importances_", "progressive_score_", "features_"):
        assert not hasattr(UnitlessRegressor(), attribute)


def test_hinge_has_no_probabilities() -> None:
    assert not hasattr(UnitlessClassifier(loss="hinge"), "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        UnitlessClassifier(loss="hinge").predict_proba([[1.0]])


def test_labels_that_are_no_classes() -> None:
    X, y = data("numbers")
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        UnitlessClassifier().fit(X, y)
    with pytest.raises(ValueError, match="several kinds"):
        UnitlessClassifier().fit(X[:3], np.array(["a", 1, "b"], dtype=object))
    with pytest.raises(ul.InputError, match="label is -1 at row 3; poisson loss is for counts"):
        UnitlessRegressor(loss="poisson").fit(X[:5], [1, 2, 3, -1, 5])


# The package


def test_importing_unitless_imports_no_scikit_learn() -> None:
    code = "import unitless, sys; unitless.Learner(); assert 'sklearn' not in sys.modules; import unitless.sklearn"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_scikit_learn_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("unitless.sklearn")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn.utils.validation", None)
    with pytest.raises(ImportError, match=r"pip install 'unitless\[sklearn\]'"):
        importlib.import_module("unitless.sklearn")


def test_nothing_to_scale_and_nothing_to_tune() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5)) * [1e-6, 1, 1e3, 1e6, 1e9] + [0, 0, 1e4, 0, 1e9]
    y = (X - [0, 0, 1e4, 0, 1e9]) @ [1e6, 1, 1e-3, -1e-6, 0] + rng.normal(size=4000) > 0
    ours = cross_val_score(UnitlessClassifier(), X, y).mean()
    scaled = make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0))
    assert ours >= cross_val_score(scaled, X, y).mean() - 0.005
    assert cross_val_score(UnitlessClassifier(), X * [1e9, 1e-9, 1, 1, 7], y).mean() == pytest.approx(ours, abs=0.005)


def test_explaining_an_estimators_model_takes_booleans_as_it_does() -> None:
    frame = pd.DataFrame({"a": np.arange(900) % 7 * 1.0, "vip": np.arange(900) % 2 == 0})
    model = UnitlessRegressor().fit(frame, frame["a"] + 10 * frame["vip"])
    row = {"a": 3.0, "vip": True}
    why = ul.explain(model.model_, row)
    assert why.unknown == []
    assert why.prediction == pytest.approx(model.predict(pd.DataFrame([row]))[0], rel=1e-12)


def test_later_parameter_changes_do_not_affect_probabilities() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = UnitlessClassifier().fit(X, X[:, 0] > 0)
    assert model.set_params(loss="hinge").predict_proba(X).shape == (200, 2)


def test_one_weight_for_all_rows() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = X[:, 0] > 0
    whole = UnitlessClassifier().fit(X, y, sample_weight=np.full(200, 2.0))
    assert np.array_equal(UnitlessClassifier().fit(X, y, sample_weight=2.0).coef_, whole.coef_)


def test_importances_do_not_depend_on_units() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3)) * [1e-3, 1, 1e6]
    y = X @ [1000, 1, 3e-6] + rng.normal(size=1500) > 0
    chosen = SelectFromModel(
        UnitlessClassifier(), max_features=1, threshold=-np.inf, importance_getter="feature_importances_"
    ).fit(X, y)
    assert chosen.get_support().tolist() == [False, False, True]


def numbers_and_kinds(rows: int = 6000) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3)) * [1e-3, 1, 1e3]
    y = X @ [1e3, 1, 1e-3] + rng.normal(size=rows)
    return X, y, np.array(["low", "mid", "high"])[np.digitize(y, [-1, 1])]


@pytest.mark.parametrize("shuffle", [True, False])
def test_intervals_of_a_regressor_cover_at_their_level(shuffle: bool) -> None:
    X, y, _ = numbers_and_kinds()
    model = UnitlessRegressor(model_type="linear", shuffle=shuffle, max_iter=1).fit(X[:3000], y[:3000])
    limits = model.predict_interval(X[3000:], level=0.9)

    assert limits.shape == (3000, 2)
    assert abs(np.mean((limits[:, 0] <= y[3000:]) & (y[3000:] <= limits[:, 1])) - 0.9) < 0.03
    assert model.model_._errors is not None
    assert model.model_._errors.rows == (300 if shuffle else 2999)
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[3000:], y[3000:])
    assert again.model_._errors.rows == model.model_._errors.rows + 3000
    for bad in (0, 1, 90):
        with pytest.raises(ul.OptionError, match=r"level is .* probability"):
            model.predict_interval(X, level=bad)


@pytest.mark.parametrize("shuffle", [True, False])
def test_intervals_of_a_regressor_cover_low_and_high_predictions_alike(shuffle: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(10, 100, size=(8000, 1))
    y = X[:, 0] * np.maximum(0.0, 1 + 0.3 * rng.normal(size=8000))
    limits = UnitlessRegressor(model_type="linear", shuffle=shuffle).fit(X[:4000], y[:4000]).predict_interval(X[4000:])
    inside = (limits[:, 0] <= y[4000:]) & (y[4000:] <= limits[:, 1])
    for fifth in np.array_split(np.argsort(X[4000:, 0]), 5):
        assert 0.85 < inside[fifth].mean() < 0.95
    assert limits[:, 0].min() >= 0


@pytest.mark.parametrize("options", [{}, {"new_classes": "allow"}])
@pytest.mark.parametrize("classes", [2, 3])
def test_sets_of_a_classifier_cover_at_their_level(options: dict[str, Any], classes: int) -> None:
    X, y, kinds = numbers_and_kinds()
    labels = kinds if classes == 3 else y > 0
    for model in (
        UnitlessClassifier(model_type="linear", **options).fit(X[:3000], labels[:3000]),
        UnitlessClassifier(model_type="linear", **options).partial_fit(X[:3000], labels[:3000], np.unique(labels)),
    ):
        sets = model.predict_interval(X[3000:], 0.95)
        assert len(sets) == 3000
        assert np.mean([label in one for label, one in zip(labels[3000:].tolist(), sets, strict=True)]) > 0.93
        assert [one[0] for one in sets] == model.predict(X[3000:]).tolist()
        assert 1 <= np.mean([len(one) for one in sets]) < classes
    with pytest.raises(ul.OptionError, match="level is 95"):
        model.predict_interval(X, 95)
    assert not hasattr(UnitlessClassifier(loss="hinge"), "predict_interval")


def test_errors_are_the_same_however_partial_fits_are_cut() -> None:
    X, _, kinds = numbers_and_kinds(1200)
    whole = UnitlessClassifier(model_type="linear", new_classes="allow").partial_fit(X, kinds)
    parts = UnitlessClassifier(model_type="linear", new_classes="allow")
    for k in (0, 1, 2, 3, 500):
        parts.partial_fit(X[k : {3: 500, 500: 1200}.get(k, k + 1)], kinds[k : {3: 500, 500: 1200}.get(k, k + 1)])
    assert parts.model_._errors.plain() == whole.model_._errors.plain()  # type: ignore[union-attr]
