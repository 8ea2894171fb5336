"""Bodies of many rows: JSON lines, CSV and Arrow, each turned into one line of JSON for each row while they arrive."""

from __future__ import annotations

import csv
import math
import re
import struct
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

import msgspec

from ..problems import Problem
from ..row_limits import RowLimits
from . import arrow_columns

LINES, CSV, ARROW = "application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream"
MOST_COLUMNS = 10_000
PART, _VALUES = 256, 500_000  # rows, and values, of an Arrow batch that are read at a time
_PAUSES = 100  # columns between two pauses

Item: TypeAlias = "bytes | Problem"  # a row, or why there is none
PAUSE = None  # yielded instead of a row during long work, so that other requests are answered

_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")
_WHOLE = re.compile(r"\s*[+-]?\d{1,18}\s*")
_encode = msgspec.json.Encoder().encode


class Body(Protocol):
    """Takes a body piece by piece and gives rows. A `Problem` that is raised ends the body."""

    def feed(self, data: bytes) -> Iterator[Item | None]:
        """The rows that are complete with these bytes."""

    def end(self) -> Iterator[Item | None]:
        """The rows that are complete because the body has ended."""


class Lines:
    """Lines of JSON; empty ones do not count."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[Item | None]:
        """The rows that are complete with these bytes."""
        first, *others = data.split(b"\n")
        self._rest.append(first)
        if not others:
            return
        whole = b"".join(self._rest)
        self._rest = [others.pop()]
        for line in (whole, *others):
            if line and not line.isspace():
                yield line

    def end(self) -> Iterator[Item | None]:
        """The last line, if it has no end."""
        line = b"".join(self._rest)
        if line and not line.isspace():
            yield line


class Table:
    """CSV with names in the first line.

    A cell that reads as a number is a number, true and false are booleans, an empty cell is a missing value, and all
    else is text. The columns id, weight and label are not features.

    Args:
        label: the name of the column with the labels.
        most: how many columns there can be.
        limits: of rows. A longer line is refused before it is parsed.
    """

    def __init__(self, label: str, most: int, limits: RowLimits) -> None:
        self._label, self._most, self._limits, self._names = label, most, limits, list[str]()
        self._rest: list[str] = []
        self._rest_size = 0
        self._open = False  # within quotes
        self._decode = _decoder()

    def feed(self, data: bytes) -> Iterator[Item | None]:
        """The rows that are complete with these bytes."""
        yield from self._take(self._decode(data, False))

    def end(self) -> Iterator[Item | None]:
        """The last line, if it has no end."""
        text = self._decode(b"", True)
        yield from self._take(text if not "".join(self._rest) + text else text + "\n")
        if "".join(self._rest):
            raise Problem(400, "this is not CSV", "The last line ends within quotes.")
        if not self._names:
            raise Problem(400, "this is not CSV", "There is no first line with the names of the columns.")

    def _take(self, text: str) -> Iterator[Item | None]:
        lines: list[str] = []
        for line in text.splitlines(keepends=True):
            self._open ^= line.count('"') % 2 == 1
            self._rest.append(line)
            self._rest_size += len(line)
            if not self._open and line.endswith(("\n", "\r")):
                lines.append("".join(self._rest))
                self._rest, self._rest_size = [], 0
        for line in lines:
            if len(line) > self._limits.bytes:
                yield self._too_large(len(line))
                continue
            try:
                cells = next(csv.reader([line], strict=True), None)
            except csv.Error as error:
                yield Problem(400, "this is not CSV", f"{error}")
                continue
            if not cells:
                continue
            if self._names:
                yield self._row(cells)
            else:
                self._begin(cells)
        if self._rest_size > self._limits.bytes:
            raise self._limits.too_large(self._rest_size)

    def _too_large(self, size: int) -> Problem:
        """The problem of one line. Without the names of the columns no other line can be read, so it is raised."""
        problem = self._limits.too_large(size)
        if not self._names:
            raise problem
        return problem

    def _begin(self, names: list[str]) -> None:
        _check_columns(names, self._label, self._most)
        self._names = names

    def _row(self, cells: list[str]) -> Item:
        if len(cells) != len(self._names):
            detail = f"It has {len(cells):,} cells; there are {len(self._names):,} columns."
            return Problem(400, "this row is not like the first line", detail)
        return _line(dict(zip(self._names, cells, strict=True)), self._label, _cell)


def _check_columns(names: list[str], label: str, most: int) -> None:
    if len(names) > most:
        detail = f"There are {len(names):,} columns; a table can have {most:,} (max_columns)."
        raise Problem(422, "the columns cannot be used", f"{detail} Leave some out, or raise the setting.")
    known: set[str] = set()
    for name in names:
        if name in known:
            raise Problem(422, "the columns cannot be used", f"Two columns are called {name[:80]!r}.")
        known.add(name)
    if label != "label" and label not in known:
        raise Problem(422, "the columns cannot be used", f"There is no column {label[:80]!r}, the label.")


def _decoder() -> Callable[[bytes, bool], str]:
    import codecs  # noqa: PLC0415

    decoder = codecs.getincrementaldecoder("utf-8-sig")()

    def decode(data: bytes, final: bool) -> str:
        try:
            return decoder.decode(data, final)
        except UnicodeDecodeError:
            raise Problem(400, "this is not CSV", "Text has to be UTF-8.") from None

    return decode


def _cell(text: str) -> Any:
    if not text:
        return None
    if text in ("true", "false", "True", "False"):
        return text in ("true", "True")
    if _WHOLE.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


def _line(values: dict[str, Any], label: str, read: Callable[[Any], Any]) -> Item:
    """A row of a table as a line of JSON."""
    row: dict[str, Any] = {}
    if label in values:
        row["label"] = read(values.pop(label))
    if "weight" in values:
        row["weight"] = read(values.pop("weight"))
    if "id" in values:
        id = values.pop("id")
        row["id"] = None if id in (None, "") else str(id)
    row["features"] = {name: read(value) for name, value in values.items()}
    try:
        return _encode(row)
    except (TypeError, ValueError, OverflowError) as error:
        return Problem(422, "the row cannot be used", str(error))


class Batches:
    """An Arrow stream: a schema, then batches of rows. Each batch is read when the last of its bytes is there.

    Args:
        label: the name of the column with the labels.
        most: how many columns there can be.
    """

    def __init__(self, label: str = "label", most: int = MOST_COLUMNS) -> None:
        self._label, self._most = label, most
        self._held = bytearray()
        self._common: list[bytes] = []  # messages that all batches need: the schema, dictionaries
        self._ended = False

    def feed(self, data: bytes) -> Iterator[Item | None]:
        """The rows of the batches that are complete with these bytes."""
        self._held += data
        while not self._ended and (size := self._next()):
            message = bytes(self._held[:size])
            del self._held[:size]
            kind = _message(message[8:])[0]
            if kind == _BATCH and self._common:
                yield from self._rows(message)
            elif kind in (_SCHEMA, _DICTIONARY):
                if kind == _SCHEMA and len(message) > self._most * _SCHEMA_BYTES:
                    detail = f"The schema has {len(message):,} bytes, as of more than {self._most:,} columns"
                    raise Problem(422, "the columns cannot be used", f"{detail} (max_columns).")
                self._common.append(message)
            else:
                raise _not_arrow("There is a message of another kind.")

    def end(self) -> Iterator[Item | None]:
        """Nothing: a batch that is not complete is an error."""
        if self._held and not self._ended:
            raise _not_arrow("It ends within a message.")
        if not self._common:
            raise _not_arrow("There is no schema.")
        yield from ()

    def _next(self) -> int:
        """How long the next message is, if all of it is there; else 0."""
        if len(self._held) < 8:
            return 0
        mark, length = struct.unpack_from("<Ii", self._held)
        if mark != 0xFFFFFFFF or length < 0:
            raise _not_arrow("A message does not begin as it should; send the stream format (pyarrow.ipc.new_stream).")
        if length == 0:
            self._ended = True
            return 0
        if len(self._held) < 8 + length:
            return 0
        whole = 8 + length + _message(bytes(self._held[8 : 8 + length]))[1]
        return whole if len(self._held) >= whole else 0

    def _rows(self, message: bytes) -> Iterator[Item | None]:
        import pyarrow as pa  # noqa: PLC0415  (few requests are Arrow)

        try:
            end = b"\xff\xff\xff\xff\x00\x00\x00\x00"
            with pa.ipc.open_stream(b"".join([*self._common, message, end])) as stream:
                batch = stream.read_next_batch()
            yield PAUSE
            batch.validate(full=True)
            yield PAUSE
            names = batch.schema.names
        except (pa.ArrowException, ValueError, OSError, StopIteration) as error:
            raise _not_arrow(str(error)) from None
        if batch.num_rows > 8 * len(message):
            raise _not_arrow("It claims more rows than it has bytes for.")
        _check_columns(names, self._label, self._most)
        yield PAUSE
        arrow_columns.check_types(batch.schema, self._label)
        yield PAUSE
        special, step = arrow_columns.not_plain(batch.schema), max(1, min(PART, _VALUES // max(1, len(names))))
        columns = batch.columns
        for start in range(0, batch.num_rows, step):
            part: list[list[Any]] = []
            for place, column in enumerate(columns):
                try:
                    values = column.slice(start, step)
                    part.append((arrow_columns.plain(values) if place in special else values).to_pylist())
                except (pa.ArrowException, ValueError, OverflowError) as error:
                    raise _not_arrow(str(error)) from None
                if place % _PAUSES == _PAUSES - 1:
                    yield PAUSE
            for row in zip(*part, strict=True):
                try:
                    yield _line(dict(zip(names, row, strict=True)), self._label, _value)
                except ValueError as error:
                    yield Problem(422, "the row cannot be used", str(error))


def _value(value: Any) -> Any:
    if isinstance(value, float):
        if math.isinf(value):
            raise ValueError(f"{value} is not a number that can be used.")
        return None if math.isnan(value) else value
    return value


_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3  # kinds of messages
_SCHEMA_BYTES = 512  # at most, for each column: to read a schema takes time


def _message(metadata: bytes) -> tuple[int, int]:
    """The kind of an Arrow message, and how long its body is: two fields of a flatbuffer."""
    try:
        (table,) = struct.unpack_from("<I", metadata)
        kind = _field(metadata, table, 1, "<B")
        header = _field(metadata, table, 2, "<I")
        length = int(_field(metadata, table, 3, "<q") or 0)
        if kind in (_DICTIONARY, _BATCH) and header is not None:
            header += table + _place(metadata, table, 2)
            inner = header if kind == _BATCH else _inner(metadata, header)
            if _place(metadata, inner, 3):
                raise Problem(415, "compressed", "Send Arrow without compression of its buffers.")
    except struct.error:
        raise _not_arrow("A message cannot be read.") from None
    if length < 0:
        raise _not_arrow("A message has a negative length.")
    return int(kind or 0), length


def _inner(metadata: bytes, dictionary: int) -> int:
    """Where the batch of a dictionary begins."""
    place = dictionary + _place(metadata, dictionary, 1)
    return int(place + struct.unpack_from("<I", metadata, place)[0])


def _place(buffer: bytes, table: int, field: int) -> int:
    """Where in a table a field is; 0 if it is not there."""
    (back,) = struct.unpack_from("<i", buffer, table)
    (size,) = struct.unpack_from("<H", buffer, table - back)
    return int(struct.unpack_from("<H", buffer, table - back + 4 + 2 * field)[0]) if 4 + 2 * field < size else 0


def _field(buffer: bytes, table: int, field: int, form: str) -> Any:
    place = _place(buffer, table, field)
    return struct.unpack_from(form, buffer, table + place)[0] if place else None


def _not_arrow(why: str) -> Problem:
    return Problem(400, "this is not an Arrow stream", why)


BODIES: dict[str, Callable[[str, int, RowLimits], Body]] = {
    LINES: lambda *_: Lines(),
    CSV: Table,
    ARROW: lambda label, most, _: Batches(label, most),
}
