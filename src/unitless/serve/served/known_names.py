"""The feature names that a model has learned, so that an answer can list unknown ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from ...models.learner import Learner
from ...models.one_vs_all import OneVsAll
from ...presentation.shown import short

MOST_NAMED = 20  # unknown names that an answer lists
LONGEST_NAME = 80  # characters of a name in an answer
MOST_NAMES = 1 << 16  # per model; a model with more names, or with hashed ones, lists no unknown names
_LARGE = 64 << 20  # bytes; listing the names of a larger model would take too long


class KnownNames:
    """The names of a model's features. Names of single rows are added at once, those of batches when they are needed.

    Example:
        >>> known = KnownNames(Learner())
        >>> known.add({"age": 31.0})
        >>> known.unknown({"age": 20.0, "height": 1.8})
        ['height']
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._model = model
        self._names: set[str] = set()
        self._complete = False  # whether the set has the names of all learned rows
        self.has_all: Callable[[Iterable[str]], bool] = self._names.issuperset  # bound once: called for each row
        if model.options.bits is not None:
            self._end()

    def _end(self) -> None:
        """Stop tracking names: every name counts as known."""
        self._names, self.has_all = set(), _always

    def forget(self) -> None:
        """Note that rows were learned whose names were not added."""
        self._complete = False

    def add(self, row: Iterable[str]) -> None:
        """Add the names of a row that was learned."""
        if not self.has_all(row):
            self._names.update(row)
            if len(self._names) > MOST_NAMES:
                self._end()

    def unknown(self, row: Iterable[str]) -> list[str] | None:
        """The first names that the model has never seen; None if it has seen all."""
        if not self._complete and not self.has_all(row):
            self._complete = True
            if self._model.nbytes > _LARGE:
                self._end()
            else:
                self.add(self._model._snapshot(False)["names"] or ())
        if self.has_all(row):
            return None
        unknown = (name for name in row if name not in self._names)
        return [short(name, LONGEST_NAME) for name in islice(unknown, MOST_NAMED)]


def _always(_: Iterable[str]) -> bool:
    return True


class ColumnNames:
    """The columns of the table that a model was trained on."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)

    def unknown(self, row: Any) -> list[str] | None:
        """The first names that are not columns of the table; None if all are."""
        if self._names.issuperset(row):
            return None
        unknown = (name for name in row if name not in self._names)
        return [short(str(name), LONGEST_NAME) for name in islice(unknown, MOST_NAMED)]
