"""Writers of named features, one row per line. Each returns columns of text that are joined by row to the lines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...inputs import Float64, Frame
from ..arrow import pyarrow
from ..sources.located_rows import Chunk
from .cells import cells


class LineWriter:
    """Converts rows to lines of text; its attributes tell what the format can store."""

    title: str
    holds_weights = True
    holds_offsets = True
    holds_text = True
    needs_labels = False

    def from_table(
        self, frame: Frame, labels: Float64, weight: Float64 | None, offset: Float64 | None = None
    ) -> list[Any]:
        """Convert rows of a table. Formats with a writer of tables do not need this."""
        raise NotImplementedError

    def from_named(self, chunk: Chunk) -> list[Any]:
        """Convert rows of named features that the core has read from text."""
        raise NotImplementedError

    def remarks(self) -> list[str]:
        """Return notes for the user about how the data was written."""
        return []


def before_each(before: str, text: Any) -> Any:
    """Put a text before each value; a missing value stays missing."""
    return pyarrow("compute").binary_join_element_wise(before, text, "")


def text_column(words: NDArray[Any]) -> Any:
    """Convert an array of words to a column of text."""
    return pyarrow().array(words.astype(object), pyarrow().string())


def combined(read: Any) -> tuple[NDArray[Any], Float64, NDArray[np.intp]]:
    """Return the entries by row, each name once: values of a name that occurs twice in a row are added."""
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
    """Return the features of each row as one text."""
    pa, compute = pyarrow(), pyarrow("compute")
    numbers = cells("values", pa.array(values))
    words = compute.binary_join_element_wise(names.take(pa.array(ids.astype(np.int64))), numbers, between)
    if before == after:  # `before` stands before each feature, not between features
        words = compute.binary_join_element_wise(before, words, "")
        after = ""
    return compute.binary_join(pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), words), after)
