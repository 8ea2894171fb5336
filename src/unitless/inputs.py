"""From arrays, sparse matrices and rows of names to what the core reads. Frames have a reader of their own, in data/.

Nothing here looks at values: the core checks those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import _core, limits
from .errors import InputError

Float64: TypeAlias = NDArray[np.float64]


MISSING = "(missing)"  # what follows the "=" in the name of the feature of a missing value


@dataclass(frozen=True)
class Dense:
    """A 2-D array of numbers."""

    array: NDArray[Any]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.array.shape[0])


@dataclass(frozen=True)
class Compressed:
    """A matrix in compressed sparse rows."""

    values: Float64
    indices: NDArray[Any]
    row_starts: NDArray[Any]
    columns: int

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.row_starts) - 1


class TextColumn(NamedTuple):
    """A column of text, whose values become features `column=value`."""

    codes: NDArray[np.int32]  # each row's place among the values, or -1 for none
    ends: NDArray[np.int64]  # value k is text[ends[k] : ends[k + 1]]
    text: NDArray[np.uint8]

    def first(self) -> str | None:
        """The value of the first row."""
        code = int(self.codes[0])
        return None if code < 0 else self.text[self.ends[code] : self.ends[code + 1]].tobytes().decode()


class FlagColumn(NamedTuple):
    """A column of numbers that is never to be centered: of zeros and ones, mostly."""

    numbers: NDArray[Any]


class WordsColumn(NamedTuple):
    """A column of text with words: each word and each pair of neighboring words is a feature: data/columns/words.py."""

    texts: TextColumn


FrameColumn: TypeAlias = NDArray[Any] | TextColumn | WordsColumn | FlagColumn


@dataclass(frozen=True)
class Frame:
    """Columns by name: arrays of numbers, flags, text, or words."""

    names: list[str]
    columns: list[FrameColumn]
    rows: int
    missing: bool = False  # not-a-number means that a value is missing
    whole: bool = False  # it is known that no value is missing
    indicators: bool = False  # a missing value is a feature of its own, `column=(missing)`

    def first_row(self, word_features: Callable[[str, str], list[str]]) -> dict[str, float]:
        """The features of the first row that have a value, by name.

        Args:
            word_features: gives the features of a column's text of words, as the model that is asked names them.
        """
        found: dict[str, float] = {}
        for name, column in zip(self.names, self.columns, strict=True):
            if isinstance(column, TextColumn):
                if (text := column.first()) is not None:
                    found[f"{name}={text}"] = 1.0
                elif self.indicators:
                    found[f"{name}={MISSING}"] = 1.0
            elif isinstance(column, WordsColumn):
                if (text := column.texts.first()) is not None:
                    found |= {word: float(n) for word, n in Counter(word_features(name, text)).items()}
                elif self.indicators:
                    found[f"{name}={MISSING}"] = 1.0
            else:
                x = float((column.numbers if isinstance(column, FlagColumn) else column)[0])
                if x == x:  # noqa: PLR0124  (not-a-number: missing)
                    found[name] = x
                elif self.indicators:
                    found[f"{name}={MISSING}"] = 1.0
        return found


@dataclass(frozen=True)
class NamedRows:
    """A sequence of mappings of names to numbers."""

    mappings: Sequence[Mapping[str, float]]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.mappings)


@dataclass(frozen=True)
class TextRows:
    """Rows of named features that the core has read from text."""

    read: _core.TextRows

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.read.rows

    def arrays(self) -> list[NDArray[Any]]:
        """All that was read, as `made` takes it."""
        read = self.read
        rows: list[NDArray[Any]] = [
            read.text,
            read.name_ends,
            read.ids,
            read.values,
            read.row_ends,
            read.label,
            read.weight,
        ]
        return [*rows, read.tag_text, read.tag_ends, read.offset]

    @classmethod
    def made(cls, *arrays: NDArray[Any]) -> TextRows:
        """The rows that have these arrays."""
        return cls(_core.TextRows.made(*arrays))

    def __reduce__(self) -> tuple[Any, ...]:
        return TextRows.made, tuple(self.arrays())


Input: TypeAlias = Dense | Compressed | Frame | NamedRows | TextRows


def has_missing(column: FrameColumn) -> bool:
    """Whether a value of a frame's column is missing."""
    if isinstance(column, WordsColumn):
        column = column.texts
    if isinstance(column, TextColumn):
        return bool((column.codes < 0).any())
    numbers = column.numbers if isinstance(column, FlagColumn) else column
    if numbers.dtype.kind != "f":
        return False
    with np.errstate(all="ignore"):  # a sum tells in nearly all cases that there is none
        return bool(np.isnan(numbers.sum()) and np.isnan(numbers).any())


def beyond(column: FrameColumn) -> NDArray[np.bool_] | None:
    """Which numbers of a frame's column are infinite or too large; None if none is."""
    if isinstance(column, TextColumn | WordsColumn):
        return None
    return limits.beyond(column.numbers if isinstance(column, FlagColumn) else column)


def invalid_rows(data: Input) -> NDArray[np.bool_]:
    """Which rows have a value that is infinite or too large, or, where that does not mean missing, not a number."""
    if isinstance(data, NamedRows):
        return np.array([not all(map(limits.is_usable, row.values())) for row in data.mappings], bool)
    if isinstance(data, Dense):
        large = limits.beyond(data.array)
        bad = np.isnan(data.array) if large is None else np.isnan(data.array) | large
        return np.asarray(bad.any(axis=1))
    found = np.zeros(data.rows, bool)
    if isinstance(data, Frame):
        for large in map(beyond, data.columns):
            found |= False if large is None else large
        return found
    values, ends = (
        (data.values, data.row_starts[1:]) if isinstance(data, Compressed) else (data.read.values, data.read.row_ends)
    )
    at = np.flatnonzero(~(np.abs(values) <= limits.MOST_VALUE))
    found[np.searchsorted(np.asarray(ends)[-len(found) :], at, "right")] = True
    return found


def take(data: Input, keep: NDArray[np.bool_]) -> Input:
    """The rows that are to be kept."""
    if isinstance(data, TextRows):
        return TextRows(data.read.select(keep))
    if isinstance(data, NamedRows):
        return NamedRows([data.mappings[i] for i in np.flatnonzero(keep).tolist()])
    return pick(data, np.flatnonzero(keep))


def pick(data: Dense | Compressed | Frame, rows: NDArray[np.intp]) -> Dense | Compressed | Frame:
    """Rows by their numbers, in that order."""
    if isinstance(data, Dense):
        if data.array.flags.c_contiguous:  # "clip", because looking for bad numbers takes longer than all the rest
            return Dense(data.array.take(rows, axis=0, mode="clip"))
        return Dense(data.array[rows])
    if isinstance(data, Frame):
        columns: list[FrameColumn] = []
        for column in data.columns:
            if isinstance(column, TextColumn):
                columns.append(column._replace(codes=column.codes[rows]))
            elif isinstance(column, WordsColumn):
                columns.append(WordsColumn(column.texts._replace(codes=column.texts.codes[rows])))
            elif isinstance(column, FlagColumn):
                columns.append(FlagColumn(column.numbers[rows]))
            else:
                columns.append(column[rows])
        return replace(data, columns=columns, rows=len(rows))
    lengths = np.diff(data.row_starts)[rows]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(data.row_starts.dtype)
    entries = np.repeat(data.row_starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
    return Compressed(data.values[entries], data.indices[entries], starts, data.columns)


def read(X: Any) -> Input:
    """X as one of the kinds of input; what is one already stays as it is."""
    if isinstance(X, Input):
        return X
    if isinstance(X, np.ndarray):
        return _dense(unmasked(X, "X"))
    if hasattr(X, "tocsr"):
        return _compressed(X.tocsr())
    if hasattr(type(X), "columns") or hasattr(type(X), "column_names"):  # asking a lazy frame itself may take long
        raise InputError(
            f"X is a {type(X).__name__}, which cannot be read here; give an array, a sparse matrix or a list of rows "
            "(models also take frames that are in memory)"
        )
    if isinstance(X, Mapping):
        raise InputError("X is one mapping; use learn_one or predict_one, or give a list of mappings")
    if isinstance(X, Sequence) and not isinstance(X, str) and all(isinstance(row, Mapping) for row in X):
        return NamedRows(X)
    array = as_array(X, "X")
    if array.ndim == 0:
        raise InputError(f"X is a {type(X).__name__}; it must be an array, a sparse matrix, a frame or a list of rows")
    return _dense(array)


def has_named_rows(X: Any) -> bool:
    """Whether X is a frame or a list of mappings: rows whose values have names."""
    if isinstance(X, Sequence) and not isinstance(X, str):
        return bool(X) and all(isinstance(row, Mapping) for row in X)
    return hasattr(type(X), "columns") or hasattr(type(X), "column_names")


def vector(values: Any, name: str, rows: int, rows_of: str = "X") -> Float64:
    """Labels or weights as contiguous float64, one per row."""
    array = unmasked(as_array(values, name), name)
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimensions; it must be a list of numbers, one per row")
    if len(array) != rows:
        raise InputError(f"{name} has {len(array)} values, but {rows_of} has {rows} rows")
    if name == "y" and array.dtype.kind in "USO":
        text = next((value for value in array.tolist() if isinstance(value, str | bytes)), None)
        if text is not None:
            raise InputError(
                f"y has text, {text!r}; labels are numbers here: use y == {text!r} for two classes, OneVsAll for many"
            )
    return np.ascontiguousarray(as_numbers(array, name), dtype=np.float64)


def as_array(values: Any, what: str) -> NDArray[Any]:
    """Whatever it is (a list, a column of a frame, ...) as a NumPy array."""
    if isinstance(values, np.ndarray):
        return values
    try:
        if hasattr(values, "type") and hasattr(values, "to_pylist"):  # pyarrow's arrays copy only when told to
            return np.asarray(values.to_pandas() if hasattr(values, "chunks") else values.to_numpy(False))
        array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
        # NumPy's own text drops NUL characters at its end, so text stays Python's.
        return np.asarray(values, dtype=object) if array.dtype.kind == "U" else array
    except InputError:
        raise
    except Exception as error:  # every library has its own error for what is not an array
        raise InputError(f"{what} cannot be read as an array: {error}") from None


def unmasked(array: NDArray[Any], what: str) -> NDArray[Any]:
    """The array behind a mask that hides nothing."""
    # Nearly all are plain, and NumPy imports this part of itself when it is first named.
    if type(array) is not np.ndarray and isinstance(array, np.ma.MaskedArray):
        if np.any(array.mask):
            raise InputError(f"{what} has masked values; fill them in or leave them out")
        return np.asarray(array.data)
    return array


def as_numbers(array: NDArray[Any], what: str) -> NDArray[Any]:
    """The array in a type that the core reads."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "O":  # numbers in a column of objects, None for a missing one
        text = next((value for value in array.flat if isinstance(value, str | bytes)), None)
        if text is not None:
            raise InputError(
                f"{what} is not all numbers: it has {text!r}. Turn text into columns of 0 and 1 (get_dummies)"
            )
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{what} is not all numbers: {error}") from None
    if kind not in "biuf":
        raise InputError(f"{what} is of type {array.dtype}; it must hold numbers. Encode other things as features")
    if (kind == "f" and size not in (4, 8)) or not array.dtype.isnative:
        return array.astype(np.float64)
    if any(stride % size for stride in array.strides):
        return np.ascontiguousarray(array)
    return array


def _dense(array: NDArray[Any]) -> Dense:
    if array.ndim != 2:
        raise InputError(f"X has {array.ndim} dimension{'s' * (array.ndim != 1)}; it must have 2: rows and columns")
    return Dense(as_numbers(array, "X"))


def _compressed(matrix: Any) -> Compressed:
    if len(matrix.shape) != 2:
        raise InputError("X must have 2 dimensions: rows and columns")
    values = np.ascontiguousarray(as_numbers(np.asarray(matrix.data), "X"), dtype=np.float64)
    if len(matrix.indices) != len(values) or len(matrix.indptr) != matrix.shape[0] + 1:
        raise InputError("the sparse matrix is malformed: its data, indices and indptr do not fit together")
    index_type = np.int64 if np.int64 in (matrix.indices.dtype, matrix.indptr.dtype) else np.int32
    return Compressed(
        values,
        np.ascontiguousarray(matrix.indices, dtype=index_type),
        np.ascontiguousarray(matrix.indptr, dtype=index_type),
        int(matrix.shape[1]),
    )
