"""What the curves, trees and mixtures of a round's shards are together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from ..inputs import Float64
from .merged_shape import EACH, EXPERTS, Heads, Leaves, Shaped, expert_arrays, expert_state, first_curve_leaf
from .merged_state import Lanes, Layout, Part
from .rounds_curves import merged_curve
from .rounds_trees import Forest, merged_trees
from .shape_reading import MOST_LEAVES, raw_columns

ByLabel = list[dict[int, int]]
MergeLanes = Callable[["list[_core.Snapshot | None]"], tuple[Part, Lanes, list[ByLabel | None]]]


def round_shape(
    base: _core.Snapshot | None,
    parts: list[_core.Snapshot],
    merged: _core.Snapshot,
    merge_lanes: MergeLanes,
    layout: Layout,
) -> dict[str, Any]:
    count = len(parts)
    parts = [part for part in parts if part["examples"]]
    if base is not None and not base["examples"]:
        base = None
    settled = parts[0]["shape"]["settled"]
    names = [name for name in EXPERTS if f"{name}.leaves" in parts[0]["shape"]]
    alone = settled == "curves only"
    arrays: dict[str, Any] = {"settled": settled}
    everyone = [base, *parts]
    heads: list[dict[str, Heads]] = [{} for _ in everyone]
    for name in names:
        states = [one if alone or one is None else expert_state(one, name) for one in everyone]
        part, lanes, by_label = merge_lanes(states)
        if not alone:
            arrays |= expert_arrays(name, part, lanes)
        totals = [0.0 if one is None else float(one["shape"][f"{name}.N"][0]) for one in everyone]
        arrays[f"{name}.N"] = np.array([totals[0] + sum(one - totals[0] for one in totals[1:]) / count])
        for own, state, labels in zip(heads, states, by_label, strict=True):
            if state is not None:
                own[name] = Heads.of(lanes, labels, state, part.scores)
    shaped = [
        None if one is None else Shaped(one, own, layout.feature_numbers(one).astype(np.intp))
        for one, own in zip(everyone, heads, strict=True)
    ]
    columns = raw_columns(merged)[0]
    leaves = {
        name: Leaves(
            np.zeros((first_curve_leaf(name) + len(columns) * EACH, len(own.lanes))),
            np.zeros((first_curve_leaf(name) + len(columns) * EACH, len(own.heads))),
            np.zeros(first_curve_leaf(name) + len(columns) * EACH),
        )
        for name, own in heads[1].items()
    }
    found = [{} if one is None else {column: c for c, column in enumerate(one.columns)} for one in shaped]
    cuts = []
    counts = np.zeros(len(columns))
    for j, column in enumerate(columns):
        if column.text:
            continue
        known = [(one, at[column]) for one, at in zip(shaped[1:], found[1:], strict=True) if column in at]
        start = (shaped[0], found[0][column]) if shaped[0] is not None and column in found[0] else None
        curve = merged_curve(j, start, known, count, leaves)
        counts[j] = len(curve.places)
        cuts.append(curve)
    arrays["curve.leaves"] = counts
    arrays["curve.met"] = np.array([1.0])
    for name in ("thresholds", "places", "seen", "values"):
        arrays[f"curve.{name}"] = np.concatenate([np.zeros(0), *(np.asarray(getattr(c, name), np.float64).ravel() for c in cuts)])
    if "trees" in names:
        place = {column: k for k, column in enumerate(columns)}
        forests = []
        for one in shaped:
            if one is None:
                empty = leaves["trees"]
                zero = Leaves(np.zeros_like(empty.weights), np.zeros_like(empty.evidence), np.zeros_like(empty.rows))
                forests.append(Forest({}, None, zero, None))
                continue
            forests.append(Forest(one.shape, one.experts["trees"], one.leaves["trees"], _renumbering(one, place)))
        width = len(heads[1]["trees"].heads)
        groups = max(1, -(-width // 8)) if width > 1 else 1
        arrays |= merged_trees(forests[0], forests[1:], heads[1]["trees"].of_lane, groups, leaves["trees"])
    for name, own in leaves.items():
        used = np.flatnonzero((own.evidence != 0).any(axis=1) | (own.weights != 0).any(axis=1) | (own.rows != 0))
        arrays[f"{name}.leaves"] = used.astype(np.float64)
        arrays[f"{name}.weights"] = own.weights[used].ravel()
        arrays[f"{name}.evidence"] = own.evidence[used].ravel()
        arrays[f"{name}.rows"] = own.rows[used]
    return arrays


def _renumbering(model: Shaped, place: dict[Any, int]) -> Callable[[Float64, Float64, Float64], None]:
    columns = np.array([place[column] for column in model.columns], np.intp)
    texts = np.array([column.text for column in model.columns], bool)

    def renumber(column: Float64, low: Float64, high: Float64) -> None:
        model.trees._renumber(column, low, high, columns, texts, np.ones(len(column), bool))

    return renumber


_PRIOR = 0.1
_WALKS = (0.0, 1e-5)


def round_mixture(states: list[Float64], base: Float64 | None, offsets: list[float]) -> Float64:
    """The mixture of one shard's stream. `offsets`: by how far the labels of each (last: the base) are to be moved."""
    kind, experts = int(states[0][0]), int(states[0][1])
    before = 0.0 if base is None else float(base[2])
    gained = np.maximum(np.array([state[2] for state in states]) - before, 0.0)
    if not gained.any():
        return np.array(states[0] if base is None else base)
    heard = [k for k in range(len(states)) if gained[k] > 0]
    share = gained / gained.sum()
    total = before + float(gained[heard].mean())
    head = [float(kind), float(experts), total]
    if kind in (0, 2):
        each = experts * (experts + 1)
        numbers: list[float] = []
        for i, walk in enumerate(_WALKS):
            at = slice(3 + i * each, 3 + (i + 1) * each)
            stackers = [states[k][at].reshape(experts, -1) for k in heard]
            precision = [np.linalg.inv(one[:, 1:]) for one in stackers]
            mean = sum(share[k] * p for k, p in zip(heard, precision, strict=True))
            weighed = sum(share[k] * (p @ one[:, 0]) for k, p, one in zip(heard, precision, stackers, strict=True))
            covariance = np.linalg.inv(mean)
            numbers += np.column_stack([covariance @ weighed, (covariance + covariance.T) / 2]).ravel().tolist()
        weights = sum(share[k] * states[k][3 + 2 * each :] for k in heard)
        return np.array([*head, *numbers, *(weights / np.sum(weights)).tolist()])
    intensity = [share[k] * total / states[k][2] for k in range(len(states))]
    if kind == 1:
        everyone = [*states, *([base] if base is not None else [])]
        known = [(s[3] + o, s[4] + o) for s, o in zip(everyone, offsets, strict=True) if s[3] <= s[4]]
        limits = [min(low for low, _ in known), max(high for _, high in known)] if known else [0.0, -1.0]
        unit = max(states[k][5] for k in heard)
        squares = np.zeros(len(states[0]) - 6)
        counts = [each + experts * (experts + 1) + 1 for each in (0, experts * (experts + 1) + 2)]
        for k in heard:
            scaled = np.full(len(squares), (states[k][5] / unit) ** 2)
            scaled[counts] = 1.0
            squares += intensity[k] * scaled * states[k][6:]
        return np.array([*head, *limits, unit, *squares.tolist()])
    unit = max(states[k][3] for k in heard)
    sums = sum(intensity[k] * (states[k][3] / unit) * states[k][4:] for k in heard)
    return np.array([*head, unit, *np.asarray(sums).tolist()])
