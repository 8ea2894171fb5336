"""The same table with dates gives the same column report and the same model in every format."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from sources import command

import unitless as ul
from unitless.data import Schema

ROWS = 120
START = datetime.datetime(2019, 11, 3, 4, 5, 6)
MOMENTS = [START + datetime.timedelta(hours=31 * k, seconds=k) for k in range(ROWS)]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
PARTS = ["time", "month", "weekday", "year", "yearday.sin", "yearday.cos"]


def table() -> dict[str, list[Any]]:
    """Columns of dates in many forms; each has a missing value, and one has a value that is not a date."""
    columns: dict[str, list[Any]] = {
        "iso": [moment.isoformat() for moment in MOMENTS],
        "zoned": [f"{moment.isoformat()}{'+02:00' if k % 3 else '-08:00'}" for k, moment in enumerate(MOMENTS)],
        "sold": [f"{moment.month}/{moment.day}/{moment.year}" for moment in MOMENTS],
        "named": [f"{moment.day}-{MONTHS[moment.month - 1]}-{moment.year}" for moment in MOMENTS],
        "together": [f"{moment:%Y%m%dT%H%M%S}" for moment in MOMENTS],
        "hour": [f"{moment:%H:%M}" for moment in MOMENTS],
        "day": [int(f"{moment:%Y%m%d}") for moment in MOMENTS],
        "created_at": [int((moment - datetime.datetime(1970, 1, 1)).total_seconds()) for moment in MOMENTS],
        "x": [float(np.sin(k * 0.7)) for k in range(ROWS)],
        "y": [moment.month + moment.hour / 4 + k % 5 for k, moment in enumerate(MOMENTS)],
    }
    for k, name in enumerate(["iso", "zoned", "sold", "named", "together", "hour"]):
        columns[name][10 + k] = None
    columns["named"][3] = "31-Feb-2020"
    return columns


KINDS = {
    "iso": "moment",
    "zoned": "moment",
    "sold": "date",
    "named": "date",
    "together": "moment",
    "hour": "time",
    "day": "date",
    "created_at": "moment",
    "x": "number",
}


def rows_of(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def csv(columns: dict[str, list[Any]], folder: Path) -> Any:
    lines = [",".join("" if value is None else str(value) for value in row.values()) for row in rows_of(columns)]
    (folder / "t.csv").write_text("\n".join([",".join(columns), *lines, ""]))
    return folder / "t.csv"


def parquet(columns: dict[str, list[Any]], folder: Path) -> Any:
    pyarrow.parquet.write_table(pa.table(columns), folder / "t.parquet")
    return folder / "t.parquet"


def jsonl(columns: dict[str, list[Any]], folder: Path) -> Any:
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows_of(columns)))
    return folder / "t.jsonl"


FORMATS: dict[str, Callable[[dict[str, list[Any]], Path], Any]] = {
    "csv": csv,
    "parquet": parquet,
    "jsonl": jsonl,
    "pandas": lambda columns, _: pd.DataFrame(columns),
    "polars": lambda columns, _: pl.DataFrame(columns),
}


def trained(source: Any, **options: Any) -> Any:
    return ul.train(source, "y", model_type="linear", learning_rate=0.5, shuffle=False, **options)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return trained(csv(table(), tmp_path_factory.mktemp("dates")))


@pytest.mark.parametrize("format", FORMATS)
def test_decisions_and_models_are_the_same_in_every_format(format: str, first: Any, tmp_path: Path) -> None:
    result = trained(FORMATS[format](table(), tmp_path))
    assert dict(result.details.schema.columns) == KINDS
    assert result.details.schema == first.details.schema
    assert dict(result.model.weights) == dict(first.model.weights)


@pytest.mark.parametrize("format", FORMATS)
def test_a_model_predicts_the_same_from_every_format(format: str, first: Any, tmp_path: Path) -> None:
    expected = first.predict(csv(table(), tmp_path))
    assert list(first.predict(FORMATS[format](table(), tmp_path))) == list(expected)


def test_rows_are_predicted_as_the_table_is(first: Any, tmp_path: Path) -> None:
    expected = list(first.predict(csv(table(), tmp_path)))
    rows = [{**row, "named": None if row["named"] == "31-Feb-2020" else row["named"]} for row in rows_of(table())]
    assert list(first.predict(rows)) == expected
    for row, moment, prediction in zip(rows, MOMENTS, expected, strict=True):
        assert first.predictor.predict_one(row) == prediction
        typed = {**row, "iso": row["iso"] and moment, "created_at": moment, "day": moment.date()}
        assert first.predictor.predict_one(typed) == prediction


def test_typed_columns_have_the_features_of_text(first: Any, tmp_path: Path) -> None:
    columns = {name: values for name, values in table().items() if name in ("iso", "sold", "hour", "x", "y")}
    there = {name: [value is not None for value in values] for name, values in columns.items()}
    typed = {
        **columns,
        "iso": [moment if is_there else None for moment, is_there in zip(MOMENTS, there["iso"], strict=True)],
        "sold": [
            datetime.datetime(moment.year, moment.month, moment.day) if is_there else None
            for moment, is_there in zip(MOMENTS, there["sold"], strict=True)
        ],
        "hour": [
            moment.time().replace(second=0) if is_there else None
            for moment, is_there in zip(MOMENTS, there["hour"], strict=True)
        ],
    }
    one, other = trained(csv(columns, tmp_path)), trained(parquet(typed, tmp_path))
    assert one.details.schema.columns == other.details.schema.columns
    assert dict(one.model.weights) == dict(other.model.weights)
    text, types = csv(columns, tmp_path), parquet(typed, tmp_path)
    assert list(one.predict(types)) == list(one.predict(text)) == list(other.predict(types))
    assert list(one.predict(rows_of(typed))) == list(one.predict(rows_of(columns))) == list(one.predict(text))
    written = csv({**typed, "sold": [day and day.date() for day in typed["sold"]]}, tmp_path)
    assert list(other.predict(written)) == list(other.predict(types))


def test_a_zone_shifts_the_time_and_not_the_parts(tmp_path: Path) -> None:
    columns = {name: values for name, values in table().items() if name in ("zoned", "y")}
    result = trained(csv(columns, tmp_path))
    ahead = [datetime.timedelta(hours=2 if k % 3 else -8) for k in range(ROWS)]
    aware = [
        moment.replace(tzinfo=datetime.timezone(shift)) if text else None
        for moment, shift, text in zip(MOMENTS, ahead, columns["zoned"], strict=True)
    ]
    expected = list(result.predict(csv(columns, tmp_path)))
    for moment, prediction in zip(aware, expected, strict=True):
        assert result.predictor.predict_one({"zoned": moment}) == prediction
    assert list(result.predict([{"zoned": moment} for moment in aware])) == expected
    text = [{"zoned": row["zoned"]} for row in rows_of(columns)]
    assert list(result.predict([row if k % 2 else {"zoned": aware[k]} for k, row in enumerate(text)])) == expected


def test_a_date_becomes_its_parts(first: Any) -> None:
    names = {str(name).split("=")[0] for name in first.model.weights}
    assert {f"iso.{part}" for part in [*PARTS, "hour"]} <= names
    assert {f"sold.{part}" for part in PARTS} <= names
    assert "sold.hour" not in names
    assert {"hour.time", "hour.hour"} <= names


def test_explanations_name_the_parts(first: Any) -> None:
    row = rows_of(table())[0]
    explained = {str(one.feature).split("=")[0] for one in ul.explain(first.model, row).features}
    assert {"iso.month", "iso.year", "sold.time"} <= explained


def test_a_text_that_is_not_a_date_is_missing_and_counted(first: Any) -> None:
    assert first.details.missing["named"] == 2
    assert first.details.missing["iso"] == 1


def test_a_row_with_text_that_is_not_a_date_is_refused(first: Any) -> None:
    with pytest.raises(ul.InputError, match=r"'sold' is 'soon', but in training it held dates; .* as .*: 02/13/2020"):
        first.predictor.predict_one({**rows_of(table())[0], "sold": "soon"})


def test_text_in_another_form_is_refused_in_a_column_of_type_date(tmp_path: Path) -> None:
    result = trained(parquet({"when": [moment.date() for moment in MOMENTS], "y": table()["y"]}, tmp_path))
    other = csv({"when": table()["sold"]}, tmp_path)
    message = (
        r"t.csv: column 'when' holds text such as '11/3/2019', but in training it held dates; write it as 2024-12-31"
    )
    with pytest.raises(ul.InputError, match=message):
        result.predict(other)


def test_an_iso_date_is_read_whatever_the_form_was(first: Any) -> None:
    row = rows_of(table())[0]
    expected = first.predictor.predict_one(row)
    for name in ("sold", "named"):
        assert first.predictor.predict_one({**row, name: MOMENTS[0].date().isoformat()}) == expected


def test_mixed_orders_of_day_and_month_are_reported(tmp_path: Path) -> None:
    days = [f"{k % 12 + 1:02}/{(k + 1) % 12 + 1:02}/2020" for k in range(40)]
    columns = {"when": days, "y": [k * 1.5 for k in range(40)]}
    path = csv(columns, tmp_path)
    note = "column 'when': 01/02/2020 could be January 2 or February 1; read as January 2; "
    result = trained(path)
    assert f"{note}dates='day-first' reads it the other way" in [str(one) for one in result.notes]
    other = trained(path, reading=ul.Reading(dates="day-first"))
    assert not [one for one in other.notes if "could be" in one]
    assert (result.details.schema.how("when").date, other.details.schema.how("when").date) == (
        "02/13/2020",
        "13/02/2020",
    )
    said = command(
        "train", str(path), "--target", "y", "--model-type", "linear", "--output", str(tmp_path / "m.unitless")
    )
    assert "--dates day-first reads it the other way" in " ".join(f"{said.stdout} {said.stderr}".split())


def test_training_goes_on_with_the_same_form(tmp_path: Path) -> None:
    columns = {"when": [f"{k % 28 + 1}/{k % 12 + 1}/2020" for k in range(80)], "y": [k % 7 + 0.5 for k in range(80)]}
    whole = trained(csv(columns, tmp_path))
    begun = csv({name: values[:60] for name, values in columns.items()}, tmp_path)
    half = trained(begun, output=tmp_path / "m.unitless")
    assert half.details.schema == whole.details.schema
    rest = csv({name: values[60:] for name, values in columns.items()}, tmp_path)
    more = ul.train(rest, "y", resume=tmp_path / "m.unitless", shuffle=False)
    assert dict(more.model.weights) == dict(whole.model.weights)


def test_numbers_and_text_keep_columns_that_look_like_dates(tmp_path: Path) -> None:
    columns = {name: values for name, values in table().items() if name in ("day", "sold", "x", "y")}
    result = trained(csv(columns, tmp_path), reading=ul.Reading(numbers="day", text="sold"))
    assert dict(result.details.schema.columns) == {"sold": "text", "day": "number", "x": "number"}


def test_dates_can_be_an_error(tmp_path: Path) -> None:
    with pytest.raises(ul.InputError, match=r"'sold' holds dates or times.*ignore='sold'.*dates='parts'.*text='sold'"):
        trained(csv({"sold": table()["sold"], "y": table()["y"]}, tmp_path), reading=ul.Reading(dates="error"))


@pytest.mark.parametrize("form", ["%d", "13/13/2020", 5, None])
def test_forged_forms_of_dates_are_refused(form: Any, first: Any, tmp_path: Path) -> None:
    plain = first.details.schema.plain()
    plain["written"]["sold"] = {"date": form}
    with pytest.raises(ul.ModelFileError):
        Schema.read(plain)
