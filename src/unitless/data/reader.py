"""Reads a source in batches for a model: features, labels, weights, and the place of each row."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core, inputs
from ..errors import InputError, Option, OptionError, Phrase
from ..inputs import Float64
from .arrow import pyarrow
from .columns import tables
from .columns.row_reader import NamedRowReader, no_row
from .columns.schema import Schema
from .columns.table_schema import infer_schema
from .columns.written import InvalidValues
from .hashes import value_hashes
from .labels import Numbers, RawLabels, labels_of
from .read_options import ReadOptions, from_the_end
from .sources.byte_stream import never
from .sources.in_memory import Arrays, Frames, Mappings, one_array
from .sources.located_rows import Bad, Chunk, Place, Position
from .sources.scan import Scan
from .sources.source import FirstRows, Source
from .threads import prefetched

STREAM_ENDS = 2.0  # seconds in which a stream must notice that it should stop


@dataclass
class Batch:
    """Rows in the form that a model takes."""

    data: inputs.Input
    rows: int
    labels: RawLabels | None = None
    weight: Float64 | None = None
    place: Place = Place("", "row", 0)  # noqa: RUF009  (immutable)
    position: Position = Position()  # noqa: RUF009  (after the rows; immutable)
    consumed: int = 0
    bad: list[Bad] = field(default_factory=list)
    bad_count: int = 0
    bad_numbers: Sequence[int] = ()
    missing: Counter[str] = field(default_factory=Counter)
    invalid_values: dict[str, InvalidValues] = field(default_factory=dict)  # by column
    tags: list[str] | None = None
    note: str = ""  # a note for the user about the data before these rows
    original: Any = None  # if requested: all rows as they were, invalid ones included
    offset: Float64 | None = None  # is added to the score of each row
    groups: NDArray[np.uint64] | None = None  # a hash of each row's group, 0 for a row without one

    def part(self, first: int, last: int) -> Batch:
        """Return the rows from `first` up to, but not including, `last`."""
        keep = np.zeros(self.rows, bool)
        keep[first:last] = True
        return self.select(keep)

    def select(self, keep: NDArray[np.bool_]) -> Batch:
        """Return the rows where the mask `keep` is true."""
        if keep.all():
            return self
        at = np.flatnonzero(keep)
        return replace(
            self,
            data=inputs.take(self.data, keep),
            rows=len(at),
            labels=None if self.labels is None else self.labels.take(keep),
            weight=None if self.weight is None else self.weight[keep],
            offset=None if self.offset is None else self.offset[keep],
            groups=None if self.groups is None else self.groups[keep],
            place=self.place.take(at),
            tags=None if self.tags is None else [self.tags[i] for i in at],
        )


def frame_batch(frame: Any, schema: Schema, options: ReadOptions) -> Batch:
    """Return all rows of a frame as a batch, with the columns of the schema."""
    reader = Reader(Frames(frame, whole=True), options, schema, target_needed=False)
    batches = [reader.batch(chunk) for chunk in reader.scan().chunks()]
    return batches[0] if batches else Batch(inputs.NamedRows([]), 0)


class Reader:
    """Reads a source in batches.

    Args:
        source: the data.
        options: how the data is read.
        schema: the columns. Default: None, inferred from the first rows.
        target: labels that are given separately from the data. Default: None.
        weight: sample weights that are given separately from the data. Default: None.
        target_needed: whether the data must have labels.
        originals: whether batches also have their rows as they were.
        leave_out: whether row counters and identifier columns are left out.
        drop_invalid: whether infinite and too large numbers count as missing; otherwise the model refuses them.
        groups: the group of each row, given separately from the data. Default: None.
    """

    def __init__(
        self,
        source: Source,
        options: ReadOptions,
        schema: Schema | None = None,
        target: Any = None,
        weight: Any = None,
        target_needed: bool = True,
        originals: bool = False,
        leave_out: bool = True,
        drop_invalid: bool = False,
        groups: Any = None,
    ) -> None:
        self.source, self.options, self.schema = source, options, schema
        self._target, self._weight, self._groups, self._needed = target, weight, groups, target_needed
        self.given = target, weight, groups  # given separately from the data
        self._originals, self._leave_out, self._drop_invalid = originals, leave_out, drop_invalid
        self._scan: Scan | None = None

    def scan(self, stopped: Callable[[], bool] = never) -> Scan:
        """Return the scan of the source by the schema, which is now inferred if it is not known."""
        if self._scan is None:
            first = None
            if self.schema is None and self.source.family == "table":
                first = self.source.first_rows(stopped)
                self.schema = None if first.table is None else self._inferred(first)
            elif self.schema is None:
                self.schema = self.schema_of_rows()
            self._scan = self.source.open(self.schema, first, originals=self._originals)
        return self._scan

    @property
    def found(self) -> dict[str, Any]:
        """Reading options that were inferred from the data, and that apply to later data of the same kind too."""
        return {} if self._scan is None else self._scan.found

    @property
    def remarks(self) -> list[Phrase]:
        """Notes for the user about the data, in addition to `found`."""
        return [] if self._scan is None else self._scan.remarks

    @property
    def idle(self) -> list[str]:
        """Names in `ignore` or `only` that do not exist in the data; empty before all data has been read."""
        return [] if self._scan is None else self._scan.idle

    def batches(self, start: Position | None = None, stopped: Callable[[], bool] = never) -> Iterator[Batch]:
        """Return an iterator over batches.

        The next chunk is read while the current one is in use.

        Args:
            start: the position from which to read. Default: None, the beginning.
            stopped: returns whether to end early.
        """
        if not self.source.reads_ahead:
            for batch in self._batches(start, never):
                yield batch
                if stopped():
                    return
            return
        if not self.source.live:
            yield from prefetched(lambda: self._batches(start, never), stopped)
            return
        ending = _Ending(stopped)
        yield from prefetched(lambda: self._batches(start, ending.asked), ending.is_overdue, stop=ending.unwanted)

    def _batches(self, start: Position | None, stopped: Callable[[], bool]) -> Iterator[Batch]:
        for chunk in self.scan(stopped).chunks(start or Position(), stopped=stopped):
            yield self.batch(chunk)

    def _inferred(self, first: FirstRows) -> Schema:
        return infer_schema(
            first.table,
            self.options,
            first.place.file or "the data",
            self._needed and self._target is None,
            self.source.columns_may_come_later,
            leave_out=self._leave_out,
            labels=self._target,
        )

    def schema_of_rows(self) -> Schema:
        """Return the schema of data that is not a table; it does not depend on the rows."""
        family = self.source.family
        if family == "named" and isinstance(self.source, Mappings):
            if self._needed and self.options.target is None and self._target is None:
                raise OptionError(Phrase("say which key of the mappings is to be predicted, with ", Option("target")))
            for name in ("words", "ngrams"):
                if getattr(self.options, name):
                    what = "words" if name == "words" else "n-grams"
                    raise OptionError(
                        f"mappings have features by name, and no columns of {what}", option=name, advice="give a frame"
                    )
            named = {what: getattr(self.options, what) for what in ("target", "weight", "offset", "groups")}
            return Schema("named", **{what: from_the_end(name, self.source.first_keys) for what, name in named.items()})
        chosen = () if self.source.chooses_features else ("ignore", "only")
        for name in ("target", "weight", "offset", "groups", *chosen, "text", "words", "ngrams"):
            if getattr(self.options, name):
                raise OptionError(
                    f"names columns; {self.source.name} has none: its format names labels and features", option=name
                )
        if family == "columns" and self._needed and self._target is None:
            raise OptionError(Phrase("give the labels of the array separately, one per row, as ", Option("target")))
        return Schema("columns" if family == "columns" else "named")

    def batch(self, chunk: Chunk) -> Batch:
        """Convert a chunk of the source to a batch."""
        batch = Batch(
            inputs.NamedRows([]),
            chunk.rows,
            None,
            None,
            chunk.place,
            chunk.position,
            chunk.consumed,
            chunk.bad,
            chunk.bad_count,
            chunk.bad_numbers,
            note=chunk.note,
        )
        if self._originals:
            batch.original = chunk.content if chunk.original is None else chunk.original
            if self.schema is not None and self.source.family == "table" and chunk.rows:
                batch.original = tables.with_types(batch.original, self.schema)
        if not chunk.rows:
            return batch
        assert self.schema is not None
        if isinstance(chunk.content, _core.TextRows):
            batch.data = inputs.TextRows(chunk.content)
            batch.labels = Numbers(chunk.content.label)
            batch.weight = chunk.content.weight if chunk.content.weighted else None
            batch.offset = offset if len(offset := chunk.content.offset) else None
            batch.tags = chunk.content.tags
        elif isinstance(self.source, Arrays):
            batch.data = inputs.read(chunk.content)
        elif isinstance(self.source, Mappings):
            self._mappings(chunk, batch)
        else:
            self._table(chunk, batch)
        if self._target is not None:
            batch.labels = labels_of(_beside(self._target, chunk))
            if len(batch.labels) != chunk.rows:
                raise InputError(f"target has {len(self._target)} values, but the data has more rows")
        if self._weight is not None:
            batch.weight = one_array(_beside(self._weight, chunk), chunk.rows, "weight").astype(np.float64)
        if self._groups is not None:
            batch.groups = value_hashes(labels_of(_beside(self._groups, chunk)))
            if len(batch.groups) != chunk.rows:
                raise InputError(f"groups has {len(self._groups)} values, but the data has more rows")
        return batch

    def _table(self, chunk: Chunk, batch: Batch) -> None:
        assert self.schema is not None
        try:
            policy = self.options.policy
            columns = tables.features(chunk.content, self.schema, chunk.place, policy, self._drop_invalid)
            batch.data, batch.missing, batch.invalid_values = columns.frame, columns.missing, columns.invalid_values
            batch.labels, invalid = tables.labels(chunk.content, self.schema, self.options.policy)
            if invalid is not None and self.schema.target is not None:
                batch.invalid_values[self.schema.target] = invalid
            batch.weight = tables.weights(chunk.content, self.schema) if self._needed else None
            batch.offset = tables.offsets(chunk.content, self.schema)
            if self.options.groups is not None:
                batch.groups = tables.groups(chunk.content, self.schema, self.options.policy)
        except InputError as error:
            raise error.at(file=chunk.place.file) from None
        except (pyarrow().ArrowException, UnicodeError) as error:
            reason = str(error).partition("\n")[0][:200]
            raise InputError(f"the data is damaged here or further on: {reason}", **chunk.place.at(0)) from None

    def _mappings(self, chunk: Chunk, batch: Batch) -> None:
        assert self.schema is not None
        rows, labels, weights, offsets = [], [], [], []
        schema, options = self.schema, self.options
        reader = NamedRowReader(options.policy, options.text, apart=schema.not_features, uses=options.uses)
        for number, row in enumerate(chunk.content):
            if not isinstance(row, Mapping):
                raise no_row(row).at(**chunk.place.at(number))
            try:
                features, absent = reader.numbers_and_missing(reader.used(row))
            except InputError as error:
                raise error.at(**chunk.place.at(number)) from None
            batch.missing.update(absent)
            rows.append(features)
            if schema.target is not None:
                labels.append(row.get(schema.target))
            if schema.weight is not None:
                weights.append(row.get(schema.weight, 1.0))
            if schema.offset is not None:
                if (offset := row.get(schema.offset)) is None:
                    raise InputError(f"the offset {schema.offset!r} is missing", **chunk.place.at(number))
                offsets.append(offset)
        batch.data = inputs.NamedRows(rows)
        batch.labels = labels_of(labels) if schema.target is not None else None
        batch.weight = inputs.vector(weights, "weight", len(rows)) if schema.weight is not None else None
        batch.offset = inputs.vector(offsets, "offset", len(rows)) if schema.offset is not None else None
        if options.groups is not None:
            batch.groups = value_hashes(labels_of([row.get(schema.groups) for row in chunk.content]))


class _Ending:
    """Stops a stream. Rows that have arrived before the stop are still returned.

    Args:
        stopped: returns whether the user wants to stop.
    """

    def __init__(self, stopped: Callable[[], bool]) -> None:
        self._stopped = stopped
        self.unwanted = threading.Event()  # set when no more rows are wanted
        self._noticed = False
        self._since: float | None = None

    def asked(self) -> bool:
        """Return whether the stream should end; the stream calls this while it waits."""
        self._noticed = self.unwanted.is_set() or self._stopped()
        return self._noticed

    def is_overdue(self) -> bool:
        """Return whether the stream has not noticed the stop in time, because its waiting cannot be interrupted."""
        if not self._stopped() or self._noticed:
            return False
        self._since = self._since or time.monotonic()
        return time.monotonic() > self._since + STREAM_ENDS


def _beside(values: Any, chunk: Chunk) -> Any:
    """Return the part of separately given labels or weights that belongs to the rows of a chunk."""
    first, numbers = chunk.place.first - 1, chunk.place.numbers
    if numbers is None:
        return values[first : first + chunk.rows]
    return (
        [values[first + int(row)] for row in numbers]
        if isinstance(values, list)
        else values[first + np.asarray(numbers)]
    )
