"""The arrangement of a merged model: `Layout` numbers the features and slots of all models, `Lanes` their lanes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import MergeError
from ..models.by_feature import name_slots
from ..models.classes import Label

Slots = NDArray[np.uint32]
NONE = 2**32 - 1  # no slot


def lanes_by_label(
    open: bool, state: _core.Snapshot, own: list[Label] | None, labels: list[Label] | None
) -> list[dict[int, int]]:
    """For each head of the merged model.

    By rate, the lane of this model, whose labels are `own`, that stands for it.
    """
    places = {label: c for c, label in enumerate(own)} if own is not None else {}
    unseen = len(places)  # the head of unseen classes
    heads = [places.get(label, unseen) for label in labels] if labels is not None else [0]
    if open:  # whether classes may join
        heads.append(unseen)
    found: list[dict[int, int]] = [{} for _ in range(int(state["lane_heads"].max(initial=0)) + 1)]
    for lane, (head, rate) in enumerate(zip(state["lane_heads"].tolist(), state["lane_rates"].tolist(), strict=True)):
        found[head][rate] = lane
    return [found[min(head, len(found) - 1)] for head in heads]  # a softmax has no heads for unseen classes


@dataclass(frozen=True)
class Lanes:
    """The lanes of the merged model: for each head, every rate that one of the models runs."""

    heads: list[int]
    rates: list[int]

    @classmethod
    def of(cls, models: list[list[dict[int, int]]]) -> Lanes:
        heads, rates = [], []
        for head in range(len(models[0])):
            for rate in sorted(set().union(*(model[head] for model in models))):
                heads.append(head)
                rates.append(rate)
        return cls(heads, rates)

    def source(self, model: list[dict[int, int]]) -> list[int]:
        """By merged lane, the lane of a model that stands for it.

        An equal rate, otherwise the next lower one, otherwise the model's lowest.

        Merged models use the same substitution for rates as their parts, so the order of merges does not matter.
        """
        return [
            model[head][max((own for own in model[head] if own <= rate), default=min(model[head]))]
            for head, rate in zip(self.heads, self.rates, strict=True)
        ]


@dataclass(frozen=True)
class Layout:
    """The features of all models together: names, then products. A feature's number is its slot."""

    columns: int | None
    names: list[str] | None
    features: int
    means: int  # the number of means: 1 if no feature is centered, otherwise one for each feature and for the bias
    pairs: NDArray[np.int64]  # [product][2]: its features; products have the slots after the features', in order
    slots: Slots  # the slots that the states have, in order
    numbers: dict[int, tuple[list[str], NDArray[np.int64]]]  # by the id of a list of names: the numbers of these names
    ordered: bool  # whether i·j is another feature than j·i

    @classmethod
    def of(cls, states: list[_core.Snapshot], ordered: bool) -> Layout:
        columns = {state["columns"] for state in states} - {None}
        named = [state["names"] for state in states if state["names"] is not None]
        if len(columns) > 1:
            raise MergeError(f"the models differ in their number of columns: {sorted(map(str, columns))}")
        if columns and named:
            raise MergeError("some models know their features as columns, others by name")
        names, numbers = _core.numbered_names(named)
        count = next(iter(columns), None)
        features = len(names) if named else count or 0
        means = 1 + features if any(len(state["center_features"]) for state in states) else 1
        no_pairs, no_slots = np.zeros((0, 2), np.int64), np.zeros(0, np.uint32)
        known = {id(own): (own, _from_one(order)) for own, order in zip(named, numbers, strict=True)}
        layout = cls(count, names if named else None, features, means, no_pairs, no_slots, known, ordered)
        keys = np.concatenate([layout._keys(state) for state in states])
        _, first = np.unique(keys, return_index=True)
        keys = keys[np.sort(first)]
        layout = replace(layout, pairs=np.column_stack([keys >> 32, keys & NONE]))
        return replace(layout, slots=_union([layout.place(state) for state in states]))

    def feature_numbers(self, state: _core.Snapshot) -> NDArray[np.int64]:
        """The numbers of a model's features in this layout."""
        names = state["names"]
        if names is None:
            return np.arange(self.features + 1)
        if id(names) not in self.numbers:
            _, (_, order) = _core.numbered_names([self.names or [], names])
            self.numbers[id(names)] = names, _from_one(order)
        return self.numbers[id(names)][1]

    def renumbered(self, state: _core.Snapshot, features: Slots) -> NDArray[np.int64]:
        """The numbers in this layout of some of a model's features."""
        own = features.astype(np.int64)
        return own if state["names"] is None or not len(own) else self.feature_numbers(state)[own]

    def product_numbers(self, state: _core.Snapshot) -> NDArray[np.int64]:
        """The positions of a model's products among the products here."""
        keys = self.pairs[:, 0] << 32 | self.pairs[:, 1]
        order = np.argsort(keys)
        return np.asarray(order[np.searchsorted(keys[order], self._keys(state))])

    def _keys(self, state: _core.Snapshot) -> NDArray[np.int64]:
        """A key for each of a model's products, made from the numbers of its features here."""
        products = state["products"].reshape(-1, 3)
        if not len(products):
            return np.zeros(0, np.int64)
        pairs = self.renumbered(state, products[:, :2])
        if not self.ordered:
            pairs = np.sort(pairs, axis=1)
        return np.asarray(pairs[:, 0] << 32 | pairs[:, 1])

    def _own_slots(self, state: _core.Snapshot) -> Slots:
        """The slots of a model for the features here (the bias first) and products, in their order."""
        own = np.full(1 + self.features + len(self.pairs), NONE, np.uint32)
        own[0] = 0
        numbering = self.feature_numbers(state)
        own[numbering[1:]] = np.arange(1, len(numbering)) if state["names"] is None else name_slots(state)
        products = state["products"].reshape(-1, 3)
        if len(products):
            own[1 + self.features + self.product_numbers(state)] = products[:, 2]
        return own

    def own_slots(self, state: _core.Snapshot) -> tuple[int, Slots]:
        """The slots of a model for the slots here: equal up to a number, then from a list."""
        if state["names"] is None and not len(self.pairs):
            return NONE, np.zeros(0, np.uint32)
        if state["names"] is None:  # there may be more columns than a list could contain
            own = np.full(len(self.pairs), NONE, np.uint32)
            products = state["products"].reshape(-1, 3)
            if len(products):
                own[self.product_numbers(state)] = products[:, 2]
            return 1 + self.features, own
        own = self._own_slots(state)
        same = own == np.arange(len(own))
        direct = len(own) if same.all() else int(np.argmin(same))
        return direct, own[direct:]

    def place(self, state: _core.Snapshot) -> Slots:
        """The positions of a model's slots in this layout."""
        if state["names"] is None and not len(state["products"]):
            return state["slots"]
        own = self._own_slots(state)
        known = np.flatnonzero(own != NONE)
        where = np.zeros(int(own[known].max()) + 1, np.uint32)
        where[own[known]] = known
        return where[state["slots"]]

    def products(self) -> Slots:
        """Both features and the slot of each product."""
        slots = np.arange(len(self.pairs)) + (1 + self.features)
        return np.column_stack([self.pairs, slots]).astype(np.uint32)

    def kinds(self, states: list[_core.Snapshot]) -> NDArray[np.int8]:
        """By feature: 1 if it is centered, 0 if not, -1 if that is not decided yet."""
        kinds = np.full(self.means, -1, np.int8)
        for state in states:
            features = self.renumbered(state, state["center_features"])
            before, own = kinds[features], state["center_kinds"].astype(np.int8)
            if np.any((before >= 0) & (before != own)):
                raise MergeError(
                    "a column is centered in some models and not in others; "
                    "train them with the same center= and numbers="
                )
            kinds[features] = own
        return kinds


def _from_one(order: Slots) -> NDArray[np.int64]:
    """Prepend the bias to numbers of features."""
    return np.concatenate([[0], order.astype(np.int64) + 1])


def _union(places: list[Slots]) -> Slots:
    """The sorted union of slots."""
    if all(np.array_equal(place, places[0]) for place in places[1:]) and np.all(places[0][:-1] < places[0][1:]):
        return places[0]
    most = 1 + max(int(place.max(initial=0)) for place in places)
    if most > 64 * (1 + sum(map(len, places))):  # a table of all slots would be much larger than the lists
        return np.unique(np.concatenate(places))
    there = np.zeros(most, bool)
    for place in places:
        there[place] = True
    return np.flatnonzero(there).astype(np.uint32)
