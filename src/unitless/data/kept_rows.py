"""Rows of batches, kept in memory, to be taken out in any order.

Numbers, codes of text, labels and weights of a row lie side by side in one record, so that a row is found with one
look, whatever its number of columns. Rows of other lengths stay in the pieces in which they came.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _core, inputs
from ..errors import InputError
from ..inputs import (
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
from .labels import Numbers, RawLabels, Texts
from .located_rows import Place, Position, joined
from .reader import Batch

BLOCK = 32 << 20  # bytes; large ones get large pages, which come much faster
_FEW = 1 << 16  # values of a column of text that are found again when they come again
_TEXT_KINDS = ("text", "words")
# Fields beside the columns, whose keys are two words.
_LABEL, _LABEL_TEXT, _WEIGHT, _OFFSET = ("label",), ("text",), ("weight",), ("offset",)

Index = NDArray[np.int64]
Key = tuple[str, ...]
_FILLING: dict[Key, float] = {_WEIGHT: 1.0, _OFFSET: 0.0}  # where a row has none


class Kept:
    """Rows of batches that can be taken out in any order."""

    def __init__(self, block: int = BLOCK) -> None:
        self._block = block
        self.rows = 0
        self._data: _Kind | None = None
        self._records = _Records(block)
        self._labels: _Labels | None = None
        self._weighted = self._offsets = False
        self._tags: list[str] | None = None

    @property
    def nbytes(self) -> int:
        """The memory that the rows take."""
        tags = 0 if self._tags is None else 60 * len(self._tags)
        data = 0 if self._data is None else self._data.nbytes
        return self._records.nbytes + data + tags + (0 if self._labels is None else self._labels.nbytes)

    def add(self, batch: Batch) -> None:
        """The next rows: their data, labels, weights and tags."""
        if not batch.rows:
            return
        data: _Kind = _KINDS[type(batch.data)]() if self._data is None else self._data
        if not isinstance(batch.data, data.kind):
            raise InputError(f"rows are of two kinds: {data.kind.__name__} and {type(batch.data).__name__}")
        self._data = data
        fields = data.add(batch.data)
        if batch.labels is not None:
            self._labels = self._labels or _Labels()
            fields |= self._labels.add(batch.labels, self._records)
        if batch.weight is not None:
            self._weighted = True
            fields[_WEIGHT] = np.asarray(batch.weight, np.float64)
        if batch.offset is not None:
            self._offsets = True
            fields[_OFFSET] = np.asarray(batch.offset, np.float64)
        self._records.add(fields, batch.rows)
        if not isinstance(self._data, _OfText) and (batch.tags is not None or self._tags is not None):
            self._tags = ([""] * self.rows if self._tags is None else self._tags) + (batch.tags or [""] * batch.rows)
        self.rows += batch.rows

    def gather(self, rows: Index, place: Place) -> Batch:
        """Rows by their numbers, in that order; `place` is where they stand."""
        assert self._data is not None
        rows = np.ascontiguousarray(rows, np.int64)
        fields = self._records.gather(rows)
        data = self._data.gather(rows, fields)
        labels = None if self._labels is None else self._labels.of(fields)
        weight = np.ascontiguousarray(fields[_WEIGHT]) if self._weighted else None
        offset = np.ascontiguousarray(fields[_OFFSET]) if self._offsets else None
        tags = None if self._tags is None else [self._tags[row] for row in rows.tolist()]
        if isinstance(data, TextRows):
            tags = data.read.tags
        return Batch(data, len(rows), labels, weight, place, Position(), 0, [], 0, tags=tags, offset=offset)


def concatenated(batches: Sequence[Batch]) -> Batch:
    """The rows of several batches as one."""
    if len(batches) == 1:
        return batches[0]
    kept = Kept(1 << 16)
    for batch in _alike_joined(batches):
        kept.add(batch)
    place = joined([(batch.place, batch.rows) for batch in batches])
    if not kept.rows:
        return Batch(NamedRows([]), 0, None, None, place, Position(), 0, [], 0)
    return kept.gather(np.arange(kept.rows), place)


def _alike_joined(batches: Sequence[Batch]) -> Iterator[Batch]:
    """The same rows in fewer batches: neighbours that are tables of the same columns of numbers become one.

    To keep a batch takes a while for each of its columns, however few its rows are.
    """
    for form, alike in itertools.groupby(batches, _form):
        if form is None:
            yield from alike
        else:
            several = list(alike)
            yield several[0] if len(several) == 1 else _joined_tables(several)


def _form(batch: Batch) -> Any:
    """What tables must have in common for their columns to be joined; None if they cannot be."""
    data = batch.data
    if not isinstance(data, Frame) or batch.tags is not None or isinstance(batch.labels, Texts):
        return None
    if any(isinstance(column, TextColumn | WordsColumn) for column in data.columns):
        return None
    kinds = [(type(column), _numbers(column).dtype) for column in data.columns]
    return data.names, kinds, data.indicators, type(batch.labels), batch.weight is None, batch.offset is None


def _numbers(column: FrameColumn) -> NDArray[Any]:
    """A column of numbers or flags as an array."""
    assert not isinstance(column, TextColumn | WordsColumn)
    return column.numbers if isinstance(column, FlagColumn) else column


def _joined_tables(batches: list[Batch]) -> Batch:
    """Tables of one form as one."""
    first, frames = batches[0], [batch.data for batch in batches if isinstance(batch.data, Frame)]
    columns: list[FrameColumn] = []
    for alike in zip(*(frame.columns for frame in frames), strict=True):
        numbers = np.concatenate([_numbers(column) for column in alike])
        columns.append(FlagColumn(numbers) if isinstance(alike[0], FlagColumn) else numbers)
    rows = sum(batch.rows for batch in batches)
    labels = [batch.labels.values for batch in batches if isinstance(batch.labels, Numbers)]
    weight, offset = ([getattr(batch, name) for batch in batches] for name in ("weight", "offset"))
    return replace(
        first,
        data=replace(
            frames[0],
            columns=columns,
            rows=rows,
            missing=any(frame.missing for frame in frames),
            whole=all(frame.whole for frame in frames),
        ),
        rows=rows,
        labels=Numbers(np.concatenate(labels)) if labels else None,
        weight=None if first.weight is None else np.concatenate(weight),
        offset=None if first.offset is None else np.concatenate(offset),
    )


def picked(batch: Batch, rows: NDArray[np.intp]) -> Batch:
    """Rows of a batch by their numbers, in that order."""
    if not batch.rows:
        return batch
    kept = Kept(1 << 16)
    kept.add(batch)
    return kept.gather(rows.astype(np.int64), batch.place.take(rows))


# ---------------------------------------------------------------------------------------------------- records


class _Records:
    """Fields of 1 to 8 bytes, those of a row side by side. What a row has no value for is filled in."""

    def __init__(self, block: int) -> None:
        self._block = block
        self.rows = 0
        self._types: dict[Key, np.dtype[Any]] = {}
        self._offsets: dict[Key, int] = {}
        self._width = 0
        self._shift = 0  # a block has 2 ** shift rows
        self._blocks: list[NDArray[np.uint8]] = []
        self._changes = 0
        self._narrow: set[Key] = set()  # fields that take less room than what comes

    @property
    def nbytes(self) -> int:
        return sum(block.nbytes for block in self._blocks)

    def add(self, fields: Mapping[Key, NDArray[Any]], rows: int) -> None:
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
                self._change({key: _WIDE if key in wide else type for key, type in self._types.items()})
                self.add(left, rows - done)
                return
            done += count
            self.rows += count
        self.rows += rows - done

    def _type(self, key: Key, values: NDArray[Any]) -> np.dtype[Any]:
        """The type of a field when these values have come too. Whole numbers take less room where that is possible."""
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
        """Other fields, or types; records that are there are made anew."""
        self._changes += self.rows > 0
        if self._changes > 2:  # whole numbers with gaps here and there: rather once than for each column
            types = {key: type if type.kind == "b" or _is_code(key) else _WIDE for key, type in types.items()}
        old = (self._blocks, self._types, self._offsets, self.rows)
        self._types, self._offsets, self._width = types, {}, 0
        self._narrow = {key for key in self._narrow if types[key] != _WIDE}
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
            self.add(_fields(blocks[k][:rows], types, offsets), rows)
            left -= rows
            blocks[k] = blocks[k][:0]
        if left:  # of rows without fields
            self.add({}, left)

    def remove(self, key: Key) -> NDArray[Any] | None:
        """Take out a field, if there is one."""
        if key not in self._types:
            return None
        fields = self.gather(np.arange(self.rows))
        values = np.ascontiguousarray(fields.pop(key))
        self._anew(fields)
        return values

    def insert(self, key: Key, values: NDArray[Any]) -> None:
        """One more field."""
        self._anew({**self.gather(np.arange(self.rows)), key: values})

    def _anew(self, fields: dict[Key, NDArray[Any]]) -> None:
        self._blocks, rows, self.rows, self._types = [], self.rows, 0, {}
        self.add(fields, rows)

    def gather(self, rows: Index) -> dict[Key, NDArray[Any]]:
        out = np.empty((len(rows), self._width), np.uint8)
        if self._width:
            block = rows >> self._shift
            _core.gather_rows(self._blocks, block, rows - (block << self._shift), out)
        return _fields(out, self._types, self._offsets)


def _new_block(rows: int, width: int) -> NDArray[np.uint8]:
    """Memory from the system itself, which has it back as soon as it is not needed, whatever thread it was used in."""
    if rows * width < _MAPPED:
        return np.empty((rows, width), np.uint8)
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows has one kind only
        return np.frombuffer(mmap.mmap(-1, rows * width), np.uint8).reshape(rows, width)
    memory = mmap.mmap(-1, rows * width, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):  # large pages come much faster
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8).reshape(rows, width)


_MAPPED = 1 << 17  # bytes from which on a block is mapped
_WIDE = np.dtype(np.float64)
_NARROWED = (_WIDE, np.dtype(np.int64))


def _narrowest(values: NDArray[Any], type: np.dtype[Any] | None = None) -> np.dtype[Any] | None:
    """A type of fewer bytes that holds the same numbers, to the sign of zero, and others like them; or None."""
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
    """The fields of records, as they lie."""
    rows, width = records.shape
    buffer: Any = records
    return {key: np.ndarray((rows,), type, buffer, offsets[key], (width,)) for key, type in types.items()}


def _common(one: np.dtype[Any] | None, other: np.dtype[Any]) -> np.dtype[Any]:
    """A type that holds the values of both as the core, which computes with doubles, would read them."""
    return other if one is None or one == other else _WIDE


def _is_code(key: Key) -> bool:
    return key[0] == "text"


def _filling(key: Key) -> Any:
    """The value of a field where a row has none."""
    return np.int32(-1) if _is_code(key) else np.float64(_FILLING.get(key, np.nan))


# ---------------------------------------------------------------------------------------------------- labels


class _Labels:
    """Labels as a field of the records, and the text that codes stand for."""

    def __init__(self) -> None:
        self.texts: dict[str, int] | None = None
        self.values: list[str] = []
        self._last: tuple[list[str], NDArray[np.int32]] | None = None  # a list of values, and their places here

    @property
    def nbytes(self) -> int:
        return 200 * len(self.values)

    def add(self, labels: RawLabels, records: _Records) -> dict[Key, NDArray[Any]]:
        if isinstance(labels, Numbers):
            if self.texts is None:
                return {_LABEL: labels.values}
            labels = _as_texts(labels)
        if self.texts is None:
            self.texts = {}
            numbers = records.remove(_LABEL)
            if numbers is not None:
                records.insert(_LABEL_TEXT, self._codes(_as_texts(Numbers(numbers))))
        return {_LABEL_TEXT: self._codes(labels)}

    def _codes(self, labels: Texts) -> NDArray[np.int32]:
        assert self.texts is not None
        if labels.values is self.values:  # they have been here before
            return labels.codes
        if self._last is None or self._last[0] is not labels.values:
            new = [self.texts.setdefault(value, len(self.texts)) for value in labels.values]
            self.values = list(self.texts) if len(self.texts) > len(self.values) else self.values
            self._last = labels.values, np.array([*new, -1], np.int32)
        return self._last[1][labels.codes]

    def of(self, fields: Mapping[Key, NDArray[Any]]) -> RawLabels:
        if self.texts is None:
            return Numbers(np.ascontiguousarray(fields[_LABEL], np.float64))
        return Texts(np.ascontiguousarray(fields[_LABEL_TEXT], np.int32), self.values)


def _as_texts(labels: Numbers) -> Texts:
    """Numbers among labels that are text."""
    there = labels.present()
    values, _, places = labels.take(there).distinct()
    codes = np.full(len(labels), -1, np.int32)
    codes[there] = places
    return Texts(codes, values)


# ---------------------------------------------------------------------------------------------------- kinds of data


class _Kind(Protocol):
    """Data of one kind: what it puts into the records, and the rest that it keeps."""

    @property
    def kind(self) -> type: ...

    @property
    def nbytes(self) -> int: ...

    def add(self, data: Any) -> dict[Key, NDArray[Any]]: ...

    def gather(self, rows: Index, fields: dict[Key, NDArray[Any]]) -> Input: ...


class _OfFrames:
    kind = Frame

    def __init__(self) -> None:
        self._columns: dict[str, str] = {}  # number, flag, text or words
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
                found[name] = "text" if isinstance(column, TextColumn) else "words"
                texts = self._texts.setdefault(name, _TextValues())
                fields["text", name] = texts.codes(column if isinstance(column, TextColumn) else column.texts)
            else:
                flag = isinstance(column, FlagColumn)
                numbers = column.numbers if isinstance(column, FlagColumn) else column
                # Booleans are flags even where they have become numbers.
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
                columns.append(WordsColumn(texts) if kind == "words" else texts)
            else:
                numbers = fields["number", name]
                columns.append(FlagColumn(numbers) if kind == "flag" and numbers.dtype.kind != "b" else numbers)
        return Frame(list(self._columns), columns, len(rows), self._missing, self._whole, self._indicators)


class _TextValues:
    """The values of a column of text, in the pieces in which they came. Few values are found again."""

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
        """The codes of a column's values here."""
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
        return place[codes]  # -1 finds the last one, which no value has

    def _found(self, ends: NDArray[np.int64], letters: NDArray[np.uint8]) -> NDArray[np.int32]:
        """The places of a few values, those that are new being added."""
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
        """A column of these codes, with all values if they are few, else with those that it has."""
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
    """Some texts of several pieces, one after another."""
    cuts = _core.entry_starts(ends, piece, value)
    out = np.empty(int(cuts[-1]), np.uint8)
    _core.gather_entries(ends, letters, piece, value, out)
    return cuts, out


class _Pieces:
    """Which piece a row is in."""

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


class _OfArrays(_Pieces):
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
                array = array.astype(_WIDE, copy=False)
                self._arrays = [one.astype(_WIDE, copy=False) for one in self._arrays]
        self._arrays.append(array)
        # A part of an array that somebody holds anyway takes no memory.
        held = type(array) is np.ndarray and isinstance(array.base, np.ndarray)
        self.piece(len(array), 0 if held else array.nbytes)
        return {}

    def gather(self, rows: Index, fields: dict[Key, NDArray[Any]]) -> Dense:
        out = np.empty((len(rows), self._arrays[0].shape[1]), self._arrays[0].dtype)
        if out.shape[1]:
            _core.gather_rows(self._arrays, *self.find(rows), out)
        return Dense(out)


class _OfMatrices(_Pieces):
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


class _OfText(_Pieces):
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


class _OfMappings:
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


_KINDS: dict[type, type[_OfFrames | _OfArrays | _OfMatrices | _OfText | _OfMappings]] = {
    kind.kind: kind for kind in (_OfFrames, _OfArrays, _OfMatrices, _OfText, _OfMappings)
}
