"""Data of one kind as data of another: a model of a table reads mappings, a model of mappings reads tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..errors import Error, OptionError
from .columns.arrow_column import whole
from .columns.schema import DATES, Schema
from .columns.table_row import TableRowReader
from .columns.written import Written, is_text, typed
from .read_options import ReadOptions
from .reader import Reader
from .sources.in_memory import Frames, Mappings
from .sources.source import Source, other_kind


def fitting_source(
    source: Source,
    schema: Schema,
    options: ReadOptions,
    *,
    labeled: bool = False,
    originals: bool = False,
    whole: bool = False,
) -> Source:
    """The data as a source of the kind that a model was trained on; an error if it cannot be read so.

    Args:
        source: the data.
        schema: what the model's training found about its data.
        options: how the data is read.
        labeled: whether the rows have labels and weights that are needed.
        originals: whether rows are needed with all their columns.
        whole: whether all rows come in one chunk; for data in memory.
    """
    if isinstance(source, Mappings) and schema.family == "table":
        extra = ("target", "weight", "offset") if labeled else ("offset",)
        source = Frames(source.as_table()) if originals else TableOfMappings(source, schema, options, extra)
    elif source.family == "table" and schema.family == "named":
        source = Mappings(rows_of_table(source, options))
    if source.family != schema.family:
        raise OptionError(other_kind(schema.family, source))
    if whole and isinstance(source, Frames | Mappings):
        source.whole = True
    return source


class TableOfMappings(Frames):
    """Mappings as a table of the columns that a model knows. Values of a column may differ in type from row to row.

    Args:
        mappings: the rows.
        schema: the columns.
        options: how values are read.
        extra: what the table has as well: see `TableRowReader.table`.
    """

    def __init__(self, mappings: Mappings, schema: Schema, options: ReadOptions, extra: tuple[str, ...]) -> None:
        super().__init__(None)
        self._mappings, self._reader, self._extra = mappings, TableRowReader(schema, options), extra
        self._once = not mappings.repeatable

    def batches(self) -> Iterator[Any]:
        """Arrow tables of some thousand rows each, or one of all."""
        self._mappings.whole = self.whole
        for chunk in self._mappings.chunks():
            try:
                yield self._reader.table(chunk.content, self._extra)
            except Error as error:
                raise error.at(row=None if error.row is None else error.row + chunk.place.first - 1) from None

    @property
    def at_hand(self) -> bool:
        """Whether all rows are there, in a list."""
        return self._mappings.at_hand

    @property
    def reads_ahead(self) -> bool:
        """False: an iterable of mappings may be one that only its own thread may use."""
        return False


def rows_of_table(source: Source, options: ReadOptions) -> Any:
    """The rows of a table as mappings: a list if the table can be read again, otherwise an iterator. A missing value
    has no key.
    """
    rows = _rows(source, options)
    return list(rows) if source.repeatable else rows


def _rows(source: Source, options: ReadOptions) -> Iterator[dict[str, Any]]:
    # Which columns are used, and as what, is decided when the rows are read as mappings.
    every: dict[str, Any] = dict.fromkeys(("ignore", "only", "text", "words", "ngrams", "numbers"), ())
    plain = replace(options, **every, target=None, weight=None, offset=None)
    reader = Reader(source, plain, target_needed=False, originals=True, leave_out=False)
    for batch in reader.batches():
        if not batch.rows:
            continue
        table, schema = batch.original, reader.schema
        assert schema is not None
        names = table.column_names
        columns = [_values(table.column(name), schema.kinds.get(name), schema.how(name)) for name in names]
        for row in zip(*columns, strict=True):
            yield {name: value for name, value in zip(names, row, strict=True) if value is not None}


def _values(column: Any, kind: str | None, written: Written) -> list[Any]:
    """The values of a column, with dates that are written as text as dates."""
    if kind not in DATES or not is_text(column.type):
        return column.to_pylist()  # type: ignore[no-any-return]
    both = typed(whole(column), kind, written, ())[0]
    moments = both.field(0).to_pylist()  # as clocks on the spot showed them
    return [one.date() if kind == "date" and one is not None else one for one in moments]
