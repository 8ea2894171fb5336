"""Finds where rows are in a source without parsing them, so that several readers can share them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _core
from .located_rows import Position
from .text_stream import Text

CLOSEST = 64  # rows between two places of a text


@dataclass(frozen=True)
class RowPlaces:
    """The rows of one file (or of all data, if it is in memory): how many, and where reading can begin.

    Args:
        file: the number of the file.
        rows: the number of rows, including rows that cannot be read.
        offsets: the offsets of the places, as in `Position`; the first is where rows begin, the last where they end.
        counts: the rows or lines before each place, as in `Position`; messages report these numbers.
        before: the rows before each place.
        between: whether reading can also begin at rows between two places.
        direct: whether reading can begin at a place without reading what is before it.
    """

    file: int
    rows: int
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]
    before: NDArray[np.int64]
    between: bool
    direct: bool

    @classmethod
    def anywhere(cls, file: int, parts: Iterable[int], direct: bool = True) -> RowPlaces:
        """Return the places of rows in parts of these sizes. Reading can begin at any row; whole parts are best."""
        ends = np.concatenate([[0], np.cumsum(np.array(list(parts), np.int64))]).astype(np.int64)
        ends = np.unique(ends)
        return cls(file, int(ends[-1]), ends, ends, ends, True, direct)

    def position(self, place: int) -> Position:
        """Return the position of the place with this number."""
        return Position(self.file, int(self.offsets[place]), int(self.counts[place]))


def places_in_text(text: Text, file: int, most: int, delimiter: str = "", comment: str = "") -> RowPlaces:
    """Return the places in a text that is open at its first row.

    Args:
        text: a text of whole lines.
        file: the number of the file.
        most: the largest number of places.
        delimiter: the delimiter between fields that may be quoted. Default: "", no quotes.
        comment: begins a comment, which lasts until the end of the line. Default: "", no comments.
    """
    every, since = CLOSEST, 0
    places = [(text.position, 0, 0)]
    rows = numbers = 0
    begin = text.position
    for view in text.chunks(first_lines=1):
        found = _core.row_places(np.frombuffer(view, np.uint8), delimiter, comment, every, since)
        new = [
            (begin + offset, numbers + count, rows + before)
            for offset, before, count in zip(*map(np.ndarray.tolist, found[2:]), strict=True)
        ]
        places += new
        rows, numbers, begin = rows + found[0], numbers + found[1], text.position
        while len(places) > most:
            places, every = places[::2], 2 * every
        since = rows - places[-1][2]
    end = (text.position, numbers, rows)
    if len(places) > 1 and places[-1][2] == rows:
        places.pop()
    offsets, counts, before = np.array([*places, end], np.int64).T.copy()
    return RowPlaces(file, rows, offsets, counts, before, False, text.direct)
