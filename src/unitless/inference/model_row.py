"""A row as the core uses it: centered values, products, slots, and what each contributes to a linear member."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import inputs
from ..data.columns.feature_columns import FeatureColumns
from ..inputs import Float64
from ..models.by_feature import StateReading
from ..models.model import Feature
from ..models.terms import Terms

_WORD = 2**64 - 1


def entries(data: inputs.Input, word_features: inputs.WordFeatures) -> list[tuple[Feature, float]]:
    """The features of the only row; `word_features` as for `inputs.Frame.first_row`."""
    if isinstance(data, inputs.Dense):
        return [(j, float(x)) for j, x in enumerate(data.array[0])]
    if isinstance(data, inputs.Compressed):
        return [(int(j), float(x)) for j, x in zip(data.indices, data.values, strict=True)]
    if isinstance(data, inputs.NamedRows):
        return [(str(name), float(x)) for name, x in data.mappings[0].items()]
    if isinstance(data, inputs.TextRows):
        names = data.read.names
        return [(names[i], float(x)) for i, x in zip(data.read.ids, data.read.values, strict=True)]
    return list(data.first_row(word_features).items())


class ModelRow:
    """A row as the core uses it: centered values, products, and slots."""

    def __init__(
        self,
        reading: StateReading,
        data: inputs.Input,
        word_features: inputs.WordFeatures,
        columns: FeatureColumns,
    ) -> None:
        self._columns = columns
        self._factors: dict[Feature, tuple[Feature, Feature]] = {}  # the columns of the factors of each product
        self.reading, self._options = reading, reading.options
        state = reading.state
        self._numbers = {name: k for k, name in enumerate(state["names"] or (), 1)}
        kinds = zip(state["center_features"].tolist(), state["center_kinds"].tolist(), strict=True)
        means = state["center_means"].reshape(-1, 2).tolist()
        self._center = {feature: mean for (feature, kind), mean in zip(kinds, means, strict=True) if kind}
        self.unknown: list[str] = []
        self.centered = False
        self.parts: list[tuple[Feature, int, float, float]] = []  # feature, slot, value, value as the model uses it
        self.given: list[tuple[Feature, int, float]] = []  # feature, number, value
        seen: dict[int, float] = {}
        given: dict[int, list[Feature]] = {}
        for name, x in entries(data, word_features):
            number = self._number(name)
            if number is None:
                self.unknown.append(str(name))
                continue
            self.centered |= number in self._center
            z = self._centered(number, x)
            self.given.append((name, number, x))
            self.parts.append((name, reading.slot(number), x, z))
            seen[number] = seen.get(number, 0.0) + z
            given.setdefault(number, []).append(name)
        if self._options.interactions is not None:
            self._multiply({number: x for number, x in seen.items() if x != 0}, given)

    def _number(self, name: Feature) -> int | None:
        bits, columns = self._options.bits, self.reading.state["columns"]
        if bits is not None:
            return 1 + ((name if isinstance(name, int) else _hash(name)) & ((1 << bits) - 1))
        if isinstance(name, int):
            return 1 + name if columns is not None and name < columns else None
        return self._numbers.get(name)

    def _centered(self, number: int, x: float) -> float:
        if number not in self._center:
            return x
        mean, mass = self._center[number]
        return (x - mean) - (x - mean) * (1.0 / (mass + 1.0))

    def _multiply(self, seen: dict[int, float], given: dict[int, list[Feature]]) -> None:
        """Add products of features that are not zero."""
        reading = self.reading
        if self._options.bits is None:
            named = dict(zip(reading.state["slots"].tolist(), reading.features, strict=True))
            for slot, (left, right) in reading.products.items():
                if left in seen and right in seen and slot in named:
                    x = seen[left] * seen[right]
                    self.parts.append((named[slot], slot, x, x))
                    self._factors[named[slot]] = self._pair(given[left][0], given[right][0])
            return
        mask = 2**self._options.bits - 1
        numbers = sorted(seen)
        for j, right in enumerate(numbers):
            for left in numbers[: j + 1]:
                if not self._wanted(given[left], given[right]):
                    continue
                both = self._options.interactions == "ordered" and left != right
                for a, b in ((left, right), (right, left)) if both else ((left, right),):
                    x = seen[a] * seen[b]
                    product = f"{given[a][0]}*{given[b][0]}"
                    self.parts.append((product, 1 + (_hash_pair(a, b) & mask), x, x))
                    self._factors[product] = self._pair(given[a][0], given[b][0])

    def _pair(self, left: Feature, right: Feature) -> tuple[Feature, Feature]:
        return self._columns.of(left), self._columns.of(right)

    def columns_of(self, feature: Feature) -> tuple[Feature, ...]:
        """The column that a feature was made of; for a product, the column of each factor."""
        return self._factors.get(feature) or (self._columns.of(feature),)

    def _wanted(self, left: list[Feature], right: list[Feature]) -> bool:
        pairs = self._options.interactions
        if not isinstance(pairs, tuple):
            return True
        return any(
            (_matches(a, left) and _matches(b, right)) or (_matches(a, right) and _matches(b, left)) for a, b in pairs
        )

    def terms(self, of: Terms) -> tuple[list[tuple[Feature, Float64]], Float64]:
        """The contribution of each feature of the row, and of the bias, by head."""
        total = self._values()
        nothing = np.zeros(of.v.shape[1])
        terms = []
        for name, slot, _, x in self.parts:
            at = of.entry.get(slot)
            if at is None:  # the feature has always been zero
                terms.append((name, nothing))
                continue
            share = x / total[slot] if total[slot] != 0 else 0.0  # two names may share a slot
            terms.append((name, of.v[at] * of.seen(at, total[slot]) * share))
        at = of.entry.get(0) if self._options.bias else None
        return terms, nothing if at is None else of.v[at] * of.seen(at, 1.0)

    def term(self, number: int, x: float, of: Terms) -> Float64:
        """The contribution of a feature, given by its number, if its value were x, by head."""
        at = of.entry.get(self.reading.slot(number))
        if at is None:
            return np.zeros(of.v.shape[1])
        return np.asarray(of.v[at] * of.seen(at, self._centered(number, x)))

    def certainty(self, of: Terms) -> float:
        """The factor of the sum of the terms, which depends on its variance."""
        return of.certainty({**self._values(), **({0: 1.0} if self._options.bias else {})})

    def _values(self) -> dict[int, float]:
        """The row's values by slot."""
        total: dict[int, float] = {}
        for _, slot, _, x in self.parts:
            total[slot] = total.get(slot, 0.0) + x
        return total


def _matches(side: Any, names: list[Feature]) -> bool:
    members = side if isinstance(side, tuple) else (side,)
    return any(
        name == member
        or (isinstance(member, str) and isinstance(name, str) and member.endswith("*") and name.startswith(member[:-1]))
        for member in members
        for name in names
    )


def _hash(name: str) -> int:
    """Hash a name like the core: 64-bit FNV-1a, then mixed."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & _WORD
    h = ((h ^ (h >> 33)) * 0xFF51AFD7ED558CCD) & _WORD
    h = ((h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53) & _WORD
    return h ^ (h >> 33)


def _hash_pair(left: int, right: int) -> int:
    """Hash a product of features like the core."""
    h = ((left << 32 | right) * 0x9E3779B97F4A7C15) & _WORD
    h = ((h ^ (h >> 32)) * 0xD6E8FEB86659FD93) & _WORD
    return (h ^ (h >> 29)) & 0xFFFFFFFF
