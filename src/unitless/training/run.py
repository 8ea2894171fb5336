"""A training run: batches of data, predicted, learned and counted. It can be watched, interrupted and continued."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import inputs, losses
from ..data import Bad, Batch, Position, Reader, ReadOptions, Schema, Source, Target, open_source
from ..data import labels as task_labels
from ..data.files import check_output
from ..data.labels import Numbers, RawLabels
from ..data.progress import SHOWN_BAD, Progress
from ..data.read_options import SKIP_ROWS
from ..data.schema import first_rows
from ..data.source import other_kind
from ..errors import Error, InputError, Option, OptionError, Phrase
from ..evaluation.evaluation import Evaluation
from ..inputs import Float64
from ..models import file as model_file
from ..models.classes import Classes
from ..models.learner import Learner
from ..models.model import Model
from ..models.one_vs_all import OneVsAll, by_row
from ..options import check_names
from .interruption import interruptible
from .result import TrainResult


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

    def model(self, target: Target, centred: bool) -> Learner | OneVsAll:
        """With everything on that makes learning just work, unless it is asked to be otherwise."""
        options = dict(self.options)
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


@dataclass(frozen=True)
class Plan:
    """How the data is to be gone through, and where the model goes."""

    passes: int
    holdout: float
    seed: int
    path: str | None
    checkpoint: int | None

    def __post_init__(self) -> None:
        if type(self.passes) is not int or self.passes < 1:
            raise OptionError(f"is {self.passes!r}; it must be a whole number, 1 or more", option="passes")
        if not isinstance(self.holdout, int | float | np.number) or not 0 <= self.holdout < 1:
            raise OptionError(
                f"is {self.holdout!r}; it must be a fraction of the rows, from 0 to less than 1", option="holdout"
            )
        if self.checkpoint is not None and (type(self.checkpoint) is not int or self.checkpoint < 1):
            raise OptionError(f"is {self.checkpoint!r}; it must be a number of rows, 1 or more", option="checkpoint")
        if self.checkpoint is not None and self.path is None:
            raise OptionError(
                Phrase(Option("checkpoint"), " needs ", Option("model")), advice="it says where to save the model"
            )
        if self.path is not None:
            model_file.check_writable(self.path)

    def held(self, first: int, rows: int) -> NDArray[np.bool_] | None:
        """Which of these rows of the pass are held out: a hash of their number, so the same whenever asked."""
        if not self.holdout:
            return None
        key = np.uint64((self.seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
        x = np.arange(first, first + rows, dtype=np.uint64) ^ key
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        held: NDArray[np.bool_] = (x ^ (x >> np.uint64(31))) < np.uint64(int(self.holdout * 2**64))
        return held


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
        if plan.passes > 1 and not self.source.repeatable:
            raise OptionError(Phrase(f"{self.source.name} can be read only once; ", Option("passes"), " must be 1"))
        self.progress = Progress()
        self.target: Target | None = None
        self.model: Learner | OneVsAll | None = None
        self.evaluation: Evaluation | None = None
        self.holdout: Evaluation | None = None
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
        if before.done:
            self.evaluation, self.holdout = Evaluation(model), self._fresh_holdout()
            return schema
        if (differs := self._changed(training, before)) is not None:
            raise InputError(
                f"training of this model was interrupted after {before.rows:,} rows of other files than "
                f"{self.source.name}: {differs}; give the same ones to go on"
            )
        if training.get("plan") != self._plan():
            raise OptionError(f"training of this model was begun with other settings: {training.get('plan')}")
        self.progress = before
        self.evaluation = Evaluation.restore(model, training.get("evaluation") or {})
        if training.get("holdout") is not None:
            self.holdout = Evaluation.restore(model, training["holdout"])
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

    def _plan(self) -> dict[str, Any]:
        return {"passes": self.plan.passes, "holdout": float(self.plan.holdout).hex(), "seed": self.plan.seed}

    def _fresh_holdout(self) -> Evaluation | None:
        return Evaluation(self.model) if self.plan.holdout and self.model is not None else None

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
            "content": None if done else self.source.content(self.progress.consumed),
            "plan": self._plan(),
            "evaluation": None if done or self.evaluation is None else self.evaluation.state(),
            "holdout": None if done or self.holdout is None else self.holdout.state(),
        }

    # ------------------------------------------------------------------------------------------------ the loop

    def go(self, watch: Callable[[Run], None] | None) -> TrainResult:
        """To the end of the data, or until interrupted."""
        start, before = time.perf_counter(), self.progress.seconds
        with interruptible() as interrupted:
            while self.progress.passes < self.plan.passes:
                for batch in self._parts(interrupted):
                    self._learn(batch)
                    self.progress.seconds = before + time.perf_counter() - start
                    if watch is not None:
                        watch(self)
                    if interrupted():
                        break
                    self._checkpoint()
                if interrupted():
                    self.interrupted = True
                    self.save()
                    return self._result()
                self._end_of_pass()
        self.progress.done = True
        self.progress.seconds = before + time.perf_counter() - start
        self.save()
        return self._result()

    def _parts(self, stopped: Callable[[], bool]) -> Iterator[Batch]:
        """Batches from where the run stands, cut where checkpoints are due."""
        progress = self.progress
        done = progress.within
        for batch in self.reader.batches(progress.position, stopped):
            if not done:  # of a piece that was begun before, this has been counted
                progress.read_in(batch)
            every = self.plan.checkpoint or batch.rows
            while done < batch.rows:
                last = min(batch.rows, done + every - (progress.rows % every if self.plan.checkpoint else 0))
                part = batch if (done, last) == (0, batch.rows) else batch.part(done, last)
                progress.within = last
                if last == batch.rows:
                    progress.within, progress.position = 0, batch.position
                progress.consumed = batch.consumed
                yield part
                done = last
            done = max(0, done - batch.rows)  # decoded text may be cut otherwise than it was
            progress.position = batch.position

    def _end_of_pass(self) -> None:
        progress = self.progress
        if self.model is None:
            why = f": {progress.bad[0]}" if progress.bad else ""
            raise InputError(f"{self.source.name} has no rows to learn from{why}")
        if not progress.learned:
            raise InputError(
                f"no row of {self.source.name} has a label"
                + ("; in VW text a space must stand between the label and the bar" if progress.unlabelled else "")
            )
        self._check_values()
        progress.passes += 1
        if progress.passes < self.plan.passes:
            progress.rows, progress.position, progress.consumed = 0, Position(), 0
            progress.held = progress.skipped = progress.unlabelled = 0  # the same rows again
            progress.missing, progress.bad = Counter(), []
            self.holdout = self._fresh_holdout()

    def _check_values(self) -> None:
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

    def _checkpoint(self) -> None:
        if self.plan.checkpoint and self.progress.rows % self.plan.checkpoint == 0:
            self.save()

    def _learn(self, batch: Batch) -> None:
        progress = self.progress
        first, rows = progress.rows, batch.rows
        progress.rows += rows
        held = self.plan.held(first, rows)
        batch, held = self._usable(batch, held)
        if not batch.rows or batch.labels is None:
            return
        unlabelled = ~batch.labels.present()
        weight = batch.weight
        if held is not None or unlabelled.any():
            weight = np.ones(batch.rows) if weight is None else weight.copy()
            weight[unlabelled if held is None else unlabelled | held] = 0.0
        progress.unlabelled += int(unlabelled.sum())
        self._feed(batch, weight, unlabelled, held)

    def _usable(self, batch: Batch, held: NDArray[np.bool_] | None) -> tuple[Batch, NDArray[np.bool_] | None]:
        """Without rows that cannot be learned from; or an error that names the first."""
        if batch.labels is None:
            raise InputError("there is no target", **batch.place.at(0))
        if self.target is None:
            if not batch.labels.present().any():
                if self.source.family == "table":
                    raise InputError("the target has no value, nor have the rows after it", **batch.place.at(0))
                return batch.select(np.zeros(batch.rows, bool)), held
            self.target = self._request.target(self._first(batch.labels))
            centred = self.source.family != "named"
            self.model = self._request.model(self.target, centred)
            self.evaluation, self.holdout = Evaluation(self.model), self._fresh_holdout()
        problems = self._problems(batch)
        bad = np.zeros(batch.rows, bool)
        for rows, problem in problems:
            new = rows & ~bad
            if not new.any():
                continue
            at = np.flatnonzero(new)
            if self.reader.options.on_error == "fail":
                raise InputError(problem(int(at[0])), advice=SKIP_ROWS, **batch.place.at(int(at[0])))
            room = SHOWN_BAD - len(self.progress.bad)
            self.progress.bad += [Bad(batch.place(int(row)), problem(int(row))) for row in at[: max(0, room)]]
            bad |= new
        self.progress.skipped += int(bad.sum())
        return batch.select(~bad), None if held is None else held[~bad]

    def _first(self, labels: RawLabels) -> RawLabels:
        """Those that decide the task: the same number of rows, whatever the format."""
        assert self.reader.schema is not None
        columns = len(self.reader.schema.columns) + 1
        return labels.take(np.arange(min(len(labels), first_rows(columns))))

    def _problems(self, batch: Batch) -> list[tuple[NDArray[np.bool_], Callable[[int], str]]]:
        """Which rows have what wrong with them."""
        assert batch.labels is not None
        assert self.target is not None
        labels = batch.labels
        found: list[tuple[NDArray[np.bool_], Callable[[int], str]]] = []
        if not isinstance(batch.data, inputs.TextRows):  # in VW text rows without label are meant so
            absent = ~labels.present()
            if absent.any():
                found.append((absent, lambda row: "the target has no value"))
        if self.reader.options.on_error == "fail":
            return found  # the rest is found on the way
        target = self.target
        unknown = target.unknown(labels) & labels.present()
        found.append((unknown, lambda row: f"the target is {_label_at(labels, row)}, which is not one of its values"))
        if batch.weight is not None:
            h = batch.weight
            found.append((~(np.isfinite(h) & (h >= 0)), lambda row: f"the weight is {h[row]}"))
        if isinstance(batch.data, inputs.Dense):
            wrong = ~np.isfinite(batch.data.array).all(axis=1)
            found.append((wrong, lambda row: "a value is not a finite number"))
        if isinstance(batch.data, inputs.NamedRows):
            wrong = np.array([any(not _finite(x) for x in one.values()) for one in batch.data.mappings])
            found.append((wrong, lambda row: "a value is not a finite number"))
        if isinstance(batch.data, inputs.Frame):
            for name, column in zip(batch.data.names, batch.data.columns, strict=True):
                if (infinite := inputs.infinite(column)) is not None:
                    found.append((infinite, partial(_infinite, name)))
        return found

    def _feed(
        self, batch: Batch, weight: Float64 | None, unlabelled: NDArray[np.bool_], held: NDArray[np.bool_] | None
    ) -> None:
        """Learn, and count the predictions that were made before."""
        progress, model, labels = self.progress, self.model, batch.labels
        assert model is not None
        assert labels is not None
        assert self.target is not None
        assert self.evaluation is not None
        if isinstance(model, OneVsAll):
            with model._lock:
                numbers, new = class_numbers(model._classes, batch, weight)
                with model._classes.joining(new):
                    flat = fed(model, batch, numbers, weight, len(new))
                known = len(model.classes)
            scores = by_row(flat, batch.rows, known)
            if new:  # before a class was met it had no score, however many rows are learned at once
                met = np.maximum.accumulate(np.where(weight == 0, -1, numbers) if weight is not None else numbers)
                met = np.maximum(met, known - len(new) - 1)
                scores[np.arange(known) > met[:, None]] = -np.inf
            numbers = np.where(numbers < 0, known, numbers).astype(np.intp)

            def count(evaluation: Evaluation, rows: Any, h: Float64 | None) -> None:
                evaluation.add_numbered(scores[rows], numbers[rows], h)

        else:
            y = self.target.numbers(labels, batch.place) if not unlabelled.any() else self._with_gaps(batch, unlabelled)
            blind = model.options.target is not None and model.examples == 0
            p = fed(model, batch, y, weight)
            # Before the first label nothing is known of its unit: up to it there is no prediction to be scored.
            at = (0 if weight is None else int(np.argmax(weight > 0))) + 1 if blind else 0

            def count(evaluation: Evaluation, rows: Any, h: Float64 | None) -> None:
                if at:
                    scored = np.arange(batch.rows) >= at
                    scored = scored[rows]
                    evaluation.add(p[rows][scored], y[rows][scored], None if h is None else h[scored])
                else:
                    evaluation.add(p[rows], y[rows], h)

        learned = batch.rows if weight is None else int(np.count_nonzero(weight))
        progress.learned += learned
        if progress.passes == 0:
            count(self.evaluation, slice(None), weight)
        if held is not None and self.holdout is not None:
            rows = held & ~unlabelled
            progress.held += int(rows.sum())
            count(self.holdout, rows, None if batch.weight is None else batch.weight[rows])

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
        if self.model is None or self.target is None or self.evaluation is None or self.reader.schema is None:
            raise KeyboardInterrupt
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


def _finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(value))
    except TypeError:
        return False


def _infinite(column: str, row: int) -> str:
    return f"column {column!r} is infinite"


def _label_at(labels: RawLabels, row: int) -> str:
    if isinstance(labels, Numbers):
        value = float(labels.values[row])
        return task_labels.number_text(value) if np.isfinite(value) else str(value)
    return repr(labels.values[labels.codes[row]])
