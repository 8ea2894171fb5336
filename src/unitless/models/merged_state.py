"""What the states of several models are together.

`Layout` is the features of all of them, `Lanes` their heads and rates, `Part` one model's numbers spread over both, and
`combine` the merged numbers. Every formula is made of ratios of scales.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import _core
from ..errors import MergeError
from ..inputs import Float64
from ..options import Options
from ..rules import RULES, Rule
from .by_feature import average, latest_look, name_slots, scored_weight
from .classes import Label


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
    return [found[head] for head in heads]


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
        """Which lane of a model stands for each: that of the rate itself, or of the nearest that there is."""
        return [
            model[head][min(model[head], key=lambda other: (abs(other - rate), other))]
            for head, rate in zip(self.heads, self.rates, strict=True)
        ]


@dataclass(frozen=True)
class Part:
    """One model's numbers, spread over the features and lanes of all."""

    scale: Float64  # [slot]
    v: Float64  # [slot][lane]
    H: Float64
    average: Float64  # of v; without lanes where there is none
    average_scale: Float64  # [slot]: in whose unit that is
    t: float
    totals: dict[str, Any]  # T, N, the number of examples; the weight that was averaged, and that was scored
    scores: Float64  # [lane][6]
    followed: Float64  # [head]
    errors: Float64  # [rate]
    means: Float64  # [feature]: of centred columns
    masses: Float64  # [feature]: the weight behind each mean
    target: Float64  # started, centre, weight, sum, square
    label_range: tuple[float, float]
    averaged: bool  # are the averaged weights kept?
    suspended: bool  # are rates no longer chosen?

    @classmethod
    def of(
        cls, options: Options, state: _core.Snapshot, by_label: list[dict[int, int]], layout: Layout, lanes: Lanes
    ) -> Part:
        source = lanes.source(by_label)
        kept = source if options.average else []
        at = np.searchsorted(layout.slots, layout.place(state))
        count = len(state["lane_heads"])

        def placed(values: Float64) -> Float64:
            array = np.zeros((len(layout.slots), *values.shape[1:]))
            array[at] = values
            return array

        means, masses = np.zeros(layout.features + 1), np.zeros(layout.features + 1)
        features = layout.feature_numbers(state)[state["centre_features"].astype(int)]
        means[features], masses[features] = state["centre_means"].reshape(-1, 2).T
        scored = len(state["scores"]) > 0
        heads = [state["lane_heads"][next(iter(found.values()))] for found in by_label]
        return cls(
            placed(state["scale"]),
            placed(state["v"].reshape(-1, count)[:, source]),
            placed(state["H"].reshape(-1, count)[:, source]),
            placed(average(options, state).reshape(-1, count)[:, kept]),
            placed(state["scale"]) if kept else np.zeros(0),
            state["t"],
            {
                **{key: state[key] for key in ("T", "N", "examples", "averaged_t")},
                "scored": scored_weight(state),
            },
            state["scores"].reshape(-1, 6)[source] if scored else np.zeros((0, 6)),
            state["followed"][heads] if scored else np.zeros(0),
            state["errors"],
            means,
            masses,
            state["target"],
            (state["label_min"], state["label_max"]),
            state["kept"] == "averaged",
            state["suspended_at"] is not None,
        )

    def shifted(self, means: Float64, target: Float64, options: Options, layout: Layout) -> Part:
        """The same predictions made with other means and another offset of the target: the bias takes them up."""
        started = bool(self.target[0])
        offset = float(self.target[1] - target[1]) if started and target[0] else 0.0
        drift = np.where(self.masses > 0, means - self.means, 0.0)
        weight, total, square = self.target[2:] if started else np.zeros(3)
        label_range = (self.label_range[0] + offset, self.label_range[1] + offset)
        about = np.array([target[0], target[1], weight, total + weight * offset, 0.0])
        about[4] = square + 2 * offset * total + weight * offset * offset
        moved = replace(self, target=about, label_range=label_range, means=np.where(self.masses > 0, means, 0.0))
        unbiased = not options.bias or not len(self.scale) or self.scale[0] == 0
        if unbiased or (offset == 0 and not drift.any()):
            return moved
        root = np.sqrt(self.t) if RULES[options.rule].sums_squares else 1.0
        unit = self.scale / root if RULES[options.rule].unit_free else np.ones_like(self.scale)

        def shift(v: Float64) -> Float64:
            w = np.divide(v, unit[:, None], out=np.zeros_like(v), where=unit[:, None] > 0)
            w[0] += offset
            plain = w.copy()
            for slot, at in layout.position.items():
                if slot in layout.products:  # (x + a)(y + b) = xy + bx + ay + ab
                    left, right = layout.products[slot]
                    for feature, other in ((left, right), (right, left)):
                        if feature in layout.position:
                            w[layout.position[feature]] += plain[at] * drift[other]
                    w[0] += plain[at] * drift[left] * drift[right]
                elif 0 < slot < len(drift):
                    w[0] += plain[at] * drift[slot]
            return np.asarray(w * unit[:, None])

        return replace(moved, v=shift(self.v), average=shift(self.average))


def common_offsets(parts: list[Part], base: Part | None, options: Options) -> tuple[Float64, Float64]:
    """The means and the target's centre over all data; where all agree, exactly what they agree on."""
    masses = _added([part.masses for part in parts], base.masses if base else None)
    sums = _added([part.masses * part.means for part in parts], base.masses * base.means if base else None)
    highest = np.max([np.where(part.masses > 0, part.means, -np.inf) for part in parts], axis=0)
    lowest = np.min([np.where(part.masses > 0, part.means, np.inf) for part in parts], axis=0)
    means = np.divide(sums, masses, out=np.zeros_like(sums), where=masses > 0)
    means = np.where(highest == lowest, highest, means)
    started = [part.target for part in parts if part.target[0]]
    if not options.target or not started:
        return means, np.zeros(5)
    weight = sum(target[2] for target in started)
    centre = sum(target[2] * target[1] + target[3] for target in started) / weight
    if len({target[1] for target in started}) == 1:
        centre = started[0][1]
    return means, np.array([1.0, centre, 0.0, 0.0, 0.0])


def _added_scores(values: list[Float64], start: Float64 | None) -> Float64:
    """Losses add up; infinite ones stay so. All but the gaps are sums of what is not negative."""
    with np.errstate(invalid="ignore"):
        total = np.asarray(_added(values, start))
    total = np.where(np.any(np.isinf(values), axis=0), np.inf, total)
    sums = [0, 1, 3, 5]
    total[:, sums] = np.maximum(total[:, sums], 0)
    return total


def _added(values: list[Any], start: Any) -> Any:
    """What all have added to a common start, and that."""
    return sum(values) if start is None else start + sum(value - start for value in values)


@dataclass(frozen=True)
class Layout:
    """The features of all models together: names, then products."""

    columns: int | None
    names: list[str] | None
    features: int
    products: dict[int, tuple[int, int]]  # by slot
    slots: np.ndarray[Any, np.dtype[np.uint32]]
    position: dict[int, int]  # of slots, among `slots`
    numbers: dict[str, int]
    ordered: bool  # is i·j another feature than j·i?

    @classmethod
    def of(cls, states: list[_core.Snapshot], ordered: bool) -> Layout:
        columns = {state["columns"] for state in states} - {None}
        named = [state["names"] for state in states if state["names"] is not None]
        if len(columns) > 1:
            raise MergeError(f"the models differ in their number of columns: {sorted(map(str, columns))}")
        if columns and named:
            raise MergeError("some models know their features as columns, others by name")
        numbers: dict[str, int] = {}
        for names in named:
            for name in names:
                numbers.setdefault(name, 1 + len(numbers))
        count = next(iter(columns), None)
        features = len(numbers) if named else count or 0
        nothing = np.zeros(0, np.uint32)
        layout = cls(count, list(numbers) if named else None, features, {}, nothing, {}, numbers, ordered)
        pairs: dict[tuple[int, int], None] = {}
        for state in states:
            numbering = layout.feature_numbers(state)
            for left, right, _ in state["products"].reshape(-1, 3).tolist():
                pairs.setdefault(layout.pair(numbering, left, right))
        products = {features + 1 + k: pair for k, pair in enumerate(pairs)}
        layout = replace(layout, products=products)
        union = np.unique(np.concatenate([layout.place(state) for state in states])).astype(np.uint32)
        return replace(layout, slots=union, position={int(slot): k for k, slot in enumerate(union)})

    def feature_numbers(self, state: _core.Snapshot) -> np.ndarray[Any, np.dtype[np.int64]]:
        """What a model's features are numbered here."""
        if state["names"] is None:
            return np.arange(self.features + 1)
        return np.array([0, *(self.numbers[name] for name in state["names"])])

    def pair(self, numbering: Any, left: int, right: int) -> tuple[int, int]:
        """A model's product as it is known here."""
        a, b = int(numbering[left]), int(numbering[right])
        return (a, b) if self.ordered or a <= b else (b, a)

    def place(self, state: _core.Snapshot) -> np.ndarray[Any, np.dtype[np.uint32]]:
        """Where a model's slots are here."""
        products = state["products"].reshape(-1, 3).tolist()
        if state["names"] is None and not products:
            return state["slots"]
        numbering = self.feature_numbers(state)
        slot_of = {pair: slot for slot, pair in self.products.items()}
        where = np.zeros(len(numbering) + len(products), dtype=np.uint32)
        where[name_slots(state) or slice(1, len(numbering))] = numbering[1:]
        for left, right, slot in products:
            where[slot] = slot_of[self.pair(numbering, left, right)]
        return where[state["slots"]]

    def snapshot(self, part: Part, lanes: Lanes, states: list[_core.Snapshot], shape: str | None) -> _core.Snapshot:
        """A merged model's state."""
        negatives = {state["negative"] for state in states if state["examples"]} - {0}
        if len(negatives) > 1:
            raise MergeError("the models' negative labels differ: 0 and -1")
        kinds: dict[int, int] = {}
        for state in states:
            numbering = self.feature_numbers(state)
            for feature, kind in zip(state["centre_features"], state["centre_kinds"], strict=True):
                if kinds.setdefault(int(numbering[feature]), int(kind)) != kind:
                    raise MergeError(
                        "a column is centred in some models and not in others; "
                        "train them with the same centre= and numbers="
                    )
        settled = sorted(kinds)
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
            "slots": self.slots,
            "scale": part.scale,
            "v": part.v.ravel(),
            "H": part.H.ravel(),
            "average": part.average.ravel(),
            "average_scale": part.average_scale,
            "averaged_t": part.totals["averaged_t"],
            "next_look": part.totals["next_look"],
            "kept": "averaged" if part.averaged else "last",
            "suspended_at": part.totals["scored"] if part.suspended else None,
            "missed": 0.0 if part.suspended else max(part.t - part.totals["scored"], 0.0),
            "lane_heads": np.array(lanes.heads, np.uint32),
            "lane_rates": np.array(lanes.rates, np.uint32),
            "scores": part.scores.ravel(),
            "followed": part.followed,
            "errors": part.errors,
            "target": part.target,
            "products": np.array([(*pair, slot) for slot, pair in self.products.items()], np.uint32).ravel(),
            "centre_features": np.array(settled, np.uint32),
            "centre_kinds": np.array([kinds[feature] for feature in settled], np.uint32),
            "centre_means": np.column_stack([part.means[settled], part.masses[settled]]).ravel(),
            "shape": {"settled": shape},
        }


def _ratio(a: Float64, b: Float64) -> Float64:
    """a/b, and 0 where b is 0."""
    with np.errstate(over="ignore"):
        return np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=b > 0)


def combine(options: Options, parts: list[Part], base: Part | None, bounded: bool) -> Part:
    """The merged numbers. With rho = scale/common scale, G/(common scale)² is rho²·H."""
    rule = RULES[options.rule]
    everyone = [*parts, *([base] if base else [])]
    t = _added([part.t for part in parts], base.t if base else None)
    scale = _common_scale(rule, parts, base)
    unscaled = not rule.unit_free  # its v is w itself, its H is G itself

    def rho(part: Part) -> Float64:
        ratio = np.where(part.scale > 0, 1.0, 0.0) if unscaled else _ratio(part.scale, scale)
        return ratio[:, None]

    def carried(part: Part, v: Float64) -> Float64:
        """The part's v, or its average, in the common scale."""
        if bounded and not unscaled:
            return v * rho(part) if rule.beyond == "shrink" else v
        moved = _ratio(v, rho(part)) if not unscaled else v
        return moved * np.sqrt(part.t / t) if rule.sums_squares and t > 0 else moved

    zero = np.zeros_like(parts[0].v)
    H_base = zero if base is None else base.H * rho(base) ** 2
    gains = [np.maximum(part.H * rho(part) ** 2 - H_base, 0) for part in parts]
    gained = sum(gains, zero)

    def together(name: str) -> Float64:
        """Everyone's v, or their averages, by what their squared gradients have gained."""
        weighted = zero.copy()
        for gain, part in zip(gains, parts, strict=True):
            values = carried(part, getattr(part, name))
            weighted += np.multiply(gain, values, out=np.zeros_like(zero), where=gain > 0)  # 0 · ∞ is 0 here
        start = zero if base is None else carried(base, getattr(base, name))
        return np.where(gained > 0, _ratio(weighted, gained), start)

    def added(name: str) -> Any:
        return _added([getattr(part, name) for part in parts], getattr(base, name) if base else None)

    def total(key: str) -> Any:
        return _added([part.totals[key] for part in parts], base.totals[key] if base else None)

    masses, target = added("masses"), parts[0].target.copy()
    target[2:] = _added([part.target[2:] for part in parts], base.target[2:] if base else None)
    averaged_t, scored = min(total("averaged_t"), t), min(total("scored"), t)
    averages = together("average") if options.average else parts[0].average
    unit = np.sqrt(averaged_t / t) if rule.sums_squares and t > 0 else 1.0  # as if time had stood still since the look
    heard = [part for part in parts if part.totals["examples"]] or parts
    seen = [part for part in everyone if part.totals["examples"]] or everyone
    means = np.max([np.where(part.masses > 0, part.means, -np.inf) for part in everyone], axis=0)
    return Part(
        scale,
        together("v"),
        H_base + gained,
        averages if averaged_t > 0 else np.zeros_like(averages),
        scale * unit if options.average else np.zeros(0),
        t,
        {
            **{key: total(key) for key in ("T", "N", "examples")},
            "averaged_t": averaged_t,
            "next_look": latest_look(options, total("examples"), len(scale)) if options.average else 0,
            "scored": scored,
        },
        _added_scores([part.scores for part in parts], base.scores if base else None),
        added("followed"),
        added("errors"),
        np.where(np.isfinite(means), means, 0.0),
        masses,
        target,
        (min(part.label_range[0] for part in seen), max(part.label_range[1] for part in seen)),
        all(part.averaged for part in heard),
        all(part.suspended for part in heard),
    )


def _common_scale(rule: Rule, parts: list[Part], base: Part | None) -> Float64:
    """The largest; for "snag" the root of all sums of squares, taken in units of the largest."""
    everyone = [*parts, *([base] if base else [])]
    largest = np.max([part.scale for part in everyone], axis=0)
    if not rule.sums_squares:
        return np.asarray(largest)
    squares = _added(
        [_ratio(part.scale, largest) ** 2 for part in parts], _ratio(base.scale, largest) ** 2 if base else None
    )
    least = np.max([_ratio(part.scale, largest) ** 2 for part in everyone], axis=0)
    return np.asarray(largest * np.sqrt(np.maximum(squares, least)))
