"""The distribution of a model's errors, from which prediction intervals and prediction sets are made.

For classes, the error is 1 - the probability of the true class (`ErrorQuantiles`). For numbers, it is |truth -
prediction| divided by the scale of the errors of similar predictions (`NumberIntervals`). For each of several levels,
the core stores the error that is not exceeded with that probability, which is called the reach of the level here. There
are two ways to compute it:

- For a stream, `update` changes the quantiles with the error of each row, predicted before it is learned
  (core/calibration/).
- For a fit, `calibrated` computes them from the errors of held-out rows (split conformal prediction: Lei, G'Sell,
  Rinaldo, Tibshirani, Wasserman 2018). `update` can continue from there.

A prediction set has all classes whose error would be at most the reach.
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
"""The numbers of quantiles in a state: rows, weight, the recent mean error, the latest quantiles, their means."""


def checked_level(level: Any, option: str = "level") -> float:
    """Return a level as a float; raise an error if it is not between 0 and the largest level."""
    number = isinstance(level, int | float | np.number) and not isinstance(level, bool)
    if not number or not 0 < float(level) <= LEVELS[-1]:
        hint = f"; {level}% is {level / 100:g}" if number and 1 < level < 100 else ""
        raise OptionError(
            f"is {level!r}; it must be a probability above 0, at most {LEVELS[-1]:g}{hint}", option=option
        )
    return float(level)


class KnownErrors:
    """The state of the core that describes a model's errors: it begins with the quantiles."""

    _size: ClassVar[int]  # numbers in the state

    def __init__(self) -> None:
        self._state: Float64 = np.zeros(self._size)

    @property
    def rows(self) -> int:
        """The number of errors from which the quantiles were computed."""
        return int(self._state[0])

    def reach(self, level: float) -> float:
        """Return the error that is not exceeded with this probability; infinite if there are too few rows.

        Between the stored levels it is interpolated in log(1/(1 - level)); it never falls when the level rises. It
        changes with each row of `update`; use `steady_reach` if no updates follow.
        """
        return _core.error_reach(self._state[:QUANTILES], level, False)

    def steady_reach(self, level: float) -> float:
        """Return the mean of `reach` over the last rows, for predictions without later updates.

        The latest quantiles of a stream vary, because each row moves them; their mean varies less.
        """
        return _core.error_reach(self._state[:QUANTILES], level, True)

    def known_reach(self, level: float, *, latest: bool = False) -> float:
        """Return the `steady_reach` of a level; raise an error if there are too few rows.

        Args:
            level: the level.
            latest: return the `reach` instead. Default: False.
        """
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
        """Return a copy."""
        same = type(self)()
        same._state[:] = self._state
        return same

    def plain(self) -> list[str]:
        """Return the state in the form in which a model file stores it."""
        return [float(number).hex() for number in self._state]

    @classmethod
    def read(cls, plain: Any) -> Self:
        """Read the state from a model file and check it."""
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
        if not (np.isfinite(quantiles) & (quantiles >= 0)).all():
            return False
        return bool(rows == int(rows) and (rows > 0) == (weight > 0))

    def _weights(self, weight: Float64 | None, rows: int) -> Float64 | None:
        """Return weights of 1 for rows without weights, if rows before them had other weights.

        So the result does not depend on how a stream is split into parts with and without weights.
        """
        all_were_one = self._state[0] == self._state[1]
        return np.ones(rows) if weight is None and not all_were_one else weight


class ErrorQuantiles(KnownErrors):
    """Quantiles of errors that have no unit, such as those of classes.

    Example:
        >>> import numpy as np
        >>> errors = np.abs(np.random.default_rng(0).normal(size=10_000))
        >>> quantiles = ErrorQuantiles()
        >>> quantiles.update(errors)
        >>> calibrated = ErrorQuantiles.calibrated(errors)
        >>> print(f"{quantiles.steady_reach(0.9):.2f}, {calibrated.reach(0.9):.2f}; truly 1.64")
        1.62, 1.64; truly 1.64
    """

    _size = QUANTILES

    def update(self, errors: Float64, weight: Float64 | None = None) -> None:
        """Update the quantiles with the errors of rows, in order.

        Args:
            errors: the errors of the predictions that were made before the rows were learned.
            weight: sample weights, which count relative to their mean so far; rows of weight 0 are ignored. Default:
                None (all 1).
        """
        _core.follow_errors(self._state, errors, self._weights(weight, len(errors)), None)

    def update_at(self, level: float, errors: Float64, weight: Float64 | None = None) -> Float64:
        """Update the quantiles as `update` does, and return the `reach` of a level before each row."""
        reaches = _core.follow_errors(self._state, errors, self._weights(weight, len(errors)), level)
        assert reaches is not None
        return reaches

    @classmethod
    def calibrated(cls, errors: Float64, weight: Float64 | None = None) -> ErrorQuantiles:
        """Compute the quantiles from the errors of held-out rows, with the correction for a finite number of rows.

        The future row counts as one more row, with the mean weight and an infinite error.

        Args:
            errors: the errors of the held-out rows.
            weight: sample weights. Default: None (all 1).
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
