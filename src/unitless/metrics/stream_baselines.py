"""The baselines of a stream: the last label, and the constant of the labels so far.

The labels of rows in time order are often autocorrelated, and then good metrics may show no more than that. These
baselines know only the labels of earlier rows, as the model does when it predicts a row. For rows in random order they
add nothing to the best constant (`baseline.py`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..inputs import Float64
from ..losses import LOSSES
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored
from . import records
from .constant import MOST_OFFSET, class_scores
from .label_sums import running
from .rows import BinaryRows, ClassRows, NumberRows, Rows, ShareRows, winners
from .states import Stored, reading
from .sums import MetricSums

REPEAT, MEAN = "last_label", "constant"
_BLOCK = 1 << 16  # scores that are processed at a time


class StreamBaseline(Stored, ABC):
    """A predictor from the labels of earlier rows, with the metrics of its predictions.

    The first row is not predicted, because no label is known. The metrics are the same to the last bit, whatever the
    division of the stream into calls of `count`.

    Args:
        model: the model that is compared with the baseline.
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._model, self._loss = model, LOSSES[model.options.loss]
        self.sums = MetricSums(model, [one.name for one in records.of(model.task, self._loss) if self._tells(one)])
        self._begun = False

    def _tells(self, metric: records.Metric) -> bool:
        """Whether this baseline has a metric."""
        return metric.reported(self._loss, self._model.task)

    def count(self, scored: Scored) -> None:
        """Count rows that are learned, in their order."""
        scored = scored.counted
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if not self._begun and len(scored):
                self._predict(scored[:1])
                self._begun, scored = True, scored[1:]
            for block in scored.blocks(_BLOCK):
                self.sums.add(self._predict(block), block.weight)

    @abstractmethod
    def _predict(self, scored: Scored) -> Rows:
        """Predict each row from the rows before it. The prediction of the very first row is a placeholder."""

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics by name; empty before the second label."""
        return self.sums.metrics

    def state(self) -> dict[str, Any]:
        """The labels so far and the sums of the metrics, for `restore`."""
        return {"known": super().state() if self._begun else None, "sums": self.sums.state()}

    def restore(self, state: Any) -> None:
        """Continue from a state."""
        with reading("a baseline"):
            self.sums.restore(state["sums"])
            if state["known"] is not None:
                super().restore(state["known"])
                self._begun = True


class LastLabel(StreamBaseline):
    """Predicts the label of the previous row.

    It has no metrics of probabilities, and no loss where scores have another unit than labels.

    Example:
        >>> import unitless as ul
        >>> from unitless.metrics.stream_baselines import LastLabel
        >>> from unitless.models.scored import Scored
        >>> model = ul.OneVsAll(["a", "b"])
        >>> last = LastLabel(model)
        >>> last.count(Scored.read(model, [[0.0, 0.0]] * 5, ["b", "b", "a", "a", "a"]))
        >>> last.metrics
        {'accuracy': 0.75, 'error_rate': 0.25}
    """

    STORED: ClassVar = ("last",)
    last = 0.0

    def _tells(self, metric: records.Metric) -> bool:
        of_labels = not metric.of_probabilities and (metric.name != "loss" or self._loss.in_label_unit)
        return of_labels and super()._tells(metric)

    def _predict(self, scored: Scored) -> Rows:
        truth, judge = scored.truth, self.sums.judge
        before = np.concatenate([np.array([self.last], truth.dtype), truth[:-1]])
        self.last = float(truth[-1])
        if self._model.task == "regression":
            return NumberRows(self._loss.link.inverse(before), truth, judge)
        if self._model.task == "binary":
            return BinaryRows(np.where(before, 1.0, -1.0), truth, judge)
        # none of the metrics of this baseline needs scores
        return ClassRows(np.zeros((0, len(truth))), truth, before, self._model, judge)

    def _check(self) -> None:
        if not math.isfinite(self.last):
            raise ValueError("a label that is not a number")


class RunningMean(StreamBaseline):
    """Predicts the mean of the labels so far, plus the row's offset.

    With offsets o, the mean m is that of y - o, and the prediction is m + o. For counts, whose offsets are logarithms
    of factors e, the mean m is Σy/Σe and the prediction is e·m. A mean of 0 would make the loss of a count infinite:
    then half a count is added to the sum.

    Example:
        >>> import unitless as ul
        >>> from unitless.metrics.stream_baselines import RunningMean
        >>> from unitless.models.scored import Scored
        >>> model = ul.Learner()
        >>> mean = RunningMean(model)
        >>> mean.count(Scored.of(model, [0.0] * 4, [1.0, 3.0, 2.0, 2.0]))  # predicts nothing, 1, 2, 2
        >>> round(mean.metrics["mae"], 4)
        0.6667
    """

    STORED: ClassVar = ("origin", "total", "mass")
    origin = total = mass = 0.0  # the mean so far is origin + total/mass

    def _predict(self, scored: Scored) -> Rows:
        y, rows = scored.truth, len(scored)
        o = np.zeros(rows) if scored.offset is None else scored.offset
        in_unit = self._loss.in_label_unit
        own = y - o if in_unit else y
        factors = np.ones(rows) if in_unit else np.exp(np.clip(o, -MOST_OFFSET, MOST_OFFSET))
        if in_unit and not self._begun:
            self.origin = float(own[0])
        totals = running(self.total, own - self.origin, scored.weight)
        masses = running(self.mass, factors, scored.weight)
        self.total, self.mass = float(totals[-1]), float(masses[-1])
        mean = self.origin + totals[:-1] / masses[:-1]
        if not in_unit:
            mean = np.maximum(mean, 0.5 / masses[:-1]) * factors
        return NumberRows(mean + o if in_unit else self._loss.link.inverse(mean), y, self.sums.judge)

    def _check(self) -> None:
        if not (math.isfinite(self.origin) and 0 < self.mass < math.inf):
            raise ValueError("sums of labels that cannot be")


class RunningShares(StreamBaseline):
    """Predicts the most frequent class so far, with the shares of the classes as their probabilities.

    A class has the probability (n_k + 1/2)/(n + K/2), where K is 2, or the number of classes so far including the row's
    own class.
    """

    STORED: ClassVar = ("total", "by_class")
    total = 0.0

    def __init__(self, model: Learner | OneVsAll) -> None:
        super().__init__(model)
        # for two classes: the positive class
        self.by_class: Float64 = np.zeros(model.heads if model.task == "binary" else 0)

    def _predict(self, scored: Scored) -> Rows:
        truth, h, rows, judge = scored.truth, scored.weight, len(scored), self.sums.judge
        totals = running(self.total, h, None, rows)
        self.total = float(totals[-1])
        if self._model.task == "binary":
            positive = running(self.by_class[0], truth, h)
            self.by_class = positive[-1:]
            shares = (positive[:-1] + 0.5) / (totals[:-1] + 1.0)
            return BinaryRows(class_scores(self._model, shares.reshape(-1, 1))[:, 0], truth, judge)
        self.by_class = np.pad(self.by_class, (0, max(0, int(truth.max()) + 1 - len(self.by_class))))
        own = np.arange(len(self.by_class))[:, None] == truth
        counts = running(self.by_class, own, h)
        self.by_class, counts = counts[:, -1].copy(), counts[:, :-1]
        met = own | (counts > 0)
        shares = counts + 0.5
        shares /= totals[:-1] + met.sum(axis=0) / 2
        shares *= met
        if self._loss.link.gives_probabilities:
            return ShareRows(shares, truth, winners(shares), self._model, judge)
        scores = np.ascontiguousarray(class_scores(self._model, shares.T).T)
        return ClassRows(scores, truth, winners(scores), self._model, judge)

    def _check(self) -> None:
        wrong = len(self.by_class) != 1 if self._model.task == "binary" else len(self.by_class) > self._model.heads
        if wrong or not all(0 <= one < math.inf for one in (self.total, *self.by_class.tolist())):
            raise ValueError("counts that cannot be")


class StreamBaselines:
    """The baselines of one stream: the last label, and the constant of the labels so far.

    Example:
        >>> import unitless as ul
        >>> from unitless.metrics.stream_baselines import StreamBaselines
        >>> from unitless.models.scored import Scored
        >>> model = ul.Learner(loss="logistic")
        >>> baselines = StreamBaselines(model)
        >>> baselines.count(Scored.of(model, [0.0] * 5, [True, True, True, False, False]))
        >>> {name: values["error_rate"] for name, values in baselines.metrics.items()}
        {'last_label': 0.25, 'constant': 0.5}
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._last = LastLabel(model)
        self._constant = RunningMean(model) if model.task == "regression" else RunningShares(model)

    def count(self, scored: Scored) -> None:
        """Count rows that are learned, in their order."""
        self._last.count(scored)
        self._constant.count(scored)

    @property
    def metrics(self) -> dict[str, dict[str, float]]:
        """Metrics by baseline, with the same names as in `Evaluation`; empty before the second label."""
        found = {REPEAT: self._last.sums.metrics, MEAN: self._constant.sums.metrics}
        return {name: values for name, values in found.items() if values}

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """Only the metrics that are means over rows, which are fast to compute."""
        return {REPEAT: self._last.sums.means, MEAN: self._constant.sums.means}

    def state(self) -> dict[str, dict[str, Any]]:
        """All counts as JSON-compatible values, for `restore`."""
        return {"last_label": self._last.state(), "running_mean": self._constant.state()}

    @classmethod
    def restore(cls, model: Learner | OneVsAll, state: Mapping[str, Any]) -> StreamBaselines:
        """Rebuild the baselines from their state, for a model of the same kind."""
        baselines = cls(model)
        baselines._last.restore(state["last_label"] or {})
        baselines._constant.restore(state["running_mean"] or {})
        return baselines


def shown_name(name: str, task: str) -> str:
    """Return the name of a baseline for tables; the constant is a mean or, for classes, the most frequent class."""
    if name == MEAN:
        return "mean so far" if task == "regression" else "most frequent class so far"
    return "last label"
