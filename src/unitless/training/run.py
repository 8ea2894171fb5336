"""A training run: batches of data, predicted, learned and counted. It can be watched, interrupted and continued."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .. import inputs, losses
from ..data import Batch, Reader, ReadOptions, Schema, Source, Target, open_source
from ..data import labels as task_labels
from ..data.files import check_output
from ..data.labels import Numbers, RawLabels
from ..data.progress import Progress
from ..data.schema import first_rows
from ..data.source import other_kind
from ..errors import Error, InputError, Option, OptionError, Phrase
from ..evaluation.baseline import Baseline, LastLabel
from ..evaluation.curves import Curves
from ..evaluation.evaluation import Evaluation
from ..evaluation.row_errors import RowErrors
from ..inputs import Float64
from ..models import file as model_file
from ..models.classes import Classes
from ..models.learner import Learner
from ..models.model import Model
from ..models.one_vs_all import OneVsAll, by_row
from ..options import MANY_CLASSES, USUAL_SHAPE, check_names
from .fitting import Fit
from .following import Follow
from .interruption import interruptible
from .notes import notes
from .passes import Passes
from .plan import Plan, averaged
from .result import TrainResult
from .screening import usable
from .watched import Watched


@dataclass(frozen=True)
class ModelRequest:
    """What the model is to be."""

    task: str | None
    positive: str | None
    options: dict[str, Any]

    def __post_init__(self) -> None:
        check_names(self.options)

    def target(self, labels: RawLabels) -> Target:
        """What the first labels are."""
        return task_labels.decide(labels, self.task, self.options.get("loss"), self.positive)

    def model(self, target: Target, centred: bool, fitted: bool, data: inputs.Input) -> Learner | OneVsAll:
        """With everything on that makes learning just work, unless it is asked to be otherwise.

        Args:
            target: what is to be predicted.
            centred: whether columns are.
            fitted: whether rows come in random order.
            data: the first of them.
        """
        options = dict(self.options)
        options.setdefault("shape", USUAL_SHAPE)
        if target.met > MANY_CLASSES and options["shape"] == "auto":
            options["shape"] = "linear"
        options.setdefault("average", fitted and averaged(options, data))
        loss = options.setdefault("loss", losses.DEFAULTS[target.task])
        fitting = losses.names(task=target.task)
        if target.task == "binary" and loss in losses.names(task="regression"):
            raise OptionError(f"loss {loss!r} is for numbers; a binary task takes {losses.listed(fitting)}")
        if target.task == "regression" and loss not in fitting:
            raise OptionError(f"loss {loss!r} is for classes; numbers take {losses.listed(fitting)}")
        options.setdefault("learning_rate", "auto")
        options.setdefault("centre", centred and "bits" not in options)
        if target.task == "classes":
            return OneVsAll(None, **options)
        if loss in losses.names(task="regression", in_label_unit=True) and "clip" not in options:
            options.setdefault("target", "auto")
        return Learner(**options)


class Run:
    """Learning from a source: batch by batch, with checkpoints, until the end or until it is interrupted."""

    def __init__(
        self,
        source: Any,
        target: Any,
        weight: Any,
        reading: dict[str, Any],
        request: ModelRequest,
        plan: Plan,
        resume: Any,
    ) -> None:
        self.plan, self._request = plan, request
        given = {name: value for name, value in (("target", target), ("weight", weight)) if value is not None}
        given = {name: str(value) if isinstance(value, int) else value for name, value in given.items()}
        columns: dict[str, Any] = {name: value for name, value in given.items() if isinstance(value, str)}
        beside = {name: value for name, value in given.items() if not isinstance(value, str)}
        options = ReadOptions(**columns, **reading)
        self.source: Source = open_source(source, options)
        if beside and self.source.files:  # a pipe too
            raise OptionError("for files, target and weight are names of columns")
        check_output(plan.path, self.source.files, "the model")
        self.fitted = plan.shuffle and self.source.at_hand
        if not self.fitted:
            self._check_stream()
        self.progress = Progress()
        self.target: Target | None = None
        self.model: Learner | OneVsAll | None = None
        self.evaluation: Evaluation | None = None
        self.baseline: Baseline | None = None  # the trivial answer
        self.last_label: LastLabel | None = None  # another one, for streams
        self.score: Evaluation | None = None  # of the kept weights
        self.curves: Curves | None = None  # what its predictions look like, on the same rows
        self.row_errors: RowErrors | None = None  # of the same rows
        self.past: Evaluation | None = None  # of them on a sample of the rows that were followed
        self.passes = Passes()
        self.drifting = False  # its errors differ along the data
        self.shuffled = ""  # how the rows came into random order
        self.before: list[Any] = []  # files from which the model has learned earlier
        self.known = False  # these rows may be among them
        self.midway = False  # it goes on where it was interrupted
        self.read = 0  # rows that were read to be fitted
        self.finishing = False  # these are the rows that were held back
        self.interrupted = False
        schema = self._resumed(resume, options) if resume is not None else None
        for name, value in beside.items():
            beside[name] = value if isinstance(value, list) else inputs.as_array(value, name)
        self.reader = Reader(self.source, options, schema, beside.get("target"), beside.get("weight"))

    # ------------------------------------------------------------------------------------------------ going on

    def _resumed(self, resume: Any, options: ReadOptions) -> Schema:
        """Take up a model: where it stopped, or at the beginning of new data."""
        model = model_file.load(resume) if isinstance(resume, str | os.PathLike) else resume
        if not isinstance(model, Learner | OneVsAll) or model._training is None:
            raise OptionError("only a model that was made by train can be resumed")
        if self._request.options or self._request.task or self._request.positive:
            given = next(iter(self._request.options), "task")
            raise OptionError("is settled by the model that is resumed; leave it out", option=given)
        training = model._training
        schema, self.target = Schema.read(training.get("schema")), Target.read(training.get("target"))
        for name in ("target", "weight"):
            if getattr(options, name) not in (None, getattr(schema, name)):
                raise OptionError(
                    f"is {getattr(options, name)!r}, but the model was trained with {getattr(schema, name)!r}",
                    option=name,
                )
        if schema.family != self.source.family:
            raise OptionError(other_kind(schema.family, self.source))
        self.model = model
        before = Progress.read(training.get("progress"))
        self.before = [*(training.get("before") or []), *((training.get("source") or []) if before.done else [])]
        if before.done:
            self.known = not self.source.identity or any(file in self.before for file in self.source.identity)
            self.evaluation, self.baseline = Evaluation(model), Baseline(model)
            self.last_label = LastLabel(model)
            return schema
        if (differs := self._changed(training, before)) is not None:
            raise InputError(
                f"training of this model was interrupted after {before.rows:,} rows of other files than "
                f"{self.source.name}: {differs}; give the same ones to go on"
            )
        if training.get("plan") != self.plan.plain(self.fitted):
            raise OptionError(f"training of this model was begun with other settings: {training.get('plan')}")
        self.progress = before
        self.midway, self.known = True, training.get("known") is True
        self.evaluation = Evaluation.restore(model, training.get("evaluation") or {})
        self.baseline = Baseline.restore(model, training.get("baseline") or {})
        self.last_label = LastLabel.restore(model, training.get("last_label") or {})
        if training.get("best") is not None:
            self.passes = Passes.read(training["best"], model._earlier)
        return schema

    def _changed(self, training: dict[str, Any], before: Progress) -> str | None:
        """How the data differs from that in which training was interrupted, if it does."""
        then, now = training.get("source"), self.source.identity
        if then != now:
            return _differing(then, now)
        then = training.get("content")
        if then is None:  # written by a version that did not look into the files
            return None
        now = self.source.content(before.consumed)
        if not isinstance(then, list) or len(then) != len(now):
            return "the model file does not say what was in them"
        for file, was, found in zip(self.source.files, then, now, strict=False):  # not all were begun
            if was is None or was == found:
                continue
            if not isinstance(was, list) or len(was) != 3 or found is None or was[0] != found[0]:
                return f"the model file does not say what was in {file.name}"
            if was[1] != found[1]:
                return f"{file.name} has the same size as then, but begins with other data"
            return f"{file.name} has the same size and beginning as then, but other data before byte {found[0]:,}"
        return None

    def _check_stream(self) -> None:
        """What asks for more than one look at the rows does not go with a stream."""
        plan, name = self.plan, self.source.name
        if plan.passes == "auto":
            raise OptionError(Phrase(f"{name} is followed as it comes; ", Option("passes"), " must be a number"))
        if (plan.passes or 1) > 1 and not self.source.repeatable:
            raise OptionError(Phrase(f"{name} can be read only once; ", Option("passes"), " must be 1"))

    def save(self) -> None:
        """Write the model with all that is needed to go on."""
        if self.plan.path is not None and self.model is not None:
            self._describe()
            self.model.save(self.plan.path)

    def _describe(self) -> None:
        assert self.model is not None
        assert self.reader.schema is not None
        assert self.target is not None
        done = self.progress.done
        self.model._training = {
            "schema": self.reader.schema.plain(),
            "target": self.target.plain(),
            "reading": self.reader.options.kept(self.reader.schema.family),
            "progress": self.progress.plain(),
            "source": self.source.identity,
            "before": self.before,
            "known": self.known,
            "content": None if done else self.source.content(self.progress.consumed),
            "plan": self.plan.plain(self.fitted),
            "evaluation": None if done or self.evaluation is None else self.evaluation.state(),
            "baseline": None if done or self.baseline is None else self.baseline.state(),
            "last_label": None if done or self.last_label is None else self.last_label.state(),
            "best": None if done or not self.passes.best else self.passes.plain(),
        }
        self.model._earlier = None if done else self.passes.state

    # ------------------------------------------------------------------------------------------------ the way

    def go(self, watch: Callable[[Run], None] | None) -> TrainResult:
        """To the end of the data, or until interrupted."""
        way = Fit(self) if self.fitted else Follow(self)
        with interruptible() as interrupted:
            self.progress.done = way.go(Watched(self, watch, interrupted))
        self.interrupted = not self.progress.done
        if not self.progress.rows and not self.progress.passes:  # stopped before the first row was learned
            raise KeyboardInterrupt
        self.save()
        return self._result()

    @property
    def schema(self) -> Schema:
        """What the columns are."""
        assert self.reader.schema is not None
        return self.reader.schema

    def notes(self) -> list[Phrase]:
        """What a careful colleague would remark."""
        return notes(self)

    def begin_pass(self) -> None:
        """The same rows again."""
        if self.fitted:
            self.progress.rows = 0
            assert self.model is not None
            self.passes.end_pass(self.model)
        else:
            self.progress.begin_pass()

    def begin_like(self, other: Run) -> None:
        """What another run has counted while it read all rows into random order."""
        self.progress = replace(other.progress, bad=list(other.progress.bad), missing=other.progress.missing.copy())
        self.shuffled = other.shuffled

    def score_rows(self, batches: Iterable[Batch], held: int) -> None:
        """The score of the model as it is now, on rows that it has not learned."""
        self.progress.held = held
        if self.model is None or not held:
            return
        assert self.baseline is not None
        self.score = Evaluation(self.model)
        self.curves = Curves(self.model, self.score)
        self.row_errors = RowErrors(self.model)
        self.baseline.begin_scoring()
        self.count(batches, [self.score, self.baseline, self.curves, self.row_errors])

    def check_rows(self, rows: int) -> None:
        """Was there anything to learn from?"""
        if rows:
            return
        if self.progress.unlabelled:
            self._raise_unlabelled()
        why = f": {self.progress.bad[0]}" if self.progress.bad else ""
        if not why and self.read:
            why = ": no row has a weight above 0"
        raise InputError(f"{self.source.name} has no rows to learn from{why}")

    def _raise_unlabelled(self) -> NoReturn:
        hint = "; in VW text a space must stand between the label and the bar" if self.source.family == "named" else ""
        raise InputError(f"no row of {self.source.name} has a label{hint}")

    def check_learned(self) -> None:
        """At the end of a pass: was there anything to learn?"""
        progress = self.progress
        self.check_rows(0 if self.model is None and not progress.unlabelled else 1)
        if progress.learned:
            return
        if progress.unlabelled:
            self._raise_unlabelled()
        raise InputError(f"{self.source.name} has no rows to learn from: no row has a weight above 0")

    def check_values(self) -> None:
        """Only at the end of the data is it known that there is nothing to tell apart: it may be sorted by label."""
        assert self.target is not None
        if self.target.task == "regression" or self.target.rest:
            return
        met = self.model.classes if isinstance(self.model, OneVsAll) else [name for name in self.target.classes if name]
        if len(met) == 1:
            raise InputError(
                f"the target has only one value, {str(met[0])!r}, in all {self.progress.rows:,} rows of "
                f"{self.source.name}; a model needs at least two to tell apart"
            )

    def checkpoint(self) -> None:
        """Save the model, if it is time."""
        if self.plan.checkpoint and self.progress.rows % self.plan.checkpoint == 0:
            self.save()

    # ------------------------------------------------------------------------------------------------ rows

    def begin(self, batch: Batch) -> bool:
        """Decide the task by the first labels, and make the model; False if there is no label yet."""
        assert batch.labels is not None
        if self.target is None:
            if not batch.labels.present().any():
                self.progress.unlabelled += batch.rows
                return False
            self.target = self._request.target(self._first(batch.labels))
            centred = self.source.family != "named"
            self.model = self._request.model(self.target, centred, self.fitted, batch.data)
            self.evaluation, self.baseline = Evaluation(self.model), Baseline(self.model)
            self.last_label = LastLabel(self.model)
        return True

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
        return batch.select(usable(batch, self.target, self.reader.options.on_error, counts))

    def _first(self, labels: RawLabels) -> RawLabels:
        """Those that decide the task: the same number of rows, whatever the format."""
        assert self.reader.schema is not None
        columns = len(self.reader.schema.columns) + 1
        return labels.take(np.arange(min(len(labels), first_rows(columns))))

    def _feed(self, batch: Batch, weight: Float64 | None, unlabelled: NDArray[np.bool_]) -> None:
        """Learn, and count the predictions that were made before."""
        progress, model, labels = self.progress, self.model, batch.labels
        assert model is not None
        assert labels is not None
        assert self.target is not None
        assert self.evaluation is not None
        counting = progress.passes == 0 and not self.finishing
        if isinstance(model, OneVsAll):
            with model._lock:
                numbers, new = class_numbers(model._classes, batch, weight)
                with model._classes.joining(new):
                    flat = fed(model, batch, numbers, weight, len(new))
                known = len(model.classes)
            if counting:
                scores = by_row(flat, batch.rows, known)
                if new:  # before a class was met it had no score, however many rows are learned at once
                    met = np.maximum.accumulate(np.where(weight == 0, -1, numbers) if weight is not None else numbers)
                    met = np.maximum(met, known - len(new) - 1)
                    scores[np.arange(known) > met[:, None]] = -np.inf
                truth = np.where(numbers < 0, known, numbers).astype(np.intp)
                self.evaluation.add_numbered(scores, truth, weight)
                self._observe(truth, weight)
        else:
            y = self.target.numbers(labels, batch.place) if not unlabelled.any() else self._with_gaps(batch, unlabelled)
            blind = model.options.target is not None and model.examples == 0
            p = fed(model, batch, y, weight)
            if counting:
                # Before the first label nothing is known of its unit: up to it there is no prediction to be scored.
                at = (0 if weight is None else int(np.argmax(weight > 0))) + 1 if blind else 0
                self.evaluation.add(p[at:], y[at:], None if weight is None else weight[at:])
                self._observe(y, weight)
        if progress.passes == 0 or self.finishing:
            progress.learned += batch.rows if weight is None else int(np.count_nonzero(weight))

    def _observe(self, truth: NDArray[Any], weight: Float64 | None) -> None:
        """For the trivial answers: what the labels were that were learned."""
        assert self.baseline is not None
        assert self.last_label is not None
        self.baseline.observe_numbered(truth, weight)
        if not self.fitted:
            self.last_label.add_numbered(truth, weight)

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
                    evaluation.score_numbered(truth, weight)
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

    def _result(self) -> TrainResult:
        assert self.model is not None
        self._describe()
        return TrainResult(self)


def _differing(then: Any, now: list[Any]) -> str:
    """How two lists of names and sizes differ."""
    if not isinstance(then, list) or not all(isinstance(file, list) and len(file) == 2 for file in then):
        return "the model file does not name them"
    if len(then) != len(now):
        return f"they were {len(then):,}, not {len(now):,}"
    (name, size), (found, found_size) = next((a, b) for a, b in zip(then, now, strict=True) if a != b)
    if name != found:
        return f"then there was {str(name)!r} in place of {found!r}"
    return f"{found} had {size} bytes then and has {found_size} now"


def fed(model: Model, batch: Batch, labels: Float64, weight: Float64 | None, new_classes: int = 0) -> Float64:
    """Learn a batch; what the core says of its rows is said of the file's."""
    try:
        return model._feed(batch.data, labels, weight, new_classes)
    except Error as error:
        raise error.moved(batch.place.at) from None


def asked(model: Model, batch: Batch) -> Float64:
    """Predict a batch; what the core says of its rows is said of the file's."""
    try:
        return model._ask(batch.data, False)
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
    as_label: Callable[[str], Any] = str if isinstance(labels, task_labels.Texts) else task_labels.plain_number
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
