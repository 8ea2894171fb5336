"""JSON lines: one object per line, through pyarrow."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

from ..errors import InputError
from .arrow import pyarrow
from .files import File, Text
from .pieces import Bad, Piece, Place, Position
from .source import FileSource


class JsonLines(FileSource):
    """Files of one JSON object per line."""

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
            if table.num_rows == data.count(b"\n") + (not data.endswith(b"\n")):
                return Piece(table, table.num_rows, place, Position())
        except (pyarrow().ArrowInvalid, pyarrow().ArrowNotImplementedError, UnicodeDecodeError):
            pass
        return self._careful(data, file, lines)

    def _parsed(self, data: bytes) -> Any:
        arrow_json = pyarrow("json")
        return arrow_json.read_json(
            io.BytesIO(data),
            arrow_json.ReadOptions(block_size=len(data) + 16),
            arrow_json.ParseOptions(explicit_schema=self._explicit(), unexpected_field_behavior="infer"),
        )

    def _explicit(self) -> Any:
        """Numbers stay numbers, text stays text, whatever a piece looks like."""
        pa = pyarrow()
        if self.schema is None:
            return None
        fields = [
            (name, pa.float64() if kind in ("number", "flag") else pa.string())
            for name, kind in self.schema.columns
            if kind in ("number", "flag") or (kind == "text" and name in self._strings)
        ]
        return pa.schema(fields)

    _strings: frozenset[str] = frozenset()

    def remember(self, table: Any) -> None:
        """Which columns were text in the first rows, so that they are never taken for dates."""
        types = pyarrow("types")
        self._strings = frozenset(
            name for name, type in zip(table.column_names, table.schema.types, strict=True) if types.is_string(type)
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
