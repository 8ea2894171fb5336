"""Merge all parts of a model: its engines, its curves and trees, and the mixture of their predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import _core
from ..inputs import Float64
from ..losses import LOSSES
from ..models.extra_members import MET, extra_arrays, extra_members, extra_options, extra_state
from ..models.form_reading import raw_columns
from ..models.model import State
from ..options import Options
from .curves import merged_curves
from .engine import Engine, Kind
from .forest import Forest
from .information import is_second_order, merged_information
from .layout import Lanes
from .leaves import Heads, Leaves, Shaped
from .means import LINEAR, MEMBERS, slopes_of
from .mixture import ROWS, merged_mixture
from .scores import judged
from .totals import added_up
from .trees import merged_trees


def engines_of(state: State) -> dict[str, State]:
    """The engines of a model by name, each as the state of a model with only this engine."""
    own, labels = state
    slopes = slopes_of(own)
    engines: dict[str, Any] = {LINEAR: own if is_second_order(own) else {**own, "form": {"settled": "linear"}}}
    engines |= {name: extra_state(own, name) for name in extra_members(own)}
    for name, one in engines.items():
        engines[name] = {**one, "slopes": slopes.get(name, np.zeros(0))}, labels
    return engines


def member_of(state: State, name: str) -> State:
    """The linear terms of curves or trees, as the state of a model with only these terms.

    If the model itself has these terms, or has none yet, this is the state itself.
    """
    own, labels = state
    form = own["form"]
    if f"{name}.v" not in form:
        return engines_of(state)[LINEAR]
    member: Any = {
        **own,
        **{key: form[f"{name}.{key}"] for key in ("v", "H", "scores", "followed")},
        **{key: form[f"{name}.{key}"].astype(np.uint32) for key in ("lane_heads", "lane_rates")},
        "slopes": slopes_of(own).get(name, np.zeros(0)),
        "kept": "last",
        "averaged_t": 0.0,
    }
    return member, labels


@dataclass(frozen=True)
class Gathered:
    """The inputs of a merge.

    First-order engines can be merged at once, in any grouping, so that many large models are merged in a tree
    (`folded`). Second-order engines, which are small, and models with curves or trees are collected until the end.
    """

    models: int
    engines: dict[str, tuple[State, ...]]  # by name
    bent: tuple[State, ...]  # models with curves or trees
    mixtures: tuple[tuple[Float64, Float64], ...]  # with the statistics of the labels (target_state.py)
    judged: float  # for a synchronization round: the total weight of the rows on which the rates were evaluated
    settled: str | None  # the model type
    ensemble: str | None
    counts_classes: bool

    @classmethod
    def of(cls, state: State, judged: float = 0.0) -> Gathered:
        """Build the inputs from one model, which has learned something."""
        form = state[0]["form"]
        bent = form["settled"] not in (None, "linear")
        return cls(
            1,
            {name: (one,) for name, one in engines_of(state).items()},
            (state,) if bent else (),
            ((form["mixture"], state[0]["target"]),) if "mixture" in form else (),
            judged,
            form["settled"],
            state[0]["ensemble"],
            MET in form,
        )

    @classmethod
    def together(cls, several: Sequence[Gathered]) -> Gathered:
        """Concatenate the inputs of several groups of models."""
        first = several[0]
        return replace(
            first,
            models=sum(one.models for one in several),
            engines={name: tuple(own for one in several for own in one.engines[name]) for name in first.engines},
            bent=tuple(state for one in several for state in one.bent),
            mixtures=tuple(mixture for one in several for mixture in one.mixtures),
            judged=sum(one.judged for one in several),
        )

    def folded(self, options: Options, open: bool) -> Gathered:
        """Merge the first-order engines of these models. `open`: classes may join."""
        engines = dict(self.engines)
        for name, states in self.engines.items():
            if len(states) > 1 and not is_second_order(states[0][0]):
                kind = Kind.of(_options(options, name), open, states)
                engines[name] = ((Engine.of(kind, kind.layout(states), states).filled(), kind.labels),)
        return replace(self, engines=engines)


def _options(options: Options, name: str) -> Options:
    return options if name == LINEAR else extra_options(options, name)


@dataclass(frozen=True)
class Merge:
    """The last step of a merge, which builds one state.

    Args:
        kind: the common properties of the models.
        models: all models.
        base: the model that they were continued from; or an empty model.
        sync_round: whether the base stands for the rows of one partition, and so does the merged model; otherwise the
            base's rows count once, and the merged model has the rows of all models.
        bounded: see `merge`.
    """

    kind: Kind
    models: Gathered
    base: State
    sync_round: bool = False
    bounded: bool = False

    @property
    def _once(self) -> bool:
        return not self.sync_round and self.base[0]["examples"] > 0

    def state(self) -> _core.Snapshot:
        """The merged state. After a synchronization round its sums are still those of all partitions."""
        models = self.models
        snapshot = self._engine(LINEAR, None)
        slopes = [snapshot["slopes"]]
        arrays: dict[str, Any] = {**snapshot["form"]}
        if models.bent:
            arrays |= self._form(snapshot, slopes)
        for name in models.engines:
            if name != LINEAR:
                own = self._engine(name, (snapshot, self.kind.labels))
                slopes.append(own["slopes"])
                arrays |= extra_arrays(name, own)
        if models.counts_classes:
            arrays[MET] = np.array([float(len(self.kind.labels or ()))])
        if models.mixtures:
            arrays["mixture"] = self._mixture(snapshot["target"])
        arrays["settled"] = models.settled
        merged: Any = {**snapshot, "form": arrays, "ensemble": models.ensemble, "slopes": np.concatenate(slopes)}
        return merged  # type: ignore[no-any-return]

    def _merged(self, kind: Kind, states: Sequence[State], start: State, main: State | None) -> Engine:
        layout = kind.layout([*([main] if main else []), *states, start])
        engine = Engine.of(kind, layout, states, start if self._once else None, bounded=self.bounded)
        if self.sync_round:
            engine = replace(engine, totals=judged(engine, start, self.models.models, self.models.judged))
        return engine

    def _engine(self, name: str, main: State | None) -> _core.Snapshot:
        """The merged state of one engine; `main`: the state of the model's own engine."""
        kind = replace(self.kind, options=_options(self.kind.options, name))
        start = engines_of(self.base).get(name, self.base)
        engine = self._merged(kind, self.models.engines[name], start, main)
        if not is_second_order(self.models.engines[name][0][0]):
            return engine.filled()
        most = None if name == LINEAR else _core.most_second_order
        return merged_information(engine, start, self.models.models if self.sync_round else None, most)

    def _form(self, main: _core.Snapshot, slopes: list[Float64]) -> dict[str, Any]:
        """The arrays of curves and trees; the slopes of their linear terms are written to `slopes`."""
        parts, everyone = self.models.bent, [*self.models.bent, self.base]
        forms = [state["form"] for state, _ in everyone]
        names = [name for name in MEMBERS if f"{name}.leaves" in forms[0]]
        kind = replace(self.kind, options=replace(self.kind.options, average=False))
        arrays: dict[str, Any] = {}
        heads: list[dict[str, Heads]] = [{} for _ in everyone]
        for name in names:
            together = main
            states = [member_of(state, name) for state in everyone]
            if f"{name}.v" in forms[0]:
                engine = self._merged(kind, states[:-1], states[-1], (main, self.kind.labels))
                together = engine.snapshot()
                _, H, v = engine.slots(main["slots"])
                slopes.append(together["slopes"])
                arrays |= {f"{name}.v": v.ravel(), f"{name}.H": H.ravel()}
                arrays |= {f"{name}.{key}": together[key] for key in ("scores", "followed")}
                arrays |= {f"{name}.{key}": together[key].astype(np.float64) for key in ("lane_heads", "lane_rates")}
            totals = [np.atleast_1d(form.get(f"{name}.N", np.zeros(1))) for form in forms]
            arrays[f"{name}.N"] = added_up(totals[:-1], totals[-1] if self._once else None)
            lanes = Lanes(together["lane_heads"].tolist(), together["lane_rates"].tolist())
            for own, state in zip(heads, states, strict=True):
                own[name] = Heads.of(lanes, kind.by_label(state), state[0], together["scores"].reshape(-1, 6))
        layout = kind.layout([(main, self.kind.labels), *everyone])
        shaped = [
            Shaped(state, own, layout.feature_numbers(state).astype(np.intp), self.kind.options)
            for (state, _), own in zip(everyone, heads, strict=True)
        ]
        columns = raw_columns(main)[0]
        leaves = {name: Leaves.none(name, own, len(columns), self.kind.options) for name, own in heads[0].items()}
        arrays |= merged_curves(columns, shaped[: len(parts)], shaped[-1] if self._once else None, leaves)
        arrays["curve.met"] = np.array([max(float(np.sum(form.get("curve.met", 0.0))) for form in forms)])
        if "trees" in names:
            *forests, first = (Forest(model, columns) for model in shaped)
            curvature = LOSSES[self.kind.options.loss].curvature
            arrays |= merged_trees(forests, first, self._once, heads[0]["trees"], curvature, leaves["trees"])
        for name, own_leaves in leaves.items():
            arrays |= own_leaves.arrays(name)
        return arrays

    def _mixture(self, target: Float64) -> Float64:
        states = [mixture for mixture, _ in self.models.mixtures]
        offsets = [float(own[1] - target[1]) if own[0] and target[0] else 0.0 for _, own in self.models.mixtures]
        rows = sum(float(state[ROWS]) for state in states)
        if self.sync_round:
            rows /= self.models.models
        elif self._once:
            rows -= (len(states) - 1) * float(self.base[0]["form"]["mixture"][ROWS])
        return merged_mixture(states, offsets, rows)
