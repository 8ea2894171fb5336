"""A session: one model that learns batches and keeps its metrics. All training is a loop over sessions.

A batch goes through five steps: rows that cannot be learned are left out; labels become numbers; the core predicts and
learns the rows; a new class gets no score in the rows before its first one; predictions and labels are counted. Fits,
streams, synchronization rounds, the estimators of scikit-learn and River and the server differ in the batches that they
give and in the metrics that they count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import inputs
from ..data import Batch, Target
from ..data.progress import Progress
from ..data.screening import usable
from ..errors import Error
from ..inputs import Float64
from ..metrics.evaluation import Evaluation
from ..models.learner import Learner
from ..models.model import Model
from ..models.one_vs_all import OneVsAll
from ..models.prediction_errors import calibrate, follow_errors, hide_unmet
from ..models.scored import Scored
from .first_row import first_row, orders_names
from .pending_rows import PendingRows
from .progressive import ProgressiveMetrics

Counted: TypeAlias = Literal["metrics", "errors", "nothing"]


class Counter(Protocol):
    """An object that counts predictions: metrics, a baseline, curves, errors by row."""

    def count(self, scored: Scored) -> None:
        """Count the predictions for some rows."""


class Session:
    """One model that learns batches and keeps its metrics.

    Args:
        model: the model.
        target: how labels are read. Default: None, labels are as the model takes them: numbers, 0 or 1, or classes.
        on_error: what happens to rows that cannot be learned: "fail" or "skip". Default: None, the core refuses a batch
            with such a row.
        level: the level of the prediction intervals whose coverage is a metric. Default: None, intervals are not
            counted.
        stream: whether rows are learned in their order; then the baselines of streams are counted as well. Default:
            False.
        background: whether a background worker counts the metrics of a batch while the next one is learned.

    Example:
        >>> import numpy as np, unitless as ul
        >>> from unitless.data import Batch
        >>> from unitless.data.labels import Numbers
        >>> from unitless.inputs import Dense
        >>> session = Session(ul.Learner())
        >>> x = np.linspace(-1, 1, 100).reshape(-1, 1)
        >>> scored = session.learn(Batch(Dense(x), 100, Numbers(3 * x[:, 0])))
        >>> scored.scores.shape, session.evaluation.examples
        ((100, 1), 100)
    """

    def __init__(
        self,
        model: Learner | OneVsAll,
        target: Target | None = None,
        *,
        on_error: str | None = None,
        level: float | None = None,
        stream: bool = False,
        background: bool = False,
    ) -> None:
        self.model = model
        self.target = target or Target(model.task, ["0", "1"] if model.task == "binary" else [])
        self._on_error, self._level, self._stream = on_error, level, stream
        self.pending = PendingRows()
        # The metrics of classes depend on how many classes the model knows, which must not change meanwhile.
        self._thread = ThreadPoolExecutor(1, "unitless-metrics") if background and model.task != "classes" else None
        self._counting: Future[None] | None = None
        self._metrics: ProgressiveMetrics | None = None  # made when the first rows are counted

    # ---------------------------------------------------------------------------------------------------- the step

    def learn(self, batch: Batch, counted: Counted = "metrics", progress: Progress | None = None) -> Scored:
        """Predict the rows of a batch, learn them, and count how good the predictions were.

        Args:
            batch: rows with labels. Rows without a label are predicted, but neither learned nor counted.
            counted: "metrics": all metrics, baselines and the errors from which prediction intervals are computed;
                "errors": only these errors; "nothing": for rows that were learned before. Default: "metrics".
            progress: the record in which skipped, unlabeled and learned rows are counted.
        """
        counts = Progress() if progress is None else progress
        batch, weight, present = self._readable(batch, counts)
        model = self.model
        with model._locked():  # the core's classes and the model's labels must change together
            numbers, new = self._numbers(batch, weight, present)
            heads, empty = model.heads, model.examples == 0
            with model._joining(new):
                scores = learn_batch(model, batch, numbers, weight, len(new))
        counts.learned += batch.rows if weight is None else int(np.count_nonzero(weight))
        scored = Scored.of(model, scores, numbers, weight, batch.offset)
        if new:
            scored = hide_unmet(scored, heads)
        # Before the first label a model does not know the label's unit, so its first prediction is not counted.
        blind = empty and model.options.target is not None
        self.count(scored, blind, counted)
        return scored

    def note(self, scores: Any, truth: float, weight: float, counted: Counted = "metrics") -> None:
        """Note a row that the caller has learned, with the scores made before; see `PendingRows.add`."""
        if self.pending.add(scores, truth, weight):
            self.count_pending(counted)

    def count_pending(self, counted: Counted = "metrics") -> None:
        """Count the rows that were learned one at a time."""
        for scored in self.pending.take(self.model):
            self.count(scored, counted=counted)

    def count(self, scored: Scored, blind: bool = False, counted: Counted = "metrics") -> None:
        """Count predictions after those of all earlier rows.

        Args:
            scored: rows that were learned, with the scores made before.
            blind: whether the first row was predicted before any label was known; its prediction is not counted.
            counted: as for `learn`.
        """
        if counted == "nothing":
            return
        self.count_pending(counted)
        if counted == "metrics":
            self._count_later(partial(self._made_metrics().count, scored, blind))
        elif counted == "errors":
            self.wait()
            follow_errors(self.model, scored.after_first if blind else scored)

    def _readable(self, batch: Batch, counts: Progress) -> tuple[Batch, Float64 | None, NDArray[np.bool_]]:
        """The rows that can be predicted, their sample weights (0 without a label), and which have a label."""
        batch = self._usable(batch, counts)
        assert batch.labels is not None
        if self._on_error is None:  # the core refuses a missing label
            return batch, batch.weight, np.ones(batch.rows, bool)
        present, weight = batch.labels.present(), batch.weight
        counts.unlabeled += int(batch.rows - present.sum())
        if not present.all():
            weight = np.where(present, 1.0 if weight is None else weight, 0.0)
        return batch, weight, present

    def _usable(self, batch: Batch, counts: Progress) -> Batch:
        """The rows that can be learned."""
        if self._on_error is None:
            return batch
        return batch.select(usable(batch, self.target, self._on_error, counts))

    def _numbers(self, batch: Batch, weight: Float64 | None, present: NDArray[np.bool_]) -> tuple[Float64, list[Any]]:
        """The labels in the form that the core takes, and the classes that are new."""
        assert batch.labels is not None
        if self.model.task == "classes":
            return self.model._class_numbers(batch.labels, batch.place, weight)
        if present.all():
            return self.target.numbers(batch.labels, batch.place), []
        numbers = np.ones(batch.rows)  # a label that every loss accepts, for rows without one: their sample weight is 0
        labeled = batch.select(present)
        if labeled.rows:
            assert labeled.labels is not None
            numbers[present] = self.target.numbers(labeled.labels, labeled.place)
        return numbers, []

    # ---------------------------------------------------------------------------------------- rows that are not learned

    def score(self, batches: Iterable[Batch], counters: Sequence[Counter], scores: Float64 | None = None) -> None:
        """Count the predictions for rows that the model does not learn.

        Args:
            batches: rows with labels. Those without one are left out.
            counters: the objects that count them.
            scores: the predictions for all rows that have a label. Default: those that the model makes now.
        """
        first = 0
        for batch in batches:
            some = self._labeled(batch)
            made = predict_batch(self.model, some) if scores is None else scores[first : first + some.rows]
            first += some.rows
            scored = Scored.of(self.model, made, self._truth(some), some.weight, some.offset)
            for counter in counters if len(scored) else ():
                counter.count(scored)

    def scored(self, batch: Batch) -> Scored:
        """The predictions for the rows of a batch that have a label."""
        some = self._labeled(batch)
        return Scored.of(self.model, predict_batch(self.model, some), self._truth(some), some.weight, some.offset)

    def _truth(self, labeled: Batch) -> Float64:
        """The labels of rows that are not learned; a class that the model does not know is -1."""
        return self._numbers(labeled, np.zeros(labeled.rows), np.ones(labeled.rows, bool))[0]

    def _labeled(self, batch: Batch) -> Batch:
        some = self._usable(batch, Progress())
        assert some.labels is not None
        return some.select(some.labels.present())

    def calibrate(self, batches: Iterable[Batch]) -> None:
        """Calibrate the model's prediction intervals by its errors on rows that it has not learned."""
        calibrate(self.model, [self.scored(batch) for batch in batches])

    def judge_rates(self, batches: Iterable[Batch]) -> float:
        """Judge all candidate rates by rows that are not learned; returns the total sample weight of these rows."""
        judged = 0.0
        for batch in batches:
            some = self._labeled(batch)
            numbers = self._truth(some)
            if self.model.task == "classes":
                some, numbers = some.select(numbers >= 0), numbers[numbers >= 0]
            self.model._begin_judging(numbers, some.weight, some.offset)
            try:
                predict_batch(self.model, some)
            finally:
                self.model._end_judging()
            judged += float(some.rows if some.weight is None else some.weight.sum())
        return judged

    # ---------------------------------------------------------------------------------------------------- the metrics

    @property
    def metrics(self) -> ProgressiveMetrics:
        """The progressive metrics of the model and of the baselines."""
        self.count_pending()
        self.wait()
        return self._made_metrics()

    @metrics.setter
    def metrics(self, metrics: ProgressiveMetrics) -> None:
        self._metrics = metrics

    def _made_metrics(self) -> ProgressiveMetrics:
        if self._metrics is None:
            self._metrics = ProgressiveMetrics(self.model, self._level, self._stream)
        return self._metrics

    @property
    def evaluation(self) -> Evaluation:
        """The progressive metrics of the model."""
        return self.metrics.evaluation

    @property
    def in_background(self) -> bool:
        """Whether a background worker counts the metrics; reading them waits for it."""
        return self._thread is not None

    def _count_later(self, work: Callable[[], None]) -> None:
        """Count in the background worker, if there is one; at most one batch waits there."""
        self.wait()
        if self._thread is None:
            work()
        else:
            self._counting = self._thread.submit(work)

    def wait(self) -> None:
        """Wait until all batches are counted. Raises an error that occurred in the background worker."""
        counting, self._counting = self._counting, None
        if counting is not None:
            counting.result()

    def close(self) -> None:
        """Count the rows that wait, and stop the background worker."""
        try:
            self.wait()
        finally:
            if self._thread is not None:
                self._thread.shutdown()
                self._thread = None


def learn_batch(model: Model, batch: Batch, numbers: Float64, weight: Float64 | None, new_classes: int = 0) -> Float64:
    """Learn a batch; returns the scores made before. Errors name the rows of the batch's source."""
    try:
        if isinstance(batch.data, inputs.NamedRows) and model.options.center and not model.examples:
            return _learn_first_names(model, batch.data.mappings, batch.offset, numbers, weight, new_classes)
        return model._feed(batch.data, numbers, weight, new_classes, batch.offset)
    except Error as error:
        raise error.moved(batch.place.at) from None


def _learn_first_names(
    model: Model,
    rows: Sequence[Any],
    offset: Float64 | None,
    numbers: Float64,
    weight: Float64 | None,
    new_classes: int,
) -> Float64:
    """Learn the first rows of named features: the numbers of the very first become columns, which can be centered."""
    counted = np.ones(len(rows)) if weight is None else weight
    start = int((counted > 0).argmax()) if (counted > 0).any() else len(rows)
    known, parts = model.heads, []
    for first, last in ((0, start), (start, start + 1), (start + 1, len(rows))):
        if not (part := rows[first:last]):
            continue
        data: inputs.Input = inputs.NamedRows(part)
        new = max(0, int(numbers[first:last].max()) + 1 - known) if new_classes else 0
        own = None if offset is None else offset[first:last]
        try:
            if first == start:  # so that an invalid row is refused with the same message as later ones
                model._ask(data, False, own)
                data = first_row(part[0], orders_names(model.options))
            scores = model._feed(data, numbers[first:last], counted[first:last], new, own)
        except Error as error:
            raise error.moved(partial(_counted_from, first)) from None
        known += new
        parts.append(scores.reshape(len(part), -1))
    width = max((part.shape[1] for part in parts), default=0)
    wide = [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=-np.inf) for part in parts]
    return np.concatenate(wide).reshape(-1) if wide else np.zeros(0)


def _counted_from(first: int, row: int) -> dict[str, int]:
    return {"row": row + first}


def predict_batch(model: Learner | OneVsAll, batch: Batch) -> Float64:
    """The scores of a batch, one column for each output of the model. Errors name the rows of the batch's source."""
    try:
        return model._scores(batch.data, batch.offset)
    except Error as error:
        raise error.moved(batch.place.at) from None
