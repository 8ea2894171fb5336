"""Labels: the task that follows from the target's values, and the conversion of labels for a model.

By default, two different values make a binary task, text or a few different whole numbers make classes, and all other
targets are numbers to predict.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import inputs, limits, losses
from ..errors import InputError, ModelFileError, Option, OptionError, Phrase
from ..inputs import Float64
from .columns.row_reader import is_missing
from .sources.located_rows import Place

if TYPE_CHECKING:
    from .label_values import LabelValues

Task: TypeAlias = Literal["regression", "binary", "classes"]
TASKS = ("regression", "binary", "classes")
FEW = 20  # at most so many different whole numbers are classes
# Usual pairs of labels: the negative one, then the positive one.
_PAIRS = (
    ("0", "1"),
    ("-1", "1"),
    ("false", "true"),
    ("no", "yes"),
    ("n", "y"),
    ("f", "t"),
    ("negative", "positive"),
    ("neg", "pos"),
    ("off", "on"),
    ("bad", "good"),
    ("fail", "pass"),
)


@dataclass(frozen=True)
class Numbers:
    """One number per row; NaN where the label is missing."""

    values: Float64

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray[Any]) -> Numbers:
        """Return the labels of some rows."""
        return Numbers(self.values[rows])

    def present(self) -> NDArray[np.bool_]:
        """Return a mask of the rows with a label."""
        return ~np.isnan(self.values)

    def infinite(self) -> NDArray[np.bool_]:
        """Return a mask of the rows with an infinite label."""
        return np.isinf(self.values)

    def as_classes(self, distinct: list[Any], known: Iterable[Any]) -> list[Any]:
        """Convert values that `distinct` returned to class labels: numbers."""
        return [plain_number(label) for label in distinct]

    def distinct(self) -> tuple[list[str], NDArray[np.intp], NDArray[np.intp]]:
        """Return the different values as text, the first row of each, and each row's place among the values."""
        low, high = (float(self.values.min()), float(self.values.max())) if len(self.values) else (0.0, 0.0)
        if high - low < 4096 and low == np.floor(low):
            numbers = (self.values - low).astype(np.int64)
            if (numbers == self.values - low).all():
                found, first, places = _distinct(numbers)
                return [number_text(low + value) for value in found.tolist()], first, places
        values, first, places = np.unique(self.values, return_index=True, return_inverse=True)
        return [number_text(value) for value in values.tolist()], first, places.reshape(-1)


def _distinct(numbers: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the different (small, whole) numbers, the first row of each, and each row's place among them."""
    most = int(numbers.max(initial=0))
    first = np.full(most + 1, -1, dtype=np.intp)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    found = np.flatnonzero(first >= 0)
    place = np.zeros(most + 1, dtype=np.intp)
    place[found] = np.arange(len(found))
    return found, first[found], place[numbers]


@dataclass(frozen=True)
class Texts:
    """One text per row, stored as its place among the values; -1 where the label is missing.

    Estimators also store labels of other types in this form.
    """

    codes: NDArray[np.int32]
    values: list[Any]

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: NDArray[Any]) -> Texts:
        """Return the labels of some rows."""
        return Texts(self.codes[rows], self.values)

    def present(self) -> NDArray[np.bool_]:
        """Return a mask of the rows with a label."""
        return np.asarray(self.codes >= 0)

    def infinite(self) -> NDArray[np.bool_]:
        """Return a mask of the rows with an infinite label; text has none."""
        return np.zeros(len(self.codes), bool)

    def as_classes(self, distinct: list[Any], known: Iterable[Any]) -> list[Any]:
        """Convert values that `distinct` returned to class labels; a known label may have blanks around it."""
        names = as_known(known)
        return [names.get(label, label) for label in distinct] if names else distinct

    def distinct(self) -> tuple[list[Any], NDArray[np.intp], NDArray[np.intp]]:
        """Return the different values, the first row of each, and each row's place among the values."""
        codes, first, places = _distinct(self.codes)
        return [self.values[code] for code in codes.tolist()], first, places


RawLabels: TypeAlias = Numbers | Texts


def texts(codes: NDArray[np.int32], values: list[str]) -> Texts:
    """Make labels of text without the blanks around it: "yes " is "yes"; blank text is a missing label."""
    if all(value == value.strip() for value in values):
        return Texts(codes, values)
    number: dict[str, int] = {}
    places = [number.setdefault(value.strip(), len(number)) if value.strip() else -1 for value in values]
    return Texts(np.array([*places, -1], np.int32)[codes], list(number))


def as_known(names: Iterable[Any]) -> dict[str, str]:
    """Map the text without blanks to the label, for labels that a model has learned with blanks around them.

    Readers of files remove these blanks; arrays and the rows of a server keep them.
    """
    return {name.strip(): name for name in names if isinstance(name, str) and name != name.strip()}


def number_text(value: float) -> str:
    """Return a number as people write it: 1, not 1.0."""
    if type(value) is int or not np.isfinite(value):  # a whole number of Python may be too large for NumPy
        return str(value)
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def plain_number(text: str | float) -> int | float:
    """Return the label that a number as text stands for."""
    value = float(text)
    return int(value) if value == int(value) and abs(value) < 1e15 else value


@dataclass
class Target:
    """The task, and for a binary task its two classes: the negative one, then the positive one."""

    task: Task
    classes: list[str] = field(default_factory=list)
    number: bool = True  # whether the labels were numbers
    rest: bool = False  # whether the negative class is everything that is not the positive one
    met: int = field(default=0, compare=False)  # the number of classes among the first labels

    def plain(self) -> dict[str, Any]:
        """Return the target in the form in which a model file stores it."""
        return {"task": self.task, "classes": self.classes, "number": self.number, "rest": self.rest}

    @classmethod
    def read(cls, plain: Any) -> Target:
        """Read a target from a model file and check it."""
        try:
            task, classes, number, rest = (plain[name] for name in ("task", "classes", "number", "rest"))
            good = task in TASKS and type(number) is type(rest) is bool and type(classes) is list
            good = good and all(type(name) is str for name in classes)
            if good and task == "binary":
                good = len(classes) == 2 and classes[0] != classes[1]
                if number and not rest:  # labels that were numbers; "" is a label that has not been seen yet
                    good = good and all(math.isfinite(float(name)) for name in classes if name)
        except (KeyError, TypeError, ValueError):
            good = False
        if not good:
            raise ModelFileError("this is not a valid model file: its description of the task is impossible")
        return cls(task, list(classes), number, rest)

    def __str__(self) -> str:
        if self.task == "binary":
            negative, positive = (repr(name) if name else "something else" for name in self.classes)
            return f"binary: is it {positive} (positive) or {negative} (negative)?"
        return "regression: a number" if self.task == "regression" else "classes: one of several"

    def numbers(self, raw: RawLabels, place: Place) -> Float64:
        """Convert labels for a model: numbers for regression; 0 and 1 for a binary task.

        Args:
            raw: the labels as read.
            place: where the rows are, for messages.
        """
        if self.task == "regression":
            if isinstance(raw, Texts):
                row = int(np.flatnonzero(raw.codes >= 0)[0])
                raise InputError(
                    f"the target is {raw.values[raw.codes[row]]!r}, which is not a number", **place.at(row)
                )
            infinite = np.isinf(raw.values)
            if infinite.any():
                row = int(np.flatnonzero(infinite)[0])
                raise InputError(f"the target is {raw.values[row]}", advice=limits.LABELS, **place.at(row))
            return raw.values
        if self.rest:
            distinct, _, places = raw.distinct()
            hits = np.array([label == self.classes[1] for label in self.known(distinct)], dtype=np.float64)
            return hits[places] if len(raw) else np.zeros(0)
        if isinstance(raw, Numbers) and self.number and "" not in self.classes:  # nearly always so
            negative, positive = map(float, self.classes)
            hit: NDArray[np.bool_] = raw.values == positive
            if (hit | (raw.values == negative)).all():
                return hit.astype(np.float64)
        distinct, first, places = raw.distinct()
        self.complete(distinct)
        codes = np.zeros(max(1, len(distinct)))
        for k, label in enumerate(self.known(distinct)):
            if label not in self.classes:
                raise InputError(
                    f"the target is {label!r}, but so far it was "
                    f"{' or '.join(repr(name) for name in self.classes if name)}",
                    advice=Phrase("for more than two classes use ", Option("task", "classes"), " from the beginning"),
                    **place.at(int(first[k])),
                )
            codes[k] = self.classes.index(label)
        return codes[places] if len(raw) else np.zeros(0)

    def numbers_of(self, y: Any, rows: int) -> Float64:
        """Convert a program's labels (numbers, or two classes) to those that a model takes.

        Args:
            y: the labels as the data had them. Where they are text, a truth value says whether a label is the positive
                one; where they are numbers, it is 0 or 1.
            rows: how many there must be.
        """
        if self.task == "regression":
            return inputs.vector(y, "y", rows)
        array = np.asarray(y)
        if array.dtype == bool and array.ndim == 1 and {*self.classes} != {"false", "true"}:
            if not self.number:
                return inputs.vector(array, "y", rows)
            y = array.astype(np.float64)
        return self.numbers(checked_labels(y, rows), Place("", "row", 0))

    def unknown(self, raw: RawLabels) -> NDArray[np.bool_]:
        """Return a mask of the rows whose label does not belong to this target; missing labels do not count."""
        infinite = np.isinf(raw.values) if isinstance(raw, Numbers) else np.zeros(len(raw), bool)
        if self.task == "regression":
            return infinite if isinstance(raw, Numbers) else raw.present()
        there = raw.present() & ~infinite
        if self.task == "classes" or self.rest or not there.any():
            return infinite
        distinct, _, places = raw.take(there).distinct()
        self.complete(distinct)
        unknown = infinite
        unknown[there] = np.array([label not in self.classes for label in self.known(distinct)])[places]
        return unknown

    def known(self, labels: list[str]) -> list[str]:
        """Convert labels to the names of the classes."""
        names = as_known(self.classes)
        return [names.get(label, label) for label in labels] if names else labels

    def complete(self, labels: list[str]) -> None:
        """If only one of two classes is known, take the other one from these labels, if one of them can be it."""
        if self.task != "binary" or self.rest or "" not in self.classes:
            return
        known = next(name for name in self.classes if name)
        for label in labels:
            for negative, positive in _PAIRS:
                if {label.lower(), known.lower()} == {negative, positive}:
                    self.classes[self.classes.index("")] = label
                    return


def infer_target(
    found: LabelValues, task: str | None, loss: str | None, positive: str | None, column: str | None = None
) -> Target:
    """Return the task that follows from the options and the labels.

    Args:
        found: the labels of the first rows.
        task: the option `task`; None to infer it.
        loss: the option `loss`; None if it was not given.
        positive: the option `positive`; None if it was not given.
        column: the name of the target's column, for messages. Default: None.
    """
    if not found.rows:
        raise InputError("no row at the beginning of the data has a label that can be learned")
    number, count = found.number, len(found.counts)
    positive = None if positive is None else positive.strip()
    if found.booleans and positive is not None:
        positive = positive.lower()
    if found.booleans and task in (None, "binary") and positive is None:
        return Target("binary", ["false", "true"], False)  # both classes are known, even if only one has been seen
    if task is None and loss is not None:
        if loss in losses.names(task="regression"):
            task = "regression"
        elif loss in losses.LOSSES and ((losses.LOSSES[loss].coupled and found.whole) or not number):
            task = "binary" if count <= 2 else "classes"
    if task not in (None, *TASKS):
        raise OptionError(f"is {task!r}; it must be one of 'regression', 'binary', 'classes'", option="task")
    if task == "regression":
        if not number:
            named = "the target" if column is None else f"the target {column!r}"
            raise InputError(
                f"{named} is text, such as {found.values[0]!r}; regression predicts numbers",
                advice=Phrase(
                    *("leave out ", Option("task"), " and ", Option("loss"), " to predict one of these values, "),
                    "or name a column of numbers as the target",
                ),
            )
        return Target("regression")
    values = found.values
    if task in ("binary", None) and positive is not None and count != 2:
        if positive not in values and count > 1:
            raise OptionError(
                f"is {positive!r}, but the target is {', '.join(map(repr, values[:10]))}", option="positive"
            )
        return Target("binary", [f"not {positive}", positive], False, rest=True)
    if task == "binary" or (task is None and count == 2):
        return Target("binary", pair(values, positive), number)
    if task is None and count == 1 and (half := half_of_pair(values[0])):  # sorted by label
        return Target("binary", half, number)
    if task == "classes" or not number or (found.whole and 2 < count <= FEW):
        if positive is not None:
            raise OptionError(
                Phrase("is for two classes; leave out ", Option("task", "classes"), " to find one among many"),
                option="positive",
            )
        return Target("classes", [], number, met=count)
    return Target("regression")


def half_of_pair(value: str) -> list[str] | None:
    """Return [negative, positive] if the value is one of a usual pair, with "" for the other one; otherwise None."""
    for negative, positive in _PAIRS:
        if value.lower() in (negative, positive):
            return [value, ""] if value.lower() == negative else ["", value]
    return None


def pair(values: list[str], positive: str | None) -> list[str]:
    """Return the negative and the positive one of two labels."""
    if len(values) > 2:
        shown = ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
        raise InputError(
            f"the target has more than two values: {shown}",
            advice=Phrase(
                *("use ", Option("task", "classes"), " for those, or say which one is to be found ("),
                *(Option("positive", values[0]), ")"),
            ),
        )
    if len(values) == 1:
        half = half_of_pair(values[0])
        if half is None:
            raise InputError(
                f"the target is {values[0]!r} in all rows at the beginning",
                advice=Phrase(
                    *("say which label is to be found (", Option("positive", values[0])),
                    "), all others then being the rest",
                ),
            )
        return half
    if positive is not None:
        if positive not in values:
            raise OptionError(f"is {positive!r}, but the target is {values[0]!r} or {values[1]!r}", option="positive")
        return [value for value in values if value != positive] + [positive]
    for known in _PAIRS:
        if {value.lower() for value in values} == set(known):
            return sorted(values, key=lambda value: known.index(value.lower()))
    try:
        return sorted(values, key=float)
    except ValueError:
        return sorted(values)


def labels_of(values: Any) -> RawLabels:
    """Convert a program's labels of any type; None, NaN, pandas' NA and blank text are missing labels."""
    if isinstance(values, list):
        values = [None if is_missing(value) else value for value in values]
        kinds = {type(value) for value in values if value is not None}
        if kinds and kinds <= {str, bool, np.bool_, np.str_}:
            return _texts(
                ["" if v is None else str(v).lower() if isinstance(v, bool | np.bool_) else v for v in values]
            )
        try:
            return Numbers(np.array([math.nan if v is None else float(v) for v in values]))
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"the target is neither all numbers nor all text: {error}") from None
    array = inputs.unmasked(inputs.as_array(values, "target"), "target")
    if array.ndim != 1:
        raise InputError(f"target has {array.ndim} dimensions; it must be a list of labels, one per row")
    if array.dtype.kind == "b":
        return Texts(array.astype(np.int32), ["false", "true"])
    if array.dtype.kind in "US":
        return _texts([str(value) for value in array.tolist()])
    if array.dtype.kind == "O":
        return labels_of(array.tolist())
    if array.dtype.kind not in "iuf":
        raise InputError(f"target is of type {array.dtype}; it must hold numbers or text")
    return Numbers(np.ascontiguousarray(array, dtype=np.float64))


def checked_labels(y: Any, rows: int) -> RawLabels:
    """As `labels_of`, one label for each row, none of them missing."""
    found = labels_of(y)
    if len(found) != rows:
        raise InputError(f"y has {len(found)} values, but X has {rows} rows")
    if not (present := found.present()).all():
        raise InputError("y has no label", row=int(np.argmin(present)), advice="leave out such rows")
    return found


def _texts(values: list[str]) -> Texts:
    number: dict[str, int] = {}
    codes = np.array([number.setdefault(value, len(number)) if value else -1 for value in values], dtype=np.int32)
    return texts(codes, list(number))
