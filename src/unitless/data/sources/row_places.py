"""Where rows stand in a source, found without reading what is in them, so that several readers can share them."""

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
        file: its number.
        rows: how many it has, those included that cannot be read.
        offsets: of the places, as in `Position`: the first, where rows begin, and the last, where they end, included.
        counts: as in `Position`: rows or lines before each place, by which messages call rows.
        before: rows before each place.
        between: whether reading can begin between two places too, at any row.
        direct: whether reading can begin at a place without reading all that is before it.
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
        """Of rows that are found by their numbers; they lie in parts of so many, which had better be read apart."""
        ends = np.concatenate([[0], np.cumsum(np.array(list(parts), np.int64))]).astype(np.int64)
        ends = np.unique(ends)
        return cls(file, int(ends[-1]), ends, ends, ends, True, direct)

    def position(self, place: int) -> Position:
        """The position of a place by its number."""
        return Position(self.file, int(self.offsets[place]), int(self.counts[place]))


def places_in_text(text: Text, file: int, most: int, delimiter: str = "", comment: str = "") -> RowPlaces:
    """Of text that is open where its rows begin.

    Args:
        text: of whole lines.
        file: its number.
        most: how many places there may be.
        delimiter: between fields that may be quoted, if there are such.
        comment: what begins the part of a line that does not count.
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
