"""The paper's datasets: what is found where, what is refused, and the digest that tells one content from another."""

from __future__ import annotations

import dataclasses
import gzip
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import uci

import unitless as ul
from unitless.errors import DatasetError, MissingDatasetError
from unitless.paper.experiments import content
from unitless.paper.experiments.datasets import DATASETS, find, load, numeric_columns

WHOLE = ["bank", "census", "covertype", "shuttle"]
SAMPLES = ["ctslice", "msd"]


@pytest.fixture
def nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> pathlib.Path:
    """An empty directory, and no other place where a dataset could be."""
    monkeypatch.delenv("UNITLESS_DATA", raising=False)
    monkeypatch.setenv("UNITLESS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def shuttle(nothing_else: pathlib.Path) -> pa.Table:
    return load("shuttle").table


@pytest.mark.parametrize("key", WHOLE)
def test_the_whole_datasets_are_known_to_the_last_value(key: str, data_directory: pathlib.Path) -> None:
    loaded = load(key, data_directory)
    assert not loaded.is_sample
    assert loaded.sample_note == ""
    assert loaded.rows == DATASETS[key].rows
    assert loaded.source == str(data_directory / f"{key}.parquet")


@pytest.mark.parametrize("key", SAMPLES)
def test_samples_are_marked_as_samples(key: str, data_directory: pathlib.Path) -> None:
    loaded = load(key, data_directory)
    assert loaded.is_sample
    assert f"{DATASETS[key].rows:,}" in loaded.sample_note
    assert loaded.rows < DATASETS[key].rows


def test_shuttle_is_bundled(nothing_else: pathlib.Path) -> None:
    loaded = load("shuttle", nothing_else)
    assert (loaded.rows, loaded.source) == (43_500, "bundled with unitless")


@pytest.mark.parametrize("key", list(DATASETS))
def test_columns_are_numbers_or_text(key: str, data_directory: pathlib.Path) -> None:
    loaded = load(key, data_directory)
    numbers, texts = numeric_columns(loaded), loaded.dataset.text_features
    assert sorted(["label", *numbers, *texts]) == sorted(loaded.table.column_names)
    assert all(not pa.types.is_dictionary(loaded.table.schema.field(name).type) for name in numbers)
    assert all(pa.types.is_dictionary(loaded.table.schema.field(name).type) for name in texts)


def test_the_numeric_columns_of_census(data_directory: pathlib.Path) -> None:
    assert numeric_columns(load("census", data_directory)) == [
        *("age", "industry_code", "occupation_code", "wage_per_hour"),
        *("capital_gains", "capital_losses", "dividends_from_stocks", "instance_weight"),
        *("num_persons_worked_for_employer", "own_business_or_self_employed"),
        *("veterans_benefits", "weeks_worked_in_year", "year"),
    ]


def test_a_missing_dataset_is_an_error_with_both_remedies(nothing_else: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(MissingDatasetError) as error:
        load("bank", nothing_else)
    message = str(error.value)
    assert "looked for bank.parquet, bank-full.csv" in message
    assert f"in {nothing_else} and {tmp_path / 'cache'} (which does not exist)" in message
    assert f"Place one of these files of https://doi.org/10.24432/C5K306 in {nothing_else}" in message
    assert "--download" in message


def test_an_unknown_dataset_is_an_error_that_names_the_known() -> None:
    with pytest.raises(ul.OptionError, match=r"'iris'.*bank, census, covertype, ctslice, msd, shuttle"):
        load("iris")


def test_the_environment_names_the_directory(
    nothing_else: pathlib.Path, shuttle: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNITLESS_DATA", str(nothing_else))
    pyarrow.parquet.write_table(shuttle, nothing_else / "shuttle.parquet")
    assert load("shuttle").source == str(nothing_else / "shuttle.parquet")


def test_the_whole_is_preferred_to_a_sample_and_parquet_to_text(nothing_else: pathlib.Path) -> None:
    names = ["msd_random7000.parquet", "YearPredictionMSD.txt", "msd.parquet"]
    for name in names:
        (nothing_else / name).write_bytes(b"")
        found = find("msd", nothing_else)
        assert found is not None
        assert found.path.name == name
        assert (found.sample is not None) == (name == names[0])


@pytest.mark.parametrize("name", ["shuttle.trn", "shuttle.trn.gz"])
def test_the_files_of_uci_can_be_placed_as_they_are(name: str, nothing_else: pathlib.Path, shuttle: pa.Table) -> None:
    text = uci.original_text(DATASETS["shuttle"], shuttle)
    assert text.startswith(b"50 21 77 0 28 0 27 48 22 2\n")
    (nothing_else / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    loaded = load("shuttle", nothing_else)
    assert loaded.source.endswith(name)
    assert content.digest(loaded.table) == content.digest(shuttle)


def test_an_archive_of_uci_can_be_placed_as_it_is(data_directory: pathlib.Path, nothing_else: pathlib.Path) -> None:
    table = load("bank", data_directory).table
    text = uci.original_text(DATASETS["bank"], table)
    assert text.startswith(b'"age";"job";"marital"')
    assert b'\n58;"management";"married";"tertiary";"no";2143;' in text
    (nothing_else / "bank+marketing.zip").write_bytes(uci.archive(DATASETS["bank"], text))
    assert content.digest(load("bank", nothing_else).table) == content.digest(table)


@pytest.mark.parametrize("key", SAMPLES)
def test_text_with_decimals_is_read_to_the_last_digit(
    key: str, data_directory: pathlib.Path, nothing_else: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = load(key, data_directory).table
    part = dataclasses.replace(
        DATASETS[key],
        rows=sample.num_rows - 100,  # as the training part of MSD
        original_rows=sample.num_rows,
        digest=content.digest(sample.slice(0, sample.num_rows - 100)),
    )
    monkeypatch.setitem(DATASETS, key, part)
    in_doubles = sample.cast(pa.schema([(name, pa.float64()) for name in sample.column_names]))
    if key == "msd":
        in_doubles = in_doubles.set_column(0, "label", sample.column("label"))
    (nothing_else / part.original).write_bytes(uci.original_text(part, in_doubles))
    assert load(key, nothing_else).rows == part.rows


def replaced(table: pa.Table, name: str, values: object) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array(values))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda table: table.slice(1), "43,499 rows instead of 43,500"),
        (lambda table: table.drop_columns(["V3"]), "9 columns instead of 10"),
        (
            lambda table: table.rename_columns(["label", "V1", "V2", "W3", *table.column_names[4:]]),
            "'W3' instead of 'V3'",
        ),
        (lambda table: replaced(table, "V2", table["V2"].cast(pa.string())), "'V2' holds string instead of numbers"),
        (lambda table: replaced(table, "V2", [None, *table["V2"].to_pylist()[1:]]), "'V2' has missing values"),
        (lambda table: replaced(table, "V2", [np.inf, *table["V2"].to_pylist()[1:]]), "'V2' .* not finite"),
        (lambda table: replaced(table, "V2", [0.5, *table["V2"].to_pylist()[1:]]), "'V2' .* not whole"),
        (lambda table: replaced(table, "label", [8, *table["label"].to_pylist()[1:]]), "labels go from 1 to 8"),
        (lambda table: replaced(table, "V2", [22, *table["V2"].to_pylist()[1:]]), "some values are different"),
    ],
)
def test_another_content_is_refused(change: object, reason: str, nothing_else: pathlib.Path, shuttle: pa.Table) -> None:
    pyarrow.parquet.write_table(change(shuttle), nothing_else / "shuttle.parquet")  # type: ignore[operator]
    with pytest.raises(DatasetError, match=rf"shuttle\.parquet is not the Shuttle dataset.*{reason}"):
        load("shuttle", nothing_else)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("bank.parquet", b"PAR1 and then nothing", "not a Parquet file"),
        ("bank-full.csv", b"", "cannot be read"),
        ("bank-full.csv", b'"age";"job"\n58;"management"\n', "first line"),
        ("bank-full.csv.gz", b"not compressed", "cannot be read"),
        ("bank+marketing.zip", b"not an archive", "damaged"),
    ],
)
def test_a_damaged_file_is_refused(name: str, data: bytes, reason: str, nothing_else: pathlib.Path) -> None:
    (nothing_else / name).write_bytes(data)
    with pytest.raises(DatasetError, match=reason):
        load("bank", nothing_else)


def test_a_label_that_means_nothing_is_refused(nothing_else: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = dataclasses.replace(DATASETS["bank"], rows=1, original_rows=1)
    monkeypatch.setitem(DATASETS, "bank", dataset)
    values = ["1" if name not in dataset.text_features else '"x"' for name in dataset.features]
    names = ";".join(f'"{name}"' for name in (*dataset.features, "y"))
    (nothing_else / "bank-full.csv").write_text(f'{names}\n{";".join(values)};"maybe"\n')
    with pytest.raises(DatasetError, match="label 'maybe', which is neither 'no' nor 'yes'"):
        load("bank", nothing_else)


def test_the_digest_is_of_the_content_alone(tmp_path: pathlib.Path) -> None:
    table = pa.table(
        {"label": pa.array([0, 1, 1, 0], pa.int8()), "word": ["b", "a", "b", "c"], "x": [1.0, -2.0, 0.0, 3.0]}
    )
    known = content.digest(table)
    wide = replaced(table, "label", pa.array([0, 1, 1, 0], pa.int64()))
    whole = replaced(table, "x", pa.array([1, -2, 0, 3], pa.int16()))
    negative_zero = replaced(table, "x", [1.0, -2.0, -0.0, 3.0])
    encoded = replaced(table, "word", table["word"].combine_chunks().dictionary_encode())
    spare = replaced(table, "word", pa.DictionaryArray.from_arrays([2, 0, 2, 3], ["a", "aa", "b", "c"]))
    large = replaced(table, "word", pa.array(["b", "a", "b", "c"], pa.large_string()))
    chunks = pa.concat_tables([encoded.slice(2), encoded.slice(0, 2)]).take([2, 3, 0, 1])
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet", row_group_size=2, use_dictionary=False)
    stored = pyarrow.parquet.read_table(tmp_path / "x.parquet")
    for same in (wide, whole, negative_zero, encoded, spare, large, chunks, stored):
        assert content.digest(same) == known


def test_the_digest_tells_tables_apart() -> None:
    table = pa.table({"label": [0, 1, 1], "word": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]})
    others = [
        table.slice(0, 2),
        table.take([1, 0, 2]),
        table.select(["label", "x", "word"]),
        table.rename_columns(["label", "word", "y"]),
        replaced(table, "x", [1.0, 2.0, np.nextafter(3.0, 4.0)]),
        replaced(table, "word", ["b", "a", "b"]),
        replaced(table, "word", ["a", "c", "a"]),
        replaced(table, "word", ["a", "b ", "a"]),
    ]
    assert len({content.digest(each) for each in [table, *others]}) == 1 + len(others)
