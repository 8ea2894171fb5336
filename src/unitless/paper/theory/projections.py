"""The projections of section 5.3.1.

Π^A_{S,C,q}(w′) is the w of least (w − w′)ᵀA(w − w′) with ‖S^(−1/2) w‖_q ≤ C, for a diagonal A, written with the scale
s = S^(−1/2). In the units v = s·w, B = A/s² it is a projection onto the plain L_q ball of radius C, and is computed
there: no unit of a feature reaches a comparison or a sum.

Where the paper is silent: a feature with A_i = 0 moves without cost, so it becomes 0 if the point has to move at all; a
feature with s_i = 0 is not constrained and does not move. A weight of 0 stays 0.

    >>> import numpy as np
    >>> from unitless.paper.theory import project_l1, project_l2
    >>> w, A, s = np.array([3.0, -1.0]), np.ones(2), np.ones(2)
    >>> project_l1(w, A, s, C=2.0).tolist()
    [2.0, -0.0]
    >>> project_l2(w, A, s, C=2.0).round(4).tolist()
    [1.8974, -0.6325]
"""

from __future__ import annotations

import numpy as np

from ...inputs import Float64


def project_l1(w: Float64, A: Float64, scale: Float64, C: float) -> Float64:
    """Π^A_{S,C,1}: onto {w : Σ_i s_i |w_i| ≤ C}, the class of the paper's p = ∞.

    v_i = sign(v′_i) max(|v′_i| − λ/B_i, 0), with the λ ≥ 0 that makes Σ_i |v_i| = C. Feature i stays positive while
    λ < b_i = |v′_i| B_i, and over the features that stay, λ = (Σ |v′_i| − C)/Σ 1/B_i. Those that stay are found by
    sorting b (Duchi, Shalev-Shwartz, Singer, Chandra 2008).
    """
    v = scale * w
    if np.abs(v).sum() <= C:
        return w
    size, freedom = _sizes(v, w, A, scale)
    b = size / freedom
    moves = (v != 0) & np.isfinite(freedom)
    lam = _threshold(size[moves], freedom[moves], b[moves], C) if moves.any() else 0.0
    shrunk = np.where(moves & (b > lam), size - lam * np.where(moves, freedom, 0.0), 0.0)
    return _weights(_onto(shrunk, C, 1), w, scale)


def _threshold(size: Float64, freedom: Float64, b: Float64, C: float) -> float:
    order = np.argsort(-b)
    lam = (np.cumsum(size[order]) - C) / np.cumsum(freedom[order])
    stays = np.flatnonzero(b[order] > lam)
    return max(float(lam[stays[-1]]), 0.0)


def project_l2(w: Float64, A: Float64, scale: Float64, C: float) -> Float64:
    """Π^A_{S,C,2}: onto {w : Σ_i s_i² w_i² ≤ C²}, the class for p = 2.

    v_i = v′_i/(1 + λ/B_i), with the λ ≥ 0 that makes φ(λ) = ‖v‖₂ equal to C. Newton's method on 1/φ(λ) = 1/C: 1/φ is
    concave and increasing, so that from λ = 0 the steps never overshoot, and it is almost linear, so that a handful
    is enough.
    """
    v = scale * w
    if np.linalg.norm(v) <= C:
        return w
    size, freedom = _sizes(v, w, A, scale)
    moves = (v != 0) & np.isfinite(freedom)
    if np.linalg.norm(size[moves]) <= C:  # features that move without cost are now 0, and that was enough
        return _weights(np.where(moves, size, 0.0), w, scale)
    u, c = size[moves], freedom[moves] / freedom[moves].max()
    lam = 0.0
    while True:
        kept = u / (1 + lam * c)
        norm = float(np.linalg.norm(kept))
        slope = float((kept**2 * c / (1 + lam * c)).sum()) / norm  # −φ′
        following = lam + (norm / C - 1) * norm / slope
        if not following > lam * (1 + 4e-16):
            break
        lam = following
    shrunk = np.zeros(len(w))
    shrunk[moves] = kept
    return _weights(_onto(shrunk, C, 2), w, scale)


def _sizes(v: Float64, w: Float64, A: Float64, scale: Float64) -> tuple[Float64, Float64]:
    """|v′_i| and 1/B_i = s_i²/A_i, the movement of feature i for a unit of λ."""
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.where(v != 0, scale / A * scale, 1.0)
    return np.abs(v), freedom


def _onto(size: Float64, C: float, q: int) -> Float64:
    """Correct the rounding error of a projection, which is not small compared with C for distant points."""
    norm = float(np.linalg.norm(size, q))
    return size * (C / norm) if norm > C else size


def _weights(size: Float64, w: Float64, scale: Float64) -> Float64:
    """Convert |v_i| to w_i; unconstrained features (s_i = 0) do not change."""
    return np.asarray(np.where(scale > 0, np.sign(w) * size / np.where(scale > 0, scale, 1.0), w))
