"""Sources for data that a program has in memory: frames, Arrow tables and datasets, arrays, matrices, mappings."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ... import inputs
from ...errors import InputError, OptionError
from ..arrow import pyarrow
from ..columns.row_reader import is_missing
from ..columns.schema import check
from ..read_options import from_the_end
from .byte_stream import never
from .columnar import batch_rows, enough_to_infer
from .located_rows import Chunk, Place, Position
from .row_places import RowPlaces
from .scan import START, Scan
from .source import FirstRows, ScanOptions, Source

MAPPINGS = 4096


class Frames(Source):
    """A pandas or polars frame, an Arrow table, reader or dataset."""

    def __init__(self, frame: Any, whole: bool = False) -> None:
        self._frame, self.whole = frame, whole
        self._once = hasattr(frame, "read_next_batch")

    def _scan(self, options: ScanOptions) -> Scan:
        return _FrameScan(self, options)

    def first_rows(self, stopped: Callable[[], bool] = never) -> FirstRows:
        """Return the first rows, and all tables for the scan."""
        tables = enough_to_infer(self.batches())
        first = next((table for table in tables if table.num_rows), None)
        every = iter(()) if first is None else itertools.chain([first], tables)
        return FirstRows(first, Place("", "row", 1), handover=every)

    @property
    def repeatable(self) -> bool:
        """Whether it can be read again; an Arrow reader cannot."""
        return not self._once

    @property
    def reads_ahead(self) -> bool:
        """Whether reading ahead in another thread saves time: not for tables in memory."""
        return self._once or not hasattr(self._frame, "shape") or self._frame.shape[0] > MAPPINGS

    def as_arrow(self) -> Frames:
        """Return these rows as a source with an Arrow table, which is fast to slice and to send to other processes."""
        pa = pyarrow()
        tables = [pa.Table.from_batches([one]) if isinstance(one, pa.RecordBatch) else one for one in self.batches()]
        return Frames(tables[0] if len(tables) == 1 else pa.concat_tables(tables), self.whole)

    def as_table(self) -> Any:
        """Return all rows as one Arrow table."""
        return self.as_arrow()._frame

    def batches(self) -> Iterator[Any]:
        """Return all rows as Arrow tables or record batches."""
        pa = pyarrow()
        frame = self._frame
        if isinstance(frame, pa.Table | pa.RecordBatch):
            return iter([frame])
        if hasattr(frame, "to_batches") and hasattr(frame, "schema"):  # a dataset or a scanner
            return iter(frame.to_batches())
        if self._once:
            return iter(frame)
        try:
            if hasattr(frame, "to_arrow"):  # polars
                return iter([frame.to_arrow()])
            return iter([pa.Table.from_pandas(frame, preserve_index=False)])
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            mixed = _mixed_as_text(frame)
            if mixed is None:
                raise InputError(f"the frame cannot be read: {error}") from None
            return iter([pa.Table.from_pandas(mixed, preserve_index=False)])


class _FrameScan(Scan):
    """Reads a frame by a schema."""

    def __init__(self, source: Frames, how: ScanOptions) -> None:
        self._source, self._schema = source, how.schema
        # The tables that were made or read for the first rows, and those after them.
        self._begun: Iterator[Any] | None = None if how.first is None else how.first.handover

    def chunks(
        self, start: Position = START, end: Position | None = None, stopped: Callable[[], bool] = never
    ) -> Iterator[Chunk]:
        """Return the rows from a position on, in slices."""
        pa = pyarrow()
        last = None if end is None else end.offset
        skip, rows = start.offset, start.offset
        batches = self._source.batches() if self._begun is None else self._begun
        self._begun = None
        for batch in batches if start.offset or end is not None else enough_to_infer(batches):
            drop = min(skip, batch.num_rows)
            skip -= drop
            if last is not None:
                batch = batch.slice(0, max(0, drop + last - rows))  # noqa: PLW2901
            size = max(1, batch.num_rows) if self._source.whole else batch_rows(batch.num_columns)
            for first in range(drop, batch.num_rows, size):
                table = batch.slice(first, size)
                table = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
                if self._schema is not None:
                    types = dict(zip(table.column_names, table.schema.types, strict=True))
                    check(self._schema, types, "the data", rows + 1)
                place = Place("", "row", rows + 1)
                rows += table.num_rows
                yield Chunk(table, table.num_rows, place, Position(0, rows, rows))

    def places(self, file: int, most: int) -> RowPlaces:
        """Return the number of rows; reading can begin at any row."""
        return RowPlaces.anywhere(file, [sum(batch.num_rows for batch in self._source.batches())])


def _mixed_as_text(frame: Any) -> Any:
    """Convert columns of a pandas frame that mix numbers and text to text; None if the frame has no such column."""
    changed = {}
    for name in frame.columns:
        column = frame[name]
        values = column.tolist() if str(getattr(column, "dtype", "")) == "object" else []
        plain = all(isinstance(value, str | int | float | np.generic) or is_missing(value) for value in values)
        if plain and any(isinstance(value, str) for value in values):
            changed[name] = [None if is_missing(value) else _text_of(value) for value in values]
    return frame.assign(**changed) if changed else None


def _text_of(value: Any) -> str:
    """Return a value as a text file would have it."""
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def is_frame(source: Any) -> bool:
    """Return whether data has named columns: a frame, or an Arrow table, dataset or reader."""
    if hasattr(source, "collect_schema") and not hasattr(source, "shape"):
        raise InputError("the frame is lazy; collect() it, or name the file itself")
    return (
        (hasattr(source, "columns") and hasattr(source, "dtypes"))
        or (hasattr(source, "schema") and hasattr(source, "num_rows"))
        or (hasattr(source, "schema") and hasattr(source, "to_batches"))
        or hasattr(source, "read_next_batch")
    )


class Arrays(Source, Scan):
    """A 2-D array or a sparse matrix; labels and weights are given separately."""

    family = "columns"

    def __init__(self, X: Any) -> None:
        self._X = X.tocsr() if hasattr(X, "tocsr") else inputs.as_array(X, "X")
        if len(self._X.shape) != 2:
            raise InputError(f"the data has {len(self._X.shape)} dimensions; it must have 2: rows and columns")

    def without(self, named: Mapping[str, str]) -> tuple[Arrays, dict[str, Any]]:
        """The array without some of its columns, and these.

        Args:
            named: by what a column is, such as "target", its number as text: they count from 0, or from the end.
        """
        count = self._X.shape[1]
        names = [*map(str, range(count))]
        found = {what: from_the_end(name, names) for what, name in named.items()}
        for what, name in found.items():
            if name not in names:
                raise OptionError(
                    f"is {name!r}, but the columns of an array are numbers: 0 to {count - 1}, or -1 for the last one",
                    option=what,
                    advice="or give the values themselves, one for each row",
                )
        kept = [place for place, name in enumerate(names) if name not in found.values()]
        taken = {what: self._X[:, [int(name)]] for what, name in found.items()}
        values = {what: column.toarray() if hasattr(column, "toarray") else column for what, column in taken.items()}
        return Arrays(self._X[:, kept]), {what: column.ravel() for what, column in values.items()}

    def _scan(self, options: ScanOptions) -> Scan:
        return self  # reading does not change it

    def chunks(
        self, start: Position = START, end: Position | None = None, stopped: Callable[[], bool] = never
    ) -> Iterator[Chunk]:
        """Return the rows from a position on, in slices."""
        total, columns = self._X.shape
        total = total if end is None else min(total, end.offset)
        size = batch_rows(columns)
        for first in range(start.offset, total, size):
            last = min(total, first + size)
            yield Chunk(self._X[first:last], last - first, Place("", "row", first + 1), Position(0, last, last))

    def places(self, file: int, most: int) -> RowPlaces:
        """Return the number of rows; reading can begin at any row."""
        return RowPlaces.anywhere(file, [self._X.shape[0]])


class Mappings(Source, Scan):
    """Any iterable of mappings from names to numbers, text or booleans."""

    family = "named"

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._rows, self.whole = rows, False

    @property
    def first_keys(self) -> list[str]:
        """The keys of the first row of a list; empty for any other iterable, which can be read only once."""
        return [*map(str, self._rows[0])] if isinstance(self._rows, Sequence) and self._rows else []

    @property
    def has_columns(self) -> bool:
        """True: the keys of mappings are columns, as those of a frame are."""
        return True

    def as_table(self) -> Any:
        """Return all mappings as one Arrow table."""
        pa = pyarrow()
        try:
            return pa.Table.from_pylist([dict(row) for row in self._rows])
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError(f"the mappings do not make a table: {str(error)[:200]}") from None

    @property
    def repeatable(self) -> bool:
        """Whether it can be read again; an iterator cannot."""
        return not isinstance(self._rows, Iterator)

    @property
    def reads_ahead(self) -> bool:
        """False: the iterable may be unsafe to use in another thread."""
        return False

    @property
    def at_hand(self) -> bool:
        """Whether all rows are in memory, as in a list; other iterables are read as streams."""
        return isinstance(self._rows, Sequence)

    def _scan(self, options: ScanOptions) -> Scan:
        return self  # reading does not change it

    def chunks(
        self, start: Position = START, end: Position | None = None, stopped: Callable[[], bool] = never
    ) -> Iterator[Chunk]:
        """Return the rows from a position on, some thousands at a time."""
        rows = start.offset
        last = None if end is None else end.offset
        if isinstance(self._rows, Sequence):
            stream = iter(self._rows[rows:last])
        else:
            stream = itertools.islice(iter(self._rows), rows, last)
        while chunk := list(itertools.islice(stream, None if self.whole else MAPPINGS)):
            place = Place("", "row", rows + 1)
            rows += len(chunk)
            yield Chunk(chunk, len(chunk), place, Position(0, rows, rows))

    def places(self, file: int, most: int) -> RowPlaces:
        """Return the number of rows; reading can begin at any row."""
        if not isinstance(self._rows, Sequence):
            raise InputError("the mappings come from a stream, which cannot be cut; give a list of them")
        return RowPlaces.anywhere(file, [len(self._rows)])


def one_array(values: Any, rows: int, what: str) -> np.ndarray[Any, Any]:
    """Convert labels or weights that are given separately from the data to an array with one value per row."""
    array = inputs.unmasked(inputs.as_array(values, what), what)
    if array.ndim != 1 or len(array) != rows:
        raise InputError(f"{what} has shape {array.shape}; it must have one value for each of the {rows} rows")
    return array
