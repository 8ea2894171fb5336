"""What is shown of a result, described once: sections of facts, tables and notes.

`cli/display.py` prints them, `html.py` makes a notebook's card of them, and `page/` a part of a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Facts:
    """Names and values, one below the other.

    Args:
        pairs: those without a value are left out; an empty name continues the value above.
    """

    pairs: Iterable[tuple[str, str | None]]

    @property
    def known(self) -> list[tuple[str, str]]:
        """The facts that have a value."""
        return [(name, value) for name, value in self.pairs if value]


@dataclass(frozen=True)
class Table:
    """Rows of text.

    Args:
        header: the names of the columns.
        rows: the cells.
        left: how many columns are text; the others are numbers.
        lengths: for each row the length of a bar, from 0 to 1, where bars can be drawn.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    lengths: Sequence[float] | None = None


@dataclass(frozen=True)
class Notes:
    """Sentences, one below the other."""

    lines: Sequence[str]


Part: TypeAlias = Facts | Table | Notes


@dataclass(frozen=True)
class Section:
    """A heading and what belongs to it.

    Args:
        title: the heading; empty for none.
        parts: what is shown below; parts without content are left out.
    """

    title: str
    parts: Sequence[Part]

    @property
    def content(self) -> list[Part]:
        """The parts that have something to show."""
        return [part for part in self.parts if _shows(part)]


def lines(name: str, values: Iterable[str]) -> list[tuple[str, str]]:
    """Facts of several lines: the name stands before the first."""
    return [(name if k == 0 else "", value) for k, value in enumerate(values)]


def _shows(part: Part) -> bool:
    if isinstance(part, Facts):
        return bool(part.known)
    return bool(part.rows if isinstance(part, Table) else part.lines)
