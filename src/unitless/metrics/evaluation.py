"""How good predictions were: metrics over a stream, in constant memory, with honest intervals.

Every number here is a running sum, so that a stream of any length can be evaluated as it passes. With the predictions
of `learn`, which were made before each row was learned, the result is an out-of-sample score of the whole stream
(progressive validation).

Example:
    >>> import numpy as np, unitless as ul
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2)) * [1e-3, 1e3]
    >>> y = X @ [1000, -0.001] > 0
    >>> result = ul.metrics.progressive(ul.Learner(loss="logistic"), X, y)
    >>> print(", ".join(f"{name} {value:.3f}" for name, value in result.metrics.items()))
    accuracy 0.987, error_rate 0.013, log_loss 0.185, brier 0.047, auc 0.999, precision 0.988, recall 0.986, f1 0.987
    >>> low, high = result.interval  # of the error, with 90% confidence
    >>> bool(low < result.metrics["error_rate"] < high)
    True
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import inputs
from ..errors import InputError, ModelFileError, OptionError
from ..inputs import Float64
from ..losses import LOSSES
from ..models.classes import Label
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from . import records as metrics
from .coverage import Coverage, Predicted
from .held_errors import HeldErrors
from .history import Moment, Track
from .intervals import CONFIDENCE, chernoff_interval, relative_entropy, rmse_interval
from .label_sums import LabelSums, running
from .ranking import Ranking, SmallRanking
from .records import Found

__all__ = [
    "CONFIDENCE",
    "Evaluation",
    "Moment",
    "Progressive",
    "Ranking",
    "chernoff_interval",
    "progressive",
    "relative_entropy",
]

STATE_VERSION = 1
_BLOCK = 16_000  # so many numbers at a time stay in the cache, and in memory that need not be asked for anew


class Evaluation:
    """Metrics of a model's predictions over a stream.

    Everything is added up row by row, in the stream's order: however the stream is cut into calls of `add`, and
    wherever it is interrupted, kept by `state` and taken up again by `restore`, the numbers are the same to the last
    bit.

    Args:
        model: whose predictions they are; it says which loss and which classes, and is not changed.
        small: take as little memory as possible, for hundreds of evaluations side by side; it has no `state`.
        intervals: what counts how good the intervals around the predictions are, or the sets of classes.
    """

    def __init__(
        self, model: Learner | OneVsAll, *, small: bool = False, intervals: Coverage | HeldErrors | None = None
    ) -> None:
        if not isinstance(model, Learner | OneVsAll):
            raise InputError(f"only a Learner or a OneVsAll can be evaluated, not {model!r}")
        self._model, self._loss = model, LOSSES[model.options.loss]
        self._judge = Learner(loss=self._loss.of_a_score, quantile=model.options.quantile)
        self._binary = isinstance(model, Learner) and self._loss.for_classes
        self._task = "classes" if isinstance(model, OneVsAll) else self._loss.task
        self._sums: dict[str, float] = {}
        self._small = small
        self.intervals = intervals
        self._ranking: Ranking | SmallRanking | None = None
        if self._binary:
            self._ranking = SmallRanking() if small else Ranking()
        self._label_sums = LabelSums() if self._task == "regression" else None
        self._confusion: Float64 = np.zeros((3, 0))  # by class: seen, predicted, both
        self._labels = (math.inf, -math.inf)
        self._octaves, self._quarters = Track(per_octave=1), Track(per_octave=4)
        self._latest: tuple[Float64, NDArray[Any], Float64 | None] | None = None
        self.examples = 0
        self.weight = self._squared_weight = 0.0
        self._spread: tuple[float, float] | None = (0.0, 0.0)  # of numbers: sums of h² e² and h² e⁴; not in the state

    # What is given is checked whole before anything is counted; what comes after the check cannot fail.

    def add(self, predictions: Any, y: Any, weight: Any = None) -> None:
        """Count predictions (scores, as `learn` and `predict` give them) against labels. Weight 0 does not count."""
        try:
            p = np.asarray(predictions, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("predictions are not all numbers") from None
        if p.ndim == 0 or np.isnan(p).any():
            raise InputError("predictions must be numbers, one or more for each row")
        h = self._weights(weight, len(p), "predictions")
        several = isinstance(self._model, OneVsAll)
        truth: NDArray[Any] = self._class_numbers(p, y, h) if several else self._label_numbers(p, y)
        self._add(p, truth, h)

    @staticmethod
    def _weights(weight: Any, rows: int, beside: str) -> Float64 | None:
        h = None if weight is None else inputs.vector(weight, "weight", rows, beside)
        if h is not None and not (np.isfinite(h) & (h >= 0)).all():
            raise InputError("weights must be finite and not negative")
        return h

    def read_labels(self, y: Any, weight: Any = None) -> tuple[NDArray[Any], Float64 | None]:
        """Labels and weights as they are counted: numbers, whether rows are positive, or the numbers of classes."""
        rows = len(y)
        h = self._weights(weight, rows, "y")
        if isinstance(self._model, OneVsAll):
            return self._class_numbers(np.zeros((rows, 0)), y, h), h
        return self._label_numbers(np.zeros(rows), y), h

    def add_numbered(self, scores: Float64, numbers: NDArray[np.intp], weight: Float64 | None) -> None:
        """The same for classes by number; a number beyond the model's classes is a class that it does not know."""
        self._add(scores, numbers, weight)

    def _add(self, p: Float64, truth: NDArray[Any], h: Float64 | None) -> None:
        several = isinstance(self._model, OneVsAll)
        if h is not None and not h.all():
            counted = h > 0
            p, truth, h = p[counted], truth[counted], h[counted]
        if h is not None and (h == 1).all():
            h = None
        if not self._small:  # hundreds of them would keep as many batches in memory
            self._latest = p, truth, h
        step = max(64, _BLOCK // max(1, p.shape[1])) if several else _BLOCK
        with np.errstate(over="ignore", invalid="ignore"):  # predictions may be infinite; then so are their losses
            for start in range(0, len(p), step):
                block = slice(start, start + step)
                self._count(p[block], truth[block], None if h is None else h[block])

    def _label_numbers(self, p: Float64, y: Any) -> Float64 | NDArray[np.bool_]:
        """Labels that the loss accepts; of two classes, whether they are the positive one."""
        if p.ndim != 1:
            raise InputError(f"predictions have {p.ndim} dimensions; a Learner makes one per row")
        labels = inputs.vector(y, "y", len(p), "predictions")
        if not self._binary:
            least = -sys.float_info.max if self._loss.smallest_label is None else self._loss.smallest_label
            if len(labels) and not least <= labels.min() <= labels.max() <= sys.float_info.max:
                self._judge.losses(p, labels)  # which says what is wrong, and where
            return labels
        positive: NDArray[np.bool_] = labels == 1
        zeros, ones = np.count_nonzero(labels == 0), np.count_nonzero(positive)
        if zeros + ones < len(labels) and (zeros or ones + np.count_nonzero(labels == -1) < len(labels)):
            self._judge.losses(p, labels)
        return positive

    def _class_numbers(self, scores: Float64, y: Any, h: Float64 | None) -> NDArray[np.intp]:
        """Each label's place among the model's classes."""
        assert isinstance(self._model, OneVsAll)
        if scores.ndim != 2 or scores.shape[1] > len(self._model.classes):
            raise InputError("predictions must be scores: one row per example, one column per class")
        numbers, new = self._model._classes.numbers(y, len(scores), h)
        if new:
            raise InputError(f"class {new[0]!r} is not among the model's classes")
        return numbers.astype(np.intp)

    def _count(self, p: Float64, truth: NDArray[Any], h: Float64 | None) -> None:
        """Rows in order, all with a weight; no weights: each counts 1."""
        rows = self._rows(p, truth)
        if self.intervals is not None:
            self.intervals.count(Predicted.of(rows), h)
        if isinstance(rows, metrics.ClassRows):
            self._confuse(truth, rows.best, h)
        elif self._ranking is not None:
            if self._loss.link.gives_probabilities and isinstance(self._ranking, Ranking):
                self._score(self._ranking, np.ascontiguousarray(p), truth, h)
                return
            self._ranking.add(p, truth, h)
        else:
            self._labels = (min(self._labels[0], float(truth.min())), max(self._labels[1], float(truth.max())))
            if self._label_sums is not None:
                self._label_sums.add(truth, h)
        each = metrics.each(rows, self._task, self._loss)
        if self._spread is not None and isinstance(rows, metrics.NumberRows):
            squares, hh = each.get("squared", each["loss"]), None if h is None else h * h
            second, fourth = self._spread
            self._spread = (
                float(running(second, squares, hh)[-1]),
                float(running(fourth, squares * squares, hh)[-1]),
            )
        self._total(each, len(p), h)

    def _rows(self, p: Float64, truth: NDArray[Any]) -> metrics.Rows:
        if isinstance(self._model, OneVsAll):
            scores = np.ascontiguousarray(p.T)
            return metrics.ClassRows(scores, truth, metrics.winners(scores), self._model, self._judge)
        if self._binary:
            return metrics.BinaryRows(p, truth, self._judge)
        return metrics.NumberRows(p, truth, self._judge)

    def latest(self, metric: str) -> tuple[Float64, Float64 | None]:
        """What each row of the last call of `add` added to a metric that is a mean over rows; and the rows' weights.

        Rows without weight are not among them. No weights: each counts 1.
        """
        each = next((one.each for one in metrics.of(self._task, self._loss) if one.name == metric), None)
        if each is None:
            raise OptionError(f"there is no metric {metric!r} of single rows")
        if self._latest is None:
            return np.zeros(0), None
        p, truth, h = self._latest
        step = max(64, _BLOCK // max(1, p.shape[1])) if p.ndim > 1 else _BLOCK
        with np.errstate(over="ignore", invalid="ignore"):
            blocks = [each(self._rows(p[k : k + step], truth[k : k + step])) for k in range(0, len(p), step)]
        return np.concatenate([np.zeros(0), *blocks]), h

    def _score(self, ranking: Ranking, p: Float64, positive: NDArray[np.bool_], h: Float64 | None) -> None:
        """Two classes with probabilities, in the core, from one moment that is kept to the next."""
        names = metrics.CORE_SUMS
        others = metrics.each(metrics.BinaryRows(p, positive, self._judge), self._task, self._loss, apart_from=names)
        totals = {name: float(running(self._sums.get(name, 0.0), one, h)[-1]) for name, one in others.items()}
        sums = np.array([*(self._sums.get(name, 0.0) for name in names), self.weight, self._squared_weight])
        for done, last in self._stops(len(p)):
            part = slice(done, last)
            self._judge._score(p[part], positive[part], None if h is None else h[part], sums, ranking.counts)
            loss, error, _, self.weight, self._squared_weight = sums.tolist()
            self.examples += last - done
            for track in (self._octaves, self._quarters):
                if track.next == self.examples:
                    track.record(track.moment(self.examples, self.weight, loss, error), loss)
        self._sums = dict(zip(names, sums.tolist(), strict=False)) | totals

    def _stops(self, rows: int) -> Iterator[tuple[int, int]]:
        """So many rows in parts that end where a moment is to be kept."""
        done = 0
        while done < rows:
            last = min(rows, done + min(self._octaves.next, self._quarters.next) - self.examples)
            yield done, last
            done = last

    def _confuse(self, truth: NDArray[np.intp], best: NDArray[np.intp], h: Float64 | None) -> None:
        missing = len(self._model.classes) - self._confusion.shape[1]  # type: ignore[union-attr]
        if missing:
            self._confusion = np.pad(self._confusion, ((0, 0), (0, missing)))
        known, hit = truth < self._confusion.shape[1], best == truth
        predicted = slice(None) if best[0] >= 0 else slice(0)  # without scores no class is predicted
        for counts, index, rows in zip(self._confusion, (truth, best, truth), (known, predicted, hit), strict=True):
            np.add.at(counts, index[rows], 1.0 if h is None else h[rows])  # one after another, as a loop would

    def _total(self, each: dict[str, Float64], rows: int, h: Float64 | None) -> None:
        """Adds up, with a look at the sums wherever the history or the curve wants one."""
        sums = {name: running(self._sums.get(name, 0.0), values, h) for name, values in each.items()}
        weight = running(self.weight, None if h is None else h, None, rows)
        squared_weight = running(self._squared_weight, None if h is None else h * h, None, rows)
        errors = sums.get("error_rate")
        for track in (self._octaves, self._quarters):
            while (at := track.next - self.examples) <= rows:
                error = None if errors is None else float(errors[at])
                loss = float(sums["loss"][at])
                track.record(track.moment(track.next, float(weight[at]), loss, error), loss)
        self._sums = {name: float(running[rows]) for name, running in sums.items()}
        self.examples += rows
        self.weight, self._squared_weight = float(weight[rows]), float(squared_weight[rows])

    @property
    def history(self) -> list[Moment]:
        """The state after 1, 2, 4, 8, ... examples."""
        return self._octaves.moments

    @property
    def curve(self) -> list[Moment]:
        """The same with four moments where `history` has one, for plots: after 1, 2, 3, 4, 5, 6, 7, 8, 10, ..."""
        return self._quarters.moments

    @property
    def now(self) -> Moment:
        """The state after all examples so far."""
        if not self.examples:
            return Moment(0, 0.0, math.nan, math.nan, None)
        return self._octaves.moment(self.examples, self.weight, self._sums["loss"], self._sums.get("error_rate"))

    @property
    def metrics(self) -> dict[str, float]:
        """All metrics by name: means per unit of weight; of two classes AUC, and precision, recall and F1 of the
        positive one; of numbers RMSE and R². What nothing is known of, such as the precision where no row was predicted
        to be positive, is not a number.
        """
        if not self.examples:
            return {}
        means = {name: total / self.weight for name, total in self._sums.items()}
        found = metrics.values(self._task, self._loss, means, self._found(means))
        return found if self.intervals is None else found | self.intervals.metrics

    def _found(self, means: dict[str, float]) -> Found:
        if (ranking := self._ranking) is not None:
            return Found(area=ranking.area, hits=ranking.hits, predicted=ranking.predicted, positive=ranking.positive)
        if self._label_sums is None:
            return Found()
        variance = self._label_sums.variance
        return Found(squared_error=metrics.squared_error(self._loss, means), variance=variance)

    @property
    def loss(self) -> float:
        """The mean training loss."""
        return self._sums["loss"] / self.weight if self.examples else math.nan

    @property
    def ranking(self) -> Ranking | SmallRanking | None:
        """Of two classes, how the scores rank them."""
        return self._ranking

    @property
    def judged_by(self) -> str:
        """The metric by which models are ranked by default: "error_rate" for classes; "rmse", or another "loss"."""
        return metrics.judged_by(self._task, self._loss)

    @property
    def is_squared_error(self) -> bool:
        """Whether the loss is the squared error, of which people read the root."""
        return self._loss.is_squared_error

    @property
    def per_class(self) -> dict[Label, dict[str, float]]:
        """By class: how much of the weight it has, its precision and its recall."""
        if not isinstance(self._model, OneVsAll):
            return {}
        return {
            label: {
                "share": seen / self.weight if self.weight else math.nan,
                "precision": both / predicted if predicted else math.nan,
                "recall": both / seen if seen else math.nan,
            }
            for label, (seen, predicted, both) in zip(self._model.classes, self._confusion.T.tolist(), strict=False)
        }

    @property
    def interval(self) -> tuple[float, float]:
        """Where the error, or for numbers the RMSE, truly lies, with 90% confidence: see `chernoff_interval`.

        For numbers squared errors are put in units of the labels' range (and cut off there), as the paper does. With
        weights, n is the number of equally weighted examples that would be worth as much.
        """
        if not self.examples:
            return math.nan, math.nan
        n = self._equal_examples
        if "error_rate" in self._sums:
            return chernoff_interval(min(1.0, self._sums["error_rate"] / self.weight), n)
        span = self._labels[1] - self._labels[0]
        if span == 0:
            return 0.0, 0.0
        squared = self._sums.get("squared", self._sums["loss"])
        rmse = math.sqrt(squared / self.weight)
        share = min(1.0, rmse / span) ** 2 if math.isfinite(rmse) else 1.0
        low, high = chernoff_interval(share, n)
        return span * math.sqrt(low), span * math.sqrt(high)

    @property
    def _equal_examples(self) -> float:
        """The number of equally weighted examples that would be worth as much: at least one.

        Where the squares of the weights are beyond the range of float64, only that is known.
        """
        if not 0 < self._squared_weight < math.inf:
            return 1.0
        return max(1.0, self.weight / self._squared_weight * self.weight)

    @property
    def hold_out_interval(self) -> tuple[float, float]:
        """The same for a model that did not change meanwhile: of numbers by the spread of their squared errors.

        It is narrow where errors are small beside the labels' range. See `rmse_interval`.
        """
        if self._task != "regression" or self._spread is None or not self.examples:
            return self.interval
        second, fourth = self._spread
        mean = self._sums.get("squared", self._sums["loss"]) / self.weight
        square = (fourth - 2 * mean * second + mean * mean * self._squared_weight) / self.weight / self.weight
        if not math.isfinite(square) or self.examples < 2:
            return self.interval
        return rmse_interval(mean, math.sqrt(max(0.0, square)), self._equal_examples)

    def state(self) -> dict[str, Any]:
        """All that has been counted, as JSON can keep it, for `restore`.

        Example:
            >>> import json, unitless as ul
            >>> m = ul.Learner(loss="logistic")
            >>> evaluation = ul.metrics.Evaluation(m)
            >>> evaluation.add(m.learn([[1.0], [2.0]], [True, False]), [True, False])
            >>> text = json.dumps(evaluation.state())
            >>> same = ul.metrics.Evaluation.restore(m, json.loads(text))
            >>> same.metrics == evaluation.metrics
            True
        """
        return {
            "version": STATE_VERSION,
            **self._kind(),
            "examples": self.examples,
            "weight": self.weight.hex(),
            "squared_weight": self._squared_weight.hex(),
            "sums": {name: total.hex() for name, total in self._sums.items()},
            "labels": [limit.hex() for limit in self._labels],
            "classes": self._class_labels()[: self._confusion.shape[1]],
            "confusion": [[count.hex() for count in counts] for counts in self._confusion.tolist()],
            "ranking": self._ranking.state() if isinstance(self._ranking, Ranking) else None,
            "label_sums": None if self._label_sums is None else self._label_sums.state(),
            "history": self._octaves.state(),
            "curve": self._quarters.state(),
            "intervals": self.intervals.state() if isinstance(self.intervals, Coverage) else None,
        }

    @classmethod
    def restore(cls, model: Learner | OneVsAll, state: dict[str, Any]) -> Evaluation:
        """The evaluation that had this state, of a model of the same kind; it goes on as if it had never stopped."""
        evaluation = cls._read(model, state)
        known = state["classes"]
        if evaluation._class_labels()[: len(known)] != known:
            raise ModelFileError("the evaluation is of a model with other classes")
        evaluation._restore_intervals(state)
        return evaluation

    def _restore_intervals(self, state: dict[str, Any]) -> None:
        """Those of a stream, which go on with what the model knows of its errors."""
        try:
            if state["intervals"] is not None and self._model._errors is not None:
                self.intervals = Coverage.restore(state["intervals"], self._model._errors)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(f"this is not the state of an evaluation: {error}") from None

    @classmethod
    def join(
        cls, model: Learner | OneVsAll, states: Iterable[dict[str, Any]], *, after: dict[str, Any] | None = None
    ) -> Evaluation:
        """One evaluation of all rows, from the states of evaluations that were made side by side on parts of them.

        All but the history is what one evaluation of all rows would have counted, to rounding. The history has moments
        at which every part had come equally far: with 16 parts after 16, 32, 64, ... examples in all. Parts are added
        up in the order given, so that the same states give the same bits; and a joined evaluation has a state that can
        be joined again.

        Args:
            model: whose predictions they are. Classes are told by their labels: each part may have its own order.
            states: of the parts.
            after: the state of an evaluation of rows that came before all of these, such as the rounds before. Its
                history goes on with one moment, at the end of these rows, if examples have about doubled since the last
                one (`curve`: if there are about a fifth more).

        Example:
            >>> import numpy as np, unitless as ul
            >>> model, rng = ul.Learner(loss="logistic"), np.random.default_rng(0)
            >>> parts = [ul.metrics.Evaluation(model) for _ in range(3)]
            >>> for part in parts:
            ...     scores = rng.normal(size=1000)
            ...     part.add(scores, scores + rng.normal(size=1000) > 0)
            >>> whole = ul.metrics.Evaluation.join(model, [part.state() for part in parts])
            >>> whole.examples, [moment.examples for moment in whole.history][:4]
            (3000, [3, 6, 12, 24])
        """
        joined = cls(model)
        for state in states:
            joined.absorb(cls._renumbered(model, state))
        if after is None:
            return joined
        whole = cls._renumbered(model, after)
        whole._append(joined)
        return whole

    @classmethod
    def _read(cls, model: Learner | OneVsAll, state: dict[str, Any]) -> Evaluation:
        """What had this state; classes are numbered as there."""
        evaluation = cls(model)
        try:
            evaluation._restore(state)
        except ModelFileError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise ModelFileError(f"this is not the state of an evaluation: {error}") from None
        return evaluation

    @classmethod
    def _renumbered(cls, model: Learner | OneVsAll, state: dict[str, Any]) -> Evaluation:
        """What had this state; classes are numbered as the model numbers them."""
        evaluation = cls._read(model, state)
        if isinstance(model, OneVsAll):
            places = places_of(state, model)
            if len(places) != evaluation._confusion.shape[1]:
                raise ModelFileError("this is not the state of an evaluation: it names a class twice")
            counts = np.zeros((3, len(model.classes)))
            counts[:, places] = evaluation._confusion
            evaluation._confusion = counts
        return evaluation

    def _restore(self, state: dict[str, Any]) -> None:
        if state["version"] != STATE_VERSION:
            raise ModelFileError(
                f"this is an evaluation of format {state['version']!r}; this version of unitless reads {STATE_VERSION}"
            )
        for name, value in self._kind().items():
            if state[name] != value:
                raise ModelFileError(
                    f"the evaluation is of a model with {name} {state[name]!r}; this one has {value!r}"
                )
        self.examples = state["examples"]
        if type(self.examples) is not int or not 0 <= self.examples < 2**63:
            raise ValueError("an impossible number of examples")
        self.weight, self._squared_weight = float.fromhex(state["weight"]), float.fromhex(state["squared_weight"])
        self._spread = None
        low, high = map(float.fromhex, state["labels"])
        self._labels = (low, high)
        self._confusion = np.array(
            [list(map(float.fromhex, counts)) for counts in state["confusion"]], dtype=np.float64
        ).reshape(3, len(state["classes"]))
        self._sums = {name: float.fromhex(total) for name, total in state["sums"].items()}
        if self._ranking is not None:
            self._ranking = Ranking.restore(state["ranking"])
        if self._label_sums is not None and self.examples:
            self._label_sums = LabelSums.restore(state["label_sums"])
        self._octaves = Track.restore(1, self.examples, state["history"])
        self._quarters = Track.restore(4, self.examples, state["curve"])
        self._check()

    def _check(self) -> None:
        """That what was restored can have been counted; sums may be infinite, because predictions may."""
        if not self.examples:
            if self._sums or self.weight or self._squared_weight or self._confusion.any():
                raise ValueError("sums without examples")
            return
        if self._sums.keys() != metrics.sums(self._task, self._loss).keys() or not (
            self.weight > 0 and self._squared_weight > 0
        ):
            raise ValueError("sums that do not fit the model")
        if any(total < 0 for name, total in self._sums.items() if name != "loss" or not self._loss.rounds_below_zero):
            raise ValueError("a sum that is negative")
        if not self._sums.get("error_rate", 0.0) <= self.weight or not np.all(self._confusion >= 0):
            raise ValueError("counts that are negative or too large")
        parts = self._ranking.weight if isinstance(self._ranking, Ranking) else self.weight
        if self._label_sums is not None:
            parts = self._label_sums.weight
        if isinstance(self._model, OneVsAll):
            parts = float(self._confusion[0].sum())
        elif self._ranking is None and not -math.inf < self._labels[0] <= self._labels[1] < math.inf:
            raise ValueError("the limits of the labels are not numbers in order")
        if not math.isclose(parts, self.weight, rel_tol=1e-6):
            raise ValueError("counts that do not add up to the weight")

    def absorb(self, other: Evaluation) -> None:
        """Count what another evaluation of the same model, as small as this one, has counted side by side with it.

        Intervals may be counted side by side if they do not follow the rows.
        """
        if other.examples:
            self._octaves.join(self.now, other._octaves, other.now)
            self._quarters.join(self.now, other._quarters, other.now)
            self._count_too(other)

    def _append(self, later: Evaluation) -> None:
        """Count what another evaluation has counted that began where this one ended."""
        if later.examples:
            self._octaves.append(self.now, later._octaves, later.now)
            self._quarters.append(self.now, later._quarters, later.now)
            self._count_too(later)

    def _count_too(self, other: Evaluation) -> None:
        if self._label_sums is not None and other._label_sums is not None:
            self._label_sums.absorb(other._label_sums)
        if isinstance(self.intervals, Coverage) and isinstance(other.intervals, Coverage):
            self.intervals.absorb(other.intervals)
        else:
            self.intervals = None
        for name, total in other._sums.items():
            self._sums[name] = self._sums.get(name, 0.0) + total
        self.examples += other.examples
        self.weight += other.weight
        self._squared_weight += other._squared_weight
        if self._spread is None or other._spread is None:
            self._spread = None
        else:
            self._spread = self._spread[0] + other._spread[0], self._spread[1] + other._spread[1]
        self._labels = (min(self._labels[0], other._labels[0]), max(self._labels[1], other._labels[1]))
        width = max(self._confusion.shape[1], other._confusion.shape[1])
        wide = [np.pad(one._confusion, ((0, 0), (0, width - one._confusion.shape[1]))) for one in (self, other)]
        self._confusion = wide[0] + wide[1]
        if self._ranking is not None:
            self._ranking.absorb(other._ranking)  # type: ignore[arg-type]

    def _kind(self) -> dict[str, Any]:
        """What a model must share with another for its evaluation to be taken up."""
        kind = "OneVsAll" if isinstance(self._model, OneVsAll) else "Learner"
        return {"kind": kind, "loss": self._loss.name, "quantile": self._judge.options.quantile}

    def _class_labels(self) -> list[Label]:
        return self._model.classes if isinstance(self._model, OneVsAll) else []


def places_of(state: dict[str, Any], model: OneVsAll) -> NDArray[np.intp]:
    """Which numbers a model gives to the classes that a state names, in the order of the state."""
    try:
        places = {label: model._classes.known(label) for label in state["classes"]}
    except (LookupError, TypeError) as error:
        raise ModelFileError(f"this is not a state that names its classes: {error}") from None
    strange = [label for label, place in places.items() if place < 0]
    if strange:
        raise ModelFileError(f"class {strange[0]!r} has been counted, but the model does not have it")
    return np.array(list(places.values()), dtype=np.intp)


@dataclass(frozen=True)
class Progressive:
    """The outcome of a progressive validation."""

    predictions: Float64
    evaluation: Evaluation
    baselines: dict[str, dict[str, float]] = field(default_factory=dict)
    """What answers score that know the labels before and nothing else: "repeat the last label" and "running mean" (of
    classes the most frequent one so far). Not where labels come late (`delay`)."""

    @property
    def metrics(self) -> dict[str, float]:
        """All metrics by name."""
        return self.evaluation.metrics

    @property
    def interval(self) -> tuple[float, float]:
        """Where the error truly lies, with 90% confidence."""
        return self.evaluation.interval

    @property
    def history(self) -> list[Moment]:
        """The state after 1, 2, 4, 8, ... examples."""
        return self.evaluation.history

    @property
    def curve(self) -> list[Moment]:
        """The same with four moments where `history` has one, for plots."""
        return self.evaluation.curve


def progressive(model: Learner | OneVsAll, X: Any, y: Any, weight: Any = None, *, delay: int = 0) -> Progressive:
    """Predict every row, then learn it: immediately, or when `delay` further rows have been predicted.

    Labels often come late. With a delay the model predicts a row without having learned the `delay` rows before it;
    those that are left at the end are learned then.
    """
    if not hasattr(delay, "__index__") or isinstance(delay, bool) or delay < 0:
        raise OptionError(f"is {delay!r}; it must be a whole number of rows, 0 or more", option="delay")
    evaluation = Evaluation(model)
    if delay == 0:
        predictions = model.learn(X, y, weight)
    else:
        predictions = _delayed(model, X, inputs.as_array(y, "y"), weight, int(delay))
    evaluation.add(predictions, y, weight)
    from .stream_baselines import StreamBaselines  # noqa: PLC0415  (it reads labels as an evaluation does)

    baselines = StreamBaselines(model)
    if delay == 0:
        baselines.add(y, weight)
    return Progressive(predictions, evaluation, baselines.metrics)


def _delayed(model: Learner | OneVsAll, X: Any, y: np.ndarray[Any, Any], weight: Any, delay: int) -> Float64:
    rows = model._data(X).rows
    if len(y) != rows:
        raise InputError(f"y has {len(y)} values, but X has {rows} rows")
    h = None if weight is None else inputs.vector(weight, "weight", rows)

    def learn(first: int, last: int) -> None:
        model.learn(_slice(X, first, last), y[first:last], None if h is None else h[first:last])

    predictions: list[Float64] = []
    for row in range(rows):
        if row > delay:
            learn(row - delay - 1, row - delay)
        predictions.append(model.predict(_slice(X, row, row + 1)))
    if rows:
        learn(max(0, rows - delay - 1), rows)
    if not isinstance(model, OneVsAll):
        return np.concatenate(predictions) if predictions else np.zeros(0)
    scores = np.full((rows, len(model.classes)), -np.inf)  # a class that was not known yet had no chance
    for row, known in enumerate(predictions):
        scores[row, : known.shape[1]] = known[0]
    return scores


def _slice(X: Any, first: int, last: int) -> Any:
    """Rows of whatever holds rows."""
    if hasattr(X, "iloc"):
        return X.iloc[first:last]
    if hasattr(X, "column_names"):  # pyarrow
        return X.slice(first, last - first)
    return (X.tocsr() if hasattr(X, "tocsr") else X)[first:last]
