"""Which rows of a batch can be learned or evaluated, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import inputs, limits
from ..errors import InputError, Phrase
from . import labels as task_labels
from .columns.schema import Schema
from .labels import Numbers, RawLabels, Target
from .progress import SHOWN_BAD, Progress
from .read_options import SKIP_ROWS
from .reader import Batch
from .sources.located_rows import Bad

INVALID = "a value is not a number, infinite or too large"
Problem = tuple[NDArray[np.bool_], Callable[[int], str], str]  # which rows; the problem of a row; the advice


def usable(
    batch: Batch, target: Target | None, on_error: str, progress: Progress, smallest: float | None = None
) -> NDArray[np.bool_]:
    """Which rows can be used: with `on_error="skip"` the others are counted, with "fail" the first one is an error.

    A row without a label is usable; it will be neither learned nor evaluated.

    Args:
        batch: the rows.
        target: refuse labels that this target does not have; None to accept all.
        on_error: "fail" or "skip".
        progress: counts the rows that are skipped.
        smallest: refuse smaller labels. Default: None, the core refuses them when it learns the rows.
    """
    check_labeled(batch)
    assert batch.labels is not None
    bad = np.zeros(batch.rows, bool)
    for rows, problem, rule in _problems(batch, target, on_error, smallest):
        new = rows & ~bad
        if not new.any():
            continue
        at = np.flatnonzero(new)
        if on_error == "fail":  # the problem is a weight, an offset or a large label: `_problems` stops after these
            advice = Phrase(f"{rule}; ") + SKIP_ROWS if rule else SKIP_ROWS
            raise InputError(problem(int(at[0])), advice=advice, **batch.place.at(int(at[0])))
        room = SHOWN_BAD - len(progress.bad)
        progress.bad += [Bad(batch.place(int(row)), problem(int(row))) for row in at[: max(0, room)]]
        bad |= new
    progress.skipped += int(bad.sum())
    return ~bad


def check_labeled(batch: Batch, schema: Schema | None = None) -> None:
    """Refuse rows without a target, such as those of a file that lacks the column.

    Args:
        batch: the rows.
        schema: knows the name of the column with the labels. Default: the name is not known.
    """
    if batch.labels is None:
        name = "" if schema is None or schema.target is None else f" {schema.target!r}"
        raise InputError(f"there is no column{name} with the labels", **batch.place.at(0))


def _problems(batch: Batch, target: Target | None, on_error: str, smallest: float | None) -> list[Problem]:
    """The problems found in a batch, each with the rows that have it."""
    assert batch.labels is not None
    labels = batch.labels
    found: list[Problem] = []
    if batch.weight is not None:
        h = batch.weight
        wrong = ~((h >= 0) & (h <= limits.MOST_WEIGHT))
        found.append((wrong, lambda row: f"weight is {h[row]:g}", limits.WEIGHTS))
    if batch.offset is not None:
        o = batch.offset
        found.append((~(np.abs(o) <= limits.MOST_LABEL), lambda row: _offset_problem(float(o[row])), limits.OFFSETS))
    if isinstance(labels, Numbers) and (large := limits.beyond(labels.values, limits.MOST_LABEL)) is not None:
        found.append((large, lambda row: f"the target is {labels.values[row]:g}", limits.LABELS))
    if smallest is not None and isinstance(labels, Numbers):
        found.append(
            (labels.values < smallest, lambda row: f"the target is {labels.values[row]}, which is negative", "")
        )
    if on_error == "fail":
        return found  # the core refuses the other invalid values when it learns the rows
    if target is not None:
        unknown = target.unknown(labels) & labels.present()
        why = "not finite" if target.task == "regression" else "not one of its values"
        found.append((unknown, lambda row: f"the target is {_label_at(labels, row)}, which is {why}", ""))
    found.append((inputs.invalid_rows(batch.data), lambda row: INVALID, ""))
    return found


def _offset_problem(offset: float) -> str:
    return "the offset is missing" if np.isnan(offset) else f"the offset is {offset:g}"


def _label_at(labels: RawLabels, row: int) -> str:
    if isinstance(labels, Numbers):
        value = float(labels.values[row])
        return task_labels.number_text(value) if np.isfinite(value) else str(value)
    return repr(labels.values[labels.codes[row]])
