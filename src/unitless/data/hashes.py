"""Hashes of values: equal values have equal hashes, whatever the chunks and the codes of their text."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64, TextColumn
from .labels import Numbers, RawLabels

Hashes: TypeAlias = NDArray[np.uint64]

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_RANDOM = np.random.Generator(np.random.PCG64(0))  # the bit generator is named: its numbers never change
_LETTERS: Hashes = _RANDOM.integers(0, 2**64, 256, np.uint64)
_POWER = np.uint64(0x9E3779B97F4A7C15)


def value_hashes(values: RawLabels) -> Hashes:
    """Return a hash of each value; 0 where it is missing. A number has the same hash as its text."""
    if isinstance(values, Numbers):
        found = _of_values(values.values)
        found[~values.present()] = 0
        return found
    table = np.array([_of_label(value) for value in values.values] + [0], np.uint64)
    return table[values.codes]


def text_hashes(column: TextColumn) -> Hashes:
    """Return a hash of the text of each row; 0 where it is missing."""
    if len(column.ends) - 1 > len(column.codes):
        column = _used(column)
    return np.append(of_texts(column.ends, column.text), np.uint64(0))[column.codes]


def of_texts(ends: NDArray[np.int64], letters: NDArray[np.uint8]) -> Hashes:
    """Return a hash of each text: a polynomial over its letters, which is never 0."""
    ends = np.asarray(ends, np.int64)
    lengths = np.diff(ends)
    if not len(lengths):
        return np.zeros(0, np.uint64)
    powers = np.cumprod(np.full(int(lengths.max()) + 1, _POWER), dtype=np.uint64)
    places = np.arange(ends[0], ends[-1]) - np.repeat(ends[:-1], lengths)
    terms = _LETTERS[letters[ends[0] : ends[-1]]] * powers[places]
    sums = np.append(np.uint64(0), np.cumsum(terms, dtype=np.uint64))
    hashes = mixed(sums[ends[1:] - ends[0]] - sums[ends[:-1] - ends[0]] + lengths.astype(np.uint64))
    return hashes | np.uint64(1)


def _used(column: TextColumn) -> TextColumn:
    """Return the column without the texts that no row has."""
    used, codes = np.unique(np.append(column.codes, -1), return_inverse=True)
    values = used[1:]
    begins, lengths = column.ends[values], column.ends[values + 1] - column.ends[values]
    ends = np.append(0, np.cumsum(lengths))
    places = np.arange(ends[-1]) + np.repeat(begins - ends[:-1], lengths)
    return TextColumn((codes.reshape(-1)[:-1] - 1).astype(np.int32), ends, column.text[places])


_keys: dict[str, np.uint64] = {}


def key_of(name: str) -> np.uint64:
    """Return the hash of a column's name."""
    if name not in _keys:
        raw = name.encode("utf-8", "surrogatepass")
        _keys[name] = of_texts(np.array([0, len(raw)]), np.frombuffer(raw, np.uint8))[0]
    return _keys[name]


def _of_label(value: Any) -> int:
    """Return the hash of one of the values of text labels; a number in text is a number."""
    try:
        return int(_of_values(np.array([float(value)]))[0])
    except (TypeError, ValueError, OverflowError):
        return int(key_of(str(value)))


def _of_values(values: Float64) -> Hashes:
    """Return a hash of each number, which is never 0."""
    return mixed(bits_of(values) ^ _POWER) | np.uint64(1)


def of_numbers(numbers: NDArray[Any]) -> Hashes:
    """Return the hashes of whole numbers, such as the numbers of columns."""
    return mixed(numbers.astype(np.uint64) + _POWER)


def bits_of(values: NDArray[Any]) -> Hashes:
    """Return the bits of numbers as 64-bit floats; a negative zero is a zero."""
    numbers: Float64 = np.add(values, 0.0, dtype=np.float64)
    return numbers.view(np.uint64)


def mixed(x: Hashes) -> Hashes:
    """Return hashes of 64-bit numbers. Different numbers have different hashes."""
    x = x ^ (x >> np.uint64(32))
    x *= _FIRST
    x ^= x >> np.uint64(29)
    x *= _SECOND
    x ^= x >> np.uint64(32)
    return x
