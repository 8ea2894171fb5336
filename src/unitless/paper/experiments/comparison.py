"""Compare all learners that the paper names, on the same rows, in the data's units and in others.

Section 1.1 names Online Newton Step, the second-order perceptron, AROW and vSGD in addition to gradient descent and
adaptive gradient, and ends: "A comparative analysis of empirical performance would be interesting to observe." This is
that analysis. Every learner runs on the original rows and on a copy whose columns are multiplied by numbers between
10⁻³ and 10³, as if each were measured in another unit. Each learner uses its best hyperparameter in hindsight, from a
grid.

    >>> import numpy as np
    >>> from unitless.paper.experiments import comparison
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 4))
    >>> data = comparison.Dataset("four numbers", X, X @ [1.0, -2.0, 0.5, 1.0] > 0, "binary")
    >>> results = {result.rule: result for result in comparison.compare([data])}
    >>> nag, gd = results["nag"], results["gd"]
    >>> nag.raw_loss == nag.rescaled_loss < 0.05
    True
    >>> gd.raw_loss < 0.05 < 0.2 < gd.rescaled_loss
    True
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import inputs
from ...errors import InputError, OptionError
from ...inputs import Float64
from .contenders import Contender, Rows, Setting, Task, contenders

MATRIX_WORK = 4e9
"""The limit of rows × columns² × classes; rows beyond it are left out, because of the learners with a whole matrix."""

LARGEST_FACTOR = 1000.0
"""Columns are multiplied by up to this number or its inverse."""


@dataclass(frozen=True)
class Dataset:
    """Data for the comparison."""

    name: str
    X: Float64
    """Dense rows, without a column of ones."""
    y: NDArray[Any]
    """For "binary" −1 and 1, 0 and 1 or booleans; for "classes" labels of any kind; for "number" numbers."""
    task: Task


@dataclass(frozen=True)
class Result:
    """The result of one learner on one dataset. A loss is infinite if the learner diverged."""

    dataset: str
    task: Task
    rows: int
    """The number of learned rows, the same for all learners of a dataset."""
    features: int
    rule: str
    unit_free: bool
    hyperparameter: str | None
    """The name of the tuned hyperparameter; None if there is none."""
    raw_loss: float | None = None
    """Progressive 0-1 loss, or for numbers the squared loss over the squared range of labels."""
    raw_best: Setting | None = None
    """The hyperparameter of that loss, the best of the grid."""
    rescaled_loss: float | None = None
    """The loss with columns rescaled, and the hyperparameter tuned again."""
    rescaled_best: Setting | None = None
    rescaled_loss_at_raw_best: float | None = None
    """The loss with columns rescaled, and the hyperparameter that was best for the original units."""
    seconds: float = 0.0
    """The time for both copies and the whole grid."""
    skipped: str | None = None
    """The reason why the learner was not run, or None."""

    def asdict(self) -> dict[str, Any]:
        """The result as JSON-compatible values."""
        return dataclasses.asdict(self)


def compare(
    datasets: Iterable[Dataset],
    *,
    rows: int = 20_000,
    rules: Iterable[str] | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> list[Result]:
    """Run all learners over all datasets, each in one pass over the same shuffled rows.

    All learners have a constant feature, which is not rescaled, and no products of features. Numbers are learned as (y
    − smallest)/(largest − smallest), and predictions are limited to 0 and 1 for the evaluation.

    Args:
        datasets: the datasets to learn.
        rows: the largest number of rows. For wide data it is smaller: rows × columns² × classes is at most
            `MATRIX_WORK`.
        rules: the names of the learners; see `contenders`. Default: all.
        seed: the random seed of the order and the factors.
        progress: called with the name of each learner before it runs.
    """
    chosen = _chosen(rules)
    if rows < 1:
        raise OptionError(f"rows is {rows}; it must be at least 1")
    results = []
    for dataset in datasets:
        X, y, classes = _prepared(dataset, rows, seed)
        decades = np.random.default_rng([seed, 1]).uniform(-1, 1, size=X.shape[1])
        raw = Rows(_with_constant(X), y, dataset.task, classes)
        rescaled = Rows(_with_constant(X * LARGEST_FACTOR**decades), y, dataset.task, classes)
        for contender in chosen:
            if progress is not None:
                progress(f"{dataset.name}: {contender.rule}, {len(X):,} rows")
            results.append(_result(contender, dataset.name, raw, rescaled))
    return results


def _chosen(rules: Iterable[str] | None) -> list[Contender]:
    everyone = {contender.rule: contender for contender in contenders()}
    names = list(everyone if rules is None else rules)
    for name in names:
        if name not in everyone:
            raise OptionError(f"there is no rule {name!r}; there are {'; '.join(everyone)}")
    return [everyone[name] for name in names]


def _prepared(dataset: Dataset, rows: int, seed: int) -> tuple[Float64, NDArray[Any], int | None]:
    """Shuffled rows, their labels as the learners need them, and the number of classes."""
    X = np.asarray(dataset.X, dtype=np.float64)
    if X.ndim != 2 or not len(X):
        raise InputError(f"X of {dataset.name} has the shape {X.shape}; it must have rows and columns")
    y, classes = _labels(dataset, len(X))
    affordable = int(MATRIX_WORK / ((X.shape[1] + 1) ** 2 * (classes or 1)))
    order = np.random.default_rng(seed).permutation(len(X))[: max(1, min(rows, affordable))]
    return X[order], y[order], classes


def _labels(dataset: Dataset, rows: int) -> tuple[NDArray[Any], int | None]:
    if dataset.task == "classes":
        if len(dataset.y) != rows:
            raise InputError(f"y of {dataset.name} has {len(dataset.y)} values, but X has {rows} rows")
        labels, numbers = np.unique(dataset.y, return_inverse=True)
        if len(labels) < 2:
            raise InputError(f"y of {dataset.name} has one class alone")
        return numbers, len(labels)
    y = inputs.vector(dataset.y, f"y of {dataset.name}", rows)
    if dataset.task == "binary":
        if not np.isin(y, (-1, 0, 1)).all():
            raise InputError(f"y of {dataset.name} must be -1 and 1, or 0 and 1")
        return np.where(y > 0, 1.0, -1.0), None
    if dataset.task == "number":
        if not y.max() > y.min():
            raise InputError(f"y of {dataset.name} is the same number everywhere, or not a number")
        return (y - y.min()) / (y.max() - y.min()), None
    raise OptionError(f"the task of {dataset.name} is {dataset.task!r}; it must be binary, classes or number")


def _with_constant(X: Float64) -> Float64:
    return np.hstack([np.ones((len(X), 1)), X])


def _result(contender: Contender, name: str, raw: Rows, rescaled: Rows) -> Result:
    shared: dict[str, Any] = {
        "dataset": name,
        "task": raw.task,
        "rows": len(raw.X),
        "features": raw.X.shape[1] - 1,
        "rule": contender.rule,
        "unit_free": contender.unit_free,
        "hyperparameter": contender.hyperparameter,
    }
    if raw.task == "number" and not contender.numbers:
        return Result(**shared, skipped="learns classes, not numbers")
    began = time.perf_counter()
    raw_losses, rescaled_losses = contender.losses(raw), contender.losses(rescaled)
    seconds = time.perf_counter() - began
    best, rescaled_best = int(np.argmin(raw_losses)), int(np.argmin(rescaled_losses))
    return Result(
        **shared,
        raw_loss=float(raw_losses[best]),
        raw_best=contender.grid[best] if contender.grid else None,
        rescaled_loss=float(rescaled_losses[rescaled_best]),
        rescaled_best=contender.grid[rescaled_best] if contender.grid else None,
        rescaled_loss_at_raw_best=float(rescaled_losses[best]),
        seconds=seconds,
    )
