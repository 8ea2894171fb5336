"""Adaptive quantiles of the errors of a stream, in plain Python: the oracle of core/calibration/error_quantiles.hpp.

R += (|r| - R) / min(n, 1000);  q = max(0, q + g R (1[|r| > q] - (1 - level)))

where r is the error of row n, R the mean size of recent errors, g the gain, and q the quantile of a level; and
S += (q - S) · 2/min(n, 1000), the steady quantile. See
Angelopoulos, Candès, Tibshirani, "Conformal PID control for time series prediction" (2023), equation (4).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

LEVELS = (0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
MEMORY = 1000  # number of rows over which R is a mean
GAIN = 0.2


class PlainErrorQuantiles:
    """The quantiles of all levels.

    Example:
        >>> quantiles = PlainErrorQuantiles()
        >>> quantiles.follow([1.0, 2.0, 3.0] * 100)
        >>> 2 < quantiles.reach(0.9) < 4
        True
        >>> quantiles.reach(0.999)  # which takes 999 rows
        inf
    """

    def __init__(self) -> None:
        self.rows, self.weight, self.size = 0, 0.0, 0.0
        self.quantiles, self.steady = [0.0] * len(LEVELS), [0.0] * len(LEVELS)

    def follow(self, errors: Iterable[float], weights: Iterable[float] | None = None) -> None:
        """Update with rows in order; a weight counts relative to the mean of the weights so far."""
        errors = list(errors)
        for error, weight in zip(errors, [1.0] * len(errors) if weights is None else weights, strict=True):
            if weight > 0:
                self._row(error if math.isfinite(error) else math.inf, weight)

    def _row(self, error: float, weight: float) -> None:
        self.rows += 1
        self.weight += weight
        share = weight * self.rows / self.weight
        part = share / min(self.rows, MEMORY)
        if error < math.inf:
            self.size += (error - self.size) * min(1.0, part)
        step = self.size * max(GAIN, min(1.0, 10 / self.rows))
        for k, level in enumerate(LEVELS):
            self.quantiles[k] = _moved(self.quantiles[k], level, step, share, error)
            self.steady[k] += (self.quantiles[k] - self.steady[k]) * min(1.0, 2 * part)

    def reach(self, level: float, steady: bool = False) -> float:
        """The largest distance of the label from a prediction with this probability; infinite until it is known."""
        if (self.rows + 1) * level > self.rows * (1 + 1e-12):
            return math.inf
        rising = [0.0]  # the quantile of a higher level is never smaller
        for quantile in self.steady if steady else self.quantiles:
            rising.append(max(rising[-1], quantile))
        places = [-math.log1p(-one) for one in (0.0, *LEVELS)]
        at = -math.log1p(-level)
        above = next(k for k, place in enumerate(places) if level <= (0.0, *LEVELS)[k] or place >= at)
        part = (at - places[above - 1]) / (places[above] - places[above - 1])
        return rising[above - 1] + part * (rising[above] - rising[above - 1])


def _moved(q: float, level: float, step: float, share: float, error: float) -> float:
    """Update a quantile with a row. A row of large weight stops at its own error, as many equal rows would."""
    one = step * level if error > q else step * (1 - level)
    way = min(share * one, max(one, abs(error - q)))
    return max(0.0, q + way if error > q else q - way)
