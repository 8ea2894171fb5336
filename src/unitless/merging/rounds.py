"""One round of learning apart: partitions go on from one model, and become one model again.

What comes out looks like one partition's stream, had it drawn its rows from all of them: sums that grow with the rows
(t, N, examples, the weight behind means) are means over the partitions, and only `whole` makes them those of all rows.
So is H, and weights are averaged by it. Of the ways that were tried (docs/distributed-semantics.md) this one is the
best or as good as any: if what the partitions have added to H weighed alone, few rows would decide where rounds are
short; if H were summed, steps would shrink with every round.

The large arrays are added up in a tree (`Sums`), however wide or deep: the result is the same to rounding. What is
small (`Said`) goes to whoever puts the round together, and first settles what all are brought to (`Agreed`): the means
of centered columns and the target's offset, at which weights can be added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..inputs import Float64
from ..models import target_state
from ..models.by_feature import latest_look, scored_weight
from ..models.classes import Label
from ..models.distributable import Distributable
from ..models.extra_members import extra_arrays, extra_members, extra_options, extra_state
from ..models.model import State
from ..options import Options
from ..rules import RULES
from .means import Moved, Terms, stored_slopes
from .round_whole import whole_shape
from .slots import Numbers, OfState
from .state import Lanes, Layout, Part, lanes_by_label

Feature: TypeAlias = str | int

LIGHT = 1 / 64  # so much is remembered of what rates had lost before they were judged in common
_LOSS, _RECENT, _GAP, _SQUARE, _TOTAL_GAP, _TOTAL_SQUARE = range(6)  # of a lane's scores


# ---------------------------------------------------------------------------------------------------- small things


@dataclass(frozen=True)
class Said:
    """What a partition says of itself, small enough to be sent to whoever puts a round together."""

    labels: list[Label] | None
    means: dict[Feature, tuple[float, float]]  # of centered columns: the mean, and the weight behind it
    target: Float64  # what is known of the labels, see target_state.py
    label_range: tuple[float, float]
    totals: dict[str, float]  # t, T, N, examples, averaged_t
    scores: Any  # of its own lanes and heads, as in its state
    negative: int
    judged: float  # the weight of the rows by which it has judged the rates
    bias: Float64  # [lane]: H of the bias
    learned: bool  # any row
    model_type: str | None  # what the model has become
    beside: str | None  # and who learns beside it,
    ensemble: Mapping[str, Said]  # by name
    mixture: Float64 | None  # of all that learn

    @classmethod
    def of(cls, state: State, base: State, judged: float) -> Said:
        """Of a partition that went on from `base`."""
        own, labels = state
        means = own["center_means"].reshape(-1, 2).tolist()
        return cls(
            labels,
            {
                feature_name(own, int(feature)): (mean, mass)
                for feature, (mean, mass) in zip(own["center_features"], means, strict=True)
            },
            own["target"],
            (own["label_min"], own["label_max"]),
            {key: own[key] for key in ("t", "T", "N", "examples", "averaged_t")},
            {key: own[key] for key in ("lane_heads", "lane_rates", "scores", "followed")},
            own["negative"],
            judged,
            own["H"].reshape(len(own["slots"]), -1)[0] if 0 in own["slots"][:1] else np.zeros(0),
            own["t"] > base[0]["t"],
            own["form"]["settled"],
            own["ensemble"],
            {name: cls.of(extra(state, name), extra(base, name), judged) for name in extra_members(own)},
            own["form"].get("mixture"),
        )


def extra(state: State, name: str) -> State:
    """An engine beside the model's own as a model; a model that has learned nothing has none yet, and stands for it."""
    own, labels = state
    return (extra_state(own, name) if name in extra_members(own) else own), labels


def feature_name(state: _core.Snapshot, number: int) -> Feature:
    """What a feature is called, whatever its number in one model."""
    names = state["names"]
    return number if names is None else names[number - 1]


@dataclass(frozen=True)
class Agreed:
    """What all partitions of a round are brought to before they are added up."""

    options: Options
    labels: list[Label] | None
    open: bool  # classes may join
    means: dict[Feature, tuple[float, float]]  # and the weight behind each
    target: Float64
    totals: dict[str, float]
    label_range: tuple[float, float]
    negative: int
    judged: float

    @classmethod
    def of(cls, model: Distributable, base: State, said: Sequence[Said]) -> Agreed:
        """For partitions of such a model that went on from `base`."""
        known = [labels for labels in (base[1], *(one.labels for one in said)) if labels is not None]
        labels = list(dict.fromkeys(label for own in known for label in own)) if known else None
        heard = [one for one in said if one.learned] or list(said)
        count = len(heard)
        found: dict[Feature, list[tuple[float, float]]] = {}
        for one in heard:
            for feature, (mean, mass) in one.means.items():
                found.setdefault(feature, []).append((mean, mass))
        means = {feature: (_mean(own), sum(mass for _, mass in own) / count) for feature, own in found.items()}
        target, ranges = _common_target(model.options, heard)
        return cls(
            model.options,
            labels,
            model._open_to_classes(),
            means,
            target,
            {key: sum(one.totals[key] for one in heard) / count for key in heard[0].totals},
            (min(low for low, _ in ranges), max(high for _, high in ranges)),
            next((one.negative for one in heard if one.negative), 0),
            sum(one.judged for one in heard) / count,
        )

    def beside(self, name: str, said: Sequence[Said]) -> Agreed:
        """The same for an engine beside the model's own, which counts by itself; `said`: of all partitions."""
        heard = [one.ensemble[name] for one in said if one.learned]
        return replace(
            self,
            options=extra_options(self.options, name),
            totals={key: sum(one.totals[key] for one in heard) / len(heard) for key in self.totals},
        )

    def lanes(self, state: State) -> list[dict[int, int]]:
        """By head: which lane of a model runs a rate."""
        return lanes_by_label(self.open, state[0], state[1], self.labels)

    def slots(self, state: State, layout: Layout, lanes: Lanes) -> Numbers:
        """A model's slots, spread over a layout and lanes, at the target's common offset: scale, H, v and its averages.

        Means of centered columns are still its own: see `_moved_bias`.
        """
        by_label = self.lanes(state)
        own = lanes.source(by_label)
        part = Part.of(state[0], by_label, layout, lanes)
        source = OfState(self.options, state[0], layout, own)
        terms = Terms.of_layout([state[0]], layout)
        slopes = stored_slopes(np.zeros(0), state[0], layout, terms, own, self.options.average)
        moved = Moved.of(self.options, part, source, terms, slopes, part.means, self.target)
        scale, H, values = source.read(layout.slots)
        there = np.isin(moved.slots, layout.slots)
        values[np.searchsorted(layout.slots, moved.slots[there])] += moved.by[there]
        return scale, H, values

    def means_in(self, layout: Layout) -> tuple[Float64, Float64]:
        """The common means and the weight behind each, by the numbers of features."""
        means, masses = np.zeros(layout.means), np.zeros(layout.means)
        numbers = {name: number for number, name in enumerate(layout.names or (), 1) if name in self.means}
        for feature, (mean, mass) in self.means.items():
            number = feature if isinstance(feature, int) else numbers.get(feature, 0)
            if 0 < number < layout.means:
                means[number], masses[number] = mean, mass
        return means, masses


def _mean(found: list[tuple[float, float]]) -> float:
    """Of values with weights; exactly what they are where they agree."""
    if len({value for value, _ in found}) == 1:
        return found[0][0]
    weight = sum(weight for _, weight in found)
    return sum(value * weight for value, weight in found) / weight if weight > 0 else 0.0


def _common_target(options: Options, said: list[Said]) -> tuple[Float64, list[tuple[float, float]]]:
    """What is known of the labels' offset and unit, and the ranges of labels less the common offset."""
    started = [one.target for one in said if one.target[0]]
    if not options.target or not started:
        return np.zeros(len(target_state.FIELDS)), [one.label_range for one in said]
    center = _mean([(float(own[1]), 1.0) for own in started])
    if len({float(own[1]) for own in started}) > 1:
        center = sum(float(own[2] * own[1] + own[3]) for own in started) / sum(float(own[2]) for own in started)
    sums = np.zeros(4)
    ranges = []
    for one in said:
        _, own_center, weight, total, square, _, limited = one.target
        offset = own_center - center if one.target[0] else 0.0
        sums += weight, total + weight * offset, square + 2 * offset * total + weight * offset * offset, limited
        ranges.append((one.label_range[0] + offset, one.label_range[1] + offset))
    *moments, limited = sums / len(said)
    return np.array([1.0, center, *moments, 0.0, limited]), ranges


# ---------------------------------------------------------------------------------------------------- large things


@dataclass(frozen=True)
class Sums:
    """What partitions have added to the weights of a base.

    In units of the largest scale of each slot (of rules that know no scales: of 1), and with u = w·unit: `gained` is
    Σ g where H has grown by g; `moved` is Σ (u − u_base), and `weighed` Σ g (u − u_base). So for the averages of u.
    """

    where: _core.Snapshot  # which slots: what `Layout` reads of a state
    scale: Float64  # [slot]: the largest
    squared: Float64  # [slot]: Σ (own scale/scale)²
    partitions: int  # that have learned something
    gained: Float64  # [slot][lane]
    moved: Float64  # [slot][value]: of the lanes, and of their averages if there are any
    weighed: Float64

    @classmethod
    def of(cls, agreed: Agreed, base: State, state: State) -> Sums:
        """One partition's."""
        layout, lanes = layout_of(agreed, [base[0], state[0]]), Lanes.of([agreed.lanes(base)])
        own, start = agreed.slots(state, layout, lanes), agreed.slots(base, layout, lanes)
        unit = _unit(agreed.options, own[0])
        H, u = _in_unit(agreed.options, own, state[0]["t"], unit)
        H_base, u_base = _in_unit(agreed.options, start, base[0]["t"], unit)
        with np.errstate(invalid="ignore", over="ignore"):
            gained, change = np.maximum(H - H_base, 0.0), u - u_base
            sound = np.isfinite(_for_each(gained, change) * change)
            for of_lane in np.split(sound, change.shape[1] // gained.shape[1], axis=1):
                gained = np.where(of_lane, gained, 0.0)  # a rate that diverged has not moved
            change = np.where(sound, change, 0.0)
        return cls(
            where_of(layout, [base[0], state[0]]),
            own[0],
            (own[0] > 0).astype(np.float64),
            int(state[0]["t"] > base[0]["t"]),
            gained,
            change,
            _for_each(gained, change) * change,
        )

    @classmethod
    def folded(cls, agreed: Agreed, several: Sequence[Sums]) -> Sums:
        """What all of them have added."""
        if len(several) == 1:
            return several[0]
        states = [one.where for one in several]
        layout = layout_of(agreed, states)
        at = [np.searchsorted(layout.slots, layout.place(state)) for state in states]
        scale = np.zeros(len(layout.slots))
        for one, places in zip(several, at, strict=True):
            scale[places] = np.maximum(scale[places], one.scale)
        squared, unit = np.zeros(len(scale)), _unit(agreed.options, scale)
        totals = [np.zeros((len(scale), own.shape[1])) for own in several[0].arrays()]
        for one, places in zip(several, at, strict=True):
            squared[places] += one.squared * _ratio(one.scale, scale[places]) ** 2
            rho = _ratio(_unit(agreed.options, one.scale), unit[places])[:, None]
            for total, own, power in zip(totals, one.arrays(), (2, -1, 1), strict=True):
                total[places] += own * np.power(rho, power, out=np.zeros_like(rho), where=rho > 0)
        return cls(where_of(layout, states), scale, squared, sum(one.partitions for one in several), *totals)

    def arrays(self) -> tuple[Float64, ...]:
        """What there is for every slot and lane."""
        return self.gained, self.moved, self.weighed


def layout_of(agreed: Agreed, states: Sequence[_core.Snapshot]) -> Layout:
    """The features and slots of all of them."""
    return Layout.of(list(states), agreed.options.interactions == "ordered")


def where_of(layout: Layout, states: Sequence[_core.Snapshot]) -> _core.Snapshot:
    """Which features and slots all of them have, as much as is needed to lay them out once more."""
    kinds = layout.kinds(list(states))
    centered = np.flatnonzero(kinds >= 0)
    where: Any = {
        "columns": layout.columns,
        "names": layout.names,
        "slots": layout.slots,
        "products": layout.products().ravel(),
        "center_features": centered.astype(np.uint32),
        "center_kinds": kinds[centered].astype(np.uint32),
    }
    return where  # type: ignore[no-any-return]


def _unit(options: Options, scale: Float64) -> Float64:
    return scale if RULES[options.rule].unit_free else np.where(scale > 0, 1.0, 0.0)


def _ratio(a: Float64, b: Float64) -> Float64:
    """a/b, and 0 where b is 0."""
    with np.errstate(over="ignore"):
        return np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=b > 0)


def _for_each(by_lane: NDArray[Any], values: Float64) -> NDArray[Any]:
    """What there is for each lane, for each of its values."""
    return np.tile(by_lane, (1, values.shape[1] // max(1, by_lane.shape[1])))


def _in_unit(options: Options, slots: Numbers, t: float, unit: Float64) -> tuple[Float64, Float64]:
    """H and u of a model's slots, in a unit for each slot."""
    scale, H, values = slots
    rho = _ratio(_unit(options, scale), unit)[:, None]
    root = np.sqrt(t) if RULES[options.rule].sums_squares else 1.0
    return H * rho**2, _ratio(values, rho) * root


# ---------------------------------------------------------------------------------------------------- one model again


def merged_round(agreed: Agreed, base: State, said: Sequence[Said], sums: Sums) -> State:
    """The state of one model, from what partitions have added to a base, and what they report of themselves."""
    rule, options = RULES[agreed.options.rule], agreed.options
    heard = [one for one in said if one.learned]
    if not heard:
        return base
    layout, lanes = layout_of(agreed, [base[0], sums.where]), Lanes.of([agreed.lanes(base)])
    at = np.searchsorted(layout.slots, layout.place(sums.where))
    scale, squared = np.zeros(len(layout.slots)), np.zeros(len(layout.slots))
    scale[at], squared[at] = sums.scale, sums.squared
    gained, moved, weighed = (np.zeros((len(scale), own.shape[1])) for own in sums.arrays())
    for array, own in zip((gained, moved, weighed), sums.arrays(), strict=True):
        array[at] = own
    start = agreed.slots(base, layout, lanes)
    H_base, u_base = _in_unit(options, start, base[0]["t"], _unit(options, scale))
    behind = sums.partitions * H_base + gained  # the sum of all partitions' H
    H = behind / sums.partitions
    u = u_base + _ratio(_for_each(H_base, moved) * moved + weighed, _for_each(behind, moved))
    u = _moved_bias(agreed, heard, layout, lanes, _unit(options, scale), u)
    t = agreed.totals["t"]
    if rule.sums_squares:
        common = scale * np.sqrt(squared / sums.partitions)
        H = H * _ratio(scale, common)[:, None] ** 2
        u, scale = u * (_ratio(common, scale)[:, None] / np.sqrt(t)), common
    part = merged_part(agreed, base, heard, layout, lanes)
    averaged_t = part.totals["averaged_t"]
    merged = empty_round(agreed, part, layout, lanes, sums.where)
    count = len(lanes.heads)
    merged |= {"slots": layout.slots, "scale": scale, "v": u[:, :count].ravel(), "H": H.ravel()}
    if options.average:
        root = np.sqrt(averaged_t / t) if rule.sums_squares else 1.0  # as if time had stood still since the last look
        averages = u[:, count:] if averaged_t > 0 else np.zeros_like(H)
        merged |= {"average": averages.ravel(), "average_scale": scale * root}
    return merged, agreed.labels


def merged_part(agreed: Agreed, base: State, heard: Sequence[Said], layout: Layout, lanes: Lanes) -> Part:
    """All of a merged model that is not in slots."""
    scores, followed, scored = _merged_scores(agreed, base, heard, lanes)
    t = agreed.totals["t"]
    return Part(
        t,
        {
            "T": agreed.totals["T"],
            "N": agreed.totals["N"],
            "examples": round(agreed.totals["examples"]),
            "averaged_t": min(agreed.totals["averaged_t"], t),
            "scored": min(scored, t),
        },
        scores,
        followed,
        np.zeros(0),
        *agreed.means_in(layout),
        agreed.target,
        agreed.label_range,
        agreed.options.average and base[0]["kept"] == "averaged",
        False,
    )


def empty_round(agreed: Agreed, part: Part, layout: Layout, lanes: Lanes, where: _core.Snapshot) -> _core.Snapshot:
    """The state of a merged model without its slots. `where`: which slots, as `Sums` has it."""
    known: Any = {**where, "negative": agreed.negative, "examples": part.totals["examples"]}
    return layout.snapshot(agreed.options, part, lanes, [known], "linear")


def _moved_bias(
    agreed: Agreed, heard: Sequence[Said], layout: Layout, lanes: Lanes, unit: Float64, u: Float64
) -> Float64:
    """The bias at the common means of centered columns.

    Each partition's was that at its own means. What the difference is worth, the merged weights say and not the
    partition's: a partition that has met an outlier has another mean and next to no weight, and the others' weights are
    not its own.
    """
    if not agreed.means or not agreed.options.bias or not len(layout.slots) or layout.slots[0] != 0:
        return u
    sources = [lanes.source(lanes_by_label(agreed.open, one.scores, one.labels, agreed.labels)) for one in heard]
    behind = np.array([one.bias[source] for one, source in zip(heard, sources, strict=True)])
    share = _ratio(behind, behind.sum(axis=0))
    numbers = {name: number for number, name in enumerate(layout.names or (), 1) if name in agreed.means}
    moved = np.zeros(u.shape[1])
    for feature, (mean, _) in agreed.means.items():
        slot = feature if isinstance(feature, int) else numbers.get(feature, 0)
        at = int(np.searchsorted(layout.slots, slot))
        if not slot or at == len(layout.slots) or layout.slots[at] != slot or not unit[at] > 0:
            continue
        own = [one.means.get(feature, (0.0, 0.0)) for one in heard]
        drifts = np.array([mean - middle if mass > 0 else 0.0 for middle, mass in own])
        moved += u[at] / unit[at] * _for_each((share * drifts[:, None]).sum(axis=0)[None], u[:1])[0]
    u = u.copy()
    u[0] += moved * unit[0]
    return u


def _merged_scores(agreed: Agreed, base: State, heard: Sequence[Said], lanes: Lanes) -> tuple[Float64, Float64, float]:
    """How the rates have done: scores by lane and what was followed by head; and the weight behind them.

    Partitions have judged the rates of the base by rows that nobody had learned. Those of the first round, which began
    with nothing, have judged themselves: that counts for little.
    """
    if not len(heard[0].scores["scores"]):
        return np.zeros((0, 6)), np.zeros(0), agreed.totals["t"]

    def placed(state: Any, labels: list[Label] | None) -> tuple[Float64, Float64]:
        own = lanes_by_label(agreed.open, state, labels, agreed.labels)
        heads = [state["lane_heads"][next(iter(found.values()))] for found in own]
        return state["scores"].reshape(-1, 6)[lanes.source(own)], state["followed"][heads]

    found = [placed(one.scores, one.labels) for one in heard]
    all_scores, all_followed = (np.array([each[k] for each in found]) for k in (0, 1))
    out = np.isinf(all_scores[:, :, _LOSS]).any(axis=0)
    all_scores = np.where(np.isfinite(all_scores), all_scores, 0.0)
    if not base[0]["examples"]:
        scores = np.zeros_like(all_scores[0])
        scores[:, [_LOSS, _RECENT]] = LIGHT * all_scores[:, :, [_LOSS, _RECENT]].mean(axis=0)
        followed, scored = LIGHT * all_followed.mean(axis=0), LIGHT * agreed.totals["t"]
    else:
        scores, followed = (np.where(np.isfinite(own), own, 0.0) for own in placed(base[0], base[1]))
        before = scored_weight(base[0])
        scored = before + agreed.judged
        changes = all_scores - scores
        scores[:, _RECENT] *= before / scored if scored > 0 else 1.0
        scores[:, [_LOSS, _RECENT]] += changes[:, :, _LOSS].mean(axis=0)[:, None]
        scores[:, [_GAP, _SQUARE]] += changes[:, :, [_GAP, _SQUARE]].sum(axis=0)
        followed = followed + (all_followed - followed).mean(axis=0)
    scores[out, _LOSS] = scores[out, _RECENT] = np.inf
    return scores, followed, scored


def whole(options: Options, state: State, weight: float, examples: int) -> State:
    """The same model as one that has itself learned so many examples, of so much weight: the state speaks for a
    partition.

    And the other way round: as one of several partitions, which has learned its part.
    """
    own: Any = dict(state[0])
    if not own["t"] > 0:
        return state
    partitions = weight / own["t"]
    if RULES[options.rule].sums_squares:
        own["scale"], own["average_scale"] = (own[key] * np.sqrt(partitions) for key in ("scale", "average_scale"))
        own["H"] = own["H"] / partitions
    for key in ("T", "N", "averaged_t", "missed"):
        own[key] = weight if own[key] == own["t"] else own[key] * partitions
    if own["suspended_at"] is not None:
        own["suspended_at"] = weight if own["suspended_at"] == own["t"] else own["suspended_at"] * partitions
    own["t"], own["examples"] = weight, examples
    if options.average:
        own["next_look"] = latest_look(options, examples, len(own["slots"]))
    own["target"] = own["target"] * np.array([1.0, 1.0, partitions, partitions, partitions, 1.0, partitions])
    own["center_means"] = (own["center_means"].reshape(-1, 2) * np.array([1.0, partitions])).ravel()
    own["followed"] = own["followed"] * partitions
    names = extra_members(own)
    alone = {key: value for key, value in own["form"].items() if key.partition(".")[0] not in names}
    own["form"] = whole_shape(alone, partitions, RULES[options.rule].sums_squares)
    for name in names:
        beside = whole(extra_options(options, name), extra(state, name), weight, examples)
        own["form"] |= extra_arrays(name, beside[0])
    if len(own["scores"]):
        scores = own["scores"].reshape(-1, 6).copy()
        scores[:, [_LOSS, _RECENT]] *= partitions
        own["scores"] = scores.ravel()
    return own, state[1]
