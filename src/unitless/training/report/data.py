"""The parts of the report about missing values and about using the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...presentation import shown
from ...presentation.html import Html, tag
from ...presentation.page import bar, bar_table, paragraph
from . import words

if TYPE_CHECKING:
    from ..result import TrainResult

COLUMNS = 12  # columns with missing values that are shown


def missing(result: TrainResult) -> Iterator[Html]:
    """A table of the columns with missing values."""
    ranked = sorted(result.details.missing.items(), key=lambda item: -item[1])
    if not ranked:
        return
    rows = max(1, result.rows + result.details.skipped)
    lines = [
        [words.short(name), bar(count / rows), f"{count:,}", f"{min(1.0, count / rows):.1%}"]
        for name, count in ranked[:COLUMNS]
    ]
    yield bar_table(["column", "missing", "values", "of the rows"], lines)
    if ranked[COLUMNS:]:
        yield paragraph(f"{len(ranked) - COLUMNS:,} more columns have fewer.", kind="quiet")


def use(result: TrainResult) -> Iterator[Html]:
    """Commands that predict with the model, if it was saved."""
    if result.details.output is None:
        return
    path = shown.short(str(result.details.output), 200)
    yield tag("pre", f"unitless predict {path} new-rows.csv --output predictions.csv")
    yield tag("pre", f'import unitless as ul\n\nul.Predictor("{path}").predict("new-rows.csv")')
