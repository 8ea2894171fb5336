"""What can go wrong, under one root.

Error
├── OptionError     an option that does not exist or does not fit the others    (also a ValueError)
├── InputError      data that cannot be learned from; nothing was changed       (also a ValueError)
│   └── DatasetError             one of the paper's datasets is damaged, another one, or cannot be downloaded
│       └── MissingDatasetError  one of the paper's datasets is not there, and was not to be downloaded
├── DivergedError   the numbers grew without limit; the rows before are learned (also an ArithmeticError)
├── ModelFileError  a file that is not a valid model file, or is damaged
├── MergeError      models that do not fit together                             (also a ValueError)
└── WorkerError     a cluster cannot be reached, or its workers cannot bring a task to an end

An error holds its facts in fields: what is wrong, where, and what to do. Its text is composed here and nowhere else,
when somebody asks for it. No code needs to read a text: whoever knows more about the place changes the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import Self


class _NotGiven:
    def __repr__(self) -> str:
        return "NOT_GIVEN"

    def __reduce__(self) -> str:
        return "NOT_GIVEN"  # there is one only


NOT_GIVEN: Final = _NotGiven()


@dataclass(frozen=True)
class Option:
    """An option that a text mentions, with or without a value. The command line writes it in its own way."""

    name: str
    value: Any = NOT_GIVEN

    def __str__(self) -> str:
        return self.name if self.value is NOT_GIVEN else f"{self.name}={self.value!r}"


class _Where:
    """Stands in a text for the place of the error, such as "at row 5"."""

    def __str__(self) -> str:
        return "here"

    def __reduce__(self) -> str:
        return "WHERE"  # there is one only


WHERE: Final = _Where()
Part: TypeAlias = str | Option | _Where


class Phrase(str):
    """A text that remembers which of its parts are options. As a string it is what users of Python read.

    Example:
        >>> text = Phrase("skip such rows (", Option("on_error", "skip"), ")")
        >>> print(text)
        skip such rows (on_error='skip')
        >>> text.parts[1].name
        'on_error'
    """

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Self:
        """Put the parts together."""
        text = super().__new__(cls, "".join(map(str, parts)))
        text.parts = parts
        return text

    def __add__(self, other: str) -> Phrase:
        return Phrase(*self.parts, *_parts(other))


def _parts(text: str) -> tuple[Part, ...]:
    return text.parts if isinstance(text, Phrase) else (text,)


class Error(Exception):
    """The root of all errors of this package.

    Args:
        problem: what is wrong; a `Phrase` if it mentions options.
        advice: what to do about it, or what would be right.
        option: the option that is wrong; the text begins with its name.
        file: where the problem is; and so for the others.
        row: as the caller counts them.
        line: of a text file.
        column: its name, or its number.
        value: the number that is to blame.

    Example:
        >>> error = InputError("weight is -1", row=4, advice="weights must not be negative")
        >>> print(error)
        weight is -1 at row 4; weights must not be negative
        >>> print(error.at(file="prices.csv", row=5))
        prices.csv, row 5: weight is -1; weights must not be negative
    """

    def __init__(
        self,
        problem: str = "",
        *,
        advice: str = "",
        option: str = "",
        file: str = "",
        row: int | None = None,
        line: int | None = None,
        column: str | int | None = None,
        value: float | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem, self.advice, self.option = problem, advice, option
        self.file, self.row, self.line, self.column, self.value = file, row, line, column, value

    @property
    def where(self) -> str:
        """The place, such as "prices.csv, row 5, column 'area'"; empty if it is not known."""
        parts = [self.file] if self.file else []
        parts += [f"{unit} {number}" for unit, number in (("row", self.row), ("line", self.line)) if number is not None]
        parts += [] if self.column is None else [f"column {self.column!r}"]
        return ", ".join(parts)

    def at(self, **fields: Any) -> Self:
        """The error itself, with other fields."""
        vars(self).update(fields)
        return self

    def moved(self, place: Callable[[int], Mapping[str, Any]]) -> Self:
        """The error itself, its row replaced by its place in a larger whole; `place` gives the fields for a row."""
        return self if self.row is None else self.at(**{"row": None, **place(self.row)})

    def text(self, written: Callable[[Option], str] = str) -> str:
        """The message; `written` says how options are to be written."""
        parts = _parts(self.problem)
        where = self.where
        if self.option:
            parts = Option(self.option), " ", *parts
        if where and WHERE not in parts:
            parts = (where, ": ", *parts) if self.file else (*parts, " ", WHERE)
        if self.advice:
            parts = *parts, "; ", *_parts(self.advice)
        at = f"at {where}" if where else str(WHERE)
        return "".join(
            written(part) if isinstance(part, Option) else at if isinstance(part, _Where) else str(part)
            for part in parts
        )

    def __str__(self) -> str:
        return self.text()


class OptionError(Error, ValueError):
    """An option does not exist or does not fit the others."""


class InputError(Error, ValueError):
    """The data cannot be learned from; the learner is as it was."""


class DatasetError(InputError):
    """One of the paper's datasets is damaged, is another one than its name says, or cannot be downloaded."""


class MissingDatasetError(DatasetError):
    """One of the paper's datasets is not there, and was not to be downloaded."""


class DivergedError(Error, ArithmeticError):
    """The numbers grew without limit, as gradient descent's do at too large a rate; the rows before are learned.

    Args:
        problem: composed from the others if it is not given.
        at: the row at which it was noticed.
        learned: how many rows are learned.
    """

    def __init__(self, problem: str = "", *, at: int | None = None, learned: int | None = None, **fields: Any) -> None:
        super().__init__(problem, **({"row": at} | fields))
        self.learned = at if learned is None else learned
        if not problem and at is not None:
            self._compose("row")

    def _compose(self, unit: str) -> None:
        before = "it" if self.learned in (self.row, self.line) else f"{unit} {self.learned}"
        self.problem = Phrase("the learner diverged ", WHERE, f"; the rows before {before} are learned")
        self.advice = Phrase(
            "look for extremely large values, labels or weights there, or use a smaller ",
            *(Option("learning_rate"), ", or ", Option("importance_aware", True)),
        )

    def moved(self, place: Callable[[int], Mapping[str, Any]]) -> Self:
        """The same for the row at which it was noticed and for the number of rows that are learned."""
        if self.row is not None and self.learned is not None:
            last = place(max(self.learned - 1, 0))  # the last row that is learned; there may be none after it
            self.learned = (last.get("row", last.get("line")) or 0) + (self.learned > 0)
            super().moved(place)
            self._compose("row" if self.line is None else "line")
        return self


class ModelFileError(Error):
    """A file is not a valid model file, or is damaged."""


class MergeError(Error, ValueError):
    """Models do not fit together."""


class WorkerError(Error):
    """A cluster cannot be reached, or its workers cannot bring a task to an end."""
