"""Writes batches to a temporary file as raw arrays; each batch can be read again."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...errors import InputError, Option, Phrase
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
from ...locks import forkable_lock
from ..labels import Numbers, RawLabels, Texts
from ..reader import Batch
from ..sources.located_rows import Places, Position
from .records import Index

_ADVICE = Phrase(
    *("use more ", Option("memory"), ", set TMPDIR to a folder with more room, or learn the rows in their order ("),
    *(Option("shuffle", False), ")"),
)


@dataclass(frozen=True)
class Segment:
    """A batch in the file."""

    begin: int
    size: int
    rows: int


class SpillFile:
    """A temporary file of batches; it is removed when it is closed or when the process ends."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._lock = forkable_lock()
        self.size = 0
        try:
            self._file = tempfile.TemporaryFile(prefix="unitless-", dir=folder)  # noqa: SIM115  (`close` closes it)
        except OSError as error:
            raise self._failed("cannot make a temporary file", error) from None

    def _failed(self, what: str, error: OSError) -> InputError:
        folder = self._folder or tempfile.gettempdir()
        return InputError(f"{what} in {folder}: {error.strerror or error}", advice=_ADVICE)

    def close(self) -> None:
        """Remove the file."""
        with self._lock:
            try:
                self._file.close()
            except OSError:  # unwritten data is no longer needed
                self._file.close()

    def write(self, batch: Batch, numbers: Index) -> Segment:
        """Append a batch and the numbers of its rows. The texts of text labels are not written."""
        header, arrays = _plain(batch)
        arrays = [np.ascontiguousarray(array) for array in (numbers, *arrays)]
        header["arrays"] = [[array.dtype.str, array.shape] for array in arrays]
        head = json.dumps(header).encode()
        with self._lock:
            begin = self.size
            try:
                self._file.seek(begin)
                self._file.write(np.array([len(head)], np.int64).tobytes() + head)
                for array in arrays:
                    self._file.write(array.reshape(-1).view(np.uint8).data)
                self._file.flush()
            except OSError as error:
                after = f"after {begin >> 20:,} MiB " if begin else ""
                raise self._failed(f"cannot keep the rows to be shuffled, {after}", error) from None
            self.size = self._file.tell()
        return Segment(begin, self.size - begin, batch.rows)

    def read(self, segment: Segment, labels: list[str]) -> tuple[Batch, Index]:
        """Read a batch and the numbers of its rows; `labels` are the values of text labels."""
        data = bytearray(segment.size)
        with self._lock:
            try:
                self._file.seek(segment.begin)
                read = self._file.readinto(data)
            except OSError as error:
                raise self._failed("cannot read what was kept", error) from None
        if read != segment.size:
            raise InputError("a temporary file has become shorter while it was used")
        end = 8 + int(np.frombuffer(data, np.int64, 1)[0])
        header = json.loads(data[8:end])
        arrays = []
        for name, shape in header["arrays"]:
            dtype = np.dtype(name)
            count = int(np.prod(shape, dtype=np.int64))
            array = np.frombuffer(data, dtype, count, end).reshape(shape)
            arrays.append(array if end % dtype.itemsize == 0 else array.copy())
            end += array.nbytes
        stream = iter(arrays)
        numbers: Index = next(stream)
        rows = len(numbers)
        kept = _labels(header["labels"], stream, labels)
        weight = next(stream) if header["weight"] else None
        offset = next(stream) if header["offset"] else None
        content = _data(header, stream, rows)
        tags = content.read.tags if isinstance(content, TextRows) else header["tags"]
        place = Places().of(numbers)
        return Batch(content, rows, kept, weight, place, Position(), 0, [], 0, tags=tags, offset=offset), numbers


def _plain(batch: Batch) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Split a batch into values for JSON and arrays."""
    data, labels = batch.data, batch.labels
    arrays: list[NDArray[Any]] = []
    header: dict[str, Any] = {"kind": type(data).__name__, "labels": type(labels).__name__ if labels else None}
    if labels is not None:
        arrays.append(labels.values if isinstance(labels, Numbers) else labels.codes)
    header["weight"] = batch.weight is not None
    if batch.weight is not None:
        arrays.append(batch.weight)
    header["offset"] = batch.offset is not None
    if batch.offset is not None:
        arrays.append(batch.offset)
    header["tags"] = None if isinstance(data, TextRows) else batch.tags
    if isinstance(data, Frame):
        header |= {"names": data.names, "missing": data.missing, "whole": data.whole}
        header["indicators"] = data.indicators
        header["columns"] = [_name(column) for column in data.columns]
        for column in data.columns:
            if isinstance(column, TextColumn | WordsColumn):
                arrays += _used(column if isinstance(column, TextColumn) else column.texts)
            else:
                arrays.append(column.numbers if isinstance(column, FlagColumn) else column)
    elif isinstance(data, Dense):
        arrays.append(data.array)
    elif isinstance(data, Compressed):
        header["width"] = data.columns
        arrays += [data.values, data.indices, data.row_starts]
    elif isinstance(data, TextRows):
        arrays += data.arrays()
    else:
        text = "\n".join(json.dumps(dict(row), default=_number) for row in data.mappings)
        arrays.append(np.frombuffer(text.encode(), np.uint8))
    return header, arrays


def _name(column: FrameColumn) -> str:
    """Return what a column contains."""
    if isinstance(column, WordsColumn):
        return "ngrams" if column.ngrams else "words"
    return type(column).__name__


def _used(column: TextColumn) -> TextColumn:
    """Return a column without the values that no row has, unless there are few."""
    if len(column.ends) - 1 <= max(16, len(column.codes)):
        return column
    used, codes = np.unique(np.append(column.codes, -1), return_inverse=True)
    piece = np.zeros(len(used) - 1, np.int64)
    value = used[1:].astype(np.int64)
    ends = _core.entry_starts([column.ends], piece, value)
    letters = np.empty(int(ends[-1]), np.uint8)
    _core.gather_entries([column.ends], [column.text], piece, value, letters)
    return TextColumn((codes.reshape(-1)[:-1] - 1).astype(np.int32), ends, letters)


def _number(value: Any) -> Any:
    """Convert a number of another library to a Python number."""
    if isinstance(value, np.generic):
        return value.item()
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"a value is {value!r}, which is not a number") from None


def _labels(kind: str | None, arrays: Iterator[NDArray[Any]], values: list[str]) -> RawLabels | None:
    if kind is None:
        return None
    return Numbers(next(arrays)) if kind == "Numbers" else Texts(next(arrays), values)


def _data(header: dict[str, Any], arrays: Iterator[NDArray[Any]], rows: int) -> Input:
    kind = header["kind"]
    if kind == "Frame":
        columns: list[FrameColumn] = []
        for of in header["columns"]:
            if of in ("TextColumn", "words", "ngrams"):
                texts = TextColumn(next(arrays), next(arrays), next(arrays))
                columns.append(texts if of == "TextColumn" else WordsColumn(texts, of == "ngrams"))
            else:
                columns.append(FlagColumn(next(arrays)) if of == "FlagColumn" else next(arrays))
        return Frame(header["names"], columns, rows, header["missing"], header["whole"], header["indicators"])
    if kind == "Dense":
        return Dense(next(arrays))
    if kind == "Compressed":
        return Compressed(next(arrays), next(arrays), next(arrays), header["width"])
    if kind == "TextRows":
        return TextRows.made(*arrays)
    return NamedRows([json.loads(line) for line in next(arrays).tobytes().split(b"\n")])
