"""Trees as a history of splits: split f has divided an earlier leaf, and the right half is leaf f.

The arrays are described in core/engine/state.hpp.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from ..models.form_reading import RawColumn
from .leaves import Indices, Shaped

WEIGHT, SQUARE, STAGE, NEED, ROWS, TEXT = range(6)  # the statistics of a leaf
COUNTED = [WEIGHT, SQUARE, ROWS]  # the statistics that grow with the rows of the leaf
# the stage after which leaves collect candidates; the fewest rows for a split, and the most
DRAWING, ENOUGH, LONGEST = 5, 24, 1 << 22

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Watched:
    """The statistics of leaves and their candidates for a split."""

    facts: Float64  # [leaf][...]
    sums: Float64  # [leaf][head]: sums of residuals
    candidates: Float64  # [leaf][candidate][value, column, rows, sums by head]

    def at(self, leaves: Indices | Mask) -> Watched:
        """Select leaves."""
        return Watched(self.facts[leaves], self.sums[leaves], self.candidates[leaves])

    def same(self, other: Watched) -> Mask:
        """By leaf: whether both have the same candidates."""
        watching = (self.facts[:, STAGE] == DRAWING) & (other.facts[:, STAGE] == DRAWING)
        return np.asarray(watching & (self.candidates[:, :, :2] == other.candidates[:, :, :2]).all(axis=(1, 2)))

    def put(self, leaves: Indices, known: Watched) -> None:
        """Replace the statistics of leaves, in place."""
        self.facts[leaves], self.sums[leaves], self.candidates[leaves] = known.facts, known.sums, known.candidates

    def add(self, leaves: Indices, known: Watched, sign: float = 1.0) -> None:
        """Add the statistics of the same candidates, in place."""
        self.facts[leaves[:, None], COUNTED] += sign * known.facts[:, COUNTED]
        self.sums[leaves] += sign * known.sums
        self.candidates[leaves, :, 2:] += sign * known.candidates[:, :, 2:]

    def forget(self, leaves: Indices) -> None:
        """Reset the statistics of leaves, in place; the candidates stay."""
        self.facts[leaves[:, None], COUNTED] = 0.0
        self.sums[leaves] = 0.0
        self.candidates[leaves, :, 2:] = 0.0


@dataclass
class History:
    """The splits of all trees, as arrays [tree][split]."""

    sizes: Indices  # by tree: number of leaves
    origin: Indices  # the leaf that was split
    column: Indices
    value: Float64  # the threshold of the right half; for text: the feature of the value
    text: Mask

    @classmethod
    def empty(cls, trees: int, leaves: int) -> History:
        """Trees of one leaf each, with space for more leaves."""
        size = trees, leaves
        return cls(
            np.ones(trees, np.intp),
            np.zeros(size, np.intp),
            np.zeros(size, np.intp),
            np.zeros(size),
            np.zeros(size, bool),
        )

    @property
    def trees(self) -> int:
        """The number of trees."""
        return len(self.origin)

    @property
    def most(self) -> int:
        """The largest number of leaves of a tree; its first leaf has the number of the tree times this."""
        return int(self.origin.shape[1])

    def take(self, tree: int, other: History) -> None:
        """Replace a tree by that of another history, in place."""
        self.sizes[tree] = other.sizes[tree]
        for name in ("origin", "column", "value", "text"):
            getattr(self, name)[tree] = getattr(other, name)[tree]

    def there(self) -> Mask:
        """[tree][leaf]: whether the leaf exists."""
        return np.asarray(self.sizes[:, None] > np.arange(self.most))

    def growing(self) -> Mask:
        """[tree][leaf]: whether the leaf exists and its tree is not full."""
        return self.there() & (self.sizes < self.most)[:, None]

    def regions(self, first: Indices) -> Indices:
        """By leaf: the leaf that contains it among the `first` leaves of its tree."""
        region = np.tile(np.arange(self.most), (self.trees, 1))
        for split in range(int(first.min()), int(self.sizes.max())):
            new = (split >= first) & (split < self.sizes)
            region[new, split] = region[new, self.origin[new, split]]
        return np.asarray((np.arange(self.trees)[:, None] * self.most + region).ravel())

    def append(self, tree: Indices, origin: Indices, column: Indices, value: Float64, text: Mask) -> Indices:
        """Append splits in order, while the tree has room; returns the places of the new leaves."""
        fresh = np.asarray(self.sizes[tree] + np.arange(len(tree)) - np.searchsorted(tree, tree))
        room = fresh < self.most
        at = tree[room], fresh[room]
        self.origin[at], self.column[at] = origin[room], column[room]
        self.value[at], self.text[at] = value[room], text[room]
        self.sizes = self.sizes + np.bincount(tree[room], minlength=self.trees)
        return fresh

    def nodes(self) -> dict[str, Float64]:
        """The trees in the form of a model's state."""
        count = 2 * self.most - 1
        child, place = np.tile(np.arange(count), (self.trees, 1)), np.zeros((self.trees, count), np.intp)
        low, high, column = (np.full((self.trees, count), empty) for empty in (np.inf, np.inf, 0.0))
        node_of = np.zeros((self.trees, self.most), np.intp)
        for split in range(1, int(self.sizes.max())):
            trees = np.flatnonzero(split < self.sizes)
            leaf, text, value = (one[trees, split] for one in (self.origin, self.text, self.value))
            node = node_of[trees, leaf]
            child[trees, node], column[trees, node] = 2 * split - 1, self.column[trees, split]
            low[trees, node] = value - np.where(text, 0.5, 0.0)
            high[trees, node] = np.where(text, value + 0.5, np.inf)
            place[trees, 2 * split - 1], place[trees, 2 * split] = leaf, split
            node_of[trees, leaf], node_of[trees, split] = 2 * split - 1, 2 * split
        used = np.arange(count) < (2 * self.sizes - 1)[:, None]
        arrays = {"low": low, "high": high, "column": column, "child": child, "place": place}
        return {f"tree.{name}": array[used].astype(np.float64) for name, array in arrays.items()}


class Forest:
    """A model's trees, with columns and texts numbered as in the merged model."""

    def __init__(self, model: Shaped, columns: list[RawColumn]) -> None:
        self._form = form = model.form
        place = {column: k for k, column in enumerate(columns)}
        self._columns = np.array([place[column] for column in model.columns], np.intp)
        self._texts = np.array([column.text for column in model.columns], bool)
        self._numbering = model.numbering
        leaves, heads = model.leaves["trees"], model.members["trees"].heads
        self._size = model.options.n_trees, model.options.max_leaves
        count = leaves.first_curve
        self.weights, self.evidence, self.rows = leaves.weights[:count], leaves.evidence[:count], leaves.rows[:count]
        self.knows_all_heads = bool((heads == np.arange(len(heads))).all())
        self.exists = len(form.get("tree.sizes", ())) > 0
        self.candidates, self.unit, self.width = 0, 0.0, 1
        self.random: Float64 = np.zeros((self._size[0], 2))
        self.history = self._read() if self.exists else History.empty(*self._size)

    def _read(self) -> History:
        form, history = self._form, History.empty(*self._size)
        history.sizes = sizes = form["tree.sizes"].astype(np.intp)
        self.candidates, self.unit = int(form["tree.candidates"][0]), float(form["tree.unit"][0])
        self.width, self.random = len(form["tree.sums"]) // int(sizes.sum()), form["tree.random"].reshape(-1, 2)
        counts = 2 * sizes - 1
        tree = np.repeat(np.arange(len(sizes)), counts)
        child = form["tree.child"].astype(np.intp)
        inner = np.flatnonzero(child != np.arange(len(tree)) - np.repeat(np.cumsum(counts) - counts, counts))
        at = tree[inner], (child[inner] + 1) // 2
        low, high, column = (form[f"tree.{name}"][inner] for name in ("low", "high", "column"))
        history.text[at] = np.isfinite(high)
        history.column[at], history.value[at] = self._renumbered(column, np.where(np.isfinite(high), low + 0.5, low))
        history.origin[at] = form["tree.place"][inner].astype(np.intp)
        return history

    def _renumbered(self, column: Float64, value: Float64) -> tuple[Indices, Float64]:
        """Renumber columns, and thresholds that are values of text, which are features."""
        own = column.astype(np.intp)
        text = self._texts[own] & np.isfinite(value)
        feature = np.where(text, value, 0.0).astype(np.intp)
        return self._columns[own], np.where(text, self._numbering[feature], value)

    def lots(self) -> list[tuple[float, float]]:
        """The random priority of each tree: the lowest one wins, with a probability proportional to the leaves.

        It is computed only from the tree, and does not depend on units. Of equal trees, the one with less evidence has
        the lower priority value.
        """
        sizes, origin = self.history.sizes.tolist(), self.history.origin
        trees = [self.random[tree].tobytes() + origin[tree, :size].tobytes() for tree, size in enumerate(sizes)]
        drawn = [int.from_bytes(hashlib.blake2b(own, digest_size=8).digest(), "little") for own in trees]
        evidence = self.evidence.sum(axis=1).reshape(self._size).sum(axis=1).tolist()
        return [
            (-math.log((number + 0.5) / 2.0**64) / size, behind)
            for number, size, behind in zip(drawn, sizes, evidence, strict=True)
        ]

    def watched(self, leaves: Indices, unit: float) -> Watched:
        """The statistics of leaves in trees that are not full, with residuals in a given unit."""
        tree, place = np.divmod(leaves, self.history.most)
        sizes = self.history.sizes
        growing = np.where(sizes < self.history.most, sizes, 0)
        at, at_growing = ((np.cumsum(one) - one)[tree] + place for one in (sizes, growing))
        ratio = self.unit / unit if unit > 0 else 1.0  # without residuals there is no unit
        facts = self._form["tree.facts"].reshape(-1, 6)[at]
        sums = self._form["tree.sums"].reshape(-1, self.width)[at] * ratio
        candidates = self._form["tree.watched"].reshape(-1, self.candidates, 3 + self.width)[at_growing]
        facts[:, SQUARE] *= ratio * ratio
        candidates[:, :, 3:] *= ratio
        candidates[:, :, 1], candidates[:, :, 0] = self._renumbered(candidates[:, :, 1], candidates[:, :, 0])
        return Watched(facts, sums, candidates)


def no_trees() -> dict[str, Any]:
    """The arrays of a model without trees."""
    names = ("sizes", "random", "low", "high", "column", "child", "place", "facts", "sums", "watched")
    return {"tree.candidates": np.zeros(1), "tree.unit": np.zeros(1), **{f"tree.{name}": np.zeros(0) for name in names}}
