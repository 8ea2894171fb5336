"""The data of the pictures of a model's curves, one panel per column. `ul.plot` and the report draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..inputs import Float64
from .form_reading import Curve, FormReading, Member
from .model import Feature

MOST = 12  # panels, by default
TEXTS = 10  # shown values of a text column
BARS = 40
_RARE = 0.005  # this share of the rows at either end is outside the picture


@dataclass(frozen=True)
class Panel:
    """The contribution of one column to the score, relative to its mean; numbers are drawn as a line, text as bars.

    The contribution has a linear term and a curve.
    """

    column: Feature
    importance: float
    x: Float64  # the points of the line, in order; two for each interval
    y: Float64  # [point or text, head]
    edges: Float64  # the edges of the histogram bars, which show the distribution of the values
    rows: Float64  # the heights of these bars: shares of the rows
    texts: list[str]
    missing: Float64 | None  # [head]: the contribution of a missing value; None if no value was missing

    def heights(self) -> list[float]:
        """Return all contributions that the panel shows."""
        return [*self.y.ravel().tolist(), *(self.missing.tolist() if self.missing is not None else [])]


def panels(shaped: FormReading, heads: Sequence[int], most: int | None = MOST) -> list[Panel]:
    """Return the panels of the most important columns, the most important first.

    Args:
        shaped: the state of a model with curves.
        heads: the heads that are shown.
        most: the largest number of columns; None for all. Default: 12.
    """
    member = shaped.member("curves")
    if member is None:
        return []
    importance = {feature: float(by_head[list(heads)].max()) for feature, by_head in shaped.importance().items()}
    by_column = [importance.get(column.name, 0.0) for column in shaped.columns]
    names = shaped.state["names"] or []
    for number, column in shaped.column_of.items():
        if shaped.columns[column].text:
            by_column[column] = max(by_column[column], importance.get(names[number - 1], 0.0))
    found: list[Panel] = []
    for column in sorted(range(len(by_column)), key=lambda column: -by_column[column]):
        if most is not None and len(found) >= most:
            break
        if by_column[column] <= 0:
            continue
        if shaped.columns[column].text:
            found.append(_of_text(shaped, member, column, heads, by_column[column]))
        elif (curve := member.curves.get(column)) is not None and len(curve.thresholds):
            found.append(_of_numbers(shaped, member, curve, heads, by_column[column]))
    return found


def _of_numbers(shaped: FormReading, member: Member, curve: Curve, heads: Sequence[int], importance: float) -> Panel:
    number = next(number for number, column in shaped.column_of.items() if column == curve.column)
    at = member.terms.entry.get(shaped.linear.slot(number))
    slope = np.zeros(len(heads)) if at is None else member.terms.weights[at, list(heads)]
    typical, shares = curve.typical()
    steps = curve.weights[:, list(heads)]
    there = shares / shares.sum() if shares.any() else np.full(len(shares), 1 / len(shares))
    mean = there @ (steps + typical[:, None] * slope)
    kept = [values if len(values) else typical[[i]] for i, values in enumerate(curve.values)]
    values = np.concatenate(kept)
    weights = np.concatenate([np.full(len(own), share / len(own)) for own, share in zip(kept, there, strict=True)])
    low, high = _usual(values, weights)
    first, last = curve.interval(low), curve.interval(high)
    # An interval of a single value must be visible too.
    if low == curve.thresholds[min(first, len(curve.thresholds) - 1)]:
        low -= 0.05 * (high - low)
    ends = np.concatenate([[low], curve.thresholds[first:last], [high]])
    x = np.repeat(ends, 2)[1:-1]
    y = np.repeat(steps[first : last + 1], 2, axis=0) + x[:, None] * slope - mean
    rows, edges = np.histogram(values, BARS, (low, high) if high > low else None, weights=weights)
    missing = curve.missing[list(heads)] - mean if curve.missing_rows > 0 else None
    return Panel(shaped.columns[curve.column].name, importance, x, y, edges, rows, [], missing)


def _usual(values: Float64, weights: Float64) -> tuple[float, float]:
    """Return the limits between which nearly all values lie."""
    order = np.argsort(values)
    so_far = np.cumsum(weights[order])
    ends = np.searchsorted(so_far, [_RARE, so_far[-1] - _RARE])
    low, high = values[order][np.minimum(ends, len(values) - 1)]
    return float(low), float(high)


def _of_text(shaped: FormReading, member: Member, column: int, heads: Sequence[int], importance: float) -> Panel:
    at, often = member.terms.entry, member.terms.evidence
    names = shaped.state["names"] or []
    own = [
        (number, at[slot])
        for number, of in shaped.column_of.items()
        if of == column and (slot := shaped.linear.slot(number)) in at
    ]
    own.sort(key=lambda item: -often[item[1]])
    y = member.terms.weights[[k for _, k in own]][:, list(heads)]
    parts = np.array([often[k] for _, k in own])
    parts = parts / parts.sum() if parts.any() else np.full(len(parts), 1 / max(1, len(parts)))
    y = y - parts @ y
    texts = [names[number - 1].partition("=")[2] for number, _ in own]
    nothing = np.zeros(0)
    name = shaped.columns[column].name
    return Panel(name, importance, nothing, y[:TEXTS], nothing, parts[:TEXTS], texts[:TEXTS], None)
