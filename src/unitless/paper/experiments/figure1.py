"""Figure 1: the loss of a learner when one of two features is measured in another unit.

The paper does not say how its data was made or what its vertical axis is. Here x is uniform on [-1, 1]², the learner
gets (2^k x₁, x₂) for k from -20 to 20, and predicts y = x₁ + x₂ + noise (squared loss) or the sign of x₁ + x₂ (0-1
loss). For every scale the figure shows the best rate of the grid, and the rate that is best at scale 1, that is, the
result if the unit changes and the rate is not tuned again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ... import figures
from ...inputs import Float64
from ...models.rates import rate_grid
from ...models.sweep import Sweep
from ...options import Rule
from .printed import RULE_NAMES
from .rate_search import Told
from .section import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Task = Literal["regression", "classification"]

RULES: tuple[Rule, ...] = ("nag", "snag", "ag", "gd")
EXPONENTS = range(-20, 21)
ROWS = 4000
_RATES = {"nag": rate_grid(-20, 12), "snag": rate_grid(-20, 12), "ag": rate_grid(-100, 100), "gd": rate_grid(-150, 150)}


@dataclasses.dataclass(frozen=True)
class Curve(Record):
    """The loss of one rule at every scale of the first feature."""

    task: Task
    rule: str
    exponents: tuple[int, ...]
    best_loss: tuple[float, ...]
    best_rate: tuple[float, ...]
    fixed_loss: tuple[float, ...]
    """The losses at the rate that is best at scale 1."""
    fixed_rate: float
    flat: bool
    """Whether the losses of all rates are the same to the last bit at every scale."""


def data(task: Task, rows: int, seed: int) -> tuple[Float64, Any]:
    """Two features of equal scale, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(rows, 2))
    if task == "classification":
        return X, X.sum(axis=1) > 0
    return X, X.sum(axis=1) + 0.1 * rng.normal(size=rows)


def figure1(
    rows: int | None = None,
    seed: int = 1,
    rules: Iterable[Rule] = RULES,
    exponents: Sequence[int] = EXPONENTS,
    told: Told | None = None,
) -> list[Curve]:
    """The curves of all rules, for both tasks."""
    rows = ROWS if rows is None else rows
    tasks: tuple[Task, ...] = ("regression", "classification")
    curves = []
    for task in tasks:
        X, y = data(task, rows, seed)
        for rule in rules:
            curves.append(_curve(task, rule, X, y, exponents))
            if told is not None:
                told(f"figure 1, {task}: {rule}")
    return curves


def _curve(task: Task, rule: Rule, X: Float64, y: Any, exponents: Sequence[int]) -> Curve:
    rates = _RATES[rule]
    losses = np.array([_losses(task, rule, rates, X * [2.0**k, 1.0], y) for k in exponents])
    at_one = int(np.argmin(losses[list(exponents).index(0)]))
    best = losses.argmin(axis=1)
    return Curve(
        task=task,
        rule=rule,
        exponents=tuple(exponents),
        best_loss=tuple(losses.min(axis=1).tolist()),
        best_rate=tuple(rates[k] for k in best),
        fixed_loss=tuple(losses[:, at_one].tolist()),
        fixed_rate=rates[at_one],
        flat=bool((losses == losses[0]).all()),
    )


def _losses(task: Task, rule: Rule, rates: list[float], X: Float64, y: Any) -> Float64:
    sweep = Sweep(rates, rule, "squared" if task == "regression" else "logistic", bias=False)
    sweep.learn(X, y)
    return sweep.losses if task == "regression" else sweep.errors


@figures.styled
def plot(curves: Sequence[Curve]) -> Figure:
    """Draw both tasks: solid for the best rate at every scale, dotted for the rate that is best at scale 1."""
    figure, panels = figures.panels(2)
    titles = {"regression": "y = x₁ + x₂ + noise", "classification": "sign of x₁ + x₂"}
    for panel, (task, title) in zip(panels, titles.items(), strict=True):
        shown = [curve for curve in curves if curve.task == task]
        for place, curve in enumerate(shown):
            style: dict[str, Any] = {"color": figures.color(place), "linewidth": 5 if curve.rule == "nag" else 1.8}
            scales = [2.0**k for k in curve.exponents]
            panel.plot(scales, curve.best_loss, label=RULE_NAMES[curve.rule], **style)
            if not curve.flat:
                panel.plot(scales, curve.fixed_loss, linestyle=":", **style)
        panel.set(title=title, xscale="log", yscale="log", xlabel="scale of the first feature")
        panel.set_ylabel("progressive squared loss" if task == "regression" else "progressive error rate")
        least = min(min(curve.best_loss) for curve in shown)
        panel.set_ylim(least / 1.6, 2.0 if task == "regression" else 1.0)
        figures.name_lines(panel)
    figure.suptitle(
        "The unit of one feature does not change the loss of the normalized rules\n"
        "(solid: best rate at each scale; dotted: the rate that is best at scale 1)"
    )
    return figure
