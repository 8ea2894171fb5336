"""A part of the report: data, tables and pictures."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...presentation.json_values import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True)
class Record:
    """A result of an experiment."""

    def asdict(self) -> dict[str, Any]:
        """The result as JSON-compatible values."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Table:
    """A table whose cells are text."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    left: int = 1
    """The number of columns with words, from the left; the others contain numbers."""
    wide: bool = False
    """Whether it is too wide for a terminal; then only the report has it."""


@dataclasses.dataclass
class Section:
    """The result of one experiment."""

    name: str
    title: str
    data: dict[str, Any]
    text: Sequence[str] = ()
    """Paragraphs above the tables."""
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    """Paragraphs below the tables."""
    figures: dict[str, Figure] = dataclasses.field(default_factory=dict)
    captions: dict[str, str] = dataclasses.field(default_factory=dict)
    files: dict[str, str] = dataclasses.field(default_factory=dict)
    """Text files of the report, by name."""
    seconds: float = 0.0

    def asdict(self) -> dict[str, Any]:
        """The data for JSON, in which NaN becomes null."""
        found: dict[str, Any] = plain({"experiment": self.name, **self.data})
        return found

    def json(self) -> str:
        """The section as JSON text."""
        return json.dumps(self.asdict(), indent=2)
