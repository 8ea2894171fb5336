"""The curves and trees of a model that the shards of a round become.

An expert's linear terms are merged as those of a linear model are; its curves (rounds_curves) and its trees
(rounds_trees) each in their own way. As of all else that rounds merge, what comes out looks like one shard's stream.
Nothing here has a unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _core
from ..losses import LOSSES
from .merged_shape import EACH, EXPERTS, Heads, Leaves, Shaped, expert_state, first_curve_leaf
from .merged_state import Lanes, Layout
from .model import State
from .rounds import Agreed, Said, Sums, merged_round
from .rounds_curves import merged_curves
from .rounds_forest import Forest
from .rounds_trees import merged_trees
from .shape_reading import raw_columns


def shaped_round(
    agreed: Agreed, base: State, parts: Sequence[State], judged: Sequence[float], merged: State
) -> dict[str, Any]:
    """The arrays of curves and trees.

    Args:
        agreed: what all are brought to.
        base: what all shards went on from, fresh or not.
        parts: the states of the shards that have learned, in their order.
        judged: by such shard, the weight of the rows by which it has judged the rates.
        merged: what the linear terms have become: the state without its shape.
    """
    names = [name for name in EXPERTS if f"{name}.v" in parts[0][0]["shape"]]
    experts = {name: _merged_expert(name, agreed, base, parts, judged) for name in names}
    return round_shape(agreed, base, parts, merged[0], experts)


def _merged_expert(
    name: str, agreed: Agreed, base: State, parts: Sequence[State], judged: Sequence[float]
) -> _core.Snapshot:
    """The state of a merged model that were nothing but the linear terms of one of its experts."""
    agreed = replace(agreed, options=replace(agreed.options, average=False))
    start, *own = (_expert(name, state) for state in (base, *parts))
    said = [Said.of(state, start, weight) for state, weight in zip(own, judged, strict=True)]
    sums = Sums.folded(agreed, [Sums.of(agreed, start, state) for state in own])
    return merged_round(agreed, start, said, sums)[0]


def _expert(name: str, state: State) -> State:
    """A state whose lanes are those of an expert. Where these are the model's own, and where there is none yet, it is
    the state itself.
    """
    return (expert_state(state[0], name) if f"{name}.v" in state[0]["shape"] else state[0]), state[1]


def round_shape(
    agreed: Agreed,
    base: State,
    parts: Sequence[State],
    merged: _core.Snapshot,
    experts: Mapping[str, _core.Snapshot],
) -> dict[str, Any]:
    """The value of "shape" of a merged state, but for the mixture.

    Args:
        agreed: what all are brought to.
        base: what all shards went on from, fresh or not.
        parts: the shards.
        merged: the merged state, of which the shape is missing yet.
        experts: by name ("curves", "trees"), the merged state of the linear terms of each: merged from what
            `expert_state` reads of base and parts. None of "curves only", whose linear terms are the model's own.
    """
    parts = [part for part in parts if part[0]["t"] > base[0]["t"]]
    if not parts:
        return base[0]["shape"]
    everyone = [base, *parts]
    shapes = [state["shape"] for state, _ in everyone]
    names = [name for name in EXPERTS if f"{name}.leaves" in shapes[1]]
    arrays: dict[str, Any] = {"settled": shapes[1]["settled"]}
    heads: list[dict[str, Heads]] = [{} for _ in everyone]
    for name in names:
        together = experts.get(name, merged)
        if name in experts:
            arrays |= {f"{name}.{key}": together[key] for key in ("v", "H", "scores", "followed")}
            arrays |= {f"{name}.{key}": together[key].astype(np.float64) for key in ("lane_heads", "lane_rates")}
        totals = np.array([float(np.sum(shape.get(f"{name}.N", 0.0))) for shape in shapes])
        arrays[f"{name}.N"] = totals[1:].mean(keepdims=True)
        lanes = Lanes(together["lane_heads"].tolist(), together["lane_rates"].tolist())
        for own, state in zip(heads, everyone, strict=True):
            of_lanes = _expert(name, state)
            own[name] = Heads.of(lanes, agreed.lanes(of_lanes), of_lanes[0], together["scores"].reshape(-1, 6))
    layout = Layout.of([merged, *(state for state, _ in everyone)], agreed.options.interactions == "ordered")
    shaped = [
        Shaped(state, own, layout.feature_numbers(state).astype(np.intp))
        for (state, _), own in zip(everyone, heads, strict=True)
    ]
    columns = raw_columns(merged)[0]
    leaves = {name: _no_leaves(name, own, len(columns)) for name, own in heads[0].items()}
    arrays |= merged_curves(columns, shaped[0], shaped[1:], leaves)
    arrays["curve.met"] = np.array([max(float(np.sum(shape.get("curve.met", 0.0))) for shape in shapes)])
    if "trees" in names:
        curvature = LOSSES[agreed.options.loss].curvature
        forests = [Forest(model, columns) for model in shaped]
        arrays |= merged_trees(forests[0], forests[1:], heads[0]["trees"], curvature, leaves["trees"])
    for name, own_leaves in leaves.items():
        arrays |= own_leaves.arrays(name)
    return arrays


def _no_leaves(name: str, heads: Heads, columns: int) -> Leaves:
    count = first_curve_leaf(name) + columns * EACH
    return Leaves(np.zeros((count, len(heads.lanes))), np.zeros((count, len(heads.heads))), np.zeros(count))
