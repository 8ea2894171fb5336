"""What it scores to say of each row what the labels before it were like: their mean, or how frequent each class was.

A baseline of a stream that is followed: every answer is made before its label is known. The first label has nothing to
be compared with. All sums are taken in the order of the stream, so that it does not matter how it is cut into calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import ModelFileError
from ..inputs import Float64
from ..losses import LOSSES
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from . import records as metrics
from .evaluation import Evaluation
from .label_sums import LabelSums, running

STATE_VERSION = 1
_MOST_OFFSET = 300.0  # of logarithms, so that the square of what they stand for is still a number


class RunningMean:
    """The mean of the labels so far; of classes the most frequent one so far, and how frequent each was.

    `add` labels in the order of the stream, those of rows that are learned. Scores have the names of the metrics of
    `Evaluation`: of numbers "loss", "rmse", "mae" and "r2"; of classes "error_rate", and "log_loss" (of two classes
    "brier" too) if the model's loss gives probabilities.

    Example:
        >>> import unitless as ul
        >>> from unitless.metrics.running_mean import RunningMean
        >>> mean = RunningMean(ul.Learner())
        >>> mean.add([1.0, 3.0, 2.0, 2.0])  # what it says: nothing, 1, 2, 2
        >>> round(mean.metrics["mae"], 4)
        0.6667
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._reader = Evaluation(model, small=True)
        loss = LOSSES[model.options.loss]
        classes = isinstance(model, OneVsAll)
        self._counted: _Frequencies | _Mean = (
            _Frequencies(classes, loss.link.gives_probabilities) if classes or loss.for_classes else _Mean(model)
        )

    def add(self, labels: Any, weight: Any = None) -> None:
        """Labels as `learn` takes them, in order. Weight 0 does not count."""
        self.add_numbered(*self._reader.read_labels(labels, weight))

    def add_numbered(self, labels: NDArray[Any], weight: Float64 | None, offset: Float64 | None = None) -> None:
        """The same for classes by number, and for numbers, whose mean counts with the rows' offsets."""
        if weight is not None and not weight.all():
            counted = weight > 0
            labels, weight = labels[counted], weight[counted]
            offset = None if offset is None else offset[counted]
        if len(labels):
            with np.errstate(over="ignore", invalid="ignore"):
                self._counted.add(labels, weight, offset)

    @property
    def metrics(self) -> dict[str, float]:
        """By name; nothing before two labels were met."""
        return self._counted.metrics

    def state(self) -> dict[str, Any]:
        """All that has been counted, as JSON can keep it, for `restore`."""
        return {"version": STATE_VERSION, **self._counted.state()}

    @classmethod
    def restore(cls, model: Learner | OneVsAll, state: dict[str, Any]) -> RunningMean:
        """What had this state, for a model of the same kind."""
        mean = cls(model)
        try:
            if state["version"] != STATE_VERSION:
                raise ValueError(f"its format is {state['version']!r}, this version of unitless reads {STATE_VERSION}")
            mean._counted.restore(state)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise ModelFileError(f"this is not the state of a running mean: {error}") from None
        return mean


class _Mean:
    """Of labels that are numbers.

    With offsets o, the mean is that of y - o, and what is said is the mean + o; of counts, whose offsets are logarithms
    of factors e, it is Σy/Σe, and what is said is e times that. A count's loss would be infinite if the mean were 0:
    then it is half a count in all so far.
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._loss = LOSSES[model.options.loss]
        self._judge = Learner(loss=self._loss.of_a_score, quantile=model.options.quantile)
        self._origin = self._total = self._mass = 0.0  # the mean so far is origin + total/mass
        self._weight = self._lost = self._absolute = self._squared = 0.0
        self._labels = LabelSums()

    def add(self, y: Float64, h: Float64 | None, offset: Float64 | None) -> None:
        h = np.ones(len(y)) if h is None else h
        o = np.zeros(len(y)) if offset is None else offset
        e = np.ones(len(y)) if self._loss.in_label_unit else np.exp(np.clip(o, -_MOST_OFFSET, _MOST_OFFSET))
        own = y - o if self._loss.in_label_unit else y
        first = int(not self._mass)
        if first and self._loss.in_label_unit:
            self._origin = float(own[0])
        totals, masses = running(self._total, own - self._origin, h), running(self._mass, e, h)
        self._total, self._mass = float(totals[-1]), float(masses[-1])
        mass, y, h, o, e = masses[first:-1], y[first:], h[first:], o[first:], e[first:]
        mean = self._origin + totals[first:-1] / mass
        said = mean + o if self._loss.in_label_unit else mean * e
        error = np.abs(said - y)
        score = said if self._loss.in_label_unit else np.log(np.maximum(mean, 0.5 / mass) * e)
        lost = error * error if self._loss.is_squared_error else self._judge.losses(score, y)
        self._lost = float(running(self._lost, lost, h)[-1])
        self._absolute = float(running(self._absolute, error, h)[-1])
        self._squared = float(running(self._squared, error * error, h)[-1])
        self._weight = float(running(self._weight, h, None)[-1])
        self._labels.add(y, h)

    @property
    def metrics(self) -> dict[str, float]:
        if not self._weight:
            return {}
        squared = self._squared / self._weight
        means = {"loss": self._lost / self._weight, "squared": squared, "absolute": self._absolute / self._weight}
        return metrics.values("regression", self._loss, means, metrics.Found(squared, self._labels.variance))

    def state(self) -> dict[str, Any]:
        sums = (self._origin, self._total, self._mass, self._weight, self._lost, self._absolute, self._squared)
        return {"sums": [one.hex() for one in sums], "labels": self._labels.state()}

    def restore(self, state: dict[str, Any]) -> None:
        sums = list(map(float.fromhex, state["sums"]))
        self._origin, self._total, self._mass, self._weight, self._lost, self._absolute, self._squared = sums
        self._labels = LabelSums.restore(state["labels"])
        if not all(one >= 0 for one in (self._mass, self._weight, self._absolute, self._squared)):
            raise ValueError("sums that are negative")


class _Frequencies:
    """Of labels that are classes, by number.

    A class has the probability (n_k + 1/2)/(n + K/2), K being 2, or the number of classes met so far and one more for
    any class that has not been met. The most frequent class is the one that was first to be met so often. The core
    counts: see class_frequencies.hpp.
    """

    def __init__(self, open: bool, probabilities: bool) -> None:
        self._open, self._probabilities = open, probabilities
        self._by_class: Float64 = np.zeros(0 if open else 2)
        self._total = self._most = 0.0
        self._leader = -1  # the most frequent class
        self._weight = self._wrong = self._lost = self._square = 0.0

    def add(self, labels: NDArray[Any], h: Float64 | None, offset: Float64 | None) -> None:
        truth = labels.astype(np.int64)
        self._by_class = np.pad(self._by_class, (0, max(0, int(truth.max()) + 1 - len(self._by_class))))
        sums = np.array([self._total, self._most, self._weight, self._wrong, self._lost, self._square])
        h = None if h is None else np.ascontiguousarray(h, np.float64)
        self._leader = _core.follow_classes(self._by_class, sums, self._leader, truth, h, self._open)
        self._total, self._most, self._weight, self._wrong, self._lost, self._square = sums.tolist()

    @property
    def metrics(self) -> dict[str, float]:
        if not self._weight:
            return {}
        lost = self._lost / self._weight
        found = {"accuracy": 1 - self._wrong / self._weight, "error_rate": self._wrong / self._weight}
        if self._probabilities:
            found |= {"log_loss": lost} if self._open else {"log_loss": lost, "brier": self._square / self._weight}
        return found

    def state(self) -> dict[str, Any]:
        sums = (self._total, self._most, self._weight, self._wrong, self._lost, self._square)
        return {
            "by_class": [one.hex() for one in self._by_class.tolist()],
            "leader": self._leader,
            "sums": [one.hex() for one in sums],
        }

    def restore(self, state: dict[str, Any]) -> None:
        self._by_class = np.array([float.fromhex(one) for one in state["by_class"]], dtype=np.float64)
        self._leader = state["leader"]
        sums = list(map(float.fromhex, state["sums"]))
        self._total, self._most, self._weight, self._wrong, self._lost, self._square = sums
        if type(state["by_class"]) is not list or not all(one >= 0 for one in [*sums, *self._by_class.tolist()]):
            raise ValueError("counts that cannot be")
        if type(self._leader) is not int or not -1 <= self._leader < len(self._by_class):
            raise ValueError("a class that has not been counted")
