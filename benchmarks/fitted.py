"""Fit an estimator with the conventions of scikit-learn once; its loss is measured on rows that it has not seen."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
from data import Store
from passes import Pass


def fit(store: Store, module: str, name: str, **options: Any) -> Pass:
    """A class of a module, fitted to four fifths of some rows of Covertype, in a random order."""
    kind = getattr(importlib.import_module(module), name)
    X, y = store.two_classes("some")
    order = np.random.default_rng(0).permutation(len(y))
    held, learned = order[: len(y) // 5], order[len(y) // 5 :]
    rows, labels = X[learned], y[learned]

    def run() -> Any:
        return kind(**options).fit(rows, labels)

    def loss() -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            share = np.clip(run().predict_proba(X[held])[:, 1], 1e-15, 1 - 1e-15)
        return float(-np.log(np.where(y[held], share, 1 - share)).mean())

    return Pass(run, len(labels), loss)
