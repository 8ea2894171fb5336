"""The display of the importance of columns: the rise of the metric with its interval, in the metric's unit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..metrics import shown_metrics
from ..presentation import shown
from ..presentation.sections import Section, Table

if TYPE_CHECKING:
    from .importance import ColumnImportance, Importance

SHOWN = 10  # columns in a table


def section(found: Importance | None, loss: str, most: int = SHOWN) -> Section:
    """The section with the most important columns; empty if importance was not measured.

    Args:
        found: the importance.
        loss: the loss of the model.
        most: the largest number of columns to show. Default: 10.
    """
    if found is None:
        return Section("Importance", [])
    rows = [[shown.short(one.column, 60), *texts(one, found)] for one in found.columns[:most]]
    table = Table(["column", rises(found.metric, loss), "90% confidence interval"], rows, lengths=lengths(found, most))
    return Section(f"Importance of columns{extent(found, most)}, on {found.on}", [table])


def extent(found: Importance, most: int) -> str:
    """Which columns are shown, if they are not all, in words that follow "columns"."""
    count, measured = min(most, len(found)), len(found) < found.among
    which = f", the {count} largest" if measured else f", the first {count} of {found.among:,}"
    return (which if count < len(found) else "") + (
        f", measured for the {len(found):,} of {found.among:,} that the model uses most" if measured else ""
    )


def rises(metric: str, loss: str) -> str:
    """The header of a column with rises: the metric, and its unit where it is a share."""
    unit = ", percentage points" if metric == "error_rate" else ""
    return f"{shown_metrics.name(metric, loss)} rises by{unit}"


def texts(one: ColumnImportance, found: Importance) -> tuple[str, str]:
    """The rise and its interval as text, rounded so that the width of the interval has two digits.

    What is less than a millionth of the largest rise, such as rounding errors, is zero.
    """
    scale = 100.0 if found.metric == "error_rate" else 1.0
    value, low, high = (scale * number for number in (one.value, one.low, one.high))
    if not all(map(math.isfinite, (value, low, high))):
        return "-", "-"
    size = high - low or abs(value)
    power = math.floor(math.log10(size)) - 1 if size > 0 else 0
    largest = scale * max((other.value for other in found.columns if math.isfinite(other.value)), default=0.0)
    if largest > 0 and size > 0:
        power = max(power, math.floor(math.log10(largest)) - 6)
    return _rounded(value, power), f"{_rounded(low, power)} to {_rounded(high, power)}"


def lengths(found: Importance, most: int = SHOWN) -> list[float]:
    """The lengths of bars, as shares of the largest value."""
    largest = max((one.value for one in found.columns if math.isfinite(one.value)), default=0.0)
    return [min(1.0, one.value / largest) if largest > 0 else 0.0 for one in found.columns[:most]]


def _rounded(value: float, power: int) -> str:
    """A number rounded to a multiple of a power of ten."""
    if value and not -6 <= power <= 12:
        return f"{value:.2e}"
    number = round(value, -power) + 0.0  # without the sign of a negative zero
    return f"{number:,.{max(0, -power)}f}"
