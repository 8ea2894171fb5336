"""The memory of models, per feature, class or column: by the model's own count, and by the growth of the process.

Each kind of model is made in a separate process, after the rows that it learns. The result is the growth of the process
after freed memory was returned to the system.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import multiprocessing
import os
import pathlib
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from data import Store
from environment import environment, of_threads
from rounds import progress

import unitless as ul

partial = functools.partial
STATM = pathlib.Path("/proc/self/statm")
ROWS = 64  # number of rows that make a model know its features
CLASSES, CLASS_FEATURES = 512, 100
Teach = Callable[[], Any]  # makes a model that has learned
Prepare = Callable[[Store], tuple[int, Teach]]  # the number of features, classes or columns, and the work


@dataclass(frozen=True)
class Case:
    """A kind of model."""

    name: str
    unit: str
    prepare: Prepare


def _resident() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    if hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _measured(store: Store, prepare: Prepare) -> dict[str, Any]:
    count, teach = prepare(store)
    ul.Learner().learn(np.ones((2, 1)), np.ones(2))  # memory that is loaded with the first call belongs to no model
    before = _resident()
    model = teach()
    grown = _resident() - before
    own = getattr(model, "nbytes", None) if type(model).__module__.startswith("unitless") else None
    return {"count": count, "own": None if own is None else own / count, "measured": max(0, grown) / count}


def run(store: Store, _: int) -> list[dict[str, Any]]:
    """All cases whose library is installed, as plain data."""
    if not STATM.exists():
        print("  memory: left out, because only Linux shows the memory of a process", file=sys.stderr)
        return []
    results = []
    for case in ALL:
        progress(f"  memory: {case.name}")
        with environment(of_threads(1)), ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            try:
                found = pool.submit(_measured, store, case.prepare).result()
            except ModuleNotFoundError as absent:
                print(f"  left out: {case.name} ({absent})", file=sys.stderr)
                continue
        results.append({"name": case.name, "unit": case.unit, **found})
    progress("")
    return results


# ------------------------------------------------------------------------------------------------------ features


def _each_once(count: int) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """Rows that mention every feature once."""
    rng = np.random.default_rng(0)
    indices = rng.permutation(count).astype(np.int32)
    starts = np.linspace(0, count, ROWS + 1).astype(np.int32)
    X = scipy.sparse.csr_array((rng.normal(size=count), indices, starts), shape=(ROWS, count))
    X.sort_indices()
    return X, np.arange(ROWS) % 2 == 0


def sparse_features(store: Store, hashed: bool = True, **options: Any) -> tuple[int, Teach]:
    count = 2**store.size.hash_bits
    X, y = _each_once(count)
    options |= {"bits": store.size.hash_bits} if hashed else {}

    def teach() -> ul.Learner:
        model = ul.Learner(loss="logistic", **options)
        model.learn(X, y)
        return model

    return count, teach


def _named(count: int) -> list[dict[str, float]]:
    """Rows that mention every name once."""
    names = [f"feature {number}" for number in range(count)]
    return [dict.fromkeys(names[first::ROWS], 1.5) for first in range(ROWS)]


def named_features(store: Store) -> tuple[int, Teach]:
    count = 2 ** (store.size.hash_bits - 2)
    rows = _named(count)

    def teach() -> ul.Learner:
        model = ul.Learner(loss="logistic")
        for number, row in enumerate(rows):
            model.learn_one(row, number % 2 == 0)
        return model

    return count, teach


def river_features(store: Store, scaled: bool) -> tuple[int, Teach]:
    from one_at_a_time import river_classifier

    count = 2 ** (store.size.hash_bits - 2)
    rows = _named(count)
    river_classifier(scaled)  # so that imports do not count

    def teach() -> Any:
        model = river_classifier(scaled)
        for number, row in enumerate(rows):
            model.learn_one(row, number % 2 == 0)
        return model

    return count, teach


def vw_slots(store: Store) -> tuple[int, Teach]:
    import vowpalwabbit

    count = 2**store.size.hash_bits
    X, y = _each_once(count)
    lines = [
        f"{1 if label else -1} |f " + " ".join(f"{j}:{v:.4g}" for j, v in zip(row.indices, row.data, strict=True))
        for row, label in zip((X[[number]] for number in range(ROWS)), y, strict=True)
    ]
    vowpalwabbit.Workspace("--quiet").finish()

    def teach() -> Any:
        model = vowpalwabbit.Workspace(f"--quiet --loss_function logistic -b {store.size.hash_bits}")
        for line in lines:
            model.learn(line)
        return model

    return count, teach


def scikit_features(store: Store) -> tuple[int, Teach]:
    from scikit import sgd

    count = 2**store.size.hash_bits
    X, y = _each_once(count)
    sgd().partial_fit(X[:, :2], y, classes=[False, True])
    return count, lambda: sgd().partial_fit(X, y, classes=[False, True])


# ------------------------------------------------------------------------------------------------------- classes


def _of_classes(store: Store) -> tuple[int, np.ndarray, np.ndarray]:
    count = max(16, int(CLASSES * min(1.0, 4 * store.size.scaling)))
    rng = np.random.default_rng(0)
    return count, rng.normal(size=(4 * count, CLASS_FEATURES)), np.arange(4 * count) % count


def our_classes(store: Store, kind: str, **options: Any) -> tuple[int, Teach]:
    count, X, y = _of_classes(store)

    def teach() -> Any:
        model = getattr(ul, kind)(range(count), **options)
        model.learn(X, y)
        return model

    return count, teach


def vw_classes(store: Store) -> tuple[int, Teach]:
    import vowpalwabbit

    count, X, y = _of_classes(store)
    lines = [
        f"{label + 1} |f " + " ".join(f"{j}:{v:.4g}" for j, v in enumerate(row))
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    vowpalwabbit.Workspace("--quiet").finish()

    def teach() -> Any:  # its slots are a power of two of features, each with memory for all classes
        model = vowpalwabbit.Workspace(f"--quiet --loss_function logistic --oaa {count} -b 17")
        for line in lines:
            model.learn(line)
        return model

    return count, teach


def scikit_classes(store: Store) -> tuple[int, Teach]:
    from scikit import sgd

    count, X, y = _of_classes(store)
    sgd().partial_fit(X[:2], y[:2], classes=[0, 1])
    return count, lambda: sgd().partial_fit(X, y, classes=range(count))


# ----------------------------------------------------------------------------------------------------- curves and trees


def our_columns(store: Store, **options: Any) -> tuple[int, Teach]:
    X, y = store.two_classes("some")

    def teach() -> ul.Learner:
        model = ul.Learner(loss="logistic", **options)
        model.learn(X, y)
        return model

    return X.shape[1], teach


def lightgbm_columns(store: Store) -> tuple[int, Teach]:
    import lightgbm

    X, y = store.two_classes("some")

    def teach() -> Any:
        fitted = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1).fit(X, y)
        return lightgbm.Booster(model_str=fitted.booster_.model_to_string())  # the model without its rows

    teach()  # so that the library's own memory does not count
    return X.shape[1], teach


def river_columns(store: Store) -> tuple[int, Teach]:
    from river.forest import ARFClassifier

    X, y = store.two_classes("some")
    rows = [dict(enumerate(row)) for row in X[: store.size.forest_rows].tolist()]
    labels = y[: store.size.forest_rows].tolist()

    def teach() -> Any:
        model = ARFClassifier(seed=1)
        for row, label in zip(rows, labels, strict=True):
            model.learn_one(row, label)
        return model

    return X.shape[1], teach


ONE = {"learning_rate": 0.5}
AUTO = {"learning_rate": "auto"}
SHAPED = {"learning_rate": "auto", "center": True}
ALL = (
    Case("unitless, hashed", "feature", sparse_features),
    Case("unitless, hashed, automatic rate", "feature", partial(sparse_features, **AUTO)),
    Case("unitless, columns", "feature", partial(sparse_features, hashed=False)),
    Case("unitless, names", "feature", named_features),
    Case("Vowpal Wabbit", "feature", vw_slots),
    Case("scikit-learn SGD", "feature", scikit_features),
    Case("River logistic, names", "feature", partial(river_features, scaled=False)),
    Case("River scaler | logistic, names", "feature", partial(river_features, scaled=True)),
    Case("unitless, one-vs-all, 100 features", "class", partial(our_classes, kind="OneVsAll", **ONE)),
    Case("unitless, one-vs-all, automatic rates", "class", partial(our_classes, kind="OneVsAll")),
    Case("unitless, softmax", "class", partial(our_classes, kind="Softmax", **ONE)),
    Case("Vowpal Wabbit --oaa, 100 features", "class", vw_classes),
    Case("scikit-learn SGD, 100 features", "class", scikit_classes),
    Case("unitless, linear, automatic rate", "column", partial(our_columns, **SHAPED)),
    Case("unitless, curves", "column", partial(our_columns, model_type="curves", **SHAPED)),
    Case("unitless, trees", "column", partial(our_columns, model_type="trees", **SHAPED)),
    Case("unitless, second order", "column", partial(our_columns, rule="newton")),
    Case("LightGBM, 100 trees", "column", lightgbm_columns),
    Case("River ARF, first rows only", "column", river_columns),
)
