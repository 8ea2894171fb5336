"""Identifier columns that repeat, such as the customer or the patient of a row.

Rows of one customer are alike. With some of them learned, a model predicts the others better than it will predict new
customers, and the hold-out metrics do not show that. Whether this is so is measured on a sample: one model is tested on
single rows, another one on all rows of customers that it has not met.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..data import Batch
from ..data.columns.infer import is_identifier_name
from ..data.hashes import Hashes, text_hashes, value_hashes
from ..data.labels import Numbers
from ..data.rows.random_order import hashes_of
from ..errors import Option, Phrase
from ..inputs import FlagColumn, Float64, Frame, TextColumn, WordsColumn
from ..metrics.row_errors import RowErrors
from .session import Session

if TYPE_CHECKING:
    from .fit import RandomRows
    from .training import Training

SCANNED, SAMPLE = 100_000, 6000  # rows that are looked at, and rows that the two models learn and predict, at most
MANY = 20  # different values: with fewer, new rows will mostly have values that are known
LARGE = 60  # rows with each value, on average, from which on the first rows of the random order have all values
REPEATED = 2.0  # rows with each value, on average
PARTS = 3  # one part in so many is predicted, the others are learned
FEW = 100  # different values: with fewer, each part is predicted once, so that enough new values are
PASSES = 3
MUCH = 1.25  # times as large are the squared errors for new values, ...
SURE = 3.0  # ... and so many standard deviations larger are the absolute ones
# What rows are often about, in addition to names of identifiers such as `user_id`.
_ABOUT = re.compile(
    r"(?i)^(customer|cust|client|patient|subject|user|person|member|account|household|driver|device|machine|sensor|session"
    r"|student|employee|player|participant|respondent|company|author|speaker)([ _-]?(no|nr|num|number|code|key|name))?$"
)


@dataclass(frozen=True)
class RepeatedIdentifier:
    """A column that names what rows are about, and the mean errors for known and for new values of it."""

    column: str
    task: str
    known: float
    new: float

    def note(self) -> Phrase:
        """What a user should know, and what to do."""
        if self.task == "classes":
            shown = f"{self.known:.1%} and {self.new:.1%} errors"
        elif self.task == "regression":
            shown = f"RMSE {self.known**0.5:.4g} and {self.new**0.5:.4g}"
        else:
            shown = f"Brier score {self.known:.4g} and {self.new:.4g}"
        return Phrase(
            f"rows with a value of column {self.column!r} that was learned are predicted far better than rows with a "
            f"new one ({shown}, on a sample). If new rows will have new values, the metrics are too good: hold out all "
            "rows of a value together, with ",
            Option("groups", self.column),
        )


def find_repeated_identifier(training: Training, rows: RandomRows, learned: int) -> RepeatedIdentifier | None:
    """The identifier column whose new values are predicted far worse than known ones, if there is one.

    Args:
        training: a fit whose passes are done.
        rows: its rows in random order.
        learned: how many of them were learned; the others are not looked at.
    """
    if training.plan.groups is not None or training.findings.holdout is None:
        return None
    last = min(learned, SCANNED)
    names = [name for name, kind in training.schema.columns if kind in ("text", "number") and _names_an_entity(name)]
    hashes = {name: _hashes(rows, last, name) for name in names}
    found = [_compared(training, rows, last, name, keys) for name, keys in hashes.items() if _repeats(keys)]
    known = [one for one in found if one is not None]
    return max(known, key=lambda one: one.new / one.known, default=None)


def _names_an_entity(name: str) -> bool:
    return is_identifier_name(name) or _ABOUT.search(name) is not None


def _repeats(keys: Hashes) -> bool:
    """Whether there are many values, most of which several rows have."""
    there = keys[keys != 0]
    count = len(np.unique(there))
    return count >= MANY and len(there) >= REPEATED * count


def _hashes(rows: RandomRows, last: int, name: str) -> Hashes:
    """Hashes of the values of a column in the first rows; 0 for a missing one."""
    parts = [_of_batch(batch, name) for batch in rows.batches(0, last)]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint64)


def _of_batch(batch: Batch, name: str) -> Hashes:
    data = batch.data
    if not isinstance(data, Frame) or name not in data.names:
        return np.zeros(batch.rows, np.uint64)
    column = data.columns[data.names.index(name)]
    if isinstance(column, TextColumn | WordsColumn):
        return text_hashes(column if isinstance(column, TextColumn) else column.texts)
    numbers = column.numbers if isinstance(column, FlagColumn) else column
    return value_hashes(Numbers(np.asarray(numbers, np.float64)))


def _compared(training: Training, rows: RandomRows, last: int, name: str, keys: Hashes) -> RepeatedIdentifier | None:
    """Compare the errors for known and for new values of a column; None if they do not differ much."""
    values, counts = np.unique(keys[keys != 0], return_counts=True)
    if len(keys) > SAMPLE and counts.mean() >= LARGE:
        last, keys = SAMPLE, keys[:SAMPLE]
        values, counts = np.unique(keys[keys != 0], return_counts=True)
    some = values[: int(np.searchsorted(np.cumsum(counts), SAMPLE, "right"))]  # hashes are in random order
    if len(some) < MANY:
        return None
    taken = np.isin(keys, some)
    sample = list(_selected(rows.batches(0, last), taken))
    groups = np.searchsorted(some, keys[taken])
    seed = training.plan.random_state
    by_row = hashes_of(seed, np.arange(len(groups))) % np.uint64(PARTS) == 0
    part_of_group = (hashes_of(seed, np.arange(len(some))) % np.uint64(PARTS))[groups]
    parts = [part_of_group == part for part in range(PARTS if len(some) < FEW else 1)]
    known = _errors(training, sample, by_row)
    new = np.concatenate([_errors(training, sample, part) for part in parts])
    usual, spread = _mean(known, groups[by_row])
    larger, larger_spread = _mean(new, np.concatenate([groups[part] for part in parts]))
    squares = float((known**2).mean()), float((new**2).mean())
    if not (squares[1] > MUCH * squares[0] and larger - usual > SURE * np.hypot(spread, larger_spread)):
        return None
    assert training.session is not None
    return RepeatedIdentifier(name, training.session.model.task, *squares)


def _selected(batches: Iterator[Batch], taken: NDArray[np.bool_]) -> Iterator[Batch]:
    """The rows of the batches that are taken."""
    first = 0
    for batch in batches:
        here = taken[first : first + batch.rows]
        first += batch.rows
        if here.any():
            yield batch.select(here)


def _errors(training: Training, sample: list[Batch], predicted: NDArray[np.bool_]) -> Float64:
    """Absolute errors, or for classes wrong predictions, for some rows of a model that learns the others."""
    assert training.session is not None
    target = training.session.target
    model = training.new_model(target, sample[0].data)
    session = Session(model, target, on_error=training.reader.options.on_error)
    model._choose_rates(True)
    for number in range(PASSES):
        for batch in _selected(iter(sample), ~predicted):
            session.learn(batch, "metrics" if number == 0 else "nothing")
        model._choose_rates(False)
    errors = RowErrors(model)
    session.score(_selected(iter(sample), predicted), [errors])
    return np.abs(errors.errors)


def _mean(errors: Float64, groups: NDArray[np.intp]) -> tuple[float, float]:
    """The mean of errors and its standard deviation, if the errors of a group are not independent."""
    if len(errors) != len(groups) or not len(errors):
        return np.nan, np.nan
    mean = float(errors.mean())
    sums = np.bincount(groups, errors - mean)
    return mean, float(np.sqrt((sums**2).sum()) / len(errors))
