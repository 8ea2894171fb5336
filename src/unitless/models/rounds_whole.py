"""The shape of a model that speaks for one of several shards, as that of one that has learned all examples itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from .shape_reading import MOST_LEAVES


def whole_shape(shape: dict[str, Any], shards: float, sums_squares: bool) -> dict[str, Any]:
    """What counts rows or losses is that of all shards; what is predicted stays. `sums_squares`: so do scales."""
    whole = {}
    for key, value in shape.items():
        of = key.rpartition(".")[2]
        if of in ("N", "rows", "followed"):
            whole[key] = value * shards
        elif of == "scores":
            whole[key] = (value.reshape(-1, 6) * [shards, shards, 1, 1, 1, 1]).ravel()
        elif of == "H" and sums_squares:
            whole[key] = value / shards
        elif of == "seen":  # of a leaf that has not seen enough yet, it says how many values are kept
            whole[key] = np.where(value >= MOST_LEAVES, np.maximum(np.round(value * shards), MOST_LEAVES), value)
        else:
            whole[key] = value
    return whole
