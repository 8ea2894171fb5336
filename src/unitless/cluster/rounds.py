"""To learn apart: rows are dealt to partitions, which learn at the same time and become one model again after each
round.

The third way to train, next to a fit and a stream. The result depends on the data, the seed, and the numbers of
partitions and rounds; neither on the engine nor on how many workers it has.
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
from ..merging.round_model import Added, Common, one_model
from ..merging.rounds import Agreed, whole
from ..metrics.baseline import Baseline
from ..metrics.evaluation import Evaluation
from ..models.model import State
from ..training.notes import drifts
from ..training.passes import steering_loss
from ..training.run import Run
from ..training.watched import Watched
from . import work
from .agreement import agree
from .blocks import DataSpec, FileSurvey, all_blocks, batches
from .engine import Engine, Handle
from .layout import Layout, lay_out
from .units import Scales, parts_of
from .whole_data import is_small, let_go
from .work import Base, Cell, Job, Learned, TakenIn

PARTITIONS, ROUNDS = 64, 8  # unless said otherwise
FAN_IN = 8  # of the tree in which partitions are added up
MOST_HELD = 1_000_000  # rows that are held back from data that workers do not hold as a whole
SHOWN_ROWS = 4096  # of those held back, by which the model is judged after each round, for whoever looks on


class StoppedError(Exception):
    """The user has asked to stop."""


@dataclass(frozen=True)
class Round:
    """What there is to say of a round that is done, for whoever looks on."""

    number: int  # from 1, all passes counted
    rows: int  # that were learned in it
    loss: float  # progressive, of these rows
    held_loss: float  # of the merged model, on some of the rows held back
    partitions: int
    seconds: float = math.nan  # not known of rounds of an earlier run: a model file stores no times
    merging: float = math.nan  # of these, for putting the partitions together

    def plain(self) -> list[float | None]:
        """As a model file stores it."""
        stored = (self.number, self.rows, self.loss, self.held_loss, self.partitions)
        return [value if math.isfinite(value) else None for value in stored]

    @classmethod
    def read(cls, plain: list[Any]) -> Round:
        """From a model file."""
        number, rows, loss, held_loss, partitions = plain
        loss, held_loss = (math.nan if value is None else value for value in (loss, held_loss))
        return cls(number, rows, loss, held_loss, partitions)


class Rounds:
    """One training in rounds.

    Args:
        run: what is trained.
        engine: who does the work.
        partitions: how many learn at the same time; part of the result.
        rounds: how often they become one model in a pass; part of the result.
    """

    def __init__(self, run: Run, engine: Engine, partitions: int, rounds: int) -> None:
        self.run, self.engine = run, engine
        self._asked = partitions, rounds
        self._held: list[Batch] = []
        self._scales = Scales(())
        self._examples, self._weight = 0, 0.0  # that were learned, all passes counted
        self._after: list[list[float]] = []  # these after each pass
        self._job: Job | None = None
        self._surveys: list[FileSurvey] = []
        self._taken: TakenIn | None = None  # of data that workers hold as a whole

    # ------------------------------------------------------------------------------------------------ the way

    def go(self, watched: Watched) -> bool:
        """Give whether it came to its end."""
        try:
            return self._go(watched)
        except StoppedError:
            return False
        finally:
            if self._job is not None:
                let_go(self._job.token)

    def _go(self, watched: Watched) -> bool:
        run = self.run
        layout = self._begin(watched)
        if not self._passes(layout, watched):
            return False
        model = run.model
        assert model is not None
        run.score_rows(iter(self._held), run.progress.held)
        if run.row_errors is not None:
            numbers = [np.asarray(batch.place.numbers) for batch in self._held]
            run.drifting = self._taken is not None and drifts(run.row_errors.errors, np.concatenate(numbers))
        run.remarks += [Phrase(warning) for warning in self._scales.warnings()]
        examples, self._weight = self._after[(run.passes.best or run.progress.passes) - 1]
        self._examples = int(examples)
        state = self._learn_held(layout, watched)
        model._go_back(whole(model.options, state, self._weight, self._examples))
        run.progress.rows = layout.rows
        run.check_values()
        run.passes.finish(model)
        return True

    def _begin(self, watched: Watched) -> Layout:
        """Look at the data, agree on what it is, and make the model."""
        run = self.run
        known, options = run.reader.schema, run.reader.options
        if known is not None:  # of a model that goes on
            options = replace(options, target=known.target, weight=known.weight, offset=known.offset)
        data = DataSpec.of(run.source, options, *run.reader.beside)
        common = self.engine.put(data)
        handles = [self.engine.submit(work.survey, common, file, f"file {file + 1}") for file in range(data.parts)]
        self._wait(handles, watched)
        self._surveys = [self.engine.get(handle) for handle in handles]
        self.engine.forget([*handles, common])
        run.source.identity = [one.file for one in self._surveys if one.file is not None]
        schema, labels = agree(data, self._surveys) if known is None else (known, None)
        data = replace(data, schema=schema)
        run.reader.schema = schema
        run.source.hold(schema)
        layout = lay_out(self._surveys, *self._asked, run.plan.random_state)
        if run.model is None:
            assert labels is not None
            if not labels.present().any():
                raise InputError(f"none of the first rows of {run.source.name} has a label")
            some = (batch for row in layout.cells for cell in row for batch in batches(data, cell) if batch.rows)
            first = next(some, None)
            if first is None:
                raise InputError(f"no row of {run.source.name} can be read")
            run.begin_with(labels, first.data)
        counted = ((layout.partitions, "partition"), (layout.rounds, "round"))
        run.shuffled = "dealt to " + ", ".join(f"{count} {what}{'s' * (count != 1)}" for count, what in counted)
        run.read = layout.rows
        held = run.plan.held_rows(layout.rows) / layout.rows
        assert run.model is not None
        assert run.target is not None
        fresh = run.model._fresh(run.model.options.asdict(), None, run.model._open_to_classes(), None)
        memory = max(64 << 20, memory_size(run.plan.memory) // max(1, self.engine.slots))
        parts = parts_of(self._surveys)
        self._scales = Scales(parts)
        blocks = all_blocks(self._surveys) if is_small(data, self._surveys) else ()
        if not blocks and run.plan.held_rows(layout.rows) > MOST_HELD:
            raise OptionError(
                f"would hold back {run.plan.held_rows(layout.rows):,} rows, and the driver holds {MOST_HELD:,} at most",
                option="holdout",
            )
        self._job = Job(data, fresh, run.target, run.plan.random_state, held, memory, parts, uuid.uuid4().hex, blocks)
        self._taken = self._take_in(watched) if blocks else None
        self._take_up(layout, watched)
        return layout

    def _take_in(self, watched: Watched) -> TakenIn:
        """Of data that workers hold: how many rows there are, and those that are held back."""
        run, engine = self.run, self.engine
        common = engine.put(self._job)
        handle = engine.submit(work.take_in, common, run.plan.held_rows(run.read), run.source.name)
        self._wait([handle], watched)
        taken: TakenIn = engine.get(handle)
        engine.forget([common, handle])
        self._held = list(taken.held)
        self._scales.join([taken.scales])
        if not run.midway:
            run.progress.absorb(taken.counts)
            run.progress.rows = 0  # that are learned
            run.progress.held = sum(batch.rows for batch in taken.held)
        run.check_rows(taken.rows)
        return taken

    def _take_up(self, layout: Layout, watched: Watched) -> None:
        """Go on where it was interrupted, if it was."""
        run = self.run
        if not run.midway:
            run.rounds = {"identity": layout.identity, "asked": list(self._asked), "done": 0}
            self._begin_with_what_is_known(layout)
            return
        assert run.rounds is not None
        if run.rounds["identity"] != layout.identity:
            raise OptionError(
                "training of this model was begun with other data, partitions, rounds or another seed: "
                f"{run.rounds['asked'][0]} partitions and {run.rounds['asked'][1]} rounds; give the same ones to go on"
            )
        self._examples, self._weight = run.rounds["examples"], run.rounds["weight"]
        self._after = list(run.rounds["after"])
        run.told = [Round.read(plain) for plain in run.rounds["told"]]
        if self._taken is not None:
            return
        self._scales.join([Scales.read(parts_of(self._surveys), run.rounds["scales"])])
        done = min(run.rounds["done"], layout.rounds)
        cells = [cell for cells in self._dealt(layout, 0)[:done] for cell in cells]
        common = self.engine.put(self._job)
        handles = [self.engine.submit(work.held_rows, common, cell, cell.name) for cell in cells]
        self._wait(handles, watched)
        self._held = [batch for handle in handles for batch in self.engine.get(handle)]
        self.engine.forget([common, *handles])

    def _passes(self, layout: Layout, watched: Watched) -> bool:
        """As many passes as help; gives whether all were made."""
        run, passes, progress = self.run, self.run.passes, self.run.progress
        assert run.rounds is not None
        if run.model is not None:
            passes.begin(run.model)
        size = layout.rows, round(layout.rows * (self._job.held if self._job else 0.0))
        for number in passes.made(run.plan, size, progress.passes, lambda: run.model, self._held_loss):
            for cells in self._dealt(layout, number - 1)[run.rounds["done"] - (number - 1) * layout.rounds :]:
                self._round(cells, number == 1, watched)
                run.save(run.checkpoint_path)
                if watched.tell():
                    return False
            run.check_rows(self._examples)
            run.check_learned()
            progress.passes = number
            self._after = [*self._after[: number - 1], [self._examples, self._weight]]
        return True

    def _begin_with_what_is_known(self, layout: Layout) -> None:
        """A model that has learned before: each partition goes on as one that has learned its part of that."""
        model = self.run.model
        assert model is not None
        if model.examples:
            self._examples, self._weight = model.examples, model.total_weight
            state, share = model._state_and_labels(), 1 / layout.partitions
            model._go_back(whole(model.options, state, share * self._weight, max(1, round(share * self._examples))))

    def _dealt(self, layout: Layout, number: int) -> list[list[Cell]]:
        """The cells of a pass, by round."""
        if self._taken is None:
            if number:
                layout = lay_out(self._surveys, *self._asked, self.run.plan.random_state, number)
            return [[Cell(partition, tuple(some)) for partition, some in enumerate(row)] for row in layout.cells]
        rows, count = self._taken.rows - self.run.progress.held, layout.partitions * layout.rounds
        cuts = [k * rows // count for k in range(count + 1)]
        spans = [(a, b) for a, b in itertools.pairwise(cuts)]
        return [
            # In another pass another partition has the same rows.
            [
                Cell(partition, (), spans[first + (partition + number) % layout.partitions])
                for partition in range(layout.partitions)
            ]
            for first in range(0, count, layout.partitions)
        ]

    # ------------------------------------------------------------------------------------------------ one round

    def _round(self, cells: Sequence[Cell], first_pass: bool, watched: Watched) -> None:
        """All partitions learn, and become one model."""
        run, engine, started = self.run, self.engine, time.perf_counter()
        assert run.model is not None
        assert run.rounds is not None
        base = run.model._state_and_labels()
        number = run.rounds["done"]
        judging = first_pass and base[0]["examples"] > 0
        assert self._job is not None
        common = engine.put(Base(self._job, base, number, judging, first_pass))
        handles = [engine.submit(work.learn, common, cell, f"{cell.name} in round {number + 1}") for cell in cells]
        small = [engine.combine(work.without_state, None, [handle]) for handle in handles]
        self._wait(small, watched)
        learned: list[Learned] = [engine.get(handle) for handle in small]
        merging = time.perf_counter()
        state = self._merged(base, learned, handles, watched)
        engine.forget([common, *handles, *small])
        run.model._go_back(state)
        if judging:
            run.model._prune_rates()
        counted = run.evaluation
        self._count(learned, base, first_pass)
        rows = sum(int(one.said.totals["examples"]) - base[0]["examples"] for one in learned)
        now = time.perf_counter()
        loss = self._loss_since(counted) if first_pass else math.nan
        held = self._held_loss(SHOWN_ROWS)
        run.told.append(Round(number + 1, rows, loss, held, len(cells), now - started, now - merging))
        run.rounds = {
            "identity": run.rounds["identity"],
            "asked": run.rounds["asked"],
            "done": number + 1,
            "examples": self._examples,
            "weight": self._weight,
            "after": self._after,
            "scales": self._scales.plain(),
            "told": [told.plain() for told in run.told],
        }

    def _merged(self, base: State, learned: list[Learned], handles: list[Handle], watched: Watched) -> State:
        """Partitions are added up in a tree whose form depends on their number alone."""
        engine, model = self.engine, self.run.model
        assert model is not None
        said = [one.said for one in learned]
        together = Common.of(Agreed.of(model, base, said), base, said)
        common = engine.put(together)
        level, made = list(handles), []
        while True:
            level = [engine.combine(work.fold, common, level[k : k + FAN_IN]) for k in range(0, len(level), FAN_IN)]
            made += level
            if len(level) == 1:
                break
        self._wait(level, watched)
        added: Added | None = engine.get(level[0])
        engine.forget([common, *made])
        return one_model(together, said, added)

    def _count(self, learned: list[Learned], base: State, first_pass: bool) -> None:
        run, model = self.run, self.run.model
        assert model is not None
        for one in learned:
            self._examples += int(one.said.totals["examples"]) - base[0]["examples"]
            self._weight += one.said.totals["t"] - base[0]["t"]
            self._complete(one.classes)
        if not first_pass:
            return
        for one in learned:
            run.progress.absorb(one.counts)
            run.progress.rows += one.counts.learned if self._taken is not None else 0
            self._held += one.held
        self._scales.join(one.scales for one in learned)
        assert run.evaluation is not None
        assert run.baseline is not None
        states = [one.evaluation for one in learned if one.evaluation is not None]
        run.evaluation = Evaluation.join(model, states, after=run.evaluation.state())
        baselines = [one.baseline for one in learned if one.baseline is not None]
        run.baseline = Baseline.join(model, [run.baseline.state(), *baselines])

    def _complete(self, classes: tuple[str, ...]) -> None:
        """Of two labels, one may have been met by a partition first; all must mean the same by them."""
        target, job = self.run.target, self._job
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
        """The rows held back, dealt to the partitions, as one more round."""
        run = self.run
        assert run.model is not None
        held = sum(batch.rows for batch in self._held)
        if run.plan.learn_holdout and held:
            run.finishing = True
            partitions = min(layout.partitions, max(1, held // work.LEAST_JUDGED))
            cells = [
                Cell(partition, rows=tuple(_every(self._held, partition, partitions)))
                for partition in range(partitions)
            ]
            kept = run.model.kept
            self._round(cells, False, watched)
            run.progress.learned += held
            if run.model.options.average:
                run.model.keep(kept)
        return run.model._state_and_labels()

    # ------------------------------------------------------------------------------------------------ the rest

    def _loss_since(self, before: Evaluation | None) -> float:
        """Of the predictions that have been counted since."""
        now = self.run.evaluation
        assert now is not None
        if before is None or not before.examples:
            return now.loss
        weight = now.weight - before.weight
        total = now.loss * now.weight - before.loss * before.weight
        return total / weight if weight > 0 else math.nan

    def _held_loss(self, most: int | None = None) -> float:
        """Of what the model says of the rows held back so far, or of the first of them."""
        assert self.run.model is not None
        evaluation = Evaluation(self.run.model, small=True)
        some: list[Batch] = []
        for batch in self._held:
            left = batch.rows if most is None else most - sum(one.rows for one in some)
            if left > 0:
                some.append(batch if left >= batch.rows else batch.part(0, left))
        self.run.count(some, [evaluation], known_classes=True)
        return steering_loss(evaluation)

    def _wait(self, handles: Sequence[Handle], watched: Watched) -> None:
        def told(_: int = 0) -> None:
            if watched.tell():
                raise StoppedError

        def tick() -> None:
            if watched.stopped():
                raise StoppedError

        self.engine.wait(handles, told, tick)


def _every(batches: list[Batch], first: int, step: int) -> Iterator[Batch]:
    """Every so-manieth of all rows, beginning with one of the first."""
    for start, batch in zip(itertools.accumulate([0, *(one.rows for one in batches)]), batches, strict=False):
        mine = (np.arange(batch.rows) + start) % step == first
        if mine.any():
            yield batch.select(mine)
