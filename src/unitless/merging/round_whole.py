"""The form of a model that speaks for one of several partitions, as that of one that has learned all examples
itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..models.form_reading import MOST_LEAVES


def whole_shape(form: dict[str, Any], partitions: float, sums_squares: bool) -> dict[str, Any]:
    """What counts rows or losses is that of all partitions; what is predicted stays. `sums_squares`: so do scales."""
    whole = {}
    for key, value in form.items():
        of = key.rpartition(".")[2]
        if of in ("N", "rows", "followed"):
            whole[key] = value * partitions
        elif of == "scores":
            whole[key] = (value.reshape(-1, 6) * [partitions, partitions, 1, 1, 1, 1]).ravel()
        elif of == "H" and sums_squares:
            whole[key] = value / partitions
        elif of == "seen":  # of a leaf that has not seen enough yet, it says how many values are kept
            whole[key] = np.where(value >= MOST_LEAVES, np.maximum(np.round(value * partitions), MOST_LEAVES), value)
        else:
            whole[key] = value
    return whole
