"""The column report: what was inferred about the columns, one sentence each, with the option that changes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..data.columns.schema import DATES
from ..errors import Option, Phrase
from ..presentation import shown

if TYPE_CHECKING:
    from .training import Training

MOST = 12  # lines
_SHOWN = 3  # columns with invalid values that get a line each


def column_report(training: Training) -> list[Phrase]:
    """What was inferred about the columns, at most `MOST` sentences."""
    found = [
        *training.reader.remarks,
        *_header(training),
        *_left_out(training),
        *_groups(training),
        *_written(training),
        *_dates(training),
        *_words(training),
        *_ngrams(training),
        *_invalid_values(training),
    ]
    return found[:MOST]


def _header(training: Training) -> Iterable[Phrase]:
    found, options = training.reader.found.get("header"), training.reader.options
    if found is None or options.header is not None:
        return
    if found:
        yield Phrase("the first row has the columns' names (", Option("header", False), " if it is data)")
    else:
        count = len(training.schema.columns) + len(training.schema.left_out) + (training.schema.target is not None)
        yield Phrase(
            f"no header row was found: the columns are called 1 to {count} (",
            *(Option("header", True), " if the first row has names)"),
        )


def _left_out(training: Training) -> Iterable[Phrase]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, why, kept_by in training.schema.left_out:
        reasons.setdefault((why, kept_by), []).append(name)
    for (why, kept_by), names in reasons.items():
        yield Phrase(f"left out: {_listed(names)}, {why} (", Option(kept_by, names[0]), " to use it)")


def _groups(training: Training) -> Iterable[Phrase]:
    if training.schema.groups is not None:
        yield Phrase(f"{training.schema.groups!r}: groups, which are held out as a whole; not a feature")


def _written(training: Training) -> Iterable[Phrase]:
    forms: dict[tuple[str, str], list[str]] = {}
    for name, how in training.schema.written.items():
        if how.unit:
            yield Phrase(f"{name!r}: numbers in {how.unit!r} (", Option("text", name), " takes them as categories)")
        elif not how.date:
            forms.setdefault((how.decimal, how.thousands), []).append(name)
    for (decimal, thousands), names in forms.items():
        if decimal == ",":
            yield Phrase(f"{_listed(names)}: numbers with a decimal comma (", Option("decimal", "."), " if it is not)")
        else:
            found = f"{_listed(names)}: numbers with {thousands!r} between thousands ("
            yield Phrase(found, Option("decimal", thousands), " if it is not)")


def _dates(training: Training) -> Iterable[Phrase]:
    names = [name for name, kind in training.schema.columns if kind in DATES]
    if names:
        yield Phrase(
            f"{_listed(names)}: dates, taken as their parts (", Option("text", names[0]), " takes them as categories)"
        )


def _words(training: Training) -> Iterable[Phrase]:
    names = [name for name, kind in training.schema.columns if kind == "words"]
    if names:
        yield Phrase(
            f"{_listed(names)}: text, taken word by word (", Option("text", names[0]), " takes it as a category)"
        )


def _ngrams(training: Training) -> Iterable[Phrase]:
    names = [name for name, kind in training.schema.columns if kind == "ngrams"]
    if names:
        yield Phrase(
            f"{_listed(names)}: names or codes, taken as n-grams of 2 to 5 characters, linearly (",
            *(Option("text", names[0]), " takes them as categories, ", Option("ignore", names[0]), " leaves them out)"),
        )


def _invalid_values(training: Training) -> Iterable[Phrase]:
    """Columns with values that could not be read as the column's type."""
    progress, schema = training.progress, training.schema
    rows = max(training.read, progress.rows)
    ranked = sorted(progress.invalid_values.items(), key=lambda item: -item[1][0])
    for name, (count, place, value) in ranked[:_SHOWN]:
        is_target = name == schema.target
        kind = schema.target_kind if is_target else schema.kinds.get(name)
        there = rows - (progress.unlabeled if is_target else progress.missing[name]) + count
        share = 1 - count / there if there > count else 0.0
        what = {"boolean": "true or false"}.get(str(kind), "dates" if kind in DATES else "numbers")
        more = f", and {count - 1:,} more" if count > 1 else ""
        first = f"first other value {value!r} in {shown.place(place)}, treated as missing{more}"
        yield Phrase(f"column {name!r}: {_share(share)} {what}; {first}")
    if len(ranked) > _SHOWN:
        others = [name for name, _ in ranked[_SHOWN:]]
        yield Phrase(f"and in {len(others)} more columns: {_listed(others)}")


def _share(share: float) -> str:
    """A share as a percentage, rounded so that only all of them give 100%."""
    return "99.99%" if 0.9999 < share < 1 else f"{share:.1%}" if share < 0.999 else f"{share:.2%}"


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:4])) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
