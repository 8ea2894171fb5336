"""A trained model that learns rows one at a time equals, to the last bit, one that learns frames of these rows."""

from __future__ import annotations

import functools
import math
import pickle
from decimal import Decimal
from typing import Any

import flat_options
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unitless as ul

N = 200
LINEAR: dict[str, Any] = {"model_type": "linear", "ensemble": False}
OPTIONS: dict[str, dict[str, Any]] = {
    "usual": {},
    "linear": LINEAR,
    "literal": {**LINEAR, "center": False, "learning_rate": 0.3},
    "curves": {"model_type": "curves"},
    "curves only": {"model_type": "curves only", "ensemble": False},
    "trees": {"model_type": "trees", "ensemble": False},
    "ensemble": {"model_type": "linear", "ensemble": True},
    "words": {"words": ["said"]},
    "linear words": {**LINEAR, "words": ["said"]},
    "snag": {**LINEAR, "rule": "snag"},
    "hashed": {**LINEAR, "bits": 6},
    "products": {**LINEAR, "interactions": 2},
    "hashed products": {**LINEAR, "bits": 7, "interactions": [("age", "job=*"), ("pay", "on=true")]},
    "sparse": {**LINEAR, "sparsity": 1.0},
    "averaged": {**LINEAR, "average": True},
    "absent": {**LINEAR, "missing": "absent"},
    "strict": {**LINEAR, "missing": "error"},
}
LABELS: dict[str, list[Any]] = {"number": [3.5, -1.0, 8.0], "two": ["rich", "poor"], "three": ["a", "b", "c"]}
PLAIN: dict[str, Any] = {"age": 31, "pay": 2500.5, "member": 1, "job": "pilot", "on": True, "said": "a cold day"}


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, N),
            "pay": rng.lognormal(8, 1, N),
            "member": rng.integers(0, 2, N),  # a flag
            "job": rng.choice(["clerk", "pilot", "köchin"], N),
            "on": rng.random(N) < 0.5,
            "said": rng.choice(["a cold day", "the sun, the sun", "Rain and wind", "warm sun and rain"], N),
        }
    )
    y = frame["age"] / 10 + frame["member"] + 3 * (frame["job"] == "pilot") - 2 * frame["on"]
    frame["number"], frame["two"] = y, np.where(y > 5, "rich", "poor")
    frame["three"] = pd.cut(y, 3, labels=list("abc")).astype(str)
    return frame


@functools.cache
def trained(target: str, options: str) -> bytes:
    """A model that `train` made, saved."""
    chosen = OPTIONS[options]
    frame = people().drop(columns=[name for name in LABELS if name != target])
    if "words" not in chosen:
        frame = frame.drop(columns="said")
    if chosen.get("missing") != "error":
        frame.loc[3, "pay"] = np.nan
        frame.loc[5, "job"] = None
    return pickle.dumps(flat_options.train(frame, target, shuffle=False, **chosen).model)


def loaded(saved: bytes) -> Any:
    return pickle.loads(saved)


def framed(row: dict[str, Any], model: Any) -> pd.DataFrame:
    """The row as a frame, in which missing values make an empty column."""
    there = {name: row.get(name) for name in ul.Predictor(model).features}
    return pd.DataFrame([{k: None if isinstance(v, float) and v != v else v for k, v in there.items()}])  # noqa: PLR0124


def learn_framed(model: Any, row: dict[str, Any], label: Any, weight: float) -> Any:
    try:
        return model.learn(framed(row, model), [label], [weight])
    except ul.InputError as error:
        return type(error)


def learn_row(model: Any, row: dict[str, Any], label: Any, weight: float) -> Any:
    try:
        return model.learn_one(row, label, weight)
    except ul.InputError as error:
        return type(error)


def same(one: Any, other: Any) -> bool:
    return one is other or np.array_equal(np.ravel(one), np.ravel(other))


def agree(saved: bytes, rows: list[tuple[dict[str, Any], Any, float]]) -> None:
    """Compare learning rows one at a time from mappings with learning them from frames."""
    one, other = loaded(saved), loaded(saved)
    for row, label, weight in rows:
        assert same(learn_row(one, row, label, weight), learn_framed(other, row, label, weight)), row
        assert one.predict_one(PLAIN) is not None  # what is remembered of names is not only learning's
    assert pickle.dumps(one) == pickle.dumps(other)


@pytest.mark.parametrize("target", LABELS)
@pytest.mark.parametrize("options", OPTIONS)
def test_rows_are_learned_as_frames_of_one_row(options: str, target: str) -> None:
    rows = [
        PLAIN,
        {**PLAIN, "age": 1e9, "pay": -3.0, "member": 0, "said": "rain"},  # outside the range of the training data
        {**PLAIN, "job": "smith", "on": False, "said": "new words, and new again"},
        {**PLAIN, "job": "smith", "age": 0, "pay": 0.0},
        {**PLAIN, "job": "köchin", "said": "Köchin"},
        {**PLAIN, "age": None, "job": None, "on": None, "said": None},
        {"pay": math.nan},
        {**PLAIN, "age": np.int64(31), "pay": np.float32(2500.1), "on": np.bool_(True)},
        {**PLAIN, "age": Decimal("31.10"), "job": " smith "},
        {**PLAIN, "age": "31"},
        {**PLAIN, "age": [31]},
        {**PLAIN, "age": 2**62 + 1, "pay": 5e-324},
        {**PLAIN, "other": "x17", "number": 3.5},
    ]
    labels = LABELS[target]
    weights = [1.0, 1.0, 2.5, 1.0, 0.0, 1.0]
    agree(
        trained(target, options),
        [(row, labels[k % len(labels)], weights[k % len(weights)]) for k, row in enumerate(rows)],
    )


VALUES = {
    "age": st.one_of(st.integers(-5, 90), st.floats(-1e6, 1e6), st.none(), st.just(math.nan)),
    "pay": st.one_of(st.sampled_from([0, 1.5, 1e4]), st.floats(-1e150, 1e150), st.none()),
    "member": st.one_of(st.integers(0, 1), st.booleans(), st.none()),
    "job": st.one_of(st.sampled_from(["clerk", "pilot", "smith", "", " ", "NA", "é"]), st.text(max_size=3), st.none()),
    "on": st.one_of(st.booleans(), st.none(), st.integers(0, 1)),
    "said": st.one_of(st.sampled_from(["sun", "the day", "", "!", "ö, a"]), st.text("ab ,1'", max_size=9), st.none()),
}
ROWS = st.lists(
    st.tuples(st.fixed_dictionaries({}, optional=VALUES), st.integers(0, 2), st.sampled_from([1.0, 1.0, 0.0, 3.5])),
    max_size=8,
)


@settings(max_examples=100)
@given(st.sampled_from(list(OPTIONS)), st.sampled_from(list(LABELS)), ROWS)
def test_any_rows_are_learned_or_refused_as_frames_are(options: str, target: str, rows: Any) -> None:
    labels = LABELS[target]
    agree(trained(target, options), [(row, labels[k % len(labels)], weight) for row, k, weight in rows])


@pytest.mark.parametrize("options", ["usual", "linear", "words", "hashed"])
@pytest.mark.parametrize("target", LABELS)
def test_rows_are_learned_as_one_frame_of_all(options: str, target: str) -> None:
    one, other = loaded(trained(target, options)), loaded(trained(target, options))
    frame = people().drop(columns=list(LABELS)).iloc[:60].drop(columns=[] if options == "words" else "said")
    frame.loc[7, "job"] = "smith"
    labels = [LABELS[target][k % len(LABELS[target])] for k in range(len(frame))]
    scores = [one.learn_one(row, label) for row, label in zip(frame.to_dict("records"), labels, strict=True)]
    assert np.array_equal(np.array(scores), other.learn(frame, labels))
    assert pickle.dumps(one) == pickle.dumps(other)


@pytest.mark.parametrize("target", LABELS)
def test_the_core_reads_plain_rows_by_itself(target: str) -> None:
    model = loaded(trained(target, "words"))
    columns = model._rows.reader.columns
    learn = model._learn_row_wide if target == "three" else model._learn_row
    assert learn(columns, PLAIN, 1.0) is not None
    assert learn(columns, {**PLAIN, "job": "smith", "said": "newer words", "age": None}, 1.0, 2.0) is not None
    before = pickle.dumps(model)
    assert learn(columns, {**PLAIN, "job": 5}, 1.0) is None
    assert learn(columns, [("age", 5)], 1.0) is None
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("row", [PLAIN, {**PLAIN, "age": "31"}])
def test_classes_join_as_they_do_with_frames(row: dict[str, Any]) -> None:
    models = []
    for _ in range(2):
        model: Any = loaded(trained("three", "usual"))
        made: Any = ul.OneVsAll(**model.options.asdict())
        made._training = model._training
        models.append(made)
    one, other = models
    for label, weight in [("b", 1.0), ("a", 1.0), ("new", 0.0), ("newer", 2.0), ("a", 1.0)]:
        known = len(one.classes)
        scores = one.learn_one(row, label, weight)
        assert len(scores) == max(known, len(one.classes))
        assert same(scores, other.learn(framed(row, other), [label], [weight]))
    assert one.classes == other.classes == ["b", "a", "newer"]
    assert pickle.dumps(one) == pickle.dumps(other)


@pytest.mark.parametrize("label", [math.nan, 7.0, "richer", None, [1]])
def test_a_label_that_cannot_be_learned_changes_nothing(label: Any) -> None:
    model = loaded(trained("two", "linear"))
    with pytest.raises(ul.InputError, match=r"the target is .*, but so far it was 'poor' or 'rich'|no label|target"):
        model.learn_one({**PLAIN, "job": "smith"}, label)
    assert pickle.dumps(model) == trained("two", "linear")


def test_names_of_a_row_that_was_not_learned_are_forgotten() -> None:
    frame = pd.DataFrame({"x": np.arange(300.0) % 7, "job": [f"job {k % 5}" for k in range(300)]})
    frame["y"] = frame["x"] + np.arange(300) % 5
    options = {**LINEAR, "loss": "poisson", "rule": "gd", "learning_rate": 0.001, "center": False}
    model: Any = ul.train(frame, "y", shuffle=False, importance_aware=False, **options).model
    with pytest.raises(ul.DivergedError):
        model.learn_one({"x": 1e150, "job": "first"}, 2.0)
    model.learn_one({"x": 0.0, "job": "second"}, 2.0)  # has the number that the other name would have had
    for job in ("job 3", "first", "second"):
        assert same(model.predict_one({"x": 0.0, "job": job}), model.predict(_one(0.0, job)))


def _one(x: float, job: str) -> pd.DataFrame:
    return pd.DataFrame({"x": [x], "job": [job]})


def test_a_model_that_goes_back_is_read_as_it_is_then() -> None:
    model = loaded(trained("number", "linear"))
    state = model._remember()
    model.learn_one({**PLAIN, "job": "smith"}, 3.0)
    model.learn_one({**PLAIN, "job": "baker"}, 9.0)
    model._go_back(state)
    model.learn_one({**PLAIN, "job": "baker"}, 4.0)
    other = loaded(trained("number", "linear"))
    other.learn(framed({**PLAIN, "job": "baker"}, other), [4.0])
    assert pickle.dumps(model) == pickle.dumps(other)


def test_a_column_that_training_never_saw_is_centered_as_in_a_frame() -> None:
    frame = people()[["age", "pay", "member", "number"]]
    frame["pay"], frame["member"] = np.nan, np.where(np.arange(N) < 1, 1.0, np.nan)
    saved = pickle.dumps(ul.train(frame, "number", shuffle=False, **LINEAR).model)
    rows = [{"age": 30 + k, "pay": 1000.0 + k, "member": k % 2} for k in range(6)]
    agree(saved, [(row, 3.0, 1.0) for row in rows])


def test_offsets_of_rows_are_those_of_their_column() -> None:
    frame = people()[["age", "job"]].assign(exposure=np.log(np.arange(N) % 5 + 1.0), count=np.arange(N) % 4)
    saved = pickle.dumps(
        ul.train(frame, "count", loss="poisson", reading=ul.Reading(offset="exposure"), shuffle=False).model
    )
    one, other = loaded(saved), loaded(saved)
    for row in ({"age": 31, "job": "pilot", "exposure": 0.5}, {"age": "31", "job": "pilot", "exposure": 0.7}):
        score = one.learn_one(row, 2.0)
        plain = pd.DataFrame([{**row, "age": 31}])
        assert same(score, other.learn(plain, [2.0]))
    with pytest.raises(ul.InputError, match="the offset 'exposure' is missing"):
        one.learn_one({"age": 31}, 2.0)
    assert pickle.dumps(one) == pickle.dumps(other)


def test_rows_may_be_series_and_frames() -> None:
    one, other = loaded(trained("two", "linear")), loaded(trained("two", "linear"))
    one.learn_one(pd.Series(PLAIN), "rich")
    one.learn_one(framed(PLAIN, one), "poor")
    for label in ("rich", "poor"):
        other.learn(framed(PLAIN, other), [label])
    assert pickle.dumps(one) == pickle.dumps(other)
    with pytest.raises(ul.InputError, match="it must have names and values"):
        one.learn_one(5, "rich")
