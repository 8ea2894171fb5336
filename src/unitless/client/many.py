"""Many rows in one request: JSON lines, in parts that are repeated until each row has its answer."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Any, TypeAlias

from . import calls, frames
from .answers import ClientError, Learned, LearnedMany, Prediction, RowProblem
from .calls import Call, Features
from .retries import LATER, Patience, problem_in

MOST_ROWS, MOST_BYTES = 1000, 1 << 20  # of one request

Example: TypeAlias = (
    tuple[Features, Any] | tuple[Features, Any, float | None] | tuple[Features, Any, float | None, str | None]
)
Question: TypeAlias = Features | tuple[Features, str]
Frame: TypeAlias = Any  # of pandas, polars or Arrow


class Part:
    """Some rows, and which of them have no answer yet."""

    def __init__(self, model: str, verb: str, patience: float, min_seq: int | None) -> None:
        self._model, self._verb, self._min_seq = model, verb, min_seq
        self._seconds, self._patience = patience, Patience(patience)
        self._lines: list[bytes] = []
        self.own_ids: list[bool] = []
        self.answers: list[dict[str, Any]] = []
        self._waiting: list[int] = []
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, line: bytes, own_id: bool) -> None:
        """One more row."""
        self._waiting.append(len(self._lines))
        self._lines.append(line)
        self.own_ids.append(own_id)
        self.answers.append({})
        self._bytes += len(line) + 1

    @property
    def full(self) -> bool:
        """Is it time to send it?"""
        return len(self._lines) >= MOST_ROWS or self._bytes >= MOST_BYTES

    def call(self) -> Call[list[dict[str, Any]]]:
        """The rows that have no answer."""
        content = b"\n".join(self._lines[row] for row in self._waiting) + b"\n"
        return calls.lines(self._model, self._verb, content, self._min_seq)

    def take(self, answers: list[dict[str, Any]]) -> float | None:
        """Answers to the last call. Gives the pause before the next one, None if all rows have their answer."""
        if len(answers) > len(self._waiting):
            raise ClientError(f"the server gave {len(answers)} answers to {len(self._waiting)} rows")
        later = []
        for row, answer in zip(self._waiting, answers, strict=False):
            self.answers[row] = answer
            if _status(answer) in LATER:
                later.append(row)
        later += self._waiting[len(answers) :]  # the server stopped before their turn
        if not later:
            return None
        if len(later) < len(self._waiting):
            self._patience = Patience(self._seconds)
        self._waiting = later
        pause = self._patience.pause()
        if pause is None:
            answer = self.answers[later[0]]
            status = _status(answer)
            raise ClientError("rows were not answered") if status is None else problem_in(answer, status)
        return pause


def _status(answer: dict[str, Any]) -> int | None:
    """Of a problem; other answers have a word as their status, or none."""
    status = answer.get("status")
    return status if isinstance(status, int) else None


class Parts:
    """Rows as they come, put together to parts."""

    def __init__(
        self, model: str, verb: str, write: Callable[[Any], tuple[bytes, bool]], patience: float, min_seq: int | None
    ) -> None:
        self._new: Callable[[], Part] = lambda: Part(model, verb, patience, min_seq)
        self._write = write
        self._part = self._new()

    def of(self, rows: Iterable[Any]) -> Iterator[Part]:
        """All rows in their order."""
        for row in rows:
            yield from self._add(row)
        yield from self._rest()

    async def of_async(self, rows: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Part]:
        """The same, of rows for which one may have to wait."""
        if isinstance(rows, AsyncIterable):
            async for row in rows:
                for part in self._add(row):
                    yield part
        else:
            for row in rows:
                for part in self._add(row):
                    yield part
        for part in self._rest():
            yield part

    def _add(self, row: Any) -> Iterator[Part]:
        self._part.add(*self._write(row))
        if self._part.full:
            yield from self._rest()

    def _rest(self) -> Iterator[Part]:
        part, self._part = self._part, self._new()
        if len(part):
            yield part


def given(rows: Any, label: str) -> Any:
    """Rows to learn; those of a frame as they are learned elsewhere."""
    return frames.examples(rows, label) if frames.is_frame(rows) else rows


def asked(rows: Any) -> Any:
    """Rows to predict; those of a frame as they are predicted elsewhere."""
    return frames.questions(rows) if frames.is_frame(rows) else rows


def examples(model: str, patience: float) -> Parts:
    """Rows to learn."""
    prefix, count = calls.new_id(), 0

    def write(row: Example) -> tuple[bytes, bool]:
        nonlocal count
        count += 1
        features, label, weight, id = (*row, None, None)[:4]
        fields = {"features": features, "label": label, "id": f"{prefix}-{count}" if id is None else id}
        return calls.encoded(fields if weight is None else {**fields, "weight": weight}), id is None

    return Parts(model, "learn", write, patience, None)


def labels(model: str, patience: float) -> Parts:
    """Labels of earlier predictions."""
    return Parts(model, "label", lambda row: (calls.encoded({"id": row[0], "label": row[1]}), False), patience, None)


def questions(model: str, patience: float, min_seq: int | None) -> Parts:
    """Rows to predict."""

    def write(row: Question) -> tuple[bytes, bool]:
        fields = {"features": row[0], "id": row[1]} if isinstance(row, tuple) else {"features": row}
        return calls.encoded(fields), False

    return Parts(model, "predict", write, patience, min_seq)


def count(total: LearnedMany, part: Part, each: Callable[[Learned], object] | None) -> None:
    """What became of a part."""
    for answer, own_id in zip(part.answers, part.own_ids, strict=True):
        status = _status(answer)
        if status is not None:
            total.problems.append(RowProblem(total.rows, problem_in(answer, status)))
            continue
        learned = calls.learned(answer, own_id)
        total.duplicates += learned.status == "duplicate"
        total.learned += learned.status != "duplicate"
        total.seq = learned.seq if learned.seq is not None else total.seq
        if each is not None:
            each(learned)


def predictions(part: Part, before: int) -> Iterator[Prediction]:
    """What the model says of the rows of a part; raises the problem of a row that cannot be used."""
    for row, answer in enumerate(part.answers, before):
        status = _status(answer)
        if status is not None:
            problem = problem_in(answer, status)
            raise ClientError(f"row {row}: {problem.title}", problem.detail, status=status, fields=answer)
        yield Prediction.from_fields(answer)
