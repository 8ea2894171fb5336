"""A synchronization round: merge partitions that were all continued from one model, the base.

It is a merge in which the base stands for the rows of one partition, and so does the merged model: all sums are divided
by the number of partitions. So the next round takes steps as large as those of one partition whose rows were drawn from
all data. Undivided sums would make the steps smaller with every round (docs/internals/merging-rounds.md).

Partitions are merged in a tree of any width and depth: the result is the same, to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..models.by_feature import latest_look
from ..models.extra_members import extra_arrays, extra_members, extra_options, extra_state
from ..models.form_reading import MOST_LEAVES
from ..models.model import State
from ..options import Options
from ..rules import RULES
from .engine import Kind
from .gathered import Gathered, Merge
from .information import is_second_order
from .totals import LOSS, RECENT


@dataclass(frozen=True)
class Partitions:
    """The common data of all partitions."""

    options: Options
    open: bool  # whether classes may join

    def folded(self, several: Sequence[Gathered]) -> Gathered:
        """Merge some partitions as far as possible without the others."""
        return Gathered.together(several).folded(self.options, self.open)

    def merged(self, base: State, partitions: Gathered) -> State:
        """Merge all partitions that have learned something since the base."""
        states = [base, *(state for own in partitions.engines.values() for state in own)]
        kind = Kind.of(self.options, self.open, states)
        state = Merge(kind, partitions, base, sync_round=True).state()
        state["slopes"] = np.zeros(0)  # slopes are only for models that are merged again before they learn
        count = partitions.models
        return scaled(self.options, (state, kind.labels), state["t"] / count, round(state["examples"] / count))


def scaled(options: Options, state: State, weight: float, examples: int) -> State:
    """Scale the sums of a model to a given number and weight of examples.

    Predictions do not change. This converts a model of one partition to one of all partitions, and back.
    """
    own: Any = dict(state[0])
    if not own["t"] > 0:
        return state
    factor, rule = weight / own["t"], RULES[options.rule]
    if rule.sums_squares and not is_second_order(own):  # H is in units of the scale, so it is not scaled
        own["scale"], own["average_scale"] = (own[key] * np.sqrt(factor) for key in ("scale", "average_scale"))
    elif not is_second_order(own):
        own["H"] = own["H"] * factor
    for key in ("T", "N", "averaged_t", "missed"):
        own[key] = weight if own[key] == own["t"] else own[key] * factor
    if own["suspended_at"] is not None:
        own["suspended_at"] = weight if own["suspended_at"] == own["t"] else own["suspended_at"] * factor
    own["t"], own["examples"] = weight, examples
    if options.average:
        own["next_look"] = latest_look(options, examples, len(own["slots"]))
    own["target"] = own["target"] * np.array([1.0, 1.0, factor, factor, factor, 1.0, factor])
    own["center_means"] = (own["center_means"].reshape(-1, 2) * np.array([1.0, factor])).ravel()
    own["followed"] = own["followed"] * factor
    own["scores"] = _scaled_scores(own["scores"], factor)
    names = extra_members(own)
    alone = {key: value for key, value in own["form"].items() if key.partition(".")[0] not in names}
    own["form"] = {key: _scaled_array(key, value, factor, rule.sums_squares) for key, value in alone.items()}
    for name in names:
        extra = extra_state(state[0], name), state[1]
        own["form"] |= extra_arrays(name, scaled(extra_options(options, name), extra, weight, examples)[0])
    return own, state[1]


def _scaled_scores(scores: Any, factor: float) -> Any:
    """Scale losses, which are sums over rows; the gaps between rates, and their squares, are not scaled."""
    by = np.ones(6)
    by[[LOSS, RECENT]] = factor
    return (scores.reshape(-1, 6) * by).ravel()


def _scaled_array(key: str, value: Any, factor: float, sums_squares: bool) -> Any:
    """Scale an array of curves and trees."""
    kind = key.rpartition(".")[2]
    if kind in ("N", "rows", "followed", "evidence") or (kind == "H" and not sums_squares):
        return value * factor
    if kind == "scores":
        return _scaled_scores(value, factor)
    if kind == "seen":  # for a leaf with few rows, this is the number of values that it stores
        return np.where(value >= MOST_LEAVES, np.maximum(np.round(value * factor), MOST_LEAVES), value)
    return value
