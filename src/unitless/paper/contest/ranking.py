"""Who won: ranks, geometric means, and what is significant."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from ...inputs import Float64
from ...metrics.intervals import chernoff_interval
from ..experiments.section import Record
from .results import Result

LEAST = 1e-9
"""Losses are compared as loss + this: two learners that are both perfect are equally good."""

CLOSE = 0.01


@dataclasses.dataclass(frozen=True)
class Standing(Record):
    """The standing of one learner over all tables.

    Attributes:
        learner: its name.
        rank: its mean rank by untuned loss, 1 for the best; learners with equal losses share their ranks.
        relative: the geometric mean of its untuned loss over the least untuned loss of the table.
        tuned_relative: the same for its best parameter in hindsight, over the same least untuned loss.
        best: the share of tables where its untuned loss is the least or within 1% of it.
        better, worse: the number of tables where its error is significantly below or above that of the first learner,
            by the paper's test.
        regret: the median over tables of its loss per row above that of the best linear predictor.
        microseconds: its CPU time per row.
    """

    learner: str
    rank: float
    relative: float
    tuned_relative: float
    best: float
    better: int
    worse: int
    regret: float
    microseconds: float


def standings(results: Sequence[Result], microseconds: dict[str, float]) -> list[Standing]:
    """The standings of all learners, in the order of their geometric means; the first learner of the results is the
    one that the others are tested against.
    """
    names = list(dict.fromkeys(one.learner for one in results))
    losses, tuned = _matrix(results, names, "loss"), _matrix(results, names, "tuned_loss")
    errors, regrets = _matrix(results, names, "error"), _matrix(results, names, "regret")
    rows = [next(one.rows for one in results if one.table == table) for table in _tables(results)]
    least = losses.min(axis=1, keepdims=True)
    ranks = mean_ranks(losses)
    found = []
    for k, name in enumerate(names):
        better, worse = _significant(errors[:, k], errors[:, 0], rows)
        found.append(
            Standing(
                name,
                float(ranks[k]),
                _geometric((losses[:, k] + LEAST) / (least[:, 0] + LEAST)),
                _geometric((tuned[:, k] + LEAST) / (least[:, 0] + LEAST)),
                float(np.mean(losses[:, k] <= (1 + CLOSE) * least[:, 0] + LEAST)),
                better,
                worse,
                float(np.median(regrets[:, k])),
                microseconds[name],
            )
        )
    return sorted(found, key=lambda one: one.relative)


def mean_ranks(losses: Float64) -> Float64:
    """The mean rank of each column over rows; equal losses share the mean of their ranks."""
    from scipy.stats import rankdata  # noqa: PLC0415  (an optional dependency)

    return np.asarray(rankdata(losses, axis=1).mean(axis=0))


def critical_difference(learners: int, tables: int) -> float:
    """The difference of mean ranks that is significant at 5% (Nemenyi's test; Demšar 2006).

    >>> round(critical_difference(5, 30), 3)  # q = 2.728
    1.114
    """
    from scipy.stats import studentized_range  # noqa: PLC0415  (an optional dependency)

    q = float(studentized_range.ppf(0.95, learners, math.inf)) / math.sqrt(2)
    return q * math.sqrt(learners * (learners + 1) / (6 * tables))


def relative_to(results: Sequence[Result], learner: str, rivals: Sequence[str], tuned: bool = False) -> Float64:
    """The untuned loss of a learner over the least loss of its rivals, for each table."""
    losses = _matrix(results, [learner, *rivals], "loss")
    others = _matrix(results, list(rivals), "tuned_loss") if tuned else losses[:, 1:]
    return np.asarray((losses[:, 0] + LEAST) / (others.min(axis=1) + LEAST))


def relative_losses(results: Sequence[Result], learners: Sequence[str]) -> tuple[list[str], list[str], Float64]:
    """The tables, the learners, and the untuned loss of each learner over the least of the table."""
    losses = _matrix(results, learners, "loss") + LEAST
    return _tables(results), list(learners), losses / losses.min(axis=1, keepdims=True)


def _geometric(ratios: Float64) -> float:
    return float(np.exp(np.log(ratios).mean()))


def _tables(results: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(one.table for one in results))


def _matrix(results: Sequence[Result], names: Sequence[str], field: str) -> Float64:
    values = {(one.table, one.learner): float(getattr(one, field)) for one in results}
    return np.array([[values[table, name] for name in names] for table in _tables(results)])


def _significant(errors: Float64, others: Float64, rows: Sequence[int]) -> tuple[int, int]:
    better = worse = 0
    for error, other, n in zip(errors.tolist(), others.tolist(), rows, strict=True):
        low, high = chernoff_interval(min(error, 1.0), n)
        other_low, other_high = chernoff_interval(min(other, 1.0), n)
        better += high < other_low
        worse += low > other_high
    return better, worse
