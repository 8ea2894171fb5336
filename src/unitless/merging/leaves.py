"""The leaves of curves and trees in a state: their weights, their evidence (squared gradients) and rows.

The arrays are described in core/engine/state.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..inputs import Float64
from ..models.form_reading import MOST_LEAVES, raw_columns
from ..options import Options
from .layout import Lanes

EACH = MOST_LEAVES + 1  # places for leaves of a column

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Heads:
    """A member's lanes in the merged model, with the corresponding lanes and heads of a model."""

    of_lane: Indices  # by merged lane: its head
    lanes: Indices  # by merged lane: the model's
    heads: Indices  # by merged head: the model's
    leaders: Indices  # by merged head: the merged lane that predicts

    @classmethod
    def of(cls, lanes: Lanes, by_label: list[dict[int, int]], state: _core.Snapshot, scores: Float64) -> Heads:
        of_lane = np.array(lanes.heads, np.intp)
        heads = [int(state["lane_heads"][next(iter(found.values()))]) for found in by_label]
        leaders = []
        for head in range(len(heads)):
            own = np.flatnonzero(of_lane == head)
            leaders.append(own[int(np.argmin(scores[own, 1]))] if len(own) > 1 else own[0])
        return cls(of_lane, np.array(lanes.source(by_label), np.intp), np.array(heads), np.array(leaders))


@dataclass(frozen=True)
class Leaves:
    """The leaves of a member, in the lanes and heads of the merged model."""

    weights: Float64  # [leaf][lane]
    evidence: Float64  # [leaf][head]
    rows: Float64  # [leaf]
    first_curve: int = 0  # the first leaf of a curve: those of curves come after those of trees

    @classmethod
    def none(cls, member: str, heads: Heads, columns: int, options: Options) -> Leaves:
        """Zeros for all leaves that there can be."""
        first_curve = options.n_trees * options.max_leaves if member == "trees" else 0
        count = first_curve + columns * EACH
        by_lane, by_head = np.zeros((count, len(heads.lanes))), np.zeros((count, len(heads.heads)))
        return cls(by_lane, by_head, np.zeros(count), first_curve)

    @classmethod
    def of(cls, form: dict[str, Any], member: str, heads: Heads, columns: int, options: Options) -> Leaves:
        """Read the leaves of one model, in its own order."""
        leaves = cls.none(member, heads, columns, options)
        numbers = form.get(f"{member}.leaves", np.zeros(0)).astype(np.intp)
        if count := len(numbers):
            leaves.weights[numbers] = form[f"{member}.weights"].reshape(count, -1)[:, heads.lanes]
            leaves.evidence[numbers] = form[f"{member}.evidence"].reshape(count, -1)[:, heads.heads]
            leaves.rows[numbers] = form[f"{member}.rows"]
        return leaves

    def at(self, places: Indices) -> Leaves:
        """Select leaves."""
        return Leaves(self.weights[places], self.evidence[places], self.rows[places])

    def put(self, places: Indices, leaves: Leaves) -> None:
        """Replace leaves, in place."""
        self.weights[places], self.evidence[places], self.rows[places] = leaves.weights, leaves.evidence, leaves.rows

    def arrays(self, member: str) -> dict[str, Any]:
        """The arrays of a state, with all leaves that were ever other than zero."""
        used = np.flatnonzero((self.evidence != 0).any(axis=1) | (self.weights != 0).any(axis=1) | (self.rows != 0))
        return {
            f"{member}.leaves": used.astype(np.float64),
            f"{member}.weights": self.weights[used].ravel(),
            f"{member}.evidence": self.evidence[used].ravel(),
            f"{member}.rows": self.rows[used],
        }


@dataclass(frozen=True)
class Cuts:
    """A column's curve in one model: its intervals in order."""

    thresholds: Float64
    places: Indices
    seen: Float64
    values: Float64  # [interval][the last values, in storage order]


class Shaped:
    """The curves and trees of one model."""

    def __init__(self, state: _core.Snapshot, members: dict[str, Heads], numbering: Indices, options: Options) -> None:
        self.form = form = state["form"]
        self.options = options
        self.members = members
        self.numbering = numbering  # the numbers of the model's features in the merged model
        self.columns, _ = raw_columns(state)
        self.leaves = {
            name: Leaves.of(form, name, heads, max(len(self.columns), len(form.get("curve.leaves", ()))), options)
            for name, heads in members.items()
        }
        self.curves = self._curves()

    def _curves(self) -> list[Cuts | None]:
        form = self.form
        counts = form.get("curve.leaves", np.zeros(0)).astype(np.intp).tolist()
        curves: list[Cuts | None] = []
        leaf = cut = 0
        for count in counts:
            here = slice(leaf, leaf + count)
            own = Cuts(
                form["curve.thresholds"][cut : cut + max(count - 1, 0)],
                form["curve.places"][here].astype(np.intp),
                form["curve.seen"][here],
                form["curve.values"].reshape(-1, MOST_LEAVES)[here],
            )
            curves.append(own if count else None)
            leaf, cut = leaf + count, cut + max(count - 1, 0)
        return curves + [None] * (len(self.columns) - len(curves))
