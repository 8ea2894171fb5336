"""Table 1 of the paper, from the data."""

from __future__ import annotations

import dataclasses
import json
import pathlib

import pyarrow as pa
import pytest

from unitless.paper.experiments import table1
from unitless.paper.experiments.datasets import DATASETS, Loaded, load


@pytest.mark.parametrize(
    ("key", "rows", "features", "low", "high"),
    [
        ("bank", 45_211, 7, 31, 102_127),
        ("census", 199_523, 13, 2, 99_999),
        ("covertype", 581_012, 54, 1, 7_173),
        ("shuttle", 43_500, 9, 105, 13_839),
    ],
)
def test_four_datasets_are_as_printed(
    key: str, rows: int, features: int, low: float, high: float, data_directory: pathlib.Path
) -> None:
    row = table1.row(load(key, data_directory))
    assert (row.rows, row.features, row.scale_low, row.scale_high) == (rows, features, low, high)
    assert (row.printed_features, row.printed_scale_low, row.printed_scale_high) == (features, low, high)
    assert row.matches
    assert not row.sample
    assert ("header line" in row.note) == (row.printed_rows != rows) == (key == "bank")


def test_samples_are_marked_and_do_not_match(data_directory: pathlib.Path) -> None:
    ct, msd = (table1.row(load(key, data_directory)) for key in ("ctslice", "msd"))
    assert ct.sample
    assert msd.sample
    assert not ct.matches
    assert not msd.matches
    assert "first 682" in ct.note
    assert "7,000" in msd.note
    assert (ct.features, msd.features) == (289, 90)
    assert ct.scale_low >= ct.printed_scale_low  # of a part, no scale can be greater than of the whole
    assert msd.scale_high <= msd.printed_scale_high


def test_a_row_goes_into_json() -> None:
    row = table1.row(load("shuttle"))
    assert json.loads(json.dumps(row.asdict())) == dataclasses.asdict(row)
    assert list(row.asdict()) == [
        *("dataset", "rows", "features", "scale_low", "scale_high"),
        *("printed_rows", "printed_features", "printed_scale_low", "printed_scale_high"),
        *("matches", "sample", "note"),
    ]


def scan(columns: dict[str, list[float]], **printed: object) -> Loaded:
    dataset = dataclasses.replace(DATASETS["ctslice"], features=tuple(columns), **printed)  # type: ignore[arg-type]
    return Loaded(pa.table({"label": [1.0, 2.0], **columns}), dataset, False, "", "")


def test_what_is_outside_of_a_scan_is_no_value_of_a_feature() -> None:
    columns = {"value0": [-0.25, 0.1584], "value1": [1.0, 0.0], "value2": [0.0, -0.25], "value3": [0.0, 0.0]}
    row = table1.row(scan(columns, printed_rows=2, printed_features=2))
    assert (row.features, row.scale_low, row.scale_high) == (2, 0.1584, 1.0)
    assert row.matches


@pytest.mark.parametrize("different", [{"printed_rows": 3}, {"printed_features": 3}, {"printed_scale": (0.2, 1)}])
def test_a_difference_is_no_match(different: dict[str, object]) -> None:
    columns = {"value0": [-0.25, 0.1584], "value1": [1.0, 0.0]}
    printed = {"printed_rows": 2, "printed_features": 2, **different}
    assert not table1.row(scan(columns, **printed)).matches
