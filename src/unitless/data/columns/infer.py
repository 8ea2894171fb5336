"""Infers the columns of a table from its first rows, for all formats.

A column of text is examined by its different values. It can have numbers in one of several notations, booleans, dates,
words, names, or categories. Row counters and identifier columns are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrow import as_numpy, flag_array, flags, is_native, pyarrow, text_array
from . import dates, ngrams, words
from .arrow_column import whole
from .schema import Kind, kind_of
from .written import BLANKS, LONGEST_UNIT, NUMBER_MARKS, PLAIN, Written, by_number, is_text, numbers_of

_WAYS = (PLAIN, Written(".", ","), Written(",", "."))  # the notations of numbers
MOSTLY = 0.95  # this share of the values must be of a kind
HALF = 0.5  # this share is enough if the other values are the same few words again and again
FEW_WORDS, MANY_NUMBERS = 3, 20
LEAST_ROWS = 20  # with fewer rows, no column is a row counter, whatever its name
SURE_ROWS = 100  # with so many rows, a column that rises from row to row is a row counter, whatever its name
NEARLY_ALL = 0.95  # this share of the values of an identifier column differs
LEAST_NAMES = 50  # with fewer rows, text is not an identifier column

_ID = re.compile(
    r"(?i:^(unnamed:.*|column \d+|no\.?|nr\.?|#|idx|index|id|uid|guid|uuid|key|row)$"
    r"|^row[ _]?(id|no|nr|num|number|index)$|[ _-]id$|^id[ _-])|[a-z]I[Dd]$"
)
_TIME = re.compile(r"(?i)year|month|week|day|date|time|hour|minute|second|epoch|quarter|^ts$|^t$|_at$|\bage\b|^yr")


def is_identifier_name(name: str) -> bool:
    """Return whether a column with this name is likely to identify something, such as `id` or `user_id`."""
    return _ID.search(name) is not None


@dataclass(frozen=True)
class Inferred:
    """The inferred content of a column.

    Args:
        kind: one of `schema.KINDS`.
        written: the notation of text.
        left_out: why the column is not used, in words; "" if it is used.
        names: whether its texts are names, codes or addresses, whose n-grams may predict the labels.
        ambiguous: one of its dates that can be read in two ways, if the user has not said which way is meant.
    """

    kind: Kind | None
    written: Written = PLAIN
    left_out: str = ""
    ambiguous: str = ""
    names: bool = False


@dataclass
class _Text:
    """A column of text: its different values, their counts, and each row's value."""

    texts: Any  # the different values
    counts: NDArray[np.intp]  # how often each value occurs
    places: NDArray[np.intp]  # per row: the place of its value; -1 if it has none

    @property
    def rows(self) -> int:
        """The number of values that are not missing."""
        return int(self.counts.sum())


def infer_columns(columns: dict[str, Any], marks: Iterable[str], asked: Asked) -> dict[str, Inferred]:
    """Infer the content of each column.

    Args:
        columns: the first rows of each column, as Arrow columns; their types count.
        marks: texts that mean missing values, in addition to the usual ones.
        asked: the user's options about the columns.
    """
    found: dict[str, Inferred] = {}
    texts: dict[str, _Text] = {}
    marks = (*NUMBER_MARKS, *marks)
    for name, column in columns.items():
        if name in asked.words or name in asked.ngrams:
            found[name] = Inferred("words" if name in asked.words else "ngrams")
        elif is_text(column.type) and not (name in asked.text or pyarrow("types").is_dictionary(column.type)):
            texts[name] = _values(whole(column))
        else:
            found[name] = _of_type(name, column, asked)
    comma = asked.decimal == ","
    if asked.decimal is None:
        certain = {_certain_decimal(text, marks) for text in texts.values() if text.rows}
        comma = "," in certain and "." not in certain
    for name, text in texts.items():
        found[name] = _of_text(name, text, marks, asked, comma)
    return {name: found[name] for name in columns}


@dataclass(frozen=True)
class Asked:
    """The user's options about the columns.

    Args:
        text: columns of categories.
        words: columns of words.
        ngrams: columns of n-grams.
        numbers: columns of numbers, whatever they look like.
        used: columns with another use than as a feature, such as the target; they are never left out.
        decimal: the decimal mark, if it is known.
        thousands: the thousands separator, if it is known.
        dates: which of two readings of an ambiguous date is meant.
    """

    text: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    ngrams: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()
    decimal: str | None = None
    thousands: str | None = None
    dates: str = "parts"


def _values(column: Any) -> _Text:
    texts, places = by_number(column)
    texts = pyarrow("compute").utf8_trim(texts, BLANKS)
    there = places[places >= 0]
    return _Text(texts, np.bincount(there, minlength=len(texts)).astype(np.intp), places)


# ---------------------------------------------------------------------------------------------------- typed columns


def _of_type(name: str, column: Any, asked: Asked) -> Inferred:
    """Infer the content of a column from its type."""
    kind = "text" if name in asked.text else kind_of(column.type)
    if kind == "moment" and dates.all_midnight(whole(column)):
        kind = "date"
    if kind != "number":
        return Inferred(kind)
    one = whole(column)
    if not is_native(one):
        return Inferred("number")
    values = as_numpy(one)
    form = None if name in asked.numbers or name in asked.used else dates.recognize_numbers(name, values)
    if form is not None:
        return Inferred(form.kind, Written(date=form.text))
    if pyarrow("types").is_integer(column.type) and (reason := _identifies(name, values.astype(np.float64), asked)):
        return Inferred("number", left_out=reason)
    return Inferred(_number_kind(name, values, asked))


def _number_kind(name: str, values: NDArray[Any], asked: Asked) -> Kind:
    """Return "flag" if all numbers are 0 or 1, otherwise "number"."""
    there = values[~np.isnan(values)]
    flag = len(there) > 0 and name not in asked.numbers and bool(((there == 0) | (there == 1)).all())
    return "flag" if flag else "number"


def _identifies(name: str, values: NDArray[np.float64], asked: Asked) -> str:
    """Return why whole numbers are only row counters or identifiers, in words; "" if they are not."""
    there = values[~np.isnan(values)]
    if len(there) < LEAST_ROWS or name in asked.numbers or name in asked.used:
        return ""
    named = bool(_ID.search(name))
    steps = np.diff(there)
    rising = len(there) == len(values) and bool((steps > 0).all())
    if rising and (named or (len(there) >= SURE_ROWS and not _TIME.search(name))):
        return "a row counter"
    if named and len(np.unique(there)) >= NEARLY_ALL * len(there):
        return "an id: nearly every row has its own"
    return ""


# ---------------------------------------------------------------------------------------------------- text


def _shares(text: _Text, way: Written, marks: tuple[str, ...]) -> tuple[NDArray[np.float64], NDArray[np.uint8], float]:
    """Read texts as numbers in one notation; return the numbers, each text's kind, and the share of numeric rows."""
    numbers, kinds = numbers_of(text.texts, way, marks)
    there = int(text.counts[kinds != 1].sum())
    return numbers, kinds, float(text.counts[kinds == 0].sum() / there) if there else 0.0


def _certain_decimal(text: _Text, marks: tuple[str, ...]) -> str:
    """Return the decimal mark without which the texts of a column are not numbers; "" if it is not certain."""
    points, american, comma = (_shares(text, way, marks)[2] for way in _WAYS)
    if max(points, american, comma) < MOSTLY or max(points, american) == comma:
        return ""
    return "," if comma > max(points, american) else "."


def _of_text(name: str, text: _Text, marks: tuple[str, ...], asked: Asked, comma: bool) -> Inferred:
    """Infer the content of a column of text."""
    kinds = _shares(text, PLAIN, marks)[1]
    there = (kinds != 1) & (text.counts > 0)
    if not there.any():
        return Inferred("number")  # nothing is known yet
    texts = text.texts.filter(flag_array(there)).to_pylist()
    if all(value.lower() in ("true", "false") for value in texts):
        return Inferred("boolean")
    # Numbers such as 20141013 carry more information as dates.
    form = None if name in asked.numbers else dates.recognize(name, texts, _DAY_FIRST.get(asked.dates))
    if form is not None and name not in asked.used and _read_as_dates(texts, text.counts[there], form.text):
        return Inferred(form.kind, Written(date=form.text), ambiguous=form.example)
    if (number := _as_numbers(name, text, marks, asked, comma)) is not None:
        return number
    if name in asked.used:
        return Inferred("text")
    rows = int(text.counts[there].sum())
    if words.looks_like_words(texts, rows):
        return Inferred("words")
    if rows < LEAST_NAMES or len(texts) < HALF * rows:
        return Inferred("text")
    names = not _ID.search(name) and ngrams.looks_like_names(texts)
    if len(texts) >= NEARLY_ALL * rows:
        return Inferred("text", left_out=f"text with {len(texts):,} different values in {rows:,} rows", names=names)
    return Inferred("text", names=names)


def _read_as_dates(texts: list[str], counts: NDArray[np.intp], form: str) -> bool:
    """Return whether most rows, and not only most of the different values, are dates."""
    read = flags(dates.read(text_array(texts), form).is_valid())
    return bool(counts[read].sum() >= MOSTLY * counts.sum())


def _as_numbers(name: str, text: _Text, marks: tuple[str, ...], asked: Asked, comma: bool) -> Inferred | None:
    """Return how a column of text is read as numbers; None if it does not have numbers."""
    ways = [_WAYS[2], *_WAYS[:2]] if comma else list(_WAYS)
    if asked.decimal is not None:
        ways = [way for way in ways if way.decimal == asked.decimal]
    if asked.thousands is not None:
        ways = [replace(way, thousands=asked.thousands) for way in ways if way.decimal != asked.thousands]
    numbers, kinds, share, way = _best_way(text, ways, marks)
    if share < HALF and (unit := _unit(text, kinds)):
        numbers, kinds, share, way = _best_way(text, [replace(one, unit=unit) for one in ways], marks)
    others = int(((kinds == 2) & (text.counts > 0)).sum())
    mostly = share >= MOSTLY or (
        share >= HALF and others <= FEW_WORDS and len(np.unique(numbers[kinds == 0])) >= MANY_NUMBERS
    )
    if not mostly and name not in asked.numbers:
        return None
    values = np.where(text.places >= 0, numbers[text.places], np.nan)
    written = [str(one) for one, kind in zip(text.texts.to_pylist(), kinds, strict=True) if kind == 0]
    if share == 1.0 and all(_WHOLE.fullmatch(one) for one in written):
        form = None if name in asked.numbers or name in asked.used else dates.recognize_numbers(name, values)
        if form is not None:
            return Inferred(form.kind, Written(date=form.text))
        if reason := _identifies(name, values, asked):
            return Inferred("number", way, reason)
        if name not in asked.numbers and _are_codes(name, written):
            return None
    return Inferred(_number_kind(name, values, asked), way)


def _best_way(
    text: _Text, ways: list[Written], marks: tuple[str, ...]
) -> tuple[NDArray[np.float64], NDArray[np.uint8], float, Written]:
    """Read texts in the notation in which most are numbers; return the results of `_shares` and the notation."""
    best, way = (np.zeros(0), np.zeros(0, np.uint8), -1.0), PLAIN
    for one in ways:
        found = _shares(text, one, marks)
        if found[2] > best[2]:
            best, way = found, one
    return *best, way


def _unit(text: _Text, kinds: NDArray[np.uint8]) -> str:
    """Return the unit, such as "kg", that follows nearly all of many different numbers; "" if there is none."""
    there = (kinds != 1) & (text.counts > 0)
    found: dict[str, int] = {}
    numbers = 0
    for one, count in zip(text.texts.filter(flag_array(there)).to_pylist(), text.counts[there], strict=True):
        if (match := _WITH_UNIT.fullmatch(one)) is not None:
            found[match[1]] = found.get(match[1], 0) + int(count)
            numbers += 1
    unit = max(found, key=lambda name: found[name], default="")
    enough = numbers >= MANY_NUMBERS and found[unit] >= MOSTLY * text.counts[there].sum()
    return unit if enough else ""


def _are_codes(name: str, written: list[str]) -> bool:
    """Return whether whole numbers are codes: they are padded with zeros to the same length."""
    padded = any(one.startswith("0") and len(one) > 1 for one in written)
    return padded and len({len(one) for one in written}) == 1 and not _TIME.search(name)


_DAY_FIRST = {"day-first": True, "month-first": False}
_WITH_UNIT = re.compile(rf"[+-]?\d[\d.,' ]*?\s*([^\W\d_][^\d\s]{{0,{LONGEST_UNIT - 1}}})")
_WHOLE = re.compile(r"[+-]?\d+")
