"""A fit: finite data, a sample of the rows that the model will predict, is learned in random order.

A fit makes passes as long as they help. It selects the weights that predict best on held-out rows: the last ones, or
their average. The metrics describe the selected weights on the held-out rows, which are learned afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..data import Batch, Position
from ..data.memory import memory_size
from ..data.progress import Progress
from ..data.rows.shuffle import Shuffle
from ..data.screening import check_labeled, usable
from ..inference.importance import ROWS
from ..metrics.evaluation import Evaluation
from ..metrics.row_errors import RowErrors
from ..models.scored import Scored
from .column_importance import importance_of
from .leaks import find_leak
from .notes import drifts
from .passes import Passes
from .plan import Plan
from .repeated_identifiers import find_repeated_identifier
from .session import Session
from .watched import Watched

if TYPE_CHECKING:
    from .training import Training

IN_SAMPLE = 4_000  # learned rows that the final model predicts again


class RandomRows(Protocol):
    """Rows in random order: first the rows to learn, then copies of held-out rows, then the held-out rows."""

    @property
    def rows(self) -> int:
        """The number of rows."""

    def batches(self, first: int = 0, last: int | None = None) -> Iterator[Batch]:
        """The rows from number `first` up to, but without, number `last`. Default: all rows."""


def make_passes(
    session: Session,
    rows: RandomRows,
    held: int,
    plan: Plan,
    passes: Passes,
    learn_pass: Callable[[int], bool],
    done: int = 0,
) -> bool:
    """Make passes as long as they help, and select the best weights; returns whether all passes were made.

    Args:
        session: the session whose model learns.
        rows: all rows; the last ones are held out, and copies of them precede them.
        held: how many rows are held out.
        plan: how many passes the user wants.
        passes: the record of earlier passes.
        learn_pass: learns the other rows once; it takes the number of the pass and returns whether to stop.
        done: how many passes were made before.
    """

    def predictions() -> Iterator[Scored]:
        return map(session.scored, rows.batches(rows.rows - held))

    passes.begin(session.model)
    return not any(
        learn_pass(number) for number in passes.made(plan, (rows.rows, held), done, session.model, predictions)
    )


class Fit:
    """Learns the data of a training as a fit."""

    def __init__(self, training: Training) -> None:
        self._training = training

    def go(self, watched: Watched) -> bool:
        """Learn the data; returns whether all of it was learned, without an interruption."""
        training = self._training
        with shuffled(training, watched) as rows:
            if watched.stopped():
                return False
            held, learned = rows.held.count, rows.learned
            training.fit_rows = rows.rows
            training.check_rows(rows.rows)
            training.check_groups()
            if training.session is None:
                training.begin(next(rows.batches(0, learned)))
                training.choose_model_type(lambda: rows.batches(0, learned))
                watched.tell()  # so that notes about the labels are shown before learning begins
            assert training.session is not None
            finished = make_passes(
                training.session,
                rows,
                held,
                training.plan,
                training.passes,
                lambda number: self._learn_pass(rows, learned, number, watched),
                training.progress.passes,
            )
            self._score(rows, rows.rows - held, finished)
            if finished:
                training.findings.leak = find_leak(training, rows, learned)
                training.findings.identifier = find_repeated_identifier(training, rows, learned)
                first = rows.rows - held
                held_out, in_sample = rows.batches(first, first + ROWS), rows.batches(0, min(learned, ROWS))
                training.findings.importance = importance_of(training, held_out, in_sample)
                training.progress.rows = learned
                self._learn_holdout(rows, learned, watched)
                training.progress.rows = training.read
                training.check_values()
                training.passes.finish(training.session.model)
        return finished

    def _learn_pass(self, rows: Shuffle, learned: int, number: int, watched: Watched) -> bool:
        """Learn the rows that are not held out, from where the training stands; returns whether to stop."""
        training, progress = self._training, self._training.progress
        for batch in self._parts(rows, learned):
            training.learn(batch)
            if watched.tell():
                return True
            training.save_if_due()
        training.check_learned()
        progress.rows, progress.passes = 0, number
        return False

    def _parts(self, rows: Shuffle, learned: int) -> Iterator[Batch]:
        """Batches from where the training stands, cut where checkpoints are due."""
        every, progress = self._training.plan.checkpoint, self._training.progress
        for batch in rows.batches(progress.rows, learned):
            done = 0
            while done < batch.rows:
                last = batch.rows if not every else min(batch.rows, done + every - progress.rows % every)
                yield batch if (done, last) == (0, batch.rows) else batch.part(done, last)
                done = last

    def _score(self, rows: Shuffle, first: int, finished: bool) -> None:
        """Compute the hold-out metrics of the current model on the rows from number `first` on."""
        training, findings = self._training, self._training.findings
        numbers: list[Any] = []

        def noted() -> Iterator[Batch]:
            for batch in rows.batches(first):
                numbers.append(batch.place.numbers)
                yield batch

        chosen = training.passes.halves.scores if finished else None
        training.score_holdout(noted(), rows.rows - first, finished, chosen)
        if finished and training.session is not None and first < rows.rows:
            model, some = training.session.model, rows.batches(0, min(rows.learned, IN_SAMPLE))
            findings.in_sample, findings.learned_errors = Evaluation(model), RowErrors(model)
            training.session.score(some, [findings.in_sample, findings.learned_errors])
        if findings.row_errors is not None:
            findings.drifting = drifts(findings.row_errors.errors, np.concatenate(numbers))

    def _learn_holdout(self, rows: Shuffle, learned: int, watched: Watched) -> None:
        training = self._training
        if not training.plan.learn_holdout or learned == rows.rows:
            return
        training.holdout_learned = True
        for batch in rows.batches(learned):
            training.learn(batch, held_out=True)
            watched.tell()


@contextmanager
def shuffled(training: Training, watched: Watched, held: Callable[[int], int] | None = None) -> Iterator[Shuffle]:
    """All rows of a training's source that can be learned, in random order; fewer if the user interrupts.

    Args:
        training: the training.
        watched: tells whether the user interrupts.
        held: returns how many of a number of rows are held out. Default: as the plan says.
    """
    plan, progress, findings = training.plan, training.progress, training.findings
    counts = Progress() if training.earlier.midway else progress  # an interrupted training has counted all rows
    with Shuffle(plan.random_state, memory_size(plan.memory), held=held or plan.held_rows) as rows:
        for batch in training.reader.batches(Position(), watched.stopped):
            counts.read_in(batch)
            progress.consumed = batch.consumed
            findings.read += batch.rows
            if batch.rows:
                check_labeled(batch, training.reader.schema)
                good = usable(batch, None, training.reader.options.on_error, counts)
                assert batch.labels is not None
                labeled = batch.labels.present()
                counts.unlabeled += int((good & ~labeled).sum())
                good &= labeled
                if batch.weight is not None:  # rows of sample weight 0 would take places of the hold-out for nothing
                    good &= batch.weight != 0
                some = batch.select(good)
                assert some.labels is not None
                findings.labels.add(some.labels)
                rows.add(some)
            if watched.tell():
                break
        else:
            findings.labels.all_rows = True
        rows.seal()
        findings.shuffled, findings.kin = rows.how, rows.held
        yield rows
