"""What columns of text hold, inferred while rows come one by one: dates, names of categories, or nothing of use.

`train` looks at the first rows of a file before it learns any (`infer.py`). A stream must be learned from its first
row on, so the first texts of each column decide, in their order:

- The first 64 texts say whether they are dates, after the 1st, 2nd, 4th, ... of them. Dates become the features of
  `date_parts.py`, as in `train`.
- If at least 950 of the first 1,000 texts differ, the column only names the rows and is left out from then on.
- Until something else is decided, and otherwise, each text is a category. So is each text of the columns after the
  first 256.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple
from zlib import crc32

from . import date_parts, dates
from .infer import NEARLY_ALL

FOR_DATES = 64  # texts that decide whether a column holds dates
FOR_NAMES = 1000  # texts that decide whether a column only names the rows
MOST_COLUMNS = 256  # columns of text that are looked at; each text of more of them is a category
_LONGEST = 64  # letters of a date
OUT, TEXT = "out", "text"


class Seen(NamedTuple):
    """One more text of a column, and what the column is then."""

    column: str
    text: str
    kind: str
    form: str


class TextColumns:
    """The columns of text of one stream of rows.

    Args:
        state: what is known of each column, as plain values that a file can hold; it is changed by `take`.

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
        self._special = {name for name, one in list(state.items()) if one["kind"] != TEXT}  # need another reading

    @property
    def dates(self) -> dict[str, str]:
        """The columns of dates, with what they hold: "date", "moment" or "time"."""
        return {name: one["kind"] for name, one in list(self._state.items()) if one["kind"] not in ("", TEXT, OUT)}

    @property
    def left_out(self) -> dict[str, int]:
        """The columns that are left out, with how many different texts they had."""
        return {name: one["differed"] for name, one in list(self._state.items()) if one["kind"] == OUT}

    @property
    def some(self) -> bool:
        """Whether any text has come."""
        return bool(self._state)

    def are_plain(self, row: Mapping[str, Any]) -> bool:
        """Whether all text of a row is known to be names of categories: then the row needs no other reading."""
        if not self._special.isdisjoint(row):
            return False
        state = self._state
        if len(state) >= MOST_COLUMNS:
            return True
        for name, value in row.items():  # noqa: SIM110  (quicker, and it is run for each row)
            if value.__class__ is str and name not in state:
                return False
        return True

    def are_all_plain(self, rows: list[Any]) -> bool:
        """Whether that is so of many rows; what is not a mapping does not matter."""
        mappings = rows if set(map(type, rows)) == {dict} else [row for row in rows if row.__class__ is dict]
        if not self._state and str not in map(type, chain.from_iterable(map(dict.values, mappings))):
            return True
        return all(map(self.are_plain, mappings))

    def are_known(self, row: Mapping[str, Any]) -> bool:
        """Whether the types of all texts of a row are known."""
        state, full = self._state, len(self._state) >= MOST_COLUMNS
        return not any(
            value.__class__ is str and ("seen" in state[name] if name in state else not full)
            for name, value in row.items()
        )

    def read(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row with what is known: dates as their parts, and without columns that are left out."""
        return self._read(row, {})

    def look(self, row: Mapping[str, Any]) -> tuple[dict[str, Any], list[Seen]]:
        """A row that is to be learned: as `read`, with what its own texts decide; and that, for `take`."""
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
        """The row was learned: what its texts said counts."""
        for one in seen:
            self._take(one)
            if self._state[one.column]["kind"] == TEXT:
                self._special.discard(one.column)
            else:
                self._special.add(one.column)

    def _seen(self, name: str, text: str) -> Seen | None:
        """What one more text says of a column; None if the column is decided."""
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
            if one.kind:  # dates, once and for all
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
    """The state of a column whose texts are names of categories, whatever they are."""
    return {"kind": TEXT, "form": ""}


def _parts(name: str, text: str | None, kind: str, form: str) -> dict[str, Any]:
    """The features of a date; what cannot be read has no value."""
    moment = dates.read_one(text, form) if text else None
    if moment is None or not moment.valid:
        return dict.fromkeys(date_parts.kinds(name, kind))
    return date_parts.of_microseconds(name, moment.wall, moment.ahead, kind)


def check(state: Any) -> bool:
    """Whether this can be the state of columns: files can be forged."""
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
