"""Tables that are made: scales from 10⁻¹² to 10¹², offsets, heavy tails, sparse features, drifting units."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import numpy as np

from ....inputs import Float64
from ..table import Table, Task

ROWS = 3000
Make = Callable[[np.random.Generator], tuple[Float64, Float64]]


def _scales(rng: np.random.Generator, features: int) -> Float64:
    return np.asarray(10.0 ** rng.uniform(-12, 12, size=features))


def _noisy(rng: np.random.Generator, clean: Float64, noise: float = 0.3) -> Float64:
    return np.asarray(clean + noise * clean.std() * rng.normal(size=len(clean)))


def _normal(rng: np.random.Generator, features: int = 20) -> tuple[Float64, Float64]:
    """Normal features, and a linear score of them."""
    Z = rng.normal(size=(ROWS, features))
    return Z, Z @ rng.normal(size=features)


def _gauss(rng: np.random.Generator) -> tuple[Float64, Float64]:
    Z, score = _normal(rng)
    return Z * _scales(rng, Z.shape[1]), _noisy(rng, score)


def _offsets(rng: np.random.Generator) -> tuple[Float64, Float64]:
    Z, score = _normal(rng, 10)
    return (Z + rng.choice([-1000.0, 10.0, 300.0], size=10)) * _scales(rng, 10), _noisy(rng, score)


def _heavy(rng: np.random.Generator) -> tuple[Float64, Float64]:
    Z = rng.standard_t(1.5, size=(ROWS, 15))
    return Z * _scales(rng, 15), _noisy(rng, np.tanh(Z) @ rng.normal(size=15))


def _heavy_labels(rng: np.random.Generator) -> tuple[Float64, Float64]:
    Z, score = _normal(rng, 10)
    return Z * _scales(rng, 10), score + rng.standard_t(2.0, size=ROWS)


def _lognormal(rng: np.random.Generator) -> tuple[Float64, Float64]:
    Z, score = _normal(rng, 12)
    return np.exp(1.5 * Z) * _scales(rng, 12), _noisy(rng, score)


def _sparse(rng: np.random.Generator) -> tuple[Float64, Float64]:
    Z = rng.exponential(size=(ROWS, 120)) * (rng.random((ROWS, 120)) < 0.05)
    return Z * _scales(rng, 120), _noisy(rng, Z @ rng.normal(size=120))


def _drifting(rng: np.random.Generator) -> tuple[Float64, Float64]:
    """Each feature grows by a factor of up to 100, and its weight falls by it."""
    Z, score = _normal(rng, 12)
    growth = np.exp(np.linspace(0, 1, ROWS)[:, None] * rng.uniform(0, np.log(100), size=12))
    return Z * growth * _scales(rng, 12), _noisy(rng, score)


def _switched(rng: np.random.Generator) -> tuple[Float64, Float64]:
    """A third of the features is in meters first and in millimeters from the middle on."""
    Z, score = _normal(rng, 12)
    unit = np.where((np.arange(ROWS)[:, None] > ROWS // 2) & (np.arange(12) % 3 == 0), 1000.0, 1.0)
    return Z * unit * _scales(rng, 12), _noisy(rng, score)


def _correlated(rng: np.random.Generator) -> tuple[Float64, Float64]:
    Z = rng.normal(size=(ROWS, 12)) @ rng.normal(size=(12, 12)) + rng.normal(size=(ROWS, 1))
    return Z * _scales(rng, 12), _noisy(rng, Z @ rng.normal(size=12))


def _large_labels(rng: np.random.Generator) -> tuple[Float64, Float64]:
    Z, score = _normal(rng, 10)
    return Z * _scales(rng, 10), 5e9 + 1e8 * _noisy(rng, score, 0.05)


def _small_labels(rng: np.random.Generator) -> tuple[Float64, Float64]:
    Z, score = _normal(rng, 10)
    return Z * _scales(rng, 10), 1e-9 * _noisy(rng, score, 0.05)


def _irrelevant(rng: np.random.Generator) -> tuple[Float64, Float64]:
    Z = rng.normal(size=(ROWS, 100))
    return Z * _scales(rng, 100), _noisy(rng, Z[:, :3] @ [1.0, -1.0, 2.0])


def _table(name: str, task: Task, make: Make, seed: int, about: str) -> Table:
    def read(directory: pathlib.Path | None) -> tuple[Float64, Float64]:
        X, y = make(np.random.default_rng(seed))
        if task == "binary":
            y = (y > np.median(y)).astype(np.float64)
        elif task == "classes":
            y = np.searchsorted(np.quantile(y, [0.25, 0.5, 0.75]), y).astype(np.float64)
        return X, y

    return Table(name, "synthetic", task, read, True, about)


TABLES = [
    _table("normal, classes ±", "binary", _gauss, 1, "10⁻¹² to 10¹²"),
    _table("normal, number", "regression", _gauss, 2, "10⁻¹² to 10¹²"),
    _table("normal, quarters", "classes", _gauss, 3, "10⁻¹² to 10¹²"),
    _table("offsets, classes ±", "binary", _offsets, 4, "means of 10 to 1,000 deviations"),
    _table("offsets, number", "regression", _offsets, 5, "means of 10 to 1,000 deviations"),
    _table("heavy tails, classes ±", "binary", _heavy, 6, "no variance"),
    _table("heavy tails, number", "regression", _heavy, 7, "no variance"),
    _table("heavy-tailed labels", "regression", _heavy_labels, 8, "labels without variance"),
    _table("log-normal, classes ±", "binary", _lognormal, 9, "skewed"),
    _table("sparse, classes ±", "binary", _sparse, 10, "120 features, 5% not zero"),
    _table("sparse, number", "regression", _sparse, 11, "120 features, 5% not zero"),
    _table("drifting, classes ±", "binary", _drifting, 12, "units that grow 100 times"),
    _table("drifting, number", "regression", _drifting, 13, "units that grow 100 times"),
    _table("switched units", "binary", _switched, 14, "meters, then millimeters"),
    _table("correlated, number", "regression", _correlated, 15, "correlated features"),
    _table("large labels", "regression", _large_labels, 16, "labels near 5·10⁹"),
    _table("small labels", "regression", _small_labels, 17, "labels near 10⁻⁹"),
    _table("irrelevant, classes ±", "binary", _irrelevant, 18, "3 of 100 features matter"),
]
