"""The curves that shards of a round have cut out of the same ones, brought together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..inputs import Float64
from .merged_shape import EACH, KEPT_LEAVES, Cuts, Indices, Leaves, Shaped, first_curve_leaf
from .shape_reading import MISSING, MOST_LEAVES

_SPREAD = np.arange(MOST_LEAVES) * 13 % MOST_LEAVES  # values kept are not in their order: the next ones replace any


def gain_weighted(
    weights: Float64, evidence: Float64, w: Float64, G: Float64, of_lane: Indices
) -> tuple[Float64, Float64]:
    """Shards' weights [shard][leaf][lane] by what their evidence [shard][leaf][head] has gained since w and G."""
    gains = np.maximum(evidence - G, 0.0)
    total = gains.sum(axis=0)
    share = np.divide(gains, total, out=np.zeros_like(gains), where=total > 0)
    return w + (share[:, :, of_lane] * (weights - w)).sum(axis=0), G + (share * gains).sum(axis=0)


@dataclass
class _Laid:
    """One expert's leaves on the intervals of a column."""

    weights: Float64
    evidence: Float64
    rows: Float64


def merged_curve(
    j: int, base: tuple[Shaped, int] | None, parts: list[tuple[Shaped, int]], count: int, merged: dict[str, Leaves]
) -> Cuts:
    """Column j's curve; the leaves' weights go to `merged`. `parts`: the shards that know the column, and as which."""
    fresh = Cuts(np.zeros(0), np.zeros(1, np.intp), np.zeros(1), np.zeros((1, MOST_LEAVES)))
    start = fresh if base is None else base[0].curves[base[1]] or fresh
    curves = [model.curves[c] or fresh for model, c in parts]
    thresholds = np.unique(np.concatenate([start.thresholds, *(curve.thresholds for curve in curves)]))
    ends = np.append(thresholds, np.inf)
    cells = len(ends)
    values, places, shares, within = [], [], [], []
    for curve in curves:
        known = curve.values[np.arange(MOST_LEAVES) < curve.seen[:, None]]
        place = np.searchsorted(thresholds, known)
        interval = np.searchsorted(curve.thresholds, ends)
        rows = np.bincount(place, minlength=cells) + 0.5
        shares.append(rows / np.bincount(interval, rows)[interval])
        values.append(known)
        places.append(place)
        within.append(interval)
    counted = next(iter(merged))
    mass = np.zeros(cells)
    for (model, c), curve, interval, share in zip(parts, curves, within, shares, strict=True):
        leaves = first_curve_leaf(counted) + c * EACH + curve.places
        mass += (model.leaves[counted].rows[leaves] + 1.0)[interval] * share
    start_within = np.searchsorted(start.thresholds, ends)
    pooled = [mass / np.bincount(interval, mass)[interval] for interval in (start_within, *within)]

    laid: dict[str, _Laid] = {}
    for name, to in merged.items():
        first, of_lane = first_curve_leaf(name), parts[0][0].experts[name].of_lane
        nobody = Leaves(np.zeros((1, len(of_lane))), np.zeros((1, to.evidence.shape[1])), np.zeros(1))

        def of(owner: tuple[Shaped, int] | None, curve: Cuts, interval: Indices, share: Float64) -> Leaves:
            if owner is None:
                return Leaves(*(np.repeat(one, cells, axis=0) for one in (nobody.weights, nobody.evidence, nobody.rows)))
            leaves, at = owner[0].leaves[name], first + owner[1] * EACH + curve.places[interval]
            return Leaves(leaves.weights[at], leaves.evidence[at] * share[:, None], leaves.rows[at] * share)

        own = [of(part, *rest) for part, *rest in zip(parts, curves, within, pooled[1:], strict=True)]
        before = of(base, start, start_within, pooled[0])
        w, G = gain_weighted(
            np.array([one.weights for one in own]), np.array([one.evidence for one in own]),
            before.weights, before.evidence, of_lane,
        )
        rows = before.rows + sum(one.rows - before.rows for one in own) / count
        laid[name] = _Laid(w, G, rows)
        # of values missing
        at = first + j * EACH + MISSING
        missing = [model.leaves[name] for model, _ in parts]
        where = [first + c * EACH + MISSING for _, c in parts]
        known_w, known_G, known_rows = (
            (nobody.weights, nobody.evidence, 0.0)
            if base is None
            else (lambda leaves, k: (leaves.weights[[k]], leaves.evidence[[k]], leaves.rows[k]))(
                base[0].leaves[name], first + base[1] * EACH + MISSING
            )
        )
        to.weights[[at]], to.evidence[[at]] = gain_weighted(
            np.array([one.weights[[k]] for one, k in zip(missing, where, strict=True)]),
            np.array([one.evidence[[k]] for one, k in zip(missing, where, strict=True)]),
            known_w, known_G, of_lane,
        )
        to.rows[at] = known_rows + sum(one.rows[k] - known_rows for one, k in zip(missing, where, strict=True)) / count
    seen = sum(curve.seen[i] * share for curve, i, share in zip(curves, within, pooled[1:], strict=True)) / len(curves)
    leaders = {name: parts[0][0].experts[name].leaders for name in merged}
    of_lanes = {name: parts[0][0].experts[name].of_lane for name in merged}
    thresholds, group = _pruned(
        thresholds, laid, leaders, of_lanes, max(KEPT_LEAVES, *(len(curve.places) for curve in curves))
    )
    seen = np.bincount(group, seen)
    leaf_count = len(thresholds) + 1
    if leaf_count > 1:
        for name, one in laid.items():
            there = first_curve_leaf(name) + j * EACH + np.arange(leaf_count)
            merged[name].weights[there], merged[name].evidence[there] = one.weights, one.evidence
            merged[name].rows[there] = one.rows
    rings, seen = _rings(group[np.concatenate(places)], np.concatenate(values), seen)
    return Cuts(thresholds, np.arange(leaf_count), seen, rings)


def _pruned(
    thresholds: Float64, laid: dict[str, _Laid], leaders: dict[str, Indices], of_lanes: dict[str, Indices], most: int
) -> tuple[Float64, Indices]:
    """Joins neighbours whose predictions are the least apart, by their evidence, until there are few enough.

    Gives the thresholds that are left, and which interval each has become a part of.
    """
    group = np.arange(len(thresholds) + 1)
    while len(thresholds) >= most:
        cost = np.zeros(len(thresholds))
        for name, one in laid.items():
            speaking = one.weights[:, leaders[name]]
            left, right = one.evidence[:-1], one.evidence[1:]
            both = np.divide(left * right, left + right, out=np.zeros_like(left), where=left + right > 0)
            cost += (both * (speaking[1:] - speaking[:-1]) ** 2).sum(axis=1)
        # Of the cheapest quarter, those that are cheaper than their neighbours: no interval is joined twice at once.
        excess = len(thresholds) + 1 - most
        around = np.concatenate([[np.inf], cost, [np.inf]])
        least = np.flatnonzero((cost <= around[2:]) & (cost < around[:-2]))
        if not len(least):
            least = np.array([int(np.argmin(cost))])
        least = least[np.argsort(cost[least], kind="stable")][: max(1, min(excess, (len(least) + 3) // 4))]
        joined = np.zeros(len(thresholds), bool)
        joined[least] = True
        thresholds = thresholds[~joined]
        onto = np.concatenate([[0], np.cumsum(~joined)])
        group = onto[group]
        for name, one in laid.items():
            one.weights, one.evidence, one.rows = _joined(one, onto, of_lanes[name])
    return thresholds, group


def _joined(one: _Laid, onto: Indices, of_lane: Indices) -> tuple[Float64, Float64, Float64]:
    count = int(onto[-1]) + 1
    evidence = np.zeros((count, one.evidence.shape[1]))
    np.add.at(evidence, onto, one.evidence)
    part = np.divide(one.evidence, evidence[onto], out=np.zeros_like(one.evidence), where=evidence[onto] > 0)
    nothing = (evidence == 0)[onto]
    part = np.where(nothing, 1.0 / np.bincount(onto)[onto][:, None], part)
    weights = np.zeros((count, one.weights.shape[1]))
    np.add.at(weights, onto, part[:, of_lane] * one.weights)
    return weights, evidence, np.bincount(onto, one.rows)


def _rings(place: Indices, values: Float64, seen: Float64) -> tuple[Float64, Float64]:
    """The values that leaves keep of those that the shards kept, and how many each has seen."""
    order = np.lexsort((values, place))
    values = values[order]
    counts = np.bincount(place, minlength=len(seen))
    starts = np.cumsum(counts) - counts
    rings = np.zeros((len(seen), MOST_LEAVES))
    for i, (start, count) in enumerate(zip(starts.tolist(), counts.tolist(), strict=True)):
        kept = min(count, MOST_LEAVES)
        at = (np.arange(kept) * 2 + 1) * count // (2 * max(kept, 1))
        rings[i, :kept] = values[start + at] if kept < MOST_LEAVES else values[start + at][_SPREAD]
    enough = counts >= MOST_LEAVES
    return rings, np.where(enough, np.maximum(np.floor(seen), MOST_LEAVES), counts).astype(np.float64)
