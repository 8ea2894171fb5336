"""Rows of features without units: what the uncertainty of a bandit is computed from."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from itertools import product
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

import numpy as np

from .. import _core, limits
from ..data.columns.policy import Policy
from ..data.columns.row_reader import NamedRowReader, as_mapping
from ..data.columns.text_columns import Seen, TextColumns
from ..errors import InputError
from ..inputs import Float64
from ..models.model import BIAS

# As in the server's models: `texts` decides which texts are dates; dates of Python and pandas become their parts.
_READER = NamedRowReader(Policy(booleans="indicator", text="indicators", missing="indicator", dates="parts"))
_CONSTANT = 0  # its slot
_MOST_FACTOR = 1e150  # of features that are multiplied with others; the core has the same limit


class Row(NamedTuple):
    """A row as learners read it, and as the uncertainty does."""

    features: dict[str, float | bool]
    slots: list[int]
    z: list[float]


Read: TypeAlias = "tuple[dict[str, float | bool], list[Seen]]"  # features by name, and what their texts decide


class Slots:
    """The places of features. The first ones have their own place, and further ones share buckets."""

    def __init__(self, known: Iterable[Hashable] = ()) -> None:
        self._at = {key: place for place, key in enumerate(known, 1)}

    def __len__(self) -> int:
        return len(self._at)

    def __iter__(self) -> Any:
        return iter(self._at)

    def of(self, keys: Iterable[Any]) -> list[int]:
        """Return the places of features, and give new ones a place."""
        at, found = self._at, []
        for key in keys:
            place = at.get(key)
            if place is None:
                if len(at) < _core.MOST_EXACT:
                    place = at[key] = len(at) + 1
                else:
                    place = _core.MOST_EXACT + 1 + crc32(str(key).encode(errors="replace")) % _core.BUCKETS
            found.append(place)
        return found


class Features:
    """Reads mappings of features: contexts, or the features of actions.

    Numbers and booleans of the first row are centered; a row without such a feature counts as having its mean.

    Args:
        prefix: what the names of the features begin with.
    """

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.texts: dict[str, Any] = {}  # the state of TextColumns
        self._columns = TextColumns(self.texts)
        self.slots, self.centered = Slots(), 0
        self.scales = np.zeros(_core.CONTEXT_SCALES_SIZE)

    def copy(self) -> Features:
        """Return a copy whose `scaled` does not change this object."""
        plain, scales = self.state()
        return Features.restored(plain | {"texts": {}}, scales)

    def read(self, given: Any) -> Read:
        """Return the features of a row by name, and what its texts decide about their columns. Changes nothing."""
        row = as_mapping(given)
        if not isinstance(row, Mapping):
            raise InputError(
                f'features are {given!r}; they must be a mapping of names to values, such as {{"age": 31}}'
            )
        seen: list[Seen] = []
        prefix = self.prefix
        try:
            if self._columns.some or str in map(type, row.values()):
                row, seen = self._columns.look({str(name): value for name, value in row.items()})
            found = _READER.numbers(row)
            "".join(found).encode()
        except UnicodeEncodeError:
            raise InputError(f"a feature of {row!r} is not valid Unicode") from None
        if BIAS in found and not prefix:
            raise InputError(f"a feature is named {BIAS!r}, which is the name of the bias", advice="rename it")
        for name, value in found.items():
            if value.__class__ is bool or value.__class__ is np.bool_:
                found[name] = bool(value)
            elif not limits.is_usable(value) or (prefix and abs(float(value)) > _MOST_FACTOR):
                most = "1e150" if prefix else "1e300"
                raise InputError(f"the feature {name!r} is {value!r}; features must be numbers within ±{most}, or text")
            else:
                found[name] = float(value)
        return ({prefix + name: value for name, value in found.items()} if prefix else found), seen

    def scaled(self, features: dict[str, float | bool], seen: list[Seen]) -> Row:
        """Count a row that was read, and return it without units."""
        self._columns.take(seen)
        if not self.scales[0]:
            numbers = sorted(name for name, value in features.items() if not self._is_indicator(name, value))
            self.centered = len(numbers[: _core.MOST_EXACT])
            self.slots = Slots(numbers[: _core.MOST_EXACT])
        slots = self.slots.of(features)
        z = _core.scale_context(self.scales, slots, [*features.values()], self.centered)
        if not math.isfinite(sum(z)):  # a value is 1e300 times the first one of its feature
            z = [one if math.isfinite(one) else 0.0 for one in z]
        return Row(features, slots, z)

    @staticmethod
    def _is_indicator(name: str, value: float | bool) -> bool:
        """Whether a feature is a category of a text, which is absent from other rows, and not a number or boolean."""
        return value is True and "=" in name

    def state(self) -> tuple[dict[str, Any], Float64]:
        """Return the state as plain values and an array."""
        plain = {"prefix": self.prefix, "texts": self.texts, "slots": list(self.slots), "centered": self.centered}
        return plain, self.scales.copy()

    @classmethod
    def restored(cls, plain: dict[str, Any], scales: Float64) -> Features:
        """Return the object with this state."""
        if scales.shape != (_core.CONTEXT_SCALES_SIZE,) or scales.dtype != np.float64:
            raise ValueError("the sums of features are not valid")
        found = cls(plain["prefix"])
        found.texts.update(plain["texts"])
        found._columns = TextColumns(found.texts)
        found.slots, found.centered, found.scales = Slots(plain["slots"]), int(plain["centered"]), scales
        return found


def with_constant(context: Row) -> Row:
    """Return a context with the constant, as the uncertainty of one action takes it."""
    return Row(context.features, [_CONSTANT, *context.slots], [1.0, *context.z])


def combined(context: Row, action: Row, slots: Slots) -> Row:
    """Return (1, action) x (1, context): the features, and their products as far as the uncertainty is concerned.

    The factor makes the variance of a new combination 2 on average, as `with_constant` has it.
    """
    sides = (
        [(0, 1.0), *zip(action.slots, action.z, strict=True)],
        [(0, 1.0), *zip(context.slots, context.z, strict=True)],
    )
    places, z = [], []
    for (a, of_action), (c, of_context) in product(*sides):
        places.append(a * (_core.MOST_EXACT + _core.BUCKETS + 1) + c)
        z.append(of_action * of_context * 0.5**0.5)
    return Row(context.features | action.features, [_CONSTANT, *slots.of(places[1:])], z)
