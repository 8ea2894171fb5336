"""The predictions for a batch of rows, in the order of the data; rows that could not be read have none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Batch
from ..inputs import Float64


@dataclass
class Predictions:
    """The predictions for some rows, in order. Invalid rows (with `on_error="skip"`) have no prediction."""

    batch: Batch
    labels: list[Any]  # the classes as in the data; empty for numbers
    codes: NDArray[np.int32] | None  # each row's position in `labels`; -1 without a prediction
    scores: Float64  # one or more per row; NaN without a prediction
    numbers: Float64 | None  # the predicted numbers, NaN without a prediction; None for classes
    probabilities: Float64 | None  # one column per class
    classes: list[str]  # the labels as text
    readable: NDArray[np.intp]  # positions of the batch's rows among all rows

    @cached_property
    def values(self) -> list[Any]:
        """Labels as in the data, or numbers; None for rows without a prediction."""
        if self.codes is not None:
            names = [*self.labels, None]
            return [names[code] for code in self.codes.tolist()]
        assert self.numbers is not None
        values: list[Any] = self.numbers.tolist()
        for row in np.flatnonzero(self.missing).tolist():
            values[row] = None
        return values

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each row has no prediction."""
        missing = np.ones(len(self.scores), bool)
        missing[self.readable] = False
        return missing

    @property
    def tags(self) -> list[str | None] | None:
        """The rows' names, where VW text has them."""
        if self.batch.tags is None:
            return None
        tags: list[str | None] = [None] * len(self.scores)
        for row, tag in zip(self.positions.tolist(), self.batch.tags, strict=True):
            tags[row] = tag or None
        return tags

    @property
    def positions(self) -> NDArray[np.intp]:
        """The position of each row of the batch among all rows, including invalid rows."""
        return places(self.batch)


def places(batch: Batch) -> NDArray[np.intp]:
    """The position of each row of a batch among all rows, including invalid rows."""
    numbers = np.arange(batch.rows) if batch.place.numbers is None else np.asarray(batch.place.numbers)
    both = np.concatenate([numbers, np.asarray(batch.bad_numbers, dtype=numbers.dtype)])
    order = np.empty(len(both), dtype=np.intp)
    order[np.argsort(both, kind="stable")] = np.arange(len(both))
    return order[: batch.rows]
