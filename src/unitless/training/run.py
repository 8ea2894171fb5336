"""A training run: batches of data, predicted, learned and counted. It can be watched, interrupted and continued."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np

from .. import inputs
from ..data import Batch, Position, Reader, ReadOptions, Schema, Source, Target, open_source
from ..data import labels as task_labels
from ..data.file_identity import labels_of
from ..data.files import check_output
from ..data.label_values import LabelValues
from ..data.labels import RawLabels
from ..data.ordered_work import threads_to_read
from ..data.progress import Progress
from ..data.read_options import Reading
from ..data.schema import first_rows
from ..data.source import other_kind
from ..errors import InputError, Option, OptionError, Phrase
from ..metrics.baseline import Baseline
from ..metrics.coverage import Coverage
from ..metrics.curves import Curves
from ..metrics.evaluation import Evaluation
from ..metrics.held_errors import HeldErrors
from ..metrics.row_errors import RowErrors
from ..metrics.stream_baselines import StreamBaselines
from ..models import file as model_file
from ..models.error_quantiles import ErrorQuantiles
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.prediction_errors import has_errors
from ..models.training_record import record
from ..options import check_names
from .beside import Beside
from .cluster import Cluster
from .defaults import DataFacts, new_model, resolve
from .fitting import Fit
from .following import Follow
from .interruption import interruptible
from .label_notes import check_labels, one_value
from .learning import Learning
from .notes import notes
from .passes import Passes
from .plan import Plan
from .result import TrainResult
from .watched import Watched


@dataclass(frozen=True)
class ModelRequest:
    """What the model is to be."""

    task: str | None
    positive: str | None
    options: dict[str, Any]

    def __post_init__(self) -> None:
        given = {name: value for name, value in self.options.items() if value is not None}
        _check_option_names(given)
        object.__setattr__(self, "options", given)

    def target(self, labels: LabelValues) -> Target:
        """What is to be predicted, by the labels that were found."""
        return task_labels.decide(labels, self.task, self.options.get("loss"), self.positive)

    @property
    def says_task(self) -> bool:
        """Whether the task follows from what was asked for."""
        return self.task is not None or self.positive is not None or "loss" in self.options

    def model(self, target: Target, data: DataFacts) -> Learner | OneVsAll:
        """A new model for a target: see `defaults`."""
        return new_model(resolve(target.task, data, self.options), target.task)


class Way(Protocol):
    """How a run goes through the data."""

    def go(self, watched: Watched) -> bool:
        """Give whether it came to its end."""


class Run(Learning):
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
        resume = model_file.load(resume) if isinstance(resume, str | os.PathLike) else getattr(resume, "model", resume)
        options = _options(resume, {**columns, **reading})
        self.source: Source = open_source(source, options)
        if beside and self.source.files:  # a pipe too
            raise OptionError("for files, target and weight are names of columns")
        check_output(plan.output, self.source.files, "the model")
        super().__init__(options.on_error, plan.shuffle and self.source.at_hand, plan.level)
        if not self.fitted:
            self._check_stream()
        self.score: Evaluation | None = None  # of the kept weights
        self.curves: Curves | None = None  # what its predictions look like, on the same rows
        self.row_errors: RowErrors | None = None  # of the same rows
        self.past: Evaluation | None = None  # of them on a sample of the rows that were followed
        self.passes = Passes()
        self.features_met: int | None = None  # before the model was pruned
        self.drifting = False  # its errors differ along the data
        self.shuffled = ""  # how the rows came into random order
        self.before: list[Any] = []  # files from which the model has learned earlier
        self.known = False  # these rows may be among them
        self.midway = False  # it goes on where it was interrupted
        self.read = 0  # rows that were read to be fitted
        self.labels = LabelValues()  # of all rows that were read to be fitted
        self.interrupted = False
        self.checkpoint_path: str | None = None  # where each round is kept, if not with the model
        self.rounds: dict[str, Any] | None = None  # how far it has come, where partitions learn apart
        self.told: list[Any] = []  # what there is to say of each round
        self.remarks: list[Phrase] = []  # of what was noticed on the way
        schema = self._resumed(resume, options) if resume is not None else None
        for name, value in beside.items():
            beside[name] = value if isinstance(value, list) else inputs.as_array(value, name)
        self.reader = Reader(
            self.source, options, schema, beside.get("target"), beside.get("weight"), drop_invalid=True
        )

    # ------------------------------------------------------------------------------------------------ going on

    def _resumed(self, resume: Any, options: ReadOptions) -> Schema:
        """Take up a model: where it stopped, or at the beginning of new data."""
        model = resume
        if not isinstance(model, Learner | OneVsAll) or model._training is None:
            raise OptionError("only a model that was made by train can be resumed")
        if self._request.options or self._request.task or self._request.positive:
            given = next(iter(self._request.options), "task")
            raise OptionError("is settled by the model that is resumed; leave it out", option=given)
        training = model._training
        schema, self.target = Schema.read(training["schema"]), Target.read(training["target"])
        for name in ("target", "weight", "offset"):
            if getattr(options, name) not in (None, getattr(schema, name)):
                raise OptionError(
                    f"is {getattr(options, name)!r}, but the model was trained with {getattr(schema, name)!r}",
                    option=name,
                )
        if schema.family != self.source.family:
            raise OptionError(other_kind(schema.family, self.source))
        self.model = model
        before = Progress.read(training["progress"])
        self.before = [*(training["before"] or []), *((training["source"] or []) if before.done else [])]
        if before.done:
            self.known = not self.source.identity or any(file in self.before for file in self.source.identity)
            self.begin_counting(model)
            return schema
        differs = self._changed(training, before)
        if differs is not None and self.source.followed and training["source"] == self.source.identity:
            self.remark(f"{self.source.name} is another file than when training stopped; it is read from its beginning")
            before.position, before.within, before.consumed = Position(), 0, 0
        elif differs is not None:
            raise InputError(
                f"training of this model was interrupted after {before.rows:,} rows of other files than "
                f"{self.source.name}: {differs}; give the same ones to go on"
            )
        then, now = training["plan"] or {}, self.plan.plain(self.fitted)
        if then != now:
            other = ", ".join(f"{name} {_setting(then.get(name))}" for name in now if then.get(name) != now[name])
            raise OptionError(f"training of this model was begun with other settings: {other or then}")
        called = {label: name for name, label in labels_of(self.source.files).items()}
        self.progress = before.renamed(called)
        self.midway, self.known = True, training["known"] is True
        self.rounds = training["rounds"]
        self.evaluation = Evaluation.restore(model, training["evaluation"] or {})
        self.baseline = Baseline.restore(model, training["baseline"] or {})
        self.stream_baselines = StreamBaselines.restore(model, training)
        if training["best"] is not None:
            self.passes = Passes.read(training["best"], model._earlier)
        return schema

    def _changed(self, training: dict[str, Any], before: Progress) -> str | None:
        """How the data differs from that in which training was interrupted, if it does."""
        then, now = training["source"], self.source.identity
        if then != now:
            return _differing(then, now)
        same = training["content"] == self.source.content(before.consumed)
        return None if same else f"{self.source.name} holds other data than then"

    def _check_stream(self) -> None:
        """What asks for more than one look at the rows does not go with a stream."""
        plan, name = self.plan, self.source.name
        if plan.passes == "auto":
            raise OptionError(Phrase(f"{name} is followed as it comes; ", Option("passes"), " must be a number"))
        if (plan.passes or 1) > 1 and not self.source.repeatable:
            raise OptionError(Phrase(f"{name} can be read only once; ", Option("passes"), " must be 1"))

    def save(self, path: str | None = None) -> None:
        """Write the model with all that is needed to go on: to where it is to be saved, or somewhere else."""
        path = path or self.plan.output
        if path is not None and self.model is not None:
            self._describe()
            self.model.save(path)

    def _describe(self) -> None:
        assert self.model is not None
        assert self.reader.schema is not None
        assert self.target is not None
        done = self.progress.done
        self.beside.wait()  # what is known of errors is part of the model
        self.model._training = record(
            self.reader.schema,
            self.target,
            {**self.reader.options.kept(self.reader.schema.family), **self.source.found},
            self.progress.renamed(labels_of(self.source.files)),
            source=self.source.identity,
            before=self.before,
            known=self.known,
            content=None if done else self.source.content(self.progress.consumed),
            plan=self.plan.plain(self.fitted),
            evaluation=None if done or self.evaluation is None else self.evaluation.state(),
            baseline=None if done or self.baseline is None else self.baseline.state(),
            **({} if done or self.stream_baselines is None else self.stream_baselines.state()),
            best=None if done or not self.passes.best else self.passes.plain(),
            rounds=None if done else self.rounds,
        )
        self.model._earlier = None if done else self.passes.state

    # ------------------------------------------------------------------------------------------------ the way

    def go(self, watch: Callable[[Run], None] | None, make: Callable[[Run], Way] | None = None) -> TrainResult:
        """To the end of the data, or until interrupted. `make`: another way than to fit or to follow."""
        if self.midway and (self.rounds is not None) != (make is not None):
            how = "in rounds, by several partitions" if self.rounds is not None else "in one go"
            raise OptionError(f"training of this model was begun {how}; go on in the same way")
        if make is None:
            _ = self.source.identity  # of the files as they are before they are read; partitions look at them anyway
        way: Way = make(self) if make is not None else Fit(self) if self.fitted else Follow(self)
        self.beside = Beside(apart=threads_to_read() > 2)  # one thread reads, and one learns
        try:
            with interruptible() as interrupted:
                self.progress.done = way.go(Watched(self, watch, interrupted))
        finally:
            self.beside.end()
        self.interrupted = not self.progress.done
        if self.progress.done and self.model is not None and self.model.options.sparse:
            self.features_met = int(np.count_nonzero(self.model._snapshot()["slots"]))
            self.model.prune()
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
        return [*self.remarks, *self.schema.remarks, *notes(self)]

    def remark(self, note: str) -> None:
        """Say once what was noticed of the data."""
        if note and Phrase(note) not in self.remarks:
            self.remarks.append(Phrase(note))

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
        self.progress = copy.deepcopy(other.progress)
        self.shuffled, self.labels = other.shuffled, other.labels

    def score_rows(self, batches: Iterable[Batch], held: int, finished: bool = True) -> None:
        """The score of the model as it is now, on rows that it has not learned.

        Args:
            batches: the rows.
            held: how many they are.
            finished: this is the model that is kept; if it was interrupted, what it has counted must stay as it is.
        """
        self.progress.held = held
        if self.model is None or not held:
            return
        assert self.baseline is not None
        self.score = Evaluation(self.model, intervals=self._scored_intervals(self.model))
        self.curves = Curves(self.model, self.score)
        self.row_errors = RowErrors(self.model)
        self.baseline.begin_scoring()
        self.count(batches, [self.score, self.baseline, self.curves, self.row_errors])
        if finished and isinstance(self.score.intervals, HeldErrors):
            self.model._errors = self.score.intervals.quantiles

    def _scored_intervals(self, model: Learner | OneVsAll) -> Coverage | HeldErrors | None:
        """Of a fit, rows held back calibrate intervals; of a stream, these are as its last rows have left them."""
        if not has_errors(model):
            return None
        known = model._errors or ErrorQuantiles()
        return HeldErrors(self.plan.level, known) if self.fitted else Coverage(self.plan.level, known)

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
            unlabelled = self.progress.unlabelled
            raise one_value(str(met[0]), self.progress.rows - unlabelled, self.source.name, unlabelled)

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
            self.begin_with(self._first(batch.labels), batch.data)
        return True

    def begin_with(self, labels: RawLabels, data: inputs.Input) -> None:
        """Make the model: the labels decide the task, all of them if they are known and otherwise the first ones."""
        # Where bad rows are to be skipped, a label that the first rows do not have is one of those.
        found = self.labels if self.labels.all_rows and self.on_error == "fail" else LabelValues.of(labels)
        target = self._request.target(found)
        if target.task == "classes" and self.reader.options.offset is not None:
            raise OptionError(
                Phrase(Option("offset"), " is added to one score; this target has several classes, with one each")
            )
        unlabelled = self.progress.unlabelled
        self.remarks += check_labels(found, target, self._request.says_task, self.source.name, unlabelled)
        self.take_up(
            self._request.model(target, DataFacts(self.source.family != "named", self.fitted, target.met, data)), target
        )

    def _first(self, labels: RawLabels) -> RawLabels:
        """Those that decide the task: the same number of rows, whatever the format."""
        assert self.reader.schema is not None
        columns = len(self.reader.schema.columns) + 1
        return labels.take(np.arange(min(len(labels), first_rows(columns))))

    def _result(self) -> TrainResult:
        assert self.model is not None
        self._describe()
        return TrainResult(self)


def _options(resume: Any, given: dict[str, Any]) -> ReadOptions:
    """How data is read: as it is said; where a model is resumed, otherwise as its data was."""
    training = getattr(resume, "_training", None)
    if training is None:
        return ReadOptions(**given)
    said = {name: value for name, value in given.items() if value not in ((), [])}
    return ReadOptions.settled(training["reading"], **said)


def _check_option_names(given: Iterable[str]) -> None:
    """Refuse options that no learner has; those of reading and of a cluster are given in records of their own."""
    for name in given:
        if name in Reading.__dataclass_fields__:
            raise OptionError(f"there is no option {name!r} of learners", advice=f"give reading=ul.Reading({name}=...)")
        if name in Cluster.__dataclass_fields__:
            raise OptionError(f"there is no option {name!r} of learners", advice=f"give cluster=ul.Cluster({name}=...)")
    check_names(given)


def _setting(value: Any) -> str:
    """A setting of the plan, as a model file stores it, for messages."""
    if value is None:
        return "as usual"
    try:
        return f"{float.fromhex(value):g}"
    except (TypeError, ValueError):  # it is not a fraction
        return str(value)


def _differing(then: Any, now: list[Any]) -> str:
    """How two lists of names, sizes and digests differ."""
    if not isinstance(then, list) or not all(isinstance(file, list) and len(file) == 3 for file in then):
        return "the model file does not name them"
    if len(then) != len(now):
        return f"they were {len(then):,}, not {len(now):,}"
    (name, size, _), (found, found_size, _) = next((a, b) for a, b in zip(then, now, strict=True) if a != b)
    if name != found:
        return f"then there was {str(name)!r} in place of {found!r}"
    if size == found_size:
        return f"{found} has the same size as then, but other content"
    return f"{found} had {size} bytes then and has {found_size} now"
