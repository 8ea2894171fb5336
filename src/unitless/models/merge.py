"""Merging models that were trained apart.

Every formula is made of ratios of scales, so that a merged model has no more units than its parts: multiplying a
feature by a power of two changes no bit of v, H, N or t. Merging is commutative to rounding, and a fresh learner is
its neutral element. It is associative to rounding as well, except where columns are centred or the target's offset is
learned: there biases are averaged at the common means, which depend on what is merged first; and except for curves that
are cut at more places than they may have leaves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from .. import _core
from ..errors import MergeError
from ..options import Options
from .classes import Label
from .merged_mixture import merged_mixture
from .merged_shape import (
    EXPERTS,
    Heads,
    Shaped,
    combined_shape,
    expert_arrays,
    expert_state,
    settled_shape,
)
from .merged_state import Lanes, Layout, Part, combine, common_offsets, lanes_by_label
from .model import Model
from .one_vs_all import OneVsAll
from .shape_reading import raw_columns
from .sweep import Sweep

M = TypeVar("M", bound=Model)


def merge(learners: Iterable[M], *, bounded: bool = False, base: M | None = None) -> M:
    """One model from several that learned from different parts of the data.

    Weights are averaged, each weight counting by its accumulated squared gradients G (NG and GD: by the sum of z²);
    G, N and t add up, and the scale is the largest ("snag": the sums of squares add up).

    With `learning_rate="auto"` this is done rate by rate, and the losses add up; for a rate that one of the models has
    dropped, the nearest one that it still runs stands in. Classes that one of the models has not met are there in the
    state in which they would have joined. Means of centred columns and the target's offset become those of all data,
    each model's bias taking up the difference. Averages of the weights are merged as the weights are; the averaged ones
    are kept if all models that have learned keep them.

    Curves are laid over each other, and merged leaf by leaf as far as there is room for all leaves. Trees that grew
    apart cannot be averaged: each of the merged ones is one of the models' trees, drawn in proportion to their G.

    Args:
        learners: models of one kind, with the same options and the same kind of features.
        bounded: average the dimensionless v = w·s instead of w, as if all updates had used the common scale. Keeps
            |prediction| within the largest bound of the parts; on evenly drawn shards the default is more accurate.
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
    models = list(learners)
    if not models:
        raise MergeError("there is nothing to merge")
    everyone = [*models, *([base] if base is not None else [])]
    for model in everyone:
        if not isinstance(model, Model):
            raise MergeError(f"only learners can be merged, not {model!r}")
        _check_alike(models[0], model)
    taken = {id(model): model._state_and_labels() for model in everyone}
    states = {key: state for key, (state, _) in taken.items()}
    own = {key: labels for key, (_, labels) in taken.items()}
    if base is not None and any(states[id(m)]["examples"] < states[id(base)]["examples"] for m in models):
        raise MergeError("a model has learned from fewer examples than the base: it was not continued from it")
    labels = _all_labels(list(own.values()))
    settled = settled_shape([states[id(model)] for model in everyone])
    options = models[0].options
    layout = Layout.of([states[id(model)] for model in everyone], options.interactions == "ordered")
    together = _Together(models, base, states, own, labels, layout, bounded)
    main, lanes = together.lanes(options, states)
    snapshot = layout.snapshot(main, lanes, list(states.values()), settled)
    if settled not in (None, "linear"):
        snapshot["shape"] = together.shape(settled, snapshot, lanes, main)
    merged: M = models[0]._fresh(options.asdict(), labels, models[0]._open_to_classes(), models[0]._own_rates())  # type: ignore[assignment]
    merged._restore(snapshot)
    return merged


@dataclass(frozen=True)
class _Together:
    """Models that are being merged."""

    models: list[Any]
    base: Any
    states: dict[int, _core.Snapshot]  # by the id of a model, as all of these
    own: dict[int, list[Label] | None]
    labels: list[Label] | None
    layout: Layout
    bounded: bool

    @property
    def _everyone(self) -> list[Any]:
        return [*self.models, *([self.base] if self.base is not None else [])]

    def _seen(self) -> list[Any]:
        return [model for model in self._everyone if self.states[id(model)]["examples"]] or self._everyone[:1]

    def _by_label(self, model: Any, state: _core.Snapshot) -> list[dict[int, int]]:
        return lanes_by_label(model._open_to_classes(), state, self.own[id(model)], self.labels)

    def lanes(self, options: Options, states: dict[int, _core.Snapshot]) -> tuple[Part, Lanes]:
        """The merged numbers of the lanes that `states` have, and which lanes those are."""
        lanes = Lanes.of([self._by_label(model, states[id(model)]) for model in self._seen()])
        parts = {
            id(model): Part.of(options, states[id(model)], self._by_label(model, states[id(model)]), self.layout, lanes)
            for model in self._everyone
            if id(model) in states
        }
        merging = [parts[id(model)] for model in self.models if id(model) in parts]
        start = parts.get(id(self.base)) if self.base is not None else None
        means, target = common_offsets(merging, start, options)
        shifted = {key: part.shifted(means, target, options, self.layout) for key, part in parts.items()}
        merging = [shifted[id(model)] for model in self.models if id(model) in parts]
        start = shifted.get(id(self.base)) if self.base is not None else None
        return combine(options, merging, start, self.bounded), lanes

    def shape(self, settled: str, snapshot: _core.Snapshot, lanes: Lanes, main: Part) -> dict[str, Any]:
        """The shape of the merged model, whose other numbers are in `snapshot`."""
        seen = {id(model): self.states[id(model)] for model in self._seen()}
        if not any(state["examples"] for state in seen.values()):
            return next(iter(seen.values()))["shape"]
        alone = settled == "curves only"  # its lanes are the main ones
        names = [name for name in EXPERTS if f"{name}.leaves" in next(iter(seen.values()))["shape"]]
        arrays: dict[str, Any] = {}
        experts: dict[int, dict[str, Heads]] = {key: {} for key in seen}
        for name in names:
            part, own_lanes, states = main, lanes, seen
            if not alone:
                states = {key: expert_state(state, name) for key, state in seen.items()}
                part, own_lanes = self.lanes(replace(self.models[0].options, average=False), states)
                arrays |= expert_arrays(name, part, own_lanes)
            arrays[f"{name}.N"] = self._leaf_totals(seen, name)
            for model in self._seen():
                by_label = self._by_label(model, states[id(model)])
                experts[id(model)][name] = Heads.of(own_lanes, by_label, states[id(model)], part.scores)
        shaped = {
            key: Shaped(state, experts[key], self.layout.feature_numbers(state).astype(np.intp))
            for key, state in seen.items()
        }
        parts = [shaped[id(model)] for model in self.models if id(model) in shaped]
        base = shaped.get(id(self.base)) if self.base is not None else None
        columns = raw_columns(snapshot)[0]
        return {**combined_shape(settled, columns, parts, base), **arrays, **self._mixture(seen, snapshot)}

    def _leaf_totals(self, seen: dict[int, _core.Snapshot], name: str) -> Any:
        """N of an expert: what all have added to it."""
        totals = {key: state["shape"][f"{name}.N"] for key, state in seen.items()}
        start = totals.get(id(self.base), np.zeros(1)) if self.base is not None else np.zeros(1)
        return start + sum(totals[id(model)] - start for model in self.models if id(model) in totals)

    def _mixture(self, seen: dict[int, _core.Snapshot], snapshot: _core.Snapshot) -> dict[str, Any]:
        if "mixture" not in next(iter(seen.values()))["shape"]:
            return {}

        def offset(state: _core.Snapshot) -> float:
            started = bool(state["target"][0]) and bool(snapshot["target"][0])
            return float(state["target"][1] - snapshot["target"][1]) if started else 0.0

        states = [seen[id(model)] for model in self.models if id(model) in seen]
        base = seen.get(id(self.base)) if self.base is not None else None
        offsets = [offset(state) for state in (*states, *([base] if base else []))]
        mixtures = [state["shape"]["mixture"] for state in states]
        return {"mixture": merged_mixture(mixtures, base["shape"]["mixture"] if base else None, offsets)}


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
