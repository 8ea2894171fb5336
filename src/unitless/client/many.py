"""Many rows: they are sent in parts, as JSON lines, which are repeated until each row has its answer."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import msgspec

from ..serve import wire
from ..serve.wire import Learned, Prediction
from . import bodies, frames
from .answers import ClientError, LearnedMany, RowProblem
from .retries import LATER, problem_in
from .steps import END, Steps

MOST_ROWS, MOST_BYTES = 1000, 1 << 20  # in one request

T = TypeVar("T")
Features: TypeAlias = Mapping[str, Any] | Sequence[float]  # by name; of models that were trained on arrays, in order
Example: TypeAlias = (
    tuple[Features, Any] | tuple[Features, Any, float | None] | tuple[Features, Any, float | None, str | None]
)
Question: TypeAlias = Features | tuple[Features, str]
Frame: TypeAlias = Any  # a frame of pandas, polars or Arrow
Rounds: TypeAlias = Callable[[], Steps[list[T]]]  # gives the next results; none after the last


class Part:
    """Some rows, and which of them have no answer yet."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self.own_ids: list[bool] = []
        self.answers: list[dict[str, Any]] = []
        self.waiting: list[int] = []
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, line: bytes, own_id: bool) -> None:
        """Add a row. Its id is `own_id` if the client made it."""
        self.waiting.append(len(self._lines))
        self._lines.append(line)
        self.own_ids.append(own_id)
        self.answers.append({})
        self._bytes += len(line) + 1

    @property
    def full(self) -> bool:
        """Whether it is time to send it."""
        return len(self._lines) >= MOST_ROWS or self._bytes >= MOST_BYTES

    def content(self) -> bytes:
        """The rows that have no answer."""
        return b"\n".join(self._lines[row] for row in self.waiting) + b"\n"

    def take(self, answers: list[dict[str, Any]]) -> bool:
        """Assign answers to the waiting rows; returns whether any row got its final answer."""
        if len(answers) > len(self.waiting):
            raise ClientError(f"the server gave {len(answers)} answers to {len(self.waiting)} rows")
        later = []
        for row, answer in zip(self.waiting, answers, strict=False):
            self.answers[row] = answer
            if _status(answer) in LATER:
                later.append(row)
        later += self.waiting[len(answers) :]  # the server stopped before it read them
        progress = len(later) < len(self.waiting)
        self.waiting = later
        return progress

    def problem(self) -> ClientError:
        """The problem of the first row without an answer."""
        answer = self.answers[self.waiting[0]]
        status = _status(answer)
        return ClientError("rows were not answered") if status is None else problem_in(answer, status)


def _status(answer: dict[str, Any]) -> int | None:
    """The HTTP status of a problem; other answers have a word as their status, or none."""
    status = answer.get("status")
    return status if isinstance(status, int) else None


class Parts:
    """Rows, put together to parts.

    Args:
        rows: an iterable, which may be asynchronous.
        write: makes the line of a row; and whether the client made its id.
    """

    def __init__(self, rows: Any, write: Callable[[Any], tuple[bytes, bool]]) -> None:
        self._rows: Iterator[Any] | AsyncIterator[Any]
        self._rows = aiter(rows) if isinstance(rows, AsyncIterable) else iter(rows)
        self._write = write

    def next(self) -> Steps[Part]:
        """The next part; an empty one after the last."""
        part = Part()
        while not part.full:
            row = next(self._rows, END) if isinstance(self._rows, Iterator) else (yield self._rows)
            if row is END:
                break
            part.add(*self._write(row))
        return part


def examples(rows: Any, label: str) -> Parts:
    """Rows to learn; those of a frame have their label in this column."""
    prefix, count = uuid.uuid4().hex, 0

    def write(row: Example) -> tuple[bytes, bool]:
        nonlocal count
        count += 1
        features, truth, weight, id = (*row, None, None)[:4]
        request = wire.LearnRequest(features, truth, f"{prefix}-{count}" if id is None else id, weight)
        return bodies.body(request), id is None

    return Parts(frames.examples(rows, label) if frames.is_frame(rows) else rows, write)


def labels(rows: Any) -> Parts:
    """Labels of earlier predictions, as pairs of id and label."""
    return Parts(rows, lambda row: (bodies.body(wire.LabelRequest(*row)), False))


def prediction_rows(rows: Any) -> Parts:
    """Rows to predict."""

    def write(row: Question) -> tuple[bytes, bool]:
        return bodies.body(wire.PredictRequest(*(row if isinstance(row, tuple) else (row,)))), False

    return Parts(frames.prediction_rows(rows) if frames.is_frame(rows) else rows, write)


def own(answer: Learned) -> Learned:
    """The answer to a row whose id the client made: a duplicate is the row itself, sent a second time."""
    return replace(answer, status="learned")


def count(total: LearnedMany, part: Part, each: Callable[[Learned], object] | None) -> None:
    """Add the answers to a part to the result."""
    for answer, own_id in zip(part.answers, part.own_ids, strict=True):
        status = _status(answer)
        if status is not None:
            total.problems.append(RowProblem(total.rows, problem_in(answer, status)))
            continue
        learned = msgspec.convert(answer, Learned)
        learned = own(learned) if own_id else learned
        total.duplicates += learned.status == "duplicate"
        total.learned += learned.status != "duplicate"
        total.seq = learned.seq if learned.seq is not None else total.seq
        if each is not None:
            each(learned)


def predictions(part: Part, before: int) -> list[Prediction]:
    """The predictions for the rows of a part; raises the problem of a row that cannot be used."""
    found = []
    for row, answer in enumerate(part.answers, before):
        status = _status(answer)
        if status is not None:
            problem = problem_in(answer, status)
            raise ClientError(f"row {row}: {problem.title}", problem.detail, status=status, fields=answer)
        found.append(msgspec.convert(answer, Prediction))
    return found
