"""The content of a table, whatever its file format: its digest, and whether it is the expected dataset."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.arrow import pyarrow
from ...errors import DatasetError
from .records import Dataset, Sample


def digest(table: Any) -> str:
    """SHA-256 of the content of a pyarrow table, in hexadecimal.

    The digest covers the number of rows and then each column in order: its name, and its values as float64 in
    little-endian order, or for text the distinct values in order and the index of each row's value among them. So
    compression, chunks, dictionaries and the width of integers make no difference. A column in float32 differs from one
    in float64, unless each of its values is the same.
    """
    total = hashlib.sha256(f"{table.num_rows} rows".encode())
    for name in table.column_names:
        column = table.column(name)
        if _is_text(column.type):
            values, places = _text(column)
            _add(total, name, "text")
            _add(total, *values)
            total.update(places.astype("<i4").tobytes())
        else:
            _add(total, name, "number")
            numbers = column.to_numpy().astype("<f8") + 0.0  # -0 becomes 0
            total.update(numbers.tobytes())
    return total.hexdigest()


def scales(table: Any, columns: tuple[str, ...]) -> NDArray[np.float64]:
    """The largest absolute value of each of these columns of numbers."""
    return np.array([np.abs(table.column(name).to_numpy().astype(np.float64)).max() for name in columns])


def check(table: Any, dataset: Dataset, part: Sample | None = None) -> None:
    """Check that a table is a dataset, or a known part of it; otherwise a DatasetError names the difference.

    With a digest every value is checked. MSD and CT Slice have no digest for the whole; there the number of rows, the
    columns, the labels and the known ranges are checked.
    """
    _check_columns(table, dataset)
    rows = part.rows if part else dataset.rows
    if table.num_rows != rows:
        raise DatasetError(f"it has {table.num_rows:,} rows instead of {rows:,}")
    _check_values(table, dataset)
    known = part.digest if part else dataset.digest
    if known is None:
        _check_range(table, dataset)
    elif digest(table) != known:
        raise DatasetError("its rows and columns are as many as they should be, but some values are different")


def _add(total: Any, *texts: str) -> None:
    for text in texts:
        encoded = text.encode()
        total.update(len(encoded).to_bytes(4, "little") + encoded)


def _is_text(type_: Any) -> bool:
    types = pyarrow("types")
    if types.is_dictionary(type_):
        type_ = type_.value_type
    return bool(types.is_string(type_) or types.is_large_string(type_))


def _text(column: Any) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct values in order, and the index of each row's value among them."""
    encoded = column if pyarrow("types").is_dictionary(column.type) else column.dictionary_encode()
    whole = encoded.unify_dictionaries().combine_chunks()
    texts, codes = whole.dictionary.to_pylist(), whole.indices.to_numpy()
    values = sorted({texts[code] for code in np.unique(codes)})  # a dictionary may have more values than the column
    places = {text: place for place, text in enumerate(values)}
    return values, np.array([places.get(text, -1) for text in texts], np.int64)[codes]


def _check_columns(table: Any, dataset: Dataset) -> None:
    names = tuple(table.column_names)
    if names != dataset.columns:
        if len(names) != len(dataset.columns):
            raise DatasetError(f"it has {len(names)} columns instead of {len(dataset.columns)}")
        k = next(k for k, name in enumerate(names) if name != dataset.columns[k])
        raise DatasetError(f"column {k + 1} is {names[k]!r} instead of {dataset.columns[k]!r}")
    types = pyarrow("types")
    for name, type_ in zip(names, table.schema.types, strict=True):
        if name in dataset.text_features:
            expected, found = "text", _is_text(type_)
        else:
            expected, found = "numbers", types.is_integer(type_) or types.is_floating(type_)
        if not found:
            raise DatasetError(f"column {name!r} holds {type_} instead of {expected}")
        if table.column(name).null_count:
            raise DatasetError(f"column {name!r} has missing values, and the dataset has none")


def _check_values(table: Any, dataset: Dataset) -> None:
    for name in dataset.columns:
        if name in dataset.text_features:
            continue
        values = table.column(name).to_numpy().astype(np.float64)
        if not np.isfinite(values).all():
            raise DatasetError(f"column {name!r} has values that are not finite")
        if name not in dataset.fractional and (values != np.rint(values)).any():
            raise DatasetError(f"column {name!r} has values that are not whole numbers")
        if name == "label":
            low, high = dataset.labels
            if values.min() < low or values.max() > high:
                raise DatasetError(f"labels go from {values.min():g} to {values.max():g}, outside {low:g} to {high:g}")


def _check_range(table: Any, dataset: Dataset) -> None:
    """Check the range of scales, to the digits that the paper prints.

    The lower end of CT Slice is not checked: it depends on how the authors treated columns that are almost always zero.
    """
    low, high = dataset.printed_scale
    found = scales(table, dataset.features)
    ends = [(found.max(), high)] if dataset.key == "ctslice" else [(found.min(), low), (found.max(), high)]
    for value, printed in ends:
        if abs(value - printed) >= dataset.printed_unit:
            raise DatasetError(f"a feature's scale is {value:g}, where the paper's Table 1 has {printed:g}")
