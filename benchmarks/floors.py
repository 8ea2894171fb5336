"""Lower limits of the time per row: reading the rows, and one dot product for each."""

from __future__ import annotations

import numpy as np
from data import Store
from passes import Pass


def numpy_product(store: Store) -> Pass:
    """X @ w: only the dot products of all rows, in one call."""
    X, y = store.two_classes("dense")
    w = np.random.default_rng(0).normal(size=X.shape[1]).astype(X.dtype)
    return Pass(lambda: X @ w, len(y))


def memory(store: Store, kind: str = "dense") -> Pass:
    """Read the bytes once: the largest 32-bit number among them, which was the fastest of NumPy's reductions."""
    X, y = store.two_classes(kind)
    arrays = [X] if isinstance(X, np.ndarray) else [X.data, X.indices]
    words = [one.reshape(-1).view(np.int32) for one in arrays]
    return Pass(lambda: [one.max() for one in words], len(y))
