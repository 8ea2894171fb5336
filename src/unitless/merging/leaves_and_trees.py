"""What the curves, trees and mixtures of several models are together.

Members' linear terms are merged as those of linear models are (merged_state). Beyond them:

- A column's curves are laid over each other: the merged curve has the cuts of all, and each of its intervals the mean
  of the models' weights there, by the squared gradients G that stand behind them. Of an interval that a model has not
  cut, it counts by the share of that model's last values. Of too many cuts those go between whose sides there is least.
- Trees that have the same questions are merged leaf by leaf. Those that grew apart have no common leaves: each of the
  64 trees is then taken whole from one of the models, drawn by lot in proportion to their G. So the sum of the trees is
  a mean of the models' sums, up to how far one model's trees differ from each other. The lot is the tree's own, so that
  neither the order of the models matters nor what is merged first.

Nothing here has a unit.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import MergeError
from ..inputs import Float64
from ..models.form_reading import MISSING, MOST_LEAVES, TREE_LEAVES, TREES, RawColumn, raw_columns
from ..options import EnsembleKind
from .slots import Numbers
from .state import Lanes, Part

MEMBERS = ("curves", "trees")
KEPT_LEAVES = 24  # of a merged curve, where no model has more: there is room for it to follow what comes
EACH = MOST_LEAVES + 1  # places for leaves of a column
_FACTS = 6  # numbers about a tree's leaf: weight, square, stage, need, rows, which candidates ask for text

Indices = NDArray[np.intp]


def model_type(states: Sequence[_core.Snapshot]) -> str | None:
    """The model type that all models have settled on; None if none has seen a row."""
    words = [state["form"]["settled"] for state in states if state["examples"]]
    if len(set(words)) > 1:
        raise MergeError(
            f"the models differ in model type: {words[0]!r} and {next(word for word in words if word != words[0])!r}; "
            'with model_type="auto" the first rows settle it: give the model type when the models are made'
        )
    return words[0] if words else next((state["form"]["settled"] for state in states), None)


def settled_ensemble(states: Sequence[_core.Snapshot]) -> EnsembleKind | None:
    """Who learns beside all models; None if none has seen a row."""
    words = [state["ensemble"] for state in states if state["examples"]]
    if len(set(words)) > 1:
        raise MergeError(
            f"the models differ in the members that learn beside them: {words[0]!r} and "
            f"{next(word for word in words if word != words[0])!r}; "
            "with ensemble=True the first rows settle it: give all models the same kind of rows, or use ensemble=False"
        )
    return words[0] if words else next((state["ensemble"] for state in states), None)


@dataclass(frozen=True)
class Heads:
    """An member's lanes in the merged model, and which of a model's lanes and heads stand for them."""

    of_lane: Indices  # merged
    lanes: Indices  # by merged lane: the model's
    heads: Indices  # by merged head: the model's
    leaders: Indices  # by merged head: the merged lane that speaks

    @classmethod
    def of(cls, lanes: Lanes, by_label: list[dict[int, int]], state: _core.Snapshot, scores: Float64) -> Heads:
        of_lane = np.array(lanes.heads, np.intp)
        heads = [int(state["lane_heads"][next(iter(found.values()))]) for found in by_label]
        leaders = []
        for head in range(len(heads)):
            own = np.flatnonzero(of_lane == head)
            leaders.append(own[int(np.argmin(scores[own, 1]))] if len(own) > 1 else own[0])
        return cls(of_lane, np.array(lanes.source(by_label), np.intp), np.array(heads), np.array(leaders))


def member_state(state: _core.Snapshot, name: str) -> _core.Snapshot:
    """The state of a model that were nothing but the linear terms of one of its members."""
    form = state["form"]
    own: dict[str, Any] = {
        **state,
        **{key: form[f"{name}.{key}"] for key in ("v", "H", "scores", "followed")},
        **{key: form[f"{name}.{key}"].astype(np.uint32) for key in ("lane_heads", "lane_rates")},
        "kept": "last",
        "averaged_t": 0.0,
    }
    return own  # type: ignore[return-value]


def member_arrays(name: str, slots: Numbers, part: Part, lanes: Lanes) -> dict[str, Any]:
    """What `member_state` read, of the merged model."""
    _, H, v = slots
    return {
        f"{name}.v": v.ravel(),
        f"{name}.H": H.ravel(),
        f"{name}.lane_heads": np.array(lanes.heads, np.float64),
        f"{name}.lane_rates": np.array(lanes.rates, np.float64),
        f"{name}.scores": part.scores.ravel(),
        f"{name}.followed": part.followed,
    }


@dataclass(frozen=True)
class Leaves:
    """The leaves of one model's member, in its own numbers but the lanes and heads of the merged model."""

    weights: Float64  # [leaf][lane]
    evidence: Float64  # [leaf][head]
    rows: Float64  # [leaf]

    @classmethod
    def of(cls, form: dict[str, Any], member: str, heads: Heads, columns: int) -> Leaves:
        numbers = form.get(f"{member}.leaves", np.zeros(0)).astype(np.intp)
        first = first_curve_leaf(member)
        weights = np.zeros((first + columns * EACH, len(heads.lanes)))
        evidence = np.zeros((first + columns * EACH, len(heads.heads)))
        rows = np.zeros(first + columns * EACH)
        if len(numbers):
            count = len(numbers)
            weights[numbers] = form[f"{member}.weights"].reshape(count, -1)[:, heads.lanes]
            evidence[numbers] = form[f"{member}.evidence"].reshape(count, -1)[:, heads.heads]
            rows[numbers] = form[f"{member}.rows"]
        return cls(weights, evidence, rows)

    def arrays(self, member: str) -> dict[str, Any]:
        """As a state has them: those that were ever other than zero."""
        used = np.flatnonzero((self.evidence != 0).any(axis=1) | (self.weights != 0).any(axis=1) | (self.rows != 0))
        return {
            f"{member}.leaves": used.astype(np.float64),
            f"{member}.weights": self.weights[used].ravel(),
            f"{member}.evidence": self.evidence[used].ravel(),
            f"{member}.rows": self.rows[used],
        }


def first_curve_leaf(member: str) -> int:
    """The leaves of curves come after those of trees."""
    return TREES * TREE_LEAVES if member == "trees" else 0


@dataclass(frozen=True)
class Cuts:
    """A column's curve in one model: intervals in their order."""

    thresholds: Float64
    places: Indices
    seen: Float64
    values: Float64  # [interval][the last values, as they stand in memory]

    def known(self, interval: int) -> Float64:
        """Of the values kept, those that fell into the interval since it was made."""
        return np.asarray(self.values[interval, : int(min(self.seen[interval], MOST_LEAVES))])


class Shaped:
    """One model's form."""

    def __init__(self, state: _core.Snapshot, members: dict[str, Heads], numbering: Indices) -> None:
        self.form = form = state["form"]
        self.members = members
        self.numbering = numbering  # of the model's features: what they are in the merged model
        self.columns, _ = raw_columns(state)
        self.leaves = {
            name: Leaves.of(form, name, heads, max(len(self.columns), len(form.get("curve.leaves", ()))))
            for name, heads in members.items()
        }
        self.curves = self._curves()
        self.trees = _Forest(form, self) if "trees" in members else None

    def _curves(self) -> list[Cuts | None]:
        form = self.form
        counts = form.get("curve.leaves", np.zeros(0)).astype(np.intp).tolist()
        curves: list[Cuts | None] = []
        leaf = cut = 0
        for count in counts:
            here = slice(leaf, leaf + count)
            own = Cuts(
                form["curve.thresholds"][cut : cut + max(count - 1, 0)],
                form["curve.places"][here].astype(np.intp),
                form["curve.seen"][here],
                form["curve.values"].reshape(-1, MOST_LEAVES)[here],
            )
            curves.append(own if count else None)
            leaf, cut = leaf + count, cut + max(count - 1, 0)
        return curves + [None] * (len(self.columns) - len(curves))


def combined_shape(
    settled: str,
    columns: list[RawColumn],
    parts: list[Shaped],
    base: Shaped | None,
) -> dict[str, Any]:
    """The arrays of the merged model, but for the lanes of its members."""
    members = parts[0].members
    merged = {
        name: Leaves(
            np.zeros((first_curve_leaf(name) + len(columns) * EACH, len(heads.lanes))),
            np.zeros((first_curve_leaf(name) + len(columns) * EACH, len(heads.heads))),
            np.zeros(first_curve_leaf(name) + len(columns) * EACH),
        )
        for name, heads in members.items()
    }
    everyone = [*parts, *([base] if base else [])]
    found = [{column: c for c, column in enumerate(model.columns)} for model in everyone]
    counts, curves = [], []
    for j, column in enumerate(columns):
        own = [(model, at[column]) for model, at in zip(everyone, found, strict=True) if column in at]
        curve = None if column.text else _merged_curve(j, own, base, merged)
        counts.append(0 if curve is None else len(curve.places))
        if curve is not None:
            curves.append(curve)
    form: dict[str, Any] = {"settled": settled}
    form["curve.leaves"] = np.array(counts, np.float64)
    for name, key in (("thresholds", "thresholds"), ("places", "places"), ("seen", "seen"), ("values", "values")):
        arrays = [np.asarray(getattr(curve, key), np.float64).ravel() for curve in curves]
        form[f"curve.{name}"] = np.concatenate([np.zeros(0), *arrays])
    if "trees" in members:
        form |= _merged_trees(columns, parts, base, merged["trees"])
    for name, leaves in merged.items():
        form |= leaves.arrays(name)
    return form


# ------------------------------------------------------------------------------------------------------------- weights


def _together(
    weights: list[Float64], evidence: list[Float64], start: Float64 | None, of_lane: Indices
) -> tuple[Float64, Float64]:
    """The weights [leaf][lane] by what their evidence [leaf][head] has gained since a start, and the evidence."""
    gains = [one if start is None else np.maximum(one - start, 0.0) for one in evidence]
    gained = np.asarray(sum(gains))
    # Where nobody has learned anything new, they agree.
    by = [np.where(gained > 0, gain, one)[:, of_lane] for gain, one in zip(gains, evidence, strict=True)]
    total = np.asarray(sum(by))
    mean = sum(
        np.divide(part, total, out=np.zeros_like(total), where=total > 0) * w
        for part, w in zip(by, weights, strict=True)
    )
    mean = np.where(total > 0, mean, np.asarray(sum(weights)) / len(weights))
    if len(weights) == 1:
        mean = weights[0]
    if start is None:
        return np.asarray(mean), gained
    return np.asarray(mean), np.maximum(start + gained, np.max(evidence, axis=0))


def _counted(counts: list[Any], start: Any) -> Any:
    """How many there are in all, where everyone has counted a start."""
    total = np.sum(counts, axis=0)
    return total if start is None else np.maximum(total - (len(counts) - 1) * start, 0.0)


# -------------------------------------------------------------------------------------------------------------- curves


def _merged_curve(j: int, own: list[tuple[Shaped, int]], base: Shaped | None, merged: dict[str, Leaves]) -> Cuts:
    """Column j's curve; the leaves' weights go to `merged`. `own`: the models that know the column, and as which."""
    parts = [(model, c) for model, c in own if model is not base]
    start = next(((model, c) for model, c in own if model is base), None)
    if not parts:
        return Cuts(np.zeros(0), np.zeros(1, np.intp), np.zeros(1), np.zeros((1, MOST_LEAVES)))
    for name, to in merged.items():  # of values missing
        first = first_curve_leaf(name)
        at = [first + c * EACH + MISSING for _, c in parts]
        leaves = [model.leaves[name] for model, _ in parts]
        before = None if start is None else start[0].leaves[name].evidence[[first + start[1] * EACH + MISSING]]
        place = first + j * EACH + MISSING
        known = None if start is None else start[0].leaves[name].rows[first + start[1] * EACH + MISSING]
        to.rows[place] = _counted([one.rows[k] for one, k in zip(leaves, at, strict=True)], known)
        to.weights[[place]], to.evidence[[place]] = _together(
            [one.weights[[k]] for one, k in zip(leaves, at, strict=True)],
            [one.evidence[[k]] for one, k in zip(leaves, at, strict=True)],
            before,
            parts[0][0].members[name].of_lane,
        )
    curves = [(model, c, model.curves[c]) for model, c in parts]
    cut = [(model, c, curve) for model, c, curve in curves if curve is not None and len(curve.places) > 1]
    if len(cut) == 1:  # the others have nothing to say of it
        model, c, curve = cut[0]
        for name, to in merged.items():
            first, count = first_curve_leaf(name), len(curve.places)
            here, there = first + c * EACH + np.arange(count), first + j * EACH + np.arange(count)
            to.weights[there], to.evidence[there] = model.leaves[name].weights[here], model.leaves[name].evidence[here]
            to.rows[there] = model.leaves[name].rows[here]
        return curve
    if not cut:
        rings = [curve for _, _, curve in curves if curve is not None]
        if len(rings) == 1:
            return rings[0]
        total = sum(float(curve.seen[0]) for curve in rings)
        kept, seen = _ring([curve.known(0) for curve in rings], total)
        return Cuts(np.zeros(0), np.zeros(1, np.intp), np.array([seen]), kept[None])
    grid = _Grid(cut, start, merged)
    grid.prune(max(KEPT_LEAVES, *(len(curve.places) for _, _, curve in cut)))
    return grid.place(j, merged)


class _Grid:
    """The intervals of several curves laid over each other."""

    def __init__(
        self,
        cut: list[tuple[Shaped, int, Cuts]],
        start: tuple[Shaped, int] | None,
        members: dict[str, Leaves],
    ) -> None:
        self.thresholds = np.unique(np.concatenate([curve.thresholds for _, _, curve in cut]))
        self.heads = cut[0][0].members
        pieces = [self._pieces(curve) for _, _, curve in cut]
        base = None if start is None else start[0].curves[start[1]]
        at_start = self._pieces(base) if start is not None and base is not None and len(base.places) > 1 else None
        self.leaves: dict[str, tuple[Float64, Float64]] = {}
        self.rows: dict[str, Float64] = {}
        for name in members:
            weights, evidence, rows = [], [], []
            for (model, c, curve), (interval, share) in zip(cut, pieces, strict=True):
                at = first_curve_leaf(name) + c * EACH + curve.places[interval]
                weights.append(model.leaves[name].weights[at])
                evidence.append(model.leaves[name].evidence[at] * share[:, None])
                rows.append(model.leaves[name].rows[at] * share)
            before = known = None
            if at_start is not None and start is not None and base is not None:
                interval, share = at_start
                at = first_curve_leaf(name) + start[1] * EACH + base.places[interval]
                before = start[0].leaves[name].evidence[at] * share[:, None]
                known = start[0].leaves[name].rows[at] * share
            self.rows[name] = _counted(rows, known)
            self.leaves[name] = _together(weights, evidence, before, self.heads[name].of_lane)
        self.seen = np.sum(
            [curve.seen[interval] * share for (_, _, curve), (interval, share) in zip(cut, pieces, strict=True)],
            axis=0,
        )
        if base is not None and at_start is not None:
            again = (len(cut) - 1) * base.seen[at_start[0]] * at_start[1]
            self.seen = np.maximum(self.seen - again, 0.0)
        self.values: list[Float64] = []
        for i in range(len(self.thresholds) + 1):
            here = [
                self._within(curve.known(int(interval[i])), i)
                for (_, _, curve), (interval, _) in zip(cut, pieces, strict=True)
            ]
            self.values.append(np.sort(np.concatenate(here)))

    def _within(self, values: Float64, i: int) -> Float64:
        return np.asarray(values[np.searchsorted(self.thresholds, values) == i])

    def _pieces(self, curve: Cuts) -> tuple[Indices, Float64]:
        """By interval: which one of the curve's it is a part of, and how large a part by the values kept."""
        ends = np.append(self.thresholds, np.inf)
        interval = np.searchsorted(curve.thresholds, ends)
        share = np.ones(len(ends))
        for leaf in range(len(curve.places)):
            mine = np.flatnonzero(interval == leaf)
            if len(mine) > 1:
                at = np.searchsorted(self.thresholds, curve.known(leaf))
                rows = np.array([np.count_nonzero(at == i) for i in mine]) + 0.5
                share[mine] = rows / rows.sum()
        return interval, share

    def prune(self, most: int) -> None:
        """Joins neighbours whose predictions are the least apart, by their evidence, until there are few enough."""
        while len(self.thresholds) >= most:
            cost = np.zeros(len(self.thresholds))
            for name, (weights, evidence) in self.leaves.items():
                speaking = weights[:, self.heads[name].leaders]
                left, right = evidence[:-1], evidence[1:]
                both = np.divide(left * right, left + right, out=np.zeros_like(left), where=left + right > 0)
                cost += (both * (speaking[1:] - speaking[:-1]) ** 2).sum(axis=1)
            self._join(int(np.argmin(cost)))

    def _join(self, i: int) -> None:
        self.thresholds = np.delete(self.thresholds, i)
        for name, (weights, evidence) in self.leaves.items():
            w, G = _together(
                [weights[[i]], weights[[i + 1]]], [evidence[[i]], evidence[[i + 1]]], None, self.heads[name].of_lane
            )
            weights[i], evidence[i] = w[0], G[0]
            self.leaves[name] = np.delete(weights, i + 1, axis=0), np.delete(evidence, i + 1, axis=0)
            self.rows[name][i] += self.rows[name][i + 1]
            self.rows[name] = np.delete(self.rows[name], i + 1)
        self.seen[i] += self.seen[i + 1]
        self.seen = np.delete(self.seen, i + 1)
        self.values[i] = np.sort(np.concatenate([self.values[i], self.values.pop(i + 1)]))

    def place(self, j: int, merged: dict[str, Leaves]) -> Cuts:
        """The curve as column j of the merged model."""
        count = len(self.thresholds) + 1
        for name, (weights, evidence) in self.leaves.items():
            there = first_curve_leaf(name) + j * EACH + np.arange(count)
            merged[name].weights[there], merged[name].evidence[there] = weights, evidence
            merged[name].rows[there] = self.rows[name]
        rings = [_ring([values], float(seen)) for values, seen in zip(self.values, self.seen, strict=True)]
        return Cuts(
            self.thresholds,
            np.arange(count),
            np.array([seen for _, seen in rings]),
            np.array([values for values, _ in rings]),
        )


def _ring(values: list[Float64], seen: float) -> tuple[Float64, float]:
    """The values that a leaf keeps of those that several kept, and how many it has seen: of too many, every so-many-th
    in their order; with too few it waits for more.
    """
    pool = np.sort(np.concatenate(values))
    if len(pool) < MOST_LEAVES:
        return np.concatenate([pool, np.zeros(MOST_LEAVES - len(pool))]), float(len(pool))
    at = (np.arange(MOST_LEAVES) * 2 + 1) * len(pool) // (2 * MOST_LEAVES)
    return pool[at], max(math.floor(seen), MOST_LEAVES)


# --------------------------------------------------------------------------------------------------------------- trees


@dataclass(frozen=True)
class _Tree:
    """One tree, its columns and texts numbered as in the merged model."""

    low: Float64
    high: Float64
    column: Float64
    child: Float64
    place: Float64
    random: Float64
    facts: Float64  # [leaf][...]
    sums: Float64
    watched: Float64  # [leaf][candidate][...]; none of a tree that is full
    weights: Float64  # [leaf][lane]
    evidence: Float64  # [leaf][head]
    counts: Float64  # [leaf]: rows

    @property
    def questions(self) -> bytes:
        """What two trees must have in common to be merged leaf by leaf."""
        return b"".join(one.tobytes() for one in (self.low, self.high, self.column, self.child, self.place))

    @property
    def lot(self) -> float:
        """A number between 0 and 1 that is the tree's own, whatever the units and the order of columns."""
        own = b"".join(one.tobytes() for one in (self.random, self.child, self.place))
        number = int.from_bytes(hashlib.blake2b(own, digest_size=8).digest(), "little")
        return (number + 0.5) / 2.0**64


class _Forest:
    """A model's trees, as they stand in its arrays."""

    def __init__(self, form: dict[str, Any], model: Shaped) -> None:
        self._model, self._form = model, form
        sizes = form.get("tree.sizes", np.zeros(0)).astype(np.intp)
        self.sizes = sizes
        self.candidates = int(form["tree.candidates"][0]) if len(sizes) else 0
        self.unit = float(form["tree.unit"][0]) if len(sizes) else 0.0  # of residuals
        self._nodes = np.concatenate([[0], np.cumsum(2 * sizes - 1)])
        self._leaves = np.concatenate([[0], np.cumsum(sizes)])
        self._growing = np.concatenate([[0], np.cumsum(np.where(sizes < TREE_LEAVES, sizes, 0))])

    def tree(
        self, number: int, columns: Indices, texts: NDArray[np.bool_], candidates: int, unit: float, width: int
    ) -> _Tree:
        """A tree with the merged model's numbers of columns; `texts`: which of the model's own are of text."""
        form, size = self._form, int(self.sizes[number])
        nodes = slice(self._nodes[number], self._nodes[number + 1])
        leaves = slice(self._leaves[number], self._leaves[number + 1])
        growing = slice(self._growing[number], self._growing[number + 1])
        heads = self._model.members["trees"].heads
        same = bool((heads == np.arange(len(heads))).all()) and self.candidates == candidates
        own = 3 + len(form["tree.sums"]) // max(1, int(self._leaves[-1]))
        facts = form["tree.facts"].reshape(-1, _FACTS)[leaves].copy()
        column, low, high = (form[f"tree.{name}"][nodes].copy() for name in ("column", "low", "high"))
        child = form["tree.child"][nodes]
        inner = child != np.arange(len(child))
        self._renumber(column, low, high, columns, texts, inner)
        if same:
            ratio = self.unit / unit if unit > 0 else 1.0
            facts[:, 1] *= ratio * ratio
            sums = form["tree.sums"].reshape(-1, own - 3)[leaves] * ratio
            watched = form["tree.watched"].reshape(-1, candidates, own)[growing].copy()
            watched[:, :, 3:] *= ratio
            of, lows = watched[:, :, 1].ravel(), watched[:, :, 0].ravel()
            self._renumber(of, lows, np.full(len(of), np.inf), columns, texts, np.ones(len(of), bool))
            watched[:, :, 1], watched[:, :, 0] = (one.reshape(watched.shape[:2]) for one in (of, lows))
        else:
            facts[:, [0, 1, 2, 4, 5]] = 0.0
            sums = np.zeros((size, width))
            watched = np.zeros((size if size < TREE_LEAVES else 0, candidates, 3 + width))
        at = number * TREE_LEAVES + np.arange(size)
        place, random = form["tree.place"][nodes], form["tree.random"][2 * number : 2 * number + 2]
        of_leaves = self._model.leaves["trees"]
        return _Tree(
            *(low, high, column, child, place, random, facts, sums, watched),
            *(of_leaves.weights[at], of_leaves.evidence[at], of_leaves.rows[at]),
        )

    def _renumber(
        self, column: Float64, low: Float64, high: Float64, columns: Indices, texts: NDArray[np.bool_], where: Any
    ) -> None:
        """In place: columns, and of columns of text the features between `low` and `high`."""
        own = column.astype(np.intp)
        text = where & texts[own] if len(texts) else where & False
        column[where] = columns[own[where]]
        if not text.any():
            return
        for bound, side in ((low, 0.5), (high, -0.5)):
            number = np.where(np.isfinite(bound), bound, 0.0)
            half = number != np.floor(number)
            feature = np.where(half, number + side, number).astype(np.intp)
            moved = self._model.numbering[np.where(text, feature, 0)] - np.where(half, side, 0.0)
            bound[:] = np.where(text & np.isfinite(bound), moved, bound)


def _merged_trees(columns: list[RawColumn], parts: list[Shaped], base: Shaped | None, merged: Leaves) -> dict[str, Any]:
    forests = [model for model in [*parts, *([base] if base else [])] if model.trees and len(model.trees.sizes)]
    names = ("sizes", "random", "low", "high", "column", "child", "place", "facts", "sums", "watched")
    if not forests:
        return {
            "tree.candidates": np.zeros(1),
            "tree.unit": np.zeros(1),
            **{f"tree.{name}": np.zeros(0) for name in names},
        }
    place = {column: k for k, column in enumerate(columns)}
    candidates = max(model.trees.candidates for model in forests if model.trees)
    unit = max(model.trees.unit for model in forests if model.trees)
    first = forests[0]
    width = len(first.form["tree.sums"]) // int(first.trees.sizes.sum()) if first.trees else 1
    own_columns = {id(model): np.array([place[column] for column in model.columns], np.intp) for model in forests}
    texts = {id(model): np.array([column.text for column in model.columns], bool) for model in forests}
    lists: dict[str, list[Any]] = {name: [] for name in names}
    of_lane = parts[0].members["trees"].of_lane
    for number in range(TREES):

        def tree(model: Shaped, number: int = number) -> _Tree:
            assert model.trees is not None
            return model.trees.tree(number, own_columns[id(model)], texts[id(model)], candidates, unit, width)

        start = tree(base) if base is not None and any(model is base for model in forests) else None
        chosen = _one_tree([tree(model) for model in forests if model is not base], start, of_lane)
        size = len(chosen.facts)
        at = number * TREE_LEAVES + np.arange(size)
        merged.weights[at], merged.evidence[at], merged.rows[at] = chosen.weights, chosen.evidence, chosen.counts
        lists["sizes"].append([float(size)])
        for name in names[1:]:
            lists[name].append(np.asarray(getattr(chosen, name)).ravel())
    arrays = {f"tree.{name}": np.concatenate([np.zeros(0), *values]) for name, values in lists.items()}
    return {"tree.candidates": np.array([float(candidates)]), "tree.unit": np.array([unit]), **arrays}


def _one_tree(trees: list[_Tree], start: _Tree | None, of_lane: Indices) -> _Tree:
    """One tree of several that stand at the same place."""
    before = 0.0 if start is None else float(start.evidence.sum())

    def gained(tree: _Tree) -> float:
        return max(float(tree.evidence.sum()) - before, 0.0)

    heard = [tree for tree in trees if gained(tree) > 0] or trees[:1]
    if len(heard) == 1:
        return heard[0]
    heard.sort(key=lambda tree: (tree.lot, tree.weights.tobytes()))
    since = start.evidence if start is not None and start.questions == heard[0].questions else None
    if len({tree.questions for tree in heard}) == 1:
        weights, evidence = _together(
            [tree.weights for tree in heard], [tree.evidence for tree in heard], since, of_lane
        )
        counts = _counted([tree.counts for tree in heard], None if since is None or start is None else start.counts)
        return replace(heard[0], weights=weights, evidence=evidence, counts=counts)
    return min(heard, key=lambda tree: -math.log(tree.lot) / gained(tree))  # won as often as there is evidence
