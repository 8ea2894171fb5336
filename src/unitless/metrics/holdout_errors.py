"""Errors on held-out rows: they calibrate the model's prediction intervals, and measure the coverage of these."""

from __future__ import annotations

import numpy as np

from ..inputs import Float64
from ..models.error_quantiles import ErrorQuantiles
from .coverage import Coverage, Predicted

ENOUGH = 20  # rows; with fewer the intervals are not calibrated
MOST_CACHED = 4_000_000  # probabilities of classes; the sets of further rows are not computed


class HoldoutErrors:
    """Stores the errors on held-out rows.

    No row is tested against an interval that its own error calibrated: even rows are tested with the errors of odd
    rows, and odd rows with the errors of even rows.

    Args:
        level: the level of the intervals.
        otherwise: the error quantiles that stay if there are too few rows to calibrate.
    """

    def __init__(self, level: float, otherwise: ErrorQuantiles) -> None:
        self.level = level
        self._otherwise = otherwise
        self._errors: list[Float64] = []
        self._weights: list[Float64] = []
        self._judged: list[Predicted] = []
        self._room = MOST_CACHED

    def count(self, predicted: Predicted, weight: Float64 | None) -> None:
        """Count rows in order. All weights must be positive; without weights each row counts 1."""
        rows = len(predicted.errors)
        self._errors.append(predicted.errors)
        self._weights.append(np.ones(rows) if weight is None else weight)
        classes = 0 if predicted.shares is None else len(predicted.shares)
        if rows * classes <= self._room:
            self._room -= rows * classes
            self._judged.append(predicted)
        else:
            self._room = 0

    @property
    def quantiles(self) -> ErrorQuantiles:
        """The error quantiles of all rows."""
        errors = np.concatenate([np.zeros(0), *self._errors])
        if len(errors) < ENOUGH:
            return self._otherwise
        return ErrorQuantiles.calibrated(errors, np.concatenate(self._weights))

    @property
    def metrics(self) -> dict[str, float]:
        """Coverage and size by name; empty if there are too few rows."""
        if not self._judged:
            return {}
        rows = Predicted.join(self._judged)
        weights = np.concatenate(self._weights)[: len(rows.errors)]
        found = Coverage(self.level, self._otherwise)
        if len(rows.errors) < ENOUGH:
            found.count(rows, weights)
            return found.metrics
        for ours, others in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
            half = Coverage(self.level, ErrorQuantiles.calibrated(rows.errors[others], weights[others]))
            half.count(rows[ours], weights[ours])
            found.absorb(half)
        return found.metrics
