"""How good predictions were: metrics over a stream, in constant memory, with confidence intervals.

Every number here is a running sum, so that a stream of any length can be evaluated as it passes. With the predictions
of `learn`, which were made before each row was learned, the result is an out-of-sample score of the whole stream
(progressive validation).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import InputError, OptionError
from ..inputs import Float64
from ..losses import LOSSES
from ..models.classes import Label
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored
from . import records
from .coverage import Coverage, Predicted
from .held_errors import HeldErrors
from .history import Moment, Track
from .intervals import chernoff_interval, rmse_interval
from .ranking import Ranking
from .rows import Rows, rows_of
from .states import reading
from .sums import BLOCK, MetricSums
from .tallies import ClassTally, NumberTally


class Evaluation:
    """Metrics of a model's predictions over a stream.

    Everything is added up row by row, in the stream's order: however the stream is cut into calls of `add`, and
    wherever it is interrupted, kept by `state` and taken up again by `restore`, the numbers are the same to the last
    bit.

    Args:
        model: whose predictions they are; it says which loss and which classes, and is not changed.
        small: take as little memory as possible, for hundreds of evaluations side by side.
        intervals: what counts how good the intervals around the predictions are, or the sets of classes.
    """

    def __init__(
        self, model: Learner | OneVsAll, *, small: bool = False, intervals: Coverage | HeldErrors | None = None
    ) -> None:
        if not isinstance(model, Learner | OneVsAll):
            raise InputError(f"only a Learner or a OneVsAll can be evaluated, not {model!r}")
        self._model, self._loss = model, LOSSES[model.options.loss]
        self.sums = MetricSums(model, small=small)
        self._small = small
        self.intervals = intervals
        self._octaves, self._quarters = Track(per_octave=1), Track(per_octave=4)
        self._latest: Scored | None = None
        self.examples = 0

    @property
    def weight(self) -> float:
        """That of all examples."""
        return self.sums.weight

    def add(self, predictions: Any, y: Any, weight: Any = None) -> None:
        """Count predictions (scores, as `learn` and `predict` give them) against labels. Weight 0 does not count.

        All that is given is checked before anything is counted.
        """
        self.count(Scored.read(self._model, predictions, y, weight))

    def count(self, scored: Scored) -> None:
        """Count rows, in their order."""
        scored = scored.counted
        if not self._small:  # hundreds of them would keep as many batches in memory
            self._latest = scored
        with np.errstate(over="ignore", invalid="ignore"):  # predictions may be infinite; then so are their losses
            for block in scored.blocks(BLOCK):
                self._count(block)

    def _count(self, scored: Scored) -> None:
        """Rows that all have a weight."""
        rows = self._rows(scored)
        if self.intervals is not None:
            self.intervals.count(Predicted.of(rows), scored.weight)
        next_moment = min(self._octaves.next, self._quarters.next)
        if self.examples + len(scored) < next_moment:
            self.sums.add(rows, scored.weight)
            self.examples += len(scored)
        elif self.sums.in_core:
            self._count_to_moments(scored)
        else:
            running = self.sums.follow(rows, scored.weight)
            losses, errors, weights = running["loss"], running.get("error_rate"), running["weight"]
            for track in (self._octaves, self._quarters):
                while (at := track.next - self.examples) <= len(scored):
                    error = None if errors is None else float(errors[at])
                    track.record(track.next, float(weights[at]), float(losses[at]), error)
            self.examples += len(scored)

    def _count_to_moments(self, scored: Scored) -> None:
        """Rows in parts that end where a moment is to be kept: the core gives the sums at the end."""
        while len(scored):
            until = min(self._octaves.next, self._quarters.next) - self.examples
            part, scored = scored[:until], scored[until:]
            self.sums.add(self._rows(part), part.weight)
            self.examples += len(part)
            for track in (self._octaves, self._quarters):
                if track.next == self.examples:
                    track.record(*self._totals)

    def _rows(self, scored: Scored) -> Rows:
        return rows_of(self._model, self.sums.judge, scored)

    def latest(self, metric: str) -> tuple[Float64, Float64 | None]:
        """What each row of the last call of `add` added to a metric that is a mean over rows; and the rows' weights.

        Rows without weight are not among them. No weights: each counts 1.
        """
        each = next((one.each for one in records.of(self._model.task, self._loss) if one.name == metric), None)
        if each is None:
            raise OptionError(f"there is no metric {metric!r} of single rows")
        if self._latest is None:
            return np.zeros(0), None
        with np.errstate(over="ignore", invalid="ignore"):
            blocks = [each(self._rows(block)) for block in self._latest.blocks(BLOCK)]
        return np.concatenate([np.zeros(0), *blocks]), self._latest.weight

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
        return self._octaves.moment(*self._totals)

    @property
    def _totals(self) -> tuple[int, float, float, float | None]:
        """Examples so far, and the sums that moments are made of: weight, losses, errors."""
        sums = self.sums.by_name
        return self.examples, self.weight, sums["loss"], sums.get("error_rate")

    @property
    def metrics(self) -> dict[str, float]:
        """All metrics by name: means per unit of weight; of two classes AUC, and precision, recall and F1 of the
        positive one; of numbers RMSE and R². What nothing is known of, such as the precision where no row was predicted
        to be positive, is not a number.
        """
        return self.sums.metrics if self.intervals is None else self.sums.metrics | self.intervals.metrics

    @property
    def loss(self) -> float:
        """The mean training loss."""
        return self.sums.by_name["loss"] / self.weight if self.examples else math.nan

    @property
    def ranking(self) -> Ranking | None:
        """Of two classes, how the scores rank them."""
        return self.sums.tally if isinstance(self.sums.tally, Ranking) else None

    @property
    def label_limits(self) -> tuple[float, float]:
        """Of numbers, the smallest and the largest label; infinite before there was one."""
        return self.sums.tally.limits if isinstance(self.sums.tally, NumberTally) else (math.inf, -math.inf)

    @property
    def judged_by(self) -> str:
        """The metric by which models are ranked by default: "error_rate" for classes; "rmse", or another "loss"."""
        return records.judged_by(self._model.task, self._loss)

    @property
    def is_squared_error(self) -> bool:
        """Whether the loss is the squared error, of which people read the root."""
        return self._loss.is_squared_error

    @property
    def per_class(self) -> dict[Label, dict[str, float]]:
        """By class: how much of the weight it has, its precision and its recall."""
        return self.sums.tally.per_class(self.weight) if isinstance(self.sums.tally, ClassTally) else {}

    @property
    def interval(self) -> tuple[float, float]:
        """Where the error, or for numbers the RMSE, truly lies, with 90% confidence: see `chernoff_interval`.

        For numbers squared errors are put in units of the labels' range (and cut off there), as the paper does. With
        weights, n is the number of equally weighted examples that would be worth as much.
        """
        if not self.examples:
            return math.nan, math.nan
        n, sums = self._equal_examples, self.sums.by_name
        if "error_rate" in sums:
            return chernoff_interval(min(1.0, sums["error_rate"] / self.weight), n)
        low, high = self.label_limits
        span = high - low
        if span == 0:
            return 0.0, 0.0
        rmse = math.sqrt(sums.get("squared", sums["loss"]) / self.weight)
        share = min(1.0, rmse / span) ** 2 if math.isfinite(rmse) else 1.0
        low, high = chernoff_interval(share, n)
        return span * math.sqrt(low), span * math.sqrt(high)

    @property
    def _equal_examples(self) -> float:
        """The number of equally weighted examples that would be worth as much: at least one.

        Where the squares of the weights are beyond the range of float64, only that is known.
        """
        squared = self.sums.squared_weight
        return max(1.0, self.weight / squared * self.weight) if 0 < squared < math.inf else 1.0

    @property
    def tail(self) -> float:
        """The variance of the squared errors relative to their squared mean: 2 for normal errors; 0 if unknown."""
        return self._squares()[1] * self._equal_examples if isinstance(self.sums.tally, NumberTally) else 0.0

    def hold_out_interval(self, tail: float = 0.0) -> tuple[float, float]:
        """The 90% confidence interval of the error rate or the RMSE of a model that did not change meanwhile.

        For numbers it is computed from the spread of the squared errors, so that it is narrow where errors are small
        compared with the range of the labels. See `rmse_interval`.

        Args:
            tail: the `tail` of other predictions of the model, which may show larger errors than these. Default: 0.
        """
        if not isinstance(self.sums.tally, NumberTally) or not self.examples:
            return self.interval
        mean, relative = self._squares()
        if not math.isfinite(relative) or self.examples < 2:
            return self.interval
        return rmse_interval(mean, max(relative * self._equal_examples, tail), self._equal_examples)

    def _squares(self) -> tuple[float, float]:
        """For numbers: the mean of the squared errors, and the variance of this mean relative to its square."""
        assert isinstance(self.sums.tally, NumberTally)
        if self.sums.tally.spread is None or not self.examples:
            return math.nan, math.nan
        (second, fourth), sums = self.sums.tally.spread, self.sums
        mean = sums.by_name.get("squared", sums.by_name["loss"]) / self.weight
        variance = (fourth - 2 * mean * second + mean * mean * sums.squared_weight) / self.weight / self.weight
        if mean == 0:
            return mean, 0.0
        with np.errstate(over="ignore"):
            return mean, float(np.float64(max(0.0, variance)) / mean / mean)

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
            **self.sums.state(),
            "examples": self.examples,
            "history": self._octaves.state(),
            "curve": self._quarters.state(),
            "intervals": self.intervals.state() if isinstance(self.intervals, Coverage) else None,
        }

    @classmethod
    def restore(cls, model: Learner | OneVsAll, state: dict[str, Any], *, by_label: bool = False) -> Evaluation:
        """The evaluation that had this state, of a model of the same kind; it goes on as if it had never stopped.

        Args:
            model: whose predictions they are.
            state: what `state` gave.
            by_label: the model may number its classes in another way. Then intervals, which follow a stream, do not go
                on.
        """
        evaluation = cls(model)
        with reading("an evaluation"):
            evaluation.sums.restore(state, by_label)
            evaluation.examples = examples = state["examples"]
            if type(examples) is not int or not 0 <= examples < 2**63 or bool(examples) != bool(evaluation.weight):
                raise ValueError("an impossible number of examples")
            evaluation._octaves = Track.restore(1, examples, state["history"])
            evaluation._quarters = Track.restore(4, examples, state["curve"])
            if state["intervals"] is not None and model._errors is not None and not by_label:
                evaluation.intervals = Coverage.restore(state["intervals"], model._errors)
        return evaluation

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
            joined.absorb(cls.restore(model, state, by_label=True))
        if after is None:
            return joined
        whole = cls.restore(model, after, by_label=True)
        whole.absorb(joined, later=True)
        return whole

    def absorb(self, other: Evaluation, *, later: bool = False) -> None:
        """Count what another evaluation of the same model, as small as this one, has counted.

        Args:
            other: intervals are counted too if they do not follow the rows.
            later: the other one began where this one ended. Default: both were made side by side.
        """
        if not other.examples:
            return
        for mine, its in ((self._octaves, other._octaves), (self._quarters, other._quarters)):
            (mine.append if later else mine.join)(self.now, its, other.now)
        self.sums.absorb(other.sums)
        self.examples += other.examples
        if isinstance(self.intervals, Coverage) and isinstance(other.intervals, Coverage):
            self.intervals.absorb(other.intervals)
        else:
            self.intervals = None
