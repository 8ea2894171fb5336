"""What a table's columns are: decided from the first rows, then held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ..errors import InputError, ModelFileError, Option, OptionError, Phrase
from .arrow import as_numpy, is_native, pyarrow
from .read_options import ReadOptions, matching, no_column

Kind: TypeAlias = Literal["number", "flag", "text", "boolean", "date", "moment", "time"]
KINDS: tuple[Kind, ...] = get_args(Kind)
DATES = ("date", "moment", "time")  # days; days with a time; times of day
TEXTS = ("text", "boolean")


def first_rows(columns: int) -> int:
    """How many rows decide what the columns and the task are: the same for every format, so that all decide alike."""
    return max(256, min(4096, (16 << 20) // max(1, columns)))


@dataclass(frozen=True)
class Schema:
    """The columns that are features and what they hold; target, weight and offset.

    Data that is not a table has no columns.

    A date stands for its parts. A flag is a number that was 0 or 1 in the first rows: its offset has a meaning, so it
    is never centred.
    """

    family: Literal["table", "named", "columns"]  # rows of a table; of named features; of numbered ones
    columns: tuple[tuple[str, Kind], ...] = ()
    target: str | None = None
    target_kind: Kind | None = None
    weight: str | None = None
    offset: str | None = None

    def plain(self) -> dict[str, Any]:
        """The schema as a model file stores it."""
        return {
            "family": self.family,
            "columns": [list(column) for column in self.columns],
            "target": self.target,
            "target_kind": self.target_kind,
            "weight": self.weight,
            **({} if self.offset is None else {"offset": self.offset}),
        }

    @classmethod
    def read(cls, plain: Any) -> Schema:
        """From a model file, which is trusted in nothing."""
        schema: Schema | None
        try:
            schema = cls(
                plain["family"],
                tuple((name, kind) for name, kind in [*plain["columns"]]),
                plain["target"],
                plain["target_kind"],
                plain["weight"],
                plain.get("offset"),
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            schema = None
        if schema is None or not schema._valid():
            raise ModelFileError("this is not a valid model file: what it says about the data's columns is impossible")
        return schema

    def _valid(self) -> bool:
        """Whether this can have been decided from data, and not only forged."""
        names = [name for name, _ in self.columns]
        return (
            self.family in ("table", "named", "columns")
            and all(type(name) is str for name in names)
            and len(set(names)) == len(names)
            and bool(names) == (self.family == "table")
            and all(kind in KINDS for _, kind in self.columns)
            and all(isinstance(name, str | None) for name in (self.target, self.weight, self.offset))
            and self.target_kind in (None, *KINDS)
        )

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that are not features but belong to the rows: target, weight and offset, as far as there are."""
        return tuple(name for name in (self.target, self.weight, self.offset) if name is not None)

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each column, by name."""
        return dict(self.columns)


def kind_of(type: Any) -> Kind | None:
    """What a column of an Arrow type holds; None if it cannot be used."""
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


def check_names(names: list[str], file: str, advice: str = "rename one") -> None:
    """Check that no two columns have the same name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{file} has two columns named {name!r}", advice=advice)
        seen.add(name)


def decide(
    arrow: Any,
    options: ReadOptions,
    file: str,
    target_needed: bool,
    later: bool = False,
    deciding: int | None = None,
) -> Schema:
    """The schema of a table, from its first rows.

    Args:
        arrow: the rows.
        options: what is said about the columns.
        file: what messages call the table.
        target_needed: whether there must be one.
        later: columns to be ignored may come later.
        deciding: how many rows say what numbers are flags, if not the usual number.
    """
    names: list[str] = list(arrow.column_names)
    check_names(names, file)
    for option, name in (("target", options.target), ("weight", options.weight), ("offset", options.offset)):
        if name is not None and name not in names:
            raise OptionError(no_column(name, names, option), file=file)
    if target_needed and options.target is None:
        which = Phrase("say which column to predict (", Option("target", "NAME"), f"); there are {_listed(names)}")
        raise OptionError(which, file=file)
    used = matching(options.only, names, "only") if options.only else set(names)
    used -= matching(options.ignore, names, "ignore", strict=not later)
    text = matching(options.text, names, "text")
    numbers = matching(options.numbers, names, "numbers")
    columns: list[tuple[str, Kind]] = []
    for name in names:
        if name not in used or name in options.beside:
            continue
        type = arrow.schema.field(name).type
        kind = "text" if name in text else kind_of(type)
        if kind is None:
            raise InputError(f"{file}: column {name!r} holds {type}, which is neither numbers nor text; ignore it")
        if kind in DATES and options.dates == "error":
            raise InputError(
                f"column {name!r} holds dates or times ({type}), which a model cannot use as they are",
                advice=Phrase(
                    *("leave it out (", Option("ignore", name), "), take its parts as features ("),
                    *(Option("dates", "parts"), "), or treat it as text (", Option("text", name), ")"),
                ),
                file=file,
            )
        first = arrow.column(name).slice(0, first_rows(len(names)) if deciding is None else deciding)
        flag = kind == "number" and name not in numbers and _is_flag(first, type)
        columns.append((name, "flag" if flag else kind))
    if not columns:
        raise InputError(f"{file}: no column is left to learn from; there are {_listed(names)}")
    target_kind: Kind | None = None
    if options.target is not None:
        target_kind = "text" if options.target in text else kind_of(arrow.schema.field(options.target).type)
        if target_kind not in ("number", *TEXTS):
            raise InputError(f"{file}: the target {options.target!r} holds dates; a target is numbers or classes")
    return Schema("table", tuple(columns), options.target, target_kind, options.weight, options.offset)


def _is_flag(column: Any, type: Any) -> bool:
    """Whether the first rows hold nothing but 0 and 1."""
    one = column.combine_chunks() if hasattr(column, "chunks") else column
    if not is_native(one):
        return False
    values = as_numpy(one)
    values = values[~np.isnan(values)]
    return len(values) > 0 and bool(((values == 0) | (values == 1)).all())


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
    """Can a column of this type be read as what the first rows were?"""
    found = kind_of(type)
    if pyarrow("types").is_null(type):
        return True
    if kind == "text":
        return found is not None
    alike = {"flag": ("number",), "date": ("date", "moment"), "moment": ("date", "moment")}
    return found in alike.get(str(kind), (kind,))


HELD = {
    "number": "numbers",
    "flag": "numbers",
    "text": "text",
    "boolean": "true and false",
    "date": "dates",
    "moment": "dates with times",
    "time": "times",
}


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
