"""The random order of rows: the order of a hash of the seed and the row number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...locks import forkable_lock
from .records import Index

_FACTORS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
MASK = 2**64 - 1
SPAN = 1 << 16  # so many hashes are computed at once, because they fit into the cache


def hashes(seed: int, first: int, last: int) -> NDArray[np.uint64]:
    """Return the hashes of rows `first` up to, but not including, `last`. All rows have different hashes."""
    return _hashed(seed, np.arange(first, last, dtype=np.uint64))


def hashes_of(seed: int, numbers: Index) -> NDArray[np.uint64]:
    """Return the hashes of rows with these numbers."""
    return _hashed(seed, numbers.astype(np.uint64))


def rows_below(seed: int, first: int, count: int, highest: int) -> Index:
    """Return which of `count` rows, from row `first` on, have hashes up to `highest`; numbers count from `first`."""
    return _core.rows_below(_key(seed), first, count, highest)


class Order:
    """The numbers of all rows in random order; each part is computed when it is first needed.

    Args:
        seed: the random seed.
        rows: the number of rows.
        parts: by row, which part of the rows it belongs to; parts with greater numbers come later. Default: None, one
            part.
    """

    def __init__(self, seed: int, rows: int, parts: NDArray[np.uint8] | None = None) -> None:
        self._seed, self._of_row = seed, parts
        self._later: list[Index] = []  # rows of other parts than the first one
        self._hashes = hashes(seed, 0, rows)
        self._numbers = np.empty(rows, np.int64)
        self._parts = 16 if rows > SPAN else 1
        self._known = self._part = 0
        self._lock = forkable_lock()

    def __getitem__(self, rows: slice) -> Index:
        with self._lock:
            while self._known < min(rows.stop, len(self._numbers)):
                self._more()
        return self._numbers[rows]

    def _more(self) -> None:
        """Compute the rows of the next part of the range of hashes."""
        found = self._hashes
        if self._parts > 1:
            found = found[found >> np.uint64(60) == np.uint64(self._part)]
        found.sort()
        numbers = unhashed(self._seed, found)
        self._part += 1
        if self._of_row is not None:
            later = self._of_row[numbers] > 0
            self._later.append(numbers[later])
            numbers = numbers[~later]
            if self._part == self._parts:
                others = np.concatenate(self._later)
                numbers = np.concatenate([numbers, others[np.argsort(self._of_row[others], kind="stable")]])
        self._numbers[self._known : self._known + len(numbers)] = numbers
        self._known += len(numbers)
        if self._part == self._parts:
            self._hashes, self._later, self._of_row = self._hashes[:0], [], None


def _key(seed: int) -> int:
    key = (seed + 0xD1B54A32D192ED03) & MASK
    for shift, factor in _FACTORS:
        key = (key ^ (key >> shift)) * factor & MASK
    return key ^ (key >> 31)


def _hashed(seed: int, rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Replace each number by its hash, in place."""
    key = np.uint64(_key(seed))
    for begin in range(0, len(rows), SPAN):
        x = rows[begin : begin + SPAN]
        x += key
        for shift, factor in _FACTORS:
            x ^= x >> np.uint64(shift)
            x *= np.uint64(factor)
        x ^= x >> np.uint64(31)
    return rows


def unhashed(seed: int, found: NDArray[np.uint64]) -> Index:
    """Replace each hash by the number that has it, in place: each step of the hash can be inverted."""
    key = np.uint64(_key(seed))
    inverses = [(shift, pow(factor, -1, 2**64)) for shift, factor in reversed(_FACTORS)]
    for begin in range(0, len(found), SPAN):
        x = found[begin : begin + SPAN]
        x ^= (x >> np.uint64(31)) ^ (x >> np.uint64(62))
        for shift, inverse in inverses:
            x *= np.uint64(inverse)
            x ^= (x >> np.uint64(shift)) ^ (x >> np.uint64(2 * shift))
        x -= key
    return found.view(np.int64)
