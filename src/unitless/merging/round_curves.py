"""The curves that partitions of a round have cut out of the same ones, brought together.

Curves are laid over each other: the merged one has the cuts of all, and each of its intervals the mean of the
partitions' weights there, by the evidence that stands behind them. An interval that a partition has not cut it shares
out by rows. Of too many cuts those go between whose sides there is least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..inputs import Float64
from ..models.form_reading import MISSING, MOST_LEAVES, RawColumn
from .leaves_and_trees import EACH, KEPT_LEAVES, Cuts, Heads, Indices, Leaves, Shaped, first_curve_leaf

_KEPT = np.arange(MOST_LEAVES)
_SPREAD = _KEPT * 13 % MOST_LEAVES  # values are not kept in their order: which ones are replaced next is all the same
_UNCUT = Cuts(np.zeros(0), np.zeros(1, np.intp), np.zeros(1), np.zeros((1, MOST_LEAVES)))


def merged_curves(
    columns: list[RawColumn], base: Shaped, parts: list[Shaped], merged: dict[str, Leaves]
) -> dict[str, Any]:
    """The arrays of the merged curves; the leaves' weights go to `merged`."""
    everyone = (base, *parts)
    found = [{column: c for c, column in enumerate(model.columns)} for model in everyone]
    counts, curves = np.zeros(len(columns)), []
    for j, column in enumerate(columns):
        if not column.text:
            own = [_Curve(model, known.get(column)) for model, known in zip(everyone, found, strict=True)]
            curves.append(_merged_curve(j, own[0], own[1:], merged))
            counts[j] = len(curves[-1].places)
    arrays = {"curve.leaves": counts}
    for name in ("thresholds", "places", "seen", "values"):
        numbers = [np.asarray(getattr(curve, name), np.float64).ravel() for curve in curves]
        arrays[f"curve.{name}"] = np.concatenate([np.zeros(0), *numbers])
    return arrays


class _Curve:
    """A column's curve in one model, which may not have met the column."""

    def __init__(self, model: Shaped, column: int | None) -> None:
        self.members, self._model, self._column = model.members, model, column
        self.cuts = (None if column is None else model.curves[column]) or _UNCUT

    def leaves(self, name: str, places: Indices) -> Leaves:
        """Of an member, at some places of the column; nothing where there is none."""
        own = self._model.leaves[name]
        if self._column is None:
            nothing = [np.zeros((len(places), one.shape[1])) for one in (own.weights, own.evidence)]
            return Leaves(nothing[0], nothing[1], np.zeros(len(places)))
        at = first_curve_leaf(name) + self._column * EACH + places
        return Leaves(own.weights[at], own.evidence[at], own.rows[at])

    def values(self) -> Float64:
        """The values kept."""
        return np.asarray(self.cuts.values[self.cuts.seen[:, None] > _KEPT])

    def pieces(self, thresholds: Float64) -> Indices:
        """By interval of finer thresholds: which of its own it is a part of."""
        return np.searchsorted(self.cuts.thresholds, np.append(thresholds, np.inf))


def _weighed(parts: list[Leaves], base: Leaves, of_lane: Indices) -> Leaves:
    """Partitions' weights by their evidence; means of evidence and rows."""
    evidence = np.array([part.evidence for part in parts])
    total = evidence.sum(axis=0)
    share = np.divide(evidence, total, out=np.zeros_like(evidence), where=total > 0)[:, :, of_lane]
    moved = sum(own * (part.weights - base.weights) for own, part in zip(share, parts, strict=True))
    rows = np.mean([part.rows for part in parts], axis=0)
    return Leaves(base.weights + moved, total / len(parts), rows)


def _merged_curve(j: int, base: _Curve, parts: list[_Curve], merged: dict[str, Leaves]) -> Cuts:
    """Column j's curve; the leaves' weights go to `merged`."""
    thresholds = np.unique(np.concatenate([base.cuts.thresholds, *(part.cuts.thresholds for part in parts)]))
    values = np.concatenate([part.values() for part in parts])
    within = np.searchsorted(thresholds, values)
    mass = _mass(thresholds, parts, next(iter(merged)))

    def laid(curve: _Curve, name: str) -> Leaves:
        at = curve.pieces(thresholds)
        share = mass / np.bincount(at, mass)[at]
        leaves = curve.leaves(name, curve.cuts.places[at])
        return Leaves(leaves.weights, leaves.evidence * share[:, None], leaves.rows * share)

    leaves = {}
    for name, to in merged.items():
        of_lane, missing = base.members[name].of_lane, np.array([MISSING])
        leaves[name] = _weighed([laid(part, name) for part in parts], laid(base, name), of_lane)
        of_missing = _weighed([part.leaves(name, missing) for part in parts], base.leaves(name, missing), of_lane)
        _put(to, first_curve_leaf(name) + j * EACH + missing, of_missing)
    seen = np.zeros(len(mass))
    for part in parts:
        at = part.pieces(thresholds)
        seen += part.cuts.seen[at] * mass / np.bincount(at, mass)[at] / len(parts)
    most = max(KEPT_LEAVES, *(len(part.cuts.places) for part in parts))
    grid = _Grid(thresholds, np.arange(len(mass)), leaves).pruned(most, base.members)
    count = len(grid.thresholds) + 1
    for name, to in merged.items():
        if count > 1:  # before the first cut there is no feature
            _put(to, first_curve_leaf(name) + j * EACH + np.arange(count), grid.leaves[name])
    rings, seen = _rings(grid.part_of[within], values, np.bincount(grid.part_of, seen).astype(np.float64))
    return Cuts(grid.thresholds, np.arange(count), seen, rings)


def _put(to: Leaves, at: Indices, leaves: Leaves) -> None:
    to.weights[at], to.evidence[at], to.rows[at] = leaves.weights, leaves.evidence, leaves.rows


def _mass(thresholds: Float64, parts: list[_Curve], name: str) -> Float64:
    """By interval: about how many rows all partitions had there, by an member's count and the values kept."""
    mass = np.zeros(len(thresholds) + 1)
    for part in parts:
        at = part.pieces(thresholds)
        kept = np.bincount(np.searchsorted(thresholds, part.values()), minlength=len(mass)) + 0.5
        mass += (part.leaves(name, part.cuts.places).rows + 1.0)[at] * kept / np.bincount(at, kept)[at]
    return mass


@dataclass(frozen=True)
class _Grid:
    """The intervals of several curves laid over each other, some of them joined."""

    thresholds: Float64
    part_of: Indices  # by interval as they were at first
    leaves: dict[str, Leaves]

    def pruned(self, most: int, members: dict[str, Heads]) -> _Grid:
        """Neighbours whose predictions are the least apart, by their evidence, are joined until there are few enough.

        Many at a time while there are far too many: a quarter of those that are nearer than their own neighbours.
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
            speaking = leaves.weights[:, members[name].leaders]
            left, right = leaves.evidence[:-1], leaves.evidence[1:]
            both = np.divide(left * right, left + right, out=np.zeros_like(left), where=left + right > 0)
            cost += (both * (speaking[1:] - speaking[:-1]) ** 2).sum(axis=1)
        return cost

    def _joined(self, gone: Indices, members: dict[str, Heads]) -> _Grid:
        """Without some thresholds, no two of which are neighbours."""
        kept = np.ones(len(self.thresholds), bool)
        kept[gone] = False
        to = np.concatenate([[0], np.cumsum(kept)])
        leaves = {name: _added(own, to, members[name].of_lane) for name, own in self.leaves.items()}
        return _Grid(self.thresholds[kept], to[self.part_of], leaves)


def _added(leaves: Leaves, to: Indices, of_lane: Indices) -> Leaves:
    """Leaves that are joined with others; `to`: by leaf, which it becomes a part of."""
    count = int(to[-1]) + 1
    evidence, weights = np.zeros((count, leaves.evidence.shape[1])), np.zeros((count, leaves.weights.shape[1]))
    np.add.at(evidence, to, leaves.evidence)
    total = evidence[to]
    equal = np.broadcast_to(1.0 / np.bincount(to)[to][:, None], total.shape)
    share = np.divide(leaves.evidence, total, out=equal.copy(), where=total > 0)
    np.add.at(weights, to, share[:, of_lane] * leaves.weights)
    return Leaves(weights, evidence, np.bincount(to, leaves.rows).astype(np.float64))


def _rings(interval: Indices, values: Float64, seen: Float64) -> tuple[Float64, Float64]:
    """The values that leaves keep of those that all partitions kept, and how many each has seen.

    Of too many values, every so-many-th in their order. With enough of them a leaf can be cut at once.
    """
    values = values[np.lexsort((values, interval))]
    counts = np.bincount(interval, minlength=len(seen))
    kept = np.minimum(counts, MOST_LEAVES)[:, None]
    at = (np.cumsum(counts) - counts)[:, None] + (2 * _KEPT + 1) * counts[:, None] // np.maximum(2 * kept, 1)
    rings = np.where(kept > _KEPT, np.append(values, 0.0)[np.minimum(at, len(values))], 0.0)
    full = counts >= MOST_LEAVES
    rings[full] = rings[full][:, _SPREAD]
    return rings, np.where(full, np.maximum(np.floor(seen), MOST_LEAVES), counts)
