"""What the parts of the page say alike: numbers, names, how good."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ... import shown
from ...html import Html

if TYPE_CHECKING:
    from ..result import TrainResult

_NAMES = {"auc": "AUC", "f1": "F1", "rmse": "RMSE", "mae": "MAE", "mse": "MSE", "r2": "R²", "brier": "Brier score"}


def name(metric: str, result: TrainResult) -> str:
    """What a metric is called."""
    if metric == "loss":
        return f"{result.model.options.loss} loss"
    return _NAMES.get(metric, metric.replace("_", " "))


def one(thing: str) -> str:
    """With its article, as it is spoken: an RMSE, a loss."""
    return f"an {thing}" if thing == "RMSE" else f"a {thing}"


def accuracy(metrics: Mapping[str, float]) -> str:
    """The share of rows that are predicted correctly."""
    return f"{metrics['accuracy']:.2%}"


def value(metric: str, value: float) -> str:
    """A metric, as a table has it."""
    if not math.isfinite(value):
        return "-"
    if metric == "accuracy":
        return f"{value:.2%}"
    return f"{value:.4f}" if metric == "r2" and abs(value) < 100 else shown.number(value)


def interval(by: str, ends: tuple[float, float]) -> str:
    """Where the error truly lies, for a metric that has an interval."""
    low, high = ends
    if by == "loss" or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    said = f"{1 - high:.2%} to {1 - low:.2%}" if by == "error_rate" else f"{shown.number(low)} to {shown.number(high)}"
    return f"90% confidence interval: {said}"


def lines(*parts: Any) -> list[Any]:
    """Parts that are not empty, one below the other."""
    found = [part for part in parts if part]
    return [piece for k, part in enumerate(found) for piece in ([Html("<br>")] if k else []) + [part]]


def baseline(result: TrainResult) -> str:
    """The baseline."""
    return shown.short(result.baseline_name, 60)


def rate(rate: Any) -> str:
    """A learning rate, or the range of those of classes."""
    values = sorted(rate.values()) if isinstance(rate, Mapping) else [rate]
    if not values:
        return "-"
    first, last = shown.rate(values[0]), shown.rate(values[-1])
    return first if first == last else f"{first} to {last}"


def source(result: TrainResult) -> str:
    """The data, by a name without its folder."""
    return shown.short(os.path.basename(result.source.rstrip("/\\")) or result.source, 80)


def short(name: Any) -> str:
    """A name of a column, a feature or a class, as there is room for it."""
    return shown.short(str(name), 60)


def pair(result: TrainResult) -> tuple[str, str]:
    """Of two classes the negative and the positive one; one that has not been met is something else."""
    negative, positive = (short(name or "something else") for name in result._target.classes)
    return negative, positive


def quoted(name: str) -> str:
    """The same in the middle of a sentence."""
    return f"“{short(name)}”"


def capital(text: str) -> str:
    """As the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def count(value: int, what: str) -> str:
    """So many of something."""
    return f"{value:,} {what}{'s' * (value != 1)}"


def were(value: int) -> str:
    """What they did."""
    return "was" if value == 1 else "were"


def amount(value: float) -> str:
    """Rows, or their weight."""
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-6 * max(1.0, value) else f"{value:,.2f}"
