"""Errors on held-out rows: they calibrate the model's prediction intervals, and measure the coverage of these."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inputs import Float64
from ..models.error_quantiles import KnownErrors
from .coverage import Coverage, Predicted

ENOUGH = 20  # rows; with fewer the intervals are not calibrated
MOST_CACHED = 4_000_000  # probabilities of classes; the sets of further rows are not computed


class HoldoutErrors:
    """Stores the errors on held-out rows.

    No row is tested against an interval that its own error calibrated: even rows are tested with the errors of odd
    rows, and odd rows with the errors of even rows.

    Args:
        level: the level of the intervals.
        known: what the model knows of its errors already; it stays if there are too few rows to calibrate.
    """

    def __init__(self, level: float, known: KnownErrors) -> None:
        self.level = level
        self._known: Any = known  # it must fit the task of the counted rows
        self._columns: list[tuple[Float64, ...]] = []
        self._weights: list[Float64] = []
        self._judged: list[Any] = []  # all of one kind of `Predicted`
        self._room = MOST_CACHED

    def count(self, predicted: Predicted, weight: Float64 | None) -> None:
        """Count rows in order. All weights must be positive; without weights each row counts 1."""
        rows = len(predicted.columns[0])
        self._columns.append(predicted.columns)
        self._weights.append(np.ones(rows) if weight is None else weight)
        if rows * predicted.cached <= self._room:
            self._room -= rows * predicted.cached
            self._judged.append(predicted)
        else:
            self._room = 0

    @property
    def calibrated(self) -> Any:
        """What is known of the errors, calibrated by all rows."""
        weights = np.concatenate([np.zeros(0), *self._weights])
        if len(weights) < ENOUGH:
            return self._known
        return self._known.calibrated(*map(np.concatenate, zip(*self._columns, strict=True)), weight=weights)

    @property
    def metrics(self) -> dict[str, float]:
        """Coverage and size by name; empty if there are too few rows."""
        if not self._judged:
            return {}
        rows = self._judged[0].join(self._judged)
        number = len(rows.columns[0])
        weights = np.concatenate(self._weights)[:number]
        found = Coverage(self.level, self._known)
        if number < ENOUGH:
            found.count(rows, weights)
            return found.metrics
        for ours, others in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
            known = self._known.calibrated(*rows[others].columns, weight=weights[others])
            half = Coverage(self.level, known)
            half.count(rows[ours], weights[ours])
            found.absorb(half)
        return found.metrics
