"""What workers do: pure tasks, whose result depends on their arguments alone, so that an engine may run them anywhere
and once more where a machine was lost.
"""

from __future__ import annotations

import copy
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Batch, Target
from ..data.progress import Progress
from ..data.rows.random_order import hashes_of
from ..data.rows.shuffle import Shuffle
from ..data.screening import usable
from ..data.threads import prefetched
from ..merging.gathered import Gathered
from ..merging.rounds import Partitions
from ..models.learner import Learner
from ..models.model import State
from ..models.one_vs_all import OneVsAll
from ..training.session import Session
from . import blocks
from .blocks import Block, DataSpec, FileSurvey
from .engine import go_on
from .units import Part, Scales
from .whole_data import WholeData, whole_data

JUDGED = 8  # of a cell's rows one in so many judges the rates, ...
LEAST_JUDGED, MOST_JUDGED = 256, 4096  # ... but at least and at most so many
_HOLDING = 0x6A09E667F3BCC909  # so that rows are not held back in the order in which others are learned


@dataclass(frozen=True)
class Job:
    """What all tasks of a training know: the data, the model as it begins, and which rows are held back."""

    data: DataSpec
    model: Learner | OneVsAll
    target: Target
    seed: int
    held: float  # the share of the rows
    memory: int  # bytes that rows may take in one task
    parts: tuple[Part, ...]  # of the data, whose units are compared
    token: str  # of this training alone
    whole: tuple[Block, ...]  # all rows, where workers hold them and deal them one by one

    def holds_back(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows, told by their numbers among all, are held back."""
        found = hashes_of(self.seed ^ _HOLDING, rows)
        return np.asarray((found >> np.uint64(11)).astype(np.float64) * 2.0**-53 < self.held)


@dataclass(frozen=True)
class Base:
    """What all partitions of a round know."""

    job: Job
    state: State
    number: int  # of the round, all passes counted
    judging: bool  # rates are judged by rows that have not been learned: in the first pass
    counting: bool  # rows, and how good their predictions are: in the first pass


@dataclass(frozen=True)
class Cell:
    """What one partition learns in one round: blocks of the data, some of its rows in random order, or given ones."""

    partition: int
    blocks: tuple[Block, ...] = ()
    span: tuple[int, int] = (0, 0)  # from which row up to which
    rows: tuple[Batch, ...] = ()

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"partition {self.partition + 1}"


@dataclass(frozen=True)
class Learned:
    """What a partition gives back."""

    examples: int  # that were learned in this round
    weight: float  # of these
    judged: float  # the weight of the rows by which the rates were judged
    state: State | None  # None where only what is small is wanted
    counts: Progress
    evaluation: dict[str, Any] | None
    baseline: dict[str, Any] | None
    held: tuple[Batch, ...]
    scales: Scales
    classes: tuple[str, ...]  # of two, as they are written; one may have been met here first


def survey(data: DataSpec, file: int) -> FileSurvey:
    """Look at one file."""
    return blocks.survey(data, file)


def learn(base: Base, cell: Cell) -> Learned:
    """Go on from the base with the rows of a cell."""
    job = base.job
    model = copy.copy(job.model)
    model._go_back(base.state)
    # A label that was not met before completes the target.
    session = Session(model, copy.deepcopy(job.target), on_error=job.data.options.on_error)
    held: list[Batch] = []
    counts, scales = Progress(), Scales(job.parts)
    if cell.span[0] < cell.span[1]:
        judged, learned = _learn_rows(session, _whole(job).rows, cell.span, base)
    else:
        with Shuffle(_seed(job.seed, base.number, cell.partition), job.memory) as rows:
            for batch in cell.rows:
                rows.add(batch)
            for batch, back in _usable(job, cell.blocks, counts, scales, session.target):
                if base.counting and back.any():
                    held.append(_plain(batch.select(back)))
                rows.add(batch.select(~back))
                go_on()
            rows.seal()
            judged, learned = _learn_rows(session, rows, (0, rows.rows), base)
    counts.learned, counts.held = learned if base.counting else 0, sum(batch.rows for batch in held)
    state = model._state_and_labels()
    return Learned(
        state[0]["examples"] - base.state[0]["examples"],
        state[0]["t"] - base.state[0]["t"],
        judged,
        state,
        counts,
        session.evaluation.state() if base.counting else None,
        session.metrics.baseline.state() if base.counting else None,
        tuple(held),
        scales,
        tuple(session.target.classes),
    )


def _learn_rows(session: Session, rows: Shuffle, span: tuple[int, int], base: Base) -> tuple[float, int]:
    """Judge the rates, and learn rows; gives the weight of the rows by which they were judged, and the rows learned."""
    model, judged, progress = session.model, 0.0, Progress()
    first, last = span
    model._hold_scales(True)
    if not base.state[0]["examples"]:  # there is nothing to be judged yet: partitions find their own rates
        model._choose_rates(True)
        model._keep_rates(True)
    else:
        if base.judging:
            count = max(LEAST_JUDGED, min(MOST_JUDGED, (last - first) // JUDGED))
            judged = session.judge_rates(rows.batches(first, min(last, first + count)))
        model._choose_rates(False)
    for batch in rows.batches(first, last):
        session.learn(batch, "metrics" if base.counting else "nothing", progress)
        go_on()
    return judged, progress.learned


def _whole(job: Job) -> WholeData:
    """All rows that can be learned, in random order; this process reads them once."""

    def read() -> WholeData:
        counts, scales, rows = Progress(), Scales(job.parts), Shuffle(job.seed, sys.maxsize)
        for batch, _ in _usable(job, job.whole, counts, scales, copy.deepcopy(job.target)):
            rows.add(batch)
            go_on()
        rows.seal()
        return WholeData(rows, counts, scales)

    return whole_data(job.token, read)


@dataclass(frozen=True)
class TakenIn:
    """What the driver must know of data that workers hold."""

    rows: int  # that can be learned
    held: tuple[Batch, ...]
    counts: Progress
    scales: Scales


def take_in(job: Job, most: int) -> TakenIn:
    """Read all data, and give the rows that are held back, at most so many: the last ones in the random order."""
    whole = _whole(job)
    total = whole.rows.rows
    held = min(int(job.held * total), most)
    return TakenIn(total, tuple(whole.rows.batches(total - held)), whole.counts, whole.scales)


def _usable(
    job: Job, which: Sequence[Block], counts: Progress, scales: Scales, target: Target
) -> Iterator[tuple[Batch, NDArray[np.bool_]]]:
    """The rows of blocks that can be learned, and which of them are held back."""
    for batch in prefetched(lambda: blocks.batches(job.data, which)):
        counts.read_in(batch)
        counts.rows += batch.rows
        if not batch.rows:
            continue
        good = usable(batch, target, job.data.options.on_error, counts)
        assert batch.labels is not None
        labeled = batch.labels.present()
        counts.unlabeled += int((good & ~labeled).sum())
        good &= labeled
        if batch.weight is not None:
            good &= batch.weight != 0
        scales.add(batch)
        some: Any = batch.select(good)
        yield some, job.holds_back(blocks.row_numbers(some))


def _plain(batch: Batch) -> Batch:
    """The rows alone, to be sent."""
    return replace(batch, bad=[], bad_count=0, bad_numbers=(), missing=Counter(), original=None)


def _seed(seed: int, number: int, partition: int) -> int:
    """The random seed for the order of a cell's rows."""
    return (seed * 1_000_003 + number) * 1_000_003 + partition


def held_rows(job: Job, cell: Cell) -> tuple[Batch, ...]:
    """The rows of a cell that are held back, read once more."""
    found = []
    for batch, back in _usable(job, cell.blocks, Progress(), Scales(job.parts), copy.deepcopy(job.target)):
        if back.any():
            found.append(_plain(batch.select(back)))
    return tuple(found)


def without_state(_: None, learned: list[Learned]) -> Learned:
    """What is small of what a partition gives back."""
    return replace(learned[0], state=None)


def fold(kind: Partitions, several: list[Learned | Gathered | None]) -> Gathered | None:
    """Merge what partitions, or groups of partitions, have learned; None if that is nothing."""
    found: list[Gathered] = []
    for one in several:
        if isinstance(one, Learned):
            assert one.state is not None
            if one.examples:
                found.append(Gathered.of(one.state, one.judged))
        elif one is not None:
            found.append(one)
    return kind.folded(found) if found else None
