"""The time per row of a second-order lane and of a plain pass of NAG, measured in one run.

Dense columns, all other than zero, one thread. Usually, lanes that have lost are dropped during a stream; here all
lanes are kept, and the time is divided by their number. It includes staging the rows, which all lanes share. Times are
processor times, the best of several rounds in turn: other programs on the machine affect them less than elapsed times.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ["UNITLESS_THREADS"] = "1"

import numpy as np

import unitless as ul
from unitless.models.rates import WALKS

ROWS, WARM_UP, ROUNDS = 20_000, 2_000, 5
WIDTHS = (8, 16, 32, 56, 96)
CLASSES = 7


def models(loss: str) -> tuple[Any, Any]:
    """The two contenders."""
    if loss == "softmax":
        return ul.Softmax([*range(CLASSES)], learning_rate=0.5), ul.Softmax([*range(CLASSES)], "newton")
    return ul.Learner("nag", loss), ul.Learner("newton", loss)  # type: ignore[arg-type]


def stream(loss: str, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels for this loss."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, width))
    score = X @ rng.normal(size=width) / np.sqrt(width) + 0.5 * rng.normal(size=ROWS)
    if loss == "squared":
        return X, score
    cuts = [0.0] if loss == "logistic" else np.quantile(score, np.arange(1, CLASSES) / CLASSES)
    return X, np.searchsorted(cuts, score)


def timed(action: Callable[[], Any]) -> float:
    """Nanoseconds per row."""
    start = time.process_time()
    action()
    return (time.process_time() - start) / (ROWS - WARM_UP) * 1e9


def measured(loss: str, width: int) -> tuple[float, float, float]:
    """The best times: NAG's, those of all lanes, and those of predictions."""
    X, y = stream(loss, width)
    first, rest = slice(WARM_UP), slice(WARM_UP, None)
    rounds = []
    for _ in range(ROUNDS):
        nag, newton = models(loss)
        for model in (nag, newton):
            model._keep_rates(True)
            model.learn(X[first], y[first])
        learned = [timed(partial(model.learn, X[rest], y[rest])) for model in (nag, newton)]
        rounds.append((*learned, timed(partial(newton.predict, X[rest]))))
    nag_best, newton_best, predict_best = map(min, zip(*rounds, strict=True))
    return nag_best, newton_best, predict_best


def main() -> None:
    """Print the table."""
    lanes = len(WALKS)
    print(f"{'ns a row':28}{'NAG, one rate':>15}{'newton, a lane':>16}{f'all {lanes} lanes':>14}{'predict':>10}")
    for loss in ("squared", "logistic", "softmax"):
        for width in WIDTHS:
            nag, newton, predict = measured(loss, width)
            kind = f"{loss}, {CLASSES} classes" if loss == "softmax" else loss
            print(f"{f'{kind}, d = {width}':28}{nag:15.0f}{newton / lanes:16.0f}{newton:14.0f}{predict:10.0f}")


if __name__ == "__main__":
    main()
