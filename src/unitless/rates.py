"""Learning rates to choose from, and the penalties of sparse models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .options import Options

# Ten digits, so that they are the same numbers whatever a machine's exponential rounds to.
AUTO_RATES = tuple(float(f"{math.exp(0.6 * k):.10g}") for k in range(-12, 10))
"""What `learning_rate="auto"` chooses from: exp(0.6 k), each 1.8 times the one before."""

AUTO_START = (4, 19)
"""Those with which it begins: 16 rates from 0.008 (k = -8) to 67 (k = 7)."""

SPARSE_RATES = (0.5, 1.2, 3.0)
"""The same of sparse models: few, because each goes with several penalties."""

PENALTIES = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0)
"""What `sparsity="auto"` chooses from. They have no unit: a weight is penalized by how far it moves predictions."""

_FIRST_PENALTIES = 4
"""With so many of them it begins; the others are taken up when their neighbor leads."""


@dataclass(frozen=True)
class Candidates:
    """What a model chooses from: pairs of a rate and a penalty, penalty by penalty."""

    rates: tuple[float, ...]
    penalties: tuple[float, ...]
    first: int  # those that run from the beginning
    last: int
    across: int  # rates for each penalty

    @classmethod
    def of(cls, options: Options, swept: Sequence[float] | None = None) -> Candidates:
        """What options ask for; `swept`: the rates of a sweep."""
        if swept:
            rates = tuple(swept)
        elif options.learning_rate != "auto":
            rates = (options.learning_rate,)
        else:
            rates = SPARSE_RATES if options.sparse else AUTO_RATES
        first, last = AUTO_START if rates is AUTO_RATES else (0, len(rates) - 1)
        if options.sparsity != "auto":
            return cls(rates, (options.sparsity,) * len(rates), first, last, len(rates))
        penalties = tuple(penalty for penalty in PENALTIES for _ in rates)
        return cls(rates * len(PENALTIES), penalties, 0, _FIRST_PENALTIES * len(rates) - 1, len(rates))


class Walk(NamedTuple):
    """How a lane of rule "newton" begins and forgets; it has no learning rate.

    At first it believes that the weights, in units of the scales, are normal around 0 with variance 1/prior. After each
    row it adds `walk` to the variance of each weight, and `bias_walk` to that of the bias: so much they may move.
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
"""What rule "newton" chooses from, as `learning_rate="auto"` does from rates (core/engine/newton/lanes.hpp)."""


def rate_grid(low: int = -23, high: int = 12, step: float = 0.2) -> list[float]:
    """The rates exp(step·k) for k = low … high; by default the grid of the paper's experiments, from 0.01 to 11.

    Example:
        >>> [round(rate, 3) for rate in rate_grid(-2, 2)]
        [0.67, 0.819, 1.0, 1.221, 1.492]
    """
    return [math.exp(step * k) for k in range(low, high + 1)]
