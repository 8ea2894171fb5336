"""The scaling adversary of section 4, which causes large regret for adaptive gradient but not for NAG.

>>> import numpy as np
>>> from unitless.paper.theory import BoundedInputs, attack
>>> rng = np.random.default_rng(0)
>>> adversary = BoundedInputs(scale=np.ones(2), p=np.inf)
>>> X = adversary.choose(rng.uniform(-1, 1, size=(300, 2)))
>>> adversary.allows(X)
True
>>> y = X @ [0.5, -0.5]
>>> found = attack(X, y, C=1.0, rng=rng, trials=20)
>>> bool(found.adaptive[-1] > 10 * found.adaptive[0])  # its best rate in hindsight does not save it
True
>>> bool((found.normalized == found.normalized[0]).all())
True
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...errors import InputError
from ...inputs import Float64
from ...models.rates import rate_grid
from ...models.sweep import Sweep
from ..algorithms import Hinge, Logistic, Loss, Squared
from .ball import Ball
from .comparator import best_predictor
from .scales import largest

LossName = Literal["squared", "logistic", "hinge"]
WIDE_RATES = rate_grid(-100, 75)
"""Rates exp(k/5) from 2e-9 to 3e6, which contain the best rate of AG in all units within 2^±20."""

_LOSSES: dict[str, Loss] = {"squared": Squared(), "logistic": Logistic(), "hinge": Hinge()}


@dataclass(frozen=True)
class BoundedInputs:
    """The adversary with a fixed diagonal S: every input has ‖S^(1/2) x_t‖_p ≤ 1.

    Attributes:
        scale: s = S^(−1/2), all positive; not shown to the learner.
        p: the norm; the paper's analysis is for ∞.
    """

    scale: Float64
    p: float = np.inf

    def __post_init__(self) -> None:
        _check_scale(self.scale)

    def choose(self, wishes: Float64) -> Float64:
        """The inputs x_t = s·z_t for the wished rows z_t, which are shortened to ‖z_t‖_p ≤ 1."""
        lengths = np.linalg.norm(wishes, self.p, axis=1, keepdims=True)
        return np.asarray(wishes / np.maximum(lengths, 1.0) * self.scale)

    def allows(self, X: Float64) -> bool:
        """Whether all inputs satisfy the constraint (to rounding)."""
        return bool((np.linalg.norm(X / self.scale, self.p, axis=1) <= 1 + 1e-12).all())


@dataclass(frozen=True)
class UnitSecondMoment:
    """The adversary of sNAG: under its diagonal S the second moment of every feature is 1, (1/T) Σ_t S_ii x_ti² = 1.

    Single inputs may be as large as √T scales.
    """

    scale: Float64

    def __post_init__(self) -> None:
        _check_scale(self.scale)

    def choose(self, wishes: Float64) -> Float64:
        """Inputs proportional to the wished columns, none of which may be zero everywhere."""
        moments = np.sqrt((wishes**2).mean(axis=0))
        if not (moments > 0).all():
            raise InputError("a feature that is always zero has no second moment")
        return np.asarray(wishes / moments * self.scale)

    def allows(self, X: Float64) -> bool:
        """Whether the inputs satisfy the constraint (to rounding)."""
        return bool(np.allclose(((X / self.scale) ** 2).mean(axis=0), 1.0, rtol=1e-12, atol=0))


def _check_scale(scale: Float64) -> None:
    if not ((scale > 0) & np.isfinite(scale)).all():
        raise InputError("S must be positive definite: every scale must be positive and finite")


@dataclass(frozen=True)
class Regrets:
    """The regrets for a sequence of changes of units: one entry for each.

    Attributes:
        units: the factors of the features, one row for each change.
        adaptive: the regret of adaptive gradient (AG) at its best rate in hindsight.
        adaptive_rates: that rate.
        normalized: the regret of NAG at its best rate in hindsight.
        normalized_rates: that rate.
    """

    units: Float64
    adaptive: Float64
    adaptive_rates: Float64
    normalized: Float64
    normalized_rates: Float64


def regrets(
    X: Float64,
    y: Float64,
    units: Float64,
    C: float,
    loss: LossName = "squared",
    rates: Iterable[float] = WIDE_RATES,
) -> Regrets:
    """The regrets of AG and of NAG (Algorithm 2) when the features are multiplied by each row of `units`.

    Both learners take plain gradient steps from w = 0, without projection, and both use the best of the rates (by
    default `WIDE_RATES`, which AG needs). The comparator is the best of {w : Σ_i max_t|x_ti| |w_i| ≤ C}, whose
    predictions do not depend on units. Units 2^k of one feature give the curves of Figure 1.
    """
    X, y, units = (np.asarray(given, dtype=np.float64) for given in (X, y, units))
    grid = list(rates)
    best = best_predictor(X, y, _LOSSES[loss], Ball(largest(X), C)).lower_bound
    adaptive = np.array([_best_rate("ag", X * factor, y, loss, grid) for factor in units])
    normalized = np.array([_best_rate("nag", X * factor, y, loss, grid) for factor in units])
    return Regrets(units, adaptive[:, 0] - best, adaptive[:, 1], normalized[:, 0] - best, normalized[:, 1])


def attack(
    X: Float64,
    y: Float64,
    C: float,
    rng: np.random.Generator,
    trials: int = 100,
    reach: int = 20,
    loss: LossName = "squared",
    rates: Iterable[float] = WIDE_RATES,
) -> Regrets:
    """Search for the units, powers of two, in which AG's regret is largest.

    Each trial changes the exponent of one feature at random; it is accepted if AG's regret grows. The result has an
    entry for the given units and one for each accepted trial, so that `adaptive` increases.

    Args:
        X: inputs, one in each row.
        y: labels.
        C: bound on the comparator's predictions.
        rng: the source of randomness.
        trials: the number of trials.
        reach: exponents stay within ±reach.
        loss: see `unitless.Learner`.
        rates: see `regrets`.
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    grid = list(rates)
    exponents = np.zeros(X.shape[1])
    kept, worst = [exponents], _best_rate("ag", X, y, loss, grid)[0]
    for _ in range(trials):
        trial = exponents.copy()
        trial[rng.integers(len(trial))] = rng.integers(-reach, reach + 1)
        total = _best_rate("ag", X * 2.0**trial, y, loss, grid)[0]
        if total > worst:
            exponents, worst = trial, total
            kept.append(trial)
    return regrets(X, y, 2.0 ** np.array(kept), C, loss, grid)


def _best_rate(
    rule: Literal["ag", "nag"], X: Float64, y: Float64, loss: LossName, rates: list[float]
) -> tuple[float, float]:
    """The smallest total progressive loss over the rates, and the rate that has it."""
    sweep = Sweep(rates, rule, loss, importance_aware=False, bias=False)
    sweep.learn(X, y)
    place = int(np.argmin(sweep.losses))
    return float(sweep.losses[place]) * len(y), rates[place]
