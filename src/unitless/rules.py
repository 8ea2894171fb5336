"""The update rules, one record each. Other code reads a rule's properties from its record and does not compare names.

To add a rule, add its formulas in `core/` (rule.hpp), its record here, and its oracle in `paper/algorithms.py`. A rule
whose state is averaged in a new way when models are merged needs a case in `core/engine/merging.cpp` as well. The rule
of second order has its own engine (`core/engine/newton/`), and its oracle is `tests/oracles/second_order.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

# Type checkers cannot read the records. A test compares these names with the records.
RuleName: TypeAlias = Literal["nag", "snag", "ng", "ag", "gd", "newton"]

Beyond: TypeAlias = Literal["linear", "hold", "shrink", "squash"]


@dataclass(frozen=True)
class Rule:
    """The properties of a rule; its formulas are in the core."""

    name: RuleName
    paper: str  # its name in the paper, or its usual name
    about: str  # one sentence for help texts
    unit_free: bool  # the state is v = w·s and H = G/s², without the features' units; otherwise it is w and G
    adaptive: bool  # each weight has a rate of its own, from its squared gradients; others take the option `schedule`
    # How a prediction treats z = x/s beyond the largest value so far: as z, ±1, 1/z, or z/√(1 + z²).
    beyond: Beyond
    penalized: bool = False  # the core supports penalties with it (options `sparsity` and `l2`)
    sums_squares: bool = False  # the stored scale is √Σx², and s is that over √t; otherwise it is s = max |x|
    # The rule tracks the covariance of the weights. It has no learning rate and takes at most MOST_FEATURES features.
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
        "Second order: learns from few rows, and from correlated features; at most 100 features.",
        unit_free=True,
        adaptive=True,
        beyond="hold",
        second_order=True,
    ),
)

MOST_FEATURES = 100
"""The largest number of features, without the bias, of a rule of second order."""

RULES: dict[str, Rule] = {rule.name: rule for rule in _RECORDS}
"""The rules by name: first those of the paper (unit-free ones first)."""

FIRST_ORDER: tuple[RuleName, ...] = tuple(rule.name for rule in _RECORDS if not rule.second_order)
"""The rules of the paper, which have a learning rate and support every loss."""


def like(*, unit_free: bool, adaptive: bool) -> Rule:
    """Return the rule with these properties whose scale is the largest |x|. Vowpal Wabbit has these four rules."""
    return next(
        rule for rule in _RECORDS if (rule.unit_free, rule.adaptive, rule.sums_squares) == (unit_free, adaptive, False)
    )
