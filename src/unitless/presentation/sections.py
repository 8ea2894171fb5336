"""Describes how a result is shown: sections of facts, tables and notes.

`cli/display.py` prints the sections, `html.py` turns them into a notebook card, and `page.py` into a part of a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from . import shown


@dataclass(frozen=True)
class Facts:
    """Pairs of names and values, shown one below the other.

    Args:
        pairs: names and values. Pairs without a value are left out; an empty name continues the value above.
    """

    pairs: Iterable[tuple[str, str | None]]

    @property
    def known(self) -> list[tuple[str, str]]:
        """The facts that have a value."""
        return [(name, value) for name, value in self.pairs if value]


@dataclass(frozen=True)
class Table:
    """A table of text.

    Args:
        header: the names of the columns.
        rows: the cells.
        left: the number of text columns; the other columns are numbers. Default: 1.
        lengths: for each row, the length of a bar from 0 to 1; used where bars can be drawn. Default: None (no bars).
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
    """A heading and the parts below it.

    Args:
        title: the heading; empty for no heading.
        parts: the facts, tables and notes; parts without content are left out.
    """

    title: str
    parts: Sequence[Part]

    @property
    def content(self) -> list[Part]:
        """The parts that have content."""
        return [part for part in self.parts if _shows(part)]


def lines(name: str, values: Iterable[str]) -> list[tuple[str, str]]:
    """Return one fact that has several lines; the name stands before the first line."""
    return [(name if k == 0 else "", value) for k, value in enumerate(values)]


def text(sections: Iterable[Section]) -> str:
    """Return sections as plain text, as commands print them where the output is not a terminal."""
    found = [section for section in sections if section.content]
    facts = [fact for section in found for part in section.content if isinstance(part, Facts) for fact in part.known]
    width = max((len(name) for name, _ in facts), default=0)
    return "\n\n".join(_text(section, width) for section in found)


def _text(section: Section, width: int) -> str:
    """Return a section as plain text; the names of facts take `width` characters."""
    parts = []
    for part in section.content:
        if isinstance(part, Facts):
            parts.append("\n".join(f"{name.ljust(width)}  {value}" for name, value in part.known))
        elif isinstance(part, Table):
            parts.append(shown.table(part.header, part.rows, part.left))
        else:
            mark = "- " if section.title else ""
            parts.append("\n".join(f"{mark}{line}" for line in part.lines))
    body = "\n\n".join(parts)
    return f"{section.title}\n{body}" if section.title else body


def _shows(part: Part) -> bool:
    if isinstance(part, Facts):
        return bool(part.known)
    return bool(part.rows if isinstance(part, Table) else part.lines)
