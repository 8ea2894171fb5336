"""A uniform sample of the rows of a stream, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..reader import Batch
from .random_order import hashes_of, rows_below
from .stored_rows import concatenated

_ROOM = 3  # at most so many times the sample is in memory before the rows that dropped out are removed


@dataclass
class _Part:
    """Rows of one batch with the hashes of their numbers; the rows of the sample are given by their places."""

    batch: Batch
    places: NDArray[np.intp]
    hashes: NDArray[np.uint64]
    numbers: NDArray[np.intp]

    def below(self, hash: np.uint64) -> _Part:
        """Return the rows with hashes up to this one. The batch is kept, because copying all columns takes long."""
        low = self.hashes <= hash
        return _Part(self.batch, self.places[low], self.hashes[low], self.numbers[low])


class Sample:
    """The rows whose numbers have the smallest hashes: the same rows, however the stream is split into batches.

    Args:
        seed: the random seed.
        most: the largest number of rows.
    """

    def __init__(self, seed: int, most: int) -> None:
        self._seed, self._most = seed, most
        self._parts: list[_Part] = []
        self._count = self._held = 0  # rows of the sample, and rows in memory
        self._below = np.uint64(2**64 - 1)

    def add(self, batch: Batch, numbers: NDArray[np.intp]) -> None:
        """Add the rows of a batch, with their numbers in the stream."""
        hashes = hashes_of(self._seed, numbers)
        low = hashes <= self._below
        if low.any():
            self._take(batch.select(low), hashes[low], numbers[low])

    def add_next(self, batch: Batch, first: int) -> None:
        """Add the rows of a batch whose numbers are `first`, `first` + 1, ..."""
        low = rows_below(self._seed, first, batch.rows, int(self._below))
        if not len(low):
            return
        keep = np.zeros(batch.rows, bool)
        keep[low] = True
        numbers = low + first
        self._take(batch.select(keep), hashes_of(self._seed, numbers), numbers)

    def _take(self, batch: Batch, hashes: NDArray[np.uint64], numbers: NDArray[np.intp]) -> None:
        part = _Part(batch, np.arange(batch.rows), hashes, numbers)
        self._parts.append(part)
        self._count += part.batch.rows
        self._held += part.batch.rows
        if self._count > 2 * self._most:
            self._cut()

    def _cut(self) -> None:
        """Reduce the sample to the rows with the smallest hashes."""
        if self._count <= self._most:
            return
        every = np.concatenate([part.hashes for part in self._parts])
        self._below = np.partition(every, self._most - 1)[self._most - 1]
        parts = [part.below(self._below) for part in self._parts]
        self._parts = [part for part in parts if len(part.places)]
        self._count = sum(len(part.places) for part in self._parts)
        self._held = sum(part.batch.rows for part in self._parts)
        if self._held > _ROOM * self._most:
            self._join()

    def _join(self) -> None:
        """Join all parts to one part with only the rows of the sample."""
        batch = concatenated([part.batch for part in self._parts])
        first = np.cumsum([0, *(part.batch.rows for part in self._parts)])
        chosen = np.zeros(batch.rows, bool)
        chosen[np.concatenate([part.places + at for part, at in zip(self._parts, first, strict=False)])] = True
        hashes, numbers = (np.concatenate([getattr(p, name) for p in self._parts]) for name in ("hashes", "numbers"))
        self._parts = [_Part(batch.select(chosen), np.arange(len(hashes)), hashes, numbers)]
        self._held = len(hashes)

    def rows(self) -> tuple[Batch, NDArray[np.intp]] | None:
        """Return the sample in the order of the stream, with the row numbers; None if it is empty."""
        self._cut()
        if not self._parts:
            return None
        self._join()
        return self._parts[0].batch, self._parts[0].numbers
