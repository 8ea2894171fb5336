"""What sources give: chunks of data with their place, so that messages can say where and training can go on there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

Unit: TypeAlias = Literal["row", "line"]


@dataclass(frozen=True)
class Position:
    """Where to go on: the number of the file, how far into it (bytes of text or rows), and rows or lines before it."""

    file: int = 0
    offset: int = 0
    count: int = 0

    def plain(self) -> list[int]:
        """The position as a model file stores it."""
        return [self.file, self.offset, self.count]


@dataclass(frozen=True)
class Place:
    """Where rows of a chunk stand: the file, and the number of each row or line there, from 1."""

    file: str
    unit: Unit
    first: int
    numbers: Sequence[int] | NDArray[Any] | None = None  # where they do not simply follow one another, from 0

    def at(self, row: int) -> dict[str, Any]:
        """As the fields of an error."""
        return {"file": self.file, self.unit: self.first + (row if self.numbers is None else int(self.numbers[row]))}

    def __call__(self, row: int) -> str:
        """The place of a row, as messages say it."""
        number = self.at(row)[self.unit]
        return f"{self.file}, {self.unit} {number}" if self.file else f"{self.unit} {number}"


@dataclass(frozen=True)
class Bad:
    """A row that cannot be read: where, and why."""

    where: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


@dataclass
class Chunk:
    """Some rows as the source has them (an Arrow table, parsed text, mappings, arrays)."""

    content: Any
    rows: int
    place: Place
    position: Position  # after it
    consumed: int = 0  # bytes of all files as stored, up to here
    bad: list[Bad] = field(default_factory=list)  # the first ones
    bad_count: int = 0
    bad_numbers: Sequence[int] = ()  # as in `place.numbers`
    original: Any = None  # all rows, the bad ones with what could be read of them, where they are to be kept
