"""Rows that belong together: copies, and rows of one group. All of them are learned, or all of them are held out.

A model that has learned a row knows its copies, so that copies on both sides would make the hold-out metrics too good.
Without copies and groups the held-out rows are the last ones of the random order. Otherwise whole sets of rows are held
out: those whose first row is last in the random order, as long as they are not more rows than are wanted. Of the copies
of a held-out row only the first one counts in the metrics: the others have no further information. They are set aside.

Equal rows need not be copies: if a table has few columns with few values, new rows will equal old ones too. If equal
rows were held out together there, the metrics would describe rows that never occur, such as all first-class passengers
who survived, predicted by a model that knows only those who did not. Whether equal rows have equal labels tells the two
cases apart.

Rows with equal features may also have different labels on purpose: in a list of all pairs of a name and a sex, each
pair once. A model that has learned one row of a name then predicts the wrong label for the other one, and weights that
do well on the held-out rows do badly on all others. So such rows are held out together as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..hashes import Hashes
from .content import LABEL_BITS, features_of
from .random_order import hashes_of
from .records import Index

AGREEING = 0.9  # copies have the same label; so many of the pairs of rows with equal features must agree beyond chance
OPPOSED = 0.5  # rows with equal features are opposed if they agree in at most this share of what chance explains, ...
BEYOND_CHANCE = 4.0  # ... so many standard deviations less, ...
MANY = 0.2  # ... and if so many of all rows are among them
ENOUGH = 20  # with fewer different rows in the hold-out, the table has few possible rows, and equal rows are no copies
LEARNED, ASIDE, HELD = range(3)  # the parts of the rows, in the order in which they follow each other
Parts: TypeAlias = NDArray[np.uint8]
_PER_ROW = 8  # bytes for a row's hash


@dataclass(frozen=True)
class Held:
    """Which rows are held out.

    Args:
        count: the number of held-out rows.
        rows: the number of all rows.
        aside: the number of copies of held-out rows; they are neither learned nor held out.
        parts: by row: `LEARNED`, `ASIDE` or `HELD`; None if the held-out rows are the last ones of the random order.
        duplicates: how many rows equal an earlier row; None if the rows were not compared.
        copied: whether equal rows are copies, so that they are held out together.
        known: whether equal rows have equal labels, but there are too few different rows to hold copies out together.
        opposed: how many rows have equal features but different labels on purpose, so that they are held out together.
        groups: how many groups there are, and how many of them are held out; None without groups. A row without a
            group is a group of its own; there are no groups if all rows are without one.
        ungrouped: how many rows have no group.
        group_of: the group of each held-out row, in the random order; None without groups.
    """

    count: int = 0
    rows: int = 0
    aside: int = 0
    parts: Parts | None = None
    duplicates: int | None = 0
    copied: bool = False
    groups: tuple[int, int] | None = None
    ungrouped: int = 0
    group_of: Hashes | None = None
    known: bool = False
    opposed: int = 0


@dataclass
class Kin:
    """Collects the hashes of all rows, and then chooses the rows that are held out.

    Args:
        most: the bytes that hashes of contents may take; if there are more rows, rows are not compared. Default: any
            number.
    """

    most: int = sys.maxsize
    _contents: list[Hashes] | None = field(default_factory=list)
    _groups: list[Hashes] = field(default_factory=list)
    _rows: int = 0

    @property
    def nbytes(self) -> int:
        """The memory that the hashes of contents take."""
        return 0 if self._contents is None else _PER_ROW * self._rows

    def add(self, contents: Callable[[], Hashes], groups: Hashes | None, rows: int) -> None:
        """Add the hashes of the next rows.

        Args:
            contents: returns the hashes of the rows' contents.
            groups: the hashes of the rows' groups, 0 for a row without a group; None if there are no groups.
            rows: the number of rows.
        """
        self._rows += rows
        if self.nbytes > self.most:
            self._contents = None
        if self._contents is not None:
            self._contents.append(contents())
        if groups is not None:
            self._groups.append(groups)

    def held(self, seed: int, wanted: int) -> Held:
        """Choose at most `wanted` rows that are held out."""
        rows = self._rows
        contents = None if self._contents is None else np.concatenate([*self._contents, np.zeros(0, np.uint64)])
        self._contents = None
        repeated = None if contents is None else _repeated(features_of(contents))
        duplicates = None if contents is None else 0
        copied = known = False
        opposed = 0
        if contents is not None and repeated is not None and len(repeated):
            duplicates = rows - len(np.unique(contents))
            found = _agreement(contents)
            enough = wanted / rows * found.kinds >= ENOUGH
            alike = duplicates > 0 and found.beyond_chance >= AGREEING
            copied, known = alike and enough, alike and not enough
            members = int(np.isin(features_of(contents), repeated).sum()) if found.opposed else 0
            opposed = members if members >= MANY * rows else 0
        if self._groups:
            keys = np.concatenate(self._groups)
            self._groups = []
            alone = keys == 0
            if alone.all():
                return Held(wanted, rows, duplicates=duplicates, groups=(0, 0))
            keys[alone] = hashes_of(~seed, np.flatnonzero(alone))
            mask, counts = _chosen(seed, keys, _repeated(keys), wanted)
            held = np.flatnonzero(mask)
            group_of = keys[held[np.argsort(hashes_of(seed, held))]]
            parts = mask.astype(np.uint8) * np.uint8(HELD)
            return Held(len(held), rows, 0, parts, duplicates, False, counts, int(alone.sum()), group_of)
        if contents is None or repeated is None or not (copied or opposed):
            return Held(wanted, rows, duplicates=duplicates, known=known)
        mask, _ = _chosen(seed, features_of(contents), repeated, wanted)
        held = np.flatnonzero(mask)
        if opposed:
            parts = mask.astype(np.uint8) * np.uint8(HELD)
            return Held(len(held), rows, 0, parts, duplicates, opposed=opposed)
        first = held[np.unique(contents[held], return_index=True)[1]]
        parts = mask.astype(np.uint8) * np.uint8(ASIDE)
        parts[first] = HELD
        return Held(len(first), rows, len(held) - len(first), parts, duplicates, True)


def _repeated(hashes: Hashes) -> Hashes:
    """Return the hashes that more than one row has, sorted."""
    found = np.sort(hashes)
    again = found[1:] == found[:-1]
    return np.unique(found[1:][again]) if again.any() else found[:0]


@dataclass(frozen=True)
class _Agreement:
    """Whether rows with equal features have equal labels.

    Args:
        beyond_chance: in which share of their pairs, beyond what chance explains. That of copies is 1. In a table with
            few possible rows, equal rows may well have different labels.
        opposed: whether they have different labels far more often than by chance.
        kinds: the number of different features.
    """

    beyond_chance: float
    opposed: bool
    kinds: int


def _agreement(contents: Hashes) -> _Agreement:
    """Compare the labels of rows with equal features."""
    rows = len(contents)
    same_features, kinds = _pairs(features_of(contents))
    same_content, _ = _pairs(contents)
    same_label, _ = _pairs(contents & np.uint64((1 << LABEL_BITS) - 1))
    chance = same_label / (rows * (rows - 1) / 2)
    beyond = (same_content / same_features - chance) / (1 - chance) if chance < 1 else 0.0
    expected = chance * same_features
    fewer = expected - same_content > BEYOND_CHANCE * np.sqrt(expected * (1 - chance))
    return _Agreement(beyond, bool(fewer and same_content <= OPPOSED * expected), kinds)


def _pairs(values: Hashes) -> tuple[float, int]:
    """Return the number of pairs of equal values, and the number of different values."""
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1)).sum() / 2), len(counts)


def _chosen(seed: int, keys: Hashes, repeated: Hashes, wanted: int) -> tuple[NDArray[np.bool_], tuple[int, int]]:
    """Return which rows are held out, the number of sets of rows with equal keys, and how many of them are held out."""
    place = np.minimum(np.searchsorted(repeated, keys), max(0, len(repeated) - 1))
    several = repeated[place] == keys if len(repeated) else np.zeros(len(keys), bool)
    members = np.flatnonzero(several)
    members = members[np.argsort(keys[members], kind="stable")]  # rows of a set are adjacent, in ascending order
    begins = np.flatnonzero(np.append(True, keys[members][1:] != keys[members][:-1])) if len(members) else members
    firsts = np.concatenate([np.flatnonzero(~several), members[begins]])
    sizes = np.concatenate([np.ones(len(firsts) - len(begins), np.int64), np.diff(np.append(begins, len(members)))])
    taken = _filled(sizes, hashes_of(seed, firsts), wanted)
    mask = np.zeros(len(keys), bool)
    mask[firsts[taken]] = True
    held = np.zeros(len(repeated), bool)
    held[place[firsts[taken][sizes[taken] > 1]]] = True
    mask[members] = held[place[members]]
    return mask, (len(firsts), len(taken))


def _filled(sizes: NDArray[np.int64], ranks: Hashes, wanted: int) -> Index:
    """Return the sets that are held out: by descending rank those that fit, at least one, and never all."""
    if not wanted or len(sizes) < 2:
        return np.zeros(0, np.int64)
    left = np.argsort(ranks)[::-1]
    found: list[Index] = []
    room = wanted
    while len(left := left[sizes[left] <= room]):
        fitting = int(np.searchsorted(np.cumsum(sizes[left]), room, "right"))
        found.append(left[:fitting])
        room -= int(sizes[left[:fitting]].sum())
        left = left[fitting:]
    if found:
        return np.concatenate(found)
    smallest = np.flatnonzero(sizes == sizes.min())
    return smallest[[int(np.argmax(ranks[smallest]))]]
