"""To fit: a table is a sample of what the model will meet.

Its rows are learned in random order, as often as it helps; of the weights, the last ones or their average, those are
kept that predict best on rows held back; and the score is that of the kept weights on these rows, before they are
learned too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import Batch, Position
from ..data.memory import memory_size
from ..data.progress import Progress
from ..data.shuffle import Shuffle
from ..metrics.evaluation import Evaluation
from .notes import drifts
from .passes import steering_loss
from .screening import usable
from .watched import Watched

if TYPE_CHECKING:
    from .run import Run


class Fit:
    """One fit, from the first row read to the score."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def go(self, watched: Watched) -> bool:
        """Give whether it came to its end."""
        run = self.run
        with shuffled(run, watched) as rows:
            if watched.stopped():
                return False
            held = run.plan.held_rows(rows.rows)
            run.check_rows(rows.rows)
            finished = self._passes(rows, rows.rows - held, watched)
            self._score(rows, rows.rows - held, finished)
            if finished:
                self._learn_held(rows, rows.rows - held, watched)
                run.progress.rows = run.read
                run.check_values()
                assert run.model is not None
                run.passes.finish(run.model)
        return finished

    def _passes(self, rows: Shuffle, learned: int, watched: Watched) -> bool:
        run, progress, passes = self.run, self.run.progress, self.run.passes
        if run.model is not None:
            passes.begin(run.model)
        size, done = (rows.rows, rows.rows - learned), progress.passes
        for number in passes.made(run.plan, size, done, lambda: run.model, lambda: self._loss(rows, learned)):
            for batch in self._parts(rows, learned):
                if run.model is None and run.begin(batch):
                    watched.tell()  # what there is to say about the labels comes before the learning
                run.learn(batch)
                if watched.tell():
                    return False
                run.checkpoint()
            run.check_learned()
            progress.rows, progress.passes = 0, number
        progress.rows = learned
        return True

    def _parts(self, rows: Shuffle, learned: int) -> Iterator[Batch]:
        """Batches from where the run stands, cut where checkpoints are due."""
        every, progress = self.run.plan.checkpoint, self.run.progress
        for batch in rows.batches(progress.rows, learned):
            done = 0
            while done < batch.rows:
                last = batch.rows if not every else min(batch.rows, done + every - progress.rows % every)
                yield batch if (done, last) == (0, batch.rows) else batch.part(done, last)
                done = last

    def _loss(self, rows: Shuffle, learned: int) -> float:
        """Of what the model says of the rows held back; no weights can tell a class that was never met."""
        assert self.run.model is not None
        evaluation = Evaluation(self.run.model)
        self.run.count(rows.batches(learned), [evaluation], known_classes=True)
        return steering_loss(evaluation)

    # ------------------------------------------------------------------------------------------------ the score

    def _score(self, rows: Shuffle, learned: int, finished: bool) -> None:
        """Of the model as it is now, on rows that it has not learned."""
        run = self.run
        numbers: list[Any] = []

        def noted() -> Iterator[Batch]:
            for batch in rows.batches(learned):
                numbers.append(batch.place.numbers)
                yield batch

        run.score_rows(noted(), rows.rows - learned, finished)
        if run.row_errors is not None:
            run.drifting = drifts(run.row_errors.errors, np.concatenate(numbers))

    def _learn_held(self, rows: Shuffle, learned: int, watched: Watched) -> None:
        run = self.run
        if not run.plan.learn_holdout or learned == rows.rows:
            return
        run.finishing = True
        for batch in rows.batches(learned):
            run.learn(batch)
            watched.tell()


@contextmanager
def shuffled(run: Run, watched: Watched) -> Iterator[Shuffle]:
    """All rows of a run's source that can be learned from, in random order; fewer if it was stopped."""
    plan, progress = run.plan, run.progress
    counts = Progress() if run.midway else progress  # what goes on in the middle has counted all rows already
    with Shuffle(plan.random_state, memory_size(plan.memory)) as rows:
        for batch in run.reader.batches(Position(), watched.stopped):
            counts.read_in(batch)
            progress.consumed = batch.consumed
            run.read += batch.rows
            if batch.rows:
                good = usable(batch, None, run.reader.options.on_error, counts)
                assert batch.labels is not None
                labelled = batch.labels.present()
                counts.unlabelled += int((good & ~labelled).sum())
                good &= labelled
                if batch.weight is not None:  # a row without weight is as good as not there
                    good &= batch.weight != 0
                some = batch.select(good)
                assert some.labels is not None
                run.labels.add(some.labels)
                rows.add(some)
            if watched.tell():
                break
        else:
            run.labels.all_rows = True
        rows.seal()
        run.shuffled = rows.how
        yield rows
