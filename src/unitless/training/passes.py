"""How many passes a fit makes, and which weights are selected, by the loss on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored
from ..options import Kept
from .halves import Halves
from .plan import ENOUGH, MOST_NONLINEAR_PASSES, Plan

# Another pass is worth its time if it is expected to lower the loss by this fraction. A pass with curves or trees takes
# longer: with them, 1% instead of 0.5% changed no error by more than chance, and saves a sixth of the time.
WORTH, WORTH_NONLINEAR = 5e-3, 1e-2


@dataclass
class Passes:
    """The passes of a fit so far: which weights were best, and whether another pass may help.

    Args:
        loss: the loss of the best weights so far on the held-out rows.
        best: the number of the pass after which the weights were best.
        kept: which weights were best: "last", or "averaged", the average of the weights up to that pass.
        stale: after how many consecutive passes another one was not expected to be worth its time.
        gain: the fraction by which the last pass lowered the loss; infinite after the first pass.
        state: the model's state after the best pass, if it has learned more since.
        halves: predictions for the held-out rows by weights that were chosen without them, for the metrics.
        losses: by pass, the losses of the last and of the averaged weights, for progress displays and reports.
    """

    loss: float = math.inf
    best: int = 0
    kept: Kept = "last"
    stale: int = 0
    gain: float = math.inf
    state: Any = None
    halves: Halves = field(default_factory=Halves)
    losses: dict[int, dict[Kept, float]] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """The record as a model file stores it, without the model's state, which has its own section."""
        return {
            "loss": self.loss.hex(),
            "best": self.best,
            "kept": self.kept,
            "stale": self.stale,
            "gain": self.gain.hex(),
            "halves": self.halves.plain(),
        }

    @classmethod
    def read(cls, plain: dict[str, Any], state: Any) -> Passes:
        """Make the record from what a model file stores; the file was checked when it was loaded."""
        loss, gain = float.fromhex(plain["loss"]), float.fromhex(plain["gain"])
        return cls(loss, plain["best"], plain["kept"], plain["stale"], gain, state, Halves.read(plain["halves"]))

    def begin(self, model: Learner | OneVsAll) -> None:
        """Predict with the last weights until it is known which weights are better."""
        if model.options.average:
            model.keep("last")

    def made(
        self,
        plan: Plan,
        size: tuple[int, int],
        done: int,
        model: Learner | OneVsAll,
        predictions: Callable[[], Iterable[Scored]],
    ) -> Iterator[int]:
        """Yield the numbers of the passes to make, from 1; the caller makes each pass before it takes the next number.

        Each pass is judged when it has been made. After the last one the model has the best weights again.

        Args:
            plan: how many passes the user wants.
            size: how many rows there are, and how many of them are held out.
            done: how many passes were made before.
            model: the model that learns.
            predictions: returns the predictions of the current model for the held-out rows.
        """
        rows, held = size
        while self.go_on(plan, done, rows, held) and not (plan.is_auto and is_enough(model, done)):
            if done == self.best > 0 and self.state is None:
                self.state = model._remember()
            if done == 1:  # from now on no other rate can lead, so none needs to learn
                model._keep_leaders()
            done += 1
            yield done
            self.end_pass(model)
            if held >= ENOUGH:
                self.judge(model, plan, done, predictions)
        self.settle(model, done)

    def go_on(self, plan: Plan, done: int, rows: int, held: int) -> bool:
        """Whether another pass over `rows` rows, of which `held` are held out, may help."""
        if done < plan.least_passes(rows):
            return True
        patience = max(1, plan.least_passes(rows) // 2)  # on small tables the loss is noisier, and a pass is cheap
        return done < plan.most_passes(rows) and held >= ENOUGH and self.stale < patience

    def end_pass(self, model: Learner | OneVsAll) -> None:
        """Stop choosing among the candidate rates: in later passes they would be judged by rows they have learned."""
        model._choose_rates(False)

    def judge(
        self, model: Learner | OneVsAll, plan: Plan, done: int, predictions: Callable[[], Iterable[Scored]]
    ) -> None:
        """Compare the last weights and their average after a pass, by their predictions for the held-out rows."""
        if not plan.is_auto and done < plan.most_passes(0):  # the user fixed the number of passes
            return
        losses: dict[Kept, float] = {}
        for kept in ("last", "averaged") if model.options.average else ("last",):
            if model.options.average:
                model.keep(kept)
            losses[kept] = self.halves.judge(model, predictions())
        self.begin(model)
        self.losses[done] = losses
        kept = min(losses, key=lambda name: losses[name])
        worth = WORTH if is_linear(model) else WORTH_NONLINEAR
        self.stale = 0 if self._expected_gain(losses[kept]) >= worth else self.stale + 1
        if losses[kept] < self.loss:
            self.loss, self.best, self.kept = losses[kept], done, kept
            self.state = None

    def _expected_gain(self, loss: float) -> float:
        """The fraction by which the next pass is expected to lower the loss, if the gains continue to shrink.

        Args:
            loss: the loss after the last pass; `self.loss` is the smallest loss before it.
        """
        before, earlier = abs(self.loss), self.gain
        if loss == math.inf or before == 0:
            self.gain = 0.0
        else:
            self.gain = math.inf if before == math.inf else (self.loss - loss) / before
        return self.gain * min(1.0, self.gain / earlier) if self.gain > 0 and 0 < earlier < math.inf else self.gain

    def finish(self, model: Learner | OneVsAll) -> None:
        """Choose among the candidate rates again: rows that are learned from now on are new."""
        model._choose_rates(True)

    def settle(self, model: Learner | OneVsAll, done: int) -> None:
        """Restore the best weights and predict with them."""
        if self.state is not None and self.best < done:
            model._go_back(self.state)
        self.state = None
        if model.options.average:
            model.keep(self.kept)


def is_enough(model: Learner | OneVsAll, done: int) -> bool:
    """Whether a model with curves and trees has made enough passes: each costs more, and later ones gain little."""
    return done >= MOST_NONLINEAR_PASSES and not is_linear(model)


def is_linear(model: Learner | OneVsAll) -> bool:
    """Whether a model has neither curves nor trees, as far as that is known."""
    return model.model_type in (None, "linear")
