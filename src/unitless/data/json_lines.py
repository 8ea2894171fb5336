"""JSON lines: one object per line, through pyarrow."""

from __future__ import annotations

import fnmatch
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from ..errors import InputError
from .arrow import pyarrow
from .files import File, Text
from .options import ReadOptions
from .pieces import Bad, Piece, Place, Position
from .source import FileSource


class JsonLines(FileSource):
    """Files of one JSON object per line."""

    def __init__(self, files: list[File], options: ReadOptions) -> None:
        super().__init__(files, options)
        self._keys: set[str] = set()
        self._booleans: set[str] = set()

    def read(self, file: File, start: Position) -> Iterator[Piece]:
        """One file."""
        text = Text(file, self.options.encoding, start.offset)
        lines = start.count
        try:
            for data in text.pieces():
                piece = self._piece(data, file, lines)
                lines += data.count(b"\n") + (not data.endswith(b"\n"))
                piece.position = Position(start.file, text.position, lines)
                piece.consumed = text.consumed
                if piece.rows or piece.bad_count:
                    yield piece
            if lines == 0:
                raise InputError(f"{file.name} is empty")
        finally:
            text.close()

    def _piece(self, data: bytes, file: File, lines: int) -> Piece:
        place = Place(file.name, "line", lines + 1)
        if lines == 0:
            data = data.removeprefix(b"\xef\xbb\xbf")
        if lines == 0 and data.lstrip().startswith(b"["):
            raise InputError(f"{file.name} is one JSON array; write one object per line instead (JSON lines)")
        if not data.strip():
            return Piece(None, 0, place, Position())
        try:
            table = self._parsed(data)
            self._check_keys(table, data, file, lines)
            if table.num_rows == data.count(b"\n") + (not data.endswith(b"\n")):
                return Piece(table, table.num_rows, place, Position())
        except (pyarrow().ArrowInvalid, pyarrow().ArrowNotImplementedError, UnicodeDecodeError):
            pass
        return self._careful(data, file, lines)

    def _parsed(self, data: bytes) -> Any:
        pa, arrow_json = pyarrow(), pyarrow("json")
        while True:
            try:
                return arrow_json.read_json(
                    io.BytesIO(data),
                    arrow_json.ReadOptions(block_size=len(data) + 16),
                    arrow_json.ParseOptions(explicit_schema=self._explicit(), unexpected_field_behavior="infer"),
                )
            except pa.ArrowInvalid as error:
                name = re.search(r"Column\(/(.*)\) changed from string to boolean", str(error))
                if name is None or name[1] in self._booleans:
                    raise
                self._booleans.add(name[1])

    def _explicit(self) -> Any:
        """Numbers stay numbers, text stays text (and is no date), whatever a piece looks like."""
        pa = pyarrow()
        if self.schema is None:
            return pa.schema([(name, pa.string()) for name in self.options.text if "*" not in name])
        types = {"number": pa.float64(), "flag": pa.float64(), "text": pa.string()}
        known: dict[str, Any] = dict(self.schema.kinds)
        if self.schema.target is not None:
            known[self.schema.target] = self.schema.target_kind
        fields = [
            (name, pa.bool_() if name in self._booleans else types[kind])
            for name, kind in known.items()
            if kind in types
        ]
        if self.schema.weight is not None:
            fields.append((self.schema.weight, pa.float64()))
        return pa.schema(fields)

    def remember(self, table: Any) -> None:
        """The keys of the first rows are the keys of all."""
        types = pyarrow("types")
        self._keys = set(table.column_names)
        named = zip(table.column_names, table.schema.types, strict=True)
        self._booleans = {name for name, type in named if types.is_boolean(type)}

    def _check_keys(self, table: Any, data: bytes, file: File, lines: int) -> None:
        """A key that the first rows did not have contradicts them."""
        new = [name for name in table.column_names if name not in self._keys] if self._keys else []
        new = [name for name in new if not any(fnmatch.fnmatchcase(name, ignored) for ignored in self.options.ignore)]
        if not new or self.options.only:
            return
        written = json.dumps(new[0]).encode()
        line = next((k for k, text in enumerate(data.splitlines()) if written in text), 0)
        raise InputError(
            f"{file.name}, line {lines + 1 + line}: the key {new[0]!r} was not in the first rows, which decide what "
            f"the columns are; ignore it (ignore={new[0]!r}), or let one of the first rows have it, even as null"
        )

    def _careful(self, data: bytes, file: File, lines: int) -> Piece:
        """Line by line, where something is wrong."""
        good: list[bytes] = []
        numbers: list[int] = []
        bad: list[Bad] = []
        wrong: list[int] = []
        place = Place(file.name, "line", lines + 1)
        kinds = self.schema.kinds if self.schema else {}
        for number, line in enumerate(data.splitlines()):
            if not line.strip():
                continue
            problem = self._problem(line, kinds)
            if problem is None:
                good.append(line)
                numbers.append(number)
                continue
            if self.options.on_error == "fail":
                raise InputError(f"{place(number)}: {problem}; correct it, or skip such lines (on_error='skip')")
            wrong.append(number)
            if len(bad) < 20:
                bad.append(Bad(place(number), problem))
        table = None
        if good:
            try:
                table = self._parsed(b"\n".join(good) + b"\n")
                self._check_keys(table, data, file, lines)
            except (pyarrow().ArrowInvalid, pyarrow().ArrowNotImplementedError) as error:
                raise InputError(f"{file.name}, from line {lines + 1} on: {error}") from None
        rows = 0 if table is None else table.num_rows
        place = Place(file.name, "line", lines + 1, numbers)
        piece = Piece(table, rows, place, Position(), bad=bad, bad_count=len(wrong), bad_numbers=wrong)
        if self.keep and table is not None:
            known = {number: row for row, number in enumerate(numbers)}
            piece.original = table.take(pyarrow().array([known.get(n) for n in sorted(numbers + wrong)]))
        return piece

    def _problem(self, line: bytes, kinds: dict[str, Any]) -> str | None:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            return f"it is no JSON: {error}"
        if not isinstance(row, dict):
            return "it is no JSON object"
        for name, value in row.items():
            kind = kinds.get(name)
            if isinstance(value, dict | list) and (kind or not kinds):
                return f"{name!r} holds a list or an object; only numbers, text and booleans can be features"
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if kind in ("number", "flag") and value is not None and not number:
                return f"{name!r} is {value!r}, but it held numbers before"
            if kind == "text" and number:
                return f"{name!r} is {value!r}, but it held text before"
        return None
