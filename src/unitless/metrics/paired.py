"""A paired test of which learner is better on the same rows, in constant memory.

Rows of a stream are seldom independent, and a learner changes while it learns. So the test does not compare single rows
but the means of long blocks of consecutive rows (batch means): 16 to 32 blocks, whatever the length.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ..inputs import Float64
from .intervals import CONFIDENCE, student_quantile

BLOCKS = 32
FEWEST = 10  # blocks; with fewer the interval is infinite


@dataclass(frozen=True)
class Difference:
    """The difference of two learners' mean losses, with its confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def found(self) -> bool:
        """Whether the difference is significant: its interval does not contain 0."""
        return self.low > 0 or self.high < 0


class Paired:
    """The losses of several learners on the same rows, summed in blocks.

    Args:
        names: of the learners.

    Example:
        >>> import numpy as np
        >>> from unitless.metrics.paired import Paired
        >>> rng = np.random.default_rng(0)
        >>> hard = rng.exponential(size=20_000)              # some rows are hard for both
        >>> paired = Paired(["a", "b", "c"])
        >>> paired.add({"a": hard, "b": hard + 0.01, "c": hard + rng.normal(size=20_000)})
        >>> paired.difference("b", "a").found, paired.difference("c", "a").found
        (True, False)
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._sums: dict[str, Float64] = {name: np.zeros(BLOCKS) for name in names}
        self._weights: Float64 = np.zeros(BLOCKS)
        self._size = 1  # rows in a block
        self.rows = 0

    def add(self, losses: Mapping[str, Float64], weight: Float64 | None = None) -> None:
        """Add the losses of consecutive rows for each learner. A learner that is missing is removed for good."""
        for name in [name for name in self._sums if name not in losses]:
            del self._sums[name]
        rows = min((len(values) for values in losses.values()), default=0)
        done = 0
        while done < rows:
            if self.rows == BLOCKS * self._size:
                self._halve()
            part = slice(done, min(rows, done + BLOCKS * self._size - self.rows))
            blocks = np.arange(self.rows, self.rows + part.stop - done) // self._size
            h = None if weight is None else weight[part]
            # adds one value after another, so the result does not depend on calls
            np.add.at(self._weights, blocks, 1.0 if h is None else h)
            with np.errstate(over="ignore", invalid="ignore"):
                for name, sums in self._sums.items():
                    np.add.at(sums, blocks, losses[name][part] if h is None else losses[name][part] * h)
            self.rows += part.stop - done
            done = part.stop

    def _halve(self) -> None:
        """Combine blocks in pairs, so that half as many remain."""
        for array in (self._weights, *self._sums.values()):
            array[: BLOCKS // 2] = array[::2] + array[1::2]
            array[BLOCKS // 2 :] = 0.0
        self._size *= 2

    @property
    def names(self) -> list[str]:
        """The learners that have not been removed."""
        return list(self._sums)

    @property
    def comparisons(self) -> int:
        """The number of pairs of learners, for the Bonferroni correction."""
        return max(1, len(self._sums) * (len(self._sums) - 1) // 2)

    def difference(self, a: str, b: str, confidence: float = CONFIDENCE) -> Difference:
        """The mean loss of a minus that of b, with its confidence interval.

        The intervals of all pairs of learners are valid together at this confidence (Bonferroni). They are infinite if
        there are too few blocks.
        """
        blocks = -(-self.rows // self._size)
        weights = self._weights[:blocks]
        total = float(weights.sum())
        if not total:
            return Difference(math.nan, -math.inf, math.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            apart = (self._sums[a] - self._sums[b])[:blocks]
            mean = float(apart.sum()) / total
            squares = float(((apart - mean * weights) ** 2).sum())
        if blocks < FEWEST or not math.isfinite(squares):
            return Difference(mean, -math.inf, math.inf)
        error = math.sqrt(squares * blocks / (blocks - 1)) / total
        share = 1 - (1 - confidence) / (2 * self.comparisons)
        reach = student_quantile(share, blocks - 1) * error
        return Difference(mean, mean - reach, mean + reach)
