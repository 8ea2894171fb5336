"""The trivial answer: how good it is to say the same of every row, or to repeat the last label.

    baseline = Baseline(model)
    baseline.observe(y_learned)          # what the answer is made of
    baseline.score(y_held_back)          # on which rows it is scored
    baseline.metrics                     # with the keys of `Evaluation.metrics`

Nothing is kept but counts and sums of labels: the order of the calls and how rows are cut into them does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ModelFileError
from ..inputs import Float64
from ..losses import LOSSES
from ..models.classes import Label
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from . import records as metrics
from .evaluation import Evaluation, places_of
from .label_sums import Histogram, LabelSums, running, total_where
from .records import LEAST_SHARE, Found

STATE_VERSION = 1


_MOST_OFFSET = 300.0  # of logarithms, so that the square of what they stand for is still a number


class _Numbers:
    """Labels that are numbers: their sums, and, if asked for, where they lie around the first one.

    Rows with an offset o count as what a single answer a is compared with: label y - o, for which the answer is a + o;
    or, of counts, label y/e with weight h·e, e = exp(o), for which the answer is a·e. Losses and distances are then
    h·e times those of a and y/e, and squared distances h·e² times.
    """

    def __init__(self, spread: bool = True) -> None:
        self.sums, self.around, self._spread = LabelSums(), Histogram(), spread
        self.labels: LabelSums | None = None  # as they are; None while no row has an offset
        self.squares: LabelSums | None = None  # as they are compared, with the weights of squared distances

    @property
    def weight(self) -> float:
        return self.sums.weight

    def add(
        self, labels: Float64, weight: Float64 | None, offset: Float64 | None = None, factors: bool = False
    ) -> None:
        """Count labels; `factors`: offsets are logarithms of factors."""
        if offset is not None and self.labels is None:
            self._tell_apart()
        if self.labels is not None and self.squares is not None:
            o = np.zeros(len(labels)) if offset is None else offset
            e = np.exp(np.clip(o, -_MOST_OFFSET, _MOST_OFFSET)) if factors else np.ones(len(labels))
            h = np.ones(len(labels)) if weight is None else weight
            self.labels.add(labels, weight)
            labels, weight = labels / e if factors else labels - o, h * e
            self.squares.add(labels, h * e * e)
        self.sums.add(labels, weight)
        if not self._spread:
            return
        with np.errstate(over="ignore"):
            self.around.add(labels - self.sums.origin, weight)

    def _tell_apart(self) -> None:
        """From here on rows have offsets; those so far had none."""
        self.labels, self.squares = LabelSums(), LabelSums()
        self.labels.absorb(self.sums)
        self.squares.absorb(self.sums)

    @property
    def variance(self) -> float:
        """Of the labels as they are."""
        return (self.labels or self.sums).variance

    @property
    def share(self) -> float:
        """What the mean of losses and distances as they are compared has to be multiplied by."""
        return 1.0 if self.labels is None else self.sums.weight / self.labels.weight

    def squared_distance(self, answer: float) -> float:
        """The mean squared distance of the answer, with each row's offset, from the label."""
        if self.labels is None or self.squares is None:
            return self.sums.squared_distance(answer)
        return self.squares.squared_distance(answer) * (self.squares.weight / self.labels.weight)

    def quantile(self, share: float) -> float:
        return self.sums.origin + self.around.quantile(share)

    @property
    def points(self) -> Float64:
        """Labels that stand for all, with the weights of `around`: the mean of those that lie close together."""
        return np.asarray(self.sums.origin + self.around.means)

    def absorb(self, other: _Numbers) -> None:
        """Count what another has counted; where its labels lie is known to 1/256 of their distance from its first."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.weight:
                self.around.add(other.around.means + (other.sums.origin - self.sums.origin), other.around.weights)
            else:
                self.around.absorb(other.around)
        for one in (self, other):
            if one.labels is None and (self.labels is not None or other.labels is not None):
                one._tell_apart()
        if self.labels is not None and other.labels is not None:
            self.labels.absorb(other.labels)
        if self.squares is not None and other.squares is not None:
            self.squares.absorb(other.squares)
        self.sums.absorb(other.sums)

    def state(self) -> dict[str, Any]:
        apart = {} if self.labels is None or self.squares is None else {"labels": self.labels, "squares": self.squares}
        sums = {name: one.state() for name, one in {"sums": self.sums, **apart}.items()}
        return {**sums, "around": self.around.state()}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> _Numbers:
        numbers = cls()
        numbers.sums, numbers.around = LabelSums.restore(state["sums"]), Histogram.restore(state["around"])
        if "labels" in state:
            numbers.labels, numbers.squares = (LabelSums.restore(state[name]) for name in ("labels", "squares"))
        return numbers


class _Counts:
    """Labels that are classes: the weight of each by its number; the last is of classes that are not known."""

    def __init__(self) -> None:
        self._by_class: Float64 = np.zeros(0)
        self._unknown = 0.0

    @property
    def weight(self) -> float:
        return float(self._by_class.sum()) + self._unknown

    @property
    def classes(self) -> int:
        """How many have been counted by number."""
        return len(self._by_class)

    def add(self, numbers: NDArray[np.intp], weight: Float64 | None, classes: int) -> None:
        """Count classes by number, in order; from `classes` on they are not known."""
        if classes > len(self._by_class):
            self._by_class = np.pad(self._by_class, (0, classes - len(self._by_class)))
        known = numbers < classes
        np.add.at(self._by_class, numbers[known], 1.0 if weight is None else weight[known])
        if not known.all():
            strange = None if weight is None else weight[~known]
            self._unknown = float(running(self._unknown, strange, None, int((~known).sum()))[-1])

    def shares(self, classes: int) -> Float64:
        """Of each class; they add up to less than 1 if there were classes that are not known."""
        wide = np.pad(self._by_class, (0, max(0, classes - len(self._by_class))))
        return np.asarray(wide / self.weight)

    def absorb(self, other: _Counts, places: NDArray[np.intp], classes: int) -> None:
        """Count what another has counted, whose classes have these numbers here."""
        self._by_class = np.pad(self._by_class, (0, max(0, classes - len(self._by_class))))
        self._by_class[places[: len(other._by_class)]] += other._by_class
        self._unknown += other._unknown

    def state(self) -> dict[str, Any]:
        return {"by_class": [one.hex() for one in self._by_class.tolist()], "unknown": self._unknown.hex()}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> _Counts:
        counts = cls()
        counts._by_class = np.array([float.fromhex(one) for one in state["by_class"]], float)
        counts._unknown = float.fromhex(state["unknown"])
        if not (np.isfinite(counts._by_class) & (counts._by_class >= 0)).all() or not 0 <= counts._unknown < math.inf:
            raise ValueError("counts that are negative or infinite")
        return counts


class Baseline:
    """What the best single answer for all rows scores: the majority, the classes' shares, the mean, or the median.

    The answer is the one that the model's loss likes best, made of the labels that were learned (`observe`). It is
    scored on the labels given to `score`. Without `observe` it is made of the scored labels themselves.

    Args:
        model: with what it is compared; it says which loss and which classes.

    Example:
        >>> import unitless as ul
        >>> from unitless.metrics.baseline import Baseline, skill
        >>> baseline = Baseline(ul.Learner(loss="logistic"))
        >>> baseline.observe([True, False, False, False])
        >>> baseline.score([False, False, True, False, False])
        >>> baseline.metrics["error_rate"], round(baseline.metrics["log_loss"], 3)
        (0.2, 0.507)
        >>> skill({"error_rate": 0.05}, baseline.metrics)
        0.75
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._model, self._loss = model, LOSSES[model.options.loss]
        self._judge = Learner(loss=self._loss.of_a_score, quantile=model.options.quantile)
        self._task = "classes" if isinstance(model, OneVsAll) else self._loss.task
        self._reader = Evaluation(model, small=True)  # which knows how to read labels
        self._learned, self._scored = self._fresh(self._loss.has_quantile), self._fresh()

    def _fresh(self, spread: bool = True) -> Any:
        return _Numbers(spread) if self._task == "regression" else _Counts()

    def observe(self, labels: Any, weight: Any = None) -> None:
        """Labels that were learned, as `learn` takes them. Weight 0 does not count."""
        self._add(self._learned, labels, weight)

    def score(self, labels: Any, weight: Any = None) -> None:
        """Labels of rows for which the answer is given."""
        self._add(self._scored, labels, weight)

    def begin_scoring(self) -> None:
        """Forget the rows that were scored so far; what was learned stays."""
        self._scored = self._fresh()

    def observe_numbered(self, numbers: NDArray[Any], weight: Float64 | None, offset: Float64 | None = None) -> None:
        """The same for classes by number; a number beyond the model's classes is a class that it does not know.

        Where numbers are predicted, the answer counts with the rows' offsets. That of two classes does not.
        """
        self._add_plain(self._learned, numbers, weight, offset)

    def score_numbered(self, numbers: NDArray[Any], weight: Float64 | None, offset: Float64 | None = None) -> None:
        """The same for classes by number."""
        self._add_plain(self._scored, numbers, weight, offset)

    @property
    def has_offsets(self) -> bool:
        """Whether the answer is one to which rows' offsets are added."""
        return isinstance(self._source, _Numbers) and self._source.labels is not None

    def _add(self, to: Any, labels: Any, weight: Any) -> None:
        values, h = self._reader.read_labels(labels, weight)
        self._add_plain(to, values, h)

    def _add_plain(self, to: Any, values: NDArray[Any], h: Float64 | None, offset: Float64 | None = None) -> None:
        if h is not None and not h.all():
            offset = None if offset is None else offset[h > 0]
            values, h = values[h > 0], h[h > 0]
        if isinstance(to, _Numbers):
            to.add(values, h, offset, not self._loss.in_label_unit)
        else:
            to.add(values.astype(np.intp), h, self._classes)

    @property
    def _classes(self) -> int:
        return len(self._model.classes) if isinstance(self._model, OneVsAll) else 2

    @property
    def _source(self) -> Any:
        return self._learned if self._learned.weight else self._scored

    @property
    def answer(self) -> Label | float:
        """What it says of every row: a number, or a class (of two classes whether it is the positive one)."""
        source = self._source
        if not source.weight:
            return math.nan
        if isinstance(source, _Numbers):
            return self._constant(source)
        best = int(source.shares(self._classes).argmax())
        return self._model.classes[best] if isinstance(self._model, OneVsAll) else best == 1

    def _constant(self, source: _Numbers) -> float:
        if self._loss.has_quantile:
            return source.quantile(self._judge.options.quantile)
        return source.sums.mean

    @property
    def metrics(self) -> dict[str, float]:
        """Of the answer, with the keys of `Evaluation.metrics`; nothing before a row is scored."""
        if not self._scored.weight:
            return {}
        source = self._source
        if isinstance(source, _Numbers):
            means, found = self._of_number(self._constant(source))
        elif isinstance(self._model, OneVsAll):
            means, found = self._of_classes(source.shares(self._classes)), Found()
        else:
            means, found = self._of_two(float(source.shares(2)[1]))
        return metrics.values(self._task, self._loss, means, found)

    def _of_number(self, constant: float) -> tuple[dict[str, float], Found]:
        scored: _Numbers = self._scored
        points, weights = scored.points, scored.around.weights
        squared = scored.squared_distance(constant)
        score = self._loss.link.inverse(constant)
        if self._loss.is_squared_error:
            loss = squared
        else:
            each = self._judge.losses(np.full(len(points), score), np.maximum(points, self._least))
            loss = float(np.average(each, weights=weights)) * scored.share
        absolute = float(np.average(np.abs(points - constant), weights=weights)) * scored.share
        found = Found(squared_error=squared, variance=scored.variance)
        return {"loss": loss, "squared": squared, "absolute": absolute}, found

    @property
    def _least(self) -> float:
        return -math.inf if self._loss.smallest_label is None else self._loss.smallest_label

    def _of_two(self, share: float) -> tuple[dict[str, float], Found]:
        positive = float(self._scored.shares(2)[1])
        says = share > 0.5
        loss = self._class_loss(share, positive)
        brier = positive * (1 - share) ** 2 + (1 - positive) * share**2
        means = {"loss": loss, "error_rate": 1 - positive if says else positive, "brier": brier}
        area = 0.5 if 0 < positive < 1 else math.nan
        found = Found(area=area, hits=positive * says, predicted=float(says), positive=positive)
        return means, found

    def _of_classes(self, shares: Float64) -> dict[str, float]:
        truth = self._scored.shares(self._classes)
        strange = 1.0 - float(truth.sum())
        best = int(shares.argmax()) if len(shares) else -1
        pairs = list(zip(shares.tolist(), truth.tolist(), strict=True))
        hit = float((truth * np.log(np.maximum(shares, LEAST_SHARE))).sum()) + strange * math.log(LEAST_SHARE)
        return {
            "error_rate": 1.0 - (float(truth[best]) if best >= 0 else 0.0),
            "log_loss": -hit,
            "brier": 1.0 + float((shares * shares).sum()) - 2 * float((truth * shares).sum()),
            "loss": -hit if self._loss.coupled else sum(self._class_loss(share, of) for share, of in pairs),
        }

    def _class_loss(self, share: float, truth: float) -> float:
        """The mean loss of the best constant score for a class with a share of the rows, if truly it has another."""
        loss, other = self._loss, self._loss.other_class
        if loss.link.gives_probabilities:
            score = loss.link.inverse(share)
        elif loss.best_constant == "mean":
            score = loss.link.inverse(share + (1 - share) * other)
        else:
            above = self._judge.options.quantile if loss.has_quantile else 0.5
            score = 1.0 if 1 - share < above else other
        yes, no = self._judge.losses([score, score], [1.0, other]).tolist()
        return (truth * yes if truth else 0.0) + ((1 - truth) * no if truth < 1 else 0.0)

    def state(self) -> dict[str, Any]:
        """All that has been counted, as JSON can keep it, for `restore`."""
        classes = {"classes": self._model.classes} if isinstance(self._model, OneVsAll) else {}
        return {"version": STATE_VERSION, "learned": self._learned.state(), "scored": self._scored.state(), **classes}

    @classmethod
    def restore(cls, model: Learner | OneVsAll, state: dict[str, Any]) -> Baseline:
        """The baseline that had this state, for a model of the same kind."""
        baseline = cls(model)
        kind = type(baseline._fresh())
        try:
            if state["version"] != STATE_VERSION:
                raise ValueError(f"its format is {state['version']!r}, this version of unitless reads {STATE_VERSION}")
            baseline._learned, baseline._scored = (kind.restore(state[name]) for name in ("learned", "scored"))
            if isinstance(baseline._learned, _Numbers):
                baseline._learned._spread = baseline._loss.has_quantile
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise ModelFileError(f"this is not the state of a baseline: {error}") from None
        return baseline

    @classmethod
    def join(cls, model: Learner | OneVsAll, states: Iterable[dict[str, Any]]) -> Baseline:
        """One baseline of all labels, from the states of baselines that were made of parts of them.

        Parts are added up in the order given. Classes are told by their labels: each part may have its own order.
        """
        joined = cls(model)
        for state in states:
            part = cls.restore(model, state)
            for mine, more in ((joined._learned, part._learned), (joined._scored, part._scored)):
                if isinstance(mine, _Numbers):
                    mine.absorb(more)
                else:
                    mine.absorb(more, joined._places(state, more), joined._classes)
        return joined

    def _places(self, state: dict[str, Any], counts: _Counts) -> NDArray[np.intp]:
        """Which numbers the classes of a state have here."""
        if not isinstance(self._model, OneVsAll):
            return np.arange(2)
        places = places_of(state, self._model)
        if len(places) < counts.classes:
            raise ModelFileError("this is not the state of a baseline: it has counted classes that it does not name")
        return places


class LastLabel:
    """What it scores to repeat the last label: the baseline of a stream that is followed.

    `add` labels in the order of the stream, those of rows that are learned; the first has nothing to be compared with.
    The metrics are those of labels: "accuracy" and "error_rate" for classes; "rmse", "mae", "mse" and "r2" for numbers,
    and another "loss" if labels are in the unit of scores.

    Example:
        >>> import unitless as ul
        >>> from unitless.metrics.baseline import LastLabel
        >>> last = LastLabel(ul.Learner(loss="logistic"))
        >>> last.add([True, True, False, False, False])
        >>> last.metrics
        {'accuracy': 0.75, 'error_rate': 0.25}
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._loss = LOSSES[model.options.loss]
        self._numbers = not isinstance(model, OneVsAll) and not self._loss.for_classes
        self._judge = Learner(loss=self._loss.of_a_score, quantile=model.options.quantile)
        self._reader = Evaluation(model, small=True)
        self._last: float | None = None
        self._weight = self._first = self._second = 0.0  # sums of what is between a label and the one before it
        self._lost = 0.0  # the sum of losses
        self._labels = LabelSums()

    def add(self, labels: Any, weight: Any = None) -> None:
        """Labels as `learn` takes them, in order. Weight 0 does not count."""
        self.add_numbered(*self._reader.read_labels(labels, weight))

    def add_numbered(self, labels: NDArray[Any], weight: Float64 | None) -> None:
        """The same for classes by number, and for numbers."""
        if not self._numbers and weight is None and len(labels):
            self._add_classes(labels)
            return
        y = labels.astype(np.float64)
        h = weight
        if h is not None and not h.all():
            y, h = y[h > 0], h[h > 0]
        if not len(y):
            return
        before = np.concatenate([[math.nan if self._last is None else self._last], y[:-1]])
        if self._last is None:
            now, before, h = y[1:], before[1:], None if h is None else h[1:]
        else:
            now = y
        self._last = float(y[-1])
        with np.errstate(over="ignore"):
            step = np.abs(now - before) if self._numbers else (now != before).astype(np.float64)
            self._first = float(running(self._first, step, h)[-1])
            self._second = float(running(self._second, step * step, h)[-1])
            if self._numbers and self._loss.in_label_unit:
                lost = step * step if self._loss.is_squared_error else self._judge.losses(before, now)
                self._lost = float(running(self._lost, lost, h)[-1])
        self._weight = float(running(self._weight, h, None, len(now))[-1])
        if self._numbers:
            self._labels.add(now, h)

    def _add_classes(self, labels: NDArray[Any]) -> None:
        """Classes without weights."""
        changed = labels[1:] != labels[:-1]
        if self._last is not None:
            changed = np.concatenate([labels[:1] != self._last, changed])
        self._last = float(labels[-1])
        self._first = total_where(self._first, changed, None)
        self._second = total_where(self._second, changed, None)
        self._weight = float(running(self._weight, None, None, len(changed))[-1])

    @property
    def metrics(self) -> dict[str, float]:
        """By name; nothing before two labels were met."""
        if not self._weight:
            return {}
        first, second = self._first / self._weight, self._second / self._weight
        if not self._numbers:
            return {"accuracy": 1 - first, "error_rate": first}
        r2 = 1 - metrics.ratio(second, self._labels.variance)
        shown = self._loss.in_label_unit and not self._loss.is_squared_error
        loss = {"loss": self._lost / self._weight} if shown else {}
        return {**loss, "rmse": math.sqrt(second), "mae": first, "mse": second, "r2": r2}

    def state(self) -> dict[str, Any]:
        """All that has been counted, as JSON can keep it, for `restore`."""
        return {
            "version": STATE_VERSION,
            "last": None if self._last is None else self._last.hex(),
            "sums": [one.hex() for one in (self._weight, self._first, self._second)],
            "labels": self._labels.state(),
            "lost": self._lost.hex(),
        }

    @classmethod
    def restore(cls, model: Learner | OneVsAll, state: dict[str, Any]) -> LastLabel:
        """What had this state, for a model of the same kind."""
        last = cls(model)
        try:
            if state["version"] != STATE_VERSION:
                raise ValueError(f"its format is {state['version']!r}, this version of unitless reads {STATE_VERSION}")
            last._last = None if state["last"] is None else float.fromhex(state["last"])
            last._weight, last._first, last._second = map(float.fromhex, state["sums"])
            last._labels = LabelSums.restore(state["labels"])
            last._lost = float.fromhex(state["lost"])
            if not all(one >= 0 for one in (last._weight, last._first, last._second)):
                raise ValueError("sums that are negative")
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise ModelFileError(f"this is not the state of a baseline: {error}") from None
        return last


def skill(metrics: Mapping[str, float], baseline: Mapping[str, float], by: str | None = None) -> float:
    """The share of a baseline's error that is removed: 1 - error/baseline's error; NaN if the baseline has no error.

    Args:
        metrics: a model's metrics.
        baseline: the baseline's metrics on the same rows.
        by: which metric. Default: "error_rate" for classes; "rmse" for numbers, which is squared, so that the skill is
            R², with the mean of the rows that were learned.
    """
    name = by or ("error_rate" if "error_rate" in metrics else "rmse")
    if name not in metrics or name not in baseline:
        raise InputError(f"{name!r} is not both a metric of the model and of the baseline")
    error, trivial = metrics[name], baseline[name]
    if name == "rmse":
        error, trivial = error * error, trivial * trivial
    return 1 - error / trivial if trivial else math.nan
