"""To follow: a stream that changes is learned as it comes, and the latest weights are kept.

Every row is predicted before it is learned. That progressive score says how good the predictions were along the way;
what it does not say is how good the kept weights are on the rows of long ago. So a uniform sample of the past is scored
with them at the end. The last rows can be held back instead (`holdout="last"`): the past is learned, the future scored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..data import Batch, Position
from ..data.sample import Sample
from ..data.shuffle import hashes_of
from ..metrics.evaluation import Evaluation
from .plan import MOST_HELD
from .watched import Watched

if TYPE_CHECKING:
    from .run import Run

SAMPLED = 4_000  # rows of the past that are scored at the end


@dataclass
class Part:
    """Some rows of a pass, and where the pass stands when they have been learned."""

    batch: Batch
    position: Position
    within: int
    consumed: int
    fresh: Batch | None  # what was read, if these are its first rows: what could not be read is to be counted


class Follow:
    """Rows in their own order."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._past, self._held = Sample(run.plan.random_state, SAMPLED), Sample(run.plan.random_state, MOST_HELD)
        self._last = run.plan.holdout == "last"
        holdout = run.plan.holdout
        share = 0.0 if holdout is None or holdout == "last" else float(holdout)
        self._threshold = np.uint64(min(int(share * 2**64), 2**64 - 1))

    def go(self, watched: Watched) -> bool:
        """Give whether it came to its end."""
        run, progress = self.run, self.run.progress
        passes = 1 if run.plan.passes is None else int(run.plan.passes)
        if run.model is not None and run.model.options.average:
            run.model.keep("last")
        if run.midway and run.source.repeatable:
            self._recall()
        while True:
            last: deque[Part] = deque()
            for part in self._parts(watched):
                last.append(part)
                self._learn_down_to(last, self._room(progress.rows + _rows(last)), whole=True)
                if watched.tell():
                    self._score(None)
                    return False
                run.checkpoint()
            if watched.stopped():
                self._score(None)
                return False
            self._learn_down_to(last, self._room(progress.rows + _rows(last)), whole=False)
            run.check_learned()
            progress.passes += 1
            if progress.passes == passes:
                break
            progress.begin_pass()
        self._score([part.batch for part in last])
        run.finishing = True
        if run.plan.learn_holdout:
            self._learn_down_to(last, 0, whole=False)
        else:
            for part in last:
                progress.rows += part.batch.rows
                self._passed(part)
        run.check_values()
        return True

    def _room(self, read: int) -> int:
        """How many of so many rows are held back as the last ones."""
        return self.run.plan.held_rows(read) if self._last else 0

    def _parts(self, watched: Watched) -> Iterator[Part]:
        """Batches from where the run stands, cut where checkpoints are due."""
        progress, every = self.run.progress, self.run.plan.checkpoint
        done, read, start = progress.within, progress.rows, progress.position
        for batch in self.run.reader.batches(progress.position, watched.stopped):
            fresh = None if done else batch  # of a piece that was begun before, this has been counted
            if not batch.rows:
                yield Part(batch, batch.position, 0, batch.consumed, fresh)
            while done < batch.rows:
                last = min(batch.rows, done + every - read % every) if every else batch.rows
                part = batch if (done, last) == (0, batch.rows) else batch.part(done, last)
                read += last - done
                whole = last == batch.rows
                yield Part(part, batch.position if whole else start, 0 if whole else last, batch.consumed, fresh)
                done, fresh = last, None
            done = max(0, done - batch.rows)  # decoded text may be cut otherwise than it was
            start = batch.position

    def _learn_down_to(self, parts: deque[Part], room: int, whole: bool) -> None:
        """Learn the oldest parts until so many rows are left; `whole`: no part is cut, so some more may be left."""
        rows = _rows(parts)
        while parts and (rows > room or not parts[0].batch.rows):
            part = parts[0]
            surplus = rows - room
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
        run, progress, batch = self.run, self.run.progress, part.batch
        first = progress.passes == 0 and not run.finishing
        if first and batch.rows and not self._threshold:
            run.beside.do(partial(self._past.add_next, batch, progress.rows))
        if self._threshold and batch.rows:
            numbers = np.arange(progress.rows, progress.rows + batch.rows)
            held = hashes_of(run.plan.random_state, numbers) < self._threshold
            if first:
                self._hold(batch.select(held), numbers[held])
            progress.rows += int(held.sum())
            batch, numbers = batch.select(~held), numbers[~held]
            if first and batch.rows:
                run.beside.do(partial(self._past.add, batch, numbers))
        run.learn(batch)
        self._passed(part)

    def _passed(self, part: Part) -> None:
        """The run stands behind a part."""
        progress = self.run.progress
        if part.fresh is not None:
            progress.read_in(part.fresh)
            self.run.remark(part.fresh.note)
        progress.position, progress.within, progress.consumed = part.position, part.within, part.consumed

    def _hold(self, batch: Batch, numbers: NDArray[np.intp]) -> None:
        """Rows that are not learned, to be scored at the end."""
        if not batch.rows:
            return
        self.run.progress.held += batch.rows
        self._held.add(batch, numbers)

    def _recall(self) -> None:
        """The samples as they were when training was interrupted: the rows before that are read again."""
        run, progress = self.run, self.run.progress
        end = progress.rows if not progress.passes else None
        if end is None and self._last:  # the first pass held out its last rows
            read = sum(batch.rows for batch in run.reader.batches(Position()))
            end = read - self._room(read)
        first, held = 0, progress.held
        for batch in run.reader.batches(Position()):
            rows = batch.rows if end is None else min(batch.rows, end - first)
            if rows <= 0:
                break
            part = batch if rows == batch.rows else batch.part(0, rows)
            numbers = np.arange(first, first + rows)
            first += rows
            if self._threshold:
                mask = hashes_of(run.plan.random_state, numbers) < self._threshold
                self._hold(part.select(mask), numbers[mask])
                part, numbers = part.select(~mask), numbers[~mask]
            if part.rows:
                self._past.add(part, numbers)
        progress.held = held

    # ------------------------------------------------------------------------------------------------ the score

    def _score(self, last: list[Batch] | None) -> None:
        """Of the kept weights: on rows held back, if there are any, and on the sample of the past."""
        run = self.run
        if run.model is None or run.baseline is None:
            return
        run.baseline.begin_scoring()
        past, held = self._past.rows(), self._held.rows()
        batches = last or [] if self._last else [] if held is None else [held[0]]
        if self._last:
            run.progress.held = sum(batch.rows for batch in batches)
        if batches:
            run.score_rows(batches, run.progress.held)
            if past is not None:
                run.past = Evaluation(run.model)
                run.count([past[0]], [run.past])
        elif past is not None:
            run.score_rows([past[0]], past[0].rows)
            run.past, run.progress.held = run.score, 0


def _rows(parts: deque[Part]) -> int:
    return sum(part.batch.rows for part in parts)
