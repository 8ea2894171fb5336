"""One training, from the data to the result: it can be watched, interrupted and resumed.

A `Training` has a setup, which does not change, a session, which learns, and records of how far it has come and of what
it has found. `fit.py`, `stream.py` and, for distributed training, `cluster/rounds.py` go through the data.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn, Protocol

import numpy as np

from .. import inputs
from ..data import Batch, Reader, Schema, Source, Target
from ..data.columns.schema import first_rows
from ..data.label_values import LabelValues
from ..data.labels import RawLabels
from ..data.progress import Progress
from ..data.read_options import no_column
from ..data.rows.kin import Held
from ..data.screening import check_labeled
from ..data.sources.in_memory import Mappings
from ..data.threads import threads_to_read
from ..errors import InputError, Option, OptionError, Phrase
from ..inference.importance import Importance
from ..inputs import Float64
from ..metrics.coverage import Coverage
from ..metrics.curves import Curves
from ..metrics.design_effect import design_effect
from ..metrics.evaluation import Evaluation
from ..metrics.holdout_errors import HoldoutErrors
from ..metrics.row_errors import RowErrors
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.prediction_errors import errors_known, has_errors
from ..options import ModelType
from . import checkpoint
from .defaults import DataFacts
from .interruption import interruptible
from .label_notes import check_labels, one_value
from .leaks import Leak
from .notes import notes
from .passes import Passes
from .plan import Plan
from .repeated_identifiers import RepeatedIdentifier
from .result import TrainResult
from .session import Session
from .setup import Setup
from .trial import MOST_CLASSES, needs_trial, take_trial, too_many
from .watched import Watched


class Way(Protocol):
    """How a training goes through its data: as a fit, as a stream, or in synchronization rounds."""

    def go(self, watched: Watched) -> bool:
        """Learn the data; returns whether all of it was learned, without an interruption."""


@dataclass
class Findings:
    """What a training finds in addition to the progressive metrics.

    Args:
        holdout: the metrics of the final model on held-out rows.
        curves: ROC, reliability and residuals of its predictions for these rows.
        row_errors: the error of each of these predictions.
        in_sample: the metrics of the final model on a sample of the learned rows.
        learned_errors: for a fit, the error of each of these predictions.
        drifting: whether errors differ along the data.
        leak: columns that give the target away.
        new_values: a note about columns of a stream that were constant until its last rows.
        identifier: a column whose rows with a known value are predicted far better than others.
        importance: how much worse the predictions of the final model are without knowing a column.
        labels: the values of the target in all rows of a fit.
        read: how many rows a fit has read.
        shuffled: how the rows came into random order, in words.
        kin: which rows of a fit were held out, and how many rows are duplicates; None for a stream.
        features_met: how many features a sparse model had met before it was pruned.
        remarks: what is worth knowing about the data.
        round_log: a record for each synchronization round of a cluster.
    """

    holdout: Evaluation | None = None
    curves: Curves | None = None
    row_errors: RowErrors | None = None
    in_sample: Evaluation | None = None
    learned_errors: RowErrors | None = None
    drifting: bool = False
    leak: Leak | None = None
    new_values: Phrase | None = None
    identifier: RepeatedIdentifier | None = None
    importance: Importance | None = None
    labels: LabelValues = field(default_factory=LabelValues)
    read: int = 0
    shuffled: str = ""
    kin: Held | None = None
    features_met: int | None = None
    remarks: list[Phrase] = field(default_factory=list)
    round_log: list[Any] = field(default_factory=list)

    def remark(self, note: str) -> None:
        """Add a note, unless it is empty or has been added before."""
        if note and Phrase(note) not in self.remarks:
            self.remarks.append(Phrase(note))


class Training:
    """One training: its setup, its session, and records of its progress and its findings."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.session: Session | None = None  # the first labels determine the task, and so the model
        self.progress, self.passes, self.findings = Progress(), Passes(), Findings()
        self.earlier = checkpoint.Earlier()
        self.rounds: dict[str, Any] | None = None  # how far it has come, if partitions learn in synchronization rounds
        self.fit_rows = 0  # the number of rows of a fit by one process, as soon as they have been read
        self.holdout_learned = False  # whether the model has learned the held-out rows, or is learning them
        if setup.resumed is not None:
            checkpoint.resume(self)

    # Properties that progress displays, results and notes read.

    @property
    def source(self) -> Source:
        """The data."""
        return self.setup.source

    @cached_property
    def identity(self) -> list[Any]:
        """Names, sizes and digests of the files, to recognize them when training is resumed.

        Distributed training sets it, because it has looked at the files already.
        """
        return self.source.identity

    @property
    def reader(self) -> Reader:
        """Reads the data as batches."""
        return self.setup.reader

    @property
    def plan(self) -> Plan:
        """The arguments about passes, hold-out, order and output."""
        return self.setup.plan

    @property
    def fitted(self) -> bool:
        """Whether rows are learned in random order; otherwise they are a stream."""
        return self.setup.fitted

    @property
    def schema(self) -> Schema:
        """The names and types of the columns."""
        assert self.reader.schema is not None
        return self.reader.schema

    @property
    def model(self) -> Learner | OneVsAll | None:
        """The model; None before the first label."""
        return None if self.session is None else self.session.model

    @property
    def target(self) -> Target | None:
        """What is predicted; None before the first label."""
        return None if self.session is None else self.session.target

    @property
    def evaluation(self) -> Evaluation | None:
        """The progressive metrics; None before the first label."""
        return None if self.session is None else self.session.evaluation

    @property
    def read(self) -> int:
        """How many rows a fit has read."""
        return self.findings.read

    @property
    def round_log(self) -> list[Any]:
        """A record for each synchronization round of a cluster."""
        return self.findings.round_log

    @property
    def design_effect(self) -> float:
        """How many held-out rows are worth one independent row: more than 1 if they are of groups."""
        kin, errors = self.findings.kin, self.findings.row_errors
        if kin is None or kin.group_of is None or errors is None:
            return 1.0
        squares = errors.errors**2
        if len(squares) != len(kin.group_of):  # some rows could not be predicted
            return len(kin.group_of) / max(1, len(np.unique(kin.group_of)))
        return design_effect(squares, kin.group_of)

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped before its end."""
        return not self.progress.done

    def notes(self) -> list[Phrase]:
        """What is worth knowing about the data and the model, one sentence each."""
        return [*self.findings.remarks, *self.schema.remarks, *notes(self)]

    # ---------------------------------------------------------------------------------------------------- the model

    def begin(self, batch: Batch) -> bool:
        """Make the model as soon as there is a label; returns whether there is a model."""
        check_labeled(batch, self.reader.schema)
        assert batch.labels is not None
        if self.session is None:
            if not batch.labels.present().any():
                self.progress.unlabeled += batch.rows
                return False
            assert self.reader.schema is not None
            # Formats give batches of different sizes; the task must be decided by the same rows in all of them.
            some = np.arange(min(batch.rows, first_rows(len(self.reader.schema.columns) + 1)))
            self.begin_with(batch.labels.take(some), batch.data)
        return True

    def begin_with(self, labels: RawLabels, data: inputs.Input) -> None:
        """Make the model. The labels determine the task: all of them if they are known, otherwise the first ones."""
        setup, findings = self.setup, self.findings
        # With on_error="skip", a row whose label is not among those of the first rows is skipped.
        every = findings.labels.all_rows and setup.reader.options.on_error == "fail"
        found = findings.labels if every else LabelValues.of(labels)
        schema = setup.reader.schema
        target = setup.request.target(found, None if schema is None else schema.target)
        if target.task == "classes" and setup.reader.options.offset is not None:
            raise OptionError(
                Phrase(Option("offset"), " is added to one score; this target has several classes, with one each")
            )
        unlabeled = self.progress.unlabeled
        findings.remarks += check_labels(found, target, setup.request.names_task, setup.source.name, unlabeled)
        self.take(self.new_model(target, data), target)

    def new_model(self, target: Target, rows: inputs.Input, model_type: ModelType | None = None) -> Learner | OneVsAll:
        """A new model for a target and rows such as these; of the given model type, or of that of the options."""
        facts = DataFacts(self.source.has_columns, self.fitted, rows, self.fit_rows)
        return self.setup.request.model(target, facts, model_type)

    def choose_model_type(self, batches: Callable[[], Iterable[Batch]]) -> None:
        """Before the first row of a fit is learned, choose the model type by a trial if there are many classes.

        Args:
            batches: returns the rows in the order of the fit, each time that it is called.
        """
        assert self.session is not None
        target = self.session.target
        if not needs_trial(self.session.model, target.met):
            return
        first = next(iter(batches())).data
        if target.met > MOST_CLASSES:
            self.findings.remarks.append(too_many(target.met))
            return self._begin_linear(target, first)
        trial = take_trial(
            lambda model_type: self.new_model(target, first, model_type),
            batches(),
            lambda model: Session(model, target, on_error=self.reader.options.on_error),
        )
        if trial is None:
            return
        self.findings.remarks.append(trial.note)
        if trial.model_type == "linear":
            self._begin_linear(target, first)

    def _begin_linear(self, target: Target, rows: inputs.Input) -> None:
        """Begin again with a linear model."""
        if self.session is not None:
            self.session.close()
        self.take(self.new_model(target, rows, "linear"), target)

    def take(self, model: Learner | OneVsAll, target: Target) -> None:
        """Begin a session with this model."""
        self.session = Session(
            model,
            target,
            on_error=self.setup.reader.options.on_error,
            level=self.plan.level,
            stream=not self.fitted,
            background=threads_to_read() > 2,  # one thread reads, and one learns
        )

    def share_rows(self, other: Training) -> None:
        """Copy the counts of another training that has read all rows into random order."""
        self.progress = copy.deepcopy(other.progress)
        self.findings.shuffled, self.findings.labels = other.findings.shuffled, other.findings.labels
        self.findings.kin = other.findings.kin

    def begin_pass(self) -> None:
        """Begin another pass over the same rows."""
        if not self.fitted:
            self.progress.begin_pass()
            return
        assert self.model is not None
        self.progress.rows = 0
        self.passes.end_pass(self.model)

    # ----------------------------------------------------------------------------------------------------- learning

    def go(
        self, watch: Callable[[Training], None] | None, way: Callable[[Training], Way], in_rounds: bool = False
    ) -> TrainResult:
        """Learn to the end of the data, or until interrupted.

        Args:
            watch: called with this training after every batch.
            way: makes the object that goes through the data.
            in_rounds: whether partitions learn in synchronization rounds.
        """
        if self.earlier.midway and (self.rounds is not None) != in_rounds:
            how = "in rounds, by several partitions" if self.rounds is not None else "in one go"
            raise OptionError(f"training of this model was begun {how}; resume it in the same way")
        if not in_rounds:
            # Taken before the files are read, so that later changes are noticed; partitions do this themselves.
            _ = self.identity
        try:
            with interruptible() as interrupted:
                self.progress.done = way(self).go(Watched(self, watch, interrupted))
        finally:
            if self.session is not None:
                self.session.close()
        model = self.model
        if self.progress.done and model is not None and model.options.sparse:
            self.findings.features_met = int(np.count_nonzero(model._snapshot()["slots"]))
            model.prune()
        if not self.progress.rows and not self.progress.passes:  # interrupted before the first row was learned
            raise KeyboardInterrupt
        self.save()
        return self.result()

    def result(self) -> TrainResult:
        """The result of the training."""
        checkpoint.describe(self)
        return TrainResult(self)

    def learn(self, batch: Batch, held_out: bool = False) -> None:
        """Learn a batch, and count how good the predictions for it were.

        Args:
            batch: the next rows.
            held_out: whether these rows were held out before; the progressive metrics do not count them.
        """
        progress = self.progress
        progress.rows += batch.rows
        if not batch.rows or not self.begin(batch):
            return
        assert self.session is not None
        first, learned = progress.passes == 0, progress.learned
        counts = progress if first or held_out or not self.fitted else Progress()
        # The intervals of a stream are calibrated by the errors of all its rows, up to the last one.
        counted = "metrics" if first and not held_out else "errors" if held_out and not self.fitted else "nothing"
        self.session.learn(batch, counted, counts)  # type: ignore[arg-type]
        if not (first or held_out):
            progress.learned = learned  # each row counts once, however many passes there are

    def score_holdout(
        self, batches: Iterable[Batch], rows: int, finished: bool = True, scores: Float64 | None = None
    ) -> None:
        """Compute the metrics on rows that the model has not learned.

        Args:
            batches: the rows.
            rows: the number of rows.
            finished: whether this is the final model. After an interruption it is not, and these rows must not
                calibrate its prediction intervals.
            scores: the predictions for these rows by weights that were chosen without them; see `halves.py`. Default:
                the predictions of the current model.
        """
        self.progress.held = rows
        if self.session is None or not rows:
            return
        model, findings = self.session.model, self.findings
        findings.holdout = Evaluation(model, intervals=self._scored_intervals(model))
        findings.curves, findings.row_errors = Curves(model, findings.holdout), RowErrors(model)
        baseline = self.session.metrics.baseline
        baseline.begin_scoring()
        self.session.score(batches, [findings.holdout, baseline, findings.curves, findings.row_errors], scores)
        if finished and isinstance(findings.holdout.intervals, HoldoutErrors):
            model._errors = findings.holdout.intervals.calibrated

    def _scored_intervals(self, model: Learner | OneVsAll) -> Coverage | HoldoutErrors | None:
        """The counter of coverage; held-out rows calibrate the intervals of a fit, but not those of a stream."""
        if not has_errors(model):
            return None
        known = errors_known(model)
        return HoldoutErrors(self.plan.level, known) if self.fitted else Coverage(self.plan.level, known)

    def save(self, path: str | None = None) -> None:
        """Write the model and the record of its training to a file. Default: the plan's output file."""
        checkpoint.save(self, path)

    def save_if_due(self) -> None:
        """Save the model, if a checkpoint is due."""
        if self.plan.checkpoint and self.progress.rows % self.plan.checkpoint == 0:
            self.save()

    # --------------------------------------------------------------------------------------- data without labeled rows

    def check_rows(self, rows: int) -> None:
        """Refuse data without rows that can be learned."""
        if rows:
            return
        if self.progress.unlabeled:
            self._raise_unlabeled()
        why = f": {self.progress.bad[0]}" if self.progress.bad else ""
        if not why and self.read:
            why = ": no row has a weight above 0"
        raise InputError(f"{self.source.name} has no rows to learn from{why}")

    def check_groups(self) -> None:
        """Refuse groups of which none can be held out."""
        groups = None if self.findings.kin is None else self.findings.kin.groups
        if groups is None or groups[0] > 1:
            return
        if groups[0] == 1:
            raise OptionError("is the same for all rows, so that no group can be held out", option="groups")
        if isinstance(self.source, Mappings) and self.source.first_keys and self.schema.groups is not None:
            raise OptionError(no_column(self.schema.groups, self.source.first_keys, "groups"))
        raise OptionError("has no value in any row", option="groups")

    def _raise_unlabeled(self) -> NoReturn:
        hint = "" if self.source.has_columns else "; in VW text a space must stand between the label and the bar"
        if isinstance(self.source, Mappings) and self.source.first_keys:
            keys = self.source.first_keys
            if self.schema.target is not None and self.schema.target not in keys:
                raise OptionError(no_column(self.schema.target, keys, "target"))
        raise InputError(f"no row of {self.source.name} has a label{hint}")

    def check_learned(self) -> None:
        """Refuse data from which a pass has learned nothing."""
        progress = self.progress
        self.check_rows(0 if self.session is None and not progress.unlabeled else 1)
        if progress.learned:
            return
        if progress.unlabeled:
            self._raise_unlabeled()
        raise InputError(f"{self.source.name} has no rows to learn from: no row has a weight above 0")

    def check_values(self) -> None:
        """Refuse a target with one value; called at the end of the data, which may be sorted by label."""
        target, model = self.target, self.model
        assert target is not None
        if target.task == "regression" or target.rest:
            return
        assert model is not None
        met = model._class_labels or [name for name in target.classes if name]
        if len(met) == 1:
            unlabeled = self.progress.unlabeled
            raise one_value(str(met[0]), self.progress.rows - unlabeled, self.source.name, unlabeled)
