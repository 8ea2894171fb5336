"""Writers of named features, one row per line. Each gives columns of text which, row by row, make the lines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...inputs import Float64, Frame
from ..arrow import pyarrow
from ..sources.located_rows import Chunk
from .cells import cells


class LineWriter:
    """Rows as lines of text, and what the format can hold."""

    title: str
    holds_weights = True
    holds_offsets = True
    holds_text = True
    needs_labels = False

    def from_table(
        self, frame: Frame, labels: Float64, weight: Float64 | None, offset: Float64 | None = None
    ) -> list[Any]:
        """Rows of a table. Formats that have a writer of tables are not asked for this."""
        raise NotImplementedError

    def from_named(self, chunk: Chunk) -> list[Any]:
        """Rows of named features, as the core has read them from text."""
        raise NotImplementedError

    def remarks(self) -> list[str]:
        """What the user should know about how things were written."""
        return []


def before_each(before: str, text: Any) -> Any:
    """The values with a text before each; nothing where there is no value."""
    return pyarrow("compute").binary_join_element_wise(before, text, "")


def text_column(words: NDArray[Any]) -> Any:
    """An array of words as a column of text."""
    return pyarrow().array(words.astype(object), pyarrow().string())


def combined(read: Any) -> tuple[NDArray[Any], Float64, NDArray[np.intp]]:
    """Entries by row, each name once: the values of a name that a row has twice are added up."""
    ids, values = np.asarray(read.ids), np.asarray(read.values)
    rows = np.repeat(np.arange(read.rows), np.diff(np.concatenate([[0], read.row_ends])))
    key = rows.astype(np.int64) * (len(read.names) + 1) + ids
    unique, first, places = np.unique(key, return_index=True, return_inverse=True)
    if len(unique) == len(key):
        return ids, values, rows
    total: Float64 = np.bincount(places.reshape(-1), values, len(unique)).astype(np.float64)
    order = np.argsort(first)
    return ids[first[order]], total[order], rows[first[order]]


def features_by_row(
    before: str, names: Any, between: str, ids: NDArray[Any], values: Float64, ends: NDArray[Any], after: str
) -> Any:
    """Each row's features as one text."""
    pa, compute = pyarrow(), pyarrow("compute")
    numbers = cells("values", pa.array(values))
    words = compute.binary_join_element_wise(names.take(pa.array(ids.astype(np.int64))), numbers, between)
    if before == after:  # before each, not between them
        words = compute.binary_join_element_wise(before, words, "")
        after = ""
    return compute.binary_join(pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), words), after)
