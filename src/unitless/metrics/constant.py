"""The best constant prediction for a loss, from sums of the labels, whatever the division of rows into calls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from ..losses import LOSSES
from ..models.classes import Label
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored
from .label_sums import Histogram, LabelSums, added

MOST_OFFSET = 300.0  # offsets are logarithms: the square of exp(300) is still finite


class NumberConstant:
    """The mean or a quantile of numeric labels y.

    With offsets o, the constant c is fitted to y - o, and the prediction is c + o. For counts, an offset is the
    logarithm of a factor e: the constant is the mean of y/e with weights h·e, and the prediction is e·constant.
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._loss, self._quantile = LOSSES[model.options.loss], model.options.quantile
        self._sums, self._around = LabelSums(), Histogram()
        self.has_offsets = False

    @property
    def weight(self) -> float:
        return self._sums.weight

    def observe(self, scored: Scored) -> None:
        y, h = scored.truth, scored.weight
        if scored.offset is not None:
            self.has_offsets = True
            if self._loss.in_label_unit:
                y = y - scored.offset
            else:
                factors = np.exp(np.clip(scored.offset, -MOST_OFFSET, MOST_OFFSET))
                y, h = y / factors, factors if h is None else h * factors
        self._sums.add(y, h)
        if self._loss.has_quantile:
            with np.errstate(over="ignore"):
                self._around.add(y - self._sums.origin, h)

    @property
    def answer(self) -> float:
        if self._loss.has_quantile:
            return self._sums.origin + self._around.quantile(self._quantile)
        return self._sums.mean

    def scores(self, scored: Scored) -> Float64:
        offset = np.zeros(len(scored)) if scored.offset is None else scored.offset
        return (self._loss.link.inverse(np.array(self.answer)) + offset).reshape(-1, 1)

    def state(self) -> dict[str, Any]:
        return {"sums": self._sums.state(), "around": self._around.state(), "has_offsets": self.has_offsets}

    def absorb(self, state: dict[str, Any], places: NDArray[np.intp]) -> None:
        """Add the labels of another state.

        The positions of its labels are known to 1/256 of their distance from its first.
        """
        sums, around = LabelSums.restore(state["sums"]), Histogram.restore(state["around"])
        self.has_offsets |= state["has_offsets"] is True
        if self.weight:
            with np.errstate(over="ignore", invalid="ignore"):
                self._around.add(around.means + (sums.origin - self._sums.origin), around.weights)
        else:
            self._around = around
        self._sums.absorb(sums)


class ClassConstant:
    """The shares of classes, from the weight of each class.

    Classes that the model does not know are counted separately.
    """

    has_offsets = False

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._model = model
        self._by_class: Float64 = np.zeros(self._count)
        self._unknown = 0.0

    @property
    def _count(self) -> int:
        return 2 if self._model.task == "binary" else self._model.heads

    @property
    def weight(self) -> float:
        return float(self._by_class.sum()) + self._unknown

    def _widen(self) -> None:
        """Make room for classes that have joined the model."""
        self._by_class = np.pad(self._by_class, (0, self._count - len(self._by_class)))

    def observe(self, scored: Scored) -> None:
        self._widen()
        numbers, h = scored.truth.astype(np.intp), scored.weight
        known = numbers < len(self._by_class)
        # adds one value after another, so the result does not depend on calls
        np.add.at(self._by_class, numbers[known], 1.0 if h is None else h[known])
        strange = int(np.count_nonzero(~known))
        if strange:
            self._unknown = added(self._unknown, None if h is None else h[~known], None, strange)

    @property
    def answer(self) -> Label:
        best = int(self._by_class.argmax())
        return best == 1 if self._model.task == "binary" else self._model._class_labels[best]

    def scores(self, scored: Scored) -> Float64:
        self._widen()
        shares = self._by_class / self.weight
        scores = class_scores(self._model, shares[1:] if self._model.task == "binary" else shares)
        return np.broadcast_to(scores, (len(scored), len(scores)))

    def state(self) -> dict[str, Any]:
        return {"by_class": [one.hex() for one in self._by_class.tolist()], "unknown": self._unknown.hex()}

    def absorb(self, state: dict[str, Any], places: NDArray[np.intp]) -> None:
        counts, unknown = np.array([float.fromhex(one) for one in state["by_class"]]), float.fromhex(state["unknown"])
        if self._model.task == "binary":
            places = np.arange(2)
        if type(state["by_class"]) is not list or not len(counts) <= len(places):
            raise ValueError("it has counted classes that it does not name")
        if not (np.isfinite(counts) & (counts >= 0)).all() or not 0 <= unknown < math.inf:
            raise ValueError("counts that are negative or infinite")
        self._widen()
        self._by_class[places[: len(counts)]] += counts
        self._unknown += unknown


def class_scores(model: Learner | OneVsAll, shares: Float64) -> Float64:
    """The constant scores with the least loss, given the share of each head's class among the rows (last dimension)."""
    loss = LOSSES[model.options.loss]
    if loss.link.gives_probabilities:
        scores = loss.link.inverse(shares)
    elif loss.best_constant == "mean":
        scores = loss.link.inverse(shares + (1.0 - shares) * loss.other_class)
    else:
        above = model.options.quantile if loss.has_quantile else 0.5
        scores = np.where(1.0 - shares < above, 1.0, loss.other_class)
        if model.task == "classes" and scores.size:  # all other scores may tie; the most frequent class is predicted
            best = shares.argmax(axis=-1)[..., None]
            np.put_along_axis(scores, best, np.nextafter(np.take_along_axis(scores, best, -1), np.inf), -1)
    return scores
