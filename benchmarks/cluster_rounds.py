"""The time of a training on many machines: in closed form, and simulated event by event where tasks are slow or fail.

In each round the driver ships the model to all machines; every partition loads it, compares the learning rates on its
first rows, reads and learns its rows and returns its state. What the states have added to the model is summed in a
tree. The driver makes a model from the sum, saves it and evaluates it on the held-out rows. These rows are learned at
the end, in one more round. Curves and trees are not summed: all states go up the tree, and the driver merges them.

The model leaves out failures of the driver (it resumes from its last save), workers shared with other jobs, and
messages of the engine. Machines have one link each, full at the given speed in both directions.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from cluster_costs import FAN_IN, Costs, Workload
from numpy.typing import NDArray

Times: TypeAlias = NDArray[np.float64]

# one in eight rows of a partition is used to compare rates, within limits
JUDGED, LEAST_JUDGED, MOST_JUDGED = 8, 256, 4096
HELD_OUT = 20_000  # rows
FEWEST = 1000  # rows of a partition and round
HOPELESS = 8.0  # a task with this many expected failures does not end: it would be tried e^8 times
MOST_LOSSES = 100  # a group whose results are lost this often before it is complete never completes


@dataclass(frozen=True)
class Cluster:
    """Workers, their network, and their failures."""

    workers: int
    network: float = 10.0  # Gbit/s of a machine
    workers_per_machine: int = 16
    failures: float = 0.0  # of a worker, per hour
    spread: float = 0.0  # of the logarithm of a task's time: some are slow
    restart: float = 30.0  # seconds until a worker's failure is noticed and another one is there

    @property
    def machines(self) -> int:
        return math.ceil(self.workers / self.workers_per_machine)

    def seconds(self, megabytes: float) -> float:
        """Seconds to send this over a machine's link."""
        return megabytes * 8e-3 / self.network


@dataclass(frozen=True)
class Job:
    """The rows and the model of a training."""

    rows: float
    model: float  # its size in MB
    workload: Workload
    rounds: int = 8
    per_worker: int = 1  # number of partitions for each worker
    text: bool = True  # whether files are surveyed: text is; Parquet files contain the positions of their rows

    def partitions(self, cluster: Cluster) -> int:
        """The requested number of partitions, or fewer if each would have too few rows."""
        return max(1, min(cluster.workers * self.per_worker, int(self.rows / FEWEST / self.rounds)))


@dataclass(frozen=True)
class Round:
    """The seconds of the parts of a round without failures, and the MB that it sends over the network."""

    ship: float
    task: float  # a partition: load, compare rates, learn, return
    folds: tuple[float, ...]  # one merging, for each level of the tree
    finish: float
    traffic: float

    @property
    def aside(self) -> float:
        """Everything except the work of the partitions."""
        return self.ship + sum(self.folds) + self.finish


@dataclass(frozen=True)
class Outcome:
    """The time of a training, and the MB that it sends."""

    seconds: float
    learning: float  # seconds of reading and learning if they are spread evenly over all workers
    survey: float  # seconds
    model_traffic: float  # MB
    data_traffic: float  # MB
    failed: int = 0  # tasks, and results that were lost before they were fetched

    @property
    def efficiency(self) -> float:
        """The part of the time that is learning."""
        return self.learning / self.seconds


def levels(partitions: int) -> list[int]:
    """The number of mergings at each level of the tree; a single partition needs none."""
    found = []
    while partitions > 1:
        partitions = math.ceil(partitions / FAN_IN)
        found.append(partitions)
    return found


def one_round(job: Job, cluster: Cluster, costs: Costs, rows: float, first: bool = False) -> Round:
    """A round with this many rows in all. In the first round there is no model to be shipped yet."""
    partitions, size = job.partitions(cluster), job.model
    own = rows / partitions
    link = cluster.seconds(size)
    reading = cluster.seconds(own * job.workload.row_bytes / 1e6) * min(cluster.workers_per_machine, cluster.workers)
    judged = 0.0 if first else min(own, max(LEAST_JUDGED, min(MOST_JUDGED, own / JUDGED)))
    learning = own * costs.row(job.workload) + judged * job.workload.seconds
    begin = 0.0 if first else costs.take * size
    task = costs.start + begin + max(learning, reading) + costs.give * size
    bent = job.workload.bent
    folds, traffic, inputs = [], 0.0, partitions
    input_size, work = size, 0.0 if bent else costs.add + costs.fold  # above the first level the inputs are sums
    for nodes in levels(partitions):
        wide = min(FAN_IN, inputs)
        beside = min(cluster.workers_per_machine, math.ceil(nodes / cluster.machines))  # mergings that share a link
        fetched = min(wide * input_size, partitions * size) if bent else wide * input_size
        given = fetched if bent else costs.sums * size
        folds.append(costs.start + cluster.seconds(fetched) * beside + wide * size * work + costs.give * given)
        traffic += partitions * size if bent else inputs * input_size
        inputs, input_size, work = nodes, given, 0.0 if bent else costs.fold
    copies = 0 if first else cluster.machines
    ship = 0.0 if first else costs.give * size + link * math.ceil(math.log2(cluster.machines + 1))
    finish = cluster.seconds(input_size) + (costs.settle + costs.take + costs.save) * size
    finish += costs.trees * partitions * size if bent else 0.0
    finish += HELD_OUT * job.workload.seconds + partitions * costs.join
    return Round(ship, task, tuple(folds), finish, traffic + copies * size + input_size)


def rounds(job: Job, cluster: Cluster, costs: Costs) -> list[Round]:
    """All rounds; the last one learns the held-out rows."""
    rows = job.rows / job.rounds
    usual = one_round(job, cluster, costs, rows)
    first = one_round(job, cluster, costs, rows, first=True)
    return [first, *[usual] * (job.rounds - 1), one_round(job, cluster, costs, min(HELD_OUT, job.rows))]


def closed_form(job: Job, cluster: Cluster, costs: Costs) -> Outcome:
    """The time if no task fails and all tasks are equally fast."""
    partitions, workers, submit = job.partitions(cluster), cluster.workers, costs.submit
    waves, last = math.ceil(partitions / workers), (partitions - 1) % workers + 1
    seconds = 0.0
    for one in rounds(job, cluster, costs):
        now = max(partitions * submit + one.task, last * submit + waves * one.task)
        if waves > 1:  # the last task of the wave before may end later, because it was submitted later
            now = max(now, workers * submit + (waves - 1) * one.task)
        submitted = partitions
        for nodes, fold in zip(levels(partitions), one.folds, strict=True):
            submitted += nodes
            now = max(now, submitted * submit) + fold
        seconds += one.ship + now + one.finish
    return _outcome(job, cluster, costs, seconds)


def simulate(job: Job, cluster: Cluster, costs: Costs, seed: int = 0) -> Outcome:
    """Simulate tasks that are slow or fail and are repeated, and results that are lost with their worker."""
    chance = _Chance(cluster, np.random.default_rng(seed))
    partitions = job.partitions(cluster)
    seconds = 0.0
    for one in rounds(job, cluster, costs):
        submitted = costs.submit * np.arange(1, partitions + 1)
        done = _scheduled(chance.times(np.full(partitions, one.task)), submitted, cluster.workers)
        again, count = one.task, partitions
        for nodes, fold in zip(levels(partitions), one.folds, strict=True):
            submitted = costs.submit * (count + np.arange(1, nodes + 1))
            ready = chance.kept(done, again, submitted)
            done = ready + chance.times(np.full(nodes, fold))
            again, count = fold, count + nodes
        seconds += one.ship + float(done.max()) + one.finish
    return replace(_outcome(job, cluster, costs, seconds), failed=chance.failed)


def _outcome(job: Job, cluster: Cluster, costs: Costs, seconds: float) -> Outcome:
    megabytes = job.rows * job.workload.row_bytes / 1e6
    survey = 0.0
    if job.text:
        survey = max(megabytes / 1e3 * costs.survey / cluster.workers, cluster.seconds(megabytes) / cluster.machines)
    return Outcome(
        seconds + survey,
        job.rows * costs.row(job.workload) / cluster.workers,
        survey,
        sum(one.traffic for one in rounds(job, cluster, costs)),
        megabytes * (2 if job.text else 1),
    )


def _scheduled(times: Times, submitted: Times, workers: int) -> Times:
    """The times at which tasks end that free workers take in order."""
    if len(times) <= workers:
        return submitted + times
    free = [0.0] * workers
    done = np.empty(len(times))
    for task, (own, at) in enumerate(zip(times.tolist(), submitted.tolist(), strict=True)):
        done[task] = max(heapq.heappop(free), at) + own
        heapq.heappush(free, done[task])
    return done


class _Chance:
    """Random delays and failures."""

    def __init__(self, cluster: Cluster, rng: np.random.Generator) -> None:
        self._rate, self._restart, self._spread = cluster.failures / 3600, cluster.restart, cluster.spread
        self._rng = rng
        self.failed = 0

    def times(self, usual: Times) -> Times:
        """The times until tasks have succeeded; each try starts from the beginning."""
        spent = np.zeros(len(usual))
        trying = np.arange(len(usual))
        own = usual * np.exp(self._spread * self._rng.normal(size=len(usual))) if self._spread else usual.copy()
        while len(trying):
            hopeless = self._rate * own[trying] > HOPELESS
            spent[trying[hopeless]] = math.inf
            trying = trying[~hopeless]
            survived = self._until_failure(len(trying))
            failing = survived < own[trying]
            spent[trying] += np.where(failing, survived + self._restart, own[trying])
            trying = trying[failing]
            self.failed += len(trying)
        return spent

    def _until_failure(self, count: int) -> Times:
        return self._rng.exponential(1 / self._rate, count) if self._rate else np.full(count, math.inf)

    def kept(self, done: Times, again: float, submitted: Times) -> Times:
        """The times at which groups of results are complete; results lost with a failing worker are computed again."""
        done, starts = done.copy(), np.arange(0, len(done), FAN_IN)
        lost_at = done + self._until_failure(len(done))
        for _ in range(MOST_LOSSES):
            ready = np.maximum(np.maximum.reduceat(done, starts), submitted)
            needed = np.repeat(ready, FAN_IN)[: len(done)]
            lost = np.flatnonzero((lost_at < needed) & np.isfinite(needed))
            if not len(lost):
                return ready
            self.failed += len(lost)
            done[lost] = lost_at[lost] + self._restart + self.times(np.full(len(lost), again))
            lost_at[lost] = done[lost] + self._until_failure(len(lost))
        ready[lost // FAN_IN] = math.inf
        return ready
