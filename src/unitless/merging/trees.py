"""Merge the trees of several models into one forest.

Trees that grew in different models cannot be averaged, because they have different splits. Each merged tree is the tree
of one model, drawn at random in proportion to the leaves, so that the forest is a mean of the models' forests. The
random draw is computed from the tree alone: it does not depend on the order of the models or of the merges. The rows of
the other models change the weights. The leaves of the base's trees are *regions* of the rows, common to all models;
trees of models without a base have one region each, all rows. In each region

- the mean of the tree's weights becomes that of all models, by their evidence;
- the difference of each leaf from that mean stays;
- evidence and rows are sums over all models, in the proportions of the tree's own leaves.

In a region that no model has split, all models have the same candidates for a split. Their sums add up, and if the best
candidate is significant, the region is split here: that finds splits that no single model would have found. Both halves
keep the candidates, so that models that continue from the merged one have the same candidates again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inputs import Float64
from .forest import (
    DRAWING,
    ENOUGH,
    LONGEST,
    NEED,
    ROWS,
    SQUARE,
    STAGE,
    TEXT,
    WEIGHT,
    Forest,
    History,
    Watched,
    no_trees,
)
from .leaves import Heads, Indices, Leaves
from .totals import added_up

_CONVINCING, _CLEARLY = 2.5, 1.0 + 2.0**-10  # gains, as in core/trees/trees.hpp


def merged_trees(
    parts: list[Forest], base: Forest, once: bool, heads: Heads, curvature: float, merged: Leaves
) -> dict[str, Any]:
    """Build the arrays of the merged trees; the leaves' weights are written to `merged`.

    Args:
        parts: the models.
        base: the model that they were continued from, which may have no trees.
        once: whether the base's rows count once, instead of in each model.
        heads: the merged lanes.
        curvature: the curvature of the loss.
        merged: all leaves.
    """
    parts = [part for part in parts if part.exists]
    if not parts:
        return no_trees()
    together = _Together(base, parts, heads, merged)
    together.weigh(once)
    together.watch()
    together.split(1.0 / (curvature * together.history.trees) if curvature > 0 else 0.0)
    return together.arrays()


def _ratio(a: Float64, b: Any, otherwise: Any = 0.0) -> Float64:
    """a/b, or `otherwise` where b is not positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(b > 0, a / b, otherwise))


class _Grown:
    """The part of a model's trees below the regions."""

    def __init__(self, forest: Forest, first: Indices) -> None:
        self.forest = forest
        self.leaves = np.flatnonzero(forest.history.there())
        self.region = forest.history.regions(first)[self.leaves]  # by leaf below a region
        self.count = np.bincount(
            self.region, minlength=forest.history.origin.size
        )  # by region, like the following arrays
        self.evidence, self.rows = np.zeros_like(forest.evidence), np.zeros_like(forest.rows)
        np.add.at(self.evidence, self.region, forest.evidence[self.leaves])
        np.add.at(self.rows, self.region, forest.rows[self.leaves])
        self.mean = np.zeros_like(forest.weights)
        np.add.at(self.mean, self.region, self.share[:, None] * forest.weights[self.leaves])

    @property
    def share(self) -> Float64:
        """By leaf: its share of the rows of its region."""
        return _ratio(self.forest.rows[self.leaves], self.rows[self.region], 1.0 / self.count[self.region])


class _Together:
    """The merged trees while they are built."""

    def __init__(self, base: Forest, parts: list[Forest], heads: Heads, merged: Leaves) -> None:
        self.base, self.parts, self.heads, self.merged = base, parts, heads, merged
        self.unit, self.candidates = max(part.unit for part in parts), max(part.candidates for part in parts)
        self.width = parts[0].width
        self.grown = [_Grown(part, base.history.sizes) for part in parts]
        self.counts = np.array([one.count for one in self.grown])
        self.owner = self._draw()  # by tree: the model that it is taken from
        self.history = History.empty(base.history.trees, base.history.most)
        for tree, k in enumerate(self.owner):
            self.history.take(tree, parts[k].history)

    def _draw(self) -> list[int]:
        lots = [part.lots() for part in self.parts]
        trees = range(self.base.history.trees)
        return [min(range(len(lots)), key=lambda k, tree=tree: lots[k][tree]) for tree in trees]  # type: ignore[misc]

    def _taken(self, k: int) -> tuple[Indices, Indices, Float64]:
        """The leaves that are taken from a model, with their regions and shares."""
        one = self.grown[k]
        mine = np.array(self.owner)[one.leaves // self.base.history.most] == k
        return one.leaves[mine], one.region[mine], one.share[mine]

    def weigh(self, once: bool) -> None:
        """Set the weights of leaves, with their evidence and rows."""
        merged, of_lane = self.merged, self.heads.of_lane
        evidence = np.array([one.evidence for one in self.grown])
        share = _ratio(evidence, evidence.sum(axis=0), 1.0 / len(self.parts))
        mean = np.asarray(sum(part[:, of_lane] * one.mean for part, one in zip(share, self.grown, strict=True)))
        behind = np.maximum(added_up(list(evidence), self.base.evidence if once else None), 0.0)
        rows = np.maximum(added_up([one.rows for one in self.grown], self.base.rows if once else None), 0.0)
        split = np.repeat(self.history.sizes > 1, self.history.most)  # there is no feature before the first split
        for k, one in enumerate(self.grown):
            leaves, region, part = self._taken(k)
            leaves, region, part = leaves[split[leaves]], region[split[leaves]], part[split[leaves]]
            merged.weights[leaves] = mean[region] + (one.forest.weights[leaves] - one.mean[region])
            merged.evidence[leaves] = behind[region] * _ratio(one.forest.evidence[leaves], one.evidence[region])
            merged.rows[leaves] = rows[region] * part

    def watch(self) -> None:
        """Set the statistics of the leaves' candidates for a split."""
        width, all_leaves, most = self.width, self.history.origin.size, self.history.most
        self.watched = Watched(
            np.zeros((all_leaves, 6)), np.zeros((all_leaves, width)), np.zeros((all_leaves, self.candidates, 3 + width))
        )
        self.watched.facts[:, NEED] = ENOUGH
        growing = np.repeat(self.history.sizes < most, most)
        owner = np.repeat(self.owner, most)
        whole = self.counts[owner, np.arange(all_leaves)] == 1  # regions that are still one leaf
        for k, part in enumerate(self.parts):
            leaves = self._taken(k)[0]
            leaves = leaves[growing[leaves]]
            if self._useful(part) and len(leaves):
                self.watched.put(leaves, part.watched(leaves, self.unit))
        for k, part in enumerate(self.parts):
            regions = np.flatnonzero(whole & growing & (self.counts[k] == 1) & (owner != k))
            if self._useful(part) and len(regions):
                self._add(regions, part.watched(regions, self.unit))
        facts = self.watched.facts
        facts[:, [WEIGHT, SQUARE]] = np.maximum(facts[:, [WEIGHT, SQUARE]], 0.0)  # rounding might make them negative
        facts[:, ROWS] = np.minimum(facts[:, ROWS], LONGEST)

    def _useful(self, forest: Forest) -> bool:
        """Whether sums of residuals have the same heads and the same number of candidates."""
        return forest.exists and forest.knows_all_heads and forest.candidates == self.candidates

    def _add(self, regions: Indices, own: Watched) -> None:
        """Add the sums that another model has collected for the same candidates since the base."""
        same = own.same(self.watched.at(regions))
        regions, own = regions[same], own.at(same)
        self.watched.add(regions, own)
        if self._useful(self.base) and len(regions):
            start = self.base.watched(regions, self.unit)
            begun = start.same(own)
            self.watched.add(regions[begun], start.at(begun), -1.0)

    def split(self, kick: float) -> None:
        """Split leaves that have enough rows; `kick`: the factor of mean residuals in the weights of the halves.

        A tree without splits is not changed: the models split it.
        """
        facts, watched = self.watched.facts, self.watched.candidates
        can = self.history.growing() & (self.history.sizes > 1)[:, None]
        due = np.flatnonzero(can.ravel() & (facts[:, STAGE] == DRAWING) & (facts[:, ROWS] >= facts[:, NEED]))
        rows, right, sums = facts[due, WEIGHT][:, None], watched[due, :, 2], watched[due, :, 3:]
        stay, others = rows - right, self.watched.sums[due][:, None] - sums
        apart = ((others * right[:, :, None] - sums * stay[:, :, None]) ** 2).sum(axis=2)
        gain = np.where((stay > 0) & (right > 0), _ratio(apart, stay * right * rows), -1.0)
        most = gain.max(axis=1, initial=-1.0)
        best = np.argmax(gain * _CLEARLY >= most[:, None], axis=1)  # rounding must not choose among equal gains
        convinces = most > _CONVINCING * _ratio(facts[due, SQUARE], facts[due, WEIGHT], np.inf)
        self._draw_anew(due[~convinces])
        k = np.flatnonzero(convinces)
        z, leaves = best[k], due[k]
        most_leaves = self.history.most
        tree = leaves // most_leaves
        text = (facts[leaves, TEXT].astype(np.intp) >> z & 1).astype(bool)
        column, value = watched[leaves, z, 1].astype(np.intp), watched[leaves, z, 0]
        fresh = self.history.append(tree, leaves % most_leaves, column, value, text)
        k, z, leaves, tree, fresh = (one[fresh < most_leaves] for one in (k, z, leaves, tree, fresh))
        means = [_ratio(one[k, z], of[k, z][:, None]) for one, of in ((others, stay), (sums, right))]
        self._halve(leaves, tree * most_leaves + fresh, (stay / rows)[k, z], [kick * self.unit * one for one in means])

    def _draw_anew(self, leaves: Indices) -> None:
        facts = self.watched.facts
        self.watched.forget(leaves)
        facts[leaves, NEED] = np.minimum(2 * facts[leaves, NEED], LONGEST)
        facts[leaves, STAGE] = facts[leaves, TEXT] = 0.0

    def _halve(self, leaves: Indices, right: Indices, share: Float64, moves: list[Float64]) -> None:
        """Divide each leaf: a share stays, and the rest goes to its right half. Weights move by the mean residuals."""
        merged = self.merged
        merged.weights[right] = merged.weights[leaves]
        groups = -(-merged.evidence.shape[1] // self.width)
        head = self.heads.of_lane - (leaves // self.history.most % groups * self.width)[:, None]
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
        """The trees in the form of a model's state."""
        there, growing = self.history.there().ravel(), self.history.growing().ravel()
        return {
            "tree.candidates": np.array([self.candidates], np.float64),
            "tree.unit": np.array([self.unit], np.float64),
            "tree.sizes": self.history.sizes.astype(np.float64),
            "tree.random": np.array([self.parts[k].random[tree] for tree, k in enumerate(self.owner)]).ravel(),
            **self.history.nodes(),
            "tree.facts": self.watched.facts[there].ravel(),
            "tree.sums": self.watched.sums[there].ravel(),
            "tree.watched": self.watched.candidates[growing].ravel(),
        }
