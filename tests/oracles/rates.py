"""The grids of candidate rates that models choose from, written independently of the package."""

from __future__ import annotations

import math
from typing import NamedTuple

AUTO_RATES = tuple(float(f"{math.exp(0.6 * k):.10g}") for k in range(-12, 10))
"""The candidates of `learning_rate="auto"`."""

AUTO_START = (4, 19)
"""The first and the last candidate that run from the beginning."""

PAPER_RATES = [math.exp(0.2 * k) for k in range(-23, 13)]
"""The grid of the paper's experiments, from 0.01 to 11."""


class Walk(NamedTuple):
    """A candidate of rule "newton": the precision of its prior, and the variance that each row adds."""

    prior: float
    walk: float = 0.0
    bias_walk: float = 0.0


WALKS = (
    Walk(1.0),
    Walk(1e-2),
    Walk(1e-4),
    Walk(1e-2, 1e-5, 1e-5),
    Walk(1e-2, 1e-3, 1e-3),
    Walk(1e-2, 1e-2, 100.0),
)
"""The candidates of rule "newton"."""
