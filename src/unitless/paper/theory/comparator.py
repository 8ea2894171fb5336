"""The best predictor in hindsight over a ball, with a certified accuracy, and the regret against it.

Regrets that are compared with bounds must not be too small. So the comparator's loss is bounded from below: for any
multipliers α_t, by convexity and the ball's support function,

    min_{w ∈ W} Σ_t L(w·x_t, y_t) ≥ −Σ_t L*(α_t) − C ‖S^(1/2) Σ_t α_t x_t‖_p,

where L* is the conjugate of L. The solver gives the α, but the bound is valid for any α.

    >>> import numpy as np
    >>> from unitless.paper.algorithms import Squared
    >>> from unitless.paper.theory import Ball, best_predictor, largest, regret, streaming
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(200, 2)) * [1, 1e6]
    >>> y = X @ [0.25, -0.5e-6] + 0.1 * rng.normal(size=200)
    >>> best = best_predictor(X, y, Squared(), Ball(largest(X), C=1.0))
    >>> (best.w * [1, 1e6]).round(2).tolist(), best.gap < 1e-8
    ([0.27, -0.47], True)
    >>> run = streaming(X, y, Squared(), C=1.0, truncate=True)
    >>> round(regret(run, best), 1)
    2.9
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import OptionError
from ...inputs import Float64
from ..algorithms import Hinge, Logistic, Loss, Quantile, Squared
from .ball import Ball
from .descent import Run
from .losses import Linear, slopes, values


@dataclass(frozen=True)
class Comparator:
    """A predictor of the ball, its total loss, and a lower bound of the loss of all predictors of the ball.

    Attributes:
        w: the predictor.
        loss: Σ_t L(w·x_t, y_t).
        lower_bound: proven: min over the ball is between this and `loss`.
    """

    w: Float64
    loss: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """The largest possible distance of `loss` from the minimum."""
        return self.loss - self.lower_bound


def best_predictor(X: Float64, y: Float64, loss: Loss, ball: Ball, gap: float = 1e-9) -> Comparator:
    """The w of least Σ_t L(w·x_t, y_t) with ‖S^(−1/2) w‖_q ≤ C.

    Linear losses have a closed form. Hinge and quantile losses are linear programs (for q = 2 with tangents of the
    ball, added where they are needed). Squared and logistic losses go through accelerated projected gradient steps.

    Args:
        X: inputs, one in each row.
        y: labels.
        loss: `Linear`, or `Squared`, `Logistic`, `Hinge` or `Quantile` of `unitless.paper.algorithms`.
        ball: the class of predictors.
        gap: stop when the total loss is proven to be within gap·(1 + |total loss|) of the minimum.
    """
    # In the units v = s·w the ball is a plain L_q ball; features that are always zero are left out.
    used = ball.scale > 0
    Z = X[:, used] / ball.scale[used]
    plain = Ball(np.ones(int(used.sum())), ball.C, ball.q)
    v: Float64
    if isinstance(loss, Linear):
        v = _against(y @ Z, plain)
        lower = -plain.support(y @ Z)
    elif isinstance(loss, Hinge | Quantile):
        v, lower = _piecewise_linear(Z, y, loss, plain, gap)
    elif isinstance(loss, Squared | Logistic):
        v, lower = _smooth(Z, y, loss, plain, gap)
    else:
        raise OptionError(f"no solver for {type(loss).__name__}")
    w = np.zeros(X.shape[1])
    w[used] = v / ball.scale[used]
    return Comparator(w, float(values(loss, Z @ v, y).sum()), lower)


def regret(run: Run, comparator: Comparator) -> float:
    """The regret R_T of section 4.1; it exceeds the true regret by at most the comparator's gap."""
    return float(run.losses.sum()) - comparator.lower_bound


def _against(direction: Float64, ball: Ball) -> Float64:
    """The point of the plain ball with the smallest inner product with the direction."""
    if not direction.any():
        return np.zeros(len(direction))
    if ball.q == 2:
        return -ball.C * direction / np.linalg.norm(direction)
    v = np.zeros(len(direction))
    i = int(np.abs(direction).argmax())
    v[i] = -ball.C * np.sign(direction[i])
    return v


def _smooth(Z: Float64, y: Float64, loss: Squared | Logistic, ball: Ball, gap: float) -> tuple[Float64, float]:
    """FISTA (Beck, Teboulle 2009), restarted when it goes uphill (O'Donoghue, Candès 2015).

    With α_t = L′(v·z_t) the lower bound is Σ L(v·z_t) − v·∇ − C‖∇‖_p: the gap of the Frank-Wolfe method.
    """
    curvature = 2.0 if isinstance(loss, Squared) else 0.25
    rate = 1 / max(curvature * float(np.linalg.norm(Z, 2)) ** 2, 1e-300)
    ones = np.ones(Z.shape[1])
    v: Float64 = np.zeros(Z.shape[1])
    ahead: Float64 = v
    momentum, lower = 1.0, -np.inf
    for iteration in range(100_000):
        if iteration % 10 == 0:
            total = float(values(loss, Z @ v, y).sum())
            gradient = slopes(loss, Z @ v, y) @ Z
            lower = max(lower, total - float(v @ gradient) - ball.support(gradient))
            if total - lower <= gap * (1 + abs(total)):
                break
        moved = ball.project(ahead - rate * (slopes(loss, Z @ ahead, y) @ Z), ones)
        if (ahead - moved) @ (moved - v) > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / following * (moved - v)
        v, momentum = moved, following
    return v, lower


def _piecewise_linear(Z: Float64, y: Float64, loss: Hinge | Quantile, ball: Ball, gap: float) -> tuple[Float64, float]:
    """A linear program: min Σ_t ξ_t with ξ_t ≥ a_tk v·z_t + b_tk for both pieces k of the loss, v = v⁺ − v⁻.

    Its multipliers λ_tk give α_t = Σ_k λ_tk a_tk, and the lower bound Σ λ_tk b_tk − C‖Σ α_t z_t‖_p.
    """
    try:
        from scipy.optimize import linprog  # noqa: PLC0415  (an optional dependency)
        from scipy.sparse import csr_matrix, hstack, identity, vstack  # noqa: PLC0415
    except ImportError:
        raise OptionError("hinge and quantile losses need scipy here: pip install 'unitless[paper]'") from None
    T, d = Z.shape
    if isinstance(loss, Hinge):
        a, b = np.stack([np.zeros(T), -y]), np.stack([np.zeros(T), np.ones(T)])
    else:
        a = np.stack([np.full(T, -loss.tau), np.full(T, 1 - loss.tau)])
        b = -a * y
    pieces = vstack([hstack([csr_matrix(k[:, None] * Z), csr_matrix(-k[:, None] * Z), -identity(T)]) for k in a])
    cost = np.concatenate([np.zeros(2 * d), np.ones(T)])
    # For q = 1 the ball is Σ(v⁺ + v⁻) ≤ C. For q = 2 it is cut out of that of radius C√d by tangents.
    cuts = [np.ones(2 * d)]
    radii = [ball.C if ball.q == 1 else ball.C * float(np.sqrt(d))]
    best, upper, lower = np.zeros(d), np.inf, -np.inf
    while True:
        walls = hstack([csr_matrix(np.array(cuts)), csr_matrix((len(cuts), T))])
        solved = linprog(
            cost,
            A_ub=vstack([pieces, walls]),
            b_ub=np.concatenate([-b.ravel(), radii]),
            bounds=[(0, None)] * (2 * d) + [(None, None)] * T,
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        v = solved.x[:d] - solved.x[d : 2 * d]
        multipliers = np.maximum(-solved.ineqlin.marginals[: 2 * T].reshape(2, T), 0.0)
        multipliers = multipliers / multipliers.sum(axis=0)
        proven = float((multipliers * b).sum()) - ball.support((multipliers * a).sum(axis=0) @ Z)
        lower = max(lower, proven)
        norm = ball.norm(v)
        inside = v * min(1.0, ball.C / norm) if norm > 0 else v
        total = float(values(loss, Z @ inside, y).sum())
        if total < upper:
            best, upper = inside, total
        # A cut that is met to the solver's tolerance changes nothing any more.
        if ball.q == 1 or norm <= ball.C * (1 + 1e-9) or upper - lower <= gap * (1 + abs(upper)):
            return best, lower
        cuts.append(np.concatenate([v, -v]) / norm)
        radii.append(ball.C)
