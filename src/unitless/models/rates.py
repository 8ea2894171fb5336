"""The candidate learning rates of learning_rate="auto", and the candidate penalties of sparse models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..options import Options

# Rounded to ten digits, because exp() may differ between machines in the last digits.
AUTO_RATES = tuple(float(f"{math.exp(0.6 * k):.10g}") for k in range(-12, 10))
"""The candidate rates of `learning_rate="auto"`: exp(0.6 k), so that each is 1.8 times the one before."""

AUTO_START = (4, 19)
"""The slice of AUTO_RATES that runs from the beginning: the 16 rates from 0.008 (k = -8) to 67 (k = 7)."""

SPARSE_RATES = (0.5, 1.2, 3.0)
"""The candidate rates of sparse models. They are few, because each is combined with several penalties."""

PENALTIES = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0)
"""The candidates of `sparsity="auto"`. They have no unit: a weight is penalized by how far it moves predictions."""

_FIRST_PENALTIES = 4
"""The number of penalties that run from the beginning; others are added when their neighbor is the best one."""


@dataclass(frozen=True)
class Candidates:
    """The candidates among which a model chooses: pairs of a rate and a penalty, ordered by penalty."""

    rates: tuple[float, ...]
    penalties: tuple[float, ...]
    first: int  # the number of candidates that run from the beginning
    last: int
    across: int  # the number of rates for each penalty

    @classmethod
    def of(cls, options: Options, swept: Sequence[float] | None = None) -> Candidates:
        """Return the candidates that options ask for.

        Args:
            options: the options of the model.
            swept: the rates of a sweep. Default: None (no sweep).
        """
        if swept:
            rates = tuple(swept)
        elif options.learning_rate != "auto":
            rates = (options.learning_rate,)
        else:
            rates = SPARSE_RATES if options.sparse else AUTO_RATES
        first, last = AUTO_START if rates is AUTO_RATES else (0, len(rates) - 1)
        if not options.sparse or options.sparsity != "auto":
            penalty = 0.0 if options.sparsity == "auto" else options.sparsity
            return cls(rates, (penalty,) * len(rates), first, last, len(rates))
        penalties = tuple(penalty for penalty in PENALTIES for _ in rates)
        return cls(rates * len(PENALTIES), penalties, 0, _FIRST_PENALTIES * len(rates) - 1, len(rates))


class Walk(NamedTuple):
    """The prior and the forgetting of one candidate of rule "newton", which has no learning rate.

    Initially the weights, in units of the scales, are assumed to be normal around 0 with variance 1/prior. After each
    row, the variance of each weight grows by `walk`, and the variance of the bias by `bias_walk`, because the true
    weights may drift.
    """

    prior: float
    walk: float = 0.0
    bias_walk: float = 0.0

    def __str__(self) -> str:
        return f"prior {self.prior:g}" + (f", walk {self.walk:g}, of the bias {self.bias_walk:g}" if self.walk else "")


WALKS = (
    Walk(1.0),
    Walk(1e-2),
    Walk(1e-4),
    Walk(1e-2, 1e-5, 1e-5),
    Walk(1e-2, 1e-3, 1e-3),
    Walk(1e-2, 1e-2, 100.0),
)
"""The candidates of rule "newton" (core/engine/newton/lanes.hpp); they take the place of learning rates."""


def rate_grid(low: int = -23, high: int = 12, step: float = 0.2) -> list[float]:
    """Return the rates exp(step·k) for k = low … high. Default: the grid of the paper's experiments, from 0.01 to 11.

    Example:
        >>> [round(rate, 3) for rate in rate_grid(-2, 2)]
        [0.67, 0.819, 1.0, 1.221, 1.492]
    """
    return [math.exp(step * k) for k in range(low, high + 1)]
