"""Hashes of the content of rows: equal rows have equal hashes, whatever the chunks and the codes of their text.

The hash of a row is the sum of hashes of its values, each with the name of its column, so that the order of columns and
of sparse entries does not matter. A missing value adds nothing, and a zero of a sparse row adds nothing either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...inputs import Compressed, Dense, FlagColumn, Float64, Frame, Input, NamedRows, TextColumn, TextRows, WordsColumn
from ..hashes import Hashes, bits_of, key_of, mixed, of_numbers, of_texts, text_hashes, value_hashes
from ..labels import RawLabels

LABEL_BITS = 16  # bits of a row's hash that are for the label; the others are for its features
_SPAN = 1 << 14  # so many rows are hashed at once, because their hashes fit into the cache
_OFFSET = "offset of the score"


def content_hashes(data: Input, labels: RawLabels | None, offset: Float64 | None = None) -> Hashes:
    """Return a hash of each row: of its features in the upper bits, and of its label in the `LABEL_BITS` lower ones.

    Args:
        data: the features.
        labels: the labels; None if there are none.
        offset: what is added to the scores; it counts as a feature. Default: None, nothing.
    """
    found = np.zeros(data.rows, np.uint64)
    _add_features(data, found)
    if offset is not None:
        _add_column(np.asarray(offset), key_of(_OFFSET), found)
    found = mixed(found) & ~np.uint64((1 << LABEL_BITS) - 1)
    if labels is not None:
        found |= value_hashes(labels) >> np.uint64(64 - LABEL_BITS)
    return found


def features_of(hashes: Hashes) -> Hashes:
    """Return the part of the hashes of rows that is about their features."""
    return hashes >> np.uint64(LABEL_BITS)


def _add_features(data: Input, found: Hashes) -> None:
    """Add the hashes of all values to the hashes of their rows."""
    if isinstance(data, Dense):
        keys = of_numbers(np.arange(data.array.shape[1]))
        _add_columns([(data.array[:, k], key) for k, key in enumerate(keys)], found)
    elif isinstance(data, Frame):
        numeric: list[tuple[NDArray[Any], np.uint64]] = []
        for name, column in zip(data.names, data.columns, strict=True):
            if isinstance(column, TextColumn | WordsColumn):
                hashes = text_hashes(column if isinstance(column, TextColumn) else column.texts)
                found += np.where(hashes != 0, mixed(hashes ^ key_of(name)), np.uint64(0))
            else:
                numeric.append((column.numbers if isinstance(column, FlagColumn) else column, key_of(name)))
        _add_columns(numeric, found)
    elif isinstance(data, Compressed):
        _add_entries(data.values, of_numbers(data.indices), data.row_starts, found)
    elif isinstance(data, TextRows):
        read = data.read
        keys = of_texts(np.append(0, read.name_ends), read.text)[read.ids]
        _add_entries(read.values, keys, np.append(0, read.row_ends), found)
    else:
        found += _of_mappings(data)


def _add_columns(columns: Sequence[tuple[NDArray[Any], np.uint64]], found: Hashes) -> None:
    for begin in range(0, len(found), _SPAN):
        some = slice(begin, begin + _SPAN)
        for values, key in columns:
            _add_column(values[some], key, found[some])


def _add_column(values: NDArray[Any], key: np.uint64, found: Hashes) -> None:
    """Add the hashes of a column of numbers, in place."""
    hashes = mixed(bits_of(values) ^ key)
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        if missing.any():
            hashes[missing] = 0
    found += hashes


def _add_entries(values: Float64, keys: Hashes, starts: NDArray[Any], found: Hashes) -> None:
    """Add the hashes of sparse entries to those of their rows, in place."""
    hashes = mixed(bits_of(values) ^ keys)
    hashes[values == 0] = 0
    sums = np.append(np.uint64(0), np.cumsum(hashes, dtype=np.uint64))
    found += sums[starts[1:]] - sums[starts[:-1]]


def _of_mappings(data: NamedRows) -> Hashes:
    """Return the hashes of mappings of names to numbers; a zero counts as absent, as for the model."""
    whole = (1 << 64) - 1
    found = [hash(frozenset(item for item in row.items() if item[1])) & whole for row in data.mappings]
    return np.array(found, np.uint64)
