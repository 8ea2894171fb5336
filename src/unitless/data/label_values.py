"""Counts the values of a target: the task, and notes about the labels, follow from the counts."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .labels import Numbers, RawLabels

if TYPE_CHECKING:
    from typing_extensions import Self

MOST_NUMBERS = 10_000  # so many different numbers are counted; a target with more of them is not a class label


@dataclass
class LabelValues:
    """The labels of some rows, counted by value.

    Args:
        rows: the number of rows with a usable label.
        counts: the number of rows of each value, by the value as text.
        number: whether all labels are numbers.
        whole: whether all labels are whole numbers.
        booleans: whether all labels come from columns of booleans.
        all_rows: whether these are all rows of the data, and not only the first ones.
    """

    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    number: bool = True
    whole: bool = True
    booleans: bool = True
    all_rows: bool = False

    @classmethod
    def of(cls, labels: RawLabels) -> Self:
        """Count the labels of one batch."""
        found = cls()
        found.add(labels)
        return found

    def add(self, labels: RawLabels) -> None:
        """Count the labels of more rows."""
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
        """The different values: numbers in ascending order, text in the order of first appearance."""
        return sorted(self.counts, key=float) if self.number else list(self.counts)

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest of the values, which must be numbers."""
        numbers = [float(value) for value in self.counts] if self.number else []
        return (min(numbers), max(numbers)) if numbers else (math.nan, math.nan)


def is_number(text: str) -> bool:
    """Whether a label is a number, as Python reads it."""
    try:
        float(text)
    except ValueError:
        return False
    return True
