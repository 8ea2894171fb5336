"""How large a model may become: how many features and classes it can have.

The limits stand in the log, so that a replay refuses the same rows. Whether a row is refused depends on the limits, on
the model and on the row alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import msgspec

from ...errors import InputError
from ...models.learner import Learner
from ...models.one_vs_all import OneVsAll

_NEAR = 8  # with less than this part of the room left, the names are kept in a set


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the models of a stream may have at most. 0 means: any number.

    Args:
        features: of each model.
        classes: of each model.
        by_bytes: features and classes of single models, because of the memory that more of them would take.
    """

    features: int = 0
    classes: int = 0
    by_bytes: dict[str, tuple[int, int]] = {}


class Growth:
    """The limits of one model, and the names that it knows.

    The names are needed only near the limit. Before that, `_room` says how many features may be new without looking:
    each row takes as much of it as it can have new features.
    """

    def __init__(self) -> None:
        self._model: Learner | OneVsAll | None = None
        self._known: set[str] | None = None
        self._counted = (-1, 0)  # bytes of the model when its names were counted last, and how many there were
        self._room = 0
        self._most_features = self._most_classes = 0
        self._by_bytes = (False, False)

    def begin(self, model: Learner | OneVsAll | None) -> None:
        """Another model is the one that grows."""
        self._model, self._known, self._room, self._counted = model, None, 0, (-1, 0)

    def limit(self, limits: Limits, name: str) -> None:
        """New limits, of the model with this name."""
        features, classes = limits.by_bytes.get(name, (0, 0))
        self._by_bytes = 0 < features < (limits.features or features + 1), 0 < classes < (limits.classes or classes + 1)
        self._most_features = features if self._by_bytes[0] else limits.features
        self._most_classes = classes if self._by_bytes[1] else limits.classes
        self._room = 0
        if isinstance(self._model, OneVsAll) and self._known is None:
            self._known = set(map(str, self._names()))

    @property
    def features(self) -> int:
        """How many features the model has; of hashed ones, how many places there are for them."""
        if self._model is None:
            return 0
        if self._model.options.bits is not None:
            return 1 << self._model.options.bits
        if self._known is not None:
            return len(self._known)
        if self._counted[0] != self._model.nbytes:  # it takes more memory with each name
            self._counted = self._model.nbytes, len(self._names())
        return self._counted[1]

    @property
    def most(self) -> tuple[int, int]:
        """How many features and classes it can have; 0 means any number."""
        hashed = self._model is not None and self._model.options.bits is not None
        return 0 if hashed else self._most_features, self._most_classes

    def _names(self) -> Collection[Any]:
        """The names that the model knows, or the numbers of its columns."""
        assert self._model is not None
        state: Any = self._model._snapshot(False)
        return range(state["columns"] or 0) if state["names"] is None else state["names"]

    def admit(self, most: int, names: Callable[[Any], Iterable[str]], rows: Any) -> Collection[str]:
        """Refuse rows that bring too many new features; which ones are new, if that is known.

        Args:
            most: how many features the rows have at most.
            names: gives the names of their features.
            rows: what `names` is asked about.
        """
        if most <= self._room:
            self._room -= most
            return ()
        model = self._model
        if not self._most_features or model is None or model.options.bits is not None:
            self._room = 1 << 60
            return ()
        if self._known is None and not isinstance(
            model, OneVsAll
        ):  # to list the names of a model of classes takes long
            left = self._most_features - self.features
            if left - most >= self._most_features // _NEAR:
                self._room = left - most
                return ()
        self._room = 0
        if self._known is None:
            self._known = set(map(str, self._names()))
        new = {name for name in names(rows) if name not in self._known}
        if new and len(self._known) + len(new) > self._most_features:
            raise InputError(self._too_many(new), advice=_ADVICE)
        return new

    def learned(self, new: Collection[str]) -> None:
        """A row was learned whose new features were these."""
        if self._known is not None:
            self._known.update(new)

    def admit_class(self, label: Any, others: int = 0) -> None:
        """Refuse a label that is one class too many.

        Args:
            label: of a row.
            others: how many new classes join before it.
        """
        model = self._model
        assert isinstance(model, OneVsAll)
        if (
            self._most_classes
            and len(model._classes.labels) + others >= self._most_classes
            and model._classes.known(label) < 0
        ):
            setting = "max_model_bytes" if self._by_bytes[1] else "max_classes"
            raise InputError(
                f"the label is {_short(label)}, which would be a new class; the model has {len(model.classes):,}, and "
                f"cannot have more ({setting})",
                advice="if labels are numbers, send them as numbers; else raise the setting, or create the model with "
                'fewer "classes"',
            )

    def _too_many(self, new: set[str]) -> str:
        assert self._known is not None
        setting = "max_model_bytes" if self._by_bytes[0] else "max_features"
        return (
            f"the row has {len(new):,} new features, such as {_short(min(new))}; the model has {len(self._known):,}, "
            f"and can have {self._most_features:,} ({setting})"
        )


_ADVICE = 'leave out columns whose names or texts are always new, raise the setting, or create the model with "bits"'


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
