"""The schema of a table: its columns, which are inferred from the first rows (`infer.py`) and apply to all rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from ...errors import InputError, ModelFileError, Phrase
from ..arrow import pyarrow
from .written import PLAIN, Written, has_both_clocks, is_text

Kind: TypeAlias = Literal["number", "flag", "text", "boolean", "date", "moment", "time", "words", "ngrams"]
KINDS: tuple[Kind, ...] = get_args(Kind)
DATES = ("date", "moment", "time")  # days; days with a time; times of day
SPLIT = {"words": "words", "ngrams": "n-grams"}  # text whose parts are features; what messages call the parts
STRINGS = ("text", *SPLIT)
TEXTS = (*STRINGS, "boolean")


def first_rows(columns: int) -> int:
    """Return the number of rows from which column types and the task are inferred; it is the same for every format."""
    return max(256, min(4096, (16 << 20) // max(1, columns)))


class LeftOut(NamedTuple):
    """A column that is not used, with the reason."""

    name: str
    why: str  # the reason, in words
    kept_by: str  # the option that would keep the column


@dataclass(frozen=True)
class Schema:
    """The columns that are features, with their kinds; the columns of target, weights, offsets and groups.

    Data that is not a table has no columns. A column of dates stands for its parts. A flag is a number that was 0 or 1
    in the first rows; because its offset has a meaning, it is never centered. `written` has the notation of text
    columns that are not plain, and `left_out` the columns that are not used. `remarks` are notes for the user who reads
    the data for the first time; they are not stored.
    """

    family: Literal["table", "named", "columns"]  # rows of a table, of named features, of numbered features
    columns: tuple[tuple[str, Kind], ...] = ()
    target: str | None = None
    target_kind: Kind | None = None
    weight: str | None = None
    written: Mapping[str, Written] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    remarks: tuple[Phrase, ...] = field(default=(), compare=False)
    offset: str | None = None
    groups: str | None = None

    def plain(self) -> dict[str, Any]:
        """Return the schema in the form in which a model file stores it."""
        return {
            "family": self.family,
            "columns": [list(column) for column in self.columns],
            "target": self.target,
            "target_kind": self.target_kind,
            "weight": self.weight,
            "written": {name: how.plain() for name, how in self.written.items()},
            "left_out": [list(one) for one in self.left_out],
            "offset": self.offset,
            **({} if self.groups is None else {"groups": self.groups}),  # few trainings have groups
        }

    @classmethod
    def read(cls, plain: Any) -> Schema:
        """Read a schema from a model file and check it."""
        schema: Schema | None
        try:
            schema = cls(
                plain["family"],
                tuple((name, kind) for name, kind in [*plain["columns"]]),
                plain["target"],
                plain["target_kind"],
                plain["weight"],
                {name: Written.read(how) for name, how in plain["written"].items()},
                tuple(LeftOut(*one) for one in plain["left_out"]),
                offset=plain["offset"],
                groups=plain.get("groups"),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            schema = None
        if schema is None or not schema._valid():
            raise ModelFileError("this is not a valid model file: its description of the columns is impossible")
        return schema

    def _valid(self) -> bool:
        """Return whether the schema can have been inferred from data; a forged one may not."""
        names = [name for name, _ in self.columns]
        return (
            self.family in ("table", "named", "columns")
            and all(type(name) is str for name in names)
            and len(set(names)) == len(names)
            and bool(names) == (self.family == "table")
            and all(kind in KINDS for _, kind in self.columns)
            and all(isinstance(name, str | None) for name in (self.target, self.weight, self.offset, self.groups))
            and self.target_kind in (None, "number", "flag", "text", "boolean")
            and all(name in (self.target, *names) for name in self.written)
            and all(type(text) is str for one in self.left_out for text in one)
            and all(one.kept_by in ("numbers", "text") for one in self.left_out)
        )

    def how(self, name: str | None) -> Written:
        """Return the notation of a text column."""
        return self.written.get(name, PLAIN) if name is not None else PLAIN

    @property
    def not_features(self) -> tuple[str, ...]:
        """The columns of the rows that are not features: target, weight, offset and groups, if they exist."""
        return tuple(name for name in (self.target, self.weight, self.offset, self.groups) if name is not None)

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each column, by name."""
        return dict(self.columns)


def kind_of(type: Any) -> Kind | None:
    """Return the kind of a column with this Arrow type; None if it cannot be used."""
    types = pyarrow("types")
    if types.is_dictionary(type):
        return "text" if kind_of(type.value_type) in ("text", "number") else None
    if types.is_boolean(type):
        return "boolean"
    if any(check(type) for check in (types.is_string, types.is_large_string, types.is_string_view)):
        return "text"
    if any(
        check(type)
        for check in (types.is_integer, types.is_floating, types.is_decimal, types.is_null, types.is_duration)
    ):
        return "number"
    if types.is_date(type):
        return "date"
    return "moment" if types.is_timestamp(type) else "time" if types.is_time(type) else None


def check_names(names: list[str], file: str, advice: str | Phrase = "rename one") -> None:
    """Check that no two columns have the same name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{file} has two columns named {name!r}", advice=advice)
        seen.add(name)


def check(schema: Schema, types: Mapping[str, Any], file: str, first_row: int) -> None:
    """Check that a later table has the columns of the first one, with the same kinds of values."""
    known = {**schema.kinds, schema.target: schema.target_kind} if schema.target else schema.kinds
    for name, kind in known.items():
        if name not in types:
            if name != schema.target:
                raise InputError(f"{file}: there is no column {name!r}, which the model needs")
            continue
        if not fits(types[name], kind):
            raise InputError(
                f"{file}, from row {first_row} on: column {name!r} holds {types[name]}, but the first rows held "
                f"{HELD[str(kind)]}; treat it as text from the beginning if it is to be both"
            )


def fits(type: Any, kind: str | None) -> bool:
    """Return whether a column of this Arrow type can be read as a column of this kind."""
    found = kind_of(type)
    if pyarrow("types").is_null(type):
        return True
    if kind in STRINGS or is_text(type):
        return found is not None
    alike = {"flag": ("number",), "date": ("date", "moment"), "moment": ("date", "moment")}
    return has_both_clocks(type) or found in alike.get(str(kind), (kind,)) or (kind in DATES and found == "number")


# What messages call one value of a column of each kind.
VALUE = {
    "number": "a number",
    "flag": "a number",
    "boolean": "true or false",
    "date": "a date or time",
    "moment": "a date or time",
    "time": "a date or time",
}
# What messages call the values of a column of each kind.
HELD = {
    "number": "numbers",
    "flag": "numbers",
    "text": "text",
    "words": "words",
    "ngrams": "text",
    "boolean": "true and false",
    "date": "dates",
    "moment": "dates with times",
    "time": "times",
}
