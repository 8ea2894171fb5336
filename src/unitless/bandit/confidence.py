"""Confidence sequences: intervals of a mean that are right after every row at once, however often one looks.

Two kinds, both after Waudby-Smith, Wu, Ramdas, Karampatziakis, Mineiro, "Anytime-valid off-policy inference for
contextual bandits" (2022):

- Empirical Bernstein, for values with a known lower limit. For X >= 0, a prediction m <= 1 of X from earlier rows, and
  0 < l < 1, the mean of exp(l (X - E X) - psi(l) (X - m)^2) is at most 1, where psi(l) = -log(1 - l) - l (Fan, Grama,
  Liu 2015). So the product over the rows, averaged over several l, exceeds 1/alpha at any time with probability alpha
  at most (Ville). Solved for the mean of E X over the rows, that is a lower limit. X needs no upper limit.
- Asymptotic (Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas, "Time-uniform central limit theory and asymptotic confidence
  sequences", 2021), for values without a known limit: after t rows, with standard deviation s,

      mean ± s sqrt(2 (t rho^2 + 1) / (t^2 rho^2) log(sqrt(t rho^2 + 1) / alpha)).

  It is right for many rows; before `FEWEST` rows it is infinite.
"""

from __future__ import annotations

import math

import numpy as np

LAMBDAS = 0.75 * 0.5 ** np.arange(12)
PSI = -np.log1p(-LAMBDAS) - LAMBDAS
FEWEST = 100  # rows before an asymptotic interval
FEWEST_EFFECTIVE = 30  # effective rows before an asymptotic interval of another policy
NARROWEST = 1000  # rows at which asymptotic intervals are as narrow as they can be


class LowerLimit:
    """A lower limit of the mean of values X >= 0, most of which are at most 1."""

    def __init__(self) -> None:
        self._rows = 0
        self._sum = self._spread = 0.0

    def add(self, x: float) -> None:
        """Count a value."""
        # Half a row of 1/2 begins the prediction, which must not depend on the value itself.
        predicted = min(1.0, (self._sum + 0.25) / (self._rows + 0.5))
        self._rows += 1
        self._sum += x
        self._spread += (x - predicted) * (x - predicted)

    def exceeds(self, mean: float, alpha: float) -> bool:
        """Return whether the lower limit is above a mean."""
        if self._sum <= mean * self._rows:  # then every exponent is at most 0
            return False
        return self._evidence(mean) > math.log(1 / alpha)

    def value(self, alpha: float) -> float:
        """Return the lower limit; it is wrong at any time with probability `alpha` at most."""
        if not self._rows:
            return 0.0
        low, high = 0.0, self._sum / self._rows
        if not self.exceeds(low, alpha):
            return 0.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.exceeds(middle, alpha) else (low, middle)
        return low

    def _evidence(self, mean: float) -> float:
        """Return the logarithm of the averaged product."""
        exponents = LAMBDAS * (self._sum - mean * self._rows) - PSI * self._spread
        most = float(exponents.max())
        return most + math.log(float(np.exp(exponents - most).mean()))


class Asymptotic:
    """An interval of the mean of values without known limits."""

    def __init__(self) -> None:
        self.rows = 0
        self.mean = self._squares = 0.0

    def add(self, x: float) -> None:
        """Count a value."""
        self.rows += 1
        difference = x - self.mean
        self.mean += difference / self.rows
        self._squares += difference * (x - self.mean)

    def margin(self, alpha: float) -> float:
        """Return half the width of the interval."""
        return margin(self.rows, math.sqrt(self._squares / self.rows), alpha) if self.rows else math.inf


def margin(rows: int, deviation: float, alpha: float) -> float:
    """Return half the width of the asymptotic interval of a mean."""
    if rows < FEWEST:
        return math.inf
    logarithm = -2 * math.log(alpha)
    rho2 = (logarithm + math.log(logarithm + 1)) / NARROWEST
    spread = rows * rho2 + 1
    return deviation * math.sqrt(2 * spread / (rows * rows * rho2) * math.log(math.sqrt(spread) / alpha))
