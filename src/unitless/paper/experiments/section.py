"""A part of the report: what was found, as data, as tables to read, and as pictures."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of cells that are text already."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    left: int = 1
    """How many of the first columns hold words; the others hold numbers."""


@dataclasses.dataclass
class Section:
    """What one experiment found."""

    name: str
    title: str
    data: dict[str, Any]
    text: Sequence[str] = ()
    """Paragraphs to stand above the tables."""
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    """Paragraphs to stand below them."""
    figures: dict[str, Figure] = dataclasses.field(default_factory=dict)
    captions: dict[str, str] = dataclasses.field(default_factory=dict)
    seconds: float = 0.0

    def asdict(self) -> dict[str, Any]:
        """The data for JSON, in which not-a-number becomes null."""
        found: dict[str, Any] = _finite({"experiment": self.name, **self.data})
        return found

    def json(self) -> str:
        """The section as JSON text."""
        return json.dumps(self.asdict(), indent=2)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
