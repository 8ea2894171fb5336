"""Coverage of prediction intervals and prediction sets: how many rows they contain, and how large they are.

Each interval is made before its row is counted. For a stream it uses the errors of earlier rows; for a fixed model it
uses the model's error quantiles. Rows that come before there is an interval, because there were too few errors, do not
count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from ..models.error_quantiles import ErrorQuantiles, checked_level
from .label_sums import added
from .records import Metric
from .rows import BinaryRows, NumberRows, Rows

COVERAGE = (
    Metric(
        "coverage",
        ("regression", "binary", "classes"),
        None,
        smaller_is_better=False,
        is_share=True,
        about="the share of rows whose label the interval, or the set of classes, contains",
    ),
    Metric("width", ("regression",), None, about="the mean width of the prediction intervals, in the target's unit"),
    Metric("set_size", ("binary", "classes"), None, about="the mean number of classes in a set"),
)
"""The names of the metrics that a `Coverage` adds to an evaluation."""


@dataclass(frozen=True)
class Predicted:
    """Predicted rows, with the errors that decide whether an interval or a set contains the true label."""

    errors: Float64  # see `models.error_quantiles`
    right: NDArray[np.bool_] | None = None  # for classes: whether the most likely class is the true one
    shares: Float64 | None = None  # for more than two classes: the probabilities, by class and row

    @classmethod
    def of(cls, rows: Rows) -> Predicted:
        """Build the errors of rows to count."""
        if isinstance(rows, NumberRows):
            return cls(rows.error)
        right = ~rows.wrong
        if isinstance(rows, BinaryRows):
            positive = rows.judge._link(rows.p)
            return cls(1.0 - np.where(rows.truth, positive, 1.0 - positive), right)
        return cls(1.0 - rows.share_of_own, right, rows.shares.reshape(rows.scores.shape))

    def __getitem__(self, rows: Any) -> Predicted:
        """Select rows by a mask, a slice or positions."""
        right = None if self.right is None else self.right[rows]
        return Predicted(self.errors[rows], right, None if self.shares is None else self.shares[:, rows])

    @classmethod
    def join(cls, parts: list[Predicted]) -> Predicted:
        """Concatenate the rows of several parts in order."""
        right = [part.right for part in parts if part.right is not None]
        shares = [part.shares for part in parts if part.shares is not None]
        return cls(
            np.concatenate([part.errors for part in parts]),
            np.concatenate(right) if right else None,
            np.concatenate(shares, axis=1) if shares else None,
        )

    def held(self, reach: Float64) -> NDArray[np.bool_]:
        """Whether each row's interval or set contains the true label; the most likely class is in every set."""
        within = self.errors <= reach
        return within if self.right is None else within | self.right

    def total_size(self, start: float, reach: Float64, weight: Float64 | None) -> float:
        """The running sum of interval or set sizes: `start` plus the size of each row in order."""
        if self.right is not None and self.shares is None and weight is None and start.is_integer():
            return added(start + len(reach), self._both(reach), None)
        return added(start, self.sizes(reach), weight)

    def _both(self, reach: Float64) -> NDArray[np.bool_]:
        """For two classes: whether the set has both, that is, whether the less likely one is within reach."""
        return np.maximum(self.errors, 1.0 - self.errors) <= reach

    def sizes(self, reach: Float64) -> Float64:
        """The width of each interval, or the number of classes in each set."""
        if self.right is None:
            return 2.0 * reach
        if self.shares is None:
            return np.asarray(1.0 + self._both(reach), dtype=np.float64)
        sizes, errors, within = np.zeros(len(reach), np.int32), np.empty(len(reach)), np.empty(len(reach), bool)
        for shares in self.shares:
            np.subtract(1.0, shares, out=errors)
            np.less_equal(errors, reach, out=within)
            sizes += within
        # The most likely class is the first to be within reach.
        return np.maximum(sizes, min(1, len(self.shares))).astype(np.float64)


class Coverage:
    """Counts rows that prediction intervals, or prediction sets, of one level contain.

    Args:
        level: the level of the intervals.
        quantiles: the quantiles of the errors, which give the width of the intervals.
        follows: whether each row updates the quantiles after it has been counted.
    """

    def __init__(self, level: float, quantiles: ErrorQuantiles, *, follows: bool = False) -> None:
        self.level = checked_level(level)
        self._quantiles, self._follows = quantiles, follows
        self._sums = (0.0, 0.0, 0.0)  # total weight, weight of covered rows, weighted sum of widths
        self._width = "width"

    def count(self, predicted: Predicted, weight: Float64 | None) -> None:
        """Count rows in order. All weights must be positive; without weights each row counts 1."""
        if predicted.right is not None:
            self._width = "set_size"
        if self._follows:
            reach = self._quantiles.update_at(self.level, predicted.errors, weight)
        else:
            reach = np.full(len(predicted.errors), self._quantiles.steady_reach(self.level))
        finite = reach < math.inf
        if not finite.all():
            predicted, reach = predicted[finite], reach[finite]
            weight = None if weight is None else weight[finite]
        total, held, widths = self._sums
        self._sums = (
            added(total, weight, None, len(reach)),
            added(held, predicted.held(reach), weight),
            predicted.total_size(widths, reach, weight),
        )

    @property
    def metrics(self) -> dict[str, float]:
        """Coverage and size by name; empty before the first interval."""
        total, held, widths = self._sums
        return {"coverage": held / total, self._width: widths / total} if total else {}

    def absorb(self, other: Coverage) -> None:
        """Add the counts of another `Coverage`."""
        self._width = other._width
        total, held, widths = (mine + its for mine, its in zip(self._sums, other._sums, strict=True))
        self._sums = (total, held, widths)

    def state(self) -> dict[str, Any]:
        """The counts as JSON-compatible values; the quantiles are stored with the model."""
        return {"level": self.level.hex(), "sums": [total.hex() for total in self._sums], "width": self._width}

    @classmethod
    def restore(cls, state: dict[str, Any], quantiles: ErrorQuantiles) -> Coverage:
        """Rebuild a `Coverage` that continues a stream, from a state and the quantiles at the same moment."""
        coverage = cls(float.fromhex(state["level"]), quantiles, follows=True)
        total, held, widths = map(float.fromhex, state["sums"])
        coverage._sums, coverage._width = (total, held, widths), state["width"]
        if not (0 <= held <= total < math.inf and widths >= 0) or state["width"] not in ("width", "set_size"):
            raise ValueError("an impossible coverage")
        return coverage
