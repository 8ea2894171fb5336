"""Curves of predictions: ROC, precision and recall, reliability, residuals. `figures.py` draws them.

Each curve is collected in one pass and in constant memory, with histograms and a sample of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from ..losses import LOSSES
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored
from .evaluation import Evaluation
from .label_sums import Histogram
from .ranking import Ranking
from .rows import winners

SAMPLE = 2000
POINTS = 400
BARS = 40
BINS = 10


@dataclass(frozen=True)
class Curve:
    """The points of a line, in order."""

    x: Float64
    y: Float64


@dataclass(frozen=True)
class Reliability:
    """Observed frequency by predicted probability.

    For several classes, the probability is that of the predicted class.
    """

    predicted: Float64  # the mean probability in each bin
    observed: Float64  # the share of rows for which the prediction was correct
    weight: Float64


@dataclass(frozen=True)
class Bars:
    """A histogram: the weight between edges (one more than weights).

    `beyond` is the share of weight outside the edges.
    """

    edges: Float64
    weight: Float64
    beyond: float


@dataclass(frozen=True)
class Pairs:
    """A sample of rows: predictions and true labels."""

    predicted: Float64
    truth: Float64


class Curves:
    """Counts rows for the curves of a model's predictions. A curve that does not apply to the model is None.

    Args:
        model: the model that makes the predictions.
        evaluation: an evaluation that counts the same rows, if there is one; for two classes it has all needed counts.

    Example:
        >>> import numpy as np, unitless as ul
        >>> from unitless.metrics.curves import Curves
        >>> from unitless.models.scored import Scored
        >>> rng = np.random.default_rng(0)
        >>> p = rng.normal(size=5000)
        >>> model = ul.Learner(loss="logistic")
        >>> curves = Curves(model)
        >>> curves.count(Scored.of(model, p, rng.random(5000) < 1 / (1 + np.exp(-p))))
        >>> reliable = curves.reliability
        >>> bool(np.abs(reliable.observed - reliable.predicted).max() < 0.1)
        True
        >>> curves.residuals is None
        True
    """

    def __init__(self, model: Learner | OneVsAll, evaluation: Evaluation | None = None) -> None:
        self._model, self._loss = model, LOSSES[model.options.loss]
        self._numbers = model.task == "regression"
        self._shared = evaluation is not None
        self._ranking: Ranking | None = None
        if model.task == "binary":
            self._ranking = Ranking() if evaluation is None else evaluation.ranking
        self._confidence = np.zeros((3, BINS))  # by bin: weight, sum of probabilities, sum of correct predictions
        self._residuals = Histogram()
        self._keys: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._sample: Float64 = np.zeros((2, 0))
        self._rows = 0

    def count(self, scored: Scored) -> None:
        """Count rows, in their order."""
        scored = scored.counted
        if not len(scored):
            return
        p, truth, h = scored.scores, scored.truth, scored.weight
        if self._ranking is not None:
            if not self._shared:
                self._ranking.add(np.ascontiguousarray(p[:, 0]), truth, h)
        elif self._numbers:
            value = self._model._link(p[:, 0])
            with np.errstate(over="ignore", invalid="ignore"):
                apart = truth - value
            finite = np.isfinite(apart)
            self._residuals.add(apart[finite], None if h is None else h[finite])
            self._take(value, truth)
        elif self._loss.link.gives_probabilities and p.shape[1]:
            self._count_confidence(p, truth, h)
        self._rows += len(p)

    def _count_confidence(self, p: Float64, truth: NDArray[Any], h: Float64 | None) -> None:
        best = winners(np.ascontiguousarray(p.T))
        sure = self._model._shares(p)[np.arange(len(p)), best]
        bins = np.minimum((sure * BINS).astype(np.intp), BINS - 1)
        weight = np.ones(len(p)) if h is None else h
        for row, each in zip(self._confidence, (weight, weight * sure, weight * (best == truth)), strict=True):
            np.add.at(row, bins, each)

    def _take(self, value: Float64, truth: Float64) -> None:
        """Add rows to the sample if their hash is among the smallest.

        A uniform sample, whatever the division into calls.
        """
        x = np.arange(self._rows, self._rows + len(value), dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        x ^= x >> np.uint64(31)
        if len(self._keys) == SAMPLE:
            low = x < self._keys[-1]
            x, value, truth = x[low], value[low], truth[low]
        keys = np.concatenate([self._keys, x])
        order = np.argsort(keys)[:SAMPLE]
        self._keys = keys[order]
        self._sample = np.concatenate([self._sample, [value, truth]], axis=1)[:, order]

    @property
    def roc(self) -> Curve | None:
        """The ROC curve for two classes: false positive rate (x) and true positive rate (y); otherwise None."""
        if self._ranking is None:
            return None
        _, negative, positive = self._ranking.by_score
        if not negative.any() or not positive.any():
            return None
        above = [np.concatenate([[0.0], np.cumsum(one[::-1]) / one.sum()]) for one in (negative, positive)]
        return _thinned(*above)

    @property
    def precision_recall(self) -> Curve | None:
        """The precision-recall curve for two classes: recall (x) and precision (y) at every threshold.

        Otherwise None.
        """
        if self._ranking is None:
            return None
        _, negative, positive = self._ranking.by_score
        if not positive.any():
            return None
        hits, others = np.cumsum(positive[::-1]), np.cumsum(negative[::-1])
        precision, recall = hits / (hits + others), hits / hits[-1]
        return _thinned(np.concatenate([[0.0], recall]), np.concatenate([precision[:1], precision]))

    @property
    def reliability(self) -> Reliability | None:
        """The reliability curve, for losses whose scores stand for probabilities; otherwise None."""
        if self._numbers or not self._loss.link.gives_probabilities:
            return None
        weight, sums, hits = self._confidence
        if self._ranking is not None:
            scores, negative, positive = self._ranking.by_score
            probability = self._model._link(scores)
            bins = np.minimum((probability * BINS).astype(np.intp), BINS - 1)
            both = negative + positive
            weight, sums, hits = (
                np.asarray(np.bincount(bins, weights=each, minlength=BINS), dtype=np.float64)
                for each in (both, both * probability, positive)
            )
        used = weight > 0
        if not used.any():
            return None
        return Reliability(sums[used] / weight[used], hits[used] / weight[used], weight[used])

    @property
    def residuals(self) -> Bars | None:
        """The histogram of truth minus prediction, for numbers; the outermost percent is left out. None for classes."""
        if not self._numbers or not len(self._residuals.weights):
            return None
        low, high = self._residuals.quantile(0.005), self._residuals.quantile(0.995)
        if high - low <= 1e-9 * max(abs(low), abs(high)):  # all residuals are equal
            low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
        weight, edges = np.histogram(self._residuals.means, BARS, (low, high), weights=self._residuals.weights)
        total = float(self._residuals.weights.sum())
        return Bars(edges, weight, max(0.0, 1 - float(weight.sum()) / total))

    @property
    def pairs(self) -> Pairs | None:
        """A sample of predictions and true labels, for numbers; None for classes."""
        return Pairs(*self._sample) if self._numbers and self._sample.size else None


def _thinned(x: Float64, y: Float64) -> Curve:
    """A few hundred points of a line, at equal distances along it."""
    if len(x) > POINTS:
        along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
        wanted = np.searchsorted(along, np.linspace(0, along[-1], POINTS))
        kept = np.unique(np.concatenate([[0], np.minimum(wanted, len(x) - 1), [len(x) - 1]]))
        x, y = x[kept], y[kept]
    return Curve(x, y)
