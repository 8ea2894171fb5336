"""Results of the clients that are more than an answer of the server: those of many rows, and errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import Error


class ClientError(Error):
    """The server refused a request, or did not answer.

    Args:
        title: what kind of problem it is.
        detail: what is wrong here, and what to do.
        status: of HTTP; None if there was no answer.
        fields: all fields of the server's answer (problem+json).
    """

    def __init__(
        self, title: str, detail: str = "", *, status: int | None = None, fields: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(title, advice=detail)
        self.title, self.detail, self.status, self.fields = title, detail, status, dict(fields or {})

    def __str__(self) -> str:
        text = f"{self.title}: {self.detail}" if self.detail else self.title
        return text if self.status is None else f"{self.status} {text}"


@dataclass(frozen=True)
class RowProblem:
    """A row of many that was refused; the others are not affected.

    Args:
        row: counted from 0.
        error: what was wrong.
    """

    row: int
    error: ClientError


@dataclass
class LearnedMany:
    """The result of learning many rows.

    Args:
        learned: how many were learned.
        duplicates: how many had been learned before, by their id.
        problems: those that were refused.
        seq: the record of the last one in the log.
    """

    learned: int = 0
    duplicates: int = 0
    problems: list[RowProblem] = field(default_factory=list)
    seq: int | None = None

    @property
    def rows(self) -> int:
        """How many were sent."""
        return self.learned + self.duplicates + len(self.problems)
