"""What the states of several models are together, apart from their slots (merged_slots).

`Layout` is the features of all of them, `Lanes` their heads and rates, `Part` one model's other numbers, and `combine`
the merged ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import MergeError
from ..inputs import Float64
from ..models import target_state
from ..models.by_feature import latest_look, name_slots, scored_weight
from ..models.classes import Label
from ..options import Options

Slots = NDArray[np.uint32]
NONE = 2**32 - 1  # no slot


def lanes_by_label(
    open: bool, state: _core.Snapshot, own: list[Label] | None, labels: list[Label] | None
) -> list[dict[int, int]]:
    """For each head of the merged model: by rate, which lane of this model, whose labels are `own`, stands for it."""
    places = {label: c for c, label in enumerate(own)} if own is not None else {}
    unseen = len(places)  # the head of classes that have not been met
    heads = [places.get(label, unseen) for label in labels] if labels is not None else [0]
    if open:  # to classes
        heads.append(unseen)
    found: list[dict[int, int]] = [{} for _ in range(int(state["lane_heads"].max(initial=0)) + 1)]
    for lane, (head, rate) in enumerate(zip(state["lane_heads"].tolist(), state["lane_rates"].tolist(), strict=True)):
        found[head][rate] = lane
    return [found[min(head, len(found) - 1)] for head in heads]  # a softmax has no heads of classes that it has not met


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
        """Which lane of a model stands for each: that of the rate itself, of the next lower one, or of its lowest.

        The rates that a merged model runs stand for the others in the same way as those of its parts do, so that it
        does not matter what is merged first.
        """
        return [
            model[head][max((own for own in model[head] if own <= rate), default=min(model[head]))]
            for head, rate in zip(self.heads, self.rates, strict=True)
        ]


@dataclass(frozen=True)
class Part:
    """What one model knows, apart from its slots, spread over the features and lanes of all."""

    t: float
    totals: dict[str, Any]  # T, N, the number of examples; the weight that was averaged, and that was scored
    scores: Float64  # [lane][6]
    followed: Float64  # [head]
    errors: Float64  # [rate]
    means: Float64  # [feature]: of centered columns
    masses: Float64  # [feature]: the weight behind each mean
    target: Float64  # what is known of the labels, see target_state.py
    label_range: tuple[float, float]
    averaged: bool  # are the averaged weights kept?
    suspended: bool  # are rates no longer chosen?

    @classmethod
    def of(cls, state: _core.Snapshot, by_label: list[dict[int, int]], layout: Layout, lanes: Lanes) -> Part:
        means, masses = np.zeros(layout.means), np.zeros(layout.means)
        features = layout.renumbered(state, state["center_features"])
        means[features], masses[features] = state["center_means"].reshape(-1, 2).T
        scored = len(state["scores"]) > 0
        heads = [state["lane_heads"][next(iter(found.values()))] for found in by_label]
        return cls(
            state["t"],
            {
                **{key: state[key] for key in ("T", "N", "examples", "averaged_t")},
                "scored": scored_weight(state),
            },
            state["scores"].reshape(-1, 6)[lanes.source(by_label)] if scored else np.zeros((0, 6)),
            state["followed"][heads] if scored else np.zeros(0),
            state["errors"],
            means,
            masses,
            state["target"],
            (state["label_min"], state["label_max"]),
            state["kept"] == "averaged",
            state["suspended_at"] is not None,
        )

    def offset(self, target: Float64) -> float:
        """By how much its predictions must grow where labels are told from another center."""
        return float(self.target[1] - target[1]) if self.target[0] and target[0] else 0.0

    def drift(self, means: Float64) -> Float64:
        """By how much the means of its centered columns change, by feature."""
        return np.where(self.masses > 0, means - self.means, 0.0)

    def shifted(self, means: Float64, target: Float64) -> Part:
        """The same with other means and another center of the labels."""
        offset = self.offset(target)
        weight, total, square, far_rows, limited = self.target[2:] if self.target[0] else np.zeros(5)
        moved = square + 2 * offset * total + weight * offset * offset
        about = np.array([target[0], target[1], weight, total + weight * offset, moved, far_rows, limited])
        return replace(
            self,
            target=about,
            label_range=(self.label_range[0] + offset, self.label_range[1] + offset),
            means=np.where(self.masses > 0, means, 0.0),
        )


def common_offsets(parts: list[Part], base: Part | None, options: Options) -> tuple[Float64, Float64]:
    """The means and the target's center over all data; where all agree, exactly what they agree on."""
    masses = _added([part.masses for part in parts], base.masses if base else None)
    sums = _added([part.masses * part.means for part in parts], base.masses * base.means if base else None)
    highest = np.max([np.where(part.masses > 0, part.means, -np.inf) for part in parts], axis=0)
    lowest = np.min([np.where(part.masses > 0, part.means, np.inf) for part in parts], axis=0)
    means = np.divide(sums, masses, out=np.zeros_like(sums), where=masses > 0)
    means = np.where(highest == lowest, highest, means)
    started = [part.target for part in parts if part.target[0]]
    if not options.target or not started:
        return means, np.zeros(len(target_state.FIELDS))
    start = base.target if base is not None and base.target[0] else np.zeros(len(target_state.FIELDS))
    weight = _added([target[2] for target in started], start[2])
    center = _added([target[2] * target[1] + target[3] for target in started], start[2] * start[1] + start[3]) / weight
    if len({target[1] for target in started}) == 1:
        center = started[0][1]
    return means, np.array([1.0, center, *np.zeros(len(target_state.FIELDS) - 2)])


def _added_scores(parts: list[Part], base: Part | None, t: float) -> Float64:
    """Losses add up; infinite ones stay so. Of recent losses a base's share fades as more examples come."""
    sums = [0, 1, 3, 5]  # all but the gaps: of what is not negative. Squares begin anew when rates are dropped.

    def before(now: float) -> Float64:
        scores = np.zeros_like(parts[0].scores) if base is None else base.scores.copy()
        if base is not None and now > 0:
            scores[:, 1] *= base.t / now
        return scores

    total = before(t)
    with np.errstate(invalid="ignore"):
        for part in parts:
            added = part.scores - before(part.t)
            added[:, sums] = np.maximum(added[:, sums], 0)
            total += added
    return np.where(np.any([np.isinf(part.scores) for part in parts], axis=0) | np.isnan(total), np.inf, total)


def _added(values: list[Any], start: Any) -> Any:
    """What all have added to a common start, and that."""
    return sum(values) if start is None else start + sum(value - start for value in values)


@dataclass(frozen=True)
class Layout:
    """The features of all models together: names, then products. A feature's number is its slot."""

    columns: int | None
    names: list[str] | None
    features: int
    means: int  # how many numbers by feature there are: 1 if none is centered, otherwise one for each and for the bias
    pairs: NDArray[np.int64]  # [product][2]: its features; products have the slots after the features', in order
    slots: Slots  # those that the states have, in order
    numbers: dict[int, tuple[list[str], NDArray[np.int64]]]  # by the id of a list of names: what these are numbered
    ordered: bool  # is i·j another feature than j·i?

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
        """What a model's features are numbered here."""
        names = state["names"]
        if names is None:
            return np.arange(self.features + 1)
        if id(names) not in self.numbers:
            _, (_, order) = _core.numbered_names([self.names or [], names])
            self.numbers[id(names)] = names, _from_one(order)
        return self.numbers[id(names)][1]

    def renumbered(self, state: _core.Snapshot, features: Slots) -> NDArray[np.int64]:
        """What some of a model's features are numbered here."""
        own = features.astype(np.int64)
        return own if state["names"] is None or not len(own) else self.feature_numbers(state)[own]

    def product_numbers(self, state: _core.Snapshot) -> NDArray[np.int64]:
        """Which of the products here a model's are."""
        keys = self.pairs[:, 0] << 32 | self.pairs[:, 1]
        order = np.argsort(keys)
        return np.asarray(order[np.searchsorted(keys[order], self._keys(state))])

    def _keys(self, state: _core.Snapshot) -> NDArray[np.int64]:
        """A number for each of a model's products that tells its features here."""
        products = state["products"].reshape(-1, 3)
        if not len(products):
            return np.zeros(0, np.int64)
        pairs = self.renumbered(state, products[:, :2])
        if not self.ordered:
            pairs = np.sort(pairs, axis=1)
        return np.asarray(pairs[:, 0] << 32 | pairs[:, 1])

    def _own_slots(self, state: _core.Snapshot) -> Slots:
        """The slots that a model gives to the features here (the bias first) and products, in their order."""
        own = np.full(1 + self.features + len(self.pairs), NONE, np.uint32)
        own[0] = 0
        numbering = self.feature_numbers(state)
        own[numbering[1:]] = np.arange(1, len(numbering)) if state["names"] is None else name_slots(state)
        products = state["products"].reshape(-1, 3)
        if len(products):
            own[1 + self.features + self.product_numbers(state)] = products[:, 2]
        return own

    def own_slots(self, state: _core.Snapshot) -> tuple[int, Slots]:
        """Which of a model's slots the slots here are: up to a number the same ones, then those of a list."""
        if state["names"] is None and not len(self.pairs):
            return NONE, np.zeros(0, np.uint32)
        if state["names"] is None:  # there may be more columns than a list could hold
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
        """Where a model's slots are here."""
        if state["names"] is None and not len(state["products"]):
            return state["slots"]
        own = self._own_slots(state)
        known = np.flatnonzero(own != NONE)
        where = np.zeros(int(own[known].max()) + 1, np.uint32)
        where[own[known]] = known
        return where[state["slots"]]

    def snapshot(
        self, options: Options, part: Part, lanes: Lanes, states: list[_core.Snapshot], model_type: str | None
    ) -> _core.Snapshot:
        """A merged model's state without its slots."""
        negatives = {state["negative"] for state in states if state["examples"]} - {0}
        if len(negatives) > 1:
            raise MergeError("the models' negative labels differ: 0 and -1")
        settled = np.flatnonzero((kinds := self.kinds(states)) >= 0)
        return {
            "t": part.t,
            "T": part.totals["T"],
            "N": part.totals["N"],
            "examples": part.totals["examples"],
            "label_min": part.label_range[0],
            "label_max": part.label_range[1],
            "negative": next(iter(negatives), 0),
            "columns": self.columns,
            "names": self.names,
            "slots": np.zeros(0, np.uint32),
            "scale": np.zeros(0),
            "v": np.zeros(0),
            "H": np.zeros(0),
            "average": np.zeros(0),
            "average_scale": np.zeros(0),
            "averaged_t": part.totals["averaged_t"],
            "next_look": latest_look(options, part.totals["examples"], len(self.slots)) if options.average else 0,
            "kept": "averaged" if part.averaged else "last",
            "suspended_at": part.totals["scored"] if part.suspended else None,
            "missed": 0.0 if part.suspended else max(part.t - part.totals["scored"], 0.0),
            "lane_heads": np.array(lanes.heads, np.uint32),
            "lane_rates": np.array(lanes.rates, np.uint32),
            "scores": part.scores.ravel(),
            "followed": part.followed,
            "errors": part.errors,
            "target": part.target,
            "products": self.products().ravel(),
            "center_features": settled.astype(np.uint32),
            "center_kinds": kinds[settled].astype(np.uint32),
            "center_means": np.column_stack([part.means[settled], part.masses[settled]]).ravel(),
            "proven_scales": np.zeros(len(settled)),
            "window_features": np.zeros(0, np.uint32),
            "windows": np.zeros(0),
            "form": {"settled": model_type},
            "ensemble": "none",
            "slopes": np.zeros(0),
        }

    def products(self) -> Slots:
        """Both features and the slot of each product."""
        slots = np.arange(len(self.pairs)) + (1 + self.features)
        return np.column_stack([self.pairs, slots]).astype(np.uint32)

    def kinds(self, states: list[_core.Snapshot]) -> NDArray[np.int8]:
        """By feature: is it centered? 1 if it is, 0 if not, -1 if that is not settled."""
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
    """Numbers of features, the bias's before them."""
    return np.concatenate([[0], order.astype(np.int64) + 1])


def _union(places: list[Slots]) -> Slots:
    """All slots, in order."""
    if all(np.array_equal(place, places[0]) for place in places[1:]) and np.all(places[0][:-1] < places[0][1:]):
        return places[0]
    most = 1 + max(int(place.max(initial=0)) for place in places)
    if most > 64 * (1 + sum(map(len, places))):  # a table of all would be far larger than they are
        return np.unique(np.concatenate(places))
    there = np.zeros(most, bool)
    for place in places:
        there[place] = True
    return np.flatnonzero(there).astype(np.uint32)


def combine(parts: list[Part], base: Part | None) -> Part:
    """The merged numbers, of parts that have the same means and the same center of the labels."""
    everyone = [*parts, *([base] if base else [])]
    t = _added([part.t for part in parts], base.t if base else None)

    def added(name: str) -> Any:
        return _added([getattr(part, name) for part in parts], getattr(base, name) if base else None)

    def total(key: str) -> Any:
        return _added([part.totals[key] for part in parts], base.totals[key] if base else None)

    def within(key: str) -> float:
        """The sum of a weight that counts some of the examples: no model adds more to it than its examples weigh."""
        start, first = (base.totals[key], base.t) if base else (0.0, 0.0)
        return float(start + sum(min(part.totals[key] - start, part.t - first) for part in parts))

    target = parts[0].target.copy()
    target[2:] = _added([part.target[2:] for part in parts], base.target[2:] if base else None)
    target[target_state.FAR_ROWS] = 0.0  # no part's far label says anything about the next row of all
    heard = [part for part in parts if part.totals["examples"]] or parts
    seen = [part for part in everyone if part.totals["examples"]] or everyone
    means = np.max([np.where(part.masses > 0, part.means, -np.inf) for part in everyone], axis=0)
    return Part(
        t,
        {
            **{key: total(key) for key in ("T", "N", "examples")},
            "averaged_t": within("averaged_t"),
            "scored": within("scored"),
        },
        _added_scores(parts, base, t),
        added("followed"),
        added("errors"),
        np.where(np.isfinite(means), means, 0.0),
        added("masses"),
        target,
        (min(part.label_range[0] for part in seen), max(part.label_range[1] for part in seen)),
        all(part.averaged for part in heard),
        all(part.suspended for part in heard),
    )
