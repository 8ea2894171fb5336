"""Which values a target has and how often: what decides the task, and what is worth a word before learning."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .labels import Numbers, RawLabels

if TYPE_CHECKING:
    from typing_extensions import Self

MOST_NUMBERS = 10_000  # so many different numbers are counted; more are never classes


@dataclass
class LabelValues:
    """The labels of some rows, counted by value.

    Args:
        rows: how many have a label that can be learned.
        counts: how many have each value, as text.
        number: all are numbers.
        whole: all are whole numbers.
        booleans: all come from columns of true and false.
        all_rows: these are all rows of the data, not the first ones only.
    """

    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    number: bool = True
    whole: bool = True
    booleans: bool = True
    all_rows: bool = False

    @classmethod
    def of(cls, labels: RawLabels) -> Self:
        """Those of one batch."""
        found = cls()
        found.add(labels)
        return found

    def add(self, labels: RawLabels) -> None:
        """The labels of some more rows."""
        there = labels.take(labels.present())
        if isinstance(there, Numbers):
            there = there.take(np.isfinite(there.values))
        if not len(there):
            return
        self.rows += len(there)
        self.booleans = self.booleans and not isinstance(there, Numbers) and there.values == ["false", "true"]
        self.number = self.number and isinstance(there, Numbers)
        if isinstance(there, Numbers):
            self.whole = self.whole and bool((there.values == np.round(there.values)).all())
            if len(self.counts) > MOST_NUMBERS:
                return
        values, _, places = there.distinct()
        for value, count in zip(values, np.bincount(places, minlength=len(values)).tolist(), strict=True):
            self.counts[value] += count

    @property
    def values(self) -> list[str]:
        """The different values: numbers in ascending order, text in the order in which it was met."""
        return sorted(self.counts, key=float) if self.number else list(self.counts)

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest of numbers."""
        numbers = [float(value) for value in self.counts] if self.number else []
        return (min(numbers), max(numbers)) if numbers else (math.nan, math.nan)
