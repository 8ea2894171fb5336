"""Infer the columns and labels once, from rows that are spread over all data, before any worker learns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data import ReadOptions, Schema
from ..data.arrow import pyarrow
from ..data.columns import tables as data_tables
from ..data.columns.arrow_column import as_text, whole
from ..data.columns.infer import Asked, infer_columns
from ..data.columns.schema import HELD, check, kind_of
from ..data.columns.table_schema import infer_schema
from ..data.columns.written import NUMBER_MARKS, PLAIN, by_number, is_text, numbers_of, typed
from ..data.labels import RawLabels, labels_of
from ..data.read_options import matching
from ..errors import InputError, Option, Phrase
from .blocks import DataSpec, FileSurvey, Head


def agree(spec: DataSpec, surveys: Sequence[FileSurvey]) -> tuple[Schema, RawLabels]:
    """The schema of all data, and the labels that decide the task; raises an error for contradictions."""
    heads = [head for one in surveys for head in one.heads if head.rows]
    if not heads:
        raise InputError("no row of the data can be read")
    if spec.family == "table":
        schema, table = _agreed_table(spec, surveys, heads)
        for one in surveys:
            if one.columns and not one.heads:  # other files had enough rows
                check(schema, dict(one.columns), one.name, 1)
        labels, _ = data_tables.labels(table, schema, spec.options.policy)
        return schema, labels if labels is not None else _separate_labels(heads)
    return spec.reader().schema_of_rows(), _separate_labels(heads)


# ---------------------------------------------------------------------------------------------------- columns


def _agreed_table(spec: DataSpec, surveys: Sequence[FileSurvey], heads: list[Head]) -> tuple[Schema, Any]:
    """The schema of a table, and all heads concatenated."""
    pa = pyarrow()
    source = spec.source()
    if not source.columns_may_come_later:
        _check_columns(surveys, spec.options)
    names = list(dict.fromkeys(name for one in surveys for name, _ in one.columns))
    text = matching((*spec.options.text, *spec.options.words, *spec.options.ngrams), names, "text", strict=False)
    columns = {name: _agreed(name, heads, name in text, spec.options) for name in names if _used(name, spec.options)}
    others = {name: pa.nulls(sum(head.rows for head in heads)) for name in names if name not in columns}
    table = pa.table({name: columns.get(name, others.get(name)) for name in names})
    first = surveys[0].name or "the data"
    schema = infer_schema(
        table, spec.options, first, spec.target is None, source.columns_may_come_later, rows=table.num_rows
    )
    return schema, table


def _used(name: str, options: ReadOptions) -> bool:
    return options.uses(name) or name in options.not_features


def _check_columns(surveys: Sequence[FileSurvey], options: ReadOptions) -> None:
    """Check that all files have the columns of the first.

    A file without a readable first row has no columns to check.
    """
    first, *others = (one for one in surveys if one.columns)
    known = {name for name, _ in first.columns if _used(name, options)}
    for one in others:
        found = {name for name, _ in one.columns if _used(name, options)}
        for name, _ in first.columns:
            if name in known - found:
                raise InputError(f"there is no column {name!r}, which {first.name} has", file=one.name)
        for name, _ in one.columns:
            if name in found - known:
                raise InputError(
                    f"there is a column {name!r}, which {first.name} does not have",
                    advice=Phrase("leave it out (", Option("ignore", name), "), or let all files have it"),
                    file=one.name,
                )


def _agreed(name: str, heads: list[Head], as_words: bool, options: ReadOptions) -> Any:
    """Combine one column of all heads, in a type that all of them can be read as.

    Where invalid rows are skipped, it is the kind that most heads have.
    """
    pa, types = pyarrow(), pyarrow("types")
    found = [head.table.column(name) if name in head.table.column_names else pa.nulls(head.rows) for head in heads]
    kinds: dict[str, int] = {}  # the first head of each kind
    counts: Counter[str] = Counter()
    of_head: dict[int, str] = {}
    for number, (column, head) in enumerate(zip(found, heads, strict=True)):
        if types.is_null(column.type) or column.null_count == len(column) or _is_blank(column):
            continue
        if kind_of(column.type) is None:
            raise InputError(
                f"column {name!r} holds {column.type}, which is neither numbers nor text; ignore it",
                file=head.place.file,
            )
        kind = _held(name, column, options)
        of_head[number] = kind
        kinds.setdefault(kind, number)
        counts[kind] += 1
    if len(kinds) > 1 and not as_words and not kinds.keys() <= {"date", "moment"}:
        if options.on_error != "skip":
            raise _contradiction(name, heads, kinds, name == options.target)
        ((most, _),) = counts.most_common(1)
        found = [
            column if of_head.get(number, most) == most else pa.nulls(len(column))
            for number, column in enumerate(found)
        ]
        kinds = {most: kinds[most]}
    if as_words or any(is_text(column.type) for column in found):
        return pa.chunked_array([_words(column) for column in found], pa.string())
    wanted = {column.type for column in found if not types.is_null(column.type)}
    if len(wanted) > 1:
        wanted = {_type_of(min(kinds, default="number"))}
    type = next(iter(wanted), pa.null())
    return pa.chunked_array([chunk for column in found for chunk in _chunks(column.cast(type, safe=False))], type)


def _is_blank(column: Any) -> bool:
    """Whether a column of text has only marks of missing values."""
    if not is_text(column.type):
        return False
    texts, _ = by_number(whole(column))
    return bool((numbers_of(texts, PLAIN, NUMBER_MARKS)[1] == 1).all())


def _held(name: str, column: Any, options: ReadOptions) -> str:
    """The kind of values that a column of one head contains."""
    kind = infer_columns({name: column}, options.policy.marks, Asked(used=frozenset((name,))))[name].kind
    return {"flag": "number", "words": "text", "ngrams": "text"}.get(str(kind), str(kind))


def _type_of(kind: str) -> Any:
    """The Arrow type for values of a kind."""
    pa = pyarrow()
    types = {"number": pa.float64(), "boolean": pa.bool_(), "time": pa.time64("us"), "text": pa.string()}
    return types.get(kind, pa.timestamp("us"))


def _chunks(column: Any) -> list[Any]:
    return column.chunks if hasattr(column, "chunks") else [column]


def _words(column: Any) -> Any:
    """Convert a column to text."""
    one = whole(column)
    if pyarrow("types").is_dictionary(one.type):
        one = one.dictionary_decode()
    return as_text(one)


def _contradiction(name: str, heads: list[Head], kinds: dict[str, int], is_target: bool) -> InputError:
    """The error for a column that contains different kinds of values."""
    first, second = list(kinds)[:2]
    if "text" in kinds:  # a number can be read as text, but text cannot be read as a number
        first, second = next(kind for kind in kinds if kind != "text"), "text"
    head = heads[kinds[second]]
    column = head.table.column(name)
    row = _first_odd(column, first) if second == "text" else _first_there(column)
    earlier = heads[kinds[first]]
    there = earlier.place(_first_there(earlier.table.column(name)))
    what = "the target" if is_target else "the column"
    value = column[row].as_py()
    shown = repr(value) if isinstance(value, str | int | float | bool) else str(value)
    return InputError(
        f"{what} is {shown[:60]} here, but at {there} it holds {HELD[first]}",
        advice=Phrase(
            *("correct it, skip such rows (", Option("on_error", "skip"), "), or treat the column as text ("),
            *(Option("text", name), ")"),
        ),
        column=name,
        **head.place.at(row),
    )


def _first_there(column: Any) -> int:
    """The first row that has a value."""
    return int(np.flatnonzero(whole(column).is_valid().to_numpy(zero_copy_only=False))[0])


def _first_odd(column: Any, kind: str) -> int:
    """The first text that cannot be read as another kind; if there is none, the first value."""
    _, invalid = typed(_words(column), kind, PLAIN, ())
    return invalid.row if invalid is not None else _first_there(column)


# ---------------------------------------------------------------------------------------------------- labels


def _separate_labels(heads: list[Head]) -> RawLabels:
    """The labels of rows whose labels are given separately from the data."""
    parts = [head.labels for head in heads]
    if all(isinstance(part, np.ndarray) for part in parts):
        return labels_of(np.concatenate(parts))
    values, places = [], []
    for head in heads:
        for row, value in enumerate(head.labels):
            values.append(value)
            places.append((head.place, row))
    decided = [k for k, value in enumerate(values) if value is not None and not isinstance(value, bool | np.bool_)]
    for k in decided:
        value, (place, row) = values[k], places[k]
        if isinstance(value, str) != isinstance(values[decided[0]], str):
            held = "numbers" if isinstance(value, str) else "text"
            raise InputError(
                f"the target is {value!r} here, but the first rows held {held}",
                advice="labels are all numbers or all text",
                **place.at(row),
            )
    return labels_of(values)
