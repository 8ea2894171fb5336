"""Stores numbers and codes of many rows. The values of a row are adjacent, so that a row is one access to memory."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core

BLOCK = 32 << 20  # bytes; large blocks get large pages, which are allocated much faster
# The fields that are not feature columns; column keys have two words.
LABEL, LABEL_TEXT, WEIGHT, OFFSET = ("label",), ("text",), ("weight",), ("offset",)

Index = NDArray[np.int64]
Key = tuple[str, ...]
_FILLING: dict[Key, float] = {WEIGHT: 1.0, OFFSET: 0.0}  # the value of rows that do not have the field


class Records:
    """Fields of 1 to 8 bytes; the fields of a row are adjacent. Values that a row does not have are filled in."""

    def __init__(self, block: int) -> None:
        self._block = block
        self.rows = 0
        self._types: dict[Key, np.dtype[Any]] = {}
        self._offsets: dict[Key, int] = {}
        self._width = 0
        self._shift = 0  # a block has 2 ** shift rows
        self._blocks: list[NDArray[np.uint8]] = []
        self._changes = 0
        self._narrow: set[Key] = set()  # fields whose type is smaller than the type of their input

    @property
    def nbytes(self) -> int:
        """The size in memory."""
        return sum(block.nbytes for block in self._blocks)

    def add(self, fields: Mapping[Key, NDArray[Any]], rows: int) -> None:
        """Add the fields of the next rows."""
        types = {key: self._type(key, values) for key, values in fields.items()}
        for key in self._types.keys() - fields.keys():
            types[key] = _common(self._types[key], _filling(key).dtype)
        if types != self._types:
            self._change({key: types[key] for key in (*self._types, *fields)})
        given = dict(fields)
        for key in self._types.keys() - fields.keys():
            given[key] = np.full(rows, _filling(key), self._types[key])
        columns = [self._column(key, values) for key, values in given.items()]
        offsets = [self._offsets[key] for key in given]
        sizes = [self._types[key].itemsize for key in given]
        done = 0
        while done < rows and self._width:
            block, at = self.rows >> self._shift, self.rows & ((1 << self._shift) - 1)
            if block == len(self._blocks):
                self._blocks.append(_new_block(1 << self._shift, self._width))
            count = min(rows - done, (1 << self._shift) - at)
            part = columns if count == rows else [values[done : done + count] for values in columns]
            if not _core.pack_records(part, offsets, sizes, self._blocks[block][at : at + count]):
                left = {key: values[done:] for key, values in given.items()}
                wide = {key for key in self._narrow if _narrowest(left[key], self._types[key]) is None}
                self._change({key: WIDE if key in wide else type for key, type in self._types.items()})
                self.add(left, rows - done)
                return
            done += count
            self.rows += count
        self.rows += rows - done

    def _type(self, key: Key, values: NDArray[Any]) -> np.dtype[Any]:
        """Return the type of a field that can store these values too; whole numbers get a small type if possible."""
        known, dtype = self._types.get(key), values.dtype
        if known is not None:
            return known if key in self._narrow and dtype in _NARROWED else _common(known, dtype)
        if self.rows:
            return _common(dtype, _filling(key).dtype)
        narrow = _narrowest(values) if key[0] == "number" and dtype in _NARROWED else None
        if narrow is None:
            return dtype
        self._narrow.add(key)
        return narrow

    def _column(self, key: Key, values: NDArray[Any]) -> NDArray[Any]:
        return values if key in self._narrow else values.astype(self._types[key], copy=False)

    def _change(self, types: dict[Key, np.dtype[Any]]) -> None:
        """Change fields or their types; existing records are converted."""
        self._changes += self.rows > 0
        if self._changes > 2:  # columns change one after the other: change all at once
            types = {key: type if type.kind == "b" or _is_code(key) else WIDE for key, type in types.items()}
        old = (self._blocks, self._types, self._offsets, self.rows)
        self._types, self._offsets, self._width = types, {}, 0
        self._narrow = {key for key in self._narrow if types[key] != WIDE}
        for size in (8, 4, 2, 1):
            for key, type in types.items():
                if type.itemsize == size:
                    self._offsets[key] = self._width
                    self._width += size
        self._width = -(-self._width // 8) * 8
        self._shift = max(0, int(self._block // max(1, self._width)).bit_length() - 1)
        self._blocks, self.rows = [], 0
        blocks, types, offsets, left = old
        for k in range(len(blocks)):
            rows = min(left, len(blocks[k]))
            if not rows:  # it was made for a row that did not fit
                break
            self.add(_fields(blocks[k][:rows], types, offsets), rows)
            left -= rows
            blocks[k] = blocks[k][:0]
        if left:  # rows without fields
            self.add({}, left)

    def remove(self, key: Key) -> NDArray[Any] | None:
        """Remove a field and return its values; None if it does not exist."""
        if key not in self._types:
            return None
        fields = self.gather(np.arange(self.rows))
        values = np.ascontiguousarray(fields.pop(key))
        self._anew(fields)
        return values

    def insert(self, key: Key, values: NDArray[Any]) -> None:
        """Add a field with these values."""
        self._anew({**self.gather(np.arange(self.rows)), key: values})

    def _anew(self, fields: dict[Key, NDArray[Any]]) -> None:
        self._blocks, rows, self.rows, self._types = [], self.rows, 0, {}
        self.add(fields, rows)

    def gather(self, rows: Index) -> dict[Key, NDArray[Any]]:
        """Return the fields of rows with these numbers, in this order."""
        out = np.empty((len(rows), self._width), np.uint8)
        if self._width:
            block = rows >> self._shift
            _core.gather_rows(self._blocks, block, rows - (block << self._shift), out)
        return _fields(out, self._types, self._offsets)


def _new_block(rows: int, width: int) -> NDArray[np.uint8]:
    """Return memory that is mapped from the system, so that the system gets it back as soon as it is released."""
    if rows * width < _MAPPED:
        return np.empty((rows, width), np.uint8)
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows has only one kind of mapping
        return np.frombuffer(mmap.mmap(-1, rows * width), np.uint8).reshape(rows, width)
    memory = mmap.mmap(-1, rows * width, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):  # large pages are allocated much faster
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8).reshape(rows, width)


_MAPPED = 1 << 17  # bytes; smaller blocks are not mapped
WIDE = np.dtype(np.float64)
_NARROWED = (WIDE, np.dtype(np.int64))


def _narrowest(values: NDArray[Any], type: np.dtype[Any] | None = None) -> np.dtype[Any] | None:
    """Return a smaller type with exactly the same values, also the sign of zero; None if there is none."""
    if values.dtype not in _NARROWED:
        return type
    with np.errstate(invalid="ignore"):
        narrow = values.astype(np.int32 if type is None else type)
    if not np.array_equal(narrow.astype(values.dtype).view(np.int64), np.ascontiguousarray(values).view(np.int64)):
        return None
    flags = bool(((narrow == 0) | (narrow == 1)).all())
    return type or np.dtype(np.int8 if flags else np.int32)


def _fields(
    records: NDArray[np.uint8], types: Mapping[Key, np.dtype[Any]], offsets: Mapping[Key, int]
) -> dict[Key, NDArray[Any]]:
    """Return the fields of records as views."""
    rows, width = records.shape
    buffer: Any = records
    return {key: np.ndarray((rows,), type, buffer, offsets[key], (width,)) for key, type in types.items()}


def _common(one: np.dtype[Any] | None, other: np.dtype[Any]) -> np.dtype[Any]:
    """Return a type for the values of both types, as the core, which computes with doubles, would read them."""
    return other if one is None or one == other else WIDE


def _is_code(key: Key) -> bool:
    return key[0] == "text"


def _filling(key: Key) -> Any:
    """Return the value of a field for rows that do not have it."""
    return np.int32(-1) if _is_code(key) else np.float64(_FILLING.get(key, np.nan))
