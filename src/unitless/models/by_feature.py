"""Reads weights (in the data's units), scales and importance from a model's state, by feature."""

from __future__ import annotations

import heapq
import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..inputs import Float64
from ..losses import LOSSES
from ..options import Options
from ..rules import RULES, Rule
from .model import BIAS, Feature
from .rates import WALKS, Candidates, Walk
from .second_order import with_doubt
from .terms import Terms

ByFeature = dict[Feature, float]
_MOST_GROWTH = 16  # if a scale grew by more between two updates of the average, the average is not rescaled


def ranked(importance: ByFeature, count: int) -> list[tuple[Feature, float]]:
    """Return the `count` features with the largest importance, without the bias."""
    features = [(name, value) for name, value in importance.items() if name != BIAS]
    return heapq.nlargest(count, features, key=lambda item: item[1])


def name_slots(state: _core.Snapshot) -> NDArray[np.intp]:
    """Return the slot of each feature name, in the order of the names: all slots that are not used by products."""
    if state["names"] is None:
        return np.zeros(0, np.intp)
    products = state["products"][2::3]
    free = np.ones(1 + len(state["names"]) + len(products), bool)
    free[0] = free[products] = False
    return np.flatnonzero(free)


@dataclass(frozen=True)
class Averaged:
    """The average of v, as a state stores it."""

    average: Float64  # [slot][lane]
    scale: Float64  # [slot]: the scale in whose unit the average is stored
    t: float  # the total weight of the averaged examples; 0: there is no average yet


def average(options: Options, state: _core.Snapshot) -> Float64:
    """Return the average of v in units of the current scales, [slot][lane]."""
    kept = Averaged(state["average"], state["average_scale"], state["averaged_t"])
    return in_present_unit(kept, RULES[options.rule], state["v"], state["scale"], state["t"])


def in_present_unit(kept: Averaged, rule: Rule, v: Float64, scale: Float64, t: float) -> Float64:
    """Convert an average of v to units of the current scales (core/engine/averaging.hpp).

    Args:
        kept: the average as it is stored.
        rule: the rule of the model.
        v: the latest v, which is returned if there is no average yet.
        scale: the current scales, by slot.
        t: the current total weight of the examples.
    """
    if kept.t == 0:
        return v
    before = kept.scale
    with np.errstate(over="ignore"):
        growth = np.divide(scale, before, out=np.ones_like(before), where=before > 0)
    if rule.sums_squares:
        growth = np.where(before > 0, growth * math.sqrt(kept.t / t), 1.0)
    growth = np.where(growth <= _MOST_GROWTH, growth, 1.0) if rule.unit_free else np.ones_like(before)
    return (kept.average.reshape(len(before), -1) * growth[:, None]).ravel()


def leader(lane_heads: NDArray[Any], scores: Float64, head: int) -> int:
    """Return the lane that predicts for a head: of the head's lanes, the one with the smallest recent loss."""
    # The last head stands for all classes without rows.
    lanes = np.flatnonzero(lane_heads == min(head, int(lane_heads[-1])))
    return int(lanes[np.argmin(scores[lanes, 1])] if len(lanes) > 1 else lanes[0])


def sparse_weights(options: Options, candidates: Candidates, state: _core.Snapshot) -> Float64:
    """Return v of a sparse model, [slot][lane]. Its state stores u instead (core/engine/lanes/proximal_rows.hpp)."""
    lanes = state["lane_rates"]
    u, H = state["v"].reshape(-1, len(lanes)), state["H"].reshape(-1, len(lanes))
    _, _, weight, _, square, _, _ = state["target"].tolist()
    pace = math.sqrt(square / weight) if weight > 0 else 1.0
    tempo = pace * (math.sqrt(state["T"] / state["N"]) if state["N"] > 0 else 1.0)
    rates, penalties = np.array(candidates.rates)[lanes], np.array(candidates.penalties)[lanes]
    free = (state["slots"] != 0)[:, None]  # the bias has no penalty
    beyond = np.abs(u) - free * (rates * penalties * (pace * tempo))
    root = np.sqrt(H) + free * (rates * (options.l2 * tempo))
    there = (beyond > 0) & (sys.float_info.min <= H)
    return np.asarray(np.divide(np.where(u > 0, -beyond, beyond), root, out=np.zeros_like(u), where=there))


def latest_look(options: Options, examples: int, features: int) -> int:
    """Return the largest number of examples at which the average can be updated next.

    Args:
        options: the options of the model.
        examples: the number of examples so far.
        features: the number of features.
    """
    slots = 0 if options.bits is None else 2**options.bits
    return examples + max(1, examples // 64, max(features, slots) // 16)


def scored_weight(state: _core.Snapshot) -> float:
    """Return the total weight of the examples whose losses were counted."""
    last = state["t"] if state["suspended_at"] is None else state["suspended_at"]
    return last - state["missed"]


def lanes_of(state: _core.Snapshot, head: int) -> list[int]:
    """Return the lanes of a head: one for each of its learning rates."""
    return [lane for lane, its in enumerate(state["lane_heads"].tolist()) if its == head]


def leading_lane(state: _core.Snapshot, head: int) -> int:
    """Return the lane that predicts for a head."""
    return leader(state["lane_heads"], state["scores"].reshape(-1, 6), head)


class StateReading:
    """Reads a model's state by feature and by lane. A lane is one set of weights: those of one rate of one class."""

    def __init__(self, options: Options, candidates: Candidates, state: _core.Snapshot) -> None:
        self.options, self.candidates, self.state = options, candidates, state
        kept = average(options, state) if state["kept"] == "averaged" else state["v"]
        self.v = kept.reshape(-1, len(state["lane_heads"]))
        if options.sparse:
            self.v = sparse_weights(options, candidates, state)
        self.scores = state["scores"].reshape(-1, 6)
        products = state["products"].reshape(-1, 3).tolist()
        self.slot_of: dict[int, int] = dict(enumerate(name_slots(state).tolist(), 1))
        self._number_of = {slot: number for number, slot in self.slot_of.items()}
        self.products = {slot: (left, right) for left, right, slot in products}
        self._said = Counter(f"{self._name(left)}*{self._name(right)}" for left, right, _ in products)
        self._said.update(state["names"] or ())
        self.features: list[Feature] = [self.feature(slot) for slot in state["slots"].tolist()]

    def _name(self, number: int) -> Feature:
        names = self.state["names"]
        return names[number - 1] if names is not None else number - 1

    def feature(self, slot: int) -> Feature:
        """Return the feature whose weight is in a slot."""
        if slot == 0:
            return BIAS
        if slot not in self.products:
            return self._name(self._number_of.get(slot, slot))
        left, right = (self._name(feature) for feature in self.products[slot])
        product = f"{left}*{right}"
        return product if self._said[product] == 1 else f"({left})*({right})"

    def lanes(self, head: int) -> list[int]:
        """Return the lanes of a head, one for each rate. A class without rows may share the lanes of the last head."""
        return lanes_of(self.state, min(head, int(self.state["lane_heads"][-1])))

    def leader(self, head: int) -> int:
        """Return the lane that predicts for a head."""
        return leading_lane(self.state, head)

    def terms(self, heads: Sequence[int]) -> Terms:
        """Return the linear terms of the leading lanes of some heads."""
        state, lanes = self.state, [self.leader(head) for head in heads]
        v, H = self.v[:, lanes], state["H"].reshape(self.v.shape)[:, lanes]
        slots, rule = state["slots"].astype(np.int64), RULES[self.options.rule]
        terms = Terms(rule, self.options.order, state["t"], slots, state["scale"], v, H)
        if not rule.second_order:
            return terms
        kept, walk = state["form"], WALKS[int(state["lane_rates"][lanes[0]])]
        return with_doubt(terms, lambda name: kept[name], lanes[0], walk, LOSSES[self.options.loss])

    def candidate(self, lane: int) -> float | Walk:
        """Return the learning rate of a lane or, for rule "newton", its `Walk`."""
        number = int(self.state["lane_rates"][lane])
        return WALKS[number] if RULES[self.options.rule].second_order else self.candidates.rates[number]

    def penalty(self, lane: int) -> float:
        """Return the `sparsity` of a lane."""
        return self.candidates.penalties[int(self.state["lane_rates"][lane])]

    def rate(self, lane: int) -> float:
        """Return the learning rate of a lane; NaN for rule "newton", which has no learning rate."""
        found = self.candidate(lane)
        return math.nan if isinstance(found, Walk) else found

    def rates(self, head: int) -> dict[float | Walk, float]:
        """Return the mean loss of each rate of a head."""
        if not len(self.scores):
            return {self.candidates.rates[0]: math.nan}
        total = max(scored_weight(self.state), sys.float_info.min)
        best: dict[float | Walk, float] = {}  # for each rate of a sparse model: the loss with the best penalty
        for lane in self.lanes(head):
            loss, candidate = float(self.scores[lane, 0]) / total, self.candidate(lane)
            best[candidate] = min(loss, best.get(candidate, math.inf))
        return best

    @property
    def scale(self) -> Float64:
        """The scales s, by slot."""
        scale = self.state["scale"]
        return scale / np.sqrt(self.state["t"]) if RULES[self.options.rule].sums_squares else scale

    def scales(self) -> ByFeature:
        """The scales s, by feature."""
        return dict(zip(self.features, self.scale.tolist(), strict=True))

    def importance(self, lane: int) -> ByFeature:
        """Return the importance |w|·s of each feature in a lane."""
        v = np.abs(self.v[:, lane])
        values = v if RULES[self.options.rule].unit_free else v * self.state["scale"]
        return dict(zip(self.features, values.tolist(), strict=True))

    def weights(self, lane: int) -> ByFeature:
        """Return w by feature, in the data's units: for x and labels that are neither centered nor scaled."""
        v = self.v[:, lane]
        with np.errstate(over="ignore"):  # a weight in the unit of its feature may exceed float64
            w = v / self.scale if RULES[self.options.rule].unit_free else v
        weights = dict(zip(self.state["slots"].tolist(), w.tolist(), strict=True))
        means = self._means()
        if means:
            plain = dict(weights)
            for slot, value in plain.items():
                if slot in self.products:  # (x - m)(y - n) = xy - nx - my + mn
                    (left, m), (right, n) = ((self.slot(f), means.get(f, 0.0)) for f in self.products[slot])
                    weights[left] = weights.get(left, 0.0) - value * n
                    weights[right] = weights.get(right, 0.0) - value * m
                    weights[0] = weights.get(0, 0.0) + value * m * n
            for feature, mean in means.items():
                weights[0] = weights.get(0, 0.0) - plain.get(self.slot(feature), 0.0) * mean
        if self.options.target and self.state["target"][0]:
            weights[0] = weights.get(0, 0.0) + self.offset
        named = dict(zip(self.state["slots"].tolist(), self.features, strict=True))
        return {named.get(slot, BIAS): value for slot, value in weights.items()}

    @property
    def offset(self) -> float:
        """The offset of the target, which is part of every score; 0 for models that do not learn it."""
        target = self.state["target"]
        return float(target[1]) if self.options.target and target[0] else 0.0

    def slot(self, feature: int) -> int:
        """Return the slot of a feature, given by its number."""
        return self.slot_of.get(feature, feature)

    def means(self) -> ByFeature:
        """Return the mean of each centered feature, which is subtracted from its values."""
        names = self.state["names"]
        return {names[number - 1] if names else number - 1: mean for number, mean in self._means().items()}

    def _means(self) -> dict[int, float]:
        kinds, means = self.state["center_kinds"], self.state["center_means"].reshape(-1, 2)
        return {
            int(feature): float(mean)
            for feature, kind, (mean, _) in zip(self.state["center_features"], kinds, means, strict=True)
            if kind
        }
