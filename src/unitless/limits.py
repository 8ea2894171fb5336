"""The largest numbers that are accepted, for all kinds of input: files, frames, arrays, rows, estimators, the server.

Beyond these sizes, sums and squares leave the range of float64. An infinite or too large feature value is invalid.
Where data is read by columns (`train`, `evaluate` and functions that read like them), it counts as missing and is
reported. Everywhere else it is an error. An invalid label or sample weight is always an error. With `on_error="skip"`,
readers of rows skip the rows with such errors.

The core has the same limits (core/base/limits.hpp) and refuses larger numbers. These constants are for code that has to
check numbers before it calls the core.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_VALUE = 1e300  # for feature values
MOST_LABEL = 1e60  # for offsets and numeric labels: the square of a squared label still fits
MOST_WEIGHT = 1e15  # for sample weights
# The advice in messages; the core's messages give the same.
LABELS = "labels must be finite, and not beyond 1e60: use larger units"
OFFSETS = "offsets must be finite, and not beyond 1e60"
WEIGHTS = "weights must be between 0 and 1e15"


def beyond(numbers: NDArray[Any], most: float = MOST_VALUE) -> NDArray[np.bool_] | None:
    """Return a mask of the infinite or too large numbers; None if there are none. NaN means missing, not too large."""
    if numbers.dtype.kind != "f":
        return None
    most = min(most, float(np.finfo(numbers.dtype).max))
    if -most <= numbers.min(initial=0.0) <= numbers.max(initial=0.0) <= most:  # a quick check, false for NaN
        return None
    found = np.abs(numbers) > most
    return found if found.any() else None


def is_usable(value: Any) -> bool:
    """Return whether a value is a finite number that is not too large."""
    if isinstance(value, np.floating):
        value = float(value)  # as a float32, the limit would be infinite
    try:
        return bool(-MOST_VALUE <= value <= MOST_VALUE)
    except (TypeError, ValueError):
        return False
