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
from ..rates import WALKS, Candidates
from .by_feature import Averaged, StateReading, in_present_unit, leader
from .extra_members import EXTRA_MEMBERS
from .model import Feature
from .second_order import with_doubt
from .terms import Terms

MOST_COLUMNS = 1024  # names beyond have no raw column
MOST_LEAVES = 32  # of a curve; it keeps as many values of each
MISSING = MOST_LEAVES  # the place of the leaf of values missing

CERTAIN = 34.538776394910684  # log 1e15: the largest log odds of a class

_KINDS = ("logistic", "squared", "classes", "other")  # of mixtures, as the core names them
_OF_NUMBERS = 1
_NONE: Float64 = np.zeros(0)


@dataclass(frozen=True)
class RawColumn:
    """A column of the data: numbers, or text, each value of which is a feature."""

    name: Feature
    text: bool


@dataclass(frozen=True)
class Curve:
    """The steps of one column of numbers in one member, as the leading lane of each head has them.

    Interval i is thresholds[i-1] < x <= thresholds[i]; there is one more than there are thresholds. While there is but
    one, the column has not been cut, and its weight is zero.
    """

    column: int
    thresholds: Float64  # rising
    weights: Float64  # [interval, head]
    evidence: Float64  # [interval, head]: the sum of squared gradients
    rows: Float64  # by interval: about how many rows fell into it
    missing: Float64  # [head]: the weight of a value that is not there
    missing_evidence: Float64  # [head]
    missing_rows: float
    seen: Float64  # by interval: values since it was made
    values: list[Float64]  # by interval: the last of those, up to 32

    def interval(self, x: float) -> int:
        """Where a value falls."""
        return int(np.searchsorted(self.thresholds, x))

    def at(self, x: float) -> Float64:
        """What the curve adds for a value, by head."""
        if math.isnan(x):
            return self.missing
        return np.asarray(self.weights[self.interval(x)])

    def mean(self) -> Float64:
        """What it has added on average, by head."""
        return weighted_mean(np.vstack([self.weights, self.missing]), np.append(self.rows, self.missing_rows))

    def typical(self) -> tuple[Float64, Float64]:
        """By interval: a value that stands for it, and the part of all rows that it has."""
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
        """Half of what lies between its lowest and its highest step, by head."""
        steps = np.vstack([self.weights, self.missing]) if self.missing_rows > 0 else self.weights
        return np.asarray(np.ptp(steps, axis=0) / 2)


@dataclass(frozen=True)
class Tree:
    """One tree of a member. A row with low < x <= high goes from a node to child + 1, another one to child.

    A row whose value is missing goes to child. For a column of text, x is the number of the feature, counted from 1 in
    the order of names. The child of a leaf is the leaf itself. A tree of one node has not been split and adds nothing.
    """

    low: Float64
    high: Float64
    column: NDArray[np.int64]
    child: NDArray[np.int64]
    weights: Float64  # [node, head]: of leaves; of other nodes zero
    evidence: Float64  # [node, head], likewise
    rows: Float64  # by node: about how many rows came to that leaf

    def path(self, raw: Float64) -> list[int]:
        """The nodes that a row goes through."""
        nodes = [0]
        while (child := int(self.child[nodes[-1]])) != nodes[-1]:
            at = nodes[-1]
            x = raw[self.column[at]]
            nodes.append(child + bool(self.low[at] < x <= self.high[at]))
        return nodes

    def below(self) -> tuple[Float64, Float64]:
        """The mean of the weights of the leaves below, by node and head; and about how many rows came to each node."""
        sums = np.column_stack([self.rows[:, None] * self.weights, self.rows])
        for node in range(len(self.child) - 1, -1, -1):  # children come after their parents
            child = self.child[node]
            if child != node:
                sums[node] = sums[child] + sums[child + 1]
        rows = sums[:, -1]
        means = np.divide(sums[:, :-1], rows[:, None], out=np.zeros_like(self.weights), where=rows[:, None] > 0)
        return means, rows


@dataclass(frozen=True)
class Member:
    """A model of its own: the sum of linear terms, curves and trees, as the leading lane of each head has them.

    Its score is the sum, multiplied by the certainty of its terms; with softmax, the log odds of each class against the
    others.
    """

    name: str  # "linear", "curves", "trees", or that of its ensemble
    terms: Terms
    curves: dict[int, Curve] = field(default_factory=dict)  # by raw column
    trees: list[Tree] = field(default_factory=list)
    coupled: bool = False

    def scores(self, sums: Float64, certainty: float) -> Float64:
        """The scores of a row, by head, from the sums of its terms and their certainty (`Terms.certainty`)."""
        said = certainty * sums
        return log_odds(said) if self.coupled else said


class FormReading:
    """A model's state as plain objects."""

    def __init__(self, options: Options, candidates: Candidates, state: _core.Snapshot) -> None:
        self.linear = StateReading(options, candidates, state)
        self.options, self.state = options, state
        self._arrays: dict[str, Any] = state["form"]
        self.model_type: str = self._arrays["settled"] or "linear"
        self.heads = _head_count(state)
        self._coupled = LOSSES[options.loss].coupled
        self.columns, self.column_of = raw_columns(state)
        self.members: list[Member] = [self._member(name) for name in member_names(state)]

    def member(self, name: str) -> Member | None:
        """The member of that name, if there is one."""
        return next((member for member in self.members if member.name == name), None)

    @property
    def mixture(self) -> _core.Mixture | None:
        """What makes one prediction of the members' scores; of one member there is none."""
        return mixture_of(self.state)

    def shares(self) -> dict[str, float]:
        """The share of each member in the predictions."""
        return member_shares(self.state)

    def asked(self, column: int, low: float) -> Feature:
        """What a question of a tree is about: a column of numbers, or one value of a column of text."""
        if not self.columns[column].text or math.isinf(low):
            return self.columns[column].name
        names = self.state["names"] or []
        return names[int(low + 0.5) - 1]  # the question is whether low < number <= low + 1

    def importance(self) -> dict[Feature, Float64]:
        """By feature and head: how far the feature moves the prediction. It has no unit of the feature's.

        Of each member |w|·s of the linear term, half of what lies between the lowest and the highest step of the curve,
        and half of what each question of a tree sets apart, by the part of the rows that it is asked; of all members
        the mean by their shares in the mixture.
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
                    add(self.asked(int(tree.column[node]), float(tree.low[node])), amount)
        return total

    def directions(self) -> dict[Feature, float]:
        """By feature: whether its linear terms move the prediction up or down, the mean of w·s by the members' shares.

        Of the first head.
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

    def _numbers(self, name: str, beside: str = "") -> Float64:
        """An array, by name; of one beside the linear one, if that is named too."""
        full = f"{beside}.{name}" if beside else name
        return np.asarray(self._arrays.get(full, _NONE), dtype=np.float64)

    def _extra(self, name: str) -> Member:
        """An engine next to the linear one, with scales and totals of its own (core/engine/state_fields.hpp)."""
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
            kept_of, walk = partial(self._numbers, beside=name), WALKS[int(own["lane_rates"][leaders[0]])]
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
        """One with curves or trees."""
        own: Any = self.state  # of "curves only" the lanes are the main ones
        if self.model_type != "curves only":
            own = {key: self._numbers(f"{name}.{key}") for key in ("v", "H", "lane_heads", "scores")}
        lanes, leaders = len(own["lane_heads"]), self._leaders(own["lane_heads"], own["scores"])
        numbers = self._numbers(f"{name}.leaves").astype(np.int64)
        first = self.options.n_trees * self.options.max_leaves if name == "trees" else 0
        size = first + len(self._numbers("curve.leaves")) * (MOST_LEAVES + 1)
        weights, evidence = np.zeros((size, self.heads)), np.zeros((size, self.heads))
        weights[numbers] = self._numbers(f"{name}.weights").reshape(-1, lanes)[:, leaders]
        evidence[numbers] = self._numbers(f"{name}.evidence").reshape(-1, self.heads)
        rows = evidence.sum(axis=1)  # an estimate, for states without counts of rows
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
            if count == 0:  # text
                continue
            here = slice(leaf, leaf + count)
            own = column * (MOST_LEAVES + 1) + places[here]
            missing = column * (MOST_LEAVES + 1) + MISSING
            kept = [row[: int(rows_seen)] for row, rows_seen in zip(values[here], seen[here], strict=True)]
            curves[column] = Curve(
                column,
                thresholds[cut : cut + count - 1],
                weights[own],
                evidence[own],
                rows[own],
                weights[missing],
                evidence[missing],
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
    """The members of a model, in the order of its mixture."""
    arrays = state["form"]
    model_type = arrays["settled"] or "linear"
    bent = [] if model_type == "linear" else [name for name in ("curves", "trees") if f"{name}.leaves" in arrays]
    linear = [] if model_type == "curves only" else ["linear"]
    return [*bent, *linear, *(name for name in EXTRA_MEMBERS if f"{name}.examples" in arrays)]


def mixture_of(state: _core.Snapshot) -> _core.Mixture | None:
    """What makes one prediction of the members' scores; of one member there is none."""
    numbers = np.asarray(state["form"].get("mixture", _NONE), dtype=np.float64)
    if not len(numbers):
        return None
    mixture = _core.Mixture(_KINDS[int(numbers[0])], int(numbers[1]))
    mixture.load(numbers)
    return mixture


def member_shares(state: _core.Snapshot) -> dict[str, float]:
    """The share of each member: the effect of a small change of its score on the prediction, relative to all members.

    `state` may lack the slots.
    """
    names, mixture = member_names(state), mixture_of(state)
    moves = np.ones(len(names)) if mixture is None else np.abs(_moves(state, mixture, len(names)))
    parts = moves / moves.sum() if moves.any() else np.full(len(moves), 1 / len(moves))
    return dict(zip(names, parts.tolist(), strict=True))


def _moves(state: _core.Snapshot, mixture: _core.Mixture, members: int) -> Float64:
    """The derivative of the prediction by each member's score (of the first class), where all scores are equal."""
    numbers, heads = state["form"]["mixture"], _head_count(state)
    middle, step = 0.0, 2.0**-10
    if int(numbers[0]) == _OF_NUMBERS:  # within the labels, beyond which nothing moves
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
    """Scores from what the softmax is taken of, one for each class: o_k − log Σ exp(o_j) over the others.

    Example:
        >>> import numpy as np
        >>> log_odds(np.log([0.5, 0.25, 0.25])).round(4).tolist()
        [0.0, -1.0986, -1.0986]
    """
    best = int(np.argmax(outputs))
    below = outputs - outputs[best]
    parts = np.exp(below)
    others = parts.sum() - parts
    others[best] = np.delete(parts, best).sum()  # without the 1 that would hide them
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(below - np.log(others), -CERTAIN, CERTAIN))


def weighted_mean(values: Float64, weights: Float64) -> Float64:
    """The mean over the first axis; without any weight, that of equal ones."""
    total = float(weights.sum())
    return np.asarray(weights @ values / total if total > 0 else values.mean(axis=0))


def raw_columns(state: _core.Snapshot) -> tuple[list[RawColumn], dict[int, int]]:
    """The raw columns, and that of each feature by its number, counted from 1.

    They follow from the features in their order: columns of arrays are their own, a name with "=" belongs to the column
    of text that is the part before it.
    """
    columns: list[RawColumn] = []
    column_of: dict[int, int] = {}
    if state["columns"] is not None:
        columns = [RawColumn(j, False) for j in range(min(state["columns"], MOST_COLUMNS))]
        return columns, {1 + j: j for j in range(len(columns))}
    texts: dict[str, int] = {}
    for number, name in enumerate(state["names"] or (), 1):
        column, is_text, value = name.partition("=")
        if is_text and value == MISSING_VALUE:  # which is not-a-number in the column itself
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
