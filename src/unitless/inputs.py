"""From what people have (arrays, sparse matrices, frames, rows of names) to what the core reads.

Nothing here looks at values: the core checks those. Frames are recognised by what they can do, so that no frame
library is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

Float64: TypeAlias = NDArray[np.float64]


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


@dataclass(frozen=True)
class Frame:
    """Columns by name."""

    names: list[str]
    columns: list[NDArray[Any]]
    rows: int


@dataclass(frozen=True)
class NamedRows:
    """A sequence of mappings of names to numbers."""

    mappings: Sequence[Mapping[str, float]]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.mappings)


Input: TypeAlias = Dense | Compressed | Frame | NamedRows


def read(X: Any) -> Input:
    """X as one of the four kinds of input."""
    if isinstance(X, np.ndarray):
        return _dense(X)
    if hasattr(X, "tocsr"):
        return _compressed(X.tocsr())
    if hasattr(X, "column_names") and hasattr(X, "column"):  # pyarrow
        return _frame(X.column_names, X.column, X.num_rows)
    if hasattr(X, "columns") and hasattr(X, "__getitem__") and hasattr(X, "shape"):  # pandas, polars
        return _frame(list(X.columns), X.__getitem__, X.shape[0])
    if isinstance(X, Mapping):
        raise InputError("X is one mapping; use learn_one or predict_one, or give a list of mappings")
    if isinstance(X, Sequence) and len(X) and all(isinstance(row, Mapping) for row in X):
        return NamedRows(X)
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise InputError(f"X is no array: {error}") from None
    return _dense(array)


def vector(values: Any, name: str, rows: int) -> Float64:
    """Labels or weights as contiguous float64, one per row."""
    if hasattr(values, "to_numpy"):  # a column of a frame
        values = values.to_numpy()
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimensions; it must be a list of numbers, one per row")
    if len(array) != rows:
        raise InputError(f"{name} has {len(array)} values, but X has {rows} rows")
    return np.ascontiguousarray(_numbers(array, name), dtype=np.float64)


def _numbers(array: NDArray[Any], what: str) -> NDArray[Any]:
    """The array in a type that the core reads."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "O":  # numbers in a column of objects, None for a missing one
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError) as error:
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
    return Dense(_numbers(array, "X"))


def _compressed(matrix: Any) -> Compressed:
    if len(matrix.shape) != 2:
        raise InputError("X must have 2 dimensions: rows and columns")
    values = np.ascontiguousarray(_numbers(np.asarray(matrix.data), "X"), dtype=np.float64)
    index_type = np.int64 if np.int64 in (matrix.indices.dtype, matrix.indptr.dtype) else np.int32
    return Compressed(
        values,
        np.ascontiguousarray(matrix.indices, dtype=index_type),
        np.ascontiguousarray(matrix.indptr, dtype=index_type),
        int(matrix.shape[1]),
    )


def _frame(names: list[Any], column: Any, rows: int) -> Frame:
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        double = next(name for name in texts if texts.count(name) > 1)
        raise InputError(f"the frame has two columns named {double!r}")
    columns = []
    for name, text in zip(names, texts, strict=True):
        array = np.asarray(column(name).to_numpy())
        columns.append(_numbers(array, f"column {text!r}"))
    return Frame(texts, columns, rows)
