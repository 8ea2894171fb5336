"""The parts of a model other than its slots: counts of rows, losses of rates, means of columns, labels. These add up.

Models that were continued from a base have all counted the rows of the base. In the merged model these must count once:
from the sum over P models, the base's number is subtracted P - 1 times. A synchronization round subtracts nothing,
because there the base stands for the rows of one partition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import _core
from ..errors import MergeError
from ..inputs import Float64
from ..models import target_state
from ..models.by_feature import latest_look, scored_weight
from ..options import Options
from .layout import Lanes, Layout

LOSS, RECENT, GAP, SQUARE = range(4)  # the columns of a lane's scores
_SUMS = [0, 1, 3, 5]  # the scores that are sums and not negative


@dataclass(frozen=True)
class Totals:
    """The totals of one model, in the features and lanes of the merged model."""

    t: float
    counts: dict[str, Any]  # T, N, the number of examples; the weight that was averaged, and the weight of the scores
    scores: Float64  # [lane][6]
    followed: Float64  # [head]
    errors: Float64  # [rate]
    means: Float64  # [feature]: means of centered columns
    masses: Float64  # [feature]: the weight behind each mean
    target: Float64  # the statistics of the labels, see target_state.py
    label_range: tuple[float, float]
    averaged: bool  # whether the averaged weights are in use
    suspended: bool  # whether rates are no longer dropped

    @classmethod
    def of(cls, state: _core.Snapshot, by_label: list[dict[int, int]], layout: Layout, lanes: Lanes) -> Totals:
        means, masses = np.zeros(layout.means), np.zeros(layout.means)
        features = layout.renumbered(state, state["center_features"])
        means[features], masses[features] = state["center_means"].reshape(-1, 2).T
        scored = len(state["scores"]) > 0
        heads = [state["lane_heads"][next(iter(found.values()))] for found in by_label]
        return cls(
            state["t"],
            {**{key: state[key] for key in ("T", "N", "examples", "averaged_t")}, "scored": scored_weight(state)},
            state["scores"].reshape(-1, 6)[lanes.source(by_label)] if scored else np.zeros((0, 6)),
            state["followed"][heads] if scored else np.zeros(0),
            state["errors"],
            means,
            masses,
            state["target"],
            (state["label_min"], state["label_max"]),
            state["kept"] == "averaged",
            state["suspended_at"] is not None,
        )

    def offset(self, target: Float64) -> float:
        """The change of predictions when labels are measured from another center."""
        return float(self.target[1] - target[1]) if self.target[0] and target[0] else 0.0

    def drift(self, means: Float64) -> Float64:
        """The change of the means of centered columns, by feature."""
        return np.where(self.masses > 0, means - self.means, 0.0)

    def shifted(self, means: Float64, target: Float64) -> Totals:
        """These totals with other means and another center of the labels."""
        offset = self.offset(target)
        weight, total, square, far_rows, limited = self.target[2:] if self.target[0] else np.zeros(5)
        moved = square + 2 * offset * total + weight * offset * offset
        about = np.array([target[0], target[1], weight, total + weight * offset, moved, far_rows, limited])
        return replace(
            self,
            target=about,
            label_range=(self.label_range[0] + offset, self.label_range[1] + offset),
            means=np.where(self.masses > 0, means, 0.0),
        )


def added_up(values: list[Any], start: Any) -> Any:
    """The sum over all models, in which a common start value counts once."""
    return sum(values) if start is None else sum(values) - (len(values) - 1) * start


def common_offsets(parts: list[Totals], base: Totals | None, options: Options) -> tuple[Float64, Float64]:
    """The means and the target's center over all data; where all models agree, exactly their values."""
    masses = added_up([part.masses for part in parts], base and base.masses)
    sums = added_up([part.masses * part.means for part in parts], base and base.masses * base.means)
    highest = np.max([np.where(part.masses > 0, part.means, -np.inf) for part in parts], axis=0)
    lowest = np.min([np.where(part.masses > 0, part.means, np.inf) for part in parts], axis=0)
    means = np.divide(sums, masses, out=np.zeros_like(sums), where=masses > 0)
    means = np.where(highest == lowest, highest, means)
    started = [part.target for part in parts if part.target[0]]
    fields = len(target_state.FIELDS)
    if not options.target or not started:
        return means, np.zeros(fields)
    start = base.target if base and base.target[0] else None
    weight = added_up([own[2] for own in started], None if start is None else start[2])
    total = added_up(
        [own[2] * own[1] + own[3] for own in started], None if start is None else start[2] * start[1] + start[3]
    )
    same = len({own[1] for own in started}) == 1
    return means, np.array([1.0, started[0][1] if same else total / weight, *np.zeros(fields - 2)])


def combine(parts: list[Totals], base: Totals | None) -> Totals:
    """Merge the totals of models that have the same means and the same center of the labels.

    `base`: the model that all of them were continued from, if its rows count once.
    """

    def added(name: str) -> Any:
        return added_up([getattr(part, name) for part in parts], base and getattr(base, name))

    t = added("t")
    counts = {key: added_up([part.counts[key] for part in parts], base and base.counts[key]) for key in parts[0].counts}
    counts |= {key: min(counts[key], t) for key in ("averaged_t", "scored")}
    target = added("target")
    target[:2] = parts[0].target[:2]
    target[target_state.FAR_ROWS] = 0.0  # a far label of one model does not predict another one in the next row
    means = np.max([np.where(part.masses > 0, part.means, -np.inf) for part in parts], axis=0)
    return Totals(
        t,
        counts,
        _added_scores(parts, base, t),
        added("followed"),
        added("errors"),
        np.where(np.isfinite(means), means, 0.0),
        added("masses"),
        target,
        (min(part.label_range[0] for part in parts), max(part.label_range[1] for part in parts)),
        all(part.averaged for part in parts),
        all(part.suspended for part in parts),
    )


def _added_scores(parts: list[Totals], base: Totals | None, t: float) -> Float64:
    """Add up losses; infinite losses stay infinite.

    The base's share of recent losses decays as examples are learned.
    """

    def before(now: float) -> Float64:
        scores = np.zeros_like(parts[0].scores) if base is None else base.scores.copy()
        if base is not None and now > 0:
            scores[:, RECENT] *= base.t / now
        return scores

    total = before(t)
    with np.errstate(invalid="ignore"):
        for part in parts:
            more = part.scores - before(part.t)
            more[:, _SUMS] = np.maximum(more[:, _SUMS], 0)  # squares restart when rates are dropped
            total += more
    return np.where(np.any([np.isinf(part.scores) for part in parts], axis=0) | np.isnan(total), np.inf, total)


def snapshot_of(
    options: Options, layout: Layout, totals: Totals, lanes: Lanes, states: list[_core.Snapshot]
) -> _core.Snapshot:
    """A merged state without its slots. `states`: the states that are merged."""
    negatives = {state["negative"] for state in states if state["examples"]} - {0}
    if len(negatives) > 1:
        raise MergeError("the models' negative labels differ: 0 and -1")
    settled = np.flatnonzero((kinds := layout.kinds(states)) >= 0)
    counts = totals.counts
    return {
        "t": totals.t,
        "T": counts["T"],
        "N": counts["N"],
        "examples": counts["examples"],
        "label_min": totals.label_range[0],
        "label_max": totals.label_range[1],
        "negative": next(iter(negatives), 0),
        "columns": layout.columns,
        "names": layout.names,
        "slots": np.zeros(0, np.uint32),
        "scale": np.zeros(0),
        "v": np.zeros(0),
        "H": np.zeros(0),
        "average": np.zeros(0),
        "average_scale": np.zeros(0),
        "averaged_t": counts["averaged_t"],
        "next_look": latest_look(options, counts["examples"], len(layout.slots)) if options.average else 0,
        "kept": "averaged" if totals.averaged else "last",
        "suspended_at": counts["scored"] if totals.suspended else None,
        "missed": 0.0 if totals.suspended else max(totals.t - counts["scored"], 0.0),
        "lane_heads": np.array(lanes.heads, np.uint32),
        "lane_rates": np.array(lanes.rates, np.uint32),
        "scores": totals.scores.ravel(),
        "followed": totals.followed,
        "errors": totals.errors,
        "target": totals.target,
        "products": layout.products().ravel(),
        "center_features": settled.astype(np.uint32),
        "center_kinds": kinds[settled].astype(np.uint32),
        "center_means": np.column_stack([totals.means[settled], totals.masses[settled]]).ravel(),
        "proven_scales": np.zeros(len(settled)),
        "window_features": np.zeros(0, np.uint32),
        "windows": np.zeros(0),
        "form": {"settled": "linear"},
        "ensemble": "none",
        "slopes": np.zeros(0),
    }
