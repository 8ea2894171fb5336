"""Sums over predicted rows, in constant memory, and the metrics that they give."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from ..errors import ModelFileError
from ..inputs import Float64
from ..losses import LOSSES
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored
from . import records
from .label_sums import added, running
from .ranking import Ranking
from .rows import BinaryRows, Rows, rows_of
from .tallies import Tally, tally_of

STATE_VERSION = 1
BLOCK = 16_000  # numbers at a time: this fits the cache and avoids new allocations


class MetricSums:
    """The sums that a model's metrics are computed from, for a model or a baseline, added row by row in order.

    Args:
        model: the model that defines the task, the loss and the classes.
        only: the names of the metrics to count. Default: all of them, and the training loss.
        small: use as little memory as possible. Default: False.
    """

    def __init__(self, model: Learner | OneVsAll, only: Collection[str] | None = None, small: bool = False) -> None:
        self._model, self._task, self._loss = model, model.task, LOSSES[model.options.loss]
        self.judge = Learner(loss=self._loss.of_a_score, quantile=model.options.quantile)
        self._each = records.sums(model.task, self._loss, only)
        self.tally: Tally | None = None
        if only is None or any(one.found is not None and one.name in only for one in records.METRICS):
            self.tally = tally_of(model, small)
        self.by_name: dict[str, float] = {}
        self.weight = self.squared_weight = 0.0
        ranked = isinstance(self.tally, Ranking) and self._loss.link.gives_probabilities and not small
        self.in_core = ranked and self._each.keys() >= set(records.CORE_SUMS)
        """Whether the core computes the sums, which is fast but returns them only after the last row."""

    def count(self, scored: Scored) -> None:
        """Count predicted rows."""
        with np.errstate(over="ignore", invalid="ignore"):  # predictions may be infinite; then so are their losses
            for block in scored.counted.blocks(BLOCK):
                self.add(rows_of(self._model, self.judge, block), block.weight)

    def add(self, rows: Rows, h: Float64 | None) -> None:
        """Add rows in order. All weights must be positive; without weights each row counts 1."""
        if self.in_core and isinstance(rows, BinaryRows):
            self._add_in_core(rows, h)
            return
        sums = {name: added(self.by_name.get(name, 0.0), each(rows), h) for name, each in self._each.items()}
        self._finish(rows, h, sums, added(self.weight, h, None, len(rows.truth)))

    def add_each(self, rows: Rows, h: Float64 | None) -> dict[str, Float64]:
        """Add rows as `add` does; returns each sum and the weight by name, before the first and after each row."""
        sums = {name: running(self.by_name.get(name, 0.0), each(rows), h) for name, each in self._each.items()}
        weight = running(self.weight, h, None, len(rows.truth))
        self._finish(rows, h, {name: float(one[-1]) for name, one in sums.items()}, float(weight[-1]))
        return {**sums, "weight": weight}

    def _finish(self, rows: Rows, h: Float64 | None, sums: dict[str, float], weight: float) -> None:
        self.by_name, self.weight = sums, weight
        self.squared_weight = added(self.squared_weight, None if h is None else h * h, None, len(rows.truth))
        if self.tally is not None:
            self.tally.count(rows, h)

    def _add_in_core(self, rows: BinaryRows, h: Float64 | None) -> None:
        assert isinstance(self.tally, Ranking)
        names = records.CORE_SUMS
        for name in self._each.keys() - set(names):
            self.by_name[name] = added(self.by_name.get(name, 0.0), self._each[name](rows), h)
        sums = np.array([*(self.by_name.get(name, 0.0) for name in names), self.weight, self.squared_weight])
        self.judge._score(rows.p, rows.truth, h, sums, self.tally.counts)
        *totals, self.weight, self.squared_weight = sums.tolist()
        self.by_name |= dict(zip(names, totals, strict=True))

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics by name; empty before the first row."""
        means = self._mean_sums
        found = None if self.tally is None or not means else self.tally.found(means)
        return records.values(self._task, self._loss, means, found)

    @property
    def means(self) -> dict[str, float]:
        """Only the metrics that are means over rows, which are fast to compute: AUC and the like are left out."""
        return records.values(self._task, self._loss, self._mean_sums, None)

    @property
    def _mean_sums(self) -> dict[str, float]:
        return {name: total / self.weight for name, total in self.by_name.items()}

    def absorb(self, other: MetricSums) -> None:
        """Add the counts of another `MetricSums` of the same kind."""
        if self.tally is not None:
            self.tally.absorb(other.tally)
        for name, total in other.by_name.items():
            self.by_name[name] = self.by_name.get(name, 0.0) + total
        self.weight += other.weight
        self.squared_weight += other.squared_weight

    def _kind(self) -> dict[str, Any]:
        """The description that must be equal for a state to be restored or joined."""
        return {"loss": self._loss.name, "quantile": self.judge.options.quantile, "task": self._task}

    def state(self) -> dict[str, Any]:
        """All counts as JSON-compatible values, for `restore`."""
        return {
            "version": STATE_VERSION,
            **self._kind(),
            "weight": self.weight.hex(),
            "squared_weight": self.squared_weight.hex(),
            "sums": {name: total.hex() for name, total in self.by_name.items()},
            **({} if self.tally is None else self.tally.state()),
        }

    def restore(self, state: dict[str, Any], by_label: bool = False) -> None:
        """Continue from a state; raises ValueError, KeyError, TypeError or ModelFileError if the state is invalid.

        Args:
            state: what `state` returned.
            by_label: allow the model to number its classes differently. Default: False.
        """
        if state["version"] != STATE_VERSION:
            raise ModelFileError(
                f"this is an evaluation of format {state['version']!r}; this version of unitless reads {STATE_VERSION}"
            )
        for name, value in self._kind().items():
            if state[name] != value:
                raise ModelFileError(
                    f"the evaluation is of a model with {name} {state[name]!r}; this one has {value!r}"
                )
        self.weight, self.squared_weight = float.fromhex(state["weight"]), float.fromhex(state["squared_weight"])
        self.by_name = {name: float.fromhex(total) for name, total in state["sums"].items()}
        self._check(self.weight if self.tally is None else self.tally.restore(state, by_label))

    def _check(self, counted: float) -> None:
        """Check that restored counts are possible; sums may be infinite, because predictions may be."""
        if not (self.weight or self.squared_weight or self.by_name or counted):
            return
        if self.by_name.keys() != self._each.keys() or not (self.weight > 0 and self.squared_weight > 0):
            raise ValueError("sums that do not fit the model")
        if any(total < 0 for name, total in self.by_name.items() if name != "loss" or not self._loss.rounds_below_zero):
            raise ValueError("a sum that is negative")
        if not self.by_name.get("error_rate", 0.0) <= self.weight:
            raise ValueError("more errors than examples")
        if not math.isclose(counted, self.weight, rel_tol=1e-6):
            raise ValueError("counts that do not add up to the weight")
