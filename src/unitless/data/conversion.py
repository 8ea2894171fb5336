"""Converts data from any format to any other, in chunks, so that the data may be larger than memory.

A table is written to VW text and libsvm as the features that a model sees in it, so that a model learns the same from
both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import inputs, limits
from ..data import Batch, Reader, ReadOptions, Source, Target, formats, open_source
from ..data.arrow import pyarrow
from ..data.formats import Format
from ..data.label_values import LabelValues
from ..data.labels import Numbers, RawLabels, Texts, infer_target
from ..data.read_options import SKIP_ROWS
from ..data.threads import prefetched
from ..data.writers.cells import joined
from ..data.writers.columnar import TypeChangedError
from ..data.writers.lines import LineWriter, combined
from ..data.writers.output import opened
from ..errors import InputError, OptionError
from ..inputs import Float64
from .columns.table_schema import infer_schema
from .columns.tables import with_types
from .sources.columnar import batch_rows
from .sources.files import check_output
from .sources.located_rows import Chunk

MOST_COLUMNS = 10_000


@dataclass
class Converted:
    """The result of a conversion: the rows written, the rows skipped, remarks."""

    rows: int = 0
    skipped: int = 0
    bad: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def convert(
    source: Any,
    output: str | None,
    to: str,
    *,
    task: str | None = None,
    positive: str | None = None,
    **reading: Any,
) -> Converted:
    """Convert data to another format.

    A table needs `target` to become VW text or libsvm. Text labels become 1 and -1, or 1 … k in the order in which they
    appear; text becomes features `column=value`, with spaces, colons and bars replaced by `_`.

    Args:
        source: the data, as for `train`.
        output: the file to write; None for the standard output.
        to: the format to write.
        task: the task, which decides how labels are written. Default: None, inferred.
        positive: the positive one of two labels. Default: None, inferred.
        reading: the options of `Reading` and the names of the target, weight and offset columns.
    """
    if to not in formats.written_formats():
        raise OptionError(f"there is no format {to!r} to convert to; there are {', '.join(formats.written_formats())}")
    format = formats.get(to)
    options = ReadOptions(**{name: value for name, value in reading.items() if value is not None})
    opened_source = open_source(source, options)
    check_output(output, opened_source.files, "the result")
    if opened_source.family == "table":
        if format.table_writer:
            return _as_tables(opened_source, options, output, format)
        return _TableAsLines(opened_source, options, format.new_line_writer(), task, positive).write(output)
    if opened_source.family != "named" or not opened_source.files:
        raise OptionError("only files and tables can be converted")
    chosen = () if opened_source.chooses_features else ("ignore", "only")
    for name in ("target", "weight", "offset", *chosen, "text", "words", "ngrams"):
        if getattr(options, name):
            raise OptionError(
                f"names columns; {opened_source.name} has none: its format defines which values are labels", option=name
            )
    named = _NamedFeatures(opened_source)
    if format.line_writer:
        return named.as_lines(output, format.new_line_writer())
    return named.as_table(output, format)


def _counted(chunk: Chunk | Batch, done: Converted) -> None:
    done.skipped += chunk.bad_count
    done.bad += [str(bad) for bad in chunk.bad[: 3 - len(done.bad)]]


# ------------------------------------------------------------------------------------------------------ table to table


def _as_tables(source: Source, options: ReadOptions, output: str | None, format: Format) -> Converted:
    wider: set[str] = set()
    while True:
        done = Converted()
        try:
            with opened(output) as file:
                out = format.new_table_writer(file)
                for chunk, names in prefetched(lambda: _chunks(source, options)):
                    _counted(chunk, done)
                    if chunk.rows:
                        out.write(_widened(chunk.content, names, wider))
                        done.rows += chunk.rows
                out.close()
        # A column of whole numbers has fractions after all: write again, with wider types.
        except TypeChangedError as changed:
            if changed.name in wider or not (changed.whole and source.repeatable) or output is None:
                raise
            wider.add(changed.name)
            continue
        return done


def _chunks(source: Source, options: ReadOptions) -> Iterator[tuple[Chunk, list[str]]]:
    """Return an iterator over chunks of the table, each with the names of its used columns."""
    first, schema = source.first_rows(), None
    if first.table is not None:
        schema = infer_schema(first.table, replace(options, dates="parts"), source.name, False, leave_out=False)
    for chunk in source.open(schema, first, originals=True).chunks():
        if schema is None or not chunk.rows:
            yield chunk, []
            continue
        chunk.content = with_types(chunk.content, schema)
        used = {*schema.kinds, *schema.not_features} & {*chunk.content.column_names}
        yield chunk, [name for name in first.table.column_names if name in used]


def _widened(table: Any, names: list[str], wider: set[str]) -> Any:
    table = table.select(names)
    for k, name in enumerate(names):
        if name in wider:
            table = table.set_column(k, name, table.column(k).cast(pyarrow().float64()))
    return table


# ------------------------------------------------------------------------------------------------------ table to lines


class _TableAsLines:
    """Converts a table to lines of named or numbered features."""

    def __init__(
        self, source: Source, options: ReadOptions, writer: LineWriter, task: str | None, positive: str | None
    ) -> None:
        if options.weight is not None and not writer.holds_weights:
            raise OptionError(f"weight: {writer.title} has no place for weights; convert to VW text to keep them")
        if options.offset is not None and not writer.holds_offsets:
            raise OptionError(f"offset: {writer.title} has no place for offsets; convert to VW text to keep them")
        # Missing values are left out of the lines, and every column is written.
        options = replace(options, missing="absent") if options.missing == "indicator" else options
        self._reader = Reader(source, options, leave_out=False)
        self._writer, self._task, self._positive = writer, task, positive
        self._target: Target | None = None
        self._classes: dict[str, int] = {}

    def write(self, output: str | None) -> Converted:
        done = Converted()
        with opened(output) as file:
            for batch in self._reader.batches():
                _counted(batch, done)
                used = self._usable(batch, done)
                if used.rows:
                    file.write(joined(self._lines(used)))
                    done.rows += used.rows
        if self._target is not None and self._target.task == "binary":
            negative, positive = self._target.classes
            done.remarks.append(f"labels: {positive!r} is 1, {negative!r} is -1")
        if self._classes:
            shown = ", ".join(f"{name!r} is {number}" for name, number in list(self._classes.items())[:20])
            done.remarks.append(f"labels: {shown}{', ...' if len(self._classes) > 20 else ''}")
        done.remarks += self._writer.remarks()
        return done

    def _usable(self, batch: Batch, done: Converted) -> Batch:
        """Return the batch without the rows that models or the format do not support."""
        if not batch.rows:
            return batch
        assert isinstance(batch.data, inputs.Frame)
        wrong = np.zeros(batch.rows, bool)
        problem = ""
        for name, column in zip(batch.data.names, batch.data.columns, strict=True):
            if (large := inputs.beyond(column)) is not None:
                problem = problem or f"column {name!r} is infinite or too large"
                wrong |= large
        labels = batch.labels
        if isinstance(labels, Numbers) and (large := limits.beyond(labels.values, limits.MOST_LABEL)) is not None:
            problem = problem or "the target is infinite or too large"
            wrong |= large
        if self._writer.needs_labels and labels is not None and not labels.present().all():
            problem = problem or f"the target has no value, but every line of {self._writer.title} must have a label"
            wrong |= ~labels.present()
        if wrong.any():
            if self._reader.options.on_error == "fail":
                row = int(np.flatnonzero(wrong)[0])
                raise InputError(problem, advice=SKIP_ROWS, **batch.place.at(row))
            done.skipped += int(wrong.sum())
        return batch.select(~wrong)

    def _lines(self, batch: Batch) -> list[Any]:
        """Return columns of text that are joined, row by row, to the lines."""
        assert batch.labels is not None
        assert isinstance(batch.data, inputs.Frame)
        for name, column in zip(batch.data.names, batch.data.columns, strict=True):
            if isinstance(column, inputs.TextColumn | inputs.WordsColumn) and not self._writer.holds_text:
                raise InputError(
                    f"column {name!r} holds text, which {self._writer.title} has no place for; ignore it, or convert "
                    "to VW text"
                )
        if (h := batch.weight) is not None:
            wrong = ~(np.isfinite(h) & (h >= 0))
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                raise InputError(
                    f"the weight is {h[row]}", advice="it must be a finite number, 0 or more", **batch.place.at(row)
                )
        if (o := batch.offset) is not None and not np.isfinite(o).all():
            row = int(np.flatnonzero(~np.isfinite(o))[0])
            raise InputError(f"the offset is {o[row]}", advice="it must be a finite number", **batch.place.at(row))
        return self._writer.from_table(batch.data, self._numbers(batch.labels, batch), h, o)

    def _numbers(self, labels: RawLabels, batch: Batch) -> Float64:
        """Convert labels to numbers for the format, with NaN for missing labels."""
        if isinstance(labels, Numbers):
            return labels.values
        present = labels.present()
        y = np.full(len(labels), np.nan)
        if not present.any():
            return y
        if self._target is None:
            self._target = infer_target(
                LabelValues.of(labels), self._task, None, self._positive, self._reader.options.target
            )
        part = labels.take(present)
        if self._target.task == "binary":
            known = batch.select(present)
            y[present] = 2 * self._target.numbers(part, known.place) - 1
            return y
        y[present] = self._class_numbers(part)
        return y

    def _class_numbers(self, labels: Texts) -> Float64:
        distinct, first, at = labels.distinct()
        for k in np.argsort(first).tolist():
            self._classes.setdefault(distinct[k], 1 + len(self._classes))
        return np.array([self._classes[name] for name in distinct], np.float64)[at]


# ---------------------------------------------------------------------------------------------- named features to all


class _NamedFeatures:
    """Converts rows of named features, such as VW text and libsvm."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def _chunks(self, done: Converted) -> Iterator[Chunk]:
        for chunk in prefetched(lambda: self._source.open().chunks()):
            _counted(chunk, done)
            if chunk.rows:
                yield chunk

    def as_lines(self, output: str | None, writer: LineWriter) -> Converted:
        """Write each row as a line of text."""
        done = Converted()
        with opened(output) as file:
            for chunk in self._chunks(done):
                file.write(joined(writer.from_named(chunk)))
                done.rows += chunk.rows
        done.remarks += writer.remarks()
        return done

    def as_table(self, output: str | None, format: Format) -> Converted:
        """Write a table with a column for each feature; the data is read twice, first to find all names."""
        if not self._source.repeatable:
            raise OptionError(f"{self._source.name} can be read only once, but a table needs all names before its rows")
        names, tagged, weighed, shifted = self._names()
        pa, done = pyarrow(), Converted()
        place = {name: k for k, name in enumerate(names)}
        with opened(output) as file:
            out = format.new_table_writer(file)
            for chunk in self._chunks(done):
                read = chunk.content
                columns = np.array([place[name] for name in read.names], np.int64)
                ids, values, rows = combined(read)
                size = batch_rows(len(names))
                for first in range(0, chunk.rows, size):
                    last = min(chunk.rows, first + size)
                    part = slice(*np.searchsorted(rows, [first, last]))
                    dense = np.zeros((len(names), last - first))
                    dense[columns[ids[part]], rows[part] - first] = values[part]
                    label = read.label[first:last]
                    table: dict[str, Any] = {"label": pa.array(label, mask=np.isnan(label))}
                    if weighed:
                        table["weight"] = pa.array(read.weight[first:last])
                    if shifted:
                        offset = read.offset if len(read.offset) else np.zeros(chunk.rows)
                        table["offset"] = pa.array(offset[first:last])
                    if tagged:
                        tags = read.tags[first:last] if read.tags is not None else [None] * (last - first)
                        table["tag"] = pa.array([tag or None for tag in tags], pa.string())
                    table.update(zip(names, map(pa.array, dense), strict=True))
                    out.write(pa.table(table))
                done.rows += chunk.rows
            out.close()
        return done

    def _names(self) -> tuple[list[str], bool, bool, bool]:
        """Return all feature names, and whether rows have tags, weights and offsets."""
        names: dict[str, None] = {}
        tagged = weighed = shifted = False
        for chunk in self._chunks(Converted()):
            names.update(dict.fromkeys(chunk.content.names))
            tagged = tagged or chunk.content.tags is not None
            weighed = weighed or bool((chunk.content.weight != 1).any())
            shifted = shifted or bool((chunk.content.offset != 0).any())
            if len(names) > MOST_COLUMNS:
                raise InputError(
                    f"{self._source.name} has more than {MOST_COLUMNS:,} different features, too many for the columns "
                    "of a table; convert it to jsonl, where only what is there is written"
                )
        there = {"label": True, "weight": weighed, "offset": shifted, "tag": tagged}
        for name in (name for name, is_there in there.items() if is_there):
            if name in names:
                raise InputError(f"{self._source.name} has a feature named {name!r}, as the table's {name}; rename it")
        return list(names), tagged, weighed, shifted
