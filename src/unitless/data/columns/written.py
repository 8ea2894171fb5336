"""Reads text as something else: numbers in several notations, booleans, dates, marks of missing values.

Text files have nothing but text, and text columns of frames often have numbers. The content of a column is inferred
once (`infer.py`); this module converts its text. It converts each different text of a column once, and not each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...inputs import TextColumn
from ..arrow import as_numpy, flag_array, flags, letters_of, number_array, place_array, pyarrow, text_array
from . import date_forms, dates

# Texts that mean a missing value in any column.
MARKS = (
    *("", "NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "Null", "<NA>", "?", "#N/A", "#NA"),
    *("#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "#REF!", "#DIV/0!", "#VALUE!", "#NUM!"),
)
# Texts that mean a missing value in columns of numbers, where they cannot mean anything else.
NUMBER_MARKS = (*MARKS, "-", "--", ".", "..", "*", "na", "Na", "none", "None", "NONE", "nil", "NIL", "missing", "NaT")

BLANKS = " \t\u00a0\u202f\u2009"  # blanks around values: space, tab, no-break and thin spaces, as in the core
LONGEST_UNIT = 12  # letters
_CLOCKS = ("moment on the spot", "moment in UTC")
_TRUE, _FALSE = ("true", "True", "TRUE", "1"), ("false", "False", "FALSE", "0")


@dataclass(frozen=True)
class Written:
    """The notation of a text column that is not plain.

    Args:
        decimal: the decimal mark of numbers.
        thousands: the thousands separator of numbers; empty if there is none.
        date: the form of dates, if the column has dates; see `dates.py`.
        unit: the unit after the numbers, such as "kg".
    """

    decimal: str = "."
    thousands: str = ""
    date: str = ""
    unit: str = ""

    @property
    def form(self) -> str:
        """The notation of numbers in the form that the core takes."""
        return self.decimal + (self.thousands or "\0") + self.unit if self.unit else self.decimal + self.thousands

    def plain(self) -> dict[str, str]:
        """Return the notation in the form in which a model file stores it."""
        return {name: value for name, value in asdict(self).items() if value != getattr(PLAIN, name)}

    @classmethod
    def read(cls, plain: Any) -> Written:
        """Read a notation from a model file and check it."""
        written = cls(**plain)
        good = all(type(value) is str for value in asdict(written).values())
        good = (
            good
            and written.date in ("", *date_forms.FORMS)
            and written.decimal in (".", ",")
            and written.thousands in ("", ".", ",", "'", " ", "_")
            and len(written.unit) <= LONGEST_UNIT
        )
        if not good or written.decimal == written.thousands:
            raise ValueError("it is not a way to write numbers")
        return written


PLAIN = Written()


@dataclass
class InvalidValues:
    """The values of a column that do not have its kind and count as missing: how many, and the first one."""

    count: int
    row: int  # from 0, among the rows that are read together
    value: str

    def joined(self, other: InvalidValues) -> InvalidValues:
        """Return the invalid values of both."""
        first = min(self, other, key=lambda one: one.row)
        return InvalidValues(self.count + other.count, first.row, first.value)


def numbers_of(texts: Any, written: Written, marks: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Read an Arrow array of texts as numbers; also return the kind of each: a number (0), missing (1), other (2)."""
    ends, letters = letters_of(texts)
    return _core.written_numbers(ends, letters, written.form, list(marks))


def is_text(type: Any) -> bool:
    """Return whether an Arrow type is text, plain or as a dictionary."""
    types = pyarrow("types")
    type = type.value_type if types.is_dictionary(type) else type
    return bool(types.is_string(type) or types.is_large_string(type) or types.is_string_view(type))


def by_number(column: Any) -> tuple[Any, NDArray[np.intp]]:
    """Return the different texts of an Arrow column, and each row's place among them (-1 for a null)."""
    column = column if pyarrow("types").is_dictionary(column.type) else column.dictionary_encode()
    places = as_numpy(column.indices)
    if column.indices.null_count:
        places = np.where(np.isnan(places), -1, places)
    places = places.astype(np.intp)
    if column.dictionary.null_count:
        nulls = np.flatnonzero(~flags(column.dictionary.is_valid()))
        places[np.isin(places, nulls)] = -1
    return column.dictionary, places


def typed(column: Any, kind: str, written: Written, marks: Sequence[str]) -> tuple[Any, InvalidValues | None]:
    """Convert a column of text to a kind, with nulls for missing values; also return the invalid values.

    Dates are returned in local time and in UTC (`both_clocks`).

    Args:
        column: an Arrow array of text.
        kind: the kind of the column; text is returned unchanged.
        written: the notation.
        marks: texts that mean missing values, in addition to the usual ones.
    """
    texts, places = by_number(column)
    if kind in ("number", "flag"):
        numbers, kinds = numbers_of(texts, written, (*NUMBER_MARKS, *marks))
        found = np.append(numbers, np.nan)[places]  # a null has place -1, which is NaN
        return number_array(found), _invalid(texts, kinds, places)
    if kind == "boolean":
        trimmed = pyarrow("compute").utf8_trim(texts, BLANKS)
        yes, no = (is_among(trimmed, words) for words in (_TRUE, _FALSE))
        values, known = flag_array(yes, yes | no), yes | no
    elif kind in ("date", "moment", "time"):
        trimmed = pyarrow("compute").utf8_trim(texts, BLANKS)
        values = both_clocks(*dates.read_both(trimmed, written.date or dates.usual_form(kind)))
        known = flags(values.is_valid())
    else:
        return column, None
    kinds = np.where(known, 0, np.where(is_among(trimmed, (*NUMBER_MARKS, *marks)), 1, 2))
    return values.take(place_array(places)), _invalid(texts, kinds, places)


def is_among(texts: Any, words: Sequence[str]) -> NDArray[np.bool_]:
    """Return a mask of the texts of an Arrow array that are among the words."""
    return flags(pyarrow("compute").is_in(texts, text_array(words).cast(texts.type)))


def dates_of_numbers(column: Any, written: Written) -> tuple[Any, InvalidValues | None]:
    """Convert an Arrow column of numbers that stand for dates to moments; also return the invalid values."""
    found = dates.read_numbers(column, written.date)
    missing = column.is_null(nan_is_null=True)
    lost = np.flatnonzero(~flags(missing) & ~flags(found.is_valid()))
    invalid = InvalidValues(len(lost), int(lost[0]), str(column[int(lost[0])].as_py())) if len(lost) else None
    return found, invalid


def as_dates(kind: str, written: Written = PLAIN) -> str:
    """Return the form in which text must be written to be read as dates of this kind."""
    advice = "write it as 23:59" if kind == "time" else "write it as 2024-12-31 or 2024-12-31 23:59"
    seen = written.date in date_forms.WRITTEN and written.date != dates.usual_form(kind)
    return f"{advice}, or as the training data has it: {written.date}" if seen else advice


def both_clocks(wall: Any, utc: Any) -> Any:
    """Join moments in local time and in UTC to one Arrow array."""
    return pyarrow().StructArray.from_arrays([wall, utc], list(_CLOCKS), mask=wall.is_null())


def has_both_clocks(type: Any) -> bool:
    """Return whether an Arrow type is that of `both_clocks`."""
    return bool(pyarrow("types").is_struct(type)) and tuple(field.name for field in type) == _CLOCKS


def _invalid(texts: Any, kinds: NDArray[Any], places: NDArray[np.intp]) -> InvalidValues | None:
    """Return the texts that are neither of the column's kind nor missing."""
    if not len(kinds) or not (kinds == 2).any():
        return None
    rows = np.flatnonzero(np.where(places >= 0, kinds[places], 1) == 2)
    return InvalidValues(len(rows), int(rows[0]), texts[int(places[rows[0]])].as_py().strip()) if len(rows) else None


def as_column(text: TextColumn) -> Any:
    """Convert text that the core has read to an Arrow dictionary column."""
    pa = pyarrow()
    values = pa.LargeStringArray.from_buffers(
        max(0, len(text.ends) - 1), pa.py_buffer(text.ends), pa.py_buffer(text.text)
    )
    return pa.DictionaryArray.from_arrays(place_array(text.codes), values)
