"""How large a number may be, at every door: files, frames, arrays, rows, estimators, the server.

Beyond these sizes sums and squares leave the range of float64. A value that is larger, or infinite, is invalid: where
data is read by columns to be learned or scored (`train`, `score` and what goes with them) it counts as missing, and is
counted and reported; everywhere else it is refused. Labels and sample weights are refused everywhere. Where rows are
read, `on_error="skip"` skips what is refused.

The core has the same limits (core/base/limits.hpp) and refuses what is beyond them; this is for those who must not let
it come to that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_VALUE = 1e300  # of a feature
MOST_LABEL = 1e60  # of an offset, or a label that is a number: squares of its square are numbers too
MOST_WEIGHT = 1e15  # of a row
# What messages advise, as those of the core.
LABELS = "labels must be finite, and not beyond 1e60: use larger units"
OFFSETS = "offsets must be finite, and not beyond 1e60"
WEIGHTS = "weights must be between 0 and 1e15"


def beyond(numbers: NDArray[Any], most: float = MOST_VALUE) -> NDArray[np.bool_] | None:
    """Which numbers are infinite or too large; None if none is. What is not a number is missing, not large."""
    if numbers.dtype.kind != "f":
        return None
    most = min(most, float(np.finfo(numbers.dtype).max))
    if -most <= numbers.min(initial=0.0) <= numbers.max(initial=0.0) <= most:  # quick, and false for NaN
        return None
    found = np.abs(numbers) > most
    return found if found.any() else None


def is_usable(value: Any) -> bool:
    """Whether this is one finite number that is not too large."""
    try:
        return bool(-MOST_VALUE <= value <= MOST_VALUE)
    except (TypeError, ValueError):
        return False
