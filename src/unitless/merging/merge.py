"""Merging models that were trained apart.

Every formula is made of ratios of scales, so that a merged model has no more units than its parts: multiplying a
feature by a power of two changes no bit of v, H, N or t. Merging is commutative and associative to rounding, and a
fresh learner is its neutral element; but for curves that are cut at more places than they may have leaves.

The slots, of which there may be millions, go from the models into the merged one inside the core (core/learner/
merging.cpp). Everything else is put together here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from .. import _core
from ..errors import MergeError
from ..inputs import Float64
from ..models.classes import Label
from ..models.extra_members import MET, extra_arrays, extra_members, extra_options, extra_state
from ..models.form_reading import raw_columns
from ..models.model import Model
from ..models.one_vs_all import OneVsAll
from ..models.sweep import Sweep
from ..options import Options
from ..rules import RULES
from .information import (
    Frame,
    Known,
    Merged,
    Shift,
    is_second_order,
    second_order_state,
    standing_in,
    told_to_all,
)
from .leaves_and_trees import (
    MEMBERS,
    Heads,
    Shaped,
    combined_shape,
    member_arrays,
    member_state,
    model_type,
    settled_ensemble,
)
from .means import LINEAR, Moved, Terms, slopes_of, stored_slopes
from .mixture import merged_mixture
from .slots import Numbers, OfLearner, OfState, Source, merging
from .state import Lanes, Layout, Part, Slots, combine, common_offsets, lanes_by_label

M = TypeVar("M", bound=Model)

_TRIES = 3  # before models that other threads are teaching are copied


def merge(learners: Iterable[M], *, bounded: bool = False, base: M | None = None) -> M:
    """One model from several that learned from different parts of the data.

    Weights are averaged, each weight counting by its accumulated squared gradients G (NG and GD: by the sum of z²);
    G, N and t add up, and the scale is the largest ("snag": the sums of squares add up).

    With `learning_rate="auto"` this is done rate by rate, and the losses add up; for a rate that one of the models has
    dropped, the next lower one that it still runs stands in, or its lowest. Classes that one of the models has not met
    are there in the state in which they would have joined. Means of centered columns and the target's offset become
    those of all data, each model's bias taking up the difference. Averages of the weights are merged as the weights
    are; the averaged ones are kept if all models that have learned keep them.

    Neither the order of the models matters nor what is merged first, to rounding: merging all at once, or merging
    merged models, gives the same.

    Of models with `sparsity` or `l2` the sums of gradients behind the weights add up: evidence for a weight that was
    too little in every model may be enough in all of them. With `center` or `target` they cannot be merged.

    Curves are laid over each other, and merged leaf by leaf as far as there is room for all leaves. Trees that grew
    apart cannot be averaged: each of the merged ones is one of the models' trees, drawn in proportion to their G.

    Members beside the rule (`ensemble=True`) are merged each by its own kind, and all models must have the same ones.
    Of second order (also of `rule="newton"` alone) what the rows have told adds up: with squared loss, and but for what
    forgets, the merged model is the one that would have learned all rows.

    Models that `train` made must agree on columns and labels. The merged one knows them too, and predicts frames.

    Args:
        learners: models of one kind, with the same options and the same kind of features.
        bounded: average the dimensionless v = w·s instead of w, as if all updates had used the common scale. Keeps
            |prediction| within the largest bound of the parts; on evenly drawn partitions the default is more accurate.
        base: the model that all of `learners` were continued from, as in rounds of distributed training: then only
            what each has added since is merged.

    Example:
        >>> import numpy as np, unitless as ul
        >>> X = np.random.default_rng(0).normal(size=(1000, 2)) * [1, 1000]
        >>> y = X @ [1, 0.001]
        >>> a, b = ul.Learner(), ul.Learner()
        >>> _ = a.learn(X[:500], y[:500]), b.learn(X[500:], y[500:])
        >>> bool(np.mean((ul.merge([a, b]).predict(X) - y) ** 2) < 0.01)
        True
    """
    if not isinstance(learners, Iterable):
        raise MergeError("merge takes a list of learners")
    named = [(f"model {number}", model) for number, model in enumerate(learners, 1)]
    return merge_named(named, bounded=bounded, base=None if base is None else ("the base", base))


def merge_named(learners: list[tuple[str, M]], *, bounded: bool, base: tuple[str, M] | None) -> M:
    """The same for models with names, which messages tell."""
    if not learners:
        raise MergeError("there is nothing to merge")
    everyone = [*learners, *([base] if base is not None else [])]
    for _, model in everyone:
        if getattr(model, "_predict_only", False):
            raise MergeError(
                "a model that only predicts cannot be merged", advice="merge the model files that train wrote"
            )
        if not isinstance(model, Model):
            raise MergeError(f"only learners can be merged, not {model!r}")
    training = None
    if any(model._training is not None for _, model in everyone):
        from .record import merged_training  # noqa: PLC0415  (it reads records of data, which others need not)

        training = merged_training(learners, base)
    models, start = [model for _, model in learners], None if base is None else base[1]
    for _, model in everyone:
        _check_alike(models[0], model)
    _check_sums(models[0].options)
    merged = _merged_at_rest(models, start, bounded)
    merged._training = training
    return merged


def _merged_at_rest(models: list[M], base: M | None, bounded: bool) -> M:
    """The merged model, of models that other threads may be teaching."""
    for _ in range(_TRIES):
        merged = _merged(models, base, bounded)
        if merged is not None:
            return merged
    copied = _merged([model.copy() for model in models], None if base is None else base.copy(), bounded)
    assert copied is not None, "nobody else can teach copies"
    return copied


def _merged(models: list[M], base: M | None, bounded: bool) -> M | None:
    """The merged model; None if a model has learned meanwhile."""
    everyone = [*models, *([base] if base is not None else [])]
    taken = {id(model): model._state_and_labels(slots=False) for model in everyone}
    small = [state for state, _ in taken.values()]
    settled, ensemble = model_type(small), settled_ensemble(small)
    bent = settled not in (None, "linear")
    mixes = bent or ensemble not in (None, "none")
    in_core = not mixes and not any(is_second_order(state) for state in small)
    if not in_core:  # members have slots of their own, and second order has more than slots
        taken = {id(model): model._state_and_labels() for model in everyone}
    states = {key: state for key, (state, _) in taken.items()}
    own = {key: labels for key, (_, labels) in taken.items()}
    if base is not None and any(states[id(m)]["examples"] < states[id(base)]["examples"] for m in models):
        raise MergeError("a model has learned from fewer examples than the base: it was not continued from it")
    labels = _all_labels(list(own.values()))
    options = models[0].options
    layout = Layout.of([states[id(model)] for model in everyone], options.interactions == "ordered")
    together = _Together(models, base, states, own, labels, layout, settled if bent else None, in_core, bounded)
    merged: M = models[0]._fresh(options.asdict(), labels, models[0]._open_to_classes(), models[0]._own_rates())  # type: ignore[assignment]
    main = together.lanes(options, states, LINEAR)
    snapshot = layout.snapshot(options, main.part, main.lanes, list(states.values()), settled)
    snapshot["slopes"] = main.slopes().ravel()
    snapshot["ensemble"] = ensemble
    if in_core:
        return merged if merged._load_merged(snapshot, main.parts(states), main.merging) else None
    merged._restore(together.whole(snapshot, main))
    return merged


@dataclass(frozen=True)
class _Merging:
    """Lanes that are being merged, of the model itself or of one of its members."""

    part: Part  # the merged numbers, apart from slots
    lanes: Lanes
    sources: list[Source]  # by model, as all of these; the base comes last
    own: list[list[int]]  # which of its lanes stand for the merged ones
    keys: list[int]
    moved: list[Moved]
    shifts: list[Shift]
    merging: dict[str, Any]

    def slopes(self) -> Float64:
        """The merged slopes, [term][value]."""
        if not len(self.moved[0].slopes):
            return np.zeros((0, 0))
        return _core.merged_slots([moved.rows() for moved in self.moved], self.merging)[2]

    def parts(self, states: dict[int, _core.Snapshot]) -> list[dict[str, Any]]:
        """Slots of learners, as the core takes them."""
        return [
            source.part(states[key], moved.slots, moved.by)
            for source, key, moved in zip(self.sources, self.keys, self.moved, strict=True)
            if isinstance(source, OfLearner)
        ]

    def slots(self, slots: Slots) -> Numbers:
        """The merged slots of states."""
        parts = []
        for source, moved in zip(self.sources, self.moved, strict=True):
            scale, H, values = source.read(slots)
            there = np.isin(moved.slots, slots)
            values[np.searchsorted(slots, moved.slots[there])] += moved.by[there]
            parts.append((scale, H, values))
        return _core.merged_slots(parts, self.merging)


@dataclass(frozen=True)
class _Together:
    """Models that are being merged."""

    models: list[Any]
    base: Any
    states: dict[int, _core.Snapshot]  # by the id of a model, as all of these
    own: dict[int, list[Label] | None]
    labels: list[Label] | None
    layout: Layout
    settled: str | None  # the model type, if it is more than linear
    in_core: bool  # slots are merged where they are
    bounded: bool

    @property
    def _everyone(self) -> list[Any]:
        return [*self.models, *([self.base] if self.base is not None else [])]

    def _seen(self) -> list[Any]:
        return [model for model in self._everyone if self.states[id(model)]["examples"]] or self._everyone[:1]

    def _by_label(self, model: Any, state: _core.Snapshot) -> list[dict[int, int]]:
        return lanes_by_label(model._open_to_classes(), state, self.own[id(model)], self.labels)

    def lanes(self, options: Options, states: dict[int, _core.Snapshot], name: str) -> _Merging:
        """What the lanes that `states` have are together; `name`: whose they are."""
        lanes = Lanes.of([self._by_label(model, states[id(model)]) for model in self._seen()])
        terms = Terms.of_layout(list(states.values()), self.layout)
        models = [model for model in self.models if id(model) in states]
        with_base = self.base is not None and id(self.base) in states
        keys: list[int] = []
        stand_ins: list[list[int]] = []
        sources: list[Source] = []
        parts: list[Part] = []
        slopes: list[Float64] = []
        for model in [*models, *([self.base] if with_base else [])]:
            state = states[id(model)]
            by_label = self._by_label(model, state)
            own = lanes.source(by_label)
            keys.append(id(model))
            stand_ins.append(own)
            parts.append(Part.of(state, by_label, self.layout, lanes))
            sources.append(
                OfLearner.of(model, state, self.layout, own)
                if self.in_core
                else OfState(options, state, self.layout, own)
            )
            kept = slopes_of(self.states[id(model)]).get(name, np.zeros(0))
            slopes.append(stored_slopes(kept, state, self.layout, terms, own, options.average))
        start = parts[-1] if with_base else None
        means, target = common_offsets(parts[: len(models)], start, options)
        moved = [
            Moved.of(options, part, source, terms, own_slopes, means, target)
            for part, source, own_slopes in zip(parts, sources, slopes, strict=True)
        ]
        shifts = [Shift(part.drift(means), part.offset(target)) for part in parts]
        shifted = [part.shifted(means, target) for part in parts]
        start = shifted[-1] if with_base else None
        part = combine(shifted[: len(models)], start)
        how = merging(options, shifted[: len(models)], start, part, self.bounded)
        return _Merging(part, lanes, sources, stand_ins, keys, moved, shifts, how)

    def whole(self, snapshot: _core.Snapshot, main: _Merging) -> _core.Snapshot:
        """The state of a merged model, of which there is nothing but totals so far."""
        if is_second_order(self.states[main.keys[0]]):
            snapshot = self._informed(snapshot, main, self.states, None)
            snapshot["slopes"] = np.zeros(0)
        else:
            snapshot = self._filled(snapshot, main, self.models[0].options)
        seen = {id(model): self.states[id(model)] for model in self._seen()}
        first = next(iter(seen.values()))
        if not any(state["examples"] for state in seen.values()):
            snapshot["form"] = first["form"]
            return snapshot
        arrays: dict[str, Any] = {**snapshot["form"]}
        slopes = [snapshot["slopes"]]
        if self.settled is not None:
            arrays |= self._form(self.settled, seen, snapshot, main, slopes)
        for name in extra_members(first):
            arrays |= self._extra(name, seen, slopes)
        if MET in first["form"]:
            arrays[MET] = np.array([float(len(self.labels or ()))])
        snapshot["slopes"] = np.concatenate(slopes)
        snapshot["form"] = arrays | self._mixture(seen, snapshot)
        return snapshot

    def _filled(self, snapshot: _core.Snapshot, lanes: _Merging, options: Options) -> _core.Snapshot:
        """A state of lanes with its slots."""
        scale, H, values = lanes.slots(self.layout.slots)
        there = np.flatnonzero(scale > 0)
        scale, H, values = scale[there], H[there], values[there]
        count, t, averaged_t = len(lanes.lanes.heads), lanes.part.t, lanes.part.totals["averaged_t"]
        slots = self.layout.slots[there]
        snapshot |= {"slots": slots, "scale": scale, "v": values[:, :count].ravel(), "H": H.ravel()}
        if options.average:
            # As if time had stood still since the last look at the average.
            unit = np.sqrt(averaged_t / t) if RULES[options.rule].sums_squares and t > 0 else 1.0
            averages = values[:, count:] if averaged_t > 0 else np.zeros_like(H)
            snapshot |= {"average": averages.ravel(), "average_scale": scale * unit}
        return snapshot

    def _extra(self, name: str, seen: dict[int, _core.Snapshot], slopes: list[Float64]) -> dict[str, Any]:
        """The arrays of a merged engine beside the model's own; slopes of lanes go to `slopes`."""
        options = extra_options(self.models[0].options, name)
        states = {key: extra_state(state, name) for key, state in seen.items()}
        own = self.lanes(options, states, name)
        snapshot = self.layout.snapshot(options, own.part, own.lanes, list(states.values()), "linear")
        if is_second_order(next(iter(states.values()))):
            return extra_arrays(name, self._informed(snapshot, own, states, _core.most_second_order))
        slopes.append(own.slopes().ravel())
        return extra_arrays(name, self._filled(snapshot, own, options))

    def _informed(
        self, snapshot: _core.Snapshot, lanes: _Merging, states: dict[int, _core.Snapshot], most: int | None
    ) -> _core.Snapshot:
        """A state of second-order lanes with what they know; `most`: see `Frame`."""
        frame = Frame.of([states[key] for key in lanes.keys], self.layout, most)

        def known(key: int, source: list[int]) -> Known:
            return Known.of(states[key], frame, self.layout, lanes.lanes, source)

        models = [
            Merged(known(key, own), shift) for key, own, shift in zip(lanes.keys, lanes.own, lanes.shifts, strict=True)
        ]
        base = None
        if self.base is not None and id(self.base) in states:
            *models, base = models
            by_label = self._by_label(self.base, states[id(self.base)])
            sources = [
                standing_in(lanes.lanes, states[key], own).source(by_label)
                for key, own in zip(lanes.keys, lanes.own, strict=True)
            ]
            models = [
                replace(model, before=known(id(self.base), source))
                for model, source in zip(models, sources, strict=False)
            ]
        merged = told_to_all(frame, lanes.lanes, models, base, apart=True)
        return second_order_state(snapshot, frame, lanes.lanes, merged, self.models[0]._open_to_classes())

    def _form(
        self,
        settled: str,
        seen: dict[int, _core.Snapshot],
        snapshot: _core.Snapshot,
        main: _Merging,
        slopes: list[Float64],
    ) -> dict[str, Any]:
        """The arrays of curves and trees; slopes of their linear terms go to `slopes`."""
        alone = settled == "curves only"  # its lanes are the main ones
        names = [name for name in MEMBERS if f"{name}.leaves" in next(iter(seen.values()))["form"]]
        arrays: dict[str, Any] = {}
        members: dict[int, dict[str, Heads]] = {key: {} for key in seen}
        for name in names:
            member, states = main, seen
            if not alone:
                states = {key: member_state(state, name) for key, state in seen.items()}
                member = self.lanes(replace(self.models[0].options, average=False), states, name)
                arrays |= member_arrays(name, member.slots(self.layout.slots), member.part, member.lanes)
                slopes.append(member.slopes().ravel())
            arrays[f"{name}.N"] = self._leaf_totals(seen, name)
            for model in self._seen():
                by_label = self._by_label(model, states[id(model)])
                members[id(model)][name] = Heads.of(member.lanes, by_label, states[id(model)], member.part.scores)
        shaped = {
            key: Shaped(state, members[key], self.layout.feature_numbers(state).astype(np.intp))
            for key, state in seen.items()
        }
        parts = [shaped[id(model)] for model in self.models if id(model) in shaped]
        base = shaped.get(id(self.base)) if self.base is not None else None
        return combined_shape(settled, raw_columns(snapshot)[0], parts, base) | arrays

    def _leaf_totals(self, seen: dict[int, _core.Snapshot], name: str) -> Any:
        """N of an member: what all have added to it."""
        totals = {key: state["form"][f"{name}.N"] for key, state in seen.items()}
        start = totals.get(id(self.base), np.zeros(1)) if self.base is not None else np.zeros(1)
        return start + sum(totals[id(model)] - start for model in self.models if id(model) in totals)

    def _mixture(self, seen: dict[int, _core.Snapshot], snapshot: _core.Snapshot) -> dict[str, Any]:
        if "mixture" not in next(iter(seen.values()))["form"]:
            return {}

        def offset(state: _core.Snapshot) -> float:
            started = bool(state["target"][0]) and bool(snapshot["target"][0])
            return float(state["target"][1] - snapshot["target"][1]) if started else 0.0

        states = [seen[id(model)] for model in self.models if id(model) in seen]
        base = seen.get(id(self.base)) if self.base is not None else None
        offsets = [offset(state) for state in (*states, *([base] if base else []))]
        mixtures = [state["form"]["mixture"] for state in states]
        return {"mixture": merged_mixture(mixtures, base["form"]["mixture"] if base else None, offsets)}


def _check_sums(options: Options) -> None:
    """The weights of sparse models are not what is merged, so that a bias cannot take up a difference of offsets."""
    for name in ("center", "target"):
        if options.sparse and getattr(options, name):
            raise MergeError(
                f"models with sparsity or l2 cannot be merged if they learn the {name}'s offset: make them without"
            )


def _check_alike(a: Model, b: Model) -> None:
    if type(a) is not type(b):
        raise MergeError(f"the models are of different kinds: {type(a).__name__} and {type(b).__name__}")
    for name, value in a.options.asdict().items():
        other = b.options.asdict()[name]
        if value != other:
            raise MergeError(f"the models differ in {name}: {value!r} and {other!r}")
    if isinstance(a, Sweep) and isinstance(b, Sweep) and a._rates != b._rates:
        raise MergeError("the sweeps differ in their rates")
    if isinstance(a, OneVsAll | Sweep) and isinstance(b, OneVsAll | Sweep):
        settled = a._classes is not None and not a._classes.open
        if a.classes != b.classes and (settled or (b._classes is not None and not b._classes.open)):
            raise MergeError(f"the models differ in their classes: {a.classes} and {b.classes}")


def _all_labels(known: list[list[Label] | None]) -> list[Label] | None:
    """The classes of all models together."""
    if not known or known[0] is None:
        return None
    return list(dict.fromkeys(label for labels in known if labels is not None for label in labels))
