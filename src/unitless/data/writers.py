"""Tables written batch by batch, as text or in columns; a file is written whole or not at all.

Text is put together in pyarrow, cell by cell over all rows at once, so that no row passes through Python.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import sys
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from .. import whole_file
from ..errors import InputError, OptionError
from .arrow import pyarrow
from .files import STDIN

STDOUT = STDIN  # both are called "-"


@contextlib.contextmanager
def opened(path: str | os.PathLike[str] | None) -> Iterator[IO[bytes]]:
    """Where to write to: a file, compressed if its name says so, or the standard output."""
    if path is None or path == STDOUT:
        out = sys.stdout.buffer
        yield out
        out.flush()
        return
    name = os.fspath(path)
    try:
        with whole_file.opened(name) as file, _compressed(file, name) as compressed:
            yield compressed
    except OSError as error:
        temporary = os.path.basename(str(error.filename)).startswith(".unitless-")
        ours = error.filename in (None, name) or temporary
        if not ours or isinstance(error, BrokenPipeError):
            raise
        raise OSError(error.errno, f"cannot write it: {error.strerror or error}", name) from None


@contextlib.contextmanager
def _compressed(file: IO[bytes], name: str) -> Iterator[Any]:
    held = _Held(file)
    suffix = os.path.splitext(name.lower())[1]
    if suffix == ".gz":
        stream: Any = gzip.GzipFile(filename="", fileobj=held, mode="wb", mtime=0)
    elif suffix == ".bz2":
        stream = bz2.BZ2File(held, "wb")
    elif suffix == ".xz":
        stream = lzma.LZMAFile(held, "wb")  # type: ignore[arg-type]  # noqa: SIM115
    elif suffix in (".zst", ".zstd"):
        stream = pyarrow().CompressedOutputStream(pyarrow().PythonFile(held, "w"), "zstd")
    else:
        yield held
        return
    yield stream
    stream.close()


class _Held(io.RawIOBase):
    """A file that others write to but do not close."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        pass


# ------------------------------------------------------------------------------------------------------------- writers


class Writer:
    """Writes tables that follow one another. The columns of the first are those of all."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self._schema: Any = None

    def write(self, table: Any) -> None:
        """More rows."""
        table = plain(table)
        if self._schema is None:
            self._schema = table.schema
            self._begin()
        elif table.schema != self._schema:
            table = self._conformed(table)
        self._rows(table)

    def close(self) -> None:
        """That was all."""

    def _begin(self) -> None:
        """The names of the columns are known."""

    def _rows(self, table: Any) -> None:
        raise NotImplementedError

    def _conformed(self, table: Any) -> Any:
        pa = pyarrow()
        names = table.column_names
        for name in names:
            if name not in self._schema.names:
                raise InputError(
                    f"column {name!r} is not in the first rows of the data; its place in the output is gone"
                )
        return pa.table({name: table.column(name) if name in names else pa.nulls(len(table)) for name in self._names})

    @property
    def _names(self) -> list[str]:
        return list(self._schema.names)


class Csv(Writer):
    """Comma-separated text; quotes only where they are needed."""

    delimiter = ","

    def _begin(self) -> None:
        names = pyarrow().array(self._names)
        self.file.write((self.delimiter.join(self._quoted(names).to_pylist()) + "\n").encode())

    def _rows(self, table: Any) -> None:
        parts: list[Any] = []
        for name, column in columns(table):
            parts += [self._quoted(cells(name, column)), self.delimiter]
        parts[-1] = "\n"
        alone = table.num_columns == 1  # an empty line would be taken for none
        self.file.write(joined(parts, '""' if alone else ""))

    def _quoted(self, cells: Any) -> Any:
        compute = pyarrow("compute")
        special = compute.match_substring_regex(cells, f'["\r\n{self.delimiter}]')
        if not compute.any(special).as_py():
            return cells
        doubled = compute.replace_substring(cells, '"', '""')
        return compute.if_else(special, compute.binary_join_element_wise('"', doubled, '"', ""), cells)


class Tsv(Csv):
    """Tab-separated text."""

    delimiter = "\t"


class JsonLines(Writer):
    """One object per row."""

    def _rows(self, table: Any) -> None:
        parts: list[Any] = []
        for k, (name, column) in enumerate(columns(table)):
            parts += [f"{', ' if k else '{'}{json.dumps(name, ensure_ascii=False)}: ", json_cells(name, column)]
        parts.append("}\n")
        self.file.write(joined(parts))


class _Columnar(Writer):
    _out: Any = None

    def _begin(self) -> None:
        self._out = self._opened()

    def _opened(self) -> Any:
        raise NotImplementedError

    def _rows(self, table: Any) -> None:
        self._out.write_table(table)

    def _conformed(self, table: Any) -> Any:
        table = super()._conformed(table)
        arrays = []
        for field in self._schema:
            try:
                arrays.append(table.column(field.name).cast(field.type))
            except (pyarrow().ArrowInvalid, pyarrow().ArrowNotImplementedError):
                raise Changed(field.name, str(field.type), str(table.schema.field(field.name).type)) from None
        return pyarrow().Table.from_arrays(arrays, schema=self._schema)

    def close(self) -> None:
        if self._out is not None:
            self._out.close()


class Parquet(_Columnar):
    """A Parquet file."""

    def _opened(self) -> Any:
        return pyarrow("parquet").ParquetWriter(self.file, self._schema)


class Arrow(_Columnar):
    """An Arrow IPC file, which is Feather too."""

    def _opened(self) -> Any:
        return pyarrow("ipc").new_file(self.file, self._schema)


class Changed(InputError):
    """A column is of another type than it was in the first rows."""

    def __init__(self, column: str, before: str, now: str) -> None:
        self.name, self.whole = column, before.startswith(("int", "uint")) and now in ("double", "float")
        super().__init__(
            f"column {column!r} held {before} in the first rows of the data, but {now} later; treat it as text, or "
            "write CSV or JSON lines, where that is no difference"
        )


WRITERS: dict[str, type[Writer]] = {
    "csv": Csv,
    "tsv": Tsv,
    "jsonl": JsonLines,
    "parquet": Parquet,
    "arrow": Arrow,
}


def writer(format: str, file: IO[bytes]) -> Writer:
    """For a format of tables."""
    if format not in WRITERS:
        raise OptionError(f"tables cannot be written as {format!r}; there are {', '.join(WRITERS)}")
    return WRITERS[format](file)


# --------------------------------------------------------------------------------------------------------------- cells


def plain(table: Any) -> Any:
    """Without dictionaries, and with a type for columns that have no value so far."""
    pa, types = pyarrow(), pyarrow("types")
    for k, field in enumerate(table.schema):
        if types.is_dictionary(field.type):
            table = table.set_column(k, field.name, table.column(k).cast(field.type.value_type))
        elif types.is_null(field.type):
            table = table.set_column(k, field.name, table.column(k).cast(pa.string()))
    return table


def columns(table: Any) -> Iterator[tuple[str, Any]]:
    """Names and whole columns."""
    for name in table.column_names:
        column = table.column(name)
        yield name, column.chunk(0) if column.num_chunks == 1 else pyarrow().concat_arrays(column.chunks)


def cells(name: str, column: Any) -> Any:
    """Values as text; numbers as the shortest decimals that read back the same; nothing where there is none."""
    pa, types, compute = pyarrow(), pyarrow("types"), pyarrow("compute")
    if types.is_string(column.type):
        return column
    if types.is_floating(column.type):
        column = compute.if_else(compute.is_nan(column), pa.scalar(None, column.type), column)
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(f"column {name!r} holds {column.type}, which has no form as text; leave it out") from None


def json_cells(name: str, column: Any) -> Any:
    """Values as JSON; null where there is none, which numbers that are not finite are too."""
    types, compute = pyarrow("types"), pyarrow("compute")
    if types.is_floating(column.type):
        column = compute.if_else(compute.is_finite(column), column, pyarrow().scalar(None, column.type))
    text = cells(name, column)
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
        coded = text.dictionary_encode()
        words = [json.dumps(word, ensure_ascii=False) for word in coded.dictionary.to_pylist()]
        text = pyarrow().array(words, pyarrow().string()).take(coded.indices)
    return text.fill_null("null")


def joined(parts: list[Any], none: str = "") -> memoryview:
    """Columns of text and what stands between them, row after row, as one piece of text."""
    compute = pyarrow("compute")
    lines = compute.binary_join_element_wise(*parts, "", null_handling="replace", null_replacement=none)
    return text_bytes(lines)


def text_bytes(lines: Any) -> memoryview:
    """All values of an array of text, one after the other."""
    _, ends, data = lines.buffers()
    if data is None:
        return memoryview(b"")
    width = np.int64 if pyarrow("types").is_large_string(lines.type) else np.int32
    offsets = np.frombuffer(ends, width)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(data)[int(offsets[0]) : int(offsets[-1])]
