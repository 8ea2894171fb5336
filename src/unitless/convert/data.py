"""From any format of data to any other, in pieces, so that data may be larger than memory.

Tables become VW text and libsvm in the words in which the models see them; a model learns the same from either.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .. import inputs
from ..data import Batch, Position, Reader, ReadOptions, Source, Target, open_source
from ..data.arrow import pyarrow
from ..data.columnar import batch_rows
from ..data.files import check_output
from ..data.json_lines import JsonLines
from ..data.labels import Numbers, RawLabels, Texts, decide
from ..data.located_rows import Piece
from ..data.named_text import NamedText
from ..data.read_options import SKIP_ROWS
from ..data.reader import prefetched
from ..data.schema import Schema
from ..data.schema import decide as decide_schema
from ..data.writers import WRITERS, Changed, cells, joined, opened, writer
from ..errors import InputError, OptionError
from ..inputs import Float64

MOST_COLUMNS = 10_000
FORMATS = (*WRITERS, "vw", "libsvm")


@dataclass
class Converted:
    """How a conversion went: rows written, rows skipped, remarks."""

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
    """Write data in another format; reading options as for `train`.

    A table needs `target` to become VW text or libsvm. Text labels become 1 and -1, or 1 … k in the order in which they
    appear; text becomes features `column=value`, its spaces, colons and bars replaced by `_`.
    """
    if to not in FORMATS:
        raise OptionError(f"there is no format {to!r} to convert to; there are {', '.join(FORMATS)}")
    options = ReadOptions(**reading)
    opened_source = open_source(source, options)
    check_output(output, opened_source.files, "the result")
    if opened_source.family == "table":
        if to in ("vw", "libsvm"):
            return _Rows(opened_source, options, to == "libsvm", task, positive).write(output)
        return _as_tables(opened_source, options, output, to)
    if not isinstance(opened_source, NamedText):
        raise OptionError("only files and tables can be converted")
    for name in ("target", "weight", "ignore", "only", "text"):
        if getattr(options, name):
            raise OptionError(
                f"{name} names columns; {opened_source.name} has none: its format says which values are labels"
            )
    text = _Named(opened_source)
    return text.as_table(output, to) if to in ("csv", "tsv", "parquet", "arrow") else text.as_text(output, to)


def _counted(piece: Piece | Batch, done: Converted) -> None:
    done.skipped += piece.bad_count
    done.bad += [str(bad) for bad in piece.bad[: 3 - len(done.bad)]]


# ------------------------------------------------------------------------------------------------------ table to table


def _as_tables(source: Source, options: ReadOptions, output: str | None, to: str) -> Converted:
    wider: set[str] = set()
    while True:
        done = Converted()
        try:
            with opened(output) as file:
                out = writer(to, file)
                for piece, names in prefetched(lambda: _pieces(source, options)):
                    _counted(piece, done)
                    if piece.rows:
                        out.write(_widened(piece.content, names, wider))
                        done.rows += piece.rows
                out.close()
        except Changed as changed:  # whole numbers that turn out to have fractions: once more
            if changed.name in wider or not (changed.whole and source.repeatable) or output is None:
                raise
            wider.add(changed.name)
            continue
        return done


def _pieces(source: Source, options: ReadOptions) -> Iterator[tuple[Piece, list[str]]]:
    """The table in pieces, and the columns that are wanted of it."""
    schema: Schema | None = source.schema
    source.keep = True  # as tables, whole
    for piece in source.pieces(Position()):
        if piece.rows and schema is None:
            if isinstance(source, JsonLines):
                source.remember(piece.content)
            schema = decide_schema(piece.content, replace(options, dates="parts"), source.name, False)
            source.hold(schema)
        if schema is None or not piece.rows:
            yield piece, []
            continue
        wanted = {*schema.kinds, schema.target, schema.weight}
        yield piece, [name for name in piece.content.column_names if name in wanted]


def _widened(table: Any, names: list[str], wider: set[str]) -> Any:
    table = table.select(names)
    for k, name in enumerate(names):
        if name in wider:
            table = table.set_column(k, name, table.column(k).cast(pyarrow().float64()))
    return table


# ------------------------------------------------------------------------------------------------------- table to text


class _Rows:
    """A table as lines of named or numbered features."""

    def __init__(
        self, source: Source, options: ReadOptions, libsvm: bool, task: str | None, positive: str | None
    ) -> None:
        if libsvm and options.weight is not None:
            raise OptionError("weight: libsvm has no place for weights; convert to VW text to keep them")
        self._reader = Reader(source, options)
        self._libsvm, self._task, self._positive = libsvm, task, positive
        self._target: Target | None = None
        self._classes: dict[str, int] = {}
        self._mentioned: set[str] = set()
        self._replaced: set[str] = set()

    def write(self, output: str | None) -> Converted:
        done = Converted()
        with opened(output) as file:
            for batch in self._reader.batches():
                _counted(batch, done)
                used = self._finite(batch, done)
                if used.rows:
                    self._check(used)
                    _write(file, self._parts(used))
                    done.rows += used.rows
        if self._target is not None and self._target.task == "binary":
            negative, positive = self._target.classes
            done.remarks.append(f"labels: {positive!r} is 1, {negative!r} is -1")
        if self._classes:
            shown = ", ".join(f"{name!r} is {number}" for name, number in list(self._classes.items())[:20])
            done.remarks.append(f"labels: {shown}{', ...' if len(self._classes) > 20 else ''}")
        if self._replaced:
            done.remarks.append(f"names: spaces, colons and bars became _ in {len(self._replaced):,}")
        return done

    def _finite(self, batch: Batch, done: Converted) -> Batch:
        """Without rows that no model takes."""
        if not batch.rows:
            return batch
        assert isinstance(batch.data, inputs.Frame)
        wrong = np.zeros(batch.rows, bool)
        problem = ""
        for name, column in zip(batch.data.names, batch.data.columns, strict=True):
            if (infinite := inputs.infinite(column)) is not None:
                problem = problem or f"column {name!r} is infinite"
                wrong |= infinite
        labels = batch.labels
        if isinstance(labels, Numbers) and np.isinf(labels.values).any():
            problem = problem or "the target is infinite"
            wrong |= np.isinf(labels.values)
        if self._libsvm and labels is not None and not labels.present().all():
            problem = problem or "the target has no value, which libsvm cannot express"
            wrong |= ~labels.present()
        if wrong.any():
            if self._reader.options.on_error == "fail":
                row = int(np.flatnonzero(wrong)[0])
                raise InputError(problem, advice=SKIP_ROWS, **batch.place.at(row))
            done.skipped += int(wrong.sum())
        return batch.select(~wrong)

    def _check(self, batch: Batch) -> None:
        assert isinstance(batch.data, inputs.Frame)
        if not self._libsvm:
            return
        for name, column in zip(batch.data.names, batch.data.columns, strict=True):
            if isinstance(column, inputs.TextColumn):
                raise InputError(
                    f"column {name!r} holds text, which libsvm has no place for; ignore it, or convert to VW text"
                )

    def _parts(self, batch: Batch) -> list[Any]:
        """Columns of text which, row by row, make the lines."""
        pa = pyarrow()
        assert batch.labels is not None
        assert isinstance(batch.data, inputs.Frame)
        y = self._numbers(batch.labels, batch)
        known = ~np.isnan(y)
        parts: list[Any] = [cells("label", pa.array(y, mask=~known))]
        counts = known
        if batch.weight is not None:
            h = batch.weight
            wrong = ~(np.isfinite(h) & (h >= 0))
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                raise InputError(f"the weight is {h[row]}", **batch.place.at(row))
            counts = known & (h > 0)
            parts.append(_between(" ", cells("weight", pa.array(h, mask=~known))))
        if not self._libsvm:
            parts.append(_constant(np.where(known, " |", "|")))
        for k, (name, column) in enumerate(zip(batch.data.names, batch.data.columns, strict=True)):
            if isinstance(column, inputs.TextColumn):
                parts.append(self._words(name, column))
            else:
                numbers = column.numbers if isinstance(column, inputs.FlagColumn) else column
                parts.append(self._values(str(k + 1) if self._libsvm else self._safe(name), numbers, counts))
        return [*parts, "\n"]

    def _values(self, name: str, column: NDArray[Any], counts: NDArray[np.bool_]) -> Any:
        """` name:value` where it is not zero; in the first row that has one, even if it is: names are in that order."""
        there = ~np.isnan(column) if column.dtype.kind == "f" else np.ones(len(column), bool)
        written = there & (column != 0)
        if not self._libsvm and name not in self._mentioned:
            first = np.flatnonzero(there & counts)
            if len(first):
                self._mentioned.add(name)
                written[first[0]] = True
        wide = column.astype(np.float64) if column.dtype == np.float32 else column
        return _between(f" {name}:", cells(name, pyarrow().array(wide, mask=~written)))

    def _words(self, name: str, column: inputs.TextColumn) -> Any:
        """` column=value` where there is one."""
        pa = pyarrow()
        codes, ends, data = column
        raw = data.tobytes()
        words = [f" {self._safe(f'{name}={raw[a:b].decode()}')}" for a, b in itertools.pairwise(ends.tolist())]
        return pa.array(words, pa.string()).take(pa.array(codes, mask=codes < 0))

    def _safe(self, name: str) -> str:
        clean = safe_name(name)
        if clean != name and name not in self._replaced:
            self._replaced.add(name)
        return clean

    def _numbers(self, labels: RawLabels, batch: Batch) -> Float64:
        """Labels as the formats know them: numbers; not-a-number where there is none."""
        if isinstance(labels, Numbers):
            return labels.values
        present = labels.present()
        y = np.full(len(labels), np.nan)
        if not present.any():
            return y
        if self._target is None:
            self._target = decide(labels, self._task, None, self._positive)
            if self._target.task == "classes":
                self._classes = {}
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


def safe_name(name: str) -> str:
    """A name as VW text can hold it: spaces, colons and bars become `_`."""
    return re.sub(r"[\s:|\0]", "_", name)


def _between(before: str, text: Any) -> Any:
    """With something before each value; nothing where there is none."""
    return pyarrow("compute").binary_join_element_wise(before, text, "")


def _constant(words: NDArray[Any]) -> Any:
    return pyarrow().array(words.astype(object), pyarrow().string())


# -------------------------------------------------------------------------------------------------- named text to all


class _Named:
    """Converts rows of named features, as VW text and libsvm have them."""

    def __init__(self, source: NamedText) -> None:
        self._source = source
        self._index: dict[str, int] = {}
        self._as_they_are: bool | None = None
        self._weighed = 0

    def _pieces(self, done: Converted) -> Iterator[Piece]:
        for piece in prefetched(lambda: self._source.pieces(Position())):
            _counted(piece, done)
            if piece.rows:
                yield piece

    def as_text(self, output: str | None, to: str) -> Converted:
        """Each row as a line of text."""
        done = Converted()
        form = {"vw": self._vw, "libsvm": self._libsvm, "jsonl": self._json}[to]
        with opened(output) as file:
            for piece in self._pieces(done):
                _write(file, form(piece))
                done.rows += piece.rows
        if to == "libsvm" and self._index:
            done.remarks.append(f"features: numbered 1 to {len(self._index):,} in the order in which they appear")
        if self._weighed:
            done.remarks.append(f"weights: libsvm has no place for them; {self._weighed:,} rows had one and lost it")
        return done

    def _vw(self, piece: Piece) -> list[Any]:
        pa, read = pyarrow(), piece.content
        known = ~np.isnan(read.label)
        parts: list[Any] = [cells("label", pa.array(read.label, mask=~known))]
        weighed = known & (read.weight != 1)
        if weighed.any():
            parts.append(_between(" ", cells("weight", pa.array(read.weight, mask=~weighed))))
        if read.tags is not None:
            parts.append(_constant(np.array([f" '{tag}|" if tag else " |" for tag in read.tags], object)))
        else:
            parts.append(_constant(np.where(known, " |", "|")))
        names = pa.array([safe_name(name) for name in read.names], pa.string())
        ends = np.concatenate([[0], read.row_ends])
        return [*parts, _features(" ", names, ":", read.ids, read.values, ends, " "), "\n"]

    def _libsvm(self, piece: Piece) -> list[Any]:
        pa, read = pyarrow(), piece.content
        if np.isnan(read.label).any():
            row = int(np.flatnonzero(np.isnan(read.label))[0])
            raise InputError("there is no label, which libsvm cannot express", **piece.place.at(row))
        self._weighed += int((read.weight != 1).sum())
        indices = np.array([self._number(name, piece) for name in read.names], np.int64)
        ids, values, rows = combined(read)
        keep = values != 0
        ids, values, rows = ids[keep], values[keep], rows[keep]
        order = np.lexsort((indices[ids], rows))
        ends = np.searchsorted(rows[order], np.arange(piece.rows + 1))
        names = cells("index", pa.array(indices))
        return [
            cells("label", pa.array(read.label)),
            _features(" ", names, ":", ids[order], values[order], ends, " "),
            "\n",
        ]

    def _number(self, name: str, piece: Piece) -> int:
        """A feature's number: its own, if names are numbers, or the next."""
        own = re.fullmatch(r"0|[1-9][0-9]{0,8}", name) is not None
        if self._as_they_are is None:
            self._as_they_are = all(re.fullmatch(r"0|[1-9][0-9]{0,8}", other) for other in piece.content.names)
        if self._as_they_are:
            if not own:
                raise InputError(
                    f"{piece.place.file}: feature {name!r} is not a number, as the features before it were"
                )
            return int(name)
        return self._index.setdefault(name, 1 + len(self._index))

    def _json(self, piece: Piece) -> list[Any]:
        pa, read = pyarrow(), piece.content
        ids, values, rows = combined(read)
        ends = np.searchsorted(rows, np.arange(piece.rows + 1))
        names = pa.array([json.dumps(name, ensure_ascii=False) for name in read.names], pa.string())
        label = cells("label", pa.array(read.label, mask=np.isnan(read.label))).fill_null("null")
        parts = ['{"label": ', label, ', "weight": ', cells("weight", pa.array(read.weight))]
        if read.tags is not None:
            tags = [json.dumps(tag or None, ensure_ascii=False) for tag in read.tags]
            parts += [', "tag": ', pa.array(tags, pa.string())]
        return [*parts, ', "features": {', _features("", names, ": ", ids, values, ends, ", "), "}}\n"]

    def as_table(self, output: str | None, to: str) -> Converted:
        """A column for each feature; first all names are found, then all rows written."""
        if not self._source.repeatable:
            raise OptionError(f"{self._source.name} can be read only once, but a table needs all names before its rows")
        names, tagged, weighed = self._names()
        pa, done = pyarrow(), Converted()
        place = {name: k for k, name in enumerate(names)}
        with opened(output) as file:
            out = writer(to, file)
            for piece in self._pieces(done):
                read = piece.content
                columns = np.array([place[name] for name in read.names], np.int64)
                ids, values, rows = combined(read)
                size = batch_rows(len(names))
                for first in range(0, piece.rows, size):
                    last = min(piece.rows, first + size)
                    part = slice(*np.searchsorted(rows, [first, last]))
                    dense = np.zeros((len(names), last - first))
                    dense[columns[ids[part]], rows[part] - first] = values[part]
                    label = read.label[first:last]
                    table: dict[str, Any] = {"label": pa.array(label, mask=np.isnan(label))}
                    if weighed:
                        table["weight"] = pa.array(read.weight[first:last])
                    if tagged:
                        tags = read.tags[first:last] if read.tags is not None else [None] * (last - first)
                        table["tag"] = pa.array([tag or None for tag in tags], pa.string())
                    table.update(zip(names, map(pa.array, dense), strict=True))
                    out.write(pa.table(table))
                done.rows += piece.rows
            out.close()
        return done

    def _names(self) -> tuple[list[str], bool, bool]:
        names: dict[str, None] = {}
        tagged = weighed = False
        for piece in self._pieces(Converted()):
            names.update(dict.fromkeys(piece.content.names))
            tagged = tagged or piece.content.tags is not None
            weighed = weighed or bool((piece.content.weight != 1).any())
            if len(names) > MOST_COLUMNS:
                raise InputError(
                    f"{self._source.name} has more than {MOST_COLUMNS:,} different features, too many for the columns "
                    "of a table; convert it to jsonl, where only what is there is written"
                )
        for name in ("label", *(["weight"] if weighed else []), *(["tag"] if tagged else [])):
            if name in names:
                raise InputError(f"{self._source.name} has a feature named {name!r}, as the table's {name}; rename it")
        return list(names), tagged, weighed


def combined(read: Any) -> tuple[NDArray[Any], Float64, NDArray[np.intp]]:
    """Entries by row, each name once: those that a row says twice add up."""
    ids, values = np.asarray(read.ids), np.asarray(read.values)
    rows = np.repeat(np.arange(read.rows), np.diff(np.concatenate([[0], read.row_ends])))
    key = rows.astype(np.int64) * (len(read.names) + 1) + ids
    unique, first, places = np.unique(key, return_index=True, return_inverse=True)
    if len(unique) == len(key):
        return ids, values, rows
    total: Float64 = np.bincount(places.reshape(-1), values, len(unique)).astype(np.float64)
    order = np.argsort(first)
    return ids[first[order]], total[order], rows[first[order]]


def _features(
    before: str, names: Any, between: str, ids: NDArray[Any], values: Float64, ends: NDArray[Any], after: str
) -> Any:
    """Each row's features as one text."""
    pa, compute = pyarrow(), pyarrow("compute")
    numbers = cells("values", pa.array(values))
    words = compute.binary_join_element_wise(names.take(pa.array(ids.astype(np.int64))), numbers, between)
    if before == after:  # before each, not between them
        words = compute.binary_join_element_wise(before, words, "")
        after = ""
    return compute.binary_join(pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), words), after)


def _write(file: IO[bytes], parts: list[Any]) -> None:
    file.write(joined(parts))
