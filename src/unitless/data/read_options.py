"""The options for reading data. Every option that is not given is inferred from the data."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any, Literal

from ..errors import Option, OptionError, Phrase
from . import formats
from .columns.policy import Policy

DATES = ("parts", "day-first", "month-first", "error")
MISSING = ("indicator", "absent", "error")
SKIP_ROWS = Phrase("correct it, or skip such rows (", Option("on_error", "skip"), ")")
SKIP_LINES = Phrase("correct it, or skip such lines (", Option("on_error", "skip"), ")")
ENCODING = Phrase("if it has another encoding, name it (for example ", Option("encoding", "latin-1"), ")")
_OF_FILES = ("delimiter", "header", "encoding", "decimal", "thousands")  # which apply to later files too
ALLOW_MISSING = Phrase(Option("missing", "indicator"), " allows that")


@dataclass(frozen=True)
class Reading:
    """How data is read: what its columns are, how files are written, and what to do with rows that cannot be read.

    Everything is inferred from the data if it is not given.

    Args:
        offset: the column of numbers that are added to the score of their row, such as the logarithm of an exposure.
            Predicting needs the column too. Default: none.
        ignore: columns to leave out; `*` and `?` stand for any letters. In VW text: namespaces, by name or first
            letter. Default: none.
        only: columns to use, or namespaces of VW text; all others are left out. Default: all.
        text: columns of categories whose values look like numbers or dates, such as zip codes. Default: inferred.
        words: columns of text in which each word is a feature (a comment, a title). Default: inferred.
        ngrams: columns of names, codes or addresses, in which 2 to 5 neighboring characters are a feature. Default:
            inferred.
        numbers: columns to use as numbers although they look like row counters, or their first values are only 0 and 1.
            Default: inferred.
        dates: what dates become: "parts" (time, year, month, weekday, hour and day of the year are features),
            "day-first" or "month-first" (parts too, and they define how 1/2/2020 is read), or "error". Default:
            "parts".
        missing: what a missing value becomes: "indicator" (a feature of its own, `column=(missing)`; rows that are not
            a table are treated as with "absent"), "absent" (the feature is left out), or "error". Default:
            "indicator".
        na: values that mark a missing one, in addition to the usual marks (NA, null, ?, ...). Default: none.
        decimal: the decimal mark of numbers in text, "." or ",". Default: inferred.
        thousands: the thousands separator of numbers in text, "," or ".". Default: inferred.
        on_error: what to do with rows that cannot be read: "fail", or "skip" and count them. Default: "fail".
        format: the format of the files, such as "csv". Default: inferred from their name and content.
        delimiter: the character between the columns of CSV. Default: inferred.
        header: whether the first row of CSV has the names of the columns; without names they are called 1, 2, 3, ...
            Default: inferred.
        encoding: the encoding of text files, such as "latin-1". Default: that of a byte-order mark, or UTF-8.
        zero_based: whether a libsvm file counts its features from 0. Default: False.
        tail: read a growing text file until Ctrl-C, as `tail -F` does; of several files, the last one. Default: False.
        filesystem: the `pyarrow.fs` on which the files are; addresses such as "s3://..." need none. Default: None.

    Example:
        >>> import unitless as ul
        >>> rows = [{"id": i, "age": 20 + i % 50, "zip": 10115 + i % 3, "y": i % 50} for i in range(1000)]
        >>> ul.train(rows, "y", reading=ul.Reading(ignore="id", text="zip")).features_seen
        4
    """

    offset: str | None = None
    ignore: str | Iterable[str] = ()
    only: str | Iterable[str] = ()
    text: str | Iterable[str] = ()
    words: str | Iterable[str] = ()
    ngrams: str | Iterable[str] = ()
    numbers: str | Iterable[str] = ()
    dates: Literal["parts", "day-first", "month-first", "error"] | None = None
    missing: Literal["indicator", "absent", "error"] | None = None
    na: str | Iterable[str] = ()
    decimal: Literal[".", ","] | None = None
    thousands: str | None = None
    on_error: Literal["fail", "skip"] | None = None
    format: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    zero_based: bool = False
    tail: bool = False
    filesystem: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name, allowed in (
            ("dates", (None, *DATES)),
            ("missing", (None, *MISSING)),
            ("on_error", (None, "fail", "skip")),
            ("decimal", (None, ".", ",")),
            ("thousands", (None, "", ",", ".", "'", " ", "_")),
            ("format", (None, *formats.names())),
        ):
            if getattr(self, name) not in allowed:
                choices = ", ".join(repr(choice) for choice in allowed if choice is not None)
                raise OptionError(f"is {getattr(self, name)!r}; it must be one of {choices}", option=name)
        if self.thousands and self.thousands == (self.decimal or "."):
            raise OptionError(f"is {self.thousands!r}, which is what stands before fractions", option="thousands")
        for name in ("ignore", "only", "text", "words", "ngrams", "numbers", "na"):
            value = getattr(self, name)
            if not isinstance(value, str | Iterable | None):
                raise OptionError(f"is {value!r}; it must be a name or a list of names", option=name)
            names = (value,) if isinstance(value, str) else tuple(value or ())
            for one in names:
                if not isinstance(one, str):
                    raise OptionError(f"has {one!r}; it must be a name or a list of names", option=name)
            object.__setattr__(self, name, names)
        if not isinstance(self.offset, str | None):
            raise OptionError(
                f"is a {type(self.offset).__name__}; it must be the name of a column. Offsets of arrays are given to "
                "`Learner.learn` and `Learner.predict`",
                option="offset",
            )
        for name, value in (("tail", self.tail), ("zero_based", self.zero_based), ("header", self.header or False)):
            if type(value) is not bool:
                raise OptionError(f"is {value!r}; it must be True or False", option=name)
        if self.delimiter is not None:
            plain = len(self.delimiter) == 1 and self.delimiter.isascii() and self.delimiter not in '\n\r\0"'
            if not plain:
                raise OptionError(
                    f"is {self.delimiter!r}; it must be one character, such as ; or a tab", option="delimiter"
                )
        if self.encoding is not None:
            try:
                "a".encode(self.encoding)
            except (LookupError, UnicodeError):
                raise OptionError(
                    f"is {self.encoding!r}, which is not known; try 'latin-1'", option="encoding"
                ) from None

    def given(self) -> dict[str, Any]:
        """Return the options whose values are not the defaults, by name."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) != one.default}


def given_reading(reading: Reading | None) -> dict[str, Any]:
    """Return the options that a caller has given, by name; an empty dictionary for None.

    Args:
        reading: the argument `reading` of a function.
    """
    if reading is None:
        return {}
    if not isinstance(reading, Reading):
        raise OptionError(
            f"is a {type(reading).__name__}; it must be a ul.Reading, such as ul.Reading(ignore='id')", option="reading"
        )
    return reading.given()


@dataclass(frozen=True)
class ReadOptions(Reading):
    """How one source is read: a user's options, the columns of labels and weights, and what a model's training set."""

    ignore: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    ngrams: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    na: tuple[str, ...] = ()
    dates: Literal["parts", "day-first", "month-first", "error"] = "parts"
    missing: Literal["indicator", "absent", "error"] = "indicator"
    on_error: Literal["fail", "skip"] = "fail"
    target: str | None = None
    weight: str | None = None
    groups: str | None = None
    # The options that the model's training has set.
    remembered: frozenset[str] = field(default=frozenset(), compare=False)
    as_written: bool = False  # text keeps its blanks, and only empty text is missing, as for the rows of a server

    @property
    def not_features(self) -> tuple[str, ...]:
        """The columns of the rows that are not features: target, weight, offset and groups, if they are named."""
        return tuple(name for name in (self.target, self.weight, self.offset, self.groups) if name is not None)

    @property
    def policy(self) -> Policy:
        """How values that are not numbers become features."""
        from .columns.written import MARKS  # noqa: PLC0415  (it needs NumPy, and help texts need only the names)

        marks = () if self.as_written else (*MARKS[1:], *self.na)
        dates: Literal["parts", "error"] = "error" if self.dates == "error" else "parts"
        return Policy("categories", "indicators", self.missing, dates, marks, trim=not self.as_written)

    def kept(self, family: str) -> dict[str, Any]:
        """Return the options that later data must be read with too; the schema of a table has the rest."""
        kept: dict[str, Any] = {"dates": self.dates, "missing": self.missing, "as_written": self.as_written}
        names = ("ignore", "only", "text") if family == "named" else ("na",)
        kept |= {name: list(value) for name in names if (value := getattr(self, name))}
        return kept | {name: value for name in _OF_FILES if (value := getattr(self, name)) is not None}

    @classmethod
    def settled(cls, reading: Mapping[str, Any] | None, **given: Any) -> ReadOptions:
        """Make the options for reading later data of a model.

        Args:
            reading: the options that the model's training has stored (`kept`). None if there is no training record;
                then values are read as they are written.
            given: the options that the caller gives; they take precedence.
        """
        as_it_is = {"dates": "error", "missing": "absent", "as_written": True}
        known: Mapping[str, Any] = as_it_is if reading is None else reading
        names = ("dates", "missing", "as_written", "na", "ignore", "only", "text", *_OF_FILES)
        chosen = {name: value for name, value in given.items() if value is not None or name not in known}
        remembered = {name: known[name] for name in names if name in known and name not in chosen}
        return cls(**remembered, **chosen, remembered=frozenset(remembered))

    def uses(self, name: str) -> bool:
        """Return whether `only` and `ignore` allow the use of the column with this name."""
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in self.ignore):
            return False
        return not self.only or any(fnmatch.fnmatchcase(name, pattern) for pattern in self.only)


def names_and_values(given: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Arguments such as `target`, by name: those that name a column, as text, and those that are the values themselves.

    A whole number is the name of a column, such as 3 in a file without a header, or counts columns from the end.
    """
    columns, values = {}, {}
    for name, value in given.items():
        if isinstance(value, Integral) and not isinstance(value, bool):
            columns[name] = str(value)
        elif isinstance(value, str):
            columns[name] = value
        else:
            values[name] = value
    return columns, values


def from_the_end(name: str | None, names: Sequence[Any]) -> Any:
    """The name of the column that is counted from the end (-1 is the last one); any other name as it is."""
    if name is None or name in names or not is_counted(name):
        return name
    place = counted_column(name, len(names))
    return name if place is None else names[place]


def is_counted(name: str) -> bool:
    """Return whether a name counts a column from the end: "-1" is the last column."""
    return re.fullmatch(r"-[1-9]\d{0,8}", name) is not None


def counted_column(name: str, columns: int) -> int | None:
    """Return the place of a column that is given by its number, from 1 or (negative) from the end; otherwise None."""
    if re.fullmatch(r"-?[1-9]\d{0,8}", name) is None or abs(int(name)) > columns:
        return None
    return int(name) - 1 if int(name) > 0 else columns + int(name)


def matching(patterns: Iterable[str], names: list[str], option: str, strict: bool = True) -> set[str]:
    """Return the names that match the patterns; if `strict`, a pattern without a match is an error with a hint."""
    found: set[str] = set()
    for pattern in patterns:
        hits = [pattern] if pattern in names else [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        if not hits and strict:
            raise OptionError(no_column(pattern, names, option))
        found.update(hits)
    return found


def no_column(name: str, names: list[str], option: str) -> Phrase:
    """Return the message that a column does not exist, with a hint."""
    near = [known for known in names if known.casefold() == name.casefold()]
    near = near or difflib.get_close_matches(name, names, 1, 0.6)
    shown = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    # A line that was not split into columns.
    if not near and len(names) == 1 and any(mark in names[0] for mark in ",;|\t "):
        hint = f"; there is only {names[0]!r}; if these are several columns, name the character between them ("
        return Phrase(Option(option), f": there is no column {name!r}{hint}", Option("delimiter"), ")")
    hint = f"; did you mean {near[0]!r}?" if near else f"; there are {shown}" if names else ""
    if re.fullmatch(r"-?\d+", name):
        hint += "; a negative number counts columns from the end, -1 is the last one"
    return Phrase(Option(option), f": there is no column {name!r}{hint}")
