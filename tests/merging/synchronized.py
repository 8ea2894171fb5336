"""The two merges of models that continued from a base; rounds without a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import unitless as ul
from unitless.merging.gathered import Gathered
from unitless.merging.rounds import Partitions
from unitless.models.model import State


def merged_round(model: Any, base: State, states: Sequence[State], fan_in: int = 8, judged: float = 0.0) -> State:
    """Merge partitions of a model that continued from `base`; `judged`:

    the weight of rows on which each compared rates.
    """
    partitions = Partitions(model.options, model._open_to_classes())
    level = [Gathered.of(state, judged) for state in states if state[0]["examples"] > base[0]["examples"]]
    if not level:
        return base
    while len(level) > 1:
        level = [partitions.folded(level[k : k + fan_in]) for k in range(0, len(level), fan_in)]
    return partitions.merged(base, level[0])


def synchronized(base: Any, partitions: Sequence[Any]) -> Any:
    """Merge partitions that continued from `base`."""
    states = [partition._state_and_labels() for partition in partitions]
    state, labels = merged_round(base, base._state_and_labels(), states)
    new = base._fresh(base.options.asdict(), labels, base._open_to_classes(), base._own_rates())
    new._restore(state)
    return new


WAYS = {"merge": lambda base, parts: ul.merge(parts, base=base), "round": synchronized}
