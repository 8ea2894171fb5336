"""Storage for each kind of data: fields of the records (`records.py`), and the pieces that are stored unchanged."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ... import _core, inputs
from ...errors import InputError
from ...inputs import (
    Compressed,
    Dense,
    FlagColumn,
    Frame,
    FrameColumn,
    Input,
    NamedRows,
    TextColumn,
    TextRows,
    WordsColumn,
)
from .records import WIDE, Index, Key

_FEW = 1 << 16  # if a text column has at most so many values, each value is stored once
_TEXT_KINDS = ("text", "words", "ngrams")


class StoredData(Protocol):
    """Storage for data of one kind."""

    @property
    def kind(self) -> type: ...

    @property
    def nbytes(self) -> int: ...

    def add(self, data: Any) -> dict[Key, NDArray[Any]]: ...

    def gather(self, rows: Index, fields: dict[Key, NDArray[Any]]) -> Input: ...


class StoredFrames:
    """Storage for columns of a table: numbers and codes of text are fields of the records; texts are stored here."""

    kind = Frame

    def __init__(self) -> None:
        self._columns: dict[str, str] = {}  # number, flag, text, words or ngrams
        self._texts: dict[str, _TextValues] = {}
        self._missing, self._whole, self._begun, self._indicators = False, True, False, False

    @property
    def nbytes(self) -> int:
        return sum(texts.nbytes for texts in self._texts.values())

    def add(self, data: Frame) -> dict[Key, NDArray[Any]]:
        fields: dict[Key, NDArray[Any]] = {}
        found: dict[str, str] = {}
        for name, column in zip(data.names, data.columns, strict=True):
            if isinstance(column, TextColumn | WordsColumn):
                texts = self._texts.setdefault(name, _TextValues())
                if isinstance(column, TextColumn):
                    found[name] = "text"
                else:
                    found[name], column = "ngrams" if column.ngrams else "words", column.texts  # noqa: PLW2901
                fields["text", name] = texts.codes(column)
            else:
                flag = isinstance(column, FlagColumn)
                numbers = column.numbers if isinstance(column, FlagColumn) else column
                # Booleans are flags, even if they have been converted to numbers.
                found[name] = "flag" if flag or numbers.dtype.kind == "b" else "number"
                fields["number", name] = inputs.as_numbers(numbers, f"column {name!r}")
        partly = self._begun and found.keys() != self._columns.keys()
        for name, kind in found.items():
            before = self._columns.setdefault(name, kind)
            if (kind in _TEXT_KINDS) != (before in _TEXT_KINDS):
                raise InputError(f"column {name!r} holds text in some rows, and numbers in others")
            if kind == "flag":
                self._columns[name] = kind
        self._missing = self._missing or data.missing or partly
        self._whole = self._whole and data.whole and not partly
        self._indicators = self._indicators or data.indicators
        self._begun = True
        return fields

    def gather(self, rows: Index, fields: dict[Key, NDArray[Any]]) -> Frame:
        columns: list[FrameColumn] = []
        for name, kind in self._columns.items():
            if kind in _TEXT_KINDS:
                texts = self._texts[name].column(np.ascontiguousarray(fields["text", name]))
                columns.append(texts if kind == "text" else WordsColumn(texts, kind == "ngrams"))
            else:
                numbers = fields["number", name]
                columns.append(FlagColumn(numbers) if kind == "flag" and numbers.dtype.kind != "b" else numbers)
        return Frame(list(self._columns), columns, len(rows), self._missing, self._whole, self._indicators)


class _TextValues:
    """The values of a text column, in the pieces that were read. If they are few, each value is stored once."""

    def __init__(self) -> None:
        self._ends: list[NDArray[np.int64]] = []
        self._letters: list[NDArray[np.uint8]] = []
        self._starts: list[int] = []  # the first code of each piece
        self._known: dict[bytes, int] | None = {}
        self._last: tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int32]] | None = None
        self._all: tuple[NDArray[np.int64], NDArray[np.uint8]] | None = None
        self.count = 0
        self.nbytes = 0

    def codes(self, column: TextColumn) -> NDArray[np.int32]:
        """Return the codes of a column's values in this storage, and store new values."""
        codes, ends, letters = column.codes, np.ascontiguousarray(column.ends), np.ascontiguousarray(column.text)
        if not len(codes) or codes.max() < 0:
            return codes
        if self._known is not None and len(ends) - 1 <= max(16, min(_FEW // 16, len(codes) // 4)):
            last = self._last
            if last is None or not (np.array_equal(ends, last[0]) and np.array_equal(letters, last[1])):
                places = self._found(ends, letters)
                self._last = (ends, letters, places)
            if self._last is not None:
                return self._last[2][codes]
        used: Index = np.unique(codes[codes >= 0]).astype(np.int64)
        place = np.full(len(ends), -1, np.int32)
        place[used] = self._append(*_chosen([ends], [letters], np.zeros(len(used), np.int64), used))
        return place[codes]  # code -1 selects the last place, which no value has

    def _found(self, ends: NDArray[np.int64], letters: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return the places of a few values; new values are added."""
        assert self._known is not None
        raw, cuts = letters.tobytes(), ends.tolist()
        values = [raw[a:b] for a, b in itertools.pairwise(cuts)]
        before = self.count
        new: list[bytes] = []
        for value in values:
            if value not in self._known:
                self._known[value] = before + len(new)
                new.append(value)
        if new:
            sizes = np.cumsum([0, *map(len, new)], dtype=np.int64)
            self._append(sizes, np.frombuffer(b"".join(new), np.uint8))
            self.nbytes += 100 * len(new)
        places = np.array([*(self._known[value] for value in values), -1], np.int32)
        if self.count > _FEW:
            self._known = None
        return places

    def _append(self, ends: NDArray[np.int64], letters: NDArray[np.uint8]) -> NDArray[np.int32]:
        first, count = self.count, len(ends) - 1
        if first + count > np.iinfo(np.int32).max:
            raise InputError("a column of text has more than two billion different values", advice="leave it out")
        if count:
            self._starts.append(first)
            self._ends.append(ends)
            self._letters.append(letters)
            self.count += count
            self.nbytes += ends.nbytes + letters.nbytes
            self._all = None
        return np.arange(first, first + count, dtype=np.int32)

    def column(self, codes: NDArray[np.int32]) -> TextColumn:
        """Return a column with these codes. It has all values if they are few, otherwise only those of the codes."""
        if self.count <= max(256, len(codes)):
            if self._all is None:
                everything = np.arange(self.count)
                self._all = self._values(everything)
            return TextColumn(codes, *self._all)
        used, places = np.unique(codes, return_inverse=True)
        absent = int(len(used) > 0 and used[0] < 0)
        chosen = self._values(used[absent:].astype(np.int64))
        return TextColumn((places.reshape(-1) - absent).astype(np.int32), *chosen)

    def _values(self, codes: Index) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        if not len(codes):
            return np.zeros(1, np.int64), np.zeros(0, np.uint8)
        piece = np.searchsorted(self._starts, codes, "right") - 1
        return _chosen(self._ends, self._letters, piece, codes - np.asarray(self._starts, np.int64)[piece])


def _chosen(
    ends: list[NDArray[np.int64]], letters: list[NDArray[np.uint8]], piece: Index, value: Index
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return some texts of several pieces, joined."""
    cuts = _core.entry_starts(ends, piece, value)
    out = np.empty(int(cuts[-1]), np.uint8)
    _core.gather_entries(ends, letters, piece, value, out)
    return cuts, out


class _Pieces:
    """Records which piece each row is in."""

    def __init__(self) -> None:
        self.nbytes = 0
        self.rows = 0
        self._first: list[int] = []

    def piece(self, rows: int, nbytes: int) -> None:
        self._first.append(self.rows)
        self.rows += rows
        self.nbytes += nbytes

    def find(self, rows: Index) -> tuple[Index, Index]:
        first = np.asarray(self._first, np.int64)
        piece = np.searchsorted(first, rows, "right") - 1
        return piece.astype(np.int64, copy=False), rows - first[piece]


class StoredArrays(_Pieces):
    """Storage for rows of arrays."""

    kind = Dense

    def __init__(self) -> None:
        super().__init__()
        self._arrays: list[NDArray[Any]] = []

    def add(self, data: Dense) -> dict[Key, NDArray[Any]]:
        array = data.array
        if self._arrays:
            width, dtype = self._arrays[0].shape[1], self._arrays[0].dtype
            if array.shape[1] != width:
                raise InputError(f"some rows have {array.shape[1]} columns, and others {width}")
            if array.dtype != dtype:
                array = array.astype(WIDE, copy=False)
                self._arrays = [one.astype(WIDE, copy=False) for one in self._arrays]
        self._arrays.append(array)
        # A view of an array that is in memory anyway uses no further memory.
        held = type(array) is np.ndarray and isinstance(array.base, np.ndarray)
        self.piece(len(array), 0 if held else array.nbytes)
        return {}

    def gather(self, rows: Index, fields: dict[Key, NDArray[Any]]) -> Dense:
        out = np.empty((len(rows), self._arrays[0].shape[1]), self._arrays[0].dtype)
        if out.shape[1]:
            _core.gather_rows(self._arrays, *self.find(rows), out)
        return Dense(out)


class StoredMatrices(_Pieces):
    """Storage for rows of sparse matrices."""

    kind = Compressed

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[Compressed] = []
        self._starts: list[NDArray[np.int64]] = []
        self._type: np.dtype[Any] = np.dtype(np.int32)

    def add(self, data: Compressed) -> dict[Key, NDArray[Any]]:
        if self._parts and data.columns != self._parts[0].columns:
            raise InputError(f"some rows have {data.columns} columns, and others {self._parts[0].columns}")
        if data.indices.dtype != self._type:
            self._type = np.dtype(np.int64)
            self._parts = [_with_indices(part, self._type) for part in self._parts]
            data = _with_indices(data, self._type)
        self._parts.append(data)
        self._starts.append(data.row_starts.astype(np.int64))
        self.piece(data.rows, data.values.nbytes + data.indices.nbytes + 8 * len(data.row_starts))
        return {}

    def gather(self, rows: Index, fields: dict[Key, NDArray[Any]]) -> Compressed:
        piece, row = self.find(rows)
        starts = _core.entry_starts(self._starts, piece, row).astype(self._type)
        values, indices = np.empty(int(starts[-1])), np.empty(int(starts[-1]), self._type)
        _core.gather_entries(self._starts, [part.values for part in self._parts], piece, row, values)
        _core.gather_entries(self._starts, [part.indices for part in self._parts], piece, row, indices)
        return Compressed(values, indices, starts, self._parts[0].columns)


def _with_indices(part: Compressed, type: np.dtype[Any]) -> Compressed:
    return Compressed(part.values, part.indices.astype(type), part.row_starts.astype(type), part.columns)


class StoredText(_Pieces):
    """Storage for rows of named features that the core has read."""

    kind = TextRows

    def __init__(self) -> None:
        super().__init__()
        self._read: list[_core.TextRows] = []

    def add(self, data: TextRows) -> dict[Key, NDArray[Any]]:
        self._read.append(data.read)
        self.piece(data.rows, data.read.nbytes)
        return {}

    def gather(self, rows: Index, fields: dict[Key, NDArray[Any]]) -> TextRows:
        return TextRows(_core.gather_text(self._read, *self.find(rows)))


class StoredMappings:
    """Storage for mappings of names to numbers."""

    kind = NamedRows

    def __init__(self) -> None:
        self.nbytes = 0
        self._mappings: list[Mapping[str, float]] = []

    def add(self, data: NamedRows) -> dict[Key, NDArray[Any]]:
        self._mappings += data.mappings
        self.nbytes += sum(sys.getsizeof(row) + 100 * len(row) for row in data.mappings)
        return {}

    def gather(self, rows: Index, fields: dict[Key, NDArray[Any]]) -> NamedRows:
        return NamedRows([self._mappings[row] for row in rows.tolist()])


KINDS: dict[type, type[StoredFrames | StoredArrays | StoredMatrices | StoredText | StoredMappings]] = {
    kind.kind: kind for kind in (StoredFrames, StoredArrays, StoredMatrices, StoredText, StoredMappings)
}
