"""Every entry point accepts results, models, estimators and files; labels are returned as they were written."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul
from unitless.cli import main
from unitless.sklearn import UnitlessClassifier


def people(rows: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 70, rows), "job": rng.choice(["clerk", "pilot", "cook"], rows)})
    return frame.assign(left=np.where((frame["age"] > 40) & (frame["job"] != "cook"), "Yes", "No"))


def test_a_result_can_be_resumed() -> None:
    frame = people()
    first = ul.train(frame, "left", model_type="linear")
    examples = first.model.examples
    more = ul.train(frame, resume=first)
    assert more.model.examples > examples
    assert more.details.learned == len(frame)


def test_a_model_of_train_learns_and_predicts_with_the_labels_of_its_data() -> None:
    frame = people()
    model = ul.train(frame, "left", model_type="linear", passes=1).model
    as_numbers = model.copy()
    scores = model.learn(frame[:50], frame["left"][:50])
    assert scores.tobytes() == as_numbers.learn(frame[:50], frame["left"][:50] == "Yes").tobytes()
    assert model.predict(frame).tobytes() == as_numbers.predict(frame).tobytes()
    assert set(model.predict_label(frame)) == {"Yes", "No"}
    assert np.mean(model.predict_label(frame) == frame["left"]) > 0.8
    assert model.predict_proba(frame).sum(axis=1) == pytest.approx(np.ones(len(frame)))
    assert all("Yes" in one or "No" in one for one in model.predict_interval(frame[:20], level=0.9))
    with pytest.raises(ul.InputError, match="the target is 'Maybe', but so far it was 'No' or 'Yes'"):
        model.learn(frame[:2], ["Yes", "Maybe"])


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_every_model_has_the_same_four_ways_to_predict(loss: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    y = X @ [1.0, 2.0, -1.0] + 0.3 * rng.normal(size=800)
    labels: Any = y if loss == "squared" else y > 0
    model = ul.train(X, labels, model_type="linear").model
    assert model.predict(X).shape == (800,)
    if loss == "squared":
        limits = [(one.low, one.high) for one in model.predictor.predict_interval(X, level=0.8)]
        assert model.predict_interval(X, level=0.8).tolist() == [list(one) for one in limits]
        assert model.predict_label(X).tobytes() == model.predict(X).tobytes()
    else:
        assert np.mean(model.predict_label(X) == labels) > 0.9
        assert model.predict_proba(X)[:, 1] == pytest.approx(1 / (1 + np.exp(-model.predict(X))))
    kinds = np.array(["a", "b", "c"])[np.digitize(y, [-1, 1])]
    several = ul.train(X, kinds, model_type="linear").model
    assert several.predict(X).shape == several.predict_proba(X).shape == (800, 3)
    assert np.mean(several.predict_label(X) == kinds) > 0.8
    assert all(
        one[0] == label for one, label in zip(several.predict_interval(X), several.predict_label(X), strict=True)
    )


def test_explanations_and_pictures_take_whatever_has_a_model(tmp_path: pathlib.Path) -> None:
    frame = people()
    result = ul.train(frame, "left", model_type="curves", passes=1)
    result.save(tmp_path / "m.unitless")
    estimator = UnitlessClassifier(model_type="curves", max_iter=1).fit(frame[["age", "job"]], frame["left"])
    row = {"age": 30, "job": "cook"}
    things = [result, result.model, result.predictor, tmp_path / "m.unitless", str(tmp_path / "m.unitless")]
    expected = ul.explain(result, row)
    assert all(ul.explain(thing, row) == expected for thing in things)
    assert ul.explain(estimator, row).prediction == "No"
    for thing in (*things, estimator):
        assert ul.plot.importance(thing).get_yticklabels()
        assert ul.plot.curves(thing)
    with pytest.raises(ul.OptionError, match="has no model; give a model, a model file"):
        ul.explain(UnitlessClassifier(), row)


@pytest.mark.parametrize("target", [-1, "-1", 3, "3"])
def test_columns_of_a_file_without_a_header_are_counted(target: Any, tmp_path: pathlib.Path) -> None:
    people().to_csv(tmp_path / "a.csv", index=False, header=False)
    result = ul.train(tmp_path / "a.csv", target, model_type="linear", passes=1)
    assert result.predictor.classes == ["No", "Yes"]
    words = ["train", str(tmp_path / "a.csv"), f"--target={target}", "--model-type", "linear", "--passes", "1", "-q"]
    assert main(words) == 0


def test_the_last_column_of_a_frame_can_be_counted_too() -> None:
    assert ul.train(people(), -1, model_type="linear", passes=1).predictor.classes == ["No", "Yes"]


def test_a_model_of_mappings_predicts_a_frame_and_the_other_way_round() -> None:
    frame = people()
    rows = frame.to_dict("records")
    of_rows = ul.train(rows, "left", model_type="linear", passes=2)
    of_frame = ul.train(frame, "left", model_type="linear", passes=2)
    assert list(of_rows.predict(frame)) == of_rows.predict(rows)
    assert of_frame.predict(rows) == list(of_frame.predict(frame))
    assert ul.evaluate(of_rows, frame).metrics == pytest.approx(ul.evaluate(of_rows, rows).metrics)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["TRUE", "FALSE"], ["TRUE", "FALSE"]),
        (["Yes", "No"], ["Yes", "No"]),
        (["1", "0"], [1, 0]),
        (["3", "7"], [3, 7]),
    ],
)
def test_labels_come_back_as_they_were_written(written: list[str], expected: list[Any], tmp_path: pathlib.Path) -> None:
    frame = people()
    frame["left"] = np.where(frame["left"] == "Yes", *written)
    frame.to_csv(tmp_path / "a.csv", index=False)
    result = ul.train(tmp_path / "a.csv", "left", model_type="linear", passes=1, task="binary")
    assert set(result.predict(tmp_path / "a.csv")) == set(expected)
    assert set(result.predict_proba(frame).columns) == set(expected)


def test_integer_labels_name_the_columns_of_probabilities() -> None:
    frame = people().assign(left=np.arange(500) % 4)
    result = ul.train(frame, "left", task="classes", model_type="linear", passes=1)
    assert sorted(result.predict_proba(frame).columns) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cluster": "ray"}, r"cluster is 'ray'; it must be a ul\.Cluster"),
        ({"reading": {"ignore": "age"}}, r"reading is a dict; it must be a ul\.Reading"),
    ],
)
def test_records_are_asked_for_by_their_type(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ul.OptionError, match=message):
        ul.train(people(), "left", **given)


def test_every_reading_function_refuses_an_invalid_reading() -> None:
    frame = people()
    result = ul.train(frame, "left", model_type="linear", passes=1)
    doors: list[Any] = [
        lambda: result.predict(frame, reading={}),
        lambda: result.predict_proba(frame, reading={}),
        lambda: result.predict_interval(frame, reading={}),
        lambda: ul.evaluate(result, frame, reading={}),
        lambda: ul.compare(frame, "left", ["nag"], reading={}),
        lambda: ul.sweep(frame, "left", ["nag"], reading={}),
    ]
    for door in doors:
        with pytest.raises(ul.OptionError, match=r"reading is a dict; it must be a ul\.Reading"):
            door()
    with pytest.raises(ul.OptionError, match="ignore is 3; it must be a name or a list of names"):
        ul.Reading(ignore=3)  # type: ignore[arg-type]
    with pytest.raises(ul.OptionError, match="infer_columns is 'x'; it must be True or False"):
        UnitlessClassifier(infer_columns="x").fit(frame[["age"]], frame["left"])  # type: ignore[arg-type]


def test_a_missing_label_is_refused_and_nothing_is_learned() -> None:
    frame = people()
    model = ul.train(frame, "left", model_type="linear", passes=1).model
    before = model.predict(frame).tobytes()
    with pytest.raises(ul.InputError, match="y has no label at row 1; leave out such rows"):
        model.learn(frame[:3], ["Yes", None, "No"])
    assert model.predict(frame).tobytes() == before


FLAGS = pd.DataFrame({"x": np.arange(200.0) % 7, "flag": np.arange(200) % 7 > 3, "digit": (np.arange(200) % 7 > 3) * 1})


@pytest.mark.parametrize(("target", "positive"), [("digit", 1), ("digit", 0), ("flag", True), ("flag", "True")])
def test_the_positive_label_is_given_as_the_data_has_it(target: str, positive: Any) -> None:
    result = ul.train(FLAGS[["x", target]], target, positive=positive, progress=False)
    assert f"is it '{str(positive).lower()}' (positive)" in result.task


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ul.train(FLAGS, "digit", positive=[1]), "positive is .*; it must be one of the labels"),
        (lambda: ul.train(FLAGS, "digit", output=3), "output is 3; it must be the name of a file"),
        (lambda: ul.Reading(na=["x", None]), "na has None; it must be a name or a list of names"),
        (lambda: ul.Reading(ignore=["a", 3]), "ignore has 3"),
        (lambda: ul.Reading(header="x"), "header is 'x'; it must be True or False"),
        (lambda: ul.Reading(zero_based=3), "zero_based is 3"),
        (lambda: ul.merge([ul.Learner(), ul.Learner()], bounded="x"), "bounded is 'x'; it must be True or False"),
    ],
)
def test_wrong_arguments_are_named_with_what_they_must_be(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ul.Error, match=words):
        call()


def test_rows_without_weight_cannot_be_evaluated() -> None:
    model = ul.train(FLAGS[["x", "digit"]], "digit", progress=False).model
    with pytest.raises(ul.InputError, match="no row has a weight above 0"):
        ul.evaluate(model, FLAGS[["x", "digit"]], weight=np.zeros(200), progress=False)


@pytest.mark.parametrize("of", [lambda result: result, lambda result: result.predictor])
def test_results_and_predictors_are_exported_as_their_model(of: Callable[[Any], Any]) -> None:
    result = ul.train(FLAGS[["x", "digit"]], "digit", model_type="linear", ensemble=False, progress=False)
    assert ul.to_json(of(result)) == ul.to_json(result.model)
