"""How many independent rows the rows of some groups are worth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64


def design_effect(losses: Float64, groups: NDArray[np.uint64]) -> float:
    """The number of rows divided by the number of independent rows that show as much; at least 1.

    Rows of one group are alike, so that their mean loss varies more than that of independent rows: by the design effect
    (Kish 1965), which the sums of the losses of each group show. Few groups show it poorly. Therefore it is multiplied
    by G/(G - 2), the variance of Student's t for G groups; one or two groups are worth a single row.

    Args:
        losses: the loss of each row.
        groups: the group of each row.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat(np.arange(50, dtype=np.uint64), 20)
    >>> own, shared = rng.normal(size=1000), np.repeat(rng.normal(size=50), 20)
    >>> f"{design_effect(own, group):.1f}, {design_effect(shared, group):.1f}"
    '1.2, 21.3'
    """
    rows = len(losses)
    _, places = np.unique(groups, return_inverse=True)
    count = int(places.max()) + 1 if rows else 0
    if count <= 2:
        return float(max(1, rows))
    far = losses - losses.mean()
    alone = float((far**2).sum())
    if not (np.isfinite(alone) and alone > 0):
        return rows / count
    together = float((np.bincount(places, far) ** 2).sum()) * count / (count - 1)
    return min(float(rows), max(1.0, together / alone) * count / (count - 2))
