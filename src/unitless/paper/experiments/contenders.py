"""The learners of the comparison, each with the grid of its hyperparameter."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...inputs import Float64
from ...models.learner import Learner
from ...models.one_vs_all import OneVsAll
from ...models.sweep import Sweep
from ...options import Rule
from ..baselines import (
    AROW,
    VSGD,
    DiagonalAROW,
    DiagonalSecondOrderPerceptron,
    OnlineNewtonStep,
    SecondOrderPerceptron,
)

Task: TypeAlias = Literal["binary", "classes", "number"]
Setting: TypeAlias = float | tuple[float, float]
"""A value of one hyperparameter, or of two."""

RATES = tuple(10.0 ** (k / 2) for k in range(-32, 5))
"""Learning rates from 10⁻¹⁶, which gradient descent needs for values of 10⁸, to 100."""

IN_UNITS = tuple(10.0**k for k in range(-4, 10, 2))
"""Values of a and r where they have the unit of x²."""

WITHOUT_UNITS = tuple(10.0**k for k in range(-6, 4, 2))
"""Values of a and r where they have none."""

NEWTON_IN_UNITS = tuple((10.0**k, limit) for limit in (2.0, 8.0) for k in range(-4, 6, 2))
"""Values of ε and of the limit.

No single limit suits all data, and without a limit some learners diverge at the start.
"""

NEWTON_WITHOUT_UNITS = tuple((10.0**k, limit) for limit in (2.0, 8.0) for k in range(-4, 2, 2))
"""Values of ε and of the limit where ε has no unit."""

OVERESTIMATES = (1.0, 10.0, 100.0, 1000.0, 10_000.0)
"""The constant C of vSGD."""


@dataclass(frozen=True)
class Rows:
    """The rows of a comparison, in the order in which all learners see them."""

    X: Float64
    """The inputs with a column of ones."""
    y: NDArray[Any]
    """±1, class numbers from 0, or labels scaled to the range from 0 to 1."""
    task: Task
    classes: int | None

    @property
    def loss(self) -> Literal["squared", "logistic"]:
        """The loss whose gradients are used."""
        return "squared" if self.task == "number" else "logistic"

    def judge(self, predictions: Float64) -> Float64:
        """The mean loss of each column of predictions; for classes these are scores, on a last axis.

        It is infinite for learners that diverged.
        """
        finite = np.isfinite(predictions).all(axis=(0, 2) if self.task == "classes" else 0)
        y = self.y[:, None]
        if self.task == "classes":
            losses = predictions.argmax(axis=2) != y
        elif self.task == "binary":
            losses = (predictions > 0) != (y > 0)
        else:
            losses = (np.clip(predictions, 0, 1) - y) ** 2
        return np.where(finite, np.mean(losses, axis=0), math.inf)


@dataclass(frozen=True)
class Contender:
    """A learner and its grid."""

    rule: str
    unit_free: bool
    hyperparameter: str | None
    grid: tuple[Setting, ...]
    losses: Callable[[Rows], Float64]
    """The loss of each value of the grid; a single one if there is no grid."""
    numbers: bool = True
    """Whether it can learn numbers."""


CLASSIFIERS = (
    ("sop", "a", SecondOrderPerceptron),
    ("diagonal sop", "a", DiagonalSecondOrderPerceptron),
    ("arow", "r", AROW),
    ("diagonal arow", "r", DiagonalAROW),
)
"""The name, hyperparameter and class of learners that need hinge loss or mistakes, and so learn only classes."""


def contenders() -> list[Contender]:
    """All learners: those of the paper, and those that it names."""
    rules: tuple[Rule, ...] = ("nag", "snag", "ng", "ag", "gd")
    found = [Contender("nag, auto rate", True, None, (), _automatic)]
    for rule in rules:
        found.append(Contender(rule, rule not in ("ag", "gd"), "learning_rate", RATES, partial(_swept, rule)))
    for ending, scaled, pairs in (("", False, NEWTON_IN_UNITS), (", scaled", True, NEWTON_WITHOUT_UNITS)):
        found.append(Contender(f"ons{ending}", scaled, "epsilon, limit", pairs, partial(_newton, pairs, scaled)))
    for name, hyperparameter, classifier in CLASSIFIERS:
        for ending, scaled, grid in (("", False, IN_UNITS), (", scaled", True, WITHOUT_UNITS)):
            losses = partial(_classified, classifier, grid, scaled)
            found.append(Contender(name + ending, scaled, hyperparameter, grid, losses, numbers=False))
    found.append(Contender("vsgd", True, "overestimate", OVERESTIMATES, _variance))
    return found


def _automatic(rows: Rows) -> Float64:
    if rows.classes is None:
        return rows.judge(Learner("nag", rows.loss, "auto", bias=False).learn(rows.X, rows.y)[:, None])
    scores = OneVsAll(range(rows.classes), "nag", rows.loss, "auto", bias=False).learn(rows.X, rows.y)
    return rows.judge(scores[:, None])


def _swept(rule: Rule, rows: Rows) -> Float64:
    """The losses of a rule of the compiled core, at all rates."""
    if rows.classes is None:
        return rows.judge(Sweep(RATES, rule, rows.loss, bias=False).learn(rows.X, rows.y))
    found = Sweep(RATES, rule, rows.loss, classes=range(rows.classes), bias=False).learn(rows.X, rows.y)
    return np.asarray(np.mean(found != rows.y[:, None], axis=0))


def _newton(grid: tuple[tuple[float, float], ...], scaled: bool, rows: Rows) -> Float64:
    """The losses of Online Newton Step with its natural rate: 1 for logistic loss.

    0.1 for labels from 0 to 1, whose noise is below ½.
    """
    epsilon, limit = zip(*grid, strict=True)
    rate = 0.1 if rows.task == "number" else 1.0
    learner = OnlineNewtonStep(rows.loss, rate, epsilon, limit=limit, scaled=scaled, classes=rows.classes)
    return rows.judge(learner.run(rows.X, rows.y))


def _classified(classifier: Callable[..., Any], grid: tuple[float, ...], scaled: bool, rows: Rows) -> Float64:
    return rows.judge(classifier(grid, scaled=scaled, classes=rows.classes).run(rows.X, rows.y))


def _variance(rows: Rows) -> Float64:
    return rows.judge(VSGD(rows.loss, OVERESTIMATES, classes=rows.classes).run(rows.X, rows.y))
