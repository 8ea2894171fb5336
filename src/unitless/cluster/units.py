"""Detect columns that have other units in some files than in others, which no worker can see in its own part.

A column's scale in a part of the data is the geometric mean of the absolute values of its non-zero entries. Another
unit multiplies it by a factor; outliers, which determine the largest value, hardly change it. The parts are sorted by
their scales. Where a column drifts along the data, as a row counter does, the scales are close to each other; where
units differ there is a gap. On 209 columns of eleven real tables, cut into sixteen parts, the widest gap was a factor
of 4 (row counters). When some parts were multiplied by 10, the gap was found in 83 to 89% of the columns if the parts
were consecutive rows of the table, and in 99% if rows were assigned to parts at random.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import inputs
from .blocks import BlockBatch, FileSurvey, row_numbers

PARTS = 16  # for a single file
MOST_PARTS = 256
SAMPLED = 1024  # rows of a batch
LEAST_VALUES = 20  # non-zero values of a column in a part
GAP = 7.0  # a larger factor between two groups of parts is reported as another unit
SURE = 4.0  # standard errors that a gap must exceed
_COUNT, _SUM, _SQUARES = range(3)


@dataclass(frozen=True)
class Part:
    """Rows that are compared with others: a file, several consecutive files, or a part of the data in memory.

    Args:
        file: its name in messages.
        first: the first row there, from 1.
        last: the last row.
        of: the number of rows of the file.
        start: the number of the first row among those of all files.
    """

    file: str
    first: int
    last: int
    of: int
    start: int


def parts_of(surveys: Sequence[FileSurvey]) -> tuple[Part, ...]:
    """The parts of the data that are compared: its files, or parts of a single file."""
    each, together = PARTS if len(surveys) == 1 else 1, math.ceil(len(surveys) / MOST_PARTS)
    parts: list[Part] = []
    start = 0
    for first in range(0, len(surveys), together):
        some = surveys[first : first + together]
        name = some[0].name if len(some) == 1 else f"{some[0].name} to {some[-1].name}"
        rows = sum(one.numbers for one in some)
        cuts = [k * rows // each for k in range(each + 1)]
        parts += [Part(name, a + 1, b, rows, start + a) for a, b in itertools.pairwise(cuts) if a < b]
        start += rows
    return tuple(parts)


class Scales:
    """The scales of number columns in each part of the data, updated with batches when they are read."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._starts = np.array([part.start for part in parts], np.int64)
        self._names: list[str] = []
        # by part: count, sum and sum of squares of logarithms, for each column
        self._sums: dict[int, NDArray[np.float64]] = {}

    def add(self, batch: BlockBatch) -> None:
        """Add a sample of the rows of a batch."""
        rows = np.arange(0, batch.rows, -(-batch.rows // SAMPLED) or 1)
        names, columns = _numbers(batch.data, rows)
        if not names or not len(rows):
            return
        self._names = names
        values = np.abs(np.array(columns, np.float64))
        there = np.isfinite(values) & (values > 0)
        logs = np.log(values, out=np.zeros_like(values), where=there)
        part = np.searchsorted(self._starts, row_numbers(batch)[rows], "right") - 1
        for number in np.unique(part).tolist():
            here = part == number
            found = np.stack([there[:, here].sum(1), logs[:, here].sum(1), (logs[:, here] ** 2).sum(1)], axis=1)
            self._sums[number] = self._sums.get(number, 0) + found

    def join(self, others: Iterable[Scales]) -> None:
        """Add the sums of other `Scales` of the same parts."""
        for other in others:
            self._names = self._names or other._names
            for number, found in other._sums.items():
                self._sums[number] = self._sums.get(number, 0) + found

    def plain(self) -> dict[str, Any]:
        """The sums as plain values, to be stored or sent."""
        sums = {str(number): self._sums[number].tolist() for number in sorted(self._sums)}
        return {"names": self._names, "sums": sums}

    @classmethod
    def read(cls, parts: Sequence[Part], plain: dict[str, Any]) -> Scales:
        """Rebuild `Scales` from the result of `plain`."""
        scales = cls(parts)
        scales._names = list(plain["names"])
        scales._sums = {int(number): np.array(found, np.float64) for number, found in plain["sums"].items()}
        return scales

    def warnings(self) -> list[str]:
        """One warning for each column whose units seem to differ; columns in their order."""
        found = []
        order = sorted(self._sums)
        for column, name in enumerate(self._names):
            sums = np.array([self._sums[number][column] for number in order])
            enough = sums[:, _COUNT] >= LEAST_VALUES
            numbers = np.array(order)[enough]
            split = _gap(sums[enough])
            if split is None:
                continue
            ranks, cut, ratio = split
            large, small = ([self._parts[k] for k in sorted(numbers[some])] for some in (ranks[cut:], ranks[:cut]))
            found.append(
                f"column {name!r} is about {_rounded(ratio)} times as large in {_listed(large)} as in "
                f"{_listed(small)}; if these are other units, bring all to the same ones"
            )
        return found


def _numbers(data: inputs.Input, rows: NDArray[Any]) -> tuple[list[str], list[NDArray[Any]]]:
    """The columns of numbers, at some rows. Columns of zeros and ones have no unit, and sparse data is not checked."""
    if isinstance(data, inputs.Frame):
        plain = [(name, c) for name, c in zip(data.names, data.columns, strict=True) if isinstance(c, np.ndarray)]
        return [name for name, _ in plain], [column[rows] for _, column in plain]
    if isinstance(data, inputs.Dense):
        return [str(k + 1) for k in range(data.array.shape[1])], list(data.array[rows].T)
    return [], []


def _gap(sums: NDArray[np.float64]) -> tuple[NDArray[np.intp], int, float] | None:
    """The parts sorted by their scales, with the position and the size of the gap; None if there is no gap."""
    if len(sums) < 2:
        return None
    count = sums[:, _COUNT]
    scale = sums[:, _SUM] / count
    error = np.maximum(0, sums[:, _SQUARES] / count - scale**2) / count
    ranks = np.argsort(scale, kind="stable")
    steps = np.diff(scale[ranks])
    cut = int(np.argmax(steps)) + 1
    doubt = np.sqrt(error[ranks[cut - 1]] + error[ranks[cut]])
    if steps[cut - 1] < max(np.log(GAP), SURE * doubt):
        return None
    return ranks, cut, float(np.exp(np.median(scale[ranks[cut:]]) - np.median(scale[ranks[:cut]])))


def _rounded(ratio: float) -> str:
    """The ratio rounded to one digit."""
    return f"{float(f'{ratio:.1g}'):,.0f}" if ratio < 1e7 else f"{ratio:.1e}"


def _listed(parts: list[Part]) -> str:
    """The names of parts; consecutive parts of a file are combined."""
    spans: list[Part] = []
    for part in parts:
        if spans and spans[-1].start + spans[-1].last - spans[-1].first + 1 == part.start and part.first > 1:
            spans[-1] = replace(spans[-1], last=part.last)
        else:
            spans.append(part)
    said = []
    for span in spans:
        rows = f"rows {span.first:,} to {span.last:,}"
        whole = span.last - span.first + 1 == span.of
        said.append(span.file if whole and span.file else f"{span.file}, {rows}" if span.file else rows)
    shown = said[:3] + ([f"{len(said) - 3} more"] if len(said) > 3 else [])
    joiner = "; " if any(", " in one for one in said) else ", "
    return shown[0] if len(shown) == 1 else f"{joiner.join(shown[:-1])} and {shown[-1]}"
