"""Many learners over one stream: no bit depends on the number of threads or on the number of rows per call."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import unitless as ul

ROWS = 3000  # more batches than the core works on at the same time


def stream(rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Rows with many zeros, columns of different units, and classes 0 ... 3."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 9)) * 10.0 ** np.arange(-4, 5) * (rng.random((rows, 9)) < 0.6)
    return X, np.digitize(X @ (rng.normal(size=9) / 10.0 ** np.arange(-4, 5)), [-1, 0, 1])


def weights() -> np.ndarray:
    return np.random.default_rng(2).choice([0.0, 0.5, 1.0, 3.0], size=ROWS)


def sweep() -> list[Any]:
    X, c = stream()
    model = ul.Sweep(np.geomspace(0.01, 10, 21).tolist(), loss="logistic")
    return [model.learn(X, c > 1, weights()), model.losses, model.predict(X[:50])]


def sweep_of_classes() -> list[Any]:
    X, c = stream()
    model = ul.Sweep(np.geomspace(0.01, 10, 11).tolist(), classes=range(4))
    return [model.learn(X, c, weights()), model.losses]


def automatic_rates() -> list[Any]:
    X, c = stream()
    model = ul.OneVsAll(range(4), learning_rate="auto")
    return [model.learn(X, c, weights()), model.learn(X[:7], c[:7]), model.predict(X[:50])]


def rates_that_run_away() -> list[Any]:
    X, c = stream()
    y = c + 1e3 * X[:, 4]
    model = ul.Sweep([1e-12, 1e-10, 1e3, 1e12, 1e100], rule="gd", importance_aware=False)
    said = model.learn(X, y)
    assert np.isfinite(model.losses).tolist() == [True, True, False, False, False]
    return [said, model.losses]


def a_model_that_runs_away() -> list[Any]:
    X, c = stream()
    model = ul.Sweep([1e60, 1e80, 1e100], rule="gd", importance_aware=False)
    with pytest.raises(ul.DivergedError) as error:
        model.learn(X, c + X[:, 8])
    return [str(error.value), model.examples]


def averages() -> list[Any]:
    X, c = stream()
    model = ul.Learner(loss="logistic", learning_rate="auto", average=True)
    said = model.learn(X, c > 1)
    return [said, model.predict(X[:100])]


def classes_that_join() -> list[Any]:
    X, c = stream()
    model = ul.OneVsAll(learning_rate="auto")
    said = [model.learn(X[a:b], c[a:b] + 4 * (a > 900)).tobytes() for a, b in ((0, 900), (900, 1000), (1000, ROWS))]
    return [*said, model.predict(X[:30])]


CASES: dict[str, Callable[[], list[Any]]] = {
    case.__name__: case
    for case in (
        sweep,
        sweep_of_classes,
        automatic_rates,
        rates_that_run_away,
        a_model_that_runs_away,
        averages,
        classes_that_join,
    )
}


def digest(results: list[Any]) -> str:
    """The digest of all bits of all numbers."""
    whole = hashlib.sha256()
    for one in results:
        whole.update(one.tobytes() if isinstance(one, np.ndarray) else repr(one).encode())
    return whole.hexdigest()


def test_any_number_of_threads_gives_the_same_bits() -> None:
    said = {
        threads: subprocess.run(
            [sys.executable, __file__],
            env=os.environ | {"UNITLESS_THREADS": str(threads)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()
        for threads in (1, 2, 3, 8)
    }
    assert len(said[1]) == len(CASES)
    for threads in (2, 3, 8):
        assert said[threads] == said[1], f"{threads} threads"


def test_rows_in_one_call_and_in_many_give_the_same_bits() -> None:
    X, c = stream()
    whole, cut = (ul.Sweep(np.geomspace(0.01, 10, 21).tolist(), loss="logistic") for _ in range(2))
    expected = whole.learn(X, c > 1)
    ends = [0, 1, 2, 130, 131, 700, 2000, ROWS]
    said = np.concatenate([cut.learn(X[a:b], c[a:b] > 1) for a, b in itertools.pairwise(ends)])
    assert said.tobytes() == expected.tobytes()
    assert whole.losses.tobytes() == cut.losses.tobytes()


if __name__ == "__main__":
    for case in CASES.values():
        print(case.__name__, digest(case()))
