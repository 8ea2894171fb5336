"""Merge the slots of several models: a slot has a feature's scale, weights and squared gradients.

The merged scale is the largest ("snag": squares add up). Each weight is the mean of the models' weights, weighted by
the squared gradients H, and H adds up; both in units of the common scale, so the result does not depend on units.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .. import _core
from ..inputs import Float64
from ..models.by_feature import average
from ..models.model import Model
from ..options import Options
from ..rules import RULES
from .layout import NONE, Layout, Slots
from .totals import Totals

# By slot: the scale; H by lane; v by lane; then the averages of v, if there are any.
Numbers: TypeAlias = tuple[Float64, Float64, Float64]


class Source(ABC):
    """The slots of one model, in the order of the merged model's slots and lanes."""

    @abstractmethod
    def read(self, slots: Slots) -> Numbers:
        """The numbers of slots; zeros where the model has no such slot."""


@dataclass(frozen=True)
class OfLearner(Source):
    """The slots of a learner, which the core reads in place."""

    model: Model
    lanes: Slots
    direct: int
    listed: Slots

    @classmethod
    def of(cls, model: Model, state: _core.Snapshot, layout: Layout, lanes: list[int]) -> OfLearner:
        return cls(model, np.array(lanes, np.uint32), *layout.own_slots(state))

    def read(self, slots: Slots) -> Numbers:
        own = np.where(slots < self.direct, slots, np.uint32(NONE))
        beyond = np.flatnonzero(slots >= self.direct)
        beyond = beyond[slots[beyond] - self.direct < len(self.listed)]
        own[beyond] = self.listed[slots[beyond] - self.direct]
        return self.model._read_slots(own, self.lanes)

    def part(self, state: _core.Snapshot, moved: Slots, by: Float64) -> dict[str, Any]:
        """The slots in the form that the core takes; `by` is added to the slots `moved`."""
        return {
            "learner": self.model,
            "t": state["t"],
            "examples": state["examples"],
            "lane_count": len(state["lane_heads"]),
            "lanes": self.lanes,
            "direct": self.direct,
            "listed": self.listed,
            "moved": moved,
            "by": by,
        }


class OfState(Source):
    """The slots of a state."""

    def __init__(self, options: Options, state: _core.Snapshot, layout: Layout, lanes: list[int]) -> None:
        count = len(state["lane_heads"])
        place = layout.place(state)
        order = np.argsort(place, kind="stable")
        self._places = place[order]
        v = state["v"].reshape(-1, count)[order][:, lanes]
        averages = [average(options, state).reshape(-1, count)[order][:, lanes]] if options.average else []
        H = state["H"].reshape(-1, count)[order][:, lanes]
        self._numbers = state["scale"][order], H, np.hstack([v, *averages])

    def read(self, slots: Slots) -> Numbers:
        at = np.searchsorted(self._places, slots)
        found = np.flatnonzero(at < len(self._places))
        found = found[self._places[at[found]] == slots[found]]

        def spread(numbers: Float64) -> Float64:
            array = np.zeros((len(slots), *numbers.shape[1:]))
            array[found] = numbers[at[found]]
            return array

        scale, H, values = self._numbers
        return spread(scale), spread(H), spread(values)


def merging(options: Options, totals: list[Totals], merged: Totals, bounded: bool) -> dict[str, Any]:
    """The options for merging slots in the core (core/engine/merging.hpp)."""
    rule = RULES[options.rule]
    return {
        "unit_free": rule.unit_free,
        "sums_squares": rule.sums_squares,
        "shrinks": rule.beyond == "shrink",
        "bounded": bounded,
        "proximal": options.sparse,
        "t": [one.t for one in totals],
        "merged_t": merged.t,
    }


def sound(numbers: Numbers) -> Numbers:
    """Remove the evidence of lanes that have diverged, so that the other models decide about their weights."""
    scale, H, values = numbers
    with np.errstate(invalid="ignore", over="ignore"):
        each = np.tile(H, (1, values.shape[1] // H.shape[1])) if H.size else values
        fine = np.isfinite(each * values)
    by_lane = np.all(np.split(fine, values.shape[1] // H.shape[1], axis=1), axis=0) if H.size else np.isfinite(H)
    return scale, np.where(by_lane, H, 0.0), np.where(fine, values, 0.0)


def counted_once(options: Options, merged: Numbers, base: Numbers, models: int, bounded: bool) -> Numbers:
    """Subtract the base from merged slots, so that the rows that all models share count once."""
    rule, again = RULES[options.rule], models - 1
    scale, H, values = merged
    start, start_H, start_values = base
    common = scale
    if rule.sums_squares:
        common = scale * np.sqrt(np.maximum(1.0 - again * _ratio(start, scale) ** 2, 1.0 / models))
        grown = _ratio(scale, common)[:, None]
        H = H * grown**2
        values = values if bounded else values * _ratio(common, scale)[:, None]
    rho = (_ratio(start, common) if rule.unit_free else (start > 0).astype(np.float64))[:, None]
    if options.sparse:  # the roots of H and the values are sums over rows
        root = np.sqrt(H) - again * np.sqrt(start_H) * rho
        return common, np.maximum(root, 0.0) ** 2, values - again * start_values * (rho if bounded else 1.0)
    return common, np.maximum(H - again * start_H * rho**2, start_H * rho**2), values


def _ratio(a: Float64, b: Float64) -> Float64:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
