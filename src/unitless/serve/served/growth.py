"""Limits on the features and classes of a model.

The limits are written to the log, so that a replay refuses the same rows: whether a row is refused depends only on the
limits, the model and the row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import msgspec

from ...errors import InputError
from ...models.learner import Learner
from ...models.one_vs_all import OneVsAll
from ...presentation.shown import short

_NEAR = 8  # names are held in a set once fewer than 1/8 of the features are left


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """The largest models of a stream. 0 means no limit.

    Args:
        features: largest number of features per model.
        classes: largest number of classes per model.
        by_bytes: smaller limits (features, classes) of single models, by name, which follow from their memory use.
    """

    features: int = 0
    classes: int = 0
    by_bytes: dict[str, tuple[int, int]] = {}


class Growth:
    """The limits of one model, and the names that it knows.

    The names are needed only near the limit. Until then `_budget` is the number of features that may be new without a
    check of names: each row subtracts the number of its features.
    """

    def __init__(self) -> None:
        self._model: Learner | OneVsAll | None = None
        self._known: set[str] | None = None
        self._counted = (-1, 0)  # the model's bytes when its names were last counted, and the number of names
        self._budget = 0
        self._most_features = self._most_classes = 0
        self._by_bytes = (False, False)

    def begin(self, model: Learner | OneVsAll | None) -> None:
        """Start again with another model."""
        self._model, self._known, self._budget, self._counted = model, None, 0, (-1, 0)

    def limit(self, limits: Limits, name: str) -> None:
        """Set the limits of the model with this name."""
        features, classes = limits.by_bytes.get(name, (0, 0))
        self._by_bytes = 0 < features < (limits.features or features + 1), 0 < classes < (limits.classes or classes + 1)
        self._most_features = features if self._by_bytes[0] else limits.features
        self._most_classes = classes if self._by_bytes[1] else limits.classes
        self._budget = 0
        if self._model is not None and self._model.task == "classes" and self._known is None:
            self._known = set(map(str, self._names()))

    @property
    def features(self) -> int:
        """The number of features of the model; the size of the hash table if names are hashed."""
        if self._model is None:
            return 0
        if self._model.options.bits is not None:
            return 1 << self._model.options.bits
        if self._known is not None:
            return len(self._known)
        if self._counted[0] != self._model.nbytes:  # every new name takes memory
            self._counted = self._model.nbytes, len(self._names())
        return self._counted[1]

    @property
    def most(self) -> tuple[int, int]:
        """The largest numbers of features and classes; 0 means no limit."""
        hashed = self._model is not None and self._model.options.bits is not None
        return 0 if hashed else self._most_features, self._most_classes

    def _names(self) -> Collection[Any]:
        """The names of the model's features, or its column numbers."""
        assert self._model is not None
        state: Any = self._model._snapshot(False)
        return range(state["columns"] or 0) if state["names"] is None else state["names"]

    def admit(self, most: int, names: Callable[[Any], Iterable[str]], rows: Any) -> Collection[str]:
        """Refuse rows that have too many new features.

        Args:
            most: an upper bound of the number of features in the rows.
            names: a function that returns the names of their features.
            rows: the argument of `names`.

        Returns:
            The new features; empty if the names did not have to be checked.

        Raises:
            InputError: the model would have more features than its limit.
        """
        if most <= self._budget:
            self._budget -= most
            return ()
        model = self._model
        if not self._most_features or model is None or model.options.bits is not None:
            self._budget = 1 << 60
            return ()
        # Listing the names of a model with several classes is slow, so `limit` has put them in a set.
        if self._known is None and model.task != "classes":
            left = self._most_features - self.features
            if left - most >= self._most_features // _NEAR:
                self._budget = left - most
                return ()
        self._budget = 0
        if self._known is None:
            self._known = set(map(str, self._names()))
        new = {name for name in names(rows) if name not in self._known}
        if new and len(self._known) + len(new) > self._most_features:
            raise InputError(self._too_many(new), advice=_ADVICE)
        return new

    def learned(self, new: Collection[str]) -> None:
        """Record the new features of a row that was learned."""
        if self._known is not None:
            self._known.update(new)

    def admit_class(self, label: Any, others: int = 0) -> None:
        """Refuse the label of a new class if the model has reached its limit.

        Args:
            label: the label of a row.
            others: the number of other new classes in the rows before it.
        """
        model = self._model
        assert model is not None
        if self._most_classes and model.heads + others >= self._most_classes and model._number_of(label) < 0:
            setting = "max_model_bytes" if self._by_bytes[1] else "max_classes"
            raise InputError(
                f"the label is {short(repr(label), 60)}, which would be a new class; the model has "
                f"{model.heads:,}, and cannot have more ({setting})",
                advice="if labels are numbers, send them as numbers; else raise the setting, or create the model with "
                'fewer "classes"',
            )

    def _too_many(self, new: set[str]) -> str:
        assert self._known is not None
        setting = "max_model_bytes" if self._by_bytes[0] else "max_features"
        return (
            f"the row has {len(new):,} new features, such as {short(repr(min(new)), 60)}; the model has "
            f"{len(self._known):,}, and can have {self._most_features:,} ({setting})"
        )


_ADVICE = 'leave out columns whose names or texts are always new, raise the setting, or create the model with "bits"'
