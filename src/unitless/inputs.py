"""Converts arrays, sparse matrices and rows of names to the types that the core reads.

The values are not checked here, because the core checks them. Frames are read in data/columns/frame_reader.py.
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


MISSING = "(missing)"  # the feature of a missing value is named `column=(missing)`


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
    """A column of text codes; each distinct text becomes a feature `column=value`."""

    codes: NDArray[np.int32]  # per row: the number of its value; -1 if it has no value
    ends: NDArray[np.int64]  # value k is text[ends[k] : ends[k + 1]]
    text: NDArray[np.uint8]

    def first(self) -> str | None:
        """Return the value of the first row; None if it has no value."""
        code = int(self.codes[0])
        return None if code < 0 else self.value(code)

    def value(self, code: int) -> str:
        """Return the value with this number."""
        return self.text[self.ends[code] : self.ends[code + 1]].tobytes().decode()


class FlagColumn(NamedTuple):
    """A column of numbers, mostly zeros and ones, that is never centered."""

    numbers: NDArray[Any]


class WordsColumn(NamedTuple):
    """A column of text whose words, and pairs of neighboring words, are features; or its character n-grams.

    See data/columns/words.py and data/columns/ngrams.py.
    """

    texts: TextColumn
    ngrams: bool


FrameColumn: TypeAlias = NDArray[Any] | TextColumn | WordsColumn | FlagColumn
WordFeatures: TypeAlias = Callable[[str, str, bool], list[str]]


@dataclass(frozen=True)
class Frame:
    """Named columns: arrays of numbers, flags, text, words or n-grams."""

    names: list[str]
    columns: list[FrameColumn]
    rows: int
    missing: bool = False  # NaN means that a value is missing
    whole: bool = False  # no value is missing; spares a check
    indicators: bool = False  # a missing value becomes the feature `column=(missing)`

    def first_row(self, word_features: WordFeatures) -> dict[str, float]:
        """Return the features of the first row that have a value, by name.

        Args:
            word_features: returns the words or n-grams of a text, as the model names their features; called with the
                column, the text, and whether n-grams are features.
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
                    found |= {word: float(n) for word, n in Counter(word_features(name, text, column.ngrams)).items()}
                elif self.indicators:
                    found[f"{name}={MISSING}"] = 1.0
            else:
                x = float((column.numbers if isinstance(column, FlagColumn) else column)[0])
                if x == x:  # noqa: PLR0124  (false for NaN: a missing value)
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
        """Return the arrays of these rows; `made` makes the rows from them again."""
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
        """Return the rows that consist of these arrays."""
        return cls(_core.TextRows.made(*arrays))

    def __reduce__(self) -> tuple[Any, ...]:
        return TextRows.made, tuple(self.arrays())


Input: TypeAlias = Dense | Compressed | Frame | NamedRows | TextRows


def has_missing(column: FrameColumn) -> bool:
    """Return whether a value of this frame column is missing."""
    if isinstance(column, WordsColumn):
        column = column.texts
    if isinstance(column, TextColumn):
        return bool((column.codes < 0).any())
    numbers = column.numbers if isinstance(column, FlagColumn) else column
    if numbers.dtype.kind != "f":
        return False
    with np.errstate(all="ignore"):  # a sum shows nearly always that no value is missing
        return bool(np.isnan(numbers.sum()) and np.isnan(numbers).any())


def beyond(column: FrameColumn) -> NDArray[np.bool_] | None:
    """Return a mask of the infinite or too large numbers of a frame column; None if there are no such numbers."""
    if isinstance(column, TextColumn | WordsColumn):
        return None
    return limits.beyond(column.numbers if isinstance(column, FlagColumn) else column)


def invalid_rows(data: Input) -> NDArray[np.bool_]:
    """Return a mask of the rows that have an infinite or too large value, or a NaN that does not mean missing."""
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
    """Return the rows where the mask `keep` is true."""
    if isinstance(data, TextRows):
        return TextRows(data.read.select(keep))
    if isinstance(data, NamedRows):
        return NamedRows([data.mappings[i] for i in np.flatnonzero(keep).tolist()])
    return pick(data, np.flatnonzero(keep))


def pick(data: Dense | Compressed | Frame, rows: NDArray[np.intp]) -> Dense | Compressed | Frame:
    """Return the rows with these numbers, in the order of the numbers."""
    if isinstance(data, Dense):
        if data.array.flags.c_contiguous:  # "clip" saves the check of the numbers, which takes most of the time
            return Dense(data.array.take(rows, axis=0, mode="clip"))
        return Dense(data.array[rows])
    if isinstance(data, Frame):
        columns: list[FrameColumn] = []
        for column in data.columns:
            if isinstance(column, TextColumn):
                columns.append(column._replace(codes=column.codes[rows]))
            elif isinstance(column, WordsColumn):
                columns.append(column._replace(texts=column.texts._replace(codes=column.texts.codes[rows])))
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
    """Convert X to one of the types that the core reads; an `Input` is returned unchanged."""
    if isinstance(X, Input):
        return X
    if isinstance(X, np.ndarray):
        return _dense(unmasked(X, "X"))
    if hasattr(X, "tocsr"):
        return _compressed(X.tocsr())
    if hasattr(type(X), "columns") or hasattr(type(X), "column_names"):  # a lazy frame would compute its columns
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
    """Convert labels or weights to a contiguous float64 array, and check that it has one number per row.

    Args:
        values: an array, a list or a column of a frame.
        name: what error messages call the values.
        rows: the number of rows.
        rows_of: what error messages call the data with these rows. Default: "X".
    """
    array = unmasked(as_array(values, name), name)
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimensions; it must be a list of numbers, one per row")
    if len(array) != rows:
        raise InputError(f"{name} has {len(array)} values, but {rows_of} has {rows} rows")
    if name == "y" and array.dtype.kind in "USO":
        text = next((value for value in array.tolist() if isinstance(value, str | bytes)), None)
        if text is not None:
            raise InputError(
                f"y has text, {text!r}, but labels are numbers here; for classes use UnitlessClassifier or OneVsAll; "
                f"for two classes y == {text!r} will do"
            )
    return np.ascontiguousarray(as_numbers(array, name), dtype=np.float64)


def as_array(values: Any, what: str) -> NDArray[Any]:
    """Convert a list, a column of a frame or another array-like value to a NumPy array."""
    if isinstance(values, np.ndarray):
        return values
    try:
        if hasattr(values, "type") and hasattr(values, "to_pylist"):  # pyarrow arrays, which need a request to copy
            # Not to_pandas, which needs pandas. A chunked array's to_numpy gives missing texts of a dictionary a value.
            parts = [part.to_numpy(False) for part in getattr(values, "chunks", [values])]
            return np.asarray(parts[0]) if len(parts) == 1 else np.concatenate(parts or [np.empty(0)])
        array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
        # NumPy's text type drops NUL characters at the end of a text, so Python strings are kept.
        return np.asarray(values, dtype=object) if array.dtype.kind == "U" else array
    except InputError:
        raise
    except Exception as error:  # each library raises its own type of error
        raise InputError(f"{what} cannot be read as an array: {error}") from None


def unmasked(array: NDArray[Any], what: str) -> NDArray[Any]:
    """Return the plain array of a masked array that masks nothing; any other mask is an error."""
    # Importing np.ma takes time, and nearly all arrays are plain.
    if type(array) is not np.ndarray and isinstance(array, np.ma.MaskedArray):
        if np.any(array.mask):
            raise InputError(f"{what} has masked values; fill them in or leave them out")
        return np.asarray(array.data)
    return array


def as_numbers(array: NDArray[Any], what: str) -> NDArray[Any]:
    """Convert an array to a number type that the core reads."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "O":  # an object array may have numbers, with None for a missing one
        text = next((value for value in array.flat if isinstance(value, str | bytes)), None)
        if text is not None:
            raise InputError(
                f"{what} is not all numbers: it has {text!r}. train and the estimators read columns of text in a frame "
                "(of pandas, polars or Arrow); elsewhere turn them into columns of 0 and 1 (get_dummies)"
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
