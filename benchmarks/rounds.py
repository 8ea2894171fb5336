"""Measure all contenders in one run, round after round, so that a slow moment of the machine affects all of them."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from contenders import By, Contender, Facts, Running, Turn
from data import Store
from passes import Failed


@dataclass
class Measured:
    """The results of a contender."""

    name: str
    by: By
    facts: Facts
    seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """Seconds per row, in the best round."""
        return min(self.seconds) / self.facts.rows

    @property
    def median(self) -> float:
        return statistics.median(self.seconds) / self.facts.rows

    def asdict(self) -> dict[str, Any]:
        loss = self.facts.loss
        return {
            "name": self.name,
            "by": self.by,
            "rows": self.facts.rows,
            "seconds": self.seconds,
            "best_ns_a_row": self.best * 1e9,
            "median_ns_a_row": self.median * 1e9,
            "loss": loss if loss is not None and math.isfinite(loss) else None,
            "peak_mb": round(self.facts.peak_mb, 1),
        }


def progress(text: str) -> None:
    """Show the progress on a terminal."""
    if sys.stderr.isatty():
        print(f"\r{text[:110]:110}\r", end="", file=sys.stderr, flush=True)


def measure(contenders: Sequence[Contender], store: Store, rounds: int, title: str) -> list[Measured]:
    """Warm up each contender, then measure round after round.

    Each round begins with another contender, so that no contender always follows the same one. The files that programs
    read were written or read just before, so they are in the system's cache. A peer that is not installed, and work
    that another version of unitless cannot do, are left out with a note.
    """
    measured: dict[str, Measured] = {}
    turns: dict[str, Turn] = {}
    with Running(store) as running:
        for one in contenders:
            progress(f"  {title}: {one.name}, getting ready")
            try:
                facts, turns[one.name] = one.start(running)
            except Failed as failure:
                _leave_out(one, failure)
                continue
            measured[one.name] = Measured(one.name, one.by, facts)
        for number in range(rounds):
            names = list(turns)  # those that are left
            for name in names[number % len(names) :] + names[: number % len(names)]:
                progress(f"  {title}: round {number + 1} of {rounds}, {name}")
                try:
                    measured[name].seconds.append(turns[name]())
                except Failed as failure:
                    _leave_out(next(one for one in contenders if one.name == name), failure)
                    del turns[name], measured[name]
    progress("")
    return list(measured.values())


def _leave_out(contender: Contender, failure: Failed) -> None:
    absent = contender.by == "peer" and "No module named" in failure.reason
    if not absent and contender.build is None:
        raise SystemExit(f"{contender.name} failed:\n{failure}")
    print(f"  left out: {contender.name} ({failure.reason})", file=sys.stderr)
