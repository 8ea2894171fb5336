"""How many passes over rows in random order help, and which weights are kept: by the loss on rows held back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..metrics.evaluation import Evaluation
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..options import Kept
from .plan import ENOUGH, MOST_SHAPED_PASSES, Plan

WORTH = 1e-3  # a pass that lowers the loss by less than this part of it has not helped
PATIENCE = 2  # so many passes in a row that do not help are the end


@dataclass
class Passes:
    """What is known after some passes: which weights were best, and whether more passes would help.

    Args:
        loss: of the best weights so far, on the rows held back.
        best: after which pass they stood.
        kept: "last", or "averaged": the average of the weights up to there.
        stale: how many passes since then have not helped.
        state: of the model at that moment, if it has moved on.
        losses: of the last and the averaged weights after each pass that was judged, for whoever looks on.
    """

    loss: float = math.inf
    best: int = 0
    kept: Kept = "last"
    stale: int = 0
    state: Any = None
    losses: dict[int, dict[Kept, float]] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """As a model file stores it; the state goes elsewhere."""
        return {"loss": self.loss.hex(), "best": self.best, "kept": self.kept, "stale": self.stale}

    @classmethod
    def read(cls, plain: dict[str, Any], state: Any) -> Passes:
        """From a model file that was checked when it was loaded."""
        return cls(float.fromhex(plain["loss"]), plain["best"], plain["kept"], plain["stale"], state)

    def begin(self, model: Learner | OneVsAll) -> None:
        """Until it is known which weights are better, the last ones speak."""
        if model.options.average:
            model.keep("last")

    def made(
        self,
        plan: Plan,
        size: tuple[int, int],
        done: int,
        model: Callable[[], Learner | OneVsAll | None],
        loss: Callable[[], float],
    ) -> Iterator[int]:
        """The numbers of the passes that are to be made, from 1; whoever asks makes each of them before the next.

        After each pass it is judged; after the last one the model is back at the best weights.

        Args:
            plan: how many passes a user wants.
            size: how many rows there are, and how many of them are held back.
            done: passes that were made before.
            model: gives the model, which may be made by the first rows.
            loss: gives the loss of what the model says of the rows held back.
        """
        rows, held = size
        while self.go_on(plan, done, rows, held) and not (plan.is_auto and is_enough(model(), done)):
            done += 1
            yield done
            made = model()
            assert made is not None
            self.end_pass(made)
            if held >= ENOUGH:
                self.judge(made, plan, done, loss)
        found = model()
        assert found is not None
        self.settle(found, done)

    def go_on(self, plan: Plan, done: int, rows: int, held: int) -> bool:
        """Whether another pass over so many rows, of which some are held back, may help."""
        if done < plan.least_passes(rows):
            return True
        patience = max(PATIENCE, plan.least_passes(rows) // 2)  # small tables say less, and cost less
        return done < plan.most_passes(rows) and held >= ENOUGH and self.stale < patience

    def end_pass(self, model: Learner | OneVsAll) -> None:
        """From here on rates would be chosen by rows that they have learned."""
        model._choose_rates(False)

    def judge(self, model: Learner | OneVsAll, plan: Plan, done: int, loss: Callable[[], float]) -> None:
        """After a pass: compare the last weights and their average. `loss` gives the loss of what the model says."""
        if not plan.is_auto and done < plan.most_passes(0):  # so many passes were asked for
            return
        losses: dict[Kept, float] = {}
        for kept in ("last", "averaged") if model.options.average else ("last",):
            if model.options.average:
                model.keep(kept)
            losses[kept] = loss()
        self.begin(model)
        self.losses[done] = losses
        kept = min(losses, key=lambda name: losses[name])
        worth = WORTH * abs(self.loss) if self.loss < math.inf else 0.0
        helped = losses[kept] < self.loss - worth
        self.stale = 0 if helped else self.stale + 1
        if losses[kept] < self.loss:
            self.loss, self.best, self.kept = losses[kept], done, kept
            self.state = model._remembered()

    def finish(self, model: Learner | OneVsAll) -> None:
        """Rows that are learned from now on are new ones: rates are chosen by them again."""
        model._choose_rates(True)

    def settle(self, model: Learner | OneVsAll, done: int) -> None:
        """Go back to the best weights, and let them speak."""
        if self.state is not None and self.best < done:
            model._go_back(self.state)
        self.state = None
        if model.options.average:
            model.keep(self.kept)


def is_enough(model: Learner | OneVsAll | None, done: int) -> bool:
    """Whether a model with curves and trees has seen its rows often enough: they cost more, and gain less and less."""
    return done >= MOST_SHAPED_PASSES and model is not None and model.model_type not in (None, "linear")


def steering_loss(evaluation: Evaluation) -> float:
    """The loss by which weights are compared: of classes that of the probabilities, if there are any."""
    loss = evaluation.metrics.get("log_loss", evaluation.loss)
    return math.inf if math.isnan(loss) else loss
