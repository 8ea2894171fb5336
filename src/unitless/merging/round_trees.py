"""The trees that partitions of a round have grown out of the same ones, brought together.

All partitions begin with the trees of the base. Its leaves are *regions* of the rows, common to all; what partitions
have grown below them differs. Below each region the merged tree has what one of the partitions has grown there, the one
with the most leaves, and

- the mean of its weights there becomes that of all partitions, by their evidence;
- what its leaves are above or below that mean they stay: partitions answer the same residuals, each with all of its
trees,
  so that trees which come from several partitions are together a mean of them;
- evidence and rows are means of all partitions', in the proportions of that partition's leaves.

Of a region that nobody has split, partitions have watched the same candidates. Their sums add up, and where the best of
these convinces, the region is split here and now: that finds what no partition would have found alone. Both halves keep
the candidates, so that in the next round all partitions watch the same ones again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inputs import Float64
from ..models.form_reading import TREE_LEAVES, TREES
from .leaves_and_trees import Heads, Indices, Leaves
from .round_forest import (
    ALL_LEAVES,
    DRAWING,
    ENOUGH,
    FIRST,
    LONGEST,
    NEED,
    PLACES,
    ROWS,
    SQUARE,
    STAGE,
    TEXT,
    WEIGHT,
    Forest,
    Watched,
    no_trees,
)

_CONVINCING, _CLEARLY = 2.5, 1.0 + 2.0**-10  # gains, as in core/trees/trees.hpp


def merged_trees(base: Forest, parts: list[Forest], heads: Heads, curvature: float, merged: Leaves) -> dict[str, Any]:
    """The arrays of the merged trees; the leaves' weights go to `merged`. `curvature`: that of the loss."""
    parts = [part for part in parts if part.exists]
    if not parts:
        return no_trees()
    together = _Together(base, parts, heads, merged)
    together.weigh()
    together.watch()
    together.split(1.0 / (curvature * TREES) if curvature > 0 else 0.0)
    return together.arrays()


def _ratio(a: Float64, b: Any, otherwise: Any = 0.0) -> Float64:
    """a/b, and something else where b is not above 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(b > 0, a / b, otherwise))


class _Grown:
    """What a partition has made of the regions."""

    def __init__(self, forest: Forest, first: Indices) -> None:
        self.forest = forest
        self.leaves = np.flatnonzero(forest.history.there())
        self.region = forest.history.regions(first)[self.leaves]  # by such leaf
        self.count = np.bincount(self.region, minlength=ALL_LEAVES)  # by region, as all that follows
        self.evidence, self.rows = np.zeros_like(forest.evidence), np.zeros(ALL_LEAVES)
        np.add.at(self.evidence, self.region, forest.evidence[self.leaves])
        np.add.at(self.rows, self.region, forest.rows[self.leaves])
        self.mean = np.zeros_like(forest.weights)
        np.add.at(self.mean, self.region, self.share[:, None] * forest.weights[self.leaves])

    @property
    def share(self) -> Float64:
        """By leaf: its part of the rows of its region."""
        return _ratio(self.forest.rows[self.leaves], self.rows[self.region], 1.0 / self.count[self.region])


class _Together:
    """The merged trees while they are made."""

    def __init__(self, base: Forest, parts: list[Forest], heads: Heads, merged: Leaves) -> None:
        self.base, self.parts, self.heads, self.merged = base, parts, heads, merged
        self.unit, self.candidates = max(part.unit for part in parts), max(part.candidates for part in parts)
        self.width = parts[0].width
        self.grown = [_Grown(part, base.history.sizes) for part in parts]
        self.counts = np.array([one.count for one in self.grown])
        self.chosen = self._choose()
        self.history = base.history.copied()
        self.places = self._join_histories()

    def _choose(self) -> Indices:
        """By region: whose leaves are taken. Of those with as many of them, partitions have their turns."""
        several = len(self.parts)
        first = int(self.base.random.sum()) % several
        turn = (np.arange(several)[:, None] + first + np.arange(ALL_LEAVES) // TREE_LEAVES) % several
        return np.asarray(np.argmax(self.counts * several + turn, axis=0))

    def _taken(self, k: int) -> tuple[Indices, Indices, Float64]:
        """Of a partition, the leaves that are taken, with their regions and shares."""
        one = self.grown[k]
        mine = self.chosen[one.region] == k
        return one.leaves[mine], one.region[mine], one.share[mine]

    def _join_histories(self) -> list[Indices]:
        """Gives by partition and leaf where it has come to, of those that are taken."""
        first, own = self.base.history.sizes, []
        for k in range(len(self.parts)):
            tree, split = np.divmod(self._taken(k)[0], TREE_LEAVES)
            new = split >= first[tree]
            own.append(np.column_stack([tree[new], split[new], np.full(int(new.sum()), k)]))
        splits = np.concatenate(own)
        splits = splits[np.lexsort((splits[:, 2], splits[:, 1], splits[:, 0]))]  # in each tree parents come first
        tree, split, partition = splits.T
        places = [np.tile(PLACES, (TREES, 1)) for _ in self.parts]
        fresh = first[tree] + np.arange(len(tree)) - np.searchsorted(tree, tree)
        for k, place in enumerate(places):
            mine = partition == k
            place[tree[mine], split[mine]] = fresh[mine]
        for t, f, k in splits[fresh >= TREE_LEAVES]:  # there is no room: both halves stay one leaf
            places[k][t, f] = places[k][t, self.parts[k].history.origin[t, f]]
        origin, column, value, text = (np.zeros(len(tree), kind) for kind in (np.intp, np.intp, np.float64, bool))
        for k, part in enumerate(self.parts):
            mine, history = partition == k, part.history
            at = tree[mine], split[mine]
            origin[mine] = places[k][tree[mine], history.origin[at]]
            column[mine], value[mine], text[mine] = history.column[at], history.value[at], history.text[at]
        self.history.append(tree, origin, column, value, text)
        return [(FIRST + place).ravel() for place in places]

    def weigh(self) -> None:
        """The weights of leaves, with their evidence and rows."""
        merged, of_lane, several = self.merged, self.heads.of_lane, len(self.parts)
        evidence = np.array([one.evidence for one in self.grown])
        share = _ratio(evidence, evidence.sum(axis=0), 1.0 / several)
        start = self.base.weights
        mean = start + sum(part[:, of_lane] * (one.mean - start) for part, one in zip(share, self.grown, strict=True))
        evidence = evidence.mean(axis=0)
        rows = np.mean([one.rows for one in self.grown], axis=0)
        split = np.repeat(self.history.sizes > 1, TREE_LEAVES)  # before that there is no feature
        total = np.zeros(ALL_LEAVES)
        for k, one in enumerate(self.grown):
            leaves, region, part = self._taken(k)
            leaves, region, part = leaves[split[leaves]], region[split[leaves]], part[split[leaves]]
            to = self.places[k][leaves]
            weights = mean[region] + (one.forest.weights[leaves] - one.mean[region])
            np.add.at(total, to, part)
            np.add.at(merged.weights, to, part[:, None] * weights)
            np.add.at(merged.evidence, to, evidence[region] * _ratio(one.forest.evidence[leaves], one.evidence[region]))
            np.add.at(merged.rows, to, rows[region] * part)
        merged.weights[:ALL_LEAVES] = _ratio(merged.weights[:ALL_LEAVES], total[:, None])

    def watch(self) -> None:
        """What leaves know of their candidates."""
        width = self.width
        self.watched = Watched(
            np.zeros((ALL_LEAVES, 6)), np.zeros((ALL_LEAVES, width)), np.zeros((ALL_LEAVES, self.candidates, 3 + width))
        )
        self.watched.facts[:, NEED] = ENOUGH
        growing = np.repeat(self.history.sizes < TREE_LEAVES, TREE_LEAVES)
        for k, part in enumerate(self.parts):
            leaves = self._taken(k)[0]
            leaves = leaves[growing[leaves]]
            if self._useful(part) and len(leaves):
                self.watched.put(self.places[k][leaves], part.watched(leaves, self.unit))
        whole = self.counts[self.chosen, np.arange(ALL_LEAVES)] == 1  # regions that are one leaf as before
        for k, part in enumerate(self.parts):
            regions = np.flatnonzero(whole & growing & (self.counts[k] == 1) & (self.chosen != k))
            if self._useful(part) and len(regions):
                self._add(regions, part.watched(regions, self.unit))
        facts = self.watched.facts
        facts[:, [WEIGHT, SQUARE]] = np.maximum(facts[:, [WEIGHT, SQUARE]], 0.0)  # which rounding might deny
        facts[:, ROWS] = np.minimum(facts[:, ROWS], LONGEST)

    def _useful(self, forest: Forest) -> bool:
        """Whether its sums are of the same heads and as many candidates."""
        return forest.exists and forest.knows_all_heads and forest.candidates == self.candidates

    def _add(self, regions: Indices, own: Watched) -> None:
        """What a further partition has watched of the same candidates, since the base."""
        same = own.same(self.watched.at(regions))
        regions, own = regions[same], own.at(same)
        self.watched.add(regions, own)
        if self._useful(self.base) and len(regions):
            start = self.base.watched(regions, self.unit)
            begun = start.same(own)
            self.watched.add(regions[begun], start.at(begun), -1.0)

    def split(self, kick: float) -> None:
        """Splits leaves that have been watched enough; `kick`: of mean residuals, what goes into the halves' weights.

        A tree that has never been split is left to the partitions.
        """
        facts, watched = self.watched.facts, self.watched.candidates
        can = self.history.growing() & (self.history.sizes > 1)[:, None]
        due = np.flatnonzero(can.ravel() & (facts[:, STAGE] == DRAWING) & (facts[:, ROWS] >= facts[:, NEED]))
        rows, right, sums = facts[due, WEIGHT][:, None], watched[due, :, 2], watched[due, :, 3:]
        stay, others = rows - right, self.watched.sums[due][:, None] - sums
        apart = ((others * right[:, :, None] - sums * stay[:, :, None]) ** 2).sum(axis=2)
        gain = np.where((stay > 0) & (right > 0), _ratio(apart, stay * right * rows), -1.0)
        most = gain.max(axis=1, initial=-1.0)
        best = np.argmax(gain * _CLEARLY >= most[:, None], axis=1)  # rounding does not choose among equals
        convinces = most > _CONVINCING * _ratio(facts[due, SQUARE], facts[due, WEIGHT], np.inf)
        self._draw_anew(due[~convinces])
        k = np.flatnonzero(convinces)
        z, leaves = best[k], due[k]
        tree = leaves // TREE_LEAVES
        text = (facts[leaves, TEXT].astype(np.intp) >> z & 1).astype(bool)
        column, value = watched[leaves, z, 1].astype(np.intp), watched[leaves, z, 0]
        fresh = self.history.append(tree, leaves % TREE_LEAVES, column, value, text)
        k, z, leaves, tree, fresh = (one[fresh < TREE_LEAVES] for one in (k, z, leaves, tree, fresh))
        means = [_ratio(one[k, z], of[k, z][:, None]) for one, of in ((others, stay), (sums, right))]
        self._halve(leaves, FIRST[tree, 0] + fresh, (stay / rows)[k, z], [kick * self.unit * one for one in means])

    def _draw_anew(self, leaves: Indices) -> None:
        facts = self.watched.facts
        self.watched.forget(leaves)
        facts[leaves, NEED] = np.minimum(2 * facts[leaves, NEED], LONGEST)
        facts[leaves, STAGE] = facts[leaves, TEXT] = 0.0

    def _halve(self, leaves: Indices, right: Indices, share: Float64, moves: list[Float64]) -> None:
        """A share of what each leaf has stays; the rest goes to the right. Weights move by what was found missing."""
        merged = self.merged
        merged.weights[right] = merged.weights[leaves]
        groups = -(-merged.evidence.shape[1] // self.width)
        head = self.heads.of_lane - (leaves // TREE_LEAVES % groups * self.width)[:, None]
        watched = (head >= 0) & (head < self.width)
        for half, move in zip((leaves, right), moves, strict=True):
            merged.weights[half] += np.where(watched, np.take_along_axis(move, np.where(watched, head, 0), axis=1), 0.0)
        for numbers, part in ((merged.evidence, share[:, None]), (merged.rows, share)):
            numbers[right] = (1.0 - part) * numbers[leaves]
            numbers[leaves] *= part
        self.watched.facts[leaves, NEED] = ENOUGH
        self.watched.forget(leaves)
        self.watched.put(right, self.watched.at(leaves))

    def arrays(self) -> dict[str, Any]:
        """As a model's state has them."""
        there, growing = self.history.there().ravel(), self.history.growing().ravel()
        owner = self.chosen[FIRST[:, 0]]
        return {
            "tree.candidates": np.array([self.candidates], np.float64),
            "tree.unit": np.array([self.unit], np.float64),
            "tree.sizes": self.history.sizes.astype(np.float64),
            "tree.random": np.array([self.parts[k].random[tree] for tree, k in enumerate(owner)]).ravel(),
            **self.history.nodes(),
            "tree.facts": self.watched.facts[there].ravel(),
            "tree.sums": self.watched.sums[there].ravel(),
            "tree.watched": self.watched.candidates[growing].ravel(),
        }
