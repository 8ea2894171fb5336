"""The curves and trees of a model that the partitions of a round become.

An member's linear terms are merged as those of a linear model are; its curves (rounds_curves) and its trees
(rounds_trees) each in their own way. As of all else that rounds merge, what comes out looks like one partition's
stream. Nothing here has a unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _core
from ..losses import LOSSES
from ..models.form_reading import raw_columns
from ..models.model import State
from .leaves_and_trees import EACH, MEMBERS, Heads, Leaves, Shaped, first_curve_leaf, member_state
from .round_curves import merged_curves
from .round_forest import Forest
from .round_trees import merged_trees
from .rounds import Agreed, Said, Sums, merged_round
from .state import Lanes, Layout


def shaped_round(
    agreed: Agreed, base: State, parts: Sequence[State], judged: Sequence[float], merged: State
) -> dict[str, Any]:
    """The arrays of curves and trees.

    Args:
        agreed: what all are brought to.
        base: what all partitions went on from, fresh or not.
        parts: the states of the partitions that have learned, in their order.
        judged: by such partition, the weight of the rows by which it has judged the rates.
        merged: what the linear terms have become: the state without its form.
    """
    names = [name for name in MEMBERS if f"{name}.v" in parts[0][0]["form"]]
    members = {name: _merged_member(name, agreed, base, parts, judged) for name in names}
    return round_shape(agreed, base, parts, merged[0], members)


def _merged_member(
    name: str, agreed: Agreed, base: State, parts: Sequence[State], judged: Sequence[float]
) -> _core.Snapshot:
    """The state of a merged model that were nothing but the linear terms of one of its members."""
    agreed = replace(agreed, options=replace(agreed.options, average=False))
    start, *own = (_member(name, state) for state in (base, *parts))
    said = [Said.of(state, start, weight) for state, weight in zip(own, judged, strict=True)]
    sums = Sums.folded(agreed, [Sums.of(agreed, start, state) for state in own])
    return merged_round(agreed, start, said, sums)[0]


def _member(name: str, state: State) -> State:
    """A state whose lanes are those of an member. Where these are the model's own, and where there is none yet, it is
    the state itself.
    """
    return (member_state(state[0], name) if f"{name}.v" in state[0]["form"] else state[0]), state[1]


def round_shape(
    agreed: Agreed,
    base: State,
    parts: Sequence[State],
    merged: _core.Snapshot,
    members: Mapping[str, _core.Snapshot],
) -> dict[str, Any]:
    """The value of "form" of a merged state, but for the mixture.

    Args:
        agreed: what all are brought to.
        base: what all partitions went on from, fresh or not.
        parts: the partitions.
        merged: the merged state, of which the form is missing yet.
        members: by name ("curves", "trees"), the merged state of the linear terms of each: merged from what
            `member_state` reads of base and parts. None of "curves only", whose linear terms are the model's own.
    """
    parts = [part for part in parts if part[0]["t"] > base[0]["t"]]
    if not parts:
        return base[0]["form"]
    everyone = [base, *parts]
    forms = [state["form"] for state, _ in everyone]
    names = [name for name in MEMBERS if f"{name}.leaves" in forms[1]]
    arrays: dict[str, Any] = {"settled": forms[1]["settled"]}
    heads: list[dict[str, Heads]] = [{} for _ in everyone]
    for name in names:
        together = members.get(name, merged)
        if name in members:
            arrays |= {f"{name}.{key}": together[key] for key in ("v", "H", "scores", "followed")}
            arrays |= {f"{name}.{key}": together[key].astype(np.float64) for key in ("lane_heads", "lane_rates")}
        totals = np.array([float(np.sum(form.get(f"{name}.N", 0.0))) for form in forms])
        arrays[f"{name}.N"] = totals[1:].mean(keepdims=True)
        lanes = Lanes(together["lane_heads"].tolist(), together["lane_rates"].tolist())
        for own, state in zip(heads, everyone, strict=True):
            of_lanes = _member(name, state)
            own[name] = Heads.of(lanes, agreed.lanes(of_lanes), of_lanes[0], together["scores"].reshape(-1, 6))
    layout = Layout.of([merged, *(state for state, _ in everyone)], agreed.options.interactions == "ordered")
    shaped = [
        Shaped(state, own, layout.feature_numbers(state).astype(np.intp))
        for (state, _), own in zip(everyone, heads, strict=True)
    ]
    columns = raw_columns(merged)[0]
    leaves = {name: _no_leaves(name, own, len(columns)) for name, own in heads[0].items()}
    arrays |= merged_curves(columns, shaped[0], shaped[1:], leaves)
    arrays["curve.met"] = np.array([max(float(np.sum(form.get("curve.met", 0.0))) for form in forms)])
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
