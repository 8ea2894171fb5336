"""LightGBM for rows that come one after another: it continues with some trees for every chunk."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from data import Store
from passes import Pass

CHUNKS = 20  # the share of all rows
TREES = 10  # the number of trees for each chunk


def incremental(store: Store) -> Pass:
    """LightGBM, continued with every chunk. Its progressive loss is computed separately."""
    import lightgbm

    X, y = store.two_classes("some")
    parts = [slice(part[0], part[-1] + 1) for part in np.array_split(np.arange(len(y)), CHUNKS)]
    parameters = {"objective": "binary", "verbose": -1, "seed": 1}

    def learned(part: slice, model: Any) -> Any:
        rows = lightgbm.Dataset(X[part], y[part].astype(float), params={"verbose": -1}, free_raw_data=False)
        return lightgbm.train(parameters, rows, TREES, init_model=model)

    def run() -> Any:
        return functools.reduce(lambda model, part: learned(part, model), parts, None)

    def loss() -> float:
        model, share = None, np.full(len(y), 0.5)
        for part in parts:
            if model is not None:
                share[part] = np.clip(model.predict(X[part]), 1e-15, 1 - 1e-15)
            model = learned(part, model)
        return float(-np.log(np.where(y, share, 1 - share)).mean())

    return Pass(run, len(y), loss)
