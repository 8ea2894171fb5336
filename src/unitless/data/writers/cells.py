"""Converts values to text with pyarrow, for all rows at once, because Python code for each row is slow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import InputError
from ..arrow import pyarrow


def plain(table: Any) -> Any:
    """Return a table without dictionaries; a column without any value so far gets a type."""
    pa, types = pyarrow(), pyarrow("types")
    for k, field in enumerate(table.schema):
        if types.is_dictionary(field.type):
            table = table.set_column(k, field.name, table.column(k).cast(field.type.value_type))
        elif types.is_null(field.type):
            table = table.set_column(k, field.name, table.column(k).cast(pa.string()))
    return table


def columns(table: Any) -> Iterator[tuple[str, Any]]:
    """Return the names of a table's columns, each with its column in one part."""
    for name in table.column_names:
        column = table.column(name)
        yield name, column.chunk(0) if column.num_chunks == 1 else pyarrow().concat_arrays(column.chunks)


def cells(name: str, column: Any) -> Any:
    """Convert values to text: numbers become the shortest decimals that read back the same; missing values are null."""
    pa, types, compute = pyarrow(), pyarrow("types"), pyarrow("compute")
    if types.is_string(column.type):
        return column
    if types.is_floating(column.type):
        column = compute.if_else(compute.is_nan(column), pa.scalar(None, column.type), column)
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(f"column {name!r} holds {column.type}, which has no form as text; leave it out") from None


def json_cells(name: str, column: Any) -> Any:
    """Convert values to JSON; missing and non-finite values are null."""
    types, compute = pyarrow("types"), pyarrow("compute")
    if types.is_list(column.type):
        return pyarrow().array([json.dumps(values, ensure_ascii=False) for values in column.to_pylist()])
    if types.is_floating(column.type):
        column = compute.if_else(compute.is_finite(column), column, pyarrow().scalar(None, column.type))
    text = cells(name, column)
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
        coded = text.dictionary_encode()
        words = [json.dumps(word, ensure_ascii=False) for word in coded.dictionary.to_pylist()]
        text = pyarrow().array(words, pyarrow().string()).take(coded.indices)
    return text.fill_null("null")


def joined(parts: list[Any], none: str = "") -> memoryview:
    """Join columns of text and the texts between them, row after row, to one chunk of text."""
    compute = pyarrow("compute")
    lines = compute.binary_join_element_wise(*parts, "", null_handling="replace", null_replacement=none)
    return text_bytes(lines)


def text_bytes(lines: Any) -> memoryview:
    """Return all texts of an array, joined, as bytes."""
    _, ends, data = lines.buffers()
    if data is None:
        return memoryview(b"")
    width = np.int64 if pyarrow("types").is_large_string(lines.type) else np.int32
    offsets = np.frombuffer(ends, width)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(data)[int(offsets[0]) : int(offsets[-1])]
