"""What reading the data has decided, in words: one line each, with how to decide otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .. import shown
from ..data.schema import DATES
from ..errors import Option, Phrase

if TYPE_CHECKING:
    from .run import Run

MOST = 12  # lines
_SHOWN = 3  # columns with values that are not what they hold, each in a line


def column_report(run: Run) -> list[Phrase]:
    """What was decided about the data, at most so many lines."""
    found = [
        *run.source.remarks,
        *_header(run),
        *_left_out(run),
        *_written(run),
        *_dates(run),
        *_words(run),
        *_odd(run),
    ]
    return found[:MOST]


def _header(run: Run) -> Iterable[Phrase]:
    found, options = run.source.found.get("header"), run.reader.options
    if found is None or options.header is not None:
        return
    if found:
        yield Phrase("the first row has the columns' names (", Option("header", False), " if it is data)")
    else:
        count = len(run.schema.columns) + len(run.schema.left_out) + (run.schema.target is not None)
        yield Phrase(
            f"no header row was found: the columns are called 1 to {count} (",
            *(Option("header", True), " if the first row has names)"),
        )


def _left_out(run: Run) -> Iterable[Phrase]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, why, kept_by in run.schema.left_out:
        reasons.setdefault((why, kept_by), []).append(name)
    for (why, kept_by), names in reasons.items():
        yield Phrase(f"left out: {_listed(names)}, {why} (", Option(kept_by, names[0]), " to use it)")


def _written(run: Run) -> Iterable[Phrase]:
    forms: dict[tuple[str, str], list[str]] = {}
    for name, how in run.schema.written.items():
        if how.unit:
            yield Phrase(f"{name!r}: numbers in {how.unit!r} (", Option("text", name), " takes them as categories)")
        elif not how.date:
            forms.setdefault((how.decimal, how.thousands), []).append(name)
    for (decimal, thousands), names in forms.items():
        if decimal == ",":
            yield Phrase(f"{_listed(names)}: numbers with a decimal comma (", Option("decimal", "."), " if it is not)")
        else:
            said = f"{_listed(names)}: numbers with {thousands!r} between thousands ("
            yield Phrase(said, Option("decimal", thousands), " if it is not)")


def _dates(run: Run) -> Iterable[Phrase]:
    names = [name for name, kind in run.schema.columns if kind in DATES]
    if names:
        yield Phrase(
            f"{_listed(names)}: dates, taken as their parts (", Option("text", names[0]), " takes them as categories)"
        )


def _words(run: Run) -> Iterable[Phrase]:
    names = [name for name, kind in run.schema.columns if kind == "words"]
    if names:
        yield Phrase(
            f"{_listed(names)}: text, taken word by word (", Option("text", names[0]), " takes it as a category)"
        )


def _odd(run: Run) -> Iterable[Phrase]:
    """Columns in which some values are not what the others are."""
    progress, schema = run.progress, run.schema
    rows = max(run.read, progress.rows)
    ranked = sorted(progress.odd.items(), key=lambda item: -item[1][0])
    for name, (count, place, value) in ranked[:_SHOWN]:
        is_target = name == schema.target
        kind = schema.target_kind if is_target else schema.kinds.get(name)
        there = rows - (progress.unlabelled if is_target else progress.missing[name]) + count
        share = 1 - count / there if there > count else 0.0
        what = {"boolean": "true or false"}.get(str(kind), "dates" if kind in DATES else "numbers")
        more = f", and {count - 1:,} more" if count > 1 else ""
        first = f"first other value {value!r} in {shown.place(place)}, treated as missing{more}"
        yield Phrase(f"column {name!r}: {_share(share)} {what}; {first}")
    if len(ranked) > _SHOWN:
        others = [name for name, _ in ranked[_SHOWN:]]
        yield Phrase(f"and in {len(others)} more columns: {_listed(others)}")


def _share(share: float) -> str:
    """As a percentage that is 100% only if it is all."""
    return "99.99%" if 0.9999 < share < 1 else f"{share:.1%}" if share < 0.999 else f"{share:.2%}"


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:4])) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
