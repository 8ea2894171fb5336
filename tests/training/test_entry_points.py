"""Every entry point accepts results, models, estimators and files; labels are returned as they were written."""

from __future__ import annotations

import datetime
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul
from unitless.cli import main
from unitless.sklearn import UnitlessClassifier, UnitlessRegressor


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


@pytest.mark.parametrize("classes", [None, ["a", "b", "c"]])
@pytest.mark.parametrize("made_by", ["train", "hand", "sweep"])
def test_every_model_predicts_the_label_of_a_row_as_of_many(made_by: str, classes: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    names = np.array(classes or ["a", "b"])
    y = names[np.digitize(X[:, 0], [0] if classes is None else [-1, 1])]
    labels = y == "b" if classes is None and made_by != "train" else y
    if made_by == "train":
        model: Any = ul.train(X, y, model_type="linear", passes=1, progress=False).model
    elif made_by == "sweep":
        model = ul.Sweep([0.1, 1.0], classes=classes, loss="logistic")
    else:
        model = ul.OneVsAll(classes) if classes else ul.Learner(loss="logistic")
    if made_by != "train":
        model.learn(X, labels)
    many = model.predict_label(X[:20])
    assert [model.predict_label_one(x.tolist()) for x in X[:20]] == many.tolist()
    assert np.mean(model.predict_label(X) == labels) > 0.6
    assert model.predict_proba(X).shape == (300, len(names))
    if made_by == "train":
        assert [one[0] for one in model.predict_interval(X[:20])] == many.tolist()
    else:
        with pytest.raises(ul.OptionError, match="level needs the errors of predictions"):
            model.predict_interval(X)


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


FLAGS = pd.DataFrame({"x": np.arange(200.0) % 7, "flag": np.arange(200) % 7 > 3, "digit": (np.arange(200) % 7 > 3) * 1})
KINDS = {"regression": "age", "two": "left", "three": "job"}
LINEAR: dict[str, Any] = {"model_type": "linear", "passes": 1, "progress": False}


@pytest.mark.parametrize("target", KINDS.values())
@pytest.mark.parametrize("of", ["frame", "mappings"])
def test_a_row_is_learned_with_its_label_as_a_frame_of_one_row(of: str, target: str) -> None:
    frame = people()
    data: Any = frame if of == "frame" else frame.to_dict("records")
    one = ul.train(data, target, **LINEAR).model
    frames, mappings = one.copy(), one.copy()
    for row in frame.iloc[:20].to_dict("records"):
        label, features = row[target], {name: value for name, value in row.items() if name != target}
        score = one.learn_one(features, label)
        assert np.array_equal(np.ravel(score), np.ravel(frames.learn(pd.DataFrame([features]), [label])))
        assert np.array_equal(np.ravel(score), np.ravel(mappings.learn([features], [label])))
        assert np.array_equal(np.ravel(one.predict_one(features)), np.ravel(frames.predict([features])))
    rest = frame.drop(columns=target)
    assert one.predict(rest).tobytes() == frames.predict(rest).tobytes() == mappings.predict(rest).tobytes()


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("kind", [int, float, bool, np.int64, np.bool_])
def test_rows_and_batches_learn_towards_the_same_label(positive: int, kind: Callable[[int], Any]) -> None:
    model = ul.train(FLAGS[["x", "digit"]], "digit", positive=positive, **LINEAR).model
    other = model.copy()
    row = {"x": 6.0}  # whose label was 1
    before = model.predict_one(row)
    for _ in range(50):
        model.learn_one(row, kind(0))
        other.learn(pd.DataFrame([row]), [kind(0)])
    assert model.predict_one(row) == other.predict_one(row)
    assert (model.predict_one(row) > before) == (positive == 0)


@pytest.mark.parametrize("positive", [True, False])
def test_booleans_among_the_labels_are_these_labels(positive: bool) -> None:
    model = ul.train(FLAGS[["x", "flag"]], "flag", positive=positive, **LINEAR).model
    before = model.predict_one({"x": 2.0})
    model.learn_one({"x": 2.0}, False)
    model.learn(FLAGS[["x"]][:40], FLAGS["flag"][:40])
    model.learn_one({"x": 2.0}, "false")
    assert (model.predict_one({"x": 2.0}) > before) == (not positive)


@pytest.mark.parametrize("target", KINDS.values())
@pytest.mark.parametrize("label", [None, np.nan, "", float("inf"), [1]])
def test_a_row_without_a_valid_label_changes_nothing(target: str, label: Any) -> None:
    frame = people()
    model = ul.train(frame, target, **LINEAR).model
    before = model.predict(frame).tobytes()
    with pytest.raises(ul.InputError):
        model.learn_one(frame.drop(columns=target).iloc[0].to_dict(), label)
    assert model.predict(frame).tobytes() == before


def test_a_row_of_numbers_is_learned_by_a_model_of_arrays() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = ul.train(X, np.where(X[:, 0] > 0, "up", "down"), **LINEAR).model
    other = model.copy()
    assert model.learn_one([0.5, 1.0], "up") == other.learn([[0.5, 1.0]], ["up"])[0]
    assert model.predict_one([0.5, 1.0]) == other.predict([[0.5, 1.0]])[0]


def dated(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    hours = pd.to_timedelta(rng.integers(0, 9000, rows), unit="h")
    frame = pd.DataFrame({"when": pd.Timestamp("2020-01-01") + hours, "a": rng.normal(size=rows)})
    return frame.assign(y=frame["when"].dt.hour + frame["a"], day=frame["when"].dt.date)


def test_dates_in_mappings_are_those_of_a_frame() -> None:
    frame = dated()
    rows = frame.to_dict("records")
    of_frame, of_rows = (ul.train(data, "y", **{**LINEAR, "passes": 3}) for data in (frame, rows))
    assert set(of_rows.model.weights) == set(of_frame.model.weights)
    assert of_rows.metrics["rmse"] == pytest.approx(of_frame.metrics["rmse"])
    assert of_rows.predict(rows) == pytest.approx(list(of_frame.predict(frame)))
    row = {"when": datetime.datetime(2020, 5, 1, 3), "a": 1.0, "day": datetime.date(2020, 5, 1)}
    assert of_rows.model.predict_one(row) == of_rows.predict([row])[0]
    zoned = {**row, "when": row["when"].replace(tzinfo=datetime.timezone.utc)}  # type: ignore[attr-defined]
    assert of_rows.model.predict_one(zoned) == of_rows.model.predict_one(row)
    assert of_rows.model.predict_one({**row, "when": np.datetime64("2020-05-01T03")}) == of_rows.model.predict_one(row)


def test_dates_are_read_by_estimators_that_learn_in_parts() -> None:
    frame = dated()
    X, y = frame[["when", "a", "day"]], frame["y"]
    estimator = UnitlessRegressor(model_type="linear")
    for first in range(0, 400, 100):
        estimator.partial_fit(X[first : first + 100], y[first : first + 100])
    assert estimator.score(X, y) > 0.95
    with pytest.raises(ValueError, match="'when' holds numbers, but held text or dates"):
        estimator.predict(X.assign(when=1.0))
    river = pytest.importorskip("unitless.river")
    rows, whole = river.UnitlessRegressor(model_type="linear"), river.UnitlessRegressor(model_type="linear")
    for row, label in zip(X.to_dict("records"), y, strict=True):
        rows.learn_one(row, label)
    whole.learn_many(X, y)
    expected = pytest.approx(whole.predict_many(X).tolist())
    assert [rows.predict_one(row) for row in X.to_dict("records")] == expected


@pytest.mark.parametrize("of", ["frame", "mappings"])
@pytest.mark.parametrize("given", ["frame", "mappings", "iterator", "csv", "parquet", "polars"])
def test_models_of_tables_and_of_mappings_read_and_learn_each_others_data(
    of: str, given: str, tmp_path: pathlib.Path
) -> None:
    frame = dated().assign(job=people(400)["job"], y=lambda f: f["y"] > 12)
    rows = frame.to_dict("records")
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    kinds: dict[str, Callable[[], Any]] = {
        "frame": lambda: frame,
        "mappings": lambda: rows,
        "iterator": lambda: iter(rows),
        "csv": lambda: tmp_path / "a.csv",
        "parquet": lambda: tmp_path / "a.parquet",
        "polars": lambda: pytest.importorskip("polars").from_pandas(frame),
    }
    trained = ul.train(frame if of == "frame" else rows, "y", **LINEAR)
    assert list(trained.predict(kinds[given]())) == list(trained.predict(rows))
    if given != "iterator":
        assert ul.evaluate(trained, kinds[given](), progress=False).metrics == pytest.approx(
            ul.evaluate(trained, rows, progress=False).metrics
        )
    more = ul.train(kinds[given](), resume=trained.model.copy(), progress=False)
    assert more.model.examples > trained.model.examples
    if given != "iterator":  # which is a stream
        expected = ul.train(rows, resume=trained.model.copy(), progress=False)
        assert more.metrics == pytest.approx(expected.metrics)


@pytest.mark.parametrize("kind", ["frame", "csv", "no header", "array", "mappings", "sparse"])
def test_a_negative_number_counts_columns_from_the_end_in_all_data(kind: str, tmp_path: pathlib.Path) -> None:
    frame = FLAGS[["x", "digit"]]
    frame.to_csv(tmp_path / "a.csv", index=False, header=kind == "csv")
    kinds: dict[str, Callable[[], Any]] = {
        "frame": lambda: frame,
        "csv": lambda: tmp_path / "a.csv",
        "no header": lambda: tmp_path / "a.csv",
        "array": frame.to_numpy,
        "mappings": lambda: frame.to_dict("records"),
        "sparse": lambda: pytest.importorskip("scipy.sparse").csr_matrix(frame.to_numpy()),
    }
    for target in (-1, "-1", np.int64(-1)):
        result = ul.train(kinds[kind](), target, **LINEAR)
        assert result.predictor.classes == [0, 1]
        assert len(result.predictor.features) == 1
    if kind in ("array", "sparse"):
        assert ul.evaluate(result, kinds[kind](), target=-1, progress=False).metrics["accuracy"] > 0.5


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            FLAGS[["x", "digit"]],
            "there is no column '7'; there are 'x', 'digit'; a negative number counts columns from",
        ),
        (FLAGS[["x", "digit"]].to_numpy(), "target is '7', but the columns of an array are numbers: 0 to 1, or -1 for"),
        (FLAGS[["x", "digit"]].to_dict("records"), "there is no column '7'; there are 'x', 'digit'"),
    ],
)
def test_a_column_that_does_not_exist_is_refused_with_those_that_do(data: Any, message: str) -> None:
    with pytest.raises(ul.OptionError, match=message):
        ul.train(data, 7, **LINEAR)


def test_the_first_column_of_a_file_without_a_header_can_be_the_target(tmp_path: pathlib.Path) -> None:
    FLAGS[["digit", "x"]].iloc[4:].to_csv(tmp_path / "a.csv", index=False, header=False)  # it begins with a 1
    assert list(ul.train(tmp_path / "a.csv", 1, **LINEAR).predictor.features) == ["2"]


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
