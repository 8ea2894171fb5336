"""Models made by `train` keep their column types when they are merged, and predict frames."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import unitless as ul

pd = pytest.importorskip("pandas")


def table(seed: int, rows: int = 400) -> Any:
    rng = np.random.default_rng(seed)
    age, job = rng.integers(20, 70, rows), rng.choice(["clerk", "pilot", "cook"], rows)
    return pd.DataFrame(
        {
            "age": age,
            "job": job,
            "answer": np.where((age > 45) & (job == "pilot"), "yes", "no"),
            "size": age * 3.0 + (job == "cook"),
        }
    )


def trained(seed: int, target: str = "answer", **options: Any) -> Any:
    other = "size" if target == "answer" else "answer"
    return ul.train(table(seed), target, **{"reading": ul.Reading(ignore=other), "passes": 1, **options}).model


@pytest.mark.parametrize("model_type", ["linear", "curves", "trees"])
@pytest.mark.parametrize("target", ["answer", "size", "job"])
def test_a_merged_model_predicts_frames(target: str, model_type: str) -> None:
    ignore = {"answer": ["size"], "size": ["answer"], "job": ["answer"]}[target]
    a, b = (trained(seed, target, model_type=model_type, reading=ul.Reading(ignore=ignore)) for seed in (0, 1))
    merged, frame = ul.merge([a, b]), table(2)
    predicted = np.asarray(ul.Predictor(merged).predict(frame))
    truth = frame[target].to_numpy()
    if target == "size":
        assert np.mean((predicted - truth) ** 2) < 0.1 * np.var(truth)
    else:
        assert set(predicted) <= set(truth)
        trivial = pd.Series(truth).value_counts(normalize=True).max()
        assert np.mean(predicted == truth) >= trivial - 0.05
    np.testing.assert_array_equal(merged.predict(frame), pickle.loads(pickle.dumps(merged)).predict(frame))
    assert merged.predict(frame).shape == a.predict(frame).shape


def test_rows_are_counted_and_columns_are_known() -> None:
    merged = ul.merge([trained(0), trained(1)])
    assert merged._training["progress"]["rows"] == 800
    assert merged._training["schema"] == trained(0)._training["schema"]


def test_an_untrained_model_is_neutral_here_too() -> None:
    model = trained(0)
    fresh = type(model)._fresh(model.options.asdict(), None, False, None)
    merged = ul.merge([fresh, model])
    np.testing.assert_allclose(merged.predict(table(2)), model.predict(table(2)), rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "size"}, "model 1 and model 2 cannot be merged: one predicts 'answer', the other 'size'"),
        ({"positive": "no"}, "the positive label is 'yes' in one, 'no' in the other"),
        ({"reading": ul.Reading(ignore=["size", "job"])}, "only one of them has the column 'job'"),
        ({"task": "classes"}, "the task binary, the other classes; give task to both"),
        ({"rule": "snag"}, "the models differ in rule"),
    ],
)
def test_models_that_mean_other_things_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ul.MergeError, match=message):
        ul.merge([trained(0), trained(1, **options)])


def test_models_with_and_without_a_table_cannot_be_merged() -> None:
    model = trained(0)
    other = type(model)._fresh(model.options.asdict(), None, False, None)
    other.learn_one({"age": 30.0}, 1.0)
    with pytest.raises(ul.MergeError, match="model 2 was not made by train, but model 1 was"):
        ul.merge([model, other])
    with pytest.raises(ul.MergeError, match="model 1 was not made by train, but the base was"):
        ul.merge([other], base=model)
