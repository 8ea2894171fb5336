"""The learners of the paper's section 5: gradient descent (`descend`), each with another conditioner A.

| | conditioner A_ii | paper | bound |
|---|---|---|---|
| `gradient_descent` | √(Σ_i G_i)/‖w*‖₂ | 1.1 | `zinkevich` |
| `adaptive_gradient` | √G_i/‖w*‖₂ | 1.1 | `adaptive_gradient_bound` |
| `hindsight` | √G_i/abs(w*_i) | 5.1 | `hindsight_bound` |
| `worst_case_hindsight` | √G_i s_i/C | Lemma 2 | `lemma_2` |
| `sharper_hindsight` | s_i² √(Σ_j G_j/s_j²)/C | beyond | `sharper_lemma_2` |
| `online` | √G_i(t) s_i(t)/C | Eq. 1 | `lemma_1`; with projection, p = ∞: `theorem_2`, η = 1 |
| `transductive` | √G_i(t) s_i/(Cη) | Eq. 2 | `theorem_1` |
| `streaming` | √G_i(t) s_i(t)/(Cη) | Eq. 3 | `theorem_2`, `corollary_1` |
| `sharper_transductive` | s_i² √(Σ_j G_j(t)/s_j²)/(Cη) | beyond | `sharper_theorem_1` |

s = S^(−1/2) is the scale, G the sum of squared gradients, over all rounds or (t) up to now. None of these learners is
Algorithm 2 (NAG), which does not know C, does not project, squashes weights when a scale grows, and normalizes by N:
the paper proves no bound for it. It is in `unitless.paper.algorithms`.

The first five need G in advance. But gradients depend on the weights, and so on A. The solution is to use the squared
gradients of an earlier run. For linear losses, whose gradients do not depend on the weights, any run gives the right G
and the bounds are valid. For other losses the actual gradients differ from those that A was made from, and only the
bound `lemma_1` is valid.

    >>> import numpy as np
    >>> from unitless.paper.theory import Ball, Linear, largest, lemma_2, transductive, worst_case_hindsight
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.uniform(-1, 1, size=(100, 2)) * [1, 1e6], rng.choice([-1.0, 1.0], size=100)
    >>> ball = Ball(largest(X), C=1.0)
    >>> earlier = transductive(X, y, Linear(), ball)
    >>> run = worst_case_hindsight(X, y, Linear(), ball, earlier.squares)
    >>> regret = run.losses.sum() + ball.support(run.gradients.sum(axis=0))  # the best w has −C‖S^(1/2) Σg‖_p
    >>> bool(regret <= lemma_2(run, ball))
    True
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...inputs import Float64
from ..algorithms import Loss
from .ball import Ball
from .descent import Conditioner, Run, descend
from .scales import ellipsoid, running_largest

SQRT2 = math.sqrt(2)


def gradient_descent(X: Float64, y: Float64, loss: Loss, w_star: Float64, squares: Float64) -> Run:
    """Gradient descent with the best fixed rate in hindsight (section 1.1): 1/A_ii = ‖w*‖₂/√(Σ_t ‖g_t‖₂²)."""
    total = np.full(X.shape[1], squares.sum())
    return descend(X, y, loss, _fixed(_for_weights_of_size(np.linalg.norm(w_star), total)))


def adaptive_gradient(X: Float64, y: Float64, loss: Loss, w_star: Float64, squares: Float64) -> Run:
    """AG's conditioner in hindsight (section 1.1).

    A_ii = √G_i/‖w*‖₂, which ignores how ‖w*‖₂ is divided among features.
    """
    return descend(X, y, loss, _fixed(_for_weights_of_size(np.linalg.norm(w_star), squares)))


def hindsight(
    X: Float64,
    y: Float64,
    loss: Loss,
    w_star: Float64,
    squares: Float64,
    ball: Ball | None = None,
    truncate: float | None = None,
) -> Run:
    """The best fixed diagonal conditioner for a known w* (section 5.1): A_ii = √G_i/|w*_i|.

    A weight with w*_i = 0 stays 0. With a ball, which must contain w*, it projects onto the ball; `truncate` is the
    bound C on predictions, and must also bound those of w*.
    """
    balls = [ball] * len(X) if ball else None
    return descend(X, y, loss, _fixed(_for_weights_of_size(np.abs(w_star), squares)), balls, truncate)


def worst_case_hindsight(
    X: Float64, y: Float64, loss: Loss, ball: Ball, squares: Float64, project: bool = False, truncate: bool = False
) -> Run:
    """Lemma 2's fixed conditioner for the worst w* of the ball: A_ii = (1/C) √(G_i/S_ii)."""
    A = np.sqrt(squares) * ball.scale / ball.C
    return _conditioned(X, y, loss, _fixed(A), ball, project, truncate)


def sharper_hindsight(X: Float64, y: Float64, loss: Loss, ball: Ball, squares: Float64) -> Run:
    """The true minimax conditioner of Lemma 2's problem for q ≤ 2: A_ii = (1/(C S_ii)) √(Σ_j S_jj G_j).

    See `sharper_lemma_2`. It depends on the gradients through one number alone: gradient descent on normalized
    features.
    """
    return _conditioned(X, y, loss, _fixed(_isotropic(squares, ball) / ball.C), ball, False, False)


def online(
    X: Float64, y: Float64, loss: Loss, C: float, q: int = 1, project: bool = False, truncate: bool = False
) -> Run:
    """Equation 1: A_t,ii = (1/C) √(G_i(t)/S_ii(t)), with S^(t) from the inputs so far.

    For q = 2 a minimum-volume ellipsoid is computed in every round, and the balls need not be nested: a comparator of
    the last one may lie outside an earlier one, so that with projection not even Lemma 1 is certain to be valid.
    """
    scales = running_largest(X) if q == 1 else np.array([ellipsoid(X[: t + 1]).scale for t in range(len(X))])
    return _following(X, y, loss, scales, C, q, 1.0, project, truncate)


def transductive(
    X: Float64,
    y: Float64,
    loss: Loss,
    ball: Ball,
    eta: float = SQRT2,
    project: bool = True,
    truncate: bool = False,
) -> Run:
    """Equation 2, in two passes: the first finds S (in `ball`), the second takes A_t,ii = (1/(Cη)) √(G_i(t)/S_ii).

    With projection every prediction is within [−C, C] by itself, and truncation changes nothing.
    """
    scales = np.broadcast_to(ball.scale, X.shape)
    return _following(X, y, loss, scales, ball.C, ball.q, eta, project, truncate)


def streaming(
    X: Float64, y: Float64, loss: Loss, C: float, eta: float = SQRT2, project: bool = True, truncate: bool = False
) -> Run:
    """Equation 3, p = ∞, in one pass: A_t,ii = (1/(Cη)) √G_i(t) · max_{j ≤ t}|x_ji|, projected with S^(t).

    Misprint: as typeset the maximum is under the root. A w² is a loss, so A must grow by λ² when feature i is
    multiplied by λ: √(λ²)·λ does, √(λ²·λ) does not; and only the former follows from Equation 2 and gives Theorem 2.

    The input of a round may be larger than any before, and then |w_t·x_t| may exceed C even with projection.
    """
    return _following(X, y, loss, running_largest(X), C, 1, eta, project, truncate)


def sharper_transductive(X: Float64, y: Float64, loss: Loss, ball: Ball) -> Run:
    """Equation 2 with the sharper conditioner: A_t,ii = (1/(Cη S_ii)) √(Σ_j S_jj G_j(t)). See `sharper_theorem_1`."""

    def conditioner(t: int, G: Float64) -> Float64:
        return _isotropic(G, ball) / (ball.C * SQRT2)

    return _conditioned(X, y, loss, conditioner, ball, True, False)


def _following(
    X: Float64,
    y: Float64,
    loss: Loss,
    scales: Float64,
    C: float,
    q: int,
    eta: float,
    project: bool,
    truncate: bool,
) -> Run:
    """The learners of Equations 1 to 3.

    The conditioner is computed from the gradients so far, and S from the rows of `scales`.
    """

    def conditioner(t: int, G: Float64) -> Float64:
        return np.asarray(np.sqrt(G) * scales[t] / (C * eta))

    balls = [Ball(scale, C, q) for scale in scales] if project else None
    return descend(X, y, loss, conditioner, balls, C if truncate else None)


def _conditioned(
    X: Float64, y: Float64, loss: Loss, conditioner: Conditioner, ball: Ball, project: bool, truncate: bool
) -> Run:
    balls = [ball] * len(X) if project else None
    return descend(X, y, loss, conditioner, balls, ball.C if truncate else None)


def _fixed(A: Float64) -> Conditioner:
    return lambda t, G: A


def _isotropic(squares: Float64, ball: Ball) -> Float64:
    """S_ii⁻¹ √(Σ_j S_jj G_j)."""
    used = ball.scale > 0
    return np.asarray(ball.scale**2 * np.linalg.norm(np.sqrt(squares[used]) / ball.scale[used]))


def _for_weights_of_size(size: Float64 | np.floating[Any], squares: Float64) -> Float64:
    """The conditioner √G_i/size; infinite where the size is 0, so that the weight stays 0."""
    return np.asarray(np.where(size > 0, np.sqrt(squares) / np.where(size > 0, size, 1.0), np.inf))
