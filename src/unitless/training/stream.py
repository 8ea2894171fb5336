"""A stream: rows are learned once, in their order, and the model predicts with the latest weights.

Every row is predicted before it is learned; the progressive metrics describe these predictions. They do not tell how
well the final model predicts rows that it learned long ago, so a uniform sample of them is predicted at the end. With
`holdout="last"` the last rows are held out: the past is learned, the future predicted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..data import Batch, Position
from ..data.rows.random_order import hashes_of
from ..data.rows.sample import Sample
from ..metrics.evaluation import Evaluation
from .column_importance import importance_of
from .constant_columns import no_longer_constant
from .plan import MOST_HELD_OUT
from .watched import Watched

if TYPE_CHECKING:
    from .training import Training

SAMPLED = 4_000  # learned rows that the final model predicts again


@dataclass
class Part:
    """Some rows of a pass, and the position in the data after them."""

    batch: Batch
    position: Position
    within: int
    consumed: int
    fresh: Batch | None  # the whole batch that was read, if these are its first rows: its skipped rows are counted then


class Stream:
    """Learns the data of a training as a stream."""

    def __init__(self, training: Training) -> None:
        self._training = training
        plan, holdout = training.plan, training.plan.holdout
        self._past, self._held = Sample(plan.random_state, SAMPLED), Sample(plan.random_state, MOST_HELD_OUT)
        self._last = holdout == "last"
        self._finishing = False  # the rows that are learned now were held out
        share = 0.0 if holdout is None or holdout == "last" else float(holdout)
        self._threshold = np.uint64(min(int(share * 2**64), 2**64 - 1))

    def go(self, watched: Watched) -> bool:
        """Learn the data; returns whether all of it was learned, without an interruption."""
        training, progress = self._training, self._training.progress
        passes = 1 if training.plan.passes is None else int(training.plan.passes)
        if training.model is not None and training.model.options.average:
            training.model.keep("last")
        if training.earlier.midway and training.source.repeatable:
            self._recall()
        while True:
            last: deque[Part] = deque()
            for part in self._parts(watched):
                last.append(part)
                self._learn_down_to(last, self._held_last(progress.rows + _rows(last)), whole=True)
                if watched.tell():
                    self._score(None)
                    return False
                training.save_if_due()
            if watched.stopped():
                self._score(None)
                return False
            self._learn_down_to(last, self._held_last(progress.rows + _rows(last)), whole=False)
            training.check_learned()
            progress.passes += 1
            if progress.passes == passes:
                break
            progress.begin_pass()
        self._score([part.batch for part in last])
        self._finishing = True
        if training.plan.learn_holdout:
            training.holdout_learned = self._last
            self._learn_down_to(last, 0, whole=False)
        else:
            for part in last:
                progress.rows += part.batch.rows
                self._passed(part)
        training.check_values()
        return True

    def _held_last(self, read: int) -> int:
        """How many rows at the end of `read` rows are held out."""
        return self._training.plan.held_rows(read) if self._last else 0

    def _parts(self, watched: Watched) -> Iterator[Part]:
        """Batches from where the training stands, cut where checkpoints are due."""
        progress, every = self._training.progress, self._training.plan.checkpoint
        done, read, start = progress.within, progress.rows, progress.position
        for batch in self._training.reader.batches(progress.position, watched.stopped):
            fresh = None if done else batch  # a batch that was begun before an interruption has been counted
            if not batch.rows:
                yield Part(batch, batch.position, 0, batch.consumed, fresh)
            while done < batch.rows:
                last = min(batch.rows, done + every - read % every) if every else batch.rows
                part = batch if (done, last) == (0, batch.rows) else batch.part(done, last)
                read += last - done
                whole = last == batch.rows
                yield Part(part, batch.position if whole else start, 0 if whole else last, batch.consumed, fresh)
                done, fresh = last, None
            done = max(0, done - batch.rows)  # decoded text may be cut into other batches than before the interruption
            start = batch.position

    def _learn_down_to(self, parts: deque[Part], left: int, whole: bool) -> None:
        """Learn the oldest parts until `left` rows are left; with `whole` no part is cut, so more may be left."""
        rows = _rows(parts)
        while parts and (rows > left or not parts[0].batch.rows):
            part = parts[0]
            surplus = rows - left
            if part.batch.rows > surplus:
                if whole:
                    return
                now, later = part.batch.part(0, surplus), part.batch.part(surplus, part.batch.rows)
                parts[0] = replace(part, batch=later, fresh=None)
                part = replace(part, batch=now)
            else:
                parts.popleft()
            rows -= part.batch.rows
            self._learn(part)

    def _learn(self, part: Part) -> None:
        training, progress, batch = self._training, self._training.progress, part.batch
        first = progress.passes == 0 and not self._finishing
        if first and batch.rows and not self._threshold:
            self._past.add_next(batch, progress.rows)
        if self._threshold and batch.rows:
            numbers = np.arange(progress.rows, progress.rows + batch.rows)
            held = hashes_of(training.plan.random_state, numbers) < self._threshold
            if first:
                self._hold(batch.select(held), numbers[held])
            progress.rows += int(held.sum())
            batch, numbers = batch.select(~held), numbers[~held]
            if first and batch.rows:
                self._past.add(batch, numbers)
        training.learn(batch, held_out=self._finishing)
        self._passed(part)

    def _passed(self, part: Part) -> None:
        """Note that the training has learned a part."""
        progress = self._training.progress
        if part.fresh is not None:
            progress.read_in(part.fresh)
            self._training.findings.remark(part.fresh.note)
        progress.position, progress.within, progress.consumed = part.position, part.within, part.consumed

    def _hold(self, batch: Batch, numbers: NDArray[np.intp]) -> None:
        """Hold out rows, which are predicted at the end."""
        if not batch.rows:
            return
        self._training.progress.held += batch.rows
        self._held.add(batch, numbers)

    def _recall(self) -> None:
        """Restore the samples of an interrupted training by reading the rows before the interruption again."""
        training, progress = self._training, self._training.progress
        end = progress.rows if not progress.passes else None
        if end is None and self._last:  # the first pass held out its last rows
            read = sum(batch.rows for batch in training.reader.batches(Position()))
            end = read - self._held_last(read)
        first, held = 0, progress.held
        for batch in training.reader.batches(Position()):
            rows = batch.rows if end is None else min(batch.rows, end - first)
            if rows <= 0:
                break
            part = batch if rows == batch.rows else batch.part(0, rows)
            numbers = np.arange(first, first + rows)
            first += rows
            if self._threshold:
                mask = hashes_of(training.plan.random_state, numbers) < self._threshold
                self._hold(part.select(mask), numbers[mask])
                part, numbers = part.select(~mask), numbers[~mask]
            if part.rows:
                self._past.add(part, numbers)
        progress.held = held

    def _score(self, last: list[Batch] | None) -> None:
        """Compute the metrics of the final model on held-out rows, if there are any, and on the sample of the past."""
        training, findings = self._training, self._training.findings
        if training.session is None:
            return
        past, held = self._past.rows(), self._held.rows()
        batches = last or [] if self._last else [] if held is None else [held[0]]
        if self._last:
            training.progress.held = sum(batch.rows for batch in batches)
        if batches:
            training.score_holdout(batches, training.progress.held)
            if past is not None:
                findings.in_sample = Evaluation(training.session.model)
                training.session.score([past[0]], [findings.in_sample])
                findings.new_values = no_longer_constant(training, past[0], batches) if self._last else None
        elif past is not None:
            training.score_holdout([past[0]], past[0].rows)
            findings.in_sample, training.progress.held = findings.holdout, 0
        if last is not None:
            findings.importance = importance_of(training, batches, [] if past is None else [past[0]])


def _rows(parts: deque[Part]) -> int:
    return sum(part.batch.rows for part in parts)
