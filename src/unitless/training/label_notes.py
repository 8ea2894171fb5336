"""A word about the labels before learning begins: what cannot be learned, and what may not be what was meant."""

from __future__ import annotations

from ..data import Target
from ..data.label_values import LabelValues
from ..data.labels import FEW, number_text
from ..data.spellings import spellings
from ..errors import InputError, Option, Phrase

FEW_ROWS = 30  # fewer say hardly anything about other rows
MANY = 100  # so many classes are worth a word about what they cost
SHOWN = 3  # labels with two spellings that are named


def check_labels(found: LabelValues, target: Target, asked: bool, name: str, unlabelled: int) -> list[Phrase]:
    """What there is to say about the labels, one line each; or an error.

    Args:
        found: the values that the target has.
        target: what is to be predicted.
        asked: whether somebody said what the task is; then it is learned if it can be.
        name: of the data.
        unlabelled: how many of its rows have no label.
    """
    count = len(found.counts)
    if count == 1 and found.all_rows and not target.rest and not (asked and target.task == "regression"):
        raise one_value(found.values[0], found.rows, name, unlabelled, number=found.number)
    if target.task == "classes" and not asked and count > FEW and 2 * count > found.rows:
        raise _no_classes(found, name)
    notes = [_few_rows(found, name), _few_numbers(found, target, asked), _many(found, target), _two_spellings(found)]
    if count == 1 and found.all_rows and target.task == "regression":
        notes.append(Phrase(f"the target is {found.values[0]} in all rows: the model will always say so"))
    return [note for note in notes if note is not None]


def one_value(value: str, rows: int, name: str, unlabelled: int, number: bool = False) -> InputError:
    """The target does not vary."""
    where = f"in all {rows:,} rows of {name}" if rows > 1 else f"in the only row of {name}"
    regression = Phrase("; to learn it as a number all the same, use ", Option("task", "regression"))
    return InputError(
        f"the target has only one value, {value!r}, {where}{' with a label' if unlabelled else ''}",
        advice=Phrase("a model needs at least two to tell apart") + (regression if number else ""),
    )


def _no_classes(found: LabelValues, name: str) -> InputError:
    """A text or an id was named as the target."""
    values = found.values
    others = [value for value in values if not _is_number(value)]
    rows = f"{found.rows:,} rows of {name}" if found.all_rows else f"the first {found.rows:,} labelled rows of {name}"
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
        f"the target has {len(values):,} different values in {rows}; it looks like a text or an id "
        f"({values[0][:40]!r}, ...), which a model cannot predict",
        advice=Phrase(
            *("choose another column as ", Option("target"), ", or use ", Option("task", "classes")),
            " to learn each value as a class",
        ),
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _few_rows(found: LabelValues, name: str) -> Phrase | None:
    if not found.all_rows or found.rows >= FEW_ROWS:
        return None
    rows = f"only {found.rows} row{'s have' if found.rows != 1 else ' has'} a label"
    return Phrase(f"{rows} in {name}: too few to learn what holds for other rows; do not rely on the model")


def _few_numbers(found: LabelValues, target: Target, asked: bool) -> Phrase | None:
    """Few whole numbers may be classes, or a number to predict."""
    if target.task != "classes" or not found.number or asked:
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
        f"the target has {count:,} classes, each with a model of its own: learning takes about {count // 10:,} times "
        "as much time and memory as with 10 classes"
    )


def _two_spellings(found: LabelValues) -> Phrase | None:
    """Labels that look alike are not made one: nobody but the user knows whether they are."""
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
