"""From a source to batches that a model can take: features, labels, weights, and where each row stands."""

from __future__ import annotations

import math
import os
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import inputs
from ..errors import InputError, Option, OptionError, Phrase
from ..inputs import Float64
from . import tables
from .arrow import pyarrow
from .columnar import ArrowFiles, Parquet
from .delimited import Delimited
from .files import File, Text, find
from .in_memory import Arrays, Frames, Mappings, is_frame, one_array
from .json_lines import JsonLines
from .labels import Numbers, RawLabels, Texts
from .located_rows import Bad, Piece, Place, Position
from .named_text import NamedText
from .read_options import ALLOW_MISSING, ReadOptions
from .schema import Schema, decide
from .source import Source

T = TypeVar("T")


@dataclass
class Batch:
    """Rows as a model takes them."""

    data: inputs.Input
    rows: int
    labels: RawLabels | None
    weight: Float64 | None
    place: Place
    position: Position  # after it
    consumed: int
    bad: list[Bad]
    bad_count: int
    bad_numbers: Sequence[int] = ()
    missing: Counter[str] = field(default_factory=Counter)
    tags: list[str] | None = None
    original: Any = None  # all rows as they were, bad ones included, if they are to be kept

    def part(self, first: int, last: int) -> Batch:
        """The rows from one to another."""
        keep = np.zeros(self.rows, bool)
        keep[first:last] = True
        return self.select(keep)

    def select(self, keep: NDArray[np.bool_]) -> Batch:
        """Some of the rows."""
        if keep.all():
            return self
        at = np.flatnonzero(keep)
        numbers = at if self.place.numbers is None else np.asarray(self.place.numbers)[at]
        return replace(
            self,
            data=inputs.take(self.data, keep),
            rows=len(at),
            labels=None if self.labels is None else self.labels.take(keep),
            weight=None if self.weight is None else self.weight[keep],
            place=replace(self.place, numbers=numbers),
            tags=None if self.tags is None else [self.tags[i] for i in at],
        )


def frame_features(frame: Any, training: dict[str, Any]) -> inputs.Input:
    """A frame's columns as the model that was trained so knows them."""
    schema = Schema.read(training.get("schema"))
    if schema.family != "table":
        return inputs.read(frame)
    reading = training.get("reading") or {}
    options = ReadOptions(dates=reading.get("dates", "error"), missing=reading.get("missing", "absent"))
    batches = list(Reader(Frames(frame, whole=True), options, schema, target_needed=False)._batches(Position()))
    return batches[0].data if batches else inputs.NamedRows([])


def open_source(source: Any, options: ReadOptions) -> Source:
    """Whatever holds data: a path, glob, folder or "-", several of those, a frame, a matrix, mappings."""
    if isinstance(source, Source):
        return source
    if isinstance(source, str | os.PathLike):
        return _files(find(source), options)
    if is_frame(source):
        return Frames(source)
    if isinstance(source, np.ndarray) or hasattr(source, "tocsr"):
        return Arrays(source)
    if isinstance(source, Mapping):
        raise InputError("the data is one mapping; give a list of them, one per row")
    if isinstance(source, Sequence) and source:
        if all(isinstance(one, str | os.PathLike) for one in source):
            return _files([file for one in source for file in find(one)], options)
        if not isinstance(source[0], Mapping):
            return Arrays(source)
    if isinstance(source, Iterable):
        return Mappings(source)
    raise InputError(f"the data is {type(source).__name__}; give a file's name, a frame, a matrix or mappings")


def _files(files: list[File], options: ReadOptions) -> Source:
    formats = [options.format or file.suffix_format or sniffed(file, options) for file in files]
    if len(set(formats)) > 1:
        a, b = sorted(set(formats))[:2]
        raise InputError(f"the files are of several formats, {a} and {b}; give those of one at a time")
    kind = formats[0]
    if kind in ("csv", "tsv"):
        return Delimited(files, options, "\t" if kind == "tsv" else None)
    if kind == "jsonl":
        return JsonLines(files, options)
    if kind in ("vw", "libsvm"):
        return NamedText(files, options, libsvm=kind == "libsvm")
    return Parquet(files, options) if kind == "parquet" else ArrowFiles(files, options)


def sniffed(file: File, options: ReadOptions) -> str:
    """The format that a file's content shows."""
    if file.size is None:
        raise OptionError(f"{file.name}: say which format it has (csv, jsonl, vw, ...)")
    text = Text(file, options.encoding)
    head = text.peek(64 << 10)
    text.close()
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ARROW1") or head.startswith(b"\xff\xff\xff\xff"):
        return "arrow"
    line = next((line for line in head.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()), b"").strip()
    if line.startswith(b"{"):
        return "jsonl"
    words = line.split(b"#")[0].split()
    if len(words) > 1 and all(_is_pair(word) for word in words[1:]):
        return "libsvm"
    before, bar, after = line.partition(b"|")
    if bar and len(before.split()) <= 3 and (b" " in after or b":" in after) and b"," not in before:
        return "vw"
    return "csv"


def _is_pair(word: bytes) -> bool:
    index, colon, _ = word.partition(b":")
    return bool(colon) and index.isdigit()


# ------------------------------------------------------------------------------------------------------------- batches


class Reader:
    """Batches of a source. The schema is decided from the first piece, unless it is known already."""

    def __init__(
        self,
        source: Source,
        options: ReadOptions,
        schema: Schema | None = None,
        target: Any = None,
        weight: Any = None,
        target_needed: bool = True,
        keep: bool = False,
    ) -> None:
        self.source, self.options, self.schema = source, options, schema
        self._target, self._weight, self._needed = target, weight, target_needed
        source.keep = keep
        if schema is not None:
            source.hold(schema)

    def batches(self, start: Position | None = None, stopped: Callable[[], bool] = lambda: False) -> Iterator[Batch]:
        """From a position on; the next piece is read while the present one is in use. It ends early once `stopped`."""
        if isinstance(self.source, Mappings):  # they may come from anything, which may not like another thread
            for batch in self._batches(start or Position()):
                yield batch
                if stopped():
                    return
            return
        yield from prefetched(lambda: self._batches(start or Position()), stopped)

    def _batches(self, start: Position) -> Iterator[Batch]:
        for piece in self.source.pieces(start):
            if piece.rows and self.schema is None:
                self.schema = self._decided(piece)
                self.source.hold(self.schema)
            yield self._batch(piece)

    def _decided(self, piece: Piece) -> Schema:
        family = self.source.family
        if family == "table":
            if isinstance(self.source, JsonLines):
                self.source.remember(piece.content)
            needed = self._needed and self._target is None
            later = isinstance(self.source, JsonLines)
            return decide(piece.content, self.options, piece.place.file or "the data", needed, later)
        if family == "named" and isinstance(self.source, Mappings):
            if self._needed and self.options.target is None and self._target is None:
                raise OptionError(Phrase("say which key of the mappings is to be predicted, with ", Option("target")))
            return Schema("named", target=self.options.target, weight=self.options.weight)
        for name in ("target", "weight", "ignore", "only", "text"):
            if getattr(self.options, name):
                raise OptionError(
                    f"names columns; {self.source.name} has none: its format says what is what", option=name
                )
        if family == "columns" and self._needed and self._target is None:
            raise OptionError(Phrase("give the labels beside the array, one per row, as ", Option("target")))
        return Schema("columns" if family == "columns" else "named")

    def _batch(self, piece: Piece) -> Batch:
        batch = Batch(
            inputs.NamedRows([]),
            piece.rows,
            None,
            None,
            piece.place,
            piece.position,
            piece.consumed,
            piece.bad,
            piece.bad_count,
            piece.bad_numbers,
        )
        if self.source.keep:
            batch.original = piece.content if piece.original is None else piece.original
        if not piece.rows:
            return batch
        assert self.schema is not None
        if isinstance(self.source, NamedText):
            batch.data = inputs.TextRows(piece.content)
            batch.labels = Numbers(piece.content.label)
            batch.weight = piece.content.weight if piece.content.weighted else None
            batch.tags = piece.content.tags
        elif isinstance(self.source, Arrays):
            batch.data = inputs.read(piece.content)
        elif isinstance(self.source, Mappings):
            self._mappings(piece, batch)
        else:
            self._table(piece, batch)
        first = piece.position.offset - piece.rows
        if self._target is not None:
            batch.labels = labels_of(self._target[first : first + piece.rows])
            if len(batch.labels) != piece.rows:
                raise InputError(f"target has {len(self._target)} values, but the data has more rows")
        if self._weight is not None:
            batch.weight = one_array(self._weight[first : first + piece.rows], piece.rows, "weight").astype(np.float64)
        return batch

    def _table(self, piece: Piece, batch: Batch) -> None:
        assert self.schema is not None
        try:
            columns = tables.features(piece.content, self.schema, piece.place, self.options.missing == "absent")
            batch.data, batch.missing = columns.frame, columns.missing
            batch.labels = tables.labels(piece.content, self.schema)
            batch.weight = tables.weights(piece.content, self.schema) if self._needed else None
        except InputError as error:
            where = piece.place.file
            raise error.at(file=where) from None
        except (pyarrow().ArrowException, UnicodeError) as error:
            reason = str(error).partition("\n")[0][:200]
            raise InputError(f"the data is damaged here or further on: {reason}", **piece.place.at(0)) from None

    def _mappings(self, piece: Piece, batch: Batch) -> None:
        assert self.schema is not None
        rows, labels, weights = [], [], []
        schema, options = self.schema, self.options
        for number, row in enumerate(piece.content):
            if not isinstance(row, Mapping):
                raise InputError(
                    f"it is {type(row).__name__}, not a mapping of names to values", **piece.place.at(number)
                )
            plain, absent = named(row, schema, options, piece.place, number)
            batch.missing.update(absent)
            rows.append(plain)
            if schema.target is not None:
                labels.append(row.get(schema.target))
            if schema.weight is not None:
                weights.append(row.get(schema.weight, 1.0))
        batch.data = inputs.NamedRows(rows)
        batch.labels = labels_of(labels) if schema.target is not None else None
        batch.weight = inputs.vector(weights, "weight", len(rows)) if schema.weight is not None else None


def named(
    row: Mapping[str, Any], schema: Schema, options: ReadOptions, place: Place, number: int
) -> tuple[dict[str, float], list[str]]:
    """A mapping's features: numbers as they are, text and booleans as `name=value`; and the keys without a value."""
    plain: dict[str, float] = {}
    absent: list[str] = []
    for name, value in row.items():
        if name in (schema.target, schema.weight) or not options.uses(name):
            continue
        if isinstance(value, bool | np.bool_):
            plain[f"{name}={'true' if value else 'false'}"] = 1.0
        elif isinstance(value, str) or (name in options.text and value is not None):
            if value == "":
                absent.append(name)
            else:
                plain[f"{name}={value}"] = 1.0
        elif value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
            absent.append(name)
        else:
            plain[name] = value
    if absent and options.missing == "error":
        raise InputError(f"{absent[0]!r} has no value", advice=ALLOW_MISSING, **place.at(number))
    return plain, absent


def labels_of(values: Any) -> RawLabels:
    """Labels that a program holds, of any kind."""
    if isinstance(values, list):
        kinds = {type(value) for value in values if value is not None}
        if kinds and kinds <= {str, bool, np.bool_, np.str_}:
            return _texts(
                ["" if v is None else str(v).lower() if isinstance(v, bool | np.bool_) else v for v in values]
            )
        try:
            return Numbers(np.array([math.nan if v is None else float(v) for v in values]))
        except (TypeError, ValueError) as error:
            raise InputError(f"the target is neither all numbers nor all text: {error}") from None
    array = inputs.unmasked(inputs.as_array(values, "target"), "target")
    if array.ndim != 1:
        raise InputError(f"target has {array.ndim} dimensions; it must be a list of labels, one per row")
    if array.dtype.kind == "b":
        return Texts(array.astype(np.int32), ["false", "true"])
    if array.dtype.kind in "US":
        return _texts([str(value) for value in array.tolist()])
    if array.dtype.kind == "O":
        return labels_of(array.tolist())
    if array.dtype.kind not in "iuf":
        raise InputError(f"target is of type {array.dtype}; it must hold numbers or text")
    return Numbers(np.ascontiguousarray(array, dtype=np.float64))


def _texts(values: list[str]) -> Texts:
    number: dict[str, int] = {}
    codes = np.array([number.setdefault(value, len(number)) if value else -1 for value in values], dtype=np.int32)
    return Texts(codes, list(number))


def prefetched(
    make: Callable[[], Iterator[T]], stopped: Callable[[], bool] = lambda: False, depth: int = 2
) -> Iterator[T]:
    """The same items, made ahead of time in another thread; none once `stopped`, even if one is waited for."""
    items: queue.Queue[tuple[bool, Any]] = queue.Queue(depth)
    stop = threading.Event()

    def put(item: tuple[bool, Any]) -> bool:
        while not stop.is_set():
            try:
                items.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        iterator = make()
        try:
            for item in iterator:
                if not put((True, item)):
                    return
            put((False, None))
        except BaseException as error:  # whatever it is, it belongs to whoever asked for the items
            put((False, error))
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()

    thread = threading.Thread(target=work, name="unitless-reader", daemon=True)
    thread.start()
    try:
        while not stopped():
            try:
                more, item = items.get(timeout=0.2)
            except queue.Empty:
                continue
            if more:
                yield item
            elif item is None:
                return
            else:
                raise item
    finally:
        stop.set()
        thread.join(1.0)  # it may be waiting for a pipe that nobody writes to
