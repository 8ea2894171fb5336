"""The first texts of a column decide its type. This decision is part of the state and the same as in training."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest

import unitless as ul
from unitless.data.columns import text_columns
from unitless.data.columns.text_columns import FOR_NAMES, MOST_COLUMNS, TextColumns
from unitless.models.file import from_bytes, to_bytes
from unitless.serve.served import Limits, ServedModel, describe

LINEAR = {"model_type": "linear", "ensemble": False}
START = datetime.datetime(2020, 1, 1)


def names(model: ServedModel) -> set[str]:
    """The features that a model knows."""
    assert model.model is not None
    return set(model.model._snapshot(False)["names"] or ())


def taken(columns: TextColumns, row: dict[str, Any]) -> dict[str, Any]:
    found, seen = columns.look(row)
    columns.take(seen)
    return found


@pytest.mark.parametrize(
    "texts",
    [
        [(START + datetime.timedelta(hours=7 * i)).isoformat() for i in range(100)],
        [f"{(START + datetime.timedelta(days=i)):%Y-%m-%d}" for i in range(100)],
        [f"{(START + datetime.timedelta(days=i)):%d.%m.%Y}" for i in range(100)],
        [f"{i % 24:02}:{i % 60:02}" for i in range(1, 101)],
        [f"2020-02-{1 + i % 28:02}T10:00:00+02:00" for i in range(100)],
    ],
    ids=["moments", "days", "day first", "times", "zones"],
)
def test_dates_have_the_features_that_training_gives_them(texts: list[str]) -> None:
    labels = [float(i % 7) for i in range(len(texts))]
    trained = ul.train(
        pa.table({"when": texts, "y": labels}), target="y", task="regression", model_type="linear", ensemble=False
    ).model
    model = ServedModel("m", "champion", LINEAR)
    for text, label in zip(texts, labels, strict=True):
        model.learn({"when": text}, label)
    assert names(model) == set(trained._snapshot(False)["names"])
    assert "when.time" in names(model)
    columns = model.columns
    assert columns is not None
    for text in texts[:10]:
        read = columns.read({"when": text})
        assert read["when.time"] == ul.Predictor(trained)._rows.reader.plain({"when": text})["when.time"]  # type: ignore[union-attr, index]


def test_later_dates_decide_an_ambiguous_order_of_day_and_month() -> None:
    columns = TextColumns({})
    assert taken(columns, {"when": "03/02/2020"})["when.month"] == "3"
    assert taken(columns, {"when": "25/02/2020"})["when.month"] == "2"
    assert columns.read({"when": "03/02/2020"})["when.month"] == "2"


def test_what_is_no_date_in_a_column_of_dates_has_no_value() -> None:
    columns = TextColumns({})
    for day in range(1, 29):
        taken(columns, {"when": f"2020-02-{day:02}"})
    assert columns.read({"when": "soon"}) == columns.read({"when": None})
    assert columns.read({"when": None})["when.time"] is None
    assert columns.read({"when": 5.0}) == {"when": 5.0}


def test_text_that_is_almost_always_new_is_left_out_and_reported() -> None:
    model = ServedModel("m", "champion", LINEAR)
    for i in range(FOR_NAMES + 500):
        model.learn({"session": f"s-{i:x}-id", "city": ["Rome", "Bern"][i % 2], "x": float(i % 5)}, float(i % 5))
    assert len(names(model)) == FOR_NAMES + 3
    assert describe.summary(model)["notes"] == [
        "column 'session' is left out: 1,000 of its first 1,000 texts differ; if it matters, create the model with "
        '"text": ["column"]'
    ]
    before = model.predict({"x": 1.0, "city": "Rome"})
    assert model.predict({"x": 1.0, "city": "Rome", "session": "s-1-id"}) == before


def test_categories_stay_categories_and_those_that_were_named_too() -> None:
    model = ServedModel("m", "champion", {**LINEAR, "text": ["session", "when"]})
    for i in range(FOR_NAMES + 10):
        model.learn({"session": f"s{i}", "user": f"u{i % 900}", "when": "2020-02-13"}, 1.0)
    assert {"session=s1005", "user=u5", "when=2020-02-13"} <= names(model)
    assert describe.summary(model)["notes"] == []


@pytest.mark.parametrize("label", [1.0, "a"])
def test_the_state_goes_on_after_a_restart_wherever_it_is_cut(label: Any) -> None:
    rows = [
        {"when": f"{1 + i % 28:02}/{1 + i % 12:02}/2020", "id": f"i{i}", "kind": f"k{i % 3}", "x": float(i % 5)}
        for i in range(FOR_NAMES + 20)
    ]
    whole, parted = (ServedModel("m", "champion", LINEAR) for _ in range(2))
    for place, row in enumerate(rows):
        whole.learn(row, label)
        parted.learn(row, label)
        if place in (0, 1, 5, 63, 64, 500, FOR_NAMES - 1, FOR_NAMES):
            parted = ServedModel.from_parts(parted.parts())
            assert parted.parts() == whole.parts()
    assert parted.parts() == whole.parts()


def test_together_or_one_by_one_the_bits_are_the_same() -> None:
    rows = [{"when": f"2020-02-{1 + i % 28:02}", "kind": f"k{i % 3}", "id": f"i{i}"} for i in range(FOR_NAMES + 200)]
    one, many = (ServedModel("m", "champion", LINEAR) for _ in range(2))
    for row in rows:
        one.learn(row, 1.0)
    for start in range(0, len(rows), 100):
        part = rows[start : start + 100]
        if many.learn_rows(part, [1.0] * 100, [1.0] * 100) is None:
            for row in part:
                many.learn(row, 1.0)
        else:
            assert start >= FOR_NAMES
    assert many.parts() == one.parts()


def test_a_row_that_is_refused_decides_nothing() -> None:
    model = ServedModel("m", "champion", LINEAR)
    model.learn({"x": 1.0}, 1.0)
    before = model.parts()
    with pytest.raises(ul.InputError):
        model.learn({"when": "2020-02-13", "y": [1.0]}, 1.0)
    assert model.parts() == before


def test_the_file_of_a_model_predicts_and_explains_the_same() -> None:
    model = ServedModel("m", "champion", LINEAR)
    for i in range(200):
        model.learn({"when": f"2020-02-{1 + i % 28:02}", "x": 1.0}, float(i % 7))
    read = ul.Predictor(from_bytes(model.file()))
    row = {"when": "2020-02-05", "x": 1.0}
    assert read.predict_one(row) == model.predict(row).prediction
    assert describe.explanation(model, row)["unknown"] == []
    assert any(one.feature == "when.weekday=wed" for one in read.explain(row).features)


def test_limits_count_the_features_that_dates_become() -> None:
    model = ServedModel("m", "champion", LINEAR)
    model.growth.limit(Limits(features=9), "m")
    model.learn({"when": "2020-02-05"}, 1.0)
    assert model.growth.features == 6
    with pytest.raises(ul.InputError, match="max_features"):
        model.learn({"other": "2020-02-05"}, 1.0)


def test_forged_columns_are_refused() -> None:
    model = ServedModel("m", "champion", LINEAR)
    model.learn({"when": "2020-02-05"}, 1.0)
    assert model.model is not None
    training: Any = model.model._training
    for forged in ([], {"a": 1}, {"a": {"kind": "date", "form": "?"}}, {"a": {"kind": "", "form": ""}}):
        assert not text_columns.check(forged)
        training["reading"]["texts"] = forged
        with pytest.raises(ul.ModelFileError):
            from_bytes(to_bytes(model.model))


def test_only_so_many_columns_of_text_are_looked_at() -> None:
    state: dict[str, Any] = {}
    columns = TextColumns(state)
    for first in range(0, 2 * MOST_COLUMNS, 100):
        row = {f"column {k}": "2020-02-13" for k in range(first, first + 100)}
        columns.take(columns.look(row)[1])
    assert len(state) == MOST_COLUMNS
    late = {f"column {2 * MOST_COLUMNS}": "2020-02-13"}
    assert columns.look(late) == (late, [])
    assert columns.are_known(late)
    assert columns.are_plain(late)
