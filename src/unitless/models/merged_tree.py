"""One tree of several that grew apart.

Laid over each other, trees cut the space into more pieces than one tree may have leaves. So the merged tree asks the
questions of all of them, first those behind which there is most to tell apart, until its leaves are used up; what is
not asked is averaged. As long as there are leaves enough, the merged tree is exactly the mean of the trees.

How much of a leaf lies within a piece is estimated from the share of each column's values there, as if columns did not
depend on each other within the leaf. Only the order of values matters for that.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64

Indices: TypeAlias = NDArray[np.intp]
Values: TypeAlias = dict[int, tuple[Float64, Float64]]  # by column of numbers: values in their order, and weights

_TOUCH = 1e-6  # the weight of a threshold itself, so that no interval is empty


@dataclass(frozen=True)
class Grown:
    """A tree. A node asks whether low < x <= high: if so on to the node after its child, else to its child. The child
    of a leaf is the leaf itself.
    """

    low: Float64
    high: Float64
    column: Indices
    child: Indices
    place: Indices  # of a leaf, among the leaves
    weights: Float64  # [leaf][lane]
    evidence: Float64  # [leaf][head]
    rows: Float64  # [leaf]

    @property
    def inner(self) -> Indices:
        """The nodes that ask."""
        return np.flatnonzero(self.child != np.arange(len(self.child)))


def joined(trees: Sequence[Grown], shares: Float64, values: Values, most: int) -> Grown:
    """The mean of trees by their shares, with at most so many leaves. Evidence adds up."""
    line = _Line(trees, values)
    sides = [_Side(tree, k, line) for k, tree in enumerate(trees)]
    whole = _Piece([side.all() for side in sides], np.zeros(line.count), np.ones(line.count))
    low, high, column, child, place = [np.inf], [np.inf], [0], [0], [0]
    leaves = [whole]  # by place
    node_of = [0]
    waiting: list[tuple[float, int, int, int]] = []  # potential, dimension, side, place

    def watch(at: int) -> None:
        if (best := _best(leaves[at], sides, shares)) is not None:
            heapq.heappush(waiting, (-best[0], at, best[1], len(child)))

    watch(0)
    while waiting and len(leaves) < most:
        _, at, side, _ = heapq.heappop(waiting)
        piece, node = leaves[at], node_of[at]
        asked = piece.parts[side].node
        tree = trees[side]
        dimension, where = int(line.dimension[side][asked]), float(line.at[side][asked])
        first = len(child)
        low[node], high[node], column[node] = tree.low[asked], tree.high[asked], int(tree.column[asked])
        child[node] = first
        low += [np.inf, np.inf]
        high += [np.inf, np.inf]
        column += [0, 0]
        child += [first, first + 1]
        place += [at, len(leaves)]
        leaves[at], right = (piece.half(sides, line, dimension, where, yes) for yes in (False, True))
        leaves.append(right)
        node_of[at] = first
        node_of.append(first + 1)
        watch(at)
        watch(len(leaves) - 1)
    weights, evidence, rows = zip(*(piece.weighed(sides, shares) for piece in leaves), strict=True)
    return Grown(
        *(np.array(low), np.array(high), np.array(column, np.intp), np.array(child, np.intp)),
        *(np.array(place, np.intp), np.array(weights), np.array(evidence), np.array(rows)),
    )


class _Line:
    """Every question as a place between 0 and 1 on the line of what it asks about, which is a column of numbers, or a
    text. On that line values are spread evenly.
    """

    def __init__(self, trees: Sequence[Grown], values: Values) -> None:
        self._number: dict[tuple[int, float | None], int] = {}
        self.others: dict[int, list[int]] = {}  # of a text: those of the same column
        self.text: dict[int, float] = {}  # of a text: its place
        self.dimension = [self._dimensions(tree) for tree in trees]
        self.at = [np.zeros(len(tree.child)) for tree in trees]
        below = [_below(tree) for tree in trees]
        for (column, text), number in self._number.items():
            asked = [np.flatnonzero(own == number) for own in self.dimension]
            if text is not None:
                self.text[number] = place = 1.0 - _share(trees, below, asked)
                for at, nodes in zip(self.at, asked, strict=True):
                    at[nodes] = place
                continue
            lows = [tree.low[nodes] for tree, nodes in zip(trees, asked, strict=True)]
            thresholds = np.unique(np.concatenate(lows))
            met, weight = values.get(column, (np.zeros(0), np.zeros(0)))
            sums = np.concatenate([[0.0], np.cumsum(weight)])
            before = sums[np.searchsorted(met, thresholds, side="right")] / max(sums[-1], np.finfo(float).tiny)
            places = (before + _TOUCH * np.arange(1, 1 + len(thresholds))) / (1 + _TOUCH * (1 + len(thresholds)))
            for at, nodes, low in zip(self.at, asked, lows, strict=True):
                at[nodes] = places[np.searchsorted(thresholds, low)]

    @property
    def count(self) -> int:
        return len(self._number)

    def _dimensions(self, tree: Grown) -> Indices:
        own = np.full(len(tree.child), -1, np.intp)
        for node in tree.inner.tolist():
            column = int(tree.column[node])
            text = float(tree.low[node]) if np.isfinite(tree.high[node]) else None
            if (column, text) not in self._number:
                self._number[column, text] = len(self._number)
                same = [
                    number for (other, word), number in self._number.items() if other == column and word is not None
                ]
                for number in same:
                    self.others[number] = [other for other in same if other != number]
            own[node] = self._number[column, text]
        return own


def _below(tree: Grown) -> Float64:
    """By node: the rows of the leaves below."""
    total = np.where(tree.child == np.arange(len(tree.child)), tree.rows[tree.place], 0.0)
    for node in tree.inner[::-1].tolist():  # children come after their parents
        total[node] = total[tree.child[node]] + total[tree.child[node] + 1]
    return np.asarray(total)


def _share(trees: Sequence[Grown], below: list[Float64], asked: list[Indices]) -> float:
    """Of the rows that were asked for a text, those that had it."""
    yes = sum(float(own[tree.child[nodes] + 1].sum()) for tree, own, nodes in zip(trees, below, asked, strict=True))
    every = sum(float(own[nodes].sum()) for own, nodes in zip(below, asked, strict=True))
    return min(max(yes / every, 0.01), 0.99) if every > 0 else 0.5


class _Side:
    """One of the trees, with its leaves as boxes on the lines."""

    def __init__(self, tree: Grown, number: int, line: _Line) -> None:
        self.tree, self.dimension, self.at = tree, line.dimension[number], line.at[number]
        self.low, self.high = np.zeros((len(tree.weights), line.count)), np.ones((len(tree.weights), line.count))
        boxes = {0: (np.zeros(line.count), np.ones(line.count))}
        for node in range(len(tree.child)):
            low, high = boxes.pop(node)
            child = int(tree.child[node])
            if child == node:
                self.low[tree.place[node]], self.high[tree.place[node]] = low, high
                continue
            dimension, where = int(self.dimension[node]), float(self.at[node])
            for yes in (False, True):
                boxes[child + yes] = _half(low, high, line, dimension, where, yes)
        self.mass = tree.rows
        self.plain = tree.weights.mean(axis=1)

    def all(self) -> _Part:
        """All of the tree."""
        return _Part(np.arange(len(self.mass)), np.ones(len(self.mass)), 0)


def _half(low: Float64, high: Float64, line: _Line, dimension: int, where: float, yes: bool) -> tuple[Float64, Float64]:
    """What is left of a box after an answer. Who has one text has no other."""
    low, high = low.copy(), high.copy()
    if yes:
        low[dimension] = max(low[dimension], where)
        for other in line.others.get(dimension, ()):
            high[other] = min(high[other], line.text[other])
    else:
        high[dimension] = min(high[dimension], where)
    return low, high


@dataclass(frozen=True)
class _Part:
    """What a piece has of one tree: leaves, how much of each, and the first node whose answer is open."""

    leaves: Indices
    shares: Float64
    node: int


class _Piece:
    """A piece of the space: a leaf of the merged tree."""

    def __init__(self, parts: list[_Part], low: Float64, high: Float64) -> None:
        self.parts, self.low, self.high = parts, low, high

    def half(self, sides: list[_Side], line: _Line, dimension: int, where: float, yes: bool) -> _Piece:
        """What is left of it after an answer."""
        low, high = _half(self.low, self.high, line, dimension, where, yes)
        changed = np.flatnonzero((low != self.low) | (high != self.high))
        parts = []
        for part, side in zip(self.parts, sides, strict=True):
            shares = part.shares
            for d in changed.tolist():
                bottom, top = side.low[part.leaves, d], side.high[part.leaves, d]
                now = np.minimum(top, high[d]) - np.maximum(bottom, low[d])
                before = np.minimum(top, self.high[d]) - np.maximum(bottom, self.low[d])
                shares = shares * np.maximum(now, 0.0) / before
            kept = shares > 0
            node, tree = part.node, side.tree
            while tree.child[node] != node:
                d, at = side.dimension[node], side.at[node]
                if low[d] >= at:
                    node = int(tree.child[node]) + 1
                elif high[d] <= at:
                    node = int(tree.child[node])
                else:
                    break
            parts.append(_Part(part.leaves[kept], shares[kept], node))
        return _Piece(parts, low, high)

    def weighed(self, sides: list[_Side], shares: Float64) -> tuple[Float64, Float64, float]:
        """The weights by lane, the evidence by head, and the rows."""
        weights, evidence, total = [], [], 0.0
        for part, side in zip(self.parts, sides, strict=True):
            rows = side.mass[part.leaves] * part.shares
            by = rows if rows.sum() > 0 else part.shares
            weights.append(by @ side.tree.weights[part.leaves] / by.sum())
            evidence.append(part.shares @ side.tree.evidence[part.leaves])
            total += float(rows.sum())
        return np.asarray(shares @ np.array(weights)), np.asarray(np.sum(evidence, axis=0)), total


def _best(piece: _Piece, sides: list[_Side], shares: Float64) -> tuple[float, int] | None:
    """Whose question to ask next, and what each leaf spent on that tree's questions would tell apart."""
    masses = [side.mass[part.leaves] * part.shares for part, side in zip(piece.parts, sides, strict=True)]
    mass = sum(float(own.sum()) for own in masses)
    best: tuple[float, int] | None = None
    for k, (part, side, own) in enumerate(zip(piece.parts, sides, masses, strict=True)):
        if side.tree.child[part.node] == part.node:
            continue
        total = float(own.sum())
        spread = 0.0
        if total > 0:
            plain = side.plain[part.leaves]
            mean = float(own @ plain) / total
            spread = float(own @ (plain - mean) ** 2) / total
        potential = shares[k] ** 2 * spread * mass / max(len(part.leaves) - 1, 1)
        if best is None or potential > best[0]:
            best = (potential, k)
    return best
