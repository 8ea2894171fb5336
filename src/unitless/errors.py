"""The errors that this package raises. All have the root `Error`.

Error
├── OptionError     an option that does not exist, or does not fit the others   (also a ValueError)
├── InputError      data that cannot be learned from; the model is unchanged    (also a ValueError)
│   └── DatasetError             a dataset of the paper is damaged, is not the expected one, or cannot be downloaded
│       └── MissingDatasetError  a dataset of the paper is missing, and downloading was not allowed
├── DivergedError   numbers grew without limit; earlier rows are learned        (also an ArithmeticError)
├── ModelFileError  a file is not a valid model file, or is damaged
├── MergeError      models cannot be merged                                     (also a ValueError)
└── WorkerError     a cluster cannot be reached, or its workers cannot finish a task

An error stores its facts in fields: what is wrong, where, and what to do. `Error.text` composes the message from these
fields when it is needed. So code that knows a better place (a file, a line) changes the fields and parses no text.
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
        return "NOT_GIVEN"  # pickling gives this one object back


NOT_GIVEN: Final = _NotGiven()


@dataclass(frozen=True)
class Option:
    """An option that a message mentions, with or without a value.

    As a string it is written as in Python (`on_error='skip'`), on the command line as a flag (`--on-error skip`).
    """

    name: str
    value: Any = NOT_GIVEN

    def __str__(self) -> str:
        return self.name if self.value is NOT_GIVEN else f"{self.name}={self.value!r}"


class _Where:
    """The part of a message that is replaced by the place of the error, such as "at row 5"."""

    def __str__(self) -> str:
        return "here"

    def __reduce__(self) -> str:
        return "WHERE"  # pickling gives this one object back


WHERE: Final = _Where()
Part: TypeAlias = str | Option | _Where


class Phrase(str):
    """A text that remembers which of its parts are options. As a string it reads as Python users write options.

    Example:
        >>> text = Phrase("skip such rows (", Option("on_error", "skip"), ")")
        >>> print(text)
        skip such rows (on_error='skip')
        >>> text.parts[1].name
        'on_error'
    """

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Self:
        """Join the parts to a text."""
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
        problem: what is wrong; a `Phrase` if it mentions options. Default: "".
        advice: what to do about it, or what would be right. Default: "".
        option: the name of the option that is wrong; the message begins with it. Default: "".
        file: the file with the problem. Default: "".
        row: the number of the row with the problem, as the caller counts rows. Default: None.
        line: the number of the line of a text file. Default: None.
        column: the name or the number of the column. Default: None.
        value: the number that caused the problem. Default: None.

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
        """The place of the problem, such as "prices.csv, row 5, column 'area'"; empty if it is not known."""
        parts = [self.file] if self.file else []
        parts += [f"{unit} {number}" for unit, number in (("row", self.row), ("line", self.line)) if number is not None]
        parts += [] if self.column is None else [f"column {self.column!r}"]
        return ", ".join(parts)

    def at(self, **fields: Any) -> Self:
        """Change fields of this error, and return it."""
        vars(self).update(fields)
        return self

    def moved(self, place: Callable[[int], Mapping[str, Any]]) -> Self:
        """Replace the row of this error by its place in a larger whole, and return the error.

        Args:
            place: gives the fields of the place for a row number, such as the file and the line.
        """
        return self if self.row is None else self.at(**{"row": None, **place(self.row)})

    def text(self, written: Callable[[Option], str] = str) -> str:
        """Return the message.

        Args:
            written: writes an option as the reader of the message would. Default: as in Python.
        """
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
    """The data cannot be learned from; the model is unchanged."""


class DatasetError(InputError):
    """A dataset of the paper is damaged, is not the expected one, or cannot be downloaded."""


class MissingDatasetError(DatasetError):
    """A dataset of the paper is missing, and downloading was not allowed."""


class DivergedError(Error, ArithmeticError):
    """Numbers grew without limit, as in gradient descent with too large a learning rate; the rows before are learned.

    Args:
        problem: what is wrong. Default: composed from the other arguments.
        at: the row at which the learner noticed it. Default: None.
        learned: how many rows are learned. Default: as many as `at` says.
        fields: the other fields of `Error`.
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
        """Replace the row and the number of learned rows by their places in a larger whole, and return the error.

        Args:
            place: gives the fields of the place for a row number, such as the file and the line.
        """
        if self.row is not None and self.learned is not None:
            last = place(max(self.learned - 1, 0))  # the last learned row; the data may end after it
            self.learned = (last.get("row", last.get("line")) or 0) + (self.learned > 0)
            super().moved(place)
            self._compose("row" if self.line is None else "line")
        return self


class ModelFileError(Error):
    """A file is not a valid model file, or is damaged."""


class MergeError(Error, ValueError):
    """The models cannot be merged."""


class WorkerError(Error):
    """A cluster cannot be reached, or its workers cannot finish a task."""
