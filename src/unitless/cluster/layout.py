"""Which partition learns which rows in which round: blocks in random order, divided among partitions and rounds.

The layout depends only on the data, on the numbers of partitions and rounds, and on the seed: not on the machines or
their number.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data import Position
from ..data.rows.random_order import hashes
from .blocks import Block, FileSurvey

BLOCKS_PER_CELL = 64  # blocks from different places, so that each cell is similar to all data
BLOCKS_READ_THROUGH = 2  # for a file that must be read from its beginning to get to a block
LEAST_BLOCK = 64  # rows
LEAST_CELL = 1000  # rows; with fewer, the model of a partition is mostly noise
_PASS = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Layout:
    """The assignment of blocks to partitions and rounds.

    Args:
        cells: lists of blocks by round, then by partition.
        partitions: the number of partitions, which may be smaller than requested.
        rounds: the number of rounds in a pass, which may be smaller than requested.
        rows: the number of rows of all data.
        identity: a digest of the data and of all that the layout depends on, except the pass.
    """

    cells: tuple[tuple[tuple[Block, ...], ...], ...]
    partitions: int
    rounds: int
    rows: int
    identity: str


def lay_out(
    surveys: Sequence[FileSurvey],
    partitions: int,
    rounds: int,
    seed: int,
    pass_number: int = 0,
    least_rows: int | None = None,
) -> Layout:
    """Divide the rows of all files among partitions and rounds.

    Args:
        surveys: the surveys of all files, in their order.
        partitions: the number of partitions, which learn at the same time.
        rounds: how often they are merged in a pass.
        seed: the random seed of the order.
        pass_number: the number of the pass; the blocks have another order in each pass.
        least_rows: the fewest rows for one partition in one round. Short data gives fewer partitions, and then fewer
            rounds. Default: 1,000.
    """
    least_rows = LEAST_CELL if least_rows is None else least_rows
    total = sum(one.rows for one in surveys)
    partitions, rounds = fitting(total, partitions, rounds, least_rows)
    blocks = cut(surveys, total / (partitions * rounds))
    if len(blocks) < partitions * rounds:
        partitions, rounds = fitting(len(blocks), partitions, rounds, 1)
    order = np.argsort(hashes(seed + pass_number * _PASS, 0, len(blocks)))
    edges = _edges(np.array([blocks[k].rows for k in order.tolist()], np.int64), partitions * rounds)
    dealt = [tuple(blocks[k] for k in np.sort(order[a:b]).tolist()) for a, b in itertools.pairwise(edges)]
    cells = tuple(tuple(dealt[number * partitions : (number + 1) * partitions]) for number in range(rounds))
    said = [[one.identity for one in surveys], partitions, rounds, seed, least_rows]
    identity = hashlib.blake2b(repr(said).encode(), digest_size=32).hexdigest()
    return Layout(cells, partitions, rounds, total, identity)


def fitting(rows: int, partitions: int, rounds: int, least_rows: int) -> tuple[int, int]:
    """The numbers of partitions and rounds that leave at least `least_rows` for each cell.

    Partitions are reduced first.
    """
    cells = max(1, rows // max(1, least_rows))
    return max(1, min(partitions, cells // rounds)), min(rounds, cells)


def cut(surveys: Sequence[FileSurvey], cell_rows: float) -> list[Block]:
    """Cut all files into blocks: several for each cell, not smaller than the limit, each within one part of a file.

    A file that can only be read from its beginning is cut into as few blocks as the cells need.
    """
    blocks: list[Block] = []
    before = 0
    for one in surveys:
        places = one.places
        wanted = cell_rows / (BLOCKS_PER_CELL if places.direct else BLOCKS_READ_THROUGH)
        if places.between:
            blocks += _by_row(one, wanted, before)
        else:
            blocks += _by_place(one, wanted, before)
        before += one.numbers
    return blocks


def _by_row(one: FileSurvey, wanted: float, before: int) -> Iterator[Block]:
    """Cut a file that can be read from any row: each part of the file is cut evenly."""
    file, ends = one.places.file, one.places.offsets.tolist()
    for first, last in itertools.pairwise(ends):
        count = _count(last - first, wanted)
        cuts = [first + k * (last - first) // count for k in range(count + 1)]
        for begin, end in itertools.pairwise(cuts):
            yield Block(Position(file, begin, begin), Position(file, end, end), end - begin, before)


def _by_place(one: FileSurvey, wanted: float, before: int) -> Iterator[Block]:
    """Cut a file that can be read from certain places: at the places nearest to an even cut."""
    places = one.places
    count = _count(one.rows, wanted)
    goals = np.arange(1, count) * (one.rows / count)
    nearest = np.searchsorted((places.before[:-1] + places.before[1:]) / 2, goals)
    chosen = np.unique(np.concatenate([[0], nearest, [len(places.before) - 1]])).tolist()
    for a, b in itertools.pairwise(chosen):
        rows = int(places.before[b] - places.before[a])
        yield Block(places.position(a), places.position(b), rows, before)


def _count(rows: int, wanted: float) -> int:
    """The number of blocks to cut rows into."""
    return max(1, min(math.ceil(rows / wanted), rows // LEAST_BLOCK))


def _edges(rows: NDArray[np.int64], cells: int) -> list[int]:
    """The boundaries that divide blocks among cells as evenly as possible, with at least one block in each cell."""
    ends = np.cumsum(rows)
    middles = ends - rows / 2
    edges = np.searchsorted(middles, np.arange(cells + 1) * (ends[-1] / cells))
    edges[0], edges[-1] = 0, len(rows)
    number = np.arange(cells + 1)
    edges = np.maximum.accumulate(edges - number) + number
    found: list[int] = np.minimum(edges, len(rows) - number[::-1]).tolist()
    return found
