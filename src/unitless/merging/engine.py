"""Merge one engine of several models: the model's own lanes, or those of a member of its ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..inputs import Float64
from ..models.classes import Label
from ..models.model import Model, State
from ..options import Options
from ..rules import RULES
from .layout import Lanes, Layout, Slots, lanes_by_label
from .means import Moved, Terms, stored_slopes
from .slots import Numbers, OfLearner, OfState, Source, counted_once, merging, sound
from .totals import Totals, combine, common_offsets, snapshot_of


@dataclass(frozen=True)
class Kind:
    """The common properties of models that are merged."""

    options: Options
    open: bool  # whether classes may join
    labels: list[Label] | None  # the labels of all models

    @classmethod
    def of(cls, options: Options, open: bool, states: Sequence[State]) -> Kind:
        known = [labels for _, labels in states if labels is not None]
        labels = list(dict.fromkeys(label for own in known for label in own)) if known else None
        return cls(options, open, labels)

    def by_label(self, state: State) -> list[dict[int, int]]:
        """By head of the merged model: the lane of a model for each rate."""
        return lanes_by_label(self.open, state[0], state[1], self.labels)

    def layout(self, states: Sequence[State]) -> Layout:
        """The features and slots of all states."""
        return Layout.of([state for state, _ in states], self.options.interactions == "ordered")


@dataclass(frozen=True)
class Engine:
    """The merged lanes of one engine."""

    kind: Kind
    layout: Layout
    lanes: Lanes
    states: list[State]
    base: State | None  # the model that all were continued from, if its rows count once
    sources: list[Source]
    totals: Totals  # merged
    means: Float64  # the common means
    target: Float64
    moved: list[Moved]
    how: dict[str, Any]

    @classmethod
    def of(
        cls,
        kind: Kind,
        layout: Layout,
        states: Sequence[State],
        base: State | None = None,
        *,
        bounded: bool = False,
        learners: Sequence[Model] = (),
    ) -> Engine:
        """Prepare the merge. `learners`: models whose slots the core reads in place, instead of slots in the states."""
        options = kind.options
        every = [*states, *([base] if base else [])]
        lanes = Lanes.of([kind.by_label(state) for state in states])
        terms = Terms.of_layout([state for state, _ in states], layout)
        totals = [Totals.of(state[0], kind.by_label(state), layout, lanes) for state in every]
        start = totals.pop() if base else None
        means, target = common_offsets(totals, start, options)
        sources: list[Source] = []
        moved: list[Moved] = []
        for k, (state, own) in enumerate(zip(states, totals, strict=True)):
            lane = lanes.source(kind.by_label(state))
            sources.append(
                OfLearner.of(learners[k], state[0], layout, lane)
                if learners
                else OfState(options, state[0], layout, lane)
            )
            slopes = stored_slopes(state[0]["slopes"], state[0], layout, terms, lane, options.average)
            moved.append(Moved.of(options, own, sources[-1], terms, slopes, means, target))
        shifted = [one.shifted(means, target) for one in totals]
        merged = combine(shifted, start and start.shifted(means, target))
        how = merging(options, totals, merged, bounded)
        return cls(kind, layout, lanes, list(states), base, sources, merged, means, target, moved, how)

    def snapshot(self) -> _core.Snapshot:
        """The merged state without its slots."""
        states = [state for state, _ in self.states]
        snapshot = snapshot_of(self.kind.options, self.layout, self.totals, self.lanes, states)
        # slopes make merging associative, which it is not with a base
        if self.base is None and len(self.moved[0].slopes):
            snapshot["slopes"] = _core.merged_slots([moved.rows() for moved in self.moved], self.how)[2].ravel()
        return snapshot

    def parts(self) -> list[dict[str, Any]]:
        """The slots of learners, in the form that the core takes."""
        return [
            source.part(state, moved.slots, moved.by)
            for source, (state, _), moved in zip(self.sources, self.states, self.moved, strict=True)
            if isinstance(source, OfLearner)
        ]

    def slots(self, slots: Slots) -> Numbers:
        """A selection of the merged slots."""
        parts = []
        for source, moved in zip(self.sources, self.moved, strict=True):
            scale, H, values = source.read(slots)
            there = np.isin(moved.slots, slots)
            values[np.searchsorted(slots, moved.slots[there])] += moved.by[there]
            parts.append(sound((scale, H, values)))
        merged = _core.merged_slots(parts, self.how)
        if self.base is None:
            return merged
        options = self.kind.options
        lanes = self.lanes.source(self.kind.by_label(self.base))
        start = OfState(options, self.base[0], self.layout, lanes).read(slots)
        return counted_once(options, merged, sound(start), len(parts), self.how["bounded"])

    def filled(self) -> _core.Snapshot:
        """The merged state with its slots."""
        options, t, averaged_t = self.kind.options, self.totals.t, self.totals.counts["averaged_t"]
        scale, H, values = self.slots(self.layout.slots)
        there = np.flatnonzero(scale > 0)
        scale, H, values = scale[there], H[there], values[there]
        count = len(self.lanes.heads)
        state = self.snapshot()
        state |= {"slots": self.layout.slots[there], "scale": scale, "v": values[:, :count].ravel(), "H": H.ravel()}
        if options.average:
            # This makes the time since the last average update zero.
            unit = np.sqrt(averaged_t / t) if RULES[options.rule].sums_squares and t > 0 else 1.0
            averages = values[:, count:] if averaged_t > 0 else np.zeros_like(H)
            state |= {"average": averages.ravel(), "average_scale": scale * unit}
        return state
