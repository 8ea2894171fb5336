"""Checks of the labels before learning begins: errors if they cannot be learned, notes if they look unintended."""

from __future__ import annotations

from ..data import Target
from ..data.label_values import LabelValues, is_number
from ..data.labels import FEW, number_text
from ..data.spellings import spellings
from ..errors import InputError, Option, Phrase

FEW_ROWS = 30  # with fewer rows a model is unreliable
MANY = 100  # from this number of classes on, a note tells what they cost
SHOWN = 3  # how many pairs of similar labels a note names


def check_labels(found: LabelValues, target: Target, given_task: bool, name: str, unlabeled: int) -> list[Phrase]:
    """Notes about the labels, one sentence each; raises `InputError` if they cannot be learned.

    Args:
        found: the values of the target.
        target: what is to be predicted.
        given_task: whether the user gave the task; then a doubtful target is learned nevertheless.
        name: the name of the data.
        unlabeled: how many of its rows have no label.
    """
    count = len(found.counts)
    if count == 1 and found.all_rows and not target.rest and not (given_task and target.task == "regression"):
        raise one_value(found.values[0], found.rows, name, unlabeled, number=found.number)
    if target.task == "classes" and not given_task and count > FEW and 2 * count > found.rows:
        raise _no_classes(found, name)
    notes = [
        _few_rows(found, name),
        _few_numbers(found, target, given_task),
        _many(found, target),
        _two_spellings(found),
    ]
    if count == 1 and found.all_rows and target.task == "regression":
        notes.append(Phrase(f"the target is {found.values[0]} in all rows: the model will always predict it"))
    return [note for note in notes if note is not None]


def one_value(value: str, rows: int, name: str, unlabeled: int, number: bool = False) -> InputError:
    """The error that the target has only one value."""
    where = f"in all {rows:,} rows of {name}" if rows > 1 else f"in the only row of {name}"
    regression = Phrase("; to learn it as a number all the same, use ", Option("task", "regression"))
    return InputError(
        f"the target has only one value, {value!r}, {where}{' with a label' if unlabeled else ''}",
        advice=Phrase("a model needs at least two to tell apart") + (regression if number else ""),
    )


def _no_classes(found: LabelValues, name: str) -> InputError:
    """The error that the target looks like free text, an identifier, or numbers that were read as text."""
    values = found.values
    others = [value for value in values if not is_number(value)]
    rows = f"{found.rows:,} rows of {name}" if found.all_rows else f"the first {found.rows:,} labeled rows of {name}"
    if 10 * len(others) < len(values):
        which = f"nearly all of them are numbers, but one is {others[0]!r}" if others else "all of them are numbers"
        return InputError(
            f"the target is text and has {len(values):,} different values in {rows}; {which}",
            advice=Phrase(
                "give numbers, and nothing where the label is missing; to learn each value as a class, use ",
                Option("task", "classes"),
            ),
        )
    return InputError(
        f"the target has {len(values):,} different values in {rows}; it looks like free text or an identifier "
        f"({values[0][:40]!r}, ...), which a model cannot predict",
        advice=Phrase(
            *("choose another column as ", Option("target"), ", or use ", Option("task", "classes")),
            " to learn each value as a class",
        ),
    )


def _few_rows(found: LabelValues, name: str) -> Phrase | None:
    if not found.all_rows or found.rows >= FEW_ROWS:
        return None
    rows = f"only {found.rows} row{'s have' if found.rows != 1 else ' has'} a label"
    return Phrase(f"{rows} in {name}: too few to predict other rows well; do not rely on the model")


def _few_numbers(found: LabelValues, target: Target, given_task: bool) -> Phrase | None:
    """A note if the target has a few whole numbers, which may be classes or a number to predict."""
    if target.task != "classes" or not found.number or given_task:
        return None
    low, high = map(number_text, found.limits)
    return Phrase(
        f"classes: the target has {len(found.counts)} whole numbers, {low} to {high}; use ",
        *(Option("task", "regression"), " to predict a number"),
    )


def _many(found: LabelValues, target: Target) -> Phrase | None:
    if target.task != "classes" or (count := len(found.counts)) < MANY:
        return None
    return Phrase(
        f"the target has {count:,} classes, each with a model of its own: time and memory grow with their number"
    )


def _two_spellings(found: LabelValues) -> Phrase | None:
    """A note if labels look like two spellings of one; only the user can know, so they stay different labels."""
    if found.number:
        return None
    pairs = spellings(found.counts)
    if not pairs:
        return None

    def rows(value: str) -> str:
        return f"{value!r} ({found.counts[value]:,} row{'s' * (found.counts[value] != 1)})"

    shown = [f"{rows(one)} and {rows(other)}" for one, other in pairs[:SHOWN]]
    more = f", and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
    also = f"; so do {', '.join(shown[1:])}{more}" if len(shown) > 1 else ""
    return Phrase(
        f"the labels {shown[0]} look like two spellings of one{also}. They are learned as different labels; if they "
        "are the same, give them one spelling in the data"
    )
