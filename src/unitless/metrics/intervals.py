"""Confidence intervals of a mean: the relative-entropy Chernoff bound, which is the test of the paper's experiments.

And the quantiles of Student's distribution, for means of values that are not bounded.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from ..errors import InputError, OptionError

CONFIDENCE = 0.9


def chernoff_interval(mean: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The confidence interval of the mean of n independent values in [0, 1], by the relative-entropy Chernoff bound.

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
        """The last q from `inside` toward `outside` that satisfies the bound."""
        for _ in range(100):
            middle = (inside + outside) / 2
            if relative_entropy(mean, middle) <= budget:
                inside = middle
            else:
                outside = middle
        return inside

    return furthest(mean, 0.0), furthest(mean, 1.0)


def relative_entropy(p: float, q: float) -> float:
    """KL(p‖q) of two Bernoulli distributions.

    Args:
        p: the probability of the first one.
        q: the probability of the second one.

    >>> f"{relative_entropy(0.5, 0.1):.4f}"
    '0.5108'
    """
    first = p * math.log(p / q) if p > 0 and q > 0 else (0.0 if p == 0 else math.inf)
    second = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 and q < 1 else (0.0 if p == 1 else math.inf)
    return first + second


def student_quantile(share: float, freedom: int) -> float:
    """A quantile of Student's t distribution, for a probability and a number of degrees of freedom.

    >>> f"{student_quantile(0.95, 10):.4f} {student_quantile(0.99, 127):.4f}"
    '1.8125 2.3561'
    """
    if not 0 < share < 1 or freedom < 1:
        raise InputError(f"there is no quantile {share!r} of Student's t with {freedom!r} degrees of freedom")
    if share < 0.5:
        return -student_quantile(1 - share, freedom)
    low, high = 0.0, math.pi / 2  # the angle whose tangent is t/√freedom
    for _ in range(60):
        middle = (low + high) / 2
        if (1 + _student_within(middle, freedom)) / 2 < share:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _student_within(angle: float, freedom: int) -> float:
    """The probability that |t| is smaller than √freedom·tan(angle): a finite sum for whole degrees of freedom."""
    sine, squared = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term, total = math.cos(angle) if odd else 1.0, 0.0
    for k in range(1 + odd, freedom, 2):
        total += term
        term *= squared * k / (k + 1)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def rmse_interval(mean: float, tail: float, count: float) -> tuple[float, float]:
    """The confidence interval of a root mean squared error, by the tail of the errors.

    The mean of n squared errors is taken for a chi-square variable with d degrees of freedom, d = 2n/k (Satterthwaite
    1946), where k, the tail, is the variance of a squared error relative to its squared mean: 2 for normal errors, more
    for heavy tails. Few errors show too little of a tail, so k is raised by 3(k + 2)/√n; the quantiles are those of
    Wilson and Hilferty (1931). Unlike `chernoff_interval` it asks for no limit of the errors.

    Args:
        mean: the mean of the squared errors.
        tail: the variance of the squared errors relative to their squared mean.
        count: how many errors there are, or how many equally weighted ones they are worth.

    >>> import numpy as np
    >>> squares = np.random.default_rng(0).normal(0, 2, size=1000) ** 2
    >>> low, high = rmse_interval(float(squares.mean()), float(squares.var() / squares.mean() ** 2), 1000)
    >>> f"{low:.2f} {high:.2f}"
    '1.88 2.04'
    """
    if mean == 0:
        return 0.0, 0.0
    freedom = max(2.0, 2 * count / (tail + 3 * (tail + 2) / math.sqrt(count)))
    step = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(2 / (9 * freedom))
    low, high = (math.sqrt(mean / (1 - 2 / (9 * freedom) + side * step) ** 3) for side in (1, -1))
    return low, high
