"""Read the original UCI files as tables: the label first, text without its leading blank."""

from __future__ import annotations

import os
from typing import Any

from ...data.arrow import pyarrow
from ...errors import DatasetError
from .records import Dataset


def read(dataset: Dataset, path: str | os.PathLike[str]) -> Any:
    """Read a dataset's file, which may be compressed with gzip."""
    pa, csv = pyarrow(), pyarrow("csv")
    names = _names_in_file(dataset)
    try:
        table = csv.read_csv(
            os.fspath(path),
            read_options=csv.ReadOptions(column_names=None if dataset.has_header else names),
            parse_options=csv.ParseOptions(
                delimiter=dataset.delimiter, quote_char='"' if dataset.has_header else False
            ),
            convert_options=csv.ConvertOptions(
                column_types={name: _type(dataset, name) for name in names},
                null_values=[],  # "NA" is a value in Census, and no number is missing in any file
            ),
        )
    except (pa.ArrowInvalid, OSError) as error:
        raise DatasetError(f"it cannot be read: {error}") from None
    if dataset.has_header and table.column_names != names:
        raise DatasetError(f"its first line is not the one of {dataset.original}")
    if table.num_rows != dataset.original_rows:
        raise DatasetError(f"it has {table.num_rows:,} rows instead of {dataset.original_rows:,}")
    columns = {"label": table.column(_label_in_file(dataset))} | {name: table.column(name) for name in dataset.features}
    for name in dataset.text_features:
        columns[name] = _without_blanks(columns[name])
    if dataset.meanings:
        columns["label"] = _labels(_without_blanks(columns["label"]), dataset.meanings)
    return pa.table(columns).slice(0, dataset.rows)


def _label_in_file(dataset: Dataset) -> str:
    return dataset.label_column if dataset.has_header else "label"


def _names_in_file(dataset: Dataset) -> list[str]:
    if dataset.label_column == "first":
        return ["label", *dataset.features]
    return [*dataset.left_out, *dataset.features, _label_in_file(dataset)]


def _type(dataset: Dataset, name: str) -> Any:
    pa = pyarrow()
    is_label = name == _label_in_file(dataset)
    if name in dataset.text_features or (is_label and dataset.meanings):
        return pa.dictionary(pa.int32(), pa.string())
    return pa.float64() if ("label" if is_label else name) in dataset.fractional else pa.int32()


def _without_blanks(column: Any) -> Any:
    """Remove the one blank after the comma; a blank at the end is part of some values of Census."""
    pa = pyarrow()
    whole = column.unify_dictionaries().combine_chunks()
    texts = pa.array([text.removeprefix(" ") for text in whole.dictionary.to_pylist()], pa.string())
    return pa.DictionaryArray.from_arrays(whole.indices, texts)


def _labels(column: Any, meanings: tuple[str, ...]) -> Any:
    pa, compute = pyarrow(), pyarrow("compute")
    unknown = sorted(set(column.dictionary.to_pylist()) - set(meanings))
    if unknown:
        raise DatasetError(f"it has the label {unknown[0]!r}, which is neither {meanings[0]!r} nor {meanings[1]!r}")
    return compute.index_in(column.cast(pa.string()), pa.array(meanings)).cast(pa.int8())
