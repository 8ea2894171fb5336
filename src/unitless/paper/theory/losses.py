"""Losses for the analysis, beyond `unitless.paper.algorithms`: linear losses, truncation, and R_max."""

from __future__ import annotations

import numpy as np

from ...errors import OptionError
from ...inputs import Float64
from ..algorithms import Hinge, Logistic, Loss, Quantile, Squared


class Linear(Loss):
    """The linear loss y·p: the label is the slope, which the adversary can choose.

    For linear losses Lemma 1 loses nothing to convexity, so the bounds are tightest for them.
    """

    def value(self, p: float, y: float) -> float:
        return y * p

    def slope(self, p: float, y: float) -> float:
        return y

    def step(self, p: float, y: float, e: float, P: float) -> float:
        return -e * y


def values(loss: Loss, predictions: Float64, y: Float64) -> Float64:
    """L(p_t, y_t) for each row."""
    return np.array([loss.value(p, label) for p, label in zip(predictions.tolist(), y.tolist(), strict=True)])


def slopes(loss: Loss, predictions: Float64, y: Float64) -> Float64:
    """∂L/∂p at (p_t, y_t) for each row."""
    return np.array([loss.slope(p, label) for p, label in zip(predictions.tolist(), y.tolist(), strict=True)])


def truncated_slope(loss: Loss, p: float, y: float, C: float) -> float:
    """The slope for which every regret bound is still valid when predictions are truncated to [−C, C].

    The slope at the truncated prediction, or 0 where the loss would have it go still further out:
    with p̄ = clip(p, −C, C),

        g′ = max(L′(C), 0) if p > C,    min(L′(−C), 0) if p < −C,    L′(p) otherwise.

    Why: this is the slope of a convex function that equals L on [−C, C], and beyond continues straight where L rises
    and level where L falls. It is nowhere below L(p̄), so its regret is at least that of the truncated predictions;
    and it is L itself at every comparator, whose predictions are within [−C, C]. Lemma 1 and all that follows from it
    apply to it, whatever the convex loss and however large the labels.

    The two simpler choices do not do. The slope at the raw p bounds the loss of the raw p, which is only certain to be
    no less than that of p̄ if L has a minimum within [−C, C] (squared loss with |y| ≤ C, hinge loss with C ≥ 1, but
    never logistic loss). The slope at p̄ without the second case moves away from p̄ on its own account: on the side
    where L falls, L(p̄) − L(w*·x) ≤ g′(p̄ − w*·x) is not ≤ g′(p − w*·x).
    """
    if p > C:
        return max(loss.slope(C, y), 0.0)
    if p < -C:
        return min(loss.slope(-C, y), 0.0)
    return loss.slope(p, y)


def largest_regret(loss: Loss, C: float, y: Float64) -> float:
    """R_max of Corollary 1: the most that one example can cost when all predictions are within [−C, C].

    C + 1 for hinge loss (met when C ≥ 1; the true value is 2C below) and for logistic loss (where it is C: the
    paper's constant is 1 too large); 4C max(C, max|y|) for squared loss (met when max|y| ≥ C). Not in the paper:
    2C max(τ, 1 − τ) for quantile loss and 2C max|y| for linear losses, both met.
    """
    if isinstance(loss, Hinge | Logistic):
        return C + 1
    largest_label = float(np.abs(y).max(initial=0.0))
    if isinstance(loss, Squared):
        return 4 * C * max(C, largest_label)
    if isinstance(loss, Quantile):
        return 2 * C * max(loss.tau, 1 - loss.tau)
    if isinstance(loss, Linear):
        return 2 * C * largest_label
    raise OptionError(f"no bound on the regret of one example is known for {type(loss).__name__}")
