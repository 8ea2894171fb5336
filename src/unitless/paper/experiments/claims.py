"""The paper's conclusions from its Tables 2 and 3, tested on the recomputed tables."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from ...metrics.intervals import chernoff_interval
from .printed import RULE_NAMES
from .tables import Result, other

LEAST_RATE, GREATEST_RATE = 0.01, 20.0


@dataclasses.dataclass(frozen=True)
class Claim:
    """A conclusion, whether it is true for our numbers, and for which numbers."""

    claim: str
    holds: bool
    because: str

    def asdict(self) -> dict[str, Any]:
        """The result as JSON-compatible values."""
        return dataclasses.asdict(self)


def claims(results: Sequence[Result]) -> list[Claim]:
    """All claims, tested on the datasets that are complete."""
    whole = [one for one in results if not one.sample]
    if not whole:
        return []
    raw = [one for one in whole if one.rule != "ag" and not one.normalized]
    return [
        _better_than_ag(whole, raw),
        _as_good_as_pre_normalized(whole, raw),
        _indifferent_to_pre_normalizing(whole, raw),
        _rates_near_one(whole),
    ]


def _better_than_ag(whole: Sequence[Result], raw: Sequence[Result]) -> Claim:
    pairs = [(one, other(whole, one, "ag", False)) for one in raw if one.printed_significant]
    shown = [f"{_named(one)} {one.loss:.4f} < {ag.loss:.4f}" for one, ag in pairs]
    weak = [one for one, ag in pairs if one.loss >= ag.loss]
    bold = [one for one, _ in pairs if one.significant]
    return Claim(
        "On raw data NAG and sNAG are better than AG wherever the paper says so.",
        not weak,
        f"{', '.join(shown)}; significantly so in {len(bold)} of {len(pairs)}",
    )


def _as_good_as_pre_normalized(whole: Sequence[Result], raw: Sequence[Result]) -> Claim:
    pairs = [(one, other(whole, one, "ag", True)) for one in raw]
    worse = [
        one for one, ag in pairs if chernoff_interval(ag.loss, one.rows)[1] < chernoff_interval(one.loss, one.rows)[0]
    ]
    return Claim(
        "On raw data they are not significantly worse than AG on pre-normalized data.",
        not worse,
        ", ".join(f"{_named(one)} {one.loss:.4f} against {ag.loss:.4f}" for one, ag in pairs),
    )


def _indifferent_to_pre_normalizing(whole: Sequence[Result], raw: Sequence[Result]) -> Claim:
    pairs = [(one, other(whole, one, one.rule, True)) for one in raw]
    moved = [one for one, same in pairs if one.rate != same.rate or not math.isclose(one.loss, same.loss, rel_tol=0.01)]
    return Claim(
        "Pre-normalizing changes neither their best rate nor their loss.",
        not moved,
        ", ".join(f"{_named(one)} {one.loss:.5f} and {same.loss:.5f} at {one.rate:.3g}" for one, same in pairs)
        + (f"; not for {', '.join(map(_named, moved))}" if moved else ""),
    )


def _rates_near_one(whole: Sequence[Result]) -> Claim:
    rates = [one.rate for one in whole if one.rule != "ag"]
    theirs = [one.rate for one in whole if one.rule == "ag"]
    return Claim(
        f"Their best rates lie within [{LEAST_RATE:g}, {GREATEST_RATE:g}].",
        min(rates) >= LEAST_RATE and max(rates) <= GREATEST_RATE,
        f"from {min(rates):.2g} to {max(rates):.2g}; AG's from {min(theirs):.1e} to {max(theirs):.2g}",
    )


def _named(one: Result) -> str:
    return f"{one.dataset} {RULE_NAMES[one.rule]}"
