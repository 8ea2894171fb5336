"""Read y: labels are checked, and sorted like `classes_`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from ..errors import InputError, OptionError
from ..inputs import Float64
from ..models.classes import distinct_labels


@dataclass(frozen=True)
class Labels:
    """The class of each row."""

    values: NDArray[Any]
    classes: NDArray[Any]  # the distinct classes, sorted
    places: NDArray[np.int64]  # each row's position among them

    def check_known(self, known: NDArray[Any]) -> None:
        """Check that all classes are `known`."""
        new = ~np.isin(self.classes, known)
        if new.any():
            row = int(np.argmax(new[self.places]))
            shown = ", ".join(map(repr, known[:10].tolist())) + (", ..." if len(known) > 10 else "")
            raise InputError(
                f"the class at row {row} is {self.values.tolist()[row]!r}, which is not one of {shown}; "
                "new_classes='allow' lets classes join when they first appear"
            )

    def joined(self, known: NDArray[Any]) -> NDArray[Any]:
        """The union of these classes and `known`, sorted."""
        texts = [label for label in known.tolist() if isinstance(label, str)]
        other = [isinstance(label, str) != bool(texts) for label in self.classes.tolist()]
        if len(known) and any(other):
            row = int(np.argmax(np.array(other)[self.places]))
            kinds = ("a number", "text") if texts else ("text", "numbers")
            raise InputError(
                f"the class at row {row} is {self.values.tolist()[row]!r}, which is {kinds[0]}, but the classes so far "
                f"are {kinds[1]}, such as {known.tolist()[0]!r}; make all of them text"
            )
        return np.union1d(known, self.classes)

    def weights(self, class_weight: Any, known: NDArray[Any]) -> Float64 | None:
        """The weight of each row by its class."""
        if class_weight is None:
            return None
        if isinstance(class_weight, str) and class_weight == "balanced":
            by_class = compute_class_weight("balanced", classes=self.classes, y=self.values)
        elif isinstance(class_weight, Mapping):
            for label in class_weight:
                if label not in known.tolist():
                    raise OptionError(f"class_weight has {label!r}, which is not one of the classes {known.tolist()}")
            by_class = np.array([class_weight.get(label, 1.0) for label in self.classes.tolist()])
        else:
            raise OptionError(f"class_weight is {class_weight!r}; it must be a dictionary, 'balanced' or None")
        return np.asarray(by_class[self.places], dtype=np.float64)


def read(y: Any, rows: int) -> Labels:
    """y, a class for each row."""
    values: NDArray[Any] = column_or_1d(y, warn=True)
    if len(values) != rows:
        raise InputError(f"y has {len(values)} values, but X has {rows} rows")
    assert_all_finite(values, input_name="y")
    distinct, places = distinct_labels(values)
    if not all(isinstance(label, str | int) for label, _ in distinct):  # text and integers are always classes
        check_classification_targets(values)
    classes, order = sorted_classes(values[[first for _, first in distinct]])
    return Labels(values, classes, order[places])


def sorted_classes(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The distinct classes, in the order of `classes_`, and the position of each label."""
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError:
        raise InputError("the classes are of several kinds, which have no order; make all of them text") from None
