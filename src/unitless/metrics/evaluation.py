"""Metrics of predictions over a stream, in constant memory, with confidence intervals.

Every number is a running sum, so a stream of any length can be evaluated in one pass. The predictions that `learn`
returns were made before each row was learned; their metrics are out of sample (progressive validation).
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
from .coverage import Coverage, predicted
from .history import Moment, Track
from .holdout_errors import HoldoutErrors
from .intervals import chernoff_interval, rmse_interval
from .ranking import Ranking
from .rows import Rows, rows_of
from .states import reading
from .sums import BLOCK, MetricSums
from .tallies import ClassTally, NumberTally


class Evaluation:
    """Metrics of a model's predictions over a stream.

    All sums are updated row by row, in the stream's order. The metrics are the same to the last bit, whatever the
    division of the stream into calls of `add`, and whether or not it is interrupted by `state` and `restore`.

    Args:
        model: the model that makes the predictions. It defines the loss and the classes, and is not changed.
        small: use as little memory as possible, for hundreds of simultaneous evaluations. Default: False.
        intervals: counts the coverage of prediction intervals, or of prediction sets. Default: not counted.

    Example:
        >>> import unitless as ul
        >>> model = ul.Learner(loss="logistic")
        >>> evaluation = ul.metrics.Evaluation(model)
        >>> for k in range(3):  # three chunks of a stream
        ...     X, y = [[i % 2] for i in range(100)], [i % 2 for i in range(100)]
        ...     evaluation.add(model.learn(X, y), y)
        >>> evaluation.examples, evaluation.metrics["accuracy"] > 0.98
        (300, True)
    """

    def __init__(
        self, model: Learner | OneVsAll, *, small: bool = False, intervals: Coverage | HoldoutErrors | None = None
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
        """The total weight of all examples."""
        return self.sums.weight

    def add(self, predictions: Any, y: Any, weight: Any = None) -> None:
        """Count predictions (scores, as `learn` and `predict` return them) against labels.

        Rows of weight 0 do not count.

        All arguments are checked before anything is counted.
        """
        self.count(Scored.read(self._model, predictions, y, weight))

    def count(self, scored: Scored) -> None:
        """Count predicted rows, in their order."""
        scored = scored.counted
        if not self._small:  # hundreds of small evaluations would keep as many batches in memory
            self._latest = scored
        with np.errstate(over="ignore", invalid="ignore"):  # predictions may be infinite; then so are their losses
            for block in scored.blocks(BLOCK):
                self._count(block)

    def _count(self, scored: Scored) -> None:
        """Count rows that all have a positive weight."""
        rows = self._rows(scored)
        if self.intervals is not None:
            self.intervals.count(predicted(rows), scored.weight)
        next_moment = min(self._octaves.next, self._quarters.next)
        if self.examples + len(scored) < next_moment:
            self.sums.add(rows, scored.weight)
            self.examples += len(scored)
        elif self.sums.in_core:
            self._count_to_moments(scored)
        else:
            running = self.sums.add_each(rows, scored.weight)
            losses, errors, weights = running["loss"], running.get("error_rate"), running["weight"]
            for track in (self._octaves, self._quarters):
                while (at := track.next - self.examples) <= len(scored):
                    error = None if errors is None else float(errors[at])
                    track.record(track.next, float(weights[at]), float(losses[at]), error)
            self.examples += len(scored)

    def _count_to_moments(self, scored: Scored) -> None:
        """Count rows in parts that end at the history's moments: the core returns only the sums at the end."""
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
        """The contribution of each row of the last call of `add` to a metric that is a mean over rows.

        And the rows' weights.

        Rows of weight 0 are left out. Weights are None if each row counts 1.
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
        """The metrics after 1, 2, 4, 8, ... examples."""
        return self._octaves.moments

    @property
    def curve(self) -> list[Moment]:
        """The metrics at four times as many moments as `history`, for plots: after 1, 2, ..., 8, 10, ... examples."""
        return self._quarters.moments

    @property
    def curve_to_now(self) -> list[Moment]:
        """`curve`, and the metrics after all examples so far as its last moment."""
        now = self.now
        return [*self.curve, *([now] if self.curve and now.examples > self.curve[-1].examples else [])]

    @property
    def now(self) -> Moment:
        """The metrics after all examples so far."""
        if not self.examples:
            return Moment(0, 0.0, math.nan, math.nan, None)
        return self._octaves.moment(*self._totals)

    @property
    def _totals(self) -> tuple[int, float, float, float | None]:
        """The number of examples and the sums that a `Moment` is made from: weight, losses, errors."""
        sums = self.sums.by_name
        return self.examples, self.weight, sums["loss"], sums.get("error_rate")

    @property
    def metrics(self) -> dict[str, float]:
        """All metrics by name: means per unit of weight.

        For two classes also AUC, and precision, recall and F1 of the positive class; for numbers also RMSE and R². A
        metric that is not defined, such as the precision where no row was predicted to be positive, is NaN.
        """
        return self.sums.metrics if self.intervals is None else self.sums.metrics | self.intervals.metrics

    @property
    def loss(self) -> float:
        """The mean training loss."""
        return self.sums.by_name["loss"] / self.weight if self.examples else math.nan

    @property
    def ranking(self) -> Ranking | None:
        """For two classes: how well the scores rank the examples."""
        return self.sums.tally if isinstance(self.sums.tally, Ranking) else None

    @property
    def label_limits(self) -> tuple[float, float]:
        """For numbers: the smallest and the largest label; infinite before the first label."""
        return self.sums.tally.limits if isinstance(self.sums.tally, NumberTally) else (math.inf, -math.inf)

    @property
    def judged_by(self) -> str:
        """The metric by which models are ranked by default: "error_rate" for classes.

        "rmse", or "loss" for other losses.
        """
        return records.judged_by(self._model.task, self._loss)

    @property
    def is_squared_error(self) -> bool:
        """Whether the loss is the squared error, which is reported as its root."""
        return self._loss.is_squared_error

    @property
    def per_class(self) -> dict[Label, dict[str, float]]:
        """For each class: its share of the weight, its precision and its recall."""
        return self.sums.tally.per_class(self.weight) if isinstance(self.sums.tally, ClassTally) else {}

    @property
    def interval(self) -> tuple[float, float]:
        """The 90% confidence interval of the error rate, or of the RMSE for numbers: see `chernoff_interval`.

        For numbers, squared errors are divided by the squared range of the labels and limited to 1, as in the paper.
        With weights, n is the effective number of examples (the number of equally weighted examples with the same
        variance).
        """
        return self._interval(self.equal_examples)

    def _interval(self, n: float) -> tuple[float, float]:
        """The interval for as much information as `n` independent examples have."""
        if not self.examples:
            return math.nan, math.nan
        sums = self.sums.by_name
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
    def equal_examples(self) -> float:
        """The effective number of examples: the number of equally weighted examples with the same variance; at least 1.

        It is 1 where the squares of the weights overflow float64.
        """
        squared = self.sums.squared_weight
        return max(1.0, self.weight / squared * self.weight) if 0 < squared < math.inf else 1.0

    @property
    def tail(self) -> float:
        """The variance of the squared errors relative to their squared mean: 2 for normal errors; 0 if unknown."""
        return self._squares()[1] * self.equal_examples if isinstance(self.sums.tally, NumberTally) else 0.0

    def hold_out_interval(self, tail: float = 0.0, design: float = 1.0) -> tuple[float, float]:
        """The 90% confidence interval of the error rate or the RMSE of a model that did not change meanwhile.

        For numbers it is computed from the spread of the squared errors, so that it is narrow where errors are small
        compared with the range of the labels. See `rmse_interval`.

        Args:
            tail: the `tail` of other predictions of the model, which may show larger errors than these. Default: 0.
            design: how many rows are worth one independent row: see `design_effect`. Default: 1.
        """
        independent = max(1.0, self.equal_examples / design)
        if not isinstance(self.sums.tally, NumberTally) or not self.examples:
            return self._interval(independent)
        mean, relative = self._squares()
        if not math.isfinite(relative) or self.examples < 2:
            return self._interval(independent)
        return rmse_interval(mean, max(relative * self.equal_examples, tail), independent)

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
        """All counts as JSON-compatible values, for `restore`.

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
        """Rebuild an evaluation from its state, for a model of the same kind; it continues without a difference.

        Args:
            model: the model that makes the predictions.
            state: what `state` returned.
            by_label: allow the model to number its classes differently. Then the coverage of intervals that depend on a
                stream is not continued. Default: False.
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
        """Build one evaluation of all rows from the states of evaluations of parts of them.

        All but the history is what one evaluation of all rows would have counted, to rounding. The history has the
        moments at which all parts had counted equally many examples: with 16 parts after 16, 32, 64, ... examples in
        all. Parts are added up in the given order, so the same states give the same bits. The state of a joined
        evaluation can be joined again.

        Args:
            model: the model that makes the predictions. Classes are matched by label: each part may have its own order.
            states: the states of the parts.
            after: the state of an evaluation of earlier rows, such as the rounds before. Its history continues with one
                moment, at the end of these rows, if the number of examples has about doubled since the last one
                (`curve`: if it has grown by about a fifth). Default: no earlier rows.

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
        """Add the counts of another evaluation of the same model, made with the same `small`.

        Args:
            other: the other evaluation; its intervals are counted too if they do not depend on the stream.
            later: whether the other evaluation began where this one ended. Default: both cover the same time.
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
