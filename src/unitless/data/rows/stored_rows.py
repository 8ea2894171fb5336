"""Stores the rows of batches in memory, and returns them in any order.

Numbers, codes of text, labels and weights of a row are in one record (`records.py`). Rows of varying length stay in the
pieces in which they were read (`stored_data.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...inputs import (
    NamedRows,
    TextRows,
)
from ..labels import Numbers, RawLabels, Texts
from ..reader import Batch
from ..sources.located_rows import Place, Position, joined
from .records import BLOCK, LABEL, LABEL_TEXT, OFFSET, WEIGHT, Index, Key, Records
from .stored_data import KINDS, StoredData, StoredText


class StoredRows:
    """Rows of batches that can be returned in any order."""

    def __init__(self, block: int = BLOCK) -> None:
        self._block = block
        self.rows = 0
        self._data: StoredData | None = None
        self._records = Records(block)
        self._labels: _Labels | None = None
        self._weighted = self._offsets = False
        self._tags: list[str] | None = None

    @property
    def nbytes(self) -> int:
        """The memory that the rows use."""
        tags = 0 if self._tags is None else 60 * len(self._tags)
        data = 0 if self._data is None else self._data.nbytes
        return self._records.nbytes + data + tags + (0 if self._labels is None else self._labels.nbytes)

    def add(self, batch: Batch) -> None:
        """Add the next rows: their data, labels, weights and tags."""
        if not batch.rows:
            return
        data: StoredData = KINDS[type(batch.data)]() if self._data is None else self._data
        if not isinstance(batch.data, data.kind):
            raise InputError(f"rows are of two kinds: {data.kind.__name__} and {type(batch.data).__name__}")
        self._data = data
        fields = data.add(batch.data)
        if batch.labels is not None:
            self._labels = self._labels or _Labels()
            fields |= self._labels.add(batch.labels, self._records)
        if batch.weight is not None:
            self._weighted = True
            fields[WEIGHT] = np.asarray(batch.weight, np.float64)
        if batch.offset is not None:
            self._offsets = True
            fields[OFFSET] = np.asarray(batch.offset, np.float64)
        self._records.add(fields, batch.rows)
        if not isinstance(self._data, StoredText) and (batch.tags is not None or self._tags is not None):
            self._tags = ([""] * self.rows if self._tags is None else self._tags) + (batch.tags or [""] * batch.rows)
        self.rows += batch.rows

    def gather(self, rows: Index, place: Place) -> Batch:
        """Return the rows with these numbers, in this order; `place` is where they are, for messages."""
        assert self._data is not None
        rows = np.ascontiguousarray(rows, np.int64)
        fields = self._records.gather(rows)
        data = self._data.gather(rows, fields)
        labels = None if self._labels is None else self._labels.of(fields)
        weight = np.ascontiguousarray(fields[WEIGHT]) if self._weighted else None
        offset = np.ascontiguousarray(fields[OFFSET]) if self._offsets else None
        tags = None if self._tags is None else [self._tags[row] for row in rows.tolist()]
        if isinstance(data, TextRows):
            tags = data.read.tags
        return Batch(data, len(rows), labels, weight, place, Position(), 0, [], 0, tags=tags, offset=offset)


def concatenated(batches: Sequence[Batch]) -> Batch:
    """Join several batches to one."""
    if len(batches) == 1:
        return batches[0]
    stored = StoredRows(1 << 16)
    for batch in batches:
        stored.add(batch)
    place = joined([(batch.place, batch.rows) for batch in batches])
    if not stored.rows:
        return Batch(NamedRows([]), 0, None, None, place, Position(), 0, [], 0)
    return stored.gather(np.arange(stored.rows), place)


class _Labels:
    """Labels as a field of the records, and the texts of their codes."""

    def __init__(self) -> None:
        self.texts: dict[str, int] | None = None
        self.values: list[str] = []
        self._last: tuple[list[str], NDArray[np.int32]] | None = None  # the last list of values, and their places here

    @property
    def nbytes(self) -> int:
        return 200 * len(self.values)

    def add(self, labels: RawLabels, records: Records) -> dict[Key, NDArray[Any]]:
        if isinstance(labels, Numbers):
            if self.texts is None:
                return {LABEL: labels.values}
            labels = _as_texts(labels)
        if self.texts is None:
            self.texts = {}
            numbers = records.remove(LABEL)
            if numbers is not None:
                records.insert(LABEL_TEXT, self._codes(_as_texts(Numbers(numbers))))
        return {LABEL_TEXT: self._codes(labels)}

    def _codes(self, labels: Texts) -> NDArray[np.int32]:
        assert self.texts is not None
        if labels.values is self.values:  # the same list was added before
            return labels.codes
        if self._last is None or self._last[0] is not labels.values:
            new = [self.texts.setdefault(value, len(self.texts)) for value in labels.values]
            self.values = list(self.texts) if len(self.texts) > len(self.values) else self.values
            self._last = labels.values, np.array([*new, -1], np.int32)
        return self._last[1][labels.codes]

    def of(self, fields: Mapping[Key, NDArray[Any]]) -> RawLabels:
        if self.texts is None:
            return Numbers(np.ascontiguousarray(fields[LABEL], np.float64))
        return Texts(np.ascontiguousarray(fields[LABEL_TEXT], np.int32), self.values)


def _as_texts(labels: Numbers) -> Texts:
    """Convert numbers to text labels, for data that has both."""
    there = labels.present()
    values, _, places = labels.take(there).distinct()
    codes = np.full(len(labels), -1, np.int32)
    codes[there] = places
    return Texts(codes, values)
