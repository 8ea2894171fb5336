"""The types of columns and labels are agreed from rows of all parts of the data; contradictions name file and row."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from sources import write

import unitless as ul
from unitless.cluster.agreement import agree
from unitless.cluster.blocks import HEADS, DataSpec, batches, survey
from unitless.cluster.layout import lay_out
from unitless.data import ReadOptions, Schema
from unitless.data import labels as task_labels
from unitless.data.label_values import LabelValues
from unitless.data.labels import Numbers, RawLabels, Texts
from unitless.data.sources import columnar


def agreed(source: Any, target: Any = "y", **options: Any) -> tuple[Schema, RawLabels]:
    named = isinstance(target, str)
    spec = DataSpec.of(source, ReadOptions(target=target if named else None, **options), None if named else target)
    return agree(spec, [survey(spec, file) for file in range(spec.parts)])


def csv_files(folder: Path, *parts: Sequence[Any], column: str = "x") -> str:
    """One file for each list of values; the target is a number."""
    for number, part in enumerate(parts):
        write(folder / f"{number}.csv", f"{column},y,z\n" + "".join(f"{x},{k % 5},1.5\n" for k, x in enumerate(part)))
    return str(folder)


def test_zeros_and_ones_with_other_numbers_in_another_file_are_numbers(tmp_path: Path) -> None:
    assert agreed(csv_files(tmp_path / "a", [0, 1] * 200, [0, 1] * 200))[0].kinds["x"] == "flag"
    assert agreed(csv_files(tmp_path / "b", [0, 1] * 200, [0, 7] * 200))[0].kinds["x"] == "number"
    assert agreed(csv_files(tmp_path / "c", [0, 1] * 200, [0.5, 1] * 200))[0].kinds["x"] == "number"
    assert agreed(csv_files(tmp_path / "d", [0, 1] * 200, [""] * 200))[0].kinds["x"] == "flag"
    assert agreed(csv_files(tmp_path / "e", [""] * 200, ["a", "b"] * 200))[0].kinds["x"] == "text"


def test_the_end_of_a_long_file_counts_too(tmp_path: Path) -> None:
    late = csv_files(tmp_path, [0] * 30_000 + [9] * 1000)
    assert agreed(late)[0].kinds["x"] == "number"
    assert agreed(pd.DataFrame({"x": [0] * 30_000 + [9] * 1000, "y": 1.0}))[0].kinds["x"] == "number"


@pytest.mark.parametrize("turned", [False, True])
def test_text_in_one_file_and_numbers_in_another_names_the_text(tmp_path: Path, turned: bool) -> None:
    parts: list[Sequence[Any]] = [[1.5, 2, 3] * 100, [4, 5, "oops", "NA"] * 100]
    files = csv_files(tmp_path, *(parts[::-1] if turned else parts))
    odd, even = (0, 1) if turned else (1, 0)
    with pytest.raises(ul.InputError) as caught:
        agreed(files)
    error = caught.value
    assert (error.file, error.row, error.column) == (os.path.join(files, f"{odd}.csv"), 3, "x")
    assert "'oops'" in str(error)
    assert f"{even}.csv, row 1 it holds numbers" in str(error)
    assert "text='x'" in str(error)
    assert agreed(files, text=("x",))[0].kinds["x"] == "text"
    assert "x" not in agreed(files, ignore=("x",))[0].kinds


def test_columns_of_files_with_types_of_their_own(tmp_path: Path) -> None:
    def write_parquet(name: str, x: Any, **others: Any) -> None:
        table = pa.table({"x": x, "y": np.arange(len(x)) % 5, **others})
        pa.parquet.write_table(table, tmp_path / name, row_group_size=100)

    write_parquet("0.parquet", np.arange(300))
    write_parquet("1.parquet", np.arange(300) / 7)
    assert agreed(str(tmp_path))[0].kinds["x"] == "number"
    write_parquet("2.parquet", pa.array([None, None, "twelve"] * 100))
    with pytest.raises(
        ul.InputError, match=r"2.parquet, row 3, column 'x': .*'twelve' here, but at .*0.parquet, row 1 it holds n"
    ):
        agreed(str(tmp_path))
    write_parquet("2.parquet", pa.array([True] * 300))
    with pytest.raises(ul.InputError, match=r"2.parquet, row 1, column 'x': .*True here"):
        agreed(str(tmp_path))
    write_parquet("2.parquet", pa.nulls(300))
    assert agreed(str(tmp_path))[0].kinds["x"] == "number"
    write_parquet("2.parquet", pa.array([[1]] * 300))
    with pytest.raises(ul.InputError, match=r"2.parquet: column 'x' holds list"):
        agreed(str(tmp_path))
    write_parquet("2.parquet", np.arange(300), extra=np.arange(300))
    with pytest.raises(
        ul.InputError, match=r"2.parquet: there is a column 'extra', which .*0.parquet does not have.*ignore"
    ):
        agreed(str(tmp_path))
    assert "extra" not in agreed(str(tmp_path), ignore=("extra",))[0].kinds
    pa.parquet.write_table(pa.table({"y": [1, 2]}), tmp_path / "2.parquet")
    with pytest.raises(ul.InputError, match=r"2.parquet: there is no column 'x', which .*0.parquet has"):
        agreed(str(tmp_path))


def test_more_files_than_heads_are_all_looked_at(tmp_path: Path) -> None:
    files = 2 * HEADS + 3
    for number in range(files):
        pa.parquet.write_table(pa.table({"x": [0, 1], "y": [number, 1]}), tmp_path / f"{number:03}.parquet")
    spec = DataSpec.of(str(tmp_path), ReadOptions(target="y"))
    surveys = [survey(spec, file) for file in range(files)]
    assert sum(bool(one.heads) for one in surveys) == HEADS
    schema, labels = agree(spec, surveys)
    assert (schema.kinds, len(labels)) == ({"x": "flag"}, 2 * HEADS)
    hidden = next(number for number, one in enumerate(surveys) if not one.heads)
    pa.parquet.write_table(pa.table({"x": [True], "y": [1]}), tmp_path / f"{hidden:03}.parquet")
    surveys[hidden] = survey(spec, hidden)
    with pytest.raises(ul.InputError, match=f"{hidden:03}.parquet, from row 1 on: column 'x' holds bool"):
        agree(spec, surveys)


# ------------------------------------------------------------------------------------------------ labels


def test_classes_are_the_union_of_all_files(tmp_path: Path) -> None:
    for number, name in enumerate(["cat", "dog", "owl"]):
        write(tmp_path / f"{number}.csv", "x,y\n" + "".join(f"{k},{name}\n" for k in range(200)))
    schema, labels = agreed(str(tmp_path))
    assert schema.target_kind == "text"
    assert isinstance(labels, Texts)
    assert labels.distinct()[0] == ["cat", "dog", "owl"]
    assert task_labels.infer_target(LabelValues.of(labels), None, None, None).task == "classes"


def test_a_file_sorted_by_its_label_shows_all_of_them() -> None:
    frame = pd.DataFrame({"x": np.arange(9000.0), "y": np.arange(9000) // 3000})
    labels = agreed(frame)[1]
    assert isinstance(labels, Numbers)
    assert labels.distinct()[0] == ["0", "1", "2"]
    assert agreed(frame[["x"]].to_numpy(), frame["y"])[1].distinct()[0] == ["0", "1", "2"]


def test_labels_of_mixed_types_across_files_are_refused_with_file_and_row(tmp_path: Path) -> None:
    write(tmp_path / "0.csv", "x,y\n" + "1,2\n" * 300)
    write(tmp_path / "1.csv", "x,y\n" + "1,2\n" * 30 + "1,yes\n" * 10)
    with pytest.raises(ul.InputError) as caught:
        agreed(str(tmp_path))
    assert (os.path.basename(caught.value.file), caught.value.row, caught.value.column) == ("1.csv", 31, "y")
    assert "the target is 'yes' here" in str(caught.value)
    assert agreed(str(tmp_path), text=("y",))[1].distinct()[0] == ["2", "yes"]


def test_labels_of_mappings_and_next_to_arrays() -> None:
    rows = [{"x": k, "y": "a" if k % 2 else "b"} for k in range(600)]
    assert agreed(rows)[1].distinct()[0] == ["a", "b"] or agreed(rows)[1].distinct()[0] == ["b", "a"]
    rows[300]["y"] = 7
    with pytest.raises(ul.InputError, match="the target is 7 here, but the first rows held text at row 301"):
        agreed(rows)
    with pytest.raises(ul.InputError, match="the target is 'b' here, but the first rows held numbers at row 4"):
        agreed(np.zeros((6, 1)), [1, 2, None, "b", 3, 4])
    with pytest.raises(ul.OptionError, match="give the labels of the array separately"):
        agreed(np.zeros((6, 1)), "")


def test_rows_of_named_features_have_numbers_for_labels(tmp_path: Path) -> None:
    path = write(tmp_path / "t.vw", "".join(f"{k % 3} |a x:{k}\n" for k in range(500)))
    spec = DataSpec.of(path, ReadOptions())
    schema, labels = agree(spec, [survey(spec, 0)])
    assert schema == Schema("named")
    assert labels.distinct()[0] == ["0", "1", "2"]


def test_keys_of_json_lines_are_the_union(tmp_path: Path) -> None:
    write(tmp_path / "0.jsonl", "".join(json.dumps({"x": k, "y": 1}) + "\n" for k in range(300)))
    write(tmp_path / "1.jsonl", "".join(json.dumps({"late": "a", "x": k, "y": 2}) + "\n" for k in range(300)))
    assert agreed(str(tmp_path))[0].kinds == {"x": "number", "late": "text"}


# ------------------------------------------------------------------------------------------------ real tables


@pytest.mark.parametrize("name", ["bank", "covertype"])
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_contiguous_partitions_of_real_files_agree(name: str, format: str, tmp_path: Path) -> None:
    folder = os.environ.get("UNITLESS_DATA", "")
    if not os.path.exists(os.path.join(folder, f"{name}.parquet")):
        pytest.skip("needs the tables of the paper (UNITLESS_DATA)")
    table = pa.parquet.read_table(os.path.join(folder, f"{name}.parquet"))
    table = table.slice(0, 60_000) if format == "csv" else table
    whole = agreed(table, "label")[0]
    cuts = np.linspace(0, table.num_rows, 17).astype(int).tolist()
    for number, (a, b) in enumerate(itertools.pairwise(cuts)):
        part = table.slice(a, b - a)
        path = tmp_path / f"{number:02}.{format}"
        part.to_pandas().to_csv(path, index=False) if format == "csv" else pa.parquet.write_table(part, path)
    spec = DataSpec.of(str(tmp_path), ReadOptions(target="label"))
    surveys = [survey(spec, file) for file in range(spec.parts)]
    schema, labels = agree(spec, surveys)
    assert schema.columns == whole.columns
    expected = np.unique(table.column("label").to_numpy())
    assert labels.distinct()[0] == [str(value) for value in expected]
    ready = DataSpec(spec.options, spec.files, schema=schema)
    layout = lay_out(surveys, 4, 2, 0)
    assert sum(batch.rows for row in layout.cells for cell in row for batch in batches(ready, cell)) == table.num_rows


def test_of_many_groups_only_the_first_rows_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "t.parquet")
    table = pa.table({"x": np.repeat([0, 1, 7, 1], 20_000), "y": np.repeat(np.arange(20), 4000)})
    pa.parquet.write_table(table, path, row_group_size=4000)
    decoded: list[int] = []
    monkeypatch.setattr(columnar.ParquetScan, "_group", lambda *args: decoded.append(args[2]))
    schema, labels = agreed(path)
    assert decoded == []
    assert schema.kinds == {"x": "number"}
    assert len(labels.distinct()[0]) == 20
