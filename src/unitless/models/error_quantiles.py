"""How large the errors of a model's predictions are: from this, intervals around them and sets of classes.

Of numbers the error is |truth - prediction|, in the unit of the label (of counts, that of their mean); of classes it is
1 - the probability of the true class. For a ladder of levels the core keeps how large errors are at most with that
probability. There are two ways to find out:

- to follow: `follow` brings the quantiles up to date with each row, before it is learned (core/calibration/);
- to fit: `calibrated` takes them from the errors of rows that the model has not learned (split conformal prediction,
  Lei, G'Sell, Rinaldo, Tibshirani, Wasserman 2018). Following goes on from there.

An interval is the prediction ± the quantile; a set has all classes whose error would be within it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _core
from ..errors import ModelFileError, OptionError
from ..inputs import Float64

LEVELS: tuple[float, ...] = tuple(_core.ERROR_LEVELS)
_NUMBERS = 3 + 2 * len(LEVELS)  # rows, their weight, the mean error of late, the quantiles, the steady ones


def checked_level(level: Any, option: str = "level") -> float:
    """A level that can be asked for."""
    number = isinstance(level, int | float | np.number) and not isinstance(level, bool)
    if not number or not 0 < float(level) <= LEVELS[-1]:
        hint = f"; {level}% is {level / 100:g}" if number and 1 < level < 100 else ""
        raise OptionError(
            f"is {level!r}; it must be a probability above 0, at most {LEVELS[-1]:g}{hint}", option=option
        )
    return float(level)


class ErrorQuantiles:
    """Quantiles of a model's errors.

    Example:
        >>> import numpy as np
        >>> errors = np.abs(np.random.default_rng(0).normal(size=10_000))
        >>> quantiles = ErrorQuantiles()
        >>> quantiles.follow(errors)
        >>> print(f"{quantiles.reach(0.9):.1f}, {ErrorQuantiles.calibrated(errors).reach(0.9):.2f}; truly 1.64")
        1.6, 1.65; truly 1.64
    """

    def __init__(self) -> None:
        self._state: Float64 = np.zeros(_NUMBERS)

    @property
    def rows(self) -> int:
        """How many errors they are made of."""
        return int(self._state[0])

    def reach(self, level: float) -> float:
        """How far from a prediction the truth lies at most, with this probability; infinite if there are too few rows.

        Between the levels of the ladder it grows with log(1/(1 - level)), and it never falls with the level. This is
        for whoever goes on to follow each row.
        """
        return _core.error_reach(self._state, level, False)

    def steady_reach(self, level: float) -> float:
        """The same for any number of predictions that no labels follow.

        The quantiles of a stream are never at rest: each row moves them. This is by their mean over the last rows.
        """
        return _core.error_reach(self._state, level, True)

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

    def follow(self, errors: Float64, weight: Float64 | None = None) -> None:
        """Rows in order. A row without weight does not count; weights count relative to their mean so far."""
        _core.follow_errors(self._state, errors, self._weights(weight, len(errors)), None)

    def follow_at(self, level: float, errors: Float64, weight: Float64 | None = None) -> Float64:
        """The same; gives what `reach` was before each row."""
        reaches = _core.follow_errors(self._state, errors, self._weights(weight, len(errors)), level)
        assert reaches is not None
        return reaches

    def _weights(self, weight: Float64 | None, rows: int) -> Float64 | None:
        """Rows without weights weigh 1, which may not be the mean of those before: only the core's way for weights
        knows that. So it does not matter how a stream is cut into parts with weights and parts without.
        """
        all_were_one = self._state[0] == self._state[1]
        return np.ones(rows) if weight is None and not all_were_one else weight

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

    def copy(self) -> ErrorQuantiles:
        """Others in the same state."""
        same = ErrorQuantiles()
        same._state[:] = self._state
        return same

    def plain(self) -> list[str]:
        """As a model file stores them."""
        return [float(number).hex() for number in self._state]

    @classmethod
    def read(cls, plain: Any) -> ErrorQuantiles:
        """What `plain` gave, checked."""
        quantiles = cls()
        if type(plain) is not list or len(plain) != _NUMBERS or not all(type(number) is str for number in plain):
            raise ModelFileError("this is not a valid model file: its errors are not quantiles")
        quantiles._state[:] = [float.fromhex(number) for number in plain]
        state = quantiles._state
        if (
            not (np.isfinite(state) & (state >= 0)).all()
            or state[0] != int(state[0])
            or (state[0] > 0) != (state[1] > 0)
        ):
            raise ModelFileError("this is not a valid model file: its errors are impossible")
        return quantiles
