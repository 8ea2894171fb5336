"""Reads JSON lines, one object per line, with pyarrow."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError, Option, Phrase
from ..arrow import pyarrow, stream_of
from ..columns.schema import Kind
from ..read_options import SKIP_LINES
from ..threads import threads_to_read
from .delimited import MOST_COLUMNS
from .files import File
from .located_rows import Bad, Chunk, Place, Position
from .row_places import RowPlaces, places_in_text
from .scan import TextScan
from .source import FileSource, ScanOptions
from .text_stream import Text


@dataclass(frozen=True)
class _Read:
    """A table, and the text columns that were expected to have numbers when it was read."""

    table: Any
    as_written: frozenset[str]


class JsonScan(TextScan):
    """Reads files of one JSON object per line."""

    def __init__(self, source: FileSource, how: ScanOptions) -> None:
        super().__init__(source, how)
        # If the schema was inferred from the first rows, only their keys are allowed.
        self._keys = how.keys if how.first is None or how.first.table is None else {*how.first.table.column_names}
        self._as_written: set[str] = set()  # columns of text that have numbers

    def read(self, file: File, start: Position, end: Position | None = None) -> Iterator[Chunk]:
        """Read one file from a position on, up to another one if it is given."""
        text = self.opened(file, end)
        lines = start.count
        text.where = lambda before: f"line {lines + 1 + before}"
        try:
            text.go_to(start.offset)
            with closing(self.pieces(text, text.chunks(), self._quick)) as pieces:
                for piece, read in pieces:
                    data = bytes(piece.data)
                    chunk = self._chunk(data, read, file, lines)
                    lines += data.count(b"\n") + (not data.endswith(b"\n"))
                    chunk.position = Position(start.file, piece.position, lines)
                    chunk.consumed = piece.consumed
                    if chunk.rows or chunk.bad_count:
                        yield chunk
            if lines == 0:
                raise InputError(f"{file.name} is empty")
        finally:
            text.close()

    def places(self, file: int, most: int) -> RowPlaces:
        """Return the number of rows of a file, and positions from which they can be read."""
        with closing(Text(self.files[file], self.options.encoding)) as text:
            return places_in_text(text, file, most)

    def _quick(self, view: memoryview) -> _Read | None:
        """Read a chunk of plain rows, in any thread; None if it needs the slower reader, or must be read in order."""
        if self.schema is None:
            return None
        data, as_written = bytes(view), frozenset(self._as_written)
        if data.startswith(BOM_UTF8) or not _is_plain(data):
            return None
        try:
            return _Read(self._read_table(data, settled=True), as_written)
        except (pyarrow().ArrowInvalid, pyarrow().ArrowNotImplementedError, UnicodeDecodeError):
            return None

    def _chunk(self, data: bytes, read: _Read | None, file: File, lines: int) -> Chunk:
        """Return the rows of a chunk; `read` is what has already been read of it. Called in the order of the file."""
        place = Place(file.name, "line", lines + 1)
        if lines == 0:
            data = data.removeprefix(BOM_UTF8)
        if lines == 0 and data.lstrip().startswith(b"["):
            raise InputError(f"{file.name} is one JSON array; write one object per line instead (JSON lines)")
        if not data.strip():
            return Chunk(None, 0, place, Position())
        if lines == 0 and data.partition(b"\n")[0].count(b":") > MOST_COLUMNS:
            raise InputError(f"{file.name} has rows of more than {MOST_COLUMNS:,} keys, too many for a table")
        try:
            if read is not None and read.as_written == self._as_written:
                table = read.table
            elif not _is_plain(data):
                return self._careful(data, file, lines)
            else:
                table = self._read_table(data)
            if table.num_columns > MOST_COLUMNS:
                raise InputError(f"{file.name} has more than {MOST_COLUMNS:,} keys, too many for a table")
            self._check_keys(table, data, file, lines)
            self._check_known(table, file, lines)
            if table.num_rows == data.count(b"\n") + (not data.endswith(b"\n")):
                return Chunk(table, table.num_rows, place, Position())
        except (pyarrow().ArrowInvalid, pyarrow().ArrowNotImplementedError, UnicodeDecodeError):
            pass
        return self._careful(data, file, lines)

    def _read_table(self, data: bytes, as_text: Collection[str] = (), settled: bool = False) -> Any:
        """Read rows as a table.

        Args:
            data: the rows.
            as_text: keys whose values are all text, whatever they look like. Default: none.
            settled: if True, nothing is inferred from these rows for later rows. Default: False.
        """
        pa, arrow_json, types = pyarrow(), pyarrow("json"), pyarrow("types")
        while True:
            try:
                table = arrow_json.read_json(
                    stream_of(data),
                    arrow_json.ReadOptions(block_size=len(data) + 16, use_threads=threads_to_read() > 1),
                    arrow_json.ParseOptions(explicit_schema=self._explicit(as_text), unexpected_field_behavior="infer"),
                )
                dates = [field.name for field in table.schema if types.is_timestamp(field.type)]
                if not dates:
                    return table if self.schema is not None else _in_order(table, data)
                as_text = [*as_text, *dates]  # pyarrow would convert text that looks like a date
            except pa.ArrowInvalid as error:
                # Numbers that should be text are converted later. Only the text of pyarrow's error tells which column
                # is concerned.
                column = re.search(r"Column\(/(.*)\) changed from string to (number|boolean)", str(error))
                if settled or column is None or column[1] in self._as_written or column[1] not in self._texts():
                    raise
                self._as_written.add(column[1])

    def _texts(self) -> list[str]:
        """Return the keys that are read as text: those that the user names, or those of the schema."""
        if self.schema is None:
            return [name for name in self.options.text if "*" not in name]
        return [name for name, kind in self._known_kinds().items() if kind not in ("number", "flag", "boolean")]

    def _explicit(self, as_text: Collection[str]) -> Any:
        """Return a pyarrow schema in which numbers stay numbers, and text stays text and does not become a date.

        If original rows are needed, whole numbers stay whole numbers.
        """
        pa = pyarrow()
        fields = {name: pa.string() for name in self._texts() if name not in self._as_written}
        if self.schema is not None and not self.how.originals:
            types = {"number": pa.float64(), "flag": pa.float64(), "boolean": pa.bool_()}
            fields |= {name: types[kind] for name, kind in self._known_kinds().items() if kind in types}
            for column in (self.schema.weight, self.schema.offset):
                if column is not None:
                    fields.setdefault(column, pa.float64())
        return pa.schema(list({**fields, **dict.fromkeys(as_text, pa.string())}.items()))

    def _check_keys(self, table: Any, data: bytes, file: File, lines: int) -> None:
        """Raise an error for a key that the first rows did not have."""
        if self._keys is None:
            return
        new = [name for name in table.column_names if name not in self._keys and self.options.uses(name)]
        if not new:
            return
        written = json.dumps(new[0]).encode()
        line = next((k for k, text in enumerate(data.split(b"\n")) if written in text), 0)
        raise InputError(
            f"the key {new[0]!r} was not in the first rows, which decide what the columns are",
            advice=Phrase(
                *("ignore it (", Option("ignore", new[0])),
                "), or let one of the first rows have it, even as null",
            ),
            file=file.name,
            line=lines + 1 + line,
        )

    def _check_known(self, table: Any, file: File, lines: int) -> None:
        """Raise an error if the first rows of a file have none of the columns: it must be another kind of file."""
        if self.schema is None or self.how.first is not None or lines or not self.schema.columns:
            return
        if all(table.column(name).null_count == table.num_rows for name in self.schema.kinds):
            first = next(iter(self.schema.kinds))
            raise InputError(f"{file.name}: its rows have none of the columns that the model needs: {first!r}, ...")

    def _careful(self, data: bytes, file: File, lines: int) -> Chunk:
        """Read a chunk line by line, if it has errors, or a key with numbers in some rows and text in others."""
        good: list[dict[str, Any]] = []
        numbers: list[int] = []
        bad: list[Bad] = []
        wrong: list[int] = []
        place = Place(file.name, "line", lines + 1)
        for number, line in enumerate(data.split(b"\n")):
            if not line.strip():
                continue
            row, problem = self._row(line)
            used = {name: value for name, value in row.items() if self._uses(name)}
            problem = problem or self._nested(used)
            if problem is None:
                good.append(used)
                numbers.append(number)
                continue
            if self.options.on_error == "fail":
                raise InputError(problem, advice=SKIP_LINES, **place.at(number))
            wrong.append(number)
            if len(bad) < 20:
                bad.append(Bad(place(number), problem))
        table = None
        if good:
            try:
                mixed = self._mixed(good)
                for row in good:
                    row.update({name: _as_text(row[name]) for name in mixed & row.keys()})
                table = self._read_table(b"".join(json.dumps(row).encode() + b"\n" for row in good), mixed)
                self._check_keys(table, data, file, lines)
            except (pyarrow().ArrowInvalid, pyarrow().ArrowNotImplementedError) as error:
                raise InputError(f"{file.name}, from line {lines + 1} on: {error}") from None
        rows = 0 if table is None else table.num_rows
        place = Place(file.name, "line", lines + 1, numbers)
        chunk = Chunk(table, rows, place, Position(), bad=bad, bad_count=len(wrong), bad_numbers=wrong)
        if self.how.originals and table is not None:
            known = {number: row for row, number in enumerate(numbers)}
            chunk.original = table.take(pyarrow().array([known.get(n) for n in sorted(numbers + wrong)]))
        return chunk

    def _known_kinds(self) -> dict[str, Kind]:
        """Return the kind of each key, as far as it is decided."""
        if self.schema is None:
            return {}
        kinds = dict(self.schema.kinds)
        if self.schema.target is not None and self.schema.target_kind is not None:
            kinds[self.schema.target] = self.schema.target_kind
        return kinds

    def _nested(self, row: dict[str, Any]) -> str | None:
        """Return what is wrong with a row that has nested objects or lists; None if it has none."""
        for name, value in row.items():
            if isinstance(value, dict | list) and (self.schema is None or name in self._known_kinds()):
                return f"{name!r} holds a list or an object; only numbers, text and booleans can be features"
        return None

    def _mixed(self, rows: list[dict[str, Any]]) -> set[str]:
        """Return the keys whose values have several kinds, or another kind than in the schema."""
        kinds: dict[str, set[str]] = {}
        for row in rows:
            for name, value in row.items():
                if value is not None:
                    kind = "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
                    kinds.setdefault(name, set()).add(kind)
        for name, known in self._known_kinds().items():
            if name in kinds and known in ("number", "flag", "boolean"):
                kinds[name].add("number" if known == "flag" else known)
        return {name for name, found in kinds.items() if len(found) > 1}

    def _uses(self, name: str) -> bool:
        return self.options.uses(name) or name in self.options.not_features

    def _row(self, line: bytes) -> tuple[dict[str, Any], str | None]:
        """Return the object on a line, and what is wrong with it, if anything."""
        twice: list[str] = []

        def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
            row = dict(items)
            if len(row) < len(items):
                names = [name for name, _ in items]
                twice.append(next(name for name in names if names.count(name) > 1))
            return row

        try:
            row = json.loads(line, object_pairs_hook=pairs)
        except RecursionError:
            return {}, "it is not a row of a table: its objects are nested too deeply"
        except UnicodeDecodeError:
            return {}, "it is not valid UTF-8; name its encoding, for example latin-1"
        except ValueError as error:
            return {}, f"it is not valid JSON: {error}"
        if not isinstance(row, dict):
            return {}, f"it is not a JSON object but {_kind(row)}"
        return row, f"it has the key {twice[0]!r} twice" if twice else None


def _in_order(table: Any, data: bytes) -> Any:
    """Order the columns by the keys of the first line; pyarrow puts columns with a given type first."""
    first = json.loads(data[: data.find(b"\n") + 1 or None])
    place = {name: k for k, name in enumerate(first)}
    return table.select(sorted(table.column_names, key=lambda name: place.get(name, len(place))))


def _is_text(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_plain(data: bytes) -> bool:
    """Return whether pyarrow can read a chunk as a whole."""
    return not _deep(data) and _is_text(data) and _objects(data)


def _deep(data: bytes) -> bool:
    """Return whether objects may be nested too deeply for a parser. Quotes are ignored, so it may be too careful."""
    if data.count(b"[") + data.count(b"{") <= data.count(b"\n") + 500:
        return False
    letters = np.frombuffer(data, np.uint8)
    steps = np.isin(letters, (ord("["), ord("{"))).astype(np.int8) - np.isin(letters, (ord("]"), ord("}")))
    depth = np.cumsum(steps, dtype=np.int64)
    return bool(depth.max(initial=0) - min(0, depth.min(initial=0)) > 500)


def _objects(data: bytes) -> bool:
    """Return whether each line certainly has one object and nothing else. Quotes are ignored, so it may be too careful.

    pyarrow crashes on a value that is not an object, such as null, and reads several objects on a line as several rows.
    """
    letters = np.frombuffer(data, np.uint8)
    begins = np.flatnonzero(letters[:-1] == ord("\n")) + 1
    ends = np.flatnonzero(letters[:-1] == ord("}")) + 1
    plain = letters[:1] == ord("{") and (letters[begins] == ord("{")).all() and (letters[ends] == ord("\n")).all()
    return bool(plain) or not (_NO_BEGINNING.search(data) or _NO_END.search(data))


_NO_BEGINNING = re.compile(rb"^[ \t\r]*[^ \t\r\n{]", re.MULTILINE)
_NO_END = re.compile(rb"\}[ \t\r]*[^ \t\r\n,\]}]")


def _as_text(value: Any) -> str | None:
    """Return a value as a text file would have it."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    kinds = {bool: "true or false", str: "text", list: "an array"}
    return next((name for kind, name in kinds.items() if isinstance(value, kind)), "a number")
