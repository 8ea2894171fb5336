"""CSV and its relatives, through pyarrow, in chunks of whole rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np

from ..errors import InputError, Option, Phrase
from .arrow import pyarrow
from .csv_columns import CsvParser
from .files import File
from .kept_parts import kept_part
from .located_rows import Bad, Chunk, Place, Position
from .read_options import ENCODING, SKIP_ROWS, ReadOptions
from .row_places import RowPlaces, places_in_text
from .schema import DATES, Schema, check_names, first_rows, kind_of
from .source import FileSource
from .text_stream import Text, opened_text

MOST_COLUMNS = 100_000
_BOM = b"\xef\xbb\xbf"
_WORDS = {"boolean": "true or false", "date": "a date", "moment": "a date with a time", "time": "a time"}


class Delimited(FileSource):
    """Files of delimited text with a header (or without, if so told)."""

    def __init__(self, files: list[File], options: ReadOptions, delimiter: str | None = None) -> None:
        super().__init__(files, options)
        self._delimiter = options.delimiter or delimiter
        self._types: dict[str, Any] = {}
        self._settled: tuple[list[str], CsvParser | None] | None = None  # for the columns of the present file

    def hold(self, schema: Schema) -> None:
        """Types are settled; whole numbers are widened when one has a fraction."""
        super().hold(schema)
        self._settled = None
        pa = pyarrow()
        text = pa.dictionary(pa.int32(), pa.string())
        known: dict[str, Any] = dict(schema.kinds)
        if schema.target is not None:
            known[schema.target] = schema.target_kind
        read, self._types = self._types, {}
        types = {"text": text, "boolean": pa.bool_(), "date": pa.date32(), "moment": pa.timestamp("us")}
        for name, kind in known.items():
            before = read.get(name)
            whole = before is not None and pyarrow("types").is_integer(before)
            if kind in ("number", "flag"):
                self._types[name] = pa.int64() if whole else pa.float64()
            elif kind in types:
                self._types[name] = types[kind]
            else:
                self._types[name] = pa.time64("us")
        for beside in (schema.weight, schema.offset):
            if beside is not None:
                self._types[beside] = pa.float64()

    def read(self, file: File, start: Position, end: Position | None = None) -> Iterator[Chunk]:
        """Read one file from a position on, up to another one if it is given."""
        text = opened_text(file, self.options.encoding, end)
        try:
            names, delimiter, header_end = self._header(text, file) if end is None else self._known_header(text, file)
            text.quoted(delimiter)
            text.go_to(max(start.offset, header_end))  # which a pipe cannot be read to again
            rows = start.count
            text.where = lambda before: f"row {rows + 1 + before}"
            for data in text.chunks(small=not self.keep, first_lines=first_rows(len(names))):
                chunk = self._chunk(data, names, delimiter, file, rows)
                rows += chunk.rows + chunk.bad_count
                chunk.position = Position(start.file, text.position, rows)
                chunk.consumed = text.consumed
                if chunk.rows or chunk.bad_count:
                    yield chunk
            if rows == 0:
                raise InputError(f"{file.name} has a header but no rows")
        finally:
            text.close()

    def _known_header(self, text: Text, file: File) -> tuple[list[str], str, int]:
        """The header of a file that is read in many parts."""
        said = self._delimiter, self.options.header, self.options.encoding
        return kept_part((file.path, file.stamp, "header", said), lambda: self._header(text, file), lambda header: 1024)

    def places(self, file: int, most: int) -> RowPlaces:
        """How many rows a file has, and positions from which they can be read."""
        with closing(Text(self.files[file], self.options.encoding)) as text:
            _, delimiter, _ = self._header(text, self.files[file])
            text.quoted(delimiter)
            return places_in_text(text, file, most, delimiter)

    def _header(self, text: Text, file: File) -> tuple[list[str], str, int]:
        """The names of the columns, what is between them, and where the rows begin."""
        sample = text.peek(64 << 10)
        if not sample.strip(b"\xef\xbb\xbf \t\r\n"):
            raise InputError(f"{file.name} is empty")
        if b"\0" in sample:
            raise InputError(
                f"{file.name} contains zero bytes: it is not a text file, or it has another encoding (such as utf-16)"
            )
        delimiter = self._delimiter or sniff(sample.removeprefix(_BOM))
        text.quoted(delimiter)
        line = b""
        while not line.strip(_BOM + b" \t\r\n"):
            line = text.line()
            if not line:
                raise InputError(f"{file.name} is empty")
        if b"\r" in line.rstrip(b"\r\n") and b'"' not in line:
            raise InputError(f"{file.name} has lines that end in carriage returns alone; end them with newlines")
        try:
            cells = next(csv.reader(io.StringIO(line.removeprefix(_BOM).decode(), newline=""), delimiter=delimiter))
        except UnicodeDecodeError:
            raise InputError("this is not valid UTF-8", advice=ENCODING, file=file.name) from None
        except (csv.Error, StopIteration) as error:
            raise InputError(f"{file.name}: the first line cannot be read as a header row: {error}") from None
        if len(cells) > MOST_COLUMNS:
            raise InputError(
                f"{file.name} has {len(cells):,} columns; more than {MOST_COLUMNS:,} are too many for a table. "
                "Give such data as VW text or libsvm, where only what is not zero is written"
            )
        if not self.options.header:
            text.put_back(line)
            return [str(k + 1) for k in range(len(cells))], delimiter, text.position
        if all(_is_number(cell) for cell in cells):
            raise InputError(
                f"the first row, {line[:60].decode(errors='replace').strip()!r}, looks like data",
                file=file.name,
                advice=Phrase(
                    "use ",
                    Option("header", False),
                    " if there is no row of names; columns are then called 1, 2, 3, ...",
                ),
            )
        names = [cell.strip() or f"column {k + 1}" for k, cell in enumerate(cells)]
        check_names(
            names,
            file.name,
            Phrase("rename one, or use ", Option("header", False), " if the first row is not a row of names"),
        )
        return names, delimiter, text.position

    def _chunk(self, view: memoryview, names: list[str], delimiter: str, file: File, rows: int) -> Chunk:
        place = Place(file.name, "row", rows + 1)
        ragged: list[Any] = []
        view = view[len(_BOM) :] if rows == 0 and view[: len(_BOM)] == _BOM else view
        parser = self._csv_parser(names, delimiter, file)
        if parser is not None and (read := parser.read(view)) is not None:
            return Chunk(read, read.rows, place, Position())
        data = bytes(view)
        if b"\0" in data:
            raise InputError(
                f"{file.name}, after row {rows}: there are zero bytes; it is not a text file, or has another encoding"
            )
        table = self._read_table(data, names, delimiter, ragged, place)
        if not ragged and table is not None:
            self._remember(table)
            return Chunk(table, table.num_rows, place, Position())
        return self._careful(data, names, delimiter, file, rows)

    def _csv_parser(self, names: list[str], delimiter: str, file: File) -> CsvParser | None:
        """The core's reader, for all but the first chunk, if the columns are of kinds that it knows."""
        if self._settled is not None and self._settled[0] is names:
            return self._settled[1]
        schema = self.schema
        missing = [name for name, _ in schema.columns if name not in names] if schema is not None else []
        if missing:
            raise InputError(f"{file.name}: there is no column {missing[0]!r}, which the model needs")
        if schema is None:
            return None
        dates = any(kind in DATES for kind in schema.kinds.values())
        self._settled = names, None if self.keep or dates else CsvParser(names, schema, delimiter)
        return self._settled[1]

    def _remember(self, table: Any) -> None:
        """The types of the first rows are the types of all."""
        if self.schema is None:
            self._types.update(zip(table.column_names, table.schema.types, strict=True))

    def _needed(self, names: list[str]) -> list[str]:
        if self.schema is None or self.keep:
            return names
        return [name for name in names if name in self._types]

    def _read_table(self, data: bytes, names: list[str], delimiter: str, ragged: list[Any], place: Place) -> Any:
        """The chunk as a table, or None if a value is not of its column's type."""
        pa, arrow_csv = pyarrow(), pyarrow("csv")

        def invalid(row: Any) -> str:
            ragged.append(row)
            return "skip"

        if not data.isascii():
            try:
                data.decode()
            except UnicodeDecodeError:
                where = f"after row {place.first - 1} " if place.first > 1 else ""
                raise InputError(f"{where}this is not valid UTF-8", advice=ENCODING, file=place.file) from None
        types = {name: type for name, type in self._types.items() if name in names} if self.schema else {}
        types.update({name: pa.string() for name in self.options.text if name in names and name not in types})
        if self.keep and self.schema is not None:  # other columns as they are written
            types.update({name: pa.string() for name in names if name not in types})
        while True:
            try:
                return arrow_csv.read_csv(
                    io.BytesIO(data),
                    arrow_csv.ReadOptions(column_names=names, block_size=len(data) + 16, use_threads=True),
                    arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=invalid),
                    arrow_csv.ConvertOptions(column_types=types, include_columns=self._needed(names)),
                )
            except pa.ArrowInvalid:
                whole = [name for name, type in types.items() if pyarrow("types").is_integer(type)]
                if not whole:
                    return None
                for name in whole:  # the first number with a fraction
                    types[name] = self._types[name] = pa.float64()
                ragged.clear()

    def _careful(self, data: bytes, names: list[str], delimiter: str, file: File, rows: int) -> Chunk:
        """The same, value by value, where something is wrong: bad rows are found, and left out if that is wanted."""
        pa, arrow_csv, compute = pyarrow(), pyarrow("csv"), pyarrow("compute")
        ragged: list[Any] = []

        def invalid(row: Any) -> str:
            ragged.append(row)
            return "skip"

        needed = self._needed(names)
        table = arrow_csv.read_csv(
            io.BytesIO(data),
            arrow_csv.ReadOptions(column_names=names, block_size=len(data) + 16, use_threads=False),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=invalid),
            arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in needed}, include_columns=needed, strings_can_be_null=False
            ),
        )
        bad: dict[int, str] = {
            row.number - 1: f"it has {row.actual_columns} columns, the header {row.expected_columns}" for row in ragged
        }
        numbers = np.setdiff1d(np.arange(table.num_rows + len(bad)), list(bad))
        columns = []
        nulls = pa.array(["", *arrow_csv.ConvertOptions().null_values])
        for name in needed:
            column = table.column(name).combine_chunks()
            type = self._types.get(name, pa.string())
            if self.schema is None or pyarrow("types").is_dictionary(type) or pyarrow("types").is_string(type):
                columns.append(column if self.schema is None else column.dictionary_encode())
                continue
            boolean = pyarrow("types").is_boolean(type)
            column = column if boolean else compute.utf8_trim_whitespace(column)
            column = compute.if_else(compute.is_in(column, nulls), pa.scalar(None, pa.string()), column)
            converted, failed = _booleans(column) if boolean else convert(column, type)
            for row in failed:
                what = _WORDS.get(kind_of(type) or "", "a number")
                bad.setdefault(int(numbers[row]), f"column {name!r} is {column[row].as_py()!r}, which is not {what}")
            columns.append(converted)
        good = pa.Table.from_arrays(columns, names=needed)
        place = Place(file.name, "row", rows + 1)
        if bad and self.options.on_error == "fail":
            first = min(bad)
            raise InputError(bad[first], advice=SKIP_ROWS, **place.at(first))
        if self.schema is None:  # types are found from what is left
            buffer = io.BytesIO()
            arrow_csv.write_csv(good, buffer)
            good = arrow_csv.read_csv(
                io.BytesIO(buffer.getvalue()),
                arrow_csv.ReadOptions(block_size=len(buffer.getvalue()) + 16),
                arrow_csv.ParseOptions(newlines_in_values=True),
                arrow_csv.ConvertOptions(column_types={n: pa.string() for n in self.options.text if n in needed}),
            )
            self._remember(good)
        keep = np.array([number not in bad for number in numbers.tolist()], dtype=bool)
        places = np.full(table.num_rows + len(ragged), -1)
        places[numbers] = np.arange(len(numbers))
        original = good.take(pa.array(places, mask=places < 0)) if self.keep else None
        good = good.filter(pa.array(keep)) if not keep.all() else good
        messages = [Bad(place(number), bad[number]) for number in sorted(bad)[:20]]
        return Chunk(
            good,
            good.num_rows,
            Place(file.name, "row", rows + 1, numbers[keep]),
            Position(),
            bad=messages,
            bad_count=len(bad),
            bad_numbers=sorted(bad),
            original=original,
        )


def _booleans(column: Any) -> tuple[Any, list[int]]:
    """In the words that pyarrow takes for booleans when it reads CSV, and no others."""
    pa, compute = pyarrow(), pyarrow("compute")
    yes = compute.is_in(column, pa.array(["true", "True", "TRUE", "1"]))
    no = compute.is_in(column, pa.array(["false", "False", "FALSE", "0"]))
    known = compute.or_(yes, no).to_numpy(zero_copy_only=False)
    there = column.is_valid().to_numpy(zero_copy_only=False)
    return compute.if_else(compute.or_(yes, no), yes, pa.scalar(None, pa.bool_())), np.flatnonzero(
        there & ~known
    ).tolist()


def convert(column: Any, type: Any) -> tuple[Any, list[int]]:
    """Text as another type, and the rows where that is impossible (which become null)."""
    pa = pyarrow()
    try:
        return column.cast(type), []
    except pa.ArrowInvalid:
        if len(column) == 1:
            return pa.nulls(1, type), [0]
        half = len(column) // 2
        left, wrong = convert(column[:half], type)
        right, more = convert(column[half:], type)
        return pa.concat_arrays([left, right]), wrong + [half + row for row in more]


def sniff(sample: bytes) -> str:
    """The delimiter: the one that cuts the first lines into equally many columns, and most of them."""
    lines = [line for line in sample.decode(errors="replace").splitlines()[:20] if line.strip()]
    lines = lines[:-1] if len(lines) > 2 else lines  # the last one may be cut off
    best, score = ",", (0, 0)
    if not lines:
        return best
    for delimiter in (",", "\t", ";", "|"):
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        except csv.Error:
            continue
        if not widths:  # nothing but white space
            continue
        alike = sum(width == widths[0] for width in widths)
        candidate = (alike if widths[0] > 1 else 0, widths[0])
        if candidate > score:
            best, score = delimiter, candidate
    return best


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return not cell.strip()
    return True
