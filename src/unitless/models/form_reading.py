"""Reads the state of a model with curves, trees or several members, and their mixture.

The arrays of a snapshot's "form" are described in core/engine/state.hpp and named in core/engine/state_fields.hpp.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..inputs import MISSING as MISSING_VALUE
from ..inputs import Float64
from ..losses import LOSSES
from ..options import Options
from .by_feature import Averaged, StateReading, in_present_unit, leader
from .extra_members import EXTRA_MEMBERS
from .model import Feature
from .rates import WALKS, Candidates
from .second_order import with_doubt
from .terms import Terms

MOST_COLUMNS = 1024  # features beyond this number have no raw column
MOST_LEAVES = 32  # leaves of a curve; for each, a curve stores as many values
MISSING = MOST_LEAVES  # the leaf of missing values

CERTAIN = 34.538776394910684  # log 1e15: the largest log odds of a class

_KINDS = ("logistic", "squared", "classes", "other")  # kinds of mixtures, as the core names them
_OF_NUMBERS = 1
_NONE: Float64 = np.zeros(0)


@dataclass(frozen=True)
class RawColumn:
    """A column of the data: numbers, or text, where each value is a feature."""

    name: Feature
    text: bool


@dataclass(frozen=True)
class Curve:
    """The curve of one numeric column in one member, with the weights of each head's leading lane.

    A curve is a step function: interval i is thresholds[i-1] < x <= thresholds[i], so that there is one more interval
    than thresholds. A curve of one interval has not been cut yet, and its weight is zero.
    """

    column: int
    thresholds: Float64  # in ascending order
    weights: Float64  # [interval, head]
    evidence: Float64  # [interval, head]: the sum of squared gradients
    rows: Float64  # [interval]: about the number of rows in it
    missing: Float64  # [head]: the weight of a missing value
    missing_rows: float
    seen: Float64  # [interval]: values since the interval was made
    values: list[Float64]  # [interval]: the last of these values, up to 32

    def interval(self, x: float) -> int:
        """Return the interval of a value."""
        return int(np.searchsorted(self.thresholds, x))

    def at(self, x: float) -> Float64:
        """Return the contribution of a value, by head."""
        if math.isnan(x):
            return self.missing
        return np.asarray(self.weights[self.interval(x)])

    def mean(self) -> Float64:
        """Return the mean contribution, by head."""
        return weighted_mean(np.vstack([self.weights, self.missing]), np.append(self.rows, self.missing_rows))

    def typical(self) -> tuple[Float64, Float64]:
        """Return a representative value of each interval, and the interval's share of the rows."""
        ends = self.thresholds
        values = np.empty(len(ends) + 1)
        for i, kept in enumerate(self.values):
            if len(kept):
                values[i] = kept.mean()
            else:
                below, above = (ends[i - 1] if i else ends[i]), (ends[i] if i < len(ends) else ends[i - 1])
                values[i] = below / 2 + above / 2
        rows = self.rows if self.rows.any() else self.seen
        total = float(rows.sum()) + self.missing_rows
        return values, rows / total if total > 0 else rows

    def reach(self) -> Float64:
        """Return half the difference between the highest and the lowest step, by head."""
        steps = np.vstack([self.weights, self.missing]) if self.missing_rows > 0 else self.weights
        return np.asarray(np.ptp(steps, axis=0) / 2)


@dataclass(frozen=True)
class Tree:
    """One tree of a member. At a node, a row with low < x <= high goes to child + 1, any other row to child.

    A row with a missing value goes to child. For a text column, x is the number of the feature, counted from 1 in the
    order of the names. The child of a leaf is the leaf itself. A tree of one node has not been split and contributes
    nothing.
    """

    low: Float64
    high: Float64
    column: NDArray[np.int64]
    child: NDArray[np.int64]
    weights: Float64  # [node, head]: the weights of leaves; zero at other nodes
    evidence: Float64  # [node, head]: the sums of squared gradients
    rows: Float64  # [node]: about the number of rows that reached it as a leaf

    def path(self, raw: Float64) -> list[int]:
        """Return the nodes that a row passes."""
        nodes = [0]
        while (child := int(self.child[nodes[-1]])) != nodes[-1]:
            at = nodes[-1]
            x = raw[self.column[at]]
            nodes.append(child + bool(self.low[at] < x <= self.high[at]))
        return nodes

    def below(self) -> tuple[Float64, Float64]:
        """Return the mean weight of the leaves below each node, by head; and about how many rows reached each node."""
        sums = np.column_stack([self.rows[:, None] * self.weights, self.rows])
        for node in range(len(self.child) - 1, -1, -1):  # from the leaves up: children come after their parents
            child = self.child[node]
            if child != node:
                sums[node] = sums[child] + sums[child + 1]
        rows = sums[:, -1]
        means = np.divide(sums[:, :-1], rows[:, None], out=np.zeros_like(self.weights), where=rows[:, None] > 0)
        return means, rows


@dataclass(frozen=True)
class Member:
    """One member of the model: linear terms, curves and trees, with the weights of each head's leading lane.

    Its score is the sum of their contributions, multiplied by the certainty of the linear terms. With softmax, its
    scores are the log odds of each class against the others.
    """

    name: str  # "linear", "curves", "trees", or the name of an added member
    terms: Terms
    curves: dict[int, Curve] = field(default_factory=dict)  # by the number of the raw column
    trees: list[Tree] = field(default_factory=list)
    coupled: bool = False

    def scores(self, sums: Float64, certainty: float) -> Float64:
        """Return the scores of a row, by head, from the sums of its terms and their certainty (`Terms.certainty`)."""
        scores = certainty * sums
        return log_odds(scores) if self.coupled else scores


class FormReading:
    """The state of a model with members as Python objects."""

    def __init__(self, options: Options, candidates: Candidates, state: _core.Snapshot) -> None:
        self.linear = StateReading(options, candidates, state)
        self.options, self.state = options, state
        self._arrays: dict[str, Any] = state["form"]
        self.model_type: str = self._arrays["settled"] or "linear"
        self.heads = _head_count(state)
        self._coupled = LOSSES[options.loss].coupled
        self.columns, self.column_of = raw_columns(state)
        self.missing_of = _missing_features(state, self.columns)
        self.members: list[Member] = [self._member(name) for name in member_names(state)]

    def member(self, name: str) -> Member | None:
        """Return the member with this name; None if the model does not have it."""
        return next((member for member in self.members if member.name == name), None)

    @property
    def mixture(self) -> _core.Mixture | None:
        """The mixture that combines the members' scores to one prediction; None for a single member."""
        return mixture_of(self.state)

    def shares(self) -> dict[str, float]:
        """Return the share of each member in the predictions."""
        return member_shares(self.state)

    def split_feature(self, column: int, low: float) -> Feature:
        """Return the feature that a split of a tree compares: a numeric column, or one value of a text column."""
        if not self.columns[column].text or math.isinf(low):
            return self.columns[column].name
        names = self.state["names"] or []
        return names[int(low + 0.5) - 1]  # the split is low < number <= low + 1

    def importance(self) -> dict[Feature, Float64]:
        """Return the importance of each feature, by head: how far the feature moves the score, in the score's unit.

        The importance in a member is the sum of three parts: |w|·s of the linear term; half the difference between the
        highest and the lowest step of the curve; and for each split of a tree on the feature, half the difference
        between the means of its two sides, times the share of rows that reach the split. The members are averaged by
        their shares in the mixture.
        """
        total: dict[Feature, Float64] = {}

        def add(feature: Feature, amount: Float64) -> None:
            total[feature] = total.get(feature, 0.0) + amount

        shares = self.shares()
        for member in self.members:
            share = shares[member.name]
            for slot, amount in zip(member.terms.slots.tolist(), np.abs(member.terms.in_scales) * share, strict=True):
                add(self.linear.feature(slot), amount)
            for column, curve in member.curves.items():
                add(self.columns[column].name, share * curve.reach())
            for tree in member.trees:
                means, rows = tree.below()
                inner = np.flatnonzero(tree.child != np.arange(len(tree.child)))
                apart = np.abs(means[tree.child[inner] + 1] - means[tree.child[inner]]) / 2
                part = rows[inner] / max(float(rows[0]), sys.float_info.min)
                for node, amount in zip(inner.tolist(), share * apart * part[:, None], strict=True):
                    add(self.split_feature(int(tree.column[node]), float(tree.low[node])), amount)
        return total

    def directions(self) -> dict[Feature, float]:
        """Return w·s of each feature's linear terms in the first head; its sign is the direction of the effect.

        The members are averaged by their shares in the mixture.
        """
        total: dict[Feature, float] = {}
        shares = self.shares()
        for member in self.members:
            moves = member.terms.in_scales[:, 0] * shares[member.name]
            for slot, move in zip(member.terms.slots.tolist(), moves.tolist(), strict=True):
                feature = self.linear.feature(slot)
                total[feature] = total.get(feature, 0.0) + move
        return total

    # -------------------------------------------------------------------------------------------------- from the arrays

    def _numbers(self, name: str, member: str = "") -> Float64:
        """Return an array of the state, by name; `member` is the added member that it belongs to, if any."""
        full = f"{member}.{name}" if member else name
        return np.asarray(self._arrays.get(full, _NONE), dtype=np.float64)

    def _extra(self, name: str) -> Member:
        """Read an added member, which has its own scales and totals (core/engine/state_fields.hpp)."""
        of_lanes = ("v", "H", "scale", "slots", "lane_heads", "lane_rates", "scores")
        own = {key: self._numbers(key, name) for key in (*of_lanes, "average", "average_scale", "t", "averaged_t")}
        extra, t, v = EXTRA_MEMBERS[name], float(own["t"][0]), own["v"]
        rule = extra.rule
        if self.state["kept"] == "averaged":
            kept = Averaged(own["average"], own["average_scale"], float(own["averaged_t"][0]))
            v = in_present_unit(kept, rule, v, own["scale"], t)
        lanes, leaders = len(own["lane_heads"]), self._leaders(own["lane_heads"], own["scores"])
        v, H = (array.reshape(-1, lanes)[:, leaders] for array in (v, own["H"]))
        terms = Terms(rule, self.options.order, t, own["slots"].astype(np.int64), own["scale"], v, H)
        if rule.second_order:
            kept_of, walk = partial(self._numbers, member=name), WALKS[int(own["lane_rates"][leaders[0]])]
            terms = with_doubt(terms, kept_of, leaders[0], walk, LOSSES[self.options.loss])
        several = len(self._numbers("classes.met")) > 0
        return Member(name, terms, coupled=self._coupled or (several and extra.coupled))

    def _leaders(self, lane_heads: NDArray[Any], scores: Float64) -> list[int]:
        return [leader(lane_heads, scores.reshape(-1, 6), head) for head in range(self.heads)]

    def _member(self, name: str) -> Member:
        if name == "linear":
            return Member(name, self.linear.terms(range(self.heads)), coupled=self._coupled)
        return self._extra(name) if name in EXTRA_MEMBERS else self._bent(name)

    def _bent(self, name: str) -> Member:
        """Read a member with curves or trees."""
        own: Any = self.state  # in a model of "curves only" these are the main arrays
        if self.model_type != "curves only":
            own = {key: self._numbers(f"{name}.{key}") for key in ("v", "H", "lane_heads", "scores")}
        lanes, leaders = len(own["lane_heads"]), self._leaders(own["lane_heads"], own["scores"])
        numbers = self._numbers(f"{name}.leaves").astype(np.int64)
        first = self.options.n_trees * self.options.max_leaves if name == "trees" else 0
        size = first + len(self._numbers("curve.leaves")) * (MOST_LEAVES + 1)
        weights, evidence = np.zeros((size, self.heads)), np.zeros((size, self.heads))
        weights[numbers] = self._numbers(f"{name}.weights").reshape(-1, lanes)[:, leaders]
        evidence[numbers] = self._numbers(f"{name}.evidence").reshape(-1, self.heads)
        rows = evidence.sum(axis=1)  # an estimate, for older states without counts of rows
        if len(counted := self._numbers(f"{name}.rows")) and counted.any():
            rows[numbers] = counted
        v, H = (own[key].reshape(-1, lanes)[:, leaders] for key in ("v", "H"))
        return Member(
            name,
            replace(self.linear.terms([]), v=v, H=H),
            self._curves(weights[first:], evidence[first:], rows[first:]),
            self._trees(weights, evidence, rows) if name == "trees" else [],
            coupled=self._coupled,
        )

    def _curves(self, weights: Float64, evidence: Float64, rows: Float64) -> dict[int, Curve]:
        counts = self._numbers("curve.leaves").astype(np.int64)
        places = self._numbers("curve.places").astype(np.int64)
        thresholds, seen = self._numbers("curve.thresholds"), self._numbers("curve.seen")
        values = self._numbers("curve.values").reshape(-1, MOST_LEAVES)
        curves = {}
        leaf = cut = 0
        for column, count in enumerate(counts.tolist()):
            if count == 0:  # a text column
                continue
            here = slice(leaf, leaf + count)
            own = column * (MOST_LEAVES + 1) + places[here]
            missing = column * (MOST_LEAVES + 1) + MISSING
            kept = [row[: int(rows_seen)] for row, rows_seen in zip(values[here], seen[here], strict=True)]
            if count == 1:  # its rows are not counted, and its values are all equal where they were counted off
                rows[own] = max(0.0, float(self.state["t"]) - float(rows[missing]))
                kept = [kept[0] if len(kept[0]) else values[leaf]]
            curves[column] = Curve(
                column,
                thresholds[cut : cut + count - 1],
                weights[own],
                evidence[own],
                rows[own],
                weights[missing],
                float(rows[missing]),
                seen[here],
                kept,
            )
            leaf += count
            cut += count - 1
        return curves

    def _trees(self, weights: Float64, evidence: Float64, rows: Float64) -> list[Tree]:
        low, high = self._numbers("tree.low"), self._numbers("tree.high")
        column, child = (self._numbers(f"tree.{name}").astype(np.int64) for name in ("column", "child"))
        place = self._numbers("tree.place").astype(np.int64)
        trees = []
        first = 0
        for number, leaves in enumerate(self._numbers("tree.sizes").astype(np.int64).tolist()):
            here = slice(first, first + 2 * leaves - 1)
            first = here.stop
            is_leaf = child[here] == np.arange(2 * leaves - 1)
            own = number * self.options.max_leaves + place[here]
            trees.append(
                Tree(
                    low[here],
                    high[here],
                    column[here],
                    child[here],
                    np.where(is_leaf[:, None], weights[own], 0.0),
                    np.where(is_leaf[:, None], evidence[own], 0.0),
                    np.where(is_leaf, rows[own], 0.0),
                )
            )
        return trees


def _head_count(state: _core.Snapshot) -> int:
    return int(state["lane_heads"].max(initial=0)) + 1


def member_names(state: _core.Snapshot) -> list[str]:
    """Return the names of a model's members, in the order of its mixture."""
    arrays = state["form"]
    model_type = arrays["settled"] or "linear"
    bent = [] if model_type == "linear" else [name for name in ("curves", "trees") if f"{name}.leaves" in arrays]
    linear = [] if model_type == "curves only" else ["linear"]
    return [*bent, *linear, *(name for name in EXTRA_MEMBERS if f"{name}.examples" in arrays)]


def mixture_of(state: _core.Snapshot) -> _core.Mixture | None:
    """Return the mixture that combines the members' scores to one prediction; None for a single member."""
    numbers = np.asarray(state["form"].get("mixture", _NONE), dtype=np.float64)
    if not len(numbers):
        return None
    mixture = _core.Mixture(_KINDS[int(numbers[0])], int(numbers[1]))
    mixture.load(numbers)
    return mixture


def member_shares(state: _core.Snapshot) -> dict[str, float]:
    """Return each member's share: the effect of a small change of its score on the prediction, divided by all effects.

    The slots may be missing from `state`.
    """
    names, mixture = member_names(state), mixture_of(state)
    moves = np.ones(len(names)) if mixture is None else np.abs(_moves(state, mixture, len(names)))
    parts = moves / moves.sum() if moves.any() else np.full(len(moves), 1 / len(moves))
    return dict(zip(names, parts.tolist(), strict=True))


def _moves(state: _core.Snapshot, mixture: _core.Mixture, members: int) -> Float64:
    """Return the derivative of the prediction (of the first class) by each member's score, at equal scores."""
    numbers, heads = state["form"]["mixture"], _head_count(state)
    middle, step = 0.0, 2.0**-10
    if int(numbers[0]) == _OF_NUMBERS:  # the prediction is clipped to the range of the labels
        low, high = float(numbers[3]), float(numbers[4])
        if high > low:
            middle, step = low + (high - low) / 2, (high - low) * 2.0**-10
    moves = np.zeros(members)
    for e in range(members):
        up, down = np.full((members, heads), middle), np.full((members, heads), middle)
        up[e, 0] += step
        down[e, 0] -= step
        moves[e] = (mixture.say(up)[0] - mixture.say(down)[0]) / (2 * step)
    return moves


def log_odds(outputs: Float64) -> Float64:
    """Return log odds o_k − log Σ exp(o_j) over the other classes j, from the inputs o of a softmax.

    Example:
        >>> import numpy as np
        >>> log_odds(np.log([0.5, 0.25, 0.25])).round(4).tolist()
        [0.0, -1.0986, -1.0986]
    """
    best = int(np.argmax(outputs))
    below = outputs - outputs[best]
    parts = np.exp(below)
    others = parts.sum() - parts
    others[best] = np.delete(parts, best).sum()  # summed without the largest part, in which the others would be lost
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(below - np.log(others), -CERTAIN, CERTAIN))


def weighted_mean(values: Float64, weights: Float64) -> Float64:
    """Return the weighted mean over the first axis; if all weights are zero, the plain mean."""
    total = float(weights.sum())
    return np.asarray(weights @ values / total if total > 0 else values.mean(axis=0))


def raw_columns(state: _core.Snapshot) -> tuple[list[RawColumn], dict[int, int]]:
    """Return the raw columns, and the raw column of each feature by its number, counted from 1.

    They follow from the features in their order: each column of an array is a raw column; a feature name with "="
    belongs to the text column whose name is the part before the "=".
    """
    columns: list[RawColumn] = []
    column_of: dict[int, int] = {}
    if state["columns"] is not None:
        columns = [RawColumn(j, False) for j in range(min(state["columns"], MOST_COLUMNS))]
        return columns, {1 + j: j for j in range(len(columns))}
    texts: dict[str, int] = {}
    for number, name in enumerate(state["names"] or (), 1):
        column, is_text, value = name.partition("=")
        if is_text and value == MISSING_VALUE:  # NaN in the column itself
            continue
        known = texts.get(column) if is_text else None
        if known is None:
            if len(columns) >= MOST_COLUMNS:
                continue
            known = len(columns)
            columns.append(RawColumn(column if is_text else name, bool(is_text)))
            if is_text:
                texts[column] = known
        column_of[number] = known
    return columns, column_of


def _missing_features(state: _core.Snapshot, columns: list[RawColumn]) -> dict[int, int]:
    """Return the number of the feature of missing values of each raw column that has one, counted from 1."""
    at = {column.name: j for j, column in enumerate(columns)}
    found = {}
    for number, name in enumerate(state["names"] or (), 1):
        column, is_text, value = name.partition("=")
        if is_text and value == MISSING_VALUE and column in at:
            found[at[column]] = number
    return found
