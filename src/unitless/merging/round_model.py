"""All of a model that the partitions of a round become: its own lanes, who learns beside it, its form and its
mixture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..models.extra_members import MET, extra_arrays
from ..models.model import State
from .information import is_second_order
from .means import LINEAR
from .round_form import shaped_round
from .round_information import informed_round
from .round_mixture import round_mixture
from .rounds import Agreed, Said, Sums, extra, merged_round


@dataclass(frozen=True)
class Common:
    """What all who add up the partitions of a round know."""

    agreed: dict[str, Agreed]  # by name: of the model's own lanes, and of each engine beside them
    base: State
    bent: bool  # is the model more than linear?

    @classmethod
    def of(cls, agreed: Agreed, base: State, said: Sequence[Said]) -> Common:
        heard = [one for one in said if one.learned]
        names = list(heard[0].ensemble) if heard else []
        bent = any(one.model_type not in (None, "linear") for one in heard)
        return cls({LINEAR: agreed} | {name: agreed.beside(name, said) for name in names}, base, bent)

    def start(self, name: str) -> State:
        """What an engine of the partitions went on from."""
        return self.base if name == LINEAR else extra(self.base, name)


@dataclass(frozen=True)
class Added:
    """What partitions have added to a base."""

    sums: dict[str, Sums]  # by name
    informed: dict[str, tuple[State, ...]]  # of second-order learners, which are small: the partitions' own
    states: tuple[State, ...]  # of the partitions themselves, where models are more than linear

    @classmethod
    def of(cls, common: Common, state: State) -> Added:
        """One partition's, which has learned something."""
        sums: dict[str, Sums] = {}
        informed: dict[str, tuple[State, ...]] = {}
        for name, agreed in common.agreed.items():
            own = state if name == LINEAR else extra(state, name)
            if is_second_order(own[0]):
                informed[name] = (own,)
            else:
                sums[name] = Sums.of(agreed, common.start(name), own)
        return cls(sums, informed, (state,) if common.bent else ())

    @classmethod
    def folded(cls, common: Common, several: Sequence[Added]) -> Added:
        """What all of them have added."""
        first = several[0]
        return cls(
            {name: Sums.folded(common.agreed[name], [one.sums[name] for one in several]) for name in first.sums},
            {name: tuple(state for one in several for state in one.informed[name]) for name in first.informed},
            tuple(state for one in several for state in one.states),
        )


def one_model(common: Common, said: Sequence[Said], added: Added | None) -> State:
    """The state of one model, from what partitions have added to a base and say of themselves, in the same order.

    `added`: None if no partition has learned anything.
    """
    heard = [one for one in said if one.learned]
    if added is None or not heard:
        return common.base
    agreed, base = common.agreed[LINEAR], common.base
    merged = _one_engine(LINEAR, common, heard, added, None)
    form: dict[str, Any] = merged["form"]
    if common.bent:
        form = shaped_round(agreed, base, added.states, [one.judged for one in heard], (merged, agreed.labels))
    for name in heard[0].ensemble:
        own = [one.ensemble[name] for one in heard]
        form |= extra_arrays(name, _one_engine(name, common, own, added, _core.most_second_order))
    if heard[0].ensemble and agreed.labels is not None:
        form[MET] = np.array([float(len(agreed.labels))])
    mixtures = [one.mixture for one in heard if one.mixture is not None]
    if mixtures:
        targets = [*(one.target for one in heard), base[0]["target"]]
        offsets = [float(own[1] - agreed.target[1]) if own[0] and agreed.target[0] else 0.0 for own in targets]
        form["mixture"] = round_mixture(mixtures, base[0]["form"].get("mixture"), offsets)
    whole: Any = {**merged, "ensemble": heard[0].beside, "form": form}
    return whole, agreed.labels


def _one_engine(name: str, common: Common, heard: Sequence[Said], added: Added, most: int | None) -> _core.Snapshot:
    """The state of one of the engines; `most`: of a second-order one, see `Frame`."""
    agreed, start = common.agreed[name], common.start(name)
    if name in added.informed:
        return informed_round(agreed, start, added.informed[name], heard, most)
    return merged_round(agreed, start, heard, added.sums[name])[0]
