"""Regrets compared with every bound of the paper, on random and adversarial sequences; and the scaling adversary."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import figures
from ...inputs import Float64
from .. import theory
from ..algorithms import Hinge, Logistic, Loss, Squared
from ..theory import Ball, Linear, Run
from ..theory.sequences import KINDS, sequence
from .kept_results import Kept
from .rate_search import Told

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEQUENCES = 1000
CONVEX_SEQUENCES = 40
_CONVEX: dict[str, Loss] = {"squared": Squared(), "logistic": Logistic(), "hinge": Hinge()}

Learn = Callable[[Float64, Float64, Loss, Ball], Run]
Bound = Callable[[Run, Ball], float]


def _worst_case_hindsight(X: Float64, y: Float64, loss: Loss, ball: Ball) -> Run:
    return theory.worst_case_hindsight(X, y, loss, ball, _squares(X, y))


def _sharper_hindsight(X: Float64, y: Float64, loss: Loss, ball: Ball) -> Run:
    return theory.sharper_hindsight(X, y, loss, ball, _squares(X, y))


def _streaming(X: Float64, y: Float64, loss: Loss, ball: Ball) -> Run:
    return theory.streaming(X, y, loss, ball.C)


def _truncated(X: Float64, y: Float64, loss: Loss, ball: Ball) -> Run:
    return theory.streaming(X, y, loss, ball.C, truncate=True)


def _squares(X: Float64, y: Float64) -> Float64:
    """The squared gradients G for linear losses, which do not depend on the weights."""
    return np.asarray(((y[:, None] * X) ** 2).sum(axis=0))


# By name: q of the ball, the learner, its bound, and whether it is valid for losses other than linear ones.
_FOR_THE_BALL: dict[str, tuple[int, Learn, Bound, bool]] = {
    "Lemma 2, p = ∞": (1, _worst_case_hindsight, theory.lemma_2, False),
    "Lemma 2, p = 2": (2, _worst_case_hindsight, theory.lemma_2, False),
    "Section 5.2, p = 2": (2, _worst_case_hindsight, theory.p2_bound, False),
    "Lemma 2, sharpened": (1, _sharper_hindsight, theory.sharper_lemma_2, False),
    "Theorem 1, p = ∞": (1, theory.transductive, theory.theorem_1, True),
    "Theorem 1, p = 2": (2, theory.transductive, theory.theorem_1, True),
    "Theorem 1, sharpened": (1, theory.sharper_transductive, theory.sharper_theorem_1, True),
    "Theorem 2": (1, _streaming, lambda run, ball: theory.theorem_2(run, ball.C), True),
}


def _online(X: Float64, y: Float64, loss: Loss, w_star: Float64, squares: Float64) -> Run:
    return theory.online(X, y, loss, C=1.0)


_FOR_ONE_PREDICTOR: dict[str, tuple[Callable[..., Run], Callable[[Run, Float64], float]]] = {
    "Zinkevich": (theory.gradient_descent, theory.zinkevich),
    "AG": (theory.adaptive_gradient, theory.adaptive_gradient_bound),
    "Hindsight, w* known": (theory.hindsight, theory.hindsight_bound),
    "Lemma 1, corrected": (_online, theory.lemma_1),
    "Lemma 1, as printed": (_online, theory.lemma_1_as_printed),
}
STEPS = len(_FOR_THE_BALL) + len(_FOR_ONE_PREDICTOR) + 3


@dataclasses.dataclass(frozen=True)
class Tested:
    """A bound, compared with measured regrets."""

    bound: str
    losses: str
    sequences: int
    violations: int
    """How often the regret exceeded the bound by more than rounding and the comparator's certified gap."""
    largest_ratio: float
    """The largest regret/bound."""
    median_ratio: float
    worst_kind: str
    """The kind of sequence with the largest regret/bound."""
    ratios: tuple[float, ...] = dataclasses.field(repr=False, default=())

    @property
    def misprinted(self) -> bool:
        """Whether the bound is known to be false."""
        return self.bound.endswith("as printed")

    def asdict(self) -> dict[str, Any]:
        """The result as JSON-compatible values, without the single ratios."""
        return {key: value for key, value in dataclasses.asdict(self).items() if key != "ratios"}


def every_bound(sequences: int | None = None, told: Told | None = None) -> list[Tested]:
    """Test every bound on a number of sequences."""
    sequences = SEQUENCES if sequences is None else sequences
    found = []
    for name in _FOR_ONE_PREDICTOR:
        found.append(_judged(name, "linear", [_one_predictor(name, seed) for seed in range(sequences)]))
        _say(told, name)
    for name, (*_, convex) in _FOR_THE_BALL.items():
        found.append(_judged(name, "linear", [_linear(name, seed) for seed in range(sequences)]))
        if convex:
            few = max(1, CONVEX_SEQUENCES * sequences // SEQUENCES)
            trials = [_convex(name, loss, seed) for loss in _CONVEX for seed in range(few)]
            found.append(_judged(name, "squared, logistic, hinge", trials))
        _say(told, name)
    found.append(_judged("Corollary 1", "hinge", [_corollary(seed) for seed in range(sequences)]))
    _say(told, "Corollary 1")
    return found


Trial = tuple[str, float, float, float]
"""The kind of sequence, its regret, the bound, and by how much the regret may be overstated."""


def _kind(seed: int) -> str:
    return KINDS[seed % len(KINDS)]


def _one_predictor(name: str, seed: int) -> Trial:
    """A trial against one predictor: the corner of the box opposite to the gradients."""
    learner, bound = _FOR_ONE_PREDICTOR[name]
    X, y = sequence(seed)
    scale = theory.largest(X)
    w_star = -np.sign(y @ X) / np.where(scale > 0, scale, 1.0)
    if not w_star.any():
        return _kind(seed), 0.0, 1.0, 0.0
    run = learner(X, y, Linear(), w_star, _squares(X, y))
    return _kind(seed), float(run.losses.sum() - (y * (X @ w_star)).sum()), bound(run, w_star), 0.0


def _linear(name: str, seed: int) -> Trial:
    q, learn, bound, _ = _FOR_THE_BALL[name]
    X, y = sequence(seed)
    ball = _ball(X, q, C=(0.1, 1.0, 30.0)[seed % 3])
    run = learn(X, y, Linear(), ball)
    return _kind(seed), _linear_regret(run, ball), bound(run, ball), 0.0


def _convex(name: str, loss: str, seed: int) -> Trial:
    q, learn, bound, _ = _FOR_THE_BALL[name]
    X, y = sequence(seed, "slopes" if loss == "squared" else "classes")
    ball = _ball(X, q, C=2.0 if seed % 2 else 0.5)
    best = theory.best_predictor(X, y, _CONVEX[loss], ball)
    run = learn(X, y, _CONVEX[loss], ball)
    return _kind(seed), theory.regret(run, best), bound(run, ball), best.gap


def _corollary(seed: int) -> Trial:
    """A trial of Corollary 1 with hinge loss, whose examples cost at most C + 1.

    It uses the comparator's certified gap.
    """
    X, y = sequence(seed, "classes")
    ball = _ball(X, 1, C=1.0)
    loss = Hinge()
    best = theory.best_predictor(X, y, loss, ball)
    run = _truncated(X, y, loss, ball)
    return _kind(seed), theory.regret(run, best), theory.corollary_1(run, ball.C, delta=0.5, nu=0.5), best.gap


def _ball(X: Float64, q: int, C: float) -> Ball:
    return Ball(theory.largest(X) if q == 1 else theory.ellipsoid(X).scale, C, q)


def _linear_regret(run: Run, ball: Ball) -> float:
    """The regret for linear losses, where the loss of the best predictor of the ball is −C‖S^(1/2) Σ g‖_p."""
    return float(run.losses.sum()) + ball.support(run.gradients.sum(axis=0))


def _judged(name: str, losses: str, trials: Sequence[Trial]) -> Tested:
    ratios = [regret / bound if bound > 0 else 0.0 for _, regret, bound, _ in trials]
    violations = sum(regret > bound * (1 + 1e-12) + gap + 1e-300 for _, regret, bound, gap in trials)
    worst = int(np.argmax(ratios))
    return Tested(
        bound=name,
        losses=losses,
        sequences=len(trials),
        violations=violations,
        largest_ratio=max(ratios),
        median_ratio=float(np.median(ratios)),
        worst_kind=trials[worst][0],
        ratios=tuple(ratios),
    )


def _say(told: Told | None, what: str) -> None:
    if told is not None:
        told(f"bounds: {what}")


@dataclasses.dataclass(frozen=True)
class Attack:
    """The scaling adversary against AG and NAG: their regrets at the best rate in hindsight."""

    exponents: tuple[int, ...]
    """The exponents k: one of two features is multiplied by 2^k."""
    adaptive: tuple[float, ...]
    normalized: tuple[float, ...]
    searched_adaptive: tuple[float, ...]
    """AG's regrets along a search through the units of five features; each step made the regret larger."""
    searched_normalized: tuple[float, ...]

    def asdict(self) -> dict[str, Any]:
        """The result as JSON-compatible values."""
        return dataclasses.asdict(self)


def attack(seed: int = 1, rows: int = 500, trials: int = 60) -> Attack:
    """Change units until AG has learned nothing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(rows, 2))
    exponents = range(-20, 21, 2)
    units = np.array([[2.0**k, 1.0] for k in exponents])
    one = theory.regrets(X, X @ [0.5, -0.5], units, C=1.0)
    wide = rng.uniform(-1, 1, size=(rows, 5))
    found = theory.attack(wide, wide @ [0.2, -0.2, 0.2, 0.2, -0.2], C=1.0, rng=rng, trials=trials)
    return Attack(
        tuple(exponents),
        tuple(one.adaptive.tolist()),
        tuple(one.normalized.tolist()),
        tuple(found.adaptive.tolist()),
        tuple(found.normalized.tolist()),
    )


def results(kept: Kept, told: Told | None = None) -> tuple[list[Tested], Attack]:
    """The results for every bound and the attack, from the cache if possible."""

    def compute() -> dict[str, Any]:
        found = [dataclasses.asdict(one) for one in every_bound(told=told)]
        attacked = attack().asdict()
        _say(told, "the scaling adversary")
        return {"bounds": found, "attack": attacked}

    answer = kept.get({"bounds": SEQUENCES}, compute)
    return [Tested(**one) for one in answer["bounds"]], Attack(**answer["attack"])


@figures.styled
def plot(tested: Sequence[Tested], attacked: Attack) -> Figure:
    """Draw the largest share of each bound that was reached, and the regrets of AG and NAG by one feature's unit."""
    figure, (left, right) = figures.panels(2, width=6.2, height=4.8)
    shown = [one for one in tested if one.losses in ("linear", "hinge") and not one.misprinted]
    for place, one in enumerate(reversed(shown)):
        jitter = np.random.default_rng(0).uniform(-0.25, 0.25, len(one.ratios))
        left.plot(one.ratios, place + jitter, ".", markersize=2, alpha=0.4, color=figures.color(0), rasterized=True)
        left.plot(one.largest_ratio, place, "|", markersize=16, markeredgewidth=2.5, color=figures.color(1))
    left.axvline(1, color="0.3", linewidth=1)
    left.set_yticks(range(len(shown)), [one.bound for one in reversed(shown)])
    left.set(xlabel="regret / bound (1: the bound is reached)", xlim=(-1, 1.08))
    left.set_title(f"{max(one.sequences for one in shown):,} sequences for each bound", fontsize=11)
    scales = [2.0**k for k in attacked.exponents]
    right.plot(scales, attacked.adaptive, color=figures.color(4), linewidth=2, label="AG")
    right.plot(scales, attacked.normalized, color=figures.color(0), linewidth=4, label="NAG")
    right.set(xscale="log", xlabel="unit of one feature", ylabel="regret at the best rate in hindsight")
    right.set_ylim(bottom=0)
    right.set_title(
        f"five units searched: AG {attacked.searched_adaptive[0]:.1f} → {attacked.searched_adaptive[-1]:.1f}, "
        f"NAG {attacked.searched_normalized[0]:.1f} → {attacked.searched_normalized[-1]:.1f}",
        fontsize=11,
    )
    figures.name_lines(right)
    figure.suptitle("No bound is exceeded; a change of units raises the regret of AG and not that of NAG")
    return figure
