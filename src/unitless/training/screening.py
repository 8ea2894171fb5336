"""Rows that can be learned from, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import inputs, limits
from ..data import Bad, Batch, Target
from ..data import labels as task_labels
from ..data.labels import Numbers, RawLabels
from ..data.progress import SHOWN_BAD, Progress
from ..data.read_options import SKIP_ROWS
from ..errors import InputError, Phrase

INVALID = "a value is not a number, infinite or too large"
Problem = tuple[NDArray[np.bool_], Callable[[int], str], str]  # which rows; what is wrong with one; how it must be


def usable(batch: Batch, target: Target | None, on_error: str, progress: Progress) -> NDArray[np.bool_]:
    """Which rows have nothing wrong with them. The others are counted, or the first of them is an error.

    What a label must be is known with the target. A row without a label is not wrong: it is not learned.
    """
    if batch.labels is None:
        raise InputError("there is no target", **batch.place.at(0))
    bad = np.zeros(batch.rows, bool)
    for rows, problem, rule in _problems(batch, target, on_error):
        new = rows & ~bad
        if not new.any():
            continue
        at = np.flatnonzero(new)
        if on_error == "fail":  # which only a weight, an offset or a large label can be here: see `_problems`
            advice = Phrase(f"{rule}; ") + SKIP_ROWS
            raise InputError(problem(int(at[0])), advice=advice, **batch.place.at(int(at[0])))
        room = SHOWN_BAD - len(progress.bad)
        progress.bad += [Bad(batch.place(int(row)), problem(int(row))) for row in at[: max(0, room)]]
        bad |= new
    progress.skipped += int(bad.sum())
    return ~bad


def _problems(batch: Batch, target: Target | None, on_error: str) -> list[Problem]:
    """Which rows have what wrong with them."""
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
    if on_error == "fail":
        return found  # the rest is found on the way
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
