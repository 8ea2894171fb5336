"""A model on its way through batches of rows: predicted, learned, and counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Batch, Target
from ..data import labels as task_labels
from ..data.labels import Numbers
from ..data.progress import Progress
from ..errors import Error, InputError
from ..inputs import Float64
from ..metrics.baseline import Baseline
from ..metrics.coverage import Coverage
from ..metrics.curves import Curves
from ..metrics.evaluation import Evaluation
from ..metrics.row_errors import RowErrors
from ..metrics.stream_baselines import StreamBaselines
from ..models.classes import Classes
from ..models.error_quantiles import ErrorQuantiles
from ..models.learner import Learner
from ..models.model import Model
from ..models.one_vs_all import OneVsAll, by_row
from ..models.prediction_errors import follow_errors, has_errors, hide_unmet
from .beside import Beside
from .screening import usable


class Learning:
    """A model that learns batches, and what is counted on the way.

    Args:
        on_error: what becomes of rows that cannot be learned: "fail", or "skip".
        fitted: rows come in random order.
        interval: the level of the intervals that are counted beside; none if not given.
    """

    def __init__(self, on_error: str, fitted: bool, interval: float | None = None) -> None:
        self.on_error, self.fitted, self._interval = on_error, fitted, interval
        self.progress = Progress()
        self.target: Target | None = None
        self.model: Learner | OneVsAll | None = None
        self.beside = Beside(apart=False)
        self._evaluation: Evaluation | None = None
        self._baseline: Baseline | None = None
        self._stream_baselines: StreamBaselines | None = None
        self.finishing = False  # these are the rows that were held back

    @property
    def evaluation(self) -> Evaluation | None:
        """How good the predictions were that were made before their rows were learned, of all rows so far."""
        self.beside.wait()
        return self._evaluation

    @evaluation.setter
    def evaluation(self, evaluation: Evaluation | None) -> None:
        self._evaluation = evaluation

    @property
    def baseline(self) -> Baseline | None:
        """The trivial answer."""
        self.beside.wait()
        return self._baseline

    @baseline.setter
    def baseline(self, baseline: Baseline | None) -> None:
        self._baseline = baseline

    @property
    def stream_baselines(self) -> StreamBaselines | None:
        """Other trivial answers, for rows that are followed."""
        self.beside.wait()
        return self._stream_baselines

    @stream_baselines.setter
    def stream_baselines(self, baselines: StreamBaselines | None) -> None:
        self._stream_baselines = baselines

    def take_up(self, model: Learner | OneVsAll, target: Target) -> None:
        """From here on it is this model that learns, and nothing has been counted."""
        self.model, self.target = model, target
        self.begin_counting(model)

    def begin_counting(self, model: Learner | OneVsAll) -> None:
        """Nothing has been counted of the predictions of this model; of its errors it may know from earlier."""
        self.evaluation = Evaluation(model, intervals=self._followed(model))
        self.baseline, self.stream_baselines = Baseline(model), StreamBaselines(model)

    def _followed(self, model: Learner | OneVsAll) -> Coverage | None:
        """What follows the errors of predictions that are made before their rows are learned."""
        if self._interval is None or not has_errors(model):
            return None
        model._errors = model._errors or ErrorQuantiles()
        return Coverage(self._interval, model._errors, follows=True)

    def begin(self, batch: Batch) -> bool:
        """Whether there is a model for the batch."""
        return self.model is not None

    def learn(self, batch: Batch) -> None:
        """Predict the rows of a batch, learn them, and count how good the predictions were."""
        self.progress.rows += batch.rows
        counts = self.progress if self.progress.passes == 0 or self.finishing or not self.fitted else Progress()
        if not batch.rows or not self.begin(batch):
            return
        batch = self._usable(batch, counts)
        if not batch.rows:
            return
        assert batch.labels is not None
        unlabelled = ~batch.labels.present()
        weight = batch.weight
        if unlabelled.any():
            weight = np.ones(batch.rows) if weight is None else weight.copy()
            weight[unlabelled] = 0.0
        counts.unlabelled += int(unlabelled.sum())
        self._feed(batch, weight, unlabelled)

    def _usable(self, batch: Batch, counts: Progress) -> Batch:
        """The rows that can be learned from."""
        return batch.select(usable(batch, self.target, self.on_error, counts))

    def _feed(self, batch: Batch, weight: Float64 | None, unlabelled: NDArray[np.bool_]) -> None:
        """Learn, and count the predictions that were made before."""
        progress, model, labels = self.progress, self.model, batch.labels
        assert model is not None
        assert labels is not None
        assert self.target is not None
        assert self._evaluation is not None
        counting = progress.passes == 0 and not self.finishing
        if isinstance(model, OneVsAll):
            with model._lock:
                numbers, new = class_numbers(model._classes, batch, weight)
                with model._classes.joining(new):
                    flat = fed(model, batch, numbers, weight, len(new))
                known = len(model.classes)
            if counting or self._follows_on:
                scores = hide_unmet(by_row(flat, batch.rows, known), numbers, weight, known - len(new))
                truth = np.where(numbers < 0, known, numbers).astype(np.intp)
            if counting:
                # Not beside: how many classes there are is asked while rows are counted.
                self._evaluation.add_numbered(scores, truth, weight)
                self._observe(truth, weight)
            elif self._follows_on:
                follow_errors(model, scores, truth, weight)
        else:
            y = self.target.numbers(labels, batch.place) if not unlabelled.any() else self._with_gaps(batch, unlabelled)
            blind = model.options.target is not None and model.examples == 0
            p = fed(model, batch, y, weight)
            if counting:
                # Before the first label nothing is known of its unit: up to it there is no prediction to be scored.
                at = (0 if weight is None else int(np.argmax(weight > 0))) + 1 if blind else 0
                self.beside.do(partial(self._count_predictions, p, y, weight, batch.offset, at))
            elif self._follows_on:
                self.beside.wait()
                follow_errors(model, p, y, weight)
        if progress.passes == 0 or self.finishing:
            progress.learned += batch.rows if weight is None else int(np.count_nonzero(weight))

    def _count_predictions(
        self, p: Float64, y: Float64, weight: Float64 | None, offset: Float64 | None, first: int
    ) -> None:
        """Predictions of numbers or of two classes, from the first row on that had one."""
        assert self._evaluation is not None
        self._evaluation.add(p[first:], y[first:], None if weight is None else weight[first:])
        self._observe(y, weight, offset)

    @property
    def _follows_on(self) -> bool:
        """Whether the last rows of a stream, which were held back, are met now: no metric, but errors count them."""
        return self.finishing and not self.fitted and self._interval is not None

    def _observe(self, truth: NDArray[Any], weight: Float64 | None, offset: Float64 | None = None) -> None:
        """For the trivial answers: what the labels were that were learned."""
        assert self._baseline is not None
        assert self._stream_baselines is not None
        self._baseline.observe_numbered(truth, weight, offset)
        if not self.fitted:
            self._stream_baselines.add_numbered(truth, weight, offset)

    def count(
        self,
        batches: Iterable[Batch],
        evaluations: Sequence[Evaluation | Baseline | Curves | RowErrors],
        known_classes: bool = False,
    ) -> None:
        """Score the predictions that the model makes now, and whatever else is to be scored on the same rows.

        Args:
            batches: the rows.
            evaluations: what counts.
            known_classes: leave out rows of classes that the model has not met.
        """
        for batch in batches:
            some = self._usable(batch, Progress())
            assert some.labels is not None
            some = some.select(some.labels.present())
            if not some.rows:
                continue
            scores, truth = self._asked(some)
            weight = some.weight
            if known_classes and isinstance(self.model, OneVsAll) and not (met := truth < scores.shape[1]).all():
                scores, truth, weight = scores[met], truth[met], None if weight is None else weight[met]
            for evaluation in evaluations:
                if isinstance(evaluation, Baseline):
                    evaluation.score_numbered(truth, weight, some.offset)
                elif isinstance(self.model, OneVsAll):
                    evaluation.add_numbered(scores, truth, weight)
                else:
                    evaluation.add(scores, truth, weight)

    def _asked(self, batch: Batch) -> tuple[Float64, NDArray[Any]]:
        """What the model says of rows that have labels, and what these are: numbers, or the numbers of classes."""
        model, labels = self.model, batch.labels
        assert model is not None
        assert labels is not None
        assert self.target is not None
        scores = asked(model, batch)
        if not isinstance(model, OneVsAll):
            return scores, self.target.numbers(labels, batch.place)
        known = len(model.classes)
        numbers, _ = class_numbers(model._classes, batch, np.zeros(batch.rows))
        return by_row(scores, batch.rows, known), np.where(numbers < 0, known, numbers).astype(np.intp)

    def judge(self, batches: Iterable[Batch]) -> float:
        """Judge all rates by rows that are not learned; gives the weight of those rows."""
        model, judged = self.model, 0.0
        assert model is not None
        assert self.target is not None
        for batch in batches:
            some = self._usable(batch, Progress())
            assert some.labels is not None
            some = some.select(some.labels.present())
            if isinstance(model, OneVsAll):
                some = some.select(class_numbers(model._classes, some, np.zeros(some.rows))[0] >= 0)
                y, _ = class_numbers(model._classes, some, np.zeros(some.rows))
            else:
                assert some.labels is not None
                y = self.target.numbers(some.labels, some.place)
            model._begin_judging(y, some.weight, some.offset)
            try:
                asked(model, some)
            finally:
                model._end_judging()
            judged += float(some.rows if some.weight is None else some.weight.sum())
        return judged

    def _with_gaps(self, batch: Batch, unlabelled: NDArray[np.bool_]) -> Float64:
        assert self.target is not None
        assert batch.labels is not None
        y = np.ones(batch.rows)  # a label that every loss accepts, without weight
        known = ~unlabelled
        if known.any():
            part = batch.select(known)
            assert part.labels is not None
            y[known] = self.target.numbers(part.labels, part.place)
        return y


def fed(model: Model, batch: Batch, labels: Float64, weight: Float64 | None, new_classes: int = 0) -> Float64:
    """Learn a batch; what the core says of its rows is said of the file's."""
    try:
        return model._feed(batch.data, labels, weight, new_classes, batch.offset)
    except Error as error:
        raise error.moved(batch.place.at) from None


def asked(model: Model, batch: Batch) -> Float64:
    """Predict a batch; what the core says of its rows is said of the file's."""
    try:
        return model._ask(batch.data, False, batch.offset)
    except Error as error:
        raise error.moved(batch.place.at) from None


def class_numbers(classes: Classes, batch: Batch, weight: Float64 | None) -> tuple[Float64, list[Any]]:
    """Each row's class as they are numbered, and the new ones; without weight a class that is not known is -1."""
    labels = batch.labels
    assert labels is not None
    if isinstance(labels, Numbers) and np.isinf(labels.values).any():
        row = int(np.flatnonzero(np.isinf(labels.values))[0])
        raise InputError(f"the target is {labels.values[row]}", advice="labels must be finite", **batch.place.at(row))
    counted = labels.present() if weight is None else labels.present() & (weight > 0)
    rows = np.flatnonzero(counted)
    numbers = np.full(len(labels), -1.0)
    names = task_labels.as_known(classes.labels)

    def as_label(label: str) -> Any:
        return names.get(label, label) if isinstance(labels, task_labels.Texts) else task_labels.plain_number(label)

    distinct, first, places = labels.take(counted).distinct()
    found, new = classes.number_all(
        [(as_label(label), int(rows[at])) for label, at in zip(distinct, first, strict=True)]
    )
    if len(rows):
        numbers[rows] = found[places]
    others = np.flatnonzero(labels.present() & ~counted)
    if len(others):
        distinct, _, places = labels.take(others).distinct()
        joining = {label: float(len(classes.labels) + k) for k, label in enumerate(new)}
        known = [joining.get(as_label(label), float(classes.known(as_label(label)))) for label in distinct]
        numbers[others] = np.array(known)[places]
    if weight is None and not counted.all():
        raise InputError("a row has no class")
    return numbers, new
