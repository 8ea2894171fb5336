"""The empirical S of sections 4.1 and 5: the smallest axis-aligned L_p ball that contains every input.

S is diagonal and appears here as the *scale* s = S^(−1/2), that is S_ii = 1/s_i²: the half-width of the ball
{x : ‖S^(1/2) x‖_p ≤ 1} along feature i. It is finite where S is not: a feature that is always zero has s_i = 0.

Misprint: the paper requires (Lemma 2, Theorems 1 and 2) for the S of *minimum* determinant with ‖S^(1/2) x_t‖_p ≤ 1 for
all t. The infimum is S = 0, which every input satisfies. The ball's volume is proportional to det(S)^(−1/2), so the
minimum volume that the text mentions is the *maximum* determinant, and that is what is computed here.

    >>> import numpy as np
    >>> from unitless.paper.theory import ellipsoid, largest
    >>> X = np.array([[3.0, 0.0], [0.0, -0.5], [1.0, 0.25]])
    >>> largest(X).tolist()
    [3.0, 0.5]
    >>> found = ellipsoid(X)
    >>> found.scale.round(6).tolist(), found.gap < 1e-9
    ([3.0, 0.5], True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...inputs import Float64


def largest(X: Float64) -> Float64:
    """The scale for p = ∞ (section 5.1): s_i = max_t |x_ti|, so S_ii = 1/max_t x_ti²."""
    return np.asarray(np.abs(X).max(axis=0, initial=0.0))


def running_largest(X: Float64) -> Float64:
    """The scales of S^(1), …, S^(T) for p = ∞ (section 5.3.2), one row for each t."""
    return np.asarray(np.maximum.accumulate(np.abs(X), axis=0))


@dataclass(frozen=True)
class Ellipsoid:
    """An axis-aligned ellipsoid {x : Σ_i x_i²/s_i² ≤ 1} that contains every input.

    Attributes:
        scale: the half-widths s; 0 for a feature that is always zero.
        gap: log det S is at most this much below its maximum: the certificate.
    """

    scale: Float64
    gap: float


def ellipsoid(X: Float64, gap: float = 1e-10) -> Ellipsoid:
    """The scale for p = 2 (section 5.2): the axis-aligned ellipsoid of least volume.

    max_S Σ_i log S_ii   subject to   Σ_i S_ii x_ti² ≤ 1 for all t.

    Its dual is Cover's log-optimal portfolio: max_u Σ_i log m_i with m_i = Σ_t u_t x_ti², u_t ≥ 0, Σ_t u_t = 1. Any
    such u gives the feasible S_ii = 1/(d m_i κ), where κ = max_t (1/d) Σ_i x_ti²/m_i ≥ 1, and that S is within
    d log κ of the maximum. So the result contains a proof of its accuracy, however u was found. It is found by a
    primal-dual interior-point method, which takes about 20 solves of d equations for twelve digits; Cover's own
    multiplicative update takes thousands of passes for six.

    Features are first divided by their largest value, which the answer commutes with; d counts those that are ever
    non-zero.

    Args:
        X: inputs, one in each row.
        gap: stop when log det S is proven to be this close to its maximum.
    """
    if not np.isfinite(X).all():
        raise InputError("the inputs contain NaN or infinity")
    box = largest(X)
    used = box > 0
    scale = np.zeros(len(box))
    if not used.any():
        return Ellipsoid(scale, 0.0)
    Z = (X[:, used] / box[used]) ** 2
    Z = Z[Z.any(axis=1)]
    d = Z.shape[1]
    best = Ellipsoid(scale, np.inf)
    for lam in _multipliers(Z):
        m = (lam / lam.sum()) @ Z
        kappa = float((Z @ (1 / m)).max()) / d
        proven = d * float(np.log(max(kappa, 1.0)))
        if proven < best.gap:
            scale = np.zeros(len(box))
            scale[used] = box[used] * np.sqrt(d * m * kappa)
            best = Ellipsoid(scale, proven)
        if best.gap <= gap:
            break
    return best


def _multipliers(Z: Float64) -> Iterator[Float64]:
    """The multipliers λ_t of the constraints, in increasing accuracy: d times Cover's u. Z contains the squares x_ti².

    Newton's method on 1/S_i = Σ_t λ_t z_ti, Σ_i S_i z_ti + slack_t = 1 and λ_t slack_t = μ, for a falling μ. The
    slacks are variables of their own: as differences they would lose all digits where a constraint is met.
    """
    T, d = Z.shape
    S: Float64 = np.full(d, 0.5 / d)
    slack = 1 - Z @ S
    lam: Float64 = np.full(T, 2 * d / T)
    for _ in range(100):
        mu = 0.1 * float(lam @ slack) / T
        dual, primal, complement = 1 / S - lam @ Z, 1 - Z @ S - slack, mu - lam * slack
        matrix = (Z * (lam / slack)[:, None]).T @ Z
        matrix[np.diag_indices(d)] += 1 / S**2
        step = np.linalg.solve(matrix, dual - ((complement - lam * primal) / slack) @ Z)
        slack_step = primal - Z @ step
        lam_step = (complement - lam * slack_step) / slack
        size = min(1.0, *(0.95 * _to_the_boundary(*pair) for pair in ((S, step), (slack, slack_step), (lam, lam_step))))
        S, slack, lam = S + size * step, slack + size * slack_step, lam + size * lam_step
        yield lam
        if mu < 1e-18:
            return


def _to_the_boundary(values: Float64, step: Float64) -> float:
    """The largest size of the step that keeps the values non-negative."""
    return 1 / max(float((-step / values).max()), 1e-3)
