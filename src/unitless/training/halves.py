"""The choice among the weights of several passes, and metrics that this choice does not flatter.

A fit chooses the weights that predict the held-out rows best. On these rows the chosen weights look a little better
than they are. Therefore the held-out rows are two halves: those with even and those with odd places in the random
order. The metrics take, for the rows of each half, the predictions of the weights that are best on the other half: no
row takes part in the choice of the weights that predict it. The model gets the weights that are best on all of them.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..inputs import Float64
from ..metrics.sums import MetricSums
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored

MOST_SCORES = 4_000_000  # scores that are stored; with more held-out rows, the choice flatters the metrics too little


@dataclass
class Halves:
    """Predictions for the rows of each half by the weights that are best on the other half.

    Args:
        losses: the smallest loss so far on the rows with even places, and on those with odd ones.
        scores: the predictions: a row for each held-out row, a column for each head. None: they are not stored.
    """

    losses: list[float] = field(default_factory=lambda: [math.inf, math.inf])
    scores: Float64 | None = None

    def judge(self, model: Learner | OneVsAll, predictions: Iterable[Scored]) -> float:
        """Judge the weights of the model by their predictions for all held-out rows; returns their loss."""
        sums, parts, place = (_sums(model), _sums(model)), [], 0
        for scored in predictions:
            for half in (0, 1):
                sums[half].count(judging(model, scored[(half + place) % 2 :: 2]))
            place += len(scored)
            if place * scored.scores.shape[1] <= MOST_SCORES:
                parts.append(scored.scores)
        if sum(map(len, parts)) == place:
            self._note([steering_loss(one) for one in sums], np.concatenate(parts))
        sums[0].absorb(sums[1])
        return steering_loss(sums[0])

    def _note(self, losses: list[float], scores: Float64) -> None:
        if self.scores is None:
            self.scores = scores.copy()
        for half in (0, 1):
            if losses[half] < self.losses[half]:
                self.losses[half] = losses[half]
                self.scores[1 - half :: 2] = scores[1 - half :: 2]

    def plain(self) -> dict[str, Any]:
        """The record as a model file stores it."""
        scores = np.zeros((0, 0)) if self.scores is None else self.scores
        return {
            "losses": [loss.hex() for loss in self.losses],
            "heads": scores.shape[1],
            "scores": base64.b64encode(scores.astype("<f8").tobytes()).decode(),
        }

    @classmethod
    def read(cls, plain: dict[str, Any]) -> Halves:
        """Make the record from what a model file stores. Raises ValueError if `plain` cannot return it."""
        losses = [float.fromhex(loss) for loss in plain["losses"]]
        scores = np.frombuffer(base64.b64decode(plain["scores"], validate=True), "<f8").astype(np.float64)
        heads = plain["heads"]
        if len(losses) != 2 or any(map(math.isnan, losses)) or np.isnan(scores).any() or type(heads) is not int:
            raise ValueError("impossible predictions for held-out rows")
        return cls(losses, None if not heads else scores.reshape(-1, heads))


def judging(model: Learner | OneVsAll, scored: Scored) -> Scored:
    """The rows that can judge weights. No weights can predict a class that was never met, so its rows cannot."""
    return scored.of_known_classes if model.task == "classes" else scored


def _sums(model: Learner | OneVsAll) -> MetricSums:
    """Sums for `steering_loss` and nothing else: computing AUC would take longer than a pass over a small table."""
    return MetricSums(model, only=("log_loss", "loss"))


def steering_loss(sums: MetricSums) -> float:
    """The loss by which weights are compared: for classes with probabilities the log loss, otherwise the model's."""
    if not sums.weight:
        return math.inf
    loss = sums.means.get("log_loss", sums.by_name["loss"] / sums.weight)
    return math.inf if math.isnan(loss) else loss
