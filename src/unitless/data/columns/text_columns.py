"""Infers the content of text columns while rows come one by one: dates, categories, or identifiers.

`train` examines the first rows of a file before it learns. A stream must be learned from its first row on, so each
column is decided by its first texts, in their order:

- The first 64 texts decide whether they are dates; this is checked after the 1st, 2nd, 4th, ... text. Dates become the
  features of `date_parts.py`, as in `train`.
- If at least 950 of the first 1,000 texts differ, the column is an identifier and is left out from then on.
- Before such a decision, and without one, each text is a category. All text columns after the first 256 are categories.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple
from zlib import crc32

from . import date_parts, dates
from .infer import NEARLY_ALL

FOR_DATES = 64  # texts that decide whether a column has dates
FOR_NAMES = 1000  # texts that decide whether a column is an identifier
MOST_COLUMNS = 256  # at most so many text columns are examined; further ones are categories
_LONGEST = 64  # letters of a date
OUT, TEXT = "out", "text"


class Seen(NamedTuple):
    """One more text of a column, and the kind of the column after it."""

    column: str
    text: str
    kind: str
    form: str


class TextColumns:
    """The text columns of one stream of rows.

    Args:
        state: what is known of each column, as plain values for a model file; `take` changes it.

    Example:
        >>> columns = TextColumns({})
        >>> row, seen = columns.look({"when": "2020-02-13", "city": "Rome"})
        >>> row["when.weekday"], row["city"]
        ('thu', 'Rome')
        >>> columns.take(seen)
        >>> columns.read({"when": "2021-01-01"})["when.month"]
        '1'
    """

    def __init__(self, state: dict[str, Any]) -> None:
        self._state = state
        # Columns that are not plain categories.
        self._special = {name for name, one in list(state.items()) if one["kind"] != TEXT}

    @property
    def dates(self) -> dict[str, str]:
        """The columns of dates, with their kinds: "date", "moment" or "time"."""
        return {name: one["kind"] for name, one in list(self._state.items()) if one["kind"] not in ("", TEXT, OUT)}

    @property
    def left_out(self) -> dict[str, int]:
        """The columns that are left out, with the number of their different texts."""
        return {name: one["differed"] for name, one in list(self._state.items()) if one["kind"] == OUT}

    @property
    def some(self) -> bool:
        """Whether the stream has had any text."""
        return bool(self._state)

    def are_plain(self, row: Mapping[str, Any]) -> bool:
        """Return whether all texts of a row are known to be categories, so that the row can be used unchanged."""
        if not self._special.isdisjoint(row):
            return False
        state = self._state
        if len(state) >= MOST_COLUMNS:
            return True
        for name, value in row.items():  # noqa: SIM110  (faster than any(), and it runs for each row)
            if value.__class__ is str and name not in state:
                return False
        return True

    def are_all_plain(self, rows: list[Any]) -> bool:
        """Return whether `are_plain` is true for all rows; elements that are not mappings are ignored."""
        mappings = rows if set(map(type, rows)) == {dict} else [row for row in rows if row.__class__ is dict]
        if not self._state and str not in map(type, chain.from_iterable(map(dict.values, mappings))):
            return True
        return all(map(self.are_plain, mappings))

    def are_known(self, row: Mapping[str, Any]) -> bool:
        """Return whether the kinds of all text columns of a row are known."""
        state, full = self._state, len(self._state) >= MOST_COLUMNS
        return not any(
            value.__class__ is str and ("seen" in state[name] if name in state else not full)
            for name, value in row.items()
        )

    def read(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a row by what is known: dates become their parts, and left-out columns are removed."""
        return self._read(row, {})

    def look(self, row: Mapping[str, Any]) -> tuple[dict[str, Any], list[Seen]]:
        """Convert a row that will be learned, also by what its own texts decide; return the row and the decisions.

        When the row has been learned, give the decisions to `take`.
        """
        seen: list[Seen] = []
        room = MOST_COLUMNS - len(self._state)
        for name, value in row.items():
            if value.__class__ is not str or not value or (name not in self._state and room <= 0):
                continue
            room -= name not in self._state
            if (found := self._seen(name, value)) is not None:
                seen.append(found)
        return self._read(row, {one.column: one for one in seen}), seen

    def take(self, seen: list[Seen]) -> None:
        """Apply the decisions that `look` made for a row; called when the row has been learned."""
        for one in seen:
            self._take(one)
            if self._state[one.column]["kind"] == TEXT:
                self._special.discard(one.column)
            else:
                self._special.add(one.column)

    def _seen(self, name: str, text: str) -> Seen | None:
        """Return what one more text decides about a column; None if the column is decided already."""
        known = self._state.get(name)
        if known is None:
            return Seen(name, text, *self._dates(name, [text]))
        if "seen" not in known:
            return None
        count, texts = known["seen"] + 1, known.get("texts")
        kind, form = known["kind"], known["form"]
        if texts is not None and count & (count - 1) == 0:
            kind, form = self._dates(name, texts if text in texts else [*texts, text])
        return Seen(name, text, kind, form)

    @staticmethod
    def _dates(name: str, texts: list[str]) -> tuple[str, str]:
        if max(map(len, texts)) > _LONGEST or not any(map(str.isdigit, "".join(texts))):
            return "", ""
        form = dates.recognize(name, texts)
        return ("", "") if form is None else (form.kind, form.text)

    def _take(self, one: Seen) -> None:
        known = self._state.get(one.column)
        if known is None:
            known = {"kind": "", "form": "", "seen": 0, "different": [], "texts": []}
            self._state[one.column] = known
        known["seen"] += 1
        known["kind"], known["form"] = one.kind, one.form
        if "texts" in known and one.text[: _LONGEST + 1] not in known["texts"]:
            known["texts"].append(one.text[: _LONGEST + 1])
        if known["seen"] == FOR_DATES:
            known.pop("texts", None)
            if one.kind:  # dates stay dates
                del known["seen"], known["different"]
                return
        hashed = crc32(one.text.encode(errors="replace"))
        if hashed not in known["different"]:
            known["different"].append(hashed)
        if known["seen"] == FOR_NAMES:
            differed = len(known["different"])
            self._state[one.column] = categories()
            if differed >= NEARLY_ALL * FOR_NAMES:
                self._state[one.column] = {"kind": OUT, "form": "", "differed": differed}

    def _read(self, row: Mapping[str, Any], now: dict[str, Seen]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in row.items():
            known = self._state.get(name)
            kind, form = ("", "") if known is None else (known["kind"], known["form"])
            if name in now:
                kind, form = now[name].kind, now[name].form
            if kind in ("", TEXT) or not (value is None or value.__class__ is str):
                found[name] = value
            elif kind != OUT:
                found.update(_parts(name, value, kind, form))
        return found


def categories() -> dict[str, Any]:
    """Return the state of a column whose texts are categories, whatever they are."""
    return {"kind": TEXT, "form": ""}


def _parts(name: str, text: str | None, kind: str, form: str) -> dict[str, Any]:
    """Convert a date to features; a text that cannot be read has missing values."""
    moment = dates.read_one(text, form) if text else None
    if moment is None or not moment.valid:
        return dict.fromkeys(date_parts.kinds(name, kind))
    return date_parts.of_microseconds(name, moment.wall, moment.ahead, kind)


def check(state: Any) -> bool:
    """Return whether this is a valid state of columns; files can be forged."""
    return type(state) is dict and all(_is_column(one) for one in state.values())


def _is_column(one: Any) -> bool:
    from .date_forms import FORMS  # noqa: PLC0415

    if type(one) is not dict or one.get("kind") not in ("", TEXT, OUT, "date", "moment", "time"):
        return False
    is_date = one["kind"] in ("date", "moment", "time")
    if (one.get("form") not in FORMS) if is_date else one.get("form") != "":
        return False
    if one["kind"] == OUT:
        return type(one.get("differed")) is int
    if "seen" not in one:
        return bool(one["kind"])
    texts, different = one.get("texts", []), one.get("different")
    return (
        type(one["seen"]) is int
        and 0 <= one["seen"] < FOR_NAMES
        and type(texts) is list
        and all(type(text) is str for text in texts)
        and type(different) is list
        and all(type(number) is int for number in different)
    )
