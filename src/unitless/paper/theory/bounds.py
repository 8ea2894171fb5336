"""The paper's regret bounds as functions of the record of a run.

A bound is on R = Σ_t L(ŷ_t, y_t) − Σ_t L(w*·x_t, y_t). The first four are for one w*; the others are valid for every w*
of the ball at once. All but `zinkevich` and `adaptive_gradient_bound` do not depend on the units of the features. Each
docstring names the learner of the bound, and how close regrets come to it: "met" means that some sequences reach it.

G_i = Σ_t g_ti² throughout, and s = S^(−1/2).
"""

from __future__ import annotations

import math

import numpy as np

from ...inputs import Float64
from .ball import Ball
from .descent import Run
from .learners import SQRT2
from .losses import largest_regret
from .scales import largest


def zinkevich(run: Run, w_star: Float64) -> float:
    """√T ‖w*‖₂ max_t ‖g_t‖₂ (section 1.1), for gradient descent with the best fixed rate in hindsight.

    Both factors depend on units. The bound is met by gradients of equal size with |Σ_t g_t| = √T max‖g_t‖ along −w*.
    """
    sizes = np.linalg.norm(run.gradients, axis=1)
    return float(math.sqrt(len(sizes)) * np.linalg.norm(w_star) * sizes.max(initial=0.0))


def adaptive_gradient_bound(run: Run, w_star: Float64, full: bool = False) -> float:
    """‖w*‖₂ √d √(inf_S {Σ_t g_tᵀ S⁻¹ g_t : S ⪰ 0, tr S ≤ d}) (section 1.1), for AG's conditioner in hindsight.

    The infimum over diagonal S is (Σ_i √G_i)²/d, at S_ii ∝ √G_i, so that the bound is ‖w*‖₂ Σ_i √G_i. Over all S
    (`full`) it is (tr M^(1/2))²/d with M = Σ_t g_t g_tᵀ: never more, but then for a learner with a full conditioner
    (a diagonal one in the axes of M).

    The paper states the order of this bound. With the factor 1 it is valid for `adaptive_gradient`. It is met in one
    dimension; for d equal features a regret of (1/2)(1 + 1/d) of it was constructed (w* along one axis).
    """
    if full:
        spectrum = np.linalg.eigvalsh(run.gradients.T @ run.gradients)
        return float(np.linalg.norm(w_star) * np.sqrt(np.maximum(spectrum, 0.0)).sum())
    return float(np.linalg.norm(w_star) * np.sqrt(run.squares).sum())


def lemma_1(run: Run, w_star: Float64) -> float:
    """Lemma 1, for every run without projection, and with projections onto sets that contain w*.

    2R ≤ ‖w_1 − w*‖²_{A_1} + Σ_{t=1}^{T−1} ‖w_{t+1} − w*‖²_{A_{t+1} − A_t} + Σ_t g_tᵀ A_t⁻¹ g_t.

    Misprint: the paper has w_t for w_{t+1} in the middle sum, see `lemma_1_as_printed`. The proof: the update gives
    ‖w_{t+1} − w*‖²_{A_t} ≤ ‖w_t − w*‖²_{A_t} − 2g_t·(w_t − w*) + g_tᵀA_t⁻¹g_t, and A_t is
    replaced by A_{t+1} at w_{t+1}. The theorems, which bound the distance of all weights alike, are not affected.

    For linear losses without projection the two sides differ only by the dropped ‖w_{T+1} − w*‖²_{A_T}: the
    bound is met when the run ends at w*.
    """
    return _lemma_1(run, w_star, run.weights[1:-1])


def lemma_1_as_printed(run: Run, w_star: Float64) -> float:
    """Lemma 1 with the middle term as the paper prints it, (w_t − w*)ᵀ(A_{t+1} − A_t)(w_t − w*): false.

    With d = 1, w_1 = w* = 0, A = (1, 100) and g = (1, −1), it states 2R ≤ 1.01, but 2R is 2. (A_{T+1}, which the
    printed sum needs, is taken to be A_T.)
    """
    return _lemma_1(run, w_star, run.weights[:-2])


def _lemma_1(run: Run, w_star: Float64, at_the_changes: Float64) -> float:
    A, later = run.conditioners[:-1], run.conditioners[1:]
    changes = np.where(later == A, 0.0, later - np.where(later == A, 0.0, A))  # 0 where both are infinite
    start = _product(run.conditioners[0], (run.weights[0] - w_star) ** 2).sum()
    drift = _product(changes, (at_the_changes - w_star) ** 2).sum()
    steps = _quotient(run.gradients**2, run.conditioners).sum()
    return float(start + drift + steps) / 2


def hindsight_bound(run: Run, w_star: Float64) -> float:
    """Σ_i |w*_i| √G_i (section 5.1), for `hindsight`.

    It is met, in any dimension, where |Σ_t g_ti| = √G_i with the sign opposite to w*_i.
    """
    return float((np.abs(w_star) * np.sqrt(run.squares)).sum())


def lemma_2(run: Run, ball: Ball) -> float:
    """C Σ_i √(S_ii G_i) (Lemma 2), for `worst_case_hindsight`; for p = ∞, C Σ_i √G_i/max_t|x_ti|.

    The lemma calls this *the* solution of its minimax problem, which is true only for q = ∞. For q ≤ 2 it is valid but
    not the smallest: see `sharper_lemma_2`. It is met in one dimension; for d equal features the constructed worst case
    has (1/2)(1 + 1/d) of it.
    """
    return ball.C * float(_normalized(run, ball).sum())


def p2_bound(run: Run, ball: Ball) -> float:
    """C √d √(Σ_t g′_t²) (section 5.2), for `worst_case_hindsight` with p = 2. It is at least `lemma_2`.

    d counts features that are ever non-zero. The bound is as loose as Lemma 2; without its √d it would be above
    `sharper_lemma_2` still.
    """
    d = int((ball.scale > 0).sum())
    return ball.C * math.sqrt(d) * float(np.linalg.norm(run.slopes))


def sharper_lemma_2(run: Run, ball: Ball) -> float:
    """C √(Σ_i S_ii G_i), for `sharper_hindsight`: the true value of Lemma 2's minimax problem when q ≤ 2.

    Over the ball, Σ_i A_ii w_i² is at most C² max_i A_ii S_ii, at one axis. So the best A has all A_ii S_ii equal, and
    the value is never more than Lemma 2's, and as little as 1/√d of it: O(√(dT)) where the paper has O(d√T) for
    p = ∞, and at most C √(Σ g′²) for p = 2, without √d. It is met in any dimension.
    """
    return ball.C * float(np.linalg.norm(_normalized(run, ball)))


def theorem_1(run: Run, ball: Ball, eta: float = SQRT2) -> float:
    """C (2/η + η) Σ_i √(S_ii G_i), for `transductive` with projection; the paper's η = √2 makes it 2√2 (Theorem 1).

    Every weight is within C√S_ii, so each of (w_{t+1} − w*)²_i is at most 4C²S_ii in Lemma 1, and
    Σ_t g_ti²/√G_i(t) ≤ 2√G_i. The two were not met together: the worst sequences that a search over gradients found,
    in one dimension, approach 3/4 of it. A tiny gradient sends w_2 to the wrong end −C√S, a large one the other way
    costs 2C√(SG) and moves it by √2 C√S, and ever more, ever smaller ones of the same sign cost the rest.
    """
    return ball.C * (2 / eta + eta) * float(_normalized(run, ball).sum())


def sharper_theorem_1(run: Run, ball: Ball, eta: float = SQRT2) -> float:
    """C (2/η + η) √(Σ_i S_ii G_i), for `sharper_transductive` with projection.

    As Theorem 1, with ‖S^(−1/2)(w_{t+1} − w*)‖₂ ≤ 2C, since the L₁ ball is within the L₂ ball. Worst found: 0.75 of
    it in one dimension, where the two are the same.
    """
    return ball.C * (2 / eta + eta) * float(np.linalg.norm(_normalized(run, ball)))


def theorem_2(run: Run, C: float, eta: float = SQRT2) -> float:
    """(C/2) Σ_i (√G_i/s_i) ((1 + Δ_i)²/η + 2ηΔ_i), for `streaming` with projection (Theorem 2).

    s_i = max_t|x_ti|, and Δ_i is s_i over the first |x_ti| that is not zero. The paper's η = √2 makes the factor
    (1 + 6Δ + Δ²)/(2√2); for a common Δ the best is η = (1 + Δ)/√(2Δ).

    With Δ = 1 it is Theorem 1. The Δ² comes from an iterate at C/s_first when the conditioner grows by all it ever
    will; but the projection brings it back within one round, so that regrets grow like Δ at most in all sequences
    that were searched: the worst found have 0.75, 0.62, 0.45 and 0.28 of the bound for Δ = 1, 2, 4 and 8.
    """
    return _streaming(run, C, eta, _largest_over(run.x, _first_values(run.x)))


def corollary_1(run: Run, C: float, delta: float, nu: float, eta: float = SQRT2, printed: bool = False) -> float:
    """τ R_max + Theorem 2 with Δ_i = max_t|x_ti|/max_{t ≤ τ}|x_ti|, τ = ⌈log(d/δ)/ν⌉ (Corollary 1).

    For `streaming` with projection and truncated predictions: the first τ examples are charged R_max each (see
    `largest_regret`), after which the scales are those of the first τ. Infinite if a feature is zero until τ.

    Misprint: the paper charges ⌊log(d/δ)/ν⌋ examples (`printed`), mostly τ − 1. But the weights of round τ were
    projected with S^(τ−1), so round τ has to be charged as well. The gap is in the proof: none of the 1,000 sequences
    of the tests exceeds the printed version. Approached by scales that grow in every round (0.97 was constructed).
    """
    rounds = math.log(run.x.shape[1] / delta) / nu
    charged = math.floor(rounds) if printed else math.ceil(rounds)
    early = largest(run.x[: math.ceil(rounds)])
    return charged * largest_regret(run.loss, C, run.y) + _streaming(run, C, eta, _largest_over(run.x, early))


def scale_ratio_bound(x: Float64, nu: float) -> Float64:
    """max_t|x_ti|/Quantile(|x_ti|, 1 − ν) for each feature (Corollary 1).

    In random order, with probability 1 − δ, all of Corollary 1's Δ_i are at most this. Infinite, so without content,
    for a feature that is non-zero in less than a fraction ν of the rows. The quantile is a value of the sequence with
    at least νT values as large or larger.
    """
    ordered = np.sort(np.abs(x), axis=0)
    rank = max(math.ceil(nu * len(x)), 1)
    return _largest_over(x, ordered[-rank])


def _streaming(run: Run, C: float, eta: float, ratio: Float64) -> float:
    normalized = _quotient(np.sqrt(run.squares), largest(run.x))
    factor = (1 + ratio) ** 2 / eta + 2 * eta * ratio
    return C / 2 * float(_product(normalized, factor).sum())


def _first_values(x: Float64) -> Float64:
    return np.asarray(np.abs(x[(x != 0).argmax(axis=0), np.arange(x.shape[1])]))


def _largest_over(x: Float64, earlier: Float64) -> Float64:
    """The ratio Δ_i; 1 for a feature that is always zero, infinite if only the earlier value is zero."""
    top = largest(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(top > 0, top / earlier, 1.0)


def _normalized(run: Run, ball: Ball) -> Float64:
    """√(S_ii G_i)."""
    return _quotient(np.sqrt(run.squares), ball.scale)


def _quotient(a: Float64, b: Float64) -> Float64:
    """a/b, with 0/0 = 0."""
    return np.asarray(np.where(a != 0, a / np.where(a != 0, b, 1.0), 0.0))


def _product(a: Float64, b: Float64) -> Float64:
    """a·b, with 0·∞ = 0."""
    both = (a != 0) & (b != 0)
    return np.asarray(np.where(both, np.where(both, a, 0.0) * np.where(both, b, 0.0), 0.0))
