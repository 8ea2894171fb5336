"""A uniform sample of the rows of a stream, in bounded memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .reader import Batch
from .shuffle import concatenated, hashes_of


class Sample:
    """The rows whose numbers have the smallest hashes, at most so many: the same rows however the stream is cut.

    Args:
        seed: which rows are chosen.
        most: how many.
    """

    def __init__(self, seed: int, most: int) -> None:
        self._seed, self._most = seed, most
        self._parts: list[tuple[Batch, NDArray[np.uint64], NDArray[np.intp]]] = []
        self._count, self._below = 0, np.uint64(2**64 - 1)

    def add(self, batch: Batch, numbers: NDArray[np.intp]) -> None:
        """Rows, and their numbers in the stream."""
        hashes = hashes_of(self._seed, numbers)
        low = hashes <= self._below
        if not low.any():
            return
        self._parts.append((batch.select(low), hashes[low], numbers[low]))
        self._count += int(low.sum())
        if self._count > 2 * self._most:
            self._cut()

    def _cut(self) -> None:
        """Back to the smallest."""
        if self._count <= self._most:
            return
        every = np.concatenate([hashes for _, hashes, _ in self._parts])
        self._below = np.partition(every, self._most - 1)[self._most - 1]
        kept = []
        for batch, hashes, numbers in self._parts:
            low = hashes <= self._below
            if low.any():
                kept.append((batch.select(low), hashes[low], numbers[low]))
        self._parts, self._count = kept, sum(len(hashes) for _, hashes, _ in kept)

    def rows(self) -> tuple[Batch, NDArray[np.intp]] | None:
        """The sample, in the order of the stream, with the rows' numbers; None if there is nothing in it."""
        self._cut()
        if not self._parts:
            return None
        return concatenated([batch for batch, _, _ in self._parts]), np.concatenate([n for _, _, n in self._parts])
