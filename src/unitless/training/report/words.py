"""Texts that several parts of the report share: names, numbers, the baseline."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...presentation import shown
from ...presentation.html import Html

if TYPE_CHECKING:
    from ..result import TrainResult


def one(thing: str) -> str:
    """A noun with its indefinite article: "an RMSE", "a loss"."""
    return f"an {thing}" if thing == "RMSE" else f"a {thing}"


def lines(*parts: Any) -> list[Any]:
    """The parts that are not empty, with a line break between each two."""
    found = [part for part in parts if part]
    return [piece for k, part in enumerate(found) for piece in ([Html("<br>")] if k else []) + [part]]


def baseline(result: TrainResult) -> str:
    """The name of the baseline, shortened."""
    return shown.short(result.baseline_name, 60)


def source(result: TrainResult) -> str:
    """The name of the data without its folder, shortened."""
    return shown.short(os.path.basename(result.source.rstrip("/\\")) or result.source, 80)


def short(name: Any) -> str:
    """The name of a column, a feature or a class, shortened."""
    return shown.short(str(name), 60)


def pair(result: TrainResult) -> tuple[str, str]:
    """The names of the negative and of the positive class; "something else" for one that was never met."""
    negative, positive = (short(name or "something else") for name in result.details.target.classes)
    return negative, positive


def quoted(name: str) -> str:
    """A name in quotation marks, shortened, for the middle of a sentence."""
    return f"“{short(name)}”"


def amount(value: float) -> str:
    """A number of rows, or their total sample weight, as text."""
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-6 * max(1.0, value) else f"{value:,.2f}"
