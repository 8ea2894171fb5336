"""All of a model that the shards of a round become: its own lanes, who learns beside it, its shape and its mixture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .company import MET, companion_arrays
from .merged_means import LINEAR
from .model import State
from .rounds import Agreed, Said, Sums, companion, merged_round
from .rounds_mixture import round_mixture
from .rounds_shape import shaped_round


@dataclass(frozen=True)
class Common:
    """What all who add up the shards of a round know."""

    agreed: dict[str, Agreed]  # by name: of the model's own lanes, and of each engine beside them
    base: State
    bent: bool  # is the model more than linear?

    @classmethod
    def of(cls, agreed: Agreed, base: State, said: Sequence[Said]) -> Common:
        heard = [one for one in said if one.learned]
        names = list(heard[0].company) if heard else []
        bent = any(one.shape not in (None, "linear") for one in heard)
        return cls({LINEAR: agreed} | {name: agreed.beside(name, said) for name in names}, base, bent)

    def start(self, name: str) -> State:
        """What an engine of the shards went on from."""
        return self.base if name == LINEAR else companion(self.base, name)


@dataclass(frozen=True)
class Added:
    """What shards have added to a base."""

    sums: dict[str, Sums]  # by name
    states: tuple[State, ...]  # of the shards themselves, where models are more than linear

    @classmethod
    def of(cls, common: Common, state: State) -> Added:
        """One shard's, which has learned something."""
        sums = {}
        for name, agreed in common.agreed.items():
            own = state if name == LINEAR else companion(state, name)
            sums[name] = Sums.of(agreed, common.start(name), own)
        return cls(sums, (state,) if common.bent else ())

    @classmethod
    def folded(cls, common: Common, several: Sequence[Added]) -> Added:
        """What all of them have added."""
        sums = {
            name: Sums.folded(agreed, [one.sums[name] for one in several]) for name, agreed in common.agreed.items()
        }
        return cls(sums, tuple(state for one in several for state in one.states))


def one_model(common: Common, said: Sequence[Said], added: Added | None) -> State:
    """The state of one model, from what shards have added to a base and say of themselves, in the same order.

    `added`: None if no shard has learned anything.
    """
    heard = [one for one in said if one.learned]
    if added is None or not heard:
        return common.base
    agreed, base = common.agreed[LINEAR], common.base
    merged = merged_round(agreed, base, said, added.sums[LINEAR])
    shape: dict[str, Any] = {"settled": "linear"}
    if common.bent:
        shape = shaped_round(agreed, base, added.states, [one.judged for one in heard], merged)
    for name in heard[0].company:
        own = [one.company[name] for one in heard]
        shape |= companion_arrays(name, merged_round(common.agreed[name], common.start(name), own, added.sums[name])[0])
    if heard[0].company and agreed.labels is not None:
        shape[MET] = np.array([float(len(agreed.labels))])
    mixtures = [one.mixture for one in heard if one.mixture is not None]
    if mixtures:
        targets = [*(one.target for one in heard), base[0]["target"]]
        offsets = [float(own[1] - agreed.target[1]) if own[0] and agreed.target[0] else 0.0 for own in targets]
        shape["mixture"] = round_mixture(mixtures, base[0]["shape"].get("mixture"), offsets)
    whole: Any = {**merged[0], "company": heard[0].beside, "shape": shape}
    return whole, merged[1]
