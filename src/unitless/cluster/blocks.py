"""The blocks that the data is cut into: consecutive rows of one file, which any machine can read on its own."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import inputs
from ..data import Batch, Position, Reader, ReadOptions, Schema, Source, open_source
from ..data.arrow import pyarrow
from ..data.sources.file_identity import identity_of
from ..data.sources.files import File
from ..data.sources.in_memory import Arrays, Frames, Mappings
from ..data.sources.located_rows import Chunk, Place
from ..data.sources.open_data import format_of, open_files
from ..data.sources.row_places import RowPlaces
from ..data.sources.scan import Scan
from ..errors import InputError

HEADS = 64  # samples of consecutive rows, spread over all data, from which columns and task are inferred
HEAD_ROWS = 256  # rows of each sample; fewer where a table has very many columns
MOST_HEAD_ROWS = 4096  # rows of each sample where there are few places to read from
MANY_GROUPS = 8  # row groups of a file; beyond that only their first rows are read
HEAD_VALUES = 1 << 20  # in each sample, at most
MOST_PLACES = 1 << 20  # in all files together
MOST_PLACES_PER_FILE = 1 << 14
TOGETHER = 8192  # rows of several blocks that are read as one table


@dataclass(frozen=True)
class DataSpec:
    """Everything that a worker needs to read the data.

    Args:
        options: how the data is read; the format is already known.
        files: the files to read; empty for data in memory.
        memory: the data itself, if it is in memory; otherwise None.
        schema: the columns, once they are inferred.
        target: labels that are given separately from data in memory.
        weight: weights that are given separately from data in memory.
        groups: groups that are given separately from data in memory.
    """

    options: ReadOptions
    files: tuple[File, ...] = ()
    memory: Source | None = None
    schema: Schema | None = None
    target: Any = None
    weight: Any = None
    groups: Any = None

    @classmethod
    def of(
        cls, source: Any, options: ReadOptions, target: Any = None, weight: Any = None, groups: Any = None
    ) -> DataSpec:
        """Build the description of any source that `train` takes, if it is not a stream."""
        opened = open_source(source, options)
        if not opened.at_hand:
            raise InputError(
                f"{opened.name} can be read only once, as it comes; rows that are dealt to several workers must be in "
                "files, in a frame or in a list"
            )
        if opened.files:
            files = tuple(opened.files)
            return cls(replace(options, format=format_of(files[0], options).name), files)
        separate = {"target": target, "weight": weight, "groups": groups}
        for name, value in separate.items():
            separate[name] = value if value is None or isinstance(value, list) else inputs.as_array(value, name)
        return cls(options, memory=opened.as_arrow() if isinstance(opened, Frames) else opened, **separate)

    @property
    def family(self) -> str:
        """The kind of data: a table, rows of named features, or numbered columns."""
        return self.source().family

    @property
    def parts(self) -> int:
        """The number of files to survey; data in memory counts as one."""
        return max(1, len(self.files))

    def source(self) -> Source:
        """The files or the data in memory as a source."""
        return open_files(list(self.files), self.options) if self.memory is None else self.memory

    def scan(self) -> Scan:
        """A scan for one task or thread. A key that the schema does not have is an error."""
        keys = None if self.schema is None else {*self.schema.kinds, *self.schema.not_features}
        return self.source().open(self.schema, keys=keys)

    def reader(self) -> Reader:
        """A reader with the inferred schema."""
        return Reader(
            self.source(),
            self.options,
            self.schema,
            self.target,
            self.weight,
            drop_invalid=True,
            groups=self.groups,
        )

    def digest(self) -> str:
        """A digest of the options and the schema with which the data is read."""
        said = [(field.name, getattr(self.options, field.name)) for field in fields(self.options) if field.compare]
        return hashlib.blake2b(repr(said).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Head:
    """A sample of consecutive rows, from which columns and task are inferred.

    Its position, and a table or its labels.
    """

    place: Place
    rows: int
    table: Any = None
    labels: Any = None  # for data that is not a table: the labels as in the data


@dataclass(frozen=True)
class FileSurvey:
    """The results of reading one file once.

    Args:
        name: the name of the file in messages.
        places: the number of rows, and the positions where reading can begin.
        columns: the names of a table's columns and their Arrow types.
        heads: samples from several places; without rows, only with column types, if other files have enough rows.
        identity: a digest of the content and of the reading options.
        file: the name, size and digest of the file; None for data in memory.
    """

    name: str
    places: RowPlaces
    columns: tuple[tuple[str, Any], ...]
    heads: tuple[Head, ...]
    identity: str
    file: list[Any] | None = None

    @property
    def rows(self) -> int:
        """The number of rows in the file, including rows that cannot be read."""
        return self.places.rows

    @property
    def numbers(self) -> int:
        """The number of row numbers that the file uses: its rows, or its lines."""
        return int(self.places.counts[-1])


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows of one file; `before` is the number of row numbers of earlier files."""

    start: Position
    end: Position
    rows: int
    before: int


@dataclass
class BlockBatch(Batch):
    """A batch with the number of row numbers of earlier files."""

    before: int = 0


def survey(spec: DataSpec, file: int) -> FileSurvey:
    """Survey one file: its number of rows, the positions where reading can begin, and samples of its rows."""
    source = spec.source()
    files = spec.parts
    places = source.open().places(file, max(16, min(MOST_PLACES_PER_FILE, MOST_PLACES // files)))
    name = source.files[file].name if source.files else ""
    if not places.rows:
        raise InputError(f"{name or 'the data'} has no rows")
    for what, separate in (("target", spec.target), ("weight", spec.weight), ("groups", spec.groups)):
        if separate is not None and len(separate) != places.rows:
            raise InputError(f"{what} has {len(separate):,} values, but the data has {places.rows:,} rows")
    heads = _heads(spec, places, max(1, HEADS // files))
    columns: dict[str, Any] = {}
    for table in (head.table for head in heads if head.table is not None):
        columns |= {name: table.schema.field(name).type for name in table.column_names if name not in columns}
    if files > HEADS and file * HEADS // files == (file - 1) * HEADS // files:
        heads = ()
    known = identity_of(source.files[file]) if source.files else None
    said = [known or _digest_of_rows(spec, places.rows), places.rows, spec.digest()]
    identity = hashlib.blake2b(repr(said).encode(), digest_size=16).hexdigest()
    return FileSurvey(name, places, tuple(columns.items()), heads, identity, known)


def _heads(spec: DataSpec, places: RowPlaces, heads: int) -> tuple[Head, ...]:
    """Samples of rows from evenly spaced places."""
    heads = min(heads, max(1, places.rows // HEAD_ROWS))
    last = len(places.offsets) - 1
    if places.between and places.direct and last < MANY_GROUPS:
        starts = [Position(places.file, row, row) for row in (k * places.rows // heads for k in range(heads))]
    else:
        starts = [places.position(k) for k in sorted({k * last // heads for k in range(heads)})]
    rows = min(MOST_HEAD_ROWS, HEAD_ROWS * heads // len(starts))  # fewer places give larger samples
    source = spec.source()
    scan = source.open(reuse=not places.between or (len(places.offsets) <= MANY_GROUPS and places.direct))
    return tuple(_head(spec, source, scan, places, start, rows) for start in starts)


def _head(spec: DataSpec, source: Source, scan: Scan, places: RowPlaces, start: Position, rows: int) -> Head:
    """A sample of rows that begins at a position."""
    if places.between:
        last = min(places.rows, start.offset + rows)
        end = Position(start.file, last, last)
    else:
        before = places.before[np.searchsorted(places.offsets, start.offset)]
        end = places.position(min(int(np.searchsorted(places.before, before + rows)), len(places.offsets) - 1))
    found = next((chunk for chunk in scan.chunks(start, end) if chunk.rows), None)
    return Head(Place("", "row", 1), 0) if found is None else _head_of(spec, source, found, rows)


def _head_of(spec: DataSpec, source: Source, chunk: Chunk, rows: int) -> Head:
    rows = min(chunk.rows, rows)
    if spec.target is not None:
        first = chunk.position.offset - chunk.rows
        labels: Any = spec.target[first : first + rows]
    elif isinstance(source, Mappings):
        labels = [row.get(spec.options.target) if isinstance(row, Mapping) else None for row in chunk.content[:rows]]
    else:
        labels = None
    if source.family == "table":
        rows = max(1, min(rows, HEAD_VALUES // max(1, chunk.content.num_columns)))
        table = chunk.content.take(np.arange(rows))  # a slice would keep the whole table in memory
        return Head(chunk.place, rows, table, None if labels is None else labels[:rows])
    if labels is None and not isinstance(source, Arrays):
        labels = chunk.content.label[:rows]
    return Head(chunk.place, rows, None, labels)


def _digest_of_rows(spec: DataSpec, rows: int) -> list[Any]:
    """A digest of the first and last rows of data in memory."""
    scan = spec.scan()
    found = hashlib.blake2b(digest_size=16)
    for first in (0, max(0, rows - 64)):
        last = min(rows, first + 64)
        for chunk in scan.chunks(Position(0, first, first), Position(0, last, last)):
            content = chunk.content
            if hasattr(content, "to_pylist"):
                content = content.to_pylist()
            elif hasattr(content, "toarray"):
                content = [content.data.tolist(), content.indices.tolist(), content.indptr.tolist()]
            elif isinstance(content, np.ndarray):
                content = content.tolist()
            found.update(repr(content).encode(errors="replace"))
        for separate in (spec.target, spec.weight):
            if separate is not None:
                found.update(repr(np.asarray(separate[first:last]).tolist()).encode(errors="replace"))
    return [found.hexdigest()]


def all_blocks(surveys: Iterable[FileSurvey]) -> tuple[Block, ...]:
    """All rows of all files; each file is one block."""
    found: list[Block] = []
    before = 0
    for one in surveys:
        places = one.places
        found.append(Block(places.position(0), places.position(len(places.offsets) - 1), one.rows, before))
        before += one.numbers
    return tuple(found)


def batches(spec: DataSpec, blocks: Iterable[Block]) -> Iterator[BlockBatch]:
    """The rows of blocks in their order, each row once, as the ordinary reader returns them."""
    reader = spec.reader()
    for before, chunks in itertools.groupby(_chunks(spec.scan(), blocks), key=lambda found: found[0]):
        for chunk in _together(chunk for _, chunk in chunks):
            yield BlockBatch(**vars(reader.batch(chunk)), before=before)


def _chunks(scan: Scan, blocks: Iterable[Block]) -> Iterator[tuple[int, Chunk]]:
    """The chunks of blocks, each with the number of row numbers of earlier files."""
    for start, end, before in _joined(blocks):
        for chunk in scan.chunks(start, end):
            yield before, chunk


def _together(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Concatenate small tables of one file, because larger tables take less time for each row."""
    waiting: list[Chunk] = []
    for chunk in chunks:
        plain = hasattr(chunk.content, "combine_chunks") and chunk.place.numbers is None and not chunk.bad_count
        if waiting and not (
            plain
            and sum(one.rows for one in waiting) + chunk.rows <= TOGETHER
            and chunk.content.schema.equals(waiting[0].content.schema)  # JSON lines may have other keys
        ):
            yield _one_chunk(waiting)
            waiting = []
        if plain:
            waiting.append(chunk)
        else:
            yield chunk
    if waiting:
        yield _one_chunk(waiting)


def _one_chunk(chunks: list[Chunk]) -> Chunk:
    if len(chunks) == 1:
        return chunks[0]
    table = pyarrow().concat_tables([chunk.content for chunk in chunks])
    first = min(chunk.place.first for chunk in chunks)
    numbers = np.concatenate([np.arange(chunk.rows) + (chunk.place.first - first) for chunk in chunks])
    return replace(
        chunks[-1], content=table, rows=table.num_rows, place=replace(chunks[0].place, first=first, numbers=numbers)
    )


def _joined(blocks: Iterable[Block]) -> Iterator[tuple[Position, Position, int]]:
    """Join blocks that are consecutive in a file, so that they are read at once."""
    found: list[Any] = []
    for block in blocks:
        if found and found[1] == block.start:
            found[1] = block.end
            continue
        if found:
            yield found[0], found[1], found[2]
        found = [block.start, block.end, block.before]
    if found:
        yield found[0], found[1], found[2]


def row_numbers(batch: BlockBatch) -> NDArray[np.int64]:
    """The number of each row among the rows of all files, from 0. Lines without a row have numbers too."""
    place = batch.place
    numbers = np.arange(batch.rows) if place.numbers is None else np.asarray(place.numbers)
    return (batch.before + place.first - 1 + numbers).astype(np.int64)
