"""Which names of features a model has seen, so that an answer can name those that it has not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from ...models.learner import Learner
from ...models.one_vs_all import OneVsAll
from ...shown import short

MOST_NAMED = 20  # unknown names of one answer
LONGEST_NAME = 80  # characters of a name in an answer
MOST_NAMES = 1 << 16  # of a model; one that has more, or that hashes names, names none as unknown
_LARGE = 64 << 20  # bytes: a model that takes more has more names, and listing them takes too long


class KnownNames:
    """The names of one model's features: those of rows that are learned one by one at once, others when asked for.

    Example:
        >>> known = KnownNames(Learner())
        >>> known.add({"age": 31.0})
        >>> known.unknown({"age": 20.0, "height": 1.8})
        ['height']
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._model = model
        self._names: set[str] = set()
        self._complete = False  # whether the names of all learned rows are here
        self.has_all: Callable[[Iterable[str]], bool] = self._names.issuperset  # of each row: as quick as can be
        if model.options.bits is not None:
            self._end()

    def _end(self) -> None:
        """Know every name from now on."""
        self._names, self.has_all = set(), _always

    def forget(self) -> None:
        """Rows were learned whose names are not here."""
        self._complete = False

    def add(self, row: Iterable[str]) -> None:
        """A row with these names was learned."""
        if not self.has_all(row):
            self._names.update(row)
            if len(self._names) > MOST_NAMES:
                self._end()

    def unknown(self, row: Iterable[str]) -> list[str] | None:
        """The names that the model has never seen, the first of them; None if it has seen all."""
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
    """The columns of the table that a model was trained on.

    Args:
        names: of the columns.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)

    def unknown(self, row: Any) -> list[str] | None:
        """The names that are no columns, the first of them; None if all are."""
        if self._names.issuperset(row):
            return None
        unknown = (name for name in row if name not in self._names)
        return [short(str(name), LONGEST_NAME) for name in islice(unknown, MOST_NAMED)]
