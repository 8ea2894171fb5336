"""Scores of the candidate learning rates after a synchronization round.

Partitions have evaluated the rates of the base on rows that they had not learned. In the first round, without a base,
each partition has evaluated its own rates: that has little weight.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..models.by_feature import scored_weight
from ..models.model import State
from .engine import Engine
from .totals import GAP, LOSS, RECENT, SQUARE, Totals

LIGHT = 1 / 64  # the weight of losses from before the first common evaluation


def judged(engine: Engine, base: State, partitions: int, weight: float) -> Totals:
    """The merged totals, sums over partitions, with scores of rates that were evaluated on rows of that weight."""
    totals = replace(engine.totals, suspended=False)
    if not len(totals.scores):
        return replace(totals, counts={**totals.counts, "scored": totals.t})
    out = np.isinf(totals.scores[:, LOSS])
    scores = np.zeros_like(totals.scores)
    if not base[0]["examples"]:
        scores[:, [LOSS, RECENT]] = LIGHT * totals.scores[:, [LOSS, RECENT]]
        followed, scored = LIGHT * totals.followed, LIGHT * totals.t
    else:
        start = Totals.of(base[0], engine.kind.by_label(base), engine.layout, engine.lanes)
        first = np.where(np.isfinite(start.scores), start.scores, 0.0)
        before = partitions * scored_weight(base[0])
        followed, scored = totals.followed, before + weight
        fades = before / scored if scored > 0 else 1.0
        scores = first.copy()
        scores[:, LOSS] = totals.scores[:, LOSS]
        scores[:, RECENT] = partitions * first[:, RECENT] * fades + totals.scores[:, LOSS] - partitions * first[:, LOSS]
        for kind in (GAP, SQUARE):
            scores[:, kind] = totals.scores[:, kind] - (partitions - 1) * first[:, kind]
        scores[out] = first[out]
    scores[out, LOSS] = scores[out, RECENT] = np.inf
    return replace(totals, scores=scores, followed=followed, counts={**totals.counts, "scored": min(scored, totals.t)})
