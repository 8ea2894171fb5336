"""The best learning rate in hindsight, on the paper's grid exp(0.2 k), by `Sweep`.

All best rates that the paper prints are on this grid. It is searched in two steps: first every fifth rate from exp(-18)
to exp(4) over one order of the rows; then every rate around the best of these, over several orders. The second step
continues while the best rate is near the end of the tried rates.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...inputs import Float64
from ...models.sweep import Sweep
from ...options import Rule
from .kept_results import Kept
from .preparation import Normalization, Prepared, shuffled

STEP = 0.2
COARSE = range(-90, 21, 5)
REACH = 6
EDGE = 2
FURTHEST = (-120, 35)

Told = Callable[[str], None]


@dataclass(frozen=True)
class Search:
    """The progressive losses of the rates exp(0.2 k) around the best."""

    exponents: tuple[int, ...]
    """The exponent k of each rate."""
    losses: Float64
    """One row for each order of the rows, one column for each rate."""
    coarse: dict[int, float]
    """The loss of every fifth rate, over one order of the rows."""
    seconds: float

    @property
    def mean(self) -> Float64:
        """The mean over orders, for each rate."""
        return np.asarray(self.losses.mean(axis=0))

    @property
    def best(self) -> int:
        """The index of the rate with the smallest mean loss."""
        return int(np.argmin(self.mean))

    @property
    def rate(self) -> float:
        """The rate with the smallest mean loss."""
        return math.exp(STEP * self.exponents[self.best])

    @property
    def loss(self) -> float:
        """The mean loss of the best rate."""
        return float(self.mean[self.best])

    @property
    def at_best(self) -> Float64:
        """The loss of the best rate in each order."""
        return np.asarray(self.losses[:, self.best])

    def flat(self, tolerance: float) -> tuple[float, float]:
        """The smallest and the largest rate whose mean loss exceeds the best by at most a fraction `tolerance` (say
        0.01).
        """
        good = [k for k, loss in zip(self.exponents, self.mean, strict=True) if loss <= self.loss * (1 + tolerance)]
        return math.exp(STEP * good[0]), math.exp(STEP * good[-1])

    def loss_at(self, rate: float) -> float | None:
        """The mean loss of the grid rate that is nearest to a given rate, if it was tried."""
        k = round(math.log(rate) / STEP)
        return float(self.mean[self.exponents.index(k)]) if k in self.exponents else None


def search(
    prepared: Prepared,
    normalization: Normalization,
    rule: Rule,
    seeds: Iterable[int],
    kept: Kept,
    told: Told | None = None,
) -> Search:
    """Find the rate with the smallest progressive loss.

    Error rate for classes, normalized squared error for numbers.
    """
    seeds = list(seeds)
    seconds = 0.0
    scaled: Any = None  # pre-normalized when first needed: often all results are already stored

    def losses(exponents: list[int], seed: int, what: str) -> list[float]:
        nonlocal seconds, scaled
        question = {
            "data": prepared.content,
            "normalization": normalization,
            "rule": rule,
            "exponents": exponents,
            "seed": seed,
        }

        def compute() -> dict[str, Any]:
            nonlocal scaled
            scaled = prepared.scaled(normalization) if scaled is None else scaled
            start = time.perf_counter()
            found = one_pass(prepared, scaled, rule, [math.exp(STEP * k) for k in exponents], seed)
            return {"losses": found, "seconds": time.perf_counter() - start}

        answer = kept.get(question, compute)
        seconds += answer["seconds"]
        if told is not None:
            told(f"{prepared.title}, {normalization}, {rule}: {what}")
        return [float(loss) for loss in answer["losses"]]

    coarse = dict(zip(COARSE, losses(list(COARSE), seeds[0], "every fifth rate"), strict=True))
    middle = min(coarse, key=lambda k: coarse[k])
    exponents = list(range(middle - REACH, middle + REACH + 1))
    table = np.array([losses(exponents, seed, f"order {seed}") for seed in seeds])
    while (more := _beyond(exponents, table.mean(axis=0))) is not None:
        extra = np.array([losses(more, seed, f"order {seed}, further rates") for seed in seeds])
        if more[0] < exponents[0]:
            exponents, table = more + exponents, np.hstack([extra, table])
        else:
            exponents, table = exponents + more, np.hstack([table, extra])
    return Search(tuple(exponents), table, coarse, seconds)


def one_pass(prepared: Prepared, X: Any, rule: Rule, rates: list[float], seed: int) -> list[float]:
    """The progressive loss of each rate over one order of the rows."""
    order = shuffled(prepared, seed)
    options: dict[str, Any] = {"rule": rule, "loss": prepared.loss, "interactions": "ordered"}
    if prepared.classes is not None:
        options["classes"] = prepared.classes
    elif prepared.loss == "squared":
        options["clip"] = "labels"
    sweep = Sweep(rates, **options)
    sweep.learn(X[order], prepared.y[order])
    if prepared.classes is None and prepared.loss == "squared":
        return [float(loss) for loss in sweep.losses / np.ptp(prepared.y) ** 2]
    return [float(error) for error in sweep.errors]


def _beyond(exponents: list[int], mean: Float64) -> list[int] | None:
    """Further rates to try, if the best is near the end of the tried ones."""
    best = int(np.argmin(mean))
    if best < EDGE and exponents[0] > FURTHEST[0]:
        return list(range(exponents[0] - REACH, exponents[0]))
    if best >= len(exponents) - EDGE and exponents[-1] < FURTHEST[1]:
        return list(range(exponents[-1] + 1, exponents[-1] + 1 + REACH))
    return None
