"""Chunks of data with their places, which messages report and from which a training can continue."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from typing_extensions import Self

Unit: TypeAlias = Literal["row", "line"]


@dataclass(frozen=True)
class Position:
    """A position to continue from: the file's number, the offset (bytes or rows), and the rows or lines before it."""

    file: int = 0
    offset: int = 0
    count: int = 0

    def plain(self) -> list[int]:
        """Return the position in the form in which a model file stores it."""
        return [self.file, self.offset, self.count]


@dataclass(frozen=True)
class Place:
    """The place of a chunk's rows: the file, and the number of each row or line in it, from 1."""

    file: str
    unit: Unit
    first: int
    numbers: Sequence[int] | NDArray[Any] | None = None  # from 0; None: the numbers are consecutive

    def at(self, row: int) -> dict[str, Any]:
        """Return the place of a row as fields of an error."""
        return {"file": self.file, self.unit: self.first + (row if self.numbers is None else int(self.numbers[row]))}

    def __call__(self, row: int) -> str:
        """Return the place of a row as text for messages."""
        (_, file), (unit, number) = self.at(row).items()
        return f"{file}, {unit} {number}" if file else f"{unit} {number}"

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return the place of some of the rows."""
        return replace(self, numbers=rows if self.numbers is None else np.asarray(self.numbers)[rows])


class Places:
    """The places of many rows, perhaps of several files. Consecutive rows need only one entry."""

    def __init__(self) -> None:
        self.rows = 0
        self._files: list[tuple[str, Unit]] = []
        # One entry for each run of consecutive rows.
        self._starts, self._file, self._number = array("q"), array("q"), array("q")

    @property
    def nbytes(self) -> int:
        """The size in memory."""
        return 24 * len(self._starts)

    def add(self, place: Place, rows: int) -> None:
        """Add the place of the next rows."""
        if not rows:
            return
        if isinstance(place, Scattered):
            of, rows_there = place.of, np.asarray(place.numbers)
            stretch = np.searchsorted(np.asarray(of._starts), rows_there, "right") - 1
            row = rows_there - np.asarray(of._starts)[stretch]
            numbers, files = np.asarray(of._number)[stretch] + row, np.asarray(of._file)[stretch]
            new = (np.diff(numbers, prepend=numbers[0]) != 1) | (np.diff(files, prepend=-1) != 0)
            begins = np.flatnonzero(new)
            for at in np.split(begins, np.flatnonzero(np.diff(files[begins])) + 1):  # the runs of one file
                self._stretches(at, *of._files[int(files[at[0]])], numbers[at])
        elif place.numbers is None:
            self._stretch(0, place.file, place.unit, place.first)
        else:
            numbers = np.asarray(place.numbers)
            begins = np.flatnonzero(np.diff(numbers, prepend=numbers[0]) != 1)
            self._stretches(begins, place.file, place.unit, place.first + numbers[begins])
        self.rows += rows

    def _stretches(self, begins: NDArray[np.intp], file: str, unit: Unit, numbers: NDArray[Any]) -> None:
        """Add runs of consecutive rows of one file; only the first one may continue the last run."""
        self._stretch(int(begins[0]), file, unit, int(numbers[0]))
        count = len(begins) - 1
        self._starts.frombytes((self.rows + begins[1:]).astype(np.int64).tobytes())
        self._file.frombytes(np.full(count, len(self._files) - 1, np.int64).tobytes())
        self._number.frombytes(numbers[1:].astype(np.int64).tobytes())

    def _stretch(self, begin: int, file: str, unit: Unit, number: int) -> None:
        if not self._files or self._files[-1] != (file, unit):
            self._files.append((file, unit))
        row, which = self.rows + begin, len(self._files) - 1
        if self._starts and self._file[-1] == which and self._number[-1] + row - self._starts[-1] == number:
            return
        self._starts.append(row)
        self._file.append(which)
        self._number.append(number)

    def at(self, row: int) -> dict[str, Any]:
        """Return the place of a row as fields of an error."""
        stretch = bisect_right(self._starts, row) - 1
        file, unit = self._files[self._file[stretch]]
        return {"file": file, unit: self._number[stretch] + row - self._starts[stretch]}

    def of(self, rows: NDArray[Any]) -> Scattered:
        """Return the places of rows with these numbers (from 0), in this order."""
        return Scattered("", "row", 0, rows, self)


_NOWHERE = Places()


@dataclass(frozen=True)
class Scattered(Place):
    """The place of rows from several files; `numbers` are their numbers among all rows."""

    of: Places = _NOWHERE

    def at(self, row: int) -> dict[str, Any]:
        """Return the place of a row as fields of an error."""
        assert self.numbers is not None
        return self.of.at(int(self.numbers[row]))


def joined(places: Sequence[tuple[Place, int]]) -> Scattered:
    """Join the places of several groups of rows; each is given with its number of rows."""
    scattered = [place for place, _ in places if isinstance(place, Scattered)]
    if scattered and len(scattered) == len(places) and all(one.of is scattered[0].of for one in scattered):
        return scattered[0].of.of(np.concatenate([np.asarray(one.numbers) for one in scattered]))
    found = Places()
    for place, rows in places:
        found.add(place, rows)
    return found.of(np.arange(found.rows))


@dataclass(frozen=True)
class Bad:
    """A row that cannot be read: its place, and the reason."""

    where: str
    problem: str

    def renamed(self, names: Mapping[str, str]) -> Bad:
        """Return this row with another name of its file."""
        file, comma, place = self.where.rpartition(", ")
        return replace(self, where=f"{names.get(file, file)}{comma}{place}")

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


@dataclass
class Chunk:
    """Some rows in the form of their source (an Arrow table, parsed text, mappings, arrays)."""

    content: Any
    rows: int
    place: Place
    position: Position  # after the chunk
    consumed: int = 0  # bytes of all files as stored, up to the end of the chunk
    bad: list[Bad] = field(default_factory=list)  # the first of them
    bad_count: int = 0
    bad_numbers: Sequence[int] = ()  # in the same way as `place.numbers`
    note: str = ""  # a note for the user about the data before these rows
    original: Any = None  # if requested: all rows; of bad rows, what could be read
