"""Which rows of a request with many rows get a separate answer, and the summary of all rows at the end.

A client that sends everything before it reads anything would wait for ever if the server waited until its answers are
read. So a large body is answered by its problems alone, unless the client requests more.
"""

from __future__ import annotations

from typing import Any

from ..problems import Problem
from . import rows

ALL, PROBLEMS, SUMMARY = MODES = ("all", "problems", "summary")
LARGE = 1 << 20  # bytes: a longer body, or one of unknown length, is large
MOST_PROBLEMS = 1000  # that are listed where not all rows are


def mode(wish: str | None, action: str, length: str | None) -> str:
    """How a request is answered.

    Args:
        wish: the parameter `answers` of the request.
        action: "predict" and "rank" give all answers, which is what it is for.
        length: the header Content-Length.

    Raises:
        Problem: 422 if there is no such way.
    """
    if wish is None:
        small = length is not None and int(length) <= LARGE
        return ALL if small or action in rows.DONE else PROBLEMS
    if wish not in MODES:
        raise Problem(422, "not a kind of answers", f"answers is {wish!r}; it must be one of {', '.join(MODES)}.")
    return wish


class Answering:
    """The answers to the rows of one request.

    Args:
        mode: which rows are answered: "all", "problems" or "summary" (none).
        action: one of `rows.KINDS`.
    """

    def __init__(self, mode: str, action: str) -> None:
        self._mode, self._action = mode, action
        self._done = {rows.DONE.get(action, "learned"): 0, "duplicates": 0}
        self._refused = 0
        self._seq: int | None = None

    @property
    def rows(self) -> int:
        """How many rows have an outcome."""
        return sum(self._done.values()) + self._refused

    def done(self, status: str, fields: dict[str, Any]) -> bytes:
        """The line for a row that was taken; nothing if it has none."""
        self._done["duplicates" if status == "duplicate" else status] += 1
        self._seq = fields["seq"]
        return rows.encode(fields) + b"\n" if self._mode == ALL else b""

    def refused(self, problem: Problem, row: int) -> bytes:
        """The line for a row that was refused; nothing if it has none."""
        self._refused += 1
        if self._mode == SUMMARY or (self._mode == PROBLEMS and self._refused > MOST_PROBLEMS):
            return b""
        return rows.encode({**problem.fields(), "row": row}) + b"\n"

    def last(self, problem: Problem | None) -> bytes:
        """The end: what ended the request before its time, and the summary, unless each row has its line."""
        lines = b"" if problem is None else rows.encode(problem.fields()) + b"\n"
        if self._mode == ALL:
            return lines
        summary = {"rows": self.rows, **self._done, "refused": self._refused, "seq": self._seq}
        return lines + rows.encode({"summary": summary}) + b"\n"
