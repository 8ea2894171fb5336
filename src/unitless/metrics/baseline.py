"""The constant baseline: the metrics of the best constant prediction.

    baseline = Baseline(model)
    baseline.observe(learned)            # the constant comes from these labels
    baseline.count(held_out)             # the rows for which it is predicted
    baseline.metrics                     # with the names that `Evaluation.metrics` has

For the baselines of a stream see `stream_baselines.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..inputs import Float64
from ..losses import LOSSES
from ..models.classes import Label
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored
from . import records
from .constant import ClassConstant, NumberConstant
from .label_sums import Histogram
from .states import places_of, reading
from .sums import MetricSums

STATE_VERSION = 1


class Baseline:
    """A predictor without features: the best constant for the learned labels, evaluated on other rows.

    Args:
        model: the model that is compared with the baseline; its loss decides which constant is the best.

    Example:
        >>> import unitless as ul
        >>> from unitless.metrics.baseline import Baseline, skill
        >>> from unitless.models.scored import Scored
        >>> model = ul.Learner(loss="logistic")
        >>> baseline = Baseline(model)
        >>> baseline.observe(Scored.of(model, [0.0] * 4, [True, False, False, False]))
        >>> baseline.count(Scored.of(model, [0.0] * 5, [False, False, True, False, False]))
        >>> baseline.metrics["error_rate"], round(baseline.metrics["log_loss"], 3)
        (0.2, 0.507)
        >>> skill({"error_rate": 0.05}, baseline.metrics)
        0.75
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._model = model
        self._constant: NumberConstant | ClassConstant = (
            NumberConstant(model) if model.task == "regression" else ClassConstant(model)
        )
        self.begin_scoring()

    def observe(self, scored: Scored) -> None:
        """Fit the constant to rows that are learned."""
        self._constant.observe(scored.counted)

    def begin_scoring(self) -> None:
        """Forget the rows that were counted so far; the constant stays."""
        names = records.reported(self._model.task, LOSSES[self._model.options.loss])
        self._sums = MetricSums(self._model, names)

    def count(self, scored: Scored) -> None:
        """Count rows, for which the constant is predicted."""
        if self._constant.weight > 0:
            self._sums.count(replace(scored, scores=self._constant.scores(scored)))

    @property
    def answer(self) -> Label | float:
        """The prediction for every row: a number, or a class. For two classes: whether it is the positive class."""
        return self._constant.answer if self._constant.weight > 0 else math.nan

    @property
    def has_offsets(self) -> bool:
        """Whether the constant is a number to which the rows' offsets are added."""
        return self._constant.has_offsets

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics of the constant on the counted rows; empty before the constant is known."""
        return self._sums.metrics

    def state(self) -> dict[str, Any]:
        """The constant as JSON-compatible values, for `restore` and `join`."""
        return {"version": STATE_VERSION, "labels": self._constant.state(), "classes": self._model._class_labels}

    @classmethod
    def restore(cls, model: Learner | OneVsAll, state: dict[str, Any]) -> Baseline:
        """Rebuild a baseline from its state, for a model of the same kind."""
        return cls.join(model, [state])

    @classmethod
    def join(cls, model: Learner | OneVsAll, states: Iterable[dict[str, Any]]) -> Baseline:
        """Build the baseline of all labels from the states of baselines of parts of them.

        Parts are added up in the given order. Classes are matched by label, so each part may have its own order.
        """
        joined = cls(model)
        for state in states:
            with reading("a baseline"):
                if state["version"] != STATE_VERSION:
                    raise ValueError(
                        f"its format is {state['version']!r}, this version of unitless reads {STATE_VERSION}"
                    )
                part: Any = cls(model)._constant
                part.restore(state["labels"])
                joined._constant.absorb(part, places_of(state, model))
        return joined


class HindsightBaseline:
    """The best constant for the rows on which it is evaluated, used where no labels were learned before.

    The labels are stored. If there are more than `MOST`, labels that lie within 1/256 of each other's size and have
    similar offsets are replaced by two rows with the same mean and the same mean square.

    Args:
        model: the model that is compared with the baseline.
    """

    MOST = 1 << 20

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._model = model
        self._rows: list[Float64] = []  # each entry has three rows: labels, weights, offsets
        self._waiting, self._limit = 0, self.MOST
        self._origin: float | None = None
        self._has_offsets = False

    def count(self, scored: Scored) -> None:
        """Count rows to evaluate."""
        scored = scored.counted
        if not len(scored):
            return
        ones, zeros = np.ones(len(scored)), np.zeros(len(scored))
        self._has_offsets |= scored.offset is not None
        rows = (scored.truth, ones if scored.weight is None else scored.weight)
        self._rows.append(np.array([*rows, zeros if scored.offset is None else scored.offset], np.float64))
        self._waiting += len(scored)
        if self._waiting > self._limit:
            self._merge()

    def _merge(self) -> None:
        """Combine rows that are nearly equal."""
        y, h, o = np.concatenate(self._rows, axis=1)
        if self._origin is None:  # counts have a zero of their own, and labels near it must not become negative
            self._origin = 0.0 if LOSSES[self._model.options.loss].smallest_label is not None else float(y[0])
        ranges = y.astype(np.int64)
        if self._model.task == "regression":
            ranges = Histogram.ranges_of(y - self._origin) * (2 << Histogram.BITS) + Histogram.ranges_of(o)
        _, cells = np.unique(ranges, return_inverse=True)
        weight = np.bincount(cells, h)
        mean, offset = np.bincount(cells, h * y) / weight, np.bincount(cells, h * o) / weight
        spread = np.sqrt(np.bincount(cells, h * (y - mean[cells]) ** 2) / weight)
        halves = [np.stack([mean + side * spread, weight / 2, offset]) for side in (-1.0, 1.0)]
        self._rows = [np.concatenate(halves, axis=1)]
        self._waiting = 2 * len(weight)
        self._limit = max(self.MOST, 2 * self._waiting)

    @property
    def _evaluated(self) -> Baseline:
        baseline = Baseline(self._model)
        if self._model.task != "regression" and self._rows:
            self._merge()  # now one row for each class, or two rows
        if self._rows:
            y, h, o = np.concatenate(self._rows, axis=1)
            kind = {"regression": np.float64, "binary": np.bool_, "classes": np.intp}[self._model.task]
            scored = Scored(np.zeros((len(y), 0)), y.astype(kind), h, o if self._has_offsets else None)
            baseline.observe(scored)
            baseline.count(scored)
        return baseline

    @property
    def answer(self) -> Label | float:
        """The prediction for every row."""
        return self._evaluated.answer

    @property
    def has_offsets(self) -> bool:
        """Whether the constant is a number to which the rows' offsets are added."""
        return self._has_offsets

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics of the constant; empty before the first row."""
        return self._evaluated.metrics


def skill(metrics: Mapping[str, float], baseline: Mapping[str, float], by: str | None = None) -> float:
    """The share of a baseline's error that a model removes: 1 - error/baseline's error.

    NaN for a baseline without error.

    Args:
        metrics: a model's metrics.
        baseline: the baseline's metrics on the same rows.
        by: the metric to use. Default: "error_rate" for classes; for numbers "rmse", which is squared, so that the
            skill is R² relative to the mean of the learned rows.
    """
    name = by or ("error_rate" if "error_rate" in metrics else "rmse")
    if name not in metrics or name not in baseline:
        raise InputError(f"{name!r} is not both a metric of the model and of the baseline")
    error, constant = metrics[name], baseline[name]
    if name == "rmse":
        error, constant = error * error, constant * constant
    return 1 - error / constant if constant else math.nan
