"""The update rules, one record each. Other code asks the record for what it needs to know and does not compare names.

To add a rule: its formulas in `core/` (rule.hpp), its record here, and its oracle in `paper/algorithms.py`. Models of
a rule whose state is weighed in another way than these need a case in `core/engine/merging.cpp` as well. The rule of
second order has an engine of its own (`core/engine/newton/`), and its oracle is `tests/oracles/second_order.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

# For type checkers only, which cannot read records; a test compares these names with the records.
RuleName: TypeAlias = Literal["nag", "snag", "ng", "ag", "gd", "newton"]

Beyond: TypeAlias = Literal["linear", "hold", "shrink", "squash"]


@dataclass(frozen=True)
class Rule:
    """What there is to know about a rule, apart from its formulas, which are in the core."""

    name: RuleName
    paper: str  # its name in the paper, or what it is called
    about: str  # one sentence for help texts
    unit_free: bool  # the state is v = w·s and H = G/s², without the features' units; otherwise it is w and G
    adaptive: bool  # each weight has a rate of its own, from its squared gradients; others take the option `schedule`
    # What a prediction makes of z = x/s beyond the values seen: z itself, ±1, 1/z, or z/√(1 + z²).
    beyond: Beyond
    penalized: bool = False  # the core has a form of it with penalties (options `sparsity` and `l2`)
    sums_squares: bool = False  # the stored scale is √Σx², and s is that over √t; otherwise it is s = max |x|
    # It knows how the weights hang together and how certain they are. It has no learning rate, and at most
    # MOST_FEATURES features.
    second_order: bool = False


_RECORDS = (
    Rule("nag", "NAG", "Normalized adaptive gradient.", unit_free=True, adaptive=True, beyond="hold", penalized=True),
    Rule(
        "snag",
        "sNAG",
        "The same with scales from second moments: less sensitive to outliers.",
        unit_free=True,
        adaptive=True,
        beyond="squash",
        sums_squares=True,
    ),
    Rule("ng", "NG", "Normalized gradient.", unit_free=True, adaptive=False, beyond="shrink"),
    Rule("ag", "AG", "Adaptive gradient (AdaGrad); depends on units.", unit_free=False, adaptive=True, beyond="linear"),
    Rule("gd", "GD", "Gradient descent; depends on units.", unit_free=False, adaptive=False, beyond="linear"),
    Rule(
        "newton",
        "Newton",
        "Second order: learns from few rows, and from features that hang together; at most 100 features.",
        unit_free=True,
        adaptive=True,
        beyond="hold",
        second_order=True,
    ),
)

MOST_FEATURES = 100
"""What a rule of second order takes, the bias not counted."""

RULES: dict[str, Rule] = {rule.name: rule for rule in _RECORDS}
"""By name: those of the paper first, and of these the unit-free ones."""

FIRST_ORDER: tuple[RuleName, ...] = tuple(rule.name for rule in _RECORDS if not rule.second_order)
"""The rules of the paper: they have a learning rate and take every loss."""


def like(*, unit_free: bool, adaptive: bool) -> Rule:
    """The rule with these properties whose scale is the largest |x|: Vowpal Wabbit has these four."""
    return next(
        rule for rule in _RECORDS if (rule.unit_free, rule.adaptive, rule.sums_squares) == (unit_free, adaptive, False)
    )
