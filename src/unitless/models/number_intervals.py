"""Prediction intervals of numbers: they are as wide as the errors of similar predictions (core/calibration/)."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from .. import _core
from ..inputs import Float64
from .error_quantiles import QUANTILES, ErrorQuantiles, KnownErrors

Limits: TypeAlias = tuple[Float64, Float64]
"""The lower limits and the upper limits."""


class NumberIntervals(KnownErrors):
    """The scale of errors, as a function of the prediction, and the quantiles of scaled errors.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> numbers = np.exp(rng.normal(size=10_000))
        >>> intervals = NumberIntervals()
        >>> intervals.update(numbers, numbers * rng.uniform(0.8, 1.2, size=10_000))
        >>> low, high = intervals.around(np.array([0.5, 1.0, 2.0]), intervals.steady_reach(0.9))
        >>> (high - low).round(2).tolist()  # truly 0.18, 0.36, 0.72
        [0.18, 0.37, 0.67]
    """

    _size = _core.NUMBER_INTERVALS_SIZE

    def around(self, numbers: Float64, reach: float) -> Limits:
        """Return the lower and upper limits of the intervals around predictions.

        If no label was negative, lower limits are at least 0; if none was positive, upper limits are at most 0.

        Args:
            numbers: the predictions.
            reach: the reach of the level, from `reach`, `steady_reach` or `known_reach`.
        """
        return _core.number_limits(self._state, numbers, reach)

    def update(self, numbers: Float64, labels: Float64, weight: Float64 | None = None) -> None:
        """Update the scale and the quantiles with rows, in order.

        Args:
            numbers: the predictions that were made before the rows were learned.
            labels: the labels.
            weight: sample weights; rows of weight 0 are ignored. For the scale, all other rows count the same. Default:
                None (all 1).
        """
        _core.follow_numbers(self._state, numbers, labels, self._weights(weight, len(numbers)), None)

    def update_at(self, level: float, numbers: Float64, labels: Float64, weight: Float64 | None = None) -> Limits:
        """Update as `update` does, and return the limits of each row's interval from before the row was counted."""
        limits = _core.follow_numbers(self._state, numbers, labels, self._weights(weight, len(numbers)), level)
        assert limits is not None
        return limits

    def calibrated(self, numbers: Float64, labels: Float64, weight: Float64 | None = None) -> NumberIntervals:
        """Return intervals whose quantiles are computed from held-out rows; see `ErrorQuantiles.calibrated`.

        These rows update the scale too.

        Args:
            numbers: the predictions for the held-out rows.
            labels: their labels.
            weight: sample weights. Default: None (all 1).
        """
        if weight is not None:
            numbers, labels, weight = numbers[weight > 0], labels[weight > 0], weight[weight > 0]
        intervals = self.copy()
        errors = _core.scale_numbers(intervals._state, numbers, labels)
        intervals._state[:QUANTILES] = ErrorQuantiles.calibrated(errors, weight)._state
        return intervals

    def _is_possible(self) -> bool:
        rows, bins = self._state[QUANTILES : QUANTILES + 2]
        numbers = self._state[QUANTILES + 2 : -2].reshape(3, -1)
        most = numbers.shape[1] - 1  # one more is a place for a bin that begins
        if not super()._is_possible() or not np.isfinite(self._state).all() or bins not in range(most + 1):
            return False
        if rows != int(rows) or rows < bins:
            return False
        used, unused = np.split(numbers, [int(bins)], axis=1)
        weights, means, errors = used
        in_order = (weights > 0).all() and (np.diff(means) >= 0).all() and (errors >= 0).all()
        return bool(in_order and not unused.any() and np.isin(self._state[-2:], (0.0, 1.0)).all())
