"""Tables 2 and 3: NAG and sNAG against AG, on the data as it is and pre-normalized."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from ...metrics.intervals import chernoff_interval
from ...options import Rule
from .kept_results import Kept
from .preparation import Normalization, Prepared
from .printed import TABLE2, TABLE3, Cell
from .rate_search import Search, Told, search

LOSS_TOLERANCE = 0.08
RATE_FACTOR = 2.5
FLAT = 0.02


@dataclasses.dataclass(frozen=True)
class Result:
    """One cell of a table, with the number that the paper prints."""

    table: int
    dataset: str
    normalized: bool
    rule: str
    rate: float
    loss: float
    printed_rate: float
    printed_loss: float
    significant: bool
    """Whether this rule's loss is significantly below the other's on the same data.

    The Chernoff bounds of both do not overlap; they fail together with a probability of at most 0.1.
    """
    printed_significant: bool
    losses: tuple[float, ...]
    """The loss at this rate in each order of the rows."""
    flat: tuple[float, float]
    """The rates whose loss is within 2% of the best."""
    loss_at_printed_rate: float | None
    """Our loss at the rate that the paper found best, if it was tried."""
    rows: int
    sample: str
    """The description of the sample, if it is not the whole dataset."""
    seconds: float

    @property
    def near_loss(self) -> bool:
        """Whether the loss is within 8% of the printed one."""
        return abs(self.loss / self.printed_loss - 1) <= LOSS_TOLERANCE

    @property
    def near_rate(self) -> bool:
        """Whether the best rate is within a factor of 2.5 of the printed one."""
        return 1 / RATE_FACTOR <= self.rate / self.printed_rate <= RATE_FACTOR

    def asdict(self) -> dict[str, Any]:
        """The result as JSON-compatible values."""
        return {
            **dataclasses.asdict(self),
            "spread": [min(self.losses), max(self.losses)],
            "near_loss": self.near_loss,
            "near_rate": self.near_rate,
        }


@dataclasses.dataclass(frozen=True)
class _Plan:
    """The rules and normalization that a table of the paper compares."""

    rule: Rule
    normalization: Normalization
    printed: dict[str, Any]


_PLANS = {2: _Plan("nag", "max", TABLE2), 3: _Plan("snag", "rms", TABLE3)}


def table(
    number: int, datasets: Iterable[Prepared], seeds: Iterable[int], kept: Kept, told: Told | None = None
) -> list[Result]:
    """Table 2 or 3: for each dataset the normalized rule and AG, raw and pre-normalized."""
    plan, seeds = _PLANS[number], list(seeds)
    results: list[Result] = []
    for prepared in datasets:
        for normalized in (False, True):
            normalization = plan.normalization if normalized else "raw"
            line = plan.printed[prepared.key][normalized]
            ours = search(prepared, normalization, plan.rule, seeds, kept, told)
            theirs = search(prepared, normalization, "ag", seeds, kept, told)
            better = _significant(ours.loss, theirs.loss, prepared.rows)
            worse = _significant(theirs.loss, ours.loss, prepared.rows)
            results.append(_result(number, prepared, normalized, plan.rule, ours, line.normalized, better, line.bold))
            results.append(_result(number, prepared, normalized, "ag", theirs, line.ag, worse, False))
    return results


def other(results: Iterable[Result], one: Result, rule: str, normalized: bool) -> Result:
    """The result of the other rule or the other data, from the same table and dataset."""
    wanted = (one.table, one.dataset, rule, normalized)
    return next(found for found in results if (found.table, found.dataset, found.rule, found.normalized) == wanted)


def searches(datasets: int) -> int:
    """The number of rate searches that a table needs."""
    return 4 * datasets


def _significant(loss: float, other: float, rows: int) -> bool:
    """Whether a loss is significantly below another."""
    return chernoff_interval(loss, rows)[1] < chernoff_interval(other, rows)[0]


def _result(
    number: int,
    prepared: Prepared,
    normalized: bool,
    rule: str,
    found: Search,
    printed: Cell,
    significant: bool,
    bold: bool,
) -> Result:
    return Result(
        table=number,
        dataset=prepared.key,
        normalized=normalized,
        rule=rule,
        rate=found.rate,
        loss=found.loss,
        printed_rate=printed.rate,
        printed_loss=printed.loss,
        significant=significant,
        printed_significant=bold,
        losses=tuple(float(loss) for loss in found.at_best),
        flat=found.flat(FLAT),
        loss_at_printed_rate=found.loss_at(printed.rate),
        rows=prepared.rows,
        sample=prepared.sample_note,
        seconds=found.seconds,
    )
