"""The slots of several models as those of one: where they come from, and the rule by which the core merges them."""

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
from .state import NONE, Layout, Part, Slots

# By slot: the scale; H by lane; and v by lane, the averages of v beside it where there are any.
Numbers: TypeAlias = tuple[Float64, Float64, Float64]


class Source(ABC):
    """The slots of one model, in the numbers and lanes of the merged one."""

    @abstractmethod
    def read(self, slots: Slots) -> Numbers:
        """What some slots hold; nothing but zeros where the model has no such slot."""


@dataclass(frozen=True)
class OfLearner(Source):
    """Slots that stay where they are, in a learner."""

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
        """The same as the core takes it, with what is added to some slots."""
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
    """Slots of a state."""

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


def merging(options: Options, parts: list[Part], base: Part | None, merged: Part, bounded: bool) -> dict[str, Any]:
    """How slots are merged (core/engine/merging.hpp)."""
    rule = RULES[options.rule]
    return {
        "unit_free": rule.unit_free,
        "sums_squares": rule.sums_squares,
        "shrinks": rule.beyond == "shrink",
        "bounded": bounded,
        "proximal": options.sparse,
        "base": base is not None,
        "t": [part.t for part in (*parts, *([base] if base else []))],
        "merged_t": merged.t,
    }
