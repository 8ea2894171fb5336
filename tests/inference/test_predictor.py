"""A predictor's result for one row equals, to the last bit, the model's result for a table with that row."""

from __future__ import annotations

import copy
import datetime as dt
import functools
import json
import math
import pathlib
import pickle
import threading
from collections import ChainMap
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instruction_sets import KERNELS

import unitless as ul

N = 400
DAY = dt.datetime(2024, 2, 28, 7, 45)


def people(dates: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, N),
            "pay": rng.lognormal(8, 1, N),
            "member": rng.integers(0, 2, N),  # a flag
            "job": rng.choice(["clerk", "pilot", "köchin", "a=b"], N),
            "zip": pd.Categorical(rng.choice(["0150", "5", "7"], N)),
            "on": rng.random(N) < 0.5,
        }
    )
    frame.loc[3, "pay"] = np.nan
    frame.loc[5, "job"] = None
    if dates:
        frame["day"] = [(DAY + dt.timedelta(days=37 * k)).date() for k in range(N)]
        frame["moment"] = [DAY + dt.timedelta(minutes=1234.5 * k) for k in range(N)]
        frame["clock"] = [(DAY + dt.timedelta(minutes=77 * k)).time() for k in range(N)]
    y = frame["age"] / 10 + frame["member"] + 3 * (frame["job"] == "pilot") - 2 * frame["on"]
    frame["number"], frame["two"] = y, np.where(y > 5, "rich", "poor")
    frame["flagged"], frame["digit"], frame["three"] = y > 5, (y > 5).astype(int), pd.cut(y, 3, labels=list("abc"))
    frame["three"] = frame["three"].astype(str)
    return frame


TARGETS = ["number", "two", "flagged", "digit", "three"]


def trained(target: str = "two", dates: bool = False, **options: Any) -> Any:
    frame = people(dates)
    frame = frame.drop(columns=[name for name in TARGETS if name != target])
    return ul.train(
        frame, target, **{"passes": 1, **({"reading": ul.Reading(dates="parts")} if dates else {}), **options}
    )


PLAIN: dict[str, Any] = {"age": 31, "pay": 2500.5, "member": 1, "job": "pilot", "zip": "5", "on": True}
ROWS: list[dict[str, Any]] = [
    PLAIN,
    {},
    {"age": 1e9, "pay": -1e6},  # outside the range of the training data
    {**PLAIN, "job": "smith", "zip": "99999"},  # unknown categories
    {**PLAIN, "job": ""},
    {**PLAIN, "job": "köchin"},
    {**PLAIN, "job": "a=b"},
    {**PLAIN, "age": None, "job": None, "on": None},
    {**PLAIN, "age": math.nan, "job": math.nan, "on": math.nan},
    {**PLAIN, "age": np.int64(31), "pay": np.float32(2500.1), "member": np.int8(1), "on": np.bool_(True)},
    {**PLAIN, "age": np.float64(31), "job": np.str_("pilot"), "zip": np.str_("5")},
    {**PLAIN, "age": np.uint64(2**63 + 5), "pay": np.float16(0.1)},
    {**PLAIN, "age": Decimal("31.10"), "pay": Decimal("0.1")},
    {**PLAIN, "zip": 5},
    {**PLAIN, "zip": 5.0},
    {**PLAIN, "zip": 7.25, "job": True},
    {**PLAIN, "age": 2**62 + 1, "pay": 5e-324, "member": 7},
    {**PLAIN, "id": "x17", "number": 3.5, "two": "rich", "three": [1, 2]},  # the target, an id, any other column
]
DATED: list[dict[str, Any]] = [
    {**PLAIN, "day": dt.date(1969, 12, 31), "moment": DAY, "clock": dt.time(23, 59, 58, 123457)},
    {**PLAIN, "day": DAY, "moment": dt.date(2031, 1, 1), "clock": None},
    {**PLAIN, "day": dt.date(1900, 3, 1), "moment": dt.datetime(1960, 5, 5, 5, 5, 5, 999999)},
    {**PLAIN, "day": pd.Timestamp("2020-05-05"), "moment": pd.Timestamp("2020-05-05 10:11:12.123456"), "clock": None},
    {**PLAIN, "moment": np.datetime64("2020-05-05T10:11:12.5"), "day": np.datetime64("2021-01-01")},
    {**PLAIN, "moment": dt.datetime(2020, 1, 1, 23, tzinfo=dt.timezone(dt.timedelta(hours=5)))},
    {**PLAIN, "moment": math.nan, "day": None},
]


def framed(row: dict[str, Any], predictor: ul.Predictor) -> pd.DataFrame:
    """The row as a frame, in which missing values make an empty column."""
    there = {name: row.get(name) for name in predictor.features}
    return pd.DataFrame([{k: None if isinstance(v, float) and v != v else v for k, v in there.items()}])  # noqa: PLR0124


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and (one == other)


def agrees(predictor: ul.Predictor, row: Any, table: Any) -> None:
    """Score, prediction and probabilities of the row and of the table are the same, bit for bit."""
    assert np.array_equal(np.atleast_1d(predictor.score_one(row)), np.ravel(predictor.model.predict(table)))
    assert same(predictor.predict_one(row), predictor.predict(table).to_list()[0])
    assert same(predictor.predict_one(row, extrapolate=True), predictor.predict(table, extrapolate=True).to_list()[0])
    if predictor.classes:
        found = predictor.predict_proba_one(row)
        assert list(found) == predictor.classes
        assert list(found.values()) == predictor.predict_proba(table).iloc[0].to_list()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("options", [{}, {"center": False}, {"interactions": 2}, {"bits": 6}, {"learning_rate": 0.3}])
def test_one_row_is_predicted_as_a_frame_of_one_row(target: str, options: dict[str, Any]) -> None:
    predictor = trained(target, **options).predictor
    for row in ROWS:
        agrees(predictor, row, framed(row, predictor))


@pytest.mark.parametrize(
    "interactions", ["ordered", [("age", "job=*"), ("on=true", "zip=*")], [(["age", "pay"], ["member", "job=pilot"])]]
)
@pytest.mark.parametrize("bits", [None, 7])
def test_products_of_one_row_are_those_of_a_frame(interactions: Any, bits: int | None) -> None:
    predictor = trained("two", interactions=interactions, bits=bits).predictor
    for row in ROWS:
        agrees(predictor, row, framed(row, predictor))


@pytest.mark.parametrize("rule", ["nag", "snag", "ng", "ag"])
@pytest.mark.parametrize("loss", ["squared", "poisson", "quantile"])
def test_every_rule_and_link_gives_the_bits_of_a_frame(rule: str, loss: str) -> None:
    predictor = trained("number" if loss != "poisson" else "digit", task="regression", rule=rule, loss=loss).predictor
    for row in (ROWS[0], ROWS[1], *ROWS[3:8]):
        agrees(predictor, row, framed(row, predictor))


@pytest.mark.parametrize("target", ["number", "two", "three"])
def test_dates_are_taken_apart_as_in_a_frame(target: str) -> None:
    predictor = trained(target, dates=True).predictor
    assert {"day": "date", "moment": "moment", "clock": "time"}.items() <= predictor.features.items()
    for row in [*ROWS[:9], *DATED]:
        agrees(predictor, row, framed(row, predictor))


def test_dates_may_be_written_as_in_a_file(tmp_path: pathlib.Path) -> None:
    predictor = trained("number", dates=True).predictor
    written = {**PLAIN, "day": "2024-03-09", "moment": "2024-03-09 10:11:12", "clock": "23:59:01"}
    pd.DataFrame([written]).to_csv(tmp_path / "row.csv", index=False)
    assert predictor.predict_one(written) == predictor.predict(tmp_path / "row.csv")[0]
    assert predictor.predict_one(written) == predictor.predict([written, PLAIN])[0]
    with pytest.raises(ul.InputError, match=r"'day' is 'soon'.*2024-12-31"):
        predictor.predict_one({**PLAIN, "day": "soon"})


@pytest.mark.parametrize("target", TARGETS)
def test_one_row_is_predicted_as_a_row_of_a_file(target: str, tmp_path: pathlib.Path) -> None:
    people().drop(columns=[name for name in TARGETS if name != target]).to_csv(tmp_path / "people.csv", index=False)
    ul.train(tmp_path / "people.csv", target, output=tmp_path / "m.unitless", reading=ul.Reading(text=["zip"]))
    predictor = ul.Predictor(tmp_path / "m.unitless")
    read = pd.read_csv(tmp_path / "people.csv", dtype={"zip": str})
    rows = read.to_dict("records")[:50]
    said = [predictor.predict_one(row) for row in rows]
    read[:50].to_csv(tmp_path / "some.csv", index=False)
    (tmp_path / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows).replace("NaN", "null"))
    pl.from_pandas(read[:50]).write_parquet(tmp_path / "some.parquet")
    for name in ("some.csv", "some.jsonl", "some.parquet"):
        assert predictor.predict(tmp_path / name) == said
    assert predictor.predict(rows) == said
    assert predictor.predict(iter(rows)) == said


NUMBERS = st.one_of(
    st.none(),
    st.floats(),
    st.integers(-(2**65), 2**65),
    st.integers(0, 100),
    st.booleans(),
    st.floats(width=32).map(np.float32),
    st.integers(-100, 100).map(np.int16),
    st.decimals(allow_infinity=False, min_value=-(10**9), max_value=10**9, places=3),
    st.text(max_size=3),
)
WORDS = st.one_of(
    st.none(),
    st.sampled_from(["pilot", "clerk", "5", "0150", ""]),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=4),
    st.text(alphabet="ab5", max_size=2).map(np.str_),
    st.integers(-10, 10),
    st.floats(),
    st.booleans(),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-100, max_value=100, places=2),
)
MOMENTS = st.datetimes(min_value=dt.datetime(1700, 1, 1), max_value=dt.datetime(2200, 1, 1))
DAYS = st.one_of(st.none(), MOMENTS, *(MOMENTS.map(kind) for kind in (dt.datetime.date, pd.Timestamp, np.datetime64)))
ANY_ROW = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(["age", "pay", "member"], NUMBERS),
        **dict.fromkeys(["job", "zip"], WORDS),
        **dict.fromkeys(["day", "moment"], DAYS),
        "on": st.one_of(st.none(), st.booleans(), st.booleans().map(np.bool_), st.integers(0, 1)),
        "clock": st.one_of(st.none(), st.times()),
    },
)
ANY_PREDICTOR = st.sampled_from(["number", "three"]).map(
    functools.cache(lambda target: trained(target, dates=True).predictor)
)


@settings(max_examples=150, deadline=None)
@given(ANY_PREDICTOR, ANY_ROW)
def test_any_row_is_predicted_or_refused_as_a_frame_is(predictor: ul.Predictor, row: dict[str, Any]) -> None:
    def outcome(ask: Any, data: Any) -> list[float] | None:
        try:
            return list(np.ravel(ask(data)))
        except ul.InputError:
            return None

    as_frame = outcome(predictor.model.predict, framed(row, predictor))
    if any(batch.invalid_values for batch in (predictor.read(framed(row, predictor)) if as_frame is not None else ())):
        as_frame = None  # values that a frame may have, but that are an error in a row made by a program
    assert outcome(predictor.score_one, row) == as_frame
    assert outcome(predictor.model.predict_one, row) == as_frame


def test_missing_values_of_pandas_are_missing() -> None:
    predictor = trained("number").predictor
    nothing = predictor.predict_one({"age": 30})
    for value in (pd.NA, pd.NaT, None, math.nan):
        row = dict.fromkeys(PLAIN, value)
        assert predictor.predict_one({**row, "age": 30}) == nothing
        assert predictor.predict([{**row, "age": 30}]) == [nothing]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("age", True),
        ("age", [1]),
        ("age", {"a": 1}),
        ("age", b"1"),
        ("age", 2**70),
        ("age", math.inf),
        ("pay", dt.date(2024, 1, 1)),
        ("on", 1),
        ("on", 0.5),
        ("job", ["clerk"]),
        ("job", b"clerk"),
    ],
)
@pytest.mark.parametrize("target", ["number", "three"])
def test_values_refused_in_a_frame_are_refused_in_a_row(name: str, value: Any, target: str) -> None:
    predictor = trained(target).predictor
    row = {**PLAIN, name: value}
    with pytest.raises(ul.InputError):
        predictor.predict(framed(row, predictor))
    for ask in (predictor.predict_one, predictor.score_one, predictor.explain, lambda row: predictor.predict([row])):
        with pytest.raises(ul.InputError, match=name):
            ask(row)


def test_text_that_is_not_unicode_is_refused() -> None:
    predictor = trained("number").predictor
    for ask in (predictor.predict_one, predictor.model.predict_one, predictor.explain):
        with pytest.raises(ul.InputError, match="job"):
            ask({**PLAIN, "job": "\ud800"})


def test_numbers_near_the_largest_are_predicted_as_in_a_frame() -> None:
    row = {**PLAIN, "pay": 1e300}
    predictor = trained("number").predictor
    agrees(predictor, row, framed(row, predictor))
    predictor = trained("number", interactions=2).predictor
    for ask in (predictor.predict_one, predictor.model.predict_one, predictor.explain):
        with pytest.raises(ul.InputError, match="beyond 1e150"):
            ask(row)


def test_durations_mean_the_same_in_any_unit() -> None:
    frame = pd.DataFrame({"took": [dt.timedelta(seconds=k) for k in range(100)], "y": np.arange(100) * 2.5})
    predictor = ul.train(frame, "y").predictor
    said = predictor.predict_one({"took": dt.timedelta(seconds=40)})
    assert said != predictor.predict_one({"took": dt.timedelta(seconds=41)})
    for value in (np.timedelta64(40, "s"), pd.Timedelta("40s"), np.timedelta64(40_000, "ms")):
        assert predictor.predict_one({"took": value}) == said
        assert predictor.predict([{"took": value}, {"took": dt.timedelta(seconds=40)}]) == [said, said]
        assert predictor.predict(pd.DataFrame({"took": [value]}).astype("timedelta64[ns]")).to_list() == [said]


def test_missing_values_are_errors_if_training_chose_so() -> None:
    frame = people().drop(columns=TARGETS[1:]).dropna()
    predictor = ul.train(frame, "number", reading=ul.Reading(missing="error")).predictor
    assert predictor.predict_one(PLAIN) == predictor.predict([PLAIN])[0]
    for row in ({**PLAIN, "age": None}, {**PLAIN, "job": ""}, {**PLAIN, "pay": math.nan}, {"age": 1}):
        for ask in (predictor.predict_one, predictor.model.predict_one, predictor.explain):
            with pytest.raises(ul.InputError, match="no value"):
                ask(row)


def test_a_list_may_mix_types_where_each_row_may() -> None:
    predictor = trained("number").predictor
    rows = [*ROWS[:-1], {**PLAIN, "zip": "0150"}]
    assert predictor.predict(rows) == [predictor.predict_one(row) for row in rows]
    with pytest.raises(ul.InputError, match=r"'age' is 'old'.*row 2"):
        predictor.predict([PLAIN, {**PLAIN, "age": "old"}])
    with pytest.raises(ul.InputError, match="type int"):
        predictor.predict([PLAIN, 5])


@pytest.mark.parametrize("target", TARGETS)
def test_rows_may_be_any_mapping_a_series_or_a_frame(target: str) -> None:
    predictor = trained(target).predictor
    said = predictor.predict_one(PLAIN)
    for row in (
        MappingProxyType(PLAIN),
        ChainMap({"age": 31}, PLAIN),
        pd.Series(PLAIN),
        people().assign(**PLAIN).iloc[0],
        pd.DataFrame([PLAIN]),
        pl.DataFrame([PLAIN]),
        pa.Table.from_pylist([PLAIN]),
    ):
        assert same(predictor.predict_one(row), said)
        assert predictor.explain(row).prediction == predictor.explain(PLAIN).prediction
    with pytest.raises(ul.InputError, match="2 rows"):
        predictor.predict_one(pd.DataFrame([PLAIN, PLAIN]))
    for row in ([1, 2], "clerk", 5, None):
        with pytest.raises(ul.InputError, match="names and values"):
            predictor.predict_one(row)


@pytest.mark.parametrize("target", TARGETS)
def test_labels_are_as_in_the_data(target: str, tmp_path: pathlib.Path) -> None:
    result = trained(target)
    result.save(tmp_path / "m.unitless")
    known = {"number": float, "two": str, "flagged": bool, "digit": int, "three": str}[target]
    for predictor in (
        result.predictor,
        ul.Predictor(result),
        ul.Predictor(result.model),
        ul.Predictor(result.predictor),
        ul.Predictor(str(tmp_path / "m.unitless")),
        ul.load(tmp_path / "m.unitless").predictor,
    ):
        assert type(predictor.predict_one(PLAIN)) is known
        assert all(type(label) is known for label in predictor.classes)
        assert bool(predictor.classes) == (target != "number")
        assert list(predictor.features) == list(PLAIN)
    assert result.predict([PLAIN]) == [result.predictor.predict_one(PLAIN)]


def test_a_loaded_model_predicts_rows_as_frames(tmp_path: pathlib.Path) -> None:
    for target in ("number", "two", "three"):
        result = trained(target, dates=True)
        result.save(tmp_path / "m.unitless")
        for model in (result.model, ul.load(tmp_path / "m.unitless"), ul.load(tmp_path / "m.unitless").copy()):
            for row in [*ROWS, *DATED]:
                table = model.predict(framed(row, model.predictor))
                assert np.array_equal(np.atleast_1d(model.predict_one(row)), np.ravel(table))
                assert np.array_equal(np.ravel(model.predict([row])), np.ravel(table))


def test_features_by_name_keep_their_meaning() -> None:
    model = trained("number").model
    named = {"age": 31.0, "job=pilot": 1.0, "on=true": True, "zip=5": 1}
    named |= {"pay=(missing)": 1.0, "member=(missing)": 1.0}
    row = {"age": 31, "job": "pilot", "on": True, "zip": 5}
    assert model.predict_one(named) == model.predict_one(row)
    assert model.predict_one({**named, "job": "pilot"}) == model.predict_one(row)
    assert model.predict_one({**row, "other": 3.0}) == model.predict_one(row)
    other = model.copy()
    assert model.learn_one(named, 3.0) == other.learn_one(row, 3.0)
    assert model.predict_one(row) == other.predict_one(row)
    plain = ul.Learner()
    plain.learn([{"age": 3.0}], [1.0])
    with pytest.raises(ul.InputError, match="'clerk', not a number"):
        plain.predict_one({"job": "clerk"})


def test_features_by_name_and_by_number_have_predictors_too() -> None:
    rows: list[dict[str, Any]] = people().drop(columns=TARGETS[1:]).to_dict("records")
    predictor = ul.train(rows, target="number").predictor
    for row in [*rows[:20], {**PLAIN, "job": pd.NA}, {"number": 7.0, "new": 1}]:
        assert predictor.predict_one(row) == predictor.predict([row])[0]
    assert {"age", "job=pilot"} <= predictor.features.keys()
    X = np.random.default_rng(0).normal(size=(200, 3))
    predictor = ul.train(X, X[:, 0] > 0).predictor
    assert predictor.features == {0: "number", 1: "number", 2: "number"}
    for x in X[:20]:
        assert same(predictor.predict_one(x), predictor.predict(x[None])[0])
        assert predictor.predict_one(x.tolist()) == (predictor.predict_proba_one(x)[True] > 0.5)
    with pytest.raises(ul.InputError, match="list of numbers"):
        predictor.predict_one({"a": 1})


@pytest.mark.parametrize(
    "options", [{"text": ["zip"]}, {"ignore": "zip"}, {"only": ["age", "on"]}, {"missing": "error"}]
)
@pytest.mark.parametrize("bits", [None, 4])
def test_mappings_are_read_as_in_training(options: dict[str, Any], bits: int | None, tmp_path: pathlib.Path) -> None:
    rows: list[dict[str, Any]] = people().drop(columns=TARGETS[1:]).dropna().to_dict("records")
    rows = [{**row, "zip": int(row["zip"])} for row in rows]
    scores = []
    reading = ul.Reading(**options)
    ul.train(rows, target="number", bits=bits, learning_rate=0.5, output=tmp_path / "m.unitless", reading=reading)
    predictor = ul.Predictor(tmp_path / "m.unitless")
    used = predictor.features if bits is None else {}
    assert ("zip=5" in used) == (options == {"text": ["zip"]} and bits is None)
    ignored = "ignore" in options or "only" in options
    for row in rows[:20]:
        scores.append(predictor.predict_one(row))
        assert scores[-1] == predictor.predict([row])[0] == predictor.explain(row).prediction
        assert not ignored or scores[-1] == predictor.predict_one({**row, "zip": 99})
    assert len(set(scores)) > 10


def test_predictors_can_be_sent_to_other_processes() -> None:
    for target in TARGETS:
        predictor = trained(target).predictor
        again = pickle.loads(pickle.dumps(predictor))
        assert same(again.predict_one(PLAIN), predictor.predict_one(PLAIN))
        assert np.array_equal(copy.deepcopy(predictor).score_one(PLAIN), predictor.score_one(PLAIN))


def test_predictors_need_a_model_of_train() -> None:
    with pytest.raises(ul.OptionError, match="not made by train"):
        ul.Predictor(ul.Learner())
    for thing in (ul.Sweep(), 5, None):
        with pytest.raises(ul.OptionError, match=f"{type(thing).__name__} has no model; give a model"):
            ul.Predictor(thing)
    with pytest.raises(ul.OptionError, match="logistic"):
        trained("number").predictor.predict_proba_one(PLAIN)
    with pytest.raises(ul.OptionError, match="logistic"):
        trained("number").predictor.predict_proba([PLAIN])
    with pytest.raises(ul.Error):
        ul.Predictor("there is no such file")


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_instruction_set_gives_the_same_bits(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = []
    for chosen in (kernel, KERNELS[0]):
        monkeypatch.setenv("UNITLESS_KERNEL", chosen)
        predictors = [trained(target, passes=2).predictor for target in TARGETS]
        said.append([np.ravel(predictor.score_one(row)) for predictor in predictors for row in ROWS])
    assert all(np.array_equal(one, other) for one, other in zip(*said, strict=True))


@pytest.mark.parametrize("target", ["two", "three"])
def test_threads_share_a_predictor(target: str) -> None:
    predictor = trained(target).predictor
    rows: list[Any] = [{**PLAIN, "age": 18 + k % 60, "job": f"job {k}" if k % 3 else "pilot"} for k in range(300)]
    rows += ROWS
    said = [(predictor.predict_one(row), predictor.predict_proba_one(row)) for row in rows]
    wrong: list[Any] = []

    def ask(first: int) -> None:
        for k in range(3 * len(rows)):
            row = (first + k) % len(rows)
            found = predictor.predict_one(rows[row]), predictor.predict_proba_one(rows[row])
            if found != said[row]:
                wrong.append((row, found))

    threads = [threading.Thread(target=ask, args=(37 * k,)) for k in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_model_that_goes_on_learning_is_read_as_it_is() -> None:
    model = trained("three").model
    predictor = ul.Predictor(model)
    stop = threading.Event()
    wrong: list[BaseException] = []

    def ask() -> None:
        while not stop.is_set():
            try:
                assert predictor.predict_one({**PLAIN, "job": "new 7"}) in predictor.classes
                assert set(predictor.predict_proba_one(PLAIN)) <= set(predictor.classes)
            except BaseException as error:
                wrong.append(error)
                return

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for k in range(300):
        model.learn_one({"age": 30.0, f"job=new {k}": 1.0}, f"class {k % 60}")
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    row = {"age": 30, "job": "new 7"}
    agrees(predictor, row, framed(row, predictor))
