"""Imports pyarrow when it is needed, and converts between Arrow and NumPy."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError


@functools.cache
def pyarrow(part: str = "") -> Any:
    """Return pyarrow or a part of it; if it is missing, raise an error that tells how to install it."""
    try:
        return importlib.import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError:
        raise OptionError("this needs pyarrow: pip install pyarrow") from None


@functools.cache
def _native() -> dict[Any, str]:
    """Return the Arrow number types whose layout in memory is that of a NumPy type, with the name of that type."""
    pa = pyarrow()
    kinds = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
    return {getattr(pa, kind)(): kind for kind in kinds}


def is_native(array: Any) -> bool:
    """Whether the numbers of an Arrow array have the layout of a NumPy array, so that they need no copy."""
    return array.type in _native()


def as_numpy(array: Any) -> NDArray[Any]:
    """Convert an Arrow array of a native type to NumPy; with nulls, to float64 with NaN for each null.

    Arrow's own conversion imports pandas if it is installed, which takes longer than reading many files.
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
    """Convert an Arrow array of booleans to 0 and 1, with -1 for nulls."""
    valid, data = array.buffers()
    if data is None:
        return np.full(len(array), -1, np.int32)
    values = _bits(data, array).astype(np.int32)
    return values if valid is None or not array.null_count else np.where(_bits(valid, array), values, np.int32(-1))


def _bits(buffer: Any, array: Any) -> NDArray[np.bool_]:
    bits = np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(bool)


# Arrow's own constructors import pandas if it is installed, so small arrays are made from their buffers here.


def flags(array: Any) -> NDArray[np.bool_]:
    """Convert an Arrow array of booleans to NumPy, with False for nulls."""
    found: NDArray[np.bool_] = booleans(array) == 1
    return found


def flag_array(values: NDArray[np.bool_], known: NDArray[np.bool_] | None = None) -> Any:
    """Convert booleans to an Arrow array, with nulls where `known` is False."""
    pa = pyarrow()
    return pa.Array.from_buffers(pa.bool_(), len(values), [_packed(known), _packed(values)])


def number_array(values: NDArray[np.float64]) -> Any:
    """Convert numbers to an Arrow array."""
    pa = pyarrow()
    return pa.Array.from_buffers(pa.float64(), len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def place_array(places: NDArray[Any]) -> Any:
    """Convert places (0, 1, ...) to an Arrow array of int32, with nulls for negative places."""
    pa = pyarrow()
    known = _packed(places >= 0) if len(places) and places.min() < 0 else None
    data = pa.py_buffer(np.ascontiguousarray(places, np.int32))
    return pa.Array.from_buffers(pa.int32(), len(places), [known, data])


def text_array(texts: Sequence[str]) -> Any:
    """Convert texts to an Arrow array of large strings."""
    pa = pyarrow()
    parts = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return pa.LargeStringArray.from_buffers(len(parts), pa.py_buffer(ends), pa.py_buffer(b"".join(parts)))


def letters_of(texts: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the texts of an Arrow array as one array of bytes, and where each begins and the last one ends.

    A null has no bytes.
    """
    texts = texts.cast(pyarrow().large_string())
    _, offsets, data = texts.buffers()
    ends: NDArray[np.int64] = np.zeros(1, np.int64)
    if len(texts):
        ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return ends, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


def stream_of(data: bytes) -> Any:
    """Return bytes as a stream without any object of Python.

    A thread of pyarrow may keep what it reads for a moment longer. If that were an object of Python and the interpreter
    ended meanwhile, the thread would end the whole process with an error.
    """
    sink = pyarrow().BufferOutputStream()
    sink.write(data)
    return pyarrow().BufferReader(sink.getvalue())


def _packed(values: NDArray[np.bool_] | None) -> Any:
    return None if values is None else pyarrow().py_buffer(np.packbits(values, bitorder="little"))
