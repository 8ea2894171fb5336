"""The best constant prediction for a loss, from sums of the labels, whatever the division of rows into calls."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from ..losses import LOSSES
from ..models.classes import Label
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored
from .label_sums import Histogram, LabelSums, added
from .states import Stored

MOST_OFFSET = 300.0  # offsets are logarithms: the square of exp(300) is still finite


class NumberConstant(Stored):
    """The mean or a quantile of numeric labels y.

    With offsets o, the constant c is fitted to y - o, and the prediction is c + o. For counts, an offset is the
    logarithm of a factor e: the constant is the mean of y/e with weights h·e, and the prediction is e·constant.
    """

    STORED: ClassVar = ("sums", "around", "has_offsets")

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._loss, self._quantile = LOSSES[model.options.loss], model.options.quantile
        self.sums, self.around = LabelSums(), Histogram()
        self.has_offsets = False

    @property
    def weight(self) -> float:
        return self.sums.weight

    def observe(self, scored: Scored) -> None:
        y, h = scored.truth, scored.weight
        if scored.offset is not None:
            self.has_offsets = True
            if self._loss.in_label_unit:
                y = y - scored.offset
            else:
                factors = np.exp(np.clip(scored.offset, -MOST_OFFSET, MOST_OFFSET))
                y, h = y / factors, factors if h is None else h * factors
        self.sums.add(y, h)
        if self._loss.has_quantile:
            with np.errstate(over="ignore"):
                self.around.add(y - self.sums.origin, h)

    @property
    def answer(self) -> float:
        if self._loss.has_quantile:
            return self.sums.origin + self.around.quantile(self._quantile)
        return self.sums.mean

    def scores(self, scored: Scored) -> Float64:
        offset = np.zeros(len(scored)) if scored.offset is None else scored.offset
        return (self._loss.link.inverse(np.array(self.answer)) + offset).reshape(-1, 1)

    def absorb(self, other: NumberConstant, places: NDArray[np.intp]) -> None:
        """Add the labels of another constant.

        The positions of its labels are known to 1/256 of their distance from its first.
        """
        self.has_offsets |= other.has_offsets
        if self.weight:
            with np.errstate(over="ignore", invalid="ignore"):
                self.around.add(other.around.means + (other.sums.origin - self.sums.origin), other.around.weights)
        else:
            self.around = other.around
        self.sums.absorb(other.sums)


class ClassConstant(Stored):
    """The shares of classes, from the weight of each class.

    Classes that the model does not know are counted separately.
    """

    STORED: ClassVar = ("by_class", "unknown")
    has_offsets = False

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._model = model
        self.by_class: Float64 = np.zeros(self._count)
        self.unknown = 0.0

    @property
    def _count(self) -> int:
        return 2 if self._model.task == "binary" else self._model.heads

    @property
    def weight(self) -> float:
        return float(self.by_class.sum()) + self.unknown

    def _widen(self) -> None:
        """Make room for classes that have joined the model."""
        self.by_class = np.pad(self.by_class, (0, self._count - len(self.by_class)))

    def observe(self, scored: Scored) -> None:
        self._widen()
        numbers, h = scored.truth.astype(np.intp), scored.weight
        known = numbers < len(self.by_class)
        # adds one value after another, so the result does not depend on calls
        np.add.at(self.by_class, numbers[known], 1.0 if h is None else h[known])
        strange = int(np.count_nonzero(~known))
        if strange:
            self.unknown = added(self.unknown, None if h is None else h[~known], None, strange)

    @property
    def answer(self) -> Label:
        best = int(self.by_class.argmax())
        return best == 1 if self._model.task == "binary" else self._model._class_labels[best]

    def scores(self, scored: Scored) -> Float64:
        self._widen()
        shares = self.by_class / self.weight
        scores = class_scores(self._model, shares[1:] if self._model.task == "binary" else shares)
        return np.broadcast_to(scores, (len(scored), len(scores)))

    def absorb(self, other: ClassConstant, places: NDArray[np.intp]) -> None:
        """Add the labels of another constant; `places` are this model's numbers of its classes."""
        if self._model.task == "binary":
            places = np.arange(2)
        if len(other.by_class) > len(places):
            raise ValueError("it has counted classes that it does not name")
        self._widen()
        self.by_class[places[: len(other.by_class)]] += other.by_class
        self.unknown += other.unknown

    def _check(self) -> None:
        if not (np.isfinite(self.by_class) & (self.by_class >= 0)).all() or not 0 <= self.unknown < math.inf:
            raise ValueError("counts that are negative or infinite")


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
