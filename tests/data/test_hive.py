"""Folders that are called `key=value` give the columns `key`, as Hive, Spark and others write tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
from sources import content

import unitless as ul
from unitless.data.sources.path_columns import values_in

FORMATS = ("csv", "parquet", "feather", "jsonl")


def rows(year: int, country: str) -> pd.DataFrame:
    return pd.DataFrame({"a": [float(k % 7) for k in range(60)]}).assign(
        y=lambda frame: frame["a"] + (year - 2020) * 10 + (country == "São Tomé") * 5 + 0.25
    )


def write(frame: pd.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        pa.feather.write_feather(pa.Table.from_pandas(frame), path)


FOLDERS = {  # of the values, percent-encoded as Hive writes them
    "year=2020/country=DE": (2020, "DE"),
    "year=2020/country=S%C3%A3o Tom%C3%A9": (2020, "São Tomé"),
    "year=2021/country=DE": (2021, "DE"),
    "year=2021/country=__HIVE_DEFAULT_PARTITION__": (2021, None),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("hive")
    for kind in FORMATS:
        for name, (year, country) in FOLDERS.items():
            write(rows(year, str(country)), top / kind / name / f"part.{kind}")
    return top


def whole() -> pd.DataFrame:
    parts = [rows(year, str(country)).assign(year=year, country=country) for year, country in FOLDERS.values()]
    return pd.concat(parts, ignore_index=True)


def options(**more: Any) -> dict[str, Any]:
    return {"shuffle": False, "model_type": "linear", **more}


@pytest.mark.parametrize("kind", FORMATS)
def test_folders_give_columns_in_every_format_of_tables(kind: str, folders: Path) -> None:
    expected = ul.train(whole(), "y", **options())
    found = ul.train(folders / kind, "y", **options())
    assert ul.Predictor(found).features == {"a": "number", "year": "number", "country": "text"}
    assert found.details.missing == expected.details.missing == {"country": 60}
    assert content(found.model) == content(expected.model)


@pytest.mark.parametrize("kind", FORMATS)
def test_one_file_of_the_folder_is_predicted_as_the_whole(kind: str, folders: Path) -> None:
    predictor = ul.Predictor(ul.train(folders / kind, "y", **options()))
    name = "year=2020/country=S%C3%A3o Tom%C3%A9"
    found = predictor.predict(folders / kind / name / f"part.{kind}")
    assert found == predictor.predict(rows(2020, "São Tomé").assign(year=2020, country="São Tomé")).tolist()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_folders_give_columns_to_training_in_parts(kind: str, folders: Path) -> None:
    found = ul.train(folders / kind, "y", model_type="linear", cluster=ul.Cluster(partitions=2, workers=1))
    assert ul.Predictor(found).features == {"a": "number", "year": "number", "country": "text"}
    assert content(found.model) == content(
        ul.train(folders / kind, "y", model_type="linear", cluster=ul.Cluster(partitions=2, workers=2)).model
    )
    assert found.metrics["rmse"] < 2


def test_folders_give_columns_to_files_elsewhere(folders: Path) -> None:
    address = (folders / "parquet").as_uri()
    found = ul.train(address, "y", **options())
    assert content(found.model) == content(ul.train(folders / "parquet", "y", **options()).model)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_column_of_the_file_itself_counts_and_not_its_folder(kind: str, tmp_path: Path) -> None:
    for year in (2020, 2021):
        write(rows(year, "DE").assign(year=year - 2000), tmp_path / f"year={year}" / f"part.{kind}")
    found = ul.train(tmp_path, "y", **options())
    frame = pd.concat([rows(year, "DE").assign(year=year - 2000) for year in (2020, 2021)])
    assert content(found.model) == content(ul.train(frame, "y", **options()).model)
    path = tmp_path / "year=2021" / f"part.{kind}"
    assert ul.Predictor(found).predict(path) == ul.Predictor(found).predict(frame[60:]).tolist()


def test_rows_are_scored_and_selected_by_a_column_from_folder_names(folders: Path) -> None:
    found = ul.train(folders / "csv", "y", **options(reading=ul.Reading(ignore="year")))
    assert set(ul.evaluate(found, folders / "csv", by="year").groups) == {"2020", "2021"}
    kept = [part.batch.original for part in ul.Predictor(found).batches(folders / "csv", keep=True)]
    assert kept[0].column_names == ["a", "y", "year", "country"]


def test_a_folder_can_name_the_classes(tmp_path: Path) -> None:
    for label in ("ham", "spam"):
        frame = pd.DataFrame({"length": [k % 10 + 10 * (label == "spam") for k in range(100)]})
        write(frame, tmp_path / f"label={label}" / "mails.csv")
    found = ul.train(tmp_path, "label", model_type="linear")
    assert found.metrics["error_rate"] < 0.1
    assert ul.Predictor(found).predict_one({"length": 18}) == "spam"


def test_values_of_all_folders_decide_the_type_of_a_column(tmp_path: Path) -> None:
    for month, day, region in (("01", "2020-01-05", "1"), ("02", "2020-02-05", "2"), ("03", "2020-03-05", "north")):
        write(rows(2020, "DE"), tmp_path / f"month={month}" / f"day={day}" / f"region={region}" / "part.csv")
    found = ul.train(tmp_path, "y", model_type="linear")
    kinds = {"a": "number", "month": "number", "day": "date", "region": "text"}
    assert ul.Predictor(found).features == kinds
    as_text = ul.train(tmp_path, "y", model_type="linear", reading=ul.Reading(text=["month"]))
    assert ul.Predictor(as_text).features == {**kinds, "month": "text"}
    assert {"month=01", "month=02", "month=03"} <= set(as_text.model.weights)


def test_only_folders_give_columns() -> None:
    assert values_in("a=1.csv") == {}
    assert values_in("data/a=1/b=2.csv") == {"a": "1"}
    assert values_in("s3://bucket/a=x%2Fy/=3/c=/part.parquet") == {"a": "x/y", "c": None}
