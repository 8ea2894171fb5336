"""Importance of the columns of the data: how much worse the predictions are without knowing a column.

The values of one column are permuted among rows whose labels are known, and the model predicts these rows again. The
rise of the metric that the model is judged by (error rate, RMSE or loss) is the importance of the column, in the unit
of the metric. All features that were made of the column (values of text, words, parts of a date, products) move
together. See Breiman, "Random Forests" (2001), section 10, and Fisher, Rudin and Dominici (2019), "All Models are
Wrong, but Many are Useful", where the rise is a U-statistic of the rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import inputs
from ..data import Batch
from ..data.columns import batch_columns
from ..data.columns.feature_columns import FeatureColumns
from ..inputs import Float64
from ..losses import LOSSES
from ..metrics import records
from ..metrics.intervals import CONFIDENCE, student_quantile
from ..metrics.rows import rows_of
from ..metrics.sums import BLOCK, MetricSums
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored
from ..presentation import html
from ..presentation.json_values import plain
from ..presentation.sections import text
from . import importance_summary
from .model_row import entries

FEWEST = 20  # rows; fewer do not tell
ROWS = 4_000  # the most rows that are predicted again
LEAST, MOST = 2, 10  # permutations of a column: more of them where there are few rows
COLUMNS = 100  # the most columns that are permuted
PREDICTIONS = 8_000  # for each column, at most
_SKILL = 0.1  # the share of the baseline's errors that a model must avoid for its error rate to depend on columns
_LOOKED_AT = 32  # rows from which it is found which columns the model mentions most


@dataclass(frozen=True)
class ColumnImportance:
    """The rise of the metric if the values of a column are permuted, and its 90% confidence interval."""

    column: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Importance:
    """The importance of the columns of the data for a model.

    Attributes:
        metric: what rises: "error_rate", "rmse" or "loss"; "log_loss" where the predicted classes are hardly better
            than always the most frequent one, so that no column can raise the error rate.
        on: the rows on which it was measured, in words.
        in_sample: whether the model had learned these rows.
        among: how many columns the data has; of more than 100 those were measured that the model uses most.
        columns: the columns that were measured, the most important first.

    Example:
        >>> import numpy as np, unitless as ul
        >>> rng = np.random.default_rng(0)
        >>> area, city = rng.uniform(20, 200, 2000), rng.choice(["Oslo", "Bergen"], 2000)
        >>> rows = [{"area": a, "city": c, "rent": 10 * a + 99 * (c == "Oslo")} for a, c in zip(area, city)]
        >>> found = ul.train(rows, "rent", model_type="linear").importance
        >>> found.metric, [one.column for one in found.columns]
        ('rmse', ['area', 'city'])
        >>> found["area"].low < found["area"].value < found["area"].high
        True
    """

    metric: str
    on: str
    in_sample: bool
    among: int
    columns: tuple[ColumnImportance, ...]

    def __getitem__(self, column: str) -> ColumnImportance:
        for one in self.columns:
            if one.column == column:
                return one
        raise KeyError(column)

    def __iter__(self) -> Iterator[ColumnImportance]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __str__(self) -> str:
        return text([importance_summary.section(self, "training", len(self))])

    def _repr_html_(self) -> str:
        return html.sections("Importance", [importance_summary.section(self, "training")])

    def asdict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON; None where a number is not finite."""
        found: dict[str, Any] = plain(self)
        return found

    @classmethod
    def read(cls, stored: dict[str, Any]) -> Importance:
        """Make the importance from what `asdict` returned, as a model file stores it."""
        columns = [
            ColumnImportance(one["column"], *(_number(one[name]) for name in ("value", "low", "high")))
            for one in stored["columns"]
        ]
        return cls(stored["metric"], stored["on"], stored["in_sample"], stored["among"], tuple(columns))


def stored(model: Learner | OneVsAll) -> Importance | None:
    """Return the importance that `train` measured and stored with the model; None if there is none."""
    found = None if model._training is None else model._training["importance"]
    return None if found is None else Importance.read(found)


def measure(
    model: Learner | OneVsAll,
    rows: Batch,
    score: Callable[[Batch], Scored],
    columns: FeatureColumns,
    *,
    on: Callable[[int], str],
    seed: int = 0,
    predictions: float = math.inf,
    in_sample: bool = False,
) -> Importance | None:
    """Measure the importance of the columns; None if there are too few rows.

    Args:
        model: the model.
        rows: rows with labels, which can all be predicted.
        score: predicts rows, in their order.
        columns: the column that each feature was made of.
        on: describes a number of these rows in words.
        seed: the random seed of the permutations.
        predictions: about how many predictions to make, at most. Default: 8,000 for each column.
        in_sample: whether the model has learned these rows.
    """
    if rows.weight is not None:
        rows = rows.select(rows.weight > 0)
    if rows.rows < FEWEST:
        return None
    parts = batch_columns.parts(rows.data, columns)
    among = len(parts)
    # Fewer rows first, then fewer columns: an interval of 200 rows still tells which columns matter.
    chosen = int(min(among, COLUMNS, max(1, predictions / (LEAST * min(rows.rows, 200)))))
    if chosen < among:
        most = _mentioned(model, rows.data, columns, chosen)
        parts = {name: parts[name] for name in parts if name in most}
    each = min(PREDICTIONS, predictions / max(1, len(parts)))
    count = max(FEWEST, int(min(rows.rows, ROWS, each / LEAST)))
    rows = rows.select(_some(seed, rows.rows, count))
    losses = _Losses(model, score, rows)
    base, weight = losses.of(rows)
    donors = _donors(seed, count, int(min(MOST, max(LEAST, each // count), count - 1)))
    freedom = max(1, min(int(1 / float(weight @ weight)) - 1, 200))
    reach = student_quantile((1 + CONFIDENCE) / 2, freedom)
    found = []
    for name, moved in parts.items():
        again = np.stack(
            [losses.of(replace(rows, data=batch_columns.permuted(rows.data, moved, of)))[0] for of in donors]
        )
        rise, low, high = _rise(base, again, donors, weight, reach, losses.metric == "rmse")
        found.append((rise, ColumnImportance(str(name), max(0.0, rise), low, max(0.0, high))))
    found.sort(key=lambda one: -one[0])
    return Importance(losses.metric, on(count), in_sample, among, tuple(one for _, one in found))


class _Losses:
    """What each row adds to the metric that a model is judged by.

    Where the model's classes are hardly better than the most frequent class, no column can raise the error rate: then
    this is the log loss, if the model has probabilities.
    """

    def __init__(self, model: Learner | OneVsAll, score: Callable[[Batch], Scored], rows: Batch) -> None:
        self._loss = LOSSES[model.options.loss]
        self._model, self._score = model, score
        self._judge = MetricSums(model, small=True).judge
        self.metric = records.judged_by(model.task, self._loss)
        if self.metric == "error_rate" and self._loss.link.gives_probabilities:
            scored, weight = self._scored(rows)
            truth = np.concatenate([one.truth for one in scored])
            wrong = np.concatenate([one.wrong for one in scored])
            of_constant = 1 - float(np.bincount(truth, weight).max())
            if float(weight @ wrong) > (1 - _SKILL) * of_constant:
                self.metric = "log_loss"

    def of(self, rows: Batch) -> tuple[Float64, Float64]:
        """The losses of rows, and their shares of the total weight."""
        (each,) = records.sums(self._model.task, self._loss, [self.metric]).values()
        scored, weight = self._scored(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.concatenate([each(one) for one in scored]).astype(np.float64), weight

    def _scored(self, rows: Batch) -> tuple[list[Any], Float64]:
        """The predicted rows in blocks, and their shares of the total weight."""
        scored = self._score(rows)
        blocks = [rows_of(self._model, self._judge, block) for block in scored.blocks(BLOCK)]
        weight = np.ones(len(scored)) if scored.weight is None else scored.weight
        return blocks, weight / weight.sum()


def _some(seed: int, rows: int, count: int) -> NDArray[np.bool_]:
    """A mask of some rows, chosen at random."""
    chosen = np.zeros(rows, bool)
    chosen[np.random.default_rng(seed % 2**64).permutation(rows)[:count]] = True
    return chosen


def _donors(seed: int, rows: int, permutations: int) -> NDArray[np.intp]:
    """Permutations of the rows; no row keeps its value, and none has the same donor twice. All columns use them."""
    rng = np.random.default_rng(seed % 2**64)
    order = rng.permutation(rows)
    place = np.empty(rows, np.intp)
    place[order] = np.arange(rows)
    shifts = 1 + rng.choice(rows - 1, permutations, replace=False)
    return np.stack([order[(place + shift) % rows] for shift in shifts])


def _rise(
    base: Float64, again: Float64, donors: NDArray[np.intp], weight: Float64, reach: float, root: bool
) -> tuple[float, float, float]:
    """The rise of the metric with a 90% confidence interval.

    With D(i, j) = the rise of the loss of row i if it has the value of row j, the mean of D is a U-statistic. Its
    variance is that of the sum of two influences of a row: as the row that receives values, and as the row that gives
    them. Their estimates from a few permutations contain the variance of D once too often, which is subtracted.

    Args:
        base: the loss of each row.
        again: the loss of each row, by permutation.
        donors: for each permutation, the row that gives its value to each row.
        weight: the share of each row in the total weight.
        reach: the quantile of Student's distribution: half the length of the interval, in standard deviations.
        root: whether the metric is the root of the mean loss.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        change = again - base
        before, mean = float(weight @ base), float((change @ weight).mean())
    if not math.isfinite(before) or not math.isfinite(mean):
        return math.inf, 0.0, math.inf
    centered = weight * (change - mean)
    influence = centered.mean(axis=0)
    for one, giver in zip(centered, donors, strict=True):
        influence[giver] += one / len(donors)
    twice = float((centered * centered).sum()) / len(donors) ** 2
    rise, slope = mean, 1.0
    if root:
        after = math.sqrt(max(0.0, before + mean))
        slope = 1 / (2 * after) if after > 0 else 0.0
        rise = after - math.sqrt(before)
        if before > 0:
            influence = slope * influence + (slope - 1 / (2 * math.sqrt(before))) * weight * (base - before)
        else:
            influence = slope * influence
    total = float(influence @ influence)
    spread = math.sqrt(max(total - slope * slope * twice, total / 2))
    return rise, rise - reach * spread, rise + reach * spread


def _mentioned(model: Learner | OneVsAll, data: inputs.Input, columns: FeatureColumns, most: int) -> set[str | int]:
    """The columns that move the model's scores most, by the weights, curves and trees of the features of some rows."""
    reach: dict[Any, float] = {}
    for by_feature in model._of_heads("importance"):
        for feature, value in by_feature.items():
            reach[feature] = max(value, reach.get(feature, 0.0))
    moved: dict[str | int, float] = {}
    for row in range(min(_LOOKED_AT, data.rows)):
        keep = np.zeros(data.rows, bool)
        keep[row] = True
        for feature, x in entries(inputs.take(data, keep), model._word_features):
            if x != 0 and x == x:  # noqa: PLR0124  (false for NaN)
                column = columns.of(feature)
                moved[column] = moved.get(column, 0.0) + reach.get(feature, 0.0)
    return set(itertools.islice(sorted(moved, key=lambda name: -moved[name]), most))


def _number(value: float | None) -> float:
    return math.inf if value is None else float(value)
