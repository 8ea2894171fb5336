"""pyarrow, imported when it is needed."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError


@functools.cache
def pyarrow(part: str = "") -> Any:
    """The library or a part of it, or an error that says how to get it."""
    try:
        return importlib.import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError:
        raise OptionError("this needs pyarrow: pip install 'unitless[cli]'") from None


@functools.cache
def _native() -> dict[Any, str]:
    """Types of numbers that lie in memory as NumPy's do."""
    pa = pyarrow()
    kinds = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
    return {getattr(pa, kind)(): kind for kind in kinds}


def is_native(array: Any) -> bool:
    """Whether the numbers of an Arrow array have the layout of a NumPy array, so that they need no copy."""
    return array.type in _native()


def as_numpy(array: Any) -> NDArray[Any]:
    """The numbers of an Arrow array of a native type; with nulls as float64, not-a-number where they are.

    Arrow's own way to NumPy imports pandas, if it is installed, which takes longer than many files.
    """
    valid, data = array.buffers()
    kind = _native()[array.type]
    if data is None or not len(array):
        return np.full(len(array), np.nan) if len(array) else np.zeros(0, kind)
    values: NDArray[Any] = np.frombuffer(data, kind)[array.offset : array.offset + len(array)]
    if not array.null_count or valid is None:
        return values
    return np.where(_bits(valid, array), values.astype(np.float64), np.nan)


def booleans(array: Any) -> NDArray[np.int32]:
    """An Arrow array of booleans as 0 and 1, and -1 for nulls."""
    valid, data = array.buffers()
    if data is None:
        return np.full(len(array), -1, np.int32)
    values = _bits(data, array).astype(np.int32)
    return values if valid is None or not array.null_count else np.where(_bits(valid, array), values, np.int32(-1))


def _bits(buffer: Any, array: Any) -> NDArray[np.bool_]:
    bits = np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(bool)
