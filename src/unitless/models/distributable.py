"""What a learner offers to be trained in parts: the one interface that distributed training knows of it."""

from __future__ import annotations

from typing import Any, Protocol

from ..inputs import Float64
from ..options import Options
from .model import State


class Distributable(Protocol):
    """A learner whose state can be taken out, carried elsewhere, gone on from, and merged (rounds, rounds_shape).

    A round: every partition goes back to the base (`_go_back`), judges its rates by rows that it does not learn
    (predicted between `_begin_judging` and `_end_judging`), learns with the rates standing still (`_choose_rates`), and
    gives its state. In the first round, where there is nothing to be judged, it follows its own losses but drops no
    rate (`_keep_rates`). Scales do not fall meanwhile (`_hold_scales`): the weights of a partition whose scale has
    fallen could not be added to those of others. The merged model lets go of rates that have lost (`_prune_rates`).
    """

    @property
    def options(self) -> Options:
        """What it was made with."""

    @property
    def examples(self) -> int:
        """How many it has learned."""

    def _state_and_labels(self, slots: bool = True) -> State: ...
    def _go_back(self, state: State) -> None: ...
    def _open_to_classes(self) -> bool: ...
    def _begin_judging(self, y: Float64, weight: Float64 | None) -> None: ...
    def _end_judging(self) -> None: ...
    def _choose_rates(self, choose: bool) -> None: ...
    def _keep_rates(self, keep: bool) -> None: ...
    def _hold_scales(self, hold: bool) -> None: ...
    def _prune_rates(self) -> None: ...
    def _feed(self, data: Any, labels: Float64, weight: Any, new_classes: int = 0, offset: Any = None) -> Float64: ...
    def _ask(self, data: Any, extrapolate: bool, offset: Any = None) -> Float64: ...
