"""Missing values have the same effect in an exported scikit-learn estimator as in the model."""

from __future__ import annotations

import io
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io

import unitless as ul
from unitless.sklearn import UnitlessRegressor

ROWS = 400


def table(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, income = rng.normal(40, 10, ROWS), rng.gamma(2.0, 3e4, ROWS)
    job = rng.choice(["clerk", "cook", "pilot"], ROWS).astype(object)
    member = rng.random(ROWS) < 0.4
    worth = 0.3 * age + income / 1e4 + 5.0 * (job == "pilot") - 3.0 * member + rng.normal(size=ROWS)
    frame = pd.DataFrame({"age": age, "income": income, "job": job, "member": member.astype(object), "bit": member * 1})
    frame.loc[rng.random(ROWS) < 0.1, "age"] = np.nan
    frame.loc[rng.random(ROWS) < 0.1, "job"] = None
    frame.loc[rng.random(ROWS) < 0.1, "member"] = None
    frame["worth"] = worth
    frame["rich"] = np.where(worth > np.median(worth), "yes", "no")
    frame["group"] = np.array(["low", "middle", "high"])[np.digitize(worth, np.quantile(worth, [0.3, 0.7]))]
    return frame


FRAME = table()
COLUMNS = ["age", "income", "job", "member", "bit"]
OTHERS = {"worth": ["rich", "group"], "rich": ["worth", "group"], "group": ["worth", "rich"]}


def hard() -> pd.DataFrame:
    """Rows with missing values in every column, including columns without missing values in training, and new text."""
    rows = table(1)[COLUMNS][:12].reset_index(drop=True)
    rows["income"] = rows["income"].astype(float)
    rows["bit"] = rows["bit"].astype(float)
    for number, name in enumerate(COLUMNS):
        rows.loc[number, name] = None if name in ("job", "member") else np.nan
    rows.loc[5, "job"] = "never seen"
    rows.loc[6, "job"] = np.nan
    rows.loc[7, "job"] = ""
    rows.loc[8] = [np.nan, np.nan, None, None, np.nan]
    return rows


def scores(model: Any, rows: pd.DataFrame) -> Any:
    return model.predict(rows, extrapolate=True)


def through_joblib(estimator: Any) -> Any:
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


def through_skops(estimator: Any) -> Any:
    kept = skops.io.dumps(estimator)
    assert not [one for one in skops.io.get_untrusted_types(data=kept) if "unitless" in one]
    return skops.io.loads(kept, trusted=skops.io.get_untrusted_types(data=kept))


@pytest.mark.parametrize(("target", "loss"), [*((target, None) for target in OTHERS), ("group", "softmax")])
@pytest.mark.parametrize("missing", ["indicator", "absent"])
@pytest.mark.parametrize("kept", [lambda one: one, through_joblib, through_skops], ids=["itself", "joblib", "skops"])
def test_a_frame_with_gaps_is_predicted_as_by_the_model(target: str, missing: Any, loss: Any, kept: Any) -> None:
    options: dict[str, Any] = {"model_type": "linear", "ensemble": False}
    options |= {"loss": loss} if loss else {}
    reading = ul.Reading(ignore=OTHERS[target], missing=missing)
    model = ul.train(FRAME, target, reading=reading, **options).model
    estimator = kept(ul.to_sklearn(model))
    assert estimator.feature_names_in_.tolist() == COLUMNS
    for rows in (FRAME[COLUMNS], hard(), hard()[COLUMNS[::-1]]):
        expected = scores(model, rows[COLUMNS])
        if target == "worth":
            np.testing.assert_allclose(estimator.predict(rows), expected, rtol=1e-9)
        elif target == "rich":
            sign = 1 if model._training["target"]["classes"] == ["no", "yes"] else -1
            np.testing.assert_allclose(sign * estimator.decision_function(rows), expected, rtol=1e-9, atol=1e-9)
        elif loss is None:
            order = np.argsort(model.classes)
            np.testing.assert_allclose(estimator.decision_function(rows), expected[:, order], rtol=1e-9, atol=1e-9)
        else:
            order = np.argsort(model.classes)
            shares = model._shares(expected)[:, order]
            np.testing.assert_allclose(estimator.predict_proba(rows), shares, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["object", "str", "category"])
def test_every_kind_of_text_column_of_pandas_is_taken(dtype: str) -> None:
    model = ul.train(
        FRAME, "worth", reading=ul.Reading(ignore=OTHERS["worth"]), model_type="linear", ensemble=False
    ).model
    rows = hard()
    rows["job"] = rows["job"].astype(dtype)
    np.testing.assert_allclose(ul.to_sklearn(model).predict(rows), scores(model, rows), rtol=1e-9)


def test_missing_values_unknown_to_scikit_learn_are_not_new_text() -> None:
    model = ul.train(
        FRAME, "worth", reading=ul.Reading(ignore=OTHERS["worth"]), model_type="linear", ensemble=False
    ).model
    rows = hard()
    rows["job"] = rows["job"].astype("string")
    with pytest.raises(TypeError, match="NA is ambiguous"):
        ul.to_sklearn(model).predict(rows)


def test_features_of_a_model_of_names_may_be_left_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal([5.0, 100.0], 1.0, (300, 2))
    model = ul.Learner(center=True)
    model.learn([{"a": a, "b": b} for a, b in X.tolist()], X[:, 0] + X[:, 1])
    estimator = ul.to_sklearn(model)
    expected = [model.predict_one(row, extrapolate=True) for row in ({"b": 101.0}, {"a": 5.5}, {})]
    found = estimator.predict(pd.DataFrame({"a": [np.nan, 5.5, np.nan], "b": [101.0, np.nan, np.nan]}))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_model_of_an_estimator_knows_missing_values() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) + 5.0
    y = X @ [1.0, 2.0, 3.0]
    X[::7, 1] = np.nan
    fitted = UnitlessRegressor(model_type="linear", ensemble=False).fit(X, y)
    rows = X[:20].copy()
    rows[3] = np.nan
    model = fitted.model_
    exported = ul.to_sklearn(model)
    assert exported.feature_names_in_.tolist() == ["0", "1", "2"]
    given = [{str(k): value for k, value in enumerate(row) if not np.isnan(value)} for row in rows.tolist()]
    for one, row in zip(given, rows, strict=True):
        one.update({"1=(missing)": 1.0} if np.isnan(row[1]) else {})
    expected = [model.predict_one(one, extrapolate=True) for one in given]
    np.testing.assert_allclose(exported.predict(pd.DataFrame(rows, columns=["0", "1", "2"])), expected, rtol=1e-9)


def test_an_array_model_and_its_estimator_refuse_missing_values() -> None:
    model = ul.Learner()
    model.learn([[1.0, 2.0], [2.0, 1.0]], [1.0, 2.0])
    for one in (model, ul.to_sklearn(model)):
        with pytest.raises(ValueError, match=r"(?i)nan"):
            one.predict(np.array([[np.nan, 1.0]]))


def test_column_types_that_scikit_learn_lacks_are_named() -> None:
    dated = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=50), "x": np.arange(50) % 7, "y": np.arange(50.0)})
    options: dict[str, Any] = {"model_type": "linear", "ensemble": False}
    model = ul.train(dated, "y", **options).model
    with pytest.raises(ul.OptionError, match="'day' contains dates"):
        ul.to_sklearn(model)
    assert ul.to_sklearn(model, inputs="matrix").n_features_in_ > 2
    coded = pd.DataFrame({"code": np.arange(60) % 3, "y": np.arange(60) % 3 * 2.0 + np.arange(60) % 2})
    with pytest.raises(ul.OptionError, match="contains numbers as text"):
        ul.to_sklearn(ul.train(coded, "y", reading=ul.Reading(text="code"), **options).model)
    plain = ul.Learner()
    plain.learn([[1.0]], [1.0])
    for wrong in ("rows", "columns"):
        with pytest.raises(ul.OptionError, match="inputs"):
            ul.to_sklearn(plain, inputs=wrong)  # type: ignore[arg-type]
