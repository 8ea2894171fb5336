"""Maps class labels of any type to numbers 0, 1, 2, ... in the order in which they were given or first seen."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import inputs, limits
from ..errors import WHERE, DivergedError, InputError, OptionError, Phrase
from ..inputs import Float64

if TYPE_CHECKING:
    from ..data.labels import RawLabels
    from ..data.sources.located_rows import Place

Label: TypeAlias = str | int | float | bool


_KINDS = "classes are text, numbers or booleans"


class Classes:
    """The known labels. If `open`, labels that are seen for the first time become new classes."""

    def __init__(self, labels: Iterable[Any] | int | None, *, open: bool) -> None:
        self.open = open
        self.labels: list[Label] = []
        self.by_label: dict[Label, int] = {}
        if isinstance(labels, int) and not isinstance(labels, bool):
            labels = range(1, labels + 1)
        if isinstance(labels, str | bytes) or not (labels is None or isinstance(labels, Iterable)):
            raise OptionError(
                f"classes is {labels!r}; it must be a list of labels, a number n for 1 to n, or None to let classes "
                "join when they are first met"
            )
        for label in () if labels is None else labels:
            plain = _plain(label)
            if plain is None or plain in self.by_label:
                problem = "twice" if plain is not None else "as a label; labels are text, numbers or booleans"
                raise OptionError(f"has {label!r} {problem}", option="classes")
            self._add(plain)

    def _add(self, label: Label) -> None:
        self.by_label[label] = len(self.labels)
        self.labels.append(label)

    def numbers(self, y: Any, rows: int, weight: Any = None) -> tuple[Float64, list[Label]]:
        """Return the class number of each row, and the new labels, for `joining`.

        Args:
            y: the labels.
            rows: the number of rows.
            weight: the sample weights; a row of weight 0 brings no new label. Default: None (all 1).
        """
        array = inputs.unmasked(_array(y), "y")
        if array.ndim != 1:
            raise InputError(f"y has {array.ndim} dimensions; it must be a list of classes, one per row")
        if len(array) != rows:
            raise InputError(f"y has {len(array)} values, but X has {rows} rows")
        counted = None
        if weight is not None and self.open:
            counted = inputs.vector(weight, "weight", rows) != 0
            array = array[counted]
        distinct, places = distinct_labels(array)
        rows_of = np.arange(rows) if counted is None else np.flatnonzero(counted)
        numbers, new = self.number_all([(label, int(rows_of[first])) for label, first in distinct])
        result = np.zeros(rows)
        result[slice(None) if counted is None else counted] = numbers[places]
        return result, new

    def number_all(self, distinct: list[tuple[Any, int]]) -> tuple[Float64, list[Label]]:
        """Return the class numbers of distinct labels, and those of the labels that are new.

        Args:
            distinct: pairs of a label and the number of the first row that has it.
        """
        new: dict[Label, int] = {}
        numbers = np.zeros(len(distinct))
        for i, (label, row) in sorted(enumerate(distinct), key=lambda item: item[1][1]):
            numbers[i] = self._find(label, row, new)
        return numbers, list(new)

    def numbers_of(self, labels: RawLabels, place: Place, weight: Float64 | None) -> tuple[Float64, list[Label]]:
        """Return the class number of each row, and the new labels, for `joining`.

        Args:
            labels: the labels as read from the data.
            place: where the rows are, for messages.
            weight: the sample weights. A row of weight 0 brings no new class; if its class is unknown, its number is
                -1.
        """
        if (infinite := labels.infinite()).any():
            row = int(np.argmax(infinite))
            problem = f"the target is {labels.values[row]}"
            raise InputError(problem, advice=limits.LABELS, **place.at(row))
        present = labels.present()
        counted = present if weight is None else present & (weight > 0)
        rows = np.flatnonzero(counted)
        numbers = np.full(len(labels), -1.0)
        distinct, first, places = labels.take(counted).distinct()
        named = zip(labels.as_classes(distinct, self.labels), rows[first].tolist(), strict=True)
        found, new = self.number_all(list(named))
        if len(rows):
            numbers[rows] = found[places]
        others = np.flatnonzero(present & ~counted)
        if len(others):
            distinct, _, places = labels.take(others).distinct()
            joining = {label: len(self.labels) + k for k, label in enumerate(new)}
            known = [joining.get(one, self.known(one)) for one in labels.as_classes(distinct, self.labels)]
            numbers[others] = np.array(known, np.float64)[places]
        if weight is None and not counted.all():
            raise InputError("a row has no class")
        return numbers, new

    def known(self, label: Label) -> int:
        """Return the number of a label; -1 if it is unknown."""
        return self.by_label.get(label, -1)

    def number(self, y: Any, weight: Any = 1.0) -> tuple[float, list[Label]]:
        """Return the class number of one label, and a list of the label if it is new."""
        if self.open and isinstance(weight, int | float) and weight == 0:
            return 0.0, []
        known = self.by_label.get(y) if type(y) in (str, int, bool) else None  # nearly always so
        if known is not None:
            return float(known), []
        new: dict[Label, int] = {}
        return float(self._find(y, 0, new)), list(new)

    def _find(self, label: Any, row: int, new: dict[Label, int]) -> int:
        plain = _plain(label)
        if plain is None:
            raise InputError(Phrase("the class ", WHERE, f" is {label!r}"), row=row, advice=_KINDS)
        known = self.by_label.get(plain)
        if known is not None:
            return known
        if not self.open:
            shown = ", ".join(map(repr, self.labels[:10])) + (", ..." if len(self.labels) > 10 else "")
            raise InputError(
                Phrase("the class ", WHERE, f" is {label!r}, which is not one of {shown}"),
                row=row,
                advice="OneVsAll with classes=None lets classes join when they are first met",
            )
        return new.setdefault(plain, len(self.labels) + len(new))

    @contextlib.contextmanager
    def joining(self, new: list[Label]) -> Iterator[None]:
        """Add new labels when the block ends. If it raises an error, add them only after a `DivergedError`."""
        try:
            yield
        except DivergedError:  # the rows before the error are learned
            self.accept(new)
            raise
        self.accept(new)

    def accept(self, new: list[Label]) -> None:
        """Add new labels."""
        for label in new:
            self._add(label)


def _array(y: Any) -> np.ndarray[Any, Any]:
    """Return an array of labels; labels of different types keep their types."""
    if isinstance(y, list | tuple) and len(set(map(type, y))) > 1 and not any(isinstance(v, list | tuple) for v in y):
        array = np.empty(len(y), dtype=object)
        array[:] = y
        return array
    return inputs.as_array(y, "y")


def _plain(label: Any) -> Label | None:
    """Return a label as a value of a Python type; None if it cannot be a label."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, float) and not math.isfinite(label):
        return None
    return label if isinstance(label, str | int | float) else None


def distinct_labels(array: Any) -> tuple[list[tuple[Any, int]], NDArray[np.int64]]:
    """Return each distinct label with its first row, and for each row the place of its label among them."""
    if array.dtype.kind in "iu" and len(array):
        low, high = int(array.min()), int(array.max())
        if high - low < 65_536 and high < 2**62:  # a lookup table is faster than sorting
            places = (array.astype(np.int64) - low).astype(np.int64)
            first = _first_rows(places, high - low + 1)
            used = np.flatnonzero(first >= 0)
            position = np.zeros(high - low + 1, dtype=np.int64)
            position[used] = np.arange(len(used))
            return [(int(u) + low, int(first[u])) for u in used], position[places]
    labels = array.tolist()
    try:
        met = list(dict.fromkeys(labels))
    except TypeError:
        row = next(row for row, label in enumerate(labels) if not _hashable(label))
        raise InputError(Phrase("the class ", WHERE, f" is {labels[row]!r}"), row=row, advice=_KINDS) from None
    number = dict(zip(met, range(len(met)), strict=True))
    places = np.fromiter(map(number.__getitem__, labels), dtype=np.int64, count=len(labels))
    return list(zip(met, _first_rows(places, len(met)).tolist(), strict=True)), places


def _hashable(label: Any) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return True


def _first_rows(places: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return for each of the numbers 0 … count - 1 the first row that has it; -1 if no row has it."""
    first = np.full(count, -1, dtype=np.int64)
    # If several assignments go to one place, the last one counts.
    first[places[::-1]] = np.arange(len(places) - 1, -1, -1)
    return first


def label_array(labels: list[Label]) -> np.ndarray[Any, Any]:
    """Return labels as an array of their own type; of type object if types differ or a label ends with a NUL."""
    cut = any(isinstance(label, str) and label.endswith("\0") for label in labels)
    if len({type(label) for label in labels}) == 1 and not cut:
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array
