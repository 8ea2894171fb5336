"""Merge the curves of several models.

The merged curve of a column has the cuts of all models. Each of its intervals has the mean of the models' weights
there, weighted by their evidence. If a model has not cut an interval, its evidence is divided by rows. If there are too
many cuts, those whose two sides differ least are removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..inputs import Float64
from ..models.form_reading import MISSING, MOST_LEAVES, RawColumn
from .leaves import EACH, Cuts, Heads, Indices, Leaves, Shaped
from .totals import added_up

KEPT_LEAVES = 24  # leaves of a merged curve, if no model has more: this leaves room for further cuts
_KEPT = np.arange(MOST_LEAVES)
_SPREAD = _KEPT * 13 % MOST_LEAVES  # values are not stored in order: which are replaced next is arbitrary
_UNCUT = Cuts(np.zeros(0), np.zeros(1, np.intp), np.zeros(1), np.zeros((1, MOST_LEAVES)))


def merged_curves(
    columns: list[RawColumn], parts: list[Shaped], base: Shaped | None, merged: dict[str, Leaves]
) -> dict[str, Any]:
    """Build the arrays of the merged curves; the leaves' weights are written to `merged`.

    `base`: if its rows count once.
    """
    everyone = [*parts, *([base] if base else [])]
    found = [{column: c for c, column in enumerate(model.columns)} for model in everyone]
    counts, curves = np.zeros(len(columns)), []
    for j, column in enumerate(columns):
        if not column.text:
            own = [_Curve(model, known.get(column)) for model, known in zip(everyone, found, strict=True)]
            curves.append(_merged_curve(j, own[: len(parts)], own[-1] if base else None, merged))
            counts[j] = len(curves[-1].places)
    arrays = {"curve.leaves": counts}
    for name in ("thresholds", "places", "seen", "values"):
        numbers = [np.asarray(getattr(curve, name), np.float64).ravel() for curve in curves]
        arrays[f"curve.{name}"] = np.concatenate([np.zeros(0), *numbers])
    return arrays


class _Curve:
    """A column's curve in one model; the model may not have the column."""

    def __init__(self, model: Shaped, column: int | None) -> None:
        self.members, self._model, self._column = model.members, model, column
        self.cuts = (None if column is None else model.curves[column]) or _UNCUT

    def leaves(self, name: str, places: Indices) -> Leaves:
        """A member's leaves at places of the column; zeros where the model has no such column."""
        own = self._model.leaves[name]
        if self._column is None:
            weights, evidence, rows = (
                np.zeros((len(places), *one.shape[1:])) for one in (own.weights, own.evidence, own.rows)
            )
            return Leaves(weights, evidence, rows)
        return own.at(own.first_curve + self._column * EACH + places)

    def values(self) -> Float64:
        """The stored values."""
        return np.asarray(self.cuts.values[self.cuts.seen[:, None] > _KEPT])

    def pieces(self, thresholds: Float64) -> Indices:
        """By interval of finer thresholds: the interval of this curve that contains it."""
        return np.searchsorted(self.cuts.thresholds, np.append(thresholds, np.inf))

    def spread(self, name: str, thresholds: Float64, mass: Float64) -> Leaves:
        """A member's leaves over intervals of finer thresholds, with the evidence divided by mass."""
        at = self.pieces(thresholds)
        share = mass / np.bincount(at, mass)[at]
        leaves = self.leaves(name, self.cuts.places[at])
        return Leaves(leaves.weights, leaves.evidence * share[:, None], leaves.rows * share)


def _weighed(parts: list[Leaves], base: Leaves | None, of_lane: Indices) -> Leaves:
    """Average the models' weights by their evidence; sum evidence and rows."""
    evidence = np.array([part.evidence for part in parts])
    total = evidence.sum(axis=0)
    equal = np.full_like(evidence, 1 / len(parts))
    share = np.divide(evidence, total, out=equal, where=total > 0)[:, :, of_lane]
    weights = sum(own * part.weights for own, part in zip(share, parts, strict=True))
    behind = added_up(list(evidence), base and base.evidence)
    rows = added_up([part.rows for part in parts], base and base.rows)
    return Leaves(np.asarray(weights), np.maximum(behind, 0.0), np.maximum(rows, 0.0))


def _merged_curve(j: int, parts: list[_Curve], base: _Curve | None, merged: dict[str, Leaves]) -> Cuts:
    """Merge column j's curve; the leaves' weights are written to `merged`."""
    thresholds = np.unique(np.concatenate([part.cuts.thresholds for part in parts]))
    values = np.concatenate([part.values() for part in parts])
    within = np.searchsorted(thresholds, values)
    mass = _mass(thresholds, parts, next(iter(merged)))
    members, missing = parts[0].members, np.array([MISSING])
    leaves = {}
    for name, to in merged.items():
        of_lane = members[name].of_lane
        start = None if base is None else base.spread(name, thresholds, mass)
        leaves[name] = _weighed([part.spread(name, thresholds, mass) for part in parts], start, of_lane)
        start = None if base is None else base.leaves(name, missing)
        of_missing = _weighed([part.leaves(name, missing) for part in parts], start, of_lane)
        to.put(to.first_curve + j * EACH + missing, of_missing)

    def seen_by(curve: _Curve) -> Float64:
        at = curve.pieces(thresholds)
        return np.asarray(curve.cuts.seen[at] * mass / np.bincount(at, mass)[at])

    seen = np.maximum(added_up([seen_by(part) for part in parts], base and seen_by(base)), 0.0)
    most = max(KEPT_LEAVES, *(len(part.cuts.places) for part in parts))
    grid = _Grid(thresholds, np.arange(len(mass)), leaves).pruned(most, members)
    count = len(grid.thresholds) + 1
    for name, to in merged.items():
        if count > 1:  # there is no feature before the first cut
            to.put(to.first_curve + j * EACH + np.arange(count), grid.leaves[name])
    rings, seen = _rings(grid.part_of[within], values, np.bincount(grid.part_of, seen).astype(np.float64))
    return Cuts(grid.thresholds, np.arange(count), seen, rings)


def _mass(thresholds: Float64, parts: list[_Curve], name: str) -> Float64:
    """By interval: an estimate of the rows of all models, from a member's counts and the stored values."""
    mass = np.zeros(len(thresholds) + 1)
    for part in parts:
        at = part.pieces(thresholds)
        kept = np.bincount(np.searchsorted(thresholds, part.values()), minlength=len(mass)) + 0.5
        mass += (part.leaves(name, part.cuts.places).rows + 1.0)[at] * kept / np.bincount(at, kept)[at]
    return mass


@dataclass(frozen=True)
class _Grid:
    """The intervals of a merged curve, from the cuts of all models, some of them joined."""

    thresholds: Float64
    part_of: Indices  # by original interval
    leaves: dict[str, Leaves]

    def pruned(self, most: int, members: dict[str, Heads]) -> _Grid:
        """Join neighbors whose predictions differ least, weighted by evidence, until there are at most `most`.

        While there are far too many, a quarter of the pairs that differ less than their neighbors is joined at once.
        """
        grid = self
        while (excess := len(grid.thresholds) + 1 - most) > 0:
            cost = grid._costs(members)
            around = np.concatenate([[np.inf], cost, [np.inf]])
            least = np.flatnonzero((cost <= around[2:]) & (cost < around[:-2]))
            if not len(least):
                least = np.array([int(np.argmin(cost))])
            least = least[np.argsort(cost[least], kind="stable")][: min(excess, (len(least) + 3) // 4)]
            grid = grid._joined(least, members)
        return grid

    def _costs(self, members: dict[str, Heads]) -> Float64:
        cost = np.zeros(len(self.thresholds))
        for name, leaves in self.leaves.items():
            leading = leaves.weights[:, members[name].leaders]
            left, right = leaves.evidence[:-1], leaves.evidence[1:]
            both = np.divide(left * right, left + right, out=np.zeros_like(left), where=left + right > 0)
            cost += (both * (leading[1:] - leading[:-1]) ** 2).sum(axis=1)
        return cost

    def _joined(self, gone: Indices, members: dict[str, Heads]) -> _Grid:
        """This grid without some thresholds, no two of which are neighbors."""
        kept = np.ones(len(self.thresholds), bool)
        kept[gone] = False
        to = np.concatenate([[0], np.cumsum(kept)])
        leaves = {name: _added(own, to, members[name].of_lane) for name, own in self.leaves.items()}
        return _Grid(self.thresholds[kept], to[self.part_of], leaves)


def _added(leaves: Leaves, to: Indices, of_lane: Indices) -> Leaves:
    """Sum leaves that are joined; `to`: by leaf, the leaf that it becomes part of."""
    count = int(to[-1]) + 1
    evidence, weights = np.zeros((count, leaves.evidence.shape[1])), np.zeros((count, leaves.weights.shape[1]))
    np.add.at(evidence, to, leaves.evidence)
    total = evidence[to]
    equal = np.broadcast_to(1.0 / np.bincount(to)[to][:, None], total.shape)
    share = np.divide(leaves.evidence, total, out=equal.copy(), where=total > 0)
    np.add.at(weights, to, share[:, of_lane] * leaves.weights)
    return Leaves(weights, evidence, np.bincount(to, leaves.rows).astype(np.float64))


def _rings(interval: Indices, values: Float64, seen: Float64) -> tuple[Float64, Float64]:
    """The values that each leaf stores, selected from those of all models, and the number that each has seen.

    Too many values are thinned at equal distances in their order. A leaf with enough values can be split at once.
    """
    values = values[np.lexsort((values, interval))]
    counts = np.bincount(interval, minlength=len(seen))
    kept = np.minimum(counts, MOST_LEAVES)[:, None]
    at = (np.cumsum(counts) - counts)[:, None] + (2 * _KEPT + 1) * counts[:, None] // np.maximum(2 * kept, 1)
    rings = np.where(kept > _KEPT, np.append(values, 0.0)[np.minimum(at, len(values))], 0.0)
    full = counts >= MOST_LEAVES
    rings[full] = rings[full][:, _SPREAD]
    return rings, np.where(full, np.maximum(np.floor(seen), MOST_LEAVES), counts)
