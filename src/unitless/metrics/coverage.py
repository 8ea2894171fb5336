"""Coverage of prediction intervals and prediction sets: how many rows they contain, and how large they are.

Each interval is made before its row is counted. For a stream it uses the errors of earlier rows; for a fixed model it
uses what the model knows of its errors. Rows that come before there is an interval, because there were too few errors,
do not count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from ..models.error_quantiles import ErrorQuantiles, KnownErrors, checked_level
from ..models.number_intervals import NumberIntervals
from .label_sums import added
from .records import Metric
from .rows import BinaryRows, NumberRows, Rows

COVERAGE = (
    Metric(
        "coverage",
        ("regression", "binary", "classes"),
        None,
        smaller_is_better=False,
        about="the share of rows whose label the interval, or the set of classes, contains",
    ),
    Metric("width", ("regression",), None, about="the mean width of the prediction intervals, in the target's unit"),
    Metric("set_size", ("binary", "classes"), None, about="the mean number of classes in a set"),
)
"""The names of the metrics that a `Coverage` adds to an evaluation."""


@dataclass(frozen=True)
class PredictedNumbers:
    """Predicted numbers and their labels. Limits are an array with two columns: the lower ones and the upper ones."""

    numbers: Float64
    labels: Float64

    size_name: ClassVar[str] = "width"
    cached: ClassVar[int] = 0  # probabilities that each row stores

    @property
    def columns(self) -> tuple[Float64, ...]:
        """The rows in the form that `NumberIntervals` counts."""
        return self.numbers, self.labels

    def __getitem__(self, rows: Any) -> PredictedNumbers:
        """Select rows by a mask, a slice or positions."""
        return PredictedNumbers(self.numbers[rows], self.labels[rows])

    @classmethod
    def join(cls, parts: list[PredictedNumbers]) -> PredictedNumbers:
        """Concatenate the rows of several parts in order."""
        return cls(*map(np.concatenate, zip(*(part.columns for part in parts), strict=True)))

    def update(self, known: NumberIntervals, level: float, weight: Float64 | None) -> Float64:
        """The limits of each row from before it was counted, and count the rows."""
        return np.stack(known.update_at(level, self.numbers, self.labels, weight), axis=1)

    def limits(self, known: NumberIntervals, level: float) -> Float64:
        """The limits of each row, all with the same quantile of errors."""
        return np.stack(known.around(self.numbers, known.steady_reach(level)), axis=1)

    def has_limits(self, limits: Float64) -> NDArray[np.bool_]:
        """Whether each row has an interval."""
        return self.sizes(limits) < math.inf

    def held(self, limits: Float64) -> NDArray[np.bool_]:
        """Whether each interval contains the label."""
        return (limits[:, 0] <= self.labels) & (self.labels <= limits[:, 1])

    def total_size(self, start: float, limits: Float64, weight: Float64 | None) -> float:
        """The running sum of the widths: `start` plus the width of each row in order."""
        return added(start, self.sizes(limits), weight)

    def sizes(self, limits: Float64) -> Float64:
        """The width of each interval. Around an infinite prediction it is 0: such an interval contains nothing."""
        low, high = limits.T
        with np.errstate(invalid="ignore"):
            return np.where(high > low, high - low, 0.0)


@dataclass(frozen=True)
class PredictedClasses:
    """Predicted classes, with the errors that decide whether a set contains the true one.

    A limit is the largest error that a class of the row's set has.
    """

    errors: Float64  # 1 - the probability of the true class
    right: NDArray[np.bool_]  # whether the most likely class is the true one
    shares: Float64 | None = None  # for more than two classes: the probabilities, by class and row

    size_name: ClassVar[str] = "set_size"

    @property
    def cached(self) -> int:
        """How many probabilities each row stores."""
        return 0 if self.shares is None else len(self.shares)

    @property
    def columns(self) -> tuple[Float64, ...]:
        """The rows in the form that `ErrorQuantiles` counts."""
        return (self.errors,)

    def __getitem__(self, rows: Any) -> PredictedClasses:
        """Select rows by a mask, a slice or positions."""
        return PredictedClasses(
            self.errors[rows], self.right[rows], None if self.shares is None else self.shares[:, rows]
        )

    @classmethod
    def join(cls, parts: list[PredictedClasses]) -> PredictedClasses:
        """Concatenate the rows of several parts in order."""
        shares = [part.shares for part in parts if part.shares is not None]
        return cls(
            np.concatenate([part.errors for part in parts]),
            np.concatenate([part.right for part in parts]),
            np.concatenate(shares, axis=1) if shares else None,
        )

    def update(self, known: ErrorQuantiles, level: float, weight: Float64 | None) -> Float64:
        """The limit of each row from before it was counted, and count the rows."""
        return known.update_at(level, self.errors, weight)

    def limits(self, known: ErrorQuantiles, level: float) -> Float64:
        """The limit of each row, which is the same for all."""
        return np.full(len(self.errors), known.steady_reach(level))

    def has_limits(self, limits: Float64) -> NDArray[np.bool_]:
        """Whether each row has a set."""
        return limits < math.inf

    def held(self, limits: Float64) -> NDArray[np.bool_]:
        """Whether each set contains the true class; the most likely class is in every set."""
        return (self.errors <= limits) | self.right

    def total_size(self, start: float, limits: Float64, weight: Float64 | None) -> float:
        """The running sum of set sizes: `start` plus the size of each row in order."""
        if self.shares is None and weight is None and start.is_integer():
            return added(start + len(limits), self._both(limits), None)
        return added(start, self.sizes(limits), weight)

    def _both(self, limits: Float64) -> NDArray[np.bool_]:
        """For two classes: whether the set has both, that is, whether the less likely one is within the limit."""
        return np.maximum(self.errors, 1.0 - self.errors) <= limits

    def sizes(self, limits: Float64) -> Float64:
        """The number of classes in each set."""
        if self.shares is None:
            return np.asarray(1.0 + self._both(limits), dtype=np.float64)
        sizes, errors, within = np.zeros(len(limits), np.int32), np.empty(len(limits)), np.empty(len(limits), bool)
        for shares in self.shares:
            np.subtract(1.0, shares, out=errors)
            np.less_equal(errors, limits, out=within)
            sizes += within
        # The most likely class is the first to be within the limit.
        return np.maximum(sizes, min(1, len(self.shares))).astype(np.float64)


Predicted: TypeAlias = PredictedNumbers | PredictedClasses


def predicted(rows: Rows) -> Predicted:
    """Rows to count, in the form that coverage needs."""
    if isinstance(rows, NumberRows):
        return PredictedNumbers(rows.judge._link(rows.p), rows.truth)
    right = ~rows.wrong
    if isinstance(rows, BinaryRows):
        positive = rows.judge._link(rows.p)
        return PredictedClasses(1.0 - np.where(rows.truth, positive, 1.0 - positive), right)
    return PredictedClasses(1.0 - rows.share_of_own, right, rows.shares.reshape(rows.scores.shape))


class Coverage:
    """Counts rows that prediction intervals, or prediction sets, of one level contain.

    Args:
        level: the level of the intervals.
        known: what the model knows of its errors, which gives the intervals.
        follows: whether each row updates the intervals after it has been counted.
    """

    def __init__(self, level: float, known: KnownErrors, *, follows: bool = False) -> None:
        self.level = checked_level(level)
        self._known: Any = known  # it must fit the task of the counted rows
        self._follows = follows
        self._sums = (0.0, 0.0, 0.0)  # total weight, weight of covered rows, weighted sum of widths
        self._width = "width"

    def count(self, predicted: Predicted, weight: Float64 | None) -> None:
        """Count rows in order. All weights must be positive; without weights each row counts 1."""
        self._width = predicted.size_name
        if self._follows:
            limits = predicted.update(self._known, self.level, weight)
        else:
            limits = predicted.limits(self._known, self.level)
        some = predicted.has_limits(limits)
        if not some.all():
            predicted, limits = predicted[some], limits[some]
            weight = None if weight is None else weight[some]
        total, held, widths = self._sums
        self._sums = (
            added(total, weight, None, len(limits)),
            added(held, predicted.held(limits), weight),
            predicted.total_size(widths, limits, weight),
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
        """The counts as JSON-compatible values; what is known of the errors is stored with the model."""
        return {"level": self.level.hex(), "sums": [total.hex() for total in self._sums], "width": self._width}

    @classmethod
    def restore(cls, state: dict[str, Any], known: KnownErrors) -> Coverage:
        """Rebuild a `Coverage` that continues a stream, from a state and the model's errors at the same moment."""
        coverage = cls(float.fromhex(state["level"]), known, follows=True)
        total, held, widths = map(float.fromhex, state["sums"])
        coverage._sums, coverage._width = (total, held, widths), state["width"]
        if not (0 <= held <= total < math.inf and widths >= 0) or state["width"] not in ("width", "set_size"):
            raise ValueError("an impossible coverage")
        return coverage
