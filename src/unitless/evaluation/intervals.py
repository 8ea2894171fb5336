"""Where a mean truly lies: the relative-entropy Chernoff bound, which is the test of the paper's experiments."""

from __future__ import annotations

import math

from ..errors import InputError, OptionError

CONFIDENCE = 0.9


def chernoff_interval(mean: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Where the true mean lies, given the mean of n independent values in [0, 1]: the relative-entropy Chernoff bound.

    Each end fails with probability at most (1 - confidence)/2: it is the furthest q with n·KL(mean‖q) ≤ ln(1/that).

    >>> low, high = chernoff_interval(0.1, 1000)
    >>> f"{low:.4f} {high:.4f}"
    '0.0784 0.1248'
    """
    if not 0 <= mean <= 1:
        raise InputError(f"the mean is {mean!r}; the bound is for values between 0 and 1")
    if not 0 < confidence < 1:
        raise OptionError(f"is {confidence!r}; it must lie between 0 and 1", option="confidence")
    if n <= 0:
        return 0.0, 1.0
    budget = math.log(2 / (1 - confidence)) / n

    def furthest(inside: float, outside: float) -> float:
        """The last q on the way from inside to outside that is within the budget."""
        for _ in range(100):
            middle = (inside + outside) / 2
            if relative_entropy(mean, middle) <= budget:
                inside = middle
            else:
                outside = middle
        return inside

    return furthest(mean, 0.0), furthest(mean, 1.0)


def relative_entropy(p: float, q: float) -> float:
    """KL(p‖q) of two Bernoulli distributions."""
    first = p * math.log(p / q) if p > 0 and q > 0 else (0.0 if p == 0 else math.inf)
    second = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 and q < 1 else (0.0 if p == 1 else math.inf)
    return first + second
