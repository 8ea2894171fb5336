"""Training in partitions: rows are divided among partitions, which learn at the same time and are merged into one model
after each round.

This is the third way to train, next to `fit` and `stream`. The result depends on the data, the seed, and the numbers of
partitions and rounds; it does not depend on the engine or its number of workers.
"""

from __future__ import annotations

import copy
import itertools
import math
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data import Batch
from ..data.memory import memory_size
from ..errors import InputError, Option, OptionError, Phrase
from ..merging.gathered import Gathered
from ..merging.rounds import Partitions, scaled
from ..metrics.baseline import Baseline
from ..metrics.evaluation import Evaluation
from ..models.model import State
from ..models.scored import Scored
from ..presentation.json_values import plain
from ..training.column_importance import importance_of
from ..training.halves import judging, steering_loss
from ..training.notes import drifts
from ..training.training import Training
from ..training.watched import Watched
from . import work
from .agreement import agree
from .blocks import DataSpec, FileSurvey, all_blocks, batches
from .engine import Engine, Handle
from .layout import Layout, lay_out
from .units import Scales, parts_of
from .whole_data import is_small, let_go
from .work import Base, Cell, Job, Learned, TakenIn

PARTITIONS, ROUNDS = 64, 8  # the defaults
FAN_IN = 8  # partitions are merged in a tree: this many models at once
MOST_HELD = 1_000_000  # held-out rows, for data that is not read by each worker as a whole
SHOWN_ROWS = 4096  # held-out rows on which the model is evaluated after each round, for the progress display


class StoppedError(Exception):
    """The user has stopped the training."""


@dataclass(frozen=True)
class Round:
    """A finished synchronization round, for the progress display."""

    number: int  # from 1, over all passes
    rows: int  # rows that were learned in this round
    loss: float  # progressive loss of these rows
    held_loss: float  # loss of the merged model on a sample of the held-out rows
    partitions: int
    seconds: float = math.nan  # not known for rounds of an earlier process: a model file stores no times
    merging: float = math.nan  # the part of `seconds` that merging took

    def plain(self) -> list[float | None]:
        """The values that a model file stores."""
        stored: list[float | None] = plain([self.number, self.rows, self.loss, self.held_loss, self.partitions])
        return stored

    @classmethod
    def read(cls, plain: list[Any]) -> Round:
        """Read a round from a model file."""
        number, rows, loss, held_loss, partitions = plain
        loss, held_loss = (math.nan if value is None else value for value in (loss, held_loss))
        return cls(number, rows, loss, held_loss, partitions)


class Rounds:
    """One training in rounds.

    Args:
        training: the training.
        engine: runs the tasks.
        partitions: the number of partitions, which learn at the same time; the result depends on it.
        rounds: how often the partitions are merged in a pass; the result depends on it.
        path: the file that stores what is needed to resume after each round. Default: the model's file.
    """

    def __init__(self, training: Training, engine: Engine, partitions: int, rounds: int, path: str | None) -> None:
        self.training, self.engine, self._path = training, engine, path
        self._asked = partitions, rounds
        self._held: list[Batch] = []
        self._scales = Scales(())
        self._examples, self._weight = 0, 0.0  # learned so far, over all passes
        self._after: list[list[float]] = []  # examples and weight after each pass
        self._job: Job | None = None
        self._surveys: list[FileSurvey] = []
        self._taken: TakenIn | None = None  # for data that each worker reads as a whole

    # ------------------------------------------------------------------------------------------------ the training

    def go(self, watched: Watched) -> bool:
        """Run the training; returns whether it was completed."""
        try:
            return self._go(watched)
        except StoppedError:
            return False
        finally:
            if self._job is not None:
                let_go(self._job.token)

    def _go(self, watched: Watched) -> bool:
        training = self.training
        layout = self._begin(watched)
        if not self._passes(layout, watched):
            return False
        model = training.model
        assert model is not None
        training.score_holdout(iter(self._held), training.progress.held, scores=training.passes.halves.scores)
        training.findings.importance = importance_of(training, self._held, [])
        if training.findings.row_errors is not None:
            numbers = [np.asarray(batch.place.numbers) for batch in self._held]
            training.findings.drifting = self._taken is not None and drifts(
                training.findings.row_errors.errors, np.concatenate(numbers)
            )
        training.findings.remarks += [Phrase(warning) for warning in self._scales.warnings()]
        examples, self._weight = self._after[(training.passes.best or training.progress.passes) - 1]
        self._examples = int(examples)
        state = self._learn_held(layout, watched)
        model._go_back(scaled(model.options, state, self._weight, self._examples))
        training.progress.rows = layout.rows
        training.check_values()
        training.passes.finish(model)
        return True

    def _begin(self, watched: Watched) -> Layout:
        """Survey the data, infer its schema, and make the model."""
        training = self.training
        known, options = training.reader.schema, training.reader.options
        if known is not None:  # the model continues an earlier training
            options = replace(options, target=known.target, weight=known.weight, offset=known.offset)
        data = DataSpec.of(training.source, options, *training.reader.given)
        common = self.engine.put(data)
        handles = [self.engine.submit(work.survey, common, file, f"file {file + 1}") for file in range(data.parts)]
        self._wait(handles, watched)
        self._surveys = [self.engine.get(handle) for handle in handles]
        self.engine.forget([*handles, common])
        training.identity = [one.file for one in self._surveys if one.file is not None]
        schema, labels = agree(data, self._surveys) if known is None else (known, None)
        data = replace(data, schema=schema)
        training.reader.schema = schema
        layout = lay_out(self._surveys, *self._asked, training.plan.random_state)
        if training.model is None:
            assert labels is not None
            if not labels.present().any():
                raise InputError(f"none of the first rows of {training.source.name} has a label")
            some = (batch for row in layout.cells for cell in row for batch in batches(data, cell) if batch.rows)
            first = next(some, None)
            if first is None:
                raise InputError(f"no row of {training.source.name} can be read")
            training.begin_with(labels, first.data)
        counted = ((layout.partitions, "partition"), (layout.rounds, "round"))
        training.findings.shuffled = "dealt to " + ", ".join(
            f"{count} {what}{'s' * (count != 1)}" for count, what in counted
        )
        training.findings.read = layout.rows
        held = training.plan.held_rows(layout.rows) / layout.rows
        assert training.model is not None
        assert training.target is not None
        fresh = training.model._fresh(training.model.options.asdict(), None, training.model._open_to_classes(), None)
        memory = max(64 << 20, memory_size(training.plan.memory) // max(1, self.engine.slots))
        parts = parts_of(self._surveys)
        self._scales = Scales(parts)
        blocks = all_blocks(self._surveys) if is_small(data, self._surveys) else ()
        if not blocks and training.plan.held_rows(layout.rows) > MOST_HELD:
            rows = training.plan.held_rows(layout.rows)
            raise OptionError(
                f"would hold out {rows:,} rows, and the driver can store at most {MOST_HELD:,}",
                option="holdout",
            )
        if not blocks and training.plan.groups is not None:
            raise OptionError(
                Phrase(Option("groups"), " needs all rows in the memory of each worker, and these are too many: train ")
                + Phrase("without ", Option("cluster"))
            )
        self._job = Job(
            data, fresh, training.target, training.plan.random_state, held, memory, parts, uuid.uuid4().hex, blocks
        )
        self._taken = self._take_in(watched) if blocks else None
        self._take_up(layout, watched)
        return layout

    def _take_in(self, watched: Watched) -> TakenIn:
        """Read data that each worker reads as a whole: its number of rows, and its held-out rows."""
        training, engine = self.training, self.engine
        common = engine.put(self._job)
        handle = engine.submit(work.take_in, common, None, training.source.name)
        self._wait([handle], watched)
        taken: TakenIn = engine.get(handle)
        engine.forget([common, handle])
        self._held, training.findings.kin = list(taken.held), taken.kin
        self._scales.join([taken.scales])
        if not training.earlier.midway:
            training.progress.absorb(taken.counts)
            training.progress.rows = 0  # rows that are learned
            training.progress.held = sum(batch.rows for batch in taken.held)
        training.check_rows(taken.rows)
        training.check_groups()
        return taken

    def _take_up(self, layout: Layout, watched: Watched) -> None:
        """Resume the training where it was interrupted, if it was."""
        training = self.training
        if not training.earlier.midway:
            training.rounds = {"identity": layout.identity, "asked": list(self._asked), "done": 0}
            self._begin_with_what_is_known(layout)
            return
        assert training.rounds is not None
        if training.rounds["identity"] != layout.identity:
            partitions, rounds = training.rounds["asked"]
            raise OptionError(
                "training of this model was begun with other data, partitions, rounds or another seed: "
                f"{partitions} partitions and {rounds} rounds; give the same ones to continue"
            )
        self._examples, self._weight = training.rounds["examples"], training.rounds["weight"]
        self._after = list(training.rounds["after"])
        training.findings.round_log = [Round.read(plain) for plain in training.rounds["told"]]
        if self._taken is not None:
            return
        self._scales.join([Scales.read(parts_of(self._surveys), training.rounds["scales"])])
        done = min(training.rounds["done"], layout.rounds)
        cells = [cell for cells in self._dealt(layout, 0)[:done] for cell in cells]
        common = self.engine.put(self._job)
        handles = [self.engine.submit(work.held_rows, common, cell, cell.name) for cell in cells]
        self._wait(handles, watched)
        self._held = [batch for handle in handles for batch in self.engine.get(handle)]
        self.engine.forget([common, *handles])

    def _passes(self, layout: Layout, watched: Watched) -> bool:
        """Train until more passes do not help; returns whether all passes were made."""
        training, passes, progress = self.training, self.training.passes, self.training.progress
        model = training.model
        assert training.rounds is not None
        assert model is not None
        passes.begin(model)
        size = layout.rows, round(layout.rows * (self._job.held if self._job else 0.0))
        for number in passes.made(training.plan, size, progress.passes, model, self._held_predictions):
            for cells in self._dealt(layout, number - 1)[training.rounds["done"] - (number - 1) * layout.rounds :]:
                self._round(cells, number == 1, watched)
                training.save(self._path)
                if watched.tell():
                    return False
            training.check_rows(self._examples)
            training.check_learned()
            progress.passes = number
            self._after = [*self._after[: number - 1], [self._examples, self._weight]]
        return True

    def _begin_with_what_is_known(self, layout: Layout) -> None:
        """Prepare a model that has learned before.

        Each partition continues as if it had learned its part of the earlier rows.
        """
        model = self.training.model
        assert model is not None
        if model.examples:
            self._examples, self._weight = model.examples, model.total_weight
            state, share = model._state_and_labels(), 1 / layout.partitions
            model._go_back(scaled(model.options, state, share * self._weight, max(1, round(share * self._examples))))

    def _dealt(self, layout: Layout, number: int) -> list[list[Cell]]:
        """The cells of a pass, by round."""
        if self._taken is None:
            if number:
                layout = lay_out(self._surveys, *self._asked, self.training.plan.random_state, number)
            return [[Cell(partition, tuple(some)) for partition, some in enumerate(row)] for row in layout.cells]
        rows, count = self._taken.learned, layout.partitions * layout.rounds
        cuts = [k * rows // count for k in range(count + 1)]
        spans = [(a, b) for a, b in itertools.pairwise(cuts)]
        return [
            # In each pass the rows go to other partitions.
            [
                Cell(partition, (), spans[first + (partition + number) % layout.partitions])
                for partition in range(layout.partitions)
            ]
            for first in range(0, count, layout.partitions)
        ]

    # ------------------------------------------------------------------------------------------------ one round

    def _round(self, cells: Sequence[Cell], first_pass: bool, watched: Watched) -> None:
        """Let all partitions learn, and merge them into one model."""
        training, engine, started = self.training, self.engine, time.perf_counter()
        assert training.model is not None
        assert training.rounds is not None
        base = training.model._state_and_labels()
        number = training.rounds["done"]
        judging = first_pass and base[0]["examples"] > 0
        assert self._job is not None
        common = engine.put(Base(self._job, base, number, judging, first_pass))
        handles = [engine.submit(work.learn, common, cell, f"{cell.name} in round {number + 1}") for cell in cells]
        small = [engine.combine(work.without_state, None, [handle]) for handle in handles]
        self._wait(small, watched)
        learned: list[Learned] = [engine.get(handle) for handle in small]
        merging = time.perf_counter()
        state = self._merged(base, handles, watched)
        engine.forget([common, *handles, *small])
        training.model._go_back(state)
        if judging:
            training.model._prune_rates()
        counted = training.evaluation
        self._count(learned, first_pass)
        rows = sum(one.examples for one in learned)
        now = time.perf_counter()
        loss = self._loss_since(counted) if first_pass else math.nan
        held = self._held_loss()
        training.findings.round_log.append(
            Round(number + 1, rows, loss, held, len(cells), now - started, now - merging)
        )
        training.rounds = {
            "identity": training.rounds["identity"],
            "asked": training.rounds["asked"],
            "done": number + 1,
            "examples": self._examples,
            "weight": self._weight,
            "after": self._after,
            "scales": self._scales.plain(),
            "told": [told.plain() for told in training.findings.round_log],
        }

    def _merged(self, base: State, handles: list[Handle], watched: Watched) -> State:
        """Merge partitions in a tree whose form depends only on their number."""
        engine, model = self.engine, self.training.model
        assert model is not None
        partitions = Partitions(model.options, model._open_to_classes())
        common = engine.put(partitions)
        level, made = list(handles), []
        while True:
            level = [engine.combine(work.fold, common, level[k : k + FAN_IN]) for k in range(0, len(level), FAN_IN)]
            made += level
            if len(level) == 1:
                break
        self._wait(level, watched)
        gathered: Gathered | None = engine.get(level[0])
        engine.forget([common, *made])
        return base if gathered is None else partitions.merged(base, gathered)

    def _count(self, learned: list[Learned], first_pass: bool) -> None:
        training, model = self.training, self.training.model
        assert model is not None
        for one in learned:
            self._examples += one.examples
            self._weight += one.weight
            self._complete(one.classes)
        if not first_pass:
            return
        for one in learned:
            training.progress.absorb(one.counts)
            training.progress.rows += one.counts.learned if self._taken is not None else 0
            self._held += one.held
        self._scales.join(one.scales for one in learned)
        session = training.session
        assert session is not None
        states = [one.evaluation for one in learned if one.evaluation is not None]
        baselines = [one.baseline for one in learned if one.baseline is not None]
        metrics = session.metrics
        metrics.evaluation = Evaluation.join(model, states, after=metrics.evaluation.state())
        metrics.baseline = Baseline.join(model, [metrics.baseline.state(), *baselines])

    def _complete(self, classes: tuple[str, ...]) -> None:
        """Complete the two labels of a binary task.

        A partition may have seen only one, and all must use the same order.
        """
        target, job = self.training.target, self._job
        assert target is not None
        assert job is not None
        if "" in target.classes and "" not in classes:
            target.classes = list(classes)
            self._job = replace(job, target=copy.deepcopy(target))
        elif "" not in classes and list(classes) != target.classes:
            one, other = next((a, b) for a, b in zip(target.classes, classes, strict=True) if a != b)
            raise InputError(
                f"the target is written {one!r} in some rows and {other!r} in others",
                advice=Phrase("write it in one way, or use ", Option("task", "classes")),
            )

    def _learn_held(self, layout: Layout, watched: Watched) -> State:
        """Learn the held-out rows and copies of them, divided among the partitions, as one more round."""
        training = self.training
        assert training.model is not None
        batches = [*(() if self._taken is None else self._taken.aside), *self._held]
        held = sum(batch.rows for batch in batches)
        if training.plan.learn_holdout and held:
            training.holdout_learned = True
            partitions = min(layout.partitions, max(1, held // work.LEAST_JUDGED))
            cells = [
                Cell(partition, rows=tuple(_every(batches, partition, partitions))) for partition in range(partitions)
            ]
            kept = training.model.kept
            self._round(cells, False, watched)
            training.progress.learned += held
            if training.model.options.average:
                training.model.keep(kept)
        return training.model._state_and_labels()

    # ------------------------------------------------------------------------------------------------ the rest

    def _loss_since(self, before: Evaluation | None) -> float:
        """The progressive loss of the predictions since an earlier state of the metrics."""
        now = self.training.evaluation
        assert now is not None
        if before is None or not before.examples:
            return now.loss
        weight = now.weight - before.weight
        total = now.loss * now.weight - before.loss * before.weight
        return total / weight if weight > 0 else math.nan

    def _held_predictions(self) -> Iterator[Scored]:
        """The predictions of the current model for the held-out rows that were read so far."""
        assert self.training.session is not None
        return map(self.training.session.scored, self._held)

    def _held_loss(self) -> float:
        """The loss of the current model on the first held-out rows."""
        assert self.training.session is not None
        evaluation, left = Evaluation(self.training.session.model, small=True), SHOWN_ROWS
        for scored in self._held_predictions():
            if left > 0:
                evaluation.count(judging(self.training.session.model, scored[:left]))
                left -= len(scored)
        return steering_loss(evaluation.sums)

    def _wait(self, handles: Sequence[Handle], watched: Watched) -> None:
        def told(_: int = 0) -> None:
            if watched.tell():
                raise StoppedError

        def tick() -> None:
            if watched.stopped():
                raise StoppedError

        self.engine.wait(handles, told, tick)


def _every(batches: list[Batch], first: int, step: int) -> Iterator[Batch]:
    """Select every `step`-th row, starting at row `first`."""
    for start, batch in zip(itertools.accumulate([0, *(one.rows for one in batches)]), batches, strict=False):
        mine = (np.arange(batch.rows) + start) % step == first
        if mine.any():
            yield batch.select(mine)
