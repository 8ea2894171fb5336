"""From a source to batches that a model can take: features, labels, weights, and where each row stands."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import inputs
from ..errors import InputError, Option, OptionError, Phrase
from ..inputs import Float64
from . import tables
from .arrow import pyarrow
from .frame_reader import read_mapping
from .in_memory import Arrays, Frames, Mappings, one_array
from .labels import Numbers, RawLabels, labels_of
from .located_rows import Bad, Chunk, Place, Position
from .named_text import NamedText
from .prefetch import prefetched
from .read_options import ReadOptions
from .schema import Schema
from .source import Source
from .table_schema import decide
from .written import Odd

STREAM_ENDS = 2.0  # seconds that a stream has to notice that it is stopped


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
    odd: dict[str, Odd] = field(default_factory=dict)  # by column: values that are not what it holds
    tags: list[str] | None = None
    note: str = ""  # what is to be said of the data before these rows
    original: Any = None  # all rows as they were, bad ones included, if they are to be kept
    offset: Float64 | None = None  # of each row's score

    def part(self, first: int, last: int) -> Batch:
        """The rows from `first` up to, but without, `last`."""
        keep = np.zeros(self.rows, bool)
        keep[first:last] = True
        return self.select(keep)

    def select(self, keep: NDArray[np.bool_]) -> Batch:
        """The rows that are to be kept."""
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
            place=self.place.take(at),
            tags=None if self.tags is None else [self.tags[i] for i in at],
        )


def frame_features(frame: Any, training: dict[str, Any]) -> tuple[inputs.Input, Float64 | None]:
    """A frame's columns as the model that was trained so knows them, and the offsets of its rows."""
    schema = Schema.read(training["schema"])
    if schema.family != "table":
        return inputs.read(frame), None
    options = ReadOptions.settled(training["reading"])
    batches = list(Reader(Frames(frame, whole=True), options, schema, target_needed=False)._batches(Position()))
    return (batches[0].data, batches[0].offset) if batches else (inputs.NamedRows([]), None)


class Reader:
    """Batches of a source. The schema is decided from the first chunk, unless it is known already."""

    def __init__(
        self,
        source: Source,
        options: ReadOptions,
        schema: Schema | None = None,
        target: Any = None,
        weight: Any = None,
        target_needed: bool = True,
        keep: bool = False,
        leave_out: bool = True,
        drop_invalid: bool = False,
    ) -> None:
        self.source, self.options, self.schema = source, options, schema
        self._target, self._weight, self._needed = target, weight, target_needed
        self.beside = target, weight  # given beside the data, not in it
        source.keep, self._leave_out, self._drop_invalid = keep, leave_out, drop_invalid
        if schema is not None:
            source.hold(schema)

    def batches(self, start: Position | None = None, stopped: Callable[[], bool] = lambda: False) -> Iterator[Batch]:
        """From a position on; the next chunk is read while the present one is in use. It ends early once `stopped`."""
        # Mappings may come from anything, which may not like another thread.
        if isinstance(self.source, Mappings) or (isinstance(self.source, Frames) and self.source.small):
            for batch in self._batches(start or Position()):
                yield batch
                if stopped():
                    return
            return
        if not self.source.live:
            yield from prefetched(lambda: self._batches(start or Position()), stopped)
            return
        ending = _Ending(stopped)
        self.source.stopped = ending.asked
        yield from prefetched(lambda: self._batches(start or Position()), ending.is_overdue, stop=ending.unwanted)

    def _batches(self, start: Position) -> Iterator[Batch]:
        for chunk in self.source.chunks(start):
            if chunk.rows and self.schema is None:
                self.schema = self._decided(chunk)
                self.source.hold(self.schema)
                chunk = self.source.reread(chunk)  # noqa: PLW2901
            yield self.batch(chunk)

    def _decided(self, chunk: Chunk) -> Schema:
        family = self.source.family
        if family == "table":
            needed = self._needed and self._target is None
            return decide(
                self.source.to_decide(chunk.content),
                self.options,
                chunk.place.file or "the data",
                needed,
                self.source.columns_may_come_later,
                leave_out=self._leave_out,
            )
        return self.schema_of_rows()

    def schema_of_rows(self) -> Schema:
        """The schema of data that is not a table: it does not depend on what the rows are."""
        family = self.source.family
        if family == "named" and isinstance(self.source, Mappings):
            if self._needed and self.options.target is None and self._target is None:
                raise OptionError(Phrase("say which key of the mappings is to be predicted, with ", Option("target")))
            if self.options.words:
                raise OptionError(
                    "mappings have features by name, and no columns of words", option="words", advice="give a frame"
                )
            options = self.options
            return Schema("named", target=options.target, weight=options.weight, offset=options.offset)
        chosen = () if isinstance(self.source, NamedText) and self.source.namespaces else ("ignore", "only")
        for name in ("target", "weight", "offset", *chosen, "text", "words"):
            if getattr(self.options, name):
                raise OptionError(
                    f"names columns; {self.source.name} has none: its format says what is what", option=name
                )
        if family == "columns" and self._needed and self._target is None:
            raise OptionError(Phrase("give the labels beside the array, one per row, as ", Option("target")))
        return Schema("columns" if family == "columns" else "named")

    def batch(self, chunk: Chunk) -> Batch:
        """The rows of a chunk of the source, as a model takes them."""
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
        if self.source.keep:
            batch.original = chunk.content if chunk.original is None else chunk.original
            if self.schema is not None and self.source.family == "table" and chunk.rows:
                batch.original = tables.as_they_hold(batch.original, self.schema)
        if not chunk.rows:
            return batch
        assert self.schema is not None
        if isinstance(self.source, NamedText):
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
        return batch

    def _table(self, chunk: Chunk, batch: Batch) -> None:
        assert self.schema is not None
        try:
            policy = self.options.policy
            columns = tables.features(chunk.content, self.schema, chunk.place, policy, self._drop_invalid)
            batch.data, batch.missing, batch.odd = columns.frame, columns.missing, columns.odd
            batch.labels, odd = tables.labels(chunk.content, self.schema, self.options.policy)
            if odd is not None and self.schema.target is not None:
                batch.odd[self.schema.target] = odd
            batch.weight = tables.weights(chunk.content, self.schema) if self._needed else None
            batch.offset = tables.offsets(chunk.content, self.schema)
        except InputError as error:
            raise error.at(file=chunk.place.file) from None
        except (pyarrow().ArrowException, UnicodeError) as error:
            reason = str(error).partition("\n")[0][:200]
            raise InputError(f"the data is damaged here or further on: {reason}", **chunk.place.at(0)) from None

    def _mappings(self, chunk: Chunk, batch: Batch) -> None:
        assert self.schema is not None
        rows, labels, weights, offsets = [], [], [], []
        schema, options = self.schema, self.options
        for number, row in enumerate(chunk.content):
            if not isinstance(row, Mapping):
                raise InputError(
                    f"it is {type(row).__name__}, not a mapping of names to values", **chunk.place.at(number)
                )
            used = {name: value for name, value in row.items() if name not in schema.beside and options.uses(str(name))}
            try:
                features, absent = read_mapping(used, options.policy, options.text)
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


class _Ending:
    """How a stream is stopped: it is told, and what has arrived until then is still given before it ends.

    Args:
        stopped: whether the user has asked to stop.
    """

    def __init__(self, stopped: Callable[[], bool]) -> None:
        self._stopped = stopped
        self.unwanted = threading.Event()  # nobody takes the rows any more
        self._noticed = False
        self._since: float | None = None

    def asked(self) -> bool:
        """For the stream, while it waits: is it to end?"""
        self._noticed = self.unwanted.is_set() or self._stopped()
        return self._noticed

    def is_overdue(self) -> bool:
        """For who waits for the rows: does the stream not notice, because it waits in a way that cannot be ended?"""
        if not self._stopped() or self._noticed:
            return False
        self._since = self._since or time.monotonic()
        return time.monotonic() > self._since + STREAM_ENDS


def _beside(values: Any, chunk: Chunk) -> Any:
    """What is given beside the rows of a chunk."""
    first, numbers = chunk.place.first - 1, chunk.place.numbers
    if numbers is None:
        return values[first : first + chunk.rows]
    return (
        [values[first + int(row)] for row in numbers]
        if isinstance(values, list)
        else values[first + np.asarray(numbers)]
    )
