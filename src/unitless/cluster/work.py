"""The tasks of workers: pure functions, whose result depends only on their arguments.

So an engine may run them anywhere, and run them again if a machine is lost.
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
from ..data.rows.kin import Held
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

JUDGED = 8  # one row in so many of a cell is used to evaluate the learning rates, ...
LEAST_JUDGED, MOST_JUDGED = 256, 4096  # ... within these limits
_HOLDING = 0x6A09E667F3BCC909  # separates the random order of held-out rows from the order of learning


@dataclass(frozen=True)
class Job:
    """The common input of all tasks of a training: the data, the model at the start, and which rows are held out."""

    data: DataSpec
    model: Learner | OneVsAll
    target: Target
    seed: int
    held: float  # the held-out share of the rows
    memory: int  # bytes of rows in one task, at most
    parts: tuple[Part, ...]  # the parts of the data whose units are compared
    token: str  # identifies this training
    whole: tuple[Block, ...]  # all rows, where each worker reads them as a whole

    def holds_back(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows, given by their numbers among all rows, are held out."""
        found = hashes_of(self.seed ^ _HOLDING, rows)
        return np.asarray((found >> np.uint64(11)).astype(np.float64) * 2.0**-53 < self.held)


@dataclass(frozen=True)
class Base:
    """The common input of all partitions of a round."""

    job: Job
    state: State
    number: int  # the number of the round, over all passes
    judging: bool  # whether rates are evaluated on rows that have not been learned: in the first pass
    counting: bool  # whether rows and metrics are counted: in the first pass


@dataclass(frozen=True)
class Cell:
    """The rows that one partition learns in one round: blocks of the data, or given rows in random order."""

    partition: int
    blocks: tuple[Block, ...] = ()
    span: tuple[int, int] = (0, 0)  # the first row and the end, in the random order
    rows: tuple[Batch, ...] = ()

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"partition {self.partition + 1}"


@dataclass(frozen=True)
class Learned:
    """The result of a partition."""

    examples: int  # examples that were learned in this round
    weight: float  # their weight
    judged: float  # the weight of the rows on which the rates were evaluated
    state: State | None  # None where only the metrics are needed
    counts: Progress
    evaluation: dict[str, Any] | None
    baseline: dict[str, Any] | None
    held: tuple[Batch, ...]
    scales: Scales
    classes: tuple[str, ...]  # for two classes, as they are written; one may have been seen here first


def survey(data: DataSpec, file: int) -> FileSurvey:
    """Survey one file."""
    return blocks.survey(data, file)


def learn(base: Base, cell: Cell) -> Learned:
    """Learn the rows of a cell, starting from the base model."""
    job = base.job
    model = copy.copy(job.model)
    model._go_back(base.state)
    # A new label completes the target.
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
    """Evaluate the rates, and learn rows; returns the weight of the rows used for the rates, and the learned rows."""
    model, judged, progress = session.model, 0.0, Progress()
    first, last = span
    model._hold_scales(True)
    if not base.state[0]["examples"]:  # without earlier examples each partition finds its own rates
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
        counts, scales = Progress(), Scales(job.parts)
        rows = Shuffle(job.seed, sys.maxsize, held=lambda total: int(job.held * total))
        for batch, _ in _usable(job, job.whole, counts, scales, copy.deepcopy(job.target)):
            rows.add(batch)
            go_on()
        rows.seal()
        return WholeData(rows, counts, scales)

    return whole_data(job.token, read)


@dataclass(frozen=True)
class TakenIn:
    """The facts that the driver needs about data that workers read as a whole."""

    rows: int  # rows that can be learned
    learned: int  # those of them that are neither held out nor set aside
    aside: tuple[Batch, ...]  # copies of held-out rows
    held: tuple[Batch, ...]
    kin: Held  # what is known about the held-out rows
    counts: Progress
    scales: Scales


def take_in(job: Job, _: None) -> TakenIn:
    """Read all data, and return its held-out rows: the last ones in the random order."""
    whole = _whole(job)
    rows, kin = whole.rows, whole.rows.held
    first = rows.rows - kin.count
    aside, held = (tuple(rows.batches(*span)) for span in ((rows.learned, first), (first, rows.rows)))
    return TakenIn(rows.rows, rows.learned, aside, held, replace(kin, parts=None), whole.counts, whole.scales)


def _usable(
    job: Job, which: Sequence[Block], counts: Progress, scales: Scales, target: Target
) -> Iterator[tuple[Batch, NDArray[np.bool_]]]:
    """The rows of blocks that can be learned, and whether each is held out."""
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
    """The rows without their source, to be sent to another process."""
    return replace(batch, bad=[], bad_count=0, bad_numbers=(), missing=Counter(), original=None)


def _seed(seed: int, number: int, partition: int) -> int:
    """The random seed for the order of a cell's rows."""
    return (seed * 1_000_003 + number) * 1_000_003 + partition


def held_rows(job: Job, cell: Cell) -> tuple[Batch, ...]:
    """The held-out rows of a cell, read again."""
    found = []
    for batch, back in _usable(job, cell.blocks, Progress(), Scales(job.parts), copy.deepcopy(job.target)):
        if back.any():
            found.append(_plain(batch.select(back)))
    return tuple(found)


def without_state(_: None, learned: list[Learned]) -> Learned:
    """The result of a partition without the model's state."""
    return replace(learned[0], state=None)


def fold(kind: Partitions, several: list[Learned | Gathered | None]) -> Gathered | None:
    """Merge the results of partitions, or of groups of partitions; None if no rows were learned."""
    found: list[Gathered] = []
    for one in several:
        if isinstance(one, Learned):
            assert one.state is not None
            if one.examples:
                found.append(Gathered.of(one.state, one.judged))
        elif one is not None:
            found.append(one)
    return kind.folded(found) if found else None
