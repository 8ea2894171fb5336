"""How large the errors of a model's predictions are: this gives intervals around numbers and sets of classes.

For a number the error is |label - prediction|, divided by the scale that errors have at this prediction
(`NumberIntervals`); for classes it is 1 - the probability of the true class (`ErrorQuantiles`). For eight levels, the
core stores the value that errors exceed with probability 1 - level. It comes from one of two sources:

- a stream: `follow` updates the quantiles with each row, by its prediction from before it was learned;
- a fit: `calibrated` takes them from the errors of rows that the model has not learned (split conformal prediction,
  Lei, G'Sell, Rinaldo, Tibshirani, Wasserman 2018). `follow` can continue from there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import _core
from ..errors import ModelFileError, OptionError
from ..inputs import Float64

if TYPE_CHECKING:
    from typing_extensions import Self

LEVELS: tuple[float, ...] = tuple(_core.ERROR_LEVELS)
QUANTILES = 3 + 2 * len(LEVELS)
"""How many numbers a state has: rows, their weight, the mean of recent errors, the quantiles, the steady ones."""


def checked_level(level: Any, option: str = "level") -> float:
    """A level that can be asked for."""
    number = isinstance(level, int | float | np.number) and not isinstance(level, bool)
    if not number or not 0 < float(level) <= LEVELS[-1]:
        hint = f"; {level}% is {level / 100:g}" if number and 1 < level < 100 else ""
        raise OptionError(
            f"is {level!r}; it must be a probability above 0, at most {LEVELS[-1]:g}{hint}", option=option
        )
    return float(level)


class KnownErrors:
    """What a model knows of its errors: a state of the core, which starts with the quantiles."""

    _size: ClassVar[int]  # of the state

    def __init__(self) -> None:
        self._state: Float64 = np.zeros(self._size)

    @property
    def rows(self) -> int:
        """The number of rows whose errors were counted."""
        return int(self._state[0])

    def reach(self, level: float) -> float:
        """The quantile of errors at a level; infinite if there are too few rows.

        Between the stored levels it grows with log(1/(1 - level)), and it never decreases with the level. It is for
        callers that follow each row.
        """
        return _core.error_reach(self._state[:QUANTILES], level, False)

    def steady_reach(self, level: float) -> float:
        """The quantile of errors at a level, for many predictions without labels between them.

        Each row of a stream moves the quantiles. This is their mean over the last rows.
        """
        return _core.error_reach(self._state[:QUANTILES], level, True)

    def known_reach(self, level: float, *, latest: bool = False) -> float:
        """The `steady_reach`, or with `latest` the `reach`, of a level; too few rows are an error."""
        reach = self.reach(level) if latest else self.steady_reach(level)
        if math.isinf(reach):
            least = math.ceil(level / (1 - level) * (1 - 1e-12))
            raise OptionError(
                f"is {level:g}, which needs the errors of at least {least:,} rows, each predicted before it was "
                f"learned; the model has those of {self.rows:,}",
                option="level",
                advice="let it learn more rows, or ask for a lower level",
            )
        return reach

    def copy(self) -> Self:
        """A copy, which changes independently."""
        same = type(self)()
        same._state[:] = self._state
        return same

    def plain(self) -> list[str]:
        """The state as a model file stores it."""
        return [float(number).hex() for number in self._state]

    @classmethod
    def read(cls, plain: Any) -> Self:
        """Check a state from a model file, and restore it."""
        known = cls()
        if type(plain) is not list or len(plain) != cls._size or not all(type(number) is str for number in plain):
            raise ModelFileError("this is not a valid model file: its errors are not quantiles")
        known._state[:] = [float.fromhex(number) for number in plain]
        if not known._is_possible():
            raise ModelFileError("this is not a valid model file: its errors are impossible")
        return known

    def _is_possible(self) -> bool:
        quantiles = self._state[:QUANTILES]
        rows, weight = quantiles[:2]
        positive = np.isfinite(quantiles) & (quantiles >= 0)
        return bool(positive.all() and rows == int(rows) and (rows > 0) == (weight > 0))

    def _weights(self, weight: Float64 | None, rows: int) -> Float64 | None:
        """Sample weights for the core, which reads None as 1 for all rows of the stream.

        A row without a weight counts 1, which is not the mean if earlier rows had other weights. So the result does not
        depend on how a stream is cut into parts with weights and parts without.
        """
        all_were_one = self._state[0] == self._state[1]
        return np.ones(rows) if weight is None and not all_were_one else weight


class ErrorQuantiles(KnownErrors):
    """Quantiles of the errors of classes, or of any other numbers that have no unit.

    Example:
        >>> import numpy as np
        >>> errors = np.abs(np.random.default_rng(0).normal(size=10_000))
        >>> quantiles = ErrorQuantiles()
        >>> quantiles.follow(errors)
        >>> print(f"{quantiles.reach(0.9):.1f}, {ErrorQuantiles.calibrated(errors).reach(0.9):.2f}; truly 1.64")
        1.6, 1.65; truly 1.64
    """

    _size = QUANTILES

    def follow(self, errors: Float64, weight: Float64 | None = None) -> None:
        """Rows in order. A row without weight does not count; weights count relative to their mean so far."""
        _core.follow_errors(self._state, errors, self._weights(weight, len(errors)), None)

    def follow_at(self, level: float, errors: Float64, weight: Float64 | None = None) -> Float64:
        """The same; gives what `reach` was before each row."""
        reaches = _core.follow_errors(self._state, errors, self._weights(weight, len(errors)), level)
        assert reaches is not None
        return reaches

    @classmethod
    def calibrated(cls, errors: Float64, weight: Float64 | None = None) -> ErrorQuantiles:
        """Of rows that the model has not learned: the smallest error that the level, of n + 1 rows, does not exceed.

        The row that is yet to come counts as one of them, with the mean weight and an error beyond all.
        """
        quantiles = cls()
        if weight is not None:
            errors, weight = errors[weight > 0], weight[weight > 0]
        rows = len(errors)
        if not rows:
            return quantiles
        order = np.argsort(errors, kind="stable")
        ranked = errors[order]
        total = float(rows) if weight is None else float(weight.sum())
        below = np.arange(1.0, rows + 1) if weight is None else np.cumsum(weight[order])
        wanted = np.array(LEVELS) * (total + total / rows) * (1 - 1e-12)  # rounding must not cost a whole row
        places = np.minimum(np.searchsorted(below, wanted), rows - 1)
        finite = np.isfinite(errors)
        mean = np.average(errors[finite], weights=None if weight is None else weight[finite]) if finite.any() else 0.0
        quantiles._state[:] = [rows, total, mean, *ranked[places], *ranked[places]]
        np.minimum(quantiles._state, np.finfo(np.float64).max, out=quantiles._state)
        return quantiles
